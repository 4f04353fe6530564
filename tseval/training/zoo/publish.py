"""Publish a zoo: its board, and the table, manifest and learning curves of every model; no weights.

Where matplotlib is installed, the curves of all models are drawn into one figure.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, cast

import pyarrow.parquet as pq
from tabulate import tabulate

from tseval.errors import BoardError, TrainingError
from tseval.files import PARTIAL, write_text
from tseval.models.checkpoint import load_checkpoint
from tseval.report import build_table, open_sources, render
from tseval.report.boards import read_board
from tseval.report.curves import PUBLISHED, read_curves, write_curves_figure
from tseval.training.curves import curves_path
from tseval.training.zoo.results import board_content, make_board

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.checked import Json
    from tseval.report.boards import Board
    from tseval.training.zoo.plan import ZooModel
    from tseval.training.zoo.recipe import Recipe

FROM_RUN = ("table.csv", "table.md", "manifest.json")
CURVES_FIGURE = "curves.svg"
PAPER = "bhatt2020"
_BEGUN = re.compile(rf"README\.md\.\d+{re.escape(PARTIAL)}")
MARK = "Written by `tseval train zoo --publish DIR`; do not edit."


def check_target(target: Path) -> None:
    """Refuse a folder that holds anything but an earlier publication, before hours are spent.

    One that was killed has at least begun its page, or left a partial one.

    Raises:
        TrainingError: Says what is there.
    """
    if not target.exists() or (
        target.is_dir() and all(_BEGUN.fullmatch(one.name) for one in target.iterdir())
    ):
        return
    try:
        ours = MARK in (target / "README.md").read_text(encoding="utf-8")
        if (target / "board.json").exists():
            read_board(target)
    except (OSError, ValueError, BoardError):
        ours = False
    if not ours:
        raise TrainingError(
            f"{target} holds something else than a published zoo.\n  Name a new folder with --publish."
        )


def publish(target: Path, recipe: Recipe, entries: Sequence[ZooModel]) -> None:
    """Write the board, a page, and a folder for each model; what an earlier publication left goes.

    Raises:
        TrainingError: The folder holds something else.
        RunError: A file cannot be written.
    """
    check_target(target)
    board = make_board(entries, recipe, target.resolve().name)
    target.mkdir(parents=True, exist_ok=True)
    # The page comes first and last: with it, a folder whose publication was killed is known to be ours.
    write_text(target / "README.md", f"{MARK} Unfinished: publish again.\n")
    for folder in [one for one in target.iterdir() if one.is_dir() and _holds_model(one)]:
        shutil.rmtree(folder)
    for entry in entries:
        place = target / entry.name
        place.mkdir()
        for name in FROM_RUN:
            shutil.copyfile(entry.run / name, place / name)
        shutil.copyfile(curves_path(entry.checkpoint), place / PUBLISHED)
    write_text(target / "board.json", json.dumps(board_content(board), indent=1) + "\n")
    drawn = _draw_curves(target / CURVES_FIGURE, entries)
    write_text(target / "README.md", _page(recipe, entries, board, drawn))


def _holds_model(folder: Path) -> bool:
    """Tell whether a folder is a published model's; one that was being written or removed lacks files."""
    return {entry.name for entry in folder.iterdir()} <= {*FROM_RUN, PUBLISHED}


def _draw_curves(path: Path, entries: Sequence[ZooModel]) -> bool:
    """Draw the learning curves of all models, unless matplotlib is missing, and say whether they are."""
    path.unlink(missing_ok=True)  # an older figure would show other models
    try:
        write_curves_figure([read_curves(curves_path(entry.checkpoint)) for entry in entries], [path])
    except TrainingError:
        return False
    return True


def _page(recipe: Recipe, entries: Sequence[ZooModel], board: Board, drawn: bool) -> str:
    """Write what the folder holds, how it was made, and the tables."""
    files = load_checkpoint(entries[0].checkpoint).training["files"]
    texts = [
        f"- `{file['name']}`: {file['tokens']:,} tokens, SHA-256 `{file['sha256']}`"
        for file in cast("list[dict[str, Json]]", files)
    ]
    options = [f"- {group}: `{' '.join(words)}`" for group, words in _options(recipe, entries).items()]
    parts = [
        f"# {board.title}",
        f"{MARK} Every folder holds the table and the manifest of one model's run and its learning curves; "
        "the weights are not kept here. `board.json` holds the accuracies, cut to three decimals.",
        "## How it was made",
        f"    tseval train zoo --recipe {recipe.name} --corpus DIR --out DIR --publish DIR",
        "Every model read the same texts, in the same order, over the same vocabulary:",
        "\n".join(texts),
        "Options of `tseval train lm`:",
        "\n".join(options),
        tabulate(
            map(_facts, entries), headers=_FACTS, tablefmt="pipe", colalign=_ALIGN, disable_numparse=True
        ),
        *([f"![Learning curves of all models]({CURVES_FIGURE})"] if drawn else []),
        "## The table",
        f"    tseval table {board.name}",
        render(build_table([board])).rstrip(),
        "## Beside the paper",
        f"    tseval table {board.name} {PAPER}",
        render(build_table([board, *open_sources([PAPER])])).rstrip(),
    ]
    return "\n\n".join(parts) + "\n"


def _options(recipe: Recipe, entries: Sequence[ZooModel]) -> dict[str, tuple[str, ...]]:
    """Give the options that all models share, and all options of each architecture that has its own."""
    own = {entry.arch: entry.options for entry in entries if entry.arch in recipe.cells}
    return {"all": recipe.arguments(""), **{f"but {arch}": options for arch, options in own.items()}}


_FACTS = ("model", "seed", "hidden", "words", "parameters", "tokens read", "seconds", "perplexity")
_ALIGN = ("left", *["right"] * 7)


def _facts(entry: ZooModel) -> tuple[str, ...]:
    """Describe how one model was trained, and what it came to."""
    run = entry.finished()
    assert run is not None
    details = run.manifest.model.details
    last = pq.read_table(curves_path(entry.checkpoint), columns=["tokens", "seconds"]).to_pylist()[-1]
    sizes = (f"{details[name]:,}" for name in ("hidden", "vocabulary", "parameters"))
    perplexity = f"{details['validation_perplexity']:.2f}"
    return entry.name, str(entry.seed), *sizes, f"{last['tokens']:,}", f"{last['seconds']:,.0f}", perplexity
