"""The table of agreement examples: what is read back is what was written, and what is wrong is named."""

import csv
import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from supplied import AGREEMENT

from tseval.errors import SuiteError
from tseval.suites.agreement import write_examples
from tseval.suites.agreement.published import read_examples

ROW = {
    "sentence": 'the "keys" to the cabinet are here .',
    "subj_index": "1",
    "verb_index": "5",
    "subj_form": '"keys"',
    "verb_form": "are",
    "number": "plur",
    "opp_verb_form": "is",
    "n_intervening": "1",
    "n_attractors": "1",
}


def tsv(folder, *rows):
    file = folder / "examples.tsv"
    file.write_text("".join("\t".join(cells) + "\n" for cells in (rows[0], *map(dict.values, rows))))
    return file


@pytest.mark.parametrize("name", ["a.parquet", "a.tsv", "a.tsv.gz"])
def test_the_supplied_examples_survive_every_format(tmp_path, name):
    table = read_examples(AGREEMENT)
    write_examples(table, tmp_path / name)
    assert read_examples(tmp_path / name).equals(table)


def test_the_supplied_examples_are_read_cell_by_cell():
    with gzip.open(AGREEMENT, "rt", newline="") as file:
        expected = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = read_examples(AGREEMENT).to_pylist()
    assert len(found) == 4621
    for row, cells in zip(found, expected, strict=True):
        assert row["n_non_attractors"] == row["n_intervening"] - row["n_attractors"]
        assert {name: str(row[name]) for name in cells} == cells


def test_quotes_are_ordinary_characters(tmp_path):
    (row,) = read_examples(tsv(tmp_path, ROW)).to_pylist()
    assert row["sentence"] == ROW["sentence"]
    assert row["subj_form"] == '"keys"'


def test_columns_that_hold_nothing_or_are_not_known_are_left_out(tmp_path):
    table = read_examples(tsv(tmp_path, ROW | {"split": "", "genre": "blog"}))
    assert set(table.column_names) == {*ROW, "n_non_attractors"}


def test_the_same_examples_give_the_same_compressed_bytes(tmp_path):
    table = read_examples(tsv(tmp_path, ROW))
    for name in ("a.tsv.gz", "b.tsv.gz"):
        write_examples(table, tmp_path / name)
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"verb_index": "8"}, "examples.tsv:3: verb_index is 8, but the words are 0 to 7"),
        ({"subj_index": "2"}, "tsv:3: word 2 of the sentence is 'to', but subj_form is '\"keys\"'"),
        ({"verb_form": "Are"}, "tsv:3: word 5 of the sentence is 'are', but verb_form is 'Are'"),
        ({"verb_index": "-1"}, "tsv:3: verb_index is no whole number, but '-1'"),
        ({"verb_index": "0", "verb_form": "the"}, "tsv:3: the verb is the first word: nothing before it"),
        ({"number": "singular"}, "tsv:3: number is neither sing nor plur, but 'singular'"),
        ({"opp_verb_form": "is not"}, "tsv:3: opp_verb_form is not one word, but 'is not'"),
        ({"n_attractors": "2"}, "tsv:3: more attractors than intervening nouns"),
        ({"n_attractors": ""}, "tsv:3: n_attractors is empty"),
    ],
)
def test_a_row_that_cannot_be_is_named(tmp_path, changed, message):
    with pytest.raises(SuiteError, match=message):
        read_examples(tsv(tmp_path, ROW, ROW | changed))


def test_a_row_of_a_parquet_file_is_named_by_its_number(tmp_path):
    table = read_examples(tsv(tmp_path, ROW, ROW))
    wrong = table.set_column(table.column_names.index("verb_index"), "verb_index", pa.array([5, 9]))
    pq.write_table(wrong, tmp_path / "wrong.parquet")
    with pytest.raises(SuiteError, match=r"wrong\.parquet, row 2: verb_index is 9"):
        read_examples(tmp_path / "wrong.parquet")


def test_a_column_of_another_type_is_named(tmp_path):
    table = read_examples(tsv(tmp_path, ROW))
    wrong = table.set_column(table.column_names.index("verb_index"), "verb_index", pa.array(["five"]))
    pq.write_table(wrong, tmp_path / "wrong.parquet")
    with pytest.raises(SuiteError, match="column 'verb_index' holds string, not int64"):
        read_examples(tmp_path / "wrong.parquet")


def test_a_file_that_is_no_table_of_examples_is_refused(tmp_path):
    missing = {name: cell for name, cell in ROW.items() if name != "opp_verb_form"}
    with pytest.raises(SuiteError, match="no table of agreement examples: no column 'opp_verb_form'"):
        read_examples(tsv(tmp_path, missing))
    with pytest.raises(SuiteError, match="no table of agreement examples: column 'number' is empty"):
        read_examples(tsv(tmp_path, ROW | {"number": ""}))
    (tmp_path / "examples.tsv").write_text("\t".join(ROW) + "\n")
    with pytest.raises(SuiteError, match="holds no examples"):
        read_examples(tmp_path / "examples.tsv")
    (tmp_path / "a.parquet").write_text("PAR1?")
    with pytest.raises(SuiteError, match=r"a\.parquet: cannot be read"):
        read_examples(tmp_path / "a.parquet")
