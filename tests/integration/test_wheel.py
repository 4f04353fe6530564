"""The wheel, built from the source distribution, in an empty environment outside the checkout."""

import os
import subprocess
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.slow


def run(*command, cwd):
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        list(map(str, command)), cwd=cwd, env=inherited, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_wheel_ships_templates_adapters_boards_and_the_checkpoint(release):
    # sdist first, wheel from the sdist: plain symbolic links pass everything else and fail only that.
    names = set(ZipFile(release.wheel).namelist())
    for name in (
        "tseval/templates/marvin_linzen/lexicon.yaml",
        "tseval/templates/marvin_linzen/simple_agrmt.jinja",
        "tseval/adapters/native.py",
        "tseval/leaderboards/bhatt2020/board.json",
        "tseval/models/bundled/lstm.pt",
        "tseval/pages/web/index.html",
        "tseval/pages/web/page.css",
        "tseval/pages/web/page.js",
    ):
        assert name in names
    assert not [name for name in names if name.startswith(("adapters/", "templates/", "tests/"))]


def test_the_wheel_runs_in_an_empty_environment(release, tmp_path):
    binaries = release.binaries
    run(binaries / "tseval", "run", "--model", "bundled:lstm", "--limit", 5, "--out", "run", cwd=tmp_path)
    table = run(binaries / "tseval", "table", "run", "--format", "csv", cwd=tmp_path)
    assert len(table.splitlines()) >= 1 + 19
    assert "5.94" in run(binaries / "tseval", "table", "bhatt2020", cwd=tmp_path)
    where = run(binaries / "python", "-c", "import tseval.adapters; print(tseval.__file__)", cwd=tmp_path)
    assert where.startswith(str(binaries.parent))
