"""Sentences in the pieces of a tokenizer, and the word of each piece.

A piece belongs to the word of its last letter. Some pieces span several words. Then all of these words but
the last have no probability, and are shown with `∅` after their remaining pieces. Some tokenizers drop
letters for which they have no piece. Such a word counts as unknown, and is shown with `<unk>` after its other
pieces. A text is read as written: runs of spaces, tabs and line breaks become one space, and no-break, thin
and ideographic spaces are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError
from tseval.pretrained.tokenizer import TEXTS, draw_texts, pieces_of, splits_by_backend
from tseval.scoring.protocol import UNKNOWN, Encoded
from tseval.scoring.trie import words_and_lengths
from tseval.writing import (
    AS_WRITTEN,
    BOUNDARY,
    OTHER_SPACES,
    UNFINISHED,
    single_spaced,
    without_boundaries,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerBase

    from tseval.writing import Writing

WHITE_SPACE = ("single", "kept", "all")  # treatment of white space in a sentence
SPACES = {"Ġ": "ĠĊĉċČč", "▁": "▁"}  # white space in byte-level and in SentencePiece vocabularies
REACHES_OVER = re.compile(r"[^\sĠĊĉċČč▁][ Ġ▁]")  # a letter and a space after it in one piece
BEFORE = "a"  # a word before others
HELD = 64  # sentences of a shard that are split in both ways, for comparison
LEFT_OUT = "the tokenizer drops letters that have no piece in its vocabulary"
# Unicode has no white space above the ideographic space; a test of all characters takes a quarter of a
# second.
WHITE = np.array([code for code in range(ord("\u3000") + 1) if chr(code).isspace()], dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class Placed:
    """Texts in pieces, with the number of pieces of each word."""

    tokens: np.ndarray  # of all texts, concatenated, (tokens,) int64
    pieces: np.ndarray  # number of tokens of each word, (words,) int64
    unfinished: np.ndarray  # whether the word ends inside a piece of a later word, (words,) bool
    lost: np.ndarray  # whether the tokenizer drops letters of the word, (words,) bool


@dataclass(frozen=True, slots=True)
class SplitUp:
    """Sentences in pieces."""

    placed: Placed
    lengths: np.ndarray  # words of each sentence, (sentences,) int64
    joined: np.ndarray | None  # words without a space before them; None if only first words lack it

    def equals(self, other: SplitUp) -> bool:
        """Return whether another object has the same pieces, words and joins."""
        first, second = self.placed, other.placed
        equal = (np.array_equal(getattr(first, name), getattr(second, name)) for name in Placed.__slots__)
        if self.joined is None or other.joined is None:
            return all(equal) and self.joined is other.joined
        return all(equal) and np.array_equal(self.joined, other.joined)


def sample_of(sentences: pa.StringArray, most: int) -> pa.StringArray:
    """Take at most `most` evenly spaced sentences."""
    places = np.arange(0, len(sentences), max(1, -(-len(sentences) // most)))
    return sentences.take(pa.array(places, pa.int64()))


def may_exceed(sentences: pa.StringArray, most: int) -> np.ndarray:
    """Return which sentences may have more than `most` pieces, without splitting them, (sentences,) bool.

    In ASCII text, every piece has at least one letter; a factor of two allows for what tokenizers add. Other
    letters may be split into many pieces.
    """
    long = pc.utf8_length(sentences).to_numpy() * 2 > most
    is_long: np.ndarray = long | ~pc.string_is_ascii(sentences).to_numpy(zero_copy_only=False)
    return is_long


class Pieces:
    """An encoder of sentences with a tokenizer's vocabulary; it never adds special tokens.

    Args:
        tokenizer: The tokenizer.
        leading_space: Whether a sentence begins with a space, as inside a text.
        white_space: `single`: one space between words, which belongs to the word after it. `kept`: as in the
            text, with line breaks; needs a fast tokenizer. A piece of only white space then belongs to the
            word before it. `all`: the same, also before the first word and after the last.
        writing: Rules for writing tokens as natural text; None to keep them.
        inside: Whether sentences continue a text; they are then split after a word and a space.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        leading_space: bool,
        white_space: str = "single",
        writing: Writing | None = None,
        inside: bool = False,
    ) -> None:
        self._by_backend = splits_by_backend(tokenizer)
        if white_space != "single" and not self._by_backend:
            raise ModelError(
                f"white_space={white_space}: the tokenizer (slow, or with code of its own) does not give the "
                "positions of its pieces in the text.\n"
                "  Use --model-args white_space=single"
            )
        self.tokenizer = tokenizer
        self.leading_space, self._writing = leading_space or inside, writing
        self._before = BEFORE if inside else ""
        self._inside = None if writing is None else replace(writing, capital=False)  # inside a sentence
        self._white_space = white_space
        self._seen: dict[bytes, tuple[str, bool]] = {}
        self._chunks: dict[tuple[str, bool], tuple[np.ndarray, ...]] = {}
        self._left_out: dict[tuple[str, str], bool] = {}
        self.incomplete: str | None = None  # the first word with dropped letters
        self._by_chunk = white_space == "single" and self._by_backend
        if self._by_chunk:
            try:
                self._by_chunk = self._are_chunks_separate(self._made_up())
            except Exception:  # a tokenizer with few letters and no unknown piece refuses made-up words
                self._by_chunk = False

    @property
    def rules(self) -> Writing | None:
        """Rules for writing tokens as natural text; None if tokens are kept."""
        return self._writing

    def writing(self, rules: Writing) -> Pieces:
        """Return an encoder with the same vocabulary for sentences written as natural text."""
        return Pieces(self.tokenizer, self.leading_space, self._white_space, rules, bool(self._before))

    def inside_text(self) -> Pieces:
        """Return an encoder with the same vocabulary for sentences that continue a text."""
        return Pieces(self.tokenizer, self.leading_space, self._white_space, self._writing, inside=True)

    def of_text(self, sentences: Sequence[str], rules: Writing | None) -> list[int]:
        """Split a text into pieces; its sentences consist of tokens, which `rules` write as natural text."""
        texts = [rules.write(text)[0] if rules else without_boundaries(text) for text in sentences]
        gap = " " if rules is None or rules.spaces else ""
        text = (" " if self.leading_space else "") + gap.join(texts)
        return pieces_of(self.tokenizer, [text])[0] if texts else []

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces."""
        split = self._split(sentences)
        tokens, pieces, lengths = split.placed.tokens, split.placed.pieces, split.lengths
        first_words = np.cumsum(lengths) - lengths
        empty = np.flatnonzero(np.add.reduceat(pieces, first_words) == 0)
        if len(empty):
            raise ModelError(
                f"the tokenizer gives no pieces for the sentence {str(sentences[empty[0]])!r}.\n"
                "  Remove the sentence from the suite."
            )
        words, unknown = self._words_seen(split.placed)
        if self.incomplete is None and split.placed.lost.any():
            texts = words_and_lengths(sentences)[0].flatten()
            self.incomplete = str(texts[int(np.argmax(split.placed.lost))])
        seen = pa.ListArray.from_arrays(pa.array(np.append(first_words, len(pieces)), pa.int32()), words)
        return Encoded(
            seen=cast("pa.StringArray", pc.binary_join(seen, " ")),
            tokens=tokens,
            lengths=lengths,
            n_unknown=np.add.reduceat(unknown.astype(np.int32), first_words),
            pieces=pieces,
            joined=split.joined,
        )

    def _split(self, sentences: pa.StringArray) -> SplitUp:
        if self._by_chunk:
            self._by_chunk = self._are_chunks_separate(sample_of(sentences, HELD))
        split = self._each_chunk_once(sentences) if self._by_chunk else None
        return split or self._split_whole(sentences)

    def _split_whole(self, sentences: pa.StringArray) -> SplitUp:
        """Split each sentence as a whole."""
        texts, lengths, starts = self._texts(sentences)
        split_up = self._by_offsets if self._by_backend else self._by_beginnings
        placed = split_up(texts, starts)
        return SplitUp(placed, lengths, None if starts is None else _are_joined(texts, starts))

    def _are_chunks_separate(self, sample: pa.StringArray) -> bool:
        """Return whether a sample splits the same if each chunk between spaces is split separately.

        A tokenizer may look beyond a space. So this is checked on made-up sentences with words from the whole
        vocabulary, on some of all sentences of a run, and on some of each shard.
        """
        at_once, by_chunks = self._split_whole(sample), self._each_chunk_once(sample)
        return by_chunks is None or at_once.equals(by_chunks)

    def _made_up(self) -> pa.StringArray:
        """Make up sentences with words from the whole vocabulary that can be split separately."""
        text_drawn = " ".join(word for text in draw_texts(self.tokenizer, 200, 1) for word in text.split())
        words = [word for word in text_drawn.split() if not self._reaches_out(word)]
        texts = [" ".join(words[start : start + 8]) for start in range(0, len(words), 8)]
        texts += [text for text in TEXTS if not any(map(self._reaches_out, text.split()))]
        return pa.array([text for text in texts if text.strip()], pa.string())

    def _each_chunk_once(self, sentences: pa.StringArray) -> SplitUp | None:
        """Split like `_split_whole`, but each distinct chunk between spaces once; None if impossible."""
        if holds_other_gaps(sentences):
            return None
        split, lengths = words_and_lengths(sentences)
        words = split.flatten().dictionary_encode()
        distinct = cast("list[str]", words.dictionary.to_pylist())
        if any(self._reaches_out(word) for word in distinct):
            return None
        first = np.zeros(len(words), dtype=np.bool_)
        first[np.cumsum(lengths) - lengths] = True
        chunks, begins, joined = words, np.arange(len(words)), None
        if self._writing is not None:
            close = self._writing.are_close(distinct)
            if close is None:
                return None
            before, after = (np.array(flags, dtype=np.bool_)[words.indices.to_numpy()] for flags in close)
            joined = (before | np.append(False, after[:-1])) & ~first
            begins = np.flatnonzero(~joined)
            lists = pa.ListArray.from_arrays(
                pa.array(np.append(begins, len(words)), pa.int32()), words.cast(pa.string())
            )
            chunks = cast("pa.StringArray", pc.binary_join(lists, " ")).dictionary_encode()
        keys, chunk_of = np.unique(chunks.indices.to_numpy() * 2 + first[begins], return_inverse=True)
        texts = cast("list[str]", chunks.dictionary.to_pylist())
        of_chunks = self._pieces_of_chunks([(texts[key // 2], bool(key % 2)) for key in keys.tolist()])
        parts = (
            _repeat([values[part] for values in of_chunks], chunk_of) for part in range(len(Placed.__slots__))
        )
        return SplitUp(Placed(*parts), lengths, joined)

    def _pieces_of_chunks(self, chunks: list[tuple[str, bool]]) -> list[tuple[np.ndarray, ...]]:
        """Return the fields of `Placed` for each chunk; each chunk is split once in a run.

        A chunk is words without a space between them, and whether it begins a sentence. All other chunks are
        split after the word `BEFORE`, because a tokenizer may treat beginnings differently.
        """
        for is_first in (True, False):
            new = [text for text, first in chunks if first == is_first and (text, first) not in self._chunks]
            if not new:
                continue
            writing = self._writing if is_first or self._writing is None else self._inside
            written = [(text, [0]) if writing is None else writing.write(text) for text in new]
            texts = [text if is_first else f"{BEFORE} {text}" for text, _ in written]
            starts = [begins for _, begins in written]
            if not is_first:
                starts = [
                    [0, len(BEFORE), *(len(BEFORE) + 1 + begin for begin in begins[1:])] for begins in starts
                ]
            placed = self._by_offsets(texts, starts)
            ends = np.cumsum([len(begins) for begins in starts])
            counts, *flags = (
                np.split(values, ends[:-1]) for values in (placed.pieces, placed.unfinished, placed.lost)
            )
            ids = np.split(placed.tokens, np.cumsum([values.sum() for values in counts])[:-1])
            skipped = 0 if is_first else 1
            for text, tokens, of_words, *of_flags in zip(new, ids, counts, *flags, strict=True):
                n_others = of_words[:skipped].sum()
                rest = (values[skipped:] for values in (of_words, *of_flags))
                self._chunks[text, is_first] = tokens[n_others:], *rest
        return [self._chunks[chunk] for chunk in chunks]

    def _reaches_out(self, word: str) -> bool:
        """Return whether a piece may begin inside a word and end after it."""
        word = word.lower()
        return not self._firsts.isdisjoint(word) and any(part in word for part in self._reaching)

    @cached_property
    def _reaching(self) -> list[str]:
        """Added tokens, which are matched before a text is split, and letters before a space inside a piece.

        They are in lower case, because a text may be lower-cased before added tokens are matched.
        """
        matches = (REACHES_OVER.search(piece) for piece in self.tokenizer.get_vocab())
        added = (token.content for token in self.tokenizer.added_tokens_decoder.values())
        return [part.lower() for part in (*added, *(match[0][:-1] for match in matches if match)) if part]

    @cached_property
    def _firsts(self) -> set[str]:
        return {part[0] for part in self._reaching}

    def too_long(self, sentences: pa.StringArray, longest: int | None, n_special: int) -> np.ndarray:
        """Return which sentences have more tokens than the model's limit, if any, (sentences,) bool."""
        if self._by_chunk:  # this call gets all sentences of a run
            self._by_chunk = self._are_chunks_separate(sample_of(sentences, 8 * HELD))
        is_too_long = np.zeros(len(sentences), dtype=np.bool_)
        if longest is not None:
            prefix = self._before + (" " if self.leading_space else "")
            n_others = n_special - self._n_before
            near = np.flatnonzero(may_exceed(sentences, longest - n_special))
            texts = [prefix + text for text in self._texts(sentences.take(pa.array(near, pa.int64())))[0]]
            is_too_long[near] = (
                [len(ids) + n_others > longest for ids in pieces_of(self.tokenizer, texts)]
                if texts
                else False
            )
        return is_too_long

    @cached_property
    def _n_before(self) -> int:
        """Number of pieces of the word before each sentence."""
        return len(pieces_of(self.tokenizer, [self._before])[0]) if self._before else 0

    def words_of_tokenizer(self, sentences: pa.StringArray) -> np.ndarray | None:
        """Return the tokenizer's own word of each piece; BERT's tokenizer splits `taking.` into two words.

        (tokens,) int64, in the order of `encode`, with different numbers for the words of a sentence. None if
        the tokenizer gives no words, or does not split at spaces.
        """
        if not self.parts_words:
            return None
        numbers: list[int] = []
        for encoding in self._encodings(self._texts(sentences)[0]):
            # A piece without a word, which is a special token in the text, is a word by itself.
            numbers += [-1 - i if word is None else word for i, word in enumerate(encoding.word_ids)]
        return np.array(numbers, dtype=np.int64)

    @cached_property
    def parts_words(self) -> bool:
        """Whether the tokenizer splits text at spaces before it makes pieces, and reports the words.

        If spaces become a mark and nothing is split (Gemma, Llama), a whole text is one word for it.
        """
        if not self._by_backend:
            return False
        word = some_word(self.tokenizer.convert_ids_to_tokens(range(len(self.tokenizer))))
        words = self._encodings([f"{word} {word}"])[0].word_ids
        return bool(words) and words[0] != words[-1]

    def texts(self, tokens: np.ndarray) -> list[str]:
        r"""Return the text of each piece; parts of a character become bytes, `\xc3` and `\x96` for *Ö*."""
        texts = []
        for token in tokens.tolist():
            text = self.tokenizer.decode([token], clean_up_tokenization_spaces=False).strip()
            if not text or "\ufffd" in text:
                text = _spelt_bytes(str(self.tokenizer.convert_ids_to_tokens(token)))
            texts.append(text)
        return texts

    def _texts(self, sentences: pa.StringArray) -> tuple[list[str], np.ndarray, list[list[int]] | None]:
        """Return the texts to split into pieces, and the number of words of each.

        If they are written as natural text, also return where each word begins, including its space.
        """
        split, lengths = words_and_lengths(sentences)
        special = holds_other_gaps(sentences)
        if self._white_space != "single":
            if special and any(BOUNDARY in str(text) for text in sentences.to_pylist()):
                raise ModelError(
                    f"white_space={self._white_space}: with this setting, tseval cannot score a suite that "
                    "joins parts of a text without a space.\n"
                    "  Use --model-args white_space=single, or join the parts with a space: "
                    "--columns join=space."
                )
            texts = pc.utf8_trim_whitespace(sentences) if self._white_space == "kept" else sentences
        elif special:
            texts = pa.array([single_spaced(str(text)) for text in sentences.to_pylist()], pa.string())
        else:
            texts = cast("pa.StringArray", pc.binary_join(split, " "))
        lines = [str(text) for text in texts.to_pylist()]
        writing = self._writing
        if writing is None and special and self._white_space == "single":
            writing = AS_WRITTEN
        if writing is None:
            return lines, lengths, None
        written = [writing.write(text) for text in lines]
        return [text for text, _ in written], lengths, [starts for _, starts in written]

    def _encodings(self, texts: Sequence[str]) -> list[Encoding | _Inside]:
        prefix = self._before + (" " if self.leading_space else "")
        backend = self.tokenizer.backend_tokenizer  # the wrapper is slow because of copies
        backend.no_truncation()
        backend.no_padding()
        encodings = cast(
            "list[Encoding | _Inside]",
            backend.encode_batch([prefix + text for text in texts], add_special_tokens=False),
        )
        return (
            [_Inside.of(encoding, len(self._before)) for encoding in encodings] if self._before else encodings
        )

    def _by_offsets(self, texts: list[str], starts: list[list[int]] | None) -> Placed:
        """Split all texts at once; a piece belongs to the word of its last letter, a space to the next."""
        encodings = self._encodings(texts)
        counts = np.array([len(encoding.ids) for encoding in encodings])
        tokens = np.array([token for encoding in encodings for token in encoding.ids], dtype=np.int64)
        spans = np.array(
            [span for encoding in encodings for span in encoding.offsets], dtype=np.int64
        ).reshape(-1, 2)
        # All texts, each after a space: word n begins at the n-th white space, or at the given start.
        joined = "".join(f" {text}" for text in texts)
        sizes = np.array([len(text) + 1 for text in texts])
        text_starts = np.cumsum(sizes) - sizes + (0 if self.leading_space else 1)
        white = np.isin(np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32), WHITE)
        if starts is None:
            begins = white & ~np.append(False, white[:-1])  # a run of white space is one gap
        else:
            begins = np.zeros(len(joined), dtype=np.bool_)
            inside = np.array([begin + (begin > 0) for of_text in starts for begin in of_text])
            begins[np.repeat(np.cumsum(sizes) - sizes, [len(of_text) for of_text in starts]) + inside] = True
        word_at = np.cumsum(begins) - 1
        base, holds = np.repeat(text_starts, counts), spans[:, 1] > spans[:, 0]
        first = np.minimum(base + spans[:, 0], len(joined) - 1)
        # If a tokenizer trims a space away, the span of its piece is empty.
        last = np.minimum(base + np.where(holds, spans[:, 1] - 1, spans[:, 0]), len(joined) - 1)
        places = np.arange(len(joined))
        letter = np.maximum.accumulate(np.where(white, -1, places))[last]  # last letter up to the end
        has_letters = holds & (letter >= first)
        if self._white_space == "single":
            n_words = int(begins.sum())
            pieces = np.bincount(word_at[np.where(has_letters, letter, last)], minlength=n_words)
        else:
            n_words = int(begins.sum()) - bool(white[-1])  # white space may follow the last word
            pieces = _pieces_beside_white_space(word_at, white, base, spans, n_words)
        after = np.minimum.accumulate(np.where(white, len(joined), places)[::-1])[::-1]
        unfinished = np.zeros(n_words, dtype=np.bool_)
        reach = word_at[after[first[has_letters]]], word_at[letter[has_letters]]
        for begin, end in {*zip(*(side[reach[0] < reach[1]].tolist() for side in reach), strict=True)}:
            unfinished[begin:end] = True
        lost, heads = np.zeros(n_words, dtype=np.bool_), np.append(np.flatnonzero(begins), len(joined))
        ends = np.bincount(last[holds] + 1, minlength=len(joined) + 1)
        covered = np.cumsum(np.bincount(first[holds], minlength=len(joined) + 1) - ends)[:-1] > 0
        for offset in np.flatnonzero(~white & ~covered).tolist():
            word = int(word_at[offset])
            text = joined[heads[word] : heads[word + 1]].strip()
            # Spans after a dropped letter are those of the letters before them.
            lost[word] |= any(self._leaves_out(text, letter) for letter in dict.fromkeys(text))
        return Placed(tokens, pieces, unfinished, lost)

    def _leaves_out(self, word: str, letter: str) -> bool:
        """Return whether a tokenizer silently drops a letter of a word, because it has no piece for it.

        Letters that its normaliser removes, such as accents and control characters, do not count: the model
        was trained without them.
        """
        if (word, letter) not in self._left_out:
            shortened = word.replace(letter, "")
            normaliser = self.tokenizer.backend_tokenizer.normalizer
            is_kept = normaliser is None or (
                normaliser.normalize_str(word) != normaliser.normalize_str(shortened)
            )
            ids, ids_without = (self._encodings([f"{BEFORE} {text}"])[0].ids for text in (word, shortened))
            self._left_out[word, letter] = is_kept and ids == ids_without
        return self._left_out[word, letter]

    def _by_beginnings(self, texts: list[str], starts: list[list[int]] | None) -> Placed:
        """Split texts one by one; the pieces of a word are those that the text gains with the word."""
        prefix = self._before + (" " if self.leading_space else "")
        tokens: list[int] = []
        pieces: list[int] = []
        unfinished: list[bool] = []
        for text, begins in zip(texts, starts or map(_after_spaces, texts), strict=True):
            beginnings = [prefix + text[:end] for end in [*begins[1:], len(text)]]
            ids = pieces_of(self.tokenizer, beginnings)
            reached = np.minimum(np.maximum.accumulate([len(beginning) for beginning in ids]), len(ids[-1]))
            pieces += np.diff(reached, prepend=self._n_before).tolist()
            unfinished += [beginning != ids[-1][: len(beginning)] for beginning in ids]
            tokens += ids[-1][self._n_before :]
        counts = np.array(pieces, dtype=np.int64)
        ends_inside = np.array(unfinished, dtype=np.bool_)
        return Placed(np.array(tokens, dtype=np.int64), counts, ends_inside, np.zeros_like(ends_inside))

    def _words_seen(self, placed: Placed) -> tuple[pa.StringArray, np.ndarray]:
        """Return the text of each word's pieces, and which words have an unknown piece."""
        tokens, pieces = placed.tokens, placed.pieces
        ids = tokens.astype(np.int32)
        offsets = (4 * np.concatenate(([0], np.cumsum(pieces)))).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(ids.tobytes())]
        words = pa.Array.from_buffers(pa.binary(), len(pieces), buffers).dictionary_encode()
        distinct = [self._spell(cast("bytes", word)) for word in words.dictionary.to_pylist()]
        unknown = np.array([is_unknown for _, is_unknown in distinct])[words.indices.to_numpy()]
        seen: Any = pa.array([text for text, _ in distinct], pa.string()).take(words.indices)
        for flags, mark in ((placed.lost, UNKNOWN), (placed.unfinished, UNFINISHED)):
            if flags.any():
                marked = pc.binary_join_element_wise(seen, mark, "")
                is_empty = pc.equal(seen, pa.scalar(UNFINISHED))  # the word has no piece
                seen = pc.if_else(pa.array(flags), pc.if_else(is_empty, mark, marked), seen)
        return cast("pa.StringArray", seen), unknown | placed.lost

    def _spell(self, word: bytes) -> tuple[str, bool]:
        if word not in self._seen:
            ids = np.frombuffer(word, dtype=np.int32).tolist()
            unknown = self.tokenizer.unk_token_id in ids
            text = self.tokenizer.decode(ids, clean_up_tokenization_spaces=False).strip()
            if unknown or not text or " " in text or "\ufffd" in text:
                text = "".join(self.tokenizer.convert_ids_to_tokens(ids)).replace(" ", "_") or UNFINISHED
            self._seen[word] = text, unknown
        return self._seen[word]


@dataclass(frozen=True, slots=True)
class _Inside:
    """An encoding without the pieces of the word that was put before its text."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]

    @classmethod
    def of(cls, encoding: Encoding | _Inside, length: int) -> _Inside:
        """Remove the pieces of the first `length` characters, and count offsets from there."""
        n_pieces = next(
            (index for index, (_, end) in enumerate(encoding.offsets) if end > length), len(encoding.ids)
        )
        offsets = [(max(0, start - length), end - length) for start, end in encoding.offsets[n_pieces:]]
        return cls(encoding.ids[n_pieces:], offsets, encoding.word_ids[n_pieces:])


def _repeat(values: list[np.ndarray], order: np.ndarray) -> np.ndarray:
    """Concatenate arrays of a list in a given order, in which an array may be repeated."""
    sizes = np.array([len(array) for array in values])
    firsts, of_each = np.cumsum(sizes) - sizes, sizes[order]
    shift = np.repeat(firsts[order] - (np.cumsum(of_each) - of_each), of_each)
    joined: np.ndarray = np.concatenate(values)[np.arange(len(shift)) + shift]
    return joined


def _are_joined(texts: list[str], starts: list[list[int]]) -> np.ndarray:
    """Return which words, except first ones, have no space before them, (words,) bool."""
    places = ((text, begin) for text, begins in zip(texts, starts, strict=True) for begin in begins)
    return np.array([begin > 0 and text[begin] != " " for text, begin in places])


def _after_spaces(text: str) -> list[int]:
    return [0, *(gap.start() for gap in re.finditer(r"\s+", text) if gap.start())]


def _pieces_beside_white_space(
    word_at: np.ndarray, white: np.ndarray, starts: np.ndarray, spans: np.ndarray, n_words: int
) -> np.ndarray:
    """Count the pieces of each word in texts that keep their white space, (words,).

    The texts are concatenated, each after a space. For each character, `word_at` is its word, and `white`
    whether it is white space. For each piece, `starts` is the start of its text, (pieces,), and `spans` its
    start and end within the text, (pieces, 2).
    """
    last = starts + np.maximum(spans[:, 1] - 1, 0)
    # White space also comes before the first word, if a sentence begins with a space.
    words = np.maximum(word_at[last] - white[last], word_at[starts])
    return np.bincount(np.minimum(words, n_words - 1), minlength=n_words)


def holds_other_gaps(sentences: pa.StringArray) -> bool:
    """Return whether words of a sentence are separated by anything except ordinary white space."""
    pattern = f"{OTHER_SPACES.pattern[:-1]}{BOUNDARY}]"
    return bool(pc.any(pc.match_substring_regex(sentences, pattern), min_count=0).as_py())


def _byte_letters() -> dict[str, int]:
    """Return the byte of each letter in a byte-level vocabulary like GPT-2's.

    Printable bytes of Latin-1 are themselves. The others are the letters from 256 on, in order.
    """
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + index): byte for index, byte in enumerate(rest)}


BYTE_LETTERS = _byte_letters()


def _spelt_bytes(piece: str) -> str:
    """Show the bytes of a byte-level piece that is not a whole text; return other pieces unchanged."""
    if not piece or not all(letter in BYTE_LETTERS for letter in piece) or piece.isascii():
        return piece
    text = bytes(BYTE_LETTERS[letter] for letter in piece).decode("utf-8", "backslashreplace")
    return text.strip() or piece


def some_word(pieces: Iterable[str]) -> str:
    """Find a piece of letters only, without its mark of a space; "" if there is none."""
    texts = (str(piece).strip("".join(SPACES)) for piece in pieces)
    return next((text for text in texts if text.isalpha()), "")
