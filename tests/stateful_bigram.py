"""A bigram model with a state (`RecurrentModel`), for the package of docs/tutorial-own-checkpoint.md."""

import numpy as np
import pyarrow as pa
import torch
from tseval_bigram import START, UNKNOWN, Bigram

from tseval.scoring.protocol import Encoded


class StatefulBigram(Bigram):
    row_bytes = 8  # one int64

    def encode(self, sentences):
        """Convert sentences to the vocabulary: the words as seen, word ids, numbers of unknown words."""
        seen = [self.see(text) for text in sentences.to_pylist()]
        ids = {word: i for i, word in enumerate([*self.words, START])}
        return Encoded(
            seen=pa.array([" ".join(words) for words in seen]),
            tokens=np.array([ids[word] for words in seen for word in words]),
            lengths=np.array([len(words) for words in seen]),
            n_unknown=np.array([words.count(UNKNOWN) for words in seen], dtype=np.int32),
        )

    def start(self):
        """Return the state after the start symbol, one row."""
        return (torch.tensor([len(self.words)]),)

    def advance(self, state, tokens):
        """Read one word more in every row."""
        return (torch.from_numpy(tokens),)

    def logprobs(self, state, rows, tokens):
        """Return log-probabilities of words, each after the prefix in its row."""
        names = [*self.words, START]
        before = state[0].numpy()[rows]
        values = [self.logprob(names[b], names[t]) for b, t in zip(before, tokens, strict=True)]
        return np.array(values, dtype=np.float32)
