"""Attacks in a place of their own: a process with its own mounts, and without a network (Linux)."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.registry import NotHereError

if TYPE_CHECKING:
    import random

    from attacks.registry import Make

_NEW_MOUNTS, _NEW_USER, _NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000


def secluded(make: Make) -> Make:
    """Make an attack in a process that may mount what it likes, and reaches no network.

    Raises:
        NotHereError: The system has no such thing, or does not let this user.
    """

    @wraps(make)
    def made(draw: random.Random, here: Path) -> str | None:
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reads)
            told = _tell(make, draw, here)
            os.write(writes, json.dumps(told).encode())
            os._exit(0)
        os.close(writes)
        with os.fdopen(reads) as pipe:
            not_here, fault = json.loads(pipe.read() or '[null, "the attack itself died"]')
        os.waitpid(child, 0)
        if not_here:
            raise NotHereError(not_here)
        return fault

    return made


def _tell(make: Make, draw: random.Random, here: Path) -> tuple[str | None, str | None]:
    """Make the attack; give why it is not possible here, and what went wrong."""
    try:
        _leave()
        return None, make(draw, here)
    except NotHereError as error:
        return str(error), None
    except BaseException as error:
        return None, f"the attack itself failed: {error!r}"


def _leave() -> None:
    if sys.platform != "linux":
        raise NotHereError("only Linux has namespaces")
    user, group = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_USER | _NEW_MOUNTS | _NEW_NETWORK):
        raise NotHereError(f"no namespaces for this user: {os.strerror(ctypes.get_errno())}")
    for name, content in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path("/proc/self", name).write_text(content)


def mount(place: Path, options: str) -> None:
    """Mount an empty file system in memory, or change one that is mounted: `remount,size=1m`.

    Raises:
        NotHereError: The system does not let this user.
    """
    place.mkdir(exist_ok=True)
    kind = [] if options.startswith("remount") else ["-t", "tmpfs"]
    words = ["/bin/mount", *kind, "-o", options, "none", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHereError(f"mount: {done.stderr.strip()[:100]}")
