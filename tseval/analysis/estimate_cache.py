"""A disk cache of estimates, keyed by a digest of their inputs.

A leaderboard with a hundred entries needs 40,000 estimates. A new entry changes none of them, because each
depends only on the items and on what one model got right.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from tseval.analysis.intervals import confidence_level
from tseval.files import cache_folder, read_bytes, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tseval.analysis.design import Design


class Kept:
    """Estimates by the digest of their inputs."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known, self.used = known, dict[str, Any]()
        self._head = f"{version('tseval')} {confidence_level()}".encode()
        # Keyed by identity, because models share the designs of rows. The weak reference lets a design be
        # freed.
        self._digests: dict[int, tuple[ref[Design], bytes]] = {}

    def key(self, verdicts: tuple[NDArray[np.bool_], NDArray[np.bool_]], design: Design) -> str:
        """Return the digest of the inputs of an estimate."""
        bits = (np.packbits(column).tobytes() for column in verdicts)
        return sha256(self._head + self._digest(design) + b"".join(bits)).hexdigest()[:40]

    def __contains__(self, key: str) -> bool:
        return key in self.used or key in self.known

    def take(self, key: str, computed: list[Any] | None) -> list[Any] | None:
        """Return the fields of an estimate: those in the cache, or else those computed now."""
        if key not in self.used:
            self.used[key] = self.known.get(key, computed)
        return self.used[key]  # type: ignore[no-any-return]

    def _digest(self, design: Design) -> bytes:
        reference, digest = self._digests.get(id(design), (None, b""))
        if reference is None or reference() is not design:
            names = json.dumps([design.factors.names, design.clusters, design.fixed]).encode()
            arrays = (np.ascontiguousarray(array) for array in (design.rows, design.factors.codes))
            content = names + b"".join(str(values.shape).encode() + values.tobytes() for values in arrays)
            digest = sha256(content).digest()
            self._digests[id(design)] = ref(design), digest
        return digest


kept_estimates: ContextVar[Kept | None] = ContextVar("kept_estimates", default=None)


@contextmanager
def estimates_kept(name: str) -> Iterator[None]:
    """Read the estimates of this block from the cache, and write the estimates that it uses back.

    `name` names the cache file, such as a leaderboard. If the cache cannot be read or written, all estimates
    are computed.
    """
    file = cache_folder() / "estimates" / f"{sha256(name.encode()).hexdigest()[:32]}.json"
    saved: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        content = json.loads(read_bytes(file))
        saved = content if isinstance(content, dict) else {}
    cache = Kept(saved)
    token = kept_estimates.set(cache)
    try:
        yield
    finally:
        kept_estimates.reset(token)
    if cache.used.keys() != saved.keys():
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, json.dumps(cache.used).encode(), shared=True)
