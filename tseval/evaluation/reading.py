"""The form in which a model reads the sentences of a suite."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError, SuiteError, suggest
from tseval.scoring.protocol import Model, WritingModel
from tseval.writing import (
    BOUNDARY,
    FORMS,
    LANGUAGES,
    Form,
    without_boundaries,
    without_context,
    without_rules,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.formats import Json
    from tseval.items import Suite, SuiteContexts
    from tseval.writing import Writing


def as_read(model: Model, suite: Suite | None, text: Form) -> Model:
    """Return the model that reads a suite's sentences in a form (`FORMS`).

    `auto` is the form that the model was trained on. Sentences of data have authors and stay unchanged. Text
    that a user types belongs to no suite, and is written by the rules of English.
    """
    if text not in FORMS:
        raise SuiteError(f"--text {text}: {suggest(text, FORMS, 'Forms')}")
    writing = LANGUAGES["english"] if suite is None else suite.writing
    if text == "auto":
        knows = isinstance(model, WritingModel) and model.reads == "natural"
        text = "natural" if knows and writing else "tokenised"
    if suite is not None and holds_boundaries(suite):
        model = without_spaces(model)
    if suite is not None and suite.context is not None:
        model = in_context(model, suite.context)
    if text != "natural":
        return model
    if suite is not None and writing is None:
        raise without_rules(suite.name)
    if not isinstance(model, WritingModel):
        raise ModelError(
            f"--text natural: {model.card.name} reads tokenised text, with spaces between words, so it "
            "cannot read natural text.\n"
            "  Write --text tokenised, or use a model with sub-word pieces (hf:MODEL or mlm:MODEL)."
        )
    assert writing is not None
    return model.writing(writing)


def holds_boundaries(suite: Suite) -> bool:
    """Return whether any sentence has parts that were joined without a space."""
    columns = (case.sentences[label] for case in suite.cases for label in case.labels)
    return any(pc.any(pc.match_substring(column, BOUNDARY), min_count=0).as_py() for column in columns)


def refuse_cut_words(model: Model, suite: Suite) -> None:
    """Raise an error for regions that begin or end inside a word, if the model reads whole words.

    Such a model has one probability per word. Columns of data are whole words or more, so they are not
    checked: the model reads them with a space between them.
    """
    for case in () if isinstance(model, WritingModel) or suite.files else suite.cases:
        for label in case.labels:
            cut = case.sentences[label].filter(pc.match_substring(case.sentences[label], BOUNDARY))
            if len(cut):
                text = str(cut[0])
                word = without_boundaries(next(word for word in text.split(" ") if BOUNDARY in word))
                raise ModelError(
                    f"case {case.name!r}: a region begins or ends inside the word {word!r} of "
                    f"{without_boundaries(text)!r}, but {model.card.name} reads whole words.\n"
                    "  Move the bracket of the region to a space, or use a model with sub-word pieces "
                    "(hf:MODEL or mlm:MODEL)."
                )


def without_spaces(model: Model) -> Model:
    """Return the same model with a card that records that sentence parts were joined without a space."""
    return with_protocol(model, {"join": "none"})


def with_protocol(model: Model, parts: Mapping[str, Json]) -> Model:
    """Return the same model with a card that has more facts about how sentences are presented."""
    changed = copy(model)
    changed.card = replace(model.card, protocol={**model.card.protocol, **parts})
    return changed


def in_context(model: Model, contexts: SuiteContexts) -> Model:
    """Return the same model with a card that records the contexts of sentences.

    After a text, a model without a start symbol scores first tokens too.
    """
    is_unscored = model.card.protocol.get("first_token") == "unscored"
    return with_protocol(model, contexts.describe() | ({"first_token": "scored"} if is_unscored else {}))


def rules_of_contexts(model: Model, suite: Suite) -> Writing | None:
    """Return the rules for writing contexts as natural text; None if the model reads them unchanged.

    A model of natural text reads contexts as natural text, even if the sentences have authors and stay
    unchanged.
    """
    if suite.context is None:
        return None
    reads_natural = suite.writing is None and isinstance(model, WritingModel) and model.reads == "natural"
    is_natural = model.card.protocol.get("text") == "natural" or reads_natural
    return suite.context.writing if is_natural else None


def as_given(model: Model, suite: Suite, sentences: pa.StringArray) -> list[str]:
    """Return sentences in the form that the model reads, in natural text or unchanged."""
    texts = [without_context(str(text)) for text in sentences.to_pylist()]
    if model.card.protocol.get("text") == "natural" and suite.writing:
        return [suite.writing.write(text)[0] for text in texts]
    return [without_boundaries(text) for text in texts]
