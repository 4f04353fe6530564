"""Functions in a file and modules in memory: numbers equal those of plain loops over the modules."""

import hashlib
import json
import math
import random
import runpy
import sys
from contextlib import chdir
from typing import Any

import pyarrow as pa
import pytest
import torch
from in_process import call, installed, refuse, run_process, succeed, succeeded
from own_models import NO_STATE, TESTS, WORDS, Own
from pages import write_files
from small import make_case, make_suite
from torch import nn
from torch_modules import GPT, BatchFirst, RNNModel, made

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.runs import read_run
from tseval.scoring.scorers import scorer_for
from tseval.scoring.surprisal import surprisals

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


class Changed(BatchFirst):
    """A module whose output is a function of its logits."""

    def __init__(self, n, change):
        super().__init__(n)
        self.change = change

    def forward(self, x, state=None):
        return self.change(super().forward(x, state)[0])


def flattened(logits):
    """Return a dictionary whose logits have one row for each position of the batch."""
    return {"hidden": None, "logits": logits.flatten(0, 1)}


class NeedsState(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.inner = BatchFirst(n)

    def forward(self, x, state):
        return self.inner(x, state)[0]


FIRST = "module(ids), ids (batch, time), output "
# A module, a plain way to read one sentence with it, and the way of reading that tseval must find.
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
    "flat": (lambda: made(Changed, len(LIST), flattened), flat, f"{FIRST}(batch*time, words)"),
    "state of None": (
        lambda: made(NeedsState, len(LIST)), needs_state,
        "module(ids, None), ids (batch, time), output (batch, time, words)",
    ),
}  # fmt: skip


@torch.no_grad()
def plainly(module, sentence, read):
    """Return the log-probability of each word, from one pass over `<eos>` and the words."""
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
    for words in (WORDS, {word: i for i, word in reversed([*enumerate(LIST)])}):
        assert scored(open_model((module, words))) == scored(model)
    with pytest.raises(ModelError, match="stays on its device and takes no arguments"):
        open_model((module, LIST), device="cpu")


def changed(change):
    return lambda: (Changed(len(LIST), change), LIST)


# Errors for modules that are passed with their words, and for other objects.
UNREADABLE: dict[str, Any] = {
    "bidirectional": (lambda: (made(BatchFirst, len(LIST), bidirectional=True), LIST), "is not causal"),
    "narrow": (lambda: (made(BatchFirst, 9, width=7), LIST[:9]), "for a word, but there are 9 words"),
    "NaN": (changed(lambda logits: logits * math.nan), "returns NaN"),
    "probabilities": (changed(lambda logits: logits.softmax(-1)), "the module returns probabilities"),
    "drops units": (changed(nn.functional.dropout), "so the module keeps a state or is random"),
    "mixes rows": (changed(lambda logits: logits + logits.mean(0)), "on the other sentences of the batch"),
    "all in one": (changed(lambda logits: logits.sum((0, 1))), "with ids (3, 5) returns the shape (22,)"),
    "no tensor": (changed(lambda _: []), "module(ids) returns no tensor"),
    "constant": (changed(lambda logits: logits * 0), "must depend on the word itself"),
    "few": (lambda: (made(BatchFirst, 5, width=len(LIST)), LIST), "raises IndexError: index out of range"),
    "no start": (
        lambda: (made(BatchFirst, 3), ["<unk>", "a", "b"]),
        "no other symbol that tseval can put before a sentence",
    ),
    "ids with holes": (lambda: (made(BatchFirst, 3), {"<eos>": 0, "<unk>": 2}), "each id from 0 to n-1 once"),
    "numbers": (lambda: (made(BatchFirst, 3), [1, 2, 3]), "must be a list of strings"),
    "no words": (lambda: made(BatchFirst, 3), "received BatchFirst, which is not a model.\n  Give"),
    "three": (lambda: (1, 2, 3), "load_model received (int, int, int), which is not a model."),
}  # fmt: skip


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
    assert run.manifest.model.name == "RNNModel"
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (random.getstate(), {part: part.training for part in module.modules()})
    loss = -module(torch.tensor([[3]]), module.init_hidden(1))[0].max()
    loss.backward()  # scoring keeps nothing that prevents training
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


# Functions in a file, used by commands.
PLAIN = """
import helper


def load(seed=1, scale=helper.SCALE, note=None):
    print("this is no result")
    torch.manual_seed(seed)
    module = RNNModel(len(WORDS))
    for weight in module.parameters():
        nn.init.uniform_(weight, -scale, scale)
    return module, WORDS
"""
WRONG_FUNCTIONS = """

def raises():
    inner()


def inner():
    torch.zeros(2) @ torch.zeros(3)


def leaves():
    raise SystemExit("no weights here")


def needs(folder):
    return None


def gives_text():
    return "a model"


def gives_nan():
    module = made(BatchFirst, len(WORDS))
    module.head.bias.data[0] = float("nan")
    return module, WORDS
"""


def write(folder, functions=PLAIN, name="mine.py"):
    """Write a Python file with a function, and the modules that it imports; return the file's path."""
    folder.mkdir(exist_ok=True)
    (folder / "helper.py").write_text("SCALE = 1.0\n")
    (folder / name).write_text(FILE + functions)
    return folder / name


@pytest.mark.slow
@torch.no_grad()
def test_a_run_by_command_has_the_numbers_of_the_module(tmp_path):
    write(tmp_path)
    arguments = "--limit", 3, "--case", "simple_agrmt", "--quiet", "--out", tmp_path / "run"
    ended = succeeded(installed("run", "--model", "./mine.py:load", *arguments, cwd=tmp_path))
    assert "this is no result" not in ended.stdout
    run = read_run(tmp_path / "run")
    module = made(RNNModel, len(LIST))
    for row in run.load_sentences().to_pylist():
        assert row["words"] == pytest.approx(plainly(module, row["sentence"], rnn), abs=1e-5)
    card = run.manifest.model
    assert (card.name, card.protocol["function"], card.protocol["file"]) == (
        "mine", "load", hashlib.sha256((tmp_path / "mine.py").read_bytes()).hexdigest(),
    )  # fmt: skip
    assert str(tmp_path) not in json.dumps([card.protocol, card.details])


def test_arguments_are_typed_and_stand_in_the_signature_without_their_paths(tmp_path):
    path = write(tmp_path)
    (tmp_path / "note").write_text("one")
    spec, note = f"{path}:load", str(tmp_path / "note")
    cards = [open_model(spec, arguments).card for arguments in
             ({}, {"seed": "2"}, {"scale": "0.5"}, {"note": note}, {"note": "none"})]  # fmt: skip
    assert len({card.fingerprint for card in cards}) == 3
    assert cards[3].protocol["arguments"] == f"note={hashlib.sha256(b'one').hexdigest()}"
    assert [card.protocol.get("arguments") for card in (*cards[:3], cards[4])] == [
        None, "seed=2", "scale=0.5", "note=none",
    ]  # fmt: skip


def test_two_files_have_modules_of_one_name_beside_them(tmp_path):
    first, second = write(tmp_path / "a"), write(tmp_path / "b")
    (tmp_path / "b" / "helper.py").write_text("SCALE = 0.5\n")
    cards = [open_model(f"{path}:load").card for path in (first, second, first)]
    assert cards[0].fingerprint == cards[2].fingerprint != cards[1].fingerprint
    assert "helper" not in sys.modules


@pytest.mark.slow
def test_other_commands_take_a_function(tmp_path):
    write(tmp_path)
    model = "--model", "mine.py:load", "--model-args", "seed=1"
    (tmp_path / "text").write_text("the author laughs .\n")
    expected = -sum(plainly(made(RNNModel, len(LIST)), "the author laughs .", rnn))
    lines = succeed("surprisal", *model, "text", cwd=tmp_path).stdout.splitlines()
    found = sum(float(line.split("\t")[4]) for line in lines[1:])
    assert found == pytest.approx(expected, abs=1e-4)
    checked = succeed("check-model", "mine.py:load", "--sentences", "text", cwd=tmp_path)
    assert "mine, checked as a TokenModel" in checked.stdout
    succeed("run", *model, "--limit", 2, "--case", "simple_agrmt", "--quiet", "--out", "run", cwd=tmp_path)
    rerun = succeed("verify", "run", "--rescore", "all", *model, cwd=tmp_path).stdout
    assert "largest difference 0 nats" in rerun
    (tmp_path / "mine.py").write_text(FILE + PLAIN.replace("-scale, scale", "-scale, scale / 2"))
    assert call("verify", "run", "--rescore", "all", *model, cwd=tmp_path).returncode != 0


@pytest.mark.slowest
def test_a_sweep_names_runs_by_files_and_functions(tmp_path):
    path = write(tmp_path, PLAIN + "\n\ndef other():\n    return load(2)\n")
    write(tmp_path, name="your.py")
    (tmp_path / "plan.yaml").write_text(
        "models: ['[my]*.py:load', ./mine.py:other, {model: 'mine.py:load', args: {seed: 3}, name: third}]\n"
        "suites: [marvin_linzen]\noptions: {case: [simple_agrmt], limit: 2}\nout: out\n"
    )
    sweep = ["tseval", "sweep", "plan.yaml"]
    succeeded(run_process(sweep, cwd=tmp_path))
    runs = [path.parent for path in (tmp_path / "out").glob("*/manifest.json")]
    names = {run.name: read_run(run).manifest.model for run in runs}
    assert {name: card.name for name, card in names.items()} == {
        "mine-marvin_linzen": "mine", "mine-other-marvin_linzen": "mine-other",
        "your-marvin_linzen": "your", "third-marvin_linzen": "mine",
    }  # fmt: skip
    assert len({card.fingerprint for card in names.values()}) == 3
    assert "(4 of them finished earlier)" in succeeded(run_process(sweep, cwd=tmp_path)).stderr
    path.write_text(path.read_text().replace("load(2)", "load(4)"))
    assert "(1 of them finished earlier)" in run_process(sweep, cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("spec", "arguments", "said"),
    [
        ("none.py:load", "", "none.py: No such file or directory.\n  Name a Python file"),
        ("mine.py", "", "mine.py is a Python file, not a model.\n  Name the function in it that returns a"),
        ("mine.py:lod", "", "mine.py has no function 'lod'. Did you mean 'load'? Functions: "),
        ("mine.py:load", "sed=1", "mine.py:load takes no argument 'sed'. Did you mean 'seed'? Arguments: "),
        ("mine.py:needs", "", "mine.py:needs needs a value for folder.\n  Add --model-args folder=VALUE"),
        ("mine.py:raises", "", "  line {inner}, in inner: torch.zeros(2) @ torch.zeros(3)\nRuntimeError: "),
        ("mine.py:leaves", "", "SystemExit: no weights here\n"),
        ("mine.py:gives_text", "", "mine.py:gives_text returns str, which is not a model.\n  Give an object"),
        ("mine.py:gives_nan", "", "mine-gives_nan (BatchFirst) cannot be used: the module returns NaN."),
        ("broken.py:load", "", "SyntaxError: "),
        ("function:mine", "", "function:mine: the model must be named as FILE.py:FUNCTION"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_one_message(tmp_path, spec, arguments, said):
    path = write(tmp_path, PLAIN + WRONG_FUNCTIONS)
    (tmp_path / "broken.py").write_text("def load(:\n")
    lines = path.read_text().splitlines()
    said = said.replace("{inner}", str(lines.index("    torch.zeros(2) @ torch.zeros(3)") + 1))
    ended = refuse("pair", "--model", spec, "--model-args", arguments, "a", "b", cwd=tmp_path)
    message = ended.stderr.removeprefix("this is no result\n")
    assert said in message
    assert "function(**keywords)" not in message, "a line of ours"
    assert len(message) <= 500


def test_a_function_gives_a_model_of_ours(tmp_path):
    path = write(tmp_path, "import tseval\n\n\ndef load():\n    return tseval.load_model('bundled:lstm')\n")
    model, plain = open_model(f"{path}:load"), open_model("bundled:lstm")
    assert (model.card.name, model.card.fingerprint) == ("mine", plain.card.fingerprint)
    assert {**plain.card.protocol, "function": "load"} == {
        name: value for name, value in model.card.protocol.items() if name != "file"
    }
    assert scored(model) == scored(plain)


def test_nothing_runs_a_file_that_is_not_named_with_a_function(tmp_path):
    write(tmp_path, "raise SystemExit('run')\n")
    assert "SystemExit" not in succeed("models", cwd=tmp_path).stdout
    assert "SystemExit" not in refuse("pair", "--model", "mine.py", "a", "b", cwd=tmp_path).stderr


TRANSFORMERS = """
def load(folder):
    import transformers
    model = getattr(transformers, HEAD).from_pretrained(folder)
    return model.train(), transformers.AutoTokenizer.from_pretrained(folder)
"""


@pytest.mark.parametrize("scheme", ["hf", "mlm"])
def test_a_model_of_transformers_has_the_numbers_of_its_own_adapter(tmp_path, scheme):
    import transformers  # noqa: PLC0415 - takes seconds
    from checkpoints import save_causal, save_masked  # noqa: PLC0415 - takes seconds

    head = {"hf": "AutoModelForCausalLM", "mlm": "AutoModelForMaskedLM"}[scheme]
    folder = {"hf": save_causal, "mlm": save_masked}[scheme](tmp_path / "saved")
    plain = scored(open_model(f"{scheme}:{folder}"))
    path = write(tmp_path, TRANSFORMERS.replace("HEAD", repr(head)))
    model: Any = open_model(f"{path}:load", {"folder": str(folder)})
    assert (model.card.name, model.card.protocol["arguments"]) == ("mine", "folder=folder")
    live: Any = getattr(transformers, head).from_pretrained(folder).train()
    in_memory = open_model((live, transformers.AutoTokenizer.from_pretrained(folder)))
    assert in_memory.card.name == "saved"
    for one in (model, in_memory):
        assert scored(one) == [pytest.approx(row, abs=1e-5) for row in plain]
    assert live.training


# The page's module in memory, and any object with the methods of a sentence model.
LIVE = """import tseval
from mine import Lstm

words = ["<eos>", "<unk>", "the", "author", "guards", "laughs", "laugh", "."]
run = tseval.evaluate((Lstm(len(words)), words), "marvin_linzen")
print(run.manifest["model"]["details"]["read"])
"""
ONE = """import hashlib
import math
from collections import Counter
from pathlib import Path

from tseval.scoring.protocol import ModelCard


class Unigram:
    def __init__(self, path):
        text = path.read_bytes()
        self.counts = Counter(text.decode().split())
        self.total = self.counts.total() + len(self.counts) + 1  # one unknown word
        digest = hashlib.sha256(text).hexdigest()
        self.card = ModelCard("unigram", "unigram", digest, {"smoothing": "add one"}, {})

    def word_logprobs(self, sentences):
        return [[self.logprob(word) for word in text.split()] for text in sentences]

    def logprob(self, word):
        return math.log((self.counts[word] + 1) / self.total)


def load(text):
    return Unigram(Path(text))
"""


@pytest.mark.slowest
def test_the_examples_of_the_page_run_as_they_stand(tmp_path):
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    write_files(TESTS.parent / "docs" / "adapters.md", tmp_path)
    (tmp_path / "words.txt").write_text("\n".join(LIST))
    (tmp_path / "text.txt").write_text("the author laughs .\n")
    (tmp_path / "live.py").write_text(LIVE)
    (tmp_path / "one.py").write_text(ONE)
    with chdir(tmp_path):
        assert run_process(["python", "live.py"], check=True).stdout == f"{FIRST}(batch, time, words)\n"
        module = runpy.run_path("mine.py")["Lstm"](len(LIST))
        torch.save(module.state_dict(), "lstm.pt")
        own = open_model("./mine.py:load", {"weights": "lstm.pt"})
        assert scored(own) == scored(open_model((module, LIST)))
        given = open_model("one.py:load", {"text": "text.txt"})
        assert scored(given, ["the ."]) == [[pytest.approx(math.log(2 / 9))] * 2]
        folder = save_causal(tmp_path / "saved")
        changed = open_model("changed.py:load", {"folder": str(folder)})
    assert (changed.card.name, changed.card.kind) == ("changed", "hf")
    assert scored(changed) != scored(open_model(f"hf:{folder}"))


def test_start_unknown_and_case_are_found_from_the_words():
    words = ["<UNK>", "</s>", "The", "author", "laughs"]
    module = made(BatchFirst, 5)
    model: Any = open_model((module, words))
    said = model.card.protocol
    assert (said["start"], said["unknown"], said["lowercase"]) == ("</s>", "<UNK>", False)
    module.eval()
    with torch.no_grad():
        table = module(torch.tensor([[1, 2, 3, 0]]))[0][0].log_softmax(-1)
    expected = [float(table[place, word]) for place, word in enumerate([2, 3, 0])]
    assert scored(model, ["The author sings"]) == [pytest.approx(expected, abs=1e-5)]
    without = open_model((made(BatchFirst, 4), ["<s>", "the", "author", "laughs"]))
    suite = make_suite(
        make_case("one", [("The author", "the laughs"), ("the author", "the authors")]), terminator=None
    )
    assert tseval.evaluate(without, suite).verdicts["undecidable"].tolist() == [False, True]


def _function(what, folder, device):
    path = folder / "mine.py"
    path.write_text(FILE + "def load():\n    return made(RNNModel, len(WORDS)), WORDS\n")
    return Own(open_model(f"{path}:load", device=device), None, NO_STATE)


KINDS = {"function": _function}
