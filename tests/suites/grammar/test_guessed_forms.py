"""Words that the English rule inflects must be English: lint names others, with the language line to add."""

import pytest
from in_process import call

from tseval.suites.word_lists import likely_language

HEAD = "---\nconstruction: C\nphenomenon: P\n"
BODY = "good: %s {{ verb | agree(subject) }} {{ subject }}\n"
BODY += "bad: %s {{ verb | disagree(subject) }} {{ subject }}\n"


def lint(folder, nouns, verb, first, more=""):
    front = f"lexicon: {{noun: {{p: [{nouns}]}}, verb: {{v: [{verb}]}}}}\n"
    front += "slots: {subject: noun.p, verb: verb.v}\n"
    path = folder / "case.jinja"
    path.write_text(f"{HEAD}{front}{more}---\n{BODY % (first, first)}", "utf-8")
    return call("lint", path, "--quiet").stdout.replace(f"{folder}/", "").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "nouns", "verb", "first"),
    [
        ("german", "Lehrer, Pilot, Kind", "{sing: schläft, plur: schlafen}", "heute"),
        ("french", "chien, voisin, garçon", "{sing: dort, plur: dorment}", "aujourd'hui"),
        ("spanish", "perro, gato, niño", "{sing: duerme, plur: duermen}", "mañana"),
        ("dutch", "leraar, hond, schrijver", "{sing: slaapt, plur: slapen}", "vandaag"),
    ],
)
def test_words_of_another_language_are_errors_that_show_its_name(tmp_path, language, nouns, verb, first):
    found = lint(tmp_path, nouns, verb, first)
    words = nouns.split(", ")
    assert [one.partition(" is inflected by the English rule")[0] for one in found] == [
        f"case.jinja:4: error: '{word}'" for word in words
    ]
    assert all(f"Add the line 'language: {language}'" in one for one in found)
    # With that line, the grammar must list the forms.
    stated = lint(tmp_path, nouns, verb, first, f"language: {language}\n")
    assert all("has no form 'plur'" in one for one in stated)


@pytest.mark.parametrize(
    ("noun", "why"),
    [
        ("wug", "'wug' is in no list of English words"),
        ("security blicket", "'blicket' is in no list of English words"),
        ("American", "it has a capital letter inside a sentence"),
    ],
)
def test_a_word_that_may_not_be_english_is_a_warning_that_a_stated_language_answers(tmp_path, noun, why):
    (found,) = lint(tmp_path, f"pilot, {noun}, TV star", "works", "today")
    assert found.startswith(
        f"case.jinja:4: warning: '{noun}' is inflected by the English rule to '{noun}s', but {why}"
    )
    assert "'language: german' with its language, or 'language: english'" in found
    assert lint(tmp_path, f"pilot, {noun}, TV star", "works", "today", "language: english\n") == []


@pytest.mark.parametrize("noun", ["Mensch", "Arzt", "box"])
def test_a_form_that_no_rule_gives_is_asked_for_and_so_is_the_language_of_a_word_that_is_not_english(
    tmp_path, noun
):
    (found,) = [one for one in lint(tmp_path, noun, "works", "today") if f"'{noun}' " in one]
    assert ("language: german" in found) == (noun != "box")
    assert ("plur: boxes" in found) == (noun == "box")


def test_a_language_is_named_only_where_most_words_are_of_it():
    assert likely_language(["heute", "schläft", "der", "Lehrer"]) == "german"
    assert likely_language(["le", "garçon", "dort", "aujourd'hui"]) == "french"
    assert likely_language(["the", "pilot", "near", "the", "taxi", "laughs"]) is None
    assert likely_language(["wug", "blicket", "dax"]) is None
    assert likely_language([]) is None
