"""The levels `rescored` and `rerun`: a model scores randomly drawn sentences again."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.evaluation import as_read, make_plan
from tseval.evidence.record import AFTER_SENTENCES
from tseval.runs.manifest import NAME as MANIFEST
from tseval.scoring.engine import score_all
from tseval.verdicts import judge
from tseval.verifying.answers import compare_answers
from tseval.verifying.levels import CheckFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tseval.scoring.protocol import Model, ModelCard
    from tseval.verifying.claim import Claim
    from tseval.verifying.recomputed import Recomputed

    _Rows = NDArray[np.int64]


_NUMBERS = ("logprob", "words", "pieces", "right", "wrong", "forms", "before")
# How many entries of a vocabulary may change order with a form of nearly equal probability.
SWAPPED = 8
# Model details that tables show.
_SHOWN = ("parameters", "core_parameters", "validation_perplexity")
# How many more correct verdicts the claim may have than the model's new scores: a share of all, and a few
# more for small runs.
MOST_GAINED, _FEW = 0.005, 3


def chosen(claim: Claim, sentences: pa.StringArray, share: float, draw: str = "") -> NDArray[np.int64]:
    """Choose a share of the sentences, at least one, by a hash of draw, suite, model and sentence.

    The verifying user makes the draw after the evidence was made. Otherwise, someone who invents numbers
    could know the chosen sentences and leave these unchanged. If the numbers of n sentences are invented,
    each draw finds one with probability 1 - (1 - share)**n.
    """
    salt = f"{draw} {claim.key.suite_digest} {claim.key.fingerprint} ".encode()
    texts = (str(text).encode() for text in sentences.to_pylist())
    numbers = [int.from_bytes(sha256(salt + text).digest()[:8]) for text in texts]
    bar = share * 2.0**64
    rows = np.flatnonzero(np.array([number < bar for number in numbers]))
    return rows if len(rows) else np.array([int(np.argmin(numbers))])


def rescore(
    claim: Claim,
    again: Recomputed,
    model: Model,
    share: float,
    draw: str,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Score sentences with the model again, and compare."""
    opened_model = as_read(
        model, again.suite, "natural" if claim.key.protocol.get("text") == "natural" else "tokenised"
    )
    plan = make_plan(
        opened_model, again.items or again.suite, claim.score, claim.key.half_known or "undecidable"
    )
    if other := plan.key.differences(replace(claim.key.undated(), tseval=plan.key.tseval)):
        raise CheckFailed(f"--model is not the model of the run: {'; '.join(other)}")
    _compare_cards(claim.manifest.model, plan.card)
    if not plan.sentences.equals(claim.sentences):
        raise CheckFailed(
            f"the model can read {len(plan.sentences):,} of the suite's sentences ({len(plan.too_long):,} "
            f"are too long), but the run has scores for {len(claim.sentences):,}"
        )
    rows = chosen(claim, plan.sentences, share, draw)
    questions = None if plan.asked is None else plan.asked.take(rows.tolist())
    indices = pa.array(rows, pa.int64())
    scored_now = score_all(plan.scorer, plan.sentences.take(indices), questions, None, progress)
    scored, claimed = scored_now.table, claim.scored.take(indices)
    if plan.scorer.only_answers:
        summary = compare_answers(claim, claimed, scored, scored_now.protocol)
        return summary if share >= 1 else f"{summary}; drawn by {draw}"
    _compare_seen(claimed, scored)
    numbers = [name for name in _NUMBERS if name in scored.column_names]
    if stranger := [name for name in _NUMBERS if name in claimed.column_names and name not in numbers]:
        raise CheckFailed(
            f"the file of sentences has a column {stranger[0]!r}, which --model does not compute"
        )
    allowed, note = claim.last_bits, ""
    if (noise := getattr(model, "noise", None)) is not None:
        # Each computation may differ from the plain forward pass by the largest measured difference.
        most = float(noise.max())
        allowed, note = allowed + 2 * most, f": its measured noise is up to {most:.2g}"
    worst = max(_largest_difference(name, claimed, scored, allowed) for name in numbers)
    order = np.arange(len(plan.sentences))
    order[rows] = len(order) + np.arange(len(rows))
    columns = again.scored.column_names
    mixed = pa.concat_tables([again.scored, scored.select(columns).cast(again.scored.schema)]).take(order)
    unknown = claim.manifest.unknown
    verdicts = judge(again.suite, mixed, claim.score, plan.too_long, unknown=unknown)
    flips = _fall_otherwise(again, verdicts, share)
    summary = (
        f"{len(rows):,} of {len(plan.sentences):,} sentences, largest difference {worst:.2g} nats "
        f"(at most {allowed:.2g}{note}); {flips}"
    )
    return summary if share >= 1 else f"{summary}; drawn by {draw}"


def _compare_cards(stated: ModelCard, actual: ModelCard) -> None:
    """Compare the parts of a model card that its key lacks: the kind, and details in tables."""
    if stated.kind != actual.kind:
        raise CheckFailed(
            f"{MANIFEST}: the key `model.kind` is {stated.kind!r}, but --model is of kind {actual.kind!r}"
        )
    for name in _SHOWN:
        if stated.details.get(name) != actual.details.get(name):
            claimed, follows = (card.details.get(name) for card in (stated, actual))
            raise CheckFailed(
                f"{MANIFEST}: the key `model.details.{name}` is {claimed!r}, but the model of --model has "
                f"{follows!r}"
            )


def _fall_otherwise(again: Recomputed, verdicts: pa.Table, share: float) -> str:
    """Count the verdicts that change with the model's new scores, which differ in their last bits."""
    # Rated sentences have neither right nor wrong verdicts.
    columns = (table["correct"].to_numpy() for table in (again.verdicts, verdicts))
    claimed, actual = (np.equal(column, True).astype(np.int64) for column in columns)
    n_other, n_gained = int((claimed != actual).sum()), int((claimed - actual).sum())
    if n_gained > MOST_GAINED * len(claimed) + _FEW:
        raise CheckFailed(
            f"{n_other:,} of {len(claimed):,} verdicts change with the model's new scores. The run has "
            f"{n_gained:,} more correct verdicts than the new scores give: rounding alone would not favour "
            "the run"
        )
    total = f" of {len(claimed):,}" if share >= 1 else ""
    return f"{n_other:,}{total} verdicts differ"


def _compare_seen(claimed: pa.Table, scored: pa.Table) -> None:
    is_same = pc.equal(claimed["seen"], scored["seen"])
    if not pc.all(is_same).as_py():
        row = pc.index(is_same, pa.scalar(False)).as_py()
        raise CheckFailed(
            f"the model reads the sentence {scored['sentence'][row].as_py()!r} as "
            f"{scored['seen'][row].as_py()!r}, but "
            f"the run states that the model reads this sentence as {claimed['seen'][row].as_py()!r}"
        )
    # Entries of a leaderboard do not have this column.
    if "n_unknown" in claimed.column_names and claimed["n_unknown"] != scored["n_unknown"]:
        raise CheckFailed(
            "the column `n_unknown` is wrong: it differs from the number of words that are unknown to --model"
        )
    first, claimed_first = (
        table["unscored"] if "unscored" in table.column_names else None for table in (scored, claimed)
    )
    if first != claimed_first:
        raise CheckFailed(
            "the column `unscored` is wrong: it differs from the first tokens to which --model gives no score"
        )


def _largest_difference(name: str, claimed: pa.Table, scored: pa.Table, tolerance: float) -> float:
    """Return the largest difference in a column; the tolerance of a sentence's sum is that of all words."""
    if name not in claimed.column_names:
        raise CheckFailed(
            f"the file of sentences has no column {name!r}, but the model of --model computes this column"
        )
    lengths = pc.list_value_length(scored[name if name in AFTER_SENTENCES else "words"]).to_numpy()
    claims, actual = (_flat(table, name) for table in (claimed, scored))
    rows = np.arange(len(lengths)) if name == "logprob" else np.repeat(np.arange(len(lengths)), lengths)
    difference = np.abs(np.nan_to_num(claims) - np.nan_to_num(actual))
    allowed = tolerance * (lengths if name == "logprob" else np.ones(len(claims)))
    if (
        name == "before"
    ):  # tokens as probable as a form may come before it in one computation and after it in another
        allowed = allowed + SWAPPED * np.exp(np.nan_to_num(_flat(scored, "forms"), nan=-np.inf))
    if (difference > allowed).any():
        index = int((difference - allowed).argmax())
        sentence = scored["sentence"][int(rows[index])].as_py()
        raise CheckFailed(
            f"in {sentence!r}, the model gives {actual[index]:.6g} nats, but the run states "
            f"{claims[index]:.6g}"
        )
    return 0.0 if name in ("logprob", "before") else float(difference.max(initial=0.0))


def _flat(table: pa.Table, name: str) -> NDArray[np.float64]:
    column = table[name]
    flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    return flat.to_numpy().astype(np.float64)
