"""A page shows hostile texts of a board or suite and executes none of them."""

import json

import pytest
import yaml
from forged import print_anew, seal_anew, with_key
from in_process import call

from tseval.adapters import open_model
from tseval.boards import About, read_entry, write_entry
from tseval.boards.entries import add_entries
from tseval.boards.folder import new_board
from tseval.errors import BoardError
from tseval.evaluation import evaluate
from tseval.suites import load_suite

HOSTILE = [
    "<script>owned()</script>", "</script><script>owned()</script>", "<!--<script>owned()//",
    "--><script>owned()</script><!--", "<img src=x onerror=owned()>", '"><img src=x onerror=owned()>',
    "'><img src=x onerror=owned()>", '" onmouseover=owned() x="', "' onfocus=owned() autofocus x='",
    "<svg onload=owned()>", "<svg><script>owned()</script></svg>",
    "<iframe srcdoc='<script>parent.owned()</script>'>", "<iframe src=https://example.org/a>",
    "<a href=javascript:owned()>a</a>", "javascript:owned()", "data:text/html,<script>owned()</script>",
    "<body onload=owned()>", "<style>@import 'https://example.org/a.css'</style>",
    "</style><script>owned()</script>", "</title><script>owned()</script>",
    "</textarea><script>owned()</script>", "<link rel=stylesheet href=https://example.org/a.css>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>", "<base href=https://example.org/>",
    "<form action=https://example.org/><button autofocus>a</button></form>",
    "<details open ontoggle=owned()>", "{{ owned() }}{% raw %}", "${owned()}`;owned();`",
    "\\u003cscript\\u003eowned()\\u003c/script\\u003e &lt;script&gt;owned()&lt;/script&gt;",
    "a\u2028owned()\u2029\u202e\u0000\u001b]0;b\u0007 ﬀ 🙂",
]  # fmt: skip
FOREIGN = "img, iframe, base, form, [onload], [onerror], [onfocus], [ontoggle]"
WATCH = "window.owned = () => { window.wasOwned = (window.wasOwned || 0) + 1; }"


def act(page):
    """Use every control of a page, so that it draws all its texts again."""
    for name in ("intervals", "flip"):
        page.check(f"#{name}")
    page.evaluate("document.querySelectorAll('#board .v').forEach((cell) => { cell.focus(); })")
    page.locator("#board thead button").first.click()
    page.uncheck("#flip")
    page.locator("#board thead button").first.click()
    page.evaluate(
        """() => {
          for (const one of document.querySelectorAll("select"))
            for (const { value } of one.options) {
              one.value = value;
              one.dispatchEvent(new Event("change"));
            }
        }"""
    )
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def assert_inert(seen):
    assert seen.page.evaluate("window.wasOwned ?? 0") == 0
    assert seen.is_quiet()
    assert seen.page.locator("script").count() <= 2
    assert seen.page.locator(FOREIGN).count() == 0


def published(*texts):
    """Make a board with hostile texts only: all texts in models and rows, the first in other fields."""
    first = texts[0]
    names = [*texts, f"{first} too"]
    models = [
        {"name": name, "validation_perplexity": name, "parameters": name, "spread": {name: "0.1"}}
        for name in texts
    ]
    rows = [
        {"dependency": text, "phenomenon": text, "construction": text, "contrast": text, "n_items": 9,
         "accuracy": dict(zip(names, ("0.25", *["0.9"] * len(texts)), strict=True)), "spread": {text: "0.01"}}
        for text in texts
    ]  # fmt: skip
    return {
        "format": 1, "name": first, "title": first, "source": first, "suite": first, "score": first,
        "decimals": 2, "notes": list(texts), "rows": [*rows, rows[0] | {"construction": "b"}],
        "models": [*models, {"name": names[-1], "validation_perplexity": None, "parameters": None}],
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_a_published_board_of_hostile_texts_is_inert(open_page, tmp_path, number):
    (tmp_path / "board.json").write_text(json.dumps(published(*HOSTILE[number::6])), "utf-8")
    done = call("board", "build", tmp_path, "-o", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    seen = open_page(tmp_path / "site" / "index.html", init=WATCH)
    act(seen.page)
    assert_inert(seen)


@pytest.mark.slow
def test_entries_and_items_of_hostile_texts_are_inert(open_page, tmp_path):
    """Each text is in every field: definition, entries and their checks, items and features."""
    pairs = [
        {"dependency": text, "phenomenon": f"{number} {text}", "construction": text, "case": f"c{number}",
         "good": f"{text} laughs", "bad": f"{text} laugh {turn}", "feature": f"{text}{turn}"}
        for number, text in enumerate(HOSTILE) for turn in "abc"
    ]  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), "utf-8")
    evaluate(open_model("bundled:lstm"), load_suite(tmp_path / "pairs.jsonl"), out=tmp_path / "run")
    board, everything = tmp_path / "board", "\n".join(HOSTILE)
    new_board(board, "../pairs.jsonl", title=" ".join(HOSTILE))
    checks = {}
    for number in range(0, len(HOSTILE), 5):
        with_key(tmp_path / "run", lambda key, number=number: key.update(fingerprint=f"{number:064x}"))
        seal_anew(tmp_path / "run")
        print_anew(tmp_path / "run")
        (folder,) = add_entries(board, [tmp_path / "run"], About(), f"model-{number}")
        texts = HOSTILE[number:][:5]
        content = yaml.safe_load(write_entry(read_entry(folder)))
        content["about"] |= dict.fromkeys(
            ("revision", "licence", "training_data", "contact"), " ".join(texts)
        )
        checks[folder.name] = [
            {"level": "rerun", "by": text, "on": "2026-01-02"}
            for text in texts  # other dates are refused
        ]
        (folder / "entry.yaml").write_text(yaml.safe_dump(content), "utf-8")
    (board / "checks.yaml").write_text(yaml.safe_dump({"format": 1, "checks": checks}), "utf-8")
    definition = yaml.safe_load((board / "board.yaml").read_text("utf-8"))
    definition |= {"text": everything, "source": everything, "rules": HOSTILE}
    (board / "board.yaml").write_text(yaml.safe_dump(definition), "utf-8")
    done = call("board", "build", board, "-o", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    seen = open_page(tmp_path / "site" / "index.html", init=WATCH)
    act(seen.page)
    assert_inert(seen)
    text = seen.page.locator("body").inner_text()
    assert "owned()" in text  # the text is visible
    assert not {"\u202e", "\u2028", "\x1b"} & set(text)
    entry = open_page(tmp_path / "site" / "entries" / "model-0.html", init=WATCH)
    entry.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert "<img src=x onerror=owned()> laughs" in entry.page.locator("body").inner_text()
    assert_inert(entry)
    report = call("report", tmp_path / "run", "--suite", tmp_path / "pairs.jsonl", "--title", everything,
                  "-o", tmp_path / "own.html")  # fmt: skip
    assert (report.returncode, report.stderr) == (0, f"{tmp_path / 'own.html'}\n")
    own = open_page(tmp_path / "own.html", init=WATCH)
    act(own.page)
    assert_inert(own)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_entry_has_such_a_name(tmp_path, text):
    folder = tmp_path / "entry"
    folder.mkdir()
    (folder / "entry.yaml").write_text(
        yaml.safe_dump({
            "format": 1, "name": text, "signature": "", "fingerprint": "", "about": {}, "rows": [],
        }), "utf-8",
    )  # fmt: skip
    with pytest.raises(BoardError, match=r"entry\.yaml"):
        read_entry(folder)


def test_scripts_of_others_do_not_run_even_where_one_gets_in(open_page, tmp_path):
    """Test the policy itself: scripts and event handlers that are put into a page by hand are refused."""
    (tmp_path / "board.json").write_text(json.dumps(published("a")), "utf-8")
    assert call("board", "build", tmp_path, "-o", tmp_path / "site").returncode == 0
    page = tmp_path / "site" / "index.html"
    text = page.read_text("utf-8")
    page.write_text(
        text.replace("</h1>", "</h1><script>owned()</script><p id=p onclick=owned()>a</p>", 1), "utf-8"
    )
    seen = open_page(page, init=WATCH)
    seen.page.locator("#p").click()
    assert seen.page.evaluate("window.wasOwned ?? 0") == 0
    assert sum("Content Security Policy" in said for said in seen.said) >= 2
