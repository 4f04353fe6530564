"""The page on wrapping a checkpoint, followed to the letter, with a real installation of its package."""

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from in_process import run_process, succeeded
from pages import Command, follow, offline_pip, write_files

import tseval

pytest.importorskip("pip", reason="the tutorial installs a package with pip")
pytest.importorskip("hatchling", reason="the tutorial's package is built by hatchling")
pytestmark = pytest.mark.slowest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "tutorial-own-checkpoint.md"


@dataclass(frozen=True)
class Followed:
    folder: Path
    environment: dict[str, str]
    commands: list[Command]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    folder = tmp_path_factory.mktemp("adapter")
    environment = offline_pip(folder)
    return Followed(folder, environment, follow(PAGE, folder, environment))


def test_every_command_prints_what_the_page_quotes(followed: Followed) -> None:
    assert len(followed.commands) == 7
    for command in followed.commands:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"


def test_a_stateful_model_scores_as_the_opaque_one(followed: Followed) -> None:
    program = """if True:
        from pathlib import Path
        import numpy as np, tseval
        from stateful import StatefulBigram
        from tseval_bigram import Bigram  # noqa: PLC0415 - installed by the fixture
        suite = tseval.load_suite("marvin_linzen", cases=["vp_coord"])
        scores = [
            tseval.evaluate(model(Path("simple.txt")), suite).verdicts[["better_score", "worse_score"]]
            for model in (Bigram, StatefulBigram)
        ]
        np.testing.assert_allclose(*scores, rtol=0, atol=1e-6)
        print(len(scores[0]))
    """
    command = [sys.executable, "-c", program]
    done = succeeded(run_process(command, env=followed.environment, cwd=followed.folder))
    assert done.stdout.splitlines()[-1] == "840"


def test_the_bigrams_of_the_page_are_probabilities(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(followed.folder / "site")
    from tseval_bigram import Bigram  # noqa: PLC0415 - installed by the fixture

    model = Bigram(followed.folder / "simple.txt")
    for before in ("<eos>", "author", "is", "<unk>"):
        assert sum(math.exp(model.logprob(before, word)) for word in model.words) == pytest.approx(1)
    # By hand: 10 nouns and 3 verbs in two numbers, `is` and `are`, 4 adjectives, `the`, `.` and `<unk>`;
    # all 140 sentences begin with `the`, and 7 of them go on with `author`.
    assert len(model.words) == 20 + 6 + 2 + 4 + 3
    assert model.word_logprobs(["the author"]) == [[math.log(141 / 175), math.log(8 / 175)]]


def test_the_adapter_of_the_reference_page_installs_and_scores(tmp_path: Path) -> None:
    write_files(DOCS / "adapters.md", tmp_path)
    environment = offline_pip(tmp_path)
    package = tmp_path / "tseval-unigram"
    lines = (package / "tseval_unigram.py").read_text().splitlines()
    assert sum(map(bool, lines)) <= 20
    subprocess.run(["pip", "install", "--quiet", package], env=environment, check=True)
    (tmp_path / "text.txt").write_text("the authors laugh .\nthe authors laugh .\nthe author laughs .\n")
    pair = {"good": "the author laughs .", "bad": "the authors laugh ."}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    command = ["tseval", "run", "--model", "unigram:text.txt", "--suite", "./pairs.jsonl", "--out", "run"]
    succeeded(run_process(command, env=environment, cwd=tmp_path))
    verdict = tseval.read_run(tmp_path / "run").verdicts.iloc[0]
    # By hand: 12 tokens of 6 words, and one place for the unknown.
    better, worse = (4, 2, 2, 4), (4, 3, 3, 4)
    assert verdict["better_score"] == pytest.approx(sum(math.log(count / 19) for count in better), abs=1e-5)
    assert verdict["worse_score"] == pytest.approx(sum(math.log(count / 19) for count in worse), abs=1e-5)
    assert not verdict["correct"]


def test_the_adapter_of_the_reference_page_passes_its_own_test(tmp_path: Path) -> None:
    write_files(DOCS / "adapters.md", tmp_path)
    package = tmp_path / "tseval-unigram"
    # Beside it one without the method that reports unknown words, which must fail.
    for name, other in (("tseval_unigram.py", "tseval_unseen.py"), ("test_unigram.py", "test_unseen.py")):
        source = (package / name).read_text("utf-8").replace("def seen(", "def unseen(")
        (package / other).write_text(source.replace("tseval_unigram", "tseval_unseen"), "utf-8")
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    tests = f"{sys.executable} -m pytest -q -p no:cacheprovider test_unigram.py test_unseen.py".split()
    done = run_process(tests, env=os.environ | {"PYTHONPATH": path}, cwd=package)
    assert (done.returncode, "1 failed, 1 passed" in done.stdout) == (1, True), done.stdout
    assert "FAILED test_unseen.py" in done.stdout
    assert "ModelError: unigram fails 1 of 13 checks" in done.stdout


def test_the_page_on_your_own_checkpoint_prints_what_it_quotes(tmp_path: Path) -> None:
    commands = follow(DOCS / "your-checkpoint.md", tmp_path)
    assert len(commands) == 6
    for command in commands:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"
