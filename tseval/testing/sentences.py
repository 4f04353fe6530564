"""Sentences for checking models, and ways to change them."""

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
# Made-up words, which are unknown to a model with a vocabulary of words.
NONSENSE = ("blicketwug", "daxfepzorp", "zuvlimquot")


def default_sentences() -> list[str]:
    """Return 288 English sentences of 4 to 10 words, with words from small vocabularies."""
    parts = product(NOUNS, BEHIND_NOUNS, VERBS)
    return [f"the {noun}{ending} {verb} ." for noun, ending, verb in parts]


def tidied(sentences: Sequence[str]) -> tuple[str, ...]:
    """Normalise sentences like a run: single spaces, no duplicates, sorted."""
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
    """Choose at most `size` sentences of all lengths."""
    by_length = sorted(sentences, key=lambda text: len(text.split()))
    step = max(1, len(by_length) // size)
    return by_length[::step][:size]


def with_other_ending(sentence: str, others: Sequence[str]) -> tuple[str, int] | None:
    """Replace the second half of a sentence by another one's; also return the number of words before it.

    None if no other sentence has a second half that begins with another word.
    """
    words = sentence.split()
    n_kept = len(words) // 2
    for other in others:
        ending = other.split()[n_kept:]
        if n_kept and ending and ending[0] != words[n_kept]:
            return " ".join([*words[:n_kept], *ending]), n_kept
    return None


def with_word(sentence: str, word: str) -> str | None:
    """Replace a word in the middle of a sentence, but not the last one; None if there is only one word."""
    words = sentence.split()
    if len(words) < 2:
        return None
    words[(len(words) - 1) // 2] = word
    return " ".join(words)


def lengthened(sentence: str, length: int) -> str | None:
    """Repeat all words but the last until a sentence is long; None if there is only one word."""
    *words, last = sentence.split()
    return " ".join([*(words * (length // len(words) + 1)), last]) if words else None
