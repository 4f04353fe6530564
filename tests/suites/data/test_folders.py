"""Folders of data: every file is read or reported as unread, and files with equal names stay distinct."""

import json

import pytest
from systems import needs_posix

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.data.reading import what_was_read

PAIR = "good\tbad\na b\tb a\n"
LINE = '{"good": "a b", "bad": "b a"}\n'


def lay_out(folder, **files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def read(folder, **files):
    return load_suite(lay_out(folder, **files))


def test_deeper_folders_are_read(tmp_path):
    files = {"simple.jsonl": LINE * 2, "local/noun.jsonl": LINE, "far/across/pp.jsonl": LINE}
    suite = read(tmp_path, **files)
    assert {case.name: case.n_items for case in suite.cases} == {"simple": 2, "pp": 1, "noun": 1}
    assert load_suite(lay_out(tmp_path / "x", **{"1/2/3/4/deep.tsv": PAIR})).n_items == 1


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (("one/a.tsv", "one/b.tsv", "two/a.tsv", "two/b.tsv"), ["one/a", "one/b", "two/a", "two/b"]),
        (("eng/data.tsv", "heb/data.tsv"), ["eng", "heb"]),
        (("x/eng/data.tsv", "y/eng/data.tsv"), ["x/eng/data", "y/eng/data"]),
        (("a.first.tsv", "a.second.tsv"), ["a.first", "a.second"]),
        (("a.tsv", "more/b.tsv"), ["a", "b"]),
    ],
)
def test_files_of_one_name_are_told_apart(tmp_path, files, names):
    suite = read(tmp_path, **dict.fromkeys(files, PAIR))
    assert sorted(case.name for case in suite.cases) == sorted(names)
    assert {*suite.files} == {*files}


def test_kinds_of_files_lie_side_by_side(tmp_path):
    suite = read(tmp_path, **{
        "first.csv": "good,bad\na b,b a\n", "second.jsonl": LINE,
        "more/third.json": json.dumps([json.loads(LINE)]),
        "rows.tsv": "item\tlabel\tsentence\n1\tgood\ta b\n1\tbad\tb a\n",
    })  # fmt: skip
    assert sorted(case.name for case in suite.cases) == ["first", "rows", "second", "third"]
    assert suite.files == {
        "first.csv": "pairs, 1 item", "more/third.json": "pairs, 1 item", "rows.tsv": "sentences, 1 item",
        "second.jsonl": "pairs, 1 item",
    }  # fmt: skip


def test_what_is_no_data_is_named_with_its_reason(tmp_path):
    suite = read(tmp_path, **{
        "pairs.tsv": PAIR, "LICENSE.txt": "CC BY 4.0", "README.txt": "read me", "dataset_info.json": "{}",
        "plot.py": "", "results.csv": "model,accuracy\nx,0.5\n", "pairs.csv": "good,bad\nc d,d c\n",
        "notes.txt": "some\nlines\n", "settings.json": '{"a": 1}', ".git/x.tsv": PAIR,
    })  # fmt: skip
    assert (suite.n_items, [case.name for case in suite.cases]) == (1, ["pairs"])
    assert suite.files == {
        "pairs.tsv": "pairs, 1 item",
        "LICENSE.txt": "not read: a license",
        "README.txt": "not read: a readme",
        "dataset_info.json": "not read: a dataset_info",
        "plot.py": "not read: the ending is not one of a data file",
        "results.csv": "not read: no column names sentences that can be compared",
        "notes.txt": "not read: no column names sentences that can be compared",
        "settings.json": "not read: no column names sentences that can be compared",
        "pairs.csv": "not read: pairs.tsv has the same name",
    }
    said = what_was_read(suite)
    assert "read pairs.tsv (pairs, 1 item); not read: LICENSE.txt (a license)" in said
    assert "and 3 more" in said


def test_a_folder_of_nothing_known_is_refused_with_what_to_type(tmp_path):
    lay_out(tmp_path, **{"a.csv": "model,accuracy\nx,0.5\n", "b.csv": "model,accuracy\nx,0.5\n"})
    with pytest.raises(
        SuiteError,
        match=r"a\.csv:1: no pair of sentences found in .*\n.*--columns "
        r"good=NAME",
    ):
        load_suite(tmp_path)


def test_a_damaged_file_is_refused_and_not_passed_over(tmp_path):
    lay_out(tmp_path, **{"a.tsv": PAIR, "b.tsv": "good\tbad\nonly one\n"})
    with pytest.raises(SuiteError, match=r"b\.tsv:2: this row has 1 columns"):
        load_suite(tmp_path)


def test_files_that_are_compared_in_several_ways_are_refused(tmp_path):
    targets = "item\tprefix\ttarget\tlabel\n1\ta\tb\tgood\n1\ta\tc\tbad\n"
    lay_out(tmp_path, **{"a.tsv": PAIR, "b.tsv": targets})
    with pytest.raises(SuiteError, match=r"different ways of scoring: a by 'sentence' and b by 'regions'"):
        load_suite(tmp_path)


def test_parts_of_one_table_are_one_case(tmp_path):
    suite = read(tmp_path, **{f"test-0000{n}-of-00002.jsonl": LINE for n in (0, 1)})
    assert [(case.name, case.n_items) for case in suite.cases] == [("test", 2)]


@needs_posix
def test_a_link_to_a_folder_above_is_followed_once(tmp_path):
    folder = lay_out(tmp_path / "set", **{"a/x.tsv": PAIR})
    (folder / "a/up").symlink_to(folder, target_is_directory=True)
    assert load_suite(folder).n_items == 1


@pytest.mark.parametrize(
    ("gold", "features"), [("2\tlaughs\tlaugh\t-999\n", [""]), ("2\tlaughs\tlaugh\t0\n", [0])]
)
def test_unknown_attractors_are_left_empty(tmp_path, gold, features):
    lay_out(tmp_path, **{"x.text": "the author laughs\n", "x.gold": gold})
    (case,) = load_suite(tmp_path / "x.text").cases
    assert case.features["n_attractors"].to_pylist() == features
    assert case.construction == ("Attractors unknown" if features == [""] else "No attractors")
