"""Published tables: columns get roles, rows become items, and tseval reports how it read them."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small import write_file

from tseval.adapters import open_model
from tseval.errors import SuiteError
from tseval.evaluation import evaluate
from tseval.items import Case
from tseval.questions.regions import Prediction, Regions
from tseval.suites import load_suite
from tseval.suites.data.reading import what_was_read
from tseval.suites.data.roles import read_columns
from tseval.suites.data.row_texts import table_texts
from tseval.writing import without_boundaries

# Two minimal pairs, which every layout below writes in a different way.
PAIRS = [("the author laughs .", "the author laugh ."), ("the pilots smile .", "the pilots smiles .")]
COLUMNS = {"good": [good for good, _ in PAIRS], "bad": [bad for _, bad in PAIRS]}


def lines(*records: Mapping[str, object]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def predictions_of(case: Case) -> tuple[Prediction, ...]:
    assert isinstance(case.question, Regions)
    return case.question.predictions


def how(columns: str | None, layout: str | None = None) -> dict[str, str] | None:
    read = read_columns(columns) if columns else {}
    return (read | {"layout": layout} if layout else read) or None


LAYOUTS: dict[str, tuple[str, str | bytes, str | None, str | None]] = {
    "a label beside each sentence": ("s.csv", (
        "phenomenon,item,Grammaticality,Sentence\n"
        "agreement,1,Grammatical,the author laughs .\nagreement,1,Ungrammatical,the author laugh .\n"
        "agreement,2,Grammatical,the pilots smile .\nagreement,2,Ungrammatical,the pilots smiles .\n"
    ), None, None),
    "labels of 1 and 0, the worse first": ("s.tsv", (
        "item_id\tsentence\tacceptable\n1\tthe author laugh .\t0\n1\tthe author laughs .\t1\n"
        "2\tthe pilots smiles .\t0\n2\tthe pilots smile .\t1\n"
    ), None, None),
    "labels of true and false in JSON": ("s.jsonl", lines(
        *({"item": n, "text": text, "is_grammatical": text == good}
          for n, (good, bad) in enumerate(PAIRS) for text in (bad, good)),
    ), None, None),
    "conditions that say it": ("s.csv", (
        "ItemNum;Condition;Stimulus\n1;match;the author laughs .\n1;mismatch;the author laugh .\n"
        "2;match;the pilots smile .\n2;mismatch;the pilots smiles .\n"
    ), None, None),
    "conditions that cross number and grammaticality": ("s.csv", (
        "item,condition,sentence\n1,sing_gram,the author laughs .\n1,sing_ungram,the author laugh .\n"
        "1,plur_gram,the pilots smile .\n1,plur_ungram,the pilots smiles .\n"
    ), None, None),
    "a condition that the user calls better": ("s.csv", (
        "item,condition,sentence\n1,A,the author laughs .\n1,B,the author laugh .\n"
        "2,B,the pilots smiles .\n2,A,the pilots smile .\n"
    ), "better=A", None),
    # Next to each sentence are values that are equal within one item and different in the other.
    "a feature of some items alone": ("s.csv", (
        "item,condition,sentence,beside\n1,A,the author laughs .,x\n1,B,the author laugh .,x\n"
        "2,B,the pilots smiles .,x\n2,A,the pilots smile .,y\n"
    ), "better=A", None),
    "names that only their user knows": ("s.csv", (
        "Satz,Nr,Urteil\nthe author laughs .,1,good\nthe author laugh .,1,bad\n"
        "the pilots smile .,2,good\nthe pilots smiles .,2,bad\n"
    ), "sentence=Satz,item=Nr,label=Urteil", None),
    "no header": ("s.tsv", (
        "x\t1\tgood\tthe author laughs .\nx\t1\tbad\tthe author laugh .\n"
        "x\t2\tgood\tthe pilots smile .\nx\t2\tbad\tthe pilots smiles .\n"
    ), "item=2,label=3,sentence=4,ignore=1", None),
    "an item in two columns": ("s.csv", (
        "topic,n,label,sentence\na,1,good,the author laughs .\na,1,bad,the author laugh .\n"
        "b,1,good,the pilots smile .\nb,1,bad,the pilots smiles .\n"
    ), "item=topic+n", None),
    "stars and question marks in place of labels": ("s.csv", (
        "item,sentence\n1,the author laughs .\n1,* the author laugh .\n"
        "2,the pilots smile .\n2,??the pilots smiles .\n"
    ), None, None),
    "lines by turns": ("s.txt", (
        "the author laugh .\nthe author laughs .\n\nthe pilots smiles .\nthe pilots smile .\n"
    ), None, "alternating"),
    "lines by turns, the better one first": ("s.txt", (
        "the author laughs .\r\nthe author laugh .\r\nthe pilots smile .\r\nthe pilots smiles .\r\n"
    ), None, "alternating-good-first"),
    "rows of a table by turns": ("s.csv", (
        "n,sentence\n1,the author laugh .\n2,the author laughs .\n"
        "3,the pilots smiles .\n4,the pilots smile .\n"
    ), "ignore=n", "alternating"),
    "a mask and candidates": ("s.jsonl", lines(
        {"text_masked": "the author [MASK] .", "candidates": ["laughs", "laugh"]},
        {"text_masked": "the pilots [MASK] .", "candidates": ["smile", "smiles"]},
    ), None, None),
    "a mask, candidates in a cell, and the answer": ("s.csv", (
        "sentence,options,answer\nthe author ___ .,laugh|laughs,laughs\n"
        "the pilots ___ .,\"['smiles', 'smile']\",smile\n"
    ), None, None),
    "a mask, and the number of the answer": ("s.jsonl", lines(
        {"sentence": "the author <mask> .", "choices": ["laugh", "laughs"], "label": 1},
        {"sentence": "the pilots <mask> .", "choices": ["smile", "smiles"], "label": 0},
    ), None, None),
    "a mask, and the number of the answer from one": ("s.jsonl", lines(
        {"sentence": "the author <mask> .", "choices": ["laugh", "laughs"], "label": 2},
        {"sentence": "the pilots <mask> .", "choices": ["smile", "smiles"], "label": 1},
    ), None, None),
    "a mask and two columns": ("s.tsv", (
        "masked_sentence\tgood\tbad\nthe author [MASK] .\tlaughs\tlaugh\nthe pilots [MASK] .\tsmile\tsmiles\n"
    ), None, None),
    "words without regions": ("s.tsv", "sentence_id\tword\tlabel\n" + "".join(
        f"{n}\t{word}\t{label}\n"
        for n, (text, label) in enumerate(
            (text, label) for pair in PAIRS for text, label in zip(pair, ("good", "bad"), strict=True)
        )
        for word in text.split()
    ), None, None),
    "pairs called otherwise": ("s.csv", (
        "Correct_Sentence,Incorrect_Sentence\nthe author laughs .,the author laugh .\n"
        "the pilots smile .,the pilots smiles .\n"
    ), None, None),
    "pairs with marks": ("s.tsv", (
        "good\tbad\nthe author laughs .\t*the author laugh .\nthe pilots smile .\t# the pilots smiles .\n"
    ), None, None),
    "a JSON array": ("s.json", json.dumps(
        [{"sentence_good": good, "sentence_bad": bad} for good, bad in PAIRS]
    ), None, None),
    "records inside an object": ("s.json", json.dumps(
        {"version": 1, "data": [{"good": good, "bad": bad} for good, bad in PAIRS]}
    ), None, None),
    "JSON lines under another ending": ("s.json", lines(
        *({"good": good, "bad": bad} for good, bad in PAIRS)
    ), None, None),
    "UTF-16": ("s.tsv", (
        "good\tbad\n" + "".join(f"{good}\t{bad}\n" for good, bad in PAIRS)
    ).encode("utf-16"), None, None),
    "a mark of bytes, carriage returns and empty lines": ("s.csv", (
        "\ufeffsentence,item,label\r\n\r\nthe author laughs .,1,good\r\nthe author laugh .,1,bad\r\n\r\n"
        "the pilots smile .,2,good\r\nthe pilots smiles .,2,bad\r\n"
    ), None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_holds_the_same_pairs(tmp_path, name):
    file, content, columns, layout = LAYOUTS[name]
    suite = load_suite(write_file(tmp_path / file, content), columns=how(columns, layout))
    assert [case.sentences.to_pydict() for case in suite.cases] == [COLUMNS]
    assert suite.score == "sentence"
    assert f"{file} (" in what_was_read(suite)


def test_parquet_is_read_as_any_table_is(tmp_path):
    path = tmp_path / "train-00000-of-00001.parquet"
    table: dict[str, list[Any]] = {**COLUMNS, "n": [1, 2], "tags": [["a"], ["b", "c"]]}
    pq.write_table(pa.table(table), path)
    suite = load_suite(path, columns={"ignore": "tags"})
    assert (suite.name, suite.cases[0].sentences.to_pydict()) == ("train", COLUMNS)
    assert suite.cases[0].features.to_pydict() == {"n": [1, 2]}
    masked = pa.table({"sentence": ["the author [MASK] ."], "candidates": [["laughs", "laugh"]]})
    pq.write_table(masked, tmp_path / "m.parquet")
    (case,) = load_suite(tmp_path / "m.parquet").cases
    assert case.sentences.to_pylist() == [{"good": "the author laughs .", "bad": "the author laugh ."}]


def test_a_sheet_of_excel_is_read_by_its_name(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Items"
    for row in (["item", "good", "bad", "n"], [1, *PAIRS[0], 2.0], [None] * 4, [2, *PAIRS[1], 3]):
        book.active.append(row)
    other = book.create_sheet("Notes")
    book.save(tmp_path / "a.xlsx")
    (case,) = load_suite(tmp_path / "a.xlsx").cases
    assert case.sentences.to_pydict() == COLUMNS
    assert case.features.to_pydict() == {"n": [2, 3]}
    other.append(["a note"])
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(
        SuiteError,
        match=r"2 sheets .* have content, .*: Items, Notes\.\n.*--columns "
        r"sheet=Items",
    ):
        load_suite(tmp_path / "b.xlsx")
    assert load_suite(tmp_path / "b.xlsx", columns={"sheet": "Items"}).n_items == 2


def test_without_its_extra_a_sheet_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(SuiteError, match=r'a\.xlsx: .*\n  Install it: pip install "tseval\[xlsx\]"'):
        load_suite(write_file(tmp_path / "a.xlsx", b"PK"))


def test_another_encoding_is_refused_and_read_where_it_is_named(tmp_path):
    path = write_file(tmp_path / "a.csv", "good,bad\nles élèves rient,les élèves rit\n".encode("latin-1"))
    with pytest.raises(SuiteError, match=r"line 2 is not UTF-8 .*\.\n.*--columns encoding=latin-1"):
        load_suite(path)
    (case,) = load_suite(path, columns={"encoding": "latin-1"}).cases
    assert case.sentences["good"].to_pylist() == ["les élèves rient"]
    with pytest.raises(SuiteError, match="'latin-99' is not an encoding that Python knows"):
        load_suite(path, columns={"encoding": "latin-99"})


# Prefixes stay prefixes with all other options of a table.
PREFIXED = "prefix,good,bad,topic\nthe author,laughs .,laugh .,single\nthe authors,laugh .,laughs .,plural\n"


COLUMNS_OF_PREFIXED = ["the author laughs .", "the authors laugh ."]


@pytest.mark.parametrize("columns", ["case=topic", "lang=topic", "cluster=topic", "phenomenon=topic"])
def test_to_name_a_column_drops_no_prefix(tmp_path, columns):
    plain = load_suite(write_file(tmp_path / "a.csv", PREFIXED))
    named = load_suite(tmp_path / "a.csv", columns=read_columns(columns))
    texts = [text for case in named.cases for text in case.sentences["good"].to_pylist()]
    assert texts == plain.cases[0].sentences["good"].to_pylist() == COLUMNS_OF_PREFIXED
    assert named.score == "regions"


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (PREFIXED.replace("prefix", "Anfang"), "prefix=Anfang,ignore=topic"),
        ("prompt,good_continuation,bad_continuation\n"
         "the author,laughs .,laugh .\nthe authors,laugh .,laughs .\n", None),
        ("context,correct,incorrect\nthe author,laughs .,laugh .\nthe authors,laugh .,laughs .\n", None),
        ("prompt,continuations\nthe author,laughs . | laugh .\nthe authors,laugh . | laughs .\n", None),
        ("item,prefix,target,label\n1,the author,laughs .,good\n1,the author,laugh .,bad\n"
         "2,the authors,laugh .,good\n2,the authors,laughs .,bad\n", None),
    ],
)  # fmt: skip
def test_continuations_are_the_same_in_every_layout(tmp_path, content, columns):
    expected = "prefix,good,bad\nthe author,laughs .,laugh .\nthe authors,laugh .,laughs .\n"
    digest = load_suite(write_file(tmp_path / "a.csv", expected)).digest
    assert load_suite(write_file(tmp_path / "a.csv", content), columns=how(columns)).digest == digest


def test_an_ignored_prefix_is_none_and_one_that_sentences_hold_is_none(tmp_path):
    path = write_file(tmp_path / "a.csv", "good,bad,prefix\nthe author laughs,the author laugh,the author\n")
    assert load_suite(path, columns={"ignore": "prefix"}).score == "sentence"
    rows = "right_sentence,wrong_sentence,prefix\nthe author laughs,the author laugh,the\n"
    assert load_suite(write_file(tmp_path / "b.csv", rows)).score == "sentence"


def test_pairs_of_one_item_are_clustered(tmp_path):
    rows = "item,good,bad\n1,a b,b a\n1,a c,c a\n2,d e,e d\n2,d f,f d\n"
    (case,) = load_suite(write_file(tmp_path / "a.csv", rows)).cases
    assert case.entries.to_pydict() == {"item": ["1", "1", "2", "2"]}
    other = rows.replace("item", "Nr")
    (case,) = load_suite(write_file(tmp_path / "a.csv", other), columns={"item": "Nr", "cluster": "Nr"}).cases
    assert case.entries.to_pydict() == {"item": ["1", "1", "2", "2"]}
    assert case.features.column_names == []


def test_one_grammatical_sentence_has_several_ungrammatical_ones(tmp_path):
    rows = "item,label,sentence\n1,good,a b c\n1,bad,a c b\n1,bad,c b a\n"
    (case,) = load_suite(write_file(tmp_path / "a.csv", rows)).cases
    assert case.sentences.to_pydict() == {"good": ["a b c"] * 2, "bad": ["a c b", "c b a"]}
    assert case.entries.to_pydict() == {"item": ["1", "1"]}


def test_columns_of_a_whole_item_are_features_and_keep_their_types(tmp_path):
    rows = "item,label,sentence,length,word\n1,good,a b,2,b\n1,bad,b a,2,a\n2,good,c d,2,d\n2,bad,d c,2,c\n"
    (case,) = load_suite(write_file(tmp_path / "a.csv", rows)).cases
    assert case.features.to_pydict() == {"length": [2, 2]}


# Designs: one row per word or region, one column per region, or a sentence with its critical word.
WORDS = [
    ("comma", "when/start the/start dog/start ate/verb ,/comma the/np boy/np laughed/critical"),
    ("nocomma", "when/start the/start dog/start ate/verb the/np boy/np laughed/critical"),
]


def words_a_row() -> str:
    rows = ["\tsent_index\tword_index\tword\tregion\tcondition"]
    for sentence, (condition, text) in enumerate(WORDS):
        for place, token in enumerate(text.split()):
            word, _, region = token.rpartition("/")
            rows.append(f"{len(rows) - 1}\t{sentence}\t{place}\t{word}\t{region}\t{condition}")
    return "\n".join(rows) + "\n"


REGIONS = (
    "item_number,condition_name,region_number,region_name,content\n"
    "1,comma,1,start,when the dog\n1,comma,2,verb,ate\n1,comma,3,comma,\",\"\n1,comma,4,np,the boy\n"
    "1,comma,5,critical,laughed\n1,nocomma,1,start,when the dog\n1,nocomma,2,verb,ate\n"
    "1,nocomma,4,np,the boy\n"
    "1,nocomma,5,critical,laughed\n"
)  # fmt: skip
NUMBERED = (
    "item,condition,sentence,critical_word\n"
    '1,comma,"when the dog ate , the boy laughed",8\n1,nocomma,when the dog ate the boy laughed,7\n'
)
A_COLUMN_A_REGION = ("Start,Verb,Noun,Crit\nwhen the dog,ate,the boy,laughed\n", "Start Verb {,|} Noun *Crit")


@pytest.mark.parametrize(
    ("file", "content", "layout", "effect"),
    [
        ("a.tsv", words_a_row(), None, "nocomma.critical > comma.critical"),
        ("a.csv", REGIONS, None, "nocomma.critical > comma.critical"),
        ("a.csv", NUMBERED, None, "nocomma.critical > comma.critical"),
        ("a.csv", NUMBERED.replace(",8\n", ",laughed\n"), None, "nocomma.critical > comma.critical"),
        ("a.csv", NUMBERED.replace("critical_word", "disamb_position_0idx").replace(",7\n", ",6\n")
         .replace(",8\n", ",7\n"), None, "nocomma.critical > comma.critical"),
        ("a.csv", A_COLUMN_A_REGION[0], A_COLUMN_A_REGION[1], "none.Crit > comma.Crit"),
    ],
)  # fmt: skip
def test_the_effect_of_the_second_condition_is_asked_for_in_the_critical_region(
    tmp_path, file, content, layout, effect
):
    suite = load_suite(write_file(tmp_path / file, content), columns=how(None, layout))
    (case,) = suite.cases
    assert [str(prediction.formula) for prediction in predictions_of(case)] == [effect]
    assert f"prediction: {effect}" in what_was_read(suite)
    with_comma, without = (case.sentences[label].to_pylist()[0] for label in case.labels)
    assert (with_comma.split(), without) == (
        ["when", "the", "dog", "ate", ",", "the", "boy", "laughed"],
        "when the dog ate the boy laughed",
    )


SQUARE = "item,verb,np,sentence,critical\n" + "".join(
    f"{item},{verb},{np},the dog {verb} the {np} boy fell .,fell\n"
    for item in (1, 2) for verb in ("saw", "slept") for np in ("big", "old")
)  # fmt: skip


@pytest.mark.parametrize(
    ("content", "columns", "layout"),
    [
        (SQUARE, "condition=verb+np", None),
        (SQUARE.replace("verb,np", "cond,x").replace("w,big", "w_big,x").replace("w,old", "w_old,x")
         .replace("t,big", "t_big,x").replace("t,old", "t_old,x"), None, None),
        ("A,saw,slept,C,critical\nthe dog,saw,slept,boy,fell\nthe dog,saw,slept,boy,fell\n", None,
         "A {saw|slept} {the big|the old} C *critical {.}"),
    ],
)  # fmt: skip
def test_four_conditions_in_two_factors_are_a_design_with_its_interaction(tmp_path, content, columns, layout):
    (case,) = load_suite(write_file(tmp_path / "a.csv", content), columns=how(columns, layout)).cases
    formulas = [prediction.formula.replace("the_", "") for prediction in predictions_of(case)]
    assert formulas == [
        "saw_old.critical > saw_big.critical",
        "slept_old.critical > slept_big.critical",
        "(saw_old.critical - saw_big.critical) > (slept_old.critical - slept_big.critical)",
    ]
    assert case.n_items == 2


def test_published_columns_are_regions(tmp_path):
    header = "Start\tTransitive\tIntransitive\tNP\tVerb\tRest\n"
    rows = f"{header}When the dog\tate\tslept\tthe boy\tlaughed\tat home\n"
    (case,) = load_suite(write_file(tmp_path / "a.tsv", rows)).cases
    assert case.labels == ("Transitive_comma", "Transitive_none", "Intransitive_comma", "Intransitive_none")
    (third,) = case.sentences["Intransitive_comma"].to_pylist()
    assert without_boundaries(third) == "When the dog slept, the boy laughed at home"
    assert predictions_of(case)[0].formula == "Transitive_none.Verb > Transitive_comma.Verb"


def test_a_user_predicts(tmp_path):
    path = write_file(tmp_path / "a.tsv", words_a_row())
    (case,) = load_suite(path, columns=read_columns("predict=comma.np < nocomma.np+1")).cases
    assert [prediction.formula for prediction in predictions_of(case)] == ["comma.np < nocomma.np+1"]
    for formula, said in (
        ("comma.np < none.np", "names the condition 'none', but the items do not have it"),
        ("comma.np < comma.noun", "names the region 'noun', but the items do not have it"),
        ("comma.np", "compares nothing"),
    ):
        with pytest.raises(SuiteError, match=said):
            load_suite(path, columns={"predict": formula})
    rows = "item,condition,sentence\n1,animate,a x\n1,inanimate,a y\n"
    path = write_file(tmp_path / "b.csv", rows)
    (case,) = load_suite(path, columns={"predict": "inanimate.* > animate.*"}).cases
    assert case.sentences.to_pydict() == {"animate": ["a x"], "inanimate": ["a y"]}


@pytest.mark.parametrize(
    ("content", "columns", "rating", "shared"),
    [
        ("Sentence,Plausibility,Score,ItemNum\na b,P,6.1,1\nb a,I,1.9,1\nc d,P,6.5,2\nd c,I,2.4,2\n",
         "sentence=Sentence,rating=Score,item=ItemNum", [6.1, 1.9, 6.5, 2.4], ["1", "1", "2", "2"]),
        ("stimulus,Mean_Rating,ItemNum\na b,6,1\nb a,1,1\nc d,6,2\n", None, [6, 1, 6], ["1", "1", "2"]),
        ("gj\t1\ta b\ngj\t0\tb a\ngj\t0\tc d\n", "rating=2,sentence=3", [1, 0, 0], None),
    ],
)  # fmt: skip
def test_ratings_have_columns_of_any_names(tmp_path, content, columns, rating, shared):
    path = write_file(tmp_path / ("a.csv" if "," in content else "a.tsv"), content)
    (case,) = load_suite(path, columns=how(columns)).cases
    assert case.features["rating"].to_pylist() == rating
    assert case.entries.to_pydict() == ({} if shared is None else {"item": shared})


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("good,bad,pref\nthe author laughs .,the author laugh .,1.5\n"
         "the pilots smile .,the pilots smiles .,.5\nthe dog ran .,the dog run .,2.5\n",
         "good=good,bad=bad,rating=pref"),
        ("a,b,of_a,of_b\nthe author laughs .,the author laugh .,3.5,2\n"
         "the pilots smile .,the pilots smiles .,1,.5\nthe dog ran .,the dog run .,5,2.5\n",
         "good=a,bad=b,rating=of_a-of_b"),
    ],
)  # fmt: skip
def test_how_far_people_prefer_one_of_a_pair_is_set_against_the_difference(tmp_path, content, columns):
    suite = load_suite(write_file(tmp_path / "a.csv", content), columns=read_columns(columns))
    assert suite.cases[0].features["rating"].to_pylist() == [1.5, 0.5, 2.5]
    model = open_model("bundled:lstm")
    found = evaluate(model, suite).verdicts
    names = columns.split(",")
    pairs = load_suite(tmp_path / "a.csv", columns=read_columns(",".join(names[:2])))
    whole = evaluate(model, pairs).verdicts
    assert found["better_score"].tolist() == (whole["better_score"] - whole["worse_score"]).tolist()
    assert "correct" not in found or found["correct"].isna().all()


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("one three", "'one three' does not say which region to compare"),
        ("one *four", "--layout names the column 'four', but the table has no such column"),
        ("alternatin", "--layout names the column 'alternatin', but the table has no such column"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(tmp_path, layout, said):
    path = write_file(tmp_path / "a.csv", "one,two,three\nthe dog,ran,home\n")
    with pytest.raises(SuiteError) as error:
        load_suite(path, columns={"layout": layout})
    assert said in str(error.value)


def test_lines_that_alternate_need_a_partner_each_and_a_layout(tmp_path):
    path = write_file(tmp_path / "a.txt", "a b\nb a\na c\n")
    with pytest.raises(SuiteError, match=r"no columns in this \.txt file\.\n.*--layout alternating"):
        load_suite(path)
    with pytest.raises(
        SuiteError,
        match=r"a\.txt:3: the last sentence has no partner, because .* has 3 "
        r"sentences",
    ):
        load_suite(path, columns={"layout": "alternating"})


def test_texts_of_a_table_are_told_row_by_row(tmp_path):
    def told(name: str, content: str) -> list[tuple[int, str, str]]:
        texts = table_texts(write_file(tmp_path / name, content))
        return [
            (one.row, one.what, " ".join(one.text.split()[one.before : one.before + one.length]))
            for one in texts
        ]

    assert told("a.csv", NUMBERED) == [(2, "1 comma", "laughed"), (3, "1 nocomma", "laughed")]
    sentences = "the author laughs .", "the pilots smile ."
    assert told("b.csv", "\n".join(["sentence", *sentences])) == [
        (2, "", sentences[0]),
        (3, "", sentences[1]),
    ]
    assert told("c.csv", PREFIXED)[:2] == [(2, "good", "laughs ."), (2, "bad", "laugh .")]
    assert told("d.tsv", words_a_row())[:2] == [(2, "1 comma", "when"), (3, "1 comma", "the")]
    masked = lines({"text_masked": "a [MASK] .", "candidates": ["b", "c"]})
    assert told("e.jsonl", masked) == [(1, "good", "a b ."), (1, "bad", "a c .")]


def test_two_regions_of_one_name_that_stand_apart_are_refused(tmp_path):
    rows = "item,condition,word,region\n" + "".join(
        f"1,{condition},{word},{region}\n"
        for condition in ("a", "b") for word, region in (("x", "np"), ("y", "critical"), ("z", "np"))
    )  # fmt: skip
    with pytest.raises(SuiteError, match=r"a\.csv:2: the region 'np' is in another position than"):
        load_suite(write_file(tmp_path / "a.csv", rows))
