"""`tseval train zoo`, as users call it: small models of real architectures are really trained and scored."""

import csv
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import click
import pandas as pd
import pytest
from cut_suites import cut_suite
from in_process import call
from systems import needs_posix

from tseval.cli import tseval as command
from tseval.errors import TsevalError
from tseval.files import take_lock
from tseval.models.cells import CELLS
from tseval.suites import load_suite
from tseval.training import zoo as zoo_room
from tseval.training.zoo import bundled_recipes
from tseval.verdicts import sentences_of

TINY = """
train: {embedding: 8, hidden: 8, layers: 1, dropout: 0, batch: 16, max-tokens: 60000, learning-rate: 0.01}
"""
# Long enough that a training is still running when the stop reaches it through its worker.
LONGER = TINY.replace("60000", "200000")
FEW = ("simple_agrmt", "vp_coord", "subj_rel", "simple_reflexives", "reflexive_sent_comp")
COMMON = ("--corpus", "corpus", "--recipe", "tiny.yaml", "--out", "zoo")
# Like a background job of a script, which ignores Ctrl-C.
IN_THE_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
# The command with another suite than the one that zoos use.
ON_THE_SUITE = """import sys
from tseval.cli import main
from tseval.training import zoo
zoo.SUITE = sys.argv.pop(1)
main()
"""


def tseval(*arguments, cwd, code=0):
    result = call(*arguments, cwd=cwd)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    return result


def zoo(cwd, *extra, archs=("srn",), code=0):
    wanted = [word for arch in archs for word in ("--arch", arch)]
    return tseval("train", "zoo", *COMMON, *wanted, *extra, cwd=cwd, code=code)


def zoo_on(suite, *arguments, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zoo_room, "SUITE", suite)
        return zoo(*arguments, **options)


@pytest.fixture(scope="module")
def words():
    """Return the words of the suite."""
    suite = sentences_of(load_suite("marvin_linzen")).to_pylist()
    return sorted({word for text in suite for word in text.split()})


@pytest.fixture(scope="module")
def few_cases(tmp_path_factory):
    """Return the path of the suite reduced to five rows: a zoo is scored and published on it in seconds."""
    return str(cut_suite(zoo_room.SUITE, FEW, tmp_path_factory.mktemp("few")))


@pytest.fixture
def place(tmp_path, words):
    """Make a folder with a recipe and a corpus."""
    return furnish(tmp_path, words)


def furnish(place, words):
    """Write a recipe and a corpus of random sentences."""
    draw = random.Random(0)
    (place / "corpus").mkdir()
    for name, size in (("train.txt.gz", 1500), ("valid.txt.gz", 200)):
        lines = (" ".join(draw.choices(words, k=6)) + " .\n" for _ in range(size))
        (place / "corpus" / name).write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    (place / "tiny.yaml").write_text(TINY)
    return place


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


@dataclass
class Stopped:
    """A zoo of an SRN and a Decay RNN that was stopped during the training of the second."""

    place: Path
    code: int
    said: str
    meanwhile: str
    finished: dict[Path, int]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, few_cases, words):
    place = furnish(tmp_path_factory.mktemp("stopped"), words)
    (place / "tiny.yaml").write_text(LONGER)
    models = ("--arch", "srn", "--arch", "drnn")
    zoo_command = ["train", "zoo", *COMMON, "--jobs", "1", *models]
    command = [*IN_THE_BACKGROUND, sys.executable, "-c", ON_THE_SUITE, few_cases, *zoo_command]
    with (place / "said").open("w") as said:
        driver = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=said)
        wait_for((place / "zoo/models/srn.pt.resume").exists)
        meanwhile = zoo_on(few_cases, place, code=2).stderr
        wait_for((place / "zoo/models/drnn.pt.resume").exists)
        driver.send_signal(signal.SIGTERM)
        code = driver.wait(60)
    finished = {path: path.stat().st_mtime_ns for path in place.rglob("zoo/**/srn*") if path.is_file()}
    return Stopped(place, code, (place / "said").read_text(), meanwhile, finished)


@pytest.fixture(scope="module")
def resumed(stopped, few_cases):
    """Repeat the same command, and publish."""
    return zoo_on(few_cases, stopped.place, "--publish", "tables", archs=("srn", "drnn"))


@pytest.fixture
def whole(stopped, resumed, few_cases, tmp_path, monkeypatch):
    """Copy the finished zoo."""
    monkeypatch.setattr(zoo_room, "SUITE", few_cases)
    return shutil.copytree(stopped.place, tmp_path / "whole")


@pytest.mark.slowest
def test_a_zoo_that_is_stopped_stops_its_models_and_says_how_to_go_on(stopped):
    assert stopped.code == 130
    assert "saved the finished runs in zoo. To continue, repeat the same command." in stopped.said
    assert (
        "zoo: another process of tseval, here or on another machine, is working in this folder."
        in stopped.meanwhile
    )
    assert stopped.place.joinpath("zoo/models/drnn.pt.resume").exists(), "its training went on to the end"
    # A training that still runs would hold the lock.
    held = take_lock(stopped.place / "zoo/sweep/unit-drnn.lock")
    assert held is not None
    os.close(held)


@pytest.mark.slowest
def test_the_same_command_goes_on_and_redoes_nothing(stopped, resumed):
    assert {path.name for path in stopped.finished} >= {"srn.pt", "srn.log"}
    assert {path: path.stat().st_mtime_ns for path in stopped.finished} == stopped.finished
    assert "srn: training" not in resumed.stderr
    assert "drnn: training" in resumed.stderr
    log = (stopped.place / "zoo/drnn.log").read_text()
    assert "The state of the training is saved. To continue, repeat the command with --resume." in log, (
        "the first training was told to stop, and saved"
    )
    table = call("table", "zoo/runs/srn", "zoo/runs/drnn", cwd=stopped.place).stdout
    assert resumed.stdout.startswith(table.partition("- More notes")[0])


@pytest.mark.slowest
def test_what_is_published_is_all_that_is_small_and_a_page_that_says_how_it_was_made(stopped, resumed):
    tables = stopped.place / "tables"
    for arch in ("srn", "drnn"):
        names = {path.name for path in (tables / "entries" / arch).iterdir()}
        assert names == {"entry.yaml", "manifest.json", "evidence.parquet"}
        assert (tables / "curves" / f"{arch}.parquet").is_file()
    page = (tables / "README.md").read_text()
    assert "| drnn    |      1 |        8 |" in page
    assert "`train.txt.gz`: 12,000 tokens" in page
    assert "](curves.svg)" in page
    assert {"srn", "drnn"} <= set(re.findall(r"<!-- (\w+) -->", (tables / "curves.svg").read_text()))
    assert call("table", tables, "bhatt2020", "--notes", cwd=stopped.place).stdout in page
    section = page.partition("## Which ranks are known")[2].partition("\n## ")[0]
    for arch in ("srn", "drnn"):
        (line,) = (line for line in section.splitlines() if line.startswith(f"| {arch} "))
        assert re.search(r"\| +[12] \[[12](–2)?\] \|", line)


@pytest.mark.slowest
def test_the_board_holds_the_accuracies_of_the_runs(stopped, resumed):
    tables = stopped.place / "tables"
    assert call("table", tables, "--notes", cwd=stopped.place).stdout in (tables / "README.md").read_text()
    assert accuracies(tables) == {
        (arch, *row): cut(share)
        for arch in ("srn", "drnn")
        for row, share in shares(stopped.place / "zoo/runs" / arch).items()
    }  # fmt: skip


@pytest.mark.slowest
def test_everything_of_a_published_zoo_follows_from_its_evidence(stopped, resumed):
    assert "no problems found" in tseval("board", "check", "tables", cwd=stopped.place).stdout
    reports = json.loads(tseval("verify", "tables", "--json", cwd=stopped.place).stdout)
    assert [report["level"] for report in reports] == ["plausible", "plausible"]
    of_runs = tseval("table", "zoo/runs/srn", "zoo/runs/drnn", "--by", "attractor", cwd=stopped.place)
    assert tseval("table", "tables", "--by", "attractor", cwd=stopped.place).stdout == of_runs.stdout


@pytest.mark.slowest
def test_the_command_on_the_page_is_the_one_that_made_it(place, few_cases, monkeypatch):
    monkeypatch.setattr(zoo_room, "SUITE", few_cases)
    shutil.copy(place / "corpus/train.txt.gz", place / "more.txt.gz")
    (place / "tiny.yaml").write_text(f"seeds: 2{TINY}")  # so that one seed is a choice
    zoo(place, "--train", "more.txt.gz", "--seeds", "1", "--publish", "tables")
    page = (place / "tables/README.md").read_text()
    (command,) = re.findall("^    tseval (train zoo .*)$", page, re.MULTILINE)
    chosen = "--recipe tiny --arch srn --seeds 1 --train more.txt.gz"
    assert command == f"train zoo {chosen} --corpus DIR --out DIR --publish DIR"
    (place / "tables").rename(place / "published")
    for option, value in (("--recipe tiny", "--recipe tiny.yaml"), ("corpus DIR", "corpus corpus"),
                          ("out DIR", "out zoo"), ("publish DIR", "publish tables")):  # fmt: skip
        command = command.replace(option, value)
    again = tseval(*command.split(), cwd=place)
    assert "training" not in again.stderr
    assert (place / "tables/README.md").read_text() == page


@pytest.fixture(scope="module")
def first_part(stopped, resumed, few_cases, tmp_path_factory):
    """Publish the zoo of the SRN alone into `joined/tables`."""
    part = tmp_path_factory.mktemp("part") / "of-srn"
    shutil.copytree(stopped.place, part, ignore=shutil.ignore_patterns("drnn*", "tables"))
    (part / "joined").mkdir()
    zoo_on(few_cases, part, "--publish", "joined/tables", archs=("srn",))
    return part


@pytest.fixture
def parts(whole, first_part):
    """Return the zoo of the Decay RNN alone, and the folder where the SRN's zoo is published."""
    shutil.copytree(whole, whole / "of-drnn", ignore=shutil.ignore_patterns("srn*", "tables"))
    shutil.copytree(first_part / "joined", whole / "joined")
    return whole / "of-drnn", whole / "joined/tables"


@pytest.mark.slowest
def test_a_zoo_trained_on_two_machines_is_published_as_one(whole, parts):
    second, published = parts
    result = zoo(second, "--publish", published, "--extend", archs=("drnn",))
    table = call("table", published, cwd=whole).stdout
    assert result.stdout.startswith(table.partition("- More notes")[0])
    for name in ("README.md", "board.yaml", "board.json", "curves.svg"):
        assert (published / name).read_bytes() == (whole / "tables" / name).read_bytes(), name
    nothing = zoo(second, "--out", "empty", "--publish", published, "--extend", archs=("srn", "drnn"))
    assert nothing.stdout == result.stdout
    assert "training" not in nothing.stderr, "both are there already, though not in this zoo"
    assert not (second / "empty").exists()
    assert "no problems found" in tseval("board", "check", "joined/tables", cwd=whole).stdout


@pytest.mark.slowest
def test_models_made_in_another_way_are_not_published_together(parts, monkeypatch):
    second, published = parts
    extending = "--publish", str(published), "--extend"
    assert "Add --publish FOLDER" in refusal(second, monkeypatch, "--extend", archs=("drnn",))
    (second / "tiny.yaml").write_text(LONGER + "cells: {srn: {learning-rate: 0.02}}\n")
    message = refusal(second, monkeypatch, *extending, archs=("drnn",))
    assert "tables: the published model srn was trained with other settings: --" in message
    assert "--learning-rate 0.02" in message.partition("Settings of the recipe tiny:")[2]
    (second / "tiny.yaml").write_text(LONGER)
    text = second / "corpus/train.txt.gz"
    before = text.read_bytes()
    text.write_bytes(gzip.compress(gzip.decompress(before)[:-20], mtime=0))
    message = refusal(second, monkeypatch, *extending, archs=("drnn",))
    assert (
        "tables: the published model srn was trained on other texts: train.txt.gz, 12,000 tokens" in message
    )
    text.write_bytes(before)
    curves = published / "curves/srn.parquet"
    curves.rename(published / "elsewhere")
    said = zoo(second, *extending, archs=("drnn",), code=2).stderr
    assert "tables/curves/srn.parquet: this file does not exist" in said
    pd.read_parquet(published / "elsewhere").drop(columns="seconds").to_parquet(curves)
    said = zoo(second, *extending, archs=("drnn",), code=2).stderr
    assert "the files of the model srn do not have all facts about its training" in said
    assert "that the page of the zoo shows ('seconds')." in said
    assert "/entries/srn, then repeat the command" in said
    entry = published / "entries/srn/entry.yaml"
    entry.write_text(entry.read_text().replace("n_correct: ", "n_correct: 1", 1))
    page = (published / "README.md").read_bytes()
    said = zoo(second, *extending, archs=("drnn",), code=2).stderr
    assert re.search(
        r"tseval cannot extend \S*tables: srn: .*\n  Correct that entry, or remove its folder", said
    )
    assert (published / "README.md").read_bytes() == page


@pytest.mark.slowest
def test_an_architecture_that_fails_is_named_at_the_end_and_the_others_go_on(whole):
    with (whole / "tiny.yaml").open("a") as recipe:
        recipe.write("cells: {abdrnn: {learning-rate: 1.0e+30, clip: 1.0e+30}}\n")
    result = zoo(whole, "--publish", "other-tables", archs=("srn", "abdrnn"), code=1)
    assert "tseval: abdrnn failed: the " in result.stderr
    assert "Lower --learning-rate or --clip." in result.stderr
    assert "Log: zoo/abdrnn.log" in result.stderr
    assert "no leaderboard in other-tables" in result.stderr
    assert not (whole / "other-tables").exists()
    assert "| srn on marvin_linzen" in result.stdout


@pytest.mark.slowest
def test_models_of_other_settings_or_texts_are_not_mixed(whole, monkeypatch):
    (whole / "tiny.yaml").write_text(TINY.replace("60000", "30000"))
    message = refusal(whole, monkeypatch)
    assert "zoo: the model srn in this folder was trained with other settings: --embedding 8" in message
    assert "--max-tokens 30000" in message
    assert "or remove zoo/models/srn.* and zoo/runs/srn." in message
    (whole / "tiny.yaml").write_text(LONGER)
    text = whole / "corpus/train.txt.gz"
    text.write_bytes(gzip.compress(gzip.decompress(text.read_bytes())[:-20], mtime=0))
    assert (
        "zoo: the models in this folder were trained on another file train.txt.gz than the one that"
        in refusal(whole, monkeypatch)
    )


def shares(folder):
    """Return row to share of correct items, from the counts in the table of a run."""
    with (folder / "table.csv").open() as file:
        return {
            (row["phenomenon"], row["construction"], row["contrast"]): Fraction(
                int(row["n_correct"]), int(row["n_items"]) - int(row["n_undecidable"])
            )
            for row in csv.DictReader(file)
        }


def cut(share):
    """Truncate to three decimals."""
    return f"{int(share * 1000) / 1000:.3f}"


def accuracies(folder):
    """Return model and row to accuracy, as in a board's file."""
    return {
        (model, row["phenomenon"], row["construction"], row["contrast"]): accuracy
        for row in json.loads((folder / "board.json").read_text())["rows"]
        for model, accuracy in row["accuracy"].items()
    }


def refusal(place, monkeypatch, *extra, archs=("srn",)):
    """Return the message before anything starts; runs in this process, because torch loads slowly."""
    monkeypatch.chdir(place)
    wanted = [word for arch in archs for word in ("--arch", arch)]
    with pytest.raises((TsevalError, click.UsageError)) as error:
        command(["train", "zoo", *COMMON, *wanted, *extra], standalone_mode=False)
    return str(error.value)


@pytest.mark.parametrize("name", bundled_recipes())
def test_every_recipe_suits_every_architecture(place, monkeypatch, name):
    # Options are checked before the corpus is read, so this message shows that they are valid.
    message = refusal(place, monkeypatch, "--recipe", name, "--corpus", "absent", archs=CELLS)
    assert (
        "absent/train.txt.gz: tseval cannot read this file of the corpus (No such file or directory)."
        in message
    )
    assert "make zoo CORPUS=DIR" in message


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("train: {hiden: 8}", "recipe tiny, srn: No such option '--hiden'."),
        ("train: {dropout: 1}", "recipe tiny, srn: dropout must be at least 0 and below 1"),
        ("train: {seed: 3}", "tiny.yaml: train.seed: the zoo sets this option itself. Leave it out"),
        ("train: {hidden: [8, 9]}", "tiny.yaml: train.hidden: should be"),
        ("train: 8", "tiny.yaml: train: should be a mapping, not 8"),
        ("cells: {snr: {hidden: 8}}", "cells: unknown architecture 'snr'.\n  Did you mean 'srn'?"),
        ("seeds: 0", "tiny.yaml: seeds: should be a whole number above 0, not 0"),
        ("sedes: 1", "tiny.yaml: a recipe cannot have the key 'sedes'.\n  Did you mean 'seeds'?"),
        ("- 1", "tiny.yaml: the file: should be a mapping"),
        ("train: {", "tiny.yaml: not a YAML file (while parsing"),
    ],
)
def test_a_bad_recipe_gets_one_message_before_anything_is_trained(place, monkeypatch, recipe, message):
    (place / "tiny.yaml").write_text(recipe)
    assert message in refusal(place, monkeypatch)
    assert not (place / "zoo").exists()


@needs_posix
@pytest.mark.parametrize("device", ["pipe", "/dev/zero"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("corpus/train.txt.gz", "corpus/train.txt.gz: tseval cannot read this file of the corpus (It is a "),
        (
            "zoo/zoo.json",
            "zoo: this folder exists, but has no file zoo.json that tseval can read, so it is not a "
            "zoo.\n  Choose another --out",
        ),
        ("tables/README.md", "tables: this folder holds files, but is not a published zoo"),
    ],
)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(place, monkeypatch, device, name, message):
    path = place / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path) if device == "pipe" else path.symlink_to(device)
    assert message in refusal(place, monkeypatch, "--publish", "tables")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ("--recipe", "papr"),
            "there is no recipe with the name 'papr', and no file.\n  Give the path of "
            "a YAML file, or the name of a recipe. Did you mean 'paper'?",
        ),
        (("--recipe", "corpus"), "corpus: tseval cannot read this recipe (Is a directory)"),
        (("--out", "corpus"), "corpus: this folder exists, but has no file zoo.json that tseval can read"),
        (("--publish", "corpus"), "corpus: this folder holds files, but is not a published zoo."),
    ],
)
def test_bad_settings_get_one_message(place, monkeypatch, extra, message):
    assert message in refusal(place, monkeypatch, *extra)
    assert {path.name for path in (place / "corpus").iterdir()} == {"train.txt.gz", "valid.txt.gz"}
