"""Contractions of treebanks are written in ordinary spelling: `du`, not `de le`."""

import csv

import pytest
from in_process import succeed
from small import write_file

import tseval

pytest.importorskip("conllu")
WORDS = {
    "Les": "DET le Number=Plur", "clés": "NOUN clé Number=Plur", "L'": "DET le Number=Sing",
    "ami": "NOUN ami Number=Sing", "de": "ADP de _", "le": "DET le Number=Sing",
    "bureau": "NOUN bureau Number=Sing", "ici": "ADV ici _", ".": "PUNCT . _", "10 000": "NUM 10000 _",
    "sont": "VERB être Mood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin",
    "est": "VERB être Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "n'": "ADV ne _",
}  # fmt: skip
HEADS = {"Les": 1, "L'": 1}


def tree(text, words, joined=()):
    """Write a tree whose first noun is the subject of its verb; `joined` words have another spelling."""
    lines = [f"# text = {text}"]
    verb = next(i for i, word in enumerate(words, 1) if word in {"sont", "est"})
    subject = next(i for i, word in enumerate(words, 1) if word in {"clés", "ami"})
    for i, word in enumerate(words, 1):
        for first, last, form in joined:
            if first == i:
                lines.append(f"{first}-{last}\t{form}" + "\t_" * 8)
        tag, lemma, feats = WORDS[word].split(" ")
        head, relation = (verb, "dep")
        if i == verb:
            head, relation = 0, "root"
        elif i == subject:
            relation = "nsubj"
        lines.append("\t".join([str(i), word, lemma, tag, "_", feats, str(head), relation, "_", "_"]))
    return "\n".join(lines) + "\n\n"


DU = [(3, 4, "du")]
FRENCH = (
    tree("Les clés du bureau sont ici.", ["Les", "clés", "de", "le", "bureau", "sont", "ici", "."], DU)
    + tree("L'ami du bureau est ici.", ["L'", "ami", "de", "le", "bureau", "est", "ici", "."], DU)
    + tree(
        "Les clés 10 000 du bureau sont.",
        ["Les", "clés", "10 000", "de", "le", "bureau", "sont"],
        [(4, 5, "du")],
    )
)


def examples(tmp_path, content):
    write_file(tmp_path / "fr.conllu", content)
    told = succeed("data", "agreement", "fr.conllu", "-o", "t.tsv", cwd=tmp_path)
    with (tmp_path / "t.tsv").open(encoding="utf-8") as file:
        return told, list(csv.DictReader(file, delimiter="\t"))


def test_examples_have_what_is_written_and_the_places_of_their_words(tmp_path):
    _, rows = examples(tmp_path, FRENCH)
    assert [row["sentence"] for row in rows] == [
        "Les clés du bureau sont ici .",
        "L' ami du bureau est ici .",
        "Les clés 10_000 du bureau sont",
    ]
    for row in rows:
        words = row["sentence"].split()
        assert (words[int(row["subj_index"])], words[int(row["verb_index"])]) == (
            row["subj_form"],
            row["verb_form"],
        )
        assert int(row["distance"]) == int(row["verb_index"]) - int(row["subj_index"])
    suite = tseval.load_suite(tmp_path / "t.tsv")
    first = suite.cases[0].sentences.slice(0, 1).to_pylist()[0]
    assert list(first.values()) == ["Les clés du bureau sont ici .", "Les clés du bureau est ici ."]


def test_a_word_that_is_written_as_its_parts_stays_in_parts(tmp_path):
    words = ["Les", "clés", "n'", "sont", "ici", "."]
    content = tree("Les clés n'sont ici.", words, [(3, 4, "n'sont")]) + FRENCH
    _, rows = examples(tmp_path, content)
    assert rows[0]["sentence"] == "Les clés n' sont ici ."
    assert rows[0]["verb_index"] == "3"


def test_a_verb_inside_a_contraction_is_left_out_and_counted(tmp_path):
    words = ["Les", "clés", "le", "sont", "ici", "."]
    content = tree("Les clés lsont ici.", words, [(3, 4, "lsont")]) + FRENCH
    told, rows = examples(tmp_path, content)
    assert len(rows) == 3
    assert "1 | subject or verb written as one with another word" in " ".join(told.stdout.split())
