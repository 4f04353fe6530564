"""The page on wrapping a checkpoint, followed to the letter, with a real installation of its package."""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from pages import Command, follow

pytest.importorskip("pip", reason="the tutorial installs a package with pip")
pytest.importorskip("hatchling", reason="the tutorial's package is built by hatchling")
pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "tutorial-own-checkpoint.md"


@dataclass(frozen=True)
class Followed:
    folder: Path
    environment: dict[str, str]
    commands: list[Command]

    def tseval(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["tseval", *arguments],
            capture_output=True, text=True, env=self.environment, cwd=self.folder, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    folder = tmp_path_factory.mktemp("adapter")
    site = folder / "site"
    # pip reads these as options: install offline, without touching the environment the tests run in.
    # "0" is no slip: pip stores this value in its option `build_isolation`.
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PIP_TARGET": str(site), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONPATH": str(site),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }  # fmt: skip
    return Followed(folder, environment, follow(PAGE, folder, environment))


def test_every_command_prints_what_the_page_quotes(followed: Followed) -> None:
    assert len(followed.commands) == 5
    for command in followed.commands:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"


def test_a_stateful_model_scores_as_the_opaque_one(followed: Followed) -> None:
    program = """if True:
        from pathlib import Path
        import numpy as np, tseval
        from stateful import StatefulBigram
        from tseval_bigram import Bigram
        suite = tseval.load_suite("marvin_linzen", cases=["vp_coord"])
        scores = [
            tseval.evaluate(model(Path("simple.txt")), suite).verdicts[["better_score", "worse_score"]]
            for model in (Bigram, StatefulBigram)
        ]
        np.testing.assert_allclose(*scores, rtol=0, atol=1e-6)
        print(len(scores[0]))
    """
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env=followed.environment, cwd=followed.folder, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
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


def test_the_installed_adapter_is_listed_with_the_others(followed: Followed) -> None:
    assert "tseval_bigram:open_bigram" in followed.tseval("models").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "bigram:nothing.txt"], "tseval: nothing.txt: no such text to count bigrams from\n"),
        (
            ["--model", "bigram:simple.txt", "--model-args", "n=3"],
            "tseval: bigram takes no --model-args, but got n\n",
        ),
        (["--model", "bigrams:simple.txt"], "Did you mean 'bigram'?"),
    ],
)
def test_errors_of_an_adapter_are_one_message(followed: Followed, arguments: list[str], message: str) -> None:
    done = followed.tseval("run", *arguments, "--case", "simple_agrmt")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
