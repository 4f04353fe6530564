"""The suite of a leaderboard: loaded by name, from the board's folder, or from the copy there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import BoardError, SuiteError, first_line
from tseval.evidence.prefixes import Words, mark_nodes, split_words
from tseval.formats import ContentError, Json, checked
from tseval.items import CONTEXT
from tseval.suites import available_suites, load_suite
from tseval.suites.both_orders import in_both_orders
from tseval.suites.context import ContextRequest, in_context
from tseval.suites.context.requests import is_known_source
from tseval.suites.data.critical import with_critical
from tseval.verdicts import all_sentences, sentences_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tseval.items import Suite


DEFINITION = "board.yaml"
SUITE_FOLDER = "suite"


@dataclass(frozen=True)
class SplitSuite:
    """The suite of a board with its sentences and words, computed once for all entries.

    If `score` is `prompt`, entries scored questions about the pairs of the suite.
    """

    suite: Suite
    score: str = "sentence"

    @cached_property
    def clustered(self) -> Suite:
        """The suite that entries scored, with values that items share (inferred if the data do not say)."""
        clustered = with_critical(self.suite)
        return in_both_orders(clustered) if self.score == "prompt" else clustered

    @cached_property
    def scored(self) -> Suite:
        """The suite that entries scored."""
        return self.clustered if self.score == "prompt" else self.suite

    @cached_property
    def sentences(self) -> pa.StringArray:
        """The distinct sentences, sorted (`tseval.verdicts.sentences_of`), (sentences,)."""
        return sentences_of(self.scored)

    @cached_property
    def words(self) -> Words:
        """The words of the sentences."""
        return split_words(self.sentences)

    @cached_property
    def numbered_words(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A number for each word, and for each word with the word before it (`numbered`)."""
        return numbered(self.words)

    @cached_property
    def nodes(self) -> NDArray[np.bool_]:
        """Whether each word is a node of the evidence of every causal model (`mark_nodes`), (words,)."""
        return mark_nodes(self.words, self.words.shared)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The index in `sentences` of each sentence of the suite, for `tseval.verdicts.judge`."""
        rows = pc.index_in(all_sentences(self.scored), value_set=self.sentences)
        return cast("NDArray[np.int64]", rows.to_numpy().astype(np.int64))


def numbered(words: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each word, and for each word with the word before it, both (words,)."""
    ids = words.texts.dictionary_encode().indices.to_numpy().astype(np.int64)
    before = np.roll(ids, 1)
    before[words.starts[words.lengths > 0]] = -1
    pairs = pa.array((before + 1) * (int(ids.max(initial=0)) + 1) + ids)
    return ids, pairs.dictionary_encode().indices.to_numpy().astype(np.int64)


def suite_of_board(
    board: Path, suite: str, digest: str, columns: Mapping[str, str], protocol: Mapping[str, Json]
) -> Suite:
    """Load the suite of a board, in the contexts of its protocol.

    If the installed suite is another version, the copy in the folder of the board is loaded.
    """
    return board_in_context(_alone(board, suite, digest, columns), protocol, board)


def board_in_context(suite: Suite, protocol: Mapping[str, Json], board: Path) -> Suite:
    """Put the whole suite of a board into the contexts of its protocol, if it has any.

    A text file with contexts must be in the folder of the board.

    Raises:
        BoardError: The protocol does not describe the contexts, or these have another digest.
    """
    source = protocol.get(CONTEXT)
    if source is None:
        return suite
    file = board / DEFINITION
    try:
        request = checked({**_USUAL_CONTEXT, **protocol}, _ContextProtocol)
    except ContentError as error:
        raise BoardError(
            f"{file}: the key `protocol` names a context, but {error}.\n"
            "  Copy the keys context, context_words, context_seed and contexts from the manifest of a run."
        ) from None
    file_in_board = board / Path(request.context).name
    is_beside = file_in_board.name == request.context and file_in_board.is_file()
    if not is_beside and not is_known_source(request.context):
        raise BoardError(
            f"{file}: the key `protocol.context` is {request.context!r}, which is neither the name of a "
            "suite nor a text file in this folder.\n"
            "  Write `context: same`, `context: other` or `context: SUITE`, or put the text file into this "
            "folder."
        )
    place = request.context if is_known_source(request.context) else str(file_in_board)
    critical_suite = with_critical(suite)
    try:
        result = in_context(
            critical_suite,
            ContextRequest(place, request.context_words, request.context_seed, request.contexts),
        )
    except SuiteError as error:
        raise BoardError(f"{file}: {first_line(error)}\n  Correct the key `protocol`.") from None
    actual = None if result.context is None else result.context.describe()["context_digest"]
    if request.context_digest not in {None, actual}:
        raise BoardError(
            f"{file}: the key `protocol.context_digest` is {request.context_digest!r}, but the contexts on "
            f"this machine have the digest {actual!r}.\n"
            "  Use the source of the contexts with which the leaderboard was made."
        )
    return result


@dataclass(frozen=True, slots=True)
class _ContextProtocol:
    """The contexts in a protocol, with the keys of `SuiteContexts.describe`."""

    context: str
    context_words: int
    context_seed: int
    contexts: int
    context_digest: str | None = None


_USUAL_CONTEXT: dict[str, Json] = {"context_seed": 0, "contexts": 1}


def _alone(board: Path, suite: str, digest: str, columns: Mapping[str, str]) -> Suite:
    present: Suite | None = None
    problem: SuiteError | None = None
    try:
        present = load_suite(suite_spec(suite, board), columns=columns or None)
    except SuiteError as error:
        problem = error
    if present is not None and present.digest == digest:
        return present
    if (copied := copied_suite(board, suite, columns)) is not None and copied.digest == digest:
        return copied
    if present is None:
        raise problem or AssertionError
    raise BoardError(
        f"{board / DEFINITION}: the suite {suite} on this machine has the digest {present.digest[:8]}, but "
        f"the leaderboard uses the digest {digest[:8]}.\n"
        f"  To create a leaderboard for the new version: tseval board renew {quote(str(board))}. To use "
        "this leaderboard, install the version of the suite, or of tseval, with which it was made."
    )


def copied_suite(board: Path, suite: str, columns: Mapping[str, str]) -> Suite | None:
    """Load the copy of a suite in the folder of its board, if there is one."""
    name = Path(suite).name
    path = board / SUITE_FOLDER / (name if name in available_suites() else name.rpartition(":")[0] or name)
    if not path.exists():
        return None
    spec: str | Path = path if path.name == name else str(path.with_name(name))
    return load_suite(spec, columns=columns or None)


def suite_spec(suite: str, board: Path) -> str | Path:
    """Return the path of a suite next to its board, or else its name.

    The names of bundled suites come first: a file next to a board never replaces one of them.
    """
    if suite in available_suites():
        return suite
    local_path = Path(os.path.normpath(board.absolute() / suite))
    if local_path.exists():
        return local_path
    name, _, method = suite.rpartition(":")
    local_path = Path(os.path.normpath(board.absolute() / name))
    return (
        f"{local_path}:{method}" if name not in ("", *available_suites()) and local_path.exists() else suite
    )
