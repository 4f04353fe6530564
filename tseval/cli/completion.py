"""`tseval completion`: print the script with which a shell completes commands and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tseval.cli.groups import Command
from tseval.cli.program import COMPLETION_VARIABLE, tseval

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print the completion script for a shell.

    With the script, your shell completes commands, models, suites, runs, cases and features when you
    press Tab. To install the script, run the line for your shell from the examples.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    if shell == "bash":  # bash splits bundled:lstm into three words
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//:}")
    script = kind(tseval, {}, "tseval", COMPLETION_VARIABLE).source()
    # With click's scripts, zsh drops the empty name that stands for any file, and fish cuts help at a comma.
    script = script.replace("descr in ${response}", 'descr in "${response[@]}"')
    click.echo(script.replace('string split ","', 'string split --max 1 ","'))
