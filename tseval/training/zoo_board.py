"""Publication of a zoo: its board, with a page, learning curves and evidence."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from tabulate import tabulate

from tseval.boards.check import CURVES_FIGURE, CURVES_FOLDER, wrong_with_board
from tseval.boards.definition import Definition, read_definition, write_definition
from tseval.boards.entries import entry_files, write_new_folder
from tseval.boards.entry import About, read_entry, write_entry
from tseval.boards.entry_folders import ENTRY_FOLDERS, entry_folders, entry_runs
from tseval.boards.readme import ACCURACIES, BOARD_PAGE, pages
from tseval.boards.transaction import BOARD_LOCK
from tseval.errors import BoardError, LimitError, TrainingError, first_line
from tseval.files import PARTIAL, locked, read_bytes, sync_directory, to_utf8, write_text, write_whole
from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint
from tseval.report.curves import read_curves, write_curves_figure
from tseval.report.published import read_board
from tseval.runs import Manifest
from tseval.runs.board_suite import DEFINITION
from tseval.runs.entry import ENTRY_FILE, EVIDENCE
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import load_manifest
from tseval.runs.reader import read_run
from tseval.suites import without_cache
from tseval.training.curves import curves_path
from tseval.training.zoo import CORPUS_FILES, define, in_order, planned

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.training.zoo import Recipe, ZooModel


# The only files of a publication before its first record; a killed process leaves a partial one.
_BEGUN = re.compile(rf"{re.escape(BOARD_LOCK)}|README\.md\.\d+{re.escape(PARTIAL)}")
_OPTIONS = re.compile(r"^- (?:except |but )?(\S+): `(--.*)`$", re.MULTILINE)
_DIGEST = re.compile(r"SHA-256 ([0-9a-f]{64})")
_SHARED = "all"  # no architecture has this name


def options_text(recipe: Recipe, models: Sequence[ZooModel]) -> str:
    """Return the common options of all models, and all options of each architecture with different ones."""
    options_of_cells = {model.arch: model.options for model in models if model.arch in recipe.cells}
    lines = {
        _SHARED: recipe.arguments(""),
        **{f"except {arch}": options for arch, options in options_of_cells.items()},
    }
    return "\n".join(f"- {group}: `{' '.join(words)}`" for group, words in lines.items())


MARK = "Published by `tseval train zoo --publish DIR`; do not edit."
_OF_ENTRY = {ENTRY_FILE, EVIDENCE, MANIFEST}


def check_target(target: Path) -> None:
    """Refuse a folder that holds anything except an earlier publication, before hours of training.

    A killed publication has at least started its page, or left a partial one.
    """
    if not target.exists() or (
        target.is_dir() and all(_BEGUN.fullmatch(path.name) for path in target.iterdir())
    ):
        return
    try:
        has_mark = MARK.encode() in read_bytes(target / "README.md", "document_bytes")
        if (target / "board.json").exists():
            read_board(target)
    except (OSError, ValueError, BoardError, LimitError):
        has_mark = False
    if not has_mark:
        raise TrainingError(
            f"{target}: this folder holds files, but is not a published zoo.\n  Name a new folder with "
            "--publish."
        )


@contextmanager
def publishing(target: Path) -> Iterator[None]:
    """Lock the folder, so that only one publication writes into it."""
    check_target(target)
    target.mkdir(parents=True, exist_ok=True)
    error = TrainingError(
        f"{target}: another process of tseval is writing into this folder.\n  When that process has ended, "
        "repeat the command: tseval keeps the finished models."
    )
    with locked(target / BOARD_LOCK, error):
        yield


def put_entry(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write an entry's folder under a temporary name, and move it into place, so that it is never partial.

    If the same content exists already, nothing is done. When an entry is replaced, it is missing for a
    moment.
    """
    files = list(folder.iterdir()) if folder.is_dir() and holds_entry(folder) else []
    if files and {file.name: read_bytes(file) for file in files} == contents:
        return
    partial = write_new_folder(folder, contents)
    if folder.exists():
        _remove(folder)
    partial.rename(folder)
    sync_directory(folder.parent)


def put_file(path: Path, content: bytes) -> None:
    """Write a file, unless it has the same content already."""
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or read_bytes(path) != content:
        write_whole(path, content)


def remove_others(target: Path, names: Container[str]) -> None:
    """Remove entries and curves of all other models, and the remains of a killed publication."""
    for folder in sorted((target / ENTRY_FOLDERS).iterdir()):
        if folder.name not in names and folder.is_dir() and holds_entry(folder):
            _remove(folder)
    for file in sorted((target / CURVES_FOLDER).iterdir()):
        if file.suffix != ".parquet" or file.stem not in names:
            file.unlink()


def holds_entry(folder: Path) -> bool:
    """Return whether a folder is an entry's; during writing or removal, files may be missing."""
    return {path.name.removesuffix(PARTIAL) for path in folder.iterdir()} <= _OF_ENTRY


def _remove(folder: Path) -> None:
    """Rename a folder and then remove it, so that it is never partial."""
    renamed = folder
    if folder.suffix != PARTIAL:
        renamed = folder.with_name(f"{folder.name}.old{PARTIAL}")
        if renamed.exists():  # left by a killed process
            shutil.rmtree(renamed)
        folder.rename(renamed)
    shutil.rmtree(renamed)


_PUBLISH_FIX = (
    "Publish to another folder, or leave out --extend: then tseval removes all entries of other models."
)


def models_to_keep(
    target: Path, recipe: Recipe, names: Collection[str], digests: Collection[str]
) -> list[ZooModel]:
    """Return the published models from outside the zoo; refuse them if settings or texts differ."""
    if not (target / DEFINITION).exists():
        return []
    definition = read_definition(target)
    models = []
    for folder in entry_folders(target, definition.order):
        if folder.name in names:
            continue
        model = planned(recipe, folder.name, target)
        if model is None:
            raise TrainingError(
                f"{folder}: this entry is not a model of the recipe {recipe.name}.\n  {_PUBLISH_FIX}"
            )
        on_page = dict(_OPTIONS.findall(definition.text))
        before, settings = on_page.get(model.arch, on_page.get(_SHARED)), " ".join(model.options)
        if before != settings:
            raise TrainingError(
                f"{target}: the published model {model.name} was trained with other settings: {before}\n"
                f"  Settings of the recipe {recipe.name}: {settings}\n  {_PUBLISH_FIX}"
            )
        training_data = read_entry(folder).about.training_data or "unknown texts"
        if set(_DIGEST.findall(training_data)) != set(digests):
            raise TrainingError(
                f"{target}: the published model {model.name} was trained on other texts: {training_data}\n"
                f"  {_PUBLISH_FIX}"
            )
        models.append(model)
    return models


def check_kept(target: Path, earlier: Sequence[ZooModel]) -> None:
    """Check the entries that stay, like `tseval board check`."""
    wrong = wrong_with_board(target, [model.name for model in earlier]) if earlier else []
    if wrong:
        raise TrainingError(
            f"tseval cannot extend {target}: {wrong[0]}.\n"
            "  Correct that entry, or remove its folder. Then repeat the command."
        )


@without_cache()  # all models are verified on one expansion of the suite
def publish(target: Path, recipe: Recipe, entries: Sequence[ZooModel], *, extend: bool = False) -> None:
    """Write the board (definition, entries, curves and pages), and remove the rest of an earlier publication.

    At any moment, an entry is complete or missing, and `board.json` is the old or the new one. Until
    everything is written, the page says so. The next publication completes one that was killed. `extend`
    keeps the entries of other models, which must have been trained in the same way.
    """
    files = _files(entries[0])
    with publishing(target):
        names = [entry.name for entry in entries]
        digests = [str(file["sha256"]) for file in files]
        earlier = models_to_keep(target, recipe, names, digests) if extend else []
        check_kept(target, earlier)
        for model in earlier:
            _check_facts(target, model)
        # The page is written first and last. It identifies the folder as ours if the publication is killed.
        write_text(target / BOARD_PAGE, f"{MARK} Unfinished: publish again.\n")
        models = in_order([*earlier, *entries])
        definition = define(models, recipe, read_run(entries[0].run).manifest)
        for entry in entries:
            put_entry(target / ENTRY_FOLDERS / entry.name, _entry(definition, entry))
            put_file(_curves(target, entry), read_bytes(curves_path(entry.checkpoint)))
        facts = [_facts(target, model) for model in models]
        text = _text(recipe, models, files, facts, drawn=_draw_curves(target, models))
        definition = replace(definition, text=text)
        write_text(target / DEFINITION, write_definition(definition))
        texts = pages(
            target, definition, entry_runs([target / ENTRY_FOLDERS / model.name for model in models])
        )
        write_text(target / ACCURACIES, texts[ACCURACIES])
        remove_others(target, {model.name for model in models})  # the board no longer lists them
        write_text(target / BOARD_PAGE, texts[BOARD_PAGE])


def _curves(target: Path, model: ZooModel) -> Path:
    return target / CURVES_FOLDER / f"{model.name}.parquet"


def _entry(definition: Definition, model: ZooModel) -> dict[str, bytes]:
    entry, files = entry_files(definition, definition.suite, model.run, model.name)
    texts = [f"{file['name']}, {file['tokens']:,} tokens, SHA-256 {file['sha256']}" for file in _files(model)]
    about = About(licence=None, training_data="; ".join(texts), contains_suite="unknown")
    return {**files, ENTRY_FILE: to_utf8(write_entry(replace(entry, about=about)))}


def _files(model: ZooModel) -> list[Mapping[str, Json]]:
    return cast("list[Mapping[str, Json]]", load_checkpoint(model.checkpoint).training["files"])


def _draw_curves(target: Path, models: Sequence[ZooModel]) -> bool:
    """Draw the learning curves of all models, and return whether this worked; matplotlib may be missing."""
    path = target / CURVES_FIGURE
    try:
        write_curves_figure([read_curves(_curves(target, model)) for model in models], [path])
    except TrainingError:
        path.unlink(missing_ok=True)  # an old figure would show other models
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
    texts = [f"- `{file['name']}`: {file['tokens']:,} tokens, SHA-256 `{file['sha256']}`" for file in files]
    train_options = [f"--train {file['name']}" for file in files if file["name"] not in CORPUS_FILES]
    shared_options = " ".join([*train_options, "--corpus DIR --out DIR --publish DIR"])
    first, *others = (
        f"    tseval train zoo {choice} {shared_options}" for choice in _choices(recipe, models)
    )
    parts = [
        f"{MARK} Each entry has the evidence of one model's run, from which its numbers follow. "
        f"The folder `{CURVES_FOLDER}` has learning curves. The weights are not published.",
        "## How the models were trained",
        "\n".join([first, *(f"{command} --extend" for command in others)]),
        "All models read the same texts, in the same order, with the same vocabulary:",
        "\n".join(texts),
        "Options of `tseval train lm`:",
        options_text(recipe, models),
        tabulate(facts, headers=_FACTS, tablefmt="pipe", colalign=_ALIGN, disable_numparse=True),
        *([f"![Learning curves of all models]({CURVES_FIGURE})"] if drawn else []),
    ]
    return "\n\n".join(parts) + "\n"


def _choices(recipe: Recipe, models: Sequence[ZooModel]) -> list[str]:
    """Return the choices of models for the commands: one, or one for each number of seeds."""
    seeds = Counter(model.arch for model in models)
    if all(recipe.seeds_of(arch) == count for arch, count in seeds.items()):
        return [_choice(recipe, list(seeds))]
    counts = sorted(set(seeds.values()), reverse=True)
    return [
        f"{_choice(recipe, [arch for arch in seeds if seeds[arch] == count])} --seeds {count}"
        for count in counts
    ]


def _choice(recipe: Recipe, archs: Sequence[str]) -> str:
    arch_options = [f"--arch {arch}" for arch in archs] if len(archs) < len(CELLS) else []
    return " ".join([f"--recipe {recipe.name}", *arch_options])


_FACTS = ("model", "seed", "hidden", "words", "parameters", "tokens read", "seconds", "perplexity")
_ALIGN = ("left", *["right"] * 7)


def _facts(target: Path, model: ZooModel) -> tuple[str, ...]:
    manifest = load_manifest(target / ENTRY_FOLDERS / model.name)
    assert isinstance(manifest, Manifest)
    details = manifest.model.details
    last = read_curves(_curves(target, model)).iloc[-1]
    tokens, seconds = (round(last[name]) for name in ("tokens", "seconds"))  # fails for missing values
    sizes = (f"{details[name]:,}" for name in ("hidden", "vocabulary", "parameters"))
    perplexity = f"{details['validation_perplexity']:.2f}"
    return model.name, str(model.seed), *sizes, f"{tokens:,}", f"{seconds:,}", perplexity


def _check_facts(target: Path, model: ZooModel) -> None:
    """Check that the facts on the page about a published model exist."""
    try:
        _facts(target, model)
    except (LookupError, TypeError, ValueError) as error:
        raise TrainingError(
            f"{target}: the files of the model {model.name} do not have all facts about its training that "
            f"the page of the zoo shows ({first_line(error)}).\n"
            f"  Remove the folder {target / ENTRY_FOLDERS / model.name}, then repeat the command."
        ) from None
