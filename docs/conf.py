"""Configuration of Sphinx, which builds the site from the pages of the repository (`make docs`).

Sphinx reads the repository itself, so relative links work on the site, on a code host and in an editor. A
link to a file that is no page leads to a copy of the file. Broken links are warnings, and warnings fail the
build.
"""

from __future__ import annotations

import gc
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx import addnodes

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS)]  # describe the package of this repository, not an installed one

from python_objects import PythonObjects  # noqa: E402
from reference import Reference, as_markdown, without_protocol_arguments  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from docutils.nodes import Element, Node
    from sphinx.application import Sphinx

gc.set_threshold(100_000, 50, 100)  # a site has millions of nodes; their garbage collection took 20%

project = html_title = "tseval"
root_doc = "README"
extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "glossary_links",
]  # fmt: skip
LISTS = ["docs/results/README", "docs/decisions/README"]
API = "build/api"  # written again for every build, and not committed
include_patterns = ["*.md", "docs/**.md", "leaderboards/*/README.md", f"{API}/*.rst"]
# Folders without pages, which would take time to search. The folder of the site is listed before it exists:
# if the settings changed later, Sphinx would read every page again.
exclude_patterns = sorted(
    {f.name for f in ROOT.iterdir() if f.is_dir() and f.name not in {"build", "docs", "leaderboards"}}
    | {f"build/{f.name}" for f in ROOT.glob("build/*") if f.name != "api"}
    | {"build/docs"}
)

html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "search_scorer.js")
html_copy_source = False
html_show_copyright = False
viewcode_follow_imported_members = False  # names in `tseval` have their source in the defining module
highlight_language = "text"
myst_heading_anchors = 6  # the same anchors as on code hosts

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_use_type_comments = False  # the code has none, and the search takes long
add_module_names = False
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
napoleon_use_ivar = True
napoleon_use_rtype = False

nitpicky = True
# Types of other packages are on sites that are not available offline. Links to tseval's types must work.
nitpick_ignore_regex = [("py:.*", r"(?!tseval\.).*")]


def add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Make the site's table of contents from the lists of pages.

    `docs/README.md` has the four sections. The lists of results and of decisions belong to the last one.
    """
    folder = docname.removesuffix("README")
    if docname == root_doc:
        contents = {"Start": ["docs/README"], **sections((DOCS / "README.md").read_text("utf-8"))}
        written = [page for page in ("commands", "tseval") if (app.srcdir / API / f"{page}.rst").exists()]
        contents.setdefault("Reference", []).extend(f"{API}/{page}" for page in written)
        contents["Project"] = ["CONTRIBUTING", "CHANGELOG", "SECURITY", "leaderboards/*/README"]
    elif docname in LISTS:
        contents = {"": [f"/{folder}{page}" for page in linked_pages(source[0])]}
    else:
        return
    for caption, pages in contents.items():
        named = f":caption: {caption}\n" if caption else ""
        lines = "\n".join(pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n{named}\n{lines}\n```\n"


def sections(index: str) -> dict[str, list[str]]:
    """Return the pages that each section of the index links to."""
    parts = [part.partition("\n") for part in index.split("\n## ")[1:]]
    return {heading: [f"docs/{page}" for page in linked_pages(part)] for heading, _, part in parts}


def linked_pages(text: str) -> list[str]:
    """Return the pages that a list links to, without the ending .md."""
    return re.findall(r"^- \[.+\]\((.+)\.md\)", text, re.MULTILINE)


def leave_out_of_search(app: Sphinx, docname: str, source: list[str]) -> None:
    """Keep decisions out of the search, which should find the page about a word, not the reasons."""
    if docname.startswith("docs/decisions/"):
        source[0] = f"---\nnosearch: true\n---\n\n{source[0]}"


def add_index(app: Sphinx, error: Exception | None) -> None:
    """Copy the first page to index.html, where a browser looks for it."""
    if error is None:
        shutil.copy(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def titles(contents: Element) -> Element:
    """Return the contents of a page with only its title and the pages below it."""
    contents = contents.deepcopy()
    for entry in contents.children:
        if len(entry) > 1:
            entry[1][:] = list(entry.findall(addnodes.toctree))
    return contents


def share_navigation() -> Callable[..., None]:
    """Return a handler that makes the navigation tree of a page. Only trees of the reference list modules.

    Pages of source code are not in the tree, so their trees differ only by the depth of the page: the handler
    makes one tree for each depth, not for hundreds of pages. It makes the tree from titles. From whole
    contents, Sphinx would copy every section and function for each page, and then leave them out.
    """
    made: dict[object, str] = {}
    titled: dict[str, Element] = {}

    def share(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Node | None) -> None:
        make = context["toctree"]
        if not titled:
            titled.update((name, titles(contents)) for name, contents in app.env.tocs.items())

        def made_of_titles(**options: object) -> str:
            whole, app.env.tocs = app.env.tocs, titled
            try:
                return make(**options)
            finally:
                app.env.tocs = whole

        def tree(**options: object) -> str:
            if page.startswith(f"{API}/"):
                return made_of_titles(**options)
            options["maxdepth"] = 1
            if not page.startswith("_modules/"):
                return made_of_titles(**options)
            key = page.count("/"), *sorted(options.items())
            if key not in made:
                made[key] = made_of_titles(**options)
            return made[key]

        context["toctree"] = tree

    return share


def setup(app: Sphinx) -> None:
    """Connect the functions that write the API reference and link the pages."""
    reference = Reference("tseval")

    def accept_type_variable(app: Sphinx, env: object, node: Element, shown: Element) -> Element | None:
        return shown if reference.is_type_variable(node["reftarget"]) else None

    app.add_domain(PythonObjects, override=True)
    app.connect("builder-inited", lambda app: reference.write(app.srcdir / API))
    app.connect("source-read", add_contents)
    app.connect("source-read", leave_out_of_search)
    app.connect("autodoc-process-docstring", as_markdown, priority=400)  # before napoleon reads it
    app.connect("autodoc-process-signature", without_protocol_arguments)
    app.connect("missing-reference", accept_type_variable)
    app.connect("html-page-context", share_navigation(), priority=400)  # before the theme asks for the tree
    app.connect("build-finished", add_index)
