"""Words between spaces are tokenised one time each: the pieces must equal those of whole sentences."""

import numpy as np
import pyarrow as pa
import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from tseval.pretrained.pieces import Pieces
from tseval.writing import LANGUAGES

TEXT = "the The author authors near guards laugh laughs can't n't , . -- über naïve 12,345 <s> > </b> </i>"
WORDS = TEXT.split()
CORPUS = [" ".join(np.random.default_rng(seed).choice(WORDS, 9)) for seed in range(300)]
SPACE = normalizers.Replace(" ", "▁")


def bpe(corpus, pre_tokenizer=None, normalizer=None, alphabet=()):
    """Train a BPE; without a pre-tokenizer, its pieces may contain spaces."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.normalizer = pre_tokenizer, normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "<unk>"], initial_alphabet=list(alphabet), show_progress=False
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def byte_level():
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer = bpe(CORPUS, pre_tokenizers.ByteLevel(add_prefix_space=False), None, alphabet)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def marked(normalizer=SPACE):
    """Replace spaces by marks, and split nothing beforehand, as for Gemma."""
    tokenizer = bpe(CORPUS, pre_tokenizers.Split("▁", "merged_with_next"), normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([])
    return tokenizer


def reaching():
    """Learn pieces across spaces, so that some contain one."""
    return bpe(CORPUS, None, SPACE)


def prefixed():
    """Also put a mark before the text, as for Llama."""
    return marked(normalizers.Sequence([normalizers.Prepend("▁"), SPACE]))


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=["<s>", "<unk>"], show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<s>", "<unk>"], unk_token="<unk>", show_progress=False
    )  # fmt: skip
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def greedy():
    """Add a token that includes the spaces around it."""
    tokenizer = byte_level()
    tokenizer.add_tokens([AddedToken("guards", lstrip=True, rstrip=True)])
    return tokenizer


def lookbehind():
    """Split a word depending on the word before it."""
    split = pre_tokenizers.Split(Regex(r"(?<=the) a| ?[^ ]+"), "isolated")
    return bpe(CORPUS, split)


TOKENIZERS = [byte_level, marked, reaching, prefixed, word_piece, unigram, greedy, lookbehind]


@pytest.mark.parametrize("writing", [None, "english"])
@pytest.mark.parametrize("leading_space", [False, True])
@pytest.mark.parametrize("kind", TOKENIZERS, ids=lambda kind: kind.__name__)
def test_pieces_are_those_of_whole_sentences(kind, leading_space, writing):
    backend = kind()
    rules = LANGUAGES[writing] if writing else None
    pieces = Pieces(PreTrainedTokenizerFast(tokenizer_object=backend), leading_space, "single", rules)
    sentences = [*CORPUS[:40], *(" ".join(text.split()[::-1]) for text in CORPUS[:40])]
    plain = [text for text in CORPUS if "<" not in text and "guards" not in text]
    # As in shards: the words of the third are already cached; added tokens are in all but the first.
    for some in (plain, sentences[:50], sentences[30:]):
        texts = [rules.write(text)[0] if rules else text for text in some]
        expected = [
            backend.encode(leading_space * " " + text, add_special_tokens=False).ids for text in texts
        ]
        encoded = pieces.encode(pa.array(some))
        assert encoded.tokens.tolist() == [token for ids in expected for token in ids]
        assert encoded.token_counts.tolist() == [len(ids) for ids in expected]
        assert encoded.pieces.sum() == len(encoded.tokens)
