"""Processes killed at any moment: what goes on afterwards ends as if nothing had happened."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from attacks.commands import WAIT, Ended, die_at, tseval
from attacks.prepared import CLASSIFY, PUBLISH, RUN, TRAIN, ZOO
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from pathlib import Path

CALLS = 100  # that change the file system, about as many as a small run makes


def interrupt(draw: random.Random, words: tuple[str, ...], here: Path, longest: float) -> None:
    """Kill a command: after some seconds, before a call that changes the file system, or inside a write."""
    if draw.random() < 0.3:
        tseval(*words, cwd=here, kill_after=draw.uniform(0, longest), kin=draw.random() < 0.5)
    else:
        tseval(*words, cwd=here, before=die_at(draw.randint(1, CALLS), half=draw.random() < 0.5))


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


@attack("kill a zoo")
def kill_a_zoo(draw: random.Random, here: Path) -> str | None:
    """Kill a zoo, with or without the training that it started, which then goes on alone."""
    if draw.random() < 0.5:  # as it is when the model was trained
        shutil.copytree(here / "zoo", here / "fresh")
        shutil.rmtree(here / "fresh/runs")
    words = (*ZOO, "--out", "fresh")
    interrupt(draw, words, here, 8)
    done = _once_free(words, here)
    if done.code:
        return f"did not go on: {done.err[-300:]}"
    models = (here / zoo / "models/srn.pt" for zoo in ("fresh", "zoo"))
    return model_differs(*models) or run_differs(here / "fresh/runs/srn", here / "zoo/runs/srn")


def _once_free(words: tuple[str, ...], here: Path) -> Ended:
    """Start a zoo's command again until no training is left that holds the zoo."""
    ends = time.monotonic() + WAIT
    while (done := tseval(*words, cwd=here)).code == 2 and "another tseval" in done.err:
        if time.monotonic() > ends:
            break
        time.sleep(0.2)
    return done


@attack("kill a publication")
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
