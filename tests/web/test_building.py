"""Pages are built, rebuilt, and refused with one message; these tests need no browser."""

import json
import os
import re
import shutil

import pytest
from forged import add_and_write
from in_process import call
from site_links import dead_links
from small import make_case, make_run, make_suite
from systems import needs_posix

from tseval.adapters import open_model
from tseval.boards import About, Checked, Entry, sources
from tseval.boards.folder import new_board
from tseval.evaluation import evaluate
from tseval.report.columns import column_of
from tseval.report.numbers import format_n_eff
from tseval.report.published import BUNDLED_BOARDS, bundled_boards
from tseval.runs import read_run
from tseval.suites import load_suite
from tseval.web.answers import Verdicts
from tseval.web.citation import bibtex
from tseval.web.facts import facts_of
from tseval.web.item_choice import choose_items, draw_items
from tseval.web.items import show_items

NOUNS = ("author", "pilot", "guard", "chef")
VERBS = (("laughs", "laugh"), ("is", "are"))
PAIRS = [(f"the {noun} {good} .", f"the {noun} {bad} .", good) for noun in NOUNS for good, bad in VERBS]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make two runs of one suite, and a board of them."""
    root = tmp_path_factory.mktemp("made")
    lines = [json.dumps({"good": good, "bad": bad, "verb": verb}) for good, bad, verb in PAIRS]
    (root / "pairs.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (root / "fewer.jsonl").write_text("\n".join(lines[:5]) + "\n", "utf-8")
    model = open_model("bundled:lstm")
    evaluate(model, load_suite(root / "pairs.jsonl"), out=root / "run")
    evaluate(open_model("bundled:lstm", {"precision": "bfloat16"}), load_suite(root / "pairs.jsonl"),
             out=root / "second")  # fmt: skip
    new_board(root / "board", "../pairs.jsonl", title="Pairs of our own")
    add_and_write(root / "board", [root / "run"], About(licence="MIT"))
    add_and_write(root / "board", [root / "second"], About(), name="second")
    return root


@pytest.fixture
def root(made, tmp_path):
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def refused(*arguments):
    done = call(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled_boards())
def test_every_board_that_comes_along_has_a_page(tmp_path, monkeypatch, name):
    # As in the package: without the files that the numbers of zoos follow from.
    evidence = shutil.ignore_patterns("*.parquet", "manifest.json")
    shutil.copytree(BUNDLED_BOARDS / name, tmp_path / "leaderboards" / name, ignore=evidence)
    monkeypatch.setattr(sources, "BUNDLED_BOARDS", tmp_path / "leaderboards")
    done = call("board", "build", tmp_path / "leaderboards" / name, "-o", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert f"tseval table {name}" in page
    assert "style=" not in page  # the policy forbids it
    assert dead_links(tmp_path / "site") == []
    # None of our text ends the element around it.
    assert len(re.findall("</script", page)) == 2
    assert len(re.findall("</style", page)) == 1


def test_people_stand_beside_models_and_have_no_rank(tmp_path):
    assert call("board", "build", "blimp2020", "-o", tmp_path / "site").returncode == 0
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert (data["people"], len(data["models"])) == (["Human"], 4)
    lines = {
        re.search(r"<th[^>]*>([^<]*)", row)[1]: re.findall(r"<b>([^<]*)</b>", row)
        for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", page, re.DOTALL)
    }
    assert lines["anaphor_gender_agreement"][-1] == "0.960"
    assert lines["Mean arithmetic rank"] == ["3.32", "2.58", "2.7", "1.28", ""]


@pytest.mark.slow
def test_a_page_is_built_again_and_pages_of_entries_that_went_go(root):
    site = root / "site"
    assert call("board", "build", root / "board", "-o", site).returncode == 0
    first = {path: path.read_bytes() for path in site.rglob("*.html")}
    assert {path.name for path in first} == {"index.html", "lstm.html", "second.html"}
    assert call("board", "build", root / "board", "-o", site).returncode == 0
    assert {path: path.read_bytes() for path in site.rglob("*.html")} == first
    shutil.rmtree(root / "board" / "entries" / "second")
    (site / "entries" / "mine.html").write_text("not by tseval", "utf-8")
    assert call("board", "build", root / "board", "-o", site).returncode == 0
    assert sorted(path.name for path in site.rglob("*.html")) == ["index.html", "lstm.html", "mine.html"]


@pytest.mark.slow
def test_pages_are_the_same_where_scores_of_many_models_are_read_again(root, monkeypatch):
    monkeypatch.setattr("tseval.web.row_pages.MOST_NAMED", 0)  # as with many models
    pages = []
    for most in (16, 1):
        monkeypatch.setattr("tseval.runs.cache.MOST_WITH_SCORES", most)
        assert call("board", "build", root / "board", "-o", root / f"site-{most}").returncode == 0
        pages.append({path.name: path.read_bytes() for path in (root / f"site-{most}").rglob("*.html")})
    assert pages[0] == pages[1]


def test_each_model_has_its_own_effective_sample_size_and_many_models_have_none(tmp_path, monkeypatch):
    board = BUNDLED_BOARDS / "public"
    rows = json.loads(call("table", board, "--format", "json").stdout)["rows"]
    for most, has_sizes in ((8, True), (2, False)):  # the board has three models
        monkeypatch.setattr("tseval.web.board_site.MOST_INLINE", most)
        assert call("board", "build", board, "-o", tmp_path / f"{most}").returncode == 0
        page = (tmp_path / f"{most}" / "index.html").read_text("utf-8")
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
        for place, model in enumerate(data["models"]):
            expected = []
            for row in (row for row in rows if row["model"] == model):
                n_eff = format_n_eff(row["n_eff"], fixed=bool(row["fixed"]))
                size = f", {n_eff} eff. items" if has_sizes and row["clusters"] else ""
                expected.append(f"{row['n_items']:,} items{size}")
            shown = [items if isinstance(items, str) else items[place] for items in data["items"][:19]]
            assert shown == expected


def test_what_is_no_page_of_ours_is_left_alone(root):
    for name, text in (("notes.txt", "mine"), ("index.html", "<h1>mine</h1>")):
        site = root / name.partition(".")[0]
        site.mkdir()
        (site / name).write_text(text, "utf-8")
        said = refused("board", "build", root / "board", "-o", site)
        fix = "Name a new folder for the pages."
        assert said == (
            f"tseval: {site} contains files that are not pages of tseval, and tseval does not mix its "
            f"pages with them.\n  {fix}\n"
        )
        assert [(path.name, path.read_text("utf-8")) for path in site.iterdir()] == [(name, text)]
    (root / "file").write_text("", "utf-8")
    assert "tseval cannot write into this folder" in refused(
        "board", "build", root / "board", "-o", root / "file"
    )
    assert "cannot be written" in refused("report", root / "run", "-o", root / "file" / "page.html")


@needs_posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="the super-user may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(root):
    (root / "closed").mkdir(mode=0o500)
    assert "tseval cannot write into this folder" in refused(
        "board", "build", root / "board", "-o", root / "closed" / "site"
    )


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("board.yaml", b"format: 1", "board.yaml: "),
        ("entries/lstm/evidence.parquet", b"PAR1", "evidence.parquet"),
        ("entries/lstm/evidence.parquet", None, "evidence.parquet"),
        ("entries/second/entry.yaml", b"[]", "entry.yaml: "),
        ("entries/second/manifest.json", b"{}", "manifest.json"),
        ("../pairs.jsonl", None, "pairs.jsonl"),
        ("entries", None, "has no entries yet"),
    ],
    ids=["definition", "evidence cut", "evidence gone", "entry", "manifest", "suite", "no entries"],
)
def test_a_board_that_is_wrong_is_told_in_one_message_and_an_earlier_page_stays(root, file, content, said):
    site = root / "site"
    assert call("board", "build", root / "board", "-o", site).returncode == 0
    before = {path: path.read_bytes() for path in site.rglob("*.html")}
    path = root / "board" / file
    shutil.rmtree(root / "board/suite")
    if content is not None:
        path.write_bytes(content)
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    assert said in refused("board", "build", root / "board", "-o", site)
    assert {path: path.read_bytes() for path in site.rglob("*.html")} == before


def test_a_run_is_no_board(root):
    said = refused("board", "build", root / "run", "-o", root / "site")
    assert "is not a leaderboard" in said
    assert "tseval report" in said
    said = refused("board", "add", root, root / "run")
    assert said == (
        f"tseval: {root} is not a leaderboard, because the file board.yaml is missing in it.\n  Name "
        f"one of {root / 'board'}.\n"
    )
    assert not (root / "site").exists()


def test_a_report_of_runs_over_different_items_is_refused(root):
    few = load_suite(root / "pairs.jsonl", limit=5)
    evaluate(open_model("bundled:lstm"), few, out=root / "few")
    said = refused("report", root / "run", root / "few", "-o", root / "page.html")
    assert "have different items" in said
    assert "Score both models on the same suite" in said
    assert not (root / "page.html").exists()


def test_a_report_holds_its_items_or_says_why_not(root):
    page = root / "page.html"
    done = call("report", root / "run", root / "second", "-o", page)
    assert done.returncode == 0
    assert "tseval wrote this page, but the page does not list the items. The reason is: " in done.stderr
    assert "To add the items, name the suite with --suite." in done.stderr
    assert "<li>This page has no items" in page.read_text("utf-8")
    suite = ("--suite", root / "pairs.jsonl")
    done = call("report", root / "run", root / "second", *suite, "-o", page)
    assert (done.returncode, done.stderr) == (0, f"{page}\n")
    text = page.read_text("utf-8")
    assert text.count('<details id="m1-r0"') == 1
    assert '<a href="#compare">' in text
    assert '<span class="badge' not in text  # nobody has checked these runs
    said = refused("report", root / "run", "--suite", root / "fewer.jsonl", "-o", page)
    assert "has the digest" in said
    assert page.read_text("utf-8") == text


@pytest.mark.parametrize("n_others", [1, 7])
def test_an_item_says_what_the_other_models_make_of_it(root, n_others):
    for number in range(n_others):
        shutil.copytree(root / "second", root / f"copy{number}")
    runs = [root / "run", *(root / f"copy{number}" for number in range(n_others))]
    page = root / "page.html"
    done = call("report", *runs, "--suite", root / "pairs.jsonl", "-o", page)
    assert done.returncode == 0, done.stderr
    first = page.read_text("utf-8").partition('<h3 id="m0">')[2].partition('<h3 id="m1">')[0]
    told = re.findall(r"· (\w+\[(\d+)\])</span>.*?Other models: (.*?)</p>", first, re.DOTALL)
    assert told
    verdicts = read_run(root / "second").verdicts.set_index("item")
    for _, item, others in told:
        own = verdicts.loc[int(item)]
        outcome = "tie" if own["tie"] else "right" if own["correct"] else "wrong"
        margin = f" by {abs(own['better_score'] - own['worse_score']):.3g}"
        if n_others == 1:
            assert re.fullmatch(rf"<bdi>[^<]* {outcome}{re.escape(margin)}</bdi>", others), (item, others)
        else:
            assert others == f"<bdi>7 {outcome}</bdi>"


def test_a_part_of_a_suite_has_items_too(root):
    evaluate(open_model("bundled:lstm"), load_suite(root / "pairs.jsonl", limit=3), out=root / "part")
    done = call("report", root / "part", "--suite", root / "pairs.jsonl", "-o", root / "page.html")
    assert done.returncode == 0, done.stderr
    text = (root / "page.html").read_text("utf-8")
    assert "Only a part of the suite was scored" in text
    assert '<a href="#compare">' not in text  # with one model there is nothing to compare


def test_sentences_are_written_from_right_to_left_where_their_script_is(open_page, tmp_path):
    (tmp_path / "he.jsonl").write_text(
        '{"good": "הילדים צוחקים .", "bad": "הילדים צוחק .", "phenomenon": "התאם", "case": "רבים"}\n'
        '{"good": "the authors laugh .", "bad": "the authors laughs .", "phenomenon": "agreement"}\n',
        encoding="utf-8",
    )
    evaluate(open_model("bundled:lstm"), load_suite(tmp_path / "he.jsonl"), out=tmp_path / "run")
    assert (
        call(
            "report", tmp_path / "run", "--suite", tmp_path / "he.jsonl", "-o", tmp_path / "p.html"
        ).returncode
        == 0
    )
    page = open_page(tmp_path / "p.html").page
    directions = page.eval_on_selector_all(".words", "all => all.map(one => getComputedStyle(one).direction)")
    assert directions == ["rtl", "rtl", "ltr", "ltr"]
    numbers = page.eval_on_selector_all(
        ".words small", "all => all.map(one => getComputedStyle(one).direction)"
    )
    assert set(numbers) == {"ltr"}


LOGPROBS = {"a": -1.0, "b": -2.0, "c": -3.0, "d": -3.5, "e": -9.0, "x": -4.0, "y": -7.5, "z": -4.25}


def test_items_are_close_calls_far_off_ones_and_some_drawn_by_hash():
    # Margins by hand: one word minus the other, because everything else is shared.
    pairs = [("a", "b"), ("b", "a"), ("e", "a"), ("y", "c"), ("x", "z"), ("c", "e"), ("d", "c"), ("a", "y")]
    suite = make_suite(make_case("one", [(f"we {good} it", f"we {bad} it") for good, bad in pairs]))
    run = make_run(suite, LOGPROBS)
    verdicts = Verdicts.of(run.load_verdicts())
    rows = run.tally()[1].rows
    drawn = draw_items("5" * 64, verdicts, rows)
    assert draw_items("5" * 64, verdicts, rows) == drawn != draw_items("6" * 64, verdicts, rows)
    (chosen,) = choose_items(drawn, verdicts, rows)
    reasons = {
        word: {place for place, why in chosen.items() if word in why} for word in ("close call", "far off")
    }
    assert reasons == {"close call": {4, 6}, "far off": {1, 2, 3}}
    assert {place for place, why in chosen.items() if "drawn" in why} == set(drawn[0])
    (shown,) = show_items(suite, run.load_sentences(), verdicts, [{3: ("far off",)}])
    (item,) = shown
    assert (item.name, item.outcome, item.margin) == ("one[3]", "wrong", -4.5)
    better, worse = item.sentences
    assert [(word.text, word.logprob) for word in better.words if word.differs] == [("y", -7.5)]
    assert [(word.text, word.logprob) for word in worse.words if word.differs] == [("c", -3.0)]
    assert better.logprob == -1.0 - 7.5 - 1.0 - 1.0  # with the full stop
    assert better.seen is None


def test_sentences_of_other_lengths_differ_between_what_they_share():
    suite = make_suite(make_case("one", [("the man that I saw laughs", "the man laughs")]))
    run = make_run(suite, {}, unknown=("saw",))
    verdicts = Verdicts.of(run.load_verdicts())
    ((item,),) = show_items(suite, run.load_sentences(), verdicts, [{0: ("drawn",)}])
    longer, shorter = item.sentences
    assert [word.text for word in longer.words if word.differs] == ["that", "I", "saw"]
    assert not any(word.differs for word in shorter.words)
    assert longer.seen == "the man that I <unk> laughs ."


@pytest.mark.parametrize(
    ("levels", "badge"),
    [
        ([], "reported"), (["whole"], "reported"), (["plausible"], "recomputed"), (["rescored"], "rescored"),
        (["rerun", "recomputed"], "re-run"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else value,
)  # fmt: skip
def test_a_badge_is_the_furthest_that_anyone_checked(levels, badge):
    run = make_run(make_suite(make_case("one", [("we are", "we is")])), {"is": -3.0})
    checks = tuple(Checked(level, f"reader {place}", "2026-11-20") for place, level in enumerate(levels))
    entry = Entry(1, "lstm", "s", "f" * 64, About(), (), checks)
    found = facts_of(column_of(run), entry, "board/entries/lstm", on_a_board=True)
    assert found.badge == badge
    assert found.checked == ("reader 0, 2026-11-20" if levels else "")


def test_a_citation_keeps_its_braces_whatever_it_cites():
    text = bibtex("a b", "100% {of} _x_ \\ }", "Smith & Co", "n")
    assert text.startswith("@misc{tseval-a-b,\n  title = {100\\% (of) \\_x\\_")
    assert text.count("{") == text.count("}")
    assert r"Smith \& Co" in text
