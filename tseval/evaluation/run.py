"""Score the sentences of a plan, judge them, and write the run."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.adapters import open_model
from tseval.errors import RunError
from tseval.evaluation.notebook import progress_in_notebook
from tseval.evaluation.plan import Plan, make_plan
from tseval.evaluation.reading import as_read
from tseval.evaluation.warnings import warnings_of_run
from tseval.items import Suite
from tseval.report import document_of, render
from tseval.runs import Manifest, RunWriter, start_run
from tseval.runs.contexts import write_contexts
from tseval.runs.directory import CONTEXTS_FILE
from tseval.runs.manifest import Timings, count_run, describe_suite, software
from tseval.runs.opened import Opened, how_opened
from tseval.runs.reader import read_run
from tseval.runs.run import Run
from tseval.scoring.engine import score_all
from tseval.suites import load_suite
from tseval.verdicts import judge, n_too_long

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.adapters.opening import LiveModel
    from tseval.questions import Score
    from tseval.questions.normalisation import Normalised
    from tseval.questions.unknown import UnknownRule
    from tseval.report.document import Document
    from tseval.report.table import Table
    from tseval.writing import Form


def evaluate(  # noqa: PLR0913 - all that a user may say of a run
    model: str | Path | LiveModel,
    suite: str | Path | Suite,
    *,
    score: Score | Normalised | None = None,
    text: Form = "auto",
    unknown: UnknownRule = "undecidable",
    out: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
    opened: Opened | None = None,
) -> Run:
    """Score every sentence of a suite and judge its contrasts.

    An item with a sentence that is too long for the model is undecidable. To get an error instead, call
    `refuse_too_long` before.

    Args:
        model: A name or an object that `tseval.load_model` accepts: any object that satisfies a protocol of
            `tseval.scoring.protocol`, or a pair that holds a model of transformers or of torch.
        suite: A suite from `tseval.load_suite`, or a name.
        score: The score to compare sentences by (`tseval.questions`), or a `Normalised` log-probability; None
            for the score that the suite was published with.
        text: Form in which the sentences of a grammar are read (`FORMS`).
        unknown: The rule for half-known pairs, of which the model knows one form only: they are
            `undecidable`, or `score` compares them like all others (`tseval.questions.unknown`).
        out: Directory to write the run to; None keeps it in memory.
        resume: Continue an interrupted run in `out`: saved sentences are not scored again.
        progress: Called with the number of sentences done and the number of all; by default a notebook
            shows a bar.
        opened: How `model` was opened, for the manifest; not needed if `model` is a name.

    Raises:
        SuiteError: `score` or `unknown` is invalid, or the suite does not allow the score.
        RunError: `out` cannot be written, or has other contents.
        ModelError: The model gives a score that is not finite, cannot give the numbers that `score` needs,
            or cannot read these sentences or their length.
    """
    suite = suite if isinstance(suite, Suite) else load_suite(suite)
    if isinstance(model, str | Path):
        opened = opened or how_opened(model)
    plan = make_plan(as_read(open_model(model), suite, text), suite, score, unknown)
    plan = replace(plan, opened=opened)
    progress = progress or progress_in_notebook(f"{plan.card.name} on {suite.name}")
    return run_plan(plan, None if out is None else Path(out), resume=resume, progress=progress)


def run_plan(
    plan: Plan,
    out: Path | None,
    *,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Score the sentences of a plan and write the run; arguments as in `evaluate`."""
    if out is None:
        return _score_and_judge(plan, None, progress)
    with start_run(out, plan.key, resume) as writer:
        document = None if writer.complete else _write(plan, writer, progress)
        if document is not None:
            # Arrow keeps the memory of freed tables. Without this, a process with many runs would need more.
            pa.default_memory_pool().release_unused()
    return replace(read_run(out), document=document)


def _write(plan: Plan, writer: RunWriter, progress: Callable[[int, int], None] | None) -> Document | Table:
    run = _score_and_judge(plan, writer, progress)
    started = time.monotonic()
    table = document_of([run])
    tables = {f"table.{form}": render(table, form) for form in ("md", "csv")}
    if plan.suite.context is not None:
        tables[CONTEXTS_FILE] = write_contexts(plan.suite.context)
    timings = replace(run.manifest.timings, table_seconds=round(time.monotonic() - started, 3))
    manifest = replace(run.manifest, timings=timings)
    writer.finish(manifest, run.load_sentences(), run.load_verdicts(), tables)
    return table


def refuse_other_clusters(run: Run, path: Path, suite: Suite) -> None:
    """Raise an error if a finished run was judged with other columns of `--cluster`."""
    clusters = run.manifest.suite.clusters or ()
    if clusters == suite.clusters:
        return
    run_options = " ".join(f"--cluster {name}" for name in clusters or suite.clusters)
    options = (
        f"with {run_options}, and the command leaves this option out or changes it"
        if clusters
        else f"without {run_options}, and the command adds this option"
    )
    raise RunError(
        f"--resume cannot continue the complete run {path}, because it was scored {options}.\n"
        "  Score the suite again without --resume, into another folder: --out FOLDER"
    )


def _score_and_judge(
    plan: Plan, writer: RunWriter | None, progress: Callable[[int, int], None] | None
) -> Run:
    started = time.monotonic()
    scored = score_all(plan.scorer, plan.sentences, plan.asked, writer, progress)
    if plan.lengths is not None:
        for name in plan.lengths.column_names:
            scored = replace(scored, table=scored.table.append_column(name, plan.lengths[name]))
    scored_at = time.monotonic()
    verdicts = judge(plan.suite, scored.table, plan.key.score, plan.too_long, unknown=plan.unknown)
    judged_at = time.monotonic()
    left_out = n_too_long(plan.suite, scored.table, plan.too_long)
    key = replace(plan.key, protocol={**plan.key.protocol, **scored.protocol})
    manifest = Manifest(
        signature=key.signature,
        key=key,
        suite=describe_suite(plan.suite),
        model=replace(plan.card, protocol=key.protocol),
        device=str(plan.card.details.get("device", "unknown")),
        timings=Timings(round(scored_at - started, 3), round(judged_at - scored_at, 3), plan.seconds),
        counts=count_run(plan.suite, scored, verdicts, left_out),
        warnings=(*warnings_of_run(plan, scored.table, verdicts, left_out), *plan.scorer.warnings),
        versions=software(),
        files={},
        opened=plan.opened,
    )
    return Run.of(manifest, scored.table, verdicts)
