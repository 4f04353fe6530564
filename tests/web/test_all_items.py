"""All items of a row on the page of `tseval report`, in a real browser, against `tseval items`."""

import json
import random
import re
import time
from base64 import b64decode
from math import log
from zlib import crc32, decompress

import pytest
from axe_playwright_python.sync_playwright import Axe
from in_process import call

import tseval
from tseval.scoring.protocol import ModelCard

pytestmark = pytest.mark.slow
LARGEST, FIRST_VIEW, SEARCH = 10_000_000, 1000, 1.0  # bytes, milliseconds, seconds
NOUNS = ["author", "pilot", "surgeon", "farmer", "manager", "customer", "officer", "teacher", "senator"]
VERBS = [("laughs", "laugh"), ("swims", "swim"), ("is", "are"), ("was", "were")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Make a report of two models over two rows; some words are unknown, some sentences are hostile."""
    folder = tmp_path_factory.mktemp("items")
    lines = ["case,construction,good,bad"]
    lines += [
        f"plain,Simple,the {noun} near the {other} {good} .,the {noun} near the {other} {bad} ."
        for noun in NOUNS for other in NOUNS[:3] for good, bad in VERBS[:2]
    ]  # fmt: skip
    lines += [
        "odd,Odd,the zzyzx laughs .,the zzyzx laugh .",
        "odd,Odd,the <img src=x onerror=alert(1)> laughs .,the <img src=x onerror=alert(1)> laugh .",
        "odd,Odd,the pilot who swims laughs .,the pilot laugh .",
    ]
    (folder / "pairs.csv").write_text("\n".join(lines) + "\n", "utf-8")
    for name, options in (("a", []), ("b", ["--normalise", "characters"])):
        ended = call(
            "run", "--model", "bundled:lstm", "--suite", "pairs.csv", "--quiet", "--out", name, *options,
            cwd=folder,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
    made = call("report", "a", "b", "--suite", "pairs.csv", "-o", "page.html", cwd=folder)
    assert made.returncode == 0, made.stderr
    return folder


def items_of(folder, run, *options):
    ended = call("items", run, "--suite", "pairs.csv", *options, "-o", "items.jsonl", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").splitlines()]


def open_row(page, name):
    """Open a row, and return the content below it."""
    page.evaluate("(name) => { document.getElementById(name).open = true; }", name)
    page.wait_for_selector(f"#{name} .found li")
    return page.locator(f"#{name} .all")


def show_all(row):
    while row.get_by_role("button").is_visible():
        row.get_by_role("button").click()
    return row.locator(".found > li")


def read(item):
    """Return name, outcome, and for each sentence its words, their surprisals, and the total."""
    sentences = [
        (
            line.locator(".bar > span, .bar > mark").all_inner_texts(),
            [float(text) for text in line.locator(".bar small").all_inner_texts()],
            float(line.locator(".num").inner_text()),
        )
        for line in item.locator(".sentence").all()
    ]
    return item.locator("p .muted").first.inner_text(), item.locator("strong").inner_text(), sentences


def test_every_item_of_a_row_is_there_in_the_order_of_margins(site, open_page):
    seen = open_page(site / "page.html")
    row = open_row(seen.page, "m0-r0")
    assert row.locator("[role=status]").inner_text() == "20 of 54 items"
    names = [item.locator("p .muted").first.inner_text() for item in show_all(row).all()]
    expected = items_of(site, "a", "--case", "plain", "--sort", "margin")
    assert names == [f"plain[{item['item']}]" for item in expected]
    for order, key in (("best", lambda item: -item["margin"]), ("closest", lambda item: abs(item["margin"]))):
        row.locator("select").last.select_option(order)
        first = row.locator(".found > li p .muted").first.inner_text()
        assert first == f"plain[{min(expected, key=key)['item']}]"
    row.locator("select").last.select_option("suite")
    assert row.locator(".found > li p .muted").first.inner_text() == "plain[0]"
    assert seen.is_quiet()


def test_words_have_the_surprisals_of_the_run_and_bars_of_their_heights(site, open_page):
    page = open_page(site / "page.html").page
    first = open_row(page, "m0-r0").locator(".found > li").first
    name, outcome, sentences = read(first)
    (item,) = (item for item in items_of(site, "a") if f"{item['case']}[{item['item']}]" == name)
    assert outcome == item["outcome"]
    scored = tseval.read_run(site / "a").sentences.set_index("sentence")
    for text, (words, surprisals, total) in zip((item["better"], item["worse"]), sentences, strict=True):
        assert words == text.split()
        assert surprisals == pytest.approx([-value for value in scored.loc[text, "words"]], abs=0.0051)
        assert total == pytest.approx(scored.loc[text, "logprob"], abs=0.0051)
    heights = first.locator(".bar i").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    numbers = [value for _, surprisals, _ in sentences for value in surprisals]
    tallest = max(heights)
    assert heights == pytest.approx([value / max(numbers) * tallest for value in numbers], abs=1.1)
    assert tallest > 20
    marked = [line.locator("mark").all_inner_texts() for line in first.locator(".sentence").all()]
    assert marked == [[item["better_differs"]], [item["worse_differs"]]]


def test_search_and_outcomes_choose_items(site, open_page):
    page = open_page(site / "page.html").page
    row = open_row(page, "m0-r0")
    items = items_of(site, "a", "--case", "plain")
    row.locator("input").fill("Surgeon near")
    expected = {item["item"] for item in items if "surgeon near" in item["better"]}
    assert (
        row.locator("[role=status]").inner_text()
        == f"{len(expected)} of {len(expected)} items, of 54 in the row"
    )
    shown = {
        int(re.search(r"\d+", text)[0]) for text in row.locator(".found > li p .muted").all_inner_texts()
    }
    assert shown == expected
    row.locator("input").fill("")
    row.locator("select").first.select_option("wrong")
    wrong = [item for item in items if item["outcome"] in ("wrong", "tie")]
    assert 0 < len(wrong) < len(items)
    assert show_all(row).count() == len(wrong)
    assert set(row.locator(".found strong").all_inner_texts()) <= {"wrong", "tie"}
    row.locator("input").fill("no such words")
    assert row.locator("[role=status]").inner_text() == "0 of 0 items, of 54 in the row"
    assert row.get_by_role("button").is_hidden()


def test_unknown_words_and_text_from_outside_are_shown_as_text(site, open_page):
    seen = open_page(site / "page.html")
    row = open_row(seen.page, "m0-r1")
    text = row.inner_text()
    assert "as the model sees it: the <unk> laughs ." in text
    assert "onerror=alert(1)>" in text
    assert seen.page.locator("img").count() == 0
    longer = row.locator("li", has_text="who").locator(".sentence")
    assert longer.first.locator("mark").all_inner_texts() == ["who", "swims", "laughs"]
    assert seen.is_quiet()


def test_the_items_without_a_script_get_their_bars(site, open_page):
    page = open_page(site / "page.html").page
    open_row(page, "m1-r0")
    examples = page.locator("#m1-r0 > .items > li")
    assert 4 <= examples.count() <= 9
    assert examples.locator(".sentence").count() == examples.locator(".sentence:has(.bars)").count()
    assert examples.first.locator(".across").inner_text().startswith("Other models: ")
    without = open_page(site / "page.html", java_script_enabled=False).page
    assert without.locator("#m1-r0 > .items > li").count() == examples.count()
    assert without.locator("#m1-r0 .all").is_hidden()


def test_a_row_is_decoded_only_when_it_is_opened(site, open_page):
    page = open_page(site / "page.html", init="window.opened = 0; const old = window.atob;"
                     "window.atob = (text) => { window.opened += 1; return old(text); };").page  # fmt: skip
    assert page.evaluate("window.opened") == 0
    open_row(page, "m0-r1")
    assert page.evaluate("window.opened") == 2


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_or_hard_to_read_at_any_width(site, open_page, width):
    page = open_page(site / "page.html", width=width).page
    row = open_row(page, "m0-r0")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = row.locator("*").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.right])"
    )
    assert all(left >= 0 and right <= width for left, right in boxes)
    row.scroll_into_view_if_needed()
    found = Axe().run(page, context="#m0-r0")
    assert found.response["violations"] == []


class Noise:
    """A model whose log-probabilities are a hash of all words so far, so that they compress badly."""

    card = ModelCard("noise", "own", "0" * 64, {"dtype": "float32"}, {"architecture": "noise"})

    def word_logprobs(self, sentences):
        scores = []
        for text in sentences:
            before, logprobs = 0, []
            for word in text.split():
                before = crc32(word.encode(), before)
                logprobs.append(log((before + 1) / 2**32) - (before % 997) / 200)
            scores.append(logprobs)
        return scores


@pytest.mark.slowest
def test_a_hundred_thousand_items_are_a_page_below_ten_megabytes_and_soon_seen(tmp_path, open_page):
    draw, pairs = random.Random(0), {}
    places = [
        f"{a} the {b} {c}" for a in ("near", "by", "behind") for b in ("old", "new", "tall") for c in NOUNS
    ]
    ends = ["today", "in the old house", "with the small dog", "and the man is tall", "for ten years"]
    while len(pairs) < 100_000:
        noun, (good, bad) = draw.choice(NOUNS), draw.choice(VERBS)
        start = f"the {noun} {draw.choice(places)} {draw.choice(places)}"
        end = draw.choice(ends)
        pairs[f"{start} {good} {end} ."] = f"{start} {bad} {end} ."
    lines = [f"c{place % 5},Row {place % 5},{good},{bad}" for place, (good, bad) in enumerate(pairs.items())]
    (tmp_path / "pairs.csv").write_text("case,construction,good,bad\n" + "\n".join(lines) + "\n", "utf-8")
    suite = tseval.load_suite(tmp_path / "pairs.csv")
    run = tseval.evaluate(Noise(), suite)
    page = tseval.report(run, tmp_path / "page.html", suite=str(tmp_path / "pairs.csv"))
    assert page.lacking is None
    assert (tmp_path / "page.html").stat().st_size < LARGEST
    seen = open_page(tmp_path / "page.html")
    paint = seen.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < FIRST_VIEW
    row = open_row(seen.page, "m0-r0")
    assert row.locator("[role=status]").inner_text() == "20 of 20,000 items"
    assert row.locator(".found .bar").count() > 20 * 2 * 10
    started = time.monotonic()
    row.locator("input").fill("surgeon near the old pilot")
    seen.page.wait_for_function(
        "document.querySelector('#m0-r0 [role=status]').textContent.includes('in the row')"
    )
    assert time.monotonic() - started < SEARCH
    assert seen.is_quiet()


def test_a_page_that_would_be_too_large_has_items_without_bars_and_says_so(site, open_page, monkeypatch):
    monkeypatch.setattr("tseval.web.report_page.MOST_CHARACTERS", 1000)
    tseval.report(site / "a", site / "small.html", suite=str(site / "pairs.csv"))
    page = open_page(site / "small.html").page
    row = open_row(page, "m0-r0")
    assert row.locator(".bar").count() == 0
    assert row.locator(".found .sentence .words").first.inner_text().startswith("the ")
    assert "The items have no surprisals of words" in page.locator(".bars-note").inner_text()
    text = (site / "small.html").read_text("utf-8")
    block = re.search(r'id="m0-r0-items">([^<]*)<', text)[1]
    assert set(json.loads(decompress(b64decode(block)))["words"]) == {0}
