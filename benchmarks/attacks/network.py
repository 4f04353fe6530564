"""No network: nobody waits for one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attacks.commands import tseval
from attacks.prepared import PAIR
from attacks.registry import attack
from attacks.seclusion import secluded

if TYPE_CHECKING:
    import random
    from pathlib import Path

SECONDS = 2.0


@attack("no network")
@secluded
def cut_off(draw: random.Random, here: Path) -> str | None:
    """Ask for a model or a data set that would have to come over the network, or for one that lies here."""
    words, code = draw.choice([
        ((*PAIR, "hf:some/model"), 2), ((*PAIR, "mlm:some/model"), 2), (("suites", "fetch", "blimp"), 2),
        (("suites", "fetch", "clams"), 2), ((*PAIR, "hf:gpt2"), 0), ((*PAIR, "hf:./gpt2"), 0),
    ])  # fmt: skip
    tries = [
        tseval(*words, cwd=here, before=lambda: os.environ.update(HF_HOME=str(here / "hub")))
        for _ in range(3)
    ]
    for done in tries:
        if done.code != code:
            return f"{words[-1]}: {done.fault() or done.err[-200:]}"
        if fault := done.fault():
            return fault
    fastest = min(done.seconds for done in tries)  # others may have slowed one down
    return f"{words[-1]} took {fastest:.1f} s" if fastest > SECONDS else None
