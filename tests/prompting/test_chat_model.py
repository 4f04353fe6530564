"""A local chat model: its answers equal those of plain transformers."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from babylm_folder import write_folder
from chat_models import CHAT, save_chat
from checkpoints import save_causal
from in_process import refuse, succeed

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.evaluation import evaluate
from tseval.prompting.template import open_template
from tseval.suites import load_suite

PAIRS = [
    ("The author laughs.", "The author laugh."), ("The pilots swim.", "The pilots swims."),
    ("No author that the guards like has ever laughed.", "The authors has laughed."), ("1", "2"),
]  # fmt: skip
BOTH = [*PAIRS, *((second, first) for first, second in PAIRS)]


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    return save_chat(tmp_path_factory.mktemp("chat") / "small-chat")


def plain_logprobs(path, prompt):
    """Return log-probabilities of the tokens 1 and 2 after a prompt, by transformers alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModelForCausalLM.from_pretrained(path)
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=False,
    )
    with torch.no_grad():
        logprobs = model(ids).logits[0, -1].double().log_softmax(0)
    return [logprobs[[n for n in range(len(tokenizer)) if tokenizer.decode([n]).strip() == number]]
            .logsumexp(0).item() for number in "12"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("template", ["grammatical", "acceptable", "likely"])
def test_probabilities_of_1_and_2_are_those_of_plain_transformers(chat, template):
    model: Any = open_model(f"prompt:hf:{chat}", {"prompt": template})
    answers = dict(model.answers(BOTH))
    for place, question in enumerate(BOTH):
        expected = plain_logprobs(chat, open_template(template).render(*question))
        np.testing.assert_allclose(answers[place].logprobs, expected, atol=1e-5)
        assert answers[place].text == ("1" if expected[0] > expected[1] else "2")


@pytest.mark.slow
def test_written_answers_are_those_of_plain_generation(chat):
    model: Any = open_model(f"prompt:hf:{chat}", {"answer": "text", "max_tokens": "3"})
    tokenizer = transformers.AutoTokenizer.from_pretrained(chat)
    plain = transformers.AutoModelForCausalLM.from_pretrained(chat)
    for place, answer in model.answers(BOTH):
        prompt = open_template("grammatical").render(*BOTH[place])
        ids = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt",
            return_dict=False,
        )  # fmt: skip
        written = plain.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=3, do_sample=False)
        assert answer.text == tokenizer.decode(written[0, ids.shape[1] :], skip_special_tokens=True)


@pytest.mark.slow
def test_a_run_counts_each_pair_as_its_two_answers_say(chat):
    suite = load_suite("marvin_linzen", cases=["simple_agrmt", "subj_rel"], limit=12)
    run = evaluate(f"prompt:hf:{chat}", suite)
    model: Any = open_model(f"prompt:hf:{chat}")
    for case in suite.cases:
        verdicts = run.verdicts[run.verdicts["case"] == case.name].reset_index(drop=True)
        for row, item in enumerate(case.items()):
            better, worse = (suite.writing.write(f"{item.sentences[label]} .")[0] for label in case.labels)
            answers = [answer.text for _, answer in sorted(model.answers([(better, worse), (worse, better)]))]
            assert list(verdicts.loc[row, ["answer_better_first", "answer_worse_first"]]) == [
                *map(int, answers)
            ]
            assert verdicts.loc[row, "correct"] == (answers == ["1", "2"])
            assert verdicts.loc[row, "tie"] == (answers[0] == answers[1])
    assert run.manifest.key.score == "prompt"
    assert run.manifest.counts.sentences == 2 * suite.n_items


def test_a_model_without_a_chat_template_is_refused(tmp_path):
    path = save_causal(tmp_path / "plain")
    assert "no chat template" in refuse("pair", "--model", f"prompt:hf:{path}", "a", "b").stderr


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ raise_exception('no system message') }}", "refuses a question"),
        ("{% for message in messages %}{{ message['role'] }}{% endfor %}", "changes or leaves out"),
    ],
)
def test_a_chat_template_that_does_not_show_the_question_is_refused(tmp_path, template, problem):
    with pytest.raises(ModelError, match=problem):
        open_model(f"prompt:hf:{save_chat(tmp_path / 'chat', template)}")


@pytest.mark.slow
def test_a_chat_template_that_never_ends_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("TSEVAL_LIMITS", "trial_seconds=3")
    endless = CHAT + "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    ended = refuse("pair", "--model", f"prompt:hf:{save_chat(tmp_path / 'chat', endless)}", "a", "b")
    assert "the chat template takes longer than 3 seconds" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--score", "critical"], "--score critical is not possible"),
        (["--normalise", "characters"], "nothing to normalise"),
        (["--context", "other", "--context-words", "20"], "without a context"),
        (["--suite", "marvin_linzen:inflection"], "does not compare pairs"),
        (["--model-args", "answer=maybe"], "Did you mean|Values"),
        (["--model-args", "max_tokens=0"], "must be a number of at least 1"),
        (["--prompt", "nothing.jinja"], "cannot read this file"),
    ],
)
def test_what_cannot_be_asked_ends_in_one_message(chat, tmp_path, more, problem):
    ended = refuse("run", "--model", f"prompt:hf:{chat}", "--limit", "2", *more, cwd=tmp_path)
    assert any(word in ended.stderr for word in problem.split("|")), ended.stderr
    assert not (tmp_path / "runs").exists()


def test_a_prompt_is_refused_for_models_that_are_not_asked(tmp_path):
    ended = refuse("run", "--model", "bundled:lstm", "--prompt", "likely", cwd=tmp_path)
    assert "--prompt is only for prompt models" in ended.stderr
    ended = refuse("run", "--model", "bundled:lstm", "--score", "prompt", "--limit", "2", cwd=tmp_path)
    assert "--score prompt is not possible here" in ended.stderr


@pytest.mark.slow
def test_what_needs_log_probabilities_refuses_a_model_that_answers(chat, tmp_path):
    (tmp_path / "text.txt").write_text("The author laughs.\n")
    for command in (["surprisal", "text.txt"], ["check-model"]):
        model = ["--model", f"prompt:hf:{chat}"] if command[0] == "surprisal" else [f"prompt:hf:{chat}"]
        assert "only answers questions" in refuse(*command, *model, cwd=tmp_path).stderr


@pytest.mark.slow
def test_pair_asks_in_both_orders(chat):
    ended = succeed("pair", "--model", f"prompt:hf:{chat}", *PAIRS[0], "--format", "tsv")
    header, *rows = (line.split("\t") for line in ended.stdout.splitlines())
    assert header == ["first", "second", "answer", "chosen", "logprob_1", "logprob_2"]
    answers = [row[2] for row in rows]
    assert [row[:2] for row in rows] == [["good", "bad"], ["bad", "good"]]
    expected = "undecided by order" if answers[0] == answers[1] else "is preferred, in both orders"
    assert expected in ended.stderr


@pytest.mark.slow
def test_babylm_needs_log_probabilities(chat, tmp_path):
    write_folder(tmp_path / "full_eval")
    ended = refuse("babylm", "--model", f"prompt:hf:{chat}", "--data", tmp_path / "full_eval", cwd=tmp_path)
    assert "only answers questions" in ended.stderr or "does not compare pairs" in ended.stderr
