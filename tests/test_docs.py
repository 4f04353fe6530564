"""The documentation keeps its promises: links lead somewhere, names exist."""

import hashlib
import json
import re
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

import pytest
from pages import CODE, PAGES, ROOT, follow, page_id
from supplied import MARVIN_LINZEN
from systems import needs_posix

from tseval import load_model
from tseval.evaluation import run_key
from tseval.suites import load_suite
from tseval.suites.agreement import EXAMPLE_COLUMNS

CASES = {case.name: case for case in load_suite("marvin_linzen").cases}

INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Heading anchors as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        path = page.parent / target if target else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_cases_that_are_named_exist(page: Path) -> None:
    # A name in code that begins like a case, `simple_...`, is meant to be one.
    first_words = {name.partition("_")[0] for name in CASES}
    named = {
        name for name in INLINE.findall(page.read_text("utf-8")) if re.fullmatch(r"[a-z]+_[a-z_]+", name)
    }
    named -= EXAMPLE_COLUMNS.keys()  # `subj_index` is a column
    assert {name for name in named if name.partition("_")[0] in first_words} <= CASES.keys()


def test_the_index_lists_every_page() -> None:
    linked = {
        (ROOT / "docs" / link).resolve()
        for link in LINK.findall((ROOT / "docs/README.md").read_text("utf-8"))
    }
    assert linked == {page.resolve() for page in ROOT.glob("docs/**/*.md") if page.name != "README.md"}


def test_a_decision_fits_a_screen() -> None:
    for page in ROOT.glob("docs/decisions/*.md"):
        text = page.read_text("utf-8")
        assert len(text.splitlines()) <= 30, page.name
        assert text.index("**Context.**") < text.index("**Decision.**") < text.index("**Consequences.**")


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent == ROOT], ids=page_id)
def test_targets_of_make_exist(page: Path) -> None:
    if not (ROOT / "Makefile").exists():
        pytest.skip("no Makefile: not a checkout")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = re.findall(r"(?:^    |`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)
    assert set(named) <= targets


def published_rows() -> list[tuple[str, str, str, str]]:
    """Row, case, items and digest of every case on the page of the suite."""
    page = (ROOT / "docs/marvin-linzen.md").read_text("utf-8")
    return re.findall(r"^\| (.+?) \| `(\w+)` \| ([\d,]+) \| `(\w{16})` \|$", page, re.MULTILINE)


def test_the_suites_page_lists_its_rows_in_order() -> None:
    listed = [(row, case, items) for row, case, items, _ in published_rows()]
    assert listed == [(case.construction, case.name, f"{case.n_items:,}") for case in CASES.values()]


def test_the_grammars_expand_to_the_digests_on_the_page() -> None:
    for _, name, _, digest in published_rows():
        lines = sorted("\t".join(item.sentences.values()) for item in CASES[name].items())
        assert hashlib.sha256("\n".join(lines).encode()).hexdigest().startswith(digest), name


def test_the_digests_on_the_page_are_the_published_ones() -> None:
    published = json.loads(MARVIN_LINZEN.read_text("utf-8"))["cases"]
    assert {name: digest for _, name, _, digest in published_rows()} == {
        name: case["sha256_all_lines_sorted"][:16] for name, case in published.items()
    }


def test_the_suites_page_shows_first_items() -> None:
    page = (ROOT / "docs/marvin-linzen.md").read_text("utf-8")
    examples = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert len(examples) == 5
    for name, sentences in examples:
        assert sentences == " / ".join(next(CASES[name].items()).sentences.values())


def test_the_tables_page_shows_the_signature_of_a_run() -> None:
    (shown,) = re.findall(r"^    (suite:\S+)$", (ROOT / "docs/tables.md").read_text("utf-8"), re.MULTILINE)
    key = run_key(load_model("bundled:lstm"), load_suite("marvin_linzen"))
    assert OutputChecker().check_output(shown + "\n", key.signature + "\n", ELLIPSIS)


@needs_posix
def test_the_suites_page_is_reproduced_by_its_commands(tmp_path: Path) -> None:
    followed = follow(ROOT / "docs/marvin-linzen.md", tmp_path)
    assert len(followed) == 4
    for command in followed:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"
