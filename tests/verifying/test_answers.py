"""Verification of runs of prompt models: each edit is detected, and checks that are impossible are named."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chat_models import save_chat
from chat_servers import ChatServer, shorter
from in_process import call, succeed

from tseval.runs.directory import digest
from tseval.runs.manifest import seal
from tseval.verifying import verify_run

PAIRS = "".join(
    json.dumps({"good": f"The {word} laughs.", "bad": f"The {word} are laughs."}) + "\n"
    for word in ("author", "pilot", "guard", "surgeon", "banker", "senator")
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make a run on a local chat model and one on a server."""
    root = tmp_path_factory.mktemp("asked")
    (root / "pairs.jsonl").write_text(PAIRS)
    save_chat(root / "chat")
    suite = ["--suite", "pairs.jsonl", "--quiet"]
    succeed("run", "--model", "prompt:hf:chat", *suite, "--out", "hand", cwd=root)
    with ChatServer(shorter) as server:
        model = ["--model", f"prompt:{server.url}", "--model-args", "model=small"]
        succeed("run", *model, *suite, "--out", "served", cwd=root)
    return root


def verified(place, run, *more):
    """Return the report of a verification."""
    return call("verify", run, "--suite", "pairs.jsonl", *more, cwd=place)


@pytest.mark.slow
def test_a_sound_run_is_verified_and_says_which_levels_need_the_model(place):
    at_hand = verified(place, "hand")
    assert at_hand.returncode == 0
    assert "12 answers" in at_hand.stdout
    assert "only the model can confirm them (--model)" in at_hand.stdout
    served = verified(place, "served")
    assert served.returncode == 0
    assert "given as 'small-1' on 2025-10-09, which only the server could confirm" in served.stdout
    again = verified(place, "hand", "--model", "prompt:hf:chat", "--rescore", "all")
    assert "rerun       0 of 12 answers differ" in again.stdout


@pytest.mark.slow
def test_another_template_is_not_the_model_of_the_run(place):
    ended = verified(place, "hand", "--model", "prompt:hf:chat", "--prompt", "likely")
    assert ended.returncode == 1
    assert "prompt: likely, not grammatical" in ended.stdout


@pytest.mark.slow
def test_a_server_is_asked_again_and_what_changed_is_found(place):
    changed: list[str] = []
    with ChatServer(lambda prompt, times: changed[0] if changed else shorter(prompt)) as server:
        model = ["--model", f"prompt:{server.url}", "--model-args", "model=small"]
        succeed("run", *model, "--suite", "pairs.jsonl", "--out", "asked", "--quiet", cwd=place)
        again = verified(place, "asked", *model, "--rescore", "all")
        assert "rerun       0 of 12 answers differ (the run: 2025-10-09)" in again.stdout
        changed.append("2")  # the server's answers change
        ended = verified(place, "asked", *model, "--rescore", "all")
        assert ended.returncode == 1
        assert "6 of 12 answers differ" in ended.stdout
        changed.clear()
        server.model = "small-2"
        ended = verified(place, "asked", *model, "--rescore", "all")
        assert "the server answers as 'small-2' now, but in the run it answered as 'small-1'" in ended.stdout
    with ChatServer(shorter) as server:  # the address is compared, because the weights are hidden
        model = ["--model", f"prompt:{server.url}", "--model-args", "model=small"]
        assert "fingerprint" in verified(place, "asked", *model).stdout


def edited(place, run, sentences=None, manifest=None):
    """Copy a run, change its sentences or manifest, and seal it again."""
    copy = place / f"edited-{run}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(place / run, copy)
    content = json.loads((copy / "manifest.json").read_text())
    if sentences is not None:
        file = copy / "sentences.parquet"
        table = pq.read_table(file)
        changed = pa.Table.from_pandas(
            sentences(table.to_pandas()), schema=table.schema, preserve_index=False
        )
        pq.write_table(changed, file, compression="zstd")
        content["files"]["sentences.parquet"] = digest(file.read_bytes())
    if manifest is not None:
        manifest(content)
    sealed = seal(content)
    content["seal"] = {"manifest": sealed.manifest, "fields": sealed.fields}
    (copy / "manifest.json").write_text(json.dumps(content))
    return copy


def with_answer(frame, row, answer):
    """Return the sentences with another answer in a row."""
    frame = frame.copy()
    frame.loc[row, "answer"] = answer
    return frame


def with_value(frame, row, name, value):
    """Return the sentences with another number in a row."""
    frame = frame.copy()
    frame.loc[row, name] = value
    return frame


def swapped(frame):
    """Return the sentences with one reversed answer, and its number and log-probability changed to match."""
    frame = frame.copy()
    chosen = int(frame.loc[0, "answer"])
    frame.loc[0, "answer"] = str(3 - chosen)
    frame.loc[0, ["logprob_1", "logprob_2"]] = frame.loc[0, ["logprob_2", "logprob_1"]].to_numpy()
    return frame


EDITS = {
    "an answer alone": (lambda f: with_answer(f, 0, "1" if f.loc[0, "answer"] == "2" else "2"), "recomputes"),
    "an answer and its numbers": (swapped, "recomputes"),
    "a probability above 1": (lambda f: with_value(f, 0, "logprob_1", 0.5), "above 0"),
    "two that sum above 1": (
        lambda f: with_value(with_value(f, 0, "logprob_1", -0.1), 0, "logprob_2", -0.2), "total probability"
    ),
    "infinite": (lambda f: with_value(f, 0, "logprob_1", float("-inf")), "infinite"),
    "another `logprob`": (lambda f: with_value(f, 0, "logprob", -9.0), "`logprob` is not"),
    "a long text": (lambda f: with_answer(f, 0, f.loc[0, "answer"] + "!" * 300), "301 characters"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_each_edit_of_answers_is_found_without_the_model(place, edit):
    change, problem = EDITS[edit]
    report = verify_run(edited(place, "hand", change), suite=str(place / "pairs.jsonl"))
    assert not report.ok
    assert any(text in report.checks[-1].found for text in problem.split("|")), report


def put(content, path, value):
    """Change a field of a manifest."""
    for name in path[:-1]:
        content = content[name]
    content[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (
            ("model", "details", "template"),
            "Choose 1. {{ sentence_1 }} {{ sentence_2 }}",
            "not the digest of the",
        ),
        (("model", "details", "template"), None, "no template of the prompt"),
    ],
)
def test_another_template_in_the_manifest_is_found(place, path, value, problem):
    copy = edited(place, "hand", manifest=lambda content: put(content, path, value))
    report = verify_run(copy, suite=str(place / "pairs.jsonl"))
    assert problem in report.checks[-1].found


def test_text_answers_have_no_log_probabilities(place):
    copy = edited(place, "served", lambda f: with_value(f.astype({"logprob_1": float}), 0, "logprob_1", -1.0))
    report = verify_run(copy, suite=str(place / "pairs.jsonl"))
    assert "So no answer may have log-probabilities, but some have them" in report.checks[-1].found
