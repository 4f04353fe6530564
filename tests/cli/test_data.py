"""`tseval data count`: the number of examples by nouns and attractors."""

import json
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from in_process import call, refuse, succeed

from tseval.report.analyses.noun_counts import noun_count_bars, noun_counts
from tseval.suites.agreement.example_tables import read_examples

COLUMNS = (
    "sentence", "verb_index", "verb_form", "number", "opp_verb_form", "n_intervening", "n_attractors",
    "split",
)  # fmt: skip
# Nouns, attractors and split of each example. Examples with ten nouns are counted with those with eight.
ROWS = [
    *[(0, 0, "train")] * 5, (1, 0, "train"), (1, 1, "train"), (1, 1, "test"), (8, 2, "train"),
    (10, 6, "train"),
]  # fmt: skip


def write(path, rows, columns=COLUMNS):
    lines = []
    for nouns, attractors, split in rows:
        known = dict(
            zip(COLUMNS, ("the dog barks", 2, "barks", "sing", "bark", nouns, attractors, split), strict=True)
        )
        lines.append("\t".join(str(known[column]) for column in columns))
    path.write_text("\n".join(["\t".join(columns), *lines]) + "\n")
    return path


def test_examples_are_counted_by_nouns_and_attractors_of_a_split(tmp_path):
    write(tmp_path / "a.tsv", ROWS)
    done = succeed(
        "data", "count", "a.tsv", "--split", "train", "--format", "json", "--figure", "n.svg", cwd=tmp_path
    )
    counts = {
        (row["n_intervening"], row["n_attractors"]): row["n_examples"]
        for row in json.loads(done.stdout)["rows"]
    }
    assert counts == Counter(row[:2] for row in ROWS if row[2] == "train")
    assert ET.parse(tmp_path / "n.svg").getroot().tag.endswith("svg")  # noqa: S314 - ours
    printed = call("data", "count", "a.tsv", cwd=tmp_path).stdout.splitlines()
    cells = [cell.strip() for cell in next(line for line in printed if line.startswith("| 1 ")).split("|")]
    assert cells[1:-1] == ["1", "1", "2", "–", "–", "3"]


def test_bars_of_one_table_are_parted_by_attractors_and_count_what_is_rare_together(tmp_path):
    table = read_examples(write(tmp_path / "a.tsv", ROWS))
    panel = noun_count_bars(noun_counts({"a": table}), "a")
    assert list(panel.words) == [*map(str, range(8)), "8 or more"]
    assert {line.name: dict(zip(line.x, line.y, strict=True)) for line in panel.series} == {
        "0 attractors": {1: 5, 2: 1}, "1 attractor": {2: 2}, "2 attractors": {9: 1},
        "4 or more attractors": {9: 1},
    }  # fmt: skip


def test_several_tables_have_a_bar_each(tmp_path):
    tables = {name: read_examples(write(tmp_path / name, rows))
              for name, rows in (("a.tsv", ROWS), ("b.tsv", ROWS[:2]))}  # fmt: skip
    panel = noun_count_bars(noun_counts(tables), "")
    assert [(line.name, list(line.y)) for line in panel.series] == [("a.tsv", [5, 3, 2]), ("b.tsv", [2])]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.tsv", "--split", "tests"), "a.tsv: no example belongs to the split 'tests'"),
        (("a.tsv", "a.tsv"), "two tables have the file name 'a.tsv'"),
        (
            ("bare.tsv",),
            "bare.tsv: the table has no column 'n_intervening', which tseval needs to count examples.",
        ),
    ],
)
def test_what_cannot_be_counted_is_one_message(tmp_path, arguments, message):
    write(tmp_path / "a.tsv", ROWS)
    write(tmp_path / "bare.tsv", ROWS, [column for column in COLUMNS if column != "n_intervening"])
    assert message in refuse("data", "count", *arguments, cwd=tmp_path).stderr
