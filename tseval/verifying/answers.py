"""Checks of the answers of a prompt model: their consistency, and comparison with new answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.questions.answers import ANSWER, LOGPROB_1, LOGPROB_2, LONGEST_ANSWER, read_answers
from tseval.runs.manifest import DATED
from tseval.runs.manifest import NAME as MANIFEST
from tseval.verifying.levels import CheckFailed
from tseval.writing import without_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tseval.formats import Json
    from tseval.verifying.claim import Claim
    from tseval.verifying.recomputed import Recomputed


# How many answers may differ if a model answers again: a share of all, and a few more for small runs. On this
# machine only rounding changes answers. A server may batch, round and change the model.
MOST_OTHER, MOST_OTHER_SERVED, _FEW = 0.005, 0.05, 3
ROUNDING = 0.01  # nats between answers 1 and 2 whose order rounding may change, at least
ABOVE_ONE = 1e-4  # tolerance for the sum of the probabilities of 1 and 2, for rounding


def check_answers(claim: Claim, again: Recomputed) -> str:
    """Check that a model can have given the answers, and that the template is the stated one."""
    protocol = claim.key.protocol
    digest = _check_template(claim)
    scored = again.scored
    if ANSWER not in scored.column_names:
        raise CheckFailed(f"the file of sentences has no column {ANSWER!r}, which every prompt run needs")
    longest = pc.max(pc.utf8_length(scored[ANSWER])).as_py() or 0
    if longest > LONGEST_ANSWER:
        raise CheckFailed(
            f"an answer has {longest:,} characters, but tseval keeps at most {LONGEST_ANSWER:,}"
        )
    choices = read_answers(scored[ANSWER])
    logprobs = np.stack([scored[name].to_numpy().astype(np.float64) for name in (LOGPROB_1, LOGPROB_2)])
    is_known = ~np.isnan(logprobs)
    if protocol.get("answer") == "text" and is_known.any():
        raise CheckFailed(
            "the protocol states `answer: text`: tseval read the answers from the model's texts. So no "
            "answer may have log-probabilities, but some have them"
        )
    if (
        np.nanmax(np.where(is_known, logprobs, -np.inf), initial=-np.inf) > ABOVE_ONE
        or np.isinf(logprobs).any()
    ):
        raise CheckFailed("a log-probability of an answer is above 0 or infinite")
    sums = np.exp(np.where(is_known, logprobs, -np.inf)).sum(axis=0)
    if sums.max(initial=0.0) > 1 + ABOVE_ONE:
        raise CheckFailed(f"the answers 1 and 2 have a total probability of {sums.max():.4g}, above 1")
    compared = is_known.any(axis=0)
    low = np.where(is_known, logprobs, -np.inf)
    follows = np.where(low[0] == low[1], 0, np.where(low[0] > low[1], 1, 2))
    _refuse_first(scored, compared & (follows != choices), "an answer is not the more probable one")
    chosen = np.where(choices == 1, low[0], np.where(choices == 2, low[1], 0.0))
    expected = np.where(np.isfinite(chosen) & compared, np.minimum(chosen, 0.0), 0.0)
    _refuse_first(scored, scored["logprob"].to_numpy() != expected, "`logprob` is not that of the answer")
    n_first, n_valid = int((choices == 1).sum()), int((choices > 0).sum())
    line = f"{len(choices):,} answers, {n_valid:,} of them 1 or 2 ({n_first:,} are 1), template {digest[:8]}"
    if served := served_line(protocol):
        return f"{line}; from the record alone: {served}, which only the server could confirm"
    return f"{line}; from the record alone: only the model can confirm them (--model)"


def served_line(protocol: Mapping[str, Json]) -> str | None:
    """Return the model and date that a server stated with its answers; None for a local model."""
    if not DATED & set(protocol):
        return None
    return f"given as {protocol.get('served', 'an unnamed model')!r} on {protocol.get('date', 'no date')}"


def _check_template(claim: Claim) -> str:
    """Check the template in the manifest against the digest in the key; return the digest."""
    from tseval.prompting.template import template_digest  # noqa: PLC0415 - brings Jinja along

    text, protocol = claim.manifest.model.details.get("template"), claim.key.protocol
    stated_digest = protocol.get("prompt_digest")
    if not isinstance(text, str) or not isinstance(stated_digest, str):
        raise CheckFailed(f"{MANIFEST} has no template of the prompt, or no digest of it")
    if template_digest(text)[: len(stated_digest)] != stated_digest or len(stated_digest) < 16:
        raise CheckFailed(
            f"{MANIFEST}: the key `key.protocol.prompt_digest` is {stated_digest!r}, which is not the "
            "digest of the template in `model.details`"
        )
    if protocol.get("orders") != "both":
        raise CheckFailed(f"{MANIFEST}: the key `key.protocol.orders` must be 'both'")
    return stated_digest


def _refuse_first(scored: pa.Table, wrong: NDArray[np.bool_], problem: str) -> None:
    if wrong.any():
        question = without_context(str(scored["sentence"][int(wrong.argmax())].as_py()))
        raise CheckFailed(f"{problem}, to the question {question!r}")


def compare_answers(claim: Claim, claimed: pa.Table, now: pa.Table, served: Mapping[str, Json]) -> str:
    """Compare recorded answers with new answers of the model; return how many differ."""
    stated_name = claim.key.protocol.get("served")
    if stated_name is not None and served.get("served") != stated_name:
        raise CheckFailed(
            f"the server answers as {served.get('served')!r} now, but in the run it answered as "
            f"{stated_name!r}"
        )
    before, after = (read_answers(table[ANSWER]) for table in (claimed, now))
    differ = before != after
    n_other = int(differ.sum())
    share = MOST_OTHER if stated_name is None and "date" not in claim.key.protocol else MOST_OTHER_SERVED
    # For a local model, a different answer is an error if its margin is too large for rounding.
    margins = np.abs(now[LOGPROB_1].to_numpy().astype(float) - now[LOGPROB_2].to_numpy().astype(float))
    clear = differ & (margins > max(ROUNDING, 2 * claim.last_bits)) if share == MOST_OTHER else differ & False
    if n_other > share * len(before) + _FEW or clear.any():
        row = int((clear if clear.any() else differ).argmax())
        question = without_context(str(claimed["sentence"][row].as_py()))
        raise CheckFailed(
            f"{n_other:,} of {len(before):,} answers differ, such as the one to {question!r}: the run states "
            f"{claimed[ANSWER][row].as_py()!r}, but the model answers {now[ANSWER][row].as_py()!r}"
        )
    date_note = f" (the run: {claim.key.protocol['date']})" if "date" in claim.key.protocol else ""
    return f"{n_other:,} of {len(before):,} answers differ{date_note}"
