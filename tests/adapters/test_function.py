"""One function in one file, and models in memory: numbers against plain loops over the modules themselves."""

import random
from typing import Any

import pyarrow as pa
import pytest
import torch
from own_models import NO_STATE, TESTS, WORDS, Own
from torch import nn
from torch_modules import GPT, BatchFirst, RNNModel, made

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.scoring.scorers import scorer_for
from tseval.scoring.surprisal import surprisals
from tseval.testing import check_model

LIST = [*WORDS.words]
SENTENCES = sorted(
    {"the author laughs .", "the author near the guards laughs .", "the guards blicket .", "."}
)
FILE = f"{(TESTS / 'torch_modules.py').read_text('utf-8')}\n\nWORDS = {LIST!r}\n\n\n"


def rnn(module, ids):
    return module(ids[:, None], module.init_hidden(1))[0]


def batch_first(module, ids):
    return module(ids[None])[0][0].log_softmax(-1)


def last_alone(module, ids):
    return torch.cat([module(ids[None, : end + 1])[0][0].log_softmax(-1) for end in range(len(ids))])


def flat(module, ids):
    return module(ids[None])["logits"].log_softmax(-1)


def needs_state(module, ids):
    return module(ids[None], None)[0].log_softmax(-1)


class Flat(BatchFirst):
    """Its output is one row for each place of a batch; a dictionary holds it."""

    def forward(self, x):
        return {"hidden": None, "logits": super().forward(x)[0].flatten(0, 1)}


class NeedsState(BatchFirst):
    def forward(self, x, state):
        return super().forward(x, state)[0]


FIRST = "module(ids), ids (batch, time), output "
# A module, a plain way to read one sentence by it, and how it should be found to be read.
USUAL: dict[str, Any] = {
    "word_language_model": (
        lambda: made(RNNModel, len(LIST)), rnn,
        "module(ids, module.init_hidden(batch)), ids (time, batch), output (time*batch, words)",
    ),
    "batch first": (lambda: made(BatchFirst, len(LIST)), batch_first, f"{FIRST}(batch, time, words)"),
    "tiny GPT": (lambda: made(GPT, len(LIST)), batch_first, f"{FIRST}(batch, time, words)"),
    "last place": (
        lambda: made(GPT, len(LIST), all_places=False), last_alone, f"{FIRST}(batch, words) of the last place"
    ),
    "flat": (lambda: made(Flat, len(LIST)), flat, f"{FIRST}(batch*time, words)"),
    "state of None": (
        lambda: made(NeedsState, len(LIST)), needs_state,
        "module(ids, None), ids (batch, time), output (batch, time, words)",
    ),
}  # fmt: skip


@torch.no_grad()
def plainly(module, sentence, read):
    """Log-probability of each word, by one pass over `<eos>` and the words."""
    module.eval()
    ids = [LIST.index(word) if word in LIST else 1 for word in ["<eos>", *sentence.split()]]
    table = read(module, torch.tensor(ids))
    return [float(table[place, word]) for place, word in enumerate(ids[1:])]


def scored(model, sentences=SENTENCES):
    return scorer_for(model).score(pa.array(sentences))["words"].to_pylist()


@pytest.mark.parametrize("kind", USUAL)
def test_numbers_are_those_of_a_plain_loop_over_the_module(kind):
    make, read, said = USUAL[kind]
    module = make()
    model = open_model((module, LIST))
    assert model.card.details["read"] == said
    for found, sentence in zip(scored(model), SENTENCES, strict=True):
        assert found == pytest.approx(plainly(module, sentence, read), abs=1e-5), sentence


@pytest.mark.parametrize("kind", USUAL)
def test_a_module_passes_the_checks_of_all_models(kind):
    model = open_model((USUAL[kind][0](), LIST))
    check_model(model).raise_for_failures()


@pytest.mark.parametrize(
    "words", [WORDS, {word: i for i, word in reversed([*enumerate(LIST)])}], ids=["Vocabulary", "mapping"]
)
def test_words_come_in_other_forms(words):
    module = made(BatchFirst, len(LIST))
    assert scored(open_model((module, words))) == scored(open_model((module, LIST)))


# Errors of a module that is given with its words, and of what else is given.
UNREADABLE: dict[str, Any] = {
    "bidirectional": (lambda: (made(BatchFirst, len(LIST), bidirectional=True), LIST), "it is not causal"),
    "narrow": (lambda: (made(BatchFirst, len(LIST), width=7), LIST), f"7 numbers for a word, of {len(LIST)} words"),
    "NaN": (lambda: (NaN(len(LIST)), LIST), "gives NaN"),
    "probabilities": (lambda: (Softmax(len(LIST)), LIST), "probabilities, not logits"),
    "drops units": (lambda: (Dropping(len(LIST)), LIST), "a state is carried over, or drawn"),
    "mixes rows": (lambda: (Mixing(len(LIST)), LIST), "depend on those beside it"),
    "one number": (lambda: (One(len(LIST)), LIST), "of ids (3, 5) gives the shape (3, 5)"),
    "constant": (lambda: (Constant(len(LIST)), LIST), "does not depend on it"),
    "few": (lambda: (made(BatchFirst, 5, width=len(LIST)), LIST), "raises IndexError: index out of range"),
    "no <unk>": (lambda: (made(BatchFirst, 3), ["<eos>", "a", "b"]), "no <unk>"),
    "ids with holes": (lambda: (made(BatchFirst, 3), {"<eos>": 0, "<unk>": 2}), "must be 0 to 1, each once"),
    "a text": (lambda: (made(BatchFirst, 3), "abc"), "must be texts: a list"),
    "numbers": (lambda: (made(BatchFirst, 3), [1, 2, 3]), "must be texts: a list"),
    "no words": (lambda: made(BatchFirst, 3), "load_model got BatchFirst, which is no model.\n  It may be"),
    "nothing": (lambda: None, "load_model got NoneType, which is no model.\n  It may be"),
    "three": (lambda: (1, 2, 3), "load_model got (int, int, int), which is no model."),
}  # fmt: skip


class NaN(BatchFirst):
    def forward(self, x):
        return super().forward(x)[0] * float("nan")


class Softmax(BatchFirst):
    def forward(self, x):
        return super().forward(x)[0].softmax(-1)


class Dropping(BatchFirst):
    def forward(self, x):
        return nn.functional.dropout(super().forward(x)[0])


class Mixing(BatchFirst):
    def forward(self, x):
        logits = super().forward(x)[0]
        return logits + logits.mean(0, keepdim=True)


class Constant(BatchFirst):
    def forward(self, x):
        return super().forward(x)[0] * 0


class One(BatchFirst):
    def forward(self, x):
        return super().forward(x)[0].mean(-1)


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_refused_with_the_reason(what):
    make, said = UNREADABLE[what]
    with pytest.raises(ModelError) as error:
        open_model(make())
    assert said in str(error.value)
    assert len(str(error.value)) <= 500


def test_a_module_that_fails_later_is_named_with_what_it_raised():
    model = open_model((made(GPT, len(LIST)), LIST))
    with pytest.raises(
        ModelError, match=r"GPT: .*\(1, 21\) raises AssertionError: 21 tokens are more than 12"
    ):
        scored(model, [" ".join(["the"] * 21)])


def test_a_live_module_stays_as_it_was():
    module = made(RNNModel, len(LIST)).train()
    module.rnn.eval()
    random.seed(3)
    before = torch.get_rng_state(), random.getstate(), {part: part.training for part in module.modules()}
    run = tseval.evaluate((module, LIST), tseval.load_suite("marvin_linzen", cases="simple_agrmt", limit=5))
    surprisals(open_model((module, LIST)), SENTENCES)
    assert run.manifest["model"]["name"] == "RNNModel"
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (random.getstate(), {part: part.training for part in module.modules()})
    loss = -module(torch.tensor([[3]]), module.init_hidden(1))[0].max()
    loss.backward()  # nothing that it kept from being scored is in the way of its training
    assert module.encoder.weight.grad is not None


def test_the_fingerprint_is_that_of_weights_and_words():
    module = made(BatchFirst, len(LIST))
    card = open_model((module, LIST)).card
    assert open_model((made(BatchFirst, len(LIST)), LIST)).card.fingerprint == card.fingerprint
    other = [*LIST[:2], *reversed(LIST[2:])]
    assert open_model((module, other)).card.fingerprint != card.fingerprint
    with torch.no_grad():
        module.head.bias[0] += 1
    assert open_model((module, LIST)).card.fingerprint != card.fingerprint


def test_a_model_in_memory_takes_no_settings():
    with pytest.raises(ModelError, match="takes no arguments and no device"):
        open_model((made(BatchFirst, len(LIST)), LIST), device="cpu")


def test_what_satisfies_a_protocol_is_taken_as_it_is():
    model = open_model("bundled:lstm")
    assert open_model(model) is model


def _function(what, folder, device):
    path = folder / "mine.py"
    path.write_text(FILE + "def load():\n    return made(RNNModel, len(WORDS)), WORDS\n")
    return Own(open_model(f"{path}:load", device=device), None, NO_STATE)


KINDS = {"function": _function}
