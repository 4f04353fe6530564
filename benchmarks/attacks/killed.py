"""Processes killed at any moment: what goes on afterwards ends as if nothing had happened."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING

from attacks.commands import die_at, tseval
from attacks.prepared import CLASSIFY, PUBLISH, RUN, SWEEP, TRAIN, ZOO
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from pathlib import Path

CALLS = 100  # that change the file system, about as many as a small run makes


def interrupt(draw: random.Random, words: tuple[str, ...], here: Path, longest: float) -> None:
    """Kill a command: after some seconds, before a call that changes the file system, or inside a write."""
    if draw.random() < 0.3:
        tseval(*words, cwd=here, kill_after=draw.uniform(0, longest))
    else:
        tseval(*words, cwd=here, before=die_at(draw.randint(1, CALLS), half=draw.random() < 0.5))


def interrupt_all(draw: random.Random, words: tuple[str, ...], here: Path, depth: int) -> str | None:
    """Kill a sweep's command, its workers, what these started, or several of them; say what is no good end.

    Args:
        draw: What is drawn from.
        words: The command.
        here: Where.
        depth: How many generations of processes there are.
    """
    generations = draw.sample(range(depth), draw.randint(1, depth))
    done = tseval(*words, cwd=here, kill_after=draw.uniform(0, 8), generations=generations)
    return done.fault((0, 1, -signal.SIGKILL))


def run_differs(run: Path, whole: Path) -> str | None:
    """Say in which files a run differs from one that nobody disturbed; its manifest holds times."""
    for name in ("sentences.parquet", "verdicts.parquet", "table.csv", "table.md"):
        if (run / name).read_bytes() != (whole / name).read_bytes():
            return f"another {name}"
    left = {path.name for path in run.iterdir()} ^ {path.name for path in whole.iterdir()}
    return f"left behind, or missing: {sorted(left)}" if left else None


def model_differs(model: Path, whole: Path) -> str | None:
    """Say whether a trained model differs from one that nobody disturbed, or something lies beside it."""
    from tseval.models.checkpoint import load_checkpoint  # noqa: PLC0415 - brings torch along

    if load_checkpoint(model).fingerprint != load_checkpoint(whole).fingerprint:
        return "other weights"
    made = {model.suffix, *(f".curves.{kind}" for kind in ("parquet", "svg", "png"))}
    left = {path.name for path in model.parent.glob(f"{model.stem}.*")} - {model.stem + end for end in made}
    return f"left behind: {sorted(left)}" if left else None


@attack("kill a run")
def kill_a_run(draw: random.Random, here: Path) -> str | None:
    """Kill a run three times over."""
    words = (*RUN, "--out", "run", "--resume")
    for _ in range(3):
        interrupt(draw, words, here, 0.5)
    done = tseval(*words, cwd=here)
    return f"not resumed: {done.err[-300:]}" if done.code else run_differs(here / "run", here / "whole")


@attack("kill a training")
def kill_a_training(draw: random.Random, here: Path) -> str | None:
    """Kill a training of a language model twice."""
    return _kill_training(draw, here, TRAIN, "model.pt")


@attack("kill a classifier's training")
def kill_a_classifier(draw: random.Random, here: Path) -> str | None:
    """Kill a training of a classifier twice."""
    return _kill_training(draw, here, CLASSIFY, "classifier.pt")


def _kill_training(draw: random.Random, here: Path, train: tuple[str, ...], whole: str) -> str | None:
    words = (*train, "--out", "mine.pt", "--resume")
    for _ in range(2):
        interrupt(draw, words, here, 1)
    done = tseval(*words, cwd=here)
    return f"not resumed: {done.err[-300:]}" if done.code else model_differs(here / "mine.pt", here / whole)


@attack("kill a sweep")
def kill_a_sweep(draw: random.Random, here: Path) -> str | None:
    """Kill a sweep, or its workers, twice."""
    words = (*SWEEP, "--out", "swept")
    for _ in range(2):
        if fault := interrupt_all(draw, words, here, 2):
            return fault
    done = tseval(*words, cwd=here)
    if done.code:
        return f"did not go on: {done.err[-300:]}"
    runs = {"model-pairs": "whole", "model-grammar": "expanded"}
    return next(filter(None, (run_differs(here / "swept" / run, here / runs[run]) for run in runs)), None)


@attack("kill a zoo", needs_zoo=True)
def kill_a_zoo(draw: random.Random, here: Path) -> str | None:
    """Kill a zoo, or the worker that trains and scores, or the training alone, which the others outlive."""
    if draw.random() < 0.5:  # as it is when the model was trained
        shutil.copytree(here / "zoo", here / "fresh")
        shutil.rmtree(here / "fresh/runs")
    words = (*ZOO, "--out", "fresh")
    if draw.random() < 0.3:
        interrupt(draw, words, here, 8)
    elif fault := interrupt_all(draw, words, here, 3):
        return fault
    done = tseval(*words, cwd=here)
    if done.code:
        return f"did not go on: {done.err[-300:]}"
    if (here / "fresh/sweep").exists():
        return "left behind: sweep/"
    models = (here / zoo / "models/srn.pt" for zoo in ("fresh", "zoo"))
    return model_differs(*models) or run_differs(here / "fresh/runs/srn", here / "zoo/runs/srn")


@attack("kill a publication", needs_zoo=True)
def kill_a_publication(draw: random.Random, here: Path) -> str | None:
    """Kill what publishes a zoo as a board, into a new folder or over an earlier one; then publish again."""
    target = draw.choice(["published", "new/published"])
    (here / "new").mkdir()
    words = (*PUBLISH[:-1], target)
    whole = _content(here / "published")
    interrupt(draw, words, here, 1)
    done = tseval(*words, cwd=here)
    if done.code:
        return f"not published: {done.err[-300:]}"
    found = _content(here / target)
    differ = sorted(name for name in found.keys() | whole.keys() if found.get(name) != whole.get(name))
    return f"differs: {differ}" if differ else None


def _content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
