"""The text of a grammar is scored as its author wrote it: named words, joined parts, names in any script."""

import unicodedata
from itertools import permutations

import pytest

from tseval.errors import GrammarError
from tseval.suites import load_suite

KINDS = {"walk": "b", "talk": "a", "work": "b", "wait": "a", "smile": "b", "laugh": "a", "swim": "b"}


def write(folder, body, *, slots, lexicon, more="", name="case"):
    path = folder / f"{name}.jinja"
    path.write_text(
        f"---\nconstruction: C\nphenomenon: P\nlexicon: {lexicon}\nslots: {slots}\n{more}---\n{body}", "utf-8"
    )
    return path


def case_of(path):
    return load_suite(path).cases[0]


def sentences(path, label="good"):
    return case_of(path).sentences[label].to_pylist()


AGREE = (
    "good: the {{ subject }} {{ verb | agree(subject) }}\n"
    "bad: the {{ subject }} {{ verb | disagree(subject) }}\n"
)
SUBJECTS = "{noun: {p: [farmer, pilot]}, verb: {v: [%s]}}"


def verbs(tmp_path, entry):
    lexicon = SUBJECTS % ", ".join(entry.format(verb=verb, kind=kind) for verb, kind in KINDS.items())
    path = write(tmp_path, AGREE, slots="{subject: noun.p, verb: verb.v}", lexicon=lexicon)
    return case_of(path).entries["verb"].to_pylist()


def test_the_order_of_forms_does_not_name_an_entry(tmp_path):
    first = verbs(tmp_path, "{{kind: {kind}, sing: {verb}s, plur: {verb}}}")
    last = verbs(tmp_path, "{{sing: {verb}s, plur: {verb}, kind: {kind}}}")
    assert first == last
    assert {*first} == {f"{verb}s" for verb in KINDS}


def test_an_entry_is_named_by_its_lemma(tmp_path):
    assert {*verbs(tmp_path, "{{sing: {verb}s, lemma: to-{verb}, plur: {verb}}}")} == {
        f"to-{verb}" for verb in KINDS
    }


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("[walks, talks, walks]", r"called 'walks', on lines 4 and 4\.\n  Delete one, or name each: {lemma:"),
        (
            "[{kind: b, past: walked}, {kind: b, past: talked}]",
            "two entries of the class 'verb.v' are called 'b'",
        ),
        ("[{lemma: x}]", "the entry has a 'lemma' and no form"),
        ("[{lemma: '', sing: x}]", "'lemma' is empty"),
    ],
)
def test_two_entries_of_one_name_are_refused(tmp_path, entries, message):
    path = write(tmp_path, AGREE, slots="{subject: noun.p, verb: verb.v}",
                 lexicon=f"{{noun: {{p: [farmer]}}, verb: {{v: {entries}}}}}")  # fmt: skip
    with pytest.raises(GrammarError, match=message):
        load_suite(path)


SUFFIX = """{% macro suffix() %}
  {% if possessor == "first" %}im
  {% else %}in
  {% endif %}
{% endmacro %}
"""
HARMONY = {
    "slots": "{noun: {class: noun.thing, number: sing}, possessor: [first, second]}",
    "lexicon": "{noun: {thing: [{sing: ev}, {sing: deniz}]}}",
}


@pytest.mark.parametrize(
    ("macro", "call", "first"),
    [
        (SUFFIX, "{{ noun }}{{ suffix() }}de kaldı", "evimde kaldı"),
        (SUFFIX, "{{ noun }} {{ suffix() }} de kaldı", "ev im de kaldı"),  # the author's spaces stay
        ("{% macro suffix() %} im {% endmacro %}\n", "{{ noun }}{{ suffix() }}de", "ev im de"),
        ("{% macro case() %}\n  de\n{% endmacro %}\n{% macro suffix() %}\n  im{{ case() }}\n{% endmacro %}\n",
         "{{ noun }}{{ suffix() }} kaldı", "evimde kaldı"),
        ("{% macro suffix() %}\n im\n {% for x in ['a', 'b'] %}{{ x }} {% endfor %}\n son\n{% endmacro %}\n",
         "{{ noun }}{{ suffix() }}", "evim a b son"),  # line breaks in a macro are spaces
    ],
)  # fmt: skip
def test_line_breaks_at_the_ends_of_a_macro_are_no_spaces(tmp_path, macro, call, first):
    path = write(tmp_path, f"{macro}good: {call}\nbad: {call} x\n", **HARMONY)
    assert sentences(path)[0] == first


def test_an_empty_form_leaves_no_space(tmp_path):
    path = write(
        tmp_path, "good: heute {{ article.nom }} {{ noun }} fehlt\nbad: {{ article.gen }} {{ noun }} fehlt\n",
        slots="{article: article.any, noun: {class: noun.n, number: sing}}",
        lexicon="{noun: {n: [{sing: Wein}]}, article: {any: [{nom: der, gen: des}, {nom: '', gen: ''}]}}",
    )  # fmt: skip
    assert sentences(path) == ["heute der Wein fehlt", "heute Wein fehlt"]
    assert case_of(path).entries["article"].to_pylist() == ["der", "∅"]


def test_tables_nest_twice(tmp_path):
    table = '{"weak": {"m": ["e", "en"], "n": ["e", "en"]}, "strong": {"m": ["er", "en"], "n": ["es", "en"]}}'
    path = write(
        tmp_path,
        f"{{% set endings = {table} %}}\n"
        "good: gut{{ endings[kind][noun.g][0] }} {{ noun }}\nbad: gut {{ noun }}\n",
        slots="{kind: [weak, strong], noun: {class: noun.n, number: sing}}",
        lexicon="{noun: {n: [{sing: Wein, g: m}, {sing: Bier, g: n}]}}",
    )
    assert sentences(path) == ["gute Wein", "gute Bier", "guter Wein", "gutes Bier"]
    deeper = path.read_text("utf-8").replace(table, '{"weak": [[[["e"]]]]}')
    path.write_text(deeper, "utf-8")
    with pytest.raises(GrammarError, match="tables inside tables inside tables"):
        load_suite(path)


CYRILLIC = (
    'верно: {{ подлежащее }} {{ "спит" if подлежащее.number == "sing" else "спят" }}\n'
    'неверно: {{ подлежащее }} {{ "спят" if подлежащее.number == "sing" else "спит" }}\n'
)


def test_names_are_of_any_script(tmp_path):
    path = write(tmp_path, CYRILLIC, slots="{подлежащее: noun.люди}",
                 lexicon="{noun: {люди: [{sing: кот, plur: коты}]}}")  # fmt: skip
    assert sentences(path, "верно") == ["кот спит", "коты спят"]


NAMED = "---\nconstruction: Été\nphenomenon: P\nlexicon: lexicon.yaml\n"
NAMED += "slots: {prénom: noun.prénom, fée: verb.été}\n"
NAMED += (
    "features: {même: prénom.genré}\ncontrasts: [réussi > raté]\n---\n{% macro né() %}ici{% endmacro %}\n"
)
NAMED += "réussi: {{ prénom }} {{ fée | agree(prénom) }} {{ né() }}\n"
NAMED += "raté: {{ prénom }} {{ fée | disagree(prénom) }}\n"
WORDS = (
    "noun: {prénom: [{sing: pilote, plur: pilotes, genré: m}]}\nverb: {été: [{sing: dort, plur: dorment}]}\n"
)


@pytest.mark.parametrize(("grammar", "lexicon"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
def test_names_are_compared_in_normal_form(tmp_path, grammar, lexicon):
    name = unicodedata.normalize(grammar, "né.jinja")
    (tmp_path / name).write_text(unicodedata.normalize(grammar, NAMED), "utf-8")
    (tmp_path / "lexicon.yaml").write_text(unicodedata.normalize(lexicon, WORDS), "utf-8")
    listed = unicodedata.normalize(lexicon, "cases: [né]\n")
    (tmp_path / "suite.yaml").write_text(listed, "utf-8")
    suite = load_suite(tmp_path)
    assert [case.name for case in suite.cases] == ["né"]
    assert suite.cases[0].sentences["réussi"].to_pylist() == ["pilote dort ici", "pilotes dorment ici"]
    assert suite.cases[0].features["même"].to_pylist() == ["m", "m"]


NOUNS = ["farmer", "pilot", "nurse", "soldier", "teacher"]
PEOPLE = f"{{noun: {{p: [{', '.join(NOUNS)}]}}}}"


def distinct_nouns(
    tmp_path, slots, body="good: {{ a }} {{ b }} {{ c }}\nbad: {{ c }} {{ b }} {{ a }} x\n", more=""
):
    return sentences(write(tmp_path, body, slots=slots, lexicon=PEOPLE, more=more))


def test_a_slot_differs_from_several(tmp_path):
    a, b = "a: {class: noun.p, number: sing}", "b: {class: noun.p, number: sing%s}"
    c = "c: {class: noun.p, number: sing, differs_from: [a, b]}"
    found = distinct_nouns(tmp_path, f"{{{a}, {b % ', differs_from: a'}, {c}}}")
    assert found == [" ".join(words) for words in permutations(NOUNS, 3)]  # in the order of the slots
    # a and b may be the same noun, but c always differs from both.
    loose = distinct_nouns(tmp_path, f"{{{a}, {b % ''}, {c}}}")
    expected = {f"{x} {y} {z}" for x in NOUNS for y in NOUNS for z in NOUNS if z not in (x, y)}
    assert len(loose) == len(expected)
    assert {*loose} == expected


def test_words_of_a_repeated_slot_differ_from_each_other_and_from_others(tmp_path):
    slots = "{a: {class: noun.p, number: sing}, b: {class: noun.p, number: sing, repeat: 2, differs_from: a}}"
    body = "good: {{ a }} {{ b[0] }} {{ b[1] }}\nbad: {{ a }} x\n"
    assert distinct_nouns(tmp_path, slots, body) == [" ".join(words) for words in permutations(NOUNS, 3)]
    alone = "{b: {class: noun.p, number: sing, repeat: 3, distinct: true}}"
    body = "good: {{ b[0] }} {{ b[1] }} {{ b[2] }}\nbad: x\n"
    assert distinct_nouns(tmp_path, alone, body) == [" ".join(words) for words in permutations(NOUNS, 3)]
    same = slots.replace("differs_from: a", "differs_from: a, distinct: false")
    assert len(distinct_nouns(tmp_path, same, "good: {{ a }} {{ b | join(' ') }}\nbad: x\n")) == 5 * 4 * 4


CHAIN = (
    "{% macro inner(k) %}{% if k > 0 %}that the {{ nouns[k - 1] }} {{ inner(k - 1) }} sees{% endif %}"
    "{% endmacro %}\n"
    "good: the {{ subject }} {{ inner(depth) }} laughs\nbad: the {{ subject }} {{ inner(depth) }} laugh\n"
)


def test_a_chain_of_all_nouns_is_a_permutation(tmp_path):
    slots = "{depth: [1, 2, 3, 4], subject: {class: noun.p, number: sing}, "
    slots += "nouns: {class: noun.p, number: sing, repeat: depth, differs_from: subject}}"
    path = write(tmp_path, CHAIN, slots=slots, lexicon=PEOPLE, more="draw: {items: 10, for_each: [depth]}\n")
    case = case_of(path)
    depths, texts = case.features["depth"].to_pylist(), case.sentences["good"].to_pylist()
    assert len({*texts}) == 40
    for depth, text in zip(depths, texts, strict=True):
        nouns = [word for word in text.split() if word in NOUNS]
        assert len({*nouns}) == len(nouns) == depth + 1
    longer = path.read_text().replace("[1, 2, 3, 4]", "[1, 5]")
    path.write_text(longer)
    with pytest.raises(GrammarError, match=r"6 different words are needed up to 'nouns', and .* has 5"):
        load_suite(path)


PLAUSIBLE = """
  noun: {p: [farmer, pilot, nurse, soldier, teacher, lawyer, doctor, baker, sailor, writer]}
  object: {o: [{text: the bread, kind: food}, {text: the soup, kind: food}, {text: the letter, kind: paper},
               {text: the book, kind: paper}]}
  verb: {v: [{sing: eats, plur: eat, food: yes, paper: no}, {sing: reads, plur: read, food: no, paper: yes},
             {sing: buys, plur: buy, food: yes, paper: yes}]}
  adverb: {a: [today, now, often, daily, soon, again, here, there, indoors, abroad]}"""
PLAUSIBLE_SLOTS = "{subject: noun.p, other: noun.p, verb: verb.v, object: object.o, adverb: adverb.a}"
PLAUSIBLE_BODY = (
    "good: a {{ subject }} by a {{ other }} {{ verb | agree(subject) }} {{ object.text }} {{ adverb }}\n"
    "bad: a {{ subject }} by a {{ other }} {{ verb | disagree(subject) }} {{ object.text }} {{ adverb }}\n"
)
WHERE = 'where: verb[object.kind] == "yes" and subject.lemma != other.lemma'


def plausible(tmp_path, options, name="case"):
    return case_of(
        write(tmp_path, PLAUSIBLE_BODY, slots=PLAUSIBLE_SLOTS, lexicon=PLAUSIBLE, name=name,
              more=f"draw:\n  {options}\n  {WHERE}\n")
    )  # fmt: skip


def test_a_draw_with_a_condition_uses_every_word_as_evenly_as_the_condition_allows(tmp_path):
    table = plausible(tmp_path, "items: 200").features.to_pandas()
    assert len(table.drop_duplicates()) == 200
    food = table["object"].isin(["the bread", "the soup"])
    assert ((table["verb"] == "eats") <= food).all()
    assert ((table["verb"] == "reads") <= ~food).all()
    assert (table["subject"] != table["other"]).all()
    assert {*table["adverb"].value_counts()} == {20}
    assert {*table["subject"].value_counts()} == {20}
    assert {*table["object"].value_counts()} == {50}
    # A draw from all combinations would give 50, 50 and 100.
    assert table["verb"].value_counts().between(60, 74).all()


def test_a_seed_is_another_sample_and_none_is_always_the_same(tmp_path):
    samples = [
        plausible(tmp_path, options, name).sentences["good"].to_pylist()
        for options, name in (("items: 200", "a"), ("items: 200\n  seed: 2", "a"), ("items: 200", "a"),
                              ("items: 200\n  seed: 3", "a"))
    ]  # fmt: skip
    assert samples[0] == samples[2]
    assert len({*map(tuple, samples)}) == 3
    assert len({*samples[0]} & {*samples[1]}) < 20  # of 28,800


def test_a_condition_that_allows_too_few_items_is_named_with_their_number(tmp_path):
    # 10 x 9 nouns in 2 x 2 numbers, 8 pairs of verb and object, 10 adverbs.
    with pytest.raises(
        GrammarError, match=r"asks for 28,801 items, but the words and 'where' allow only 28,800\."
    ):
        plausible(tmp_path, "items: 28801")
    with pytest.raises(GrammarError, match="'where' is true for no combination of words"):
        case_of(write(tmp_path, PLAUSIBLE_BODY, slots=PLAUSIBLE_SLOTS, lexicon=PLAUSIBLE,
                      more="draw: {items: 5, where: subject.lemma == 'nobody'}\n"))  # fmt: skip
