from pathlib import Path

import pytest

from tseval.suites.lint import lint

BODY = "a: {{ subject }} {{ verb | agree(subject) }}\nb: {{ subject }} {{ verb | disagree(subject) }}"


def messages(path: Path, known: set[str] | None = None) -> list[str]:
    folder = path if path.is_dir() else path.parent
    found = lint(path, None if known is None else known.__contains__)
    return [str(finding).replace(f"{folder}/", "").replace(str(folder), "SUITE") for finding in found]


KNOWN = {"author", "authors", "child", "children", "security", "guard", "is", "are", "tall"}
KIND = 'features: {kind: \'subject.lemma if subject.lemma == "child" else "other"\', n: words(subject)}'


@pytest.mark.parametrize(
    ("body", "more", "known", "found"),
    [
        (BODY, "", None, []),
        ("a: the {{ subject }} {{ verb }}\nb: the {{ subject }} {{ verb | agree(subject) }}", "", None, [
            "10: error: 6 of 12 items have two equal sentences in a contrast, for example "
            "'the author laughs' / 'the author laughs'."
        ]),
        # Sentences may be repeated, but items may not.
        ("a: {{ subject }} x\nb: {{ subject }} {{ verb }}", "", None, [
            "10: note: 6 of 12 pairs of 'a > b' have unequal numbers of words, for example 'author x' / "
            "'author is tall'. So one score adds up more words than the other."
        ]),
        ("a: {{ subject }} x\nb: {{ subject }} y", "", None, [
            "9: error: 6 of 12 items repeat another, for example 'author x' (2 times).",
            "6: error: no sentence uses the slot 'verb', so each of its items appears several times. Write "
            "{{ verb }} into the sentences, or delete the slot.",
        ]),
        (BODY, KIND, None, ["7: warning: 'kind' is unbalanced: other 8, child 4."]),  # counts may differ
        (BODY, "expect: {items: 11, a: author laughs, b: the author laugh}", None, [
            "7: error: items: expected 11, found 12.",
            "7: error: b: expected 'the author laugh', found 'author laugh'.",
        ]),
        (BODY, "", KNOWN | {"laughs", "laugh", "."}, [
            " warning: words missing from the vocabulary (1): guards.",
        ]),
        (BODY, "", KNOWN | {"guards", "."}, [
            "9: warning: 6 of 12 pairs of 'a > b' are undecidable with this vocabulary: all "
            "words that differ are "
            "unknown, for example 'author laughs' / 'author laugh'.",
            " warning: words missing from the vocabulary (2): laughs, laugh.",
        ]),
        (BODY.replace("\n", ".\n"), "", None, [
            "9: error: 12 sentences end in '.', for example 'author laughs.': the mark is scored twice, "
            "because tseval adds '.' to every sentence.",
        ]),
    ],
)  # fmt: skip
def test_a_finding_says_where_how_often_and_an_example(write_grammar, body, more, known, found):
    assert messages(write_grammar(body, more=more), known) == [f"case.jinja:{one}" for one in found]


def test_sentences_that_differ_in_two_places_are_reported(write_grammar):
    path = write_grammar("a: the {{ subject }} near us laughs\nb: some {{ subject }} near us laugh")
    (found, *_) = messages(path)
    assert found.startswith(
        "case.jinja:10: warning: 12 of 12 items differ in more than one contiguous stretch"
    )
    assert "'the author near us laughs' / 'some author near us laugh'" in found


def test_unused_words_and_unlisted_grammars_are_reported_for_a_folder(write_grammar):
    path = write_grammar(BODY)
    write_grammar(BODY, name="other")
    (path.parent / "suite.yaml").write_text("cases: [case]")
    (path.parent / "lexicon.yaml").write_text(
        "irregular: {is: are, goes: go}\nnoun:\n  person: [author]\n  unused:\n    - dog\nverb: {main: [is]}"
    )
    assert messages(path.parent) == [
        "suite.yaml:1: warning: other.jinja is not listed in 'cases', so it is not part of the suite.",
        "lexicon.yaml:5: warning: no grammar uses the class 'noun.unused'.",
        "lexicon.yaml:1: warning: the word 'goes' is listed under 'irregular', but no class of the "
        "lexicon has this word.",
    ]
    assert messages(path) == []


def test_an_abbreviation_and_a_suite_without_a_final_token_may_end_in_a_period(write_grammar):
    body = "a: {{ subject }} of the U.S.\nb: some {{ subject }} of the U.S."
    path = write_grammar(body, slots="{subject: noun.person}")
    assert all("scored twice" not in text for text in messages(path))
    path = write_grammar("a: {{ subject }} {{ verb }} .\nb: {{ verb }} {{ subject }} .")
    (path.parent / "suite.yaml").write_text("terminator: null")
    assert all("scored twice" not in text for text in messages(path.parent))


def test_a_pair_that_counts_twice_in_one_contrast_is_reported(write_grammar):
    body = "a: {{ subject }} x\nb: {{ subject }} y\nc: {{ subject }} {{ extra }}"
    path = write_grammar(body, slots="{subject: noun.person, extra: [u, v, w]}")
    assert [text for text in messages(path) if "warning" in text and "pairs" in text] == [
        "case.jinja:9: warning: 12 of 18 pairs of 'a > b' repeat another, for example "
        "'author x' / 'author y' (3 times)."
    ]


NATURAL = """---
construction: C
phenomenon: P
lexicon: {adverb: {a: [today, now]}}
slots: {adverb: adverb.a}
---
"""


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("the author ca n't laugh", "the author can't laugh",
         "2 of 2 pairs of 'good > bad' become equal as people write them, for example"
         ' "The author can\'t laugh today." / "The author can\'t laugh today.".'),
        ("she said no . then she laughs", "she said no . then she laugh",
         "'.' is inside 'she said no . then she laugh now': the next word is"),
        ("near the guard The author laughs", "near the guard The author laugh",
         "'The' is inside 'near the guard The author laugh now', but is written with a small letter "
         "elsewhere."),
        ("the author laughs", "the author laugh", None),
        ("can the author that laughs sing", "the author that laughs can sing", None),
    ],
)  # fmt: skip
def test_what_is_lost_or_odd_as_people_write_it_is_reported(tmp_path, good, bad, said):
    body = f"good: {good} {{{{ adverb }}}}\nbad: {bad} {{{{ adverb }}}}\n"
    (tmp_path / "case.jinja").write_text(NATURAL + body, "utf-8")
    found = [text for text in messages(tmp_path / "case.jinja") if "write" in text or "written" in text]
    assert found == ([] if said is None else found[:1])
    assert said is None or said in found[0]


def test_every_sentence_with_an_error_is_reported_at_once(write_grammar):
    body = (
        "a: {{ subject \nb: {{ sbject }}\nc: {% for x in [1] %}\nd: {{ verb }}\ne:\nf: {{ verb | agre(a) }}"
    )
    places = [one.partition(" error: ")[0] for one in messages(write_grammar(body))]
    assert places == [f"case.jinja:{line}:" for line in (9, 10, 11, 13, 14)]
