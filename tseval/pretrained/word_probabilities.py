"""How sums over the pieces of a word become the probability of the word.

Where pieces are marked that *begin* a word (`Ġlaugh`, `▁laugh`), those of *laugh* also begin *laughs* and
*laughing*. The probability of the word is that of its pieces and of an end behind them. With B, the pieces
that begin with white space and the end of a text,

    p(w | c) = Π_i p(piece_i | c, pieces_<i) · [Σ_{b∈B} p(b | c, w)] / [Σ_{b∈B} p(b | c)]

since the context c ends where a word ends. A first word without a space before it begins with none of B, but
with one of the pieces that carry no mark; there the sum below runs over these and the end of a text.

Source: Pimentel & Meister 2024, "How to Compute the Probability of a Word", EMNLP, with its correction for
first words; Oh & Schuler 2024, "Leading Whitespaces of Language Models' Subword Vocabulary Pose a Confound
for Calculating Word Probabilities", EMNLP. As there, an attached comma does not end a word: words stand
between spaces. Departure: every white space ends a word, line breaks too.
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
ENDS = ("</w>", "@@")  # the second stands where a word goes on
NOTE = (
    "the tokenizer marks neither the beginning nor the end of a word. The log-probability of a word is the "
    "sum over its pieces, and includes longer words with the same beginning"
)


@dataclass(frozen=True, slots=True)
class WordMarks:
    """What a tokenizer marks."""

    # `ends` also where every word is one piece: then sums over pieces are right
    kind: Literal["beginnings", "ends", "none"]
    begins: np.ndarray  # a piece begins a word, or ends the text: B, (vocabulary,)
    opens: np.ndarray  # it begins a first word without a space before it, or ends the text, (vocabulary,)

    @property
    def parts(self) -> np.ndarray:
        """Both as rows of 0 and 1, (2, vocabulary) float32."""
        return np.stack((self.begins, self.opens)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Ended:
    """The tokens of sentences, with one more behind those whose last word could go on."""

    tokens: np.ndarray  # of all sentences, (tokens and ends,) int64
    counts: np.ndarray  # of each sentence, (sentences,) int64
    has_end: np.ndarray  # whether a sentence has one more, (sentences,) bool
    own: np.ndarray  # whether it is a token of the sentence itself, (tokens and ends,) bool


def find_marks(tokenizer: PreTrainedTokenizerBase, writing: Writing | None = None) -> WordMarks:
    """Find out what a tokenizer marks, by its vocabulary and by what it makes of a word behind another.

    In natural text a word also ends where a mark is close to it.
    """
    pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
    # Some word of the vocabulary, twice, with a space between.
    word = some_word(pieces)
    ids = tokenizer(f"{word} {word}", add_special_tokens=False)["input_ids"]
    firsts = [str(piece)[0] for piece in tokenizer.convert_ids_to_tokens(cast("list[int]", ids))]
    mark = next((letter for letter in firsts if letter in SPACES or letter.isspace()), None)
    if mark is not None:
        spaces = SPACES.get(mark, "")
        close = tuple(one[0] for one in writing.close_before) if writing else ()
        begins = (*spaces, *close)
        marked = np.array([p[:1].isspace() or p.startswith(begins) or p in BYTES for p in pieces])
        # Text ends before each special token. An unknown piece may stand within a word.
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
    whole = type(model).__name__ == "WordLevel"
    nothing = np.zeros(len(pieces), dtype=bool)
    return WordMarks("ends" if ends or whole else "none", nothing, nothing)


def read_to_the_end(encoded: Encoded) -> Ended:
    """Put one more token behind the sentences whose last word could go on; which one makes no difference.

    A word that ends in a mark of punctuation is taken to end there. Nearly all sentences of suites do, and
    each of the others costs a context that scoring does not need.
    """
    has_end = ~np.asarray(pc.match_substring_regex(encoded.seen, r"\p{P}$"), dtype=bool)
    counts = encoded.token_counts
    behind = np.cumsum(counts)[has_end]
    tokens = np.insert(encoded.tokens, behind, 0)
    own = np.insert(np.ones(len(encoded.tokens), dtype=bool), behind, values=False)
    return Ended(tokens, counts + has_end, has_end, own)


def corrections(encoded: Encoded, ended: Ended, marks: WordMarks, found: np.ndarray) -> np.ndarray:
    """Return what is added to the sum over the pieces of each word, in nats, (words,) float64.

    `found` holds for each of the tokens as they were scored its log-probability, and the logarithms of the
    sums over `marks.parts` in its place, (tokens and ends, 3).
    """
    assert encoded.pieces is not None
    sentence = np.repeat(np.arange(len(encoded.lengths)), encoded.lengths)
    inserted = (np.cumsum(ended.has_end) - ended.has_end)[sentence]
    stops = np.cumsum(encoded.pieces)
    is_last = stops == np.cumsum(encoded.token_counts)[sentence]
    first, behind = (np.minimum(at + inserted, len(found) - 1) for at in (stops - encoded.pieces, stops))
    after = np.where(is_last & ~ended.has_end[sentence], 0.0, found[behind, 1])
    before = np.where(marks.begins[ended.tokens[first]], found[first, 1], found[first, 2])
    # The sum holds the first piece itself: less it can only be by rounding.
    before = np.maximum(before, found[first, 0])
    if encoded.joined is not None:
        # Where a word is close to the one before and begins with no mark, nothing tells the two apart.
        inside = encoded.joined & ~marks.begins[ended.tokens[first]]
        before, after = np.where(inside, 0.0, before), np.where(np.append(inside[1:], False), 0.0, after)
    return np.where(encoded.pieces == 0, 0.0, after.astype(np.float64) - before)
