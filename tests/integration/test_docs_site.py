"""The documentation as a site, built by `make docs` in a copy of the repository."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote_plus, unquote, urlsplit

import click
import pytest
from program_texts import commands

import tseval

ROOT = Path(__file__).parents[2]
FOLDERS = ["adapters", "docs", "leaderboards", "templates", "tseval"]
pytestmark = [
    pytest.mark.slowest,
    pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="no Makefile: not a checkout"),
]


def copy_repository(folder: Path) -> Path:
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
    for file in ROOT.iterdir():  # pages and the files that they link to
        if file.is_file():
            shutil.copy(file, folder)
    return folder


def make_docs(repository: Path) -> subprocess.CompletedProcess:
    # Use the environment of the tests, not a new one, and not the settings of the `make` around it.
    command = ["make", "--old-file", "setup", "docs", f"BIN={Path(sys.executable).parent}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=False
    )


class Page(HTMLParser):
    """The links of a page, the files that it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.loaded, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "src" in values or (tag == "link" and "href" in values):
            self.loaded.append(values.get("src") or values["href"])
        self.ids.update(value for name, value in attrs if name in {"id", "name"})


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site in a copy of the repository."""
    repository = copy_repository(tmp_path_factory.mktemp("repository"))
    done = make_docs(repository)
    assert done.returncode == 0, done.stdout + done.stderr
    return repository / "build" / "docs"


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}


def test_every_page_and_figure_is_on_the_site(site, pages):
    sources = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("leaderboards/*/README.md")]
    for source in sources:
        assert site / source.relative_to(ROOT).with_suffix(".html") in pages
    shown = {Path(loaded).name for page in pages.values() for loaded in page.loaded}
    assert {figure.name for figure in ROOT.glob("docs/*/*.svg")} <= shown
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()


def test_the_reference_has_the_public_names_and_every_module(site, pages):
    first = pages[site / "build/api/tseval.html"]
    linked = {urlsplit(link).fragment for link in first.links}
    for name in tseval.__all__:
        value = getattr(tseval, name)
        if isinstance(value, type):
            assert f"{value.__module__}.{name}" in linked
        else:
            assert f"tseval.{name}" in first.ids
    ids = set().union(*(page.ids for page in pages.values()))
    for file in (ROOT / "tseval").rglob("*.py"):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        assert module.endswith("__main__") or f"module-{module}" in ids, module
    assert "tseval.scoring.protocol.SentenceModel.word_logprobs" in ids
    # Next to each class is a tree of all classes.
    named = {Path(urlsplit(link).path).name for link in pages[site / "build/api/tseval.scoring.html"].links}
    assert {page.name for page in site.glob("build/api/*.html")} - named == {"tseval.scoring.html"}


def test_who_looks_for_a_model_of_their_own_finds_its_page_and_no_decision(site):
    """A word in a title counts three times as much as one in a text; a result has all words of a query."""
    script = (site / "searchindex.js").read_text("utf-8")
    index = json.loads(script.removeprefix("Search.setIndex(").removesuffix(")"))
    place = index["docnames"].index("docs/your-checkpoint")

    def places(words, word):
        found = words.get(word, [])
        return {found} if isinstance(found, int) else set(found)

    for words in (["custom", "model"], ["pytorch"], ["state_dict"]):
        titled = set.intersection(*(places(index["titleterms"], word) for word in words))
        assert titled == {place}, words
    pseudo = {index["docnames"][at] for at in places(index["terms"], "pseudo")}
    assert ("docs/adapters" in pseudo, "docs/zoo" in pseudo) == (True, False)
    decisions = {at for at, name in enumerate(index["docnames"]) if "/decisions/" in name}
    assert decisions
    assert not decisions & set.union(*(places(index["terms"], word) for word in index["terms"]))


FIRST = {
    "custom model": "docs/your-checkpoint",
    "confidence interval": "docs/statistics",
    "GPU": "docs/use-a-gpu",
    "checkpoint": "docs/your-checkpoint",
    "hugging face": "docs/evaluate-a-hugging-face-model",
    "seeds": "docs/compare-seeds",
    "cluster": "docs/scaling",
    "leaderboard": "docs/publish-a-leaderboard",
    "CI": "docs/fail-a-ci-job",
}


@pytest.mark.parametrize("typed", FIRST)
def test_the_search_gives_the_guide_first(site, browser, typed):
    page = browser.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q={quote_plus(typed)}")
    page.wait_for_selector("#search-results ul.search > li")
    page.wait_for_function(
        "/found/.test(document.querySelector('#search-results .search-summary').textContent)"
    )
    results = page.locator("#search-results ul.search > li > a")
    assert urlsplit(results.first.get_attribute("href")).path == f"{FIRST[typed]}.html"
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_navigation_has_four_sections_and_no_page_is_wider_than_the_screen(site, browser, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    for name in ("index", "docs/README", "docs/tables", "build/api/commands"):
        page.goto((site / f"{name}.html").as_uri())
        captions = page.locator(".sidebar-tree .caption-text").all_text_contents()
        assert captions == ["Start", "Tutorials", "How-to guides", "Reference", "Background", "Project"]
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), name
    page.close()


def test_the_page_of_commands_has_every_option(site):
    text = (site / "build/api/commands.html").read_text("utf-8")
    shown = set(re.findall(r"--[a-z][a-z-]+", text))
    for path, command, _ in commands():
        if not isinstance(command, click.Group):
            assert f">{path}<" in text, path
            names = {name for option in command.params for name in option.opts if name.startswith("--")}
            assert names <= shown, path


def test_headings_of_tables_lead_to_the_glossary(pages, site):
    glossary = pages[site / "docs/glossary.html"].ids
    links = {urlsplit(link).fragment for link in pages[site / "docs/tables.html"].links if "#term-" in link}
    assert {"term-items", "term-eff-items", "term-accuracy", "term-95-interval", "term-ties"} <= links
    assert links <= glossary


def test_nothing_is_loaded_from_the_network(site, pages):
    for path, page in pages.items():
        assert [link for link in page.loaded if urlsplit(link).netloc] == [], path
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(https?:)?//|@import", style.read_text("utf-8")), style


def test_every_link_leads_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in {"http", "https", "mailto"}:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].ids):
                broken.append((path.name, link))
    assert broken == []


def test_broken_links_and_forgotten_pages_fail_the_build(tmp_path):
    # The repository's settings, but few pages and modules, so that the build is fast.
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "docs").mkdir()
    for pattern in ("*.py", "*.css", "*.js"):
        for file in (ROOT / "docs").glob(pattern):
            shutil.copy(file, tmp_path / "docs")
    index = "# Pages\n\n## Some\n\n- [zoo](zoo.md)\n- [tables](tables.md)\n- [surprisal](surprisal.md)\n"
    sound = {
        "tseval/__init__.py": '"""A package."""\n\n__all__ = []\n',
        "docs/README.md": f"{index}- [scoring](scoring.md)\n",
        "docs/scoring.md": "# Scoring\n",
        **{f"{name}.md": f"# {name}\n" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")},
        "leaderboards/zoo/README.md": "# Zoo\n",
    }
    faults = {
        "docs/zoo.md": "# Zoo\n\n[gone](gone.md)\n",
        "docs/tables.md": "# Tables\n\n[moved](scoring.md#gone)\n",
        "docs/surprisal.md": "# Surprisal\n\n![](figures/gone.svg)\n",
        "docs/forgotten.md": "# Forgotten\n",
    }
    for name, text in (sound | faults).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    done = make_docs(tmp_path)
    assert done.returncode != 0
    for page, message in {
        "docs/zoo.md": "cross-reference target not found: 'gone.md'",
        "docs/tables.md": "local id not found in doc 'docs/scoring': 'gone'",
        "docs/surprisal.md": "image file not readable: docs/figures/gone.svg",
        "docs/forgotten.md": "document isn't included in any toctree",
    }.items():
        assert re.search(rf"{page}\S* WARNING: .*{re.escape(message)}", done.stderr), done.stderr
    assert done.stderr.count("WARNING") == len(faults)
