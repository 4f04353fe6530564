"""Grammars with a design: their meaning, refused designs, and lint's messages."""

from pathlib import Path

import pytest

from tseval.errors import GrammarError
from tseval.questions.formulas import parse, regions_of
from tseval.questions.regions import Regions
from tseval.suites import load_suite, stream_cases
from tseval.suites.grammar.marks import read_marks
from tseval.suites.lint import lint

BODY = """\
that: I know that the {{ subject }} said [object the {{ other }}] [after at night] again
what: I know what the {{ subject }} said [object] [after at night] again
gap: I know that the {{ subject }} said [object] [after at night] again
"""
SLOTS = "{subject: noun.person, other: noun.fixed}"
REGIONS = "regions: [object, after]\n"


def design(*predictions: str) -> str:
    named = "".join(f"  p{n}: {formula}\n" for n, formula in enumerate(predictions, 1))
    return f"{REGIONS}predictions:\n{named}"


SIMPLE = design("what.after < that.after")


def question_of(path: Path) -> Regions:
    (case,) = load_suite(path).cases
    assert isinstance(case.question, Regions)
    return case.question


def test_marks_are_no_part_of_sentences(write_grammar):
    expect = "expect: {items: 12, what: I know what the author said at night again}"
    path = write_grammar(BODY, SLOTS, f"{SIMPLE}conditions: [what, gap, that]\n{expect}")
    suite = load_suite(path)
    (case,) = suite.cases
    assert case.labels == ("that", "what", "gap")
    assert (suite.score, suite.terminator, case.n_verdicts) == ("regions", ".", 12)
    assert case.sentences["that"][1].as_py() == "I know that the author said the mice at night again"
    assert case.sentences["what"][6].as_py() == "I know what the security guards said at night again"
    assert case.entries.column_names == ["subject", "other"]
    assert not [one for one in lint(path) if one.severity == "error"]


@pytest.mark.parametrize(
    ("region", "item", "span"),
    [
        ("that.object", 0, (6, 2)),
        ("that.object", 4, (7, 2)),  # the security guard
        ("that.after", 0, (8, 2)),
        ("what.object", 0, (6, 0)),
        ("what.after", 4, (7, 2)),
        ("what.object+1", 0, (6, 1)),
        ("that.after+1", 0, (10, 1)),
        ("that.after+2", 0, (11, 1)),  # the final period
        ("that.*", 0, (0, 11)),
    ],
)
def test_a_region_is_counted_in_words(write_grammar, region, item, span):
    question = question_of(write_grammar(BODY, SLOTS, design(f"{region} < 3")))
    (asked,) = regions_of(parse(question.predictions[0].formula))
    before, length = question.span(asked)
    assert (before[item], length[item]) == span


def test_part_of_the_items_and_blocks_of_them_keep_their_regions(write_grammar):
    path = write_grammar(BODY, SLOTS, SIMPLE)
    (case,) = load_suite(path, sample=3, seed=2).cases
    (whole,) = load_suite(path).cases
    assert case.sentences["that"].to_pylist() == [
        whole.sentences["that"][i].as_py() for i in case.index.to_pylist()
    ]
    n_items, blocks = stream_cases(path, limit=5)
    assert (n_items, [block.n_items for block in blocks]) == (5, [5])


def test_what_moves_a_region_moves_the_digest(write_grammar):
    longer = BODY.replace("[after at night] again", "[after at night again]")
    digests = []
    for body in (BODY, longer, BODY.replace("object", "thing")):
        more = SIMPLE.replace("object", "thing") if "thing" in body else SIMPLE
        digests.append(load_suite(write_grammar(body, SLOTS, more)).digest)
    digests += [
        load_suite(write_grammar(BODY, SLOTS, more)).digest
        for more in (SIMPLE + "metric: max", design("what.after > that.after"), SIMPLE)
    ]
    assert len(set(digests)) == 5
    assert digests[0] == digests[-1]


def test_brackets_are_text_where_nothing_is_predicted(write_grammar):
    path = write_grammar("a: [x {{ subject }}]\nb: [y {{ subject }}]", "{subject: noun.person}")
    assert load_suite(path).cases[0].sentences["a"][0].as_py() == "[x author]"


def test_several_predictions_hold_together(write_grammar):
    question = question_of(write_grammar(BODY, SLOTS, design("what.after < that.after", "that.object > 1")))
    assert [str(one) for one in question.predictions] == ["p1", "p2", "all predictions"]
    assert question.predictions[-1].formula == "[what.after < that.after] & [that.object > 1]"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a [after b", "the region 'after' is not closed"),
        ("a [after b [object c] d]", r"'after' is not closed before '\[object'"),
        ("a b] c", r"the bracket of 'b\]' does not open or close a region"),
        ("a after b]. c", r"the bracket of 'b\].' does not open"),
        ("a x[1after b] c", r"the bracket of 'x\[1after' does not open"),
        ("a [ b] c", r"the bracket of '\[' does not open"),
        ("a [aftr b] c", r"there is no region 'aftr'. Did you mean 'after'\?"),
        ("a [after b] [after c]", "the region 'after' appears twice"),
    ],
)
def test_marks_that_do_not_match_are_refused(text, what):
    with pytest.raises(ValueError, match=what):
        read_marks(text, ["object", "after"])


@pytest.mark.parametrize(
    ("more", "body", "line", "what"),
    [
        (SIMPLE + "contrasts: [that > what]", BODY, 10, "a grammar cannot have both 'contrasts' and"),
        (REGIONS, BODY, 7, "'regions' stands without 'predictions'.\n  Add 'predictions:'"),
        ("predictions:\n  a: that.* < 1", BODY, 7, "'predictions' stands without 'regions'.\n  Add 'reg"),
        ("metric: max", BODY, 7, "'metric' stands without 'predictions'."),
        (SIMPLE + "conditions: [that, what, gap, wat]", BODY, 10, "'conditions': no sentence is labelled"),
        (SIMPLE + "conditions: that", BODY, 10, "'conditions': 'gap' is missing."),
        (SIMPLE + "conditions: [that, that]", BODY, 10, "'conditions' is empty, or has a name twice."),
        (SIMPLE.replace("after]", "2nd]"), BODY, 7, "'2nd' cannot be a name under 'regions'."),
        (SIMPLE.replace("after]", "entry]"), BODY, 7, "a region cannot be called 'entry'."),
        (SIMPLE + "metric: men", BODY, 10, "unknown metric 'men'.\n  Did you mean 'mean'?"),
        (f"{REGIONS}predictions: {{}}", BODY, 8, "'predictions' is empty."),
        (f"{REGIONS}predictions:\n  all predictions: that.after < 1", BODY, 9,
         "a prediction cannot be called 'all predictions'."),
        (design("[what.after < 1, 2]"), BODY, 9, "the prediction 'p1' is a list."),
        (design("what.after"), BODY, 9,
         "in the prediction 'p1', the formula compares nothing, but must state something that is true"),
        (design("1 < 2"), BODY, 9, "in the prediction 'p1', the formula must name a region, such as (1)"),
        (design("wat.after < that.after"), BODY, 9,
         "in the prediction 'p1', the formula names the condition 'wat', but the items do not have it.\n"
         "  Did you mean 'what'? Conditions: gap, that, what"),
        (design("what.aftr < that.after"), BODY, 9,
         "in the prediction 'p1', the formula names the region 'aftr', but the items do not have it.\n"
         "  Did you mean 'after'? Regions: after, object"),
        (design("(2;%what%) < that.after"), BODY, 9,
         "in the prediction 'p1', the formula names the region '2', but the items do not have it."),
        (SIMPLE, BODY.replace("[after at night] again\nwhat", "at night\nwhat"), 9,
         "the prediction 'p1' is about that.after, but 'that' marks no 'after'.\n  Write [after ...]"),
        (design("what.after+3 < 1"), BODY, 9, "there is no word what.after+3 in 'I know what the author sai"),
        (design("what.object < 1") + "metric: mean", BODY, 9, "what.object has no words in 'I know what"),
        (design("what.* < 1") + "metric: mean", BODY, 9, "the prediction 'p1' asks for the mean of a whole"),
        (SIMPLE, BODY.replace("[object]", "[objct]"), 12,
         "'I know what the author said [objct] [after at night] again': there is no region 'objct'."),
        (SIMPLE, BODY.replace("[object]", "{{ '[object]' if other.number == 'sing' else '' }}"), 12,
         "'I know what the author said [after at night] again' marks other regions than the first item."),
        (SIMPLE, "that: [object] [after]\nwhat: [object] [after x]", 11, "'[object] [after]' has no words."),
    ],
)  # fmt: skip
def test_a_design_that_is_wrong_is_named(write_grammar, message, more, body, line, what):
    found = message(write_grammar(body, SLOTS, more.rstrip("\n")))
    assert found.startswith(f"case.jinja:{line}: {what}")


def test_a_suite_without_a_terminator_has_no_word_behind_the_last(write_grammar):
    path = write_grammar(BODY, SLOTS, design("what.after+2 < 1"))
    load_suite(path.parent)
    (path.parent / "suite.yaml").write_text("terminator: null\n")
    with pytest.raises(GrammarError, match=r"there is no word what\.after\+2 in"):
        load_suite(path.parent)


def test_designs_and_pairs_are_two_suites(write_grammar):
    write_grammar("a: {{ subject }} x\nb: {{ subject }} y", "{subject: noun.person}", name="pairs")
    path = write_grammar(BODY, SLOTS, SIMPLE)
    said = r"case.jinja:1: this grammar compares regions, but pairs.jinja compares"
    with pytest.raises(GrammarError, match=said):
        load_suite(path.parent)
    assert load_suite(path.parent, cases="pairs").score == "sentence"


def findings(path: Path) -> list[str]:
    return [str(one).replace(f"{path.parent}/case.jinja:", "") for one in lint(path)]


def test_lint_names_the_lengths_of_unequal_regions(write_grammar):
    # In a difference of differences, the words of the subtracted part are subtracted.
    formulas = "that.object > what.after", "that.object > what.object"
    differences = "that.object - what.object < that.after - what.object"
    path = write_grammar(BODY, SLOTS, design(*formulas, differences))
    assert findings(path)[0] == (
        "10: warning: 'p2': 12 of 12 items compare sums over different numbers of words: "
        "that.object 2, what.object 0."
    )
    assert len([one for one in findings(path) if "different numbers" in one]) == 1
    mean = write_grammar(BODY, SLOTS, design("that.object > that.after+1") + "metric: mean")
    assert not [one for one in findings(mean) if "different numbers" in one]


def test_lint_counts_what_is_distinct_up_to_the_end_of_what_is_compared(write_grammar):
    path = write_grammar(BODY, SLOTS, design("what.after > 1", "that.object > 1"))
    assert findings(path) == [
        "9: warning: 'p1': 12 items have only 6 different texts up to the end of the compared region: "
        "'I know what the author said at night' (2 times)."
    ]


def test_lint_finds_regions_that_differ_behind_beginnings_that_differ(write_grammar):
    path = write_grammar(BODY, SLOTS, design("that.object > what.after", "that.after > what.after"))
    assert [one for one in findings(path) if "words before them" in one] == [
        "9: warning: 'p1': in 12 of 12 items that.object and what.after differ, and the words "
        "before them differ too: 'I know that the author said [the mouse]' / 'I know what the "
        "author said [at night]'."
    ]


def test_lint_finds_a_final_period_behind_a_region(write_grammar):
    more = SIMPLE.replace("after]", "after, end]")
    path = write_grammar(BODY.replace("again", "[end again .]"), SLOTS, more)
    assert sum("scored twice" in one for one in findings(path)) == 3
