"""Write recurrent language models as users save them, and their log-probabilities of a text.

Run `python write.py FOLDER`. It runs in a separate process that imports torch and Lightning, and no part of
tseval. `expected.json` has, for each file, the log-probabilities in nats of the words of each sentence, by
the model's own forward pass.
"""

import json
import pickle
import sys
import warnings
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

import pytorch_lightning as lightning
import torch
from torch import nn
from torch.utils.data import DataLoader

TEXT = ["the author laughs .", "the guard near the author laughs .", "an author near the guard laugh ."]
SENTENCES = ["the author laughs .", "the guard near an author laughs .", "an guard laugh ."]


class Dictionary:
    """The dictionary of PyTorch's word_language_model."""

    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1


def dictionary():
    made = Dictionary()
    for line in TEXT:
        for word in [*line.split(), "<eos>"]:
            made.add(word)
    return made


DICTIONARY = dictionary()
WORDS = DICTIONARY.idx2word


class RNNModel(nn.Module):
    """PyTorch's word_language_model."""

    def __init__(self, kind, layers, tied, **options):
        super().__init__()
        width = hidden = 6
        if not tied:
            hidden = 5
        self.drop = nn.Dropout(0.5)
        self.encoder = nn.Embedding(len(WORDS), width)
        if kind in ("LSTM", "GRU"):
            self.rnn = getattr(nn, kind)(width, hidden, layers, dropout=0.5 * (layers > 1), **options)
        else:
            self.rnn = nn.RNN(width, hidden, layers, nonlinearity=kind[4:].lower(), **options)
        self.decoder = nn.Linear(options.get("proj_size", hidden), len(WORDS))
        if tied:
            self.decoder.weight = self.encoder.weight

    def forward(self, ids):
        outputs, _ = self.rnn(self.drop(self.encoder(ids)))
        return self.decoder(self.drop(outputs)).log_softmax(-1)


class Usual(nn.Module):
    """The same model with other names, batch first, and optionally without biases."""

    def __init__(self, bias=True, width=6):
        super().__init__()
        self.embed = nn.Embedding(len(WORDS), width)
        self.lstm = nn.LSTM(width, 6, 2, batch_first=True, bias=bias)
        self.fc = nn.Linear(6, len(WORDS), bias=bias)

    def forward(self, ids):
        return self.fc(self.lstm(self.embed(ids.T))[0]).log_softmax(-1).transpose(0, 1)


class Cells(nn.Module):
    """A model whose layers are separate modules."""

    def __init__(self):
        super().__init__()
        self.word_vectors = nn.Embedding(len(WORDS), 4)
        self.layers = nn.ModuleList([nn.GRU(4, 7), nn.GRU(7, 5)])
        self.to_vocab = nn.Linear(5, len(WORDS))

    def forward(self, ids):
        found = self.word_vectors(ids)
        for layer in self.layers:
            found, _ = layer(found)
        return self.to_vocab(found).log_softmax(-1)


class WeightDrop(nn.Module):
    """Merity et al. 2018: raw recurrent weights are stored, and copied into a layer for each window."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        raw = module.weight_hh_l0
        del module._parameters["weight_hh_l0"]
        module.register_parameter("weight_hh_l0_raw", nn.Parameter(raw.data))

    def forward(self, inputs):
        rnn = nn.LSTM(self.module.input_size, self.module.hidden_size)
        rnn.load_state_dict({
            name.removesuffix("_raw"): weight for name, weight in self.module.named_parameters()
        })  # fmt: skip
        return rnn(inputs)


class AWD(nn.Module):
    """AWD-LSTM: three layers of 6, 9 and 6 units, tied, weight-dropped."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(len(WORDS), 6)
        self.rnns = nn.ModuleList([WeightDrop(nn.LSTM(a, b)) for a, b in ((6, 9), (9, 9), (9, 6))])
        self.decoder = nn.Linear(6, len(WORDS))
        self.decoder.weight = self.encoder.weight

    def forward(self, ids):
        found = self.encoder(ids)
        for rnn in self.rnns:
            found, _ = rnn(found)
        return self.decoder(found).log_softmax(-1)


class Module(lightning.LightningModule):
    def __init__(self, kind="LSTM", layers=1, tied=False):
        super().__init__()
        self.save_hyperparameters()
        self.model = RNNModel(kind, layers, tied)
        self.criterion = nn.NLLLoss()

    def training_step(self, batch, _):
        return self.criterion(self.model(batch[:-1]).flatten(0, 1), batch[1:].flatten())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


def drawn(model, kind="LSTM"):
    deviation = 0.5 if kind == "RNN_RELU" else 1.0  # ReLU is unbounded: rounding grows with the state
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=deviation)
    return model.eval()


def logprobs(model):
    found = []
    for sentence in SENTENCES:
        ids = torch.tensor([WORDS.index(word) for word in ["<eos>", *sentence.split()]])
        with torch.no_grad():
            table = model(ids[:-1, None])[:, 0].double().log_softmax(1)
        found.append(table.gather(1, ids[1:, None])[:, 0].tolist())
    return found


def training(model, kind="LSTM"):
    """Return a training dictionary after a step of Adam, with settings and a Dictionary."""
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.zeros(2, 1, dtype=torch.long)).sum().backward()
    optimizer.step()
    return {
        "epoch": 3,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
        "args": Namespace(model=kind, lr=20.0, cuda=True),
        "dictionary": DICTIONARY,
        "counts": Counter(word for line in TEXT for word in line.split()),
        "best": torch.tensor(4.5),
    }


def main(folder):
    expected = {}

    def save(name, value, model, **options):
        torch.save(value, folder / f"{name}.pt", **options)
        expected[name] = logprobs(model)

    words: Any = [torch.zeros(3, 1, dtype=torch.long)]
    text = DataLoader(words, batch_size=None)
    torch.manual_seed(0)
    for kind in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"):
        for tied in (False, True):
            for layers in (1, 2):
                name = f"{kind}-{layers}{'-tied' if tied else ''}"
                model = drawn(RNNModel(kind, layers, tied), kind)
                save(f"{name}-state", model.state_dict(), model)
                if (layers, tied) != (2, False):
                    continue
                save(f"{name}-old", model.state_dict(), model, _use_new_zipfile_serialization=False)
                save(f"{name}-ddp", nn.DataParallel(model).state_dict(), model)
                compiled: Any = torch.compile(model)
                save(f"{name}-compiled", compiled.state_dict(), model)
                save(f"{name}-training", training(model, kind), model)
                module = Module(kind, layers, tied)
                drawn(module.model, kind)
                trainer = lightning.Trainer(
                    max_steps=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False, accelerator="cpu", default_root_dir=folder,
                )  # fmt: skip
                trainer.fit(module.train(), text)
                trainer.save_checkpoint(folder / f"{name}-lightning.pt")
                expected[f"{name}-lightning"] = logprobs(module.model.eval())
    others = {
        "projected": drawn(RNNModel("LSTM", 2, False, proj_size=3)),
        "usual": drawn(Usual()),
        "without-biases": drawn(Usual(bias=False)),
        "cells": drawn(Cells()),
        "awd": drawn(AWD()),
    }
    for name, model in others.items():
        save(name, model.state_dict(), model)
        save(f"{name}-words", {"net": model.state_dict(), "stoi": DICTIONARY.word2idx}, model)
    half = drawn(Usual()).bfloat16()
    torch.save(half.state_dict(), folder / "bfloat16.pt")
    expected["bfloat16"] = logprobs(half.float())
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "words.json").write_text(json.dumps(WORDS))
    (folder / "ids.json").write_text(json.dumps(DICTIONARY.word2idx))
    with (folder / "dictionary.pkl").open("wb") as file:
        pickle.dump(DICTIONARY, file)
    torch.save(DICTIONARY, folder / "dictionary.pth")
    (folder / "train.txt").write_text("\n".join(TEXT[:2]) + "\n")
    (folder / "valid.txt").write_text(TEXT[2] + "\n")
    (folder / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
