"""Penn tags in place of rare words, against a count of the treebank made here."""

import gzip
from collections import Counter

import pytest
from in_process import call
from supplied import AGREEMENT, TREEBANK_SAMPLE

from tseval.suites.agreement import Shares
from tseval.suites.agreement.convert import convert
from tseval.suites.agreement.published import Frequent, read_examples

# Form, lemma, tag, head, relation.
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
    ended = call("data", "agreement", name, "-o", "a.tsv", *options, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    told = ("sentence", "subj_form", "verb_form", "opp_verb_form", "opp_how", "number")
    return [tuple(row[column] for column in told) for row in read_examples(folder / "a.tsv").to_pylist()]


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        # Everything stays, in lower case; the other form is as frequent.
        ("the farmers near barn laugh laughs",
         ("the farmers near the barn laugh", "farmers", "laugh", "laughs", "rule")),
        ("the near laugh laughs", ("the NNS near the NN laugh", "NNS", "laugh", "laughs", "rule")),
        # A rare verb is its tag, and so is its other form, be that frequent or not.
        ("the near", ("the NNS near the NN VBP", "NNS", "VBP", "VBZ", "tag")),
        ("the near laughs", ("the NNS near the NN VBP", "NNS", "VBP", "VBZ", "tag")),
        # A rare other form would be known as the wrong one by being unknown.
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
    # Alone: laugh near barn; laughs the laugh. Together laugh 3, near 3, laughs 2 before the 2.
    assert found == {
        "a": "DT NNS near DT barn laugh",
        "b": "the NNS IN the NN laugh",
        "ab": "DT NNS near DT NN laugh",
    }


def test_words_are_counted_in_the_treebanks_themselves_and_ties_are_cut_by_alphabet(tmp_path):
    # the 3, laugh 1, laughs 1, near 1, barn 1, farmer 1, farmers 1
    found = examples(tmp_path, conllu(FARMERS, FARMER), "--frequent", 3)
    assert [row[0] for row in found] == ["the NNS IN the barn VBP", "the farmer VBZ"]


@pytest.mark.parametrize("n", [1, 50, 300, 10_000])
def test_every_word_of_a_treebank_is_kept_or_its_tag_as_counted_here(n):
    counts, sentences = Counter(), {}
    with gzip.open(TREEBANK_SAMPLE, "rt", encoding="utf-8") as file:
        for line in file:
            cells = line.rstrip("\n").split("\t")
            if line.startswith("# sent_id = "):
                name = line.removeprefix("# sent_id = ").strip()
                sentences[name] = []
            elif cells[0].isdecimal():
                counts[cells[1].lower()] += 1
                sentences[name].append((cells[1], cells[4]))
    table, _ = convert([TREEBANK_SAMPLE], Shares(), frequent=Frequent(n))
    plain, _ = convert([TREEBANK_SAMPLE], Shares())
    assert table.num_rows == plain.num_rows == 37
    kept, rare = set(), set()
    for row, as_found in zip(table.to_pylist(), plain.to_pylist(), strict=True):
        for written, (form, tag) in zip(row["sentence"].split(), sentences[row["sent_id"]], strict=True):
            assert written in {form.lower(), tag}
            rare |= {form.lower()} if written != form.lower() else set()
            if written != tag:  # a comma's is a comma
                kept.add(written)
        same = row.keys() - {"sentence", "subj_form", "verb_form", "opp_verb_form", "opp_how"}
        assert {name: row[name] for name in same} == {name: as_found[name] for name in same}
        # Both forms of a verb still tell its number.
        if row["verb_form"].isupper():
            assert (row["verb_form"], row["number"]) in {("VBZ", "sing"), ("VBP", "plur")}
        assert row["verb_form"] != row["opp_verb_form"]
    # Nothing that stays is rarer than a word that does not.
    assert len(kept) <= n
    assert max((counts[word] for word in rare), default=0) <= min(
        (counts[word] for word in kept), default=max(counts.values())
    )


def test_equal_sentences_of_tags_are_taken_once(tmp_path):
    other = FARMER.replace("farmer", "author").replace("laughs laugh", "smiles smile")
    assert len(examples(tmp_path, conllu(FARMER, other), "--frequent", 1)) == 1


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (conllu(FARMER.replace("The the DT", "The the _")), ("--frequent", 1, "--counts-from", "counted.txt"),
         "trees.conllu:1: 'The' is rare, and has no tag in column 5 to stand in for it.\n  Leave --frequent"),
        (conllu(FARMER), ("--counts-from", "counted.txt"), "say with --frequent how many words to keep"),
        (conllu(FARMER), ("--frequent", 0), "0 is not in the range x>=1"),
        (conllu(FARMER), ("--frequent", 1, "--counts-from", "empty.txt"), "empty.txt: is empty"),
        (conllu(FARMER), ("--frequent", 1, "--counts-from", "none.txt"), "none.txt: cannot be read"),
        ("sentence\tsubj_pos\tverb_pos\tlast_intervening\tsubj_index\tverb_index\tn_intervening\t"
         "n_diff_intervening\nthe dog barks\tNN\tVBZ\tna\t2\t3\t0\t0\n", ("--frequent", 1),
         "trees.conllu is a table of Linzen et al. 2016: tags stand in for rare words of treebanks only."),
    ],
)  # fmt: skip
def test_what_cannot_be_replaced_is_said(tmp_path, content, options, message):
    (tmp_path / "trees.conllu").write_text(content)
    (tmp_path / "counted.txt").write_text("laughs\n")
    (tmp_path / "empty.txt").write_text("\n")
    ended = call("data", "agreement", "trees.conllu", "-o", "a.tsv", *options, cwd=tmp_path)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not (tmp_path / "a.tsv").exists()


def test_a_treebank_without_penn_tags_has_nothing_to_stand_in(tmp_path):
    finite = "Tense=Pres|VerbForm=Fin"
    features = {"NN": "Number=Sing", "NNS": "Number=Plur", "DT": "_", "IN": "_"}
    features |= {"VBZ": f"Number=Sing|{finite}", "VBP": f"Number=Plur|{finite}"}
    lines = []
    for line in conllu(FARMERS, FARMER).splitlines():
        cells = line.split("\t")
        if len(cells) == 10:
            cells[5] = features[cells[4]]
            cells[3] = "VERB" if cells[4].startswith("V") else "NOUN" if cells[4].startswith("N") else "X"
            cells[4] = "_"
        lines.append("\t".join(cells))
    (tmp_path / "trees.conllu").write_text("\n".join(lines) + "\n")
    plain = call("data", "agreement", "trees.conllu", "-o", "a.tsv", cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    ended = call("data", "agreement", "trees.conllu", "-o", "b.tsv", "--frequent", 1, cwd=tmp_path)
    assert ended.returncode == 2
    assert "trees: has no Penn tags (VBZ, VBP) in column 5, which stand in for rare words." in ended.stderr


def test_a_table_of_examples_is_no_treebank(tmp_path):
    ended = call("data", "agreement", AGREEMENT, "-o", "a.tsv", "--frequent", 10, cwd=tmp_path)
    assert ended.returncode == 2
    assert "is a table of examples already" in ended.stderr
