"""Output of `tseval sweep --json`: a JSON line for each change of a unit, then one for each result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.formats import Json
    from tseval.sweeps import UnitState, Watcher


def progress_lines() -> Watcher:
    """Return a function that prints a line for each unit that has changed since the last call."""
    last: dict[str, tuple[object, ...]] = {}

    def watch(states: Sequence[UnitState]) -> None:
        for state in states:
            now = state.record.stage, state.record.done, state.record.of
            if last.setdefault(state.unit.name, ("waiting", 0, 0)) != now and not state.was_done:
                last[state.unit.name] = now
                _print_line({"event": "progress", **_of_state(state)})

    return watch


def print_results(states: Sequence[UnitState]) -> None:
    """Print the result of each unit, then the number of units at each stage."""
    for state in states:
        _print_line({"event": "result", **_of_state(state), **_of_record(state)})
    stages = [state.record.stage for state in states]
    _print_line(
        {"event": "end", "units": len(states)} | {stage: stages.count(stage) for stage in sorted({*stages})}
    )


def _of_state(state: UnitState) -> dict[str, Json]:
    unit, record = state.unit, state.record
    return {
        "unit": unit.name,
        "model": unit.model,
        "suite": unit.suite,
        "stage": record.stage,
        "sentences_done": record.done,
        "sentences": record.of or None,
    }


def _of_record(state: UnitState) -> dict[str, Json]:
    record = state.record
    return {
        "run": state.unit.run,
        "finished_earlier": state.was_done,
        "seconds": record.seconds or None,
        "sentences_per_second": record.speed,
        "mean_accuracy": record.accuracy,
        "coverage": record.coverage,
        "error": record.said or None,
    }


def _print_line(content: Mapping[str, object]) -> None:
    click.echo(json.dumps(content, ensure_ascii=False))
