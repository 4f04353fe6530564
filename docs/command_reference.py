"""The page of all commands with their options, made of the help of the program at the time of the build."""

from __future__ import annotations

import re
from textwrap import indent
from typing import TYPE_CHECKING

import click
from restructured import as_rst, heading

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTION = re.compile(r"(?<![\w`-])--[a-z][\w-]*")
INTRODUCTION = """\
Look up what a command does, and each of its options. The text is that of ``tseval COMMAND --help``.
:doc:`Every command by example </docs/commands>` shows what to type.
"""


def command_page() -> str:
    """Describe every command that does something: its use, its text, its options and examples."""
    from tseval.cli import tseval  # noqa: PLC0415 - packages of tests have no commands
    from tseval.cli.examples import EXAMPLES  # noqa: PLC0415

    parts = [heading("All commands and options", "="), INTRODUCTION]
    for path, command, context in leaves(tseval, "tseval", None):
        name = path.removeprefix("tseval ")
        parts += [heading(path, "-"), prose(command.get_short_help_str(limit=200)), ""]
        parts += [code(f"{path} {' '.join(command.collect_usage_pieces(context))}"), description(command)]
        parts += [
            option_row(option, context) for option in command.params if isinstance(option, click.Option)
        ]
        if name in EXAMPLES:
            parts += ["", code(EXAMPLES[name])]
    return "\n".join(parts) + "\n"


def leaves(
    command: click.Command, path: str, parent: click.Context | None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Walk over the commands that have no commands of their own."""
    context = click.Context(command, parent, path.rpartition(" ")[2])
    if not isinstance(command, click.Group):
        yield path, command, context
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaves(below, f"{path} {name}", context)


def prose(text: str) -> str:
    """Give a text of the help in one line; its options are code, so that their dashes stay."""
    return as_rst(OPTION.sub(r"`\g<0>`", " ".join(text.replace("\b", "").split())))


def description(command: click.Command) -> str:
    """Give the help text after its first sentence, which stands above."""
    paragraphs = [prose(part) for part in (command.help or "").split("\n\n")]
    return "\n\n".join(part for part in paragraphs[1:] if part) + "\n"


def option_row(option: click.Option, context: click.Context) -> str:
    """Describe one option as `--help` does: its names, and what it does."""
    record = option.get_help_record(context)
    if record is None:
        return ""
    names, text = record
    return f"``{names}``\n{indent(prose(text), '   ')}\n"


def code(text: str) -> str:
    """Show lines as they are typed."""
    return f".. code-block:: text\n\n{indent(text, '   ')}\n"
