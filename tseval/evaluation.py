"""Score a suite with a model: the one path from sentences to a run.

plan → score → judge → write.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import ModelError, SuiteError, suggest
from tseval.questions.scores import COMPARES_WORDS, SCORES, Score
from tseval.report import build_table, render
from tseval.runs import Manifest, Run, RunKey, read_run, start_run
from tseval.runs.manifest import Timings, count_run, describe_suite, software
from tseval.scoring.engine import score_all
from tseval.scoring.scorers import scorer_for
from tseval.verdicts import all_sentences, check_score, judge, sentences_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from tseval.questions.asks import Asked
    from tseval.runs import RunWriter
    from tseval.scoring.protocol import Model, ModelCard
    from tseval.scoring.scorers import Scorer
    from tseval.suites.items import Suite


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be scored, with what, and how it will be judged; nothing in it is found to be wrong later.

    Attributes:
        key: What identifies the run.
        suite: What is scored.
        card: With what.
        scorer: Of the model.
        score: What sentences are compared by.
        sentences: Distinct ones, sorted, as the model is given them.
        asked: What is asked inside them, if anything.
    """

    key: RunKey
    suite: Suite
    card: ModelCard
    scorer: Scorer
    score: Score
    sentences: pa.StringArray
    asked: Asked | None


def run_key(model: Model, suite: Suite, score: Score | None = None) -> RunKey:
    """Name everything that could change a number of a run; without a score, the suite's own."""
    return RunKey(
        suite=suite.name,
        suite_digest=suite.digest,
        model=model.card.name,
        fingerprint=model.card.fingerprint,
        score=score or suite.score,
        terminator=suite.terminator,
        items="all" if suite.complete else f"{suite.n_items} selected",
        tseval=version("tseval"),
        protocol=model.card.protocol,
    )


def evaluate(
    model: Model,
    suite: Suite,
    *,
    score: Score | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Score every sentence of a suite and decide what it asks.

    Args:
        model: As `tseval.load_model` gives it, or any object that satisfies a protocol of
            `tseval.scoring.protocol`.
        suite: As `tseval.load_suite` gives it.
        score: What sentences are compared by (`tseval.questions.scores`); None for what the suite was
            published with.
        out: Directory to write the run to; None keeps it in memory.
        resume: Go on with an interrupted run in `out`: nothing that was saved is scored again.
        progress: Called with the numbers of sentences done and of all.

    Raises:
        SuiteError: If `score` is none of these, or the suite does not allow it.
        RunError: If `out` cannot be written, or holds something else.
        ModelError: If the model gives a score that is not finite, cannot give what `score` needs, or does
            not read such sentences.
    """
    plan = make_plan(model, suite, score)
    if out is None:
        return _score_and_judge(plan, None, progress)
    out = Path(out)
    with start_run(out, plan.key, resume) as writer:
        if not writer.complete:
            run = _score_and_judge(plan, writer, progress)
            tables = {f"table.{form}": render(build_table([run]), form) for form in ("md", "csv")}
            writer.finish(run.manifest, run.load_sentences(), run.load_verdicts(), tables)
    return read_run(out)


def make_plan(model: Model, suite: Suite, score: Score | None = None) -> Plan:
    """Find out what must be scored, and refuse what cannot be.

    Raises:
        SuiteError: As `evaluate` does.
        ModelError: As `evaluate` does, but for scores that are not finite.
    """
    score = score or suite.score
    if score not in SCORES:
        raise SuiteError(f"unknown score {score!r}. {suggest(score, SCORES, 'Scores')}")
    check_score(suite, score)
    scorer = scorer_for(model)
    if score in COMPARES_WORDS and not scorer.gives_words:
        raise ModelError(
            f"{model.card.name} gives one number for a sentence, but --score {score} compares single words"
        )
    sentences = sentences_of(suite)
    scorer.check_sentences(sentences)
    asked = _asked(suite, sentences)
    if asked:
        scorer.check_symbols(asked.asks)
    return Plan(run_key(model, suite, score), suite, model.card, scorer, score, sentences, asked)


def _asked(suite: Suite, sentences: pa.StringArray) -> Asked | None:
    """Say what is asked inside sentences; a suite that asks there has one case."""
    if all(case.question.asks() is None for case in suite.cases):
        return None
    (case,) = suite.cases
    return case.question.asked(all_sentences(suite), sentences)


def _score_and_judge(
    plan: Plan, writer: RunWriter | None, progress: Callable[[int, int], None] | None
) -> Run:
    """Do what is planned; parts go to the writer, if there is one."""
    started = time.monotonic()
    scored = score_all(plan.scorer, plan.sentences, plan.asked, writer, progress)
    scored_at = time.monotonic()
    verdicts = judge(plan.suite, scored.table, plan.score)
    judged_at = time.monotonic()
    manifest = Manifest(
        signature=plan.key.signature,
        key=plan.key,
        suite=describe_suite(plan.suite),
        model=plan.card,
        device=str(plan.card.details.get("device", "unknown")),
        timings=Timings(round(scored_at - started, 3), round(judged_at - scored_at, 3)),
        counts=count_run(plan.suite, scored, verdicts),
        warnings=tuple(plan.scorer.warnings),
        versions=software(),
        files={},
    )
    return Run.of(manifest, scored.table, verdicts)
