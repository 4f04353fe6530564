"""Evidence of a run: the log-probabilities that its numbers follow from, without the sentences.

A causal model's evidence is one log-probability for each node of the prefix trie of the suite's sentences.
Equal prefixes have one number: there is one place for it. In sentences sorted by code point those with a
common prefix stand together. So the nodes of their trie, in preorder, are the words that remain when each
sentence leaves out what it shares with the last.
"""

from __future__ import annotations

import io
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tseval.downloads import DownloadError, download
from tseval.errors import AwayError, EvidenceError, counted, one_line
from tseval.files import cache_folder, limits, read_bytes, write_whole
from tseval.formats import ContentError, checked, parse_json
from tseval.tables import read_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    _Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Words:
    """The words of sentences, end to end, (words,), and how many each sentence has, (sentences,)."""

    texts: pa.StringArray
    lengths: _Rows

    @cached_property
    def starts(self) -> _Rows:
        """First word of each sentence, (sentences,)."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def shared(self) -> _Rows:
        """Words that each sentence has in common with the one before, from the first on, (sentences,)."""
        ids = self.texts.dictionary_encode().indices.to_numpy()
        return common(ids, self)

    @cached_property
    def joined(self) -> pa.StringArray:
        """The sentences, as a model sees them that knows all words, (sentences,)."""
        return _joined(self.texts, self)

    @cached_property
    def places(self) -> dict[tuple[tuple[int, int], ...], _Rows]:
        """The row of evidence for every word, (words,), by which prefixes were computed anew."""
        return {}


def _joined(texts: pa.StringArray, words: Words) -> pa.StringArray:
    lists = pa.ListArray.from_arrays(_offsets(words.lengths), texts)
    return cast("pa.StringArray", pc.binary_join(lists, " "))


def split_words(sentences: pa.StringArray) -> Words:
    """Split sentences into the words that models read; before the terminator of an empty string is none."""
    split = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
    lengths = pc.list_value_length(split).to_numpy().astype(np.int64)
    return Words(cast("pa.StringArray", split.flatten()), lengths)


def common(values: NDArray[np.generic], words: Words, most: _Rows | None = None) -> _Rows:
    """Count the leading words whose values each sentence shares with the sentence before.

    Args:
        most: Where to stop in each sentence, (sentences,); None for the shorter of the two.
    """
    shared = np.zeros(len(words.lengths), dtype=np.int64)
    if most is None:
        most = np.minimum(words.lengths, np.concatenate(([0], words.lengths[:-1])))
    alive = np.flatnonzero(most > 0)
    depth = 0
    while len(alive):
        here, before = words.starts[alive] + depth, words.starts[alive - 1] + depth
        alive = alive[values[here] == values[before]]
        depth += 1
        shared[alive] = depth
        alive = alive[most[alive] > depth]
    return shared


def kept(words: Words, shared: _Rows) -> NDArray[np.bool_]:
    """Mark the words that are not shared with the sentence before, (words,)."""
    depth = np.arange(len(words.texts)) - np.repeat(words.starts, words.lengths)
    return np.asarray(depth >= np.repeat(shared, words.lengths))


def spread(words: Words, shared: _Rows) -> _Rows:
    """Find for every word the one among the kept that stands for it, by its place among them, (words,).

    A word that a sentence shares stands where the sentence before has it, or the one before that.
    """
    own = kept(words, shared)
    place = np.cumsum(own) - 1
    shorter = words.lengths
    alive = np.flatnonzero(shorter > 0)
    depth = 0
    while len(alive):
        here = words.starts[alive] + depth
        # The last sentence that has a word of its own at this depth: all between share it.
        origin = np.maximum.accumulate(np.where(own[here], np.arange(len(alive)), 0))
        place[here] = place[here[origin]]
        depth += 1
        alive = alive[shorter[alive] > depth]
    return place


Unit = Literal["prefix", "word", "sentence"]
# A causal model computes a prefix anew only where scoring was cut into shards. A model that does so in more
# sentences than this share has words that depend on what follows them.
MOST_APART = 0.02


@dataclass(frozen=True)
class Evidence:
    """Log-probabilities that follow from no others.

    Attributes:
        suite_digest: Of the suite whose sentences they belong to.
        unit: What one row stands for. `prefix`: a node of the prefix trie of the suite's distinct sentences,
            sorted by code point, in preorder. `word`: a word of them, where words depend on the whole
            sentence, or something is asked before them. `sentence`: a sentence, where no word is known.
        apart: Sentences whose shared prefix was computed once more, with another last bit: the row among the
            distinct sentences to the number of words that are still shared with the sentence before.
        table: `logprob` (nats; float32, float64 for sentences) and `seen`, the word or sentence as the
            model sees it, null where that is the suite's own; `right` and `wrong` (nats, float64) where
            something is asked before words; `pieces` (nats, float32) where words were corrected: what
            they were before, of which sentences are made; `unscored`, at first words, where the model leaves
            first tokens unscored.
        too_long: Places among the suite's distinct sentences, ascending, of those that the model cannot read;
            what is here is of the others.
    """

    suite_digest: str
    unit: Unit
    apart: Mapping[int, int]
    table: pa.Table
    too_long: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return one_line(self, self.suite_digest[:8], counted(self.table.num_rows, "row"))


def gather(scored: pa.Table, suite_digest: str) -> Evidence:
    """Keep of scored sentences what does not follow from the suite.

    Args:
        scored: All distinct sentences of a suite, sorted, as `sentences.parquet` of a run holds them.
        suite_digest: Of the suite.

    Raises:
        EvidenceError: The model saw sentences as other numbers of words than they have.
    """
    sentences = whole_column(scored, "sentence")
    values = flat_column(scored, "words")
    if values.null_count:
        table = _table(whole_column(scored, "logprob"), whole_column(scored, "seen"), sentences)
        return Evidence(suite_digest, "sentence", {}, table)
    words, seen = split_words(sentences), split_words(whole_column(scored, "seen"))
    if not np.array_equal(words.lengths, seen.lengths):
        row = int(np.flatnonzero(words.lengths != seen.lengths)[0])
        raise EvidenceError(
            f"the model sees {sentences[row].as_py()!r} as {seen.lengths[row]} words, but the sentence has "
            f"{words.lengths[row]} words.\n"
            "  Correct the method `seen` of the adapter: it must return one word for each word of the "
            "sentence."
        )
    table = _table(values, seen.texts, words.texts)
    if "pieces" in scored.column_names:
        table = table.append_column("pieces", flat_column(scored, "pieces"))
    if "right" in scored.column_names:
        for name in ("right", "wrong"):
            table = table.append_column(name, pc.list_flatten(scored[name]))
        return Evidence(suite_digest, "word", {}, table)
    look = seen.texts.dictionary_encode().indices.to_numpy().astype(np.int64)
    if "unscored" in scored.column_names:
        tokens = whole_column(scored, "unscored").to_numpy()
        table, look = _with_first_tokens(table, look, words.starts, tokens)
    bits = values.to_numpy().view(np.uint32)
    shared = common(look << 32 | bits, words, words.shared)
    if "pieces" in table.column_names:
        shared = common(table["pieces"].to_numpy().view(np.uint32), words, shared)
    apart = np.flatnonzero(shared != words.shared)
    if len(apart) > MOST_APART * len(shared):
        return Evidence(suite_digest, "word", {}, table)
    exceptions = dict(zip(apart.tolist(), shared[apart].tolist(), strict=True))
    return Evidence(suite_digest, "prefix", exceptions, table.filter(pa.array(kept(words, shared))))


def readable(evidence: Evidence, sentences: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    """Part the suite's distinct sentences into those that a model read and those too long for it.

    Raises:
        EvidenceError: There are no such sentences, or none is left.
    """
    places = np.asarray(evidence.too_long, dtype=np.int64)
    if len(places) and (np.any(np.diff(places, prepend=-1) < 1) or places[-1] >= len(sentences)):
        raise EvidenceError(
            "has a list of sentences that are too long, but some are not in the suite, or not in its order"
        )
    if len(places) == len(sentences) > 0:
        raise EvidenceError("states that every sentence is too long, so nothing was scored")
    mask = np.ones(len(sentences), dtype=np.bool_)
    mask[places] = False
    return sentences.filter(pa.array(mask)), sentences.filter(pa.array(~mask))


def scored_again(evidence: Evidence, sentences: pa.StringArray, words: Words | None = None) -> pa.Table:
    """Make scored sentences from evidence, bit for bit those that it was gathered from.

    Args:
        evidence: Of a run on a suite.
        sentences: The suite's distinct sentences, sorted (`tseval.verdicts.sentences_of`).
        words: Those of the sentences, where they are split already.

    Returns:
        `sentence`, `seen`, `logprob` (nats, float64), `words` (nats, float32), and `right`, `wrong`, `pieces`
        and `unscored` where there are such, as `sentences.parquet` holds them.

    Raises:
        EvidenceError: It has another number of rows than these sentences need, or other words in them.
    """
    if evidence.unit == "sentence":
        return _sentences_again(evidence, sentences)
    words = words or split_words(sentences)
    place = _places(evidence, words)
    table = evidence.table.take(pa.array(place, pa.int64()))
    _refuse_other_words(evidence)
    seen = whole_column(table, "seen")
    knows_all = seen.null_count == len(seen)
    values = whole_column(table, "logprob")
    made_of = whole_column(table, "pieces") if "pieces" in table.column_names else values
    sums = np.add.reduceat(made_of.to_numpy().astype(np.float64), words.starts)
    offsets = _offsets(words.lengths)
    columns: dict[str, pa.Array] = {  # type: ignore[type-arg]
        "sentence": sentences,
        "seen": words.joined if knows_all else _joined(pc.coalesce(seen, words.texts), words),
        "logprob": pa.array(sums),
        "words": pa.ListArray.from_arrays(offsets, values),
    }
    for name in set(table.column_names) & {"right", "wrong", "pieces"}:
        columns[name] = pa.ListArray.from_arrays(offsets, whole_column(table, name))
    if "unscored" in table.column_names:
        columns["unscored"] = whole_column(table, "unscored").take(pa.array(words.starts, pa.int64()))
        if columns["unscored"].null_count:
            raise EvidenceError(
                "has a column 'unscored', but it does not name the unscored first token of every sentence"
            )
    return pa.table(columns)


def _with_first_tokens(
    table: pa.Table, look: NDArray[np.int64], starts: NDArray[np.int64], tokens: NDArray[np.int64]
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Keep the unscored first tokens, (sentences,); a first word with another one is another prefix."""
    look = look.copy()
    pairs = np.stack((look[starts], tokens), axis=1)
    look[starts] = look.max() + 1 + np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    column = np.zeros(len(look), dtype=np.int64)
    column[starts] = tokens
    nothing = np.ones(len(look), dtype=np.bool_)
    nothing[starts] = False
    return table.append_column("unscored", pa.array(column, pa.int64(), mask=nothing)), look


def _places(evidence: Evidence, words: Words) -> NDArray[np.int64]:
    """Find the row of evidence for every word."""
    if evidence.unit == "word":
        _refuse_other_size(evidence, len(words.texts))
        return np.arange(len(words.texts))
    shared = words.shared.copy()
    for row, depth in evidence.apart.items():
        if not 0 <= row < len(shared) or not 0 <= depth < shared[row]:
            raise EvidenceError(
                f"states that sentence {row} of the suite shares more than {depth} words "
                "with the sentence before, but it does not"
            )
        shared[row] = depth
    _refuse_other_size(evidence, int((words.lengths - shared).sum()))
    key = tuple(evidence.apart.items())
    if key not in words.places:  # most models of a board share it: none, or shards of one size
        if len(words.places) > 1:
            words.places.popitem()
        words.places[key] = spread(words, shared)
    return words.places[key]


def _sentences_again(evidence: Evidence, sentences: pa.StringArray) -> pa.Table:
    _refuse_other_size(evidence, len(sentences))
    lengths = split_words(sentences).lengths
    nothing = pa.nulls(int(lengths.sum()), pa.float32())
    return pa.table(
        {
            "sentence": sentences,
            "seen": pc.coalesce(whole_column(evidence.table, "seen"), sentences),
            "logprob": whole_column(evidence.table, "logprob"),
            "words": pa.ListArray.from_arrays(_offsets(lengths), nothing),
        }
    )


def _offsets(lengths: _Rows) -> pa.Int32Array:
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())


def _refuse_other_words(evidence: Evidence) -> None:
    """Refuse what would make more or fewer words of one."""
    seen = pc.drop_null(whole_column(evidence.table, "seen"))
    spaced = pc.not_equal(seen, pc.utf8_trim_whitespace(seen)).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((split_words(seen).lengths != 1) | spaced)
    if len(wrong):
        raise EvidenceError(
            f"states that the model reads one word as {seen[int(wrong[0])].as_py()[:60]!r}, which is not "
            "one word"
        )


def _refuse_other_size(evidence: Evidence, needed: int) -> None:
    found = evidence.table.num_rows
    if found != needed:
        raise EvidenceError(
            f"has {found:,} rows, one for each {evidence.unit}, but the suite needs {needed:,} rows: the "
            "file is truncated or from another suite"
        )


def _table(logprob: pa.Array, seen: pa.StringArray, own: pa.StringArray) -> pa.Table:  # type: ignore[type-arg]
    """Lay evidence out; what the model sees is null where it is the suite's own."""
    same = pc.equal(seen, own)
    return pa.table({"logprob": logprob, "seen": pc.if_else(same, pa.scalar(None, pa.string()), seen)})


def whole_column(table: pa.Table, name: str) -> pa.StringArray:
    """Return a column of text in one piece."""
    return cast("pa.StringArray", table[name].combine_chunks())


def flat_column(table: pa.Table, name: str) -> pa.FloatArray:
    """Return the numbers of a column of lists end to end."""
    lists = cast("pa.ListArray[pa.FloatScalar]", table[name].combine_chunks())
    return cast("pa.FloatArray", lists.flatten())


EVIDENCE_FORMAT = 1
KEY = b"tseval.evidence"
_TYPES: dict[str, pa.DataType] = {
    "seen": pa.string(),
    "right": pa.float64(),
    "wrong": pa.float64(),
    "pieces": pa.float32(),
    "unscored": pa.int64(),
}
_COLUMNS = {"logprob", *_TYPES}
# Beside what all evidence has, in this order.
_SOMETIMES: tuple[list[str], ...] = ([], ["right", "wrong"], ["pieces"], ["unscored"], ["pieces", "unscored"])


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands in the metadata of the file."""

    format: int
    suite_digest: str
    unit: Unit
    apart: tuple[tuple[int, int], ...]
    too_long: tuple[int, ...] = ()


def evidence_bytes(evidence: Evidence) -> bytes:
    """Return the bytes of `evidence.parquet`."""
    head = {
        "format": EVIDENCE_FORMAT,
        "suite_digest": evidence.suite_digest,
        "unit": evidence.unit,
        "apart": list(evidence.apart.items()),
        **({"too_long": evidence.too_long} if evidence.too_long else {}),
    }
    table = evidence.table.replace_schema_metadata({KEY: json.dumps(head).encode()})
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=19,
        use_dictionary=["seen"],  # type: ignore[arg-type]
        column_encoding=dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
    )
    return sink.getvalue().to_pybytes()


def read_evidence(source: Path | bytes) -> Evidence:
    """Read evidence from a file, or from its bytes.

    Raises:
        OSError: The file cannot be opened.
        EvidenceError: It holds something else, or was written by a newer tseval.
    """
    try:
        table = read_parquet(source, _TYPES, needed=["seen"], known=_COLUMNS)
        head = _head(table)
        wanted = pa.float64() if head.unit == "sentence" else pa.float32()
        _check_columns(table, wanted)
    except ContentError as error:
        raise EvidenceError(f"is not a file of evidence (per-token scores): {error}") from None
    table = table.replace_schema_metadata(None)
    return Evidence(head.suite_digest, head.unit, dict(head.apart), table, head.too_long)


def _head(table: pa.Table) -> _Head:
    try:
        content = parse_json((table.schema.metadata or {})[KEY].decode())
    except (KeyError, ValueError, RecursionError):
        raise ContentError("its metadata do not name the suite") from None
    version = content.get("format") if isinstance(content, dict) else None
    if isinstance(version, int) and version > EVIDENCE_FORMAT:
        raise ContentError(
            f"it has format {version}, but this version of tseval reads formats up to "
            f"{EVIDENCE_FORMAT}: update tseval"
        )
    return checked(content, _Head)


def _check_columns(table: pa.Table, wanted: pa.DataType) -> None:
    names = table.column_names
    always, sometimes = names[:2], names[2:]
    if always != ["logprob", "seen"] or sometimes not in _SOMETIMES:
        raise ContentError(f"its columns are {', '.join(names)}, but the first two must be logprob and seen")
    if table["logprob"].type != wanted or table["logprob"].null_count:
        raise ContentError(f"the column 'logprob' should have a number of type {wanted} in every row")
    if "pieces" in names and table["pieces"].null_count:
        raise ContentError("the column 'pieces' should have a number in every row")


LARGEST_EVIDENCE = 64 << 20  # bytes
_DIGEST = re.compile(r"[0-9a-f]{64}")
_THIS_MACHINE = {"localhost", "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class EvidenceAddress:
    """Where evidence lies, and what it must be."""

    url: str
    sha256: str
    bytes: int


def check_address(url: str) -> None:
    """Refuse an address that anyone on the way could change what comes from.

    Raises:
        EvidenceError: It is no https address; http is for this machine alone.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    safe = (parts.scheme == "https" and bool(parts.hostname)) or (
        parts.scheme == "http" and parts.hostname in _THIS_MACHINE
    )
    if not safe or not url.isascii() or any(letter <= " " for letter in url):
        raise EvidenceError(f"has the address {url!r:.200}, which is not a valid https:// address")


def stored_evidence(digest: str) -> Path:
    """Name the file in the cache that holds the evidence of a digest."""
    return cache_folder() / "evidence" / f"{digest}.parquet"


def keep_evidence(content: bytes) -> Path:
    """Put evidence into the cache, where `fetch_evidence` finds it."""
    place = stored_evidence(sha256(content).hexdigest())
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, content, shared=True)
    return place


def fetch_evidence(address: EvidenceAddress) -> bytes:
    """Return evidence from the cache, or else from its address.

    Raises:
        EvidenceError: It is larger than it says or may be, or has another digest.
        AwayError: It does not come.
    """
    if not 0 < address.bytes <= LARGEST_EVIDENCE:
        raise EvidenceError(
            f"has {address.bytes:,} bytes, but tseval downloads from 1 to {LARGEST_EVIDENCE:,} bytes"
        )
    if not _DIGEST.fullmatch(address.sha256):
        raise EvidenceError(
            f"has {address.sha256!r:.80} under the key `sha256`, which is not a SHA-256 digest"
        )
    check_address(address.url)
    place = stored_evidence(address.sha256)
    with suppress(OSError):
        content = read_bytes(place)
        if sha256(content).hexdigest() == address.sha256:
            if len(content) != address.bytes:
                raise EvidenceError(
                    f"with the digest of the entry has {len(content):,} bytes, but the entry states "
                    f"{address.bytes:,}"
                )
            return content
    content = _download(address, place)
    found = sha256(content).hexdigest()
    if len(content) != address.bytes or found != address.sha256:
        size = f"more than {address.bytes:,}" if len(content) > address.bytes else f"{len(content):,}"
        raise EvidenceError(
            f"at {address.url} is not the evidence of the entry: it has {size} bytes and the digest "
            f"{found[:12]}, but the entry states {address.bytes:,} bytes and the digest "
            f"{address.sha256[:12]}"
        )
    with suppress(OSError):  # without a cache it comes again the next time
        keep_evidence(content)
    return content


def _download(address: EvidenceAddress, place: Path) -> bytes:
    """Read no more than one byte beyond what is announced."""
    content = io.BytesIO()
    try:
        download(address.url, content, address.bytes + 1, limits().download_seconds, _may_lead_on)
    except DownloadError as error:
        raise AwayError(
            f"tseval cannot download the evidence from {address.url} ({error}).\n"
            f"  If this machine has no network, copy the file from another machine to {place}"
        ) from None
    return content.getvalue()


def _may_lead_on(url: str) -> None:
    """Refuse a redirection to an address that would not be asked in the first place."""
    try:
        check_address(url)
    except EvidenceError as error:
        raise ValueError(f"the server redirects, but the evidence {error}") from None
