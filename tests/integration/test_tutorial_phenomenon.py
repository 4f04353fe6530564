"""The pages on grammars, followed to the letter: files written, commands run, output compared."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tseval.models import BUNDLED_CHECKPOINTS

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_MODEL = "$ tseval run", "$ tseval analyze"


def steps(page: str) -> list[tuple[str, str]]:
    """Files as (path, content) and commands as ('$ command', expected output), in the order of the page."""
    found = []
    for language, name, content in BLOCK.findall((DOCS / page).read_text()):
        if name:
            found.append((name, content))
        elif language == "console":
            for part in content.removeprefix("$ ").split("\n$ "):
                command, _, output = part.partition("\n")
                found.append((f"$ {command}", output.strip("\n")))
    return found


def follow(page: str, folder: Path, *, with_model: bool) -> int:
    bin_folder = Path(sys.executable).parent
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    environment["PATH"] = f"{bin_folder}{os.pathsep}{environment['PATH']}"
    n_commands = 0
    for name, content in steps(page):
        if not name.startswith("$ "):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content)
            continue
        if name.startswith(NEEDS_MODEL) and not with_model:
            continue
        result = subprocess.run(
            name.removeprefix("$ ").split(),
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        if content:
            assert (result.stdout + result.stderr).strip("\n") == content
        n_commands += 1
    return n_commands


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    assert follow("tutorial-new-phenomenon.md", tmp_path, with_model=False) == 3


@pytest.mark.skipif(
    not (BUNDLED_CHECKPOINTS / "lstm.pt").exists(), reason="the bundled LSTM is not there yet"
)
def test_the_tutorial_scores_the_bundled_model(tmp_path: Path) -> None:
    assert follow("tutorial-new-phenomenon.md", tmp_path, with_model=True) == 6


def test_the_worked_example_of_the_reference_does_what_it_says(tmp_path: Path) -> None:
    assert follow("grammars.md", tmp_path, with_model=False) == 3
