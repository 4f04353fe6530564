"""The page on wrapping a checkpoint, followed exactly, with a real installation of its package."""

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from in_process import run_process, succeeded
from pages import Command, follow, offline_pip, write_files

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
    assert len(followed.commands) == 6
    for command in followed.commands:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"


def test_a_stateful_model_scores_as_the_opaque_one(followed: Followed) -> None:
    shutil.copy(Path(__file__).parents[1] / "stateful_bigram.py", followed.folder)
    program = """if True:
        from pathlib import Path
        import numpy as np, tseval
        from stateful_bigram import StatefulBigram
        from tseval_bigram import Bigram  # noqa: PLC0415 - installed by the fixture
        suite = tseval.load_suite("marvin_linzen", cases=["vp_coord"])
        scores = [
            tseval.evaluate(model(Path("simple.txt")), suite).verdicts[["better_score", "worse_score"]]
            for model in (Bigram, StatefulBigram)
        ]
        np.testing.assert_allclose(*scores, rtol=0, atol=1e-6)
        print(len(scores[0]))
    """
    command = ["python", "-c", program]
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
    # By hand: 10 nouns and 3 verbs in two numbers, `is` and `are`, 4 adjectives, `the`, `.` and `<unk>`. All
    # 140 sentences begin with `the`, and 7 of them continue with `author`.
    assert len(model.words) == 20 + 6 + 2 + 4 + 3
    assert model.word_logprobs(["the author"]) == [[math.log(141 / 175), math.log(8 / 175)]]


def test_the_function_of_the_reference_page_passes_the_test_of_the_page(tmp_path: Path) -> None:
    write_files(DOCS / "adapters.md", tmp_path)
    (tmp_path / "words.txt").write_text("<eos> <unk> the author laughs .")
    # The page also has a module that adds noise; it must fail.
    for name, other in (("mine.py", "noisy.py"), ("test_mine.py", "test_noisy.py")):
        source = (
            (tmp_path / name)
            .read_text("utf-8")
            .replace("output(hidden), ", "output(hidden + torch.rand_like(hidden)), ")
        )
        (tmp_path / other).write_text(source.replace("from mine", "from noisy"), "utf-8")
    save = "import torch; from mine import Lstm; torch.save(Lstm(6).state_dict(), 'lstm.pt')"
    succeeded(run_process(["python", "-c", save], cwd=tmp_path))
    tests = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py", "test_noisy.py"]
    done = run_process(tests, env=os.environ | {"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    assert (done.returncode, "1 failed, 1 passed" in done.stdout) == (1, True), done.stdout
    assert "FAILED test_noisy.py" in done.stdout


def test_the_page_on_your_own_checkpoint_prints_what_it_quotes(tmp_path: Path) -> None:
    commands = follow(DOCS / "your-checkpoint.md", tmp_path)
    assert len(commands) == 5
    for command in commands:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"
