"""The numbers of a claim, recomputed from suite and evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import EvidenceError, ModelError, SuiteError, first_line
from tseval.evidence.restoring import scored_again
from tseval.items import (
    ENTRY,
    HALF_KNOWN,
    INDEPENDENT,
    Case,
    Suite,
    SuiteContexts,
    choose_rows,
    cluster_by,
    suite_digest,
)
from tseval.questions.normalisation import split_measure
from tseval.report import Format, document_of, render
from tseval.runs.contexts import in_stated_context, read_contexts
from tseval.runs.directory import CONTEXTS_FILE
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import SELECTED, SuiteFacts
from tseval.runs.run import Run
from tseval.runs.suite import load_stated_suite
from tseval.suites import without_cache
from tseval.suites.both_orders import in_both_orders
from tseval.suites.data.critical import cluster_data, with_critical
from tseval.verdicts import judge, n_too_long, sentences_of
from tseval.verifying.comparison import (
    compare_sentences,
    compare_verdicts,
    describe_other_table,
    first_difference,
)
from tseval.verifying.earlier import is_earlier_form
from tseval.verifying.levels import CheckFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tseval.verifying.claim import Claim


_DRAW = re.compile(r"([0-9]{1,18}) of each case, seed (-?[0-9]{1,30})")


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A recomputed claim; its suite is expanded from its grammar or data, never read from a cache."""

    suite: Suite
    scored: pa.Table
    verdicts: pa.Table
    n_unsaid: int = 0  # half-known contrasts that it compares without a record of them
    items: Suite | None = None  # for prompts: the suite of pairs before the questions were made
    are_drawn: bool = True  # whether contexts were drawn again from their source; else they are the run's


def recompute(
    claim: Claim, spec: str | None, context: str | None = None, folder: Path | None = None
) -> Recomputed:
    """Expand the suite, judge the evidence, and compare the results with all parts of the claim.

    Args:
        claim: The claim of a run.
        spec: Name or path of the suite; None for the name in the claim.
        context: Name or path of the source of its contexts; None for the name in the claim.
        folder: The folder of the run, which has the texts of its contexts.
    """
    if by := split_measure(claim.key.score)[1]:
        raise SuiteError(
            f"{claim.name} was scored with --normalise {by}, so verifying needs the number of tokens, "
            "which tseval cannot recompute without the model.\n"
            "  Score the same sentences again without --normalise, and verify that run."
        )
    suite = _suite_again(claim, spec)
    if suite.digest != claim.key.suite_digest or suite.terminator != claim.key.terminator:
        raise CheckFailed(
            f"the suite {suite.name} on this machine has the digest {suite.digest[:8]}, but the run states "
            f"the digest {claim.key.suite_digest[:8]}"
        )
    clustered, are_drawn = _with_factors(suite, claim), True
    if claim.manifest.suite.context is not None:
        suite, are_drawn = _in_context_again(claim, with_critical(clustered), spec, context, folder)
        clustered = suite
    items: Suite | None = None
    if claim.key.score == "prompt":
        items = with_critical(clustered)
        suite = clustered = _in_both_orders(items)
    hold_sizes(claim.manifest.suite, suite)
    sentences = sentences_of(suite)
    too_long = sentences[:0]
    if claim.manifest.counts.too_long:  # only the model can confirm which sentences these are
        is_read = pc.is_in(sentences, value_set=claim.sentences)
        sentences, too_long = sentences.filter(is_read), sentences.filter(pc.invert(is_read))
    if not sentences.equals(claim.sentences):
        raise CheckFailed(
            f"the run has other sentences than the suite: {first_difference(claim.sentences, sentences)}"
        )
    try:
        scored = scored_again(claim.evidence, sentences)
    except EvidenceError as error:
        raise CheckFailed(str(error)) from None
    compare_sentences(claim.scored, scored)
    unknown = claim.manifest.unknown
    marked = replace(unknown, unsaid=False)
    judged = partial(judge, clustered, scored, claim.score, too_long, unknown=marked)
    verdicts, n_unsaid = verdicts_of(judged), 0
    if unknown.unsaid and HALF_KNOWN in verdicts.column_names:
        n_unsaid = int(pc.sum(verdicts[HALF_KNOWN]).as_py())
        verdicts = verdicts.drop_columns([HALF_KNOWN])
    left_out = n_too_long(suite, scored, too_long)
    if left_out != claim.manifest.counts.too_long:
        n_stated = claim.manifest.counts.too_long
        raise CheckFailed(
            f"{left_out:,} contrasts have a sentence without a score, but in the manifest the key "
            f"`too_long` is {n_stated:,}"
        )
    compare_verdicts(claim.verdicts, verdicts)
    run = Run(claim.name, claim.manifest, lambda: scored, lambda: verdicts)
    for name, text in claim.tables.items():
        form: Format = "csv" if name.endswith("csv") else "md"
        printed = render(document_of([run]), form)
        if printed != text and not (form == "md" and is_earlier_form(text, printed)):
            raise CheckFailed(describe_other_table(claim, name))
    return Recomputed(suite, scored, verdicts, n_unsaid, items, are_drawn)


def _in_both_orders(suite: Suite) -> Suite:
    try:
        return in_both_orders(suite)
    except SuiteError as error:
        raise CheckFailed(first_line(error)) from None


def _in_context_again(
    claim: Claim, suite: Suite, spec: str | None, source: str | None, folder: Path | None
) -> tuple[Suite, bool]:
    """Put the suite of a claim into its contexts; the stored texts must have the stated digest."""
    facts = claim.manifest.suite.context
    assert facts is not None
    if folder is not None:
        texts = read_contexts(folder)
        if SuiteContexts(facts.source, facts.words, facts.seed, facts.each, texts).digest != facts.digest:
            raise CheckFailed(
                f"the texts in {CONTEXTS_FILE} have another digest than the manifest states for the contexts"
            )

    def load_complete() -> Suite:
        with without_cache():
            return with_critical(load_stated_suite(claim.manifest.suite, spec or claim.key.suite))

    in_context, are_drawn = in_stated_context(suite, facts, load_complete, source, folder)
    assert in_context.context is not None
    if parts := [
        name for name, value in in_context.context.describe().items() if claim.key.protocol.get(name) != value
    ]:
        raise CheckFailed(
            f"{MANIFEST}: the key `key.protocol.{parts[0]}` is {claim.key.protocol.get(parts[0])!r}, which "
            "does not follow from the contexts of the run"
        )
    return in_context, are_drawn


def hold_sizes(stated: SuiteFacts, suite: Suite) -> None:
    """Check the stated numbers of items and contrasts."""
    for name in ("n_items", "n_contrasts"):
        if (claimed := getattr(stated, name)) != (follows := getattr(suite, name)):
            raise CheckFailed(
                f"{MANIFEST}: the key `suite.{name}` is {claimed:,}, but the suite has {follows:,}"
            )


def verdicts_of(judged: Callable[[], pa.Table]) -> pa.Table:
    """Judge scored sentences; errors become `CheckFailed`."""
    try:
        return judged()
    except (ModelError, SuiteError) as error:
        raise CheckFailed(str(error).partition("\n")[0]) from None


def _suite_again(claim: Claim, spec: str | None) -> Suite:
    """Load the suite without a cache; if the run scored a part, only the items of its verdicts.

    A claim gives the name of its suite, never a path: only the verifying user may name a path.
    """
    name, facts = claim.key.suite, claim.manifest.suite
    try:
        if not spec and (set(name) & {"/", "\\", "\0"} or name in {"", ".", ".."}):
            raise SuiteError(
                f"the run states that its suite is {name!r}, which is the path of a suite, not its name."
            )
        with without_cache():
            suite = load_stated_suite(facts, spec)
    except SuiteError as error:
        raise SuiteError(
            f"{first_line(error)}\n  Name the suite of {claim.name} with --suite SUITE, as for tseval run."
        ) from None
    if (suite.exclude, suite.excluded) != (facts.exclude, facts.excluded):
        raise CheckFailed(
            f"{MANIFEST}: the key `suite.excluded` does not have the items of the list {facts.exclude!r}"
        )
    if facts.seed is not None and suite.seed is None:
        raise CheckFailed(
            f"{MANIFEST}: the key `suite.seed` is {facts.seed}, but no sentences of the suite {suite.name} "
            "are chosen at random"
        )
    if facts.complete:
        return suite
    if not SELECTED.fullmatch(claim.key.items):
        raise CheckFailed(
            f"{MANIFEST}: the key `key.items` is {claim.key.items!r}, which is not a number of items"
        )
    cases = tuple(_chosen(suite, claim))
    if facts.sample is not None:
        _refuse_other_draw(suite, cases, facts.sample)
    return replace(suite, cases=cases, digest=suite_digest(suite.terminator, cases), complete=False)


def _with_factors(suite: Suite, claim: Claim) -> Suite:
    """Give the suite the lexical factors of the claim: `--cluster`, or the suite's; old runs have none."""
    if not knows_factors(claim):
        return cluster_by(suite, (INDEPENDENT,))
    facts = claim.manifest.suite
    if facts.inferred is not None and with_critical(suite).inferred != facts.inferred:
        raise CheckFailed(
            f"{MANIFEST}: the key `suite.inferred` is {facts.inferred!r}, but tseval infers no factor with "
            "this name from the suite"
        )
    if facts.inferred is None and not facts.clusters:  # an old run, or nothing can be inferred
        return replace(suite, clusters=(INDEPENDENT,))
    try:
        return cluster_data(suite, facts.clusters or ())
    except SuiteError as error:
        raise CheckFailed(f"suite.clusters: {first_line(error)}") from None


def knows_factors(claim: Claim) -> bool:
    """Return whether a run records lexical factors: it has some, or names those of `--cluster`."""
    clusters = claim.manifest.suite.clusters
    return clusters is not None or any(name.endswith(ENTRY) for name in claim.verdicts.column_names)


def says_what_is_shared(claim: Claim, suite: Suite) -> bool:
    """Return whether a run has all factors that a new run on this suite would have."""
    facts = claim.manifest.suite
    has_all = facts.clusters or facts.inferred or not with_critical(suite).inferred
    return knows_factors(claim) and bool(has_all)


def _chosen(suite: Suite, claim: Claim) -> Iterator[Case]:
    names = claim.verdicts["case"].combine_chunks()
    cases = {case.name: case for case in suite.cases}
    for name in pc.unique(names).to_pylist():
        if name not in cases:
            raise CheckFailed(f"the run has a case {name!r}, but the suite {suite.name} does not")
        items = pc.unique(claim.verdicts["item"].filter(pc.equal(names, name)))
        index = cases[name].index
        unknown = items.filter(pc.invert(pc.is_in(items, value_set=index)))
        if len(unknown):
            raise CheckFailed(
                f"the run has an item {unknown[0].as_py()} of the case {name!r}, but the suite does not"
            )
        # In some views of a suite, an item has several rows.
        yield cases[name].take(np.flatnonzero(pc.is_in(index, value_set=items)).tolist())


def _refuse_other_draw(suite: Suite, cases: Sequence[Case], stated: str) -> None:
    """Draw the items of a stated sample again and compare; `--limit` takes the first of a sample."""
    draw = _DRAW.fullmatch(stated)
    for case in cases:
        complete = next(other for other in suite.cases if other.name == case.name)
        rows = choose_rows(complete.n_items, None, int(draw[1]), int(draw[2])) if draw else ()
        if not case.index.equals(complete.index.take(pa.array(rows[: len(case.index)], pa.int64()))):
            raise CheckFailed(
                f"the key `suite.sample` is {stated!r}, but the items of the case {case.name!r} are not "
                "the ones that this sample draws"
            )
