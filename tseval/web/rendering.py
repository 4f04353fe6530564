"""Render a page from its template. All texts are escaped; only tseval's style and script are allowed."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from tseval.analysis.intervals import confidence_percent, error_percent
from tseval.errors import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment
    from markupsafe import Markup


def render_page(template: str, context: Mapping[str, object]) -> str:
    """Render a page.

    All texts are escaped. Data are in a block that is no script, in which `<` is escaped, too. The security
    policy allows the style and the script of this package, by their hashes, and no request.
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    style, script = _text("page.css"), _text("page.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # tseval's files, which contain no `</`: so they cannot end their element early.
    inlined = {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704 - own files
    return (
        _environment()
        .get_template(template)
        .render(**context, **inlined, confidence=confidence_percent(), error_rate=error_percent())
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - tables need none

    environment = Environment(
        loader=PackageLoader("tseval.web", "templates"),
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
    text = (files("tseval.web") / "templates" / name).read_text("utf-8")
    return text.replace("\r\n", "\n")  # line ends as a browser reads them, so that the hashes agree


def _made_plain(value: object) -> object:
    """Return a text without control characters, line by line. A text that is already HTML stays."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    if not isinstance(value, str) or isinstance(value, Markup) or (value.isascii() and value.isprintable()):
        return value
    return "\n".join(map(plain, value.split("\n")))


def _markdown(text: str) -> Markup:
    """Convert people's Markdown about a board into HTML. HTML in it is shown as text; no image is loaded."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - tables need none
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(str(_made_plain(text)))
    for token in tokens:
        token.attrs.pop("style", None)  # an attribute that the policy forbids
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # noqa: S704 - escaped by the renderer


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
