"""Score a suite with a model: the one path from sentences to a run."""

from __future__ import annotations

import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import pyarrow as pa

from tseval.errors import ModelError, SuiteError, suggest
from tseval.questions.choices import choices_of, questions_of
from tseval.report import build_table, render
from tseval.runs import (
    Run,
    RunKey,
    contexts_of,
    describe_model,
    describe_suite,
    read_run,
    start_run,
    with_contexts,
)
from tseval.scoring.asks import Questions, askable
from tseval.scoring.engine import Scorer, shards
from tseval.scoring.protocol import ParticularModel, WordModel
from tseval.verdicts import ScoreMode, all_sentences, check_score, judge, sentences_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.runs import RunWriter
    from tseval.scoring.protocol import Model
    from tseval.suites.items import Suite

# Strings of symbols scored, and saved, at a time: they are long and share little.
CHOICE_SHARD = 1_024


def run_key(model: Model, suite: Suite, score: ScoreMode | None = None) -> RunKey:
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
    score: ScoreMode | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Score every sentence of a suite and decide its contrasts.

    Args:
        model: As `tseval.load_model` gives it, or any object that satisfies a protocol of
            `tseval.scoring.protocol`.
        suite: As `tseval.load_suite` gives it.
        score: What two sentences are compared by: `sentence` (sum of log-probabilities), `mean` (per
            word), `critical` (the first word that differs) or `ending` (the last words, as many as the
            item says), `regions` or `choices` (what the suite says of regions, of single symbols); None
            for what the suite was published with.
        out: Directory to write the run to; None keeps it in memory.
        resume: Go on with an interrupted run in `out`: nothing that was saved is scored again.
        progress: Called with the numbers of sentences done and of all sentences.

    Raises:
        SuiteError: If `score` is none of these, or the suite does not allow it.
        RunError: If `out` cannot be written, or holds something else.
        ModelError: If the model gives a score that is not finite, cannot give what `score` needs, or does
            not read such sentences.
    """
    score = cast("ScoreMode", score or suite.score)
    if score not in get_args(ScoreMode):
        raise SuiteError(f"unknown score {score!r}. {suggest(score, get_args(ScoreMode), 'Scores')}")
    check_score(suite, score)
    if score in {"critical", "ending", "regions"} and not isinstance(model, WordModel):
        raise ModelError(
            f"{model.card.name} gives one number for a sentence, but --score {score} compares single words"
        )
    if isinstance(model, ParticularModel):
        model.check_sentences(sentences_of(suite))
    if choices := choices_of(suite):
        askable(model, choices.symbols)
    key = run_key(model, suite, score)
    if out is None:
        return Run.of(key, *_results(model, suite, score, None, progress))
    out = Path(out)
    with start_run(out, key, resume) as writer:
        if not writer.complete:
            extra, scored, verdicts = _results(model, suite, score, writer, progress)
            table = build_table([Run.of(key, extra, scored, verdicts)])
            tables = {f"table.{form}": render(table, form) for form in ("md", "csv")}
            writer.finish(scored, verdicts, extra, tables)
    return read_run(out)


def _results(
    model: Model,
    suite: Suite,
    score: ScoreMode,
    writer: RunWriter | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, object], pa.Table, pa.Table]:
    """Give what only we know for the manifest, the scored sentences and the verdicts."""
    started = time.monotonic()
    scorer = Scorer(model)
    parts, n_resumed = _score_parts(scorer, suite, writer, progress)
    scored_at = time.monotonic()
    contexts = sum(contexts_of(part) for part in parts)
    scored = pa.concat_tables(parts).replace_schema_metadata(None)
    verdicts = judge(suite, scored, score)
    extra: dict[str, object] = {
        "suite": describe_suite(suite),
        "model": describe_model(model.card),
        "device": str(model.card.details.get("device", "unknown")),
        "timings": {
            "scoring_seconds": round(scored_at - started, 3),
            "verdict_seconds": round(time.monotonic() - scored_at, 3),
        },
        "counts": {"contexts": contexts, "resumed_sentences": n_resumed},
        "warnings": scorer.warnings,
    }
    return extra, scored, verdicts


def _scoring(
    scorer: Scorer, suite: Suite, sentences: pa.StringArray
) -> Callable[[pa.StringArray, int], pa.Table]:
    """Give the function that scores a shard, told how many sentences come before it."""
    choices = choices_of(suite)
    if choices is None:
        return lambda shard, _: scorer.score(shard)
    questions = Questions(choices.symbols, choices.questions, choices.share)
    asked = questions_of(choices, all_sentences(suite), sentences)
    return lambda shard, start: scorer.answer(shard, questions, asked[start : start + len(shard)])


def _score_parts(
    scorer: Scorer,
    suite: Suite,
    writer: RunWriter | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[pa.Table], int]:
    """Score the suite's sentences shard by shard, taking from the run directory what is there."""
    sentences = sentences_of(suite)
    score = _scoring(scorer, suite, sentences)
    slices = shards(sentences, CHOICE_SHARD if choices_of(suite) else None)
    parts: list[pa.Table] = []
    n_done, n_resumed = 0, 0
    if progress:
        progress(0, len(sentences))
    for i, shard in enumerate(slices):
        part = writer.load_part(i) if writer else None
        if part is None:
            before = scorer.n_contexts
            part = with_contexts(score(shard, n_done), scorer.n_contexts - before)
            if writer:
                writer.save_part(i, part)
        else:
            n_resumed += len(part)
        parts.append(part)
        n_done += len(shard)
        if progress:
            progress(n_done, len(sentences))
    return parts, n_resumed
