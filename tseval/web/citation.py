"""The BibTeX entry of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.report.writers.latex import latex

if TYPE_CHECKING:
    from collections.abc import Mapping


def bibtex(
    name: str, title: str, source: str | None, note: str, more: Mapping[str, str | None] | None = None
) -> str:
    """Return a BibTeX entry for the numbers of a page. `more` has further fields, if known."""
    fields = {"title": title, "howpublished": "tseval, targeted syntactic evaluation", "note": note}
    if source and source != title:
        fields["note"] = f"{note}. Source: {source}"
    fields |= {field: text for field, text in (more or {}).items() if text}
    url = fields.pop("url", None)
    # BibTeX also counts braces that LaTeX ignores.
    braced = {field: latex(text.replace("{", "(").replace("}", ")")) for field, text in fields.items()}
    lines = [f"  {field} = {{{text}}}," for field, text in braced.items()]
    if url is not None:
        lines.append(f"  url = {{{url.replace('{', '').replace('}', '')}}},")
    key = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "board"
    return "\n".join([f"@misc{{tseval-{key},", *lines, "}"]) + "\n"
