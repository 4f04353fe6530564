"""Encoding of sentences as word ids, for word-level models."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError, quoted_text
from tseval.models.vocabulary import UNK
from tseval.scoring.protocol import Encoded, ModelCard
from tseval.scoring.trie import words_and_lengths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.formats import Json
    from tseval.models.vocabulary import Vocabulary


def encode_words(
    ids: Mapping[str, int], sentences: pa.StringArray, unknown: str = UNK, lowercase: bool = False
) -> Encoded:
    """Encode the words of sentences as ids of a vocabulary; each distinct word is looked up once.

    Python converts the words to lower case, as for vocabularies; Arrow does not know the final sigma.
    """
    split, lengths = words_and_lengths(sentences)
    words = split.flatten().dictionary_encode()
    distinct = cast("list[str]", words.dictionary.to_pylist())
    if lowercase:
        distinct = [word.lower() for word in distinct]
    readable = [word if word in ids else unknown for word in distinct]
    indices = words.indices.to_numpy()
    tokens = np.array([ids[word] for word in readable], dtype=np.int64)[indices]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    n_unknown = np.concatenate(([0], np.cumsum(tokens == ids[unknown])))
    seen_words = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(readable).take(words.indices)
    )
    return Encoded(
        seen=cast("pa.StringArray", pc.binary_join(seen_words, " ")),
        tokens=tokens,
        lengths=lengths,
        n_unknown=(n_unknown[offsets[1:]] - n_unknown[offsets[:-1]]).astype(np.int32),
    )


class OfWords:
    """Base class of word-level models: it encodes sentences with their vocabulary."""

    card: ModelCard
    vocabulary: Vocabulary
    _ids: dict[str, int]

    def __repr__(self) -> str:
        return self.card.show(self)

    def protocol_of_words(self, dtype: str = "float32") -> dict[str, Json]:
        """Return the choices in the presentation of sentences, for the card."""
        return {
            "start": self.vocabulary.start,
            "state": "fresh",
            "unknown": self.vocabulary.unknown,
            "lowercase": self.vocabulary.lowercase,
            "dtype": dtype,
        }

    @property
    def unreadable(self) -> str:
        """Description of the sentences that `too_long` returns, for messages."""
        return f"with words that {self.card.name} does not know"

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Encode sentences as word ids; each distinct word is looked up once."""
        if len(unreadable := sentences.filter(pa.array(self.too_long(sentences)))):
            raise ModelError(
                f"the sentence {quoted_text(unreadable[0].as_py())} has a word that the model "
                f"{self.card.name} does not know.\n"
                "  Remove the sentence, or add --too-long skip, which skips unknown words too."
            )
        # If there is no symbol for unknown words, the start symbol is used; no sentence contains unknown
        # words here.
        unknown = self.vocabulary.unknown or self.vocabulary.start
        return encode_words(self._ids, sentences, unknown, self.vocabulary.lowercase)

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences cannot be read: if there is no unknown symbol, those with unknown words."""
        if self.vocabulary.unknown is not None:
            return np.zeros(len(sentences), dtype=np.bool_)
        split, _ = words_and_lengths(sentences)
        words = split.flatten().dictionary_encode()
        distinct = [str(word) for word in words.dictionary.to_pylist()]
        if self.vocabulary.lowercase:
            distinct = [word.lower() for word in distinct]
        is_known = pa.array([word in self._ids for word in distinct], pa.bool_()).take(words.indices)
        is_unreadable = np.zeros(len(sentences), dtype=np.bool_)
        is_unreadable[pc.list_parent_indices(split).filter(pc.invert(is_known)).to_numpy()] = True
        return is_unreadable
