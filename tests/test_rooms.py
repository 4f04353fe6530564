"""The rooms of the package: which rooms may import which, and what must not be loaded before its use."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import click
import pytest

from tseval.cli import tseval
from tseval.cli.commands import COMMANDS, TRAININGS
from tseval.cli.groups import Group
from tseval.cli.options import CLOCK_NAMES, FORMAT_NAMES, SCORE_NAMES
from tseval.cli.train import train_command
from tseval.questions import SCORES
from tseval.report import FORMATS
from tseval.runs import CLOCKS

ROOT = Path(__file__).parents[1]
# Libraries that several numerical rooms need. Other libraries may be imported only where a room names them.
NUMBERS = {"numpy", "pyarrow"}
TORCH = {"torch", "safetensors"}
ANYTHING = {"*"}

# The rooms from the lowest to the highest, each with the libraries that it may use (the same list is in
# CONTRIBUTING.md). A room may import itself and all rooms above it in this list.
ROOMS: dict[str, set[str]] = {
    "tseval.errors": set(),
    "tseval.files": {"filelock", "platformdirs"},
    "tseval.processes": set(),
    "tseval.git": set(),
    "tseval.downloads": set(),
    "tseval.formats": {"msgspec", "yaml"},
    "tseval.tables": {"pyarrow"},
    "tseval.expressions": {"pyarrow"},
    "tseval.writing": set(),
    "tseval.questions": NUMBERS,
    "tseval.items": NUMBERS,
    "tseval.suites": NUMBERS
    | {"conllu", "jinja2", "nltk", "openpyxl", "spacy", "spellchecker", "tabulate", "yaml"},
    "tseval.verdicts": NUMBERS,
    "tseval.scoring": NUMBERS | TORCH,
    "tseval.models": NUMBERS | TORCH,
    "tseval.pretrained": NUMBERS
    | TORCH
    | {"gguf", "huggingface_hub", "jinja2", "peft", "tokenizers", "transformers"},
    "tseval.prompting": NUMBERS | TORCH | {"httpx", "jinja2"},
    # An adapter may use any library that it needs.
    "tseval.adapters": ANYTHING,
    "tseval.evidence": NUMBERS,
    "tseval.analysis": {"numpy", "pandas", "scipy"},
    "tseval.runs": NUMBERS | {"pandas"},
    "tseval.report": NUMBERS | {"matplotlib", "pandas", "tabulate", "wcwidth", "yaml"},
    "tseval.evaluation": NUMBERS | {"IPython"},
    "tseval.testing": NUMBERS | {"torch"},
    "tseval.lm_eval_tasks": NUMBERS | {"lm_eval"},
    "tseval.callbacks": {"lightning", "pytorch_lightning", "torch", "transformers"},
    "tseval.babylm": NUMBERS | {"scipy"},
    "tseval.verifying": NUMBERS,
    # torch, submitit and Ray are imported where they are used: a plan and its status do not need them.
    "tseval.sweeps": {"ray", "submitit", "torch"},
    "tseval.boards": NUMBERS | {"pandas", "tabulate", "yaml"},
    "tseval.web": NUMBERS | {"jinja2", "markdown_it", "markupsafe", "pandas"},
    "tseval.results": {"numpy", "pandas"},
    "tseval.training": NUMBERS | TORCH | {"tabulate", "yaml"},
    "tseval.cli": {"click", "lm_eval", "pandas", "rich", "tabulate", "torch"},
    "tseval": set(),
}
# Imports that the order would allow but that are forbidden, with what they would break.
FORBIDDEN = {
    # Models and scores do not depend on a phenomenon.
    ("tseval.scoring", "tseval.suites"),
    ("tseval.scoring", "tseval.verdicts"),
    ("tseval.models", "tseval.suites"),
    ("tseval.models", "tseval.questions"),
    ("tseval.pretrained", "tseval.suites"),
    ("tseval.pretrained", "tseval.questions"),
    ("tseval.pretrained", "tseval.verdicts"),
    ("tseval.adapters", "tseval.suites"),
    ("tseval.adapters", "tseval.questions"),
    ("tseval.adapters", "tseval.verdicts"),
    ("tseval.prompting", "tseval.suites"),
    ("tseval.prompting", "tseval.verdicts"),
    # Reading runs needs no model.
    ("tseval.analysis", "tseval.pretrained"),
    ("tseval.runs", "tseval.pretrained"),
    ("tseval.report", "tseval.pretrained"),
    ("tseval.analysis", "tseval.models"),
    ("tseval.analysis", "tseval.adapters"),
    ("tseval.runs", "tseval.models"),
    ("tseval.runs", "tseval.adapters"),
    ("tseval.report", "tseval.models"),
    ("tseval.report", "tseval.adapters"),
    # Any model can be checked without a suite.
    ("tseval.testing", "tseval.suites"),
}
# An oracle is built for a language and needs its symbols.
EXCEPT = {("tseval.adapters.oracle", "tseval.suites.formal")}
# Grammars, suites and everything from the run directory on must not load torch.
WITHOUT_TORCH = ["suites.lint", "verdicts", "runs", "analysis", "report", "boards", "cli.table", "cli.run"]


@cache
def modules() -> dict[str, Path]:
    """Return module name to file, for everything in `tseval/` and `adapters/`."""
    # Read `adapters/` directly, not through the link that a checkout has inside the package.
    files = [*(ROOT / "adapters").rglob("*.py")]
    files += [
        path for path in (ROOT / "tseval").rglob("*.py") if not path.is_relative_to(ROOT / "tseval/adapters")
    ]
    found = {}
    for path in files:
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts if parts[0] == "tseval" else ("tseval", *parts))
        found[name.removesuffix(".__init__")] = path
    return found


def imports(source: str) -> set[str]:
    """Return the modules that a source imports, in any statement; `from a import b` may mean `a.b`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (whole & modules().keys()) or {node.module}
    return found


def room_of(module: str) -> str:
    """Return the longest name of a room that contains a module."""
    while module not in ROOMS:
        module, dot, _ = module.rpartition(".")
        assert dot, "a module outside tseval"
    return module


def lies_in(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def violations(name: str, source: str) -> list[str]:
    """List the forbidden imports of a module."""
    room, order = room_of(name), list(ROOMS)
    if room == "tseval" and name not in {"tseval", "tseval.__main__"}:
        return [f"{name} is in no room: give it one in ROOMS and in CONTRIBUTING.md"]
    found = []
    for target in sorted(imports(source)):
        top = target.partition(".")[0]
        if top in sys.stdlib_module_names or any(lies_in(name, a) and lies_in(target, b) for a, b in EXCEPT):
            continue
        if top == "tseval":
            below = order.index(room_of(target)) <= order.index(room)
            fine = below and (room, room_of(target)) not in FORBIDDEN
        else:
            fine = bool({"*", top} & ROOMS[room])
        if not fine:
            found.append(f"{name} imports {target}")
    return found


def runtime_imports(path: Path) -> set[str]:
    """Return the modules that are imported with a module, without types and imports inside functions."""
    tree = ast.parse(path.read_text("utf-8"))
    return imports(
        "\n".join(ast.unparse(one) for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom))
    )


def circles(arrows: dict[str, set[str]]) -> set[str]:
    """Return the names that can be reached from themselves by imports."""

    def reached(start: str) -> set[str]:
        found, left = set(), [start]
        while left:
            for one in arrows.get(left.pop(), set()) - found:
                found.add(one)
                left.append(one)
        return found

    return {name for name in arrows if name in reached(name)}


@pytest.mark.slow
def test_every_module_imports_only_what_its_room_may() -> None:
    found = modules()
    assert {"tseval.adapters.native", "tseval.scoring.engine", "tseval.cli"} <= found.keys()
    assert [line for name, path in found.items() for line in violations(name, path.read_text("utf-8"))] == []


def test_no_module_imports_itself_by_a_circle() -> None:
    arrows = {name: runtime_imports(path) & modules().keys() - {name} for name, path in modules().items()}
    assert circles(arrows) == set()
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == {"b", "c"}


def test_every_room_exists_and_contributing_lists_them_in_this_order() -> None:
    assert {room_of(name) for name in modules()} >= ROOMS.keys()
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    listed = re.findall(r"^\| `((?:tseval|adapters)[^`]*)` \|", page, re.MULTILINE)
    names = [name.removesuffix("/").removesuffix(".py").replace("/", ".") for name in listed]
    names = [name.removesuffix(".__init__") for name in names]
    assert [name if name.startswith("tseval") else f"tseval.{name}" for name in names] == list(ROOMS)


def loaded(program: str) -> set[str]:
    """Return the top-level modules that a program has loaded in a new interpreter."""
    program += "\nimport sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.slow
def test_grammars_runs_and_tables_work_without_torch() -> None:
    program = f"""if True:
        import importlib, sys
        for module in {WITHOUT_TORCH}:
            importlib.import_module(f"tseval.{{module}}")
            assert "torch" not in sys.modules, module
    """
    loaded(program)


@pytest.mark.parametrize(
    "program",
    [
        "import tseval",
        "from tseval.cli import tseval; tseval(['--help'], standalone_mode=False)",
        "from tseval.cli import tseval; tseval(['--version'], standalone_mode=False)",
    ],
)
def test_help_loads_nothing_heavy(program: str) -> None:
    heavy = {"torch", "pandas", "pyarrow", "numpy", "jinja2", "scipy", "rich", "yaml", "tabulate"}
    assert loaded(program) & heavy == set()


RUN = "'--case', 'simple_agrmt', '--limit', '1', '--out', sys.argv[1]"


# `sympy` indicates torch's compiler, which imports it.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        ("'table', 'bhatt2020'", {"torch", "scipy", "rich", "transformers", "jinja2", "matplotlib"}),
        (f"'run', '--model', 'bundled:lstm', {RUN}", {"transformers", "sympy", "scipy", "rich", "nltk"}),
        ("'pair', 'a b', 'b a', '--model', 'bundled:lstm'", {"transformers", "sympy", "scipy", "jinja2"}),
    ],
    ids=["table", "run", "pair"],
)
def test_a_command_starts_without_what_it_does_not_need(
    arguments: str, heavy: set[str], tmp_path: Path
) -> None:
    program = f"""if True:
        import sys
        from tseval.cli import tseval
        sys.argv.append({str(tmp_path / "run")!r})
        tseval([{arguments}], standalone_mode=False)
    """.replace("sys.argv[1]", "sys.argv[-1]")
    assert loaded(program) & heavy == set()


@pytest.mark.slow
def test_a_slip_in_the_name_of_a_model_is_answered_without_torch() -> None:
    program = """if True:
        from tseval.cli import tseval
        from tseval.errors import ModelError
        for model in ("nothing.pt", "lstm", "nothing:x"):
            try:
                tseval(["run", "--model", model], standalone_mode=False)
            except ModelError as error:
                assert ("file not found" in str(error)) or "no file has this name" in str(error)
            else:
                raise AssertionError("no such model, and no error")
    """
    assert "torch" not in loaded(program)


@pytest.mark.parametrize(
    ("group", "name"), [(tseval, name) for name in COMMANDS] + [(train_command, name) for name in TRAININGS]
)
def test_the_list_of_commands_says_what_each_says_itself(group: Group, name: str) -> None:
    _, line = group.summaries[name]
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert (command.help or "").partition("\n")[0] == line


def test_names_that_stand_twice_for_the_sake_of_speed_are_the_same() -> None:
    assert tuple(SCORE_NAMES.choices) == SCORES
    assert tuple(FORMAT_NAMES.choices) == FORMATS
    assert tuple(CLOCK_NAMES.choices) == CLOCKS
