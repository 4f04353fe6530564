"""The texts before items: their allowed content, their length, and which item gets which text."""

from dataclasses import replace

import pyarrow as pa
import pytest
from small import make_case, make_suite

import tseval
from tseval.errors import SuiteError
from tseval.items import CONTEXT, as_entries
from tseval.suites.context import ContextRequest, context_requests, in_context
from tseval.writing import IN_CONTEXT

WHOLE = tseval.load_suite("marvin_linzen", cases=["simple_agrmt", "long_vp_coord", "simple_npi_anim"])
LABELS = {"simple_agrmt": 2, "long_vp_coord": 2, "simple_npi_anim": 3}


def contexts_of(suite, case):
    """Return the text that each row of a case has."""
    column = case.sentences[case.labels[0]].to_pylist()
    return [suite.context.texts[int(text.partition(IN_CONTEXT)[0])] for text in column]


def words(text):
    return sum(len(sentence.split()) for sentence in text)


@pytest.mark.parametrize("source", ["same", "other", "same#ungrammatical", "marvin_linzen#grammatical"])
def test_every_text_has_exactly_the_words_that_were_asked_for_and_ends_with_a_whole_sentence(source):
    for n_words in (7, 60):
        suite = in_context(WHOLE, ContextRequest(source, n_words))
        assert {words(text) for text in suite.context.texts} == {n_words}
        assert all(text[-1].endswith(" .") for text in suite.context.texts)


def test_a_longer_text_ends_with_the_shorter_one():
    short, long = (in_context(WHOLE, ContextRequest("same", n)) for n in (30, 200))
    assert len(short.context.texts) == len(long.context.texts)
    for less, more in zip(short.context.texts, long.context.texts, strict=True):
        assert " ".join(more).endswith(" ".join(less))


def test_labels_take_the_same_items():
    better, worse = (
        in_context(WHOLE, ContextRequest(f"other#{label}", 80)) for label in ("grammatical", "ungrammatical")
    )
    case = WHOLE.cases[0]
    columns = (case.sentences[label].to_pylist() for label in ("grammatical", "ungrammatical"))
    pairs = dict(zip(*columns, strict=True))
    n_agreement = 0
    for good, bad in zip(better.context.texts, worse.context.texts, strict=True):
        for first, second in list(zip(good, bad, strict=False))[1:]:
            if (sentence := first.removesuffix(" .")) in pairs:
                assert second == f"{pairs[sentence]} ."
                n_agreement += 1
    assert n_agreement > 50


@pytest.mark.parametrize("each", [1, 3])
def test_a_context_of_the_same_case_shares_no_lexicon_entry_with_its_item(each):
    """Checked by sentences: no item with a sentence in the text shares a lexicon entry with this item."""
    suite = in_context(WHOLE, ContextRequest("same", 100, 0, each))
    for case, whole in zip(suite.cases, WHOLE.cases, strict=True):
        names = whole.entries.column_names
        entries = [set(row.values()) - {None} for row in whole.entries.to_pylist()]
        owners = {}
        for label in whole.labels:
            for row, text in enumerate(whole.sentences[label].to_pylist()):
                owners.setdefault(f"{text} .", []).append(row)
        assert case.n_items == each * whole.n_items
        for row, text in enumerate(contexts_of(suite, case)):
            own = set(case.entries.select(names).slice(row, 1).to_pylist()[0].values()) - {None}
            for sentence in text[1:]:
                # A sentence may belong to several items: one of them shares no entry.
                assert any(not entries[owner] & own for owner in owners[sentence]), (own, sentence)


def test_a_context_of_another_case_has_no_sentence_of_the_items_case():
    suite = in_context(WHOLE, ContextRequest("other", 100))
    for case, whole in zip(suite.cases, WHOLE.cases, strict=True):
        own = {f"{text} ." for label in whole.labels for text in whole.sentences[label].to_pylist()}
        assert not any(own & set(text) for text in contexts_of(suite, case))


def test_an_item_has_the_same_contexts_whichever_other_items_are_scored():
    whole = in_context(WHOLE, ContextRequest("same", 50), WHOLE)
    part = tseval.load_suite("marvin_linzen", cases=["long_vp_coord"], sample=9)
    chosen = in_context(part, ContextRequest("same", 50), WHOLE)
    case = next(case for case in whole.cases if case.name == "long_vp_coord")
    texts = dict(zip(case.index.to_pylist(), contexts_of(whole, case), strict=True))
    for item, text in zip(
        chosen.cases[0].index.to_pylist(), contexts_of(chosen, chosen.cases[0]), strict=True
    ):
        assert texts[item] == text


def test_another_seed_draws_other_texts_and_the_same_seed_the_same():
    first, again, other = (in_context(WHOLE, ContextRequest("other", 50, seed)) for seed in (0, 0, 1))
    assert first.context.digest == again.context.digest != other.context.digest


def test_each_item_has_as_many_different_contexts_as_were_asked_for_and_the_factor_names_them():
    suite = in_context(WHOLE, ContextRequest("other", 50, 0, 4))
    for case in suite.cases:
        numbers = case.entries[CONTEXT].to_pylist()
        for start in range(0, case.n_items, 4):
            assert len({*numbers[start : start + 4]}) == 4
            assert len({*case.index.to_pylist()[start : start + 4]}) == 1
        for label in case.labels:
            assert [text.partition(IN_CONTEXT)[0] for text in case.sentences[label].to_pylist()] == numbers
    assert suite.digest == WHOLE.digest


def test_items_that_begin_alike_have_the_same_context_so_that_a_model_reads_their_beginning_once():
    suite = in_context(WHOLE, ContextRequest("other", 50))
    numbers = {}
    for text, subject in zip(
        suite.cases[0].sentences["grammatical"].to_pylist(),
        WHOLE.cases[0].sentences["grammatical"].to_pylist(),
        strict=True,
    ):
        beginning = " ".join(subject.split()[:2])
        assert numbers.setdefault(beginning, text.partition(IN_CONTEXT)[0]) == text.partition(IN_CONTEXT)[0]
    assert len({*numbers.values()}) > 3


def test_a_sentence_of_the_item_never_stands_in_its_context(tmp_path):
    """The text has sentences of some items; these items get the other parts of the text."""
    lines = [f"{text} ." for text in WHOLE.cases[0].sentences["ungrammatical"].to_pylist()[:30]]
    (tmp_path / "text.txt").write_text("\n".join(line.capitalize() for line in lines))
    suite = in_context(WHOLE, ContextRequest(str(tmp_path / "text.txt"), 12))
    case, whole = suite.cases[0], WHOLE.cases[0]
    for label in case.labels:
        for text, sentence in zip(contexts_of(suite, case), whole.sentences[label].to_pylist(), strict=True):
            assert f" {sentence} " not in f" {' '.join(text).lower()} "


def test_stretches_of_a_text_share_no_words_and_end_with_a_line(tmp_path):
    lines = [f"w{at} x{at} y{at} ." for at in range(40)]
    (tmp_path / "text.txt").write_text("\n\n".join(lines) + "\n")
    suite = in_context(WHOLE, ContextRequest(str(tmp_path / "text.txt"), 10))
    texts = suite.context.texts
    assert [words(text) for text in texts] == [10] * 10
    heard = [word for text in texts for sentence in text for word in sentence.split() if word != "."]
    assert len(heard) == len({*heard})
    assert all(text[-1] in lines for text in texts)
    whole = in_context(WHOLE, ContextRequest(str(tmp_path / "text.txt")))
    assert whole.context.texts == (tuple(lines),)


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("refusals")
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "short.txt").write_text("only five words of text\n")
    (tmp_path / "item.txt").write_text("he said: The author laughs.\n")
    bare = make_suite(make_case("alone", [("a b c", "a b d"), ("a b e", "a b f")]))
    verb = as_entries(["laugh", "laugh", "laugh"])
    rows = [(f"the {noun} laughs", f"the {noun} laugh") for noun in "xyz"]
    shared = make_suite(replace(make_case("shared", rows), entries=pa.table({"verb": verb})))
    return {
        "empty": (WHOLE, str(tmp_path / "empty.txt"), 10, 1, "empty.txt: the file has no words, but"),
        "short": (
            WHOLE,
            str(tmp_path / "short.txt"),
            10,
            1,
            "short.txt: the file has 5 words, but --context-words",
        ),
        "few": (
            WHOLE,
            str(tmp_path / "short.txt"),
            5,
            2,
            "enough for 1 contexts of 5 words, but --contexts asks",
        ),
        "item": (
            WHOLE,
            str(tmp_path / "item.txt"),
            None,
            1,
            "contains the sentence 'the author laughs', which is",
        ),
        "label": (WHOLE, "marvin_linzen#gramatical", 9, 1, "no sentences with the label 'gramatical'"),
        "no label": (WHOLE, "marvin_linzen#", 9, 1, "there is no label after the sign #"),
        "suite": (WHOLE, "marvin_linzn", 9, 1, "there is no suite 'marvin_linzn'"),
        "empty source": (WHOLE, "", 9, 1, "--context is empty"),
        "one case": (
            bare,
            "other",
            9,
            1,
            "has sentences for contexts. But an item and its context must come from different cases.",
        ),
        "few items": (bare, "same", 9, 1, "the case 'alone' has too few items for a context of"),
        "shared": (shared, "same", 9, 1, "share the entry 'laugh' (verb)"),
        "negative": (WHOLE, "same", -1, 1, "--context-words -1: the number must be from 0"),
        "none each": (WHOLE, "same", 9, 0, "--contexts 0: the number must be from 1"),
        "verbs": (
            tseval.load_suite("agreement:inflection", cases="simple"),
            "other",
            9,
            1,
            "compares all verbs",
        ),
        "strings": (
            tseval.load_suite("dyck(k=2,m=2)"),
            "same",
            9,
            1,
            "asks for symbols inside its sentences",
        ),
    }


@pytest.mark.parametrize("name", [
    "empty", "short", "few", "item", "label", "no label", "suite", "empty source", "one case", "few items",
    "shared", "negative", "none each", "verbs", "strings",
])  # fmt: skip
@pytest.mark.slow
def test_contexts_that_cannot_be_are_one_message(refusals, name):
    suite, source, n_words, each, message = refusals[name]
    with pytest.raises(SuiteError) as error:
        in_context(suite, ContextRequest(source, n_words, 0, each))
    assert message in str(error.value)
    assert "\n  " in str(error.value)  # the command or line to type


@pytest.mark.parametrize(("lengths", "message"), [
    ("100,x", "'x' is not a number of words"), ("", "the list has an empty entry"), ("5,,6", "empty entry"),
    ("1.5", "'1.5' is not a number"), ("-3", "'-3' is not a number"), ("7,7", "has the length 7 twice"),
    ("9999999", "must be from 0 to 100,000"),
])  # fmt: skip
def test_lengths_that_are_no_numbers_are_one_message(lengths, message):
    with pytest.raises(SuiteError, match=message):
        context_requests("same", lengths, 0, 1)


def test_each_length_is_a_request_of_its_own():
    assert [request.words for request in context_requests("same", "0, 100,400", 3, 2)] == [0, 100, 400]
    assert context_requests(None, None, 0, 1) == []
    assert context_requests("same", None, 0, 1) == [ContextRequest("same", 100)]
    with pytest.raises(SuiteError, match="--context is missing"):
        context_requests(None, "100", 0, 1)
