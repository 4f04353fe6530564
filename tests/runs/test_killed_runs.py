"""A run that is killed at any call that changes the file system, and the files that it leaves."""

import os
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import torch
from killing import files_below, in_a_process
from small import finished_run, make_case, make_key, make_run, make_suite, score
from systems import needs_posix

import tseval
from tseval.adapters.native import NativeModel
from tseval.files import remove_lock, take_lock
from tseval.models import Vocabulary
from tseval.models.checkpoint import Checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.runs import RunWriter, clear_begun, find_interrupted, fresh_directory, read_run, start_run
from tseval.scoring import engine
from tseval.scoring.engine import Part
from tseval.suites import load_suite

SUITE = make_suite(make_case("a", [("a b", "a c"), ("d b", "d c")]))
KEY = make_key(SUITE)

# A tiny model on four items, in shards of three sentences. The cache is empty at each start.
PROGRAM = """
    import json, re, sys
    from pathlib import Path
    import torch
    from in_process import call
    from killing import different, files_below, kill_everywhere
    from tseval.models.checkpoint import save_checkpoint
    from tseval.models.network import LanguageModel, Sizes
    from tseval.models import Vocabulary
    from tseval.runs import read_run
    from tseval.scoring import engine

    place, arguments = Path(sys.argv[1]), sys.argv[2:]
    words = Vocabulary(("<eos>", "<unk>", "the", "author", "pilot", "laughs", "laugh", "."), lowercase=True)
    model = place / "model.pt"
    network = LanguageModel(Sizes("srn", len(words), 3, 3, 1))
    save_checkpoint(model, network, words, training={}, validation_perplexity=None)
    suite = place / "mine"
    suite.mkdir()
    (suite / "lexicon.yaml").write_text("noun:\\n  animate: [author, chef, pilot, waiter]\\n")
    (suite / "simple.jinja").write_text(
        "---\\nconstruction: Simple\\nphenomenon: Agreement\\nlexicon: lexicon.yaml\\n"
        "slots:\\n  subject: {class: noun.animate, number: sing}\\n---\\n"
        "grammatical:   the {{ subject }} laughs\\nungrammatical: the {{ subject }} laugh\\n"
    )
    engine.SHARD = 3

    def run(*more):
        done = call("run", "--model", model, "--suite", suite, "--quiet", *more, *arguments)
        assert done.returncode == 0, done.stderr

    def compare(whole, other):
        both = []
        for folder in whole, other:
            files = {}
            for name, content in files_below(folder).items():
                # A run that was whole before it could be said to be so is made once more, in another moment.
                timeless = re.sub(r"--\\d{8}T\\d{6}(-\\d+)?", "", name)
                assert files.setdefault(timeless, content) == content or "manifest" in name, name
            for name in [name for name in files if name.endswith("manifest.json")]:
                manifest = json.loads(files[name])
                # What a resumed run may say otherwise, and what follows from it.
                manifest["counts"]["resumed_sentences"] = manifest["timings"] = manifest["seal"] = None
                files[name] = json.dumps(manifest)
            both.append(files)
        return different(*both)

    def go_on():
        run("--resume")
        for path in Path("runs").glob("*"):
            read_run(path)  # which clears up a whole one

    found = kill_everywhere(run, go_on, compare, place / "points", every=5)
    print(json.dumps(found))
"""


@pytest.mark.slowest
@pytest.mark.parametrize("where", [["--out", "run"], []], ids=["out", "runs"])
def test_a_run_killed_at_any_call_resumes_to_the_same_bytes_and_leaves_nothing_behind(tmp_path, where):
    found = in_a_process(PROGRAM, tmp_path, *where)
    assert found["wrong"] == {}
    assert found["points"] > 70


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    "left", [["manifest.json.partial"], [".lock", "parts/"], [".lock", "parts/", "manifest.json.partial"]]
)
def test_what_a_kill_leaves_before_the_first_manifest_is_taken_up(tmp_path, left, resume):
    for name in left:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    with start_run(tmp_path, KEY, resume=resume) as writer:
        assert not (tmp_path / "manifest.json.partial").exists()
        writer.finish(*finished_run(SUITE, KEY, score(SUITE, {})), {"table.md": "", "table.csv": ""})
    assert len(list(tmp_path.iterdir())) == 5


@pytest.fixture
def uncleared(tmp_path):
    """Return a complete run whose writer was killed before it cleaned up."""
    make_run(SUITE, {}, path=tmp_path / "run")
    whole = files_below(tmp_path / "run")
    (tmp_path / "run/parts").mkdir()
    for name in (".lock", "parts/000000-0123456789abcdef.parquet", "parts/000001-00.parquet.partial"):
        (tmp_path / "run" / name).touch()
    return tmp_path / "run", whole


@pytest.mark.parametrize("take_up", [read_run, lambda path: start_run(path, KEY, resume=True)])
def test_reading_and_resuming_clear_what_a_kill_left_in_a_complete_run(uncleared, take_up):
    path, whole = uncleared
    take_up(path)
    assert files_below(path) == whole


def test_a_reader_leaves_the_files_of_a_writer_at_work(uncleared):
    path, _ = uncleared
    before = files_below(path)
    held = take_lock(path / ".lock")
    read_run(path)
    assert files_below(path) == before
    remove_lock(path / ".lock", held)


def test_a_reader_removes_nothing_that_tseval_did_not_write(uncleared):
    path, whole = uncleared
    (path / "parts/thesis.tex").write_text("mine")
    read_run(path)
    assert files_below(path) == whole | {"parts": b"", "parts/thesis.tex": b"mine"}


@needs_posix  # needs links
def test_files_of_the_same_kind_that_lie_where_parts_do_stay(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.parquet").write_text("mine")
    for name, make in {"folder": lambda at: at.mkdir(), "link": lambda at: at.symlink_to("../mine")}.items():
        (tmp_path / name).mkdir()
        make(tmp_path / name / "parts")
        (tmp_path / name / "parts/data.parquet").write_text("mine")
        make_run(SUITE, {}, path=tmp_path / name)
        assert (tmp_path / name / "parts/data.parquet").read_text() == "mine"
    assert (tmp_path / "mine/thesis.parquet").read_text() == "mine"


@pytest.mark.slow
def test_a_complete_run_that_may_not_be_cleared_is_read_all_the_same(tmp_path):
    program = """
        import os, sys
        from tseval.runs import read_run
        read_run(sys.argv[2]).verdicts  # imports all that this takes, from a home that may be closed
        os.setuid(65534)
        print(len(read_run(sys.argv[1]).verdicts))
    """
    if os.getuid() != 0:
        pytest.skip("needs root to become another user")
    with tempfile.TemporaryDirectory() as folder:  # other users cannot enter pytest's own folder
        run = Path(folder) / "run"
        make_run(SUITE, {}, path=run)
        (run / "parts").mkdir()
        for place in (run, run.parent):
            place.chmod(0o755)
        make_run(SUITE, {}, path=tmp_path / "other")
        assert in_a_process(program, run, tmp_path / "other") == 2
        assert (run / "parts").is_dir()


# Run folders with generated names, where a process was killed before the first manifest

BEGUN = "lstm--small--20261025T023000"


@pytest.mark.parametrize("left", [[], [".lock"], [".lock", "manifest.json.partial"], [".lock", "parts/"]])
def test_a_run_that_was_barely_begun_is_cleared_away(tmp_path, left):
    (tmp_path / BEGUN).mkdir()
    for name in left:
        path = tmp_path / BEGUN / name
        path.mkdir() if name.endswith("/") else path.touch()
    clear_begun(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_cleared_away(tmp_path):
    (tmp_path / "an empty folder of mine").mkdir()
    interrupted, mine, held = (tmp_path / f"{BEGUN}-{i}" for i in (2, 3, 4))
    start_run(interrupted, KEY).close()
    mine.mkdir()
    (mine / "thesis.tex").write_text("mine")
    (tmp_path / BEGUN).write_text("a file")
    held.mkdir()
    lock = take_lock(held / ".lock")
    before = files_below(tmp_path)
    clear_begun(tmp_path)
    assert files_below(tmp_path) == before
    remove_lock(held / ".lock", lock)


# A clock that goes backwards


def test_an_interrupted_run_from_the_future_is_found(tmp_path):
    with start_run(tmp_path / "run", KEY) as writer:
        writer.save_part(0, Part(score(SUITE, {}), 0))
    for time in (0, 2**40):
        os.utime(tmp_path / "run/manifest.json", (time, time))
        assert find_interrupted(tmp_path, KEY) == tmp_path / "run"


def test_a_directory_is_not_named_twice_when_the_clock_repeats_an_hour(tmp_path):
    now = datetime(2026, 10, 25, 2, 30)
    names = []
    for moment in (now, now, now, now - timedelta(hours=1)):
        names.append(fresh_directory(tmp_path, KEY, moment))
        names[-1].mkdir()
    names[0].rmdir()  # a count of existing folders would give the last name again
    names.append(fresh_directory(tmp_path, KEY, now))
    assert not names[-1].exists()


# A resumed run has the same digests as an undisturbed one: the same bytes, not only the same values.
@pytest.fixture
def model():
    torch.manual_seed(0)
    words = Vocabulary(
        ("<eos>", "<unk>", "(1", ")1", "(2", ")2", "the", "author", "laughs", "laugh", "."), lowercase=True
    )
    network = LanguageModel(Sizes("srn", len(words), 3, 3, 1))
    return NativeModel("m", Checkpoint(network, words, "f" * 64, {}, None), torch.device("cpu"))


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["dyck(k=2,m=3,test=1800,train=90)", "marvin_linzen"])
@pytest.mark.parametrize("saved", [0, 1, 2])
def test_a_resumed_run_has_the_bytes_of_an_undisturbed_one(model, tmp_path, monkeypatch, suite, saved):
    monkeypatch.setattr(engine, "SHARD", 7)
    monkeypatch.setattr(engine, "ASKED_SHARD", 7)
    items = load_suite(suite, cases=["simple_agrmt"] if suite == "marvin_linzen" else (), limit=30)
    whole = tseval.evaluate(model, items, out=tmp_path / "whole")

    class Stopped(Exception):  # noqa: N818 - no error, but a kill
        pass

    def stop(writer, i, part, save=RunWriter.save_part):
        if i == saved:
            raise Stopped
        save(writer, i, part)

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "save_part", stop)
        with pytest.raises(Stopped):
            tseval.evaluate(model, items, out=tmp_path / "resumed")
    resumed = tseval.evaluate(model, items, out=tmp_path / "resumed", resume=True)
    assert resumed.manifest.counts.resumed_sentences == 7 * saved
    assert resumed.manifest.files == whole.manifest.files
