"""Tables with a header: what separates their columns, what stands in quotes, and which line is wrong."""

import csv
import gzip
import io

import pandas as pd
import pytest

from tseval.errors import SuiteError
from tseval.tables import open_table

CELLS = [
    ["good", "bad", "note"],
    ['so-called "authors" laugh', "a, b; c", "x"],
    ["zwei\nZeilen", "b", ""],
    ["הילדים צוחקים", "e\u0301le\u0300ves", "格助詞"],
]


def read(path):
    _, names, rows = open_table(path)
    return [names, *(cells for _, cells in rows)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_header_of_a_csv_says_what_separates_its_columns(tmp_path, delimiter, name, mark):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(CELLS)
    content = (mark + text.getvalue()).encode()
    (tmp_path / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith("gz") else content)
    assert read(tmp_path / name) == CELLS
    places = [place.rpartition(":")[2] for place, _ in open_table(tmp_path / name)[2]]
    assert places == ["2", "3", "5"]  # a row begins where its first line does


@pytest.mark.parametrize(("ending", "separator"), [("tsv", "\t"), ("csv", ","), ("csv", ";"), ("csv", "\t")])
@pytest.mark.parametrize("index", [True, False])
def test_what_pandas_writes_is_what_it_reads(tmp_path, ending, separator, index):
    written = pd.DataFrame({"sen": ['he said "no" .', '"', '"a" "b"', "plain"], "n": ['"x', 'y"', "", '""']})
    path = tmp_path / f"t.{ending}"
    written.to_csv(path, sep=separator, index=index)
    names, *rows = read(path)
    assert names == ["sen", "n"]  # an index has no name, and is left out
    assert rows == pd.read_csv(path, sep=separator, keep_default_na=False)[["sen", "n"]].to_numpy().tolist()
    assert rows == written.to_numpy().tolist()


def test_quotes_that_pandas_would_not_write_are_letters_in_tsv(tmp_path):
    cells = ['"yes"', 'd "e', '"', '"a" b"', '""']
    (tmp_path / "t.tsv").write_text("\t".join("abcde") + "\n" + "\t".join(cells) + "\n")
    assert read(tmp_path / "t.tsv")[1] == cells


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "good;bad,x\n", r"t\.csv:1: the header is separated by ',' and by ';'\."),
        ("t.csv", "\n\ngood;bad;n\na;b\n", r"t\.csv:4: 2 columns, but the header has 3"),
        ("t.csv", "good,bad\na,b,c\n", r"t\.csv:2: 3 columns, but the header has 2"),
        ("t.csv", "good;bad\na,b\n", r"t\.csv:2: 1 columns, .*\n  They seem to be separated by ',' here"),
        ("t.tsv", "good\tbad\na;b\n", r"t\.tsv:2: 1 columns, .*\n  They seem to be separated by ';' here"),
        ("t.csv", 'good,bad\na,b\n"c,d\n', r"t\.csv:3: a quote is opened here and not closed"),
        ("t.csv", 'good,bad\n"a" b,c\n', r't\.csv:2: a quote .* inside a cell in quotes\.\n.*""authors""'),
        ("t.csv", "good,bad,good\n", r"t\.csv:1: every column needs a name of its own, .*'bad', 'good'"),
        ("t.csv", "good,bad\ra,b\r", r"t\.csv:1: lines end in a carriage return alone"),
        ("t.csv", "good,bad\na b\rc,d\n", r"t\.csv:2: a carriage return stands inside a cell"),
        ("t.csv", "good,,bad\n", r"t\.csv:1: every column needs a name of its own"),
        ("t.csv", b"good,bad\na,b\nc,\xe9t\xe9\n", r"t\.csv: not UTF-8 text .* at byte 15\), in line 3\."),
        ("t.csv", "good,bad\na,b\n".encode("utf-16"), r"t\.csv: not UTF-8 text .* in line 1\."),
    ],
)  # fmt: skip
def test_a_malformed_table_names_the_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SuiteError, match=message):
        read(tmp_path / name)
