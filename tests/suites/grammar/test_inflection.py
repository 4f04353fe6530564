"""English inflection by rule: correct forms, messages about doubtful words, and other languages."""

import pytest
from in_process import call, refuse

from tseval.errors import GrammarError
from tseval.suites import load_suite
from tseval.suites.inflection import doubted, plural_by_rule, right_plural

CASE = """---
construction: C
phenomenon: P
{language}lexicon: {{noun: {{a: [{nouns}]}}, verb: {{b: [{verbs}]}}}}
slots: {{subject: noun.a, verb: verb.b}}
---
a: the {{{{ subject }}}} {{{{ verb | agree(subject) }}}}
b: the {{{{ subject }}}} {{{{ verb | disagree(subject) }}}}
"""


def write(path, nouns, verbs="laughs", language=""):
    path.write_text(CASE.format(nouns=nouns, verbs=verbs, language=language), "utf-8")
    return path


# Nouns that once became mans, womans, ...
@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("man", "men"), ("woman", "women"), ("wife", "wives"), ("hero", "heroes"), ("sheep", "sheep"),
        ("mouse", "mice"), ("leaf", "leaves"), ("potato", "potatoes"), ("foot", "feet"),
        ("policeman", "policemen"), ("stay-at-home child", "stay-at-home children"), ("box", "boxes"),
        ("city", "cities"), ("criterion", "criteria"),
    ],
)  # fmt: skip
def test_a_noun_that_is_not_regular_is_refused_with_its_plural(tmp_path, noun, plural):
    path = write(tmp_path / "case.jinja", f"author, {noun}")
    with pytest.raises(GrammarError) as caught:
        load_suite(path)
    assert f"case.jinja:4: '{noun}' has no form 'plur'." in str(caught.value)
    assert f"write {{sing: {noun}, plur: {plural}}} here" in str(caught.value)
    spelt = load_suite(write(path, f"{{sing: {noun}, plur: {plural}}}"))
    assert f"the {plural} laugh" in spelt.cases[0].sentences["a"].to_pylist()


@pytest.mark.parametrize("noun", ["police", "furniture", "men", "cattle"])
def test_a_noun_with_one_number_has_no_plural_by_rule(noun):
    assert (plural_by_rule("noun", noun), right_plural("noun", noun)) == (None, "")


# The plurals of these words in Merriam-Webster.
@pytest.mark.parametrize(
    "noun",
    ["human", "German", "roof", "chief", "piano", "giraffe", "cliff", "mongoose", "radio", "guard", "blouse"],
)
def test_a_noun_that_only_looks_irregular_is_regular(noun):
    assert (plural_by_rule("noun", noun), doubted("noun", noun)) == (f"{noun}s", None)


@pytest.mark.parametrize(
    ("verb", "plural"),
    [("is tall", "are tall"), ("has cats", "have cats"), ("does well", "do well"), ("focuses", "focus"),
     ("always laughs", None), ("sometimes laughs", None), ("goes", "go"), ("carries", "carry")],
)  # fmt: skip
def test_a_third_person_that_is_not_regular_has_no_plural_by_rule(verb, plural):
    assert (plural_by_rule("verb", verb), right_plural("verb", verb)) == (None, plural)


@pytest.mark.slow
def test_lint_names_all_that_is_wrong_with_a_file_and_counts_items(tmp_path):
    write(tmp_path / "one.jinja", "man, author, wife, box")
    write(tmp_path / "two.jinja", "author, gigolo", "watchs, laughs")
    done = call("lint", tmp_path, "--quiet")
    lines = done.stdout.replace(f"{tmp_path}/", "").splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["one.jinja:4"] * 3 + ["two.jinja:4"] * 2
    for line, word in zip(lines, ("man", "wife", "box", "gigolo", "watchs"), strict=True):
        assert f": '{word}' " in line
    assert "which may be wrong: gigolos or gigoloes." in lines[3]
    assert "which may be wrong: the third person of watch is watches." in lines[4]
    assert (done.returncode, done.stderr) == (1, "5 findings in 8 items.\n")


def test_errors_in_different_parts_of_a_grammar_are_said_together(tmp_path):
    path = write(tmp_path / "case.jinja", "author")
    path.write_text(path.read_text("utf-8").replace("phenomenon: P", "dependency: middling"), "utf-8")
    path.write_text(path.read_text("utf-8").replace("\n---\na:", "\nexpect: {item: 4}\n---\na:"), "utf-8")
    done = call("lint", path)
    assert len(done.stdout.splitlines()) == 3, done.stdout
    for what in ("phenomenon", "middling", "'item'"):
        assert what in done.stdout
    assert "phenomenon" in refuse("expand", path).stderr  # expand also reports the first one


def test_words_of_another_language_are_spelled_out(tmp_path):
    path = write(tmp_path / "case.jinja", "\u1ecd\u0300r\u1ecd\u0300")
    done = call("lint", path)
    assert "may be wrong" in done.stdout
    assert "add the line 'language: NAME' to suite.yaml" in done.stdout
    write(path, "\u1ecd\u0300r\u1ecd\u0300", language="language: yoruba\n")
    said = refuse("expand", path).stderr
    assert "has no form 'plur'" in said
    (tmp_path / "suite.yaml").write_text("title: T\nlanguage: turkish\n")
    write(path, "ev")
    path.write_text(path.read_text("utf-8").replace("verb: verb.b", "object: noun.a, verb: verb.b"), "utf-8")
    assert call("lint", tmp_path).stderr == "1 finding in 0 items.\n", "said once, whatever uses it"
    assert "'ev' has no form 'plur'" in refuse("expand", tmp_path).stderr
    write(path, "{sing: ev, plur: evler}", "{sing: geldi, plur: geldiler}")
    assert call("lint", tmp_path).stderr == "No findings in 2 items.\n"
