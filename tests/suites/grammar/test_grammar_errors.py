"""Every message for authors of grammars: caused by a real grammar, and compared."""

import os

import pytest
from systems import needs_posix

from tseval.errors import GrammarError
from tseval.suites import load_suite
from tseval.suites.grammar.grammar import load_grammar

SLOTS = (
    "{subject: noun.person, verb: verb.main, said: verb.past, det: determiner.npi, "
    "chain: {class: noun.person, repeat: 2}}"
)


DOUBLED = "{% set t0 = 'aaaaaaaa' ~ subject %}" + "".join(
    f"{{% set t{i + 1} = t{i} ~ t{i} %}}" for i in range(60)
)
DOUBLED_LIST = "{% set t0 = [1, 2] %}" + "".join(f"{{% set t{i + 1} = t{i} + t{i} %}}" for i in range(60))
TOO_MUCH = "printing this text takes too many steps, or the text is too long.\n  Look for a loop"


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("{{ subjct }}", "'subjct' is not defined.\n  Did you mean 'subject'? Slots, macros and sets: chain"),
        ("{{ disagree(verb, subject) }}", "'disagree' is a filter, so it must follow a word and '|'.\n  "
         "Write"),
        ("{{ upper(subject) }}", "'upper' is a filter, so it must follow a word and '|'.\n  "
         "Write {{ subject"),
        ("{{ ''.__class__ }}", "'__class__' is not allowed as a name.\n  Choose a name that does not begin"),
        ("{{ 'a'.upper() }}", "'a' has no 'upper'.\n  Write a dot only after a word or 'loop'."),
        ("{{ subject.forms }}", "'author' has no form 'forms'.\n  Forms: plur, sing. It is defined at lexic"),
        ("{{ chain['a'] }}", "a list has no part 'a'.\n  Write the name of a form, a position, or a key."),
        ("{{ {'a': 'b'}['c'] }}", "a mapping has no part 'c'."),
        ("{{ subject() }}", "'author' cannot be called.\n  Call only macros, range and words."),
        ("{% include 'x' %}", "'include' is not allowed.\n  Use {{ }}, for, if, set, macro"),
        ("{{ 2 ** 9999999 }}", "'**' is not allowed."),
        ("{% for x in chain recursive %}{% endfor %}", "a recursive loop is not allowed."),
        ("{{ subject | agre(verb) }}", "there is no filter 'agre'.\n  Did you mean 'agree'? Filters: agree,"),
        ("{{ 'x' if subject is defined else '' }}", "there is no test 'defined'.\n  Tests: divisibleby,"),
        ("{% set x = 1 %}x", "{% set %} and {% macro %} are not allowed inside a labelled line.\n"
         "  Move the set or"),
        ("", "the sentence 'b' is empty.\n  Write for example 'grammatical: the {{ subject }} ...'"),
        ("{{ (1 }}", "unexpected '}', expected ')'.\n  Close each {{, {% for %} and {% if %} on the"),
        ("{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "the code is nested too deeply or too large.\n  Simpl"),
        ("{{ det }}", "'no' has several forms (licensor, intrusive).\n  Write the form to print"),
        ("{{ chain }}", "a list cannot be printed.\n  Print only words, text and numbers. Print"),
        ("{{ 'x' if subject.number == 'plur' }}", "an inline 'if' must have an 'else', but this one has "
         "none.\n  Add"),
        ("{{ chain[5] }}", "this text cannot be printed: tuple index out of range.\n  Check the kinds of"),
        ("{{ 1 / 0 }}", "this text cannot be printed: division by zero."),
        ("{{ verb | agree(said) }}", "'said' has no number.\n  Name a noun slot, or write 'sing' or 'plur'."),
        ("{{ 'x' | agree(subject) }}", "'x' cannot be inflected.\n  Use 'agree' and 'disagree' only with"),
        ("{{ verb + 1 }}", "'+' cannot combine 'laughs' and a number.\n  Join texts with '~'."),
        ("{{ [chain] }}", "a list cannot be printed."),
        ("{% for x in 'abc' %}{% endfor %}", "'abc' is not a list.\n  Loop over a repeated slot or over ran"),
        ("{{ '\\ud800' }}", "this text has half a character (a lone surrogate).\n  Correct its \\u escape."),
        ("{{ 'a' * 1000000000 }}", TOO_MUCH),
        ("{{ 'a' * (-99999 * 1000) }}{{ 'a' * 60000 }}", TOO_MUCH),
        ("{{ 'x' if 0.5 in range(99999999999999) else 'y' }}", TOO_MUCH),
        ("{{ words(*range(999999999999)) }}",
         "arguments with '*' or '**' are not allowed.\n  Write the arguments one"),
        ("{{ self }}", "'self' is not allowed as a name.\n  Choose another name: in Jinja, this name has"),
        ("{{ 99999999999999999999 }}", "a number is too large."),
        ("{{ none }}", "nothing cannot be printed."),
        ("{{ ' ' }}", "the sentence of an item is empty.\n  Change the line so that every combination"),
    ],
)  # fmt: skip
def test_the_code_of_a_sentence(write_grammar, message, code, what):
    body = f"a: the {{{{ subject }}}}\nb: {code}"
    assert message(write_grammar(body, SLOTS)).startswith(f"case.jinja:10: {what}")


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("{% macro f(x) %}{{ f(x) }}{% endmacro %}\na: {{ f(1) }}\nb: x", 9, "macros are nested too deeply."),
        ("{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}\n"
         "a: {{ f(50) }}\nb: x", 9, TOO_MUCH),
        (f"{DOUBLED}\na: {{{{ t60 }}}}\nb: x", 9, TOO_MUCH),
        (f"{DOUBLED_LIST}\na: {{{{ t60[0] }}}}\nb: x", 9, TOO_MUCH),
        ("{% macro f() %}" + "x" * 30_000 + "{% endmacro %}\na: {{ f() }}{{ f() }}\nb: x", 10, TOO_MUCH),
        ("{% macro f(n) %}\n\n{{ n.zip }}{% endmacro %}\na: {{ f(subject) }}\nb: x", 11,
         "'author' has no form"),
        ("{% macro f(n) %}{{ n }}{% endmacro %}\na: {{ f() }}\nb: x", 9,
         "parameter 'n' was not provided.\n  Give"),
        ("{% macro f() %}{% endmacro %}\na: {{ f(1) }}\nb: x", 10,
         "this text cannot be printed: macro 'f' takes not more"),
        ("{# nothing #}", 9, "no labelled sentences; a grammar needs two or more."),
        ("{% macro f() %}\nx: y\n{% endmacro %}\na: x\nb: x", 9, "Unexpected end of template."),
        ("{% set subject = 1 %}\na: x\nb: x", 9, "the name 'subject' is already defined.\n  Give every"),
        ("{% if 1 %}{% endif %}\na: x\nb: x", 9, "this block is not allowed here.\n  Before the labelled"),
        ("\nthe author laughs\na: x\nb: x", 10, "expected 'label: sentence'.\n  Write for example"),
        ("a: x\nb: y\na: z", 11, "the label 'a' appears twice.\n  Rename one of them."),
        ("a: x", 9, "1 labelled sentence; a grammar needs two or more."),
        ("a: x\nsubject: y", 9 - 3, "the slot 'subject' has the same name as the label 'subject'."),
        ("case: x\nb: y", 9, "the label 'case' has the same name as a column of every table.\n  Rename it."),
    ],
)  # fmt: skip
def test_the_body(write_grammar, message, body, line, what):
    assert message(write_grammar(body)).startswith(f"case.jinja:{line}: {what}")


BODY = "a: {{ x }}\nb: y"


@pytest.mark.parametrize(
    ("slots", "what"),
    [
        ("{x: noun.persn}", "the lexicon has no class 'noun.persn'.\n  Did you mean 'noun.person'? Classes:"),
        ("{x: {class: noun.person, nmber: plur}}", "unknown slot option 'nmber'.\n  Did you mean 'number'?"),
        ("{x: {number: plur}}", "the slot 'x' names no class.\n  Add 'class: ...'."),
        ("{x: {class: noun.person, number: dual}}", "'dual' is not a grammatical number.\n  Write sing or"),
        ("{x: {class: verb.main, number: plur}}", "the slot 'x' fixes a number, but 'verb.main' is not a cl"),
        ("{x: {class: noun.person, repeat: 0}}", "'repeat' must be a whole number from 1 to 100, or a slot"),
        ("{x: {class: verb.main, differs_from: y}}", "'differs_from' names 'y', which is not an earlier slo"),
        ("{y: verb.past, x: {class: verb.main, differs_from: y}}",
         "'x' can differ only from slots of the same"),
        ("{y: verb.past, x: {class: verb.past, differs_from: y}}",
         "2 different words are needed up to 'x', and the class 'verb.past' has 1."),
        ("{x: [1, a]}", "the list of slot 'x' must have one or more values, all of one kind."),
        ("{x: 3}", "the slot 'x' is a number.\n  Write a class (noun.animate), options"),
        ("{for: noun.person}", "a slot cannot be called 'for'.\n  This is a word of the template language."),
        ("{x: noun.person + noun.fixd}", "the lexicon has no class 'noun.fixd'.\n  Did you mean 'noun.fixed"),
        ("{x: noun.person + verb.main}", "'noun.person + verb.main' mixes nouns, which have a number, with"),
        ("{}", "there are no slots.\n  Add 'slots:' with a line 'NAME: CLASS' for each slot."),
        ("[x]", "'slots' must be a mapping, not a list.\n  Write one 'name: value' per line"),
    ],
)  # fmt: skip
def test_slots(write_grammar, message, slots, what):
    assert message(write_grammar(BODY, slots)).startswith(f"case.jinja:6: {what}")


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ("fetures: {}", "unknown key 'fetures'.\n  Did you mean 'features'? Keys: conditions, construction,"),
        ("dependency: far", "'dependency' is 'far'.\n  Write short or long."),
        ("construction: D", "the key 'construction' appears twice.\n  Keep one of them."),
        ("dependency: *anchor", "not valid YAML: aliases (*name) are not allowed.\n  Write one 'key: value'"),
        ("dependency: !!python/object:os.system x", "the YAML tag 'tag:yaml.org,2002:python/object:os.syste"),
        ("dependency: [", "not valid YAML: "),
        ("dependency: {" + "a: {" * 2000, "the YAML is nested too deeply.\n  Write the file with fewer "
                                          "levels of indentation."),
        ('dependency: "\\ud800"', "this text has half a character (a lone surrogate)."),
        ("contrasts: a > b", "'contrasts' is text.\n  Write a list such as [grammatical > ungrammatical]."),
        ("contrasts: [a]", "'a' is not a contrast."),
        ("contrasts: [a > b, a>b]", "the contrast 'a > b' appears twice.\n  Keep one of them."),
        ("contrasts: [a > c]", "no sentence is labelled 'c'.\n  Labels: a, b."),
        ("expect: {c: x}", "'expect' names 'c'.\n  Known options: a, b, items."),
        ("expect: {items: many}", "'expect: items' is text.\n  Write a whole number."),
        ("expect: {a: 1}", "'expect: a' is a number.\n  Write the first item's sentence."),
        ("features: {f: animate}", "'animate' is not defined.\n  Slots, macros and sets: subject, verb. A f"),
        ("features: {f: 1 2}", "this is more than one expression."),
        ("features: {f: '('}", "unexpected 'end of template'.\n  A feature is an expression. For plain text"),
        ("features: {f: [1]}", "the feature 'f' is a list.\n  Write a number, true, false, or an expression"),
        ("features: {f: '[1]'}", "a list cannot be printed."),
        ("features: {f g: 1}", "a feature cannot be called 'f g'.\n  Use letters of any script"),
        ("features: {case: 1}", "the feature 'case' has the same name as a column of every table."),
        ("features: {subject_number: 1}", "the feature 'subject_number' has the same name as the number"),
        ("features: {f: 'verb if verb.lemma == \"laughs\" else 1'}", "the feature 'f' mixes"),
    ],
)  # fmt: skip
def test_front_matter(write_grammar, message, more, what):
    body = "a: {{ subject }}\nb: y"
    line = 1 if what.startswith("the YAML is nested") else 7
    found = message(write_grammar(body, more=more))
    assert found.startswith(f"case.jinja:{line + (line == 1)}: {what}"), found


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"a: x\nb: y", ":1: the grammar does not begin with front matter (settings between two lines "
                        "'---').\n  Write a line '---'"),
        (b"---\nslots: {}\n", ":1: the front matter (the settings between two lines '---') has no second "
                              "line '---'.\n  Add a line '---' after the settings."),
        (b"---\nslots: {}\n---\n\n\xff", ":5: the file is not UTF-8 text.\n  Save it in UTF-8."),
        (b"---\nslots: \x07\n---\n", ":2: a control character, which YAML does not allow."),
        (b"---\n- x\n---\n", ":2: expected a mapping, found a list."),
        (b"---\nslots: {x: [1]}\n---\na: x\nb: y", ":2: the front matter does not have the key "
                                                   "'construction'.\n  Add"),
        (b"---\nslots: {x: a.b}\n---\n", ":2: the slot 'x' needs a lexicon.\n  Add 'lexicon: lexicon.yaml'."),
        (b"---\nconstruction: 3\nslots: {x: [1]}\n---\na: x\nb: y",
         ":2: 'construction' must be text, not a number.\n  Put it in quotes."),
        (b"---\n\nlexicon: ../x.yaml\n---\n", ":3: the lexicon '../x.yaml' is not a .yaml file in the "
                                              "folder of the grammar.\n  Name a .yaml file"),
        (b"---\nlexicon: lex.yaml\n---\n", ":2: the lexicon file 'lex.yaml' does not exist.\n  Put this "
                                           "file into the"),
        (b"x" * (1 << 20) + b"x", ": the file is larger than 1,048,576 bytes.\n  Split the file"),
        (b"x" * (1 << 17), ": the grammar is longer than 65,536 characters.\n  Split the grammar"),
    ],
)  # fmt: skip
def test_the_file(tmp_path, message, raw, what):
    path = tmp_path / "case.jinja"
    path.write_bytes(raw)
    assert message(path).startswith(f"case.jinja{what}")


@pytest.mark.parametrize(
    ("lexicon", "line", "what"),
    [
        ("noun: {person: []}", 1, "the class 'noun.person' lists no words.\n  Write 'person: [word, ...]'."),
        ("noun:\n  person: [a, [b]]", 2, "a word is text or a mapping of forms, not a list."),
        ("noun:\n  person: [a, '']", 2, "a word is text or a mapping of forms, not empty."),
        ("noun: [a]", 1, "'noun' must be a mapping, not a list."),
        ("noun:\n  person: [{sing: [a]}]", 2, "the form 'sing' must be text.\n  Write the word, or ''"),
        ("noun:\n  person: [{number: a}]", 2, "'number' cannot name a form."),
        ("irregular:\n  is: []", 2, "the irregular plural of 'is' is empty.\n  Write 'singular: plural'"),
        ("noun: {person: [box]}", 1, "'box' has no form 'plur'.\n  The English rule adds -s to nouns"),
    ],
)
def test_the_lexicon(write_grammar, message, lexicon, line, what):
    path = write_grammar("a: {{ verb | agree('plur') }}\nb: {{ subject }}")
    (path.parent / "lexicon.yaml").write_text(lexicon)
    assert message(path).startswith(f"lexicon.yaml:{line}: {what}")


def test_a_missing_lexicon_class_in_a_folder_names_the_line_of_the_slot(tmp_path, message):
    (tmp_path / "lexicon.yaml").write_text("noun: {person: [a]}")
    path = tmp_path / "case.jinja"
    path.write_text("---\nlexicon: lexicon.yaml\nslots:\n  subject: noun.person\n  verb: verb.main\n---\n")
    said = "case.jinja:5: the lexicon has no class 'verb.main'.\n  Classes: noun.person."
    assert message(path).startswith(said)


@pytest.mark.parametrize(
    ("suite", "line", "what"),
    [
        ("titel: x", 1, "unknown key 'titel'.\n  Did you mean 'title'?"),
        ("cases: x", 1, "'cases' is text.\n  Write a list of the names of the grammar files, without "
                        "'.jinja'."),
        ("cases:\n  - case\n  - cas", 3, "the folder has no grammar 'cas'.\n  Did you mean 'case'? "
                                         "Grammars: case"),
        ("cases: [case, case]", 1, "the case 'case' appears twice.\n  Keep one."),
        ("title: 3", 1, "'title' must be text, not a number.\n  Put it in quotes."),
    ],
)  # fmt: skip
def test_the_suite_file(write_grammar, message, suite, line, what):
    folder = write_grammar("a: x\nb: y").parent
    (folder / "suite.yaml").write_text(suite)
    assert message(folder).startswith(f"suite.yaml:{line}: {what}")


def test_suite_contrasts_that_fit_no_label_are_an_error(write_grammar):
    folder = write_grammar("a: x\nb: y").parent
    (folder / "suite.yaml").write_text("contrasts: [good > bad]")
    with pytest.raises(
        GrammarError,
        match=r"suite.yaml:1: the suite's 'contrasts' compare no two labels of case.jinja",
    ):
        load_suite(folder)


def test_rendering_that_takes_too_long_is_stopped(write_grammar, monkeypatch):
    monkeypatch.setattr("tseval.suites.grammar.sandbox.SECONDS", 0.05)
    slots = "{chain: {class: noun.person, repeat: 6}}"
    path = write_grammar("a: {% for n in chain %}{{ n }} {% endfor %}\nb: x", slots)
    with pytest.raises(GrammarError, match=r"case.jinja:9: rendering takes longer than 0 seconds."):
        load_suite(path)


def test_memory_that_runs_out_is_one_message(write_grammar, message, monkeypatch):
    # More than a 64-bit process can address. The budget refuses it much earlier, so remove the budget here.
    monkeypatch.setattr("tseval.suites.grammar.sandbox.WORK_PER_TEXT", 10**18)
    found = message(write_grammar("a: x\nb: {{ 'aa' * 999999999999999 }}"))
    assert (
        found == "case.jinja:10: the memory is not enough to print this text.\n"
        "  Make the texts and lists of this line shorter."
    )


NOT_A_FILE = [
    (lambda path: path.mkdir(), "Is a directory"),
    (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
    pytest.param(
        lambda path: os.mkfifo(path),  # noqa: PLW0108 - Windows has no such name
        "It is a pipe, not a regular file",
        marks=needs_posix,
    ),
]


@pytest.mark.parametrize("name", ["case.jinja", "lexicon.yaml", "suite.yaml"])
@pytest.mark.parametrize(("make", "what"), NOT_A_FILE)
def test_what_is_no_file_is_one_message(write_grammar, name, make, what):
    folder = write_grammar("a: {{ subject }}\nb: y").parent
    load_suite(folder)
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    with pytest.raises(GrammarError) as caught:
        load_suite(folder)
    said = f"{folder / name}: cannot be read: {what}.\n  Check the name, "
    assert str(caught.value).startswith(said)


def test_a_missing_grammar_is_one_message(tmp_path):
    with pytest.raises(GrammarError) as caught:
        load_grammar(tmp_path / "case.jinja")
    assert f"{tmp_path / 'case.jinja'}: cannot be read: No such file or directory." in str(caught.value)
