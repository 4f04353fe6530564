"""Collect the texts of the program for its users: help texts, and literals of messages, notes and tables.

`benchmarks/draw_texts.py` samples these texts, and `test_plain_english.py` checks them.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click

from tseval.cli import tseval

ROOT = Path(__file__).resolve().parents[1]
FEWEST_WORDS = 3  # a literal with fewer words is a name, a key or a heading
WORD = re.compile(r"[A-Za-z][a-z']+")
# Patterns, LaTeX, markup, styles and programs are not English.
NO_ENGLISH = re.compile(
    r"\(\?[:P=!<]|\\[a-z]+[{*]|\\w|\\d|^\s*<|[{;]\s*\n|^\s*(?:import|from|def|function) |://\S+$"
)
# Users read the strings of these calls directly. All other literals are parts of tables, notes and pages.
SAYING = re.compile(r"(?:Error|Finding|fail|echo|warn|UsageError|BadParameter)$")


# Users see these errors unchanged. Other errors are caught and become part of a message or report.
ADVISING = re.compile(
    r"^\(?(?:click\.)?(?:Tseval|Grammar|Suite|Model|Training|Run|Board|Away|Limit|Usage)Error\("
)


@dataclass(frozen=True)
class Text:
    """A text and its place: a command with its option, or a file with its line."""

    kind: str  # help, message or literal
    room: str
    place: str
    text: str
    raised: bool = False  # an error message, which must say what to type
    advised: bool = False  # the call has an argument `fix`

    @property
    def sentences(self) -> list[str]:
        """Split the text into sentences; an indented new line also starts a sentence."""
        parts = re.split(
            r"(?<=[.!?:;])\s+(?=[A-Z'\"`{(–*-]|tseval |$)|\n\s*\n|\n\s+(?=\S)|\n(?=tseval )", self.text
        )
        return [" ".join(part.split()) for part in parts if part.strip()]


def room_of(path: Path) -> str:
    """Return the room of a source file, such as `report` or `files`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == "tseval" else parts[0]


def source_files() -> list[Path]:
    """List the modules of the package, each one time."""
    return sorted(
        path
        for top in ("tseval", "adapters")
        for path in (ROOT / top).rglob("*.py")
        if top == "adapters" or "adapters" not in path.relative_to(ROOT).parts
    )


# ---- help


def commands(
    command: click.Command = tseval, path: str = "tseval", parent: click.Context | None = None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield all commands with their full names."""
    context = click.Context(command, parent, path.rpartition(" ")[2])
    yield path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}", context)


@cache
def help_texts() -> list[Text]:
    """Return the description of every command and the help of every option, each as written."""
    found: list[Text] = []
    for path, command, _ in commands():
        paragraphs = [part for part in (command.help or "").split("\n\n") if part.strip()]
        found += [Text("help", "cli", path, " ".join(part.split())) for part in paragraphs]
        for option in command.params:
            if isinstance(option, click.Option) and option.help:
                found.append(Text("help", "cli", f"{path} {option.opts[-1]}", option.help))
    return found


# ---- literals


def literal_texts(source: str, room: str, file: str) -> list[Text]:
    """Return the English strings of a module, without docstrings, help texts and names."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    assigned = _assigned_texts(tree)
    found = []
    for node in ast.walk(tree):
        if not _is_text(node) or _is_docstring(node, parents) or _is_text(parents.get(node)):
            continue
        kind, raised, advised = _kind_of(node, parents)
        if kind is None or any(isinstance(above, ast.FormattedValue) for above in _above(node, parents)):
            continue
        known = (
            {**assigned[None], **assigned.get(_function_of(node, parents), {})} if kind == "message" else {}
        )
        call = _call_around(node, parents)
        if call and node is not _message_of(call):
            continue  # the fix of a message, which is part of its text; or the name of a key
        text = _as_printed(call, known) if call else _written(node, known)
        if len(WORD.findall(re.sub(r"\{[^}]*\}", " ", text))) >= FEWEST_WORDS and not NO_ENGLISH.search(text):
            place = f"{file}:{getattr(node, 'lineno', 0)}"
            found.append(Text(kind, room, place, text, raised, advised))
    return found


def _is_text(node: ast.AST | None) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _above(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


def _function_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST | None:
    return next((above for above in _above(node, parents) if isinstance(above, ast.FunctionDef)), None)


def _call_around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.Call | None:
    """Return the call that combines a text with its fix or place into a message, if there is one."""
    above = parents.get(node)
    call = parents.get(above) if isinstance(above, ast.keyword) and above.arg == "fix" else above
    if not isinstance(call, ast.Call):
        return None
    has_fix = call.args and any(keyword.arg == "fix" for keyword in call.keywords)
    has_place = ast.unparse(call.func) == "ContentError" and len(call.args) == 2
    return call if has_fix or has_place else None


def _message_of(call: ast.Call) -> ast.AST:
    """Return the first text of the call: its message, or its fix if the message is a variable."""
    fixes = (keyword.value for keyword in call.keywords if keyword.arg == "fix")
    return call.args[0] if _is_text(call.args[0]) else next(fixes, call.args[0])


def _as_printed(call: ast.Call, known: dict[str, str]) -> str:
    """Add the place before a message or the fix after it, as users see them."""
    message = _written(call.args[0], known)
    if ast.unparse(call.func) == "ContentError":
        return f"{_written(call.args[1], known)}: {message}"
    fix = next(keyword.value for keyword in call.keywords if keyword.arg == "fix")
    return f"{message}\n  {_written(fix, known)}"


def _is_docstring(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    return isinstance(parents.get(node), ast.Expr)


def _kind_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> tuple[str | None, bool, bool]:
    """Return a literal's kind (None: help, pattern), whether it is raised, and whether it has a `fix`."""
    kind, raised, advised = "literal", False, False
    for above in _above(node, parents):
        if isinstance(above, ast.keyword) and above.arg in {"help", "epilog", "metavar"}:
            return None, False, False
        if isinstance(above, ast.Call):
            name = ast.unparse(above.func)
            if name.startswith("re.") or name.endswith((".command", ".option", "_option", "Annotated")):
                return None, False, False
            if SAYING.search(name):
                kind = "message"
                advised = advised or len(above.args) > 3 or any(word.arg == "fix" for word in above.keywords)
        if isinstance(above, ast.Subscript) and ast.unparse(above.value) == "Annotated":
            return None, False, False
        if isinstance(above, ast.Raise):
            kind, raised = "message", bool(above.exc) and bool(ADVISING.search(ast.unparse(above.exc)))
        if isinstance(above, ast.keyword) and above.arg == "fix":
            raised, advised, kind = False, True, "message"
            break
        if isinstance(above, ast.stmt):
            break
    return kind, raised, advised


def _assigned_texts(tree: ast.AST) -> dict[ast.AST | None, dict[str, str]]:
    """Return strings that a function, or the module (None), assigns once to a name: parts of messages."""
    found: dict[ast.AST | None, dict[str, str]] = {None: {}}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.Module):
            continue
        times: dict[str, list[ast.expr]] = {}
        whole = function.body if isinstance(function, ast.Module) else ast.walk(function)
        for node in whole:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                times.setdefault(node.targets[0].id, []).append(node.value)
        single = {name: values[0] for name, values in times.items() if len(values) == 1}
        key = None if isinstance(function, ast.Module) else function
        found[key] = {name: _written(one, {}) for name, one in single.items() if _is_text(one)}
    return found


def _written(node: ast.AST, assigned: dict[str, str]) -> str:
    """Return a string expression with its values as {name}."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.BinOp):
        return _written(node.left, assigned) + _written(node.right, assigned)
    if isinstance(node, ast.JoinedStr):
        return "".join(_written(part, assigned) for part in node.values)
    value = node.value if isinstance(node, ast.FormattedValue) else node
    if isinstance(value, ast.IfExp) and _is_text(value.body):
        return _written(value.body, assigned) or _written(value.orelse, assigned)
    if isinstance(value, ast.Name | ast.Constant | ast.JoinedStr):
        return (
            assigned.get(value.id, f"{{{value.id}}}") if isinstance(value, ast.Name) else _written(value, {})
        )
    names = re.findall(r"[A-Za-z_]+", ast.unparse(value).split("!")[0])
    return "{hint}" if names[:1] == ["suggest"] else f"{{{names[-1] if names else '…'}}}"


@cache
def program_texts() -> list[Text]:
    """Return all help texts and literals of the program, and the texts of its web pages."""
    found = [*help_texts(), *web_texts()]
    for path in source_files():
        found += literal_texts(path.read_text("utf-8"), room_of(path), path.relative_to(ROOT).as_posix())
    return found


def web_texts() -> list[Text]:
    """Return the texts of the web page templates, without markup."""
    found = []
    for path in sorted((ROOT / "tseval/web/templates").glob("*.html")):
        shown = re.sub(r"\{[{]\s*([\w.]*).*?\}\}", r"{\1}", path.read_text("utf-8"), flags=re.DOTALL)
        shown = re.sub(
            r"\{#.*?#\}|</?(?:code|a|bdi|small|b|span)\b[^>]*>|\{% end\w+ %\}", "", shown, flags=re.DOTALL
        )
        parts = re.split(r"<[^>]*>|\{%.*?%\}", shown)
        found += [
            Text("literal", "pages", path.name, part.strip()) for part in parts if len(WORD.findall(part)) > 2
        ]
    return found


# ---- pages


def page_texts(path: Path, *, code: bool = False) -> list[Text]:
    """Return the paragraphs, list items and headings of a Markdown page, without code blocks and tables.

    Inline code becomes an X, unless `code` is set.
    """
    text = re.sub(r"^(```|~~~).*?^\1\s*$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?: {4}|\t|\||!\[).*$", "", text, flags=re.MULTILINE)
    text = text if code else re.sub(r"`[^`\n]+`", "X", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|#+) )", text)
    return [
        Text("page", "pages of docs", path.name, " ".join(part.split()))
        for part in parts
        if WORD.search(part)
    ]
