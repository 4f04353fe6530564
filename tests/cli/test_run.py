"""`tseval run`, as users call it: real checkpoints, real suites, real kills."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from checkpoints import save_causal
from in_process import installed, refuse, run_process, succeed, succeeded
from systems import needs_linux, needs_posix

import tseval
from tseval.adapters import open_model
from tseval.adapters.native import NativeModel
from tseval.errors import ModelError, SuiteError
from tseval.models import Vocabulary
from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.verdicts import sentences_of


@pytest.fixture(scope="module")
def suite_words():
    sentences = sentences_of(tseval.load_suite("marvin_linzen")).to_pylist()
    return sorted({word for sentence in sentences for word in sentence.split()})


def save(path, words, arch="lstm", hidden=24):
    torch.manual_seed(0)
    vocabulary = Vocabulary(("<eos>", "<unk>", *words), lowercase=True)
    model = LanguageModel(Sizes(arch, len(vocabulary), 16, hidden, 2))
    for parameter in model.output.parameters():
        torch.nn.init.normal_(parameter)  # far from uniform, so that scores differ
    save_checkpoint(path, model, vocabulary, training={}, validation_perplexity=None)
    return path


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, suite_words):
    return save(tmp_path_factory.mktemp("model") / "small.pt", suite_words)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory, checkpoint):
    folder = tmp_path_factory.mktemp("whole")
    result = succeeded(installed("run", "--model", checkpoint, "--out", "run", cwd=folder))
    return folder / "run", result


@pytest.mark.slow
def test_the_whole_suite_is_scored_and_counted(whole_run):
    path, result = whole_run
    manifest = json.loads((path / "manifest.json").read_text())
    counts = manifest["counts"]
    # Totals published with the item files of Marvin & Linzen 2018.
    assert (counts["items"], counts["contrasts"], counts["sentences"]) == (163_124, 184_772, 279_252)
    assert counts["tokens"] == 2_521_500
    # 435,273 distinct prefixes. Prefixes on both sides of a cut between two shards are computed twice.
    assert 435_273 <= counts["contexts"] < 435_273 * 1.001
    assert len(pd.read_parquet(path / "verdicts.parquet")) == 184_772
    assert (path / "table.md").read_text() == result.stdout
    assert manifest["signature"] in result.stderr
    assert {*manifest["timings"]} == {
        f"{part}_seconds" for part in ("planning", "scoring", "verdict", "table")
    }
    assert min(manifest["timings"].values()) > 0


@pytest.mark.slow
def test_every_case_scores_as_sentence_by_sentence(whole_run, checkpoint):
    path, _ = whole_run
    scored = pq.read_table(path / "sentences.parquet").to_pandas().set_index("sentence")["logprob"]
    native = NativeModel("small", load_checkpoint(checkpoint), torch.device("cpu"))
    ids = native.vocabulary.ids()
    suite = tseval.load_suite("marvin_linzen", sample=15, seed=7)
    assert len(suite.cases) == 22
    for sentence in sentences_of(suite).to_pylist():
        words = torch.tensor([ids[word] for word in ["<eos>", *sentence.split()]])
        with torch.inference_mode():
            outputs, _ = native.model(words[:, None], native.model.initial_state(1))
            table = native.model.logits(outputs[:-1, 0]).log_softmax(1)
        alone = table.double().gather(1, words[1:, None]).sum().item()
        assert scored[sentence] == pytest.approx(alone, abs=5e-5)


@pytest.mark.slow
def test_the_python_api_gives_the_numbers_of_the_command(whole_run, checkpoint):
    path, _ = whole_run
    model = tseval.load_model(str(checkpoint))
    suite = tseval.load_suite("marvin_linzen", cases=["simple_agrmt", "npi_across_anim"])
    run = tseval.evaluate(model, suite)
    theirs = tseval.read_run(path).verdicts
    theirs = theirs[theirs["case"].isin(["simple_agrmt", "npi_across_anim"])]
    assert len(run.verdicts) == len(theirs) == 140 + 3 * 4800
    np.testing.assert_allclose(run.verdicts["better_score"], theirs["better_score"], atol=1e-4)
    table = run.table()
    assert table["n_items"].tolist() == [140, 4800, 4800, 4800]


def test_limit_takes_the_first_items_of_each_case_and_says_so(checkpoint, tmp_path):
    result = succeed("run", "--model", checkpoint, "--limit", 4, "--out", "run", cwd=tmp_path)
    verdicts = tseval.read_run(tmp_path / "run").verdicts
    assert (verdicts.groupby("case")["item"].nunique() == 4).all()
    assert "items:88 selected" in result.stderr


@pytest.mark.slow
def test_a_run_lands_in_runs_by_default_and_two_do_not_collide(checkpoint, tmp_path):
    for _ in range(2):
        succeed("run", "--model", checkpoint, "--limit", 1, cwd=tmp_path)
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert len(names) == 2
    assert all(name.startswith("small--marvin_linzen--") for name in names)


@pytest.mark.slow
def test_several_suites_give_several_runs(checkpoint, tmp_path):
    succeed("new", "mine", cwd=tmp_path)
    arguments = "--suite", "./mine", "--suite", "marvin_linzen", "--limit", 2, "--out", "both"
    succeed("run", "--model", checkpoint, *arguments, cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["marvin_linzen", "mine"]


@pytest.mark.slow
@needs_posix
def test_a_reader_that_goes_away_is_no_failure(tmp_path):
    for line in (
        "tseval expand marvin_linzen | head -1",
        "tseval table bhatt2020 | true",
        "tseval --help | true",
    ):
        script = f"{line} > /dev/null; exit ${{PIPESTATUS[0]}}"
        result = run_process(["bash", "-c", script], cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, ""), line


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [(">&- 2>&-", 0, ""), ("2>/dev/full", 2, ""), (">/dev/full", 2, "No space left on device")],
)
def test_closed_and_full_streams_leave_a_whole_run(checkpoint, tmp_path, redirection, code, said):
    script = f"tseval run --model {checkpoint} --limit 1 --out run {redirection}"
    result = run_process(["bash", "-c", script], cwd=tmp_path)
    assert result.returncode == code
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert tseval.read_run(tmp_path / "run").manifest["status"] == "complete"


@needs_linux
def test_a_file_name_that_is_not_text_is_scored_all_the_same(checkpoint, tmp_path):
    odd = os.fsencode(tmp_path) + b"/\xff|=1.pt"
    Path(os.fsdecode(odd)).write_bytes(checkpoint.read_bytes())
    assert "Traceback" not in succeed("run", "--model", os.fsdecode(odd), "--limit", 1, cwd=tmp_path).stderr


def test_an_unknown_score_is_refused_by_the_api(checkpoint):
    suite = tseval.load_suite("marvin_linzen", cases=["simple_agrmt"], limit=1)
    with pytest.raises(SuiteError, match=r"Did you mean 'mean'?"):
        tseval.evaluate(tseval.load_model(checkpoint), suite, score="meen")  # type: ignore[arg-type]


def start_and_stop(model, cwd, *more):
    """Start a run, stop it like Ctrl-C when two parts are saved; return its exit code and standard error."""
    command = ["tseval", "run", "--model", model, "--out", "run", *more]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=cwd, text=True, stdout=pipe, stderr=pipe)
    deadline = time.monotonic() + 120
    while len(list((cwd / "run/parts").glob("*.parquet"))) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    return process.returncode, message


# A quarter of the suite, scored in five parts.
SOME = ("prep_anim", "prep_inanim", "obj_rel_across_anim")
OF_SOME = [word for case in SOME for word in ("--case", case)]


@needs_posix
@pytest.mark.slow
def test_a_stopped_run_resumes_and_scores_nothing_twice(suite_words, tmp_path):
    # Large enough that a run takes some seconds.
    slow = save(tmp_path / "slow.pt", suite_words, hidden=150)
    code, message = start_and_stop(slow, tmp_path, *OF_SOME)
    assert code == 130
    assert "--resume --out run" in message
    assert "Traceback" not in message
    assert "incomplete" in refuse("table", "run", cwd=tmp_path).stderr

    saved = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "parts").glob("*.parquet")}
    assert len(saved) >= 2
    n_saved = sum(pq.read_metadata(path).num_rows for path in saved)
    succeed("run", "--model", slow, *OF_SOME, "--out", "run", "--resume", cwd=tmp_path)
    found = tseval.read_run(tmp_path / "run")
    counts = found.manifest.counts
    suite = tseval.load_suite("marvin_linzen", cases=SOME)
    never_stopped = tseval.evaluate(tseval.load_model(slow), suite)
    whole = never_stopped.manifest.counts
    assert counts.resumed_sentences == n_saved
    assert (counts.sentences, counts.contexts) == (whole.sentences, whole.contexts)
    np.testing.assert_array_equal(found.verdicts["better_score"], never_stopped.verdicts["better_score"])


@pytest.mark.slow
def test_resume_without_out_finds_the_interrupted_run(checkpoint, tmp_path):
    succeed("run", "--model", checkpoint, "--limit", 3, cwd=tmp_path)
    (path,) = (tmp_path / "runs").iterdir()
    # The files after a kill just before the end: all but the final manifest.
    manifest = json.loads((path / "manifest.json").read_text())
    running = {name: manifest[name] for name in ("format", "signature", "key")} | {"status": "running"}
    (path / "manifest.json").write_text(json.dumps(running))
    succeed("run", "--model", checkpoint, "--limit", 3, "--resume", cwd=tmp_path)
    assert list((tmp_path / "runs").iterdir()) == [path]
    assert json.loads((path / "manifest.json").read_text())["status"] == "complete"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suite", "marvin_linsen"), "Did you mean 'marvin_linzen'?"),
        (
            ("--suite", "marvin_linzen", "--suite", "marvin_linzen"),
            "two suites have the name 'marvin_linzen'",
        ),
        (("--by", "atractor"), "Did you mean 'attractor'?"),
        (("--model-args", "nonsense"), "there is a value without the name of a setting. Write NAME=VALUE"),
        (("--model-args", "bos=true"), "a tseval checkpoint has only the argument precision"),
        (
            ("--device", "abacus"),
            "device 'abacus' is not available on this machine. Choose an available --device",
        ),
        (("--model", "hff:gpt2"), "no adapter has the name 'hff'.\n  Did you mean 'hf'?"),
        (("--model", "bundled:lstn"), "no checkpoint that comes with tseval has the name 'lstn'"),
        (("--out", "file"), "file is a file, but a run needs a folder."),
    ],
)
def test_bad_arguments_get_one_message(checkpoint, tmp_path, arguments, message):
    (tmp_path / "file").write_text("mine")
    assert message in refuse("run", "--model", checkpoint, *arguments, cwd=tmp_path).stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "mine")]


@pytest.mark.slow
def test_a_folder_of_transformers_is_scored_and_the_run_says_how(tmp_path):
    gpt2 = save_causal(tmp_path / "tiny", n_positions=128)
    result = succeed("run", "--model", f"hf:{gpt2}", "--limit", 3, "--out", "run", cwd=tmp_path)
    assert "tiny on marvin_linzen" in result.stdout
    assert "|bos:<?endoftext?>|" in result.stderr  # a bar would end this part of the signature
    assert "|first_token:scored|" in result.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["model"]["details"]["method"] == "packed tree, tiled head"
    (warning,) = manifest["warnings"]
    assert warning.startswith(
        "tseval writes sentences as natural text: 'Most authors have ever been famous.'"
    )
    assert manifest["counts"]["items"] == 66


@pytest.mark.parametrize("scheme", ["hf", "mlm"])
def test_without_transformers_the_extra_is_named(monkeypatch, scheme):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        ModelError, match=scheme + r': models need the package transformers.\n  .*pip install "tseval\[hf\]"'
    ):
        open_model(f"{scheme}:some-model")
