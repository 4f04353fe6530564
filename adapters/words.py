"""From words to pieces: which a word has, and how sums over pieces become probabilities of words.

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

import re
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.adapters.tokenizer import TEXTS, draw_texts, form_read, pieces_of, splits_by_backend
from tseval.errors import ModelError
from tseval.scoring.protocol import Encoded, ModelCard
from tseval.scoring.trie import words_and_lengths

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerBase

    from tseval.adapters.pretrained import Pretrained
    from tseval.writing import Writing

WHITE_SPACE = ("single", "kept", "all")  # what is left of it in a sentence
NOTHING = "∅"  # what a model sees of a word that its tokenizer drops
REACHES_OVER = re.compile(r"[^\sĠĊĉċČč▁][ Ġ▁]")  # a letter and a space behind it, in one piece
BEFORE = "a"  # a word that others stand behind
HELD = 64  # sentences of a shard that are split in both ways


@dataclass(frozen=True, slots=True)
class SplitUp:
    """Sentences in pieces."""

    tokens: np.ndarray  # of all sentences one after the other, (tokens,) int64
    pieces: np.ndarray  # number of tokens of each word, (words,) int64
    lengths: np.ndarray  # words of each sentence, (sentences,) int64
    joined: np.ndarray | None  # which words have no space before them; None where all but first ones have

    def equals(self, other: SplitUp) -> bool:
        """Tell whether another has the same pieces of the same words, joined alike."""
        names = ("tokens", "pieces", "joined")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)


def sample_of(sentences: pa.StringArray, most: int) -> pa.StringArray:
    """Take sentences evenly from all, no more than so many."""
    places = np.arange(0, len(sentences), max(1, -(-len(sentences) // most)))
    return sentences.take(pa.array(places, pa.int64()))


def may_exceed(sentences: pa.StringArray, most: int) -> np.ndarray:
    """Tell which sentences could have more pieces than so many, without splitting them, (sentences,) bool.

    A piece of ASCII text has a letter at least; twice as many leave room for what tokenizers add. Other
    letters may fall into many pieces.
    """
    long = pc.utf8_length(sentences).to_numpy() * 2 > most
    found: np.ndarray = long | ~pc.string_is_ascii(sentences).to_numpy(zero_copy_only=False)
    return found


class Pieces:
    """Brings sentences to a tokenizer's vocabulary; special tokens are never added.

    Args:
        leading_space: Whether a sentence begins with a space, as in the middle of a text.
        white_space: Between words, `single` spaces, each of which belongs to the word after it. Or `kept` as
            it is, line breaks too, which needs a fast tokenizer; a piece that is nothing else then belongs to
            the word before it. Or `all`, what stands before the first word and behind the last too.
        writing: How tokens are written as natural text; None where they are given as they are.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        leading_space: bool,
        white_space: str = "single",
        writing: Writing | None = None,
    ) -> None:
        self._by_backend = splits_by_backend(tokenizer)
        if white_space != "single" and not self._by_backend:
            raise ModelError(
                f"white_space={white_space}: the tokenizer is slow, or has code of its own, and does not say "
                "where its pieces stand.\n"
                "  Give white_space=single."
            )
        self.tokenizer = tokenizer
        self.leading_space, self._writing = leading_space, writing
        self._inside = None if writing is None else replace(writing, capital=False)  # within a sentence
        self._white_space = white_space
        self._seen: dict[bytes, tuple[str, bool]] = {}
        self._chunks: dict[tuple[str, bool], tuple[np.ndarray, np.ndarray]] = {}
        self._by_chunk = white_space == "single" and self._by_backend
        if self._by_chunk:
            try:
                self._by_chunk = self._chunks_are_apart(self._made_up())
            except Exception:  # a tokenizer of few letters, without an unknown piece, refuses made-up words
                self._by_chunk = False

    @property
    def rules(self) -> Writing | None:
        """How tokens are written as natural text; None where they are given as they are."""
        return self._writing

    def writing(self, rules: Writing) -> Pieces:
        """Give pieces of the same vocabulary, of sentences that are written as natural text."""
        return Pieces(self.tokenizer, self.leading_space, self._white_space, rules)

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces."""
        split = self._split(sentences)
        tokens, pieces, lengths = split.tokens, split.pieces, split.lengths
        first_words = np.cumsum(lengths) - lengths
        empty = np.flatnonzero(np.add.reduceat(pieces, first_words) == 0)
        if len(empty):
            raise ModelError(f"the tokenizer leaves nothing of the sentence {str(sentences[empty[0]])!r}")
        words, unknown = self._words_seen(tokens, pieces)
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
            self._by_chunk = self._chunks_are_apart(sample_of(sentences, HELD))
        found = self._each_chunk_once(sentences) if self._by_chunk else None
        return found or self._whole(sentences)

    def _whole(self, sentences: pa.StringArray) -> SplitUp:
        """Split each sentence as a whole."""
        texts, lengths, starts = self._texts(sentences)
        split_up = self._by_offsets if self._by_backend else self._by_beginnings
        tokens, pieces = split_up(texts, starts)
        return SplitUp(tokens, pieces, lengths, None if starts is None else _are_joined(texts, starts))

    def _chunks_are_apart(self, sample: pa.StringArray) -> bool:
        """Tell whether sentences show no difference if each chunk between spaces is split by itself.

        A tokenizer may split by what stands beyond a space: it is asked of made-up sentences, of words from
        all over the vocabulary, of some of all sentences of a run, and of some of each shard.
        """
        whole, found = self._whole(sample), self._each_chunk_once(sample)
        return found is None or whole.equals(found)

    def _made_up(self) -> pa.StringArray:
        """Make up sentences of words from all over the vocabulary, as far as they are split alone."""
        drawn = " ".join(one for text in draw_texts(self.tokenizer, 200, 1) for one in text.split())
        words = [word for word in drawn.split() if not self._reaches_out(word)]
        texts = [" ".join(words[at : at + 8]) for at in range(0, len(words), 8)]
        texts += [text for text in TEXTS if not any(map(self._reaches_out, text.split()))]
        return pa.array([text for text in texts if text.strip()], pa.string())

    def _each_chunk_once(self, sentences: pa.StringArray) -> SplitUp | None:
        """Do what `_whole` does, with each distinct chunk between spaces once; None where that cannot be."""
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
            before, after = (np.array(one, dtype=np.bool_)[words.indices.to_numpy()] for one in close)
            joined = (before | np.append(False, after[:-1])) & ~first
            begins = np.flatnonzero(~joined)
            lists = pa.ListArray.from_arrays(
                pa.array(np.append(begins, len(words)), pa.int32()), words.cast(pa.string())
            )
            chunks = cast("pa.StringArray", pc.binary_join(lists, " ")).dictionary_encode()
        keys, which = np.unique(chunks.indices.to_numpy() * 2 + first[begins], return_inverse=True)
        texts = cast("list[str]", chunks.dictionary.to_pylist())
        found = self._pieces_of_chunks([(texts[key // 2], bool(key % 2)) for key in keys.tolist()])
        tokens, pieces = (_repeat([one[part] for one in found], which) for part in (0, 1))
        return SplitUp(tokens, pieces, lengths, joined)

    def _pieces_of_chunks(self, chunks: list[tuple[str, bool]]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Give the pieces of chunks, and how many each word has; each chunk is split once in a run.

        Chunks are words with nothing between them in the text, and whether they begin a sentence; all others
        are split behind the word `BEFORE`, since a tokenizer may treat beginnings otherwise.
        """
        for is_first in (True, False):
            new = [text for text, first in chunks if first == is_first and (text, first) not in self._chunks]
            if not new:
                continue
            writing = self._writing if is_first or self._writing is None else self._inside
            written = [(text, [0]) if writing is None else writing.write(text) for text in new]
            texts = [text if is_first else f"{BEFORE} {text}" for text, _ in written]
            starts = [own for _, own in written]
            if not is_first:
                starts = [[0, len(BEFORE), *(len(BEFORE) + 1 + place for place in own[1:])] for own in starts]
            tokens, pieces = self._by_offsets(texts, starts)
            ends = np.cumsum([len(own) for own in starts])
            counts = np.split(pieces, ends[:-1])
            ids = np.split(tokens, np.cumsum([one.sum() for one in counts])[:-1])
            for text, own, of_words in zip(new, ids, counts, strict=True):
                others = 0 if is_first else of_words[0]
                self._chunks[text, is_first] = own[others:], of_words[0 if is_first else 1 :]
        return [self._chunks[chunk] for chunk in chunks]

    def _reaches_out(self, word: str) -> bool:
        """Tell whether some piece may begin within a word and end beyond it."""
        word = word.lower()
        return not self._firsts.isdisjoint(word) and any(part in word for part in self._reaching)

    @cached_property
    def _reaching(self) -> list[str]:
        """Added tokens, which are found in a text before it is split, and what pieces have before a space.

        In lower case: a text may be brought to it before added tokens are looked for.
        """
        found = (REACHES_OVER.search(piece) for piece in self.tokenizer.get_vocab())
        added = (token.content for token in self.tokenizer.added_tokens_decoder.values())
        return [part.lower() for part in (*added, *(one[0][:-1] for one in found if one)) if part]

    @cached_property
    def _firsts(self) -> set[str]:
        return {part[0] for part in self._reaching}

    def too_long(self, sentences: pa.StringArray, longest: int | None, n_special: int) -> np.ndarray:
        """Tell which sentences have more tokens than a model reads, if it has a limit, (sentences,) bool."""
        if self._by_chunk:  # here are all sentences of a run
            self._by_chunk = self._chunks_are_apart(sample_of(sentences, 8 * HELD))
        found = np.zeros(len(sentences), dtype=np.bool_)
        if longest is not None:
            prefix = " " if self.leading_space else ""
            near = np.flatnonzero(may_exceed(sentences, longest - n_special))
            texts = [prefix + text for text in self._texts(sentences.take(pa.array(near, pa.int64())))[0]]
            found[near] = (
                [len(ids) + n_special > longest for ids in pieces_of(self.tokenizer, texts)]
                if texts
                else False
            )
        return found

    def words_of_tokenizer(self, sentences: pa.StringArray) -> np.ndarray | None:
        """Tell which word each piece belongs to as the tokenizer splits words: `taking.` is two for BERT's.

        Numbers differ between the words of one sentence, (tokens,) int64, pieces in the order of `encode`;
        None for a tokenizer that does not say, or does not part words at spaces.
        """
        if not self.parts_words:
            return None
        numbers: list[int] = []
        for one in self._encodings(self._texts(sentences)[0]):
            # A piece of no word, a special token that the text spells out, is alone.
            numbers += [-1 - i if word is None else word for i, word in enumerate(one.word_ids)]
        return np.array(numbers, dtype=np.int64)

    @cached_property
    def parts_words(self) -> bool:
        """Whether the tokenizer itself parts words at spaces, before it makes pieces, and says so.

        Where spaces become a mark and nothing is split (Gemma, Llama), all of a text is one word to it.
        """
        if not self._by_backend:
            return False
        word = _some_word(self.tokenizer.convert_ids_to_tokens(range(len(self.tokenizer))))
        words = self._encodings([f"{word} {word}"])[0].word_ids
        return bool(words) and words[0] != words[-1]

    def texts(self, tokens: np.ndarray) -> list[str]:
        """Spell pieces, each by itself; parts of a character as the vocabulary spells them."""
        texts = []
        for token in tokens.tolist():
            text = self.tokenizer.decode([token], clean_up_tokenization_spaces=False).strip()
            if not text or "\ufffd" in text:
                text = str(self.tokenizer.convert_ids_to_tokens(token))
            texts.append(text)
        return texts

    def _texts(self, sentences: pa.StringArray) -> tuple[list[str], np.ndarray, list[list[int]] | None]:
        """Give sentences as they are split into pieces, and the number of words of each.

        Where they are written as natural text, also where each word begins, with the space before it.
        """
        split, lengths = words_and_lengths(sentences)
        texts = cast("pa.StringArray", pc.binary_join(split, " "))
        if self._white_space != "single":
            texts = pc.utf8_trim_whitespace(sentences) if self._white_space == "kept" else sentences
        found = [str(text) for text in texts.to_pylist()]
        if self._writing is None:
            return found, lengths, None
        written = [self._writing.write(text) for text in found]
        return [text for text, _ in written], lengths, [starts for _, starts in written]

    def _encodings(self, texts: Sequence[str]) -> list[Encoding]:
        prefix = " " if self.leading_space else ""
        backend = self.tokenizer.backend_tokenizer  # its wrapper spends most of the time on copies
        backend.no_truncation()
        backend.no_padding()
        return cast(
            "list[Encoding]",
            backend.encode_batch([prefix + text for text in texts], add_special_tokens=False),
        )

    def _by_offsets(self, texts: list[str], starts: list[list[int]] | None) -> tuple[np.ndarray, np.ndarray]:
        """Split all texts at once; a piece belongs to the word of its last character, a space to the next."""
        encodings = self._encodings(texts)
        counts = np.array([len(one.ids) for one in encodings])
        tokens = np.array([token for one in encodings for token in one.ids], dtype=np.int64)
        spans = np.array([span for one in encodings for span in one.offsets], dtype=np.int64).reshape(-1, 2)
        # All texts end to end, a space before each: word n begins with space n, or where it is said to.
        joined = "".join(f" {text}" for text in texts)
        sizes = np.array([len(text) + 1 for text in texts])
        text_starts = np.cumsum(sizes) - sizes + (0 if self.leading_space else 1)
        if self._white_space != "single":
            return tokens, _pieces_beside_white_space(joined, np.repeat(text_starts, counts), spans)
        if starts is None:
            begins = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32) == ord(" ")
        else:
            begins = np.zeros(len(joined), dtype=np.bool_)
            inside = np.array([place + (place > 0) for own in starts for place in own])
            begins[np.repeat(np.cumsum(sizes) - sizes, [len(own) for own in starts]) + inside] = True
        word_at = np.cumsum(begins) - 1
        # A piece may be a space that its tokenizer trimmed away: then its span is empty.
        last = np.where(spans[:, 1] > spans[:, 0], spans[:, 1] - 1, spans[:, 0])
        place = np.minimum(np.repeat(text_starts, counts) + last, len(word_at) - 1)
        return tokens, np.bincount(word_at[place], minlength=int(begins.sum()))

    def _by_beginnings(
        self, texts: list[str], starts: list[list[int]] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Split texts one by one; a word has as many pieces as its text gains by it."""
        prefix = " " if self.leading_space else ""
        tokens: list[int] = []
        pieces: list[int] = []
        for text, own in zip(texts, starts or map(_after_spaces, texts), strict=True):
            beginnings = [prefix + text[:end] for end in [*own[1:], len(text)]]
            ids = pieces_of(self.tokenizer, beginnings)
            reached = np.minimum(np.maximum.accumulate([len(one) for one in ids]), len(ids[-1]))
            pieces += np.diff(reached, prepend=0).tolist()
            tokens += ids[-1]
        return np.array(tokens, dtype=np.int64), np.array(pieces, dtype=np.int64)

    def _words_seen(self, tokens: np.ndarray, pieces: np.ndarray) -> tuple[pa.StringArray, np.ndarray]:
        """Spell each word from its pieces, and tell which hold an unknown one; each distinct word once."""
        ids = tokens.astype(np.int32)
        offsets = (4 * np.concatenate(([0], np.cumsum(pieces)))).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(ids.tobytes())]
        words = pa.Array.from_buffers(pa.binary(), len(pieces), buffers).dictionary_encode()
        distinct = [self._spell(cast("bytes", word)) for word in words.dictionary.to_pylist()]
        unknown = np.array([is_unknown for _, is_unknown in distinct])[words.indices.to_numpy()]
        return pa.array([text for text, _ in distinct], pa.string()).take(words.indices), unknown

    def _spell(self, word: bytes) -> tuple[str, bool]:
        if word not in self._seen:
            ids = np.frombuffer(word, dtype=np.int32).tolist()
            unknown = self.tokenizer.unk_token_id in ids
            text = self.tokenizer.decode(ids, clean_up_tokenization_spaces=False).strip()
            if unknown or not text or " " in text or "\ufffd" in text:
                text = "".join(self.tokenizer.convert_ids_to_tokens(ids)).replace(" ", "_") or NOTHING
            self._seen[word] = text, unknown
        return self._seen[word]


class OfPieces:
    """What models of pieces share: how sentences come to their vocabulary."""

    card: ModelCard
    n_special: int  # special tokens that are added to a sentence

    def __init__(self, opened: Pretrained, leading_space: bool, white_space: str) -> None:
        self.opened, self.model = opened, opened.model
        self.reads = form_read(opened.tokenizer)
        self.batch_tokens = opened.batch_tokens
        self.warnings: list[str] = []
        self._pieces = Pieces(opened.tokenizer, leading_space, white_space)

    def __repr__(self) -> str:
        return self.card.show(self)

    @property
    def writing_rules(self) -> Writing | None:
        """Rules by which it writes tokens as natural text; None where it reads them as they are."""
        return self._pieces.rules

    def writing(self, rules: Writing) -> Self:
        """Give the same model that reads sentences as natural text; see `WritingModel`."""
        written = copy(self)
        written._pieces = self._pieces.writing(rules)
        written.card = self.card.reading("natural")
        return written

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces."""
        encoded = self._pieces.encode(sentences)
        self.opened.check_fits(encoded, self.n_special)
        return encoded

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Tell which sentences are longer than the model reads; see `BoundedModel`."""
        return self._pieces.too_long(sentences, self.opened.longest, self.n_special)

    def token_texts(self, tokens: np.ndarray) -> list[str]:
        """Spell tokens, each by itself."""
        return self._pieces.texts(tokens)


def _repeat(values: list[np.ndarray], which: np.ndarray) -> np.ndarray:
    """Join the arrays of a list, each as often as it is named, in the order in which it is."""
    sizes = np.array([len(one) for one in values])
    own, of_each = np.cumsum(sizes) - sizes, sizes[which]
    shift = np.repeat(own[which] - (np.cumsum(of_each) - of_each), of_each)
    joined: np.ndarray = np.concatenate(values)[np.arange(len(shift)) + shift]
    return joined


def _are_joined(texts: list[str], starts: list[list[int]]) -> np.ndarray:
    """Tell which words have no space before them, but for first words, (words,) bool."""
    places = ((text, place) for text, own in zip(texts, starts, strict=True) for place in own)
    return np.array([place > 0 and text[place] != " " for text, place in places])


def _after_spaces(text: str) -> list[int]:
    return [0, *(place for place, letter in enumerate(text) if letter == " ")]


def _pieces_beside_white_space(joined: str, starts: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Count the pieces of each word where texts keep their white space, (words,).

    `joined` is all texts end to end, a space before each; `starts` where the text of each piece begins,
    (pieces,); `spans` beginning and end of each piece in its text, (pieces, 2).
    """
    white = np.array([character.isspace() for character in joined])
    begins = white & ~np.concatenate(([False], white[:-1]))  # a run of white space is one gap
    word_at = np.cumsum(begins) - 1
    last = starts + np.maximum(spans[:, 1] - 1, 0)
    # Before the first word stands white space too, where a sentence begins with a space.
    words = np.maximum(word_at[last] - white[last], word_at[starts])
    # Behind the last word of all may be more.
    n_words = int(begins.sum()) - bool(white[-1])
    return np.bincount(np.minimum(words, n_words - 1), minlength=n_words)


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
    word = _some_word(pieces)
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
    """Give what is added to the sum over the pieces of each word, in nats, (words,) float64.

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


def _some_word(pieces: Iterable[str]) -> str:
    texts = (str(piece).strip("".join(SPACES)) for piece in pieces)
    return next((text for text in texts if text.isalpha()), "")
