"""Publish a zoo: its board, and the table, manifest and learning curves of every model; no weights.

Where matplotlib is installed, the curves of all models are drawn into one figure.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pyarrow.parquet as pq
from tabulate import tabulate

from tseval.errors import TrainingError
from tseval.files import read_bytes, write_text
from tseval.models.checkpoint import load_checkpoint
from tseval.report import build_table, open_sources, render
from tseval.report.curves import PUBLISHED, read_curves, write_curves_figure
from tseval.report.shown import interval, mean_rank, rank_set, share
from tseval.runs.files import read_intact
from tseval.training.curves import curves_path
from tseval.training.zoo.results import board_content, make_board, seeds_of_zoo, sources_of
from tseval.training.zoo.target import MANIFEST, MARK, TABLES, publishing, put_model, remove_models

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.checked import Json
    from tseval.report.boards import Board
    from tseval.training.zoo.plan import ZooModel
    from tseval.training.zoo.recipe import Recipe

PAGE = "README.md"
CURVES_FIGURE = "curves.svg"
PAPER = "bhatt2020"


def publish(target: Path, recipe: Recipe, entries: Sequence[ZooModel]) -> None:
    """Write the board, a page, and a folder for each model; what an earlier publication left goes.

    At any moment the folder of a model is whole or not there, and the board that of before or of now; until
    all is written, the page says so. A publication that was killed is ended by the next.

    Raises:
        TrainingError: The folder holds something else, or another process publishes there.
        RunError: A file cannot be written, or one of a run is not what its manifest describes.
    """
    board = make_board(entries, recipe, target.resolve().name)
    with publishing(target):
        # The page comes first and last: with it, a folder whose publication was killed is known to be ours.
        write_text(target / PAGE, f"{MARK} Unfinished: publish again.\n")
        for entry in entries:
            put_model(target / entry.name, _contents(entry))
        write_text(target / "board.json", json.dumps(board_content(board), indent=1) + "\n")
        remove_models(target, but={entry.name for entry in entries})  # the board names them no more
        drawn = _draw_curves(target / CURVES_FIGURE, entries)
        write_text(target / PAGE, _page(recipe, entries, board, drawn))


def _contents(entry: ZooModel) -> dict[str, bytes]:
    """Give the files of a model's folder."""
    run = entry.finished()
    assert run is not None
    tables = {name: read_intact(entry.run, run.manifest.files, name) for name in TABLES}
    manifest = read_bytes(entry.run / MANIFEST, "document_bytes")
    return {**tables, MANIFEST: manifest, PUBLISHED: read_bytes(curves_path(entry.checkpoint))}


def _draw_curves(path: Path, entries: Sequence[ZooModel]) -> bool:
    """Draw the learning curves of all models, unless matplotlib is missing, and say whether they are."""
    try:
        write_curves_figure([read_curves(curves_path(entry.checkpoint)) for entry in entries], [path])
    except TrainingError:
        path.unlink(missing_ok=True)  # an older figure would show other models
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
        *_seeds(entries),
        *_ranks(entries, recipe),
        "## Beside the paper",
        f"    tseval table {board.name} {PAPER}",
        render(build_table([board, *open_sources([PAPER])])).rstrip(),
    ]
    return "\n\n".join(parts) + "\n"


def _seeds(entries: Sequence[ZooModel]) -> list[str]:
    """Write the section on seeds, where there are several."""
    told = seeds_of_zoo(entries)
    if told is None:
        return []
    return [
        "## Seeds",
        "Means over seeds, ± the standard deviation between them; intervals hold for other seeds and words.",
        render(told).rstrip(),
    ]


def _ranks(entries: Sequence[ZooModel], recipe: Recipe) -> list[str]:
    """Write which ranks are known; a mean over several seeds has no verdicts to tell them by."""
    table = build_table(sources_of(entries, recipe))
    if table.ranking is None:
        return []
    found, means = table.ranking, table.means[-1]
    rows = []
    for place, column in enumerate(table.columns):
        accuracy, rank, overall = means.accuracy[place], means.rank[place], table.overall[place]
        if accuracy is None or rank is None or overall is None:
            continue  # a model that decides nothing in some row has no mean, and no rank
        known = rank_set(overall, found.overall.low[place], found.overall.high[place])
        sure = interval((found.low[place], found.high[place]), 2)
        rows.append((column.heading, share(accuracy), known, mean_rank(rank), sure))
    headings = ("model", "mean accuracy", "rank by it", "mean arithmetic rank", "95% interval")
    return [
        "## Which ranks are known",
        "In brackets stand the ranks that a model may have, all of them right together with 95% confidence: "
        "for other words of the same kind, and these very models. Another seed may change them.",
        tabulate(
            rows, headers=headings, tablefmt="pipe", colalign=("left", *["right"] * 4), disable_numparse=True
        ),
    ]


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
