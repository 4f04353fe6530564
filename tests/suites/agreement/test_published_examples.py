"""Examples from published files: forms, positions and counts, against what was published."""

import csv
import gzip
from collections import Counter

import pytest
from in_process import call
from supplied import AGREEMENT, AGREEMENT_COUNTS, CRAFT, LINZEN, needs_craft, needs_linzen

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.agreement import Shares
from tseval.suites.agreement.convert import Tally, convert, summarise
from tseval.suites.agreement.published import read_examples
from tseval.suites.agreement.treebank import opposite_form

# The columns of `agr_50_mostcommon_10K.tsv`, and a row as its authors' program writes it.
HEADER = [
    "sentence",
    "orig_sentence",
    "pos_sentence",
    "subj",
    "verb",
    "subj_pos",
    "has_rel",
    "has_nsubj",
    "verb_pos",
    "subj_index",
    "verb_index",
    "n_intervening",
    "last_intervening",
    "n_diff_intervening",
    "distance",
    "max_depth",
    "all_nouns",
    "nouns_up_to_verb",
]
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


@pytest.mark.parametrize("file", [AGREEMENT, pytest.param(CRAFT, marks=needs_craft)], ids=["ud", "craft"])
def test_the_opposite_form_is_the_supplied_one_in_every_example(file):
    with gzip.open(file, "rt", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        form, number, expected = row["verb_form"], row["number"], row["opp_verb_form"]
        # `'s` is `has` or `is`: only its lemma tells.
        lemma = "have" if expected[1:] == "ve" else None
        assert opposite_form(form, number, lemma)[0] == expected
        if row["opp_how"] == "lemma":
            assert opposite_form(form, number, expected) == (expected, "lemma")


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
    # Published: 7,489 sentences, 1972, 1957, 1943, 1287 and 330 by number of attractors. Four of them, two
    # without and two with three attractors, give one form twice, and so ask nothing.
    assert tally.n_sentences == 7489
    assert sum(tally.left_out.values()) == 4
    assert Counter(table["n_attractors"].to_pylist()) == {0: 1970, 1: 1957, 2: 1943, 3: 1285, 4: 330}


@needs_linzen
def test_pairs_of_forms_tell_the_number_as_their_verbs_do():
    for row in convert([LINZEN], Shares())[0].to_pylist():
        found = opposite_form(row["verb_form"], row["number"])
        assert found is not None
        assert found[0] == row["opp_verb_form"]
        assert not row["sentence"].endswith("<eos>")


def test_positions_in_linzens_table_count_from_one(tmp_path):
    (row,) = convert([linzen(tmp_path, KEYS)], Shares())[0].to_pylist()
    split = row.pop("split")
    assert row == {
        "sentence": "the keys to the NN are here .",
        "subj_index": 1,
        "verb_index": 5,
        "subj_form": "keys",
        "verb_form": "are",
        "number": "plur",
        "opp_verb_form": "is",
        "n_intervening": 1,
        "n_attractors": 1,
        "n_non_attractors": 0,
        "distance": 4,
        "last_intervening": "sing",
        "source": "agr",
        "opp_how": "table",
    }
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


def test_linzens_table_becomes_a_suite(tmp_path):
    singular = changed(
        sentence="the key to the cabinets is here .", verb="is", verb_pos="VBZ", subj_pos="NN",
        last_intervening="NNS",
    )  # fmt: skip
    linzen(tmp_path, KEYS, singular)
    ended = call(
        "data", "agreement", "agr.tsv", "-o", "a.parquet", "--train", "0", "--valid", "0", cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    (case,) = load_suite(tmp_path / "a.parquet").cases
    assert (case.name, case.sentences["ungrammatical"].to_pylist()) == (
        "test",
        ["the keys to the NN is here .", "the key to the cabinets are here ."],
    )
    assert case.features["last_intervening"].to_pylist() == ["sing", "plur"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"verb_index": "nine"}, "agr.tsv:3: verb_index is no whole number, but 'nine'"),
        ({"verb_index": "9"}, "agr.tsv:3: subject 2 and verb 9 of 8 words, 1 attractors of 1 interv"),
        ({"verb_pos": "VBD"}, "agr.tsv:3: verb_pos is neither VBZ nor VBP, but 'VBD'"),
        ({"n_diff_intervening": "2"}, "agr.tsv:3: subject 2 and verb 6 of 8 words, 2 attractors of 1 interv"),
        ({"nouns_up_to_verb": "keys\ttoo"}, None),
    ],
)
def test_a_malformed_row_of_linzens_table_is_named(tmp_path, cells, message):
    file = linzen(tmp_path, KEYS, changed(**cells))
    if message is None:
        file.write_text(file.read_text() + "too\tshort\n")
        message = "agr.tsv:4: another number of columns than the header"
    ended = call("data", "agreement", "agr.tsv", "-o", "a.tsv", cwd=tmp_path)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agr.tsv"]


def test_rows_of_linzens_table_that_make_no_example_are_counted(tmp_path):
    rows = [changed(subj_pos="NN"), changed(sentence="the keys to the NN ai n't here ."), KEYS, KEYS]
    rows[1][HEADER.index("verb_pos")], rows[1][HEADER.index("subj_pos")] = "VBZ", "NN"
    table, tally = convert([linzen(tmp_path, *rows)], Shares())
    assert (table.num_rows, tally.n_sentences) == (1, 4)
    assert tally.left_out == {
        "subject and verb differ in number": 1,
        "no sure form in the other number": 1,
        "the same verb in the same sentence, again": 1,
    }


def test_a_file_of_no_known_kind_is_refused(tmp_path):
    (tmp_path / "poem.txt").write_text("Shall I compare thee to a summer's day?\n")
    with pytest.raises(SuiteError, match=r"poem\.txt: neither a treebank in CoNLL-U nor a table of Linzen"):
        convert([tmp_path / "poem.txt"], Shares())
    with pytest.raises(SuiteError, match=r"absent\.conllu: cannot be read"):
        convert([tmp_path / "absent.conllu"], Shares())
    (tmp_path / "latin.tsv").write_bytes("caf\xe9\n".encode("latin-1"))
    with pytest.raises(SuiteError, match=r"latin\.tsv: not UTF-8 text"):
        convert([tmp_path / "latin.tsv"], Shares())


def test_a_table_of_examples_is_not_converted_again(tmp_path):
    (tmp_path / "a.tsv").write_text("sentence\tverb_index\tverb_form\tnumber\topp_verb_form\n")
    with pytest.raises(SuiteError, match="is a table of examples already"):
        convert([tmp_path / "a.tsv"], Shares())


def test_files_of_two_kinds_are_not_put_into_one_table(tmp_path):
    (tmp_path / "a.text").write_text("the keys are here <eos>\n")
    (tmp_path / "a.gold").write_text("2\tare\tis\t0\n")
    with pytest.raises(SuiteError, match="Make a table of each"):
        convert([linzen(tmp_path, KEYS), tmp_path / "a.text"], Shares())


def test_linzens_table_is_told_apart_when_it_is_taken_for_examples(tmp_path):
    with pytest.raises(SuiteError, match="Convert it first: tseval data agreement"):
        load_suite(linzen(tmp_path, KEYS))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "a.csv"], "a.csv: the name of a table of examples ends in .parquet, .tsv, .tsv.gz"),
        (["-o", "agr.tsv"], "agr.tsv: exists already. Choose another -o, or remove it."),
        (["-o", "no/a.tsv"], "no: no such folder"),
        (["-o", "a.tsv", "--train", "95"], "--train 95 and --valid 10 are more than 100 percent."),
    ],
)
def test_nothing_is_written_where_it_cannot_be(tmp_path, arguments, message):
    before = linzen(tmp_path, KEYS).read_bytes()
    ended = call("data", "agreement", "agr.tsv", *arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["agr.tsv"]
    assert (tmp_path / "agr.tsv").read_bytes() == before


def test_a_number_and_a_split_that_do_not_occur_are_warned_of(tmp_path):
    linzen(tmp_path, KEYS)
    ended = call(
        "data", "agreement", "agr.tsv", "-o", "a.tsv", "--train", "100", "--valid", "0", cwd=tmp_path
    )
    assert ended.returncode == 0
    assert ended.stderr.splitlines() == [
        "Warning: no example is singular: a model trained on these learns nothing about number",
        "a.tsv",
    ]
    ended = call(
        "data", "agreement", "agr.tsv", "-o", "b.tsv", "--train", "60", "--valid", "20", cwd=tmp_path
    )
    splits = {row["split"] for row in read_examples(tmp_path / "b.tsv").to_pylist()}
    for split, share in (("train", 60), ("valid", 20), ("test", 20)):
        warning = f"Warning: no example is in the split {split}: too few documents for a share of {share}%"
        assert (warning in ended.stderr) == (split not in splits)
