"""Examples from treebanks, against the supplied examples and on trees written here."""

import csv
import gzip
import sys
from functools import cache

import pytest
from in_process import call, refuse, succeed
from supplied import AGREEMENT, TREEBANK, TREEBANK_SAMPLE, needs_treebank

from tseval.suites.agreement.convert import convert
from tseval.suites.agreement.example_tables import read_examples
from tseval.suites.agreement.splits import Shares, split_of

# The sample is the first 150 sentences of the whole. Numbers are counted with zcat, grep and join.
gold = pytest.mark.parametrize(
    ("treebank", "n_sentences", "n_examples"),
    [(TREEBANK_SAMPLE, 150, 37), pytest.param(TREEBANK, 2001, 252, marks=needs_treebank)],
    ids=["sample", "whole"],
)

# A word: form, lemma, part of speech, Penn tag, features, head, relation.
AUTHORS = """
the the DET DT _ 2 det
authors author NOUN NNS Number=Plur 6 nsubj
near near ADP IN _ 5 case
the the DET DT _ 5 det
guard guard NOUN NN Number=Sing 2 nmod
laugh laugh VERB VBP Mood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin 0 root
"""
# German has no Penn tags, and its forms do not follow the English rule.
HUNDE = """
Die der DET _ _ 2 det
Hunde Hund NOUN _ Number=Plur 6 nsubj
neben neben ADP _ _ 5 case
der der DET _ _ 5 det
Katze Katze NOUN _ Number=Sing 2 nmod
schlafen schlafen VERB _ Mood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin 0 root
"""
HUND = """
Der der DET _ _ 2 det
Hund Hund NOUN _ Number=Sing 3 nsubj
schläft schlafen VERB _ Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin 0 root
"""


def conllu(tree, *comments):
    """Return a sentence in CoNLL-U."""
    lines = [f"# {comment}" for comment in comments]
    for n, line in enumerate(tree.strip().splitlines(), 1):
        form, lemma, pos, tag, features, head, relation = line.split(" ")
        lines.append("\t".join([str(n), form, lemma, pos, tag, features, head, relation, "_", "_"]))
    return "\n".join(lines) + "\n\n"


def examples(folder, *sentences):
    file = folder / "trees.conllu"
    file.write_text("".join(sentences))
    table, tally = convert([file], Shares())
    return table.to_pylist(), dict(tally.left_out)


@cache
def converted(treebank):
    return convert([treebank], Shares())[0]


@gold
def test_a_gold_treebank_gives_the_supplied_examples_cell_by_cell(treebank, n_sentences, n_examples):
    with gzip.open(treebank, "rt") as file:
        sentences = {line.split(" = ")[1].strip() for line in file if line.startswith("# sent_id")}
    with gzip.open(AGREEMENT, "rt", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    chosen = [row for row in rows if row["sent_id"] in sentences]
    assert (len(sentences), len(chosen)) == (n_sentences, n_examples)
    key = ("sent_id", "subj_index", "verb_index")
    expected = {tuple(row[name] for name in key): row for row in chosen}
    rows_found = converted(treebank).to_pylist()
    found = {tuple(str(row[name]) for name in key): row for row in rows_found}
    assert found.keys() == expected.keys()
    # The supplied splits use another hash, and its sources name the genre.
    compared = rows[0].keys() - {"split", "source"}
    for one, row in expected.items():
        assert {name: str(found[one][name]) for name in compared} == {name: row[name] for name in compared}


def test_without_penn_tags_the_features_tell_the_same(tmp_path):
    with gzip.open(TREEBANK_SAMPLE, "rt") as file:
        lines = [line.split("\t") for line in file]
    bare = ["\t".join([*cells[:4], "_", *cells[5:]]) if len(cells) == 10 else cells[0] for cells in lines]
    (tmp_path / "bare.conllu").write_text("".join(bare))
    key = ("sent_id", "subj_index", "verb_index", "number", "n_attractors", "n_intervening", "distance")
    full, features = (
        {tuple(row[name] for name in key): row["opp_verb_form"].lower() for row in table.to_pylist()}
        for table in map(converted, (TREEBANK_SAMPLE, tmp_path / "bare.conllu"))
    )
    # All are found except verbs whose other form is not in this small treebank, and pronouns with the tag NN.
    assert len(features) > 25
    assert features.keys() <= full.keys()
    different = {(full[one], features[one]) for one in features if full[one] != features[one]}
    assert different == {("’ve", "have")}  # forms of the same verb


def test_an_example_counts_what_lies_between_subject_and_verb(tmp_path):
    ((row,), left_out) = examples(tmp_path, conllu(AUTHORS, "newdoc id = d", "sent_id = d-1"))
    assert row == {
        "sentence": "the authors near the guard laugh", "subj_index": 1, "verb_index": 5,
        "subj_form": "authors", "verb_form": "laugh", "number": "plur", "opp_verb_form": "laughs",
        "n_intervening": 1, "n_attractors": 1, "n_non_attractors": 0, "distance": 4,
        "last_intervening": "sing", "source": "trees", "sent_id": "d-1", "split": split_of("d", Shares()),
        "opp_how": "rule", "verb_role": "main", "subj_deprel": "nsubj",
    }  # fmt: skip
    assert left_out == {}


def test_the_last_intervening_noun_is_the_one_nearest_to_the_verb(tmp_path):
    chain = """
    the the DET DT _ 2 det
    authors author NOUN NNS _ 9 nsubj
    near near ADP IN _ 5 case
    the the DET DT _ 5 det
    guard guard NOUN NN _ 2 nmod
    of of ADP IN _ 8 case
    London London PROPN NNP _ 8 compound
    banks bank NOUN NNS _ 5 nmod
    laugh laugh VERB VBP _ 0 root
    """
    (row,), _ = examples(tmp_path, conllu(chain.replace("    ", "")))
    counts = {name: row[name] for name in ("n_intervening", "n_attractors", "n_non_attractors")}
    assert counts == {"n_intervening": 2, "n_attractors": 1, "n_non_attractors": 1}
    assert (row["distance"], row["last_intervening"]) == (7, "plur")


def test_a_verb_in_the_first_person_agrees_in_more_than_number(tmp_path):
    # Spanish: we linguists know.
    tree = (
        "los el DET _ _ 2 det\n"
        "lingüistas lingüista NOUN _ Number=Plur 3 nsubj\n"
        "sabemos saber VERB _ Mood=Ind|Number=Plur|Person=1|Tense=Pres|VerbForm=Fin 0 root"
    )
    rows, left_out = examples(tmp_path, conllu(tree), conllu(HUNDE), conllu(HUND))
    assert ([row["subj_form"] for row in rows], left_out) == (["Hunde", "Hund"], {})


def test_in_other_languages_the_opposite_form_is_one_of_the_treebank(tmp_path):
    rows, _ = examples(tmp_path, conllu(HUNDE), conllu(HUND))
    found = [(row["verb_form"], row["opp_verb_form"], row["opp_how"]) for row in rows]
    assert found == [("schlafen", "schläft", "attested"), ("schläft", "schlafen", "attested")]
    assert [row["n_attractors"] for row in rows] == [1, 0]


def test_of_two_treebanks_each_may_hold_the_opposite_forms_of_the_other(tmp_path):
    for name, tree in (("a", HUNDE), ("b", HUND)):
        (tmp_path / f"{name}.conllu").write_text(conllu(tree))
    table, _ = convert([tmp_path / "a.conllu", tmp_path / "b.conllu"], Shares())
    assert table["source"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("laugh laugh VERB VBP", "laughs laugh VERB VBZ", "subject and verb differ in number"),
        ("the the DET DT _ 5 det", "guards guard NOUN NNS _ 2 conj", "coordinated subject"),
        ("Number=Plur 6 nsubj", "Number=Plur|Typo=Yes 6 nsubj", "subject or verb marked as a typo"),
        ("the the DET DT _ 2 det", "do do AUX VBP _ 6 aux", "another present auxiliary before the subject"),
        ("near near ADP IN _ 5 case", "will will AUX MD _ 6 aux", "past or modal auxiliary before the verb"),
        ("laugh laugh VERB", "laugh laughter VERB", "no sure form in the other number"),
    ],
)
def test_a_verb_whose_number_is_not_sure_is_left_out_and_counted(tmp_path, old, new, reason):
    other = conllu(AUTHORS.replace("authors author", "writers writer"))
    rows, left_out = examples(tmp_path, conllu(AUTHORS.replace(old, new, 1)), other)
    assert [row["subj_form"] for row in rows] == ["writers"]
    assert left_out == {reason: 1}


def test_a_verb_before_its_subject_is_left_out(tmp_path):
    there = "there there PRON EX _ 2 expl\nare be VERB VBP _ 0 root\nauthors author NOUN NNS _ 2 nsubj"
    rows, left_out = examples(tmp_path, conllu(there), conllu(AUTHORS))
    assert (len(rows), left_out) == (1, {"verb before its subject": 1})


def test_a_repeated_sentence_is_taken_once(tmp_path):
    rows, left_out = examples(tmp_path, conllu(AUTHORS, "sent_id = a-1"), conllu(AUTHORS, "sent_id = b-1"))
    assert [row["sent_id"] for row in rows] == ["a-1"]
    assert left_out == {"the same verb in the same sentence, again": 1}


def test_a_document_is_in_one_split_and_a_larger_share_takes_in_the_smaller():
    documents = [f"document {n}" for n in range(2000)]
    small = {one for one in documents if split_of(one, Shares(10, 0.5)) == "train"}
    large = {one for one in documents if split_of(one, Shares(80, 10)) == "train"}
    assert small < large
    # Four standard deviations of a binomial around the shares.
    assert abs(len(small) - 200) < 54
    assert abs(len(large) - 1600) < 72


def test_sentences_of_one_document_share_a_split(tmp_path):
    trees = [AUTHORS.replace("author", name) for name in ("writer", "farmer", "pilot")]
    named = [conllu(tree, f"sent_id = one-{n}") for n, tree in enumerate(trees)]
    headed = [conllu(trees[0], "newdoc id = two"), *map(conllu, trees[1:])]
    for document, sentences in (("one", named), ("two", headed)):
        rows, _ = examples(tmp_path, *sentences)
        assert [row["split"] for row in rows] == [split_of(document, Shares())] * 3


def test_words_are_counted_where_a_written_word_holds_several(tmp_path):
    tree = conllu(AUTHORS).splitlines()
    tree.insert(2, "3-4\tnearthe\t" + "\t".join("_" * 8))
    tree.insert(5, "4.1\tbig\tbig\tADJ\tJJ" + "\t_" * 5)
    ((row,), _) = examples(tmp_path, "\n".join(tree) + "\n")
    assert (row["sentence"], row["verb_index"]) == ("the authors near the guard laugh", 5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3\tnear", "3 near", "trees.conllu:10: this line has 9 columns"),
        ("3\tnear", "x\tnear", "trees.conllu:10: no CoNLL-U: Failed parsing field 'id': 'x'"),
        (
            "3\tnear",
            "4\tnear",
            "trees.conllu:10: the line has word 4, but word 3 comes next.\n  Write 1, 2, 3, ... for the "
            "words of the sentence in column 1.",
        ),
        (
            "5\tcase",
            "7\tcase",
            "trees.conllu:10: the head of 'near' is 7, but must be 0 or the number of a word, 1 to 6.\n  "
            "Correct the head in column 7.",
        ),
        (
            "5\tcase",
            "_\tcase",
            "trees.conllu:10: the head of 'near' is _, but must be 0 or the number of a word, 1 to 6.\n  "
            "Correct the head in column 7.",
        ),
        ("5\tcase", "5\t", "trees.conllu:10: column 8 of this line is empty"),
    ],
)
def test_a_malformed_line_is_named_by_file_and_number(tmp_path, old, new, message):
    # Two sentences of six words: `near` in the second is on line 10.
    (tmp_path / "trees.conllu").write_text(conllu(AUTHORS) + conllu(AUTHORS).replace(old, new))
    assert message in refuse("data", "agreement", "trees.conllu", "-o", "a.tsv", cwd=tmp_path).stderr
    assert not (tmp_path / "a.tsv").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "trees.conllu: is empty"),
        ("\n\n", "trees.conllu: is empty"),
        (conllu(AUTHORS).replace("\tVBP", "\t_").replace("Number=", "Case="),
         "trees.conllu: the treebank does not say which words are singular or plural"),
        (conllu(AUTHORS.replace("nsubj", "obj")), "trees.conllu: tseval found no agreement examples in "
                                                  "the 1 sentences"),
        (conllu(HUNDE), "Left out: no sure form in the other number (1)."),
    ],
)  # fmt: skip
def test_a_treebank_without_examples_says_why(tmp_path, content, message):
    (tmp_path / "trees.conllu").write_text(content)
    assert message in refuse("data", "agreement", "trees.conllu", "-o", "a.tsv", cwd=tmp_path).stderr
    assert not (tmp_path / "a.tsv").exists()


def test_the_library_that_reads_treebanks_is_named_where_it_is_missing(tmp_path, monkeypatch):
    (tmp_path / "trees.conllu").write_text(conllu(AUTHORS))
    monkeypatch.setitem(sys.modules, "conllu", None)  # Python's state if it is not installed
    done = refuse("data", "agreement", "trees.conllu", "-o", "a.tsv", cwd=tmp_path)
    assert done.stderr == 'tseval: reading treebanks needs conllu: pip install "tseval[conllu]"\n'


def test_sentences_without_names_are_named_by_their_lines_and_survive_every_format(tmp_path):
    named, bare = conllu(AUTHORS, "sent_id = a\tb"), conllu(AUTHORS.replace("author", "writer"))
    (tmp_path / "trees.conllu").write_text(named + bare)
    for name, first in (("a.parquet", "a\tb"), ("a.tsv", "a b")):
        assert call("data", "agreement", "trees.conllu", "-o", name, cwd=tmp_path).returncode == 0
        rows = read_examples(tmp_path / name).to_pylist()
        # Seven lines and a blank one, then six.
        assert [row["sent_id"] for row in rows] == [first, "trees.conllu:9"]


def test_the_command_counts_and_writes_the_examples(tmp_path):
    command = "data", "agreement", TREEBANK_SAMPLE, "-o", "a.parquet", "--source", "ewt"
    assert "150 sentences, 37 examples: " in succeed(*command, cwd=tmp_path).stdout  # the supplied numbers
    assert read_examples(tmp_path / "a.parquet")["source"].to_pylist() == ["ewt"] * 37
