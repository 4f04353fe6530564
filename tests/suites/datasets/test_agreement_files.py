"""CLAMS, Linzen's and Gulordava's formats, on small files written here."""

import pytest

from tseval.errors import SuiteError
from tseval.suites import load_suite

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


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("simple_agrmt.txt", "False\ta b\n", "txt:1: an ungrammatical sentence before any grammatical one"),
        ("simple_agrmt.txt", "True\ta b\nMaybe\ta c\n", "txt:2: neither True nor False"),
        ("poetry.txt", "True\ta\nFalse\tb\n", "no construction of CLAMS is called 'poetry'"),
        ("a.text", "the dog barks\n", "a.gold: cannot be read"),
        ("t.tab", TAB.replace("n_attr", "attractors"), "no agreement table: there is no column 'n_attr'"),
        ("t.tab", TAB.rsplit("P", 1)[0], "t.tab:2: a row without its twin"),
        ("t.tab", TAB.replace("wrong", "correct"), "t.tab:2: this row and the next are not"),
        ("t.tab", TAB.replace("P\t1", "P\tone"), "t.tab:2: constr_id is no whole number, but 'one'"),
        ("t.tab", TAB.replace("original", "invented"), "t.tab:2: neither original nor generated"),
    ],
)
def test_a_malformed_file_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(SuiteError, match=message):
        load_suite(tmp_path / name)


def test_quotes_of_a_tab_file_are_those_of_csv(tmp_path):
    (tmp_path / "t.tab").write_text(TAB)
    (case,) = load_suite(tmp_path / "t.tab").cases
    assert case.sentences.to_pylist() == [{"correct": 'the "big" dogs were', "wrong": 'the "big" dogs was'}]


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ("2\tbarks\tbark\n", "a.gold:1: not position, right form, wrong form and number of attractors"),
        ("1\tbarks\tbark\t0\n", "a.gold:1: word 1 of the sentence is not 'barks'"),
        ("2\tbarks\tbark\t0\n" * 2, "a.gold: 2 lines for the 1 sentences"),
    ],
)
def test_a_gold_file_that_does_not_fit_is_named(tmp_path, gold, message):
    (tmp_path / "a.text").write_text("the dog barks at me <eos>\n")
    (tmp_path / "a.gold").write_text(gold)
    with pytest.raises(SuiteError, match=message):
        load_suite(tmp_path / "a.text")


def test_a_sentence_of_linzens_format_ends_at_its_verb_in_lower_case(tmp_path):
    (tmp_path / "a.text").write_text("the dogs near me are loud <eos>\n")
    (tmp_path / "a.gold").write_text("4\tAre\tIs\t1\n")
    (case,) = load_suite(tmp_path / "a.text").cases
    assert case.sentences.to_pylist() == [{"correct": "the dogs near me are", "wrong": "the dogs near me is"}]
    assert case.features.to_pylist() == [{"n_attractors": 1, "position": 4}]
