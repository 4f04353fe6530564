"""Mistakes of grammar authors, each planted in a correct grammar, with lint's message and its line."""

import re
from typing import NamedTuple

from tseval.suites.starter import starter_files

ISLAND = """\
---
construction: Object gap
phenomenon: Filler-gap dependencies
lexicon: lexicon.yaml
slots:
  subject: {class: noun.person, number: sing}
  act:     event.past
regions: [object, after]
predictions:
  filled gap effect: what_object.object > that_object.object
  gap is licensed:   what_gap.after < that_gap.after
---
that_object: I know that the {{ subject }} {{ act.verb }} [object {{ act.object }}] [after {{ act.time }}]
what_object: I know what the {{ subject }} {{ act.verb }} [object {{ act.object }}] [after {{ act.time }}]
that_gap:    I know that the {{ subject }} {{ act.verb }} [object] [after {{ act.time }}]
what_gap:    I know what the {{ subject }} {{ act.verb }} [object] [after {{ act.time }}]
"""
EVENTS = """\
noun: {person: [farmer, pilot]}
event:
  past:
    - {verb: bought, object: the house, time: last week}
    - {verb: lost, object: the letter, time: yesterday}
"""
HARMONY = """\
---
construction: Possessive and locative
phenomenon: Vowel harmony
language: turkish
lexicon: {noun: {thing: [{sing: ev}, {sing: deniz}]}}
slots:
  noun: {class: noun.thing, number: sing}
  possessor: [first, second]
---
{% macro suffix() %}{% if possessor == "first" %}im{% else %}in{% endif %}{% endmacro %}
grammatical:   {{ noun }}{{ suffix() }}de kaldı
ungrammatical: {{ noun }}{{ suffix() }}da kaldı
"""


def correct(grammar):
    """Return the files of a correct grammar. It has no `expect`, which would find more mistakes."""
    if grammar == "island":
        return {"case.jinja": ISLAND, "lexicon.yaml": EVENTS}
    if grammar == "harmony":
        return {"case.jinja": HARMONY}
    files = starter_files(grammar, "case")
    return files | {"case.jinja": re.sub(r"expect:\n(?:  .*\n)+", "", files["case.jinja"])}


class Mistake(NamedTuple):
    """A mistake: its name, its place, and lint's message (empty if lint does not find it)."""

    name: str
    grammar: str
    file: str
    right: str
    wrong: str
    message: str = ""
    fix: str = ""
    place: str = ""  # FILE:TEXT if lint names another place: the line that contains TEXT
    reason: str = ""  # why lint does not find it


G, L, S = "case.jinja", "lexicon.yaml", "suite.yaml"
BEFORE = '{{ subject }} перед {{ attractor["ins_" ~ attractor.number] }} {{ verb |'
GOOD_RU = f"grammatical:   {BEFORE} agree(subject) }}}}"
BAD_RU = f"ungrammatical: {BEFORE} disagree(subject) }}}}"
MISTAKES = [
    # labels and contrasts
    Mistake(
        "a label misspelt in a contrast",
        "german",
        G,
        "slots:",
        "contrasts: [grammatical > ungramatical]\nslots:",
        "no sentence is labelled 'ungramatical'",
        "Did you mean 'ungrammatical'?",
    ),
    Mistake(
        "a label misspelt in suite.yaml",
        "english",
        S,
        'terminator: "."',
        "contrasts: [grammatical > ungramatical]",
        "the suite's 'contrasts' compare no two labels of case.jinja",
        "Did you mean 'ungrammatical'?",
    ),
    Mistake(
        "one of two contrasts misspelt",
        "english",
        S,
        'terminator: "."',
        "contrasts: [grammatical > ungrammatical, grammatical > ungrammatcal]",
        "no case has a sentence labelled 'ungrammatcal'",
        "Did you mean 'ungrammatical'?",
    ),
    Mistake(
        "one label for both sentences",
        "german",
        G,
        "ungrammatical: {{",
        "grammatical: {{",
        "the label 'grammatical' appears twice",
        "Rename one of them",
    ),
    Mistake(
        "a colon forgotten",
        "russian",
        G,
        "grammatical:   {{",
        "grammatical   {{",
        "expected 'label: sentence'",
        "Write for example 'grammatical: the",
    ),
    Mistake(
        "a star before the label",
        "turkish",
        G,
        "ungrammatical: {{",
        "*ungrammatical: {{",
        "'*ungrammatical' cannot be a label",
        "Use letters of any script, digits and _, such as ungrammatical",
    ),
    Mistake(
        "the wrong sentence first",
        "russian",
        G,
        f"{GOOD_RU}\n{BAD_RU}",
        f"{BAD_RU}\n{GOOD_RU}",
        "counts 'ungrammatical' as the better sentence",
        "add: contrasts: [grammatical > ungrammatical]",
    ),
    Mistake(
        "agree and disagree exchanged",
        "russian",
        G,
        f"{GOOD_RU}\n{BAD_RU}",
        f"{GOOD_RU.replace('agree', 'disagree')}\n{BAD_RU.replace('disagree', 'agree')}",
        "'verb' disagrees with 'subject' in the better sentence",
        "Swap 'agree' and 'disagree'",
    ),
    Mistake(
        "agree in both sentences",
        "english",
        G,
        "verb | disagree(subject)",
        "verb | agree(subject)",
        "64 of 64 items have two equal sentences in a contrast",
        "'the author that the guard likes laughs'",
    ),
    # slots
    Mistake(
        "a slot misspelt",
        "english",
        G,
        "the {{ subject }} that",
        "the {{ subjct }} that",
        "'subjct' is not defined",
        "Did you mean 'subject'?",
    ),
    Mistake(
        "a class misspelt",
        "russian",
        G,
        "noun.attractor",
        "noun.atractor",
        "the lexicon has no class 'noun.atractor'",
        "Did you mean 'noun.attractor'?",
    ),
    Mistake(
        "an option misspelt",
        "turkish",
        G,
        "number: sing",
        "numbr: sing",
        "unknown slot option 'numbr'",
        "Did you mean 'number'?",
    ),
    Mistake(
        "'singular' for 'sing'",
        "japanese",
        G,
        "number: sing",
        "number: singular",
        "'singular' is not a grammatical number",
        "Write sing or plur",
    ),
    Mistake(
        "a slot that no sentence uses",
        "german",
        G,
        "noun.attractor\n",
        "noun.attractor\n  adverb: verb.intransitive\n",
        "no sentence uses the slot 'adverb'",
        "Write {{ adverb }} into the sentences, or delete the slot",
        f"{G}:adverb:",
    ),
    Mistake(
        "the attractor left out of one sentence",
        "german",
        G,
        'neben {{ attractor["dat_" ~ attractor.number] }} {{ verb | agree',
        "{{ verb | agree",
        "'grammatical' does not use the slot 'attractor'",
        "Write {{ attractor }} into 'grammatical'",
    ),
    Mistake(
        "the same class for two nouns",
        "english",
        G,
        "noun.other",
        "noun.person",
        "in 32 of 64 items 'subject' and 'attractor' have the same word",
        "differs_from: subject",
    ),
    # lexicon
    Mistake(
        "a form forgotten",
        "german",
        L,
        ", plur: Ärzte",
        "",
        "'Arzt' has no form 'plur'",
        "Write {sing: Arzt, gender: masc, plur: ...}",
    ),
    Mistake(
        "the name of a form misspelt",
        "russian",
        L,
        "ins_plur: поварами",
        "ins_plr: поварами",
        "'повар' has no form 'ins_plur'",
        "Did you mean 'ins_plr'?",
        f"{G}:{GOOD_RU}",
    ),
    Mistake(
        "two forms equal that differ",
        "hindi",
        L,
        "fem_sing: सोती है",
        "fem_sing: सोता है",
        "8 of 32 items have two equal sentences in a contrast",
        "'लड़का कुत्ते के पास सोता है'",
        f"{G}:ungrammatical:",
    ),
    Mistake(
        "an entry twice",
        "english",
        L,
        "[likes, admires]",
        "[likes, likes]",
        "two entries of the class 'verb.transitive' are called 'likes'",
        "Delete one",
    ),
    Mistake(
        "a gender misspelt",
        "german",
        L,
        "Ärzte, gender: masc",
        "Ärzte, gender: mask",
        "a mapping has no part 'mask'",
        "Did you mean 'masc'?",
        f"{G}:{{% set article",
    ),
    Mistake(
        "a bracket not closed",
        "german",
        L,
        "plur: lachen}",
        "plur: lachen",
        "not valid YAML: expected ',' or '}'",
        "Write one 'key: value' per line",
    ),
    Mistake(
        "a tab",
        "german",
        L,
        "    - {sing: lacht",
        "\t- {sing: lacht",
        "not valid YAML: found character '\\t'",
        "indent with spaces",
    ),
    Mistake(
        "the lexicon under another name",
        "russian",
        G,
        "lexicon: lexicon.yaml",
        "lexicon: lexikon.yaml",
        "the lexicon file 'lexikon.yaml' does not exist",
        "Put this file into the folder of the grammar",
    ),
    Mistake(
        "a key misspelt",
        "german",
        G,
        "phenomenon: Subject",
        "phenomena: Subject",
        "unknown key 'phenomena'",
        "Did you mean 'phenomenon'?",
    ),
    # sentences
    Mistake(
        "a filter misspelt",
        "english",
        G,
        "verb | agree",
        "verb | agre",
        "there is no filter 'agre'",
        "Did you mean 'agree'?",
    ),
    Mistake(
        "agreement with nothing",
        "arabic",
        G,
        "verb | agree(subject)",
        "verb | agree",
        "'agree' does not say which word it inflects",
        "{{ verb | agree(subject) }}",
    ),
    Mistake(
        "one brace for two",
        "english",
        G,
        "{{ subject }} that",
        "{ subject } that",
        "braces are scored as words",
        "Write {{ subject }}, with two braces on each side",
    ),
    Mistake(
        "no braces",
        "english",
        G,
        "{{ subject }} that",
        "subject that",
        "'subject' is a word in 'the subject that the guard likes laughs'",
        "Write {{ subject }}",
    ),
    Mistake(
        "a word twice",
        "english",
        G,
        "grammatical:   the {{",
        "grammatical:   the the {{",
        "'the' appears twice in a row, and so does a word of every other sentence",
        "delete one",
    ),
    Mistake(
        "a space forgotten in one sentence",
        "german",
        G,
        "number] }} {{ verb | agree",
        "number] }}{{ verb | agree",
        "'Kochschläft' is one word in 'grammatical', and two words in the other",
        "give both sentences the same spaces",
    ),
    Mistake(
        "a comma at its word",
        "german",
        G,
        "{{ subject }} neben",
        "{{ subject }}, neben",
        "in 'Arzt,', the mark is a part of the word",
        "Write a space before the mark: 'Arzt ,'",
    ),
    Mistake(
        "parts of a word parted",
        "harmony",
        G,
        "{{ noun }}{{ suffix() }}de",
        "{{ noun }} {{ suffix() }} de",
        "'evimda' is one word in 'ungrammatical', and two words in the other",
        "give both sentences the same spaces",
        f"{G}:ungrammatical:",
    ),
    Mistake(
        "a macro without its parentheses",
        "harmony",
        G,
        "{{ noun }}{{ suffix() }}de",
        "{{ noun }}{{ suffix }}de",
        "a macro cannot be printed",
        "Print only words, text and numbers",
    ),
    # mistakes with invisible characters
    Mistake(
        "a space of no width in a word",
        "german",
        L,
        "dem Koch",
        "dem Ko\u200bch",
        "has an invisible character, U+200B (zero width space), at place 3",
        "Delete it",
    ),
    Mistake(
        "a Latin letter in a Russian word",
        "russian",
        L,
        "{sing: спит",
        "{sing: cпит",
        "'c' is U+0063 (latin small letter c)",
        "with a keyboard of Cyrillic letters",
    ),
    # marks and languages
    Mistake(
        "the final mark in the sentences",
        "japanese",
        G,
        "{{ verb.negative }}",
        "{{ verb.negative }}。",
        "16 sentences end in '。'",
        "the mark is scored twice",
    ),
    Mistake(
        "a question mark and a full stop",
        "english",
        G,
        "{{ verb | agree(subject) }}",
        "{{ verb | agree(subject) }} ?",
        "64 sentences end in '?'",
        'Write into suite.yaml: terminator: "?"',
    ),
    Mistake(
        "the full stop of another script",
        "hindi",
        S,
        'terminator: "।"\n',
        "",
        "tseval ends sentences with '.', but sentences in hindi usually end with '।'",
        'terminator: "।"',
        S,
    ),
    Mistake(
        "a language misspelt",
        "turkish",
        S,
        "language: turkish",
        "language: turkisch",
        "no rules of writing are known for 'turkisch'",
        "Did you mean 'turkish'?",
    ),
    Mistake(
        "a code of a country",
        "japanese",
        S,
        "language: japanese",
        "language: jp",
        "no rules of writing are known for 'jp'",
        "Did you mean 'japanese'?",
    ),
    Mistake(
        "a star before the sentence",
        "turkish",
        G,
        "ungrammatical: {{",
        "ungrammatical: *{{",
        "the mark '*' is scored as a word in '*ben senin",
        "Delete the mark: the label already names",
    ),
    Mistake(
        "quotes around a sentence",
        "german",
        G,
        "grammatical:   {{ article }}",
        'grammatical:   "{{ article }}',
        "the quotes are scored",
        "Delete them",
    ),
    Mistake(
        "a comment behind a sentence",
        "english",
        G,
        "{{ verb | agree(subject) }}",
        "{{ verb | agree(subject) }} # right",
        "the text after '#' is scored",
        "Write a comment as {# ... #}",
    ),
    Mistake(
        "a wide colon",
        "japanese",
        G,
        "ungrammatical: {{",
        "ungrammatical： {{",
        "the label 'ungrammatical' ends in '：' without a space",
        "Write 'ungrammatical: '",
    ),
    Mistake(
        "one equals sign",
        "english",
        G,
        "{{ verb | agree(subject) }}",
        "{{ verb if subject.number = 'sing' else 'laugh' }}",
        "got '='",
        "Write == to compare two values",
    ),
    Mistake(
        "a colon forgotten in the front matter",
        "english",
        G,
        "subject:   noun.person",
        "subject    noun.person",
        "not valid YAML",
        "Write one 'key: value' per line",
    ),
    # designs and conditions
    Mistake(
        "a region not marked",
        "island",
        G,
        "that_object: I know that the {{ subject }} {{ act.verb }} [object {{ act.object }}]",
        "that_object: I know that the {{ subject }} {{ act.verb }} {{ act.object }}",
        "'that_object' marks no 'object'",
        "Write [object ...] in its sentence",
        f"{G}:filled gap effect",
    ),
    Mistake(
        "a region misspelt",
        "island",
        G,
        "[after {{ act.time }}]\nwhat_object",
        "[aftr {{ act.time }}]\nwhat_object",
        "there is no region 'aftr'",
        "Did you mean 'after'?",
    ),
    Mistake(
        "a bracket of a region not closed",
        "island",
        G,
        "[after {{ act.time }}]\nwhat_object",
        "[after {{ act.time }}\nwhat_object",
        "the region 'after' is not closed",
        "Write a region as [critical at sunrise]",
    ),
    Mistake(
        "a condition misspelt in a prediction",
        "island",
        G,
        "what_gap.after <",
        "wat_gap.after <",
        "names the condition 'wat_gap', but the items do not have it",
        "Did you mean 'what_gap'?",
    ),
    Mistake(
        "a condition that never holds",
        "turkish",
        G,
        "subject.person != possessor.person",
        "subject.person != subject.person",
        "'where' is true for no combination of words",
        "Change it",
    ),
    Mistake(
        "more items than there are",
        "turkish",
        G,
        "where: subject.person != possessor.person",
        "draw: {items: 400}",
        "'draw' asks for 400 items, but the words allow only 64",
        "Draw fewer items",
    ),
    Mistake(
        "a prediction about one condition",
        "island",
        G,
        "what_gap.after < that_gap.after",
        "what_gap.after < what_gap.after",
        "compares what_gap.after with itself",
        "Change one side, so that the two",
    ),
    Mistake(
        "a number in quotes",
        "harmony",
        G,
        'possessor == "first"',
        "possessor == 1",
        "the condition 'possessor == 1' compares",
        '\'possessor\' has the values "first", "second"',
    ),
    # mistakes that lint does not find
    Mistake(
        "singular and plural exchanged",
        "german",
        L,
        "{sing: schläft, plur: schlafen}",
        "{sing: schlafen, plur: schläft}",
        reason="only who knows German sees it; 'expect' finds it where the verb is the first of its class",
    ),
    Mistake(
        "a word misspelt",
        "german",
        L,
        "plur: schlafen",
        "plur: schlaffen",
        reason="the word is one of German all the same; '--vocab' finds those that a model does not know",
    ),
]
