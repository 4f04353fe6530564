"""A real `transformers.Trainer` with the callback: its output, and that the training does not change."""

import gc
import json
import os
import signal
from pathlib import Path

import pytest
import torch
from in_process import call, run_process, succeed
from small_trainer import STEPS, make_trainer, save_tokenizer, watch
from systems import needs_posix

from tseval.adapters import open_model
from tseval.callbacks import TransformersCallback, as_causal, evaluate_during
from tseval.errors import ModelError, RunError, SuiteError
from tseval.evaluation import evaluate
from tseval.runs import read_run
from tseval.suites import load_suite

TESTS = Path(__file__).parents[1]
MOMENTS = [0, 4, 8, 12, 16, 20]
GRAMMAR = """---
construction: Across a PP
phenomenon: Agreement
lexicon: lexicon.yaml
slots: {subject: noun.a, other: noun.b, verb: verb.main}
---
grammatical: the {{ subject }} near the {{ other }} {{ verb | agree(subject) }}
ungrammatical: the {{ subject }} near the {{ other }} {{ verb | disagree(subject) }}
"""
LEXICON = "noun: {a: [author, pilot, king], b: [guard, chef, queen]}\nverb: {main: [laughs, swims, works]}\n"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run a training with the callback and one without it."""
    folder = tmp_path_factory.mktemp("trainer")
    save_tokenizer(folder)
    (folder / "agree.jinja").write_text(GRAMMAR)
    (folder / "lexicon.yaml").write_text(LEXICON)
    make_trainer(folder, folder / "plain").train()
    make_trainer(folder, folder / "whole", watch(folder, folder / "whole/gpt2")).train()
    return folder


@pytest.fixture(scope="module")
def broken(folder):
    """Kill a training in the middle of evaluation 16, after checkpoint 12; then run the program again."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    program = ["python", TESTS / "small_trainer.py", folder, "broken", "16"]
    killed = run_process(program, env=environment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    out = folder / "broken/gpt2"
    assert [path.name for path in sorted(out.iterdir())] == [f"step-{n:06d}" for n in MOMENTS[:5]]
    with pytest.raises(RunError, match="has an incomplete run"):
        read_run(out / "step-000016")
    before = (out / "step-000012/manifest.json").read_bytes()
    make_trainer(folder, folder / "broken", watch(folder, out)).train(resume_from_checkpoint=True)
    assert (out / "step-000012/manifest.json").read_bytes() == before  # with its seconds: not scored again
    counts = read_run(out / "step-000016").manifest.counts
    assert counts.resumed_sentences == counts.sentences > 0
    return out


def weights(folder, name):
    return (folder / name / f"checkpoint-{STEPS}/model.safetensors").read_bytes()


@pytest.mark.slow
def test_the_training_does_not_notice_the_callback(folder):
    assert weights(folder, "whole") == weights(folder, "plain")
    configs = [
        json.loads((folder / name / "checkpoint-20/config.json").read_text()) for name in ("whole", "plain")
    ]
    assert configs[0] == configs[1]


def test_a_model_in_memory_can_be_scored_and_is_as_it_was(folder):
    trainer = make_trainer(folder, folder / "unused")
    model = trainer.model.train()
    model.config.use_cache = True
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    scored = as_causal(model, trainer.processing_class, "mine")
    run = evaluate_during(scored, load_suite(folder / "agree.jinja", sample=3), None, 0)
    assert (run.manifest.model.name, run.manifest.counts.items) == ("mine", 3)
    assert (model.training, model.config.use_cache) == (True, True)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    with torch.no_grad():
        model.transformer.ln_f.bias[0] += 1
    assert as_causal(model, trainer.processing_class, "mine").card.fingerprint != scored.card.fingerprint


@pytest.mark.slow
def test_a_training_in_mixed_precision_is_scored_in_the_type_of_its_weights(folder):
    mixed = {"bf16": True, "max_steps": 4, "save_steps": 4}
    make_trainer(folder, folder / "mixed", watch(folder, folder / "mixed/gpt2"), **mixed).train()
    make_trainer(folder, folder / "plain16", **mixed).train()
    saved, plain = folder / "mixed/checkpoint-4", folder / "plain16/checkpoint-4"
    assert (saved / "model.safetensors").read_bytes() == (plain / "model.safetensors").read_bytes()
    live = read_run(folder / "mixed/gpt2/step-000004")
    (warning,) = live.manifest.warnings
    assert "writes sentences as natural text" in warning
    run = evaluate(open_model(f"hf:{saved}"), load_suite(folder / "agree.jinja", sample=12))
    assert live.sentences["logprob"].tolist() == pytest.approx(run.sentences["logprob"].tolist(), abs=1e-4)


def test_each_moment_is_a_run_with_its_step_and_its_own_weights(folder):
    runs = [read_run(path) for path in sorted((folder / "whole/gpt2").iterdir())]
    assert [run.manifest.model.details["step"] for run in runs] == MOMENTS
    assert len({run.manifest.model.fingerprint for run in runs}) == len(runs)
    assert {run.manifest.model.name for run in runs} == {"gpt2"}
    assert {(run.manifest.suite.complete, run.manifest.suite.sample) for run in runs} == {
        (False, "12 of each case, seed 0")
    }
    assert len({tuple(run.verdicts["item"]) for run in runs}) == 1
    assert runs[0].verdicts["item"].tolist() != list(range(12))


def test_a_moment_scores_as_the_checkpoint_that_was_saved_there(folder):
    suite = load_suite(folder / "agree.jinja", sample=12)
    saved = evaluate(open_model(f"hf:{folder}/whole/checkpoint-20"), suite)
    assert saved.manifest.model.details["step"] == 20
    assert saved.manifest.model.details["folder"] == "whole"
    live = read_run(folder / "whole/gpt2/step-000020")
    assert live.sentences["logprob"].tolist() == pytest.approx(saved.sentences["logprob"].tolist(), abs=1e-4)
    assert live.manifest.key.protocol == saved.manifest.key.protocol


@pytest.mark.slow
@needs_posix
def test_means_are_in_the_log_of_the_trainer_once(folder, broken):
    for name in ("whole", "broken"):
        log = json.loads((folder / name / "checkpoint-20/trainer_state.json").read_text())["log_history"]
        told = {row["step"]: row["tseval_agree"] for row in log if "tseval_agree" in row}
        assert [*told] == MOMENTS
        assert len([row for row in log if "tseval_agree" in row]) == len(MOMENTS)
        run = read_run(folder / "whole/gpt2/step-000008")
        assert told[8] == run.verdicts["correct"].mean()


@pytest.mark.slow
@needs_posix
def test_a_killed_training_that_goes_on_has_its_trajectory_whole_and_the_same(folder, broken):
    whole = folder / "whole/gpt2"
    assert weights(folder, "broken") == weights(folder, "whole")
    assert sorted(path.name for path in broken.iterdir()) == sorted(path.name for path in whole.iterdir())
    for path in whole.iterdir():
        for name in ("verdicts.parquet", "sentences.parquet", "table.md", "table.csv"):
            assert (path / name).read_bytes() == (broken / path.name / name).read_bytes(), path.name
    tables = [call("table", path, "--over", "step").stdout for path in (whole, broken)]
    assert tables[0] == tables[1]
    assert "|     0 |     4 |     8 |    12 |    16 |    20 |" in tables[0]
    succeed("verify", *broken.iterdir(), "--suite", folder / "agree.jinja")


@pytest.mark.slow
def test_a_resumed_training_that_went_another_way_replaces_what_it_left_behind(folder, tmp_path):
    out = tmp_path / "gpt2"
    make_trainer(folder, tmp_path / "run", watch(folder, out), save_steps=12, save_total_limit=1).train()
    left = read_run(out / "step-000020").manifest.model.fingerprint
    (checkpoint,) = (path for path in (folder / "whole").glob("checkpoint-12"))
    changed = make_trainer(folder, tmp_path / "run", watch(folder, out), learning_rate=0.02)
    torch.manual_seed(5)
    changed.train(resume_from_checkpoint=str(checkpoint))
    assert [path.name for path in sorted(out.iterdir())] == [f"step-{n:06d}" for n in MOMENTS]
    found = {n: read_run(out / f"step-{n:06d}").manifest.model.fingerprint for n in (12, 20)}
    assert found[12] == read_run(folder / "whole/gpt2/step-000012").manifest.model.fingerprint
    assert found[20] != left


def test_a_new_training_refuses_the_folder_of_another(folder):
    trainer = make_trainer(folder, folder / "other", watch(folder, folder / "whole/gpt2"))
    with torch.no_grad():
        trainer.model.transformer.wte.weight[5, 5] += 1
    before = (folder / "whole/gpt2/step-000000/manifest.json").read_bytes()
    with pytest.raises(RunError, match=r"gpt2/step-000000 has a run with other settings.*\(fingerprint: "):
        trainer.train()
    assert (folder / "whole/gpt2/step-000000/manifest.json").read_bytes() == before
    assert not (folder / "other/checkpoint-6").exists()  # the message came before the first step


def test_what_the_callback_cannot_do_is_said_before_training(folder, tmp_path):
    suite = load_suite(folder / "agree.jinja")
    with pytest.raises(SuiteError, match="is 0, but must be 1 or more"):
        TransformersCallback(suite, tmp_path, every=0)
    with pytest.raises(
        SuiteError, match="the argument `sample` draws items of a suite that the callback loads by its name"
    ):
        TransformersCallback(suite, tmp_path, every=1, sample=3)
    trainer = make_trainer(folder, tmp_path, TransformersCallback(suite, tmp_path / "t", every=5))
    trainer.processing_class = trainer.callback_handler.processing_class = None
    with pytest.raises(ModelError, match="has no tokenizer"):
        trainer.train()
    trainer.args.fsdp = ["full_shard"]
    state, control = trainer.state, trainer.control
    with pytest.raises(
        ModelError, match="the whole model in each process, but FSDP and DeepSpeed split the model"
    ):
        TransformersCallback(suite, tmp_path / "t", every=5).on_train_begin(trainer.args, state, control)
    gc.collect()


def test_only_the_first_process_writes(folder, tmp_path):
    trainer = make_trainer(folder, tmp_path, watch(folder, tmp_path / "gpt2"))
    trainer.state.is_world_process_zero = False
    trainer.state.max_steps = STEPS
    callback = trainer.callback_handler
    callback.on_train_begin(trainer.args, trainer.state, trainer.control)
    assert not (tmp_path / "gpt2").exists()
    trainer.state.is_world_process_zero = True
    callback.on_train_begin(trainer.args, trainer.state, trainer.control)
    assert (tmp_path / "gpt2/step-000000/manifest.json").exists()
