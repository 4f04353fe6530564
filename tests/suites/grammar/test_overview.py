"""Lint ends with a table: the items of each case, and the frequency of each value of each slot."""

import json

from in_process import call

GRAMMAR = """---
construction: C
phenomenon: P
language: english
lexicon: {noun: {p: [farmer, pilot, nurse]}, verb: {v: [laughs, works]}}
slots: {subject: noun.p, verb: verb.v, depth: {range: 9}, long: [true, false]}
where: depth > 0 or not long
---
good: {{ depth }} {{ long and "y" or "n" }} the {{ subject }} {{ verb | agree(subject) }}
bad: {{ depth }} {{ long and "y" or "n" }} the {{ subject }} {{ verb | disagree(subject) }}
"""


def test_a_case_is_shown_by_three_items_and_the_frequencies_of_its_words(tmp_path):
    (tmp_path / "case.jinja").write_text(GRAMMAR)
    done = call("lint", tmp_path / "case.jinja")
    lines = done.stdout.splitlines()
    assert lines[0] == "case: 204 items"  # 3 nouns in 2 numbers, 2 verbs, 9 depths twice minus 1
    assert lines[1].split() == ["1", "good", "0", "n", "the", "farmer", "laughs"]
    assert [line.split()[0] for line in lines[3:7]] == ["103", "bad", "204", "bad"]
    table = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[7:]}
    assert table["subject"] == "farmer, pilot, nurse: 68 each"
    assert table["subject_number"] == "sing, plur: 102 each"
    assert table["depth"] == "0 12×, 1 24×, 2 24×, 3 24×, 4 24×, 5 24×, … 3 more (from 12 to 24 times)"
    assert table["long"] == "false 108×, true 96×"
    assert call("lint", tmp_path / "case.jinja", "--quiet").stdout == ""


def test_a_suite_of_many_cases_has_a_line_for_each(tmp_path):
    for number in range(9):
        (tmp_path / f"case{number}.jinja").write_text(GRAMMAR)
    lines = call("lint", tmp_path).stdout.splitlines()
    assert len(lines) == 10
    assert lines[8] == "case8  204  0 n the farmer laughs / 0 n the farmer laugh"


def test_data_are_shown_in_the_same_way(tmp_path):
    pairs = [{"good": f"{n} laughs", "bad": f"{n} laugh"} for n in "abcde"]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    lines = call("lint", tmp_path / "pairs.jsonl").stdout.splitlines()
    assert lines[0] == "pairs: 5 items"
    assert [line.split()[-2:] for line in lines[1::2]] == [[n, "laughs"] for n in "ace"]
