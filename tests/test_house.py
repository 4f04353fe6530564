"""The house: any selection of tests can be run, from anywhere; one name of the package has one meaning."""

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from supplied import DATA, ORACLES

TESTS = Path(__file__).parent
ROOT = TESTS.parent
# What may be defined in several modules: `tseval.cli` finds the one command of each of its modules by this
# name, and T stands for whatever type a generic function is called with.
SHARED_NAMES = {"command", "T"}


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
        "from  conftest import small",
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


def public_names(body: list[ast.stmt]) -> Iterator[str]:
    """Name what a module defines at its top, and under an `if` such as that of TYPE_CHECKING."""
    for node in body:
        match node:
            case ast.If():
                yield from public_names([*node.body, *node.orelse])
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if not name.startswith("_"):
                yield name
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = (part for target in targets for part in ast.walk(target))
                yield from (
                    part.id
                    for part in names
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id[0] != "_"
                )


def defined_twice(sources: dict[str, str]) -> dict[str, list[str]]:
    """Give every public name that several modules define, with these modules."""
    modules: dict[str, list[str]] = {}
    for module, source in sources.items():
        for name in set(public_names(ast.parse(source).body)) - SHARED_NAMES:
            modules.setdefault(name, []).append(module)
    return {name: found for name, found in modules.items() if len(found) > 1}


def test_no_public_name_is_defined_in_two_modules() -> None:
    paths = [path for room in ("tseval", "adapters") for path in (ROOT / room).rglob("*.py")]
    sources = {str(path.resolve().relative_to(ROOT)): path.read_text("utf-8") for path in paths}
    assert len(sources) > 150
    assert defined_twice(sources) == {}


@pytest.mark.parametrize(
    "second",
    [
        "def View(): ...",
        "class View: ...",
        "View = 1",
        "KINDS, View = 1, 2",
        "View: int = 1",
        "if TYPE_CHECKING:\n    View = int",
    ],
)
def test_a_name_with_two_meanings_is_noticed(second: str) -> None:
    assert defined_twice({"a.py": "class View: ...", "b.py": second}) == {"View": ["a.py", "b.py"]}


def test_private_and_imported_names_may_stand_in_two_modules() -> None:
    other = "from a import View\ndef _own(): ...\nView.kind = 1\ndef take():\n    View = 2"
    assert defined_twice({"a.py": "class View: ...\ndef _own(): ...", "b.py": other}) == {}


def test_every_exemption_from_a_rule_says_why() -> None:
    mute = re.compile(r"# noqa(?!: [A-Z]+\d+(, [A-Z]+\d+)* +(- )?[A-Za-z`])")
    paths = [path for room in ("tseval", "adapters", "tests") for path in (ROOT / room).rglob("*.py")]
    lines = ((path, line) for path in paths for line in path.read_text("utf-8").splitlines())
    assert [(path.name, line) for path, line in lines if path != Path(__file__) and mute.search(line)] == []


def compressed_by_the_clock(source: str) -> list[int]:
    """List the lines that compress without saying when: the header holds the second."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    gzips = [call for call in calls if ast.unparse(call.func) == "gzip.compress"]
    return [call.lineno for call in gzips if "mtime" not in {word.arg for word in call.keywords}]


def test_no_test_has_other_bytes_in_the_next_second() -> None:
    # Bytes may name a test, and each of several processes must name its tests alike.
    found = {path.name: compressed_by_the_clock(path.read_text("utf-8")) for path in TESTS.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_bytes_that_hold_the_second_are_noticed() -> None:
    assert compressed_by_the_clock("CUT = gzip.compress(text)[:-20]") == [1]
    assert compressed_by_the_clock("CUT = gzip.compress(text, mtime=0)[:-20]") == []


def test_folders_and_files_of_several_rooms_collect_together_from_another_folder(tmp_path: Path) -> None:
    chosen = [TESTS / "training", TESTS / "scoring/test_trie.py", TESTS / "suites/grammar/test_lint.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *map(str, chosen)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for file in ("training/test_windows.py", "scoring/test_trie.py", "suites/grammar/test_lint.py"):
        assert f"{file}::test_" in done.stdout


# What Windows lacks is taken away from our own modules, while they are imported; libraries choose by the name
# of the system, and keep it. This says nothing of how the tests would end there.
AS_ON_WINDOWS = """
    import builtins, os, signal, sys, types

    MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
    NAMES = {
        "os": "fork getuid geteuid killpg mkfifo openpty setsid setuid statvfs sysconf uname",
        "signal": "SIGALRM SIGHUP SIGKILL SIGPIPE SIGUSR1 alarm pause",
    }
    OURS = tuple(os.path.join(sys.argv[1], name, "") for name in ("adapters", "tests", "tseval"))
    poorer = {name: types.ModuleType(name) for name in NAMES}
    for name, module in poorer.items():
        vars(module).update(vars(sys.modules[name]))
        for lacking in NAMES[name].split():
            vars(module).pop(lacking, None)
    real = builtins.__import__

    def as_on_windows(name, globals=None, *arguments, **keywords):
        if not ((globals or {}).get("__file__") or "").startswith(OURS):
            return real(name, globals, *arguments, **keywords)
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return poorer[name] if name in poorer else real(name, globals, *arguments, **keywords)

    builtins.__import__ = as_on_windows
    import pytest
    sys.exit(pytest.main(["--collect-only", "--quiet", "-m", "not slow", *sys.argv[2:]]))
"""


def collect_as_on_windows(*chosen: Path, root: Path = ROOT) -> str:
    """Collect quick tests, and give what is wrong."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(AS_ON_WINDOWS), root, *map(str, chosen)],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout[done.stdout.find("= ERRORS =") :] if done.returncode else ""


@pytest.mark.slow
def test_the_quick_tests_are_collected_without_what_windows_lacks() -> None:
    assert collect_as_on_windows(TESTS) == ""


def test_a_module_that_windows_lacks_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, line in (("test_import.py", "import fcntl"), ("test_name.py", "import os\n\nMAKE = os.mkfifo")):
        (tmp_path / "tests" / name).write_text(f"{line}\n\n\ndef test_it():\n    pass\n", "utf-8")
    said = collect_as_on_windows(tmp_path / "tests", root=tmp_path)
    assert "No module named 'fcntl'" in said
    assert "module 'os' has no attribute 'mkfifo'" in said


def test_one_module_asks_which_system_this_is() -> None:
    # Anything else would be skipped without a word, or fail only elsewhere.
    asking = re.compile(r"skipif\([^)]*(?:sys\.platform|os\.name|platform\.system)")
    assert [path.name for path in TESTS.rglob("*.py") if asking.search(path.read_text("utf-8"))] == [
        "systems.py"
    ]
