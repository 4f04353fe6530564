"""What of a manifest follows from other parts of it, or from the tables: none of it is believed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.runs.manifest import count_sentences, count_verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.runs.manifest import Counts, Manifest

SELECTED = re.compile(r"(\d+) selected")


def contradiction(manifest: Manifest) -> str | None:
    """Name a field of a manifest that does not follow from the others, with what it should follow from."""
    key, suite, model, counts = manifest.key, manifest.suite, manifest.model, manifest.counts
    selected = SELECTED.fullmatch(key.items)
    decided = counts.correct + counts.tied + counts.undecidable
    follows = {
        "signature from key": manifest.signature == key.signature,
        "suite.name from key.suite": suite.name == key.suite,
        "suite.digest from key.suite_digest": suite.digest == key.suite_digest,
        "suite.terminator from key.terminator": suite.terminator == key.terminator,
        "suite.complete from key.items": suite.complete == (key.items == "all"),
        "suite.sample from suite.complete": suite.sample is None or not suite.complete,
        "suite.n_items from key.items": not selected or int(selected[1]) == suite.n_items,
        "model.name from key.model": model.name == key.model,
        "model.fingerprint from key.fingerprint": model.fingerprint == key.fingerprint,
        "model.protocol from key.protocol": model.protocol == key.protocol,
        "key.protocol from what a protocol says": not key.hidden,
        "counts.items from suite.n_items": counts.items == suite.n_items,
        "counts.contrasts from suite.n_contrasts": counts.contrasts == suite.n_contrasts,
        "counts.correct from counts.contrasts": decided <= counts.contrasts,
        "counts.too_long from counts.undecidable": 0 <= counts.too_long <= max(counts.undecidable, 0),
        "counts.resumed_sentences from counts.sentences": counts.resumed_sentences <= counts.sentences,
    }
    return next((what for what, holds in follows.items() if not holds), None)


def miscounted(counts: Counts, name: str, table: pa.Table) -> str | None:
    """Name a count that does not follow from a table of the run, by the table's file name."""
    count = {"sentences.parquet": count_sentences, "verdicts.parquet": count_verdicts}[name]
    try:
        found: Mapping[str, int] = count(table)
    except (KeyError, pa.ArrowException):
        return "counts"  # such a table holds nothing that could be counted
    return next((f"counts.{part}" for part, value in found.items() if getattr(counts, part) != value), None)
