"""The formats of CLAMS, Linzen and Gulordava, on small files written here."""

from typing import Any

import pytest
from supplied import AGREEMENT

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.agreement.example_tables import read_examples

CLAMS = (
    "True\tles auteurs rient\nFalse\tles auteurs rit\nFalse\tles auteurs ris\n"
    "True\tl' auteur rit\nFalse\tl' auteur rient\n"
)
TAB = (
    "pattern\tconstr_id\tsent_id\tcorrect_number\tform\tclass\ttype\tprefix\tn_attr\n"
    'P\t1\t0\tplur\twere\tcorrect\toriginal\t"the ""big"" dogs"\t0\n'
    'P\t1\t0\tplur\twas\twrong\toriginal\t"the ""big"" dogs"\t0\n'
)


def test_every_ungrammatical_sentence_of_clams_is_paired_with_the_grammatical_one_before_it(tmp_path):
    folder = tmp_path / "fr_evalset"
    folder.mkdir()
    (folder / "simple_agrmt.txt").write_text(CLAMS)
    (folder / "prep_inanim.txt").write_text("True\ta b c\nFalse\ta b d\n")
    suite = load_suite(folder)
    prep, simple = suite.cases
    assert (suite.name, suite.title) == ("clams_fr", "CLAMS, French")
    assert [tuple(item.sentences.values()) for item in simple.items()] == [
        ("les auteurs rient", "les auteurs rit"),
        ("les auteurs rient", "les auteurs ris"),
        ("l' auteur rit", "l' auteur rient"),
    ]
    assert (simple.construction, simple.dependency) == ("Simple", "short")
    assert (prep.construction, prep.dependency) == ("Across a PP", "long")
    assert prep.features["animacy"].to_pylist() == ["inanimate"]


def test_quotes_of_a_tab_file_are_those_of_csv(tmp_path):
    (tmp_path / "t.tab").write_text(TAB)
    (case,) = load_suite(tmp_path / "t.tab").cases
    assert case.sentences.to_pylist() == [{"correct": 'the "big" dogs were', "wrong": 'the "big" dogs was'}]


def test_a_sentence_of_linzens_format_ends_at_its_verb_in_lower_case(tmp_path):
    (tmp_path / "a.text").write_text("the dogs near me are loud <eos>\n")
    (tmp_path / "a.gold").write_text("4\tAre\tIs\t1\n")
    (case,) = load_suite(tmp_path / "a.text").cases
    assert case.sentences.to_pylist() == [{"correct": "the dogs near me are", "wrong": "the dogs near me is"}]
    assert case.features.to_pylist() == [{"n_attractors": 1, "position": 4}]


# Tables of agreement examples as suites.
HEADER = "sentence\tverb_index\tverb_form\tnumber\topp_verb_form"
ROWS = (
    "the author near the guards laughs .\t5\tlaughs\tsing\tlaugh",
    "the authors laugh .\t2\tlaugh\tplur\tlaughs",
)


def table(path, header=HEADER, *ends):
    lines = [header, *(row + end for row, end in zip(ROWS, ends or ("", ""), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_every_split_of_the_supplied_examples_is_a_case():
    suite = load_suite(AGREEMENT)
    # Counted in the file's column `split`, with zcat and sort.
    assert {case.name: case.n_items for case in suite.cases} == {"train": 3592, "valid": 593, "test": 436}
    assert [case.name for case in suite.cases] == ["train", "valid", "test"]
    assert (suite.name, suite.score) == ("agreement", "critical")


def test_the_two_sentences_differ_in_the_verb_alone():
    (case,) = load_suite(AGREEMENT, cases="test").cases
    rows = [row for row in read_examples(AGREEMENT).to_pylist() if row["split"] == "test"]
    for item, row in zip(case.items(), rows, strict=True):
        found, changed = (item.sentences[label].split() for label in ("grammatical", "ungrammatical"))
        position: Any = item.features["position"]
        assert (found[position], changed[position]) == (row["verb_form"], row["opp_verb_form"])
        del found[position], changed[position]
        assert found == changed == [word for n, word in enumerate(row["sentence"].split()) if n != position]
        for name in ("number", "n_attractors", "n_non_attractors", "distance", "source", "verb_role"):
            assert item.features[name] == row[name]


def test_a_table_without_splits_is_one_case_called_like_the_file(tmp_path):
    suite = load_suite(table(tmp_path / "mine.tsv"))
    assert [(case.name, case.n_items) for case in suite.cases] == [("mine", 2)]
    assert suite.cases[0].features.column_names == ["number", "position", "verb_form"]


def test_tables_in_one_folder_are_one_suite(tmp_path):
    table(tmp_path / "a.tsv", HEADER + "\tsplit\tsource", "\ttest\ta", "\ttrain\ta")
    table(tmp_path / "b.tsv", HEADER + "\tsplit", "\ttrain", "\tgenerated")
    suite = load_suite(tmp_path)
    assert {case.name: case.n_items for case in suite.cases} == {"train": 2, "test": 1, "generated": 1}
    assert all("source" not in case.features.column_names for case in suite.cases)
    table(tmp_path / "c.tsv")
    with pytest.raises(SuiteError, match=r"c\.tsv: this table has no column 'split', but other tables"):
        load_suite(tmp_path)
