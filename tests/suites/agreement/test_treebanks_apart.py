"""Each treebank is read separately, and words without a form are read as in the text."""

from in_process import refuse, succeed
from small import write_file
from small_treebanks import full_treebank

from tseval.suites.agreement.conllu import read_trees
from tseval.suites.agreement.phenomenon import open_phenomenon
from tseval.suites.agreement.treebank_pairs import list_phenomena, make_pairs

# Forms of multiword tokens


# UD Turkish IMST: the inner words of derived words have no form. Each line has the cells other than _.
LINES = """
1|On|on|NUM|NumType=Card|2|nummod
2-3|kilometrelik
2|_|kilometre|NOUN|Case=Nom,Number=Sing|3|nmod
3|kilometrelik|lik|ADJ|_|4|amod
4|yol|yol|NOUN|Case=Nom,Number=Sing|5|nsubj
4.1
5-6|bitti|_|_|_|_|_|SpaceAfter=No
5|bit|bit|VERB|Number=Sing|0|root
6|ti|i|AUX|_|5|aux
7|.|.|PUNCT|_|5|punct
"""
PLURAL = """
1|kilometreler|kilometre|NOUN|Case=Nom,Number=Plur|2|nsubj
2|{0}|bit|VERB|Number=Plur|0|root
"""


def conllu(lines):
    """Return lines of CoNLL-U."""
    written = []
    for line in lines.split():
        number, form, lemma, upos, features, head, relation, misc = [*line.split("|"), *"_______"][:8]
        row = number, form, lemma, upos, "_", features.replace(",", "|"), head, relation, "_", misc
        written.append("\t".join(row) + "\n")
    return "".join(written) + "\n"


IMST = "# sent_id = a\n# text = On kilometrelik yol bitti.\n" + conllu(LINES)


def test_an_inner_word_without_a_form_is_no_part_of_the_text(tmp_path):
    write_file(tmp_path / "tr.conllu", IMST)
    (tree,) = read_trees(tmp_path / "tr.conllu")
    assert tree.text() == "On kilometrelik yol bitti."
    assert tree.tokens() == "On kilometrelik yol bit ti ."  # the words, as in do n't
    assert len(tree.words) == 7  # without the empty node


def test_an_inner_word_without_a_form_is_no_form_of_its_lemma(tmp_path):
    # kilometre has one other form here. Only that form may be the new form, not _.
    plural = conllu(PLURAL.format("bittiler")) + conllu(PLURAL.format("bitti"))
    write_file(tmp_path / "tr.conllu", (IMST + plural) * 2)
    request = "pattern { N [upos=NOUN, Number] } % change: N.Number"
    (tmp_path / "n.req").write_text(request.replace(" % ", "\n% "), "utf-8")
    for more in ((), ("--lenient",)):
        refused = refuse(
            "data", "pairs", "tr.conllu", "--request", "n.req", *more, "-o", "p.tsv", cwd=tmp_path
        )
        assert "tseval could make no pair" in refused.stderr
        assert "written together with another word (2)" in refused.stderr


def test_a_multiword_token_without_its_text_is_refused(tmp_path):
    write_file(tmp_path / "tr.conllu", IMST.replace("2-3\tkilometrelik", "2-3\t_"))
    refused = refuse("data", "pairs", "tr.conllu", "--list", cwd=tmp_path)
    assert "tr.conllu:4: this line has _ in column 2" in refused.stderr


def test_a_word_outside_a_multiword_token_needs_its_form(tmp_path):
    write_file(tmp_path / "tr.conllu", IMST.replace("4\tyol\tyol", "4\t_\tyol"))
    refused = refuse("data", "pairs", "tr.conllu", "--list", cwd=tmp_path)
    assert "tr.conllu:7: this line has _ in column 2" in refused.stderr


# Treebanks

SHEEP = "cat/cat/NOUN/Number=Sing/2/nsubj {0}/{1}/VERB/Number=Sing/0/root"
CATS = "cats/cat/NOUN/Number=Plur/2/nsubj {0}/{1}/VERB/{2}/0/root"
VERBS = (("sleeps", "sleep"), ("eats", "eat"))
MARKED = [
    line
    for form, lemma in VERBS
    for line in (SHEEP.format(form, lemma), CATS.format(lemma, lemma, "Number=Plur"))
]
UNMARKED = [
    line for form, lemma in VERBS for line in (SHEEP.format(form, lemma), CATS.format(lemma, lemma, "_"))
]


def bank(folder, name, lines):
    path = full_treebank(folder, *lines)
    return path.rename(folder / name)


def test_a_treebank_that_marks_less_takes_no_pair_from_another(tmp_path):
    # English EWT has Number=Plur on verbs, but LinES has no Number there, so sleep may have either number.
    marked = bank(tmp_path, "en_ewt-ud-dev.conllu", MARKED * 2)
    unmarked = bank(tmp_path, "en_lines-ud-dev.conllu", UNMARKED * 2)
    phenomenon = open_phenomenon("subject-verb-number")
    alone = make_pairs([marked], phenomenon)
    both = make_pairs([marked, unmarked], phenomenon)
    assert alone.table.num_rows == 8
    assert both.table.to_pylist() == alone.table.to_pylist()
    assert both.n_sentences == 18
    listed = {one.name: pairs for one, pairs, _ in list_phenomena([marked, unmarked])}
    assert listed["subject-verb-number"].table.num_rows == 8


def test_a_treebank_without_the_feature_is_named(tmp_path):
    marked = bank(tmp_path, "en_ewt-ud-dev.conllu", MARKED * 2)
    bare = tmp_path / "en_bare-ud-dev.conllu"
    write_file(bare, conllu("1|cats|cat|NOUN|_|2|nsubj 2|sleep|sleep|VERB|_|0|root"))
    pairs = make_pairs([marked, bare], open_phenomenon("subject-verb-number"))
    assert pairs.table.num_rows == 8
    (reason,) = pairs.left_out
    assert reason.startswith(
        "in en_bare-ud-dev.conllu, the request needs the features 'Number' and 'VerbForm'"
    )
    written = succeed("data", "pairs", marked.name, bare.name, "--phenomenon", "subject-verb-number",
                      "-o", "p.tsv", cwd=tmp_path)  # fmt: skip
    assert "|          0 | in en_bare-ud-dev.conllu, the request needs" in written.stderr + written.stdout


def test_files_of_one_treebank_are_read_together(tmp_path):
    singular = bank(tmp_path, "en_ewt-ud-dev.conllu", MARKED[::2] * 2)
    plural = bank(tmp_path, "en_ewt-ud-test.conllu", MARKED[1::2] * 2)
    assert make_pairs([singular, plural], open_phenomenon("subject-verb-number")).table.num_rows == 8


def test_rules_count_each_time_from_the_beginning(tmp_path):
    marked = bank(tmp_path, "en_ewt-ud-dev.conllu", MARKED * 2)
    phenomenon = open_phenomenon("subject-verb-number")
    first, second = (make_pairs([marked], phenomenon) for _ in range(2))
    assert first.table.equals(second.table)
    rule = next(block for block in phenomenon.file.in_corpus(with_rules=True) if block.of)
    assert rule.of.total() <= 8


def test_the_reason_of_each_word_can_be_kept(tmp_path):
    lines = [*MARKED, "herd/herd/NOUN/Number=Sing/2/nsubj roams/roam/VERB/Number=Sing/0/root"]
    marked = bank(tmp_path, "en_ewt-ud-dev.conllu", [*lines, *MARKED])
    pairs = make_pairs([marked], open_phenomenon("subject-verb-number"), explain=True)
    assert pairs.reasons == {("en_ewt-ud-dev.conllu:s5", 1): "no other form is known"}
    assert sum(pairs.left_out.values()) == len(pairs.reasons)
