"""Runs and boards as a page reads them."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from tseval.errors import plain
from tseval.report import build_table
from tseval.report.boards import Board
from tseval.report.document import latex
from tseval.runs import cache_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment
    from markupsafe import Markup

    from tseval.boards import Entry
    from tseval.report import Table
    from tseval.report.columns import Column
    from tseval.runs import CachedRun, Run


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
        badge: How far its numbers were checked; None on a page of one's own runs.
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
    """Gather what is known of a model, and on a board how far its numbers were checked."""
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
        levels = list(_SHOWN)  # of equal checks the last
        checked = max(reversed(entry.checks), key=lambda one: levels.index(one.level), default=None)
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
    )


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


def render_page(template: str, context: Mapping[str, object]) -> str:
    """Render a page.

    All texts are escaped; data stand in a block that is no script, in which `<` is escaped as well. The
    policy allows the style and the script of this package, by their hashes, and no request.
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    style, script = _text("page.css"), _text("page.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # Our own, and without `</`: nothing in them can end the element that they stand in.
    own = {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704 - own files
    return _environment().get_template(template).render(**context, **own)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - tables need none

    environment = Environment(
        loader=PackageLoader("tseval.pages", "web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_made_plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = _markdown
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


@cache
def _text(name: str) -> str:
    text = (files("tseval.pages") / "web" / name).read_text("utf-8")
    return text.replace("\r\n", "\n")  # as a browser reads it, so that hashes agree


def _made_plain(value: object) -> object:
    """Make a text plain, line by line, before it is escaped; what is HTML already stays."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join(map(plain, value.split("\n")))


def _markdown(text: str) -> Markup:
    """Render what people wrote of a board; HTML in it is shown, not obeyed, and images would ask a server."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - tables need none
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(str(_made_plain(text)))
    for token in tokens:
        token.attrs.pop("style", None)  # which the policy forbids
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # noqa: S704 - escaped by the renderer


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def tabulate_once(sources: Sequence[Run | Board]) -> tuple[list[CachedRun | None], Table]:
    """Make the table of runs and boards."""
    runs = iter(cache_runs([source for source in sources if not isinstance(source, Board)]))
    kept: list[CachedRun | None] = []
    read: list[Run | Board] = []
    for source in sources:
        if isinstance(source, Board):
            kept += [None] * len(source.models)
            read.append(source)
        else:
            run = next(runs)
            kept.append(run)
            read.append(run.for_table())
    return kept, build_table(read)
