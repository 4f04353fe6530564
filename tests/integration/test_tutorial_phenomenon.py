"""The pages on grammars, followed to the letter: files written, commands run, output compared."""

from pathlib import Path

import pytest
from pages import follow

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "n_commands"), [("tutorial-new-phenomenon.md", 6), ("grammars.md", 3)])
def test_the_page_does_what_it_says(tmp_path: Path, page: str, n_commands: int) -> None:
    commands = follow(DOCS / page, tmp_path)
    assert len(commands) == n_commands
    for command in commands:
        assert command.quoted in ("", command.printed), f"{command.line} prints:\n{command.printed}"
