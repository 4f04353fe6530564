"""A new cell and a new adapter need two files each, a module and its test, and all tools find them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from systems import needs_posix

pytestmark = [pytest.mark.slowest, needs_posix]

ROOT = Path(__file__).parents[2]
FILES = {
    "tseval/models/cells/fading.py": '''"""A network whose state fades."""

from torch import Tensor

from tseval.models.cells.cell import AdditiveCell, State


class Fading(AdditiveCell):
    """Every word adds to a state that halves.

    h_t = h_{t-1} / 2 + tanh(U x_t + b)

    Source: this test.
    """

    name = "fading"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size, hidden_size)

    def recurrent_weight(self) -> None:
        return None

    def update(self, drive: Tensor, state: State) -> State:
        return (state[0] / 2 + drive.tanh(),)
''',
    "tests/models/cells/test_fading.py": """import numpy as np
from equations import Known


def fading(weights, options, words, state):
    return (state[0] / 2 + np.tanh(words[-1] @ weights["input.weight"].T + weights["input.bias"]),)


KNOWN = {"fading": Known(fading, lambda e, n: n * e + n)}
""",
    "adapters/letters.py": '''"""Models that know letters: `letters:NATS`, so many for a letter of 100."""

import hashlib

from tseval.scoring.protocol import ModelCard

SCHEMES = {"letters": "open_letters"}


class Letters:
    def __init__(self, nats):
        self.nats = nats
        digest = hashlib.sha256(str(nats).encode()).hexdigest()
        self.card = ModelCard("letters", "letters", digest, {}, {"architecture": "letters"})

    def __repr__(self):
        return self.card.show(self)

    def word_logprobs(self, sentences):
        return [[-self.nats * sum(word.encode()) / 100 for word in text.split()] for text in sentences]


def open_letters(rest, arguments, device):
    return Letters(float(rest))
''',
    "tests/adapters/test_letters.py": """from tseval.adapters import open_model


def letters(what, folder, device):
    from own_models import Own

    return Own(open_model("letters:0.5"), None, {"encoding", "distribution"})


KINDS = {"letters": letters}
""",
}
TEXT = "the author laughs .\nthe authors laugh .\n" * 60


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Make a checkout with the four new files."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("tseval", "adapters", "tests"):
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("templates", "leaderboards", "docs", "pyproject.toml"):
        (copy / name).symlink_to(ROOT / name)
    for name, text in FILES.items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(text)
    (copy / "text").write_text(TEXT)
    # An entry point that an older tseval registered at its installation.
    (copy / "tseval-0.0.1.dist-info").mkdir()
    (copy / "tseval-0.0.1.dist-info" / "METADATA").write_text("Name: tseval\nVersion: 0.0.1\n")
    old = "[tseval.adapters]\nhf = tseval.adapters.hf:open_elsewhere\n"
    (copy / "tseval-0.0.1.dist-info" / "entry_points.txt").write_text(old)
    return copy


def ended(copy, *arguments):
    """Run Python; return its output."""
    run = subprocess.run(
        [sys.executable, *arguments], cwd=copy, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(copy), str(copy / "tests")])},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


# Several commands in one process, which starts in the copy.
LINES = """import shlex, sys
from in_process import succeed
for line in sys.argv[1:]:
    print(succeed(*shlex.split(line)).stdout)
"""


def done(copy, *lines):
    """Run tseval commands; return their output."""
    return ended(copy, "-c", LINES, *lines)


def test_a_cell_is_trained_scored_and_checked_by_the_command_line(copy):
    training = "--train text --valid text --epochs 1 --batch 4 --embedding 6 --hidden 6 --out fading.pt"
    checked = "check-model fading.pt --sentences text"
    scored = "surprisal text --model fading.pt --format tsv"
    assert "author" in done(copy, f"train lm --arch fading {training}", checked, scored)


def test_an_adapter_is_listed_once_scores_and_is_checked_by_the_command_line(copy):
    listed = [line.split()[:2] for line in ended(copy, "-m", "tseval", "models").splitlines() if line]
    assert listed.count(["letters", "tseval.adapters.letters:open_letters"]) == 1
    assert [line for line in listed if line[0] == "hf"] == [["hf", "tseval.adapters.hf:open_causal"]]
    scored = "run --model letters:0.5 --case simple_agrmt --limit 3 --out run"
    assert "letters" in done(copy, "check-model letters:0.5", scored)


def test_the_tests_that_run_over_all_cells_and_adapters_find_both(copy):
    rooms = "models/test_cells models/test_sizes"
    files = [f"tests/{name}.py" for name in (*rooms.split(" "), "testing/test_own_adapters")]
    options = ["-m", "pytest", "-v", "-p", "no:cacheprovider", "-k"]
    said = ended(copy, *options, "fading or letters or test_every or page", *files)
    for test in (
        "test_a_step_is_the_equation[('fading', 7, 24, {})]",
        "test_the_recurrent_core_has_the_parameters_of_its_equation[fading]",
        "test_an_adapter_of_our_own_passes_the_kit[letters]",
    ):
        assert f"{test} PASSED" in said
