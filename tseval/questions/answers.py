"""The meaning of a model's answer to a question about two sentences: the first, the second, or neither."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Columns of prompts: the model's answer as text and, if the model gives probabilities, the log-probabilities
# of the answers 1 and 2, in nats.
ANSWER, LOGPROB_1, LOGPROB_2 = "answer", "logprob_1", "logprob_2"
ANSWER_COLUMNS: dict[str, pa.DataType] = {
    ANSWER: pa.string(),
    LOGPROB_1: pa.float64(),
    LOGPROB_2: pa.float64(),
}
LONGEST_ANSWER = 200  # characters of an answer that are kept
# Marks around a number: "1", **1**, (1), <1>.
_MARKS = "\"'“”‘’«»`*_([<{#"
_NUMBER = re.compile(rf"[\s{re.escape(_MARKS)}]*([12])(?![\w])(?![.,]\d)")
_ALONE = re.compile(r"(?<![\w])([12])(?![\w])")


def read_answer(text: str) -> int:
    """Return 1 or 2 if an answer begins with this number and has no other number; else 0.

    >>> [read_answer(text) for text in ("2", " **1**.", "1. The author laughs.", "1 or 2", "12", "Neither.")]
    [2, 1, 1, 0, 0, 0]
    """
    first = _NUMBER.match(text)
    if first is None or len(set(_ALONE.findall(text))) > 1:
        return 0
    return int(first[1])


def read_answers(texts: pa.ChunkedArray[Any]) -> NDArray[np.int64]:
    """Return the choice of each answer, (answers,); each distinct text is read once."""
    column = cast("Any", texts.combine_chunks()).dictionary_encode()
    meanings = np.array([read_answer(str(text)) for text in column.dictionary.to_pylist()], dtype=np.int64)
    answers: NDArray[np.int64] = meanings[column.indices.to_numpy()]
    return answers
