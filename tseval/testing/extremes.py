"""What must hold where sentences are out of the ordinary: words that nobody knows, and very many words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import ModelError, first_line
from tseval.scoring.protocol import WordModel
from tseval.testing.scores import as_in_a_run, directly
from tseval.testing.sentences import NONSENSE, lengthened, sample, with_word
from tseval.testing.subject import fails, holds, not_applicable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.testing.report import Finding
    from tseval.testing.subject import Subject

    ScoredRow = Mapping[str, object]  # of scored sentences

LONG = 200  # words of a long sentence
FRAMES = 3  # sentences that an unknown word is put into


def unknown_words(subject: Subject) -> Finding:
    """Check that words the model does not know are reported, and that one is as good as another."""
    if not isinstance(subject.model, WordModel):
        return not_applicable("the model gives one number for a sentence")
    groups = [
        [text for word in NONSENSE if (text := with_word(frame, word)) is not None]
        for frame in sample(subject.sentences, FRAMES)
    ]
    texts = sorted({text for group in groups for text in group})
    if not texts:
        return not_applicable("the sentences have one word each: give longer ones")
    try:
        directly(subject.model, texts)
    except ModelError as error:
        return holds(f"they are refused: {first_line(error)}")
    scored = {row["sentence"]: row for row in as_in_a_run(subject.model, texts).to_pylist()}
    rows = [[scored[text] for text in group] for group in groups if group]
    alike = [group for group in rows if len({row["seen"] for row in group}) == 1]
    if alike:
        return _reported(subject, alike)
    if _tells_words_apart(subject) and all(len({row["logprob"] for row in group}) == 1 for group in rows):
        note = f"any word for {NONSENSE[0]!r} gets the same number, but `seen` does not show <unk>"
        return fails(note, texts[0])
    return holds("nothing looks unknown to the model")


def _reported(subject: Subject, groups: Sequence[Sequence[ScoredRow]]) -> Finding:
    """Hold sentences that look alike to their count of unknown words, and to each other."""
    for group in groups:
        if not group[0]["n_unknown"]:
            note = f"it is seen as {group[0]['seen']!r}, like others, but no unknown word is counted"
            return fails(note, str(group[0]["sentence"]))
    totals = [[np.array([row["logprob"]], dtype=np.float64) for row in group] for group in groups]
    return subject.compare(
        [str(row["sentence"]) for group in groups for row in group],
        [total for group in totals for total in group],
        [group[0] for group in totals for _ in group],
        "it looks like another one to the model, but gets another number",
    )


def _tells_words_apart(subject: Subject) -> bool:
    """Tell whether some sentences of as many words get different numbers."""
    totals: dict[int, set[float]] = {}
    for text, row in zip(subject.sentences, subject.numbers, strict=True):
        totals.setdefault(len(text.split()), set()).add(float(row.sum()))
    return any(len(values) > 1 for values in totals.values())


def long_sentences(subject: Subject) -> Finding:
    """Check that a long sentence is scored to its ends or refused, and leaves its neighbours alone."""
    short, other = (sample(subject.sentences, 2) * 2)[:2]
    long = lengthened(subject.sentences[-1], LONG)
    if long is None:
        return not_applicable("the sentences have one word each: give longer ones")
    try:
        beside, found = directly(subject.model, [short, long])
    except ModelError as error:
        return holds(f"{len(long.split())} words are refused: {first_line(error)}")
    if wrong := _wrong_with(subject, long, found):
        return fails(f"of {len(long.split())} words, {wrong}")
    expected = directly(subject.model, [short, other])[:1]
    return subject.compare([short], expected, [beside], "beside a long one it gets other numbers")


def _wrong_with(subject: Subject, long: str, found: np.ndarray) -> str | None:
    """Say what is wrong with the numbers of a long sentence."""
    whole = not isinstance(subject.model, WordModel)
    if not whole and len(found) != len(long.split()):
        return f"{len(found)} get a number"
    if not (np.isfinite(found).all() and found.max() <= subject.tolerance):
        return "not all get a finite number of at most 0"
    if whole and _cuts(subject, long):
        return "those at one end make no difference: the model cuts them off"
    return None


def _cuts(subject: Subject, long: str) -> bool:
    """Tell whether the first or the last words of a long sentence do not reach a model of whole sentences."""
    words = long.split()
    # Eight words turned round are the same words, so that a model of single words need not mind.
    at_start = words[:8][::-1] + words[8:]
    at_end = words[:-8] + words[-8:][::-1]
    texts = [" ".join(one) for one in (words, at_start, at_end, words[:8], words[:8][::-1])]
    try:
        numbers = [float(row[0]) for row in directly(subject.model, texts)]
    except ModelError:
        return False  # the model reads sentences of one form only
    whole, first, last, ahead, back = numbers
    return ahead != back and whole in (first, last)
