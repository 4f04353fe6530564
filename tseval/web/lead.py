"""The first sentences of a page: what it measures, and how to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import counted

if TYPE_CHECKING:
    from tseval.report.table import Table
    from tseval.web.topic import PageTopic


# For each score (`tseval.questions.SCORES`): what the items are, and when a model is right.
_PAIRS = "pairs of sentences: one is grammatical, the other is not"
_HOW = {
    "sentence": (_PAIRS, "A model is right if it gives the grammatical sentence the higher probability."),
    "mean": (
        _PAIRS,
        "A model is right if it gives the grammatical sentence the higher probability per word.",
    ),
    "critical": (_PAIRS, "A model is right if it gives the word that is grammatical the higher probability."),
    "ending": (_PAIRS, "A model is right if it gives the grammatical ending the higher probability."),
    "regions": (
        "predictions about the words of sentences",
        "A model is right if its surprisal at these words is as the theory predicts.",
    ),
    "choices": (
        "places inside strings of a formal language",
        "A model is right if it gives the symbols that may follow more probability than the others.",
    ),
    "prompt": (
        _PAIRS,
        "A model is right if it says in both orders that the grammatical sentence is the better one.",
    ),
    "inflection": (
        "beginnings of sentences",
        "A model is right if it gives the verb form that agrees the higher probability.",
    ),
}
_OTHER = ("pairs of sentences", "A model is right if the better sentence has the higher score.")
# The accuracy of a model that guesses. With a prompt, it must guess the same sentence in both orders.
_GUESSED = {
    **dict.fromkeys(("sentence", "mean", "critical", "ending", "inflection"), "0.5"),
    "prompt": "0.25",
}


def lead(about: PageTopic, table: Table) -> str:
    """Return two or three short sentences: what the page measures, and how to read it."""
    column = table.columns[0]
    noun, right = _HOW.get(column.score, _OTHER)
    n_items = int(column.rows["n_items"].fillna(0).sum()) if "n_items" in column.rows else 0
    material = f"{n_items:,} {noun}" if n_items else noun
    models = counted(len(table.columns), "language model")
    if (
        table.columns[0].published
        and about.source
        and about.source != about.title
        and len(about.source) < 120
    ):
        models += f" from {about.source}"
    guessed = f", {_GUESSED[column.score]} is guessing" if column.score in _GUESSED else ""
    return f"{models} on {material}. {right} Each number is the share that is right: 1 is best{guessed}."
