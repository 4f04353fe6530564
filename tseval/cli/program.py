"""The program `tseval`: the group of all commands, and what becomes of errors."""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress
from importlib.metadata import metadata
from typing import NoReturn

import click
from click.shell_completion import shell_complete

from tseval.cli.commands import COMMANDS, PURPOSES
from tseval.cli.groups import Group
from tseval.cli.terminal import open_streams
from tseval.errors import TsevalError, shortened

COMPLETION_VARIABLE = "_TSEVAL_COMPLETE"  # by which a shell asks what may stand on a line

# How often a thread of torch looks for work before it sleeps. By default it looks 300,000 times, and keeps a
# core busy that other programs could use: beside one, Marvin & Linzen (2018) took nearly half as long again.
SPINS = "3000"


class Root(Group):
    """All commands; says at the end where the pages are that messages name."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; `suite` is the same as `suites`."""
        return super().get_command(ctx, "suites" if cmd_name == "suite" else cmd_name)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Return the address of the project."""
        urls = dict(url.split(", ", 1) for url in metadata("tseval").get_all("Project-URL", []))
        formatter.write_paragraph()
        formatter.write_text(f"Documentation, such as docs/adapters.md: {urls['Homepage']}")


@click.group(cls=Root, purposes=PURPOSES, summaries=COMMANDS,
             context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})  # fmt: skip
@click.version_option(package_name="tseval", message="tseval %(version)s")
def tseval() -> None:
    """Targeted syntactic evaluation: does a language model prefer grammatical sentences?"""


def main() -> None:
    """Run the command and turn every error a user can meet into one message and an exit code.

    Exit codes: 0 success, 1 a check failed, 2 bad input or usage, 130 interrupted.
    """
    # Modules stay until the end. Made as often as usual, the search for garbage among the half a million
    # objects of torch would take as long as a third of its import.
    gc.set_threshold(200_000, 50, 100)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)  # read when torch is imported
    open_streams()
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        sys.exit(_complete(instruction))
    try:
        # Not `tseval.main`: click would turn a reader that has gone into exit code 1.
        with tseval.make_context("tseval", sys.argv[1:]) as context:
            tseval.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()  # the list of commands, which is as long as it is
        sys.exit(2)
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        with suppress(OSError):
            click.echo(shortened(message.getvalue()), nl=False, err=True)
        sys.exit(2)
    except TsevalError as error:
        _fail(str(error), 2)
    except BrokenPipeError:
        _close_quietly()  # the reader (`| head`) has gone: nothing is wrong
        sys.exit(0)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    except MemoryError:
        _fail(
            "this computer has not enough free memory for the command.\n"
            "  Close other programs, use fewer items (--limit N), or use shorter texts.",
            2,
        )
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted", 130)
    finally:
        gc.freeze()  # Python would look through all that is loaded for garbage once more, while it quits


def _complete(instruction: str) -> int:
    """Answer a shell, which has no place for messages."""
    try:
        return shell_complete(tseval, {}, "tseval", COMPLETION_VARIABLE, instruction)
    except Exception:  # whatever is wrong with a line or a folder
        return 1


def _fail(message: str, code: int) -> NoReturn:
    with suppress(OSError):  # nobody may be listening
        click.echo(f"tseval: {shortened(message)}", err=True)
    _close_quietly()
    sys.exit(code)


def _close_quietly() -> None:
    """Point streams that cannot be written away: Python would fail once more, flushing them at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
