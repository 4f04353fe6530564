"""Vocabularies of word-level models."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import ModelError, counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable


EOS = "<eos>"
UNK = "<unk>"
SPECIAL_WORDS = 2


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words a model knows, in the order of their ids."""

    words: tuple[str, ...]  # by id
    lowercase: bool  # whether text is lower-cased before the look-up
    start: str = EOS  # the word before every sentence
    unknown: str | None = UNK  # the word for all unknown words; None if there is none

    def __repr__(self) -> str:
        return one_line(self, "", counted(len(self), "word"), *(("lower-cased",) if self.lowercase else ()))

    def __post_init__(self) -> None:
        for special in (self.start, self.unknown):
            if special is not None and special not in self.words:
                raise ModelError(
                    f"the vocabulary has no word {special}, which the model needs.\n  Add {special} to the "
                    "vocabulary."
                )
        if len(set(self.words)) < len(self.words):
            word, count = Counter(self.words).most_common(1)[0]
            raise ModelError(
                f"the vocabulary holds {word!r} {count} times.\n  Remove the repetitions: each word has "
                "only one id."
            )

    def __len__(self) -> int:
        return len(self.words)

    def ids(self) -> dict[str, int]:
        """Return the id of every word."""
        return {word: index for index, word in enumerate(self.words)}

    @classmethod
    def from_counts(
        cls, counts: Counter[str], *, size: int | None, min_count: int, lowercase: bool
    ) -> Vocabulary:
        """Make a vocabulary of the most frequent words of a text.

        Args:
            counts: Frequency of each word, already lower-cased if `lowercase`.
            size: Most words, without `<eos>` and `<unk>`; None for no limit.
            min_count: Least frequency of a word.
            lowercase: Whether the model lower-cases text.
        """
        # Equal counts are ordered by the word, so that the vocabulary depends only on the text.
        ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        words = [word for word, count in ranked if count >= min_count and word not in (EOS, UNK)]
        return cls((EOS, UNK, *words[:size]), lowercase)


def words_of(line: str, *, lowercase: bool) -> Iterable[str]:
    """Split one line of tokenised text at white space."""
    return (line.lower() if lowercase else line).split()
