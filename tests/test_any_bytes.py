"""Files with any content give a result, or one message under 500 characters, in little time and memory."""

import gzip
import re
import sys
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers import READERS, board, syntaxgym

from tseval.errors import TsevalError

LONGEST = 500
SECONDS = 5  # enough for files of some kilobytes
MEGABYTES = 400

# Pieces that broke files, or might break them.
PIECES = [
    b"", b"\t", b"\n", b"\r", b" ", b"  ", b'"', b"'", b"\\", b"\0", b"\x1b", b"\xff", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", "\u2028".encode(), "\u0663".encode(), "\u00b2".encode(), "\u00a0".encode(),
    b"\\ud800", b"NaN", b"-Infinity", b"1e999", b"null", b"true", b"-1", b"0", b"1.5", b"1" * 30, b"9" * 5000,
    b"9" * 19, b"[" * 300, b"]" * 300, b'{"a":' * 300, b"x" * 3000, b"x " * 3000, b"x\t" * 300, b"\n" * 300,
    b"_", b"|", b"=", b"1-2", b"1.1", b"# sent_id =", b"*x", b"&x", b"!!bool x", b"!!timestamp x",
    b"2001-99-99", b"? ", b": ", b"- ", b"{{", b"}}", b"{% for x in y %}", b"%}", b"|agree('x')", b"---\n",
    b"(1;%a%) +", b"[(" * 200, b" & ", b"<eos>", b"%", b"0" * 400 + b".5", b"+1" * 2000,
]  # fmt: skip


@st.composite
def mutated(draw, good):
    """Change a valid file in a few places."""
    content = good
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 12)))
        content = content[:start] + draw(st.sampled_from(PIECES)) + content[end:]
    return content


def contents(reader):
    """Return a strategy for random bytes and for files that are nearly valid."""
    if not reader.name.endswith(".gz"):
        return st.one_of(st.binary(max_size=300), mutated(reader.good), mutated(reader.good))
    inside = mutated(gzip.decompress(reader.good))
    return st.one_of(mutated(reader.good), st.builds(lambda text: gzip.compress(text, mtime=0), inside))


def read(reader, folder, content):
    """Read a file with this content; return the message, or None if it is accepted."""
    (folder / reader.name).write_bytes(content)
    if reader.beside:
        (folder / reader.beside[0]).write_bytes(reader.beside[1])
    try:
        reader.read(folder / reader.name)
    except TsevalError as error:
        message = str(error)
    else:
        return None
    assert 0 < len(message) < LONGEST, f"{len(message)} characters"
    return message


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder for one file, and set an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.mark.parametrize("name", READERS)
def test_every_reader_reads_its_file(name, folder):
    assert read(READERS[name], folder, READERS[name].good) is None


@pytest.mark.slowest
@pytest.mark.parametrize("name", READERS)
def test_any_bytes_give_a_result_or_one_message(name, folder):
    reader = READERS[name]

    # Every run uses the same examples, so that everybody sees the same failures.
    @settings(
        derandomize=True,
        database=None,
        max_examples=120,
        deadline=timedelta(seconds=SECONDS),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(contents(reader))
    def holds(content):
        read(reader, folder, content)

    before = peak()
    holds()
    assert peak() - before < MEGABYTES


def peak():
    """Return the peak memory of this process, in megabytes."""
    resource = pytest.importorskip("resource")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


MANY = b"1" * 5000
FORMULA = "(1;%a%) < " + " + ".join(["(1;%b%)"] * 5000)
PAIR = b'{"good": "a b", "bad": "b a", "x": %s}\n'
TREE = b"1\tdogs\tdog\tNOUN\tNNS\t_\t%s\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


def changed(name, old, new):
    """Return the reader's file with one change."""
    assert old in READERS[name].good
    return READERS[name].good.replace(old, new, 1)


# A reader, a file, and the message (None if the file is valid). Earlier, all but one (`NaN`) ended in a
# traceback, took minutes, or gave a message of thousands of characters.
FOUND = [
    ("pairs", PAIR % (b"1" * 30), "p.jsonl:1: the value of 'x' is 1{30}, but tseval stores whole numbers "
                                  "of at most 64"),
    ("pairs", PAIR % MANY, "p.jsonl:1: no JSON .a whole number has more than 4,300 digits"),
    ("pairs", PAIR % b"0.5" + PAIR % (b"1" * 400), "p.jsonl:2: the value of 'x' is 1+…1+, but tseval stores"),
    ("pairs", PAIR % rb'"\ud800"', r"p.jsonl:1: '\\ud800' is half a character"),
    ("pairs", PAIR.replace(b"x", rb"\uDFFF") % b"1", r"p.jsonl:1: '\\udfff' is half a character"),
    ("pairs", PAIR % (b"[" * 400 + b"]" * 400), "p.jsonl:1: too many lists and mappings .* .limit: 100.\\."),
    ("table of pairs", b"x" * 180_000 + b"\n1\n", "no pair of sentences found .*\n  Rename the columns"),
    ("table of pairs", b"good\tbad\n" + b"a " * 500_000 + b"\tb\n", "case 'p', item 0: .*limit: 50,000"),
    ("blimp", changed("blimp", b'"1"', b'"%s"' % MANY), "b.jsonl:1: the key 'pairID' has the value '1"),
    ("gold", MANY + b"\tbarks\tbark\t0\n", "t.gold:1: a line must have 4 cells with tabs .* this line is '1"),
    ("gulordava", changed("gulordava", b"\t1\t1", b"\t%s\t1" % MANY),
     "g.tab:2: the column 'constr_id' has '1"),
    ("linzen's table", changed("linzen's table", b"\t2\t", b"\t%s\t" % MANY),
     "l.tsv:2: the column 'subj_index' has '1"),
    ("gulordava", changed("gulordava", b"\tx y", b'\t"x y'), "g.tab:2: a cell begins with a quotation "
                                                             "mark, but"),
    ("gulordava", changed("gulordava", b"p\t1", b"p\r\t1"), "g.tab:2: a cell without quotes has a "
                                                            "carriage return"),
    ("board", changed("board", b'"name"', rb'"\ud800"'),
     "the file: a key contains half of a Unicode character"),
    ("treebank", TREE % MANY, "t.conllu:1: a number of this sentence has too many digits for CoNLL-U"),
    ("syntaxgym", syntaxgym("1" * 30), "s.json: item 1{30}: the item_number has more than 64 bits"),
    ("syntaxgym", syntaxgym("1" * 5000), "s.json: no JSON .a whole number has more than 4,300 digits"),
    ("syntaxgym", syntaxgym("NaN"), "'items.0..item_number' should be a whole number, not NaN"),
    ("syntaxgym", syntaxgym(content="a \ud800"), r"s.json: '\\ud800' is half a character"),
    ("syntaxgym", syntaxgym(formula=FORMULA), None),
    ("syntaxgym", syntaxgym(formula=FORMULA + "!"), ("s.json: in .*….*, the formula has a part that tseval "
                                                     "cannot read, at '!'")),
    ("board", board(decimals=10**6), "board.json: decimals: should be a number of decimals, at most 15"),
    ("board", board(notes=1).replace(b"1}", b"[" * 900 + b"]" * 900 + b"}"),
     "the file: its lists and mappings are nested too deeply"),
    ("recipe", b"train: &x {a: 1}\ncells: {lstm: *x}\n", "recipe.yaml: YAML aliases .* are not allowed"),
    ("recipe", b"seeds: !!bool x\n", "recipe.yaml: not a YAML file"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "expected"), FOUND)
def test_what_got_through_gets_one_message(name, content, expected, folder):
    message = read(READERS[name], folder, content)
    if expected is None:
        assert message is None
    else:
        assert re.search(expected, message or "", re.DOTALL), message
