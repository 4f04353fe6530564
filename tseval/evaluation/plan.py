"""Plans of runs: sentences, scorer and score. Combinations that cannot work are refused."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.errors import ModelError, SuiteError, quoted_text, suggest
from tseval.evaluation.reading import as_given, refuse_cut_words, rules_of_contexts
from tseval.questions import COMPARES_WORDS, SCORES, Score
from tseval.questions.choices import Asked
from tseval.questions.normalisation import LENGTHS, Normalised
from tseval.questions.unknown import Unknown, UnknownRule, check_rule
from tseval.runs import RunKey
from tseval.scoring.engine import lengths_of, lengths_of_texts
from tseval.scoring.in_context import scorer_in_context
from tseval.scoring.protocol import AnswerModel
from tseval.scoring.scorers import scorer_for
from tseval.suites.both_orders import in_both_orders
from tseval.suites.data.critical import with_critical
from tseval.verdicts import check_score, questions_in, sentences_of
from tseval.writing import without_context

if TYPE_CHECKING:
    from tseval.items import Suite
    from tseval.questions.inflection import AskedForms
    from tseval.runs.opened import Opened
    from tseval.scoring.protocol import Model, ModelCard
    from tseval.scoring.scorer import Scorer


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan of a run: all that scoring and judging need, checked completely before they begin.

    Attributes:
        sentences: The distinct sentences, sorted, in the form that the model reads.
        asked: The symbols or forms to score inside sentences or after them, if any.
        too_long: Sentences that are too long for the model. Contrasts with such a sentence are undecidable.
        items: The suite with its original sentences, even if `suite` has questions about pairs of them.
        lengths: The lengths to normalise scores by, one row for each sentence; None without normalisation.
        opened: How the model was opened, for the manifest.
    """

    key: RunKey
    suite: Suite
    card: ModelCard
    scorer: Scorer
    sentences: pa.StringArray
    asked: Asked | AskedForms | None
    too_long: pa.StringArray
    items: Suite
    lengths: pa.Table | None = None
    seconds: float = 0.0
    opened: Opened | None = None

    @property
    def unknown(self) -> Unknown:
        """The model's sign of unknown words, and the rule for half-known pairs."""
        return Unknown.of(self.key.protocol, self.key.half_known or "undecidable")


def run_key(
    model: Model,
    suite: Suite,
    score: Score | Normalised | None = None,
    unknown: UnknownRule = "undecidable",
) -> RunKey:
    """Collect everything that can change a number of a run; without a score, the suite's score is used."""
    if score is None:
        score = "prompt" if isinstance(model, AnswerModel) else suite.score
    return RunKey(
        suite=suite.name,
        suite_digest=suite.digest,
        model=model.card.name,
        fingerprint=model.card.fingerprint,
        score=str(score),
        terminator=suite.terminator,
        items="all" if suite.complete else f"{suite.n_items} selected",
        tseval=version("tseval"),
        protocol=model.card.protocol,
        exclude=suite.exclude,
        half_known="score" if unknown == "score" else None,
    )


def make_plan(
    model: Model,
    suite: Suite,
    score: Score | Normalised | None = None,
    unknown: UnknownRule = "undecidable",
) -> Plan:
    """Plan a run: its sentences, its scorer and its score. Raises the errors of `evaluate`."""
    started = time.monotonic()
    check_rule(unknown)
    suite = with_critical(suite)
    normalised = score if isinstance(score, Normalised) else None
    key = run_key(model, suite, score, unknown)
    _check_card(model.card, key)
    items = suite
    if isinstance(model, AnswerModel):
        _refuse_normalised(model, normalised)
        suite = in_both_orders(suite)
    score = score.of if isinstance(score, Normalised) else score or suite.score
    if score not in SCORES:
        raise SuiteError(f"unknown score {score!r}. {suggest(score, SCORES, 'Scores')}")
    check_score(suite, score)
    scorer = _scorer_of(model, suite, words=score in COMPARES_WORDS)
    if score in COMPARES_WORDS and not scorer.gives_words:
        raise ModelError(
            f"{model.card.name} gives only one log-probability for a whole sentence, but --score {score} "
            "compares single words.\n"
            + (
                "  Use a model that gives the log-probability of every word."
                if score == "inflection"
                else "  Write --score sentence."
            )
        )
    refuse_cut_words(model, suite)
    sentences, too_long = _readable(scorer, sentences_of(suite))
    scorer.check_sentences(sentences)
    questions = questions_in(suite, sentences)
    if isinstance(questions, Asked):
        scorer.check_symbols(questions.asks)
    if len(too_long) and (isinstance(questions, Asked) or not len(sentences)):
        raise _too_long(
            scorer, too_long, "  Use a model that reads longer sentences, or make these sentences shorter."
        )
    lengths = None
    if normalised is not None and normalised.of == "sentence":
        if normalised.by in LENGTHS:
            lengths = lengths_of_texts(as_given(model, suite, sentences), normalised.by)
        else:
            lengths = lengths_of(scorer, sentences, normalised)
    seconds = round(time.monotonic() - started, 3)
    return Plan(key, suite, model.card, scorer, sentences, questions, too_long, items, lengths, seconds)


def _refuse_normalised(model: Model, normalised: Normalised | None) -> None:
    if normalised is not None:
        raise SuiteError(
            f"--normalise: {model.card.name} answers questions and gives no log-probabilities, so there is "
            "nothing to normalise.\n  Leave out --normalise."
        )


def _scorer_of(model: Model, suite: Suite, *, words: bool) -> Scorer:
    if suite.context is None:
        return scorer_for(model, words=words)
    return scorer_in_context(model, suite.context, rules_of_contexts(model, suite), words=words)


def refuse_too_long(model: Model, suite: Suite) -> None:
    """Raise an error if the suite has sentences that are too long for the model."""
    scorer = _scorer_of(model, suite, words=False)
    _, too_long = _readable(scorer, sentences_of(suite))
    if len(too_long):
        raise _too_long(
            scorer,
            too_long,
            "  To count the pairs with these sentences as undecidable, write --too-long skip",
        )


def _readable(scorer: Scorer, sentences: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    too_long = scorer.too_long(sentences)
    return sentences.filter(pa.array(~too_long)), sentences.filter(pa.array(too_long))


def _too_long(scorer: Scorer, sentences: pa.StringArray, fix: str) -> ModelError:
    return ModelError(f"{describe_too_long(scorer, sentences)}.\n{fix}")


def describe_too_long(scorer: Scorer, sentences: pa.StringArray) -> str:
    """Describe in words how many sentences a model cannot read, and why, with the first of them."""
    longer = "sentence is" if len(sentences) == 1 else "sentences are"
    first = quoted_text(without_context(str(sentences[0])), 40)
    return f"{len(sentences):,} {longer} {scorer.unreadable}, the first {first}"


def _check_card(card: ModelCard, key: RunKey) -> None:
    """Check, before anything is scored, that a card has a fingerprint and that JSON can store it."""
    if not isinstance(card.fingerprint, str) or not card.fingerprint:
        raise ModelError(
            f"the attribute `card.fingerprint` of the model {card.name} is {card.fingerprint!r}, but it "
            "must identify the weights.\n"
            "  Set `card.fingerprint` to a text that differs for different weights, such as a SHA-256 "
            "digest of them."
        )
    if key.hidden:
        raise ModelError(
            f"the attribute `card.protocol` of the model {card.name} has the key {min(key.hidden)!r}, "
            "which tseval sets itself.\n"
            "  Rename this key in the code of the model."
        )
    for part, content in (("protocol", card.protocol), ("details", card.details)):
        for name, value in content.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError):
                raise ModelError(
                    f"the attribute `card.{part}[{name!r}]` of the model {card.name} has the Python type "
                    f"{type(value).__name__}, which JSON cannot store.\n"
                    "  Use text, numbers, true or false, or lists and mappings of these."
                ) from None
