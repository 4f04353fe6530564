"""The base class of subword models, which encodes sentences with their tokenizer."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Self

from tseval.pretrained.pieces import LEFT_OUT, Pieces
from tseval.pretrained.tokenizer import form_read

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tseval.pretrained.opened import Pretrained
    from tseval.scoring.protocol import Encoded, ModelCard
    from tseval.writing import Writing


class OfPieces:
    """Base class of subword models: it encodes sentences with their tokenizer."""

    card: ModelCard
    n_special: int  # number of special tokens added to a sentence

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
        """Rules for writing tokens as natural text; None if the model reads tokens unchanged."""
        return self._pieces.rules

    def writing(self, rules: Writing) -> Self:
        """Return the same model that reads sentences as natural text; see `WritingModel`."""
        model = copy(self)
        model._pieces = self._pieces.writing(rules)
        model.card = self.card.reading("natural")
        return model

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces."""
        encoded = self._pieces.encode(sentences)
        word = self._pieces.incomplete
        if word is not None and not any(warning.startswith(LEFT_OUT) for warning in self.warnings):
            self.warnings.append(
                f"{LEFT_OUT} (first word: {word!r}); words with such letters count as unknown"
            )
        self.opened.check_fits(encoded, self.n_special)
        return encoded

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences are too long for the model; see `BoundedModel`."""
        return self._pieces.too_long(sentences, self.opened.longest, self.n_special)

    def token_texts(self, tokens: np.ndarray) -> list[str]:
        """Return the text of each token."""
        return self._pieces.texts(tokens)
