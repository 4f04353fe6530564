"""The rooms of the package: who may import whom, and what may not be loaded before it is used."""

import ast
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tseval.cli import COMMANDS

ROOT = Path(__file__).parents[1]
TORCH = {"torch", "safetensors"}
ARROW = {"numpy", "pyarrow"}
TERMINAL = {"click", "rich", "tabulate"}
ANYTHING = {"*"}

# Room: what it may import of tseval, and of others, from the lowest room to the highest. A module belongs to
# the longest name that fits; a room may always import itself, `COMMON` and the standard library.
COMMON = {"tseval.errors", "tseval.checked", "tseval.files", "tseval.limits", "tseval.shown"}
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "tseval.errors": (set(), set()),
    "tseval.checked": (set(), {"msgspec", "yaml"}),
    "tseval.limits": (set(), set()),
    "tseval.files": (set(), {"filelock", "platformdirs"}),
    "tseval.shown": (set(), set()),
    "tseval.parquet": (set(), {"pyarrow"}),
    "tseval.questions": (set(), ARROW),
    "tseval.suites.items": ({"tseval.questions"}, ARROW),
    "tseval.suites.records": (set(), set()),
    "tseval.suites.tables": ({"tseval.suites.records"}, set()),
    "tseval.suites.findings": ({"tseval.suites.items"}, set()),
    "tseval.suites.designs": ({"tseval.questions", "tseval.suites.findings", "tseval.suites.items"}, set()),
    "tseval.suites.grammar": (
        {"tseval.questions", "tseval.suites.designs", "tseval.suites.findings", "tseval.suites.items"},
        ARROW | {"jinja2", "yaml"},
    ),
    "tseval.suites.agreement": (
        {"tseval.parquet", "tseval.suites.items", "tseval.suites.records", "tseval.suites.tables"},
        {"conllu", "pyarrow", "tabulate"},
    ),
    "tseval.suites.parsing": ({"tseval.suites.records"}, {"spacy"}),
    "tseval.suites.formal": ({"tseval.questions", "tseval.suites.items"}, ARROW),
    "tseval.suites.datasets": (
        {
            "tseval.questions",
            "tseval.suites.agreement",
            "tseval.suites.designs",
            "tseval.suites.findings",
            "tseval.suites.items",
            "tseval.suites.records",
            "tseval.suites.tables",
        },
        {"pyarrow", "nltk"},
    ),
    "tseval.suites": (
        {
            "tseval.questions",
            "tseval.suites.datasets",
            "tseval.suites.formal",
            "tseval.suites.grammar",
            "tseval.suites.items",
        },
        ARROW,
    ),
    "tseval.scoring.numerics": (set(), TORCH | {"numpy"}),
    "tseval.scoring": ({"tseval.questions"}, ARROW | TORCH),
    "tseval.models": ({"tseval.scoring.numerics"}, TORCH | {"numpy"}),
    # An adapter may use its own library, whichever that is, but knows no phenomenon.
    "tseval.adapters": (
        {
            "tseval.models",
            "tseval.scoring.numerics",
            "tseval.scoring.packing",
            "tseval.scoring.protocol",
            "tseval.scoring.trie",
        },
        ANYTHING,
    ),
    # An oracle is built for a language, and must know its symbols.
    "tseval.adapters.oracle": (
        {"tseval.adapters", "tseval.models", "tseval.scoring.numerics", "tseval.suites.formal.strings"},
        set(),
    ),
    "tseval.verdicts": ({"tseval.questions", "tseval.suites.items"}, ARROW),
    "tseval.analysis": ({"tseval.suites.items"}, {"numpy", "pandas", "scipy"}),
    "tseval.evidence": ({"tseval.parquet"}, ARROW),
    "tseval.runs": (
        {"tseval.analysis", "tseval.parquet", "tseval.scoring", "tseval.suites.items"},
        ARROW | {"pandas"},
    ),
    "tseval.boards.printed": (set(), set()),
    "tseval.boards.definition": (
        {"tseval.boards.printed", "tseval.questions", "tseval.suites"},
        {"yaml"},
    ),
    "tseval.boards.entry": (
        {
            "tseval.analysis",
            "tseval.boards.definition",
            "tseval.boards.printed",
            "tseval.evidence",
            "tseval.questions",
            "tseval.runs",
            "tseval.suites.items",
            "tseval.verdicts",
        },
        ARROW | {"pandas", "yaml"},
    ),
    "tseval.report.text": (set(), set()),
    "tseval.report.families": (set(), set()),
    # matplotlib is an extra: nothing else may need it.
    "tseval.report.figures": ({"tseval.report.text"}, {"matplotlib"}),
    "tseval.report.panels": (
        {"tseval.report.families", "tseval.report.figures", "tseval.report.text"},
        {"matplotlib"},
    ),
    "tseval.report.dots": ({"tseval.report.figures", "tseval.report.text"}, {"matplotlib"}),
    "tseval.report.bars": (
        {"tseval.report.figures", "tseval.report.panels", "tseval.report.text"},
        {"matplotlib"},
    ),
    "tseval.report.lines": ({"tseval.report.figures", "tseval.report.panels"}, {"matplotlib"}),
    "tseval.report.scatter": ({"tseval.report.figures", "tseval.report.text"}, {"matplotlib"}),
    "tseval.report.trajectory_figure": ({"tseval.report.figures", "tseval.report.text"}, {"matplotlib"}),
    "tseval.report.curves": (
        {"tseval.parquet", "tseval.report.families", "tseval.report.figures", "tseval.report.text"},
        {"pandas", "pyarrow", "matplotlib"},
    ),
    "tseval.report.error_curves": (
        {
            "tseval.parquet",
            "tseval.report.curves",
            "tseval.report.families",
            "tseval.report.figures",
            "tseval.report.text",
        },
        {"pandas", "pyarrow", "matplotlib"},
    ),
    "tseval.report.string_curves": (
        {
            "tseval.report.curves",
            "tseval.report.error_curves",
            "tseval.report.families",
            "tseval.report.figures",
        },
        {"pandas", "pyarrow", "matplotlib"},
    ),
    "tseval.report": (
        {
            "tseval.analysis",
            "tseval.boards.definition",
            "tseval.boards.entry",
            "tseval.boards.printed",
            "tseval.runs",
            "tseval.scoring.surprisal",
            "tseval.suites.records",
            "tseval.suites.tables",  # what people get right is a table of the user's
        },
        ARROW | {"pandas", "tabulate"},
    ),
    "tseval.evaluation": (
        {
            "tseval.questions",
            "tseval.report",
            "tseval.runs",
            "tseval.scoring",
            "tseval.suites.items",
            "tseval.verdicts",
        },
        ARROW,
    ),
    "tseval.babylm": (
        {
            "tseval.evaluation",
            "tseval.questions",
            "tseval.runs",
            "tseval.scoring.protocol",
            "tseval.suites",
        },
        ARROW | {"scipy"},
    ),
    # torch, submitit and Ray are imported where they are used: a plan and its status need none of them.
    "tseval.sweeps": (
        {
            "tseval.adapters",
            "tseval.evaluation",
            "tseval.questions",
            "tseval.runs",
            "tseval.scoring.numerics",
            "tseval.scoring.protocol",
            "tseval.suites",
        },
        {"ray", "submitit", "torch"},
    ),
    # What a training has in memory is a model like any other. transformers is an extra.
    "tseval.callbacks": (
        {
            "tseval.adapters",
            "tseval.evaluation",
            "tseval.runs",
            "tseval.scoring",
            "tseval.suites",
        },
        {"torch", "transformers"},
    ),
    "tseval.verifying": (
        {
            "tseval.evaluation",
            "tseval.evidence",
            "tseval.questions",
            "tseval.report",
            "tseval.runs",
            "tseval.scoring",
            "tseval.suites",
            "tseval.verdicts",
        },
        ARROW,
    ),
    "tseval.boards": (
        {
            "tseval.analysis",
            "tseval.evidence",
            "tseval.questions",
            "tseval.report",
            "tseval.runs",
            "tseval.scoring",
            "tseval.suites",
            "tseval.verifying",
        },
        ARROW | {"tabulate"},
    ),
    "tseval.pages": (
        {
            "tseval.analysis",
            "tseval.boards",
            "tseval.evidence",
            "tseval.report",
            "tseval.runs",
            "tseval.suites",
        },
        ARROW | {"pandas", "jinja2", "markdown_it", "markupsafe"},
    ),
    "tseval.training": (
        {
            "tseval.adapters",
            "tseval.analysis",
            "tseval.boards",
            "tseval.callbacks",
            "tseval.models",
            "tseval.parquet",
            "tseval.report",
            "tseval.runs",
            "tseval.scoring.numerics",
            "tseval.suites",
            "tseval.sweeps",
        },
        ARROW | TORCH | {"tabulate", "yaml"},
    ),
    # The checks are for models from outside: they score as a run does, and know no suite.
    "tseval.testing": ({"tseval.adapters", "tseval.scoring"}, ARROW | {"torch"}),
    "tseval.harness": (
        {"tseval.adapters", "tseval.questions", "tseval.scoring", "tseval.suites"},
        ARROW | {"lm_eval", "yaml"},
    ),
    "tseval.cli": (ANYTHING, TERMINAL | {"torch", "lm_eval"}),
    "tseval": (ANYTHING, set()),
}
# Nothing from the run directory on may load torch, nor may grammars and suites.
WITHOUT_TORCH = [
    "suites.grammar.export",
    "suites.grammar.lint",
    "suites.agreement.conversion",
    "suites.parsing.writing",
    "suites.load",
    "verdicts",
    "runs",
    "report.boards",
    "analysis.accuracy",
]
WITHOUT_TORCH += [
    "analysis.means",
    "analysis.ranks",
    "report",
    "cli.data",
    "cli.table",
    "cli.analyze",
    "cli.expand",
    "cli.lint",
    "cli.run",
]


@cache
def modules() -> dict[str, Path]:
    """Module name to file, for everything in `tseval/` and `adapters/`."""
    # `adapters/` is walked where it is, not through the link that a checkout has inside the package.
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
    """Modules that a source imports, wherever the statement stands; `from a import b` may mean `a.b`."""
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
    """The longest name of a room that a module lies in."""
    while module not in ROOMS:
        module, dot, _ = module.rpartition(".")
        assert dot, "a module outside tseval"
    return module


def lies_in(module: str, room: str) -> bool:
    return module == room or (module.startswith(f"{room}.") and room != "tseval")


def violations(name: str, source: str) -> list[str]:
    """What a module imports and may not."""
    room = room_of(name)
    if room == "tseval" and name not in {"tseval", "tseval.__main__"}:
        return [f"{name} is in no room: give it one in ROOMS and in CONTRIBUTING.md"]
    inside, outside = ROOMS[room]
    found = []
    for target in sorted(imports(source)):
        top = target.partition(".")[0]
        if top in sys.stdlib_module_names:
            continue
        if top == "tseval":
            allowed = inside | {room} | COMMON
            fine = "*" in allowed or any(lies_in(target, one) for one in allowed)
        else:
            fine = "*" in outside or top in outside
        if not fine:
            found.append(f"{name} imports {target}")
    return found


def test_every_module_imports_only_what_its_room_may() -> None:
    found = modules()
    assert {"tseval.adapters.native", "tseval.scoring.engine", "tseval.cli"} <= found.keys()
    assert [line for name, path in found.items() for line in violations(name, path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("tseval.suites.grammar.lint", "import torch"),
        ("tseval.suites.grammar.lint", "from tseval.scoring import engine"),
        ("tseval.report.table", "def late():\n    import torch.nn"),
        ("tseval.adapters.native", "from tseval.suites.load import load_suite"),
        ("tseval.adapters.native", "from tseval.verdicts import judge"),
        ("tseval.adapters.native", "from tseval.scoring.engine import shards"),
        ("tseval.scoring.numerics.head", "import tseval.suites.grammar.lexicon"),
        ("tseval.analysis.ranks", "if True:\n    from tseval.runs import read_run"),
        ("tseval.novelty", "import json"),
    ],
)
def test_a_breach_is_noticed(name: str, source: str) -> None:
    assert len(violations(name, source)) == 1


def test_every_room_exists() -> None:
    assert {room_of(name) for name in modules()} >= ROOMS.keys()


def test_no_arrow_points_upwards_so_there_is_no_circle() -> None:
    order = list(ROOMS)
    for room, (inside, _) in ROOMS.items():
        lower = order[: order.index(room)]
        for target in inside - ANYTHING:
            # A name within a room stands for that room; a room may be named before the rooms inside it.
            assert any(lies_in(target, one) for one in lower), f"{room} lies below {target}"


def loaded(program: str) -> set[str]:
    """Top-level modules that are loaded after a program has run in a fresh interpreter."""
    program += "\nimport sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stderr.split()}


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


# `sympy` stands for the compiler of torch, which brings it along.
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


@pytest.mark.parametrize("model", ["nothing.pt", "lstm", "nothing:x"])
def test_a_slip_in_the_name_of_a_model_is_answered_without_torch(model: str) -> None:
    program = f"""if True:
        from tseval.cli import tseval
        from tseval.errors import ModelError
        try:
            tseval(["run", "--model", {model!r}], standalone_mode=False)
        except ModelError as error:
            assert "no such checkpoint" in str(error)
        else:
            raise AssertionError("no such model, and no error")
    """
    assert "torch" not in loaded(program)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_itself(name: str) -> None:
    module, line = COMMANDS[name]
    command = import_module(f"tseval.cli.{module}").command
    assert command.help.partition("\n")[0] == line
