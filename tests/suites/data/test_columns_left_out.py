"""Columns that tseval does not need: their types never refuse a table, and numbers may be missing."""

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import succeed
from small import write_lines

import tseval
from tseval.errors import SuiteError
from tseval.suites import load_suite

GOOD = ["the author laughs .", "the authors laugh ."]
BAD = ["the author laugh .", "the authors laughs ."]
UNFIT = {
    "times": pa.array([datetime.datetime(2024, 1, 1)] * 2),
    "days": pa.array([datetime.date(2024, 1, 1)] * 2),
    "lists": pa.array([[1, 2], [3]]),
    "texts": pa.array([["a"], ["b"]]),
    "records": pa.array([{"a": 1}, {"a": 2}]),
    "bytes": pa.array([b"\x00", b"\xff"]),
}


def parquet(path, **columns):
    pq.write_table(pa.table({"good": GOOD, "bad": BAD} | columns), path)
    return path


@pytest.mark.parametrize("kind", UNFIT)
def test_a_column_of_another_type_is_left_out_and_named(tmp_path, kind):
    file = parquet(tmp_path / "a.parquet", added=UNFIT[kind])
    suite = load_suite(file)
    assert suite.cases[0].sentences.to_pydict() == {"good": GOOD, "bad": BAD}
    assert suite.cases[0].features.column_names == []
    assert "columns left out, which are neither text nor numbers: added (" in succeed("expand", file).stderr
    assert succeed("expand", file, "--columns", "ignore=added").stderr == ""


def test_json_records_are_treated_alike(tmp_path):
    rows = [{"good": g, "bad": b, "tags": ["x"], "about": {"a": 1}} for g, b in zip(GOOD, BAD, strict=True)]
    (case,) = load_suite(write_lines(tmp_path / "a.jsonl", rows)).cases
    assert (case.n_items, case.features.column_names) == (2, [])


def test_texts_that_other_programs_write_are_texts(tmp_path):
    views = pa.table({"good": pa.array(GOOD, pa.string_view()), "bad": pa.array(BAD, pa.large_string())})
    pq.write_table(views, tmp_path / "a.parquet")
    assert load_suite(tmp_path / "a.parquet").cases[0].sentences.to_pydict() == {"good": GOOD, "bad": BAD}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([310.5, None], pa.float64()),
        ([7, None], pa.int64()),
        ([None, True], pa.bool_()),
        ([1, 2.5], pa.float64()),
    ],
)
def test_a_number_that_is_missing_is_a_gap(tmp_path, values, kind):
    rows = [{"good": g, "bad": b, "rt": v} for g, b, v in zip(GOOD, BAD, values, strict=True)]
    for file in (
        write_lines(tmp_path / "a.jsonl", rows), parquet(tmp_path / "b.parquet", rt=pa.array(values, kind))
    ):  # fmt: skip
        suite = load_suite(file)
        column = suite.cases[0].features["rt"]
        assert (column.type, column.to_pylist()) == (kind, values)
        run = tseval.evaluate("bundled:lstm", suite, out=tmp_path / f"run of {file.name}")
        assert run.load_verdicts()["rt"].to_pylist() == values


def test_gaps_in_other_places_are_another_suite(tmp_path):
    both = ([1, None], [None, 1])
    digests = {
        load_suite(parquet(tmp_path / f"{i}.parquet", rt=pa.array(own, pa.int64()))).digest
        for i, own in enumerate(both)
    }
    assert len(digests) == 2


def test_a_column_with_a_role_must_hold_what_it_needs(tmp_path):
    pq.write_table(pa.table({"good": pa.array([1, 2]), "bad": BAD}), tmp_path / "a.parquet")
    with pytest.raises(SuiteError, match="the good sentence is 1, but must be a text"):
        load_suite(tmp_path / "a.parquet")
