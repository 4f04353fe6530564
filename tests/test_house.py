"""Rules for the repository: small files, plain names, and tests that run in any selection, anywhere."""

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from supplied import DATA, ORACLES

from tseval.cli.commands import COMMANDS

TESTS = Path(__file__).parent
ROOT = TESTS.parent
LONGEST = 600
ODD = {
    "told", "kept", "given", "drawn", "undrawn", "shown", "letters", "found", "asked", "asks", "asking",
    "places", "importing", "keeping",
}  # fmt: skip


def imports_conftest(source: str) -> bool:
    """Find imports of `conftest`: several folders have one, and the selection decides which is meant."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {node.module or "", *(alias.name for alias in node.names)}
    return any(name.rpartition(".")[2] == "conftest" for name in imported)


@pytest.mark.slow
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


def package_files() -> dict[str, Path]:
    """Return the files of the package by path from the root; linked folders are included one time."""
    paths = [path for top in ("tseval", "adapters") for path in (ROOT / top).rglob("*.py")]
    return {path.resolve().relative_to(ROOT).as_posix(): path for path in paths}


def module_of(file: str) -> str:
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"tseval.{name}" if name.startswith("adapters") else name


def imported(source: str) -> Iterator[tuple[str, str | None]]:
    """Yield the modules that a source imports, with each imported name, or None for the module itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def exported_twice(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return every name that rooms import from several modules that each define it, with these modules."""
    defined = {
        (module_of(file), name)
        for file, source in sources.items()
        for name in names_at_top(ast.parse(source))
    }
    found: dict[str, set[str]] = {}
    for file, source in sources.items():
        own_room = module_of(file).split(".")[:2]
        for module, name in imported(source):
            if module.split(".")[:2] != own_room and (module, name) in defined:
                found.setdefault(str(name), set()).add(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def names_at_top(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for one in targets for part in ast.walk(one) if isinstance(part, ast.Name))


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    return {file: path.read_text("utf-8") for file, path in package_files().items()}


def test_no_file_has_more_than_600_lines(sources: dict[str, str]) -> None:
    assert {file for file, source in sources.items() if source.count("\n") > LONGEST} == set()


# `__init__.py` files that have more than import statements, with the reason.
MORE_THAN_EXPORTS = {
    "tseval/__init__.py": "public names are imported when they are used: `tseval --help` loads none",
    "tseval/callbacks/__init__.py": "the trainer needs an extra, which is imported when it is used",
    "tseval/training/__init__.py": "torch reads this variable when it is imported",
    "adapters/__init__.py": "refuses `import adapters`, which would be a second copy of tseval.adapters",
}


def code_in_init(source: str) -> list[str]:
    """List statements of an `__init__.py` other than its docstring, imports and the list of exports."""
    found = []
    for node in ast.parse(source).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not (is_docstring or is_list or is_for_types or isinstance(node, ast.Import | ast.ImportFrom)):
            found.append(ast.unparse(node).partition("\n")[0])
    return found


def test_an_init_file_holds_a_docstring_and_exports(sources: dict[str, str]) -> None:
    code = {file: code_in_init(source) for file, source in sources.items() if file.endswith("__init__.py")}
    assert {file for file, lines in code.items() if lines} == MORE_THAN_EXPORTS.keys()
    assert code_in_init('"""A room."""\nfrom a import b\n__all__ = ["b"]\nX = 1\ndef f(): ...') == [
        "X = 1",
        "def f():",
    ]


def test_a_command_has_a_file_of_its_name(sources: dict[str, str]) -> None:
    places = {name: module for name, (module, _) in COMMANDS.items()}
    assert {name: module for name, module in places.items() if module != name.replace("-", "_")} == {}
    assert {f"tseval/cli/{module}.py" for module in places.values()} <= sources.keys()


def test_the_confidence_level_stands_in_one_place(sources: dict[str, str]) -> None:
    level = re.compile(r"\b(?:0?\.95|0?\.975|0?\.025|1\.9[56]\d*)\b")
    rooms = ("analysis", "report", "boards", "web", "runs", "verifying", "cli")
    holding = {
        file
        for file, source in sources.items()
        if file.split("/")[1] in rooms
        and any(level.search(line.partition("#")[0]) for line in literals(source))
    }
    # `--help` shows this default; importing the constant would take longer than the help.
    assert holding == {"tseval/analysis/intervals.py", "tseval/cli/options.py"}


def literals(source: str) -> Iterator[str]:
    """Yield the numbers of a source, as they are written."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield repr(node.value)


def test_folders_of_tests_are_those_of_the_package() -> None:
    folders = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    rooms = {folder.rpartition("/")[0] for folder in folders} - {""}
    # Folders for several rooms together: pages and the release, devices, and models that others published.
    assert {
        room
        for room in rooms
        if not any(
            (ROOT / top / room).is_dir() or (ROOT / top / f"{room}.py").is_file() for top in ("tseval", ".")
        )
    } == {"integration", "devices", "models/published", "models/states"} & rooms


@pytest.mark.slow
def test_a_name_that_rooms_export_has_one_meaning(sources: dict[str, str]) -> None:
    assert exported_twice(sources) == {}
    two = {"tseval/a/x.py": "View = 1", "tseval/b/y.py": "class View: ..."}
    use = "from tseval.a.x import View\nfrom tseval.b.y import View as Other"
    assert exported_twice(two | {"tseval/c.py": use}) == {"View": {"tseval.a.x", "tseval.b.y"}}


def test_modules_have_names_that_a_linguist_or_a_user_of_torch_would_guess(sources: dict[str, str]) -> None:
    assert [file for file in sources if Path(file).stem in ODD] == []


def test_every_exemption_from_a_rule_says_why() -> None:
    mute = re.compile(r"# noqa(?!: [A-Z]+\d+(, [A-Z]+\d+)* +(- )?[A-Za-z`])")
    paths = [path for room in ("tseval", "adapters", "tests") for path in (ROOT / room).rglob("*.py")]
    lines = ((path, line) for path in paths for line in path.read_text("utf-8").splitlines())
    assert [(path.name, line) for path, line in lines if path != Path(__file__) and mute.search(line)] == []


def compressed_by_the_clock(source: str) -> list[int]:
    """List the lines that compress without a fixed time: the header would hold the current second."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    gzips = [call for call in calls if ast.unparse(call.func) == "gzip.compress"]
    return [call.lineno for call in gzips if "mtime" not in {word.arg for word in call.keywords}]


@pytest.mark.slow
def test_no_test_has_other_bytes_in_the_next_second() -> None:
    # A test's name may contain bytes, and all test processes must give it the same name.
    found = {path.name: compressed_by_the_clock(path.read_text("utf-8")) for path in TESTS.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_bytes_that_hold_the_second_are_noticed() -> None:
    assert compressed_by_the_clock("CUT = gzip.compress(text)[:-20]") == [1]
    assert compressed_by_the_clock("CUT = gzip.compress(text, mtime=0)[:-20]") == []


@pytest.mark.slowest
def test_folders_and_files_of_several_rooms_collect_together_from_another_folder(tmp_path: Path) -> None:
    chosen = [TESTS / "training", TESTS / "scoring/test_given.py", TESTS / "suites/grammar/test_lint.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *map(str, chosen)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for file in ("training/test_corpus.py", "scoring/test_given.py", "suites/grammar/test_lint.py"):
        assert f"{file}::test_" in done.stdout


# Remove what Windows does not have from our own modules during their import. Libraries choose by the name of
# the system and keep it. This does not show how the tests would end on Windows.
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
    """Collect quick tests as on Windows, and return the errors."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(AS_ON_WINDOWS), root, *map(str, chosen)],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout[done.stdout.find("= ERRORS =") :] if done.returncode else ""


@pytest.mark.slowest
def test_the_quick_tests_are_collected_without_what_windows_lacks() -> None:
    assert collect_as_on_windows(TESTS) == ""


@pytest.mark.slow
def test_a_module_that_windows_lacks_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, line in (("test_import.py", "import fcntl"), ("test_name.py", "import os\n\nMAKE = os.mkfifo")):
        (tmp_path / "tests" / name).write_text(f"{line}\n\n\ndef test_it():\n    pass\n", "utf-8")
    said = collect_as_on_windows(tmp_path / "tests", root=tmp_path)
    assert "No module named 'fcntl'" in said
    assert "module 'os' has no attribute 'mkfifo'" in said


def test_one_module_asks_which_system_this_is() -> None:
    # Other names would be skipped silently, or fail only elsewhere.
    asking = re.compile(r"skipif\([^)]*(?:sys\.platform|os\.name|platform\.system)")
    assert [path.name for path in TESTS.rglob("*.py") if asking.search(path.read_text("utf-8"))] == [
        "systems.py"
    ]
