"""A language model like PyTorch's example. Only the program that writes the pickles imports it."""

from torch import nn


class RNNModel(nn.Module):
    def __init__(self, kind, words, width, hidden, layers, tied=False):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(words, width)
        if kind in ("LSTM", "GRU"):
            self.rnn = getattr(nn, kind)(width, hidden, layers, dropout=0.2)
        else:
            self.rnn = nn.RNN(width, hidden, layers, nonlinearity=kind[4:].lower(), dropout=0.2)
        self.decoder = nn.Linear(hidden, words)
        if tied:
            self.decoder.weight = self.encoder.weight
        self.rnn_type, self.nhid, self.nlayers = kind, hidden, layers

    def forward(self, ids):
        outputs, _ = self.rnn(self.drop(self.encoder(ids)))
        return self.decoder(self.drop(outputs))
