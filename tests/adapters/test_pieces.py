"""Pieces and the words they belong to, against splitting every beginning of a sentence."""

from itertools import pairwise

import pyarrow as pa
import pytest
import transformers
from checkpoints import TEXT, bpe_tokenizer, wordpiece_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tseval.adapters.words import Pieces
from tseval.errors import ModelError

BPE = bpe_tokenizer()
WORDPIECE = wordpiece_tokenizer()
# Letters, accents, letters outside the basic plane, digits, marks.
WORDS = st.text("abtheαé𝒜7.'", min_size=1, max_size=6)
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8)


def metaspace_tokenizer():
    """Pieces as SentencePiece makes them for Llama: a space is a letter, and may be a piece of its own."""
    letters = ["▁", "<unk>", *"abcdefghijklmnopqrstuvwxyz.", "▁t", "▁th"]
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("▁", "t"), ("▁t", "h")], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


METASPACE = metaspace_tokenizer()


def counts_by_beginnings(tokenizer, text, prefix=""):
    words = text.split(" ")
    sizes = [0]
    for n in range(len(words)):
        sizes.append(len(tokenizer.encode(prefix + " ".join(words[: n + 1]), add_special_tokens=False)))
    return [after - before for before, after in pairwise(sizes)]


@pytest.mark.parametrize("tokenizer", [BPE, METASPACE], ids=["bpe", "metaspace"])
@pytest.mark.parametrize("leading_space", [False, True])
@settings(max_examples=40, deadline=None)
@given(texts=SENTENCES)
def test_every_piece_belongs_to_the_word_it_spells(tokenizer, leading_space, texts):
    encoded = Pieces(tokenizer, leading_space).encode(pa.array(texts))
    prefix = " " if leading_space else ""
    ids = [tokenizer.encode(prefix + text, add_special_tokens=False) for text in texts]
    assert encoded.tokens.tolist() == [token for one in ids for token in one]
    expected = [count for text in texts for count in counts_by_beginnings(tokenizer, text, prefix)]
    assert encoded.pieces.tolist() == expected
    assert encoded.lengths.tolist() == [len(text.split(" ")) for text in texts]


@settings(max_examples=40, deadline=None)
@given(texts=SENTENCES)
def test_without_offsets_the_pieces_are_the_same(texts):
    fast = Pieces(BPE, leading_space=False).encode(pa.array(texts))
    tokens, pieces = Pieces(BPE, leading_space=False)._by_beginnings(texts)
    assert tokens.tolist() == fast.tokens.tolist()
    assert pieces.tolist() == fast.pieces.tolist()


def test_a_sentence_is_seen_as_its_words():
    texts = pa.array(sorted(TEXT))
    assert Pieces(BPE, leading_space=False).encode(texts).seen.to_pylist() == texts.to_pylist()
    assert Pieces(BPE, leading_space=True).encode(texts).seen.to_pylist() == texts.to_pylist()


def test_unknown_words_and_case_are_seen_as_the_tokenizer_sees_them():
    encoded = Pieces(WORDPIECE, leading_space=False).encode(pa.array(["The author ☃ .", "the author ☂ ."]))
    assert encoded.seen.to_pylist() == ["the author [UNK] ."] * 2
    assert encoded.n_unknown.tolist() == [1, 1]


def test_a_sentence_that_the_tokenizer_drops_is_an_error():
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, [])))
    with pytest.raises(ModelError, match="leaves nothing of the sentence '☃'"):
        Pieces(fast, leading_space=False).encode(pa.array(["a", "☃"]))


GAPS = st.sampled_from([" ", "  ", "\n", " \n", "\t", "\u00a0"])
SPACED = st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=6).map(
    lambda parts: "".join(word + gap for word, gap in parts).strip()
)


@pytest.mark.parametrize("tokenizer", [BPE, METASPACE], ids=["bpe", "metaspace"])
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(SPACED, min_size=1, max_size=6))
def test_kept_white_space_reaches_the_tokenizer_and_belongs_to_the_word_before_it(tokenizer, texts):
    encoded = Pieces(tokenizer, leading_space=False, white_space="kept").encode(pa.array(texts))
    assert encoded.lengths.tolist() == [len(text.split()) for text in texts]
    tokens, pieces = [], []
    for text in texts:
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        tokens += found["input_ids"]
        begins = [len(text) - len(text.split(None, n)[-1]) for n in range(1, len(text.split()))]
        words = [sum(stop > begin for begin in begins) for _, stop in found["offset_mapping"]]
        pieces += [words.count(n) for n in range(len(begins) + 1)]
    assert encoded.tokens.tolist() == tokens
    assert encoded.pieces.tolist() == pieces
    assert encoded.pieces.sum() == len(tokens)


def test_white_space_is_kept_where_pieces_say_where_they_stand():
    with pytest.raises(ModelError, match="white_space=kept: the tokenizer is slow"):
        Pieces(transformers.ByT5Tokenizer(), leading_space=False, white_space="kept")
