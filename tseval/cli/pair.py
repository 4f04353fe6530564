"""`tseval pair`: compare two sentences token by token."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Command
from tseval.cli.model_options import PROMPT, model_options, open_chosen, say_warnings
from tseval.cli.options import UNKNOWN_OPTION
from tseval.cli.progress import busy
from tseval.cli.terminal import typed_text
from tseval.cli.token_options import DRAWN, TYPED_TEXT, chosen_format
from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.questions.unknown import Unknown, UnknownRule
    from tseval.scoring.surprisal import Token
    from tseval.writing import Form


class _Sentences(Command):
    """A command whose arguments are sentences, which may begin with a dash, such as `- the author`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Mark sentences that begin with a dash. Unlike them, an option has no space before its value."""
        marked = [
            f"{_NO_OPTION}{arg}" if arg.startswith("-") and " " in arg.partition("=")[0] else arg
            for arg in args
        ]
        return super().parse_args(context, marked)


_NO_OPTION = "\ue000"


@click.command(
    cls=_Sentences,
    help="Compare two sentences token by token, and say which one the model prefers.\n\nGOOD and BAD are "
    "sentences in the form that the model reads: tokenised for word-level models.",
)
@click.argument("good")
@click.argument("bad")
@model_options
@PROMPT
@TYPED_TEXT
@UNKNOWN_OPTION
@DRAWN
def pair_command(
    good: str, bad: str, spec: str, model_args: str, text: Form, unknown: UnknownRule, form: str | None,
    device: str, prompt: str | None,
) -> None:  # fmt: skip
    """Score GOOD and BAD, tokenised sentences, and say which the model prefers."""
    good, bad = (typed_text(typed_sentence.removeprefix(_NO_OPTION)) for typed_sentence in (good, bad))
    for name, sentence in (("GOOD", good), ("BAD", bad)):
        if not sentence.strip():
            raise SuiteError(
                f"{name} is an empty text. Type two sentences, each in quotes: tseval pair "
                '--model MODEL "GOOD" "BAD"'
            )
        if any("\ud800" <= letter <= "\udfff" for letter in sentence):
            raise SuiteError(
                f"{name} is not UTF-8 text. Set your terminal to UTF-8, and type the two sentences again."
            )
    from tseval.evaluation import as_read
    from tseval.questions.unknown import Unknown
    from tseval.scoring.protocol import AnswerModel, TotalModel
    from tseval.scoring.surprisal import Token, as_picture, as_rows, surprisals

    model = as_read(open_chosen(spec, model_args, device, prompt=prompt), None, text)
    if isinstance(model, AnswerModel):
        from tseval.cli.asked_pair import print_answers

        print_answers(model, good, bad, form or chosen_format())
        say_warnings(model)
        return
    with busy(f"asking {model.card.name}"):
        if isinstance(model, TotalModel):  # one score for each sentence, none for tokens
            totals = model.sentence_logprobs([good, bad])
            tokens = [
                [Token(0, typed_sentence, typed_sentence, 0.0 - total)]
                for typed_sentence, total in zip((good, bad), totals, strict=True)
            ]
        else:
            tokens = surprisals(model, [good, bad])
    if (form or chosen_format()) == "picture":
        click.echo(as_picture(tokens))
    else:
        click.echo(as_rows(["good", "bad"], tokens, form or "tsv"), nl=False)
    tokens_of_good, tokens_of_bad = tokens
    rule = Unknown.of(model.card.protocol, unknown)
    click.echo(_verdict(tokens_of_good, tokens_of_bad, rule), err=True)
    say_warnings(model)


def _verdict(good: Sequence[Token], bad: Sequence[Token], unknown: Unknown) -> str:
    """Return a line that says which sentence is preferred: the strictly more probable one, as in a run."""
    from tseval.questions.unknown import unshared
    from tseval.scoring.surprisal import unknown_words

    if [token.token for token in good] == [token.token for token in bad]:
        texts = (better.text for better, worse in zip(good, bad, strict=True) if better.text != worse.text)
        token_text = next((text for text in texts if len(text) > 1 and text[-1] in ".,;:?!"), None)
        hint = (
            f", to which {token_text!r} is one word: separate punctuation, {token_text[:-1]} {token_text[-1]}"
            if token_text
            else ""
        )
        return f"undecidable: both sentences have the same tokens for the model{hint}"
    if good[0].surprisal is None and good[0].token != bad[0].token:
        return "undecidable: the first tokens differ, and the model does not score first tokens"
    half_known = unshared([unknown_words(tokens, unknown) for tokens in (good, bad)])
    named = ", ".join(map(repr, sorted(half_known)))
    if half_known and unknown.rule != "score":
        return (
            f"undecidable (half known): the model does not know {named}, so one sentence has <unk>\n"
            "  and the other a known word. To compare them anyway, add --unknown score"
        )
    sums = [fsum(t.surprisal for t in tokens if t.surprisal is not None) for tokens in (good, bad)]
    difference = sums[1] - sums[0]
    if difference == 0:
        return "a tie: both are equally probable, which counts as wrong"
    warning = f"; half known: the model does not know {named}" if half_known else ""
    return f"{'good' if difference > 0 else 'bad'} is preferred, by {abs(difference):.3f} nats{warning}"
