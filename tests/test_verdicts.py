import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from small import make_case, make_suite, score

from tseval.errors import ModelError, SuiteError
from tseval.items import ENTRIES, RESERVED_NAMES, as_entries
from tseval.verdicts import judge, sentences_of

NPI = ("grammatical", "intrusive", "ungrammatical")


def one(better, worse, **keywords):
    """Make a suite of one pair."""
    return make_suite(make_case("pair", [(better, worse)]), **keywords)


def test_sentences_are_distinct_sorted_and_end_in_the_terminator():
    suite = make_suite(make_case("a", [("b x", "a x")]), make_case("b", [("a x", "é x"), ("B x", "b x")]))
    assert sentences_of(suite).to_pylist() == sorted({"b x .", "a x .", "é x .", "B x ."})


PAIR = ("the author laughs", "the author laugh")
TWO_UNKNOWN = ("the zorb laughs", "the blick laugh")
LONGER = {"a": -2.0, "b": -1.0, "c": -1.0, ".": -2.0}


@pytest.mark.parametrize(
    ("mode", "pair", "words", "unknown", "scores", "mark"),
    [
        ("sentence", PAIR, {"laughs": -2.5, "laugh": -3.25}, (), (-5.5, -6.25), "correct"),  # nats, -1 a word
        ("sentence", PAIR, {"laughs": -4.0}, (), (-7, -4), None),
        ("sentence", PAIR, {}, (), (-4, -4), "tie"),  # ties count as wrong
        # Sentences that look alike to the model are undecidable, not ties. An unknown word in both does no
        # harm.
        ("sentence", ("a zorb", "a blick"), {}, {"zorb", "blick"}, (-3, -3), "undecidable"),
        ("sentence", ("a zorb laughs", "a zorb laugh"), {"laughs": -0.5}, {"zorb"}, (-3.5, -4), "correct"),
        ("sentence", ("a b c", "a"), LONGER, (), (-6, -4), None),
        ("mean", ("a b c", "a"), LONGER, (), (-1.5, -2), "correct"),
        # The first word that differs in the sentences as the model sees them.
        ("critical", ("the author laughs today", "the author laugh now"), {"laughs": -0.5, "today": -9}, (),
         (-0.5, -1), "correct"),
        ("critical", ("the zorb laughs", "the zorb laugh"), {"laughs": -0.5, "<unk>": -4.0}, {"zorb"},
         (-0.5, -1), "correct"),
        # Half known: the model does not know one of the words that differ.
        ("critical", TWO_UNKNOWN, {"laughs": -0.5, "<unk>": -4.0}, {"zorb", "blick"}, (None, None),
         "undecidable"),
        ("critical", ("a zorb", "a blick"), {}, {"zorb", "blick"}, (None, None), "undecidable"),
    ],
)  # fmt: skip
def test_the_more_probable_sentence_wins(mode, pair, words, unknown, scores, mark):
    suite = one(*pair)
    (row,) = judge(suite, score(suite, words, unknown=unknown), mode).to_pylist()
    assert (row["better_score"], row["worse_score"]) == scores
    assert [name for name in ("correct", "tie", "undecidable") if row[name]] == ([mark] if mark else [])


def test_endings_are_compared_by_the_words_that_the_item_counts():
    rows = [("a x laughs loudly", "a y laughs loudly"), ("all of them laugh", "one of them laugh")]
    suite = make_suite(make_case("prefixes", rows, features={"ending": [2, 1]}), terminator=None)
    scored = score(suite, {})
    # Word log-probabilities that depend on the words before, as a model's do.
    words = {
        "a x laughs loudly": [-1, -1, -2, -4], "a y laughs loudly": [-1, 0, -4, -4],
        "all of them laugh": [-9, -9, -9, -3], "one of them laugh": [-1, -1, -1, -3],
    }  # fmt: skip
    values = [[float(v) for v in words[text]] for text in scored["sentence"].to_pylist()]
    scored = scored.set_column(3, "words", pa.array(values, pa.list_(pa.float32())))
    first, second = judge(suite, scored, "ending").to_pylist()
    assert (first["better_score"], first["worse_score"], first["correct"]) == (-6.0, -8.0, True)
    assert (second["better_score"], second["worse_score"], second["tie"]) == (-3.0, -3.0, True)


def test_without_a_number_of_words_there_are_no_endings():
    suite = one("the author laughs", "the author laugh")
    with pytest.raises(
        SuiteError, match="case 'pair' does not state how many words at the end --score ending compares"
    ):
        judge(suite, score(suite, {}), "ending")


def test_an_ending_longer_than_its_sentence_is_named():
    suite = make_suite(make_case("pair", [("a x", "b x")], features={"ending": [3]}), terminator=None)
    with pytest.raises(SuiteError, match="the feature `ending` of 'a x' is 3, but"):
        judge(suite, score(suite, {}), "ending")


def test_critical_refuses_a_sentence_that_begins_its_twin():
    suite = one("the author laughs", "the author laughs loudly", terminator=None)
    with pytest.raises(SuiteError) as caught:
        judge(suite, score(suite, {}), "critical")
    assert "'the author laughs' and 'the author laughs loudly' have no critical word" in str(caught.value)
    assert "--score sentence" in str(caught.value)


@pytest.mark.parametrize("value", [-math.inf, math.nan])
def test_a_score_that_is_not_finite_names_its_sentence(value):
    suite = one("the author laughs", "the author laugh")
    with pytest.raises(
        ModelError, match=r"to 'the author laugh \.', but tseval can compare only finite numbers\.\n"
    ):
        judge(suite, score(suite, {"laugh": value}))


def test_every_contrast_of_an_item_gets_its_own_verdict():
    contrasts = [NPI[:2], NPI[1:], (NPI[0], NPI[2])]
    case = make_case("npi", [("no a ever", "the no ever", "the a ever")], labels=NPI, contrasts=contrasts)
    suite = make_suite(case)
    table = judge(suite, score(suite, {"no": -0.5, "the": -2.0, "a": -0.25}))
    assert table["contrast"].to_pylist() == [f"{better} > {worse}" for better, worse in contrasts]
    # no a ever . = -2.75; the no ever . = -4.5; the a ever . = -4.25
    assert table["correct"].to_pylist() == [True, False, True]


def test_features_of_all_cases_stand_in_every_verdict_and_are_null_where_a_case_lacks_them():
    first = make_case("first", [("a b", "a c")], features={"number": ["sing"], "n": [2]})
    second = make_case("second", [("d b", "d c")], features={"attractor": ["plur"], "number": ["plur"]})
    suite = make_suite(first, second)
    table = judge(suite, score(suite, {}))
    assert table.column_names[:6] == ["case", "item", "construction", "phenomenon", "dependency", "contrast"]
    assert table.column_names[11:] == ["number", "n", "attractor"]
    assert table.select(["number", "n", "attractor"]).to_pylist() == [
        {"number": "sing", "n": 2, "attractor": None},
        {"number": "plur", "n": None, "attractor": "plur"},
    ]
    assert table.schema.field("n").type == pa.int64()


def test_a_feature_of_two_types_names_both_cases():
    suite = make_suite(
        make_case("first", [("a b", "a c")], features={"n": [2]}),
        make_case("second", [("d b", "d c")], features={"n": ["two"]}),
    )
    with pytest.raises(SuiteError) as caught:
        judge(suite, score(suite, {}))
    assert (
        "the feature 'n' has values of type int64 in the case 'first', but of type string in the case "
        "'second'"
    ) in str(caught.value)


def test_items_keep_the_positions_of_the_full_expansion():
    case = replace(make_case("late", [("a b", "a c"), ("d b", "d c")]), index=pa.array([40, 7], pa.int64()))
    suite = make_suite(case)
    assert judge(suite, score(suite, {}))["item"].to_pylist() == [40, 7]


def test_verdicts_agree_with_a_plain_loop_over_random_scores():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(12)]
    rows = [tuple(" ".join(rng.choice(words, rng.integers(2, 6))) for _ in range(3)) for _ in range(400)]
    suite = make_suite(
        make_case("left", rows[:150], labels=NPI, contrasts=[NPI[:2], NPI[1:]]),
        make_case("right", rows[150:], labels=NPI, contrasts=[(NPI[2], NPI[0])]),
    )
    # Multiples of 1/4, so that sums are exact and ties occur.
    logprobs = {word: -float(rng.integers(1, 8)) / 4 for word in words}
    scored = score(suite, logprobs, unknown={"w0", "w1"})
    total = dict(zip(scored["sentence"].to_pylist(), scored["logprob"].to_pylist(), strict=True))
    seen = dict(zip(scored["sentence"].to_pylist(), scored["seen"].to_pylist(), strict=True))
    expected = []
    for case in suite.cases:
        for contrast in case.contrasts:
            for i, texts in enumerate(case.sentences.to_pylist()):
                b, w = (texts[label] + " ." for label in (contrast.better, contrast.worse))
                # The sentences look alike or are half known: different words are unknown, or a different
                # number of them.
                unknown = [[text.split().count(word) for word in ("w0", "w1")] for text in (b, w)]
                same = seen[b] == seen[w] or unknown[0] != unknown[1]
                expected.append((case.name, i, total[b] > total[w] and not same,
                                 total[b] == total[w] and not same, same))  # fmt: skip
    table = judge(suite, scored).select(["case", "item", "correct", "tie", "undecidable"])
    assert [tuple(row.values()) for row in table.to_pylist()] == expected
    assert sum(row[3] for row in expected) > 5  # ties do occur


def test_entries_stand_after_the_features_and_are_null_where_a_case_lacks_the_factor():
    first = make_case("a", [("a laughs", "a laugh"), ("a swims", "a swim")], features={"n": [1, 2]})
    second = make_case("b", [("the laughs", "the laugh"), ("the runs", "the run")], labels=NPI[::2])
    first = replace(first, entries=pa.table({"verb": as_entries(["laughs", "swims"])}))
    second = replace(
        second,
        entries=pa.table({"verb": as_entries(["laughs", ""]), "determiner": as_entries(["the", "the"])}),
        features=pa.table({"m": [1, 1]}),
    )
    suite = make_suite(first, second, make_case("c", [("x y", "x z")]))
    verdicts = judge(suite, score(suite, {}))
    assert verdicts.column_names[len(RESERVED_NAMES) :] == ["n", "m", "verb.entry", "determiner.entry"]
    assert verdicts["verb.entry"].to_pylist() == ["laughs", "swims", "laughs", None, None]
    assert verdicts["determiner.entry"].to_pylist() == [None, None, "the", "the", None]
    for name in ("verb.entry", "determiner.entry"):
        assert verdicts[name].type == ENTRIES
        chunks: list[Any] = verdicts[name].chunks
        assert len({str(chunk.dictionary) for chunk in chunks}) == 1
