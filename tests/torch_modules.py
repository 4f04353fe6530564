"""Torch modules that predict words, of the usual kinds, as users write them."""

import torch
from torch import nn
from torch.nn import functional as F


class RNNModel(nn.Module):
    """Like PyTorch's word_language_model: time first, the caller passes the state, flat log-probabilities."""

    def __init__(self, n, hidden=6, layers=2):
        super().__init__()
        self.n, self.hidden, self.layers = n, hidden, layers
        self.drop = nn.Dropout(0.5)
        self.encoder = nn.Embedding(n, hidden)
        self.rnn = nn.LSTM(hidden, hidden, layers, dropout=0.5)
        self.decoder = nn.Linear(hidden, n)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.n)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, size):
        weight = next(self.parameters())
        return tuple(weight.new_zeros(self.layers, size, self.hidden) for _ in range(2))


class BatchFirst(nn.Module):
    def __init__(self, n, bidirectional=False, width=None):
        super().__init__()
        self.embedding = nn.Embedding(n, 6)
        self.lstm = nn.LSTM(6, 6, batch_first=True, bidirectional=bidirectional)
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(12 if bidirectional else 6, width or n)

    def forward(self, x, state=None):
        output, state = self.lstm(self.embedding(x), state)
        return self.head(self.dropout(output)), state


class GPT(nn.Module):
    """Like nanoGPT: without targets, logits of the last position; with `all_places`, of all positions."""

    def __init__(self, n, all_places=True, block=12):
        super().__init__()
        self.all_places, self.block = all_places, block
        self.wte, self.wpe = nn.Embedding(n, 8), nn.Embedding(block, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
        self.lm_head = nn.Linear(8, n, bias=False)

    def forward(self, idx, targets=None):
        t = idx.shape[1]
        assert t <= self.block, f"{t} tokens are more than {self.block}"
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        x = self.layer(self.wte(idx) + self.wpe(torch.arange(t)), src_mask=mask)
        return self.lm_head(x if self.all_places else x[:, [-1]]), None


def made(kind, n, *arguments, **keywords):
    torch.manual_seed(1)
    module = kind(n, *arguments, **keywords)
    for weight in module.parameters():
        nn.init.uniform_(weight, -1, 1)
    return module
