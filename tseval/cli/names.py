"""Names that a user types and a shell completes: models, suites, cases, features, runs."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, split_arg_string

from tseval.cli.checkpoint_files import CHECKPOINT_ENDINGS
from tseval.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Name(click.ParamType[str]):
    """The click type of a known name or a path, which a shell completes."""

    name = "text"

    def __init__(self, known: Callable[[click.Context], Iterable[str]], example: str = "") -> None:
        self.known, self.example = known, example

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str | None:
        """Return an example of the missing argument."""
        return self.example or None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the known names that begin like the typed text, and an entry that offers files."""
        names = sorted(name for name in names_in_time(self.known(ctx)) if name.startswith(incomplete))
        return [
            CompletionItem(incomplete, type="file"),
            *map(CompletionItem, names),
        ]  # in bash, the entry for files removes all entries before it


# Completion reads only names and texts of files, so that a user who presses Tab does not wait for imports.
PACKAGE = Path(__file__).parents[1]
SCHEMES = ("hf:", "lm-eval:", "mlm:", "ngram:", "oracle:", "seq2seq:")
COMPLETION_SECONDS = 0.2
_MOST_READ = 1 << 16  # bytes of one file


def names_in_time(names: Iterable[str]) -> set[str]:
    """Return the names that are available within COMPLETION_SECONDS; errors are ignored.

    The folder may contain anything, such as a pipe instead of a grammar, or a million files.
    """
    from threading import Thread

    names_so_far: list[str] = []

    def collect() -> None:
        with suppress(Exception):
            for name in names:
                names_so_far.append(name)

    thread = Thread(target=collect, daemon=True)
    thread.start()
    thread.join(COMPLETION_SECONDS)
    return set(names_so_far)


def _beginning(path: Path) -> str:
    """Return the beginning of a file, if it is a regular one."""
    with open_regular(path) as file:
        return file.read(_MOST_READ).decode(errors="replace")


def _models_here(_: click.Context) -> Iterator[str]:
    bundled = (PACKAGE / "models" / "bundled").glob("*.pt")
    checkpoints = (path for ending in CHECKPOINT_ENDINGS for path in Path().glob(f"*{ending}"))
    return chain((f"bundled:{path.stem}" for path in bundled), map(str, checkpoints), SCHEMES)


def _suite_folders() -> tuple[Path, Path]:
    from tseval.files import data_folder

    return PACKAGE / "templates", data_folder()


def _suites_here(_: click.Context) -> Iterator[str]:
    bundled, fetched = _suite_folders()
    return chain(
        (path.parent.name for path in bundled.glob("*/suite.yaml")), (path.name for path in fetched.glob("*"))
    )


def _files_of_suites(ctx: click.Context) -> Iterator[Path]:
    """Yield the grammar and data files of suites: those of the line, of its runs, and the default suites."""
    for word in (*split_arg_string(os.environ.get("COMP_WORDS", "")), *(ctx.params.get("suites") or ())):
        named = [word]
        with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
            named.append(json.loads(_beginning(Path(word) / "manifest.json"))["suite"]["name"])
        for folder in (parent / str(name) for name in named for parent in (*_suite_folders(), Path())):
            yield from chain(folder.glob("*.jinja"), folder.glob("*.jsonl"))


def _cases_here(ctx: click.Context) -> Iterator[str]:
    return (path.stem for path in _files_of_suites(ctx))


_FEATURES = re.compile(r"^features:\n((?:(?: .*)?\n)+)", re.MULTILINE)


def features_here(ctx: click.Context) -> Iterator[str]:
    """Yield the features that grammars state in their front matter."""
    for path in _files_of_suites(ctx):
        text = ""
        with suppress(OSError):
            text = _beginning(path) if path.suffix == ".jinja" else ""
        if match := _FEATURES.search(text):
            yield from re.findall(r"^  (\w+):", match[1], re.MULTILINE)


def _runs_here(_: click.Context) -> Iterator[str]:
    patterns = ("*/manifest.json", "runs/*/manifest.json", "runs/*/*/manifest.json")
    runs = (str(path.parent) for pattern in patterns for path in Path().glob(pattern))
    boards = (path.parent.name for path in (PACKAGE / "leaderboards").glob("*/board.yaml"))
    return chain(runs, boards)


MODEL = Name(_models_here, "For example:\n\t--model bundled:lstm (comes with tseval)\n"
                           "\t--model drnn.pt (your checkpoint: docs/your-checkpoint.md)")  # fmt: skip
SUITE, CASE, RUN = Name(_suites_here), Name(_cases_here), Name(_runs_here)
