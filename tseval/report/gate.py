"""Gate a model: a table of its drops from an earlier model, JUnit XML, and a summary for CI pages."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pandas as pd

from tseval.analysis.gate import ALL_ROWS, DEFAULT_MAX_DROP, MEAN_KEY, judged, row_drops
from tseval.analysis.intervals import confidence_level, error_percent
from tseval.analysis.rows import ROW, row_places
from tseval.errors import RunError, plain, suggest
from tseval.report.document import Document, Field, Grid, Line
from tseval.report.layout import MEAN_HEADING, headed, in_full, row_labels
from tseval.report.numbers import format_count, format_difference, format_probability, format_share
from tseval.report.opened import INTERVAL, RunSet, for_analysis
from tseval.report.writers.markdown import as_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tseval.runs import Run

_FIELDS = (
    Field("Items", ("n_items",), format_count),
    Field("Old", ("old",), format_share),
    Field("New", ("new",), format_share),
    Field("Difference", ("difference",), format_difference),
    INTERVAL,
    Field("p", ("p_drop_holm",), format_probability),
    Field("Detectable drop", ("detectable",), format_share),
    Field("Result", ("outcome",), align="left"),
)
# With --strict, after p: the p of the test that excludes a larger drop.
_EXCLUDED = Field("p no drop", ("p_no_drop_holm",), format_probability)


@dataclass(frozen=True)
class Gate:
    """The result of a gate: `lines` has one line for each row of each suite (`tseval.analysis.gate`)."""

    lines: pd.DataFrame
    document: Document
    max_drop: float
    strict: bool

    @property
    def failures(self) -> pd.DataFrame:
        """The lines on which the model fails: dropped or, if strict, a drop that cannot be excluded."""
        passed = ["no drop", "not compared"] if self.strict else ["no drop", "no drop found", "not compared"]
        return self.lines[~self.lines["outcome"].isin(passed)]

    @property
    def passed(self) -> bool:
        """Whether the model passes."""
        return self.failures.empty

    @property
    def verdict(self) -> str:
        """One sentence on the outcome."""
        n_tests = int((self.lines["outcome"] != "not compared").sum())
        if self.passed:
            if self.strict:
                return f"A drop larger than {self.max_drop:g} is excluded in all {n_tests} tests."
            return f"No significant drop beyond {self.max_drop:g} in any of {n_tests} tests."
        dropped = int((self.failures["outcome"] == "dropped").sum())
        n_open = len(self.failures) - dropped
        parts = (
            [f"significant drop beyond {self.max_drop:g} in {dropped} of {n_tests} tests"] if dropped else []
        )
        parts += (
            [f"a drop beyond {self.max_drop:g} cannot be excluded in {n_open} of {n_tests}"] if n_open else []
        )
        sentence = "; ".join(parts)
        return f"{sentence[0].upper()}{sentence[1:]}."


def gate(
    new: Sequence[Run],
    old: Sequence[Run],
    *,
    max_drop: float = DEFAULT_MAX_DROP,
    rows: Sequence[str] = (),
    suites: Sequence[str] = (),
    strict: bool = False,
) -> Gate:
    """Compare a model with an earlier one on every suite with runs of both.

    Args:
        new: Runs of the model to judge, one for each suite.
        old: Runs of the model to compare with.
        max_drop: The largest drop of accuracy that does not matter.
        rows: Printed names of rows, or patterns with * and ?; empty for all rows.
        suites: Names of suites; empty for all common suites.
        strict: The model also fails if a larger drop cannot be excluded.

    Raises:
        RunError: There is no common suite, two runs of a model on one suite, runs on different items, an
            unknown row, or no item that both models can decide.
    """
    parts = []
    for suite, (new_run, old_run) in _pairs(new, old, suites).items():
        opened = for_analysis([old_run, new_run])
        old_verdicts, new_verdicts = opened.verdicts.values()
        parts.append(
            (suite, opened, row_drops(old_verdicts, new_verdicts, _chosen(old_verdicts, rows), max_drop))
        )
    if rows and all(frame.empty for *_, frame in parts):
        raise _no_row(parts[0][1], rows)
    frames = [frame.assign(suite=suite) for suite, _, frame in parts if not frame.empty]
    lines = judged(pd.concat(frames, ignore_index=True), max_drop)
    if (lines["outcome"] == "not compared").all():
        raise RunError(
            "no item is decidable for both models, so the gate has nothing to compare.\n"
            "  To see what each model can decide: tseval table RUN RUN"
        )
    return Gate(lines, _document(lines, parts, max_drop, strict), max_drop, strict)


def _pairs(new: Sequence[Run], old: Sequence[Run], suites: Sequence[str]) -> dict[str, tuple[Run, Run]]:
    """Return pairs of runs, of the new and the old model, by suite."""
    sides: list[dict[str, Run]] = []
    for side, runs in (("NEW", new), ("OLD", old)):
        run_of_suite: dict[str, Run] = {}
        for run in runs:
            name = run.manifest.suite.name
            if suites and name not in suites:
                continue
            if name in run_of_suite:
                raise RunError(
                    f"{side} has two runs on {name}: {run_of_suite[name].name} and {run.name}. "
                    "The gate compares one model with one.\n  Name the folder of one run."
                )
            run_of_suite[name] = run
        sides.append(run_of_suite)
    common = [name for name in sides[0] if name in sides[1]]
    if missing := [name for name in suites if name not in common]:
        choices = sorted({run.manifest.suite.name for run in (*new, *old)})
        raise RunError(
            f"--suite {missing[0]}: not both models have a run on this suite.\n"
            f"  {suggest(missing[0], choices, 'Suites')}"
        )
    if not common:
        names = (", ".join(sorted(side)) for side in sides)
        raise RunError(
            "NEW has runs on {}, OLD on {}: no suite in common.\n  Score both models on the same suite: "
            "tseval run --suite SUITE --model MODEL".format(*names)
        )
    return {name: (sides[0][name], sides[1][name]) for name in common}


def _chosen(verdicts: pd.DataFrame, patterns: Sequence[str]) -> list[int] | None:
    """Return the numbers of rows whose printed names match a pattern; None for all."""
    if not patterns:
        return None
    labels = [label.casefold() for label in row_labels(row_places(verdicts, ())[0])]
    return [
        index
        for index, label in enumerate(labels)
        if any(fnmatchcase(label, pattern.casefold()) for pattern in patterns)
    ]


def _no_row(opened: RunSet, patterns: Sequence[str]) -> RunError:
    labels = row_labels(row_places(next(iter(opened.verdicts.values())), ())[0])
    return RunError(
        f"--rows {patterns[0]!r}: no row of {opened.suite} has this name.\n"
        f"  {suggest(patterns[0], dict.fromkeys(labels), 'Rows')}"
    )


def _labels(lines: pd.DataFrame) -> list[str]:
    """Return the printed names of lines."""
    rows = lines[lines[ROW[2]] != ALL_ROWS]
    names = dict(zip(rows.index, row_labels(rows[[*ROW]]), strict=True))
    return [names.get(number, f"All {len(rows)} rows") for number in lines.index]


def _document(
    lines: pd.DataFrame, parts: Sequence[tuple[str, RunSet, pd.DataFrame]], max_drop: float, strict: bool
) -> Document:
    grids, notes = [], []
    for suite, opened, _ in parts:
        suite_lines = lines[lines["suite"] == suite]
        if suite_lines.empty:
            continue
        fields = (*_FIELDS[:6], _EXCLUDED, *_FIELDS[6:]) if strict else _FIELDS
        of_lines = map(
            Line, zip(_labels(suite_lines), *(field.values(suite_lines) for field in fields), strict=True)
        )
        keys = in_full([suite_lines[[*ROW]]])
        old, new = opened.verdicts
        body = _body(keys.itertuples(index=False, name=None), of_lines)
        grids.append(Grid((Field(suite, align="left"), *fields), body, f"{new} against {old}"))
        notes += [note for note in (*opened.notes, *opened.undecided) if note not in notes]
    notes += _notes(lines, max_drop, strict)
    signatures = {name: text for _, opened, _ in parts for name, text in opened.signatures.items()}
    records = in_full([lines[["suite", *[name for name in lines if name != "suite"]]]])
    content = {
        "analysis": "gate",
        "max_drop": max_drop,
        "strict": strict,
        "confidence_level": confidence_level(),
        "rows": records,
        "notes": notes,
        "signatures": signatures,
    }
    return Document(grids, records, content, notes, list(signatures.items()))


def _body(keys: Iterable[tuple[object, ...]], lines: Iterable[Line]) -> list[Line]:
    """Return rows with their headings, and the mean at the end."""
    pairs = [*zip(keys, lines, strict=True)]
    rows = [pair for pair in pairs if pair[0] != MEAN_KEY]
    mean = [line for key, line in pairs if key == MEAN_KEY]
    return [*headed(rows), *([MEAN_HEADING, *mean] if mean else [])]


def _notes(lines: pd.DataFrame, max_drop: float, strict: bool) -> list[str]:
    """Return notes on how to read the table, the most important first."""
    notes = []
    if n_old := int(lines.loc[lines[ROW[2]] != ALL_ROWS, "n_only_old"].sum()):
        notes.append(
            f"{n_old:,} items are decidable for the old model only. They are not compared: the new model may "
            "not know their words, or they may be too long for it."
        )
    if (lines["outcome"] == "not compared").any():
        notes.append("Not compared: no item is decidable for both models.")
    notes += [
        f"Dropped: the accuracy is significantly lower by more than {max_drop:g}. No drop: significantly "
        "not. No drop found: these items cannot tell" + (", which fails with --strict." if strict else "."),
        f"p: one-sided, clustered by lexicon entry. Error rate: {error_percent()} over all rows, and over "
        "all means (Holm).",
        "Detectable drop: the smallest drop that these items would show in 80% of cases (a dash: none).",
    ]
    return notes


def as_junit(outcome: Gate) -> str:
    """Return JUnit XML for CI services: a test for each row, a failure for each drop."""
    root = ElementTree.Element("testsuites", name="tseval gate")
    failed = set(outcome.failures.index)
    for suite, suite_lines in outcome.lines.groupby("suite", sort=False):
        skipped = suite_lines["outcome"] == "not compared"
        element = ElementTree.SubElement(
            root,
            "testsuite",
            name=plain(str(suite)),
            tests=str(len(suite_lines)),
            failures=str(sum(number in failed for number in suite_lines.index)),
            errors="0",
            skipped=str(int(skipped.sum())),
        )
        for label, (number, line) in zip(_labels(suite_lines), suite_lines.iterrows(), strict=True):
            test = ElementTree.SubElement(
                element, "testcase", classname=plain(f"{suite}.{line[ROW[1]] or 'means'}"), name=plain(label)
            )
            if number in failed:
                text = (
                    f"{_failure(line['outcome'])}: {format_share(line['old'])} before, "
                    f"{format_share(line['new'])} after, "
                    f"p = {format_probability(line['p_drop_holm'])}, margin {outcome.max_drop:g}"
                )
                ElementTree.SubElement(test, "failure", type="drop", message=text)
            elif line["outcome"] == "not compared":
                ElementTree.SubElement(test, "skipped", message="no item is decidable for both models")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _failure(outcome: str) -> str:
    """Return the reason why a row fails."""
    return "dropped" if outcome == "dropped" else "a larger drop cannot be excluded"


def as_summary(outcome: Gate) -> str:
    """Return a Markdown summary for the page of a CI job: the verdict, then the tables."""
    heading = "passed" if outcome.passed else "failed"
    return f"## tseval gate: {heading}\n\n{outcome.verdict}\n\n{as_markdown(outcome.document)}"
