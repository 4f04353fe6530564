"""Draws: a balanced part of all combinations."""

from collections import Counter

import pytest

from tseval.errors import GrammarError
from tseval.suites import load_suite, stream_cases
from tseval.suites.lint import lint

LEXICON = """noun:
  a: [author, pilot, farmer]
  b: [guard, chef, skater, dancer]
verb: {main: [laughs, swims]}
"""
SLOTS = """  n:     [1, 2, 3]
  noun:  noun.a
  chain: {class: noun.b, number: sing, repeat: n}
  other: {class: noun.a, differs_from: noun}
  verb:  verb.main
  turn:  {range: 24}
"""
BODY = "a: the {{ noun }} {{ chain | join(' ') }} {{ other }} {{ verb }}\nb: {{ turn }}\n"
DRAW = "draw: {items: 24, for_each: [n]}"


@pytest.fixture
def write(tmp_path):
    (tmp_path / "lexicon.yaml").write_text(LEXICON)

    def write(draw=DRAW, slots=SLOTS, body=BODY, name="drawn"):
        path = tmp_path / f"{name}.jinja"
        head = "construction: C\nphenomenon: P\nlexicon: lexicon.yaml\n"
        path.write_text(f"---\n{head}slots:\n{slots}{draw}\n---\n{body}")
        return path

    return write


def features(path, **options):
    return [item.features for item in load_suite(path, **options).cases[0].items()]


def test_every_filler_is_equally_often_in_every_place_of_every_cell(write):
    items = features(write())
    assert Counter(item["n"] for item in items) == {1: 24, 2: 24, 3: 24}
    for n in (1, 2, 3):
        cell = [item for item in items if item["n"] == n]
        assert Counter((i["noun"], i["noun_number"]) for i in cell) == dict.fromkeys(
            [(noun, number) for noun in ("author", "pilot", "farmer") for number in ("sing", "plur")], 4
        )
        chains = [item["chain"].split(", ") for item in cell]
        assert {len(chain) for chain in chains} == {n}
        for place in zip(*chains, strict=True):
            assert set(Counter(place).values()) == {6}
        assert Counter(item["verb"] for item in cell) == {"laughs": 12, "swims": 12}
        assert sorted(item["turn"] for item in cell) == list(range(24))
        assert all(item["noun"] != item["other"] for item in cell)


def test_where_the_numbers_do_not_divide_counts_differ_by_one_at_most(write):
    items = features(write("draw: {items: 25, for_each: [n]}"))
    for n in (1, 2, 3):
        counts = Counter(item["chain"].split(", ")[-1] for item in items if item["n"] == n)
        assert sorted(counts.values()) == [6, 6, 6, 7]


def test_no_two_items_of_a_cell_have_the_same_words_even_where_few_are_left(write):
    slots = "  noun: noun.a\n  verb: verb.main\n  turn: {range: 24}\n"
    items = features(write("draw: {items: 11}", slots, "a: {{ noun }} {{ verb }}\nb: b {{ turn }}\n"))
    assert len({(i["noun"], i["noun_number"], i["verb"]) for i in items}) == 11  # of 3 * 2 * 2


def test_where_leaves_cells_out(write):
    slots = SLOTS + "  k: [0, 1, 2, 3]\n"
    items = features(write("draw: {items: 24, for_each: [n, k], where: k <= n}", slots))
    assert Counter((i["n"], i["k"]) for i in items) == {(n, k): 24 for n in (1, 2, 3) for k in range(n + 1)}


def test_a_draw_is_the_same_every_time_and_in_parts(write, tmp_path, monkeypatch):
    path = write()
    whole = features(path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert features(path) == whole
    assert features(path, limit=30) == whole[:30]
    drawn = load_suite(path, sample=10, seed=3).cases[0]
    assert [item.features for item in drawn.items()] == [whole[index] for index in drawn.index.to_pylist()]
    n_items, blocks = stream_cases(path, limit=5)
    assert (n_items, [item.features for case in blocks for item in case.items()]) == (5, whole[:5])
    assert features(write(name="another")) != whole  # a grammar's name is the seed


def test_lint_does_not_ask_for_balance_where_a_number_is_fixed(write):
    body = "a: the {{ noun }} {{ chain | join(' ') }} {{ other }} {{ verb | agree(noun) }}\n"
    found = lint(write(body=body + body.replace("a:", "b:").replace("| agree", "| disagree")))
    assert not [finding for finding in found if "chain_number" in str(finding)]


@pytest.mark.parametrize(
    ("draw", "slots", "message"),
    [
        (
            "",
            SLOTS,
            r"drawn.jinja:8: 'chain' is repeated as 'n' says, .*\n  Add 'draw: \{items: 100, for_each: \[n\]",
        ),
        ("draw: {items: 5}", SLOTS, "'chain' is repeated as 'n' says"),
        ("draw: {item: 5}", SLOTS, r":12: 'draw' names 'item'.\n  Did you mean 'items'\?"),
        ("draw: {items: 0}", SLOTS, "'draw' needs a whole number of 'items'"),
        ("draw: {for_each: [n]}", SLOTS, "'draw' needs a whole number of 'items'"),
        ("draw: {items: 5, for_each: [m]}", SLOTS, r"'for_each' names 'm'.\n .* Slots: n, noun, turn, verb."),
        ("draw: {items: 5, for_each: n}", SLOTS, "'for_each' names None"),
        (
            "draw: {items: 5, for_each: [n, other]}",
            SLOTS,
            "'for_each' names 'other'.\n  List",
        ),
        (
            "draw: {items: 5, for_each: [n], where: n < turn}",
            SLOTS,
            "'where' depends on 'turn'.\n  Add",
        ),
        ("draw: {items: 5, for_each: [n], where: n > 3}", SLOTS, "'where' holds for no combination"),
        ("draw: {items: 5, for_each: [n], where: m > 3}", SLOTS, "'m'"),
        (
            "draw: {items: 700000, for_each: [n]}",
            SLOTS,
            "'draw' asks for 2,100,000 items",
        ),
        (
            "draw: {items: 300, for_each: [n]}",
            SLOTS,
            "no 300 items with different words",
        ),
        (
            "draw: {items: 9}",
            "  x: {class: noun.b, repeat: 90}\n",
            "'x' has more values than can be",
        ),
        (
            "draw: {items: 9, for_each: [x]}",
            "  x: {class: noun.b, repeat: 9}\n",
            "'for_each' makes more than 10,000 combinations",
        ),
        (DRAW, SLOTS.replace("24", "0"), "'range' must be a whole number from 1 to 1,000,000"),
        (
            DRAW,
            SLOTS.replace("1, 2, 3", "0, 1"),
            "'repeat' must be a whole number from 1 to 100, or a slot of them, but '.*' has 0, which leaves "
            r"no word\.\n  Begin with 1, as in '.*: \[1, 2\]'; what has no '.*' is another grammar\.",
        ),
        (
            DRAW,
            SLOTS.replace("1, 2, 3", "a, b"),
            "'repeat' must be a whole number",
        ),
    ],
)
def test_a_bad_draw_is_named(write, draw, slots, message):
    with pytest.raises(GrammarError, match=message):
        load_suite(write(draw, slots, "a: a\nb: b {{ verb }}" if "verb" in slots else "a: a\nb: b"))
