"""`tseval check-model` as users meet it."""

import json
import subprocess

import pytest
from in_process import call
from own_models import open_own

from tseval.testing import CLAIMS


def test_a_sound_model_passes_with_a_table():
    done = subprocess.run(
        ["tseval", "check-model", "bundled:lstm", "--device", "cpu"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    heading, blank, *lines = done.stdout.splitlines()
    assert heading == "lstm, checked as a RecurrentModel; differences in nats"
    assert blank == ""
    assert [line[:16].rstrip() for line in lines] == list(CLAIMS)
    assert {line[16:31].rstrip() for line in lines} == {"holds"}


def test_the_report_is_to_be_had_as_json():
    done = call("check-model", "bundled:lstm", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["model"], data["ok"]) == (0, "lstm", True)
    assert {result["name"]: result["claim"] for result in data["results"]} == CLAIMS


def test_a_failing_check_exits_with_1(tmp_path):
    done = call("check-model", "bundled:lstm", "--tolerance", "0")
    assert done.returncode == 1
    failed = [line for line in done.stdout.splitlines() if line[16:21] == "fails"]
    assert failed
    assert "\n" + " " * 34 + "in 'the " in done.stdout


def test_sentences_come_from_a_file(tmp_path):
    own = open_own("classifier number", tmp_path)
    refused = call("check-model", tmp_path / "own.pt")
    assert refused.returncode == 2
    assert "give --sentences FILE, one a line" in refused.stderr
    (tmp_path / "labelled.txt").write_text("\n".join(own.sentences[:80]) + "\n\n", "utf-8")
    done = call("check-model", tmp_path / "own.pt", "--sentences", tmp_path / "labelled.txt")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.pt"], "nothing.pt: no such checkpoint"),
        (["bundle:lstm"], "Did you mean 'bundled'?"),
        (["bundled:lstm", "--model-args", "x"], "write key=value"),
        (["bundled:lstm", "--sentences", "empty.txt"], "to check a model, give sentences"),
        (["bundled:lstm", "--sentences", "latin.txt"], "latin.txt: not UTF-8 text"),
        (["bundled:lstm", "--sentences", "nothing.txt"], "No such file"),
        (["bundled:lstm", "--tolerance", "-1"], "-1.0 is not in the range"),
        ([], "Missing argument 'SPEC'"),
    ],
)
def test_bad_input_is_one_message(tmp_path, arguments, message):
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    done = call("check-model", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
