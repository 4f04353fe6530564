"""Compress all items of a page's rows into the page; its script decodes a row when the user opens it.

Each row has a block with its sentences, which models share, and a block with the answers of each model.
A block is JSON, compressed by zlib, in base64. It is the content of an element `template`, which a browser
neither shows nor runs; `page.js` reads it.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import RunError, plain
from tseval.evidence import flat_column
from tseval.report.items import BY_ORDER, HALF_KNOWN_OUTCOME, NO_ANSWER, UNDECIDABLE, labels_of
from tseval.suites.data.critical import differing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.items import Case, Suite
    from tseval.web.answers import Verdicts
    from tseval.writing import Writing

# Most characters of a page's blocks. With more, surprisals of words, the longest part, are left out.
MOST_CHARACTERS = 8_000_000
# Marks before a word in the text of a sentence. `plain` removes these characters from the words.
GAP, NO_GAP, DIFFERS = " ", "\x1f", "\x02"
OUTCOMES = {"right": "r", "wrong": "w", "tie": "t", UNDECIDABLE: "u", HALF_KNOWN_OUTCOME: "h", BY_ORDER: "o",
            NO_ANSWER: "n"}  # fmt: skip


class SuiteSentences:
    """The sentences of verdicts.

    Attributes:
        labels: For each verdict, the labels of its sentences, the better one first.
        sentences: For each verdict, its sentences, in the form that models read.
    """

    def __init__(self, suite: Suite, verdicts: Verdicts) -> None:
        n_verdicts = len(verdicts.item)
        self.labels: list[tuple[str, ...]] = [()] * n_verdicts
        self.sentences: list[tuple[str, ...]] = [()] * n_verdicts
        cases = {case.name: case for case in suite.cases}
        end = "" if suite.terminator is None else f" {suite.terminator}"
        for name, contrast, places in _groups(verdicts):
            case = cases.get(name)
            positions = None if case is None else _positions(case, verdicts.item[places])
            if case is None or positions is None:
                raise RunError(
                    f"the run has items of the case {name}, which the suite {suite.name} does not have. "
                    "Use the version of the suite that the run scored."
                )
            labels = tuple(labels_of(case, contrast))
            columns = [case.sentences[label].take(positions).to_pylist() for label in labels]
            for place, texts in zip(places.tolist(), zip(*columns, strict=True), strict=True):
                self.labels[place] = labels
                self.sentences[place] = tuple(f"{text}{end}" for text in texts)


def _groups(verdicts: Verdicts) -> Iterable[tuple[str, str, NDArray[np.int64]]]:
    """Yield the indices of the verdicts of each case and contrast."""
    names = pa.table({"case": verdicts.case, "contrast": verdicts.contrast})
    codes = names.append_column("place", pa.array(np.arange(len(names))))
    groups = codes.group_by(["case", "contrast"], use_threads=False).aggregate([("place", "list")])
    for row in groups.to_pylist():
        yield str(row["case"]), str(row["contrast"]), np.array(row["place_list"])


def _positions(case: Case, items: NDArray[np.int64]) -> pa.Int32Array | None:
    positions = pc.index_in(pa.array(items, pa.int64()), value_set=case.index)
    return None if positions.null_count else positions


def texts_block(known: SuiteSentences, verdicts: Verdicts, row: NDArray[np.int64], rules: Writing) -> str:
    """Return the block with the sentences of a row, written by the rules for natural text."""
    places = row.tolist()
    labels = list(dict.fromkeys(known.labels[place] for place in places))
    number_of = {names: number for number, names in enumerate(labels)}
    cases = list(dict.fromkeys(str(verdicts.case[place]) for place in places))
    number_of_case = {name: number for number, name in enumerate(cases)}
    return _packed(
        {
            "cases": [plain(name) for name in cases],
            "labels": [[plain(label) for label in names] for names in labels],
            "case": [number_of_case[str(verdicts.case[place])] for place in places],
            "item": verdicts.item[row].tolist(),
            "label": [number_of[known.labels[place]] for place in places],
            "texts": [text for place in places for text in _written(known.sentences[place], rules)],
        }
    )


def _written(sentences: Sequence[str], rules: Writing) -> list[str]:
    """Write the sentences of an item, with marks: how each word is joined, and whether it differs."""
    split = [text.split() for text in sentences]
    written = []
    for text, differences in zip(sentences, differing(split), strict=True):
        read, starts = rules.write(text)
        words = []
        for (start, end), differs in zip(pairwise([*starts, len(read)]), differences, strict=True):
            word = read[start:end]
            gap = GAP if word[:1].isspace() else NO_GAP
            words.append(gap + DIFFERS * differs + _without_spaces(word))
        written.append("".join(words)[1:])
    return written


@lru_cache(maxsize=2**16)
def _without_spaces(word: str) -> str:
    """Return a word without spaces, as a page may show it; cached, because a suite has few words."""
    return "\u00a0".join(plain(word).split())


class RunScores:
    """The scores of a run for each sentence: log-probabilities, and the form that the model reads."""

    def __init__(self, scored: pa.Table) -> None:
        self._place = {text: place for place, text in enumerate(scored["sentence"].to_pylist())}
        self._logprob = scored["logprob"].to_numpy()
        self._seen = scored["seen"].to_pylist()
        lengths = pc.list_value_length(scored["words"]).fill_null(0).to_numpy()
        values = flat_column(scored, "words")
        if values.null_count:  # words have no log-probabilities, only sentences
            values, lengths = values[:0], np.zeros_like(lengths)
        self._ends = np.concatenate([[0], np.cumsum(lengths)])
        # Surprisals in hundredths of a nat.
        self._words = np.rint(-100 * values.to_numpy()).astype(np.int64)

    def answers_block(
        self, known: SuiteSentences, verdicts: Verdicts, row: NDArray[np.int64], *, with_words: bool
    ) -> str:
        """Return the block with the model's results on the items of a row.

        `margins` are in thousandths of a nat. `words` are surprisals in hundredths of a nat. `totals` are
        those of sentences; if a sentence has `words`, its total is only the difference from their sum.
        For a prompt model, `chosen` says how often the model chose each sentence.
        """
        outcomes, margins = zip(*(verdicts.answer(place) for place in row.tolist()), strict=True)
        totals: list[int | None] = []
        words: list[list[int] | int] = []
        texts_read: dict[int, str] = {}
        sentences = [(index, text) for index in row.tolist() for text in known.sentences[index]]
        for number, (index, text) in enumerate(sentences):
            place = self._place.get(verdicts.scored_text(index, text))
            if place is None:
                totals.append(None)
                words.append(0)
                continue
            total = round(-100 * float(self._logprob[place]))
            surprisals = self._words[self._ends[place] : self._ends[place + 1]].tolist()
            n_words = len(text.split())
            if with_words and len(surprisals) == n_words:
                words.append(surprisals)
                total -= sum(surprisals)
            else:
                words.append(0)
            totals.append(total)
            if (read := self._seen[place]) is not None and read != text and read.split() != text.split():
                texts_read[number] = plain(read)
        chosen = {} if verdicts.chosen is None else {"chosen": verdicts.chosen[row].ravel().tolist()}
        return _packed(
            {
                **chosen,
                "outcomes": "".join(OUTCOMES[outcome] for outcome in outcomes),
                "margins": [None if margin is None else round(1000 * margin) for margin in margins],
                "totals": totals,
                "words": words,
                "seen": texts_read,
            }
        )


def _packed(content: Mapping[str, object]) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")
