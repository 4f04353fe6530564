"""Publish a zoo: a board with the evidence of every run, and its learning curves; no weights.

Where matplotlib is installed, the curves of all models are drawn into one figure.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from tabulate import tabulate

from tseval.boards import (
    DEFINITION,
    ENTRY_FILE,
    ENTRY_FOLDERS,
    About,
    entry_runs,
    write_definition,
    write_entry,
)
from tseval.boards.check import CURVES_FIGURE, CURVES_FOLDER
from tseval.boards.folder import ACCURACIES, BOARD_PAGE, entry_files, pages
from tseval.errors import TrainingError, first_line
from tseval.files import read_bytes, to_utf8, write_text
from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint
from tseval.report.curves import read_curves, write_curves_figure
from tseval.runs import Manifest, read_run
from tseval.runs.manifest import load_manifest
from tseval.suites.grammar.cache import afresh
from tseval.training.curves import curves_path
from tseval.training.zoo.extend import check_kept, models_to_keep
from tseval.training.zoo.plan import CORPUS_FILES, in_order
from tseval.training.zoo.results import define
from tseval.training.zoo.target import MARK, publishing, put_entry, put_file, remove_others
from tseval.training.zoo.told import tell_options, tell_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tseval.boards import Definition
    from tseval.formats import Json
    from tseval.training.zoo.plan import ZooModel
    from tseval.training.zoo.recipe import Recipe


@afresh()  # all models are verified over one expansion
def publish(target: Path, recipe: Recipe, entries: Sequence[ZooModel], *, extend: bool = False) -> None:
    """Write the board: definition, entries, curves and pages; what an earlier publication left goes.

    At any moment an entry is whole or not there, and `board.json` that of before or of now; until all is
    written, the page says so. A publication that was killed is ended by the next.

    Args:
        target: The folder.
        recipe: How the models were trained.
        entries: The models, finished.
        extend: Keep what the folder has of other models, which were trained in the same way.

    Raises:
        TrainingError: The folder holds something else, models that were trained in another way or do not
            hold, or another process publishes there.
        BoardError: A run does not hold.
        RunError: A file cannot be written, or one of a run is not what its manifest describes.
    """
    files = _files(entries[0])
    with publishing(target):
        own = [entry.name for entry in entries]
        digests = [str(file["sha256"]) for file in files]
        kept = models_to_keep(target, recipe, own, digests) if extend else []
        check_kept(target, kept)
        for model in kept:
            _check_facts(target, model)
        # The page comes first and last: with it, a folder whose publication was killed is known to be ours.
        write_text(target / BOARD_PAGE, f"{MARK} Unfinished: publish again.\n")
        models = in_order([*kept, *entries])
        definition = define(models, recipe, read_run(entries[0].run).manifest)
        for entry in entries:
            put_entry(target / ENTRY_FOLDERS / entry.name, _entry(definition, entry))
            put_file(_curves(target, entry), read_bytes(curves_path(entry.checkpoint)))
        facts = [_facts(target, model) for model in models]
        text = _text(recipe, models, files, facts, drawn=_draw_curves(target, models))
        definition = replace(definition, text=text)
        write_text(target / DEFINITION, write_definition(definition))
        texts = pages(target, definition, entry_runs([target / ENTRY_FOLDERS / one.name for one in models]))
        write_text(target / ACCURACIES, texts[ACCURACIES])
        remove_others(target, {model.name for model in models})  # the board names them no more
        write_text(target / BOARD_PAGE, texts[BOARD_PAGE])


def _curves(target: Path, model: ZooModel) -> Path:
    return target / CURVES_FOLDER / f"{model.name}.parquet"


def _entry(definition: Definition, model: ZooModel) -> dict[str, bytes]:
    """Give the files of a model's entry."""
    entry, files = entry_files(definition, definition.suite, model.run, model.name)
    texts = tell_texts(_files(model))
    said = replace(entry, about=About(licence=None, training_data=texts, contains_suite="unknown"))
    return {**files, ENTRY_FILE: to_utf8(write_entry(said))}


def _files(model: ZooModel) -> list[Mapping[str, Json]]:
    return cast("list[Mapping[str, Json]]", load_checkpoint(model.checkpoint).training["files"])


def _draw_curves(target: Path, models: Sequence[ZooModel]) -> bool:
    """Draw the learning curves of all models, unless matplotlib is missing, and say whether they are."""
    path = target / CURVES_FIGURE
    try:
        write_curves_figure([read_curves(_curves(target, model)) for model in models], [path])
    except TrainingError:
        path.unlink(missing_ok=True)  # an older figure would show other models
        return False
    return True


def _text(
    recipe: Recipe,
    models: Sequence[ZooModel],
    files: Sequence[Mapping[str, Json]],
    facts: Sequence[Sequence[str]],
    *,
    drawn: bool,
) -> str:
    """Write what the folder holds, and how it was made."""
    texts = [f"- `{file['name']}`: {file['tokens']:,} tokens, SHA-256 `{file['sha256']}`" for file in files]
    more = [f"--train {file['name']}" for file in files if file["name"] not in CORPUS_FILES]
    same = " ".join([*more, "--corpus DIR --out DIR --publish DIR"])
    first, *others = (f"    tseval train zoo {choice} {same}" for choice in _choices(recipe, models))
    parts = [
        f"{MARK} Every entry holds the evidence of one model's run, from which its numbers follow; "
        f"`{CURVES_FOLDER}` holds learning curves. The weights are not kept here.",
        "## How it was made",
        "\n".join([first, *(f"{command} --extend" for command in others)]),
        "Every model read the same texts, in the same order, over the same vocabulary:",
        "\n".join(texts),
        "Options of `tseval train lm`:",
        tell_options(recipe, models),
        tabulate(facts, headers=_FACTS, tablefmt="pipe", colalign=_ALIGN, disable_numparse=True),
        *([f"![Learning curves of all models]({CURVES_FIGURE})"] if drawn else []),
    ]
    return "\n\n".join(parts) + "\n"


def _choices(recipe: Recipe, models: Sequence[ZooModel]) -> list[str]:
    """Say which models were asked for: in one command, or one for each number of seeds."""
    seeds = Counter(model.arch for model in models)
    if all(recipe.seeds_of(arch) == count for arch, count in seeds.items()):
        return [_choice(recipe, list(seeds))]
    counts = sorted(set(seeds.values()), reverse=True)
    return [
        f"{_choice(recipe, [arch for arch in seeds if seeds[arch] == count])} --seeds {count}"
        for count in counts
    ]


def _choice(recipe: Recipe, archs: Sequence[str]) -> str:
    named = [f"--arch {arch}" for arch in archs] if len(archs) < len(CELLS) else []
    return " ".join([f"--recipe {recipe.name}", *named])


_FACTS = ("model", "seed", "hidden", "words", "parameters", "tokens read", "seconds", "perplexity")
_ALIGN = ("left", *["right"] * 7)


def _facts(target: Path, model: ZooModel) -> tuple[str, ...]:
    """Describe how one model was trained, and what it came to."""
    manifest = load_manifest(target / ENTRY_FOLDERS / model.name)
    assert isinstance(manifest, Manifest)
    details = manifest.model.details
    columns = read_curves(_curves(target, model)).columns
    tokens, seconds = (columns[name][-1] for name in ("tokens", "seconds"))
    sizes = (f"{details[name]:,}" for name in ("hidden", "vocabulary", "parameters"))
    perplexity = f"{details['validation_perplexity']:.2f}"
    return model.name, str(model.seed), *sizes, f"{tokens:,.0f}", f"{seconds:,.0f}", perplexity


def _check_facts(target: Path, model: ZooModel) -> None:
    """Hold a published model to what its page tells of it.

    Raises:
        TrainingError: Something is missing.
    """
    try:
        _facts(target, model)
    except (LookupError, TypeError, ValueError) as error:
        raise TrainingError(
            f"{target} does not tell how its {model.name} was trained ({first_line(error)}).\n"
            "  Remove the folder of that entry, then give the same command again."
        ) from None
