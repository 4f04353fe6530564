"""The first view of a page: its content, and no overlaps, on small and large screens."""

import re
import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from in_process import succeed
from page_layout import first_number, misplaced

from tseval.report.published import BUNDLED_BOARDS

pytestmark = pytest.mark.slow

LONG = "A-model-with-a-name-that-nobody-would-like-to-read-in-a-table"[:60]
UNBROKEN = "M" * 60
SIZES = {390: 844, 1280: 800}
PARTS = ["accuracy", "compare", "items", "models", "about", "submit", "cite"]


@pytest.fixture(scope="module")
def sites(three, tmp_path_factory):
    """Build pages: a board with long names, one row and one model, published accuracies, a zoo."""
    root = tmp_path_factory.mktemp("sites")
    shutil.copytree(three.board, root / "long")
    shutil.copy(three.board.parent / "pairs.jsonl", root)
    for old, new in (("model-9", LONG), ("model-14", UNBROKEN)):
        succeed("board", "rename", root / "long/entries" / old, new)
    definition = root / "long/board.yaml"
    ruled = definition.read_text("utf-8").replace("rules: []", "rules: [Enter only your own models.]")
    definition.write_text(f"{ruled}address: https://example.org/board\n", "utf-8")
    (root / "one.jsonl").write_text(
        '{"good": "the author laughs .", "bad": "the author laugh ."}\n'
        '{"good": "the pilots laugh .", "bad": "the pilots laughs ."}\n',
        "utf-8",
    )
    run = "run", "--model", "bundled:lstm", "--suite", root / "one.jsonl", "--quiet"
    succeed(*run, "--out", root / "a")
    succeed(*run, "--precision", "bfloat16", "--out", root / "b")
    succeed("board", "new", root / "one", "--suite", root / "one.jsonl", "--title", "One row")
    succeed("board", "add", root / "one", root / "a")
    succeed("board", "add", root / "one", root / "b", "--name", "second")
    succeed("board", "write", root / "one")
    boards = {"long": root / "long", "one": root / "one", "bhatt2020": "bhatt2020", "public": "public"}
    for name, board in boards.items():
        succeed("board", "build", board, "-o", root / "sites" / name)
    return root / "sites"


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", ["long", "one", "bhatt2020", "public"])
def test_nothing_overlaps_and_the_first_screen_has_a_number(open_page, sites, name, width):
    page = open_page(sites / name / "index.html", width=width).page
    assert misplaced(page) == []
    assert first_number(page) < SIZES[width]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # The other layout, with intervals.
    page.evaluate("document.querySelector('#choices').open = true")
    page.check("#intervals")
    page.locator("#flip").click()
    assert misplaced(page) == []


@pytest.mark.parametrize("width", SIZES)
def test_nothing_overlaps_on_the_page_of_an_entry(open_page, sites, width):
    for name in (LONG, UNBROKEN):
        page = open_page(sites / "long/entries" / f"{name}.html", width=width).page
        page.locator("summary").nth(2).click()
        assert misplaced(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_table_that_is_cut_says_so_and_the_keyboard_scrolls_it(open_page, sites):
    page = open_page(sites / "bhatt2020/index.html", width=390).page
    area = page.locator("#accuracy .scroll")
    assert area.evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert page.locator("#accuracy .hint").is_visible()
    assert area.get_attribute("tabindex") == "0"
    wide = open_page(sites / "one/index.html", width=1280).page
    assert not wide.locator("#accuracy .hint").is_visible()


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", ["long", "one", "bhatt2020", "public"])
def test_axe_finds_nothing_at_any_width(open_page, sites, name, width):
    page = open_page(sites / name / "index.html", width=width).page
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_page_opens_with_what_is_measured_and_folds_digests(open_page, sites):
    page = open_page(sites / "long/index.html").page
    first = page.locator(".lead").inner_text()
    assert first.startswith(
        "3 language models on 640 pairs of sentences: one is grammatical, the other is not."
    )
    assert first.endswith("Each number is the share that is right: 1 is best, 0.5 is guessing.")
    seen = page.locator("body").inner_text()
    assert not re.search(r"\b[0-9a-f]{12,}\b", seen.partition("@misc")[0])
    page.get_by_text("Suite, source and digests").click()
    assert re.search(r"\b[0-9a-f]{64}\b", page.locator("#cite dl").first.inner_text())
    ids = page.eval_on_selector_all("main > section", "(all) => all.map((one) => one.id)")
    assert [name for name in ids if name in PARTS] == PARTS
    assert "Submit a model" in seen
    assert "tseval board submit runs/mine long" in seen
    assert "tseval board rescore long" in seen
    page.get_by_text("What these checks cannot detect").click()
    assert "an entry that gives its model a false name" in page.locator("#cite").inner_text()


def test_full_names_are_titles(open_page, sites):
    page = open_page(sites / "long/index.html").page
    titles = page.eval_on_selector_all("#board thead button", "(all) => all.map((one) => one.title)")
    assert {LONG, UNBROKEN} <= {*titles}


def test_a_board_with_one_row_has_no_mean_of_it(open_page, sites):
    page = open_page(sites / "one/index.html").page
    table = page.locator("#board").inner_text()
    assert "Mean" not in table
    assert re.search(r"Rank by (mean )?accuracy", table)
    assert page.locator("#said").inner_text().count("second") == 1
    assert "Mean:" not in page.locator("#pair").inner_text()
    readme = (sites.parent / "one/README.md").read_text("utf-8")
    assert "Mean accuracy" not in readme
    assert "mean rank" not in readme


def test_the_readme_lists_models_by_rank():
    text = (BUNDLED_BOARDS / "zoo/README.md").read_text("utf-8")
    section = text.partition("## Which ranks are known")[2].partition("\n## ")[0]
    ranks = re.findall(r"\| +(\d+) \[", section)
    assert [int(rank) for rank in ranks] == sorted(map(int, ranks))
    assert len(ranks) == 11
