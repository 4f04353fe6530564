"""`tseval surprisal`: print the surprisal of every token of a text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from tseval.cli.groups import Command
from tseval.cli.model_options import model_options, open_chosen, say_warnings
from tseval.cli.options import COLUMNS_OPTION, COUNT
from tseval.cli.progress import busy
from tseval.cli.texts import read_open_text
from tseval.cli.token_options import DRAWN, TYPED_TEXT, chosen_format
from tseval.errors import ModelError, SuiteError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.scoring.protocol import Model
    from tseval.suites.data.row_texts import TableText
    from tseval.writing import Form


@click.command(
    cls=Command,
    help="Print the surprisal of every token of a text, or of every row of a table.\n\nFILE has one "
    "sentence a line, or is a table as for tseval run. Without FILE, tseval reads standard input.",
)
@click.argument("name", metavar="FILE", default="-")
@model_options
@click.option(
    "--words",
    is_flag=True,
    help="Print one row for each word of the text (default: one row for each "
    "token, or for each row of a table).",
)
@click.option(
    "--entropy",
    is_flag=True,
    help="Add a column with the entropy of the model's next-token distribution before each token.",
)
@click.option(
    "--top",
    type=COUNT,
    metavar="K",
    help="Add a column with the K tokens that the model finds most probable at each place (default: none).",
)
@click.option(
    "--window",
    type=COUNT,
    metavar="N",
    help="Read long texts in overlapping windows of N tokens, the start symbol included. For causal "
    "models of transformers (default: no windows).",
)
@click.option(
    "--stride",
    type=COUNT,
    metavar="M",
    help="Number of tokens from the start of one window to the start of the next (default: half of "
    "--window). Each token is scored once, with the longest context.",
)
@COLUMNS_OPTION
@TYPED_TEXT
@DRAWN
def surprisal_command(
    name: str, spec: str, model_args: str, words: bool, entropy: bool, top: int | None, window: int | None,
    stride: int | None, columns: dict[str, str] | None, text: Form, form: str | None, device: str,
) -> None:  # fmt: skip
    """Read FILE, or standard input: tokenised text, a sentence a line, or a table as tseval run takes it."""
    if stride is not None and window is None:
        raise click.UsageError(
            "--stride sets the distance between windows, but --window is missing. Add --window N."
        )
    from tseval.suites.data.roles import refuse_columns
    from tseval.suites.data.row_texts import holds_table, reading_taken, table_texts

    texts = None
    if name != "-" and Path(name).is_file() and (columns or holds_table(Path(name))):
        texts = table_texts(Path(name), columns)
        if note := reading_taken(Path(name), columns):
            click.echo(f"{name}: {note}", err=True)
    refuse_columns(name, None if texts else columns)
    sentences = _sentences_of(texts) if texts else _read_lines(name)
    from tseval.evaluation import as_read
    from tseval.scoring.surprisal import (
        as_picture,
        as_rows,
        as_table,
        next_tokens,
        surprisals,
        word_surprisals,
    )

    model = as_read(open_chosen(spec, model_args, device), None, text)
    if window is not None:
        model = _in_windows(model, window, stride)
    extra_columns = [*(["entropy"] if entropy else []), *(["top"] if top else [])]
    if extra_columns and (words or texts):
        raise SuiteError(
            f"--{extra_columns[0]} works only for the tokens of a text file with one sentence a line. Leave "
            "out --words, and name a text file, not a table."
        )
    with busy(f"asking {model.card.name}"):
        measure = word_surprisals if words or texts else surprisals
        tokens = measure(model, list(sentences.values()))
        expected = next_tokens(model, list(sentences.values()), top or 0) if extra_columns else None
    form = form or chosen_format()
    if form == "picture":
        click.echo(as_picture(tokens, expected, extra_columns), nl=False)
    elif texts and not words:
        keys = [(part.row, part.what, part.before, part.length) for part in texts]
        by_text = dict(zip(sentences.values(), tokens, strict=True))
        click.echo(as_table(keys, [by_text[part.text] for part in texts], form), nl=False)
    else:
        click.echo(as_rows(list(sentences), tokens, form, expected, extra_columns), nl=False)
    say_warnings(model)


def _in_windows(model: Model, window: int, stride: int | None) -> Model:
    read = getattr(model, "in_windows", None)
    if read is None:
        raise ModelError(
            f"--window: {model.card.name} is not a causal model of transformers, and only such models read "
            "in windows.\n"
            "  Leave out --window: a recurrent model reads texts of any length."
        )
    return cast("Model", read(window, stride or max(1, window // 2)))


def _sentences_of(texts: Sequence[TableText]) -> dict[int | str, str]:
    """Return the different sentences of a table by row, or by row and role if a row has several."""
    first: dict[str, TableText] = {}
    for text in texts:
        first.setdefault(text.text, text)
    n_texts = Counter(text.row for text in first.values())
    return {
        text.row if n_texts[text.row] == 1 else f"{text.row} {text.what}": text.text
        for text in first.values()
    }


def _read_lines(name: str) -> dict[int | str, str]:
    """Return the sentences by line number, without blank lines."""
    with click.open_file(name, encoding="utf-8", errors="strict") as file:
        lines = read_open_text(cast("TextIO", file)).split("\n")
    sentences: dict[int | str, str] = {number: line for number, line in enumerate(lines, 1) if line.strip()}
    if not sentences:
        raise SuiteError(
            f"{file.name}: the file is empty or has only blank lines.\n"
            "  Name a text file with one sentence a line."
        )
    return sentences
