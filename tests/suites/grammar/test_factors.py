"""Lexical factors of grammars: which lexicon entry stands in which place, whatever its form."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tseval.errors import GrammarError
from tseval.items import ENTRIES, Case
from tseval.suites import TEMPLATES, load_suite
from tseval.suites.grammar import read_folder

WriteGrammar = Callable[..., Path]
BODY = (
    "a: the {{ subject }} {{ verb | agree(subject) }}\nb: the {{ subject }} {{ verb | disagree(subject) }}\n"
)
SLOTS = (
    "{subject: noun.person, tense: [past, future], depth: [0, 1, 2], chain: {class: noun.person, repeat: 2}, "
    "verb: verb.main}"
)
CRITICAL = {
    "obj_rel_within_anim": "embedded_verb",
    "obj_rel_within_inanim": "embedded_verb",
    "obj_rel_no_comp_within_anim": "embedded_verb",
    "obj_rel_no_comp_within_inanim": "embedded_verb",
    "simple_reflexives": "anaphor",
    "reflexive_sent_comp": "anaphor",
    "reflexives_across": "anaphor",
}


def factors(path: Path) -> Case:
    (case,) = load_suite(path).cases
    return case


def test_every_slot_of_the_lexicon_is_a_factor_and_conditions_are_none(write_grammar: WriteGrammar) -> None:
    entries = factors(write_grammar(BODY, SLOTS)).entries
    assert entries.column_names == ["subject", "chain", "verb"]
    assert set(entries.schema.types) == {ENTRIES}


def test_the_entry_of_an_item_is_the_same_in_every_form(write_grammar: WriteGrammar) -> None:
    case = factors(write_grammar(BODY, "{subject: noun.person, verb: verb.main}"))
    named = [(row["subject"], row["verb"]) for row in case.entries.to_pylist()]
    assert dict(zip(case.sentences["a"].to_pylist(), named, strict=True)) == {
        "the author laughs": ("author", "laughs"),
        "the author is tall": ("author", "is tall"),
        "the authors laugh": ("author", "laughs"),
        "the authors are tall": ("author", "is tall"),
        "the security guard laughs": ("security guard", "laughs"),
        "the security guard is tall": ("security guard", "is tall"),
        "the security guards laugh": ("security guard", "laughs"),
        "the security guards are tall": ("security guard", "is tall"),
        "the child laughs": ("child", "laughs"),
        "the child is tall": ("child", "is tall"),
        "the children laugh": ("child", "laughs"),
        "the children are tall": ("child", "is tall"),
    }


def test_a_repeated_slot_has_the_sequence_of_its_entries(write_grammar: WriteGrammar) -> None:
    slots = "{depth: [1, 2], chain: {class: noun.person, number: plur, repeat: depth}}"
    words = "{% for noun in chain %}{{ noun }} {% endfor %}"
    more = "draw: {items: 2, for_each: [depth]}"
    case = factors(write_grammar(f"a: x {words}\nb: y {words}\n", slots, more))
    plural = {"author": "authors", "security guard": "security guards", "child": "children"}
    lengths = []
    for sentence, level in zip(
        case.sentences["a"].to_pylist(), case.entries["chain"].to_pylist(), strict=True
    ):
        nouns = level.split(", ")
        assert sentence == " ".join(["x", *(plural[noun] for noun in nouns)])
        lengths.append(len(nouns))
    assert lengths == [1, 1, 2, 2]


def test_declared_factors_stand_in_place_of_the_slots(write_grammar: WriteGrammar) -> None:
    more = "factors: {who: subject, last: chain | last, tense: tense, none: \"verb if depth == 0 else ''\"}"
    entries = factors(write_grammar(BODY, SLOTS, more)).entries
    assert entries.column_names == ["who", "last", "tense", "none"]
    assert (
        set(entries["who"].to_pylist())
        == {"author", "security guard", "child"}
        == set(entries["last"].to_pylist())
    )
    assert set(entries["tense"].to_pylist()) == {"past", "future"}
    assert set(entries["none"].to_pylist()) == {"laughs", "is tall", None}
    assert factors(write_grammar(BODY, SLOTS, "factors: {}")).entries.num_columns == 0


def test_no_digest_depends_on_factors(write_grammar: WriteGrammar) -> None:
    digests = [
        load_suite(write_grammar(BODY, SLOTS, more)).digest
        for more in ("", "factors: {}", "factors: {v: verb}")
    ]
    assert digests[0] == digests[1] == digests[2]


def test_some_items_have_the_entries_that_they_have_in_the_whole(write_grammar: WriteGrammar) -> None:
    path = write_grammar(BODY, SLOTS)
    whole = factors(path).entries.to_pylist()
    for part in (load_suite(path, limit=5), load_suite(path, sample=7, seed=3)):
        (case,) = part.cases
        assert case.entries.to_pylist() == [whole[index] for index in case.index.to_pylist()]


def test_the_cache_keeps_the_entries(write_grammar: WriteGrammar) -> None:
    path = write_grammar(BODY, SLOTS)
    fresh, cached = factors(path), factors(path)
    assert cached.entries.to_pylist() == fresh.entries.to_pylist()
    assert cached.entries.schema == fresh.entries.schema


@pytest.mark.parametrize(
    ("declared", "what"),
    [
        ("{_v: verb}", "a factor cannot be called '_v'.\n  Use letters, digits and _."),
        ("{v: 3}", "the factor 'v' is a number.\n  Name a slot, or write an expression that gives a word"),
        ("{v: depth}", "the factor 'v' is the slot 'depth', which holds no words.\n  Leave it out: it is a"),
        (
            "{v: depth + 1}",
            "a number is no entry of a lexicon.\n  Give a word, such as 'verb' or 'nouns | last'.",
        ),
        ("{v: '[verb]'}", "a list is no entry of a lexicon."),
        ("{v: verb if depth}", "an inline 'if' without an 'else' prints nothing.\n  Add \"else ''\"."),
        ("{v: vreb}", "'vreb' is not defined.\n  Did you mean 'verb'? Slots, macros and sets: chain,"),
        ("[verb]", "'factors' must be a mapping, not a list.\n  Write one 'name: value' per line"),
    ],
)
def test_a_malformed_factor_is_one_message_with_its_line(
    write_grammar: WriteGrammar, declared: str, what: str
) -> None:
    path = write_grammar(BODY, SLOTS, f"factors: {declared}")
    with pytest.raises(GrammarError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}:7: {what}")


@pytest.mark.parametrize("suite", ["marvin_linzen", "agreement"])
def test_a_factor_of_several_grammars_has_entries_of_one_part_of_speech(suite: str) -> None:
    # Rows share a factor by its name: `verb.entry` of one must be that of another.
    parts: dict[str, set[str]] = {}
    for grammar in read_folder(TEMPLATES / suite).load():
        words = {
            word.lemma: name.partition(".")[0]
            for name, classes in grammar.lexicon.classes.items()
            for word in classes
        }
        (case,) = load_suite(TEMPLATES / suite, cases=grammar.name, sample=200).cases
        for name in case.entries.column_names:
            parts.setdefault(name, set()).update(words[e] for e in case.entries[name].unique().to_pylist())
    nouns = {"subject", "embedded", "speaker", "last_noun"}
    verbs = {"verb", "first_verb", "embedded_verb", "said", "last_embedded_verb"}
    others = {"preposition", "determiner", "predicate"}
    expected = dict.fromkeys(nouns, "noun") | dict.fromkeys(verbs, "verb") | {"anaphor": "pronoun"}
    expected |= {name: name for name in others} | {"last_preposition": "preposition"}
    assert parts == {name: {expected[name]} for name in parts}
    assert {"subject", "verb"} <= parts.keys()


def test_the_words_that_are_right_or_wrong_are_those_of_the_factor_verb() -> None:
    checked = 0
    for case in load_suite("marvin_linzen", sample=150).cases:
        name = CRITICAL.get(case.name, "verb")
        if name not in case.entries.column_names:  # negative polarity items differ in their determiner
            continue
        rows = zip(case.items(), case.entries[name].to_pylist(), strict=True)
        for item, entry in rows:
            good, bad = (item.sentences[label].split() for label in ("grammatical", "ungrammatical"))
            at = next(n for n, (one, other) in enumerate(zip(good, bad, strict=True)) if one != other)
            singular = good[at] if good[at] in entry.split() else bad[at]
            assert [singular, *good[at + 1 :]][: len(entry.split())] == entry.split(), (case.name, item)
            checked += 1
    assert checked > 2000
