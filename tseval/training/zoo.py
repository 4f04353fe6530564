"""Train every architecture on the same text in the same way, score each, and rank them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tabulate import tabulate

from tseval.boards import (
    BOARD_FILES_FORMAT,
    DEFINITION,
    ENTRY_FILE,
    ENTRY_FOLDERS,
    EVIDENCE,
    About,
    Definition,
    entry_folders,
    entry_runs,
    read_definition,
    read_entry,
    write_definition,
    write_entry,
)
from tseval.boards.check import CURVES_FIGURE, CURVES_FOLDER, wrong_with_board
from tseval.boards.folder import (
    ACCURACIES,
    BOARD_LOCK,
    BOARD_PAGE,
    accuracies,
    entry_files,
    pages,
    write_beside,
)
from tseval.errors import BoardError, LimitError, RunError, TrainingError, first_line, suggest
from tseval.files import (
    PARTIAL,
    read_bytes,
    remove_lock,
    sync_directory,
    take_lock,
    to_utf8,
    write_text,
    write_whole,
)
from tseval.formats import ContentError, checked, read_json, read_yaml
from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint
from tseval.report.curves import read_curves, write_curves_figure
from tseval.report.opened import open_runs
from tseval.report.seeds import seeds_table
from tseval.report.table import column_of, read_board
from tseval.runs import Manifest, Run, read_run
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import load_manifest
from tseval.suites.grammar.cache import afresh
from tseval.sweeps import STATE, Workforce, sweep
from tseval.sweeps.engines import find_engine
from tseval.sweeps.units import SweepPlace, SweepUnit
from tseval.training.corpus import file_sha256
from tseval.training.loop import curves_path

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    from tseval.formats import Json
    from tseval.report.document import Document
    from tseval.report.table import Board
    from tseval.runs import Run
    from tseval.sweeps import Watcher


CORPUS_FILES = ("train.txt.gz", "valid.txt.gz")
SUITE = "marvin_linzen"
RECORD = "zoo.json"
ZOO_LOCK = ".lock"
ZOO_FORMAT = 1
# All that a zoo may hold before its first record; a kill leaves a partial one.
_BEGUN = re.compile(rf"{re.escape(ZOO_LOCK)}|{re.escape(RECORD)}\.\d+{re.escape(PARTIAL)}")
_ELSEWHERE = "Choose another --out, or remove that folder."


@dataclass(frozen=True, slots=True)
class Corpus:
    """The texts that all models are trained on.

    Attributes:
        folder: Holds `train.txt.gz` and `valid.txt.gz`.
        digests: SHA-256 of each file, by name.
        more: Training texts that are read after the folder's. The vocabulary comes from the folder's alone.
    """

    folder: Path
    digests: dict[str, str]
    more: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ZooModel:
    """One model of a zoo.

    Attributes:
        name: Architecture, with the seed where it is not the first.
        arch: Name of a cell.
        seed: Of initial weights and dropout.
        options: Of `tseval train lm`, from the recipe.
        zoo: The zoo's folder.
    """

    name: str
    arch: str
    seed: int
    options: tuple[str, ...]
    zoo: Path

    @property
    def checkpoint(self) -> Path:
        """The trained model."""
        return self.zoo / "models" / f"{self.name}.pt"

    @property
    def run(self) -> Path:
        """The run directory of its scores."""
        return self.zoo / "runs" / self.name

    @property
    def log(self) -> Path:
        """What training and scoring said."""
        return self.zoo / f"{self.name}.log"

    @property
    def begun(self) -> bool:
        """Whether there is anything of the model."""
        return self.run.exists() or any(self.checkpoint.parent.glob(f"{self.name}.*"))

    def unit(self, corpus: Corpus) -> SweepUnit:
        """Give the work that makes the model; all of it can be repeated."""
        text, valid = (corpus.folder / name for name in CORPUS_FILES)
        texts = [word for path in (text, *corpus.more) for word in ("--train", str(path))]
        # So that perplexities compare with those of models that learnt from the corpus alone.
        texts += ["--vocab-from", str(text)] if corpus.more else []
        train = ["train", "lm", "--arch", self.arch, *texts, "--valid", str(valid), *self.options]
        train += ["--seed", str(self.seed), "--out", str(self.checkpoint), "--resume"]
        return SweepUnit(self.name, str(self.checkpoint), SUITE, str(self.run), train=tuple(train))

    def finished(self) -> Run | None:
        """Give the run if the model is trained and scored."""
        try:
            return read_run(self.run)
        except RunError:
            return None


def read_corpus(folder: Path, more: tuple[Path, ...] = ()) -> Corpus:
    """Find the texts and hash them.

    Args:
        folder: Holds `train.txt.gz` and `valid.txt.gz`.
        more: Training texts that are read after the folder's.

    Raises:
        TrainingError: A text is not there or cannot be read; two have one name.
    """
    digests: dict[str, str] = {}
    for path in (*(folder / name for name in CORPUS_FILES), *more):
        if path.name in digests:
            raise TrainingError(f"{path}: the corpus has a {path.name} already. Rename one of them.")
        try:
            digests[path.name] = file_sha256(path)
        except OSError as error:
            raise TrainingError(
                f"{path}: {error.strerror}.\n"
                f"  A corpus is a folder with {' and '.join(CORPUS_FILES)}, one tokenised sentence a line. "
                "Name yours with --corpus, or make zoo CORPUS=DIR."
            ) from None
    return Corpus(folder, digests, more)


def plan(recipe: Recipe, archs: Sequence[str], seeds: int | None, zoo: Path) -> list[ZooModel]:
    """List the models of a zoo, architecture by architecture; without `seeds` as many as the recipe says."""
    return [
        _model(recipe, arch, seed, zoo)
        for arch in archs
        for seed in range(1, (seeds or recipe.seeds_of(arch)) + 1)
    ]


def _model(recipe: Recipe, arch: str, seed: int, zoo: Path) -> ZooModel:
    name = arch if seed == 1 else f"{arch}-{seed}"
    return ZooModel(name, arch, seed, recipe.arguments(arch), zoo)


def planned(recipe: Recipe, name: str, zoo: Path) -> ZooModel | None:
    """Give the model of a zoo that has this name; None if no model of any zoo has."""
    arch, _, seed = (name, "", "1") if name in CELLS else name.rpartition("-")
    if arch not in CELLS or not seed.isascii() or not seed.isdigit():
        return None
    model = _model(recipe, arch, int(seed), zoo)
    return model if model.name == name else None


def in_order(models: Iterable[ZooModel]) -> list[ZooModel]:
    """Sort models as a zoo has them: architecture by architecture, then by seed."""
    places = {arch: place for place, arch in enumerate(CELLS)}
    return sorted(models, key=lambda model: (places[model.arch], model.seed))


def settle(zoo: Path, corpus: Corpus, entries: Sequence[ZooModel]) -> None:
    """Write down what the zoo is made from; refuse to go on with a zoo made from something else.

    Raises:
        TrainingError: The folder holds models of other options or texts, or something else.
    """
    texts, models = read_record(zoo)
    for name, digest in corpus.digests.items():
        if texts.get(name, digest) != digest:
            raise TrainingError(f"{zoo} holds a zoo trained on another {name}.\n  {_ELSEWHERE}")
    if texts and list(texts) != list(corpus.digests):
        raise TrainingError(
            f"{zoo} holds a zoo trained on {', '.join(texts)}, not on {', '.join(corpus.digests)}.\n"
            f"  {_ELSEWHERE}"
        )
    for entry in entries:
        before = models.get(entry.name, [])
        if entry.begun and before != list(entry.options):
            raise TrainingError(
                f"{zoo} holds a {entry.name} of other settings: {' '.join(before)}\n"
                f"  and now they are {' '.join(entry.options)}\n  Choose another --out, or remove "
                f"{entry.checkpoint.with_suffix('')}.* and {entry.run}."
            )
        models[entry.name] = list(entry.options)
    record = {"format": ZOO_FORMAT, "texts": corpus.digests, "models": models}
    write_text(zoo / RECORD, json.dumps(record, indent=1) + "\n")
    for entry in entries:
        entry.checkpoint.parent.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class _Record:
    """What `zoo.json` holds: digests of the texts, options of the models."""

    texts: Mapping[str, str]
    models: Mapping[str, list[str]]


def read_record(zoo: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Read what a zoo is made from: digests of its texts, options of its models; empty for a new one.

    Raises:
        TrainingError: The folder holds something else.
    """
    if not zoo.exists() or (zoo.is_dir() and all(_BEGUN.fullmatch(one.name) for one in zoo.iterdir())):
        return {}, {}
    try:
        record = checked(read_json(zoo / RECORD), _Record)
    except (OSError, ContentError, LimitError):
        raise TrainingError(
            f"{zoo} is there, but is no zoo: it has no {RECORD} that could be read.\n  Choose another --out."
        ) from None
    return dict(record.texts), dict(record.models)


BUNDLED_RECIPES = Path(__file__).parent / "recipes"
# What the zoo itself decides for each model.
OWN = ("arch", "train", "valid", "out", "seed", "resume")

RecipeValue = str | int | float | bool | dict[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the models of a zoo are trained.

    Attributes:
        name: Name of the recipe that comes with tseval, or of the file without its ending.
        seeds: Models of an architecture that does not say otherwise.
        train: Options of `tseval train lm` by name without dashes, for all models.
        cells: Options that differ for one architecture.
        own_seeds: Models of an architecture that does, by its name.
    """

    name: str
    seeds: int
    train: Mapping[str, RecipeValue]
    cells: Mapping[str, Mapping[str, RecipeValue]]
    own_seeds: Mapping[str, int]

    def seeds_of(self, arch: str) -> int:
        """Give the number of models of an architecture, with seeds 1, 2, ..."""
        return self.own_seeds.get(arch, self.seeds)

    def arguments(self, arch: str) -> tuple[str, ...]:
        """Spell out the options of `tseval train lm` for an architecture."""
        words: list[str] = []
        for name, value in {**self.train, **self.cells.get(arch, {})}.items():
            if isinstance(value, dict):  # an option that takes NAME=VALUE and may be repeated
                for key, one in value.items():
                    words += [f"--{name}", f"{key}={_spelled(one)}"]
            elif isinstance(value, bool):
                words += [f"--{name}"] if value else []
            else:
                words += [f"--{name}", str(value)]
        return tuple(words)


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def bundled_recipes() -> dict[str, Path]:
    """List the recipes that come with tseval, by name."""
    return {path.stem: path for path in sorted(BUNDLED_RECIPES.glob("*.yaml"))}


def read_recipe(name: str) -> Recipe:
    """Read a recipe.

    Args:
        name: Name of one that comes with tseval, or path of a YAML file.

    Raises:
        TrainingError: There is no such recipe, or the file does not hold one; names file and field.
    """
    known = bundled_recipes()
    path = known.get(name, Path(name))
    try:
        return _recipe(path, read_yaml(path))
    except FileNotFoundError:
        hint = suggest(name, known, "Recipes that come with tseval")
        raise TrainingError(f"there is no recipe {name!r}.\n  Name a YAML file. {hint}") from None
    except OSError as error:
        raise TrainingError(f"{path}: cannot be read ({error.strerror})") from None
    except ContentError as error:
        raise TrainingError(f"{path}: {error}") from None


def _recipe(path: Path, content: object) -> Recipe:
    """Hold what a file says to what a recipe is."""
    fields = _mapping(path, "a recipe", content)
    for name in fields:
        if name not in ("seeds", "train", "cells"):
            raise TrainingError(f"{path}: unknown field {name!r}.\n  A recipe has seeds, train and cells.")
    cells = _mapping(path, "cells", fields.get("cells", {}))
    for arch in cells:
        if arch not in CELLS:
            hint = suggest(arch, CELLS, "Architectures")
            raise TrainingError(f"{path}: cells: unknown architecture {arch!r}.\n  {hint}")
    own = {arch: _options(path, f"cells.{arch}", options) for arch, options in cells.items()}
    own_seeds = {arch: options.pop("seeds") for arch, options in own.items() if "seeds" in options}
    return Recipe(
        name=path.stem,
        seeds=_seeds(path, "seeds", fields.get("seeds", 1)),
        train=_options(path, "train", fields.get("train", {})),
        cells={arch: options for arch, options in own.items() if options},
        own_seeds={arch: _seeds(path, f"cells.{arch}.seeds", seeds) for arch, seeds in own_seeds.items()},
    )


def _seeds(path: Path, where: str, content: object) -> int:
    if not isinstance(content, int) or isinstance(content, bool) or content < 1:
        raise TrainingError(f"{path}: {where} should be a whole number above 0, not {content!r}")
    return content


def _options(path: Path, where: str, content: object) -> dict[str, RecipeValue]:
    """Check that options are named values; whether they exist and are in range, `tseval train lm` knows."""
    options = _mapping(path, where, content)
    for name, value in options.items():
        if name in OWN:
            raise TrainingError(f"{path}: {where}.{name} is set by the zoo itself: leave it out")
        nested = value.values() if isinstance(value, dict) else [value]
        if not all(isinstance(one, str | int | float) for one in nested):
            raise TrainingError(f"{path}: {where}.{name} should be a text or a number, not {value!r}")
    return cast("dict[str, RecipeValue]", options)


def _mapping(path: Path, where: str, content: object) -> dict[str, object]:
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise TrainingError(f"{path}: {where} should be a mapping of names, not {content!r:.60}")
    return content


@dataclass(frozen=True, slots=True)
class Made:
    """How the making of a model ended.

    Attributes:
        entry: The model.
        failed: Why it could not be made; None of one that is trained and scored.
    """

    entry: ZooModel
    failed: str | None


@contextmanager
def alone(zoo: Path) -> Iterator[None]:
    """Hold a zoo's folder: no two commands work in it at once.

    Raises:
        TrainingError: Another process works there, or the folder is no zoo.
    """
    read_record(zoo)
    zoo.mkdir(parents=True, exist_ok=True)
    held = take_lock(zoo / ZOO_LOCK)
    if held is None:
        raise TrainingError(
            f"{zoo} is being worked on by another tseval, or by one on another machine.\n"
            "  Wait for it to end, end it, or choose another --out."
        )
    try:
        yield
    finally:
        os.close(held)


def make(zoo: Path, entries: Sequence[ZooModel], corpus: Corpus, jobs: int, watch: Watcher) -> list[Made]:
    """Train and score models, `jobs` at a time; one that fails does not stop the others.

    Args:
        zoo: The folder, which this process holds.
        entries: The models; those that are finished are left alone.
        corpus: What to train on.
        jobs: Models at a time; each gets its share of the cores, unless OMP_NUM_THREADS says how many.
        watch: Hears of the progress.
    """
    units = [entry.unit(corpus) for entry in entries if not entry.finished()]
    place = SweepPlace(zoo / STATE, logs=zoo)
    swept = sweep(units, place, Workforce(find_engine("local"), jobs), watch)
    lost = "\n".join(swept.complaints) or "it was not finished"
    said = {state.unit.name: state.record.said or lost for state in swept.states}
    made = [Made(entry, None if entry.finished() else said[entry.name]) for entry in entries]
    if all(one.failed is None for one in made):
        shutil.rmtree(place.folder, ignore_errors=True)  # runs and checkpoints say all that is left to say
    return made


PAPER = "bhatt2020"


def sources_of(entries: Sequence[ZooModel], recipe: Recipe) -> list[Run | Board]:
    """Give what a table of a zoo is made from: the runs, or with several seeds the board of their means."""
    runs = runs_of(entries)
    if all(len(several) == 1 for several in runs.values()):
        return [run for several in runs.values() for run in several]
    manifest = next(iter(runs.values()))[0].manifest
    columns = {arch: [column_of(run) for run in several] for arch, several in runs.items()}
    return [accuracies("zoo", define(entries, recipe, manifest), columns)]


def seeds_of_zoo(entries: Sequence[ZooModel]) -> Document | None:
    """Tabulate means over seeds with spread and interval; None where every architecture has one seed."""
    groups = in_architectures(entries)
    if all(len(several) == 1 for several in groups.values()):
        return None
    opened = open_runs([str(entry.run) for several in groups.values() for entry in several])
    names = iter(opened.verdicts)
    return seeds_table(opened, {arch: [next(names) for _ in several] for arch, several in groups.items()})


def runs_of(entries: Sequence[ZooModel]) -> dict[str, list[Run]]:
    """Read the runs of finished models, by architecture."""
    groups = in_architectures(entries)
    return {arch: [read_run(entry.run) for entry in several] for arch, several in groups.items()}


def in_architectures(entries: Sequence[ZooModel]) -> dict[str, list[ZooModel]]:
    """Put the models of a zoo under their architectures."""
    groups: dict[str, list[ZooModel]] = {}
    for entry in entries:
        groups.setdefault(entry.arch, []).append(entry)
    return groups


def define(entries: Sequence[ZooModel], recipe: Recipe, manifest: Manifest) -> Definition:
    """Say what the board of a zoo is over: the suite that its runs were scored on.

    Args:
        entries: The models, in the order of the columns.
        recipe: How they were trained.
        manifest: Of one of the runs.
    """
    groups = in_architectures(entries)
    several = any(len(own) > 1 for own in groups.values())
    return Definition(
        format=BOARD_FILES_FORMAT,
        title=f"The tseval zoo, recipe {recipe.name}",
        suite=SUITE,
        digest=manifest.suite.digest,
        score=manifest.key.score,  # type: ignore[arg-type] # one of them, in a sound key
        source=f"Trained with tseval {version('tseval')}: {' '.join(recipe.arguments(''))}",
        order=tuple(entry.name for entry in entries),
        seeds={arch: tuple(entry.name for entry in own) for arch, own in groups.items()} if several else {},
        beside=PAPER,
    )


_OPTIONS = re.compile(r"^- (?:but )?(\S+): `(--.*)`$", re.MULTILINE)
_DIGEST = re.compile(r"SHA-256 ([0-9a-f]{64})")
_SHARED = "all"  # no architecture has this name


def tell_options(recipe: Recipe, models: Sequence[ZooModel]) -> str:
    """Give the options that all models share, and all options of each architecture that has its own."""
    own = {model.arch: model.options for model in models if model.arch in recipe.cells}
    lines = {_SHARED: recipe.arguments(""), **{f"but {arch}": options for arch, options in own.items()}}
    return "\n".join(f"- {group}: `{' '.join(words)}`" for group, words in lines.items())


def told_options(text: str, arch: str) -> str | None:
    """Find in a page the options of an architecture; None where it tells none."""
    told = dict(_OPTIONS.findall(text))
    return told.get(arch, told.get(_SHARED))


def tell_texts(files: Sequence[Mapping[str, Json]]) -> str:
    """Name the texts that a model read, for its entry."""
    return "; ".join(f"{file['name']}, {file['tokens']:,} tokens, SHA-256 {file['sha256']}" for file in files)


def told_digests(texts: str) -> set[str]:
    """Find in an entry the SHA-256 of each text that its model read."""
    return set(_DIGEST.findall(texts))


MARK = "Published by `tseval train zoo --publish DIR`; do not edit."
_OF_ENTRY = {ENTRY_FILE, EVIDENCE, MANIFEST}
_BEGUN_target = re.compile(rf"{re.escape(BOARD_LOCK)}|README\.md\.\d+{re.escape(PARTIAL)}")


def check_target(target: Path) -> None:
    """Refuse a folder that holds anything but an earlier publication, before hours are spent.

    One that was killed has at least begun its page, or left a partial one.

    Raises:
        TrainingError: Says what is there.
    """
    if not target.exists() or (
        target.is_dir() and all(_BEGUN_target.fullmatch(one.name) for one in target.iterdir())
    ):
        return
    try:
        ours = MARK.encode() in read_bytes(target / "README.md", "document_bytes")
        if (target / "board.json").exists():
            read_board(target)
    except (OSError, ValueError, BoardError, LimitError):
        ours = False
    if not ours:
        raise TrainingError(
            f"{target} holds something else than a published zoo.\n  Name a new folder with --publish."
        )


@contextmanager
def publishing(target: Path) -> Iterator[None]:
    """Hold the folder: no two publications write into it at once.

    Raises:
        TrainingError: Another process publishes there, or the folder holds something else.
    """
    check_target(target)
    target.mkdir(parents=True, exist_ok=True)
    lock = target / BOARD_LOCK
    held = take_lock(lock)
    if held is None:
        raise TrainingError(
            f"{target} is being written by another tseval.\n"
            "  When it has ended, give the same command again: what is finished is not done again."
        )
    try:
        yield
    finally:
        remove_lock(lock, held)


def put_entry(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the folder of an entry beside its place, and move it there: nobody finds half of one.

    Where the same stands already, nothing is done. Between the old and the new there is none for a moment.

    Raises:
        OSError: It cannot be written; what was there before may be gone.
    """
    if folder.is_dir() and holds_entry(folder) and _contents(folder) == contents:
        return
    partial = write_beside(folder, contents)
    if folder.exists():
        _remove(folder)
    partial.rename(folder)
    sync_directory(folder.parent)


def put_file(path: Path, content: bytes) -> None:
    """Write a file, unless the same stands there already.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or read_bytes(path) != content:
        write_whole(path, content)


def remove_others(target: Path, names: Container[str]) -> None:
    """Remove entries and curves of all models but these, and what a killed publication left of any."""
    for folder in sorted((target / ENTRY_FOLDERS).iterdir()):
        if folder.name not in names and folder.is_dir() and holds_entry(folder):
            _remove(folder)
    for file in sorted((target / CURVES_FOLDER).iterdir()):
        if file.suffix != ".parquet" or file.stem not in names:
            file.unlink()


def holds_entry(folder: Path) -> bool:
    """Tell whether a folder is an entry's; one that was being written or removed lacks files."""
    return {one.name.removesuffix(PARTIAL) for one in folder.iterdir()} <= _OF_ENTRY


def _contents(folder: Path) -> dict[str, bytes]:
    return {one.name: read_bytes(one) for one in folder.iterdir()}


def _remove(folder: Path) -> None:
    """Remove a folder, moved away first, so that nobody finds half of it."""
    gone = folder
    if folder.suffix != PARTIAL:
        gone = folder.with_name(f"{folder.name}.old{PARTIAL}")
        if gone.exists():  # a kill left it
            shutil.rmtree(gone)
        folder.rename(gone)
    shutil.rmtree(gone)


_ANEW = "Publish to another folder; without --extend, what this zoo does not hold is removed there."


def models_to_keep(
    target: Path, recipe: Recipe, own: Collection[str], digests: Collection[str]
) -> list[ZooModel]:
    """Find the published models that a zoo has not made itself, if they were made as its own are.

    Args:
        target: The folder of the publication; there may be none yet.
        recipe: How the zoo's own models are trained.
        own: Names of those that it has made.
        digests: SHA-256 of each text that they read.

    Raises:
        TrainingError: A published model has other settings, read other texts, or is none of a zoo's.
        BoardError: The publication cannot be read.
    """
    if not (target / DEFINITION).exists():
        return []
    definition = read_definition(target)
    kept = []
    for folder in entry_folders(target, definition.order):
        if folder.name in own:
            continue
        model = planned(recipe, folder.name, target)
        if model is None:
            raise TrainingError(f"{folder} is of no model that a zoo has.\n  {_ANEW}")
        before, now = told_options(definition.text, model.arch), " ".join(model.options)
        if before != now:
            raise TrainingError(
                f"{target} holds a {model.name} of other settings: {before}\n"
                f"  and recipe {recipe.name} has {now}\n  {_ANEW}"
            )
        read = read_entry(folder).about.training_data or "no text that is named"
        if told_digests(read) != set(digests):
            raise TrainingError(f"{target} holds a {model.name} trained on other texts: {read}\n  {_ANEW}")
        kept.append(model)
    return kept


def check_kept(target: Path, kept: Sequence[ZooModel]) -> None:
    """Hold the entries that stay to what they say, as `tseval board check` does.

    Raises:
        TrainingError: Something is wrong with one of them; says what.
    """
    wrong = wrong_with_board(target, [model.name for model in kept]) if kept else []
    if wrong:
        raise TrainingError(
            f"{target} cannot be extended: {wrong[0]}.\n"
            "  Put that entry right or remove its folder, then give the same command again."
        )


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
    last = read_curves(_curves(target, model)).iloc[-1]
    tokens, seconds = (round(last[name]) for name in ("tokens", "seconds"))  # refuses what is missing
    sizes = (f"{details[name]:,}" for name in ("hidden", "vocabulary", "parameters"))
    perplexity = f"{details['validation_perplexity']:.2f}"
    return model.name, str(model.seed), *sizes, f"{tokens:,}", f"{seconds:,}", perplexity


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
