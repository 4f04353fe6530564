"""`tseval lint`: check grammars and data sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tseval.cli.options import COLUMNS_OPTION
from tseval.cli.progress import busy
from tseval.errors import ModelError, SuiteError, suggest
from tseval.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.suites.lint import LintFinding

_BUNDLED = "bundled:"


@click.command(help="Check grammars and data sets.")
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@click.option(
    "--vocab",
    metavar="FILE or MODEL",
    help="Report words missing here: a text file with one word per line, a checkpoint, or bundled:NAME.",
)
@COLUMNS_OPTION
def lint_command(suites: tuple[str, ...], vocab: str | None, columns: dict[str, str] | None) -> None:
    """Check each SUITE, a name or a path; exit with 1 if there is anything but notes to report."""
    from tseval.suites import find_suite
    from tseval.suites.data import is_data
    from tseval.suites.data.pairs import refuse_columns
    from tseval.suites.lint import lint, lint_data

    knows = None if vocab is None else _known_words(vocab)
    paths = [find_suite(suite) for suite in suites]
    with busy(f"checking {', '.join(suites)}"):
        findings: list[LintFinding] = []
        for path in paths:
            if is_data(path):
                findings += lint_data(path, knows, columns)
            else:
                refuse_columns(path, columns)
                findings += lint(path, knows)
    for finding in findings:
        click.echo(str(finding))
    if any(finding.severity != "note" for finding in findings):
        sys.exit(1)
    click.echo("Notes only." if findings else "No findings.", err=True)


def _known_words(spec: str) -> Callable[[str], bool]:
    """Read a vocabulary: text with one word per line, or a checkpoint, perhaps a bundled one."""
    path = _bundled(spec.removeprefix(_BUNDLED)) if spec.startswith(_BUNDLED) else Path(spec)
    if path.suffix in {".pt", ".safetensors"}:
        from tseval.models.checkpoint import read_vocabulary

        vocabulary = read_vocabulary(path)
        words = frozenset(vocabulary.words)
        return lambda word: (word.lower() if vocabulary.lowercase else word) in words
    try:
        text = read_bytes(path, "document_bytes").decode("utf-8-sig")
        words = frozenset(word.strip() for word in text.split("\n"))
    except UnicodeDecodeError:
        fix = "Give UTF-8 text with one word per line, or a checkpoint (.pt, .safetensors)."
        raise SuiteError(f"{path}: not a vocabulary.\n  {fix}") from None
    except OSError as error:
        fix = "Give a text file with one word per line, a checkpoint, or bundled:NAME."
        raise SuiteError(f"{path}: cannot be read: {error.strerror}.\n  {fix}") from None
    return words.__contains__


def _bundled(name: str) -> Path:
    """Find a checkpoint that comes with tseval."""
    from tseval.models.checkpoint import bundled_checkpoints

    known = bundled_checkpoints()
    if name not in known:
        hint = suggest(name, known, "Bundled checkpoints")
        raise ModelError(f"there is no bundled checkpoint {name!r}.\n  {hint}")
    return known[name]
