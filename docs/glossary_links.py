"""Link the headings of tables to the glossary: each of its words is a place that can be linked to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

GLOSSARY = "docs/glossary"


def words_of(row: nodes.row) -> list[str]:
    """Give the words that a row of the glossary explains: the first cell, divided at commas."""
    return [word.strip().lower() for word in row[0].astext().split(",")]


def anchor(word: str) -> str:
    """Give the place of a word on the page of the glossary."""
    return f"term-{re.sub(r'[^a-z0-9]+', '-', word.lower()).strip('-')}"


def mark_words(app: Sphinx, doctree: nodes.document) -> None:
    """Make every word of the glossary a place that can be linked to, and keep them for other pages."""
    if app.env.docname != GLOSSARY:
        return
    for body in doctree.findall(nodes.tbody):
        for row in body.findall(nodes.row):
            row[0]["ids"] += [anchor(word) for word in words_of(row)]


def glossary_words(app: Sphinx) -> set[str]:
    """Read the words of the glossary from its page."""
    doctree = app.env.get_doctree(GLOSSARY)
    rows = (row for body in doctree.findall(nodes.tbody) for row in body.findall(nodes.row))
    return {word for row in rows for word in words_of(row)}


def headings(doctree: nodes.document) -> Iterator[nodes.paragraph]:
    """Give the cells in the heads of tables that have no link yet."""
    for head in doctree.findall(nodes.thead):
        for paragraph in head.findall(nodes.paragraph):
            if next(paragraph.findall(nodes.reference), None) is None:
                yield paragraph


def link_headings(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link each heading of a table that is a word of the glossary."""
    if GLOSSARY not in app.env.found_docs or docname == GLOSSARY or app.builder.name != "html":
        return
    words = glossary_words(app)
    for paragraph in headings(doctree):
        word = paragraph.astext().lower()
        if word in words:
            address = app.builder.get_relative_uri(docname, GLOSSARY)
            link = nodes.reference("", "", *paragraph.children, refuri=f"{address}#{anchor(word)}")
            link["classes"].append("glossary")
            paragraph.children = []
            paragraph.append(link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect both to the build."""
    app.connect("doctree-read", mark_words)
    app.connect("doctree-resolved", link_headings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
