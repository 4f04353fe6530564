"""Tables with too many columns are refused at their header, with the name of the limit."""

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import refuse, succeed

N = 20_000


def jsonl(path):
    path.write_text(json.dumps({f"k{i}": "x" for i in range(10 * N)}) + "\n")


def listed(path):
    path.write_text(json.dumps([{f"k{i}": "x" for i in range(10 * N)}]))


def separated(path):
    path.write_text("\n".join("\t".join(f"{row}{i}" for i in range(N)) for row in "ab") + "\n")


def commas(path):
    path.write_text("\n".join(",".join(f"{row}{i}" for i in range(N)) for row in "ab") + "\n")


def parquet(path):
    pq.write_table(pa.table({f"k{i}": ["x"] for i in range(N)}), path)


def sheet(path, width=16_000, height=3, far=None):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet("one")
    for row in range(height):
        page.append([f"{row}-{i}" for i in range(width)])
    book.save(path)


WIDE = {"a.jsonl": jsonl, "a.json": listed, "a.tsv": separated, "a.csv": commas, "a.parquet": parquet,
        "a.xlsx": sheet}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
def test_a_table_of_too_many_columns_is_refused_by_the_limit(name, tmp_path):
    WIDE[name](tmp_path / name)
    began = time.monotonic()
    said = refuse("expand", f"./{name}", "--quiet", cwd=tmp_path).stderr
    assert time.monotonic() - began < 10
    assert "TSEVAL_LIMITS=columns=" in said
    assert name in said


def test_a_sheet_that_claims_to_be_endless_is_read_where_it_holds_something(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["good", "bad"], ["the dog laughs .", "the dog laugh ."], ["a", None], [None, "b"]):
        book.active.append(row if all(row) else ["she laughs .", "she laugh ."])
    book.save(tmp_path / "a.xlsx")
    succeed("expand", "./a.xlsx", "--quiet", cwd=tmp_path)


def test_a_table_of_a_thousand_columns_is_read(tmp_path):
    names = [f"k{i}" for i in range(1_000)]
    rows = [["good", "bad", *names], ["the dog laughs .", "the dog laugh .", *["x"] * 1_000]]
    (tmp_path / "a.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    succeed("expand", "./a.tsv", "--quiet", cwd=tmp_path)
