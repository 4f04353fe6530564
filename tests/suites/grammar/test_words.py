"""Words from several classes, lexicons in the front matter, and forms for gender and case."""

from collections import Counter
from pathlib import Path

import pytest

from tseval.errors import GrammarError
from tseval.items import ENTRIES, Case
from tseval.suites import load_suite, stream_cases
from tseval.suites.lint import lint

ONE_FILE = """\
---
construction: Article and noun
phenomenon: Gender
lexicon:
  noun:
    thing:
      - {sing: Tisch, plur: Tische, dat_plur: Tischen, gender: masc}
      - {sing: 1984, plur: null, dat_plur: no, gender: neut}
  determiner:
    any: [{masc: der, neut: das}]
slots:
  noun: noun.thing
  determiner: determiner.any
features:
  gender: noun.gender
---
right: {{ determiner[noun.gender] if noun.number == "sing" else "die" }} {{ noun }}
wrong: mit den {{ noun.dat_plur }} {{ noun }}
"""


def only_case(path: Path) -> Case:
    (case,) = load_suite(path).cases
    return case


def test_a_slot_may_take_several_classes_one_after_the_other(write_grammar):
    path = write_grammar(
        "a: {{ x }} {{ v }}\nb: {{ x }}", "{x: noun.fixed + noun.person, v: verb.past+verb.main}"
    )
    case = only_case(path)
    people = ["mouse", "mice", "author", "authors", "security guard", "security guards", "child", "children"]
    verbs = ["said", "laughs", "is tall"]
    assert case.sentences["a"].to_pylist() == [f"{noun} {verb}" for noun in people for verb in verbs]
    assert set(case.features["x"].to_pylist()) == {"mouse", "author", "security guard", "child"}
    assert case.entries.column_names == ["x", "v"]


def test_several_classes_in_one_number_or_different_from_another_slot(write_grammar):
    both = "class: noun.fixed + noun.person"
    slots = f"{{x: {{{both}, number: plur}}, y: {{{both}, differs_from: x}}}}"
    pairs = only_case(write_grammar("a: {{ x }} {{ y }}\nb: {{ y }}", slots)).features.select(["x", "y"])
    rows = [tuple(row.values()) for row in pairs.to_pylist()]
    assert len(rows) == 4 * 3 * 2
    assert all(x != y for x, y in rows)


def test_a_class_that_stands_in_a_sum_is_used(write_grammar):
    slots = "{x: noun.fixed + noun.person, v: verb.main + verb.past}"
    path = write_grammar("a: {{ x }} {{ v }}\nb: {{ x }} is {{ v }}", slots)
    unused = [finding.message for finding in lint(path.parent) if "no grammar uses" in finding.message]
    names = ("noun.odd", "verb.odd", "pronoun.reflexive", "determiner.npi")
    assert unused == [f"no grammar uses the class {name!r}." for name in names]


def test_a_lexicon_may_stand_in_the_front_matter(tmp_path):
    (tmp_path / "one.jinja").write_text(ONE_FILE, encoding="utf-8")
    case = only_case(tmp_path / "one.jinja")
    # Every scalar is a word there, as in a lexicon file.
    assert case.sentences["right"].to_pylist() == ["der Tisch", "die Tische", "das 1984", "die null"]
    assert case.sentences["wrong"].to_pylist()[::2] == ["mit den Tischen Tisch", "mit den no 1984"]
    assert case.features["gender"].to_pylist() == ["masc", "masc", "neut", "neut"]


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("gender: neut", "gender: [neut]", 8, "the form 'gender' must be text.\n  Write the word, or ''"),
        ("any: [{masc: der, neut: das}]", "any: []", 10, "the class 'determiner.any' lists no words."),
        ("neut: das", "fem: die", 17, "'der' has no form 'neut'.\n  Forms: fem, masc. It is defined at"),
    ],
)
def test_a_lexicon_in_the_front_matter_is_held_to_the_same(tmp_path, message, old, new, line, what):
    (tmp_path / "one.jinja").write_text(ONE_FILE.replace(old, new), "utf-8")
    assert f"one.jinja:{line}: {what}" in message(tmp_path / "one.jinja")


# Lexical factors of grammars: which lexicon entry fills which position, in any form.
BODY = (
    "a: the {{ subject }} {{ verb | agree(subject) }}\nb: the {{ subject }} {{ verb | disagree(subject) }}\n"
)
SLOTS = (
    "{subject: noun.person, tense: [past, future], depth: [0, 1, 2], chain: {class: noun.person, repeat: 2}, "
    "verb: verb.main}"
)


def test_every_slot_of_the_lexicon_is_a_factor_and_conditions_are_none(write_grammar):
    entries = only_case(write_grammar(BODY, SLOTS)).entries
    assert entries.column_names == ["subject", "chain", "verb"]
    assert set(entries.schema.types) == {ENTRIES}


def test_the_entry_of_an_item_is_the_same_in_every_form(write_grammar):
    case = only_case(write_grammar(BODY, "{subject: noun.person, verb: verb.main}"))
    named = [(row["subject"], row["verb"]) for row in case.entries.to_pylist()]
    assert dict(zip(case.sentences["a"].to_pylist(), named, strict=True)) == {
        "the author laughs": ("author", "laughs"), "the author is tall": ("author", "is tall"),
        "the authors laugh": ("author", "laughs"), "the authors are tall": ("author", "is tall"),
        "the security guard laughs": ("security guard", "laughs"),
        "the security guard is tall": ("security guard", "is tall"),
        "the security guards laugh": ("security guard", "laughs"),
        "the security guards are tall": ("security guard", "is tall"),
        "the child laughs": ("child", "laughs"), "the child is tall": ("child", "is tall"),
        "the children laugh": ("child", "laughs"), "the children are tall": ("child", "is tall"),
    }  # fmt: skip


def test_a_repeated_slot_has_the_sequence_of_its_entries(write_grammar):
    slots = "{depth: [1, 2], chain: {class: noun.person, number: plur, repeat: depth}}"
    words = "{% for noun in chain %}{{ noun }} {% endfor %}"
    more = "draw: {items: 2, for_each: [depth]}"
    case = only_case(write_grammar(f"a: x {words}\nb: y {words}\n", slots, more))
    plural = {"author": "authors", "security guard": "security guards", "child": "children"}
    lengths = []
    for sentence, level in zip(
        case.sentences["a"].to_pylist(), case.entries["chain"].to_pylist(), strict=True
    ):
        nouns = level.split(", ")
        assert sentence == " ".join(["x", *(plural[noun] for noun in nouns)])
        lengths.append(len(nouns))
    assert lengths == [1, 1, 2, 2]


def test_declared_factors_stand_in_place_of_the_slots(write_grammar):
    more = "factors: {who: subject, last: chain | last, tense: tense, none: \"verb if depth == 0 else ''\"}"
    entries = only_case(write_grammar(BODY, SLOTS, more)).entries
    assert entries.column_names == ["who", "last", "tense", "none"]
    for name in ("who", "last"):
        assert set(entries[name].to_pylist()) == {"author", "security guard", "child"}
    assert set(entries["tense"].to_pylist()) == {"past", "future"}
    assert set(entries["none"].to_pylist()) == {"laughs", "is tall", None}
    assert only_case(write_grammar(BODY, SLOTS, "factors: {}")).entries.num_columns == 0


def test_no_digest_depends_on_factors(write_grammar):
    declared = ("", "factors: {}", "factors: {v: verb}")
    assert len({load_suite(write_grammar(BODY, SLOTS, more)).digest for more in declared}) == 1


def test_some_items_have_the_entries_that_they_have_in_the_whole(write_grammar):
    path = write_grammar(BODY, SLOTS)
    whole = only_case(path).entries.to_pylist()
    for part in (load_suite(path, limit=5), load_suite(path, sample=7, seed=3)):
        (case,) = part.cases
        assert case.entries.to_pylist() == [whole[index] for index in case.index.to_pylist()]


@pytest.mark.parametrize(
    ("declared", "what"),
    [
        ("{_v: verb}", "a factor cannot be called '_v'.\n  Use letters of any script"),
        ("{v: 3}", "the factor 'v' is a number.\n  Name a slot, or write an expression that gives a word"),
        ("{v: depth}", "the factor 'v' names the slot 'depth', but this slot has no words.\n  Delete"),
        ("{v: depth + 1}", "a number is no entry of a lexicon.\n  Give a word, such as 'verb' or 'nouns | l"),
        ("{v: '[verb]'}", "a list is no entry of a lexicon."),
        ("{v: verb if depth}", "an inline 'if' must have an 'else', but this one has none.\n  "
         "Add \"else ''\" to print nothing if the condition is false."),
        ("{v: vreb}", "'vreb' is not defined.\n  Did you mean 'verb'? Slots, macros and sets: chain,"),
        ("[verb]", "'factors' must be a mapping, not a list.\n  Write one 'name: value' per line"),
    ],
)  # fmt: skip
def test_a_malformed_factor_is_one_message_with_its_line(write_grammar, message, declared, what):
    assert message(write_grammar(BODY, SLOTS, f"factors: {declared}")).startswith(f"case.jinja:7: {what}")


# Sampling: a balanced part of all combinations.
LEXICON = """noun:
  a: [author, pilot, farmer]
  b: [guard, chef, skater, dancer]
verb: {main: [laughs, swims]}
"""
SLOTS_OF_DRAW = """  n:     [1, 2, 3]
  noun:  noun.a
  chain: {class: noun.b, number: sing, repeat: n}
  other: {class: noun.a, differs_from: noun}
  verb:  verb.main
  turn:  {range: 24}
"""
BODY_OF_DRAW = "a: the {{ noun }} {{ chain | join(' ') }} {{ other }} {{ verb }}\nb: {{ turn }}\n"
DRAW = "draw: {items: 24, for_each: [n]}"


@pytest.fixture
def write(tmp_path):
    (tmp_path / "lexicon.yaml").write_text(LEXICON)

    def write(draw=DRAW, slots=SLOTS_OF_DRAW, body=BODY_OF_DRAW, name="drawn"):
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
    slots = SLOTS_OF_DRAW + "  k: [0, 1, 2, 3]\n"
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
    assert features(write(name="another")) != whole  # the seed is the grammar's name


def test_lint_does_not_ask_for_balance_where_a_number_is_fixed(write):
    body = "a: the {{ noun }} {{ chain | join(' ') }} {{ other }} {{ verb | agree(noun) }}\n"
    found = lint(write(body=body + body.replace("a:", "b:").replace("| agree", "| disagree")))
    assert not [finding for finding in found if "chain_number" in str(finding)]


@pytest.mark.parametrize(
    ("draw", "slots", "message"),
    [
        ("", SLOTS_OF_DRAW, r"drawn.jinja:8: 'n' sets how often 'chain' repeats, .*\n  Add 'draw:"),
        ("draw: {item: 5}", SLOTS_OF_DRAW, r":12: 'draw' names 'item'.\n  Did you mean 'items'\?"),
        ("draw: {items: 0}", SLOTS_OF_DRAW, "'draw' needs the key 'items' with a whole number"),
        ("draw: {items: 5, for_each: [m]}", SLOTS_OF_DRAW, r"'for_each' names 'm'.\n .* Slots: n, noun, tur"),
        ("draw: {items: 5, for_each: [n, other]}", SLOTS_OF_DRAW, "'for_each' names 'other'.\n  List"),
        ("draw: {items: 5, for_each: [n], where: n > 3}", SLOTS_OF_DRAW, "'where' is true for no"),
        ("draw: {items: 5, for_each: [n], where: m > 3}", SLOTS_OF_DRAW, "'m'"),
        ("draw: {items: 700000, for_each: [n]}", SLOTS_OF_DRAW, "'draw' asks for 2,100,000 items"),
        ("draw: {items: 300, for_each: [n]}", SLOTS_OF_DRAW, "300 items where n 1, but the words allow"),
        ("draw: {items: 9}", "  x: {class: noun.b, repeat: 90}\n", "'x' has more than 9 quintillion"),
        ("draw: {items: 9, for_each: [x]}", "  x: {class: noun.b, repeat: 9}\n",
         "'for_each' makes more than 10,000 combinations"),
        (DRAW, SLOTS_OF_DRAW.replace("24", "0"), "'range' must be a whole number from 1 to 1,000,000"),
        (DRAW, SLOTS_OF_DRAW.replace("1, 2, 3", "0, 1"),
         "'repeat' must be a whole number from 1 to 100, or a slot with such numbers, but '.*' has 0,"
         r" which gives no word\.\n  Begin with 1: '.*: \[1, 2\]'\. Write another grammar for"),
    ],
)  # fmt: skip
def test_a_bad_draw_is_named(write, draw, slots, message):
    with pytest.raises(GrammarError, match=message):
        load_suite(write(draw, slots, "a: a\nb: b {{ verb }}" if "verb" in slots else "a: a\nb: b"))
