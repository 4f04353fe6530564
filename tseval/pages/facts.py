"""What a page says of each model beside its numbers: who checked them, and what its submitter says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tseval.errors import plain
from tseval.report.formats import latex

if TYPE_CHECKING:
    from tseval.boards import Checked, Entry
    from tseval.report.table import Column

Badge = Literal["published", "reported", "recomputed", "rescored", "re-run"]
BADGES: dict[Badge, str] = {
    "published": "accuracies alone; there is no evidence to check them by",
    "reported": "evidence is here, and nobody has said that it was checked",
    "recomputed": "numbers worked out again from suite and evidence",
    "rescored": "the model was asked again about a share of the sentences that nobody could choose",
    "re-run": "the model was asked again about all sentences",
}
# What levels of verification (`tseval.verifying.claim`) are shown as, the lowest first.
_SHOWN: dict[str, Badge] = {
    "published": "published", "whole": "reported", "recomputed": "recomputed", "plausible": "recomputed",
    "rescored": "rescored", "rerun": "re-run",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model of a page.

    Attributes:
        heading: Its name.
        badge: How far its numbers were checked; None on a page of one's own runs.
        checked: Who checked them and when.
        facts: Label to text, what is known of it.
        signature: Of its run; None of a published one.
        where: What names it in commands; None where nothing names it alone.
        items: Where its items are shown: a file and what names in it begin with; None where there are none.
    """

    heading: str
    badge: Badge | None
    checked: str
    facts: dict[str, str]
    signature: str | None
    where: str | None
    items: tuple[str, str] | None = None

    def link(self, row: int) -> str | None:
        """Give where its items of a row are shown."""
        return None if self.items is None else f"{self.items[0]}#{self.items[1]}r{row}"


def facts_of(column: Column, entry: Entry | None, where: str | None, *, on_a_board: bool) -> ModelFacts:
    """Gather what is known of a model.

    Args:
        column: Of the table.
        entry: Of a board, where there is one.
        where: What names it in commands.
        on_a_board: Whether badges are shown.
    """
    facts = {"Parameters": column.parameters, "Validation perplexity": column.perplexity}
    checked = None
    if entry is not None:
        about = entry.about
        facts |= {
            "Revision": about.revision,
            "Licence": about.licence,
            "Trained on": about.training_data,
            "Holds the suite": about.contains_suite,
            "Contact": about.contact,
            "Fingerprint": entry.fingerprint[:16],
        }
        checked = _furthest(entry.checks)
    badge = _badge(column, checked)
    return ModelFacts(
        heading=column.heading,
        badge=badge if on_a_board else None,
        checked="" if checked is None else plain(f"{checked.by}, {checked.on}"),
        signature=None if column.signature is None else plain(column.signature),
        facts={name: plain(str(text)) for name, text in facts.items() if text},
        where=where,
    )


def _badge(column: Column, checked: Checked | None) -> Badge:
    if column.published:
        return "published"
    return "reported" if checked is None else _SHOWN[checked.level]


def _furthest(checks: tuple[Checked, ...]) -> Checked | None:
    """Find the check that went furthest; of equal ones the last."""
    order = list(_SHOWN)
    return max(reversed(checks), key=lambda check: order.index(check.level), default=None)


def bibtex(name: str, title: str, source: str | None, note: str) -> str:
    """Give a BibTeX entry for the numbers of a page."""
    fields = {"title": title, "howpublished": "tseval, targeted syntactic evaluation", "note": note}
    if source and source != title:
        fields["note"] = f"{note}. Source: {source}"
    lines = [f"  {field} = {{{_in_braces(text)}}}," for field, text in fields.items()]
    key = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "board"
    return "\n".join([f"@misc{{tseval-{key},", *lines, "}"]) + "\n"


def _in_braces(text: str) -> str:
    """Escape a text; BibTeX counts braces even where LaTeX does not."""
    return latex(text.replace("{", "(").replace("}", ")"))
