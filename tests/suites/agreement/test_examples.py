"""The table of agreement examples: it is read back as written, and errors are named."""

import csv
import gzip
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import refuse, succeed
from supplied import AGREEMENT, AGREEMENT_COUNTS, CRAFT, LINZEN, needs_craft, needs_linzen

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.agreement.convert import convert
from tseval.suites.agreement.english_verbs import opposite_form
from tseval.suites.agreement.example_tables import read_examples, write_examples
from tseval.suites.agreement.splits import Shares
from tseval.suites.agreement.summary import Tally, summarise

ROW = {
    "sentence": 'the "keys" to the cabinet are here .', "subj_index": "1", "verb_index": "5",
    "subj_form": '"keys"', "verb_form": "are", "number": "plur", "opp_verb_form": "is", "n_intervening": "1",
    "n_attractors": "1",
}  # fmt: skip


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
        (
            {"verb_index": "8"},
            "examples.tsv:3: the column 'verb_index' has 8, but the words of the "
            "sentence are numbered from 0 to 7.\n  Write a number from 0 to 7.",
        ),
        (
            {"subj_index": "2"},
            "tsv:3: the column 'subj_form' has '\"keys\"', but word 2 of the sentence, "
            "counted from 0, is 'to'",
        ),
        (
            {"verb_form": "Are"},
            "tsv:3: the column 'verb_form' has 'Are', but word 5 of the sentence, counted from 0, is 'are'.",
        ),
        (
            {"verb_index": "-1"},
            "tsv:3: the column 'verb_index' has '-1', but must have a whole number.\n  "
            "Write a whole number, such as 0",
        ),
        ({"verb_index": "0", "verb_form": "the"}, "tsv:3: the verb is the first word, so no word"),
        (
            {"number": "singular"},
            "tsv:3: the column 'number' has 'singular'.\n  Write sing or plur in this cell.",
        ),
        (
            {"opp_verb_form": "is not"},
            "tsv:3: the column 'opp_verb_form' has 'is not', but must have one "
            "word.\n  Write one word in this cell.",
        ),
        ({"n_attractors": "2"}, "tsv:3: the row has more attractors than intervening nouns."),
        ({"n_attractors": ""}, "tsv:3: the cell in the column 'n_attractors' is empty"),
    ],
)
def test_a_row_that_cannot_be_is_named(tmp_path, changed, message):
    with pytest.raises(SuiteError, match=message):
        read_examples(tsv(tmp_path, ROW, ROW | changed))


def test_a_row_of_a_parquet_file_is_named_by_its_number(tmp_path):
    table = read_examples(tsv(tmp_path, ROW, ROW))
    wrong = table.set_column(table.column_names.index("verb_index"), "verb_index", pa.array([5, 9]))
    pq.write_table(wrong, tmp_path / "wrong.parquet")
    with pytest.raises(SuiteError, match=r"wrong\.parquet, row 2: the column 'verb_index' has 9"):
        read_examples(tmp_path / "wrong.parquet")


def test_a_column_of_another_type_is_named(tmp_path):
    table = read_examples(tsv(tmp_path, ROW))
    wrong = table.set_column(table.column_names.index("verb_index"), "verb_index", pa.array(["five"]))
    pq.write_table(wrong, tmp_path / "wrong.parquet")
    with pytest.raises(
        SuiteError, match="column 'verb_index' has values of the type string, but needs int64"
    ):
        read_examples(tmp_path / "wrong.parquet")


def test_a_file_that_is_no_table_of_examples_is_refused(tmp_path):
    missing = {name: cell for name, cell in ROW.items() if name != "opp_verb_form"}
    with pytest.raises(SuiteError, match="needs the column 'opp_verb_form', but this table does not have it"):
        read_examples(tsv(tmp_path, missing))
    with pytest.raises(SuiteError, match="needs values in the column 'number', but the column is empty"):
        read_examples(tsv(tmp_path, ROW | {"number": ""}))
    (tmp_path / "examples.tsv").write_text("\t".join(ROW) + "\n")
    with pytest.raises(SuiteError, match="the table has no rows with examples"):
        read_examples(tmp_path / "examples.tsv")
    (tmp_path / "a.parquet").write_text("PAR1?")
    with pytest.raises(SuiteError, match=r"a\.parquet: cannot be read"):
        read_examples(tmp_path / "a.parquet")


# Examples from published files: forms, positions and counts, against the published numbers.
HEADER = [
    "sentence", "orig_sentence", "pos_sentence", "subj", "verb", "subj_pos", "has_rel", "has_nsubj",
    "verb_pos", "subj_index", "verb_index", "n_intervening", "last_intervening", "n_diff_intervening",
    "distance", "max_depth", "all_nouns", "nouns_up_to_verb",
]  # fmt: skip
KEYS = [
    "the keys to the NN are here .", "the keys to the cabinet are here .", "DT NNS TO DT NN VBP RB .",
    "keys", "are", "NNS", "False", "False", "VBP", "2", "6", "1", "NN", "1", "4", "0", "keys NN", "keys NN",
]  # fmt: skip


def changed(**cells):
    return [cells.get(name, cell) for name, cell in zip(HEADER, KEYS, strict=True)]


def linzen(folder, *rows, name="agr.tsv"):
    opened = gzip.open if name.endswith(".gz") else open
    with opened(folder / name, "wt", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([HEADER, *rows])
    return folder / name


@pytest.mark.parametrize(
    ("file", "name"),
    [(AGREEMENT, "agreement"), pytest.param(CRAFT, "agreement_craft", marks=needs_craft)],
    ids=["ud", "craft"],
)
def test_the_summary_counts_the_supplied_examples_as_supplied(file, name):
    lines = summarise(read_examples(file), Tally()).splitlines()
    cells = [line.replace(",", "").strip("|").split("|") for line in lines[4:]]
    found = {
        (int(row[0]), attractors): int(n)
        for row in cells
        for attractors, n in zip(
            map(int, [c.split()[0] for c in lines[2].split("|")[2:-2]]), row[1:-1], strict=True
        )
        if n.strip()
    }
    with AGREEMENT_COUNTS.open() as counts:
        rows = [row for row in csv.DictReader(counts, delimiter="\t") if row["set"] == name]
    assert found == {(int(row["n_intervening"]), int(row["n_attractors"])): int(row["items"]) for row in rows}


@needs_linzen
def test_pairs_of_forms_are_counted_as_published():
    table, tally = convert([LINZEN], Shares())
    # Published: 7,489 sentences, and 1972, 1957, 1943, 1287 and 330 by number of attractors. Four of them
    # (two without and two with three attractors) have the same form twice, so they give no question.
    assert tally.n_sentences == 7489
    assert sum(tally.left_out.values()) == 4
    assert Counter(table["n_attractors"].to_pylist()) == {0: 1970, 1: 1957, 2: 1943, 3: 1285, 4: 330}
    for row in table.to_pylist():  # the pair of forms shows the number, as its verbs do
        assert opposite_form(row["verb_form"], row["number"])[0] == row["opp_verb_form"]
        assert not row["sentence"].endswith("<eos>")


def test_positions_in_linzens_table_count_from_one(tmp_path):
    (row,) = convert([linzen(tmp_path, KEYS)], Shares())[0].to_pylist()
    split = row.pop("split")
    assert row == {
        "sentence": "the keys to the NN are here .", "subj_index": 1, "verb_index": 5, "subj_form": "keys",
        "verb_form": "are", "number": "plur", "opp_verb_form": "is", "n_intervening": 1, "n_attractors": 1,
        "n_non_attractors": 0, "distance": 4, "last_intervening": "sing", "source": "agr", "opp_how": "table",
    }  # fmt: skip
    assert split in {"train", "valid", "test"}


def test_a_rare_verb_of_linzens_table_is_its_tag_and_so_is_its_opposite(tmp_path):
    rare = changed(sentence="the NNS to the NN VBP here .", verb="lollygag")
    (row,) = convert([linzen(tmp_path, rare)], Shares())[0].to_pylist()
    assert (row["verb_form"], row["opp_verb_form"], row["opp_how"]) == ("VBP", "VBZ", "tag")


def test_linzens_table_is_quoted_as_csv_and_may_be_compressed(tmp_path):
    quoted = '"the keys" to the NN are here .'
    file = linzen(tmp_path, changed(sentence=quoted, orig_sentence=quoted, subj_pos="NNS"), name="agr.tsv.gz")
    (row,) = convert([file], Shares())[0].to_pylist()
    assert (row["sentence"], row["source"]) == (quoted, "agr")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            {"verb_index": "nine"},
            "agr.tsv:3: the column 'verb_index' has 'nine', but must have a whole "
            "number.\n  Write a whole number",
        ),
        (
            {"verb_index": "9"},
            "agr.tsv:3: the row has subj_index 2, verb_index 9, n_intervening 1, "
            "n_diff_intervening 1 and a sentence of 8 words. These numbers contradict",
        ),
        ({"verb_pos": "VBD"}, "agr.tsv:3: verb_pos is 'VBD'.\n  Write VBZ or VBP."),
        (
            {"n_diff_intervening": "2"},
            "agr.tsv:3: the row has subj_index 2, verb_index 6, n_intervening 1, "
            "n_diff_intervening 2 and a sentence of 8 words. These numbers contradict",
        ),
        ({"nouns_up_to_verb": "keys\ttoo"}, None),
    ],
)
def test_a_malformed_row_of_linzens_table_is_named(tmp_path, cells, message):
    file = linzen(tmp_path, KEYS, changed(**cells))
    if message is None:
        file.write_text(file.read_text() + "too\tshort\n")
        message = "agr.tsv:4: this row has 2 columns, but the header has 18"
    assert message in refuse("data", "agreement", "agr.tsv", "-o", "a.tsv", cwd=tmp_path).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agr.tsv"]


def test_rows_of_linzens_table_that_make_no_example_are_counted(tmp_path):
    rows = [changed(subj_pos="NN"), changed(sentence="the keys to the NN ai n't here ."), KEYS, KEYS]
    rows[1][HEADER.index("verb_pos")], rows[1][HEADER.index("subj_pos")] = "VBZ", "NN"
    table, tally = convert([linzen(tmp_path, *rows)], Shares())
    assert (table.num_rows, tally.n_sentences) == (1, 4)
    reasons = "subject and verb differ in number", "no sure form in the other number"
    assert tally.left_out == dict.fromkeys((*reasons, "the same verb in the same sentence, again"), 1)


def test_a_file_of_no_known_kind_is_refused(tmp_path):
    (tmp_path / "poem.txt").write_text("Shall I compare thee to a summer's day?\n")
    with pytest.raises(SuiteError, match=r"poem\.txt: tseval cannot make agreement examples from this file"):
        convert([tmp_path / "poem.txt"], Shares())
    with pytest.raises(SuiteError, match=r"absent\.conllu: tseval cannot read this file"):
        convert([tmp_path / "absent.conllu"], Shares())
    (tmp_path / "latin.tsv").write_bytes("caf\xe9\n".encode("latin-1"))
    with pytest.raises(SuiteError, match=r"latin\.tsv: line 1 is not UTF-8 text"):
        convert([tmp_path / "latin.tsv"], Shares())


def test_a_table_of_examples_is_not_converted_again(tmp_path):
    (tmp_path / "a.tsv").write_text("sentence\tverb_index\tverb_form\tnumber\topp_verb_form\n")
    with pytest.raises(SuiteError, match="is already a table of agreement examples"):
        convert([tmp_path / "a.tsv"], Shares())


def test_files_of_two_kinds_are_not_put_into_one_table(tmp_path):
    (tmp_path / "a.text").write_text("the keys are here <eos>\n")
    (tmp_path / "a.gold").write_text("2\tare\tis\t0\n")
    with pytest.raises(SuiteError, match="Run tseval data agreement once for each"):
        convert([linzen(tmp_path, KEYS), tmp_path / "a.text"], Shares())


def test_linzens_table_is_told_apart_when_it_is_taken_for_examples(tmp_path):
    with pytest.raises(SuiteError, match="convert it first: tseval data agreement"):
        load_suite(linzen(tmp_path, KEYS))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "a.csv"], "a.csv: the name of a table of examples must end in"),
        (
            ["-o", "agr.tsv"],
            "agr.tsv: this file exists already.\n  Name another file after -o, or remove agr.tsv.",
        ),
        (["-o", "no/a.tsv"], "no: this folder does not exist"),
        (["-o", "a.tsv", "--train", "95"], "--train 95 and --valid 10 add up to more than 100 percent."),
    ],
)
def test_nothing_is_written_where_it_cannot_be(tmp_path, arguments, message):
    before = linzen(tmp_path, KEYS).read_bytes()
    assert message in refuse("data", "agreement", "agr.tsv", *arguments, cwd=tmp_path).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["agr.tsv"]
    assert (tmp_path / "agr.tsv").read_bytes() == before


def test_a_number_and_a_split_that_do_not_occur_are_warned_of(tmp_path):
    linzen(tmp_path, KEYS)
    shares = "--train", "60", "--valid", "20"
    said = succeed("data", "agreement", "agr.tsv", "-o", "a.tsv", *shares, cwd=tmp_path).stderr
    assert (
        "Warning: no example is singular: a model trained on these examples learns nothing about number"
        in said
    )
    splits = read_examples(tmp_path / "a.tsv")["split"].to_pylist()
    for split, share in (("train", 60), ("valid", 20), ("test", 20)):
        warning = f"Warning: no example is in the split {split}: too few documents for a share of {share}%"
        assert (warning in said) == (split not in splits)


# Penn tags instead of rare words, against a count of the treebank made here.
FARMERS = (
    "The the DT 2 det|Farmers farmer NNS 6 nsubj|near near IN 5 case|the the DT 5 det|barn barn NN 2 nmod|"
    "laugh laugh VBP 0 root"
)
FARMER = "The the DT 2 det|farmer farmer NN 3 nsubj|laughs laugh VBZ 0 root"


def conllu(*trees):
    written = []
    for tree in trees:
        for n, word in enumerate(tree.split("|"), 1):
            form, lemma, tag, head, relation = word.split(" ")
            written.append(f"{n}\t{form}\t{lemma}\tX\t{tag}\t_\t{head}\t{relation}\t_\t_\n")
        written.append("\n")
    return "".join(written)


def examples(folder, content, *options, name="trees.conllu"):
    (folder / name).write_text(content)
    succeed("data", "agreement", name, "-o", "a.tsv", *options, cwd=folder)
    told = ("sentence", "subj_form", "verb_form", "opp_verb_form", "opp_how", "number")
    return [tuple(row[column] for column in told) for row in read_examples(folder / "a.tsv").to_pylist()]


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        # Everything stays, in lower case; the other form is equally frequent.
        ("the farmers near barn laugh laughs",
         ("the farmers near the barn laugh", "farmers", "laugh", "laughs", "rule")),
        ("the near laugh laughs", ("the NNS near the NN laugh", "NNS", "laugh", "laughs", "rule")),
        # A rare verb becomes its tag, and so does its other form, frequent or not.
        ("the near", ("the NNS near the NN VBP", "NNS", "VBP", "VBZ", "tag")),
        ("the near laughs", ("the NNS near the NN VBP", "NNS", "VBP", "VBZ", "tag")),
        # A rare other form would be recognisable as wrong, because it would be unknown.
        ("the near laugh", ("the NNS near the NN laugh", "NNS", "laugh", "VBZ", "tag")),
    ],
)  # fmt: skip
def test_rare_words_are_written_as_their_tags(tmp_path, kept, found):
    (tmp_path / "counted.txt").write_text(f"{kept}\n\n{kept.upper()}\nonce only\n")
    options = ["--frequent", len(kept.split()), "--counts-from", "counted.txt"]
    assert examples(tmp_path, conllu(FARMERS), *options) == [(*found, "plur")]


def test_several_texts_are_counted_together(tmp_path):
    counted = {"a": "laugh laugh near near barn\n", "b": "the the near laugh laughs laughs\n"}
    found = {}
    for texts in ("a", "b", "ab"):
        folder = tmp_path / texts
        folder.mkdir()
        for name in texts:
            (folder / f"{name}.txt").write_text(counted[name])
        named = [part for name in texts for part in ("--counts-from", f"{name}.txt")]
        found[texts] = examples(folder, conllu(FARMERS), "--frequent", 3, *named)[0][0]
    # Most frequent words of a: laugh, near, barn; of b: laughs, the, laugh; of both: laugh 3, near 3, laughs
    # 2 (by alphabet before `the`, 2).
    expected = ("DT NNS near DT barn laugh", "the NNS IN the NN laugh", "DT NNS near DT NN laugh")
    assert tuple(found[texts] for texts in ("a", "b", "ab")) == expected


def test_words_are_counted_in_the_treebanks_themselves_and_ties_are_cut_by_alphabet(tmp_path):
    # the 3, laugh 1, laughs 1, near 1, barn 1, farmer 1, farmers 1
    found = examples(tmp_path, conllu(FARMERS, FARMER), "--frequent", 3)
    assert [row[0] for row in found] == ["the NNS IN the barn VBP", "the farmer VBZ"]


def test_equal_sentences_of_tags_are_taken_once(tmp_path):
    other = FARMER.replace("farmer", "author").replace("laughs laugh", "smiles smile")
    assert len(examples(tmp_path, conllu(FARMER, other), "--frequent", 1)) == 1


UNTAGGED = "".join(
    f"1\t{noun}\tHund\tNOUN\t_\tNumber={number}\t2\tnsubj\t_\t_\n"
    f"2\t{verb}\tbellen\tVERB\t_\tNumber={number}|Person=3|Tense=Pres|VerbForm=Fin\t0\troot\t_\t_\n\n"
    for noun, verb, number in (("Hund", "bellt", "Sing"), ("Hunde", "bellen", "Plur"))
)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (UNTAGGED, ("--frequent", 1), "trees: --frequent replaces rare words by Penn tags, but column 5 "),
        (conllu(FARMER.replace("The the DT", "The the _")), ("--frequent", 1, "--counts-from", "counted.txt"),
         "but the rare word 'The' has no tag in column 5."),
        (conllu(FARMER), ("--counts-from", "counted.txt"), "Add --frequent N, where N is the number"),
        (conllu(FARMER), ("--frequent", 0), "0 is not in the range x>=1"),
        (conllu(FARMER), ("--frequent", 1, "--counts-from", "empty.txt"), "empty.txt: is empty"),
        (conllu(FARMER), ("--frequent", 1, "--counts-from", "none.txt"), "none.txt: tseval cannot read "
                                                                         "this file"),
        ("sentence\tsubj_pos\tverb_pos\tlast_intervening\tsubj_index\tverb_index\tn_intervening\t"
         "n_diff_intervening\nthe dog barks\tNN\tVBZ\tna\t2\t3\t0\t0\n", ("--frequent", 1),
         "trees.conllu is a table of Linzen et al. 2016, but --frequent replaces rare words only in "
         "treebanks."),
    ],
)  # fmt: skip
def test_what_cannot_be_replaced_is_said(tmp_path, content, options, message):
    (tmp_path / "trees.conllu").write_text(content)
    (tmp_path / "counted.txt").write_text("laughs\n")
    (tmp_path / "empty.txt").write_text("\n")
    ended = refuse("data", "agreement", "trees.conllu", "-o", "a.tsv", *options, cwd=tmp_path)
    assert message in ended.stderr
    assert not (tmp_path / "a.tsv").exists()
