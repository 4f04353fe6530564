"""Count the requests of a run, and ask the user before they are sent to a server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tseval.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.evaluation import Plan
    from tseval.scoring.protocol import Model


def confirm_sending(model: Model, plan: Plan, resumed: Path | None, *, yes: bool, quiet: bool) -> None:
    """Print the number, size and cost of a run's requests; on a terminal, ask whether to send them.

    Nothing is printed or asked if the model sends no requests.

    Args:
        resumed: The folder of a run to continue. Requests with an answer there are not sent again.
        yes: Whether to send the requests without asking.
    """
    if not hasattr(model, "estimate"):
        return
    from tseval.runs.answer_log import ANSWERS_FILE, read_answer_log
    from tseval.runs.directory import PARTS
    from tseval.runs.manifest import NAME, Manifest, load_manifest
    from tseval.scoring.answer_scorer import both_sentences

    answers = {}
    if resumed is not None and (resumed / NAME).exists():
        if isinstance(load_manifest(resumed), Manifest):
            return
        answers = read_answer_log(resumed / PARTS / ANSWERS_FILE)
    prompts = [both_sentences(str(text)) for text in plan.sentences.to_pylist() if text not in answers]
    if not prompts:
        return
    line = f"{model.card.name}: {model.estimate(prompts)}"
    is_interactive = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    if is_interactive or not quiet:
        click.echo(line, err=True)
    if is_interactive and not click.confirm("Send them?", err=True):
        raise RunError("nothing was sent.\n  To send the requests without this question, add --yes")
