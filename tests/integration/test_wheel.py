"""The wheel, built from the source distribution, in an empty environment outside the checkout."""

import os
import tarfile
from zipfile import ZipFile

import pytest
from in_process import run_process

pytestmark = pytest.mark.slow
LARGEST = 15_000_000  # bytes of what is downloaded to install tseval


def run(*command, cwd, code=0):
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = run_process(list(map(str, command)), cwd=cwd, env=inherited)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_the_wheel_ships_templates_adapters_boards_and_the_checkpoint(release):
    # sdist first, wheel from the sdist: plain symbolic links pass everything else and fail only that.
    names = set(ZipFile(release.wheel).namelist())
    for name in (
        "tseval/templates/marvin_linzen/lexicon.yaml",
        "tseval/templates/marvin_linzen/simple_agrmt.jinja",
        "tseval/adapters/native.py",
        "tseval/leaderboards/bhatt2020/board.json",
        "tseval/boards/public/board.yml",
        "tseval/models/bundled/lstm.pt",
        "tseval/pages/web/index.html",
        "tseval/pages/web/page.css",
        "tseval/pages/web/page.js",
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
