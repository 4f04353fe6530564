"""Flags on suspicious entries of a board, for its maintainer and for readers of its page."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tseval.boards.copies import Numbers, copies, sampled_places
from tseval.boards.entry import read_entry
from tseval.boards.implausible import implausible, nodes_of
from tseval.errors import BoardError, EvidenceError, LimitError, RunError
from tseval.evidence.file_format import read_evidence
from tseval.runs.entry import evidence_of
from tseval.runs.manifest import Manifest, load_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tseval.evidence.record import Evidence
    from tseval.runs.board_suite import SplitSuite

# What none of these checks can find. The page of a board lists the same.
NOT_DETECTABLE = (
    "an entry that gives its model a false name",
    "a model that was trained on the sentences of the suite, if there is no hidden version of the suite",
    "false facts about licence, training data, seeds, authors and dates",
    "the choice of the best seed, if the author does not mention the other seeds",
    "changed log-probabilities that are plausible, if nobody scores the sentences again with the model",
    "numbers that the forger copied from another model, with random changes larger than rounding errors",
)


def flags_of(
    folders: Sequence[Path], split: SplitSuite, names: Iterable[str] = ()
) -> Mapping[str, list[str]]:
    """Return the flags of entries by name: of all entries, or of those in `names`.

    Each entry is compared with all others.

    Entries that cannot be read are left out: `tseval board check` reports them.
    """
    chosen = {*names}
    flags: dict[str, list[str]] = defaultdict(list)
    read: list[tuple[str, Numbers]] = []
    places = sampled_places(_n_shared(split), split.suite.digest)
    for folder in folders:
        try:
            manifest = load_manifest(folder)
            if not isinstance(manifest, Manifest):
                continue
            evidence, entry = read_evidence(evidence_of(folder, manifest)), read_entry(folder)
        except (BoardError, EvidenceError, LimitError, RunError):
            continue
        if not chosen or folder.name in chosen:
            flags[folder.name] += implausible(manifest, evidence, split, len(entry.rows))
        load = partial(_load, folder, manifest, split)
        values = _at_shared_places(evidence, split)
        sample = values[places] if len(values) == _n_shared(split) else values
        numbers = Numbers(folder.name, manifest.key.fingerprint, sample, load)
        read.append((entry.about.date or "", numbers))
    # The first of two equal entries is no copy.
    read.sort(key=lambda dated: dated[0])
    for entry_names, message in copies([numbers for _, numbers in read]):
        if not chosen or chosen & {*entry_names}:
            flags[entry_names[0]].append(message)
    return {name: messages for name, messages in flags.items() if messages}


def _load(folder: Path, manifest: Manifest, split: SplitSuite) -> NDArray[np.float64]:
    return _at_shared_places(read_evidence(evidence_of(folder, manifest)), split)


def _n_shared(split: SplitSuite) -> int:
    return int(split.nodes.sum())


def _at_shared_places(evidence: Evidence, split: SplitSuite) -> NDArray[np.float64]:
    """Return the log-probabilities of the prefixes that the evidence of every causal model has.

    The evidence of a model that computed a prefix twice has more rows. Evidence of another kind is returned
    unchanged.
    """
    values = np.asarray(evidence.table["logprob"]).astype(np.float64)
    nodes = None if evidence.too_long else nodes_of(evidence, split)
    if nodes is None:
        return values
    return values[split.nodes[nodes.positions]]
