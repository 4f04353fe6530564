"""Expansion against plain Jinja: every item is rendered separately, from the product of all slots."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tseval.errors import GrammarError, SuiteError
from tseval.items import Case, Item, choose_rows
from tseval.suites import load_suite, stream_cases
from tseval.suites.grammar.expand import expand
from tseval.suites.grammar.grammar import load_grammar


class Form:
    """A word for the oracle, which prints itself in its number."""

    def __init__(self, lemma: str, number: str | None, **forms: str):
        self.lemma, self.number, self.forms = lemma, number, forms

    def __getitem__(self, name: str) -> str:
        return self.forms[name]

    def __str__(self) -> str:
        return self.forms[self.number or "sing"]


def agree(word: Form, other: Form | str) -> Form:
    return Form(word.lemma, other if isinstance(other, str) else other.number, **word.forms)


def disagree(word: Form, other: Form) -> Form:
    return Form(word.lemma, "plur" if other.number == "sing" else "sing", **word.forms)


PERSON = [("author", "authors"), ("security guard", "security guards"), ("child", "children")]
PERSONS = [Form(sing, number, sing=sing, plur=plur) for sing, plur in PERSON for number in ("sing", "plur")]
VERBS = [
    Form("laughs", None, sing="laughs", plur="laugh"),
    Form("is tall", None, sing="is tall", plur="are tall"),
]
NPI = [Form("no", None, licensor="no", intrusive="the"), Form("few", None, licensor="few", intrusive="some")]
SLOTS = (
    "{subject: noun.person, chain: {class: noun.person, repeat: 2}, depth: [0, 1, 2], verb: verb.main, "
    "other: {class: verb.main, differs_from: verb}, det: determiner.npi}"
)
DEFINITIONS = (
    "{% macro pp(noun, head='near') %}{{ head }} the {{ noun }} {% endmacro %}\n"
    "{% macro twice(noun) %}{{ pp(noun) }}{{ pp(noun, head='behind') }}{% endmacro %}\n"
    "{% set aux = 'have' if subject.number == 'plur' else 'has' %}\n"
)
PIECES = [
    "the ", " ", "{{ subject }} ", "{{ verb | agree(subject) }} and {{ other | disagree(subject) }} ",
    "{{ aux }} ", "{{ det['licensor'] }} {{ 'x' if depth > 1 else det['intrusive'] }} ",
    "{% for noun in chain %}{{ pp(noun) }}{% endfor %} ",
    "{% for noun in chain[:depth] %}{{ loop.index }}{{ noun }}{{ '' if loop.last else ',' }} {% endfor %}",
    "{% if depth is odd %}{{ twice(chain[0]) }}{% elif subject.number == 'sing' %}or{% endif %} ",
    "{% for i in range(depth) %}very {% endfor %}", "{{ depth * 2 + 1 }} {{ subject ~ '-' ~ verb }} ",
]  # fmt: skip


def items_by_plain_jinja(line: str) -> Iterator[str]:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701 - text, not HTML
    environment.filters |= {"agree": agree, "disagree": disagree}
    template = environment.from_string(DEFINITIONS + line)
    chains = list(itertools.product(PERSONS, repeat=2))
    for subject, chain, depth, verb, other, det in itertools.product(
        PERSONS, chains, [0, 1, 2], VERBS, VERBS, NPI
    ):
        if other is not verb:
            slots = {"subject": subject, "chain": chain, "depth": depth, "verb": verb}
            yield " ".join(template.render(slots | {"other": other, "det": det}).split())


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5))
def test_every_item_is_what_plain_jinja_renders(write_grammar, pieces):
    line = "".join([*pieces, "."])
    grammar = load_grammar(write_grammar(f"{DEFINITIONS}\na: {line}\nb: {line} too", SLOTS))
    case = expand(grammar, (), range(grammar.n_items))
    expected = list(items_by_plain_jinja(line))
    assert grammar.n_items == len(expected) == 6 * 36 * 3 * 2 * 1 * 2
    assert case.sentences.column("a").to_pylist() == expected
    assert case.sentences.column("b").to_pylist() == [f"{text} too" for text in expected]


def sentences(path):
    return load_suite(path).cases[0].sentences.column("a").to_pylist()


def test_the_leftmost_slot_varies_slowest(write_grammar):
    path = write_grammar("a: {{ left }} {{ right }}\nb: x", "{left: [1, 2], right: [p, q]}")
    assert sentences(path) == ["1 p", "1 q", "2 p", "2 q"]


def test_a_noun_ranges_over_both_numbers_unless_one_is_fixed(write_grammar):
    body = "a: {{ any }} {{ fixed }}\nb: x"
    path = write_grammar(body, "{any: noun.fixed, fixed: {class: noun.person, number: plur}}")
    assert sentences(path) == [
        *("mouse authors", "mouse security guards", "mouse children"),
        *("mice authors", "mice security guards", "mice children"),
    ]


def test_features_name_fillers_numbers_and_what_is_declared(write_grammar):
    features = (
        "features: {attractor: second | match(subject), half: 1 / 2, "
        "length: 'words(subject, \"and\", chain)', "
        "same: subject.number == second.number, kind: \"'plain'\", fixed: 7, flag: true, noun: second}"
    )
    path = write_grammar(
        "a: {{ subject }} {{ second }}\nb: x",
        "{subject: noun.person, second: noun.person, chain: {class: noun.person, repeat: 2}, tense: [past]}",
        features,
    )
    case = load_suite(path).cases[0]
    item = next(item for item in case.items() if item.sentences["a"] == "security guard children")
    assert item.features == {
        "subject": "security guard", "subject_number": "sing", "second": "child", "second_number": "plur",
        "chain": "author, author", "chain_number": "sing, sing", "tense": "past", "attractor": "mismatch",
        "half": 0.5, "length": 5, "same": False, "kind": "plain", "fixed": 7, "flag": True,
        "noun": "children",
    }  # fmt: skip
    kinds = {name: str(case.features.schema.field(name).type) for name in ("length", "half", "same", "flag")}
    assert kinds == {"length": "int64", "half": "double", "same": "bool", "flag": "bool"}


def test_white_space_collapses_to_single_spaces(write_grammar):
    path = write_grammar("a:  the   {{ '' }}\t{{ subject }} {{ '  ' }} \nb: x")
    assert load_suite(path).cases[0].sentences.column("a")[0].as_py() == "the author"


def test_the_numbers_of_yaml_1_1_do_not_eat_determiners(write_grammar):
    path = write_grammar("a: {{ det.licensor }} {{ word }}\nb: x", "{det: determiner.npi, word: [no, on]}")
    assert sentences(path) == ["no no", "no on", "few no", "few on"]


HUGE = "{" + ", ".join(f"s{i}: {{class: noun.person, repeat: 4}}" for i in range(4)) + "}"
HUGE_BODY = "a: " + " ".join(f"{{{{ s{i}[0] }}}} {{{{ s{i}[3] }}}}" for i in range(4)) + "\nb: x"


def test_a_trillion_items_are_sampled_without_expanding_them(write_grammar):
    path = write_grammar(HUGE_BODY, HUGE)
    assert load_grammar(path).n_items == 6**16 > 10**12
    start = time.perf_counter()
    case = load_suite(path, sample=5, seed=1).cases[0]
    assert time.perf_counter() - start < 2
    assert case.n_items == 5
    assert case.index.to_pylist() == sorted(set(case.index.to_pylist()))
    assert case.index.to_pylist() == load_suite(path, sample=5, seed=1).cases[0].index.to_pylist()
    assert case.index.to_pylist() != load_suite(path, sample=5, seed=2).cases[0].index.to_pylist()
    for item in case.items():
        assert item == reference_item(path, item.index)


def reference_item(path: Path, index: int) -> Item:
    """Decode one item by hand: 16 digits in base 6, the first changes slowest."""
    digits = [index // 6 ** (15 - place) % 6 for place in range(16)]
    fillers = [PERSONS[digit] for digit in digits]
    text = " ".join(f"{fillers[4 * slot]} {fillers[4 * slot + 3]}" for slot in range(4))
    features = {}
    for slot in range(4):
        own = fillers[4 * slot : 4 * slot + 4]
        features[f"s{slot}"] = ", ".join(filler.lemma for filler in own)
        features[f"s{slot}_number"] = ", ".join(str(filler.number) for filler in own)
    return Item(path.stem, index, {"a": text, "b": "x"}, features)


def test_a_full_expansion_of_billions_is_refused_before_rendering(write_grammar):
    path = write_grammar(HUGE_BODY, HUGE)
    with pytest.raises(
        GrammarError, match=r"case.jinja:6: .* 2,821,109,907,456 items, .* 2,000,000.\n  Use --limit"
    ):
        load_suite(path)


def test_more_items_than_can_be_numbered_are_refused(write_grammar):
    path = write_grammar("a: x\nb: y", "{s: {class: noun.person, repeat: 100}}")
    with pytest.raises(GrammarError, match=r"case.jinja:6: .* more than 9 quintillion items.\n  Shorten"):
        load_suite(path, sample=1)


def test_cases_that_together_cannot_be_numbered_are_refused(write_grammar):
    for name in ("one", "two", "three"):
        path = write_grammar("a: x\nb: y", "{s: {class: noun.person, repeat: 24}}", name=name)
    with pytest.raises(SuiteError, match=r"more than 9 quintillion items.\n  Choose fewer cases"):
        stream_cases(path.parent, sample=1)


def test_limited_and_sampled_items_are_those_of_the_full_expansion(write_grammar):
    path = write_grammar("a: {{ subject }} {{ verb | agree(subject) }}\nb: x")
    full = {item.index: item for item in load_suite(path).cases[0].items()}
    assert list(full) == list(range(12))
    limited = load_suite(path, limit=5)
    assert [*limited.cases[0].items()] == [full[index] for index in range(5)]
    sampled = load_suite(path, sample=6, seed=3).cases[0]
    assert [*sampled.items()] == [full[index] for index in sampled.index.to_pylist()]
    assert not limited.complete
    assert load_suite(path).complete


def test_a_sample_is_uniform():
    draws = [row for seed in range(2000) for row in choose_rows(20, sample=5, seed=seed)]
    counts = [draws.count(row) for row in range(20)]
    # Each row is drawn 500 times on average, with a standard deviation of 19.
    assert all(abs(count - 500) < 95 for count in counts)


def test_streamed_blocks_join_to_the_whole(write_grammar, monkeypatch):
    monkeypatch.setattr("tseval.suites.grammar.expand.ITEMS_AT_ONCE", 500)
    slots = "{n: {class: noun.person, repeat: 6}, verb: verb.main}"
    path = write_grammar("a: {{ n[0] }} {{ n[5] }} {{ verb | agree(n[5]) }}\nb: x", slots)
    n_items, blocks = stream_cases(path, limit=800)
    parts: list[Case] = list(blocks)
    assert len(parts) == 2
    texts = [text for part in parts for text in part.sentences.column("a").to_pylist()]
    assert n_items == len(texts) == 800
    whole = load_suite(path, limit=800).cases[0]
    assert texts == whole.sentences.column("a").to_pylist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("verb == 'laughs'", [True, False]),
        ("'laughs' != verb", [False, True]),
        ("verb in ['laughs', 'runs']", [True, False]),
        ("verb not in ['laughs']", [False, True]),
        ("verb is in ['laughs']", [True, False]),
        ("'augh' in verb", [True, False]),
        ("'is tall' in [verb, 'x']", [False, True]),
        ("verb | agree('plur') == 'are tall'", [False, True]),
        ("{'laughs': true, 'is tall': false}[verb]", [True, False]),
    ],
)
def test_a_word_compares_as_the_text_it_prints(write_grammar, condition, expected):
    path = write_grammar("a: {{ verb }}\nb: y", "{verb: verb.main}", f'features: {{f: "{condition}"}}')
    assert load_suite(path).cases[0].features.column("f").to_pylist() == expected


def test_lists_are_joined_with_a_word_or_a_number(write_grammar):
    path = write_grammar("a: '{{ [1, 2, 3] | join(verb) }}'\nb: {{ [1, 2] | join(0) }}", "{verb: verb.main}")
    assert load_suite(path).cases[0].sentences.column("a")[0].as_py() == "'1laughs2laughs3'"
    assert load_suite(path).cases[0].sentences.column("b")[0].as_py() == "102"
