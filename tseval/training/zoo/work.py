"""Make the models of a zoo: a sweep whose units are trained before they are scored."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import TrainingError
from tseval.files import take_lock
from tseval.sweeps.engines import find_engine
from tseval.sweeps.place import SweepPlace
from tseval.sweeps.sweep import STATE, Workforce, sweep
from tseval.training.zoo.plan import ZOO_LOCK, read_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.sweeps.sweep import Watcher
    from tseval.training.zoo.plan import Corpus, ZooModel


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
