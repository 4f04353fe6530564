import json
import os
import subprocess
import sys
import textwrap
from dataclasses import asdict, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from in_process import with_forks
from small import finished_run, make_case, make_key, make_run, make_suite, score
from systems import needs_linux, needs_posix

from tseval.adapters import open_model
from tseval.errors import ModelError, RunError
from tseval.evaluation import evaluate
from tseval.pretrained.folders import place_in_training
from tseval.runs import find_interrupted, fresh_directory, progress_of, read_run, start_run, training_of
from tseval.runs.manifest import seal
from tseval.scoring.engine import Part
from tseval.scoring.protocol import ModelCard
from tseval.suites import load_suite

TESTS = Path(__file__).parents[1]
SUITE = make_suite(
    make_case("a", [("a b", "a c"), ("d b", "d c")], features={"number": ["sing", "plur"], "n": [1, 2]}),
    make_case("b", [("e b", "e c")], construction="Other"),
)
KEY = make_key(SUITE)
WORDS = {"b": -0.5}
TABLES = {"table.md": "", "table.csv": ""}


@pytest.fixture
def part():
    return score(SUITE, WORDS)


def message(action, *arguments, **keywords):
    with pytest.raises(RunError) as caught:
        action(*arguments, **keywords)
    return str(caught.value)


def interrupt(path, key=KEY, parts=()):
    """Leave a run as a killed process does."""
    with start_run(path, key) as writer:
        for i, scored in enumerate(parts):
            writer.save_part(i, scored if isinstance(scored, Part) else Part(scored, 0))


def python(code, *arguments):
    """Run Python code that can import the tests' small suites."""
    return subprocess.Popen(
        ["python", "-c", textwrap.dedent(code), *map(str, arguments)],
        env=with_forks(os.environ | {"PYTHONPATH": str(TESTS)}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# A run is written, then read


def test_a_finished_run_reads_back_as_it_was_scored(tmp_path):
    memory, path = make_run(SUITE, WORDS), tmp_path / "deep" / "run"
    make_run(SUITE, WORDS, path=path)
    run = read_run(path)
    assert run.load_verdicts().equals(memory.load_verdicts())
    assert run.load_sentences().equals(memory.load_sentences())
    assert run.table().equals(memory.table())
    assert (run.name, read_run(str(path)).name) == ("run", "run")
    assert sorted(entry.name for entry in path.iterdir()) == [
        "manifest.json", "sentences.parquet", "table.csv", "table.md", "verdicts.parquet",
    ]  # fmt: skip


def test_the_manifest_counts_what_was_scored(tmp_path):
    make_run(SUITE, {}, path=tmp_path / "run", unknown={"b", "c"}, validation_perplexity=50.0)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    # Six sentences of three words; every pair is <unk> against <unk>.
    assert manifest["counts"] == {
        "items": 3, "contrasts": 3, "sentences": 6, "tokens": 18,
        "correct": 0, "tied": 0, "undecidable": 3, "contexts": 7,
        "resumed_sentences": 0, "too_long": 0,
    }  # fmt: skip
    assert manifest["status"] == "complete"
    assert manifest["suite"]["digest"] == SUITE.digest
    assert manifest["model"]["details"] == {"validation_perplexity": 50.0}
    assert manifest["versions"]["python"] == sys.version.split()[0]


# Signatures and keys


def test_the_signature_names_everything_that_could_change_a_number():
    assert KEY.signature == (
        "suite:small@55555555|model:lstm@aaaaaaaa|score:sentence|dtype:float32|start:<eos>"
        "|terminator:.|items:all|tseval:0.1.0"
    )


def test_a_model_name_cannot_forge_a_part_of_the_signature():
    forged = make_key(SUITE, "x|score:mean\nsuite:y").signature
    assert forged.count("|") == KEY.signature.count("|")
    assert "\n" not in forged


def test_names_do_not_identify_a_run_but_digests_do():
    assert replace(KEY, model="renamed", suite="renamed") == KEY
    for name in ("suite_digest", "fingerprint", "score", "terminator", "items", "tseval"):
        assert replace(KEY, **{name: "other"}) != KEY
    assert replace(KEY, protocol={"dtype": "float32", "start": None}) != KEY


# Places where a run cannot be written


def test_a_file_and_what_is_below_one_are_no_place_for_a_run(tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert (
        message(start_run, file, KEY)
        == f"{file} is a file, but a run needs a folder.\n  Name a new folder with --out."
    )
    assert "run: tseval cannot write into this folder (Not a directory).\n" in message(
        start_run, file / "run", KEY
    )


@pytest.mark.slow
@needs_posix
def test_a_directory_that_may_not_be_written_is_said_so(tmp_path):
    code = """
        import sys, pathlib
        from small import *
        import os
        os.setuid(65534)
        suite = make_suite(make_case("a", [("a b", "a c")]))
        start_run(pathlib.Path(sys.argv[1]), make_key(suite))
    """
    if os.getuid() != 0:
        pytest.skip("needs root to become another user")
    tmp_path.chmod(0o555)
    # Other users need access to the folder itself.
    for folder in (tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    process = python(code, tmp_path / "run")
    assert (
        f"{tmp_path}/run: tseval cannot write into this folder (Permission denied)."
        in process.communicate()[1]
    )


def test_a_directory_of_something_else_is_left_untouched(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    for resume in (False, True):
        text = message(start_run, tmp_path, KEY, resume=resume)
        assert f"{tmp_path} is a folder with other files, such as 'thesis.tex'," in text
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_complete_run_is_not_overwritten(finished):
    before = (finished / "manifest.json").read_bytes()
    assert "run already has a complete run.\n  Read it with tseval table" in message(start_run, finished, KEY)
    assert (finished / "manifest.json").read_bytes() == before


def test_an_interrupted_run_asks_for_resume(tmp_path):
    interrupt(tmp_path / "run")
    text = message(start_run, tmp_path / "run", KEY)
    assert "run already has an interrupted run.\n  To continue it, add --resume" in text


def test_a_run_of_another_key_cannot_be_resumed_and_says_what_differs(tmp_path):
    interrupt(tmp_path / "run")
    other = make_key(SUITE, fingerprint="b" * 64, lowercase=True)
    text = message(start_run, tmp_path / "run", other, resume=True)
    assert f"(fingerprint: {'a' * 64}, not {'b' * 64}; lowercase: nothing, not true)" in text


# Resuming


def test_a_resumed_run_has_its_parts_and_a_complete_one_needs_none(tmp_path, part):
    interrupt(tmp_path, parts=[part.slice(0, 3)])
    with start_run(tmp_path, KEY, resume=True) as writer:
        assert writer.load_part(0).table.equals(part.slice(0, 3))
        assert writer.load_part(1) is None
        writer.finish(*finished_run(SUITE, KEY, part), TABLES)
    assert not (tmp_path / "parts").exists()
    with start_run(tmp_path, KEY, resume=True) as writer:
        assert writer.complete


@pytest.mark.parametrize("damage", [lambda b: b[:-20], lambda b: b[:40] + b"\xff" + b[41:], lambda b: b""])
def test_a_damaged_part_is_scored_again(tmp_path, part, damage):
    interrupt(tmp_path, parts=[part])
    (file,) = (tmp_path / "parts").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    with start_run(tmp_path, KEY, resume=True) as writer:
        assert writer.load_part(0) is None
        writer.save_part(0, Part(part, 0))
        assert writer.load_part(0).table.equals(part)
    assert len(list((tmp_path / "parts").iterdir())) == 1


def test_a_part_that_holds_the_numbers_of_another_is_scored_again(tmp_path, part):
    for name, own in (("a", part), ("b", part.slice(1))):
        interrupt(tmp_path / name, parts=[own])
    (file,), (other,) = ((tmp_path / name / "parts").iterdir() for name in "ab")
    file.write_bytes(other.read_bytes())
    with start_run(tmp_path / "a", KEY, resume=True) as writer:
        assert writer.load_part(0) is None


@pytest.mark.parametrize("content", [b"", b"not a table", b"PAR1" + b"\0" * 40 + b"\x10\0\0\0PAR1"])
def test_a_part_that_is_no_parquet_is_scored_again_though_its_name_holds(tmp_path, part, content):
    interrupt(tmp_path, parts=[part])
    (file,) = (tmp_path / "parts").iterdir()
    file.unlink()
    file.with_name(f"000000-{sha256(content).hexdigest()[:16]}.parquet").write_bytes(content)
    with start_run(tmp_path, KEY, resume=True) as writer:
        assert writer.load_part(0) is None


def test_two_writers_cannot_hold_one_run(tmp_path):
    with start_run(tmp_path, KEY):
        text = message(start_run, tmp_path, KEY, resume=True)
        assert text.startswith(
            f"{tmp_path} is locked, because another tseval command is writing this run.\n  Wait"
        )
    start_run(tmp_path, KEY, resume=True).close()


def test_the_newest_interrupted_run_with_the_key_is_found(tmp_path):
    assert find_interrupted(tmp_path / "runs", KEY) is None
    for seconds, name in enumerate(["old", "new", "other"]):
        interrupt(tmp_path / name, make_key(SUITE, fingerprint="b" * 64) if name == "other" else KEY)
        os.utime(tmp_path / name / "manifest.json", (1000 + seconds, 1000 + seconds))
    make_run(SUITE, WORDS, path=tmp_path / "done")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    assert find_interrupted(tmp_path, KEY) == tmp_path / "new"


# A full disk


FULL = """
    import resource, sys, pathlib
    from small import *
    from tseval.errors import RunError
    from tseval.scoring.engine import Part
    suite = make_suite(make_case("a", [(f"a{i} b", f"a{i} c") for i in range(3000)]))
    scored, key = score(suite, {"b": -0.5}), make_key(suite)
    writer = start_run(pathlib.Path(sys.argv[1]), key)
    writer.save_part(0, Part(scored.slice(0, 5), 0))
    if sys.argv[2] == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))
    try:
        if sys.argv[3] == "part":
            writer.save_part(1, Part(scored, 0))
        else:
            tables = {"table.md": "", "table.csv": ""}
            writer.finish(*finished_run(suite, key, scored), tables)
    except RunError as error:
        print(error)
"""


@pytest.fixture
def tiny_disk(tmp_path):
    """Mount a file system of 32 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "none", disk]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system of its own")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize(
    ("full", "reason"),
    [pytest.param("disk", "No space left on device", marks=needs_linux), ("limit", "File too large")],
)  # fmt: skip
@pytest.mark.parametrize(("step", "name"), [("part", "parts/000001-"), ("finish", "sentences.parquet")])
def test_no_room_is_one_message_and_saved_parts_stay(tmp_path, request, full, reason, step, name):
    run = (request.getfixturevalue("tiny_disk") if full == "disk" else tmp_path) / "run"
    output, errors = python(FULL, run, full, step).communicate()
    assert errors == ""
    advice = f"Parts saved so far: 1. Free some disk space, then repeat the command with --resume --out {run}"
    assert f"{reason}).\n  {advice}" in output
    assert output.startswith(f"{run}/{name}")
    assert not list(run.rglob("*.partial"))
    assert json.loads((run / "manifest.json").read_text())["status"] == "running"
    suite = make_suite(make_case("a", [(f"a{i} b", f"a{i} c") for i in range(3000)]))
    with start_run(run, make_key(suite), resume=True) as writer:
        assert writer.load_part(0).table.num_rows == 5
        assert writer.load_part(1) is None


# A complete run that is resumed


@pytest.mark.parametrize("name", ["sentences.parquet", "verdicts.parquet", "table.md", "table.csv"])
def test_resuming_a_complete_run_checks_every_file(finished, name):
    file = finished / name
    file.write_bytes(file.read_bytes() + b"x")
    text = message(start_run, finished, KEY, resume=True)
    assert text.startswith(f"{file} was damaged or edited: its digest is not the digest in the manifest")
    file.unlink()
    text = message(start_run, finished, KEY, resume=True)
    again = "Score the suite again, into a new folder."
    assert text == f"{file}: tseval cannot read this file of the run (No such file or directory).\n  {again}"


def test_a_complete_run_can_be_taken_up_twice_at_once(tmp_path):
    make_run(SUITE, WORDS, path=tmp_path)
    before = sorted(tmp_path.iterdir())
    with start_run(tmp_path, KEY, resume=True), start_run(tmp_path, KEY, resume=True):
        assert sorted(tmp_path.iterdir()) == before


# Runs that cannot be read


@pytest.fixture
def finished(tmp_path):
    make_run(SUITE, WORDS, path=tmp_path / "run")
    return tmp_path / "run"


def rewrite(path, **changes):
    manifest = json.loads((path / "manifest.json").read_text()) | changes
    # Anyone can seal a file that they wrote.
    (path / "manifest.json").write_text(json.dumps(manifest | {"seal": asdict(seal(manifest))}))


def test_a_directory_without_a_manifest_is_not_a_run(tmp_path):
    assert message(read_run, tmp_path) == (
        f"{tmp_path} is not the folder of a run, because the file manifest.json is missing in it.\n  "
        "Name the folder of a run."
    )


def test_an_incomplete_run_says_how_to_go_on(tmp_path, part):
    interrupt(tmp_path, parts=[part, part])
    text = message(read_run, tmp_path)
    assert f"{tmp_path} has an incomplete run (parts saved: 2)" in text
    assert f"--resume --out {tmp_path}" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *((content, "manifest.json is damaged: it is not JSON")
          for content in (b'{"format": 1, ', b"\xff\xfe", b"[" * 100_000 + b"]" * 100_000)),
        *((content, "is not the manifest of a run, because it has no key `format`")
          for content in (b"[]", b"{}", b'{"format": "1"}')),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_one_message(finished, content, said):
    (finished / "manifest.json").write_bytes(content)
    assert said in message(read_run, finished)
    assert said in message(start_run, finished, KEY, resume=True)


def test_a_deeply_nested_protocol_is_another_run(tmp_path):
    interrupt(tmp_path)
    nested = json.loads("[" * 800 + "]" * 800)
    rewrite(tmp_path, key=KEY.to_mapping() | {"protocol": {"start": nested}})
    assert "has a run with other settings" in message(start_run, tmp_path, KEY, resume=True)


def test_a_newer_format_asks_for_an_upgrade(finished):
    rewrite(finished, format=2)
    said = message(read_run, finished)
    assert "has format 2, but this version of tseval reads formats up to 1" in said
    assert "update tseval" in said


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"signature": None}, "signature"),
        ({"suite": {"name": "x", "title": "x", "digest": 5}}, "suite.digest"),
        ({"key": {}}, "key.suite"),
    ],
)
def test_a_manifest_with_a_wrong_field_names_it(finished, changes, named):
    rewrite(finished, **changes)
    assert f"manifest.json is damaged: the key `{named}` is missing or has a wrong value" in message(
        read_run, finished
    )


def test_a_key_of_other_parts_is_damaged(tmp_path):
    interrupt(tmp_path)
    rewrite(tmp_path, key={"suite": "s", "model": "m", "score": "mean", "protocol": {}, "colour": "red"})
    assert "the mapping `key` has keys that tseval does not know" in message(
        start_run, tmp_path, KEY, resume=True
    )


def flip_a_bit(file):
    content = file.read_bytes()
    file.write_bytes(content[:60] + bytes([content[60] ^ 1]) + content[61:])


def replace_and_list(file):
    file.write_bytes(b"not a table")
    rewrite(file.parent, files={file.name: sha256(b"not a table").hexdigest()})


def replace_by_a_pipe(file):
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("name", ["verdicts", "sentences"])
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (flip_a_bit, " was damaged or edited: its digest is not the digest in the manifest"),
        (replace_and_list, " is no Parquet file.\n  Score"),
        (Path.unlink, ": tseval cannot read this file of the run (No such file or directory)"),
        (
            replace_by_a_pipe,
            ": tseval cannot read this file of the run (It is a pipe, not a regular file).\n",
        ),
    ],
)
def test_a_table_that_is_not_the_runs_is_refused(finished, name, edit, said):
    edit(finished / f"{name}.parquet")
    run = read_run(finished)
    assert f"{name}.parquet{said}" in message(lambda: getattr(run, name))


# Names of directories


def test_names_from_outside_cannot_leave_the_folder_of_runs(tmp_path):
    now = datetime(2026, 3, 4, 5, 6, 7)
    key = replace(KEY, model="../../etc/pass wd", suite="..")
    path = fresh_directory(tmp_path, key, now)
    assert path == tmp_path / "etc-pass-wd--unnamed--20260304T050607"
    long = fresh_directory(tmp_path, replace(KEY, model="m" * 500), now)
    assert len(long.name) < 160


# A model's description is checked before scoring starts, not at the end when it is written.
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"details": {"path": Path("a")}}, "`card.details['path']` of the model"),
        ({"details": {"loss": np.float32(1)}}, "`card.details['loss']` of the model"),
        ({"protocol": {"start": Path("a")}}, "`card.protocol['start']` of the model"),
        ({"protocol": {"fingerprint": "x"}}, "has the key 'fingerprint', which tseval sets itself"),
        ({"fingerprint": ""}, "is '', but it must identify the weights"),
        ({"fingerprint": Path("a")}, "`card.fingerprint` of the model"),
    ],
)
def test_a_card_that_no_manifest_can_hold_is_refused_before_scoring(tmp_path, changed, said):
    model = open_model("bundled:lstm")
    model.card = replace(model.card, **changed)
    suite = load_suite("marvin_linzen", cases="simple_agrmt", limit=1)
    with pytest.raises(ModelError) as error:
        evaluate(model, suite, out=tmp_path / "run")
    assert said in str(error.value)
    assert not (tmp_path / "run").exists()


# The training step of a model: from the model itself, from its revision, or from its name.
def card(name, **details):
    return ModelCard(name, "hf", "a" * 64, {}, details)


@pytest.mark.parametrize(
    ("name", "step", "training"),
    [
        ("drnn-step1000", 1000, "drnn"),
        ("checkpoint-500", 500, "hf"),  # the kind of model, if the folder has no name either
        ("mine-step_100-epoch2", 100, "mine"),
        ("gpt2.ckpt-20k", 20_000, "gpt2"),
        ("EleutherAI/pythia-70m@step143000", 143_000, "EleutherAI/pythia-70m"),
        ("olmo-step140000-tokens294B", 140_000, "olmo-tokens294B"),
        ("lstm-step500-seed2", 500, "lstm-seed2"),
        ("iter-0007", 7, "hf"),
        ("gpt2-epoch3", None, "gpt2"),  # no step
        ("footstep12", None, "footstep12"),
        ("step12b", None, "step12b"),
        ("stepping-500", None, "stepping-500"),
    ],
)
def test_a_name_may_say_a_step(name, step, training):
    assert (progress_of(card(name)), training_of(card(name))) == (step, training)


def test_what_the_model_knows_comes_before_its_revision_and_this_before_its_name():
    assert progress_of(card("m-step1", revision="step2", step=3)) == 3
    assert progress_of(card("m-step1", revision="step2")) == 2
    assert progress_of(card("m-step1", revision="main")) == 1
    assert progress_of(card("m", step=True)) is None
    assert progress_of(card("m-step1"), "tokens") is None
    assert progress_of(card("m-step1-epoch3"), "epoch") == progress_of(card("EPOCH_3"), "epoch") == 3
    assert progress_of(card("m-step1"), "epoch") is None
    assert progress_of(card("m-step1", tokens=70), "tokens") == 70
    assert training_of(card("checkpoint-500", folder="mine")) == "mine"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (json.dumps({"global_step": 500, "epoch": 1.5}), {"step": 500, "folder": "mine"}),
        (json.dumps({"global_step": True}), {}),
        ("[]", {}),
        ("{", {}),
        (None, {}),
    ],
)
def test_the_state_of_the_trainer_is_read_and_never_believed_blindly(tmp_path, content, found):
    folder = tmp_path / "mine/checkpoint-500"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "trainer_state.json").write_text(content)
    assert place_in_training(folder) == found
