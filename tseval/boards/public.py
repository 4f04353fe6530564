"""A repository for a public board: the board, what a forge runs, and what submitters are told."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from tseval.boards.definition import read_definition
from tseval.boards.folder import new_board
from tseval.errors import BoardError, plain
from tseval.files import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.questions import Score

BOARD_FOLDER = "board"
_TEMPLATES = Path(__file__).with_name("public")
# Where each text lies in the repository.
_TEXTS = {
    "README.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    ".github/pull_request_template.md": "pull_request_template.md",
    ".github/workflows/board.yml": "board.yml",
}


def new_repository(
    folder: Path,
    suite: str,
    title: str | None = None,
    score: Score | None = None,
    columns: Mapping[str, str] | None = None,
) -> Path:
    """Begin a board in a folder that others can clone, with what a public one needs around it.

    What else lies in the folder stays as it is: a suite, a licence, what git keeps.

    Args:
        folder: Of the repository, there or not.
        suite: As for `new_board`, seen from the board's folder: `../pairs.jsonl` lies in the repository.
        title: As a reader would cite the board; None for that of the suite.
        score: What sentences are compared by; None for what the suite was published with.
        columns: As for `new_board`.

    Returns:
        The board's folder.

    Raises:
        BoardError: There is a board already, or one of the files.
        SuiteError: There is no such suite.
    """
    # git would write other ends of lines on Windows, and other bytes have other digests.
    others = {".gitattributes": "* -text\n", "requirements.txt": f"tseval=={version('tseval')}\n"}
    for name in (*_TEXTS, *others):
        if (folder / name).exists():
            raise BoardError(f"{folder / name} exists.\n  Name another folder, or move the file away.")
    board = folder / BOARD_FOLDER
    new_board(board, suite, title, score, columns)
    shown = plain(read_definition(board).title)
    texts = {
        name: Template((_TEMPLATES / file).read_text("utf-8")).safe_substitute(title=shown)
        for name, file in _TEXTS.items()
    }
    for name, text in (texts | others).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(folder / name, text)
    return board
