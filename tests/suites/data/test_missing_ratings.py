"""Missing, repeated or contradictory ratings are left out and counted, or refused."""

import json

import pytest
from small import write_file

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.data.reading import what_was_read
from tseval.suites.data.roles import read_columns


def read(path, content, columns=None):
    write_file(path, content)
    return load_suite(path, columns=read_columns(columns) if columns else None)


def test_the_column_of_all_ratings_of_a_sentence_can_be_named(tmp_path):
    rows = 'Sentence,votes\na b,"1,1,0"\nb a,"0,0"\nc d,NA\nd c,"1,0"\n'
    suite = read(tmp_path / "a.csv", rows, "ratings=votes")
    assert suite.cases[0].features["rating"].to_pylist() == pytest.approx([2 / 3, 0, 1 / 2])
    assert suite.cases[0].features["n"].to_pylist() == [3, 2, 2]
    assert "tseval left out 1 row without a rating ('NA')" in what_was_read(suite)


def test_ratings_that_are_missing_among_others_are_left_out_and_counted(tmp_path):
    rows = "sentence,ratings\na b,6 NA 4\nb a,1 2 3\nc d,NA NA\nd c,3 5\n"
    suite = read(tmp_path / "a.csv", rows.replace("NA NA", "NA"))
    assert suite.cases[0].features["rating"].to_pylist() == [5, 2, 4]
    assert suite.cases[0].features["n"].to_pylist() == [2, 3, 2]
    assert "tseval left out 1 missing rating of sentences that have others" in what_was_read(suite)
    records = [{"sentence": text, "ratings": own} for text, own in (("a", [1, None]), ("b", [2]), ("c", [4]))]
    (case,) = read(tmp_path / "a.json", json.dumps(records)).cases
    assert case.features["n"].to_pylist() == [1, 1, 1]
    with pytest.raises(SuiteError, match=r"a\.csv:4: ratings is empty.\n  Write numbers, or remove the row"):
        read(tmp_path / "a.csv", rows)


@pytest.mark.parametrize("cell", ["#N/A", "NA", "N/A", "NaN", ""])
def test_a_rating_that_is_not_available_is_left_out_and_counted(tmp_path, cell):
    suite = read(tmp_path / "a.csv", f"sentence,rating\na b,1.5\nb a,-0.9\nc d,{cell}\nd c,-0.5\n")
    (case,) = suite.cases
    assert case.features["rating"].to_pylist() == [1.5, -0.9, -0.5]
    assert f"tseval left out 1 row without a rating ('{cell}')" in what_was_read(suite)


def test_a_sentence_that_stands_twice_with_one_rating_counts_once(tmp_path):
    rated = ("a b", "1"), ("b a", "0"), ("c d", "1"), ("a b", "1")
    rows = [{"Sent": text, "label": label} for text, label in rated]
    suite = read(tmp_path / "dev.json", json.dumps(rows), "rating=label")
    assert suite.cases[0].n_items == 3
    assert "1 row with a sentence and a rating that repeat an earlier row: counted once" in what_was_read(
        suite
    )


def test_a_sentence_that_contradicts_itself_is_left_out_where_the_user_says_so(tmp_path):
    rows = (
        "Sent,label,case\na b,1,x\nb a,0,x\nc d,1,x\na b,0,x\na b,1,x\nd c,0,x\nd c,0,x\na b,1,y\nb b,0,y\n"
    )
    with pytest.raises(
        SuiteError, match=r"a\.csv:5: .* rating 0 here, but 1 at .*a\.csv:2.*\n.*\n.*contradictions=drop"
    ):
        read(tmp_path / "a.csv", rows, "rating=label")
    suite = read(tmp_path / "a.csv", rows, "rating=label,contradictions=drop")
    texts = {case.name: case.sentences["sentence"].to_pylist() for case in suite.cases}
    assert texts == {"x": ["b a", "c d", "d c"], "y": ["a b", "b b"]}
    said = what_was_read(suite)
    assert "tseval left out 1 sentence with different ratings (3 rows; contradictions=drop)" in said
    assert "1 row with a sentence and a rating that repeat an earlier row" in said
    with pytest.raises(SuiteError, match=r"contradictions=keep: Values: drop"):
        read(tmp_path / "a.csv", rows, "rating=label,contradictions=keep")
    with pytest.raises(
        SuiteError, match="contradictions= is for sentences with ratings, but the file has pairs"
    ):
        read(tmp_path / "b.csv", "good,bad\na b,b a\n", "contradictions=drop")
