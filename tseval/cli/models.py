"""Commands about models: models, check-model, convert, oracle, pair, surprisal, lm-eval."""

from __future__ import annotations

import json
import sys
from collections import Counter
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from tseval.cli.console import busy, print_hanging, print_table, progress_bar, typed_text, unguarded
from tseval.cli.options import (
    COLUMNS_OPTION,
    COUNT,
    DEVICE,
    FILE,
    MODEL,
    MODEL_ARGS,
    UNKNOWN_OPTION,
    Command,
    FiniteRange,
    check_new,
    model_options,
    open_chosen,
    read_arguments,
    read_open_text,
    say_warnings,
    text_option,
)
from tseval.errors import ModelError, SuiteError, TsevalError, counted, first_line
from tseval.files import file_sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tseval.models.checkpoint import Checkpoint, PackedType
    from tseval.models.oracles import Step
    from tseval.questions.unknown import Unknown, UnknownRule
    from tseval.scoring.protocol import Model
    from tseval.scoring.surprisal import Token
    from tseval.suites.data.row_texts import TableText
    from tseval.writing import Form


@click.command(cls=Command)
def models_command() -> None:
    """List the kinds of models that tseval can score, and the checkpoints that come with tseval."""
    from tseval.adapters import adapters, is_outside, load_adapter
    from tseval.models import bundled_checkpoints
    from tseval.models.checkpoint import load_checkpoint

    with busy("opening adapters"):
        kinds = []
        for name, entry in adapters().items():
            broken = ""
            if is_outside(entry):
                try:
                    load_adapter(entry)
                except TsevalError as error:
                    broken = f", broken: {first_line(error)}"
            kinds.append((name, f"{entry.value}{broken}"))
    print_table(kinds, ["adapter", "opened by"])
    click.echo()
    rows = []
    for name, path in bundled_checkpoints().items():
        checkpoint = load_checkpoint(path)
        sizes, perplexity = checkpoint.model.sizes, checkpoint.validation_perplexity
        numbers = sizes.vocabulary, sizes.embedding, sizes.hidden, sizes.layers
        known = "–" if perplexity is None else f"{perplexity:.1f}"
        rows.append((f"bundled:{name}", sizes.arch, *map(str, numbers), known))
    headings = ["model", "arch", "words", "embedding", "hidden", "layers", "perplexity"]
    print_table(rows, headings, ["left", "left", *["right"] * 5])


@click.command(
    cls=Command,
    help="Check a model: the same scores in any batch, no look-ahead to later words, finite "
    "scores, bounded memory.",
)
@click.argument("spec", type=MODEL)
@MODEL_ARGS
@DEVICE
@click.option("--sentences", "file", type=click.File(encoding="utf-8", errors="strict"),
              help="File with the sentences for the check: tokenised, one a line, with words that the "
                   "model knows (default: 288 English sentences).")  # fmt: skip
@click.option("--tolerance", type=FiniteRange(min=0), default=1e-3, show_default=True,
              help="Largest difference in nats between two log-probabilities that should be equal. A "
                   "larger difference fails the check.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report in JSON format.")
def check_model_command(
    spec: str, model_args: str, device: str, file: TextIO | None, tolerance: float, as_json: bool
) -> None:
    """Check the model SPEC, a checkpoint or SCHEME:REST; exit with 1 if anything fails."""
    sentences = None if file is None else [line for line in read_open_text(file).splitlines() if line.strip()]
    model = open_chosen(spec, model_args, device)
    from tseval.testing import check_model

    with progress_bar(f"checking {spec}") as progress:
        report = check_model(model, sentences, tolerance=tolerance, progress=progress)
    if as_json:
        click.echo(json.dumps(report.to_mapping(), indent=2, ensure_ascii=False))
    else:
        print_hanging(str(report), 42)
    if not report.ok:
        sys.exit(1)


_COLUMNS, _WINDOW = 32, 35  # how a validation text is read: side by side, and words at a time


@click.command(cls=Command)
@click.argument("old", type=FILE)
@click.option("-o", "--out", "new", type=FILE, required=True, metavar="FILE",
              help="File in which to save the new checkpoint: .pt or .safetensors.")  # fmt: skip
@click.option("--vocab", type=FILE, metavar="FILE",
              help="File with the vocabulary of the old model, one word a line, in the order of the word "
                   "ids (default: the vocabulary inside the model's file).")  # fmt: skip
@MODEL_ARGS
@click.option("--stored", type=click.Choice(["float32", "float16", "int8"]), default="float32",
              show_default=True,
              help="Number format of the weights in the new checkpoint: float32, float16 (half the size) "
                   "or int8 (one sixth of the size). float16 and int8 round the weights.",
)  # fmt: skip
@click.option("--valid", type=FILE, metavar="TEXT",
              help="File with tokenised text: tseval computes and stores the perplexity of the new "
                   "checkpoint on it (default: none).",
)  # fmt: skip
def convert_command(
    old: Path, new: Path, vocab: Path | None, model_args: str, stored: PackedType, valid: Path | None
) -> None:
    """Convert a recurrent language model from torch to a tseval checkpoint, or compress a checkpoint.

    OLD is a file that tseval run --model can open. tseval runs no code from it. The new checkpoint keeps the
    validation perplexity of the old one if its numbers do not change.
    """
    check_new(new)

    from tseval.models.checkpoint import save_checkpoint

    with busy(f"converting {old.name}"):
        read = _read(old, vocab, read_arguments(model_args))
        source = {"file": old.name, "sha256": file_sha256(old)}
        perplexity = _perplexity(read, stored, valid)
        save_checkpoint(
            new, read.model, read.vocabulary, training={**read.training, "source": {**source}},
            validation_perplexity=perplexity, dtype=stored,
        )  # fmt: skip
    sizes = read.model.sizes
    known = "" if perplexity is None else f", validation perplexity {perplexity:.2f}"
    of = f"{counted(sizes.layers, 'layer')} of {sizes.hidden}, {sizes.vocabulary:,} words"
    click.echo(f"{new}: {sizes.arch}, {of}{known}", err=True)


def _read(old: Path, vocab: Path | None, arguments: Mapping[str, str]) -> Checkpoint:
    from tseval.models.checkpoint import load_checkpoint
    from tseval.models.state_files import is_foreign
    from tseval.models.states import open_state

    if is_foreign(old):
        return open_state(old, arguments if vocab is None else {**arguments, "vocab": str(vocab)})
    read = load_checkpoint(old)  # says what is wrong with the file, if anything is
    if vocab is not None or arguments:
        raise ModelError(
            f"{old}: this file is already a tseval checkpoint, which contains its own vocabulary. Leave "
            "out --vocab and --model-args."
        )
    return read


def _perplexity(read: Checkpoint, stored: PackedType, valid: Path | None) -> float | None:
    """Measure what will be on disk, or keep the perplexity of a checkpoint whose numbers stay."""
    from tseval.models.checkpoint import fingerprint, stored_weights
    from tseval.models.network import LanguageModel
    from tseval.training.corpus import Columns, columns, encode_text
    from tseval.training.loop import as_stored, mean_loss, perplexity

    model = read.model
    if valid is None:
        mark = fingerprint(model.sizes.to_mapping(), read.vocabulary, stored_weights(model, stored))
        return read.validation_perplexity if mark == read.fingerprint else None
    if not isinstance(model, LanguageModel):
        raise ModelError(
            f"--valid {valid}: tseval cannot compute a perplexity, because the model is a "
            "classifier. Leave out --valid."
        )
    text = columns(encode_text([valid], read.vocabulary), _COLUMNS)
    return perplexity(mean_loss(as_stored(model, stored), Columns(text, _WINDOW)))


@click.command(cls=Command)
@click.argument("kind", metavar="KIND")
@click.option("-k", "k", type=COUNT, required=True, help="Number of bracket types of the Dyck language.")
@click.option(
    "-m", "m", type=COUNT, required=True, help="Largest number of brackets that are open at the same time."
)
@click.option("--code", default="log", show_default=True,
              help="Code of a bracket type in the hidden units: log (a binary number) or one-hot (one "
                   "unit for each type).")  # fmt: skip
@click.option("-o", "--out", "output", type=FILE, metavar="FILE",
              help="File in which to save the network as a checkpoint: .pt or .safetensors (default: do "
                   "not save it).")  # fmt: skip
@click.option("--show-gates", "symbols", metavar="SYMBOLS",
              help="Symbols of the Dyck language, with spaces between them. tseval prints the units and "
                   "the stack of the network after each symbol (default: none).",
)  # fmt: skip
def oracle_command(kind: str, k: int, m: int, code: str, output: Path | None, symbols: str | None) -> None:
    """Build a network that knows a Dyck language exactly, without training.

    KIND is the construction to build: dyck-srn or dyck-lstm, both by Hewitt et al. (2020).
    """
    from tseval.models.checkpoint import save_checkpoint
    from tseval.models.network import count_parameters
    from tseval.models.oracles import Oracle, build_oracle, walk
    from tseval.suites.formal.languages import brackets

    if output:
        check_new(output)
    oracle = Oracle(kind, k, m, code)
    with busy(f"building {oracle.name}"):
        checkpoint = build_oracle(oracle, brackets(k))
    click.echo(
        f"{oracle.name}: {oracle.hidden:,} hidden units, {count_parameters(checkpoint.model):,} parameters",
        err=True,
    )
    if output:
        save_checkpoint(
            output, checkpoint.model, checkpoint.vocabulary,
            training=checkpoint.training, validation_perplexity=None,
        )  # fmt: skip
        click.echo(
            f"{output}: tseval saved the network here. To score it: tseval run --model {output} "
            f"--suite 'dyck(k={k},m={m})'",
            err=True,
        )
    if symbols is not None:
        click.echo(_table(walk(oracle, checkpoint, symbols.split()), k))


def _table(steps: Iterable[Step], k: int) -> str:
    from tabulate import tabulate

    rows = [
        {"symbol": step.symbol, "stack": " ".join(step.stack) or "–", **step.units,
         "may follow": _show_follows(step.follows, k)}
        for step in steps
    ]  # fmt: skip
    return tabulate(rows, headers="keys", disable_numparse=True)


def _show_follows(follows: dict[str, float], k: int) -> str:
    """Write probabilities; the opening brackets, which have the same, together."""
    opening = [name for name in follows if name.startswith("(")]
    others = [f"{name} {mass:.3f}" for name, mass in follows.items() if name not in opening]
    if not opening:
        return ", ".join(others)
    assert len(opening) == k
    names = " ".join(opening) if k <= 3 else f"{opening[0]} … {opening[-1]}"
    return ", ".join([*others, f"{names} {follows[opening[0]]:.3f}" + (" each" if k > 1 else "")])


DRAWN = click.option("--format", "form", type=click.Choice(["picture", "tsv", "jsonl"]),
                     help="Format of the output: picture (bars), tsv or jsonl (default: picture on a "
                          "terminal, else tsv).",
)  # fmt: skip
TYPED_TEXT = text_option("as-written", "auto", of="the text for the model, by the rules of English")


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
    shown = [*(["entropy"] if entropy else []), *(["top"] if top else [])]
    if shown and (words or texts):
        raise SuiteError(
            f"--{shown[0]} works only for the tokens of a text file with one sentence a line. Leave "
            "out --words, and name a text file, not a table."
        )
    with busy(f"asking {model.card.name}"):
        ask = word_surprisals if words or texts else surprisals
        found = ask(model, list(sentences.values()))
        expected = next_tokens(model, list(sentences.values()), top or 0) if shown else None
    form = form or chosen_format()
    if form == "picture":
        click.echo(as_picture(found, expected, shown), nl=False)
    elif texts and not words:
        asked = [(one.row, one.what, one.before, one.length) for one in texts]
        by_text = dict(zip(sentences.values(), found, strict=True))
        click.echo(as_table(asked, [by_text[one.text] for one in texts], form), nl=False)
    else:
        click.echo(as_rows(list(sentences), found, form, expected, shown), nl=False)
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
    """Return the different sentences of a table by their rows, and by their roles if a row has several."""
    first: dict[str, TableText] = {}
    for text in texts:
        first.setdefault(text.text, text)
    several = Counter(text.row for text in first.values())
    return {
        text.row if several[text.row] == 1 else f"{text.row} {text.what}": text.text
        for text in first.values()
    }


def chosen_format() -> str:
    """Draw on a terminal, write rows elsewhere."""
    return "picture" if sys.stdout.isatty() else "tsv"


def _read_lines(name: str) -> dict[int | str, str]:
    """Return the sentences by the number of their line; blank lines are passed over."""
    with click.open_file(name, encoding="utf-8", errors="strict") as file:
        lines = read_open_text(cast("TextIO", file)).split("\n")
    sentences: dict[int | str, str] = {number: line for number, line in enumerate(lines, 1) if line.strip()}
    if not sentences:
        raise SuiteError(
            f"{file.name}: the file is empty or has only blank lines.\n"
            "  Name a text file with one sentence a line."
        )
    return sentences


class _Sentences(Command):
    """A command whose arguments are sentences: one that begins with a dash, `- the author`, is no option."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Mark them: an option has no space before its value."""
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
@TYPED_TEXT
@UNKNOWN_OPTION
@DRAWN
def pair_command(
    good: str, bad: str, spec: str, model_args: str, text: Form, unknown: UnknownRule, form: str | None,
    device: str,
) -> None:  # fmt: skip
    """Score GOOD and BAD, tokenised sentences, and say which the model prefers."""
    good, bad = (typed_text(one.removeprefix(_NO_OPTION)) for one in (good, bad))
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
    from tseval.scoring.protocol import TotalModel
    from tseval.scoring.surprisal import Token, as_picture, as_rows, surprisals

    model = as_read(open_chosen(spec, model_args, device), None, text)
    with busy(f"asking {model.card.name}"):
        if isinstance(model, TotalModel):  # one number a sentence, and none of a token
            totals = model.sentence_logprobs([good, bad])
            found = [
                [Token(0, one, one, 0.0 - total)] for one, total in zip((good, bad), totals, strict=True)
            ]
        else:
            found = surprisals(model, [good, bad])
    if (form or chosen_format()) == "picture":
        click.echo(as_picture(found))
    else:
        click.echo(as_rows(["good", "bad"], found, form or "tsv"), nl=False)
    tokens_of_good, tokens_of_bad = found
    rule = Unknown.of(model.card.protocol, unknown)
    click.echo(_verdict(tokens_of_good, tokens_of_bad, rule), err=True)
    say_warnings(model)


def _verdict(good: Sequence[Token], bad: Sequence[Token], unknown: Unknown) -> str:
    """Say which is preferred; the same rule as in a run: strictly more probable."""
    from tseval.questions.unknown import unshared
    from tseval.scoring.surprisal import unknown_words

    if [token.token for token in good] == [token.token for token in bad]:
        texts = (one.text for one, other in zip(good, bad, strict=True) if one.text != other.text)
        glued = next((text for text in texts if len(text) > 1 and text[-1] in ".,;:?!"), None)
        why = (
            f", to which {glued!r} is one word: separate punctuation, {glued[:-1]} {glued[-1]}"
            if glued
            else ""
        )
        return f"undecidable: both sentences have the same tokens for the model{why}"
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
    doubt = f"; half known: the model does not know {named}" if half_known else ""
    return f"{'good' if difference > 0 else 'bad'} is preferred, by {abs(difference):.3f} nats{doubt}"


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
