"""The tests' own house: any selection of them can be run, from anywhere."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from supplied import DATA, ORACLES

TESTS = Path(__file__).parent


def imports_conftest(source: str) -> bool:
    """Several folders have a `conftest.py`: which of them the name means depends on the selection."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {node.module or "", *(alias.name for alias in node.names)}
    return any(name.rpartition(".")[2] == "conftest" for name in imported)


def test_no_test_imports_a_conftest() -> None:
    assert [path for path in TESTS.rglob("*.py") if imports_conftest(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        "from conftest import small",
        "import conftest",
        "from tests.scoring.conftest import x",
        "from . import conftest",
    ],
)
def test_an_import_of_a_conftest_is_noticed(source: str) -> None:
    assert imports_conftest(source)


def test_every_oracle_is_explained_beside_it() -> None:
    readme = (ORACLES / "README.md").read_text("utf-8")
    explained = set(re.findall(r"^\| `([^`]+)` \|", readme, re.MULTILINE))
    assert explained == {path.name for path in ORACLES.iterdir()} - {"README.md"}


def test_one_module_knows_where_data_lie_beside_a_clone() -> None:
    folder = DATA.parent.name
    knowing = [path.name for path in TESTS.rglob("*.py") if f"{folder}/" in path.read_text("utf-8")]
    assert knowing == ["supplied.py"]


def test_folders_and_files_of_several_rooms_collect_together_from_another_folder(tmp_path: Path) -> None:
    chosen = [TESTS / "training", TESTS / "scoring/test_trie.py", TESTS / "suites/grammar/test_lint.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *map(str, chosen)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for file in ("training/test_windows.py", "scoring/test_trie.py", "suites/grammar/test_lint.py"):
        assert f"{file}::test_" in done.stdout
