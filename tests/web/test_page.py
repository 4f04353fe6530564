"""The page of a board in a real browser: its content, its actions and its requests."""

import json
import re
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from statistics import mean, stdev
from threading import Thread

import pytest
from axe_playwright_python.sync_playwright import Axe
from in_process import call
from site_links import dead_links

from tseval.report.numbers import format_difference, format_interval, format_share
from tseval.web.lines import N_SHADES, shade

pytestmark = pytest.mark.slow

ROWS = "#board tbody tr:not(.section):not(.group)"
LARGEST, LARGEST_INDEX = 2_000_000, 300_000  # bytes
LONGEST, FIRST_VIEW = 60, 1000  # seconds, milliseconds


@pytest.fixture(scope="module")
def told(three):
    """Return the data that `tseval table` gives to programs."""
    done = call("table", three.board, "--format", "json")
    assert done.returncode == 0
    return json.loads(done.stdout)


@pytest.fixture
def seen(open_page, three):
    return open_page(three.index)


def headings(page):
    return [
        text.rstrip(" ↓↑") for text in page.locator("#board thead tr").last.locator("th").all_inner_texts()
    ]


def column(page, number):
    """Return the numbers of a column in the rows of the table's body, by group."""
    groups = page.evaluate(
        """(number) => {
          const groups = [];
          for (const row of document.querySelectorAll("#board tbody tr")) {
            if (row.className === "section" && row.textContent.startsWith("Mean")) break;
            if (row.className) groups.push([]);
            else groups.at(-1).push(row.cells[number].querySelector(".v").firstChild.textContent);
          }
          return groups.filter((group) => group.length);
        }""",
        number,
    )
    return [[float(text) for text in group] for group in groups]


@pytest.mark.slowest
def test_fifty_models_over_twenty_rows_are_small_soon_built_and_soon_seen(open_page, built):
    seen = open_page(built.index)
    assert built.seconds < LONGEST
    assert built.index.stat().st_size < LARGEST_INDEX
    assert dead_links(built.site) == []
    assert max(page.stat().st_size for page in (built.site / "entries").iterdir()) < LARGEST
    assert len(list((built.site / "entries").iterdir())) == 50
    assert min(first_view(seen.page) for _ in range(3)) < FIRST_VIEW  # other processes may delay a view
    assert seen.page.locator("#status").inner_text() == "50 of 50 models, 20 of 20 rows"
    assert seen.said == []
    assert {*seen.asked} <= {seen.page.url}  # the page itself, loaded again


def first_view(page):
    """Reload a page; return the milliseconds until its first paint and until everything is there."""
    page.reload()
    while not page.evaluate("performance.getEntriesByType('paint').length"):
        page.wait_for_timeout(20)  # the page's policy forbids code that would wait inside the page
    return page.evaluate(
        "Math.max(performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart, "
        "...performance.getEntriesByType('paint').map((one) => one.startTime))"
    )


def test_numbers_are_those_of_the_table(seen, told):
    cells = seen.page.evaluate(
        """() => [...document.querySelectorAll("#board tbody tr")].filter((row) => !row.className).map(
          (row) => [...row.cells].slice(1).map((cell) => {
            const own = cell.querySelector(".v");
            const ends = cell.querySelector("small")?.textContent.trim();
            return [cell.className, own.firstChild.textContent, ends, own.dataset.rank];
          }))"""
    )
    means = told["means"][-1]["accuracy"]
    names = sorted(means, key=means.get, reverse=True)
    assert headings(seen.page)[1:] == names
    by_model = {name: [row for row in told["rows"] if row["model"] == name] for name in names}
    for place, name in enumerate(names):
        for row, cell in zip(by_model[name], (line[place] for line in cells), strict=False):
            assert cell[:3] == [
                f"h{shade(row['accuracy'])}", format_share(row["accuracy"]),
                format_interval((row["low"], row["high"])),
            ]  # fmt: skip
            low, high = row["rank_low"], row["rank_high"]
            assert cell[3] == f"{row['rank']} [{low}]" if low == high else f"{row['rank']} [{low}–{high}]"
        for over, cell in zip(told["means"], (line[place] for line in cells[20:]), strict=False):
            assert cell[1:3] == [
                format_share(over["accuracy"][name]),
                format_interval((over["low"][name], over["high"][name])),
            ]
        assert float(cells[20 + 2 * len(told["means"]) - 1][place][1]) == pytest.approx(
            told["means"][-1]["rank"][name], abs=0.01
        )


def test_shades_part_at_chance():
    assert [shade(value) for value in (0, 0.5, 1)] == [0, N_SHADES // 2, N_SHADES - 1]
    assert all(shade(0.5 - off) + shade(0.5 + off) == N_SHADES - 1 for off in (0.04, 0.1, 0.3, 0.49))


def test_a_click_sorts_rows_within_their_groups_and_a_third_undoes_it(seen):
    page = seen.page
    before = column(page, 1)
    expected = [sorted(group, reverse=True) for group in before]
    assert before != expected
    button = page.get_by_role("button", name="lstm", exact=True)  # the best model is the first
    button.click()
    assert column(page, 1) == expected
    assert page.locator("[aria-sort=descending]").all_inner_texts() == ["lstm"]
    assert page.evaluate("document.activeElement.textContent") == "lstm"  # the keyboard focus stays there
    page.keyboard.press("Enter")
    assert column(page, 1) == [group[::-1] for group in expected]
    page.keyboard.press("Enter")
    assert column(page, 1) == before
    assert page.locator("[aria-sort]").count() == 0


def test_models_are_sorted_by_mean_or_by_any_row_of_the_other_layout(seen, told):
    page = seen.page
    means = told["means"][-1]["accuracy"]
    best = sorted(means, key=means.get, reverse=True)
    assert headings(page)[1:] == best
    page.select_option("#order", "board")
    assert headings(page)[1:] == sorted(best)
    page.check("#flip")
    assert page.locator("#board tbody th").all_inner_texts() == sorted(best)
    leads = ["Mean, all 20 rows", "Rank by mean accuracy"]
    assert headings(page)[:5] == [*leads, "Construction 0", "Construction 1", "Construction 2"]
    page.locator("#board thead tr").last.get_by_role("button").nth(4).click()
    values = [float(v) for v in page.locator(f"{ROWS} td:nth-child(6) .v").evaluate_all(
        "(all) => all.map((one) => one.firstChild.textContent)")]  # fmt: skip
    assert values == sorted(values, reverse=True)
    assert page.locator("[aria-sort]").inner_text() == "Construction 2"
    page.uncheck("#flip")
    assert page.locator(ROWS).first.locator("th").inner_text() == "Construction 0"


def test_models_and_phenomena_are_filtered_and_the_page_says_how_many(seen):
    page = seen.page
    page.fill("#filter", "MODEL-")
    assert headings(page)[1:] == ["model-9", "model-14"]
    page.select_option("#phenomenon", "Polarity")
    assert page.locator("#status").inner_text() == "2 of 3 models, 5 of 20 rows"
    groups = page.locator("#board tbody tr.group").all_inner_texts()
    assert groups == ["Polarity"]
    page.fill("#filter", "nobody")
    assert page.locator("#status").inner_text() == "0 of 3 models, 5 of 20 rows"
    page.fill("#filter", "")
    page.select_option("#phenomenon", "")
    assert page.locator("#status").inner_text() == "3 of 3 models, 20 of 20 rows"
    assert seen.is_quiet()


def test_what_is_known_of_a_cell_is_told_on_hover_on_focus_and_in_the_text(seen, told):
    page = seen.page
    first = next(row for row in told["rows"] if row["model"] == "lstm")
    ends = format_interval((first["low"], first["high"]))
    page.locator(f"{ROWS} .v").first.hover()
    tip = page.locator("#tip").inner_text()
    assert f"95% interval {ends}" in tip
    assert f"rank {first['rank']} [" in tip
    assert f"{first['n_items']} items" in tip
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()
    page.locator(f"{ROWS} .v").first.focus()
    assert page.locator("#tip").is_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "tip"
    for key, number in (("ArrowRight", 1), ("ArrowDown", 4), ("ArrowLeft", 3), ("ArrowUp", 0), ("End", 2)):
        page.keyboard.press(key)
        assert page.locator(f"{ROWS} .v").nth(number).evaluate("(one) => one === document.activeElement")
    # The whole table is one tab stop; the next stop is after it.
    assert page.locator('#board .v[tabindex="0"]').count() == 1
    shown = page.locator(f"{ROWS} small").first
    assert not shown.is_visible()
    page.check("#intervals")
    assert shown.inner_text() == ends


def test_a_cell_leads_to_the_parts_and_items_of_its_row(seen):
    page = seen.page
    page.locator(f"{ROWS} a.v").nth(3 * 6 + 1).focus()  # second model, seventh row
    page.keyboard.press("Enter")
    page.wait_for_url("**/entries/model-9.html#r6")
    row = page.locator("details[open]")
    assert row.count() == 1
    assert row.locator(".rowname").inner_text() == "Construction 1"
    assert "32 items" in row.inner_text()
    assert {"verb"} == set(row.locator("tbody th").all_inner_texts())
    items = row.locator(".items > li")
    assert 4 <= items.count() <= 9
    for sentence in items.first.locator(".sentence").all():
        marked = sentence.locator("mark").all_inner_texts()
        assert len(marked) == 1
        assert re.fullmatch(r"\w+ -\d+\.\d\d", marked[0])
    scores = [float(text) for text in items.first.locator(".sentence .num").all_inner_texts()]
    outcome = items.first.locator("strong").inner_text()
    assert outcome == ("right" if scores[0] > scores[1] else "wrong")
    page.get_by_role("link", name="Fifty models").click()
    page.wait_for_url("**/index.html")
    assert seen.said == []


def test_two_models_compare_as_the_command_beside_them_says(seen, three, told):
    page = seen.page
    page.select_option("#first", label="model-14")
    page.select_option("#second", label="lstm")
    command = page.locator("#pair-command").inner_text().split()
    assert command[:2] == ["tseval", "table"]
    done = call(*command[1:], "--format", "json", cwd=three.board.parent)
    expected = json.loads(done.stdout)["rows"]
    shown = [row.split("\t") for row in page.locator("#pair tbody tr").all_inner_texts()]
    assert len(shown) == len(expected) == 20 + len(told["means"])
    for row, cells in zip(expected, shown, strict=True):
        assert cells[3:5] == [
            format_difference(row["difference"]),
            format_interval((row["low"], row["high"])),
        ]
        assert cells[-1] == row["outcome"]
    assert {row["outcome"] for row in expected} > {"undecided"}
    # In the opposite direction, everything is reversed.
    page.select_option("#first", label="lstm")
    page.select_option("#second", label="model-14")
    turned = {"better": "worse", "worse": "better"}
    other = [row.split("\t") for row in page.locator("#pair tbody tr").all_inner_texts()]
    assert [cells[-1] for cells in other] == [turned.get(cells[-1], cells[-1]) for cells in shown]
    assert page.locator("#pair svg").count() == len(shown)


FORMS = {"csv": "csv", "tex": "latex"}


@pytest.mark.parametrize("form", FORMS)
def test_downloads_are_what_the_command_prints(seen, three, form):
    with seen.page.expect_download() as waited:
        seen.page.locator(f'[data-file="{form}"]').click()
    assert waited.value.suggested_filename == f"board.{form}"
    text = waited.value.path().read_text("utf-8")
    assert text == call("table", three.board, "--format", FORMS[form]).stdout
    assert seen.is_quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_a_reader_could_not_read(open_page, three, scheme):
    page = open_page(three.index, scheme).page
    page.check("#intervals")
    page.locator(f"{ROWS} .v").first.focus()  # with details of a cell next to it
    assert violations(page) == ""
    page.check("#flip")
    page.locator("#board thead tr").last.get_by_role("button").nth(2).click()
    assert violations(page) == ""
    entry = open_page(three.site / "entries" / "model-9.html", scheme).page
    entry.locator("summary").nth(2).click()
    assert entry.locator("details[open] mark").count() > 4
    assert violations(entry) == ""


def violations(page):
    found = Axe().run(page)
    return found.generate_report() if found.violations_count else ""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_it_works_from_a_server_too_and_asks_it_for_nothing(open_page, three):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=three.site.parent))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        seen = open_page(f"http://127.0.0.1:{server.server_port}/{three.site.name}/index.html")
        assert seen.page.locator("#status").inner_text() == "3 of 3 models, 20 of 20 rows"
        assert seen.is_quiet()
    finally:
        server.shutdown()
        server.server_close()


def test_without_scripts_the_numbers_are_there(open_page, three, told):
    page = open_page(three.index, java_script_enabled=False).page
    assert page.locator("#board tbody b").first.inner_text() == format_share(told["rows"][0]["accuracy"])
    assert page.locator("#controls").is_hidden()


def test_layout_order_and_filters_stand_in_the_address(seen, open_page):
    page = seen.page
    assert "#" not in page.url
    page.check("#flip")
    page.fill("#filter", "model")
    page.select_option("#order", "name")
    page.select_option("#phenomenon", "Polarity")
    again = open_page(page.url).page
    for shown in (page, again):
        assert shown.locator("#board tbody th").all_inner_texts() == ["model-14", "model-9"]
        assert shown.locator("#status").inner_text() == "2 of 3 models, 5 of 20 rows"
    again.uncheck("#flip")
    again.fill("#filter", "")
    again.select_option("#order", "accuracy")
    again.select_option("#phenomenon", "")
    assert "#" not in again.url


def test_the_keyboard_is_soon_at_the_first_cell_and_from_there_at_what_sorts(seen):
    page, active = seen.page, "document.activeElement.textContent"
    page.keyboard.press("Tab")
    assert page.evaluate(active) == "To the table"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement === document.querySelector('#board .v')")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(active) == headings(page)[2]
    page.keyboard.press("ArrowDown")
    assert page.locator(f"{ROWS} .v").nth(1).evaluate("(one) => one === document.activeElement")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_screen_scrolls_tables_and_not_the_page(open_page, three, built, width):
    first = {site.name: next((site / "entries").iterdir()) for site in (three.site, built.site)}
    for path in (three.index, built.index, *first.values(), built.site / "pairs/model-7.html"):
        page = open_page(path, width=width).page
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.locator("h1").is_visible()


def test_pairs_of_many_models_are_compared_on_a_page_of_the_first(open_page, built):
    seen = open_page(built.index)
    seen.page.select_option("#first", label="model-7")
    seen.page.select_option("#second", label="lstm")
    seen.page.click("#apart")
    seen.page.wait_for_url("**/pairs/model-7.html#lstm")
    shown = [row.split("\t") for row in seen.page.locator("#pair tbody tr").all_inner_texts()]
    two = ("board/entries/model-7", "board/entries/lstm", "--against", "lstm")
    done = call("table", *two, "--format", "json", cwd=built.board.parent)
    rows = json.loads(done.stdout)["rows"]
    assert [cells[-1] for cells in shown] == [row["outcome"] for row in rows]
    assert [cells[3] for cells in shown] == [format_difference(row["difference"]) for row in rows]


def test_printed_it_has_the_table_and_no_controls(open_page, three):
    page = open_page(three.index, "dark").page
    page.emulate_media(media="print")
    assert not page.locator("#controls").is_visible()
    assert page.locator("#board").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_seeds_are_shown_one_by_one_and_as_means(open_page, three, told, tmp_path):
    shutil.copy(three.board.parent / "pairs.jsonl", tmp_path)
    board, site = tmp_path / "board", tmp_path / "site"
    shutil.copytree(three.board, board)
    with (board / "board.yaml").open("a", encoding="utf-8") as file:
        file.write("seeds: {noisy: [model-9, model-14]}\n")
    assert call("board", "write", board).returncode == 0
    assert call("board", "build", board, "-o", site).returncode == 0
    names = ["lstm", "model-14", "model-9"]
    assert sorted(path.stem for path in (site / "entries").iterdir()) == names
    seen = open_page(site / "index.html")
    assert sorted(headings(seen.page)[1:]) == names
    assert seen.page.locator("#models .badge.published").count() == 1  # in the legend; no entry has it
    means = seen.page.locator("#seeds table")
    assert means.locator("thead th").all_inner_texts()[1:] == ["lstm", "noisy"]
    cells = means.evaluate(
        """(table) => [...table.tBodies[0].rows].filter((row) => !row.className).map(
          (row) => [...row.cells].slice(1).map((cell) => [
            cell.className, cell.querySelector(".v").firstChild.textContent,
            cell.querySelector("small")?.textContent.trim()]))"""
    )
    of = {name: [row for row in told["rows"] if row["model"] == name] for name in names}
    for own, one, other, (alone, noisy) in zip(*of.values(), cells, strict=False):
        assert alone == [
            f"h{shade(own['accuracy'])}", format_share(own["accuracy"]),
                format_interval((own["low"], own["high"])),
        ]  # fmt: skip
        seeds = [one["accuracy"], other["accuracy"]]
        assert noisy[:2] == [
            f"h{shade(mean(seeds))}",
            f"{format_share(mean(seeds))} ± {format_share(stdev(seeds))}",
        ]
        low, high = map(float, noisy[2].split(" to "))
        assert low <= mean(seeds) <= high
    ranks = [text for _, text, _ in cells[-1]]
    assert all(re.fullmatch(r"[12] \[[12](–2)?\]", rank) for rank in ranks)
    page = (board / "README.md").read_text("utf-8")
    assert f" {ranks[0]} |" in page
    assert f" {cells[0][1][1]} |" in page
    assert seen.is_quiet()
