import hashlib
import json
import shutil
import stat
from dataclasses import replace

import pytest

from tseval.errors import SuiteError
from tseval.files import cache_folder
from tseval.items import Suite
from tseval.questions import Contrast
from tseval.suites import TEMPLATES, available_suites, load_suite, stream_cases
from tseval.suites.cache import load_cached, save_suite, suite_key, without_cache
from tseval.suites.formal.languages import FORMAL_LANGUAGES

HEAD = "---\nconstruction: C\nphenomenon: P\nslots: {x: [p, q]}\n---\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "one.jinja").write_text(f"{HEAD}a: {{{{ x }}}}\nb: {{{{ x }}}} b\nc: c\n")
    (folder / "two.jinja").write_text(f"{HEAD}a: {{{{ x }}}} two\nb: b\n")
    return folder


def content(suite: Suite) -> list[object]:
    return [
        (case.name, case.construction, case.phenomenon, case.dependency, case.contrasts, list(case.items()))
        for case in suite.cases
    ]


def test_a_bundled_suite_is_found_by_name_and_by_path():
    assert "marvin_linzen" in available_suites()
    by_name = load_suite("marvin_linzen", cases=["simple_agrmt"])
    by_path = load_suite(TEMPLATES / "marvin_linzen", cases=["simple_agrmt"])
    assert content(by_name) == content(by_path)
    assert (by_name.name, by_name.title, by_name.terminator) == ("marvin_linzen", "Marvin & Linzen 2018", ".")


@pytest.mark.parametrize(("wrong", "near"), [("marvin_linzn", "marvin_linzen"), ("zoro", "zorro")])
def test_an_unknown_suite_is_an_error_that_says_the_nearest_name(wrong, near):
    with pytest.raises(SuiteError) as caught:
        load_suite(wrong)
    assert str(caught.value) == (
        f"there is no suite {wrong!r}.\n  Did you mean {near!r}? "
        f"Suites: {', '.join(sorted({*available_suites(), *FORMAL_LANGUAGES} | {near}))}. To see all "
        f"suites, type tseval suites. To use a file or folder, give its path: ./{wrong}."
    )


def test_an_unknown_case_is_an_error_that_says_the_nearest_name(folder):
    with pytest.raises(
        SuiteError,
        match=r"the suite 'mine' has no case with the name 'on'.\n  Did you mean 'one'\? Cases: one, two.",
    ):
        load_suite(folder, cases=["on"])


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda _: None, "this file or folder does not exist.\n  Give the name of a suite, or a path:"),
        (
            lambda path: path.mkdir(),
            "the folder has no grammars.\n  Put at least one .jinja file into the folder.",
        ),
        (
            lambda path: path.write_text("x"),
            "tseval cannot read this file as a suite.\n  Give a .jinja grammar, a folder of such grammars",
        ),
    ],
)
def test_a_path_without_grammars_is_an_error(tmp_path, make, what):
    make(tmp_path / "mine")
    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path / "mine")
    assert str(caught.value).startswith(f"{tmp_path / 'mine'}: {what}")


def test_without_a_suite_file_the_grammars_come_by_name_and_earlier_labels_are_better(folder):
    suite = load_suite(folder)
    assert (suite.name, suite.title, suite.source, suite.terminator) == ("mine", "mine", None, ".")
    assert [case.name for case in suite.cases] == ["one", "two"]
    assert suite.cases[0].contrasts == (Contrast("a", "b"), Contrast("a", "c"), Contrast("b", "c"))
    assert suite.cases[1].contrasts == (Contrast("a", "b"),)
    assert (suite.n_items, suite.n_contrasts) == (4, 2 * 3 + 2)


def test_the_suite_file_chooses_order_contrasts_and_terminator(folder):
    (folder / "suite.yaml").write_text(
        "title: My suite\nsource: Me\nterminator: null\ncases: [two, one]\ncontrasts: [b > a, a > c]\n"
    )
    suite = load_suite(folder)
    assert (suite.title, suite.source, suite.terminator) == ("My suite", "Me", None)
    assert [case.name for case in suite.cases] == ["two", "one"]
    assert suite.cases[0].contrasts == (Contrast("b", "a"),)
    assert suite.cases[1].contrasts == (Contrast("b", "a"), Contrast("a", "c"))


def test_a_grammar_may_name_its_own_contrasts(folder):
    head = HEAD.replace("slots", "contrasts: [c > b]\nslots")
    (folder / "one.jinja").write_text(f"{head}a: {{{{ x }}}}\nb: b\nc: c")
    assert load_suite(folder).cases[0].contrasts == (Contrast("c", "b"),)


def test_one_grammar_file_is_a_suite(folder):
    suite = load_suite(folder / "two.jinja")
    assert (suite.name, [case.name for case in suite.cases], suite.n_items) == ("two", ["two"], 2)


def test_the_cache_is_what_is_read(folder):
    load_suite(folder)
    load_suite(folder / "two.jinja")
    by_size = sorted(cache_folder().iterdir(), key=lambda file: file.stat().st_size)
    assert len(by_size) == 2
    # Store one suite's cache under the key of the other: only code that uses the cache reads wrong items.
    shutil.copy(by_size[0], by_size[1])
    assert load_suite(folder).name == "two"


def test_any_change_to_a_source_file_is_seen(folder):
    first = load_suite(folder)
    text = (folder / "two.jinja").read_text()
    (folder / "two.jinja").write_text(text.replace("two", "too"))
    second = load_suite(folder)
    assert second.cases[1].sentences.column("a").to_pylist() == ["p too", "q too"]
    assert second.digest != first.digest


def test_any_damage_to_the_cache_is_noticed(folder):
    load_suite(folder)
    (cached,) = cache_folder().iterdir()
    raw = cached.read_bytes()
    assert load_cached(suite_key(folder)) is not None
    for position in range(0, len(raw), 23):
        cached.write_bytes(raw[:position] + bytes([raw[position] ^ 1]) + raw[position + 1 :])
        assert load_cached(suite_key(folder)) is None, position


@pytest.mark.parametrize(
    "change",
    [
        lambda about: "[" * 100_000,
        lambda about: [],
        lambda about: about | {"cases": []},
        lambda about: about | {"suite": about["suite"] | {"title": 3}},
        lambda about: about | {"cases": [case | {"contrasts": []} for case in about["cases"]]},
        lambda about: about | {"cases": [case | {"contrasts": 1} for case in about["cases"]]},
        lambda about: (
            about | {"cases": [c | {"contrasts": [{"better": "a", "worse": "z"}]} for c in about["cases"]]}
        ),
    ],
)
def test_a_forged_cache_is_expanded_again(folder, change):
    fresh = load_suite(folder)
    (cached,) = cache_folder().iterdir()
    _, head, streams = cached.read_bytes().split(b"\n", 2)
    forged = change(json.loads(head))
    new = forged.encode() if isinstance(forged, str) else json.dumps(forged).encode()
    body = new + b"\n" + streams
    cached.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    assert load_cached(suite_key(folder)) is None
    assert content(load_suite(folder)) == content(fresh)


def test_a_forged_cache_with_sound_checksums_cannot_keep_the_digest_of_the_suite(folder):
    fresh = load_suite(folder)
    case = fresh.cases[0]
    swapped = case.sentences.rename_columns({"a": "b", "b": "a"}).select(case.sentences.column_names)
    forged = replace(fresh, cases=(replace(case, sentences=swapped), *fresh.cases[1:]))
    save_suite(forged, suite_key(folder))
    cached = load_cached(suite_key(folder))
    assert cached is not None
    assert cached.digest == fresh.digest, "the forgery is one"
    assert content(cached) == content(forged) != content(fresh)
    assert content(load_suite(folder)) == content(fresh)
    assert content(load_cached(suite_key(folder))) == content(fresh), "it was replaced"


@pytest.mark.parametrize("load", [load_suite, stream_cases])
@pytest.mark.parametrize("name", ["limit", "sample"])
@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_item_cannot_be_asked_for(folder, load, name, count):
    with pytest.raises(SuiteError) as caught:
        load(folder, **{name: count})
    assert (
        str(caught.value)
        == f"the number of items, {name}={count}, must be 1 or more.\n  To use all items, leave {name} out."
    )


def test_whoever_verifies_expands_again_and_each_suite_once(folder):
    load_suite(folder)
    cached = load_cached(suite_key(folder))
    assert cached is not None
    save_suite(replace(cached, title="From the disk"), suite_key(folder))
    with without_cache():
        expanded = load_suite(folder)
        with without_cache():
            assert load_suite(folder) is expanded
        (folder / "two.jinja").write_text((folder / "two.jinja").read_text().replace("two", "too"))
        assert load_suite(folder) is not expanded
        assert load_suite(folder, limit=1).n_items < expanded.n_items
    assert expanded.title == cached.title != "From the disk"
    with without_cache():
        assert load_suite(folder) is not expanded


def test_a_cache_that_cannot_be_written_is_done_without(folder, tmp_path, monkeypatch):
    # A file instead of the cache folder: nothing can be written below it, even by root.
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "blocked"))
    assert load_suite(folder).n_items == 4
    assert stat.S_ISREG((tmp_path / "blocked").stat().st_mode)


def test_partial_suites_are_marked_and_not_cached(folder):
    for options in ({"cases": ["one"]}, {"limit": 1}, {"sample": 1}):
        assert not load_suite(folder, **options).complete
    assert not cache_folder().exists()


def test_the_digest_sees_everything_that_can_change_a_score_or_a_row(folder):
    text = (folder / "two.jinja").read_text()
    changes = [
        ("a: {{ x }} two", "a: {{ x }} too"), ("a: {{ x }} two", "z: {{ x }} two"),
        ("construction: C", "construction: D"), ("phenomenon: P", "phenomenon: Q"),
        ("phenomenon: P", "phenomenon: P\ndependency: long"),
        ("phenomenon: P", "phenomenon: P\ncontrasts: [b > a]"),
        ("phenomenon: P", "phenomenon: P\nfeatures: {n: 1}"),
        ("phenomenon: P", "phenomenon: P\nfeatures: {n: 1.0}"),
        ("phenomenon: P", "phenomenon: P\nfeatures: {n: true}"), ("[p, q]", "[q, p]"),
    ]  # fmt: skip
    digests = {load_suite(folder).digest}
    for old, new in changes:
        assert old in text
        (folder / "two.jinja").write_text(text.replace(old, new))
        digests.add(load_suite(folder).digest)
    (folder / "two.jinja").write_text(text)
    (folder / "suite.yaml").write_text("terminator: '!'")
    digests.add(load_suite(folder).digest)
    assert len(digests) == len(changes) + 2
