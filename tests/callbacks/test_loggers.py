"""Numbers that loggers receive during training: TensorBoard, W&B, Lightning's loggers, a function."""

import csv
import importlib.util
import json
from typing import Any

import pytest
import pytorch_lightning as lightning
import torch
from small import make_case, make_suite
from small_trainer import make_trainer, save_tokenizer, watch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn
from transformers import TrainerCallback

from tseval.callbacks import LightningCallback, evaluate_during
from tseval.errors import SuiteError
from tseval.runs import read_run

GRAMMAR = """---
construction: {construction}
phenomenon: {phenomenon}
lexicon: lexicon.yaml
slots: {{subject: noun.a, other: noun.b, verb: verb.main}}
---
grammatical: the {{{{ subject }}}} {between} {{{{ verb | agree(subject) }}}}
ungrammatical: the {{{{ subject }}}} {between} {{{{ verb | disagree(subject) }}}}
"""
LEXICON = "noun: {a: [author, pilot, king], b: [guard, chef, queen]}\nverb: {main: [laughs, swims, works]}\n"
MOMENTS = [0, 4, 8, 12]
TAGS = {
    "tseval/agree/mean",
    "tseval/agree/agreement",
    "tseval/agree/agreement/across_a_pp",
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loggers")
    save_tokenizer(folder)
    grammar = GRAMMAR.format(
        construction="Across a PP", phenomenon="Agreement", between="near the {{ other }}"
    )
    (folder / "agree.jinja").write_text(grammar)
    (folder / "lexicon.yaml").write_text(LEXICON)
    return folder


class Seen(TrainerCallback):
    """A user's callback that records every log of the Trainer."""

    def __init__(self):
        self.logs = []

    def on_log(self, args, state, control, logs=None, **_):
        self.logs.append((state.global_step, dict(logs)))


def counted(run):
    """Return the share of correct items, counted by hand from the verdicts."""
    verdicts = run.verdicts
    return int(verdicts["correct"].sum()) / len(verdicts)


def events_of(folder):
    """Read all event files below a folder as TensorBoard does: tag to {step: value}."""
    found = {}
    for file in sorted(folder.rglob("events.out.tfevents.*")):
        accumulator = EventAccumulator(str(file))
        accumulator.Reload()
        for tag in accumulator.Tags()["scalars"]:
            found.setdefault(tag, []).extend(accumulator.Scalars(tag))
    return found


def test_tensorboard_has_the_mean_each_phenomenon_and_each_row_of_a_real_trainer(folder, monkeypatch):
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(folder / "events"))
    seen = Seen()
    trainer = make_trainer(
        folder, folder / "run", watch(folder, folder / "gpt2"), seen,
        report_to=["tensorboard"], max_steps=12, logging_steps=4, save_strategy="no",
    )  # fmt: skip
    trainer.train()
    events = events_of(folder)
    runs = {step: read_run(folder / f"gpt2/step-{step:06d}") for step in MOMENTS}
    for tag in TAGS:
        values = events[f"train/{tag}"]  # transformers adds train/ before every name
        assert [event.step for event in values] == MOMENTS
        assert [event.value for event in values] == pytest.approx([counted(runs[step]) for step in MOMENTS])
    # The loss of the same steps is there too: a second log in a step does not replace the first.
    assert [event.step for event in events["train/loss"]] == [4, 8, 12]
    # So every callback that receives logs has the numbers, and the history has each number one time.
    told = [(step, logs["tseval/agree/mean"]) for step, logs in seen.logs if "tseval/agree/mean" in logs]
    assert told == [(step, counted(runs[step])) for step in MOMENTS]
    history = [row for row in trainer.state.log_history if "tseval/agree/mean" in row]
    assert [row["step"] for row in history] == MOMENTS
    assert all(row["tseval_agree"] == row["tseval/agree/mean"] for row in history)
    json.dumps(trainer.state.log_history)


def test_weights_and_biases_has_the_numbers_offline(folder, monkeypatch):
    if importlib.util.find_spec("wandb") is None:
        pytest.skip("wandb is not installed")
    import wandb  # noqa: PLC0415 - most machines do not have it

    for name, value in {"MODE": "offline", "DIR": str(folder), "SILENT": "true"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    trainer = make_trainer(
        folder, folder / "wandb-run", watch(folder, folder / "wandb-gpt2"),
        report_to=["wandb"], max_steps=4, save_strategy="no",
    )  # fmt: skip
    trainer.train()
    summary = dict(wandb.run.summary)
    wandb.finish()
    run = read_run(folder / "wandb-gpt2/step-000004")
    assert {tag: summary[f"train/{tag}"] for tag in TAGS} == dict.fromkeys(TAGS, counted(run))


WORDS = ["the", "author", "pilots", "laughs", "laugh", ".", "<eos>"]
SUITE = make_suite(
    make_case("a", [("the author laughs", "the author laugh"), ("the pilots laugh", "the pilots laughs")])
)


class Recurrent(nn.Module):
    """A language model that gives logits of the next word at each position."""

    def __init__(self):
        super().__init__()
        self.embedding, self.rnn = nn.Embedding(7, 8), nn.GRU(8, 8, batch_first=True)
        self.out = nn.Linear(8, 7)

    def forward(self, ids):
        return self.out(self.rnn(self.embedding(ids))[0])


class Module(lightning.LightningModule):
    """A training step as Lightning users write it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = Recurrent()

    def training_step(self, batch, _):
        logits = self.net(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5)

    def train_dataloader(self):
        ids = torch.tensor([[6, 0, 1, 3, 5], [6, 0, 2, 4, 5]])
        rows: Any = list(ids.repeat(20, 1))
        return torch.utils.data.DataLoader(rows, batch_size=2)


def train_with_lightning(folder, *callbacks, logger=None, **settings):
    module = Module()
    lightning.Trainer(
        accelerator="cpu", max_steps=6, logger=logger or [], callbacks=list(callbacks),
        default_root_dir=folder, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, log_every_n_steps=1, **settings,
    ).fit(module)  # fmt: skip
    return module


@pytest.mark.filterwarnings("ignore")
def test_the_loggers_of_lightning_have_the_numbers_and_the_training_does_not_notice(tmp_path):
    def model_of(module) -> Any:
        return module.net, WORDS

    loggers = [
        lightning.loggers.CSVLogger(tmp_path, "csv", ""),
        lightning.loggers.TensorBoardLogger(tmp_path, "board", ""),
    ]
    callback: Any = LightningCallback(SUITE, tmp_path / "gru", 4, model=model_of)
    trained = train_with_lightning(tmp_path, callback, logger=loggers, accumulate_grad_batches=2)
    steps = [0, 4, 6]
    assert sorted(path.name for path in (tmp_path / "gru").iterdir()) == [f"step-{n:06d}" for n in steps]
    right = {step: counted(read_run(tmp_path / f"gru/step-{step:06d}")) for step in steps}
    (name,) = {f"tseval/{SUITE.name}/mean"}
    with (tmp_path / "csv/metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row[name]]
    assert {int(row["step"]): float(row[name]) for row in rows} == right
    events = events_of(tmp_path / "board")
    assert {event.step: event.value for event in events[name]} == right
    plain = train_with_lightning(tmp_path / "plain", accumulate_grad_batches=2)
    for mine, theirs in zip(trained.parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_callback_of_lightning_says_what_it_cannot_do():
    with pytest.raises(SuiteError, match="is 0, but must be 1 or more"):
        LightningCallback(SUITE, "out", 0, model=lambda module: (module.net, WORDS))


def test_a_loop_of_ones_own_logs_with_a_function():
    torch.manual_seed(0)
    logged = []
    run = evaluate_during((Recurrent(), WORDS), SUITE, None, 7, log=lambda *given: logged.append(given))
    ((numbers, step),) = logged
    assert step == 7
    assert numbers == run.means()
    assert numbers[f"tseval/{SUITE.name}/mean"] == counted(run)
