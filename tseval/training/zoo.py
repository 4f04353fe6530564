"""The zoo: every architecture is trained on the same text in the same way, scored, and ranked."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tseval.boards.definition import BOARD_FILES_FORMAT, Definition
from tseval.boards.readme import accuracies
from tseval.boards.sources import open_runs
from tseval.errors import LimitError, RunError, TrainingError, suggest
from tseval.files import PARTIAL, file_sha256, locked, write_text
from tseval.formats import ContentError, checked, read_json, read_yaml
from tseval.models.cells import CELLS
from tseval.report.analyses.seeds import seeds_table
from tseval.report.columns import column_of
from tseval.runs.reader import read_run
from tseval.sweeps.engines import find_engine
from tseval.sweeps.run import STATE, Workforce, sweep
from tseval.sweeps.units import Records, SweepUnit, refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tseval.report.document import Document
    from tseval.report.published import Board
    from tseval.runs import Manifest
    from tseval.runs.run import Run
    from tseval.sweeps.run import Watcher


CORPUS_FILES = ("train.txt.gz", "valid.txt.gz")
SUITE = "marvin_linzen"
RECORD = "zoo.json"
ZOO_LOCK = ".lock"
_BEGUN = re.compile(rf"{re.escape(ZOO_LOCK)}|{re.escape(RECORD)}\.\d+{re.escape(PARTIAL)}")
ZOO_FORMAT = 1
_OUT_FIX = "Choose another --out, or remove that folder."


@dataclass(frozen=True, slots=True)
class Corpus:
    """The training texts of all models."""

    folder: Path  # contains `train.txt.gz` and `valid.txt.gz`
    digests: dict[str, str]  # SHA-256 of each file, by name
    # Additional training texts, read after the folder's. The vocabulary comes only from the folder.
    more: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ZooModel:
    """One model of a zoo."""

    name: str  # architecture, with the seed unless it is the first
    arch: str
    seed: int
    options: tuple[str, ...]  # options of `tseval train lm`, from the recipe
    zoo: Path  # folder of the zoo

    @property
    def checkpoint(self) -> Path:
        """Path of the trained model."""
        return self.zoo / "models" / f"{self.name}.pt"

    @property
    def run(self) -> Path:
        """Directory of the run with its scores."""
        return self.zoo / "runs" / self.name

    @property
    def log(self) -> Path:
        """Log file of training and scoring."""
        return self.zoo / f"{self.name}.log"

    @property
    def begun(self) -> bool:
        """Whether any file of the model exists."""
        return self.run.exists() or any(self.checkpoint.parent.glob(f"{self.name}.*"))

    def unit(self, corpus: Corpus) -> SweepUnit:
        """Return the commands that make the model; all can be repeated."""
        text, valid = (corpus.folder / name for name in CORPUS_FILES)
        texts = [word for path in (text, *corpus.more) for word in ("--train", str(path))]
        # Perplexities are then comparable with those of models trained only on the corpus.
        texts += ["--vocab-from", str(text)] if corpus.more else []
        train = ["train", "lm", "--arch", self.arch, *texts, "--valid", str(valid), *self.options]
        train += ["--seed", str(self.seed), "--out", str(self.checkpoint), "--resume"]
        return SweepUnit(self.name, str(self.checkpoint), SUITE, str(self.run), train=tuple(train))

    def finished(self) -> Run | None:
        """Return the run if the model is trained and scored; otherwise None."""
        try:
            return read_run(self.run)
        except RunError:
            return None


def read_corpus(folder: Path, more: tuple[Path, ...] = ()) -> Corpus:
    """Find the texts in a folder, and the additional ones, and hash them."""
    digests: dict[str, str] = {}
    for path in (*(folder / name for name in CORPUS_FILES), *more):
        if path.name in digests:
            raise TrainingError(
                f"{path}: the corpus has two files with the name {path.name}, which a zoo cannot tell "
                "apart. Rename one of them."
            )
        try:
            digests[path.name] = file_sha256(path)
        except OSError as error:
            raise TrainingError(
                f"{path}: tseval cannot read this file of the corpus ({error.strerror}).\n  Give a folder "
                f"with {' and '.join(CORPUS_FILES)} (one tokenised sentence a line): "
                "--corpus DIR, or make zoo CORPUS=DIR."
            ) from None
    return Corpus(folder, digests, more)


def plan(recipe: Recipe, archs: Sequence[str], seeds: int | None, zoo: Path) -> list[ZooModel]:
    """Return the models of a zoo, by architecture; without `seeds`, as many as the recipe states."""
    return [
        _model(recipe, arch, seed, zoo)
        for arch in archs
        for seed in range(1, (seeds or recipe.seeds_of(arch)) + 1)
    ]


def _model(recipe: Recipe, arch: str, seed: int, zoo: Path) -> ZooModel:
    name = arch if seed == 1 else f"{arch}-{seed}"
    return ZooModel(name, arch, seed, recipe.arguments(arch), zoo)


def planned(recipe: Recipe, name: str, zoo: Path) -> ZooModel | None:
    """Return the model of a zoo with this name; None if the name is not valid."""
    arch, _, seed = (name, "", "1") if name in CELLS else name.rpartition("-")
    if arch not in CELLS or not seed.isascii() or not seed.isdigit():
        return None
    model = _model(recipe, arch, int(seed), zoo)
    return model if model.name == name else None


def in_order(models: Iterable[ZooModel]) -> list[ZooModel]:
    """Sort models by architecture, then by seed."""
    places = {arch: index for index, arch in enumerate(CELLS)}
    return sorted(models, key=lambda model: (places[model.arch], model.seed))


def settle(zoo: Path, corpus: Corpus, entries: Sequence[ZooModel]) -> None:
    """Record what the zoo is made from; refuse to continue a zoo made from something else."""
    texts, models = read_record(zoo)
    for name, digest in corpus.digests.items():
        if texts.get(name, digest) != digest:
            raise TrainingError(
                f"{zoo}: the models in this folder were trained on another file {name} than the one that "
                f"you give now.\n  {_OUT_FIX}"
            )
    if texts and list(texts) != list(corpus.digests):
        raise TrainingError(
            f"{zoo}: the models in this folder were trained on {', '.join(texts)}, but you give "
            f"{', '.join(corpus.digests)}.\n"
            f"  {_OUT_FIX}"
        )
    for entry in entries:
        before = models.get(entry.name, [])
        if entry.begun and before != list(entry.options):
            raise TrainingError(
                f"{zoo}: the model {entry.name} in this folder was trained with other settings: "
                f"{' '.join(before)}\n  The settings are now: {' '.join(entry.options)}\n  Choose another "
                f"--out, or remove {entry.checkpoint.with_suffix('')}.* and {entry.run}."
            )
        models[entry.name] = list(entry.options)
    record = {"format": ZOO_FORMAT, "texts": corpus.digests, "models": models}
    write_text(zoo / RECORD, json.dumps(record, indent=1) + "\n")
    for entry in entries:
        entry.checkpoint.parent.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class _Record:
    """The content of `zoo.json`: digests of the texts, options of the models."""

    texts: dict[str, str]
    models: dict[str, list[str]]


def read_record(zoo: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Read the record of a zoo: digests of its texts, options of its models; both are empty for a new zoo."""
    if not zoo.exists() or (zoo.is_dir() and all(_BEGUN.fullmatch(path.name) for path in zoo.iterdir())):
        return {}, {}
    try:
        record = checked(read_json(zoo / RECORD), _Record)
    except (OSError, ContentError, LimitError):
        raise TrainingError(
            f"{zoo}: this folder exists, but has no file {RECORD} that tseval can read, so it is not a "
            "zoo.\n  Choose another --out."
        ) from None
    return record.texts, record.models


BUNDLED_RECIPES = Path(__file__).parent / "recipes"
# Options that the zoo sets for each model.
OWN = ("arch", "train", "valid", "out", "seed", "resume")

OptionValue = str | int | float | bool
RecipeValue = OptionValue | dict[str, OptionValue]


@dataclass(frozen=True, slots=True)
class _RecipeFile:
    """The content of a recipe; the options of a cell may include `seeds`."""

    seeds: int = 1
    train: dict[str, RecipeValue] = field(default_factory=dict)
    cells: dict[str, dict[str, RecipeValue]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The training settings for the models of a zoo."""

    name: str  # of a recipe of tseval, or the file name without its ending
    seeds: int  # default number of models per architecture
    train: Mapping[str, RecipeValue]  # options of `tseval train lm` for all models, by name without dashes
    cells: Mapping[str, Mapping[str, RecipeValue]]  # different options for an architecture
    own_seeds: Mapping[str, int]  # number of models by architecture, if it differs

    def seeds_of(self, arch: str) -> int:
        """Return the number of models of an architecture, which have the seeds 1, 2, ..."""
        return self.own_seeds.get(arch, self.seeds)

    def arguments(self, arch: str) -> tuple[str, ...]:
        """Return the command-line options of `tseval train lm` for an architecture."""
        words: list[str] = []
        for name, value in {**self.train, **self.cells.get(arch, {})}.items():
            if isinstance(value, dict):  # an option of the form NAME=VALUE, which may be repeated
                for key, item in value.items():
                    spelled = str(item).lower() if isinstance(item, bool) else str(item)
                    words += [f"--{name}", f"{key}={spelled}"]
            elif isinstance(value, bool):
                words += [f"--{name}"] if value else []
            else:
                words += [f"--{name}", str(value)]
        return tuple(words)


def bundled_recipes() -> dict[str, Path]:
    """Return the recipes that come with tseval, by name."""
    return {path.stem: path for path in sorted(BUNDLED_RECIPES.glob("*.yaml"))}


def read_recipe(name: str) -> Recipe:
    """Read a recipe: one of tseval's, by name, or a YAML file."""
    recipes = bundled_recipes()
    path = recipes.get(name, Path(name))
    try:
        return _recipe(path.stem, read_yaml(path))
    except FileNotFoundError:
        hint = suggest(name, recipes, "Recipes of tseval")
        raise TrainingError(
            f"there is no recipe with the name {name!r}, and no file.\n  Give the path of a YAML file, or "
            f"the name of a recipe. {hint}"
        ) from None
    except OSError as error:
        raise TrainingError(
            f"{path}: tseval cannot read this recipe ({error.strerror}).\n  Give the path of a YAML file."
        ) from None
    except ContentError as error:
        raise TrainingError(f"{path}: {error}") from None


def _recipe(name: str, content: object) -> Recipe:
    """Check the content of a recipe file; `tseval train lm` checks that its options exist."""
    refuse_unknown(content, _RecipeFile, "a recipe")
    recipe_file = checked(content, _RecipeFile)
    for arch in recipe_file.cells:
        if arch not in CELLS:
            hint = suggest(arch, CELLS, "Architectures")
            raise ContentError(f"unknown architecture {arch!r}.\n  {hint}", "cells")
    seeds_by_cell = {
        arch: options.pop("seeds") for arch, options in recipe_file.cells.items() if "seeds" in options
    }
    for where, seeds in {
        "seeds": recipe_file.seeds,
        **{f"cells.{arch}.seeds": seeds_by_cell[arch] for arch in seeds_by_cell},
    }.items():
        if type(seeds) is not int or seeds < 1:
            raise ContentError(f"should be a whole number above 0, not {seeds!r}", where)
    for where, options in {
        "train": recipe_file.train,
        **{f"cells.{arch}": recipe_file.cells[arch] for arch in recipe_file.cells},
    }.items():
        if reserved := [option for option in OWN if option in options]:
            raise ContentError("the zoo sets this option itself. Leave it out", f"{where}.{reserved[0]}")
    cells = {arch: options for arch, options in recipe_file.cells.items() if options}
    return Recipe(name, recipe_file.seeds, recipe_file.train, cells, cast("dict[str, int]", seeds_by_cell))


@contextmanager
def alone(zoo: Path) -> Iterator[None]:
    """Lock the folder of a zoo, so that only one command works in it."""
    read_record(zoo)
    zoo.mkdir(parents=True, exist_ok=True)
    error = TrainingError(
        f"{zoo}: another process of tseval, here or on another machine, is working in this folder.\n  Wait "
        "until that process ends, stop it, or choose another --out."
    )
    with locked(zoo / ZOO_LOCK, error):
        yield


def make(zoo: Path, entries: Sequence[ZooModel], corpus: Corpus, jobs: int, watch: Watcher) -> dict[str, str]:
    """Train and score models, `jobs` at a time; return the names of failed ones with the reasons.

    If one fails, the others continue; finished ones are left unchanged. The cores are divided among the jobs,
    unless OMP_NUM_THREADS is set.
    """
    units = [entry.unit(corpus) for entry in entries if not entry.finished()]
    records = Records(zoo / STATE, logs=zoo)
    swept = sweep(units, records, Workforce(find_engine("local"), jobs), watch)
    lost = "\n".join(swept.complaints) or "the training did not finish"
    reasons = {state.unit.name: state.record.said or lost for state in swept.states}
    failed = {entry.name: reasons[entry.name] for entry in entries if not entry.finished()}
    if not failed:
        shutil.rmtree(records.folder, ignore_errors=True)  # everything is in the runs and checkpoints
    return failed


PAPER = "bhatt2020"


def sources_of(entries: Sequence[ZooModel], recipe: Recipe) -> list[Run | Board]:
    """Return the sources of a zoo's table: the runs, or, with several seeds, the board of their means."""
    runs = {
        arch: [read_run(model.run) for model in models] for arch, models in in_architectures(entries).items()
    }
    if all(len(several) == 1 for several in runs.values()):
        return [run for several in runs.values() for run in several]
    manifest = next(iter(runs.values()))[0].manifest
    columns = {arch: [column_of(run) for run in several] for arch, several in runs.items()}
    return [accuracies("zoo", define(entries, recipe, manifest), columns)]


def seeds_of_zoo(entries: Sequence[ZooModel]) -> Document | None:
    """Make a table of means over seeds with spread and interval; None if every architecture has one seed."""
    groups = in_architectures(entries)
    if all(len(several) == 1 for several in groups.values()):
        return None
    runs = open_runs([str(entry.run) for several in groups.values() for entry in several])
    names = iter(runs.verdicts)
    return seeds_table(runs, {arch: [next(names) for _ in several] for arch, several in groups.items()})


def in_architectures(entries: Sequence[ZooModel]) -> dict[str, list[ZooModel]]:
    """Group the models of a zoo by architecture."""
    groups: dict[str, list[ZooModel]] = {}
    for entry in entries:
        groups.setdefault(entry.arch, []).append(entry)
    return groups


def define(entries: Sequence[ZooModel], recipe: Recipe, manifest: Manifest) -> Definition:
    """Make the definition of a zoo's board, for the suite of its runs."""
    groups = in_architectures(entries)
    several = any(len(models) > 1 for models in groups.values())
    return Definition(
        format=BOARD_FILES_FORMAT,
        title=f"The tseval zoo, recipe {recipe.name}",
        suite=SUITE,
        digest=manifest.suite.digest,
        score=manifest.key.score,  # type: ignore[arg-type] # one of them, in a sound key
        source=f"Trained with tseval {version('tseval')}: {' '.join(recipe.arguments(''))}",
        order=tuple(entry.name for entry in entries),
        seeds={arch: tuple(entry.name for entry in models) for arch, models in groups.items()}
        if several
        else {},
        beside=PAPER,
    )
