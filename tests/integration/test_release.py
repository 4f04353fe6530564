"""What a release is made of: built, checked, installed and run as docs/releasing.md says."""

import tarfile
import tomllib
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
pytestmark = pytest.mark.slow


def test_the_procedure_ends_with_an_installed_version_that_scores(release):
    made, *_, version, scored = release.printed.values()
    assert made.count("PASSED") == 2
    assert "WARNING" not in made
    assert version == f"tseval {PROJECT['version']}"
    (row,) = [line for line in scored.splitlines() if line.startswith("| Simple")]
    assert row.split("|")[2].strip() == "1"


def test_both_files_carry_the_licence_and_what_it_does_not_cover(release):
    stem = f"tseval-{PROJECT['version']}"
    with ZipFile(release.wheel) as wheel, tarfile.open(release.sdist) as sdist:
        for name in ("LICENSE", "NOTICE"):
            text = (ROOT / name).read_bytes()
            assert wheel.read(f"{stem}.dist-info/licenses/{name}") == text
            assert sdist.extractfile(f"{stem}/{name}").read() == text


def test_the_source_has_all_but_what_serves_the_forge(release):
    with tarfile.open(release.sdist) as sdist:
        packed = {name.split("/")[1] for name in sdist.getnames()}
    checked_out = {path.name for path in release.folder.iterdir()} - {".venv", "dist", "trial"}
    assert packed == checked_out - {".ci", ".gitattributes", ".github"} | {"PKG-INFO"}


def test_the_metadata_says_what_a_package_index_shows(release):
    with ZipFile(release.wheel) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        said = HeaderParser().parsestr(wheel.read(name).decode())
    assert said["License-Expression"] == "Apache-2.0"
    assert said.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert said["Author"] == "The tseval developers"
    assert said["Requires-Python"] == ">=3.11"
    assert said["Description-Content-Type"] == "text/markdown"
    assert {url.partition(",")[0] for url in said.get_all("Project-URL")} == set(PROJECT["urls"])
    assert said.get_all("Classifier") == sorted(PROJECT["classifiers"])
    assert set(said.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
