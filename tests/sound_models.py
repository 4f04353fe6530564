"""Correct models, one for each protocol. The kit accepts them, and the broken models derive from them."""

import numpy as np
import pyarrow as pa
import torch

from tseval.scoring.protocol import Encoded, ModelCard
from tseval.testing.sentences import default_sentences

WORDS = sorted({word for sentence in default_sentences() for word in sentence.split()})
UNK = "<unk>"


def number(*words):
    """Return a log-probability that depends only on the words and is the same in every process."""
    return -1.0 - sum(ord(letter) * (i + 1) for i, letter in enumerate(" ".join(words))) % 997 / 100


class Sound:
    """A correct sentence model: the number of a word depends on that word and the word before."""

    def __init__(self):
        self.card = ModelCard("sound", "test", "0" * 64, {"start": "none"}, {})

    def word_logprobs(self, sentences):
        return [self.score(text.split()) for text in sentences]

    def score(self, words):
        return [number(*words[max(0, i - 1) : i + 1]) for i in range(len(words))]


class Whole:
    """A model that gives one number for a sentence, computed from a slice of its words."""

    def __init__(self, cut=slice(None)):
        self.card, self.cut = Sound().card, cut

    def sentence_logprobs(self, sentences):
        return [sum(Sound().score(text.split()[self.cut])) for text in sentences]


class Recurrent:
    """A model whose state is the last word; a word's number depends on itself and the word before."""

    row_bytes = 8

    def __init__(self):
        self.card = ModelCard("state", "test", "0" * 64, {}, {"vocabulary": len(WORDS) + 1})
        self.ids = {word: i for i, word in enumerate([*WORDS, UNK])}

    def encode(self, sentences):
        seen = [[w if w in self.ids else UNK for w in text.split()] for text in sentences.to_pylist()]
        return Encoded(
            seen=pa.array([" ".join(words) for words in seen]),
            tokens=np.array([self.ids[word] for words in seen for word in words]),
            lengths=np.array([len(words) for words in seen]),
            n_unknown=np.array([words.count(UNK) for words in seen], dtype=np.int32),
        )

    def start(self):
        return (torch.zeros(1, dtype=torch.int64),)

    def advance(self, state, tokens):
        return (torch.from_numpy(tokens),)

    def logprobs(self, state, rows, tokens):
        logits = np.array([[(7 * a + 3 * b) % 11 for b in self.ids.values()] for a in self.ids.values()])
        table = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return table[state[0].numpy()[rows], tokens].astype(np.float32)


class Tokens:
    """A token model in which every word is two tokens."""

    warnings = ()
    batch_tokens = 256

    def __init__(self):
        self.card = ModelCard("tokens", "test", "0" * 64, {}, {})

    def encode(self, sentences):
        texts = sentences.to_pylist()
        words = [word for text in texts for word in text.split()]
        ids = [token for word in words for token in (len(word), sum(word.encode()))]
        lengths = np.array([len(text.split()) for text in texts])
        none = np.zeros(len(texts), dtype=np.int32)
        return Encoded(sentences, np.array(ids), lengths, none, np.full(len(words), 2))

    def token_texts(self, tokens):
        return [str(token) for token in tokens]

    def token_logprobs(self, encoded, batch_tokens):
        numbers = np.empty(len(encoded.tokens), dtype=np.float32)
        for start in range(0, len(numbers), batch_tokens):
            logits = np.ones((len(encoded.tokens[start : start + batch_tokens]), 2**13))
            numbers[start : start + batch_tokens] = (
                -encoded.tokens[start : start + batch_tokens] * logits[:, 0] / 99
            )
        return numbers, len(numbers)
