"""Pairs in JSON lines and tab-separated values, as users write them."""

import gzip
import json

import pyarrow as pa
import pytest

from tseval.errors import SuiteError
from tseval.suites import load_suite, stream_cases

RECORDS = [
    {"good": "the author  laughs .", "bad": "the author laugh .", "number": "sing", "n": 1, "share": 0.5},
    {"good": "the authors laugh .", "bad": "the authors laughs .", "number": "plur", "n": 2, "share": 1},
]


def write_jsonl(path, records=RECORDS):
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
    return path


def write_tsv(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["my_pairs.jsonl", "my_pairs.jsonl.gz"])
def test_a_file_of_pairs_is_a_suite_of_one_case_with_its_features(tmp_path, name):
    suite = load_suite(write_jsonl(tmp_path / name))
    (case,) = suite.cases
    assert (suite.name, suite.terminator, suite.score, case.name) == (
        "my_pairs",
        None,
        "sentence",
        "my_pairs",
    )
    assert case.sentences.to_pydict() == {
        "good": ["the author laughs .", "the authors laugh ."],
        "bad": ["the author laugh .", "the authors laughs ."],
    }
    assert case.features.to_pydict() == {"number": ["sing", "plur"], "n": [1, 2], "share": [0.5, 1.0]}
    assert [str(contrast) for contrast in case.contrasts] == ["good > bad"]


def test_columns_of_a_table_get_the_narrowest_type(tmp_path):
    header = ["sentence_good", "sentence_bad", "n", "x", "animate", "word", "code"]
    rows = [["a b", "a c", "1", "0.5", "true", "b", "1_0"], ["d e", 'd "e', "-2", "2", "False", "e", "2"]]
    (case,) = load_suite(write_tsv(tmp_path / "t.tsv", [header, *rows])).cases
    assert case.sentences["bad"].to_pylist() == ["a c", 'd "e']  # a quote is a character like any other
    types = [pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.string()]
    assert [field.type for field in case.features.schema] == types
    assert case.features["animate"].to_pylist() == [True, False]


def test_rows_of_the_table_follow_from_their_columns(tmp_path):
    named = [
        {
            **RECORDS[0],
            "case": "a",
            "construction": "Simple",
            "phenomenon": "Agreement",
            "dependency": "long",
        },
        {**RECORDS[1], "case": "b"},
    ]
    first, second = load_suite(write_jsonl(tmp_path / "mine.jsonl", named)).cases
    assert (first.construction, first.phenomenon, first.dependency) == ("Simple", "Agreement", "long")
    assert (second.construction, second.phenomenon, second.dependency) == ("b", "mine", None)


def test_a_folder_of_files_is_one_suite(tmp_path):
    for name in ("one", "two"):
        write_jsonl(tmp_path / f"{name}.jsonl")
    suite = load_suite(tmp_path)
    assert [case.name for case in suite.cases] == ["one", "two"]
    assert suite.name == tmp_path.name


def test_limits_samples_and_cases_choose_items_and_keep_their_numbers(tmp_path):
    records = [{"good": f"a {i}", "bad": f"b {i}", "case": "xy"[i % 2], "i": i} for i in range(20)]
    path = write_jsonl(tmp_path / "many.jsonl", records)
    limited = load_suite(path, cases="y", limit=3)
    assert limited.cases[0].features["i"].to_pylist() == [1, 3, 5]
    assert not limited.complete
    sampled = load_suite(path, sample=4, seed=1)
    for case in sampled.cases:
        assert [2 * n + "xy".index(case.name) for n in case.index.to_pylist()] == case.features[
            "i"
        ].to_pylist()
    count, blocks = stream_cases(path, limit=12)
    assert count == 12
    assert [i for case in blocks for i in case.features["i"].to_pylist()] == [*range(0, 20, 2), 1, 3]
    with pytest.raises(SuiteError, match="suite 'many' has no case 'z'"):
        load_suite(path, cases=["z"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "p.jsonl:2: no JSON"),
        ("[1]", "p.jsonl:2: no JSON object"),
        ('{"right": "a", "bad": "b"}', "p.jsonl:2: no pair of sentences: there are 'right', 'bad'"),
        ('{"good": 1, "bad": "b"}', "p.jsonl:2: the good sentence is no text, but 1"),
        ('{"good": " ", "bad": "b", "n": 2}', "p.jsonl:2: the good sentence has no words"),
        ('{"good": "a", "bad": "b", "n": null}', "p.jsonl:2: n is None"),
        ('{"good": "a", "bad": "b", "n": "x"}', "p.jsonl:2: n is 'x', but 1 in .*p.jsonl:1"),
        ('{"good": "a", "bad": "b", "m": 1}', r"p.jsonl:2: features \['m'\], but \['n'\] in .*p.jsonl:1"),
        ('{"good": "a", "bad": "b", "n": 1, "phenomenon": "x"}', "p.jsonl:2: row of the table"),
    ],
)
def test_a_bad_line_is_named_with_its_file_and_number(tmp_path, line, message):
    path = tmp_path / "p.jsonl"
    path.write_text('{"good": "a", "bad": "b", "n": 1}\n' + line + "\n")
    with pytest.raises(SuiteError, match=message):
        load_suite(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"good\tbad\na\n", "t.tsv:2: 1 columns, but the header has 2"),
        (b"good\tgood\na\tb\n", "t.tsv:1: every column needs a name of its own"),
        (b"good\tbad\n", "t.tsv: holds no pair of sentences"),
        (b"good\tbad\n\xff\t\xfe\n", "t.tsv: not UTF-8 text .* at byte 9"),
        (b"good\tbad\titem\na\tb\t1\n", "t.tsv:2: 'item' is no name for a feature"),
    ],
)
def test_a_bad_table_is_named(tmp_path, content, message):
    path = tmp_path / "t.tsv"
    path.write_bytes(content)
    with pytest.raises(SuiteError, match=message):
        load_suite(path)


def test_a_damaged_file_and_a_method_that_is_not_there_are_named(tmp_path):
    (tmp_path / "p.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(SuiteError, match=r"p\.jsonl\.gz: cannot be read"):
        load_suite(tmp_path / "p.jsonl.gz")
    path = write_jsonl(tmp_path / "q.jsonl")
    with pytest.raises(
        SuiteError, match=r"no method 'one_prefix'.\n.*Methods: judgement, judgement_both, number,"
    ):
        load_suite(f"{path}:one_prefix")
