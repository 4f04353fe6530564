"""The plan of a zoo: which models it has, where each stands, and how each is made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping  # noqa: TC003 - the type of a field that is checked
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import LimitError, RunError, TrainingError
from tseval.files import PARTIAL, write_text
from tseval.formats import ContentError, checked, read_json
from tseval.models.cells import CELLS
from tseval.runs import Run, read_run
from tseval.sweeps.unit import SweepUnit
from tseval.training.numbered import file_sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tseval.training.zoo.recipe import Recipe

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
