"""`tseval check-model`, as users call it."""

import json

import pytest
from in_process import call, refuse, run_process, succeed
from own_models import open_own

from tseval.testing import Result
from tseval.testing.check import CLAIMS
from tseval.testing.findings import Finding


@pytest.mark.slow
def test_a_sound_model_passes_with_a_table():
    done = run_process(["tseval", "check-model", "bundled:lstm", "--device", "cpu"])
    assert (done.returncode, done.stderr) == (0, "")
    heading, blank, *lines = done.stdout.splitlines()
    assert heading == "lstm, checked as a RecurrentModel; differences in nats"
    assert blank == ""
    assert [line[:16].rstrip() for line in lines] == list(CLAIMS)
    assert {line[16:31].rstrip() for line in lines} == {"holds"}


@pytest.mark.slow
def test_a_failing_check_exits_with_1_and_programs_get_its_report():
    done = call("check-model", "bundled:lstm", "--tolerance", "0", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["model"], data["ok"]) == (1, "lstm", False)
    assert {result["name"]: result["claim"] for result in data["results"]} == CLAIMS


def test_sentences_come_from_a_file(tmp_path):
    own = open_own("classifier number", tmp_path)
    assert (
        "The model cannot read tseval's own test sentences. Write sentences that the model can read to a "
        "text file, one sentence a line, and add --sentences FILE. In Python, call "
        "check_model(model, sentences)." in refuse("check-model", tmp_path / "own.pt").stderr
    )
    (tmp_path / "labelled.txt").write_text("\n".join(own.sentences[:80]) + "\n\n", "utf-8")
    succeed("check-model", tmp_path / "own.pt", "--sentences", tmp_path / "labelled.txt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["bundled:lstm", "--sentences", "empty.txt"],
            "the list of sentences to check the model with is empty. Give at least one sentence",
        ),
        (["bundled:lstm", "--sentences", "latin.txt"], "latin.txt: this file is not UTF-8 text"),
        (["bundled:lstm", "--tolerance", "-1"], "-1.0 is not in the range"),
    ],
)
def test_bad_input_is_one_message(tmp_path, arguments, message):
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    assert message in refuse("check-model", *arguments, cwd=tmp_path).stderr


def test_what_a_check_of_a_model_finds_is_short():
    found = Finding("fails", "it gave " + "9" * 5000, 0.5, "the author " * 4000)
    text = str(Result("batches", "a sentence gets the same numbers", found))
    assert text.startswith(
        "batches         fails            5.0e-01  a sentence gets the same numbers: it gave 9"
    )
    assert text.endswith("author '")
    assert len(text) < 500
