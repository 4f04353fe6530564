"""The check of a model, property by property."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.adapters import open_model
from tseval.errors import ModelError, first_line
from tseval.scoring.answer_scorer import no_logprobs
from tseval.scoring.protocol import AnswerModel, ParticularModel, refuse_no_model
from tseval.testing import properties
from tseval.testing.findings import Finding, fails, holds, not_applicable
from tseval.testing.memory import memory
from tseval.testing.properties import Subject, card
from tseval.testing.report import Report, Result
from tseval.testing.scores import as_in_a_run, numbers_of, protocol_of
from tseval.testing.sentences import default_sentences, tidied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tseval.adapters.opening import LiveModel
    from tseval.scoring.protocol import Model


# Largest difference between numbers that should be equal, in nats: the float32 precision of a sum of logits.
TOLERANCE = 1e-3
# Every property with its claim, in the order of a report.
CLAIMS = {
    "card": "the card says who the model is, in plain data",
    "finite": "every word of every sentence gets one finite number",
    "encoding": "the sentences that the model sees have the same number of words",
    "at most zero": "no probability is above 1",
    "deterministic": "the same sentences get the same numbers again",
    "sums": "the numbers of the words add up to the sentence's",
    "batches": "a sentence gets the same numbers alone, among others, and in any order",
    "equal sentences": "equal sentences of a batch get equal numbers",
    "prefixes": "a word's number does not depend on the words after it",
    "unknown words": "words that the model does not know are reported, and all score the same",
    "long sentences": "a long sentence is scored or refused, and its neighbours keep their numbers",
    "distribution": "the probabilities of all next words add up to 1",
    "memory": "memory stays within a batch, or within `row_bytes` for each row of a state",
}
# These properties are checked on scored sentences, each by the function with its name.
LOOKS: dict[str, Callable[[Subject], Finding]] = {
    name: getattr(properties, name.replace(" ", "_"))
    for name in CLAIMS
    if name not in {"card", "finite", "memory"}
}
# These compare several calls, which is useless if two equal calls already differ.
COMPARE_CALLS = {"sums", "batches", "equal sentences", "prefixes", "unknown words", "long sentences"}


def check_model(
    model: str | Path | LiveModel,
    sentences: Sequence[str] | None = None,
    *,
    tolerance: float = TOLERANCE,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Check that a model gives reliable numbers.

    Args:
        model: An object with a protocol of `tseval.scoring.protocol`, or another argument of
            `tseval.load_model`.
        sentences: Tokenised text with words that the model knows; None for 288 English sentences.
        tolerance: Largest difference between numbers that should be equal, in nats. Weights of 16 bits need
            more than the default.
        progress: Called with the number of finished properties and of all.

    Returns:
        One result for each property. An exception of the model becomes a result, and is not raised.

    Raises:
        ModelError: The object is not a model, or cannot read these sentences.
        SuiteError: There are no sentences, or one is empty.
    """
    if isinstance(model, str | Path | tuple):
        model = open_model(model)
    refuse_no_model(model, "the object to check")
    if isinstance(model, AnswerModel):
        raise no_logprobs(model.card.name)
    texts = tidied(default_sentences() if sentences is None else sentences)
    _refuse_foreign(model, texts, given=sentences is not None)
    findings: dict[str, Finding] = {}
    for name, finding in _findings(model, texts, tolerance):
        findings[name] = finding
        if progress:
            progress(len(findings), len(CLAIMS))
    results = (Result(name, claim, findings[name]) for name, claim in CLAIMS.items())
    return Report(str(model.card.name), protocol_of(model), tuple(results))


def _findings(model: Model, texts: tuple[str, ...], tolerance: float) -> Iterator[tuple[str, Finding]]:
    """Yield the finding on each property."""
    yield "card", _look(partial(card, model))
    # Memory is checked before anything else is scored, because the model might cache sentences.
    memory_finding = _look(partial(memory, model, texts))
    try:
        scored = as_in_a_run(model, texts)
        subject = Subject(model, texts, tolerance, scored, numbers_of(scored))
    except Exception as error:  # a foreign model may raise anything
        yield "finite", _raised(error)
        yield from (
            (name, not_applicable("the model gives no numbers: see `finite`")) for name in [*LOOKS, "memory"]
        )
        return
    yield "finite", holds()
    yield "memory", memory_finding
    deterministic = True
    for name, check in LOOKS.items():
        if name in COMPARE_CALLS and not deterministic:
            yield name, not_applicable("repeated calls give different numbers: see `deterministic`")
            continue
        finding = _look(partial(check, subject))
        deterministic = deterministic and not (name == "deterministic" and finding.verdict == "fails")
        yield name, finding


def _look(look: Callable[[], Finding]) -> Finding:
    """Check a property; if the model raises an error, the property fails."""
    try:
        return look()
    except Exception as error:
        return _raised(error)


def _raised(error: Exception) -> Finding:
    message = first_line(error)
    return fails(message if isinstance(error, ModelError) else f"{type(error).__name__}: {message}")


def _refuse_foreign(model: Model, texts: Sequence[str], *, given: bool) -> None:
    """Refuse sentences of a form that the model cannot read."""
    if not isinstance(model, ParticularModel):
        return
    try:
        model.check_sentences(pa.array(texts, pa.string()))
    except ModelError as error:
        if given:
            raise
        raise ModelError(
            f"{error}\n  The model cannot read tseval's own test sentences. Write sentences that the model "
            "can read to a text file, one sentence a line, and add --sentences FILE. In Python, call "
            "check_model(model, sentences)."
        ) from None
