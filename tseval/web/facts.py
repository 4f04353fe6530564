"""The facts about a model on a page: its source, and which checks its numbers passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tseval.boards.readme import opening_options
from tseval.errors import plain

if TYPE_CHECKING:
    from tseval.boards import Entry, Hidden
    from tseval.report.columns import Column


Badge = Literal["published", "reported", "recomputed", "rescored", "re-run"]
BADGES: dict[Badge, str] = {
    "published": "published accuracies, without evidence to recompute them",
    "reported": "evidence is available, but nobody has verified it",
    "recomputed": "numbers recomputed from suite and evidence",
    "rescored": "the model scored a random share of the sentences again",
    "re-run": "the model scored all sentences again",
}
# The badge of each level of verification (`tseval.verifying.levels`), the lowest first.
_SHOWN: dict[str, Badge] = {
    "published": "published", "whole": "reported", "recomputed": "recomputed", "plausible": "recomputed",
    "rescored": "rescored", "rerun": "re-run",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model of a page.

    On a page of the user's own runs, there is no badge. `where` is the model's name in commands. `items` is
    the file with its items, and the beginning of their addresses. `opened` has the options that open the
    model, quoted for a shell. `flags` describe what is implausible in its evidence.
    """

    heading: str
    badge: Badge | None
    checked: str
    facts: dict[str, str]
    signature: str | None
    where: str | None
    items: tuple[str, str] | None = None
    label: str | None = None
    hidden: Hidden | None = None
    citation: str | None = None
    fingerprint: str | None = None
    opened: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def link(self) -> str | None:
        """Return the beginning of the address of a row's items; the row's number follows."""
        return None if self.items is None else f"{self.items[0]}#{self.items[1]}r"


def facts_of(
    column: Column, entry: Entry | None, where: str | None, *, on_a_board: bool, seeds: str | None = None
) -> ModelFacts:
    """Return the facts about a model and, on a board, the checks that its numbers passed."""
    facts = {"Parameters": column.parameters, "Validation perplexity": column.perplexity}
    checked = None
    if entry is not None:
        description = entry.about
        facts |= {
            "Seeds": seeds,
            "Revision": description.revision,
            "Paper": description.paper,
            "Weights": description.weights,
            "Licence": description.licence,
            "Trained on": description.training_data,
            "Contains the suite": description.contains_suite,
            "Submitted by": description.submitter,
            "On": description.date,
            "Contact": description.contact,
        }
        levels = list(_SHOWN)  # of equal checks, the last one
        checked = max(reversed(entry.checks), key=lambda check: levels.index(check.level), default=None)
    badge: Badge = "published" if column.published else "reported"
    if checked is not None:
        badge = _SHOWN[checked.level]
    return ModelFacts(
        heading=column.heading,
        badge=badge if on_a_board else None,
        checked="" if checked is None else plain(f"{checked.by}, {checked.on}"),
        signature=None if column.signature is None else plain(column.signature),
        facts={name: plain(str(text)) for name, text in facts.items() if text},
        where=where,
        fingerprint=None if entry is None else entry.fingerprint,
        opened=None if entry is None else plain(opening_options(entry)),
        label=None if entry is None or entry.about.display_name is None else plain(entry.about.display_name),
    )
