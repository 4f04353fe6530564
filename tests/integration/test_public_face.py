"""The installed wheel as a script outside the checkout sees it: every public name and its type."""

import re
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from release import Release

import tseval

ROOT = Path(__file__).parents[2]

# Expression to the type that `reveal_type` shows for it.
TYPES = {
    "tseval.Case": "def (name: str, construction: str, phenomenon: str",
    "tseval.PairedComparison": "def (first: str, second: str, document: tseval.report.document.Document",
    "tseval.Contrast": "def (better: str, worse: str) -> tseval.questions.contrast.Contrast",
    "tseval.Item": "def (case: str, index: int, sentences: typing.Mapping[str, str]",
    "tseval.ModelCard": "def (name: str, kind: str, fingerprint: str",
    "tseval.Page": "def (html: str, lacking: str | None) -> tseval.results.Page",
    "tseval.TsevalError": "def (message: str =) -> tseval.errors.TsevalError",
    "tseval.__version__": "str",
    "model": "tseval.scoring.protocol.RecurrentModel | tseval.scoring.protocol.TokenModel | tseval.",
    "model.card": "tseval.scoring.protocol.ModelCard",
    "suite": "tseval.items.Suite",
    "suite.cases": "tuple[tseval.items.Case, ...]",
    "suite.cases[0].contrasts": "tuple[tseval.questions.contrast.Contrast, ...]",
    "next(suite.cases[0].items())": "tseval.items.Item",
    "suite.n_items": "int",
    "in_context": "tseval.items.Suite",
    "run": "Run",
    "run.table()": "DataFrame",
    "run.mean()": "float | None",
    "run.means()": "dict[str, float]",
    "tseval.table([run, 'bhatt2020'])": "DataFrame",
    "tseval.compare(run, Path('run'))": "tseval.results.PairedComparison",
    "tseval.compare(run, run).rows": "DataFrame",
    "tseval.report(run, 'page.html')": "tseval.results.Page",
    "tseval.report([run]).save('page.html')": "Path",
    "run.verdicts": "DataFrame",
    "tseval.read_run('run')": "Run",
    "check_model(model)": "tseval.testing.report.Report",
    "check_model(model).ok": "bool",
}
SCRIPT = """from pathlib import Path

import tseval
from tseval.errors import ModelError
from tseval.testing import check_model


def score(model: tseval.Model, suite: tseval.Suite, out: Path) -> tseval.Run:
    return tseval.evaluate(model, suite, out=out)


def sizes(case: tseval.Case) -> tuple[int, tuple[tseval.Contrast, ...]]:
    return case.n_items, case.contrasts


def first(case: tseval.Case) -> tseval.Item:
    return next(case.items())


def page(runs: list[tseval.Run]) -> tseval.Page:
    return tseval.report(runs)


def who(card: tseval.ModelCard) -> str:
    return card.fingerprint


try:
    model = tseval.load_model("bundled:lstm")
except ModelError as error:
    wrong: tseval.TsevalError = error
    raise
suite = tseval.load_suite("marvin_linzen", cases=["simple_agrmt"], limit=5)
in_context = tseval.in_context(suite, "other", words=20)
run = tseval.evaluate(model, suite)
"""

# mypy would read these dependencies for most of a minute, and no public name has their types.
SETTINGS = """[mypy]
strict = True
[mypy-torch.*,transformers.*,ray.*,peft.*,scipy.*,huggingface_hub.*,matplotlib.*,tokenizers.*]
follow_imports = skip
follow_imports_for_stubs = True
"""


@dataclass(frozen=True)
class Outside:
    """A folder with an environment in which the wheel and its libraries are installed."""

    folder: Path

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        python = self.folder / "env" / "bin" / "python"
        return subprocess.run(
            [python, *map(str, command)],
            capture_output=True, text=True, check=False, cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory, release: Release) -> Outside:
    folder = tmp_path_factory.mktemp("outside")
    venv.create(folder / "env")
    home = str(folder / "env")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": home, "platbase": home}))
    install = f"{sys.executable} -m pip install --quiet --no-deps --no-index --target {site} {release.wheel}"
    subprocess.run(install.split(), check=True, capture_output=True)
    # The libraries are those of the tests' environment; the wheel comes before its tseval.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    (folder / "mypy.ini").write_text(SETTINGS, "utf-8")
    return Outside(folder)


def test_every_public_name_is_there_and_completes() -> None:
    assert tseval.__all__ == dir(tseval) == sorted(tseval.__all__)
    assert {"Run", "Suite", "Case", "ModelCard", "TsevalError"} <= set(dir(tseval))
    assert all(getattr(tseval, name) is not None for name in tseval.__all__)
    assert issubclass(tseval.errors.ModelError, tseval.TsevalError)


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tseval' has no attribute 'load_modle'"):
        tseval.load_modle  # type: ignore[attr-defined]  # noqa: B018 - the look-up is the test


@pytest.mark.slowest
def test_the_installed_wheel_says_that_it_is_typed(outside: Outside) -> None:
    done = outside.run("-c", "import tseval; print(tseval.__file__)")
    installed = Path(done.stdout.strip()).parent
    assert installed.is_relative_to(outside.folder)
    assert (installed / "py.typed").read_text() == ""


@pytest.mark.slowest
def test_a_script_with_every_public_name_passes_strict_mypy_and_its_types_are_precise(
    outside: Outside,
) -> None:
    assert all(re.search(rf"\btseval\.{name}\b", SCRIPT + str(TYPES)) for name in tseval.__all__)
    # Import a room with the name of a public function; the function must stay a function.
    start = ["import tseval.report.table", *SCRIPT.splitlines()]
    lines = [*start, *(f"reveal_type({expression})" for expression in TYPES)]
    (outside.folder / "script.py").write_text(SCRIPT, "utf-8")
    (outside.folder / "revealed.py").write_text("\n".join([*lines, "tseval.load_modle"]) + "\n", "utf-8")
    done = outside.run("-m", "mypy", "script.py", "revealed.py")
    assert done.stderr == ""
    shown = done.stdout
    revealed = dict(re.findall(r'^revealed\.py:(\d+): note: Revealed type is "(.*)"$', shown, re.MULTILINE))
    for line, (expression, expected) in enumerate(TYPES.items(), len(start) + 1):
        assert expected in revealed[str(line)], expression
        assert "Any" not in revealed[str(line)], expression
    # mypy reports the misspelt name, and nothing else in either file.
    assert f'revealed.py:{len(lines) + 1}: error: Module has no attribute "load_modle"' in shown
    assert "Found 1 error in 1 file (checked 2 source files)" in shown


@pytest.mark.slowest
def test_the_script_runs(outside: Outside) -> None:
    (outside.folder / "script.py").write_text(SCRIPT, "utf-8")
    done = outside.run("script.py")
    assert done.returncode == 0, done.stderr
