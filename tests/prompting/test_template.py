"""Prompt templates: files that show two sentences and can do nothing else."""

import time

import pytest

from tseval.errors import LimitError, ModelError
from tseval.prompting.template import bundled_templates, open_template, template_of


def test_three_templates_come_along_and_show_both_sentences_in_their_order():
    assert bundled_templates() == ["acceptable", "grammatical", "likely"]
    prompts = [
        open_template(name).render("The author laughs.", "The author laugh.") for name in bundled_templates()
    ]
    assert len({*prompts}) == 3
    for prompt in prompts:
        assert "1. The author laughs.\n2. The author laugh.\n" in prompt
        assert prompt.endswith("1 or 2.")


def test_equal_texts_have_equal_digests_wherever_they_lie(tmp_path):
    copy = tmp_path / "mine.jinja"
    copy.write_text(open_template("likely").text)
    assert open_template(str(copy)).digest == open_template("likely").digest
    copy.write_text(copy.read_text() + "!")
    assert open_template(str(copy)).digest != open_template("likely").digest


def test_a_sentence_is_shown_as_it_is_and_never_run():
    prompt = open_template("likely").render("{{ sentence_2 }} {% raise %}", "<b>&")
    assert "1. {{ sentence_2 }} {% raise %}\n2. <b>&\n" in prompt


BOTH = "{{ sentence_1 }} {{ sentence_2 }}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ sentence_1 }} and nothing", "does not show sentence_2"),
        (BOTH + "{{ item }}", "'item' is unknown"),
        (BOTH + "{% for i in range(9) %}x{% endfor %}", "line 1"),
        (BOTH + "{{ sentence_1 * 1000000000 }}", "mul is not allowed"),
        (BOTH + "{{ sentence_1.__class__ }}", "getattr is not allowed"),
        (BOTH + "{{ sentence_1|center(1000000000) }}", "'center' is not allowed"),
        (BOTH + "{% include '/etc/passwd' %}", "include is not allowed"),
        (BOTH + "{% set x = 1 %}", "line 1"),
        (BOTH + "\n\n{% if %}", "line 3"),
        (BOTH + "{{ sentence_1() }}", "call is not allowed"),
        ("{% if false %}{{ sentence_1 }}{% endif %}{{ sentence_2 }}", "does not show sentence_1"),
    ],
)  # fmt: skip
def test_a_template_that_does_more_is_refused_at_once_with_its_line(tmp_path, text, problem):
    file = tmp_path / "bad.jinja"
    file.write_text(text)
    started = time.monotonic()
    with pytest.raises(ModelError, match=problem) as refusal:
        open_template(str(file))
    assert str(file) in str(refusal.value)
    assert time.monotonic() - started < 5


def test_filters_of_case_and_conditions_are_allowed():
    template = template_of(
        "mine", "{% if sentence_1 %}{{ sentence_1|upper }}{% endif %}/{{ sentence_2 }}", "here"
    )
    assert template.render("a b", "c") == "A B/c"


@pytest.mark.parametrize(
    ("content", "problem"), [(b"\xff\xfe", "not UTF-8"), (b"x" * 20_001, "20,001 characters")]
)
def test_a_file_that_is_no_template_is_refused(tmp_path, content, problem):
    (tmp_path / "bad.jinja").write_bytes(content)
    with pytest.raises((ModelError, LimitError), match=problem):
        open_template(str(tmp_path / "bad.jinja"))


def test_an_unknown_template_names_those_there_are(tmp_path):
    with pytest.raises(ModelError, match="Did you mean 'grammatical'"):
        open_template("gramatical")
    with pytest.raises(ModelError, match="cannot read this file"):
        open_template(str(tmp_path))
