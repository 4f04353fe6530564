"""Output of `tseval pair` for a model that only answers questions: its answers in both orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.progress import busy
from tseval.errors import plain

if TYPE_CHECKING:
    from tseval.scoring.protocol import Answer, AnswerModel


COLUMNS = ("first", "second", "answer", "chosen", "logprob_1", "logprob_2")


def print_answers(model: AnswerModel, good: str, bad: str, form: str) -> None:
    """Ask in both orders which of two sentences is better, and print the answers and the result."""
    from tseval.questions.answers import read_answer
    from tseval.scoring.surprisal import written_rows

    with busy(f"asking {model.card.name}"):
        answers = dict(model.answers([(good, bad), (bad, good)]))
    chosen = [read_answer(answers[place].text) for place in (0, 1)]
    orders = (("good", "bad"), ("bad", "good"))
    names = [order[choice - 1] if choice else None for order, choice in zip(orders, chosen, strict=True)]
    if form == "picture":
        for place, (order, name) in enumerate(zip(orders, names, strict=True)):
            click.echo(f"{order[0]} first: {_answer_text(answers[place])}, {name or 'no answer'}")
    else:
        rows: list[list[object]] = [
            [*order, plain(answers[place].text), name, *(answers[place].logprobs or (None, None))]
            for place, (order, name) in enumerate(zip(orders, names, strict=True))
        ]
        click.echo(written_rows(COLUMNS, rows, form), nl=False)
    click.echo(_verdict(names), err=True)


def _answer_text(answer: Answer) -> str:
    """Return an answer as text, with the probabilities of 1 and 2 if the model gives them."""
    from math import exp

    text = f"the answer {plain(answer.text)!r}"
    probabilities = [
        f"{number}: {exp(logprob):.3f}"
        for number, logprob in enumerate(answer.logprobs or (), 1)
        if logprob is not None
    ]
    return f"{text} (probabilities {', '.join(probabilities)})" if probabilities else text


def _verdict(names: list[str | None]) -> str:
    """Return a line with the preferred sentence, by the rule of a run. `names` has the choice per order."""
    first, second = names
    if first is None or second is None:
        return "no answer: the model must answer 1 or 2 in both orders"
    if first != second:
        number = 1 if first == "good" else 2
        return f"undecided by order: the model answers {number} both times, which counts as wrong"
    return f"{first} is preferred, in both orders"
