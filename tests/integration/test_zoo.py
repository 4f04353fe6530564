"""`tseval train zoo`, as a user runs it: small models of real architectures, trained and scored for real."""

import csv
import fcntl
import gzip
import json
import random
import signal
import subprocess
import time
from fractions import Fraction

import click
import pytest

from tseval.cli import tseval as command
from tseval.errors import TsevalError
from tseval.models.cells import CELLS
from tseval.suites import load_suite
from tseval.verdicts import sentences_of
from tseval.zoo.recipe import bundled_recipes

TINY = """
train: {embedding: 8, hidden: 8, layers: 1, dropout: 0, batch: 16, max-tokens: 20000, learning-rate: 0.01}
"""


def tseval(*arguments, cwd, code=0):
    result = subprocess.run(
        ["tseval", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    return result


def zoo(cwd, *extra, archs=("srn",), code=0):
    wanted = [word for arch in archs for word in ("--arch", arch)]
    common = ("--corpus", "corpus", "--recipe", "tiny.yaml", "--out", "zoo")
    return tseval("train", "zoo", *common, *wanted, *extra, cwd=cwd, code=code)


@pytest.fixture(scope="module")
def words():
    """The words of the suite."""
    suite = sentences_of(load_suite("marvin_linzen")).to_pylist()
    return sorted({word for text in suite for word in text.split()})


@pytest.fixture
def place(tmp_path, words):
    """A folder with a recipe, and a corpus of random sentences over the suite's words."""
    draw = random.Random(0)
    (tmp_path / "corpus").mkdir()
    for name, size in (("train.txt.gz", 1500), ("valid.txt.gz", 200)):
        lines = (" ".join(draw.choices(words, k=6)) + " .\n" for _ in range(size))
        (tmp_path / "corpus" / name).write_bytes(gzip.compress("".join(lines).encode()))
    (tmp_path / "tiny.yaml").write_text(TINY)
    return tmp_path


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


@pytest.mark.slow
def test_a_zoo_stopped_in_the_middle_goes_on_with_the_same_command_and_redoes_nothing(place):
    words = ["train", "zoo", "--corpus", "corpus", "--recipe", "tiny.yaml", "--out", "zoo"]
    words += ["--jobs", "1", "--arch", "srn", "--arch", "drnn"]
    with (place / "said").open("w") as said:
        driver = subprocess.Popen(["tseval", *words], cwd=place, stdout=subprocess.DEVNULL, stderr=said)
        wait_for((place / "zoo/models/drnn.pt.resume").exists)
        again = tseval(*words, cwd=place, code=2)
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(60) == 130
    assert "zoo is being worked on by another tseval" in again.stderr
    assert "saved in zoo: the same command goes on" in (place / "said").read_text()
    with (place / "zoo/.lock").open() as lock:  # no model is left in training: it would hold the lock
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    finished = {path: path.stat().st_mtime_ns for path in (place / "zoo").rglob("srn*") if path.is_file()}
    assert {path.name for path in finished} >= {"srn.pt", "srn.log"}
    assert not (place / "zoo/runs/drnn/table.md").exists()
    result = tseval(*words, "--publish", "zoo-tables", cwd=place)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert "srn: training" not in result.stderr
    assert "drnn: training" in result.stderr
    # The ranked table is that of the runs; the board beside it holds the same accuracies.
    assert result.stdout == tseval("table", "zoo/runs/srn", "zoo/runs/drnn", cwd=place).stdout
    assert accuracies(place / "zoo-tables", place) == {
        (arch, *row): f"{float(Fraction(correct * 1000 // items, 1000)):.3f}"
        for arch in ("srn", "drnn")
        for row, (correct, items) in counts(place / f"zoo-tables/{arch}/table.csv").items()
    }
    assert_published(place / "zoo-tables", place)


def counts(path):
    """Row to correct and decidable items, from the table of a run."""
    with path.open() as file:
        return {
            (row["phenomenon"], row["construction"], row["contrast"]): (
                int(row["n_correct"]), int(row["n_items"]) - int(row["n_undecidable"]),
            )
            for row in csv.DictReader(file)
        }  # fmt: skip


def accuracies(board, cwd):
    """Model and row to accuracy, as the board holds it."""
    content = json.loads((board / "board.json").read_text())
    assert tseval("table", board, cwd=cwd).stdout in (board / "README.md").read_text()
    return {
        (model, row["phenomenon"], row["construction"], row["contrast"]): accuracy
        for row in content["rows"]
        for model, accuracy in row["accuracy"].items()
    }


def assert_published(folder, cwd):
    """Everything small is there, nothing else, and the page says how it was made."""
    for arch in ("srn", "drnn"):
        names = {path.name for path in (folder / arch).iterdir()}
        assert names == {"table.csv", "table.md", "manifest.json", "curves.parquet"}
    page = (folder / "README.md").read_text()
    assert "| drnn    |      1 |        8 |" in page
    assert "`train.txt.gz`: 12,000 tokens" in page
    assert tseval("table", folder, "bhatt2020", cwd=cwd).stdout in page


@pytest.mark.slow
def test_an_architecture_that_fails_is_named_at_the_end_and_the_others_go_on(place):
    with (place / "tiny.yaml").open("a") as recipe:
        recipe.write("cells: {srn: {learning-rate: 1.0e+30, clip: 1.0e+30}}\n")
    result = zoo(place, "--publish", "zoo-tables", archs=("srn", "abdrnn"), code=1)
    assert "tseval: srn failed: the " in result.stderr
    assert "Lower --learning-rate or --clip." in result.stderr
    assert "See zoo/srn.log." in result.stderr
    assert "nothing was published to zoo-tables" in result.stderr
    assert not (place / "zoo-tables").exists()
    assert "| abdrnn on marvin_linzen" in result.stdout
    assert "srn" not in result.stdout.replace("abdrnn", "")


@pytest.mark.slow
def test_seeds_are_averaged_and_a_published_zoo_is_replaced(place):
    zoo(place, "--publish", "zoo-tables")
    result = zoo(place, "--publish", "zoo-tables", "--seeds", "2", "--beside", "bhatt2020")
    assert "srn-2: training" in result.stderr
    assert "srn: training" not in result.stderr
    assert "| marvin_linzen                               |  srn |  SRN |" in result.stdout
    first, second = (counts(place / f"zoo-tables/{name}/table.csv") for name in ("srn", "srn-2"))
    assert first != second
    means = {row: (Fraction(*first[row]) + Fraction(*second[row])) / 2 for row in first}
    assert accuracies(place / "zoo-tables", place) == {
        ("srn", *row): f"{float(Fraction(int(mean * 1000), 1000)):.3f}" for row, mean in means.items()
    }


def refusal(place, monkeypatch, *extra, archs=("srn",)):
    """What the command says before it starts anything; called in this process, since torch loads slowly."""
    monkeypatch.chdir(place)
    wanted = [word for arch in archs for word in ("--arch", arch)]
    common = ("--corpus", "corpus", "--recipe", "tiny.yaml", "--out", "zoo")
    with pytest.raises((TsevalError, click.UsageError)) as error:
        command(["train", "zoo", *common, *wanted, *extra], standalone_mode=False)
    assert not (place / "zoo").exists()
    return str(error.value)


@pytest.mark.parametrize("name", bundled_recipes())
def test_every_recipe_suits_every_architecture(place, monkeypatch, name):
    # Options are checked before the corpus is looked for, so this message means that they are fine.
    message = refusal(place, monkeypatch, "--recipe", name, "--corpus", "absent", archs=CELLS)
    assert "absent/train.txt.gz: No such file or directory." in message
    assert "make zoo CORPUS=DIR" in message


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("train: {hiden: 8}", "recipe tiny, srn: No such option '--hiden'."),
        ("train: {hidden: 0}", "0 is not in the range x>=1"),
        ("train: {dropout: 1}", "recipe tiny, srn: dropout must be in [0, 1)"),
        ("train: {seed: 3}", "tiny.yaml: train.seed is set by the zoo itself: leave it out"),
        ("train: {hidden: [8, 9]}", "tiny.yaml: train.hidden should be a text or a number, not [8, 9]"),
        ("train: 8", "tiny.yaml: train should be a mapping of names, not 8"),
        ("cells: {snr: {hidden: 8}}", "cells: unknown architecture 'snr'.\n  Did you mean 'srn'?"),
        ("seeds: 0", "tiny.yaml: seeds should be a whole number above 0, not 0"),
        ("sedes: 1", "tiny.yaml: unknown field 'sedes'.\n  A recipe has seeds, train and cells."),
        ("- 1", "tiny.yaml: a recipe should be a mapping of names, not [1]"),
        ("train: {", "tiny.yaml: not a YAML file (while parsing"),
    ],
)
def test_a_bad_recipe_gets_one_message_before_anything_is_trained(place, monkeypatch, recipe, message):
    (place / "tiny.yaml").write_text(recipe)
    assert message in refusal(place, monkeypatch)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (("--recipe", "papr"), "there is no recipe 'papr'.\n  Name a YAML file. Did you mean 'paper'?"),
        (("--recipe", "corpus"), "corpus: cannot be read (Is a directory)"),
        (("--beside", "bhatt"), "there is no run or board at 'bhatt'."),
        (("--out", "corpus"), "corpus is there, but is no zoo: it has no zoo.json that could be read."),
        (("--publish", "corpus"), "corpus holds something else than a published zoo."),
        (("--arch", "snr"), "'snr' is not one of"),
    ],
)
def test_bad_settings_get_one_message(place, monkeypatch, extra, message):
    assert message in refusal(place, monkeypatch, *extra)
    assert {path.name for path in (place / "corpus").iterdir()} == {"train.txt.gz", "valid.txt.gz"}


@pytest.mark.slow
def test_models_of_other_settings_or_texts_are_not_mixed(place):
    zoo(place, "--quiet")
    (place / "tiny.yaml").write_text(TINY.replace("20000", "30000"))
    message = zoo(place, code=2).stderr
    assert "zoo holds a srn of other settings: --embedding 8" in message
    assert "or remove zoo/models/srn.* and zoo/runs/srn." in message
    assert "--max-tokens 30000" in message
    (place / "tiny.yaml").write_text(TINY)
    text = place / "corpus/train.txt.gz"
    text.write_bytes(gzip.compress(gzip.decompress(text.read_bytes())[:-20]))
    assert "zoo holds a zoo trained on another train.txt.gz." in zoo(place, code=2).stderr
