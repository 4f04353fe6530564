"""Look-up of words in a model's vocabulary."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.errors import ModelError
from tseval.scoring.protocol import RecurrentModel, ReportingModel, TokenModel
from tseval.scoring.scorers import scorer_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.scoring.protocol import Model


def known_to(model: Model) -> Callable[[str], bool]:
    """Return a function that checks whether a model knows a word; each word is looked up once."""
    if not isinstance(model, RecurrentModel | TokenModel | ReportingModel):
        raise ModelError(
            f"{model.card.name} does not tell tseval which words are in its vocabulary.\n"
            "  Write the vocabulary into a text file, one word a line, and name the file: --vocab "
            "words.txt"
        )
    scorer = scorer_for(model)

    @cache
    def knows(word: str) -> bool:
        text = pa.array([word], pa.string())
        return not scorer.too_long(text)[0] and not scorer.encoded(text).n_unknown[0]

    return knows
