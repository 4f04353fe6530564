"""The program `tseval`: the group of all commands, and the messages and exit codes of errors."""

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

COMPLETION_VARIABLE = "_TSEVAL_COMPLETE"  # set by a shell that asks for completions

# How often a thread of torch looks for work before it sleeps. The default, 300,000 times, keeps a core busy
# that other programs could use. Next to such a program, Marvin & Linzen (2018) took nearly 50% longer.
SPINS = "3000"


class Root(Group):
    """The group of all commands. Its help ends with the address of the documentation."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; `suite` is the same as `suites`."""
        return super().get_command(ctx, "suites" if cmd_name == "suite" else cmd_name)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the address of the documentation."""
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
    # The objects of modules live until the end. With the default thresholds, the garbage collector would
    # search the half a million objects of torch so often that it takes a third of the time of the import.
    gc.set_threshold(200_000, 50, 100)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)  # read when torch is imported
    open_streams()
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        sys.exit(_complete(instruction))
    try:
        # Not `tseval.main`: it would exit with code 1 if the reader of a pipe has closed it.
        with tseval.make_context("tseval", sys.argv[1:]) as context:
            tseval.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()  # the list of commands, which is not shortened
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
        _close_quietly()  # the reader (`| head`) has closed the pipe, which is no error
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
        gc.freeze()  # saves the last garbage collection at exit


def _complete(instruction: str) -> int:
    """Answer a shell that asks for completions. Errors are not printed."""
    try:
        return shell_complete(tseval, {}, "tseval", COMPLETION_VARIABLE, instruction)
    except Exception:  # any error of the line or of a folder
        return 1


def _fail(message: str, code: int) -> NoReturn:
    with suppress(OSError):  # standard error may be closed
        click.echo(f"tseval: {shortened(message)}", err=True)
    _close_quietly()
    sys.exit(code)


def _close_quietly() -> None:
    """Redirect closed streams to os.devnull. Otherwise, Python fails again when it flushes them at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
