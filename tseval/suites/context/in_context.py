"""Put the items of a suite into contexts: draw texts, and assign some of them to each item.

Many items share few texts, so that a model reads each text once. Items with the same beginning have the same
text, so that the model reads the beginning once too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, counted
from tseval.items import CONTEXT, Suite, SuiteContexts, as_entries, take_rows
from tseval.suites.context.requests import DEFAULT_WORDS, OTHER, SAME, ContextRequest
from tseval.suites.context.same_case import touched_parts
from tseval.suites.context.texts import (
    FEWEST,
    contains_item,
    cut_texts,
    draw_text,
    enough_sentences,
    sources_of,
    too_short,
    words_of_lines,
)
from tseval.suites.data.critical import with_critical
from tseval.suites.loading import load_suite
from tseval.suites.views import ITEM
from tseval.writing import IN_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tseval.items import Case
    from tseval.suites.context.texts import Source, Text
    from tseval.writing import Writing

    # Maps a case to the numbers of the contexts that each item may have, (items,). Items share lists.
    Choices = Callable[[Case], Sequence[Sequence[int]]]


# Minimum number of contexts for the items of a suite (with `same`: of a case). With fewer contexts, an
# interval could not show how results vary between contexts.
FEWEST_TEXTS = 10


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Texts, and which of them each item may have."""

    source: str
    texts: list[Text]
    choices: Choices | None  # None for a text file: any item may have any text
    writing: Writing | None


def in_context(
    suite: Suite, request: ContextRequest, whole: Suite | None = None, *, tokenise: bool = False
) -> Suite:
    """Return a suite whose items are scored in contexts.

    Args:
        suite: The items to score.
        request: The wanted contexts.
        whole: The suite with all items of all cases, from which `same` and `other` draw; None if `suite` is.
        tokenise: Whether to split the words of a data set or a text file into Penn Treebank tokens.

    Returns:
        The suite with each item repeated for each of its contexts, in successive rows, and with a factor
        `context`. Its digest is still that of the items. For 0 words, the suite itself.

    Raises:
        SuiteError: There is no such source, or it has too few sentences, or its texts contain an item.
    """
    if suite.lexicon is not None:
        raise SuiteError(
            f"--context: the suite {suite.name} compares all verbs of a list, which tseval does not do in "
            "context.\n  Leave out --context, or :inflection."
        )
    if any(case.question.asks() is not None for case in suite.cases):
        raise SuiteError(
            f"--context: the suite {suite.name} asks for symbols inside its sentences, which tseval does not "
            "score in context.\n  Leave out --context, or choose another suite."
        )
    if request.words == 0:
        return suite
    if any(CONTEXT in case.entries.column_names for case in suite.cases):
        raise SuiteError(
            f"--context: the suite {suite.name} already has a lexical factor {CONTEXT!r}, the name that "
            "tseval gives to the contexts of items.\n  Give the factor of the suite another name."
        )
    drawn = _draw(suite, request, whole or suite, tokenise)
    if not drawn.texts:
        return suite
    n_words = sum(len(sentence.split()) for sentence in drawn.texts[0])
    contexts = SuiteContexts(
        drawn.source,
        n_words,
        request.seed,
        request.each,
        tuple(drawn.texts),
        drawn.writing,
        tokenise,
        request.is_text,
    )
    return put_into(suite, contexts, drawn.choices)


def suite_in_context(  # noqa: PLR0913 - all that a user may say of contexts
    suite: str | Path | Suite,
    source: str | Path,
    *,
    words: int | None = None,
    seed: int = 0,
    contexts: int = 1,
    tokenise: bool = False,
    whole: Suite | None = None,
) -> Suite:
    """Return a suite whose items `tseval.evaluate` scores in contexts, as `tseval run --context` does.

    Args:
        suite: A suite from `tseval.load_suite`, or its name.
        source: `same`, `other`, `SUITE`, each perhaps with `#LABEL`, or the path of a text file.
        words: Length of each context in words; None for 100, or for the whole of a text file.
        seed: Random seed for the sentences of the contexts.
        contexts: Number of contexts that each item is scored in.
        tokenise: Whether to split the words of a data set or a text file into Penn Treebank tokens.
        whole: The suite with all items of all cases, from which `same` and `other` draw. It is needed if
            `suite` has only some items; None to load it by its name.

    Raises:
        SuiteError: There is no such source, or it has too few sentences, or its texts contain an item.
    """
    loaded = with_critical(suite if isinstance(suite, Suite) else load_suite(suite))
    request = ContextRequest(str(source), words, seed, contexts)
    if words is None and not request.is_text:
        request = replace(request, words=DEFAULT_WORDS)
    if whole is None and request.needs_whole_suite and (loaded.clusters or not loaded.complete):
        whole = load_suite(loaded.name, columns=loaded.columns)
    whole = loaded if whole is None else with_critical(whole)
    return in_context(loaded, request, whole, tokenise=tokenise)


def put_into(suite: Suite, contexts: SuiteContexts, choices: Choices | None = None) -> Suite:
    """Return a suite whose items are scored in given contexts; without `choices`, items may have any text."""
    every = range(len(contexts.texts))
    containing = _Containing(suite, contexts)
    choices = choices or (lambda case: [every] * case.n_items)
    cases = tuple(_case_in_context(case, contexts, choices(case), containing) for case in suite.cases)
    return replace(suite, cases=cases, context=contexts)


def _draw(suite: Suite, request: ContextRequest, whole: Suite, tokenise: bool) -> _Drawn:
    if request.is_text:
        return _of_file(request, tokenise)
    place, label = request.place_and_label
    if place == SAME:
        return _of_same_case(suite, request, sources_of(whole, label, request.source), whole)
    n_texts = max(FEWEST_TEXTS, request.each)
    if place == OTHER:
        return _of_other_cases(request, sources_of(whole, label, request.source), whole)
    named = load_suite(place, tokenise=tokenise)
    sources = sources_of(named, label, request.source)
    every = [(source, range(source.case.n_items)) for source in sources]
    texts = [draw_text(every, cast("int", request.words), _stream(request, i)) for i in range(n_texts)]
    source = named.name if label is None else f"{named.name}#{label}"
    return _Drawn(source, texts, lambda case: [range(n_texts)] * case.n_items, named.writing)


def _stream(request: ContextRequest, *parts: object) -> Random:
    """Return a separate stream of random numbers for each text; lengths and labels do not change it."""
    return Random(" ".join(map(str, (request.seed, *parts))))  # noqa: S311 - of sentences, not of secrets


def _of_file(request: ContextRequest, tokenise: bool) -> _Drawn:
    lines = words_of_lines(request.lines(), tokenise)
    n_words = sum(map(len, lines))
    wanted = n_words if request.words is None else request.words
    texts = cut_texts(lines, wanted, max(FEWEST_TEXTS, request.each), _stream(request)) if wanted else []
    if wanted and len(texts) < request.each:
        raise too_short(request.source, n_words, wanted, request.each, len(texts))
    return _Drawn(request.name, texts, None, None)


def _of_other_cases(request: ContextRequest, sources: Sequence[Source], whole: Suite) -> _Drawn:
    """Draw each text from one case, for the items of all other cases."""
    n_cases = len(sources)
    if n_cases < 2:
        raise SuiteError(
            f"--context {request.source}: only one case of the suite {whole.name} has sentences for "
            "contexts. But an item and its context must come from different cases.\n"
            "  Name another suite, such as --context marvin_linzen#grammatical."
        )
    order = list(sources)
    _stream(request, OTHER).shuffle(order)
    n_texts = FEWEST_TEXTS
    while n_texts - -(-n_texts // n_cases) < request.each:
        n_texts += 1
    of_text = [order[i % n_cases] for i in range(n_texts)]
    texts = [
        draw_text([(source, range(source.case.n_items))], cast("int", request.words), _stream(request, i))
        for i, source in enumerate(of_text)
    ]

    def choices(case: Case) -> Sequence[Sequence[int]]:
        others = [i for i, source in enumerate(of_text) if source.case.name != case.name]
        return [others] * case.n_items

    return _Drawn(request.source, texts, choices, whole.writing)


def _of_same_case(suite: Suite, request: ContextRequest, sources: Sequence[Source], whole: Suite) -> _Drawn:
    """Draw texts for each case from its own items; a text shares no entry with the items that it precedes."""
    texts: list[Text] = []
    by_case = {source.case.name: source for source in sources}
    choices: dict[str, list[list[int]]] = {}
    for case in suite.cases:
        if case.name not in by_case:
            raise SuiteError(
                f"--context {request.source}: the case {case.name!r} has no such sentences.\n"
                "  Choose other cases with --case, or name another source."
            )
        choices[case.name] = _choices_in_case(case, by_case[case.name], request, texts)
    return _Drawn(request.source, texts, lambda case: choices[case.name], whole.writing)


def _choices_in_case(
    case: Case, source: Source, request: ContextRequest, texts: list[Text]
) -> list[list[int]]:
    """Add the texts of a case to `texts`, and return which of them each item may have."""
    places = pc.index_in(case.index, value_set=source.case.index).to_numpy(zero_copy_only=False)
    choices: list[list[int]] = [[] for _ in range(case.n_items)]
    beginnings = _beginnings(case)
    for turn in range(request.each):  # each context of an item uses another division of the entries
        parted, n_kinds = _part(case, source, places.astype(np.int64), request, turn)
        n_each = -(-FEWEST_TEXTS // (n_kinds * request.each))
        for kind, items, rows in parted:
            start = len(texts)
            texts += [
                draw_text(
                    [(source, rows)],
                    cast("int", request.words),
                    _stream(request, case.name, turn, kind, i),
                )
                for i in range(n_each)
            ]
            for row in items.tolist():
                at = _number_of(f"{request.seed} {turn} {beginnings[row]}") % n_each if n_each > 1 else 0
                choices[row].append(start + at)
    return choices


def _part(
    case: Case, source: Source, places: NDArray[np.int64], request: ContextRequest, turn: int
) -> tuple[list[tuple[int, NDArray[np.int64], NDArray[np.int64]]], int]:
    """Divide items into kinds; the items of a kind share their contexts.

    Returns:
        For each kind its number, its items, and the rows of the whole case for its contexts; and the number
        of kinds in the whole case.
    """
    times = 1
    while True:
        touched, can_be_finer = touched_parts(source.case, _stream(request, case.name, turn), times)
        kinds, kind_of = np.unique(touched[places], return_inverse=True)
        parted = [
            (kind, np.flatnonzero(kind_of == number), np.flatnonzero((touched & kind) == 0))
            for number, kind in enumerate(kinds.tolist())
        ]
        small = next((of for of in parted if not enough_sentences(source, of[2])), None)
        if small is None:
            return parted, len(np.unique(touched))
        if not can_be_finer:
            raise _too_few(request, case, source, int(places[small[1][0]]), len(small[2]))
        times *= 2


def _too_few(request: ContextRequest, case: Case, source: Source, row: int, n_rows: int) -> SuiteError:
    first = source.case.sentences[source.labels[0]][row].as_py()
    return SuiteError(
        f"--context {request.source}: the case {case.name!r} has too few items for a context of {first!r}. "
        f"The items that share no words with it ({counted(n_rows, 'item')}) have fewer than {FEWEST} "
        "different sentences.\n"
        "  Choose other cases with --case, or write --context other."
    )


def _beginnings(case: Case) -> list[str]:
    """Return the common beginning of each item's sentences, or else half of its first sentence."""
    columns = [case.sentences[label].to_pylist() for label in case.labels]
    return [_beginning([str(text).split() for text in texts]) for texts in zip(*columns, strict=True)]


def _beginning(sentences: Sequence[Sequence[str]]) -> str:
    n_shared = next((at for at, words in enumerate(zip(*sentences, strict=False)) if len({*words}) > 1), 0)
    return " ".join(sentences[0][: n_shared or max(1, len(sentences[0]) // 2)])


def _number_of(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8])


def _case_in_context(
    case: Case, contexts: SuiteContexts, choices: Sequence[Sequence[int]], containing: _Containing
) -> Case:
    """Repeat each item of a case once per context, with the number of the context."""
    each, avoided = contexts.each, containing.of_case(case)
    numbers: list[int] = []
    offsets: dict[str, int] = {}
    for row, beginning in enumerate(_beginnings(case)):
        candidates, avoid = choices[row], avoided.get(row, ())
        if avoid:
            candidates = [number for number in candidates if number not in avoid]
        if len(candidates) < each:
            sentence = case.sentences[case.labels[0]][row].as_py()
            raise contains_item(contexts.source, case.name, case.index[row].as_py() or 0, str(sentence))
        if len(candidates) == each:
            numbers += candidates
            continue
        if beginning not in offsets:
            offsets[beginning] = _number_of(f"{contexts.seed} {beginning}")
        start = offsets[beginning]
        numbers += [candidates[(start + i) % len(candidates)] for i in range(each)]
    rows = pa.array(np.repeat(np.arange(case.n_items), each), pa.int64())
    names: Any = pa.array([str(number) for number in numbers], pa.string())
    columns: dict[str, Any] = {
        label: case.sentences[label].take(rows).combine_chunks() for label in case.labels
    }
    sentences = {
        label: pc.binary_join_element_wise(names, column, IN_CONTEXT) for label, column in columns.items()
    }
    entries = take_rows(case.entries, rows)
    if each > 1 and not entries.num_columns:  # the rows of one item are dependent
        entries = pa.table({ITEM: as_entries([str(index) for index in case.index.take(rows).to_pylist()])})
    factor = as_entries(names.to_pylist())
    entries = entries.append_column(CONTEXT, factor) if entries.num_columns else pa.table({CONTEXT: factor})
    return replace(
        case,
        question=case.question.take(rows),
        index=case.index.take(rows),
        sentences=pa.table(sentences),
        features=take_rows(case.features, rows),
        entries=entries,
    )


class _Containing:
    """A search for contexts that contain a sentence of an item, ignoring capitals and punctuation.

    A context from a suite is searched sentence by sentence; in a text file, an item may begin anywhere.
    """

    def __init__(self, suite: Suite, contexts: SuiteContexts) -> None:
        self._contexts: dict[str, set[int]] = {}
        is_text = contexts.is_text
        lengths = _lengths_of_items(suite) if is_text else ()
        for number, text in enumerate(contexts.texts):
            plain = _plain_words(pa.array([" ".join(text)] if is_text else text, pa.string())).to_pylist()
            for run in _runs(str(plain[0]).split(), lengths) if is_text else plain:
                self._contexts.setdefault(str(run), set()).add(number)
        self._runs = pa.array(list(self._contexts), pa.string())

    def of_case(self, case: Case) -> dict[int, set[int]]:
        """Return, by row, the contexts that an item must not have; most items have none."""
        avoided: dict[int, set[int]] = {}
        for label in case.labels:
            plain = _plain_words(case.sentences[label].combine_chunks())
            hits = pc.is_in(plain, value_set=self._runs).to_numpy(zero_copy_only=False)
            for row in np.flatnonzero(hits).tolist():
                avoided.setdefault(row, set()).update(self._contexts[str(plain[row])])
        return avoided


def _lengths_of_items(suite: Suite) -> list[int]:
    columns = (case.sentences[label].combine_chunks() for case in suite.cases for label in case.labels)
    return sorted({len(text.split()) for column in columns for text in _plain_words(column).to_pylist()})


def _runs(words: Sequence[str], lengths: Sequence[int]) -> Iterator[str]:
    for length in lengths:
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


def _plain_words(texts: Any) -> Any:
    """Return texts in lower case, with one space for each run of other characters than letters and digits."""
    plain: Any = pc.replace_substring_regex(pc.utf8_lower(texts), r"[^\pL\pM\pN]+", " ")
    return pc.utf8_trim_whitespace(plain)
