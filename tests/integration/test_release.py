"""A release is built, checked, installed and run outside the checkout, as its page describes."""

import os
import tarfile
import tomllib
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest
from in_process import run_process

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
pytestmark = pytest.mark.slowest
LARGEST = 15_000_000  # bytes; limit for the download of tseval


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


def run(*command, cwd, code=0):
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = run_process(list(map(str, command)), cwd=cwd, env=inherited)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_the_wheel_ships_templates_adapters_boards_and_the_checkpoint(release):
    # sdist first, then the wheel from the sdist: only this order fails for plain symbolic links.
    names = set(ZipFile(release.wheel).namelist())
    for name in (
        "tseval/templates/marvin_linzen/lexicon.yaml",
        "tseval/templates/marvin_linzen/simple_agrmt.jinja",
        "tseval/adapters/native.py",
        "tseval/leaderboards/bhatt2020/board.json",
        "tseval/boards/public/board.yml",
        "tseval/models/bundled/lstm.pt",
        "tseval/web/templates/index.html",
        "tseval/web/templates/page.css",
        "tseval/web/templates/page.js",
    ):
        assert name in names
    assert not [name for name in names if name.startswith(("adapters/", "templates/", "tests/"))]


def test_boards_are_shipped_without_what_they_follow_from_and_nothing_is_large(release):
    with ZipFile(release.wheel) as wheel, tarfile.open(release.sdist) as sdist:
        shipped, source = wheel.namelist(), sdist.getnames()
    for names in (shipped, source):
        assert any(name.endswith("leaderboards/blimp2020/entries/GPT-2/entry.yaml") for name in names)
        assert any(name.endswith("leaderboards/zoo/board.json") for name in names)
        assert not [name for name in names if name.endswith("evidence.parquet")]
    assert not [
        name for name in shipped if "/leaderboards/" in name and name.endswith((".parquet", "manifest.json"))
    ]
    for archive in (release.wheel, release.sdist):
        assert archive.stat().st_size < LARGEST


def test_the_shipped_zoo_has_its_table_and_no_evidence(release, tmp_path):
    assert "drnn" in run(release.binaries / "tseval", "table", "zoo", cwd=tmp_path)
    for arguments in (("table", "zoo", "--by", "attractor"), ("verify", "zoo")):
        run(release.binaries / "tseval", *arguments, cwd=tmp_path, code=2)


def test_the_wheel_runs_in_an_empty_environment(release, tmp_path):
    binaries = release.binaries
    run(binaries / "tseval", "run", "--model", "bundled:lstm", "--limit", 5, "--out", "run", cwd=tmp_path)
    table = run(binaries / "tseval", "table", "run", "--format", "csv", cwd=tmp_path)
    assert len(table.splitlines()) >= 1 + 19
    assert "5.94" in run(binaries / "tseval", "table", "bhatt2020", cwd=tmp_path)
    where = run(binaries / "python", "-c", "import tseval.adapters; print(tseval.__file__)", cwd=tmp_path)
    assert where.startswith(str(binaries.parent))
