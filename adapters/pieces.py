"""Split sentences into the pieces of a transformers tokenizer, and say which word each belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError
from tseval.scoring.protocol import Encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerBase

WHITE_SPACE = ("single", "kept")  # what stands between the words of a sentence
NOTHING = "∅"  # what a model sees of a word that its tokenizer drops


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
        tokenizer: Fast or slow.
        leading_space: Whether a sentence begins with a space, as in the middle of a text.
        white_space: Between words, `single` spaces, each of which belongs to the word after it. Or `kept` as
            it is, line breaks too, which needs a fast tokenizer; a piece that is nothing else then belongs to
            the word before it.

    Raises:
        ModelError: If white space cannot be kept.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, leading_space: bool, white_space: str = "single"
    ) -> None:
        if white_space == "kept" and not tokenizer.is_fast:
            raise ModelError(
                "white_space=kept: the tokenizer is slow, and does not say where its pieces stand"
            )
        self.tokenizer = tokenizer
        self.leading_space = leading_space
        self.keeps_space = white_space == "kept"
        self._seen: dict[bytes, tuple[str, bool]] = {}

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces.

        Raises:
            ModelError: If nothing is left of a sentence.
        """
        texts, lengths = self._texts(sentences)
        split_up = self._by_offsets if self.tokenizer.is_fast else self._by_beginnings
        tokens, pieces = split_up(texts)
        first_words = np.cumsum(lengths) - lengths
        empty = np.flatnonzero(np.add.reduceat(pieces, first_words) == 0)
        if len(empty):
            raise ModelError(f"the tokenizer leaves nothing of the sentence {texts[empty[0]]!r}")
        words, unknown = self._words_seen(tokens, pieces)
        seen = pa.ListArray.from_arrays(pa.array(np.append(first_words, len(pieces)), pa.int32()), words)
        return Encoded(
            seen=cast("pa.StringArray", pc.binary_join(seen, " ")),
            tokens=tokens,
            lengths=lengths,
            n_unknown=np.add.reduceat(unknown.astype(np.int32), first_words),
            pieces=pieces,
        )

    def too_long(self, sentences: pa.StringArray, longest: int | None, n_special: int) -> np.ndarray:
        """Tell which sentences have more tokens than a model reads, (sentences,) bool.

        Args:
            sentences: Not split yet.
            longest: Tokens that the model reads at most, if there is a limit.
            n_special: Number of special tokens that are added to a sentence.
        """
        found = np.zeros(len(sentences), dtype=np.bool_)
        if longest is not None:
            prefix = " " if self.leading_space else ""
            near = np.flatnonzero(may_exceed(sentences, longest - n_special))
            texts = [prefix + text for text in self._texts(sentences.take(pa.array(near, pa.int64())))[0]]
            found[near] = [len(ids) + n_special > longest for ids in self._ids(texts)] if texts else False
        return found

    def words_of_tokenizer(self, sentences: pa.StringArray) -> np.ndarray | None:
        """Tell which word each piece belongs to as the tokenizer splits words: `taking.` is two for BERT's.

        Returns:
            Numbers that differ between the words of one sentence, (tokens,) int64, pieces in the order of
            `encode`; None for a tokenizer that does not say.
        """
        if not self.tokenizer.is_fast:
            return None
        numbers: list[int] = []
        for one in self._encodings(self._texts(sentences)[0]):
            # A piece of no word, a special token that the text spells out, is alone.
            numbers += [-1 - i if word is None else word for i, word in enumerate(one.word_ids)]
        return np.array(numbers, dtype=np.int64)

    def texts(self, tokens: np.ndarray) -> list[str]:
        """Spell pieces, each by itself; parts of a character as the vocabulary spells them."""
        texts = []
        for token in tokens.tolist():
            text = self.tokenizer.decode([token], clean_up_tokenization_spaces=False).strip()
            if not text or "\ufffd" in text:
                text = str(self.tokenizer.convert_ids_to_tokens(token))
            texts.append(text)
        return texts

    def _texts(self, sentences: pa.StringArray) -> tuple[list[str], np.ndarray]:
        """Give sentences as they are split into pieces, and the number of words of each."""
        trimmed = pc.utf8_trim_whitespace(sentences)
        split = pc.utf8_split_whitespace(trimmed)
        lengths = pc.list_value_length(split).to_numpy().astype(np.int64)
        texts = trimmed if self.keeps_space else cast("pa.StringArray", pc.binary_join(split, " "))
        return [str(text) for text in texts.to_pylist()], lengths

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)
        return cast("list[list[int]]", encoded["input_ids"])

    def _encodings(self, texts: Sequence[str]) -> list[Encoding]:
        prefix = " " if self.leading_space else ""
        backend = self.tokenizer.backend_tokenizer  # its wrapper spends most of the time on copies
        backend.no_truncation()
        backend.no_padding()
        return cast(
            "list[Encoding]",
            backend.encode_batch([prefix + text for text in texts], add_special_tokens=False),
        )

    def _by_offsets(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Split all texts at once; a piece belongs to the word of its last character, a space to the next."""
        encodings = self._encodings(texts)
        counts = np.array([len(one.ids) for one in encodings])
        tokens = np.array([token for one in encodings for token in one.ids], dtype=np.int64)
        spans = np.array([span for one in encodings for span in one.offsets], dtype=np.int64).reshape(-1, 2)
        # All texts end to end, a space before each: word n begins with space n.
        joined = "".join(f" {text}" for text in texts)
        sizes = np.array([len(text) + 1 for text in texts])
        text_starts = np.cumsum(sizes) - sizes + (0 if self.leading_space else 1)
        if self.keeps_space:
            return tokens, _pieces_beside_white_space(joined, np.repeat(text_starts, counts), spans)
        is_space = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32) == ord(" ")
        word_at = np.cumsum(is_space) - 1
        # A piece may be a space that its tokenizer trimmed away: then its span is empty.
        last = np.where(spans[:, 1] > spans[:, 0], spans[:, 1] - 1, spans[:, 0])
        place = np.minimum(np.repeat(text_starts, counts) + last, len(word_at) - 1)
        return tokens, np.bincount(word_at[place], minlength=int(is_space.sum()))

    def _by_beginnings(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Split texts one by one; a word has as many pieces as its text gains by it."""
        prefix = " " if self.leading_space else ""
        tokens: list[int] = []
        pieces: list[int] = []
        for text in texts:
            words = text.split(" ")
            beginnings = [prefix + " ".join(words[: n + 1]) for n in range(len(words))]
            ids = self._ids(beginnings)
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


def _pieces_beside_white_space(joined: str, starts: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Count the pieces of each word where texts keep their white space, (words,).

    Args:
        joined: All texts end to end, a space before each.
        starts: Where the text of each piece begins, (pieces,).
        spans: Beginning and end of each piece in its text, (pieces, 2).
    """
    white = np.array([character.isspace() for character in joined])
    begins = white & ~np.concatenate(([False], white[:-1]))  # a run of white space is one gap
    word_at = np.cumsum(begins) - 1
    last = starts + np.maximum(spans[:, 1] - 1, 0)
    # Before the first word stands white space too, where a sentence begins with a space.
    words = np.maximum(word_at[last] - white[last], word_at[starts])
    return np.bincount(words, minlength=int(begins.sum()))
