"""tseval inside lm-eval, run offline with the real program: its models, and its suites as tasks."""

import json
import logging
import os
import re
from functools import partialmethod

import pytest
import torch
import transformers
import yaml
from checkpoints import save_causal
from in_process import refuse, run_process, succeed, succeeded
from lm_eval.__main__ import cli_evaluate
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager
from small import write_lines

import tseval
from tseval.lm_eval_tasks import TsevalLM
from tseval.models import bundled_checkpoints
from tseval.models.checkpoint import load_checkpoint
from tseval.suites import load_suite

# lm-eval imports libraries that use deprecated imports.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

GROUP = "tseval_marvin_linzen"
LIMIT = 4


def command(*arguments, cwd):
    offline = {"HF_DATASETS_OFFLINE": "1", "HF_HOME": str(cwd / "hub")}
    return succeeded(run_process([*map(str, arguments)], cwd=cwd, env=os.environ | offline))


def lm_eval_there(*arguments, cwd):
    """Run `tseval lm-eval` in a separate process, as users do; return lm-eval's log."""
    return command("tseval", "lm-eval", "--model", "tseval", *arguments, cwd=cwd).stderr


@pytest.fixture
def lm_eval_here(tmp_path, monkeypatch, caplog):
    """Yield a function that runs `tseval lm-eval` in this process and gives its log; set an empty cache.

    lm-eval would take seconds to list its thousands of tasks and the machine's properties.
    """
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hub")
    monkeypatch.setattr(TaskManager, "__init__", partialmethod(TaskManager.__init__, include_defaults=False))
    monkeypatch.setattr("torch.utils.collect_env.get_pretty_env_info", str)
    logger = logging.getLogger("lm_eval")

    def here(*arguments, cwd):
        caplog.clear()
        succeed("lm-eval", "--model", "tseval", *arguments, cwd=cwd)
        return caplog.text

    logger.addHandler(caplog.handler)  # its messages do not reach the root logger
    yield here
    logger.removeHandler(caplog.handler)


def answers(folder):
    """Return lm-eval's result for every item: (case, item, contrast) to correct or wrong."""
    found = {}
    for path in folder.rglob("samples_*.jsonl"):
        for line in path.read_text().splitlines():
            sample = json.loads(line)
            doc = sample["doc"]
            found[doc["case"], doc["item"], doc["contrast"]] = bool(sample["acc"])
    return found


def verdicts(spec):
    run = tseval.evaluate(tseval.load_model(spec), load_suite("marvin_linzen", limit=LIMIT))
    rows = run.verdicts[["case", "item", "contrast", "correct"]].itertuples(index=False, name=None)
    return {(case, item, contrast): correct for case, item, contrast, correct in rows}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    place = tmp_path_factory.mktemp("lm-eval")
    succeed("export", "lm-eval", "marvin_linzen", "-o", "tasks", "--limit", LIMIT, cwd=place)
    return place


def test_every_row_of_the_table_is_a_task_of_the_group(tasks):
    group = yaml.safe_load((tasks / "tasks" / f"{GROUP}.yaml").read_text())
    suite = load_suite("marvin_linzen", limit=LIMIT)
    assert group["group"] == GROUP
    assert group["metadata"]["digest"] == suite.digest
    assert len(group["task"]) == 19  # the rows of Table 4
    lines = sum(len((tasks / "tasks" / f"{task}.jsonl").read_text().splitlines()) for task in group["task"])
    assert lines == suite.n_contrasts


def test_a_model_of_tseval_gets_from_lm_eval_what_it_gets_from_tseval(tasks, lm_eval_here):
    arguments = "--model_args", "checkpoint=bundled:lstm", "--include_path", "tasks", "--tasks", GROUP
    more = "--output_path", "ours", "--log_samples"
    lm_eval_here(*arguments, *more, cwd=tasks)
    assert answers(tasks / "ours") == verdicts("bundled:lstm")
    # The group's number is the mean over the rows of the table, with equal weights.
    results = json.loads(next((tasks / "ours").rglob("results_*.json")).read_text())
    run = tseval.evaluate("bundled:lstm", load_suite("marvin_linzen", limit=LIMIT))
    rows = run.verdicts.groupby(["phenomenon", "dependency", "construction", "contrast"])["correct"].mean()
    assert len(rows) == 19
    assert results["groups"][GROUP]["acc,none"] == pytest.approx(rows.mean())
    assert rows.mean() != pytest.approx(run.verdicts["correct"].mean())


@pytest.mark.usefixtures("lm_eval_here")
def test_lm_evals_own_model_gets_on_the_tasks_what_hf_gets_from_tseval(tasks, monkeypatch):
    model = save_causal(tasks / "tiny", n_positions=128)
    arguments = "--model_args", f"pretrained={model},softmax_dtype=float32,dtype=float32", "--device", "cpu"
    more = "--include_path", "tasks", "--tasks", GROUP, "--output_path", "theirs", "--log_samples"
    monkeypatch.chdir(tasks)
    monkeypatch.setattr("sys.argv", ["lm_eval", "--model", "hf", *arguments, *more])
    cli_evaluate()
    assert answers(tasks / "theirs") == verdicts(f"hf:{model}")


def test_continuations_are_scored_after_their_contexts_and_first_choices_told():
    checkpoint = load_checkpoint(bundled_checkpoints()["lstm"])
    ids, words = checkpoint.vocabulary.ids(), checkpoint.vocabulary.words

    def plain(tokens):
        """Return log-probabilities of all words of the vocabulary after each token."""
        with torch.no_grad():
            column = torch.tensor([[ids[token]] for token in ["<eos>", *tokens]])
            outputs, _ = checkpoint.model(column, checkpoint.model.initial_state(1))
            return checkpoint.model.output(outputs)[:, 0].double().log_softmax(-1)

    table = plain(["the", "authors"])
    favourite = words[int(table[2].argmax())]
    requests = ("The authors", f" {favourite}"), ("The authors", " laugh."), ("", "the"), ("the auth", "ors")
    model = TsevalLM("bundled:lstm")
    made = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(requests)]
    found = model.loglikelihood(made)
    laugh = plain(["the", "authors", "laugh"])
    expected = [
        table[2, ids[favourite]],
        laugh[2, ids["laugh"]] + laugh[3, ids["."]],
        table[0, ids["the"]],
        table[1, ids["authors"]],  # a word that begins in the context counts as a whole
    ]
    assert [logprob for logprob, _ in found] == pytest.approx([float(value) for value in expected], abs=1e-4)
    assert found[0][1]
    assert not found[1][1]
    assert found[2][1] == (words[int(table[0].argmax())] == "the")
    rolling = model.loglikelihood_rolling([Instance("loglikelihood_rolling", {}, ("The authors laugh.",), 0)])
    steps = [laugh[0, ids["the"]], laugh[1, ids["authors"]], expected[1]]
    assert rolling == pytest.approx([float(sum(steps))], abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", "lm-eval", "marvin_lin", "-o", "new"), "Did you mean 'marvin_linzen'?"),
        (("export", "lm-eval", "marvin_linzen", "-o", "full"), "full: this folder is not empty."),
        (("export", "lm-eval", "pairs.jsonl:two_prefix", "-o", "new"), "no method 'two_prefix'"),
        (("export", "lm-eval", "blimp.jsonl:two_prefix", "-o", "new"),
         "compares sentences with --score ending, which a task of lm-eval cannot"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_message(tmp_path, arguments, message):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("")
    (tmp_path / "pairs.jsonl").write_text('{"good": "a", "bad": "b"}')
    record = {
        "UID": "x", "pairID": "0", "field": "syntax", "linguistics_term": "binding", "sentence_good": "a",
        "sentence_bad": "b", "two_prefix_method": True, "two_prefix_prefix_good": "a",
        "two_prefix_prefix_bad": "b", "two_prefix_word": "c",
    }  # fmt: skip
    (tmp_path / "blimp.jsonl").write_text(json.dumps(record))
    assert message in refuse(*arguments, cwd=tmp_path).stderr


@pytest.mark.usefixtures("lm_eval_here")
def test_a_model_that_is_not_there_is_one_message_in_lm_eval_too(tasks):
    arguments = "--model", "tseval", "--model_args", "checkpoint=no.pt", "--include_path", "tasks"
    said = refuse("lm-eval", *arguments, "--tasks", GROUP, cwd=tasks).stderr
    assert "tseval: no.pt: file not found" in said


@pytest.mark.slowest
def test_a_cache_and_a_folder_of_results_hold_models_apart(tmp_path, lm_eval_here):
    """Two models with one tokenizer get different numbers, and a cache that both use works for both."""
    pairs = [("the author laughs .", "the author laugh ."), ("the authors laugh .", "the authors laughs .")]
    write_lines(tmp_path / "pairs.jsonl", [{"good": good, "bad": bad} for good, bad in pairs])
    succeed("export", "lm-eval", "./pairs.jsonl", "-o", "tasks", cwd=tmp_path)
    models = {"model-a": save_causal(tmp_path / "model-a"), "model-b": save_causal(tmp_path / "model-b")}
    other = transformers.AutoModelForCausalLM.from_pretrained(models["model-b"])
    with torch.no_grad():
        other.transformer.wte.weight.normal_(0, 0.5)
    other.save_pretrained(models["model-b"])
    cached = []
    for name, by in (("model-a", lm_eval_here), ("model-b", lm_eval_here), ("model-a", lm_eval_there)):
        where = "--include_path", "tasks", "--tasks", "tseval_pairs", "--use_cache", "cache", "--log_samples"
        arguments = "--model_args", f"checkpoint=hf:{name},tokenise=false", "--output_path", "out"
        cached += re.findall("Cached requests: (.*?),", by(*arguments, *where, cwd=tmp_path))
    assert cached == ["0", "0", "4"]
    folders = sorted((tmp_path / "out").iterdir())
    assert [folder.name[:7] for folder in folders] == ["model-a", "model-b"]
    assert [len([*folder.glob("results_*")]) for folder in folders] == [2, 1]
    for folder in folders:
        model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / folder.name[:7])
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / folder.name[:7])
        for path in folder.glob("samples_*"):
            for line in path.read_text().splitlines():
                sample = json.loads(line)
                asked = [one["arg_1"].strip() for one in sample["arguments"].values()]
                for text, (found, *_) in zip(asked, sample["filtered_resps"], strict=True):
                    ids = torch.tensor([[0, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
                    with torch.no_grad():
                        table = model(ids[:, :-1]).logits[0].double().log_softmax(1)
                    right = table.gather(1, ids[0, 1:, None]).sum().item()
                    assert float(found) == pytest.approx(right, abs=1e-3)
