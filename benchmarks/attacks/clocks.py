"""Clocks that run backwards, and files from another time."""

from __future__ import annotations

import datetime
import os
import time
from typing import TYPE_CHECKING

from attacks.commands import tseval
from attacks.killed import model_differs, run_differs
from attacks.prepared import RUN, TRAIN
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from pathlib import Path


@attack("a clock that runs backwards")
def backwards(draw: random.Random, here: Path) -> str | None:
    """Let every look at the clock of the day find an earlier time, in a run and in a training.

    All that Python has for it is replaced in the command's process: `time.time`, `time.time_ns` and
    `datetime.now`. Nothing can turn `time.monotonic`.
    """
    start, step = draw.uniform(0, 4e9), draw.uniform(0.1, 10_000)

    def turn() -> None:
        calls = iter(range(10**9))

        def now() -> float:
            return max(0.0, start - step * next(calls))

        class Datetime(datetime.datetime):
            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override] # of its kind
                return datetime.datetime.fromtimestamp(now(), tz)

        time.time, time.time_ns = now, lambda: int(now() * 10**9)
        datetime.datetime = Datetime  # type: ignore[misc] # that is the attack

    named = () if draw.random() < 0.3 else ("--out", "runs/one")
    done = tseval(*RUN, *named, cwd=here, before=turn)
    if done.code:
        return done.fault() or done.err
    (run,) = (here / "runs").iterdir()
    trained = tseval(*TRAIN, "--out", "mine.pt", cwd=here, before=turn)
    if trained.code:
        return trained.fault() or trained.err
    return run_differs(run, here / "whole") or model_differs(here / "mine.pt", here / "model.pt")


@attack("files from another time", needs_zoo=True)  # which draws for every file
def another_time(draw: random.Random, here: Path) -> str | None:
    """Resume a run and a training whose files are of a time to come, or of before 1970."""
    for path in here.rglob("*"):
        if draw.random() < 0.5:
            moment = draw.choice([-1, 0, draw.randint(-(2**31), 2**33), int(time.time()) + 86_400])
            os.utime(path, (moment, moment))
    done = tseval(*RUN, "--out", "half", "--resume", cwd=here)
    trained = tseval(*TRAIN, "--out", "half.pt", "--resume", cwd=here)
    if done.code or trained.code:
        return f"not resumed: {done.err[-200:]}{trained.err[-200:]}"
    return run_differs(here / "half", here / "whole") or model_differs(here / "half.pt", here / "model.pt")
