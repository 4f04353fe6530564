"""The API reference: a page for every module, written from what can be imported at the time of the build."""

from __future__ import annotations

import ast
import contextlib
import inspect
import pkgutil
import re
import sys
from importlib import import_module
from textwrap import indent
from typing import TYPE_CHECKING, TypeVar

from command_reference import command_page
from restructured import as_rst, heading
from sphinx.ext.autodoc.mock import mock

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from sphinx.application import Sphinx


EQUATION = re.compile(r"\S+(, \S+)* += ")


class Reference:
    """The modules of a package, and their pages: one for each room, one for each module beside the rooms."""

    def __init__(self, package: str) -> None:
        self.package = package
        path = import_module(package).__path__
        names = [found.name for found in pkgutil.walk_packages(path, f"{package}.")]
        names = [package, *(name for name in names if not name.endswith(".__main__"))]
        with mock(["kenlm"]):  # compiled where it is installed, which is no part of setting up
            self.modules = {name: import_module(name) for name in names}
        for module in self.modules.values():
            import_names_of_types(module)

    def write(self, folder: Path) -> None:
        """Write the pages into a folder, and remove what else was there.

        A page that says the same stays as it is: Sphinx reads again what is younger than what it knows.
        """
        folder.mkdir(parents=True, exist_ok=True)
        pages = {folder / f"{name}.rst": self.page(name) for name in self.modules if self.has_page(name)}
        if f"{self.package}.cli" in self.modules:
            pages[folder / "commands.rst"] = command_page()
        for path in set(folder.iterdir()) - pages.keys():
            path.unlink()
        for path, text in pages.items():
            if not path.exists() or path.read_text("utf-8") != text:
                path.write_text(text, "utf-8")

    def has_page(self, name: str) -> bool:
        """Tell rooms, and modules beside them, from modules inside."""
        return hasattr(self.modules[name], "__path__") or name.rpartition(".")[0] == self.package

    def page(self, name: str) -> str:
        """Describe a room: what it is, the modules in it, and what they define."""
        if name == self.package:
            parts = [heading("API reference", "="), public_face(self.modules[name]), heading("Modules", "-")]
        else:
            parts = [heading(name, "="), automodule(name)]
        parts.append(self.tree(name))
        for inner in self.inside(name):
            if not self.has_page(inner):
                parts += [heading(inner, "-"), automodule(inner)]
        pages = [inner for inner in self.inside(name) if self.has_page(inner)]
        if pages:
            parts += [".. toctree::", "   :hidden:", "", *(f"   {inner}" for inner in pages)]
        return "\n".join(parts) + "\n"

    def inside(self, name: str) -> list[str]:
        """List the modules that lie directly in a package."""
        return [other for other in self.modules if other.rpartition(".")[0] == name]

    def tree(self, name: str, margin: str = "") -> str:
        """List all modules in a package, each with the first line of its docstring, as deep as they lie."""
        lines = []
        for inner in self.inside(name):
            short = inner.rpartition(".")[2]
            lines += [f"{margin}- :mod:`{short} <{inner}>`: {first_line(self.modules[inner])}", ""]
            lines += [self.tree(inner, margin + "  ")]
        return "\n".join(lines)

    def is_type_variable(self, name: str) -> bool:
        """Tell whether a name stands for a type variable, which has no description of its own."""
        module, _, variable = name.rpartition(".")
        return isinstance(getattr(self.modules.get(module), variable, None), TypeVar)


def automodule(name: str) -> str:
    """Describe a module and what is defined in it; what it only passes on is described at its own place."""
    return f".. automodule:: {name}\n   :members:\n   :ignore-module-all:\n"


def public_face(package: ModuleType) -> str:
    """Describe what a package offers in `__all__`: functions, then types, which their rooms describe."""
    lines = [f".. module:: {package.__name__}", ""]
    types = []
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.isclass(value):
            place = f"{value.__module__}.{value.__qualname__}"
            types += [f"- :class:`{package.__name__}.{name} <{place}>`: {first_line(value)}", ""]
        elif f"{package.__name__}.{name}" in sys.modules:  # the page of the room of this name has the entry
            anchor = f'<span id="{package.__name__}.{name}"></span>'
            lines += [
                ".. raw:: html",
                "",
                f"   {anchor}",
                "",
                f".. autofunction:: {name}",
                "   :no-index:",
                "",
            ]
        elif inspect.isfunction(value):
            lines += [f".. autofunction:: {name}", ""]
        else:  # a union of types, a text
            lines += [f".. data:: {name}", ""]
    return "\n".join(lines + types)


def first_line(of: object) -> str:
    """Take the first line of a docstring."""
    return as_rst((inspect.getdoc(of) or "").partition("\n")[0])


def import_names_of_types(module: ModuleType) -> None:
    """Import what a module imports for type checkers only, so that its annotations can be read."""
    for block in ast.parse(inspect.getsource(module)).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for statement in block.body:
                # Some names exist in stubs only: they stay text.
                with contextlib.suppress(ImportError, TypeError, NameError):
                    exec(compile(ast.unparse(statement), str(module.__file__), "exec"), vars(module))  # noqa: S102 - our own source


def as_markdown(app: Sphinx, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Read a docstring as it was meant: code in single backticks, indented code, equations line by line."""
    paragraphs = "\n".join(lines).split("\n\n")
    for i, paragraph in enumerate(paragraphs):
        if i and EQUATION.match(paragraph):
            paragraphs[i] = "::\n\n" + indent(paragraph, "    ")
        elif i and paragraph.startswith("    ") and not re.search(r":\n.*\Z", paragraphs[i - 1]):
            paragraphs[i] = "::\n\n" + paragraph
        else:
            paragraphs[i] = as_rst(paragraph)
    lines[:] = "\n\n".join(paragraphs).split("\n")


def without_protocol_arguments(
    app: Sphinx, what: str, name: str, of: object, options: object, *signature: str | None
) -> tuple[str, None] | None:
    """Show a protocol without the arguments of a constructor, which it does not have."""
    return ("", None) if getattr(of, "_is_protocol", False) else None
