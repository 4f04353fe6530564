"""Classes for commands and groups: help with examples, commands listed by purpose and imported on use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from tseval.cli.examples import examples_of
from tseval.errors import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


# Long options that have a new name. The old name works until the next version, and prints a message.
RENAMED = {"--output": "--out"}


class Command(click.Command):
    """A command whose help begins with its examples (`tseval.cli.examples`)."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples between the usage and the description."""
        _write_examples(ctx, formatter)
        super().format_help_text(ctx, formatter)


def _write_examples(context: click.Context, formatter: click.HelpFormatter) -> None:
    names: list[str] = []
    current = context
    while current.parent is not None:
        names.insert(0, current.command.name or "")
        current = current.parent
    if lines := examples_of(names):
        with formatter.section("Examples"):
            for line in lines:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class Group(click.Group):
    """A group whose help shows examples, and lists the commands by purpose.

    Args:
        summaries: Command name to (module in tseval.cli, one-line help), for commands that are imported when
            they are used.
    """

    command_class = Command

    def __init__(
        self,
        name: str | None = None,
        *,
        purposes: Mapping[str, Sequence[str]],
        summaries: Mapping[str, tuple[str, str]] | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(name, **attributes)
        self.purposes, self.summaries = purposes, summaries or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of use."""
        return [name for names in self.purposes.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, and import it if needed. The error for an unknown name suggests a known one."""
        if cmd_name in self.summaries:
            module = import_module(f"tseval.cli.{self.summaries[cmd_name][0]}")
            command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
            assert isinstance(command, click.Command)
            return command
        if cmd_name not in self.commands:
            names = self.list_commands(ctx)
            ctx.fail(f"tseval has no command {cmd_name!r}. {suggest(cmd_name, names, 'Commands')}")
        return self.commands[cmd_name]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of a command, the command and its arguments, with old option names replaced."""
        name, command, words = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, click.Group):
            spellings = {option for parameter in command.params for option in parameter.opts}
            words = [_current_spelling(word, spellings) for word in words]
        return name, command, words

    def _summary(self, ctx: click.Context, name: str) -> str:
        if name in self.summaries:
            return self.summaries[name][1]
        command = self.get_command(ctx, name)
        assert command is not None
        return command.get_short_help_str(limit=200)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples between the usage and the description."""
        _write_examples(ctx, formatter)
        super().format_help_text(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by purpose, without importing them."""
        for purpose, names in self.purposes.items():
            with formatter.section(purpose):
                formatter.write_dl([(name, self._summary(ctx, name)) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the completions of a command name, without importing the commands."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self._summary(ctx, name)) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)


def _current_spelling(word: str, known: Collection[str]) -> str:
    """Return a word of the command line; if it is an old option name, replace it and print a message."""
    option, equals, value = word.partition("=")
    today = RENAMED.get(option)
    if today not in known or option in known:
        return word
    click.echo(
        f"the option {option} is now called {today}; the old name still works in this version", err=True
    )
    return f"{today}{equals}{value}"
