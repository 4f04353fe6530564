"""The part of a column in the digest of a suite."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from tseval.questions.columns import hash_column

TEXTS = ["l'été", "", "дом", "the author laughs .", "𝄞"]


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (1, 4), (2, 2), (4, 5)])
def test_texts_have_the_digest_of_their_lengths_and_their_bytes_also_in_a_slice(start, stop):
    found, expected = hashlib.sha256(), hashlib.sha256()
    hash_column(found, pa.array(TEXTS).slice(start, stop - start))
    texts = TEXTS[start:stop]
    expected.update(np.array([len(text) for text in texts], dtype="<i4").tobytes())
    expected.update("".join(texts).encode())
    assert found.digest() == expected.digest()
