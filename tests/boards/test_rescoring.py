"""`tseval board rescore` opens models as their entries record, and scores a sample again."""

import json
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
import yaml
from in_process import call, refuse, succeed

from tseval.boards import read_entry
from tseval.boards.maintainer import read_checks
from tseval.downloads import PRIVATE
from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.runs import read_run
from tseval.runs.opened import Opened, how_opened

WORDS = ["the", "author", "authors", "pilot", "pilots", "laughs", "laugh", "smiles", "smile", "."]
NOUNS, VERBS = ["author", "pilot"], [("laughs", "laugh"), ("smiles", "smile")]


def save_srn(path, seed=0):
    """Save a small model with random weights."""
    torch.manual_seed(seed)
    words = Vocabulary(("<eos>", "<unk>", *WORDS), lowercase=False)
    network = LanguageModel(Sizes("srn", len(WORDS) + 2, 8, 12, 1))
    save_checkpoint(path, network, words, training={}, validation_perplexity=None)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a board with two entries: a bundled model, and a model from a file."""
    root = tmp_path_factory.mktemp("made")
    pairs = [{"good": f"the {n} {a} .", "bad": f"the {n} {b} ."} for n in NOUNS for a, b in VERBS]
    (root / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), "utf-8")
    (root / "mine").mkdir()
    save_srn(root / "mine/srn.pt")
    (root / "mine/model.py").write_text(
        "from tseval import load_model\n\n\ndef load():\n    return load_model('mine/srn.pt')\n", "utf-8"
    )
    run = "run", "--suite", "pairs.jsonl", "--quiet"
    succeed(*run, "--model", "bundled:lstm", "--precision", "bfloat16", "--out", "lstm", cwd=root)
    succeed(*run, "--model", root / "mine/srn.pt", "--out", "srn", cwd=root)
    succeed("board", "new", "board", "--suite", "pairs.jsonl", cwd=root)
    succeed("board", "add", "board", "lstm", "srn", cwd=root)
    succeed("board", "write", "board", cwd=root)
    return root


@pytest.fixture
def root(made, tmp_path):
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def edit_entry(root, name, **fields):
    path = root / "board/entries" / name / "entry.yaml"
    content = yaml.safe_load(path.read_text("utf-8"))
    content |= fields
    path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")


def test_an_entry_records_how_its_model_was_opened_without_the_path(root):
    assert read_run(root / "srn").manifest.opened == Opened("srn.pt")
    entries = {name: read_entry(root / "board/entries" / name) for name in ("lstm", "srn")}
    assert (entries["lstm"].model, entries["lstm"].model_args) == ("bundled:lstm", "precision=bfloat16")
    assert (entries["srn"].model, entries["srn"].model_args) == ("srn.pt", None)
    assert str(root.parent) not in "".join(
        path.read_text("utf-8") for path in (root / "board").rglob("*.*") if path.suffix in {".yaml", ".json"}
    )


def test_paths_secrets_and_commas_in_settings(root, monkeypatch):
    monkeypatch.chdir(root)
    opened = how_opened(
        "hf:./mine",
        {
            "token": "secret",
            "api_key": "secret",
            "HF_TOKEN": "secret",
            "header": "secret",
            "cache_dir": "mine",
            "vocab_from": "mine/srn.pt,lstm",
        },
    )
    assert opened == Opened("hf:mine", "vocab_from=srn.pt,lstm")
    assert how_opened("hf:gpt", {"add_bos_token": "True"}) == Opened("hf:gpt", "add_bos_token=True")
    assert how_opened("hf:EleutherAI/pythia-70m") == Opened("hf:EleutherAI/pythia-70m")
    assert how_opened("mine/model.py:load") == Opened("model.py:load")
    assert how_opened("function:mine/model.py:load") == Opened("function:model.py:load")


def test_a_board_is_rescored_and_what_cannot_be_had_is_listed(root):
    done = succeed("board", "rescore", "board", cwd=root)
    first, second = done.stdout.splitlines()
    assert first.startswith("lstm: rerun: 8 of 8 sentences, largest difference")
    assert second == (
        "srn: not rescored: the model is the file 'srn.pt', and the entry states no web address that ends in "
        "this name"
    )
    assert done.stderr.endswith("1 of 2 entries rescored; all pass\n")
    (check,) = read_checks(root / "board").checks["lstm"]
    assert (check.level, check.by) == ("rerun", "tseval board rescore")
    assert "srn" not in read_checks(root / "board").checks
    # The result is also written to the pages, and a second result replaces the first.
    assert "rerun, tseval board rescore" in (root / "board/README.md").read_text("utf-8")
    succeed("board", "rescore", "board", "lstm", cwd=root)
    assert len(read_checks(root / "board").checks["lstm"]) == 1
    succeed("board", "check", "board", cwd=root)


def test_weights_that_the_keeper_has_are_found_by_their_name(root):
    done = succeed("board", "rescore", "board/entries/srn", "--weights", "mine", "--record", "Ada", cwd=root)
    assert "1 of 1 entries rescored" in done.stderr
    (check,) = read_checks(root / "board").checks["srn"]
    assert check.by == "Ada"


def test_an_entry_that_was_asked_for_and_cannot_be_rescored_is_a_failure(root):
    assert call("board", "rescore", "board", "srn", cwd=root).returncode == 1
    assert call("board", "rescore", "board/entries/srn", cwd=root).returncode == 1


def test_other_weights_under_the_recorded_name_do_not_pass(root):
    save_srn(root / "mine/srn.pt", seed=1)
    done = call("board", "rescore", "board", "srn", "--weights", "mine", cwd=root)
    assert done.returncode == 1
    assert "srn: does not pass (rerun): --model is not the model of the run" in done.stdout
    assert "srn" not in read_checks(root / "board").checks


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"model": None}, "entry.yaml does not record how the model was opened"),
        ({"model": "model.py:load"}, "opening it would run a program of the submitter"),
        ({"model": "function:model.py:load"}, "opening it would run a program of the submitter"),
        ({"model": "lm-eval:x"}, "opening it would run a program of the submitter"),
        (
            {"model": "hf:gpt2", "model_args": "trust_remote_code=True"},
            "would run a program of the submitter",
        ),
        ({"model": "http://example.org/srn.pt"}, "http://example.org/srn.pt is not a valid https:// address"),
        ({"model": "bundled:nothing"}, "nothing"),
    ],
    ids=lambda value: str(value.get("model")) if isinstance(value, dict) else "",
)
def test_nothing_is_run_or_asked_that_an_entry_may_not_ask_for(root, fields, reason):
    edit_entry(root, "srn", **fields)
    (root / "model.py").write_text("raise SystemExit('it was run')\n", "utf-8")
    done = call("board", "rescore", "board", "srn", "--weights", "mine", cwd=root)
    assert done.returncode == 1
    assert done.stdout.startswith("srn: not rescored: ")
    assert reason in done.stdout


@pytest.mark.parametrize(
    "model", ["/home/me/srn.pt", "../srn.pt", "hf:/models/gpt", "C:\\srn.pt", "~/srn.pt"]
)
def test_a_path_of_a_machine_is_refused_in_an_entry(root, model):
    edit_entry(root, "srn", model=model)
    done = call("board", "check", "board", cwd=root)
    assert done.returncode == 1
    assert "is a path of one machine. Write a web address" in done.stdout
    assert "is a path of one machine" in refuse("board", "rescore", "board", cwd=root).stderr
    again = refuse("board", "add", "board", "srn", "--name", "b", "--model", model, cwd=root)
    assert "is a path of one machine" in again.stderr


def test_weights_at_a_web_address_are_downloaded_once(root, monkeypatch):
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=root / "mine"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    address = f"http://127.0.0.1:{server.server_port}/srn.pt"
    try:
        edit_entry(root, "srn", about={"weights": address, "contains_suite": "no"})
        private = call("board", "rescore", "board", "srn", cwd=root)
        assert private.returncode == 1
        assert "private network" in private.stdout
        monkeypatch.setenv(PRIVATE, "127.0.0.1")
        for _ in range(2):
            assert succeed("board", "rescore", "board", "srn", cwd=root).stdout.startswith("srn: rerun: ")
        assert asked == ["/srn.pt"]
        edit_entry(root, "srn", model=f"{address}?version=2", about={"contains_suite": "no"})
        succeed("board", "rescore", "board", "srn", cwd=root)
        edit_entry(root, "srn", model=f"{address}.missing")
        assert "(File not found)" in call("board", "rescore", "board", "srn", cwd=root).stdout
    finally:
        server.shutdown()
        server.server_close()


def test_boards_that_have_nothing_to_rescore_are_refused(root):
    assert "has only published accuracies" in refuse("board", "rescore", "bhatt2020", cwd=root).stderr
    assert (
        "has no entry with the name 'nobody'"
        in refuse("board", "rescore", "board", "nobody", cwd=root).stderr
    )
    assert "is not a leaderboard" in refuse("board", "rescore", "lstm", cwd=root).stderr
    succeed("board", "retract", "board/entries/srn", "--reason", "Wrong weights.", cwd=root)
    assert "was retracted" in refuse("board", "rescore", "board", "srn", cwd=root).stderr
    assert "srn" not in succeed("board", "rescore", "board", cwd=root).stdout
