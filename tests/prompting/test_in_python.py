"""Prompt models from Python, in sweeps, and together with runs of log-probabilities."""

import json

import pytest
from chat_models import save_chat
from chat_servers import ChatServer, shorter
from in_process import succeed

import tseval
from tseval.scoring.protocol import Answer, ModelCard


class Live:
    """An object with only the method that a prompt model needs."""

    def __init__(self):
        self.card = ModelCard("live", "live", "f" * 64, {"orders": "both"}, {})

    def answers(self, questions):
        """Answer with the number of the shorter sentence."""
        for place, (first, second) in enumerate(questions):
            yield place, Answer("2" if len(second) < len(first) else "1")


def test_any_object_with_the_method_answers_is_a_prompt_model(pairs):
    run = tseval.evaluate(Live(), pairs)
    assert run.manifest.key.score == "prompt"
    assert run.manifest.counts.correct == 10
    assert run.table()["share_of_1"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            [(0, Answer("1")), (0, Answer("1"))],
            "returned an answer to question number 0, but there is no such question, or it already has an "
            "answer",
        ),
        ([(0, Answer("1"))], "did not answer 39 of 40 questions"),
        ([(0, "1")], "must return an `Answer`"),
        ([(0, Answer("1", (0.5, -1.0)))], "must be finite and at most 0"),
    ],
)
def test_what_a_live_object_gives_is_held_to_the_protocol(pairs, given, problem):
    model = Live()
    model.answers = lambda questions: iter(given)
    with pytest.raises(tseval.TsevalError, match=problem):
        tseval.evaluate(model, pairs)


@pytest.mark.slow
def test_prompt_and_log_probabilities_of_one_model_are_compared_on_the_same_pairs(pairs, tmp_path):
    chat = save_chat(tmp_path / "chat")
    for kind in ("prompt:hf:", "hf:"):
        out = tmp_path / kind.replace(":", "")
        succeed("run", "--model", f"{kind}{chat}", "--suite", pairs, "--out", out, "--quiet")
    both = [tmp_path / "prompthf", tmp_path / "hf"]
    compared = json.loads(succeed("table", *both, "--against", both[1], "--format", "json").stdout)
    row = compared["rows"][0]
    run, direct = (tseval.read_run(tmp_path / name) for name in ("prompthf", "hf"))
    expected = run.verdicts["correct"].mean() - direct.verdicts["correct"].mean()
    assert row["difference"] == pytest.approx(expected)


@pytest.mark.slow
def test_a_sweep_asks_each_question_once_and_goes_on_where_it_stopped(pairs, tmp_path):
    with ChatServer(shorter) as server:
        model = ["--model", f"prompt:{server.url}", "--model-args", "model=small", "--prompt", "likely"]
        sweep = ["sweep", *model, "--parallel", "2", "--suite", pairs, "--workers", "1"]
        sweep += ["--out", tmp_path / "sweep"]
        succeed(*sweep)
        succeed(*sweep)
    assert len(server.asked) == 40
    assert {*server.asked.values()} == {1}
    assert all("more likely to write" in prompt for prompt in server.asked)
