"""Where words begin and end, by the marks of a tokenizer: how sums over pieces become probabilities of words.

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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedTokenizerBase

    from tseval.scoring.protocol import Encoded

# How vocabularies spell white space at the beginning of a piece: those of bytes, and those of SentencePiece.
SPACES = {"Ġ": "ĠĊĉċČč", "▁": "▁"}
BYTES = ("<0x20>", "<0x0A>", "<0x09>", "<0x0D>")
ENDS = ("</w>", "@@")  # the second stands where a word goes on
NOTE = (
    "the tokenizer marks neither beginnings nor ends of words: the log-probability of a word is the sum over "
    "its pieces, and counts longer words that begin with them"
)


@dataclass(frozen=True, slots=True)
class WordMarks:
    """What a tokenizer marks.

    Attributes:
        kind: `beginnings` of words; `ends` (or every word is one piece), so that sums over pieces are right;
            or `none`.
        begins: Whether a piece begins a word, or ends the text: B, (vocabulary,).
        opens: Whether a piece begins a first word without a space before it, or ends the text, (vocabulary,).
    """

    kind: Literal["beginnings", "ends", "none"]
    begins: np.ndarray
    opens: np.ndarray

    @property
    def parts(self) -> np.ndarray:
        """Both as rows of 0 and 1, (2, vocabulary) float32."""
        return np.stack((self.begins, self.opens)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Ended:
    """The tokens of sentences, with one more behind those whose last word could go on.

    Attributes:
        tokens: Of all sentences, (tokens and ends,) int64.
        counts: Of each sentence, (sentences,) int64.
        has_end: Whether a sentence has one more, (sentences,) bool.
        own: Whether it is a token of the sentence itself, (tokens and ends,) bool.
    """

    tokens: np.ndarray
    counts: np.ndarray
    has_end: np.ndarray
    own: np.ndarray


def find_marks(tokenizer: PreTrainedTokenizerBase) -> WordMarks:
    """Find out what a tokenizer marks, by its vocabulary and by what it makes of a word behind another."""
    pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
    mark = next((piece[0] for piece in _probe(tokenizer, pieces) if _is_space(piece[0])), None)
    if mark is not None:
        marked = np.array([_begins_with_space(piece, SPACES.get(mark, "")) for piece in pieces])
        is_end = np.isin(np.arange(len(pieces)), _ends_of_text(tokenizer))
        return WordMarks("beginnings", marked | is_end, ~marked | is_end)
    model = tokenizer.backend_tokenizer.model if tokenizer.is_fast else None
    if continues := getattr(model, "continuing_subword_prefix", None):
        begins = np.array([not piece.startswith(continues) for piece in pieces])
        return WordMarks("beginnings", begins, begins)
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
    """Give what is added to the sum over the pieces of each word, in nats, (words,) float64.

    Args:
        encoded: The sentences.
        ended: Their tokens, as they were scored.
        marks: Of the tokenizer.
        found: For each token its log-probability, and the logarithms of the sums over `marks.parts` in its
            place, (tokens and ends, 3).
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
    return np.where(encoded.pieces == 0, 0.0, after.astype(np.float64) - before)


def _probe(tokenizer: PreTrainedTokenizerBase, pieces: Sequence[str]) -> list[str]:
    """Give the pieces of some word of the vocabulary, twice, with a space between."""
    texts = (piece.strip("".join(SPACES)) for piece in pieces)
    word = next((text for text in texts if text.isalpha()), "")
    ids = tokenizer(f"{word} {word}", add_special_tokens=False)["input_ids"]
    return [str(piece) for piece in tokenizer.convert_ids_to_tokens(cast("list[int]", ids))]


def _is_space(letter: str) -> bool:
    return letter in SPACES or letter.isspace()


def _begins_with_space(piece: str, spaces: str) -> bool:
    return piece[:1].isspace() or piece.startswith(tuple(spaces)) or piece in BYTES


def _ends_of_text(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """List the special tokens: text ends before each of them. An unknown piece may stand within a word."""
    unknown = {tokenizer.unk_token_id} - {tokenizer.eos_token_id}
    return sorted(set(tokenizer.all_special_ids) - unknown)
