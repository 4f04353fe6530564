"""Shared properties of items from files: those of the sets themselves, and `cluster_by`."""

import pytest
from small import write_file, write_lines
from supplied import AGREEMENT, BLIMP_SAMPLE

from tseval.errors import SuiteError
from tseval.items import Case, cluster_by
from tseval.suites import load_suite
from tseval.suites.agreement.example_tables import read_examples

PAIRS = [
    {"good": "the author laughs", "bad": "the author laugh", "verb": "laugh", "n": 1},
    {"good": "the authors laugh", "bad": "the authors laughs", "verb": "laugh", "n": 2},
    {"good": "the author swims", "bad": "the author swim", "verb": "swim", "n": 3},
]
TAB = (
    "pattern\tconstr_id\tsent_id\tcorrect_number\tform\tclass\ttype\tprefix\tn_attr\n"
    "P\t1\t0\tplur\tsleep\tcorrect\toriginal\tthe dogs\t0\n"
    "P\t1\t0\tplur\tsleeps\twrong\toriginal\tthe dogs\t0\n"
    "P\t1\t4\tplur\tIs\twrong\toriginal\tthe ideas\t0\n"
)


@pytest.fixture
def pairs(tmp_path):
    return write_lines(tmp_path / "pairs.jsonl", PAIRS)


def entries(case: Case) -> dict:
    return case.entries.to_pydict()


def test_examples_from_treebanks_share_sentences_and_verbs():
    rows = [row for row in read_examples(AGREEMENT).to_pylist() if row["split"] == "test"]
    (case,) = load_suite(AGREEMENT, cases="test").cases
    found = entries(case)
    assert list(found) == ["sentence", "verb"]
    # Equal sentences have equal names, and different sentences have different names.
    names = {(row["sentence"], name) for row, name in zip(rows, found["sentence"], strict=True)}
    assert len(names) == len(dict(names)) == len({name for _, name in names}) < len(rows)
    for row, verb in zip(rows, found["verb"], strict=True):
        assert verb == row["verb_form" if row["number"] == "sing" else "opp_verb_form"].lower()


def test_linzens_items_share_a_sentence_and_a_verb_named_by_its_singular(tmp_path):
    write_file(tmp_path / "t.text", "the dog is here\nthe dogs are here\nthe dog is here\nit has it\n")
    write_file(tmp_path / "t.gold", "2\tis\tare\t0\n2\tare\tis\t0\n2\tis\tare\t1\n1\thas\thave\t0\n")
    none, one = load_suite(tmp_path / "t.text").cases
    assert entries(none) == {"sentence": ["1", "2", "4"], "verb": ["is", "is", "has"]}
    assert entries(one) == {"sentence": ["1"], "verb": ["is"]}


def test_gulordavas_versions_of_a_sentence_share_it(tmp_path):
    second = "P\t1\t4\tplur\tAre\tcorrect\toriginal\tthe ideas\t0\n"
    head, last = TAB.rstrip("\n").rsplit("\n", 1)
    (case,) = load_suite(write_file(tmp_path / "t.tab", f"{head}\n{second}{last}\n")).cases
    assert entries(case) == {"sentence": ["P 1", "P 1"], "verb": ["sleeps", "is"]}


def test_clams_items_share_a_sentence_where_it_has_several_twins(tmp_path):
    folder = tmp_path / "fr_evalset"
    folder.mkdir()
    write_file(folder / "simple_agrmt.txt", "True\ta b\nFalse\ta c\nFalse\ta d\nTrue\te b\nFalse\te c\n")
    write_file(folder / "vp_coord.txt", "True\ta b\nFalse\ta c\nTrue\te b\nFalse\te c\n")
    several, single = load_suite(folder).cases
    assert entries(several) == {"sentence": ["simple_agrmt.txt:1"] * 2 + ["simple_agrmt.txt:4"]}
    assert entries(single) == {}


def test_what_items_of_blimp_share_is_not_known():
    assert all(case.entries.num_columns == 0 for case in load_suite(BLIMP_SAMPLE, limit=1).cases)


@pytest.mark.slow
def test_brackets_of_one_string_share_it_and_strings_that_are_judged_whole_share_nothing():
    (case,) = load_suite("dyck(k=2,m=3)", limit=3).cases
    assert entries(case) == {"string": case.sentences["string"].to_pylist()}
    (case,) = load_suite("cross_serial(3)", limit=3).cases
    assert case.entries.num_columns == 0


def test_a_named_column_says_what_items_share(pairs):
    plain = load_suite(pairs)
    assert entries(plain.cases[0]) == {}
    suite = cluster_by(plain, ["verb", "n"])
    assert entries(suite.cases[0]) == {"verb": ["laugh", "laugh", "swim"], "n": ["1", "2", "3"]}
    assert suite.digest == plain.digest
    assert (plain.clusters, suite.clusters) == ((), ("verb", "n"))


def test_named_columns_stand_in_place_of_what_the_suite_says():
    suite = load_suite(AGREEMENT, cases="test")
    (case,) = cluster_by(suite, ["source", "verb"]).cases
    assert list(entries(case)) == ["source", "verb"]
    assert entries(case)["source"] == case.features["source"].to_pylist()
    assert entries(case)["verb"] == entries(suite.cases[0])["verb"]
    assert cluster_by(suite, []) is suite


def test_a_case_without_the_column_has_no_such_factor(tmp_path):
    rows = [pair | {"case": "a"} for pair in PAIRS] + [{"case": "b", "good": "x y", "bad": "x z"}]
    path = write_lines(tmp_path / "p.jsonl", rows)
    first, second = cluster_by(load_suite(path), ["verb"]).cases
    assert list(entries(first)) == ["verb"]
    assert entries(second) == {}


def refused(path, column):
    with pytest.raises(SuiteError) as caught:
        cluster_by(load_suite(path), [column])
    return str(caught.value)


def test_a_column_that_is_not_there_is_an_error_with_the_nearest_one(pairs):
    assert refused(pairs, "verv") == (
        "--cluster verv: the items of the suite 'pairs' have no column with this name.\n  Did you mean "
        "'verb'? Columns: n, verb."
    )


def test_a_column_with_missing_values_is_an_error_that_names_the_item(tmp_path):
    path = write_file(tmp_path / "p.tsv", "good\tbad\tverb\na b\ta c\tb\na d\ta e\t\n")
    assert refused(path, "verb") == (
        "case 'p', item 1: the column 'verb' has no value, but --cluster needs one.\n"
        "  Write a value into this column in every row, or leave out --cluster verb."
    )


def test_a_column_of_one_value_is_an_error_but_not_in_a_part_of_a_suite(pairs):
    same = write_file(pairs.with_name("same.jsonl"), pairs.read_text().replace("swim", "laugh"))
    assert refused(same, "verb") == (
        "--cluster verb: all items have the same value in this column, 'laugh', so there is only one "
        "cluster.\n"
        "  Leave out --cluster verb, or name another column."
    )
    (case,) = cluster_by(load_suite(pairs, limit=2), ["verb"]).cases
    assert entries(case) == {"verb": ["laugh", "laugh"]}


def test_a_column_with_the_name_of_a_factors_column_is_what_items_share(pairs):
    path = write_file(pairs.with_name("e.jsonl"), pairs.read_text().replace('"verb"', '"verb.entry"'))
    (case,) = load_suite(path).cases
    assert entries(case)["verb"] == [pair["verb"] for pair in PAIRS]
    assert "verb.entry" not in case.features.column_names


@pytest.mark.parametrize("method", ["number", "judgement", "profile", "number_profile"])
def test_views_keep_what_items_share(tmp_path, method):
    rows = [pair | {"number": number} for pair, number in zip(PAIRS, ("sing", "plur", "sing"), strict=True)]
    path = write_lines(tmp_path / "p.jsonl.gz", rows)
    (case,) = cluster_by(load_suite(f"{path}:{method}"), ["verb"]).cases
    by_item = [PAIRS[index]["verb"] for index in case.index.to_pylist()]
    assert entries(case) == {"verb": by_item}
    plain = load_suite("marvin_linzen", cases="simple_agrmt").cases[0].entries.to_pylist()
    if "number" not in method:
        (case,) = load_suite(f"marvin_linzen:{method}", cases="simple_agrmt").cases
        assert case.entries.to_pylist() == [plain[index] for index in case.index.to_pylist()]
