"""What a run or an entry claims, and the first two levels of verification: intact and recomputed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import EvidenceError, LimitError, ModelError, RunError, SuiteError, first_line, one_line
from tseval.evidence import Evidence, gather, scored_again, whole_column
from tseval.items import ENTRY, HALF_KNOWN, INDEPENDENT, Case, Suite, choose_rows, cluster_by, suite_digest
from tseval.questions import SCORES, Score
from tseval.questions.normalisation import split_measure
from tseval.report import Format, document_of, render
from tseval.runs import Manifest, Run, RunKey, read_run
from tseval.runs.directory import RUN_FILES, read_intact
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import SELECTED, SuiteFacts
from tseval.suites import load_suite, without_cache
from tseval.suites.data.critical import cluster_data, with_critical
from tseval.suites.data.exclusions import KNOWN_ERRORS
from tseval.verdicts import judge, n_too_long, sentences_of
from tseval.verifying.earlier import is_earlier_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tseval.formats import Json

    _Rows = NDArray[np.int64]


# whole       every file is the one that the manifest describes, and the manifest agrees with itself
# recomputed  the suite, expanded again, and the evidence give these verdicts and these tables
# plausible   no log-probability is above 0, and what may follow a prefix has no more than all probability
# rescored    the model gives the same log-probabilities for a share of the sentences that nobody could choose
# rerun       it does so for all of them
VerifyLevel = Literal["whole", "recomputed", "plausible", "rescored", "rerun"]
VERIFY_LEVELS: tuple[VerifyLevel, ...] = get_args(VerifyLevel)


class CheckFailed(Exception):  # noqa: N818 - not an error of ours: what a check is there to find
    """Something that is not as it is claimed to be."""


@dataclass(frozen=True, slots=True)
class Check:
    """One level that was checked: whether it holds, and what was seen, in a line."""

    level: VerifyLevel
    ok: bool
    found: str

    def __repr__(self) -> str:
        return one_line(self, self.level, "holds" if self.ok else "wrong")


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found of a run or entry; it ends with the first level that is wrong."""

    name: str
    what: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.ok for check in self.checks)

    @property
    def level(self) -> VerifyLevel | None:
        """The last level that holds; None where the first is wrong."""
        return next((check.level for check in reversed(self.checks) if check.ok), None)

    def to_mapping(self) -> dict[str, Json]:
        """Return the report as plain data."""
        checks: list[Json] = [{"level": c.level, "ok": c.ok, "found": c.found} for c in self.checks]
        return {"name": self.name, "what": self.what, "ok": self.ok, "level": self.level, "checks": checks}

    def __repr__(self) -> str:
        return one_line(self, self.name, f"verified: {self.level}" if self.ok else "wrong")

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.what}"]
        lines += [f"  {c.level:<11} {'' if c.ok else 'WRONG: '}{c.found}" for c in self.checks]
        return "\n".join(lines)


_TABLES = ("table.md", "table.csv")
# How far two computations of one number may differ, in nats: by their last bits alone.
LAST_BITS = {"float64": 1e-4, "float32": 1e-4, "float16": 0.03, "bfloat16": 0.25}


@dataclass(frozen=True, slots=True)
class Claim:
    """Numbers, with all that they should follow from, and the sentences that these are said to belong to."""

    name: str
    manifest: Manifest
    evidence: Evidence
    scored: pa.Table
    verdicts: pa.Table
    tables: Mapping[str, str]

    @property
    def key(self) -> RunKey:
        """What identifies the run."""
        return self.manifest.key

    @property
    def sentences(self) -> pa.StringArray:
        """The sentences that were scored."""
        return whole_column(self.scored, "sentence")

    @property
    def score(self) -> Score:
        """What sentences are compared by."""
        return cast("Score", self.key.score)

    @property
    def last_bits(self) -> float:
        """How far two computations of one number may differ, in nats."""
        return LAST_BITS.get(str(self.key.protocol.get("dtype")), LAST_BITS["float32"])


def claim_of_run(path: Path) -> Claim:
    """Read all that a run claims: every file, held to its digest, and the manifest to its seal."""
    if not path.is_dir() or not any(path.iterdir()):
        raise RunError(f"{str(path)!r} is not the folder of a run.\n  Name the folder of a run.")
    try:
        run = read_run(path)
        files = run.manifest.files
        hold_files(files, RUN_FILES)
        contents = {name: read_intact(path, files, name) for name in files}
        scored, verdicts = run.load_sentences(), run.load_verdicts()
        tables = {name: contents[name].decode() for name in _TABLES if name in files}
        evidence = gather(scored, run.manifest.suite.digest)
        check_known_score(run.manifest)
    except (RunError, LimitError, EvidenceError, UnicodeDecodeError) as error:
        raise CheckFailed(str(error).partition("\n")[0]) from None
    return Claim(run.name, run.manifest, evidence, scored, verdicts, tables)


def hold_files(files: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a manifest that leaves a data file out, which could then say anything, or names another."""
    listed, known = set(files), set(names)
    if missing := sorted(known - listed):
        raise CheckFailed(f"{MANIFEST} has no digest for the file {missing[0]}, which every run has")
    if strangers := sorted(listed - known):
        raise CheckFailed(f"{MANIFEST} has a digest for {strangers[0]!r}, but a run has no such file")


def check_known_score(manifest: Manifest) -> None:
    """Refuse what compares nothing."""
    if split_measure(manifest.key.score)[0] not in SCORES:
        raise CheckFailed(
            f"{MANIFEST}: the key `key.score` is {manifest.key.score!r}, but tseval knows no "
            "score with this name"
        )


_DRAW = re.compile(r"([0-9]{1,18}) of each case, seed (-?[0-9]{1,30})")


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A claim, computed again; its suite is expanded from its grammar or data, never from a cache."""

    suite: Suite
    scored: pa.Table
    verdicts: pa.Table
    n_unsaid: int = 0  # half-known contrasts that it compares without saying so


def recompute(claim: Claim, spec: str | None) -> Recomputed:
    """Expand the suite, judge the evidence, and compare everything that is claimed.

    The suite is at `spec`, or has the name that the claim states.
    """
    if by := split_measure(claim.key.score)[1]:
        raise SuiteError(
            f"{claim.name} was scored with --normalise {by}, so verifying needs the number of tokens, "
            "which tseval cannot recompute without the model.\n"
            "  Verify a run on the same sentences without --normalise."
        )
    suite = _suite_again(claim, spec)
    if suite.digest != claim.key.suite_digest or suite.terminator != claim.key.terminator:
        raise CheckFailed(
            f"the suite {suite.name} on this machine has the digest {suite.digest[:8]}, but the run states "
            f"the digest {claim.key.suite_digest[:8]}"
        )
    hold_sizes(claim.manifest.suite, suite)
    sentences = sentences_of(suite)
    too_long = sentences[:0]
    if claim.manifest.counts.too_long:  # which only a model can confirm
        read = pc.is_in(sentences, value_set=claim.sentences)
        sentences, too_long = sentences.filter(read), sentences.filter(pc.invert(read))
    if not sentences.equals(claim.sentences):
        raise CheckFailed(
            f"the run has other sentences than the suite: {_first_other(claim.sentences, sentences)}"
        )
    try:
        scored = scored_again(claim.evidence, sentences)
    except EvidenceError as error:
        raise CheckFailed(f"the evidence {error}") from None
    compare_sentences(claim.scored, scored)
    unknown = claim.manifest.unknown
    marked = replace(unknown, unsaid=False)
    judged = partial(judge, _with_factors(suite, claim), scored, claim.score, too_long, unknown=marked)
    verdicts, n_unsaid = verdicts_of(judged), 0
    if unknown.unsaid and HALF_KNOWN in verdicts.column_names:
        n_unsaid = int(pc.sum(verdicts[HALF_KNOWN]).as_py())
        verdicts = verdicts.drop_columns([HALF_KNOWN])
    left_out = n_too_long(suite, scored, too_long)
    if left_out != claim.manifest.counts.too_long:
        stated = claim.manifest.counts.too_long
        raise CheckFailed(
            f"{left_out:,} contrasts have a sentence without a score, but in the manifest the key "
            f"`too_long` is {stated:,}"
        )
    compare_verdicts(claim.verdicts, verdicts)
    run = Run(claim.name, claim.manifest, lambda: scored, lambda: verdicts)
    for name, text in claim.tables.items():
        form: Format = "csv" if name.endswith("csv") else "md"
        printed = render(document_of([run]), form)
        if printed != text and not (form == "md" and is_earlier_form(text, printed)):
            raise CheckFailed(_other_table(claim, name))
    return Recomputed(suite, scored, verdicts, n_unsaid)


def hold_sizes(stated: SuiteFacts, suite: Suite) -> None:
    """Hold what is said of a suite's size to the suite."""
    for name in ("n_items", "n_contrasts"):
        if (said := getattr(stated, name)) != (follows := getattr(suite, name)):
            raise CheckFailed(
                f"{MANIFEST}: the key `suite.{name}` is {said:,}, but the suite has {follows:,}"
            )


def verdicts_of(judged: Callable[[], pa.Table]) -> pa.Table:
    """Judge scored sentences."""
    try:
        return judged()
    except (ModelError, SuiteError) as error:
        raise CheckFailed(str(error).partition("\n")[0]) from None


def _suite_again(claim: Claim, spec: str | None) -> Suite:
    """Load the suite without a cache; of a part, the items that the verdicts name.

    A claim names its suite. It does not say where on this machine one is: only whoever verifies does.
    """
    name, facts = claim.key.suite, claim.manifest.suite
    try:
        if not spec and (set(name) & {"/", "\\", "\0"} or name in {"", ".", ".."}):
            raise SuiteError(
                f"the run states that its suite is {name!r}, which is the path of a suite, not its name."
            )
        with without_cache():
            suite = load_suite(
                spec or claim.key.suite,
                seed=facts.seed or 0,
                columns=facts.columns,
                # What it lists, unless that is what is known to everyone.
                exclude=facts.exclude if facts.exclude in {None, KNOWN_ERRORS} else facts.excluded or (),
            )
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
    """Return the suite the lexical factors of the claim: `--cluster`, or its own; old runs have none."""
    if not knows_factors(claim):
        return cluster_by(suite, (INDEPENDENT,))
    stated = claim.manifest.suite
    if stated.inferred is not None and with_critical(suite).inferred != stated.inferred:
        raise CheckFailed(
            f"{MANIFEST}: the key `suite.inferred` is {stated.inferred!r}, but the suite "
            "states something else"
        )
    if stated.inferred is None and not stated.clusters:  # from before, or there is nothing to infer
        return replace(suite, clusters=(INDEPENDENT,))
    try:
        return cluster_data(suite, stated.clusters or ())
    except SuiteError as error:
        raise CheckFailed(f"suite.clusters: {first_line(error)}") from None


def knows_factors(claim: Claim) -> bool:
    """Return whether a run is from when there were lexical factors: it has some, or names the chosen."""
    chosen = claim.manifest.suite.clusters
    return chosen is not None or any(name.endswith(ENTRY) for name in claim.verdicts.column_names)


def says_what_is_shared(claim: Claim, suite: Suite) -> bool:
    """Return whether a run has all factors that one over this suite would have today."""
    stated = claim.manifest.suite
    has_all = stated.clusters or stated.inferred or not with_critical(suite).inferred
    return knows_factors(claim) and bool(has_all)


def _chosen(suite: Suite, claim: Claim) -> Iterator[Case]:
    names = claim.verdicts["case"].combine_chunks()
    known = {case.name: case for case in suite.cases}
    for name in pc.unique(names).to_pylist():
        if name not in known:
            raise CheckFailed(f"the run has a case {name!r}, but the suite {suite.name} does not")
        items = pc.unique(claim.verdicts["item"].filter(pc.equal(names, name)))
        index = known[name].index
        strange = items.filter(pc.invert(pc.is_in(items, value_set=index)))
        if len(strange):
            raise CheckFailed(
                f"the run has an item {strange[0].as_py()} of the case {name!r}, but the suite does not"
            )
        # In some views an item has several rows.
        yield known[name].take(np.flatnonzero(pc.is_in(index, value_set=items)).tolist())


def _refuse_other_draw(suite: Suite, cases: Sequence[Case], stated: str) -> None:
    """Draw items again as they are said to have been drawn; of a draw, `--limit` takes the first."""
    said = _DRAW.fullmatch(stated)
    for case in cases:
        whole = next(one for one in suite.cases if one.name == case.name)
        rows = choose_rows(whole.n_items, None, int(said[1]), int(said[2])) if said else ()
        if not case.index.equals(whole.index.take(pa.array(rows[: len(case.index)], pa.int64()))):
            raise CheckFailed(
                f"the key `suite.sample` is {stated!r}, but the items of the case {case.name!r} are not "
                "the ones that this sample draws"
            )


def _first_other(claimed: pa.StringArray, found: pa.StringArray) -> str:
    if len(claimed) != len(found):
        return f"{len(claimed):,} instead of {len(found):,}"
    row = pc.index(pc.not_equal(claimed, found), pa.scalar(True)).as_py()
    return f"{claimed[row].as_py()!r} instead of {found[row].as_py()!r}"


def compare_sentences(claimed: pa.Table, found: pa.Table) -> None:
    """Compare all that is said of sentences; `n_unknown`, which only the model knows, is left."""
    known = [*found.column_names, "n_unknown"]
    if more := [name for name in claimed.column_names if name not in known]:
        raise CheckFailed(f"the file of sentences has a column {more[0]!r}, which tseval cannot recompute")
    for name in found.column_names:
        _compare_column(claimed, found, name, lambda row: repr(found["sentence"][row].as_py()), "sentences")


def compare_verdicts(claimed: pa.Table, found: pa.Table) -> None:
    """Compare verdicts cell by cell, and name the first that differs."""
    if claimed.num_rows != found.num_rows:
        raise CheckFailed(
            f"the run has {claimed.num_rows:,} verdicts, but tseval recomputes {found.num_rows:,}"
        )

    def place(row: int) -> str:
        case, item, contrast = (found[name][row].as_py() for name in ("case", "item", "contrast"))
        return f"{case}[{item}] {contrast}"

    for name in found.column_names:
        _compare_column(claimed, found, name, place, "verdicts")
    if more := [name for name in claimed.column_names if name not in found.column_names]:
        raise CheckFailed(
            f"the file of verdicts has a column {more[0]!r}, which is not a feature of the suite"
        )


def _compare_column(
    claimed: pa.Table, found: pa.Table, name: str, place: Callable[[int], str], what: str
) -> None:
    if name not in claimed.column_names:
        raise CheckFailed(f"the file of {what} has no column {name!r}")
    of_claim, kind = claimed[name].type, found[name].type
    if name.endswith(ENTRY):  # two dictionaries of one column may be in different orders
        of_claim, kind = _unfolded(of_claim), _unfolded(kind)
    if of_claim != kind:
        raise CheckFailed(
            f"in the file of {what}, the column {name!r} has the type {of_claim}, but it "
            f"must have the type {kind}"
        )
    follows, stated = (table[name].cast(kind).combine_chunks() for table in (found, claimed))
    if stated.equals(follows):
        return
    differs = np.array([a != b for a, b in zip(stated.to_pylist(), follows.to_pylist(), strict=True)])
    if not differs.any():
        return
    row = int(differs.argmax())
    raise CheckFailed(
        f"in the file of {what}, {name} of {place(row)} is {stated[row].as_py()}, but tseval recomputes "
        f"{follows[row].as_py()} ({int(differs.sum()):,} rows differ)"
    )


def _unfolded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind


def _other_table(claim: Claim, name: str) -> str:
    """Say that a table does not follow, and, where another tseval is said to have written it, that."""
    wrote, here = claim.manifest.versions.get("tseval"), version("tseval")
    if wrote == here:
        return f"{name} is not the table that tseval prints for these verdicts"
    return (
        f"{name} is not the table that tseval {here} prints for these verdicts. The manifest states that "
        f"tseval {wrote} wrote it. To print the right table: tseval table RUN"
    )
