"""Levels recomputed and plausible: what follows from suite and evidence, and what can be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import EvidenceError, ModelError, SuiteError, first_line
from tseval.evidence.evidence import scored_again, whole_column
from tseval.evidence.prefixes import split_words, spread
from tseval.report import build_table, render
from tseval.runs import Run
from tseval.suites.clusters import cluster_by
from tseval.suites.digest import suite_digest
from tseval.suites.grammar.cache import afresh
from tseval.suites.items import ENTRY
from tseval.suites.load import load_suite
from tseval.verdicts import judge, n_too_long, sentences_of
from tseval.verifying.report import Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tseval.suites.items import Case, Suite
    from tseval.verifying.claim import Claim

# How far the probabilities of what may follow a prefix may sum above 1, by rounding.
ABOVE_ONE = 1e-4
# Adapters whose words are made of pieces: the pieces of `laugh` begin `laughs` too, so words may exceed 1.
PIECED = frozenset({"hf", "mlm", "lm-eval"})


@dataclass(frozen=True, slots=True)
class Again:
    """A claim, computed again.

    Attributes:
        suite: Expanded from its grammar or data, never from a cache.
        scored: Its sentences with the evidence.
        verdicts: What follows.
    """

    suite: Suite
    scored: pa.Table
    verdicts: pa.Table


def recompute(claim: Claim, spec: str | None) -> Again:
    """Expand the suite, judge the evidence, and compare everything that is claimed.

    Args:
        claim: What is to follow.
        spec: Where the suite is; None for the name that the claim states.

    Raises:
        SuiteError: There is no such suite here, so that nothing can be said.
        Wrong: The suite is another one, or something claimed does not follow.
    """
    suite = _suite_again(claim, spec)
    if suite.digest != claim.key.suite_digest or suite.terminator != claim.key.terminator:
        raise Wrong(
            f"the suite {suite.name} has the digest {suite.digest[:8]}, expanded again, "
            f"but the claim is of {claim.key.suite_digest[:8]}"
        )
    sentences, too_long = _scored_ones(claim, sentences_of(suite))
    if not sentences.equals(claim.sentences):
        raise Wrong(f"its sentences are not those of the suite: {_first_other(claim.sentences, sentences)}")
    try:
        scored = scored_again(claim.evidence, sentences)
    except EvidenceError as error:
        raise Wrong(f"the evidence {error}") from None
    verdicts = verdicts_of(partial(judge, _with_factors(suite, claim), scored, claim.score, too_long))
    left_out = n_too_long(suite, scored, too_long)
    if left_out != claim.manifest.counts.too_long:
        stated = claim.manifest.counts.too_long
        raise Wrong(
            f"{left_out:,} contrasts have a sentence that was not scored, but too_long says {stated:,}"
        )
    _compare_verdicts(claim.verdicts, verdicts)
    again = Again(suite, scored, verdicts)
    for name, text in claim.tables.items():
        if _table_again(claim, again, name) != text:
            raise Wrong(f"{name} is not the table of these verdicts")
    return again


def verdicts_of(judged: Callable[[], pa.Table]) -> pa.Table:
    """Judge scored sentences.

    Raises:
        Wrong: A log-probability is not finite, so that nothing can be compared.
    """
    try:
        return judged()
    except ModelError as error:
        raise Wrong(str(error).partition("\n")[0]) from None


def _scored_ones(claim: Claim, sentences: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    """Part the sentences of a suite from those said to be too long, which only a model can confirm."""
    if not claim.manifest.counts.too_long:
        return sentences, sentences[:0]
    scored = pc.is_in(sentences, value_set=claim.sentences)
    return sentences.filter(scored), sentences.filter(pc.invert(scored))


def _suite_again(claim: Claim, spec: str | None) -> Suite:
    """Load the suite without a cache; of a part, the items that the verdicts name."""
    try:
        with afresh():
            suite = load_suite(spec or claim.key.suite)
    except SuiteError as error:
        raise SuiteError(
            f"{first_line(error)}\n  Say where the suite of {claim.name} is, as for tseval run: --suite"
        ) from None
    if claim.manifest.suite.complete:
        return suite
    cases = tuple(_chosen(suite, claim))
    return replace(suite, cases=cases, digest=suite_digest(suite.terminator, cases), complete=False)


def _with_factors(suite: Suite, claim: Claim) -> Suite:
    """Give the suite the lexical factors of the claim: those of `--cluster`, or its own; old runs have none.

    Raises:
        Wrong: The columns that are said to have been named are no such columns.
    """
    if not knows_factors(claim):
        return replace(suite, cases=tuple(replace(case, entries=pa.table({})) for case in suite.cases))
    try:
        return cluster_by(suite, claim.manifest.suite.clusters or ())
    except SuiteError as error:
        raise Wrong(f"suite.clusters: {first_line(error)}") from None


def knows_factors(claim: Claim) -> bool:
    """Tell whether a run is from when there were lexical factors: it has some, or says which were chosen."""
    chosen = claim.manifest.suite.clusters
    return chosen is not None or any(name.endswith(ENTRY) for name in claim.verdicts.column_names)


def _chosen(suite: Suite, claim: Claim) -> Iterator[Case]:
    names = claim.verdicts["case"].combine_chunks()
    known = {case.name: case for case in suite.cases}
    for name in pc.unique(names).to_pylist():
        if name not in known:
            raise Wrong(f"the suite {suite.name} has no case {name!r}")
        items = pc.unique(claim.verdicts["item"].filter(pc.equal(names, name)))
        places = pc.index_in(items, value_set=known[name].index)
        if places.null_count:
            raise Wrong(f"the case {name!r} has no item {items.filter(pc.is_null(places))[0].as_py()}")
        yield known[name].take(places.to_numpy().tolist())


def _first_other(claimed: pa.StringArray, found: pa.StringArray) -> str:
    if len(claimed) != len(found):
        return f"{len(claimed):,} instead of {len(found):,}"
    row = pc.index(pc.not_equal(claimed, found), pa.scalar(True)).as_py()
    return f"{claimed[row].as_py()!r} instead of {found[row].as_py()!r}"


def _compare_verdicts(claimed: pa.Table, found: pa.Table) -> None:
    """Compare verdicts cell by cell, and name the first that differs.

    Raises:
        Wrong: One differs, or there are other columns or rows.
    """
    if claimed.num_rows != found.num_rows:
        raise Wrong(f"there are {claimed.num_rows:,} verdicts, but {found.num_rows:,} follow")
    for name in found.column_names:
        if name not in claimed.column_names:
            raise Wrong(f"the verdicts have no column {name!r}")
        # Two dictionaries of one column may be in different orders.
        kind = pa.string() if name.endswith(ENTRY) else found[name].type
        follows, stated = (table[name].cast(kind).combine_chunks() for table in (found, claimed))
        if not stated.equals(follows):
            same = pc.fill_null(pc.equal(stated, follows), pc.and_(pc.is_null(stated), pc.is_null(follows)))
            row = pc.index(same, pa.scalar(False)).as_py()
            where = (
                f"{found['case'][row].as_py()}[{found['item'][row].as_py()}] {found['contrast'][row].as_py()}"
            )
            raise Wrong(
                f"verdicts: {name} of {where} is {stated[row].as_py()}, but {follows[row].as_py()} follows "
                f"({len(same) - same.true_count:,} differ)"
            )
    if more := [name for name in claimed.column_names if name not in found.column_names]:
        raise Wrong(f"the verdicts have a column {more[0]!r} that the suite does not know")


def _table_again(claim: Claim, again: Again, name: str) -> str:
    """Print the table of verdicts that were computed again, under the run's own name and signature."""
    run = Run(claim.name, claim.manifest, lambda: again.scored, lambda: again.verdicts)
    return render(build_table([run]), "csv" if name.endswith("csv") else "md")


def check_plausible(claim: Claim, again: Again) -> str:
    """Hold evidence to what any probabilities must be.

    Raises:
        Wrong: One is above 0 or not finite, a prefix has two numbers, or what may follow it more than all.
    """
    values = claim.evidence.table["logprob"].to_numpy().astype(np.float64)
    if not np.isfinite(values).all():
        raise Wrong("a log-probability is not finite")
    if values.max(initial=0.0) > ABOVE_ONE:
        raise Wrong(f"a log-probability is {values.max()}, above 0")
    if claim.evidence.unit != "prefix":
        return f"{len(values):,} log-probabilities, none above 0"
    most = _check_prefixes(claim, again)
    said = (
        f"; what may follow a prefix has at most {most:.4f}"
        if claim.manifest.model.kind not in PIECED
        else ""
    )
    return f"{len(values):,} log-probabilities, none above 0{said}"


def _check_prefixes(claim: Claim, again: Again) -> float:
    """Compare the numbers of each prefix, and sum those of what may follow it; give the largest sum."""
    words = split_words(whole_column(again.scored, "sentence"))
    # Every word by the node of the trie that it is, and by that before it: 0 for the first.
    node = spread(words, words.shared) + 1
    before = np.concatenate(([0], node[:-1]))
    before[words.starts] = 0
    values = pc.list_flatten(again.scored["words"]).to_numpy().astype(np.float64)
    first = np.unique(node, return_index=True)[1]
    apart = np.abs(values - values[first][node - 1])
    if "pieces" in again.scored.column_names:  # what follows a last word with a period is not asked
        apart[words.starts + words.lengths - 1] = 0.0
    if apart.max(initial=0.0) > claim.last_bits:
        row = int(np.repeat(np.arange(len(words.lengths)), words.lengths)[int(apart.argmax())])
        sentence = again.scored["sentence"][row].as_py()
        raise Wrong(f"a prefix of {sentence!r} has two numbers, {apart.max():.3g} nats apart")
    if claim.manifest.model.kind in PIECED:
        return 0.0
    # Words that look alike to the model are one event.
    look = split_words(whole_column(again.scored, "seen")).texts.dictionary_encode().indices.to_numpy()
    parents, looks = before[first], look[first].astype(np.int64)
    event = np.unique(parents * (int(looks.max()) + 1) + looks, return_index=True)[1]
    sums = np.bincount(parents[event], weights=np.exp(values[first][event]))
    if sums.max() > 1 + ABOVE_ONE:
        place = int(sums.argmax())
        at = int(np.flatnonzero(before == place)[0])
        row = int(np.searchsorted(words.starts, at, side="right")) - 1
        prefix = " ".join(again.scored["sentence"][row].as_py().split(" ")[: at - int(words.starts[row])])
        raise Wrong(f"what may follow {prefix!r} has {sums.max():.4g} of all probability")
    return float(sums.max())
