"""BLiMP as lm-eval scores it: tseval gives the same verdicts as lm-eval itself, item by item."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkpoints import bpe_tokenizer, save_causal
from untokenised import untokenised_pairs, write_untokenised

import tseval
from tseval.adapters import open_model

pytestmark = pytest.mark.slow

lm_eval = pytest.importorskip("lm_eval")
PAIRS = untokenised_pairs()
TASK = "blimp_untokenised"
# The start of a text, by the special tokens of the tokenizer.
MARKS: dict[str, dict[str, str | None]] = {
    "bos": {"bos": "<pad>", "eos": "<|endoftext|>"},
    "eos": {"bos": None, "eos": "<|endoftext|>"},
    "none": {"bos": None, "eos": None},
}


@pytest.fixture(autouse=True)
def machine_not_listed(monkeypatch):
    """Skip lm-eval's list of the machine's properties, which takes a second for each result."""
    monkeypatch.setattr("torch.utils.collect_env.get_pretty_env_info", str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lm-eval")


@pytest.fixture(scope="module")
def suite(folder):
    return tseval.load_suite(str(write_untokenised(folder / "pairs.jsonl", PAIRS)))


@pytest.fixture(scope="module")
def saved(folder):
    texts = [sentence for pair in PAIRS for sentence in pair]
    for start, marks in MARKS.items():
        tokenizer = bpe_tokenizer(size=500, texts=texts, **marks)
        save_causal(folder / start, tokenizer=tokenizer, n_positions=128)
    return folder


def opened_by_lm_eval(path, **arguments) -> Any:
    from lm_eval.models.huggingface import HFLM  # noqa: PLC0415 - takes seconds

    exact = {"dtype": "float32", "softmax_dtype": "float32"}
    return HFLM(pretrained=str(path), device="cpu", batch_size=16, **exact, **arguments)


def answers_of_lm_eval(folder, model):
    """Run lm-eval's own task on our pairs; only the data is replaced."""
    from lm_eval.tasks import TaskManager  # noqa: PLC0415 - takes seconds

    rows = [{"sentence_good": good, "sentence_bad": bad} for good, bad in PAIRS]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    tasks = folder / "tasks"
    tasks.mkdir(exist_ok=True)
    task = {
        "include": str(Path(lm_eval.__file__).parent / "tasks/blimp/_template_yaml"),
        "task": TASK,
        "dataset_path": "json",
        "dataset_kwargs": {
            "data_files": {"train": str(folder / "data.jsonl")},
            "cache_dir": str(folder / "cache"),
        },
    }
    (tasks / f"{TASK}.yaml").write_text(yaml.safe_dump(task))
    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    found = lm_eval.simple_evaluate(model, tasks=[TASK], task_manager=manager, bootstrap_iters=0)
    samples = sorted(found["samples"][TASK], key=lambda sample: sample["doc_id"])
    assert [sample["doc"]["sentence_good"] for sample in samples] == [good for good, _ in PAIRS]
    return [sample["acc"] == 1 for sample in samples]


@pytest.mark.parametrize("start", ["bos", "eos"])
def test_with_a_leading_space_the_verdicts_are_those_of_lm_evals_blimp(folder, saved, suite, start):
    theirs = answers_of_lm_eval(folder, opened_by_lm_eval(saved / start))
    model = open_model(f"hf:{saved / start}", {"leading_space": "true"})
    assert model.card.protocol["start"] == start
    assert tseval.evaluate(model, suite).verdicts["correct"].tolist() == theirs
    without = tseval.evaluate(open_model(f"hf:{saved / start}"), suite).verdicts["correct"].tolist()
    assert without != theirs


def test_without_any_mark_lm_eval_needs_a_token_and_then_agrees(folder, saved, suite):
    assert opened_by_lm_eval(saved / "none").prefix_token_id is None
    arguments = {"leading_space": "true", "bos": "<pad>"}
    model: Any = open_model(f"hf:{saved / 'none'}", arguments)
    theirs = answers_of_lm_eval(folder, opened_by_lm_eval(saved / "none", prefix_token_id=model.starts[0]))
    assert tseval.evaluate(model, suite).verdicts["correct"].tolist() == theirs


def test_without_any_mark_what_is_decided_is_what_lm_eval_says_after_the_first_token(saved, suite):
    model: Any = open_model(f"hf:{saved / 'none'}", {"leading_space": "true"})
    ids = [[model.tokenizer.encode(f" {sentence}") for sentence in pair] for pair in PAIRS]
    # If a sentence begins with its start token, lm-eval reads that token and does not score it.
    requests = [(("", ""), one[:1], one[1:]) for pair in ids for one in pair]
    scores = [logprob for logprob, _ in opened_by_lm_eval(saved / "none")._loglikelihood_tokens(requests)]
    verdicts = tseval.evaluate(model, suite).verdicts
    assert verdicts["undecidable"].tolist() == [good[0] != bad[0] for good, bad in ids]
    assert 5 < verdicts["undecidable"].sum() < 100
    theirs = [good > bad for good, bad in zip(scores[::2], scores[1::2], strict=True)]
    decided = ~verdicts["undecidable"].to_numpy()
    assert verdicts["correct"][decided].tolist() == [
        right for right, counts in zip(theirs, decided, strict=True) if counts
    ]
