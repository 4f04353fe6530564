"""The `tseval` command: thin click commands, one module each, imported when called.

`tseval --help` must answer in a blink, so this module imports nothing heavy and the group
loads a command's module only when that command is used.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress
from importlib.metadata import metadata
from pathlib import Path
from typing import NoReturn

import click
from click.shell_completion import get_completion_class, shell_complete

from tseval.cli.console import Stream
from tseval.cli.options import Command, Group
from tseval.errors import TsevalError, shortened

# Command name to (module below tseval.cli, one-line help). The help stands here so that listing
# the commands imports none of them; a test compares it with each command's own.
COMMANDS = {
    "run": ("run", "Score a model on a suite, save the results as a run, and print the table of accuracies."),
    "sweep": ("run", "Score many models on many suites, in parallel."),
    "babylm": (
        "run",
        "Score the zero-shot tasks of BabyLM and write predictions for its pipeline.",
    ),
    "table": ("table", "Print the accuracies of runs and leaderboards side by side, with ranks."),
    "items": (
        "items",
        "List single items: both sentences, scores, margin, what differs, unknown words, features.",
    ),
    "gate": ("gate", "Fail if a model lost accuracy against an earlier one."),
    "report": (
        "table",
        "Write a web page about runs: table of accuracies, comparisons of two models, single items.",
    ),
    "cite": ("table", "Write BibTeX, a paragraph on methods and a LaTeX table for a paper."),
    "verify": (
        "run",
        "Verify runs: files intact, numbers recomputed from the evidence, scores confirmed by the model.",
    ),
    "board": ("board", "Create and maintain leaderboards: folders of entries that anyone can check."),
    "analyze": (
        "table",
        "Analyse runs by row, attractors, words, pairs of models, human ratings or training steps.",
    ),
    "suites": (
        "suites",
        "List all suites: those that come with tseval, data sets to download, and formal languages.",
    ),
    "models": (
        "models",
        "List the kinds of models that tseval can score, and the checkpoints that come with tseval.",
    ),
    "check-model": (
        "models",
        "Check a model: the same scores in any batch, no look-ahead to later words, finite scores, "
        "bounded memory.",
    ),
    "expand": ("suites", "Print the items of a suite, or write them to a file."),
    "new": (
        "suites",
        "Create a suite: a folder with a working example grammar and lexicon.",
    ),
    "data": ("data", "Make data sets from treebanks, texts and published files."),
    "export": ("suites", "Export suites and runs to other tools: lm-eval, R, Every Eval Ever."),
    "lm-eval": ("models", "Run the program lm-eval, which can then also evaluate the models of tseval."),
    "lint": ("suites", "Check grammars and data sets for mistakes."),
    "surprisal": ("models", "Print the surprisal of every token of a text, or of every row of a table."),
    "pair": ("models", "Compare two sentences token by token, and say which one the model prefers."),
    "convert": (
        "models",
        "Convert a recurrent language model from torch to a tseval checkpoint, or compress a checkpoint.",
    ),
    "oracle": ("models", "Build a network that knows a Dyck language exactly, without training."),
    "train": ("", "Train language models and classifiers."),
    "completion": (
        "",
        "Print the completion script for a shell.",
    ),
}
PURPOSES = {
    "Score models": ("run", "sweep", "babylm", "pair", "surprisal"),
    "Compare and report": ("table", "report", "analyze", "items", "cite", "export"),
    "Check and verify": ("verify", "gate", "check-model", "lint"),
    "Suites": ("suites", "expand", "new", "data"),
    "Models": ("models", "train", "convert", "oracle"),
    "Leaderboards": ("board",),
    "Setup": ("completion", "lm-eval"),
}
TRAININGS = {
    "lm": (
        "train",
        "Train a word-level language model on tokenised text or on a formal language.",
    ),
    "number": ("train", "Train a classifier that predicts the number of a verb from the words before it."),
    "grammaticality": ("train", "Train a classifier that judges sentences as grammatical or ungrammatical."),
    "zoo": (
        "train",
        "Train every architecture on the same text, score each on Marvin & Linzen, print the ranks.",
    ),
    "curves": ("train", "Draw the learning curves of several models into one figure."),
}


class Root(Group):
    """All commands; says at the end where the pages are that messages name."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command; what is done to one suite is found under either number."""
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


# It stands here, so that its commands are listed without torch.
@click.group(cls=Group, summaries=TRAININGS,
             purposes={"Language models": ("lm", "zoo"), "Classifiers": ("number", "grammaticality"),
                       "Figures": ("curves",)})  # fmt: skip
def train_command() -> None:
    """Train language models and classifiers."""


SHELLS = ("bash", "zsh", "fish")
ASKED = "_TSEVAL_COMPLETE"  # by which a shell asks what may stand on a line


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print the completion script for a shell.

    With the script, your shell completes commands, models, suites, runs, cases and features when you
    press Tab. To install the script, run the line for your shell from the examples.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    if shell == "bash":  # would take bundled:lstm for three words
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//:}")
    script = kind(tseval, {}, "tseval", ASKED).source()
    # As click has them, zsh drops the name of "any file", which is empty, and fish cuts help at a comma.
    script = script.replace("descr in ${response}", 'descr in "${response[@]}"')
    click.echo(script.replace('string split ","', 'string split --max 1 ","'))


def main() -> None:
    """Run the command and turn every error a user can meet into one message and an exit code.

    Exit codes: 0 success, 1 a check failed, 2 bad input or usage, 130 interrupted.
    """
    # Modules stay until the end. Made as often as usual, the search for garbage among the half a million
    # objects of torch would take as long as a third of its import.
    gc.set_threshold(200_000, 50, 100)
    _open_streams()
    if asked := os.environ.get(ASKED):
        sys.exit(_complete(asked))
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


def _complete(asked: str) -> int:
    """Answer a shell, which has no place for messages."""
    try:
        return shell_complete(tseval, {}, "tseval", ASKED, asked)
    except Exception:  # whatever is wrong with a line or a folder
        return 1


def _open_streams() -> None:
    """Make sure that there is something to write to, in any encoding, and that a terminal obeys no text."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until the end
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, Stream):
            setattr(sys, name, Stream(stream))


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
