"""Load a suite by its name or path: all items, or some of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.suites.all_verbs import InflectionSuite
from tseval.suites.data.suite import DataSuite
from tseval.suites.formal.suite import FormalSuite
from tseval.suites.lookup import locate_suite
from tseval.suites.opened import OpenedSuite, Request, Selection, SuiteKind
from tseval.suites.views import INFLECTION, VIEWS, ViewedSuite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case, Suite
    from tseval.suites.data.exclusions import Exclude


def load_suite(  # noqa: PLR0913 - which suite, which of its items, and how data are read
    spec: str | Path,
    *,
    cases: str | Sequence[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    tokenise: bool = False,
    columns: Mapping[str, str] | None = None,
    exclude: Exclude | None = None,
    lexicon: str | Path | Sequence[str] | None = None,
) -> Suite:
    """Load all items of a suite, or some of them; only these are expanded.

    Args:
        spec: Name of a suite, formal language with its settings (`dyck(k=4,m=3)`), or path of data or
            grammars (a file or a folder). A final `:METHOD` chooses another task on the items
            (`tseval.suites.views`) or one method of a data set (`blimp:one_prefix`).
        cases: Names of the cases to load, or one name; empty for all cases.
        limit: Load the first `limit` items of each case.
        sample: Load `sample` items of each case, drawn uniformly without replacement, in item order.
        seed: Seed for `sample`, and for the sentences that `:judgement` shows.
        tokenise: Split punctuation and clitics off the words of a data set (Penn Treebank tokens), for
            word-level models. The sentences of grammars are already tokenised.
        columns: Roles of the columns of a table, `{"good": "sen", "bad": "wrong_sen"}`, and settings for
            reading it (`tseval.suites.data.roles`). None if the columns have known names.
        exclude: Items of data to leave out: `known-errors` (errors that authors and users reported), the
            path of a list, or pairs of a case and an id (`tseval.suites.data.entries`).
        lexicon: Verbs that `SUITE:inflection` compares: path of a table with the columns `sing` and
            `plur`, `unimorph:FILE`, or rows of a list; None for the English list of tseval.

    Raises:
        SuiteError: No such suite, case or column; a limit or sample below 1.
        GrammarError: A grammar that cannot be expanded, with file, line and fix.
    """
    selection = Selection((cases,) if isinstance(cases, str) else cases, limit, sample, seed)
    selection.check()
    suite = _open(spec, columns, exclude, tokenise, lexicon).load(selection)
    return suite if sample is None else replace(suite, sample=f"{sample} of each case, seed {seed}")


def stream_cases(  # noqa: PLR0913 - the options of a user, and two lists to fill
    spec: str | Path,
    *,
    cases: str | Sequence[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
    labels: list[str] | None = None,
) -> tuple[int, Iterator[Case]]:
    """Return the number of items of a suite and an iterator over blocks of items, to write them to a file.

    The arguments are those of `load_suite`, but `limit` and `sample` count the items of all cases together.
    A large case comes in several blocks. If a grammar cannot be expanded, the error is raised at the latest
    with its block. Notes on how data were read are added to `notes`, and the labels of all cases to `labels`.
    """
    selection = Selection((cases,) if isinstance(cases, str) else cases, limit, sample, seed)
    selection.check()
    stream = _open(spec, columns).stream(selection)
    if notes is not None:
        notes += stream.notes
    if labels is not None:
        labels += stream.labels
    return stream.n_items, stream.blocks


def _open(
    spec: str | Path,
    columns: Mapping[str, str] | None = None,
    exclude: Exclude | None = None,
    tokenise: bool = False,
    lexicon: str | Path | Sequence[str] | None = None,
) -> OpenedSuite:
    """Find a suite and open it as the first kind that accepts it."""
    place, method = (spec, None) if FormalSuite.opens(spec) else locate_suite(spec)
    if method == INFLECTION:
        return InflectionSuite(_open(place, columns, exclude, tokenise), lexicon)
    if lexicon is not None:
        raise SuiteError(
            f"--lexicon lists verbs for SUITE:{INFLECTION}, but the suite is {str(spec)!r}.\n"
            f"  Write {spec}:{INFLECTION}, or leave out --lexicon."
        )
    if method in VIEWS:
        return ViewedSuite(_open(place, columns, exclude, tokenise), method)
    kind = next(kind for kind in _kinds() if kind.opens(place))
    return kind(Request(spec, place, method, columns, exclude, tokenise))


def _kinds() -> Iterator[type[SuiteKind]]:
    """Yield the kinds of suites in the order in which they are tried."""
    yield FormalSuite
    yield DataSuite
    from tseval.suites.grammar.suite import GrammarSuite  # noqa: PLC0415 - brings Jinja and YAML along

    yield GrammarSuite
