"""Sentences that models are checked with, and changes of them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Sequence


NOUNS = ("author", "authors", "guard", "guards", "pilot", "pilots", "surgeon", "surgeons")
BEHIND_NOUNS = ("", " near the guard", " near the guards", " near the surgeon that the pilots admire",
                " that the author likes", " that the authors like", " that likes the pilot",
                " that like the pilots", " that the guard near the authors likes")  # fmt: skip
VERBS = ("laughs", "laugh", "has laughed", "have laughed")
# Words that no text holds, so that a model with a vocabulary of words does not know them.
NONSENSE = ("blicketwug", "daxfepzorp", "zuvlimquot")


def default_sentences() -> list[str]:
    """Return 288 English sentences of 4 to 10 words, of words that small vocabularies have."""
    parts = product(NOUNS, BEHIND_NOUNS, VERBS)
    return [f"the {noun}{behind} {verb} ." for noun, behind, verb in parts]


def tidied(sentences: Sequence[str]) -> tuple[str, ...]:
    """Tidy sentences as a run does: single spaces, each once, in order."""
    if isinstance(sentences, str):
        raise SuiteError(
            "the argument `sentences` is one text, but must be a list of texts. Write [SENTENCE, SENTENCE]"
        )
    tidy = {" ".join(sentence.split()) for sentence in sentences}
    if not tidy:
        raise SuiteError(
            "the list of sentences to check the model with is empty. Give at least one sentence."
        )
    if "" in tidy:
        raise SuiteError("one of the sentences to check the model with is empty. Remove the empty sentence.")
    return tuple(sorted(tidy))


def sample(sentences: Sequence[str], size: int) -> list[str]:
    """Choose some sentences of all lengths."""
    by_length = sorted(sentences, key=lambda text: len(text.split()))
    step = max(1, len(by_length) // size)
    return by_length[::step][:size]


def with_other_ending(sentence: str, others: Sequence[str]) -> tuple[str, int] | None:
    """Keep the first half of a sentence and let another one's end follow; say how many words are kept.

    None where no other has an end that begins differently.
    """
    words = sentence.split()
    kept = len(words) // 2
    for other in others:
        ending = other.split()[kept:]
        if kept and ending and ending[0] != words[kept]:
            return " ".join([*words[:kept], *ending]), kept
    return None


def with_word(sentence: str, word: str) -> str | None:
    """Put a word into the middle of a sentence, where it is not the last; None where it would be."""
    words = sentence.split()
    if len(words) < 2:
        return None
    words[(len(words) - 1) // 2] = word
    return " ".join(words)


def lengthened(sentence: str, length: int) -> str | None:
    """Repeat all words but the last until a sentence is long; None where it has no other words."""
    *words, last = sentence.split()
    return " ".join([*(words * (length // len(words) + 1)), last]) if words else None
