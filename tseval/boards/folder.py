"""Create a board: its folder, a copy of its suite, and the repository of a public board."""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import metadata, version
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from tseval.boards.definition import BOARD_FILES_FORMAT, Definition, read_definition, write_definition
from tseval.boards.entry_folders import ENTRY_FOLDERS, entry_folders
from tseval.boards.readme import pages
from tseval.boards.transaction import BOARD_LOCK, board_transaction, built_aside, is_begun
from tseval.errors import BoardError, plain
from tseval.evidence.download import check_address
from tseval.files import read_bytes, write_text, write_whole
from tseval.runs.board_suite import DEFINITION, SUITE_FOLDER, suite_spec
from tseval.suites import available_suites, load_suite, locate_suite
from tseval.suites.data.catalogue import CATALOGUE
from tseval.suites.formal.languages import names_language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.formats import Json
    from tseval.questions import Score


LARGEST_COPY = 64 << 20  # bytes


def new_board(  # noqa: PLR0913 - all that a user may say of a board
    board: Path,
    suite: str,
    title: str | None = None,
    score: Score | None = None,
    columns: Mapping[str, str] | None = None,
    evidence: str | None = None,
    *,
    prompt: str | None = None,
) -> None:
    """Create a board for a whole suite.

    Args:
        suite: Name of a suite or a path, as for `tseval run` (see `seen_from`).
        columns: Roles of the columns in the suite's tables, as for `load_suite`.
        evidence: Address of evidence that will not be in the board, with `{sha256}`.
        prompt: Name or file of the template, if the score is `prompt`.
    """
    protocol = _protocol_of_prompt(score, prompt)
    if evidence is not None:
        check_address(evidence.replace("{sha256}", "0" * 64))
        if "{sha256}" not in evidence:
            raise BoardError(
                f"{evidence} is one address, and every entry has its own evidence.\n"
                "  Name it with {sha256} where its digest stands: https://example.org/{sha256}.parquet"
            )
    if not (board / BOARD_LOCK).exists():
        refuse_full(board)
    suite = seen_from(board, suite)
    spec = suite_spec(suite, board)
    loaded = load_suite(spec, columns=columns)
    if not loaded.has_accuracy:
        raise BoardError(
            f"{loaded.name} is a suite of rated sentences, but a leaderboard needs a suite with "
            "accuracies.\n"
            "  To compare correlations with ratings, print them: tseval table RUN..."
        )
    definition = Definition(
        format=BOARD_FILES_FORMAT,
        title=title or f"A leaderboard of {loaded.title}",
        suite=suite,
        digest=loaded.digest,
        score=score or loaded.score,
        source=loaded.source,
        columns=dict(columns or {}),
        protocol=protocol,
        evidence=evidence,
    )
    if (board / BOARD_LOCK).exists() and is_there(board, definition):  # a kill at the very end
        release(board)
        return
    refuse_full(board)
    write_new_board(board, spec, definition)


def _protocol_of_prompt(score: Score | None, prompt: str | None) -> dict[str, Json]:
    """Return the protocol that entries of a board of prompt models must have: template, both orders."""
    if score != "prompt":
        if prompt is not None:
            raise BoardError(
                f"--prompt {prompt}: only a leaderboard with --score prompt has a prompt template.\n"
                "  Add --score prompt, or leave out --prompt."
            )
        return {}
    from tseval.prompting.template import DEFAULT, open_template  # noqa: PLC0415 - brings Jinja along

    template = open_template(prompt or DEFAULT)
    return {"prompt": template.name, "prompt_digest": template.digest[:16], "orders": "both"}


def seen_from(board: Path, suite: str) -> str:
    """Return the suite's name or path as `board.yaml` states it, relative to the board.

    The user's path is relative to the current folder or, if it does not exist there, to the board.

    Raises:
        BoardError: The path does not exist.
    """
    if suite in available_suites() or suite in CATALOGUE or names_language(suite):
        return suite
    name, colon, method = suite.rpartition(":")
    names = {*available_suites(), *CATALOGUE}
    for path, task in ((suite, ""), (name, f":{method}")):
        if path and path not in names and Path(path).exists():
            return os.path.relpath(path, board) + task
    if suite_spec(suite, board) != suite or not {"/", "\\"} & set(suite):
        return suite
    path = suite if not colon or len(name) < 2 else name
    from_folder, from_board = (os.path.normpath(place.absolute() / path) for place in (Path(), board))
    places = from_folder if from_folder == from_board else f"{from_folder} or {from_board}"
    raise BoardError(
        f"--suite {suite}: there is no file or folder {places}.\n"
        "  Name a suite that comes with tseval, or a path relative to the folder that you are in."
    )


def is_there(board: Path, definition: Definition) -> bool:
    """Return whether the folder has a board without entries and with this definition."""
    if not (board / DEFINITION).is_file() or entry_folders(board):
        return False
    return read_definition(board) == definition


def release(board: Path) -> None:
    """Remove the lock that a kill left in a board."""
    with board_transaction(board):
        pass


def refuse_full(board: Path) -> None:
    """Refuse to create a board in a folder that is not empty."""
    if board.exists() and (not board.is_dir() or (any(board.iterdir()) and not is_begun(board))):
        raise BoardError(f"{board} is not an empty folder.\n  Name a new folder for the leaderboard.")


def write_new_board(board: Path, spec: str | Path, definition: Definition) -> None:
    """Write a board without entries, completely or not at all."""
    with built_aside(board) as folder:
        (folder / ENTRY_FOLDERS).mkdir()
        copy_suite(spec, folder / SUITE_FOLDER)
        for name, text in pages(board, definition, []).items():  # the messages name the board's final folder
            write_text(folder / name, text)
        write_text(folder / DEFINITION, write_definition(definition))


def copy_suite(spec: str | Path, folder: Path) -> None:
    """Copy the files of a suite into its board, so that checks work even if the files change.

    A published set (one version, with a digest) and a formal language (a program) are not copied.
    """
    if isinstance(spec, str) and names_language(spec):
        return
    path, method = locate_suite(spec)
    if isinstance(spec, str) and spec.removesuffix(f":{method}") in CATALOGUE:
        return
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    root = path.parent
    if path.suffix == ".jinja":  # its lexicon is in the same folder
        files += sorted(root.glob("*.yaml"))
    if (size := sum(file.stat().st_size for file in files)) > LARGEST_COPY:
        raise BoardError(
            f"{path} has {size:,} bytes, but a leaderboard copies at most {LARGEST_COPY:,} bytes of a "
            "suite.\n"
            "  Name a file or folder that contains only the suite."
        )
    for file in files:
        target = folder / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, read_bytes(file))


BOARD_FOLDER, WORKFLOW = "board", ".github/workflows/board.yml"
_TEMPLATES = Path(__file__).with_name("public")
# The path of each text in the repository.
_TEXTS = {
    "README.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    ".github/pull_request_template.md": "pull_request_template.md",
    "CITATION.cff": "CITATION.cff",
    WORKFLOW: "board.yml",
}


def new_repository(  # noqa: PLR0913 - all that a user may say of boards
    folder: Path,
    suites: Sequence[str],
    title: str | None = None,
    score: Score | None = None,
    columns: Mapping[str, str] | None = None,
    evidence: str | None = None,
    *,
    prompt: str | None = None,
) -> list[Path]:
    """Create boards in a folder that others can clone, with the files that a public repository needs.

    Other files in the folder stay as they are: a suite, a licence, files of git, boards.
    """
    # This version in the form that pip needs: by its tag in the repository, because no index has it yet.
    urls = dict(url.split(", ", 1) for url in metadata("tseval").get_all("Project-URL", []))
    this_version = f"tseval @ git+{urls['Homepage']}@v{version('tseval')}"
    # On Windows, git would write other line ends, and the digests would change.
    files = {
        ".gitattributes": "* -text\n",
        ".gitignore": "/site/\n/runs/\n",
        "requirements.txt": f"{this_version}\n",
    }
    is_one = (folder / WORKFLOW).exists()
    for name in () if is_one else (*_TEXTS, *files):
        if (folder / name).exists():
            raise BoardError(
                f"{folder / name} exists already, and tseval does not overwrite it.\n"
                "  Name another folder, or move this file to another place."
            )
    is_single = not is_one and len(suites) == 1
    names = [BOARD_FOLDER] if is_single else [re.sub(r"[^\w.-]+", "-", Path(suite).stem) for suite in suites]
    boards = [folder / name for name in names]
    if len(set(boards)) < len(boards):
        raise BoardError(
            "two of the suites have the same name, so their leaderboards would have the same folder. "
            "Create the leaderboards one by one, without --repository."
        )
    suites = [seen_from(board, suite) for board, suite in zip(boards, suites, strict=True)]
    boards_by_suite = {
        suite_spec(read_definition(file.parent).suite, file.parent): file.parent
        for file in folder.glob(f"*/{DEFINITION}")
    }
    for board, suite in zip(boards, suites, strict=True):
        if (existing := boards_by_suite.get(suite_spec(suite, board))) is not None:
            raise BoardError(
                f"the leaderboard {existing} already has the suite {suite}.\n"
                "  Name another suite, or another folder for the repository."
            )
    for board, suite in zip(boards, suites, strict=True):
        new_board(board, suite, title, score, columns, evidence, prompt=prompt)
    if is_one:
        return boards
    first = boards[0].name
    spec = suite_spec(suites[0], boards[0])
    heading = plain(read_definition(boards[0]).title) if is_single else "Leaderboards"
    values = {
        "title": heading,
        "quoted": json.dumps(heading),
        "board": first,
        # The path for a user who cloned the repository into the folder `leaderboard`.
        "suite": suites[0] if spec == suites[0] else os.path.normpath(f"leaderboard/{first}/{suites[0]}"),
    }
    texts = {
        name: Template((_TEMPLATES / file).read_text("utf-8")).safe_substitute(values)
        for name, file in _TEXTS.items()
    }
    for name, text in (texts | files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(folder / name, text)
    return boards
