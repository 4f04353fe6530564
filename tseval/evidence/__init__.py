"""The evidence of a run: the log-probabilities that determine its numbers, without the sentences.

The evidence of a causal model is one log-probability for each node of the prefix trie of the suite's
sentences, so equal prefixes cannot have two numbers. If sentences are sorted by code point, those with a
common prefix are neighbours. So the nodes of the trie, in preorder, are the words of each sentence after the
prefix that it shares with the sentence before.
"""

from tseval.evidence.columns import flat_column, whole_column
from tseval.evidence.download import (
    LARGEST_EVIDENCE,
    EvidenceAddress,
    check_address,
    fetch_evidence,
    keep_evidence,
    stored_evidence,
)
from tseval.evidence.file_format import EVIDENCE_FORMAT, KEY, evidence_bytes, read_evidence
from tseval.evidence.prefixes import Words, split_words
from tseval.evidence.record import MOST_APART, Evidence, Unit, gather
from tseval.evidence.restoring import readable, scored_again

__all__ = [
    "EVIDENCE_FORMAT",
    "KEY",
    "LARGEST_EVIDENCE",
    "MOST_APART",
    "Evidence",
    "EvidenceAddress",
    "Unit",
    "Words",
    "check_address",
    "evidence_bytes",
    "fetch_evidence",
    "flat_column",
    "gather",
    "keep_evidence",
    "read_evidence",
    "readable",
    "scored_again",
    "split_words",
    "stored_evidence",
    "whole_column",
]
