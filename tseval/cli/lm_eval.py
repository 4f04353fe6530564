"""`tseval lm-eval`: run the program lm-eval with the models of tseval."""

from __future__ import annotations

import sys

import click

from tseval.cli.groups import Command
from tseval.cli.terminal import unguarded
from tseval.errors import ModelError


@click.command(
    cls=Command,
    help="Run the program lm-eval, which can then also evaluate the models of tseval.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lm_eval_command(arguments: tuple[str, ...]) -> None:
    """Pass all ARGUMENTS on to lm_eval, which from version 0.4.14 on finds the model by itself."""
    try:
        import lm_eval.models  # noqa: F401 - before ours: it lists its own only where nobody was first
        from lm_eval.__main__ import cli_evaluate
    except ImportError:
        raise ModelError(
            'the package lm-eval is not installed. To install it: pip install "tseval[lm-eval]"'
        ) from None

    import tseval.lm_eval_tasks  # noqa: F401 - registers itself

    sys.argv = ["lm_eval", *arguments]
    with unguarded():
        cli_evaluate()
