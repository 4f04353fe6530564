"""Correction of sums over pieces, so that they become probabilities of words.

If the marked pieces are those that *begin* a word (`Ġlaugh`, `▁laugh`), the pieces of *laugh* also begin
*laughs* and *laughing*. The probability of the word is that of its pieces, followed by the end of the word. B
is the set of pieces that begin with white space, and the end of a text:

    p(w | c) = Π_i p(piece_i | c, pieces_<i) · [Σ_{b∈B} p(b | c, w)] / [Σ_{b∈B} p(b | c)]

because the context c ends at the end of a word. A first word without a space before it begins with a piece
without a mark instead of one in B. Then the sum below runs over those pieces and the end of a text.

Source: Pimentel & Meister 2024, "How to Compute the Probability of a Word", EMNLP, with its correction for
first words; Oh & Schuler 2024, "Leading Whitespaces of Language Models' Subword Vocabulary Pose a Confound
for Calculating Word Probabilities", EMNLP. As there, an attached comma does not end a word: words are between
spaces. Departure: every white space ends a word, including line breaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import pyarrow.compute as pc

from tseval.pretrained.pieces import SPACES, some_word

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from tseval.scoring.protocol import Encoded
    from tseval.writing import Writing

BYTES = ("<0x20>", "<0x0A>", "<0x09>", "<0x0D>")
ENDS = ("</w>", "@@")  # the second marks that a word continues
NOTE = (
    "the tokenizer marks neither the beginning nor the end of a word. The log-probability of a word is the "
    "sum over its pieces, and includes longer words with the same beginning"
)


@dataclass(frozen=True, slots=True)
class WordMarks:
    """The word boundaries that a tokenizer marks."""

    # `ends` also if every word is one piece: sums over pieces are then correct
    kind: Literal["beginnings", "ends", "none"]
    begins: np.ndarray  # whether a piece begins a word, or ends the text: B, (vocabulary,)
    opens: np.ndarray  # whether it begins a first word without a space, or ends the text, (vocabulary,)

    @property
    def parts(self) -> np.ndarray:
        """Both as rows of 0 and 1, (2, vocabulary) float32."""
        return np.stack((self.begins, self.opens)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Ended:
    """The tokens of sentences, with one more token after sentences whose last word could continue."""

    tokens: np.ndarray  # of all sentences, (tokens and ends,) int64
    counts: np.ndarray  # of each sentence, (sentences,) int64
    has_end: np.ndarray  # whether a sentence has the additional token, (sentences,) bool
    own: np.ndarray  # whether it belongs to the sentence itself, (tokens and ends,) bool


def find_marks(tokenizer: PreTrainedTokenizerBase, writing: Writing | None = None) -> WordMarks:
    """Find out what a tokenizer marks, from its vocabulary and from its pieces of two words.

    In natural text, a word also ends before a mark without a space.
    """
    pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
    # A word of the vocabulary twice, with a space between.
    word = some_word(pieces)
    ids = tokenizer(f"{word} {word}", add_special_tokens=False)["input_ids"]
    firsts = [str(piece)[0] for piece in tokenizer.convert_ids_to_tokens(cast("list[int]", ids))]
    mark = next((letter for letter in firsts if letter in SPACES or letter.isspace()), None)
    if mark is not None:
        spaces = SPACES.get(mark, "")
        close = tuple(pair[0] for pair in writing.close_before) if writing else ()
        begins = (*spaces, *close)
        marked = np.array([p[:1].isspace() or p.startswith(begins) or p in BYTES for p in pieces])
        # Text may end at each special token. An unknown piece may be inside a word.
        unknown = {tokenizer.unk_token_id} - {tokenizer.eos_token_id}
        is_end = np.isin(np.arange(len(pieces)), sorted(set(tokenizer.all_special_ids) - unknown))
        return WordMarks("beginnings", marked | is_end, ~marked | is_end)
    model = tokenizer.backend_tokenizer.model if tokenizer.is_fast else None
    if continues := getattr(model, "continuing_subword_prefix", None):
        marked = np.array([not piece.startswith(continues) for piece in pieces])
        return WordMarks("beginnings", marked, marked)
    ends = getattr(model, "end_of_word_suffix", None) or any(
        piece.endswith(ENDS) and piece not in ENDS for piece in pieces
    )
    by_words = type(model).__name__ == "WordLevel"
    none_marked = np.zeros(len(pieces), dtype=bool)
    return WordMarks("ends" if ends or by_words else "none", none_marked, none_marked)


def read_to_the_end(encoded: Encoded) -> Ended:
    """Add a token after sentences whose last word could continue; any token will do.

    A word that ends in punctuation is assumed to end there. That holds for nearly all sentences of suites.
    For the others, it costs one more context.
    """
    has_end = ~np.asarray(pc.match_substring_regex(encoded.seen, r"\p{P}$"), dtype=bool)
    counts = encoded.token_counts
    places = np.cumsum(counts)[has_end]
    tokens = np.insert(encoded.tokens, places, 0)
    in_sentence = np.insert(np.ones(len(encoded.tokens), dtype=bool), places, values=False)
    return Ended(tokens, counts + has_end, has_end, in_sentence)


def corrections(encoded: Encoded, ended: Ended, marks: WordMarks, found: np.ndarray) -> np.ndarray:
    """Return the corrections of the sums over the pieces of each word, in nats, (words,) float64.

    `found` holds, for each scored token, its log-probability, and the logarithms of the sums over
    `marks.parts` at its position, (tokens and ends, 3).
    """
    assert encoded.pieces is not None
    sentence = np.repeat(np.arange(len(encoded.lengths)), encoded.lengths)
    inserted = (np.cumsum(ended.has_end) - ended.has_end)[sentence]
    stops = np.cumsum(encoded.pieces)
    is_last = stops == np.cumsum(encoded.token_counts)[sentence]
    first, behind = (np.minimum(at + inserted, len(found) - 1) for at in (stops - encoded.pieces, stops))
    after = np.where(is_last & ~ended.has_end[sentence], 0.0, found[behind, 1])
    before = np.where(marks.begins[ended.tokens[first]], found[first, 1], found[first, 2])
    # The sum includes the first piece, so it can only be smaller by rounding.
    before = np.maximum(before, found[first, 0])
    if encoded.joined is not None:
        # A word without a space before it and without a mark at its beginning is not separated from the one
        # before.
        inside = encoded.joined & ~marks.begins[ended.tokens[first]]
        before, after = np.where(inside, 0.0, before), np.where(np.append(inside[1:], False), 0.0, after)
    return np.where(encoded.pieces == 0, 0.0, after.astype(np.float64) - before)
