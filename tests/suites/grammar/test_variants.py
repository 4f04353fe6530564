"""Two more grammars of each kind that once had another meaning than intended.

The kinds are those of docs/what-goes-wrong-in-grammars.md; the expected result of each row is made by hand.
"""

import pytest
from in_process import call

from tseval.suites import load_suite

HEAD = "---\nconstruction: C\nphenomenon: P\n"  # so the front matter of a row starts on line 4
PAIRS = "slots: {s: noun.p, v: verb.v}\n"
NOUNS = "lexicon: {noun: {p: [farmer, pilot, nurse]}, verb: {v: [laughs, works]}}\n"
AGREE = "good: the {{ s }} {{ v | agree(s) }}\nbad: the {{ s }} {{ v | disagree(s) }}\n"
WORSE = "worse: {{ s }} the {{ v | disagree(s) }}\n"
TEACHERS = (
    "language: german\nlexicon: {noun: {p: [{sing: Lehrer, plur: Lehrer}, {sing: Pilot, plur: Piloten}], "
    "q: [{sing: Arzt, plur: Ärzte}]}, verb: {v: [{sing: kam, plur: kamen}]}}\n"
)
TURKISH = (
    "language: turkish\nlexicon: {noun: {t: [{sing: ev}, {sing: deniz}]}}\n"
    "slots: {noun: {class: noun.t, number: sing}, possessor: [first, second], number: [sg, pl]}\n---\n"
)
ONE = "lexicon: {noun: {p: [farmer, pilot]}}\nslots: {s: {class: noun.p, number: sing}}\n"
MEALS = (
    "lexicon: {noun: {p: [farmer, pilot, nurse, guard]}, "
    "verb: {v: [{sing: eats, plur: eat, k: f}, {sing: reads, plur: read, k: p}]}, "
    "object: {o: [{t: bread, k: f}, {t: soup, k: f}, {t: book, k: p}]}}\n"
    "slots: {s: noun.p, v: verb.v, o: object.o}\n"
)
EATEN = (
    "---\ngood: the {{ s }} {{ v | agree(s) }} {{ o.t }}\nbad: the {{ s }} {{ v | disagree(s) }} {{ o.t }}\n"
)
CAT = "language: russian\nlexicon: {noun: {p: [{sing: кот, plur: коты}]}}\n"


def lint(folder, text, suite=None):
    (folder / "case.jinja").write_text(f"{HEAD}{text}", "utf-8")
    if suite is not None:
        (folder / "suite.yaml").write_text(suite, "utf-8")
    done = call("lint", folder, "--quiet")
    return done.returncode, done.stdout.replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        # 01: which entry is which
        (
            "lexicon: {noun: {p: [farmer]}, verb: {v: [{1sg: am, 3sg: is}]}}\n" + PAIRS + "---\n" + AGREE,
            "case.jinja:4: error",
            "'1sg' cannot name a form. Begin with a letter, such as x_1sg.",
        ),
        (
            "lexicon: {noun: {p: [{k: m, sing: a, plur: as}, {k: f, lemma: a, sing: b, plur: bs}]}, "
            "verb: {v: [works]}}\n" + PAIRS + "---\n" + AGREE,
            "case.jinja:4: error",
            "two entries of the class 'noun.p' are called 'a', on lines 4 and 4",
        ),
        # 02: correct in one item, wrong in another; not the first noun of the sentence, and no noun at all
        (
            TEACHERS + "slots: {o: noun.q, s: noun.p, v: verb.v}\n---\n"
            "good: neben {{ o }} {{ v | agree(s) }} {{ s }}\n"
            "bad: neben {{ o }} {{ v | disagree(s) }} {{ s }}\n",
            "case.jinja:9: error",
            "If 's' has one form for both numbers, add: where: s.sing != s.plur",
        ),
        (
            "lexicon: {noun: {p: [{sing: Band}, {sing: Buch}]}}\n"
            "slots: {s: {class: noun.p, number: sing}, art: [der, das]}\n"
            "language: german\n---\ngood: hier fehlt {{ art }} {{ s }}\n"
            "bad: hier fehlt {{ 'das' if art == 'der' else 'der' }} {{ s }}\n",
            "case.jinja:9: error",
            "4 of 4 pairs of 'good > bad' contradict each other",
        ),
        # 07: a letter of another alphabet, a joiner between Latin letters
        (
            ONE + "---\ngood: the {{ s }} сор\nbad: the {{ s }} cop\n",
            "case.jinja:8: error",
            "character 12 is U+0441 (cyrillic small letter es) in one sentence "
            "and U+0063 (latin small letter c) in the other",
        ),
        (
            ONE + "---\ngood: the {{ s }} lau\u200cghs\nbad: the {{ s }} laughs\n",
            "case.jinja:8: error",
            "character 15 of one sentence is U+200C (zero width non-joiner)",
        ),
        # 08: a cycle, and a chain written in one step
        (
            NOUNS + PAIRS + "contrasts: [good > bad, bad > worse, worse > good]\n---\n" + AGREE + WORSE,
            "case.jinja:6: error",
            "'worse > good' contradicts 'good > bad' and 'bad > worse'",
        ),
        (
            NOUNS + PAIRS + "contrasts: [good > bad > worse]\n---\n" + AGREE + WORSE,
            "case.jinja:6: error",
            "Write each pair: [good > bad, bad > worse]",
        ),
        # 09: brackets next to a word, or not closed
        (
            ONE + "---\ngood: the {{ s }} [critical laughs]today\nbad: the {{ s }} [critical laugh]today\n",
            "case.jinja:7: error",
            "the brackets of '[critical laughs]' are scored like words in 2 sentences",
        ),
        (
            ONE + "---\ngood: the {{ s }} [critical laughs today\nbad: the {{ s }} [critical laugh today\n",
            "case.jinja:7: error",
            "the brackets of '[critical laughs today' are scored like words",
        ),
        # 11: other scripts, and a mark before a quotation mark
        (
            ONE + "---\ngood: the {{ s }} laughs။\nbad: the {{ s }} laugh။\n",
            "case.jinja:7: error",
            'Write into suite.yaml: terminator: "။"',
        ),
        (
            ONE + '---\ngood: " the {{ s }} laughs."\nbad: " the {{ s }} laugh."\n',
            "case.jinja:7: error",
            "2 sentences end in '.'",
        ),
        # 12: a list written as text
        (
            ONE.replace("}}\n", "}}\n", 1).replace(
                "sing}}", "sing}, b: {class: noun.p, number: sing, differs_from: 's, c'}}"
            )
            + "---\ngood: {{ s }} {{ b }}\nbad: {{ b }} {{ s }} x\n",
            "case.jinja:5: error",
            "Write a list: [s, c].",
        ),
        # 13: two conditions in a list, and one equals sign
        (
            MEALS + "draw: {items: 4, where: [v.k == o.k, s.number == 'sing']}\n" + EATEN,
            "case.jinja:6: error",
            "'where' is a list. Write 'where' as one expression, with 'and' between its conditions.",
        ),
        (
            MEALS + "draw: {items: 4, where: v.k = o.k}\n" + EATEN,
            "case.jinja:6: error",
            "'=' does not compare two values. Write == to compare two values.",
        ),
        # 15: names with a hyphen
        (
            CAT + "slots: {имя-кота: noun.p}\n---\ng: {{ имя }} a\nb: {{ имя }} b\n",
            "case.jinja:6: error",
            "a slot cannot be called 'имя-кота'. Use letters of any script, digits and _, such as имя_кота.",
        ),
        (
            CAT + "slots: {n: noun.p}\n---\nun-grammatical: {{ n }} a\nb: {{ n }} b\n",
            "case.jinja:8: error",
            "'un-grammatical' cannot be a label. Use letters of any script, digits and _, "
            "such as un_grammatical.",
        ),
    ],
)
def test_lint_says_what_is_wrong_and_what_to_write(tmp_path, text, place, message):
    code, said = lint(tmp_path, text)
    assert code == 1
    assert [line for line in said.splitlines() if line.startswith(place) and message in line], said


@pytest.mark.parametrize(
    ("text", "first"),
    [
        # 01: `sing` is the name of case forms, in any position
        (
            "language: russian\nlexicon: {noun: {p: [{gen: стола, sing: стол}, {sing: дом, gen: дома}]}}\n"
            "slots: {n: {class: noun.p, number: sing}}\n---\ng: нет {{ n.gen }}\nb: нет {{ n }}\n",
            ["нет стола", "нет дома"],
        ),
        # 05: a macro inside a macro, and one before the word
        (
            TURKISH
            + "{% macro many() %}\n  {% if number == 'pl' %}\n    ler\n  {% endif %}\n{% endmacro %}\n"
            "{% macro suffix() %}\n  {{ many() }}{% if possessor == 'first' %}im\n  {% else %}in\n"
            "  {% endif %}\n{% endmacro %}\n"
            "good: {{ noun }}{{ suffix() }}de kaldı\nbad: {{ noun }}{{ suffix() }}da kaldı\n",
            ["evimde kaldı", "evlerimde kaldı", "evinde kaldı", "evlerinde kaldı"],
        ),
        (
            TURKISH + "{% macro prefix() %}\n  {% if possessor == 'first' %}\n    ki\n  {% else %}\n"
            "    vi\n  {% endif %}\n{% endmacro %}\n"
            "good: {{ prefix() }}{{ noun }} {{ number }}\nbad: {{ noun }} {{ prefix() }} {{ number }}\n",
            ["kiev sg", "kiev pl", "viev sg", "viev pl"],
        ),
        # 15: an empty plural leaves no space
        (
            "language: russian\nlexicon: {noun: {p: [{sing: кот, plur: ''}]}}\nslots: {n: noun.p}\n"
            "---\ng: вот {{ n }} тут\n"
            "b: вот {{ n }} там\n",
            ["вот кот тут", "вот тут"],
        ),
    ],
)
def test_what_is_written_is_scored(tmp_path, text, first):
    code, said = lint(tmp_path, text)
    assert (code, "error" in said) == (0, False), said
    (case,) = load_suite(tmp_path).cases
    assert case.sentences[case.labels[0]].to_pylist()[: len(first)] == first


def test_a_repeated_slot_and_one_that_differs_from_it_make_twelve_items(tmp_path):
    slots = "slots: {a: {class: noun.p, number: sing, repeat: 2}, "
    slots += "b: {class: noun.p, number: sing, differs_from: a}}\n"
    text = (
        NOUNS + slots + "---\ngood: {{ a[0] }} {{ a[1] }} {{ b }} x\nbad: {{ a[0] }} {{ a[1] }} {{ b }} y\n"
    )
    lint(tmp_path, text)
    found = [text.split()[:3] for text in load_suite(tmp_path).cases[0].sentences["good"].to_pylist()]
    words = ("farmer", "pilot", "nurse")
    assert found == [[x, y, z] for x in words for y in words for z in words if z not in (x, y)]
    assert len(found) == 12


@pytest.mark.parametrize(
    ("good", "bad"),
    [("elle ne {{ v }} pas", "elle {{ v }}"), ("il ne {{ v }} plus ici", "il {{ v }} toujours là")],
)  # 10
def test_a_circumfix_and_a_frame_differ_in_two_places_and_fail_nothing(tmp_path, good, bad):
    text = "language: french\nslots: {v: [dort, rit]}\n---\n" + f"good: {good}\nbad: {bad}\n"
    code, said = lint(tmp_path, text)
    assert code == 0
    assert "warning: 2 of 2 items differ in more than one contiguous stretch of words" in said


def test_a_draw_with_a_condition_gives_all_items_that_there_are_and_those_of_each_cell(tmp_path):
    # 8 nouns in a number; eats with bread or soup, reads with book: 8 x 3.
    lint(tmp_path, MEALS + "draw: {items: 24, where: v.k == o.k}\n" + EATEN)
    (case,) = load_suite(tmp_path).cases
    assert len({*case.sentences["good"].to_pylist()}) == 24
    lint(
        tmp_path,
        MEALS + "draw: {items: 3, for_each: [v], where: v.k == o.k and s.number == 'sing'}\n" + EATEN,
    )
    (case,) = load_suite(tmp_path).cases
    texts = case.sentences["good"].to_pylist()
    assert [text.split()[2] for text in texts] == ["eats"] * 3 + ["reads"] * 3
    assert {text.split()[3] for text in texts[3:]} == {"book"}
    assert len({text.split()[1] for text in texts[3:]}) == 3  # one object remains, with three nouns


def test_a_line_separator_in_the_front_matter_is_one_message(tmp_path):
    code, said = lint(tmp_path, "lexicon: {}" + "\u2028" * 9 + "slots x\u2028y: z\n---\n" + AGREE)
    assert code == 1
    assert said.startswith("case.jinja:")
    assert said.count("error: not valid YAML") == 1


def test_a_full_stop_in_the_sentences_of_a_suite_with_another_terminator_is_named(tmp_path):
    text = ONE + "---\ngood: the {{ s }} laughs.\nbad: the {{ s }} laugh.\n"
    code, said = lint(tmp_path, text, 'terminator: "。"\n')
    assert code == 1
    assert "2 sentences end in '.', for example 'the farmer laughs.': tseval also adds '。' to every" in said


def test_a_slot_that_differs_from_one_noun_is_told_to_differ_from_both(tmp_path):
    noun = "{class: noun.p, number: sing%s}"
    slots = f"slots: {{a: {noun % ''}, b: {noun % ', differs_from: a'}, c: {noun % ', differs_from: b'}}}\n"
    body = "---\ngood: {{ a }} {{ b }} {{ c }} works\nbad: {{ a }} {{ b }} {{ c }} work\n"
    lexicon = "lexicon: {noun: {p: [farmer, pilot, nurse]}}\n"
    code, said = lint(tmp_path, lexicon + slots + body)
    assert code == 0
    # 3 x 2 x 2 items; c is a in 3 x 2 of them.
    assert "case.jinja:5: warning: in 6 of 12 items 'a' and 'c' have the same word" in said
    assert "write: c: {class: noun.p, number: sing, differs_from: [b, a]}" in said
    code, said = lint(tmp_path, lexicon + slots.replace("differs_from: b", "differs_from: [b, a]") + body)
    assert (code, said) == (0, "")
