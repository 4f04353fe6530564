"""Training text: vocabulary, encoding, columns, and what is said about bad files."""

import gzip
from collections import Counter

import pytest
import torch

from tseval.errors import TrainingError
from tseval.models import Vocabulary
from tseval.training.corpus import columns, count_words, encode_text, file_facts

TEXT = "The author laughs .\nThe pilots laugh .\n\nThe author smiles .\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_the_vocabulary_is_the_most_frequent_words_ties_in_order_of_the_alphabet():
    counts = Counter("bbaacddd")
    vocabulary = Vocabulary.from_counts(counts, size=3, min_count=1, lowercase=False)
    assert vocabulary.words == ("<eos>", "<unk>", "d", "a", "b")
    assert Vocabulary.from_counts(counts, size=None, min_count=3, lowercase=False).words[2:] == ("d",)


def test_text_becomes_one_stream_with_eos_around_every_sentence(text):
    vocabulary = Vocabulary(("<eos>", "<unk>", "the", "author", "laughs", "."), lowercase=True)
    assert encode_text([text], vocabulary).tolist() == [0, 2, 3, 4, 5, 0, 2, 1, 1, 5, 0, 2, 3, 1, 5, 0]


def test_case_is_kept_unless_lowered(text):
    assert count_words([text], lowercase=False)["The"] == 3
    assert count_words([text], lowercase=True)["the"] == 3


def test_gzip_is_read_like_plain_text(tmp_path, text):
    packed = tmp_path / "text.txt.gz"
    packed.write_bytes(gzip.compress(TEXT.encode(), mtime=0))
    assert count_words([packed], lowercase=False) == count_words([text], lowercase=False)
    assert file_facts(packed).tokens == file_facts(text).tokens == 12 + 3


def test_columns_are_consecutive_text():
    folded = columns(torch.arange(11), 3)
    assert folded.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_too_little_text_says_what_to_change():
    with pytest.raises(TrainingError, match="3 tokens: too few for a batch of 3"):
        columns(torch.arange(3), 3)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.txt", None, r"absent.txt: cannot be read"),
        ("broken.txt.gz", b"not gzip", r"broken.txt.gz: cannot be read"),
        ("cut.txt.gz", gzip.compress(TEXT.encode() * 50, mtime=0)[:-20], r"cut.txt.gz: cannot be read"),
        ("torn.txt.gz", gzip.compress(b"", mtime=0)[:10] + b"\xff" * 40, r"torn.txt.gz: cannot be read"),
        ("latin.txt", "caf\xe9\n".encode("latin-1"), r"latin.txt: not UTF-8 text"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TrainingError, match=message):
        count_words([path], lowercase=False)


def test_a_text_without_words_is_refused(tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(TrainingError, match="no words in the text"):
        encode_text([tmp_path / "empty.txt"], Vocabulary(("<eos>", "<unk>"), lowercase=False))
