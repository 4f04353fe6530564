"""Score a unit into its run directory; brings torch along."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tseval.adapters import open_model
from tseval.errors import first_line
from tseval.evaluation import evaluate, refuse_other_clusters, refuse_too_long
from tseval.items import cluster_by
from tseval.scoring.numerics import accelerator, empty_caches, out_of_memory
from tseval.suites import load_suite
from tseval.sweeps.place import UnitRecord

if TYPE_CHECKING:
    from tseval.items import Suite
    from tseval.scoring.protocol import Model
    from tseval.sweeps.place import SweepPlace
    from tseval.sweeps.unit import SweepUnit

SAYS_SECONDS = 1.0  # between records of how far a unit is
KEPT_ITEMS = 500_000  # of suites that stay in memory for the next model: some 130 MB


class UnitScorer:
    """Scores one unit after another; keeps the model of the last one open for the next, and suites.

    Args:
        place: Of records.
        number: Which worker this is, from 0.
    """

    def __init__(self, place: SweepPlace, number: int) -> None:
        self.place, self.number = place, number
        self._opened: tuple[tuple[object, ...], Model] | None = None
        self._suites: dict[tuple[object, ...], Suite] = {}

    def score(self, unit: SweepUnit, begun: UnitRecord) -> None:
        """Score a unit, and write down now and then how far it is, and at last that it is done.

        Args:
            unit: Whose lock is held.
            begun: What is known of it so far.

        Raises:
            TsevalError: Model or suite cannot be used, or the run directory holds something else.
        """
        options, stamp, record, written = unit.options, unit.stamp(), begun, 0.0

        def progress(done: int, of: int) -> None:
            nonlocal record, written
            record = replace(record, done=done, of=of)
            if time.monotonic() - written > SAYS_SECONDS:
                self.place.write(unit, record)
                written = time.monotonic()

        suite, model = self._suite(unit), self._open(unit)
        if options.too_long == "refuse":
            refuse_too_long(model, suite)
        run = evaluate(model, suite, score=options.score, out=unit.run, resume=True, progress=progress)
        refuse_other_clusters(run, Path(unit.run), suite)
        counts = run.manifest.counts
        print(f"{counts.sentences:,} sentences, {counts.resumed_sentences:,} of them saved before")
        print(run.manifest.signature)
        self.place.write(unit, UnitRecord("done", stamp, counts.sentences, counts.sentences))

    def explain(self, error: Exception) -> str:
        """Say in one line what went wrong that is no bad input, and let go of the model and of suites."""
        self._opened = None
        self._suites.clear()
        if out_of_memory(error):
            empty_caches()
            return "there is not enough memory for it"
        return f"{type(error).__name__}: {first_line(error)}"

    def _suite(self, unit: SweepUnit) -> Suite:
        """Load the suite of a unit, unless an earlier one had the same and it was kept."""
        options = unit.options
        columns = tuple((options.columns or {}).items())
        chosen = options.case, options.limit, options.tokenise, options.cluster, columns
        wanted = unit.suite, chosen, unit.suite_files()
        suite = self._suites.pop(wanted, None)
        if suite is None:
            suite = load_suite(
                unit.suite, cases=options.case, limit=options.limit, tokenise=options.tokenise,
                columns=options.columns,
            )  # fmt: skip
            suite = cluster_by(suite, options.cluster)
        self._suites[wanted] = suite  # behind those that were not used for longer
        while len(self._suites) > 1 and sum(one.n_items for one in self._suites.values()) > KEPT_ITEMS:
            del self._suites[next(iter(self._suites))]
        return suite

    def _open(self, unit: SweepUnit) -> Model:
        """Open the model of a unit, unless the last one had the same."""
        wanted = unit.model, unit.model_files(), sorted(unit.arguments.items()), unit.options.device
        if self._opened is None or self._opened[0] != wanted:
            self._opened = None  # first, so that two are never in memory
            device = _own_device(unit.options.device, self.number)
            self._opened = wanted, open_model(unit.model, unit.arguments, device)
        return self._opened[1]


def _own_device(device: str, number: int) -> str:
    """Give each worker a GPU of its own, where the machine, or what a scheduler shows of it, has several."""
    found = accelerator() if device in ("auto", "cuda") else None
    n_devices = torch.accelerator.device_count() if found else 1
    return device if found is None or n_devices == 1 else f"{found.type}:{number % n_devices}"
