"""Limits of what is read: what goes beyond one is refused early, and the message says how to raise it."""

import gzip
import re
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pytest
from in_process import call
from readers import READERS
from small import make_case, make_suite
from systems import needs_linux, needs_posix

import tseval
from tseval.errors import GrammarError, LimitError, RunError, SuiteError, TsevalError, shortened
from tseval.files import Limits, limits
from tseval.formats import numbered_lines, read_lines
from tseval.scoring.scorers import check_lengths
from tseval.suites import load_suite

PAGE = Path(__file__).parents[1] / "docs/reliability.md"
RAISE = "If that is meant, raise the limit: set TSEVAL_LIMITS="


def raised(monkeypatch, text):
    monkeypatch.setenv("TSEVAL_LIMITS", text)


def test_limits_are_raised_by_name(monkeypatch):
    assert limits() == Limits()
    raised(monkeypatch, "rows=50M, file_bytes=8G,depth=7")
    assert limits() == Limits(rows=50_000_000, file_bytes=8_000_000_000, depth=7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row=5", r"there is no limit 'row'\.\n  Did you mean 'rows'\?"),
        ("rows", "rows should be a whole number, perhaps with K, M or G behind it, not ''"),
        ("rows=-1", "rows should be a whole number"),
        ("rows=5T", "not '5T'.\n  For example TSEVAL_LIMITS=rows=50M,file_bytes=8G"),
        ("rows=" + "9" * 5000, "rows should be a whole number"),
    ],
)
def test_a_limit_that_cannot_be_read_is_never_passed_over(monkeypatch, tmp_path, text, message):
    raised(monkeypatch, text)
    (tmp_path / "p.tsv").write_text("good\tbad\na\tb\n")
    with pytest.raises(LimitError, match=message):
        load_suite(tmp_path / "p.tsv")


def test_the_page_lists_every_limit_with_its_default():
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert rows == {field.name: f"{field.default:,}" for field in fields(Limits)}


# Compressed files


def test_a_file_that_unpacks_to_a_thousand_times_its_size_is_refused_early(tmp_path):
    path = tmp_path / "bomb.tsv.gz"
    path.write_bytes(gzip.compress(b"good\tbad\n" + b"a\tb\n" * 5_000_000, mtime=0))
    program = f"""if True:
        import resource, time
        from pathlib import Path
        from tseval.errors import LimitError
        from tseval.suites import load_suite
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        try:
            load_suite(Path({str(path)!r}))
        except LimitError as error:
            print(error)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000)
        print(time.process_time() - started)
    """
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    message, hint, megabytes, seconds = done.stdout.splitlines()
    assert message == f"{path}: unpacks to more than so many times its size: 1,000."
    assert hint == f"  {RAISE}ratio=2K in the environment."
    assert int(megabytes) < (500 if sys.platform != "darwin" else 10**9)
    assert float(seconds) < 10


@pytest.mark.parametrize("name", ["p.tsv", "p.tsv.gz"])
def test_sizes_are_limited_on_disk_and_unpacked(tmp_path, monkeypatch, name):
    path, content = tmp_path / name, b"good\tbad\n" + b"".join(b"a%d\tb\n" % i for i in range(3000))
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    raised(monkeypatch, "file_bytes=20K")
    with pytest.raises(LimitError, match=rf"{name}: has more bytes than 20,000\.\n  {RAISE}file_bytes=40K"):
        load_suite(path)
    raised(monkeypatch, "file_bytes=40K")
    assert load_suite(path).n_items == 3000


def test_rows_and_lines_are_limited(tmp_path, monkeypatch):
    path = tmp_path / "p.tsv"
    path.write_text("good\tbad\n" + "a\tb\n" * 20 + "c" * 30 + "\td\n")
    raised(monkeypatch, "rows=21")
    with pytest.raises(LimitError, match=rf"p\.tsv: has more lines than 21\.\n  {RAISE}rows=42"):
        load_suite(path)
    raised(monkeypatch, "rows=22,line_chars=31")
    with pytest.raises(LimitError, match=r"p\.tsv, behind line 0: a line has more characters than 31"):
        load_suite(path)
    raised(monkeypatch, "rows=22,line_chars=32")
    assert load_suite(path).n_items == 21


def test_a_line_without_end_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "p.tsv").write_bytes(b"good\tbad\n" + b"a" * 5_000_000)
    raised(monkeypatch, "line_chars=100K")
    with pytest.raises(LimitError, match=r"behind line \d: a line has more characters than 100,000"):
        list(read_lines(tmp_path / "p.tsv"))


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_lines_come_as_they_stand_however_long_the_file(tmp_path, end):
    lines = [f"{number} ä€😀 {'x' * (number % 97)}" for number in range(30_000)]
    lines[7] = lines[20_000] = ""
    text = ("\r\n" if end == "\r\n" else "\n").join(lines) + end
    assert len(text.encode()) > 1_500_000  # more than a block
    (tmp_path / "t.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert list(numbered_lines(tmp_path / "t.txt")) == list(enumerate(lines, 1))


def test_a_byte_that_is_no_text_is_named_by_its_place_in_the_file(tmp_path):
    content = b"abc\n" * 600_000 + b"\xff\n"
    (tmp_path / "t.txt").write_bytes(content)
    with pytest.raises(SuiteError, match=r"not UTF-8 text \(invalid start byte at byte 2400000\)"):
        list(read_lines(tmp_path / "t.txt"))


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("pairs", "file_bytes"), ("treebank", "file_bytes"), ("linzen's table", "file_bytes"),
        ("linzen's table", "rows"), ("treebank", "rows"), ("linzen's table", "line_chars"),
        ("syntaxgym", "document_bytes"), ("board", "document_bytes"), ("vocabulary", "document_bytes"),
        ("syntaxgym", "depth"), ("grammar", "grammar_bytes"), ("recipe", "grammar_bytes"),
        ("training text", "text_bytes"), ("training text", "line_chars"), ("treebank", "sentence_words"),
        ("text to parse", "text_bytes"), ("text to parse", "sentence_chars"),
        ("text to parse", "sentence_words"), ("treebank to parse", "sentence_words"),
        ("pairs", "sentence_chars"), ("syntaxgym", "sentence_chars"), ("examples", "sentence_chars"),
    ],
)  # fmt: skip
def test_every_reader_keeps_its_limits(tmp_path, monkeypatch, name, limit):
    path = tmp_path / READERS[name].name
    path.write_bytes(READERS[name].good)
    raised(monkeypatch, f"{limit}=1")
    with pytest.raises(
        (LimitError, GrammarError), match=rf"(?s){re.escape(path.name)}.*{RAISE}{limit}=2 in the"
    ):
        READERS[name].read(path)


# Only regular files


@needs_posix
@pytest.mark.parametrize("device", ["fifo", "/dev/zero"])
def test_pipes_and_devices_are_refused_and_never_waited_for(tmp_path, device):
    program = f"""if True:
        import os, sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from readers import READERS
        from tseval.errors import TsevalError
        for name, reader in READERS.items():
            folder = Path({str(tmp_path)!r}) / name
            folder.mkdir()
            path = folder / reader.name
            os.mkfifo(path) if {device!r} == "fifo" else path.symlink_to({device!r})
            if reader.beside:
                (folder / reader.beside[0]).write_bytes(reader.beside[1])
            try:
                print(name, reader.read(path))
            except TsevalError as error:
                said = ("not a regular file", "this is a pipe or a device, not a file", "not a suite")
                assert any(what in str(error) for what in said), error
                print(name)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == list(READERS)


def test_a_vocabulary_of_lint_is_a_regular_file():
    ended = call("lint", "marvin_linzen", "--vocab", "/dev/zero")
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        "tseval: /dev/zero: cannot be read: It is a device, not a regular file.\n  Give"
    )


# Sentences


@pytest.mark.parametrize("what", ["/dev/zero", "-"])
def test_a_text_for_surprisal_may_be_a_pipe_and_never_end(what):
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            ["tseval", "surprisal", "--model", "bundled:lstm", what],
            stdin=endless, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert re.search(r":1: the line has more characters than [\d,]+\.\n  If that is meant", done.stderr)


def test_a_sentence_that_is_a_whole_text_is_named_and_not_scored(monkeypatch):
    check_lengths(pa.array(["a" * 50_000]))
    started = time.monotonic()
    ended = call("pair", "the author laughs " * 10_000, "the author laugh .", "--model", "bundled:lstm")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("tseval: 'the author laughs the author laughs the ")
    assert (
        f"a sentence of 180,000 characters; the limit is 50,000.\n  {RAISE}sentence_chars=100K"
        in ended.stderr
    )
    assert time.monotonic() - started < 60
    raised(monkeypatch, "sentence_chars=10")
    suite = make_suite(make_case("c", [("the author laughs .", "the author laugh .")]))
    with pytest.raises(LimitError, match=r"'the author laugh.*a sentence of \d+ characters; the limit is 10"):
        tseval.evaluate(tseval.load_model("bundled:lstm"), suite)


# Messages


def test_a_message_keeps_where_what_and_what_to_do():
    quoted = "x" * 180_000
    message = str(
        SuiteError(f"p.tsv:7: n is no whole number, but {quoted!r}.\n  Correct the cell, or leave it out.")
    )
    assert len(message) <= 480
    assert message.startswith("p.tsv:7: n is no whole number, but 'xxx")
    assert message.endswith("xxx'.\n  Correct the cell, or leave it out.")


def test_short_messages_stay_as_they_are():
    assert str(RunError("a\n" * 100)) == "a\n" * 100
    assert TsevalError("x" * 480).args == ("x" * 480,)


@pytest.mark.parametrize("text", ["a\n" * 1000, "x" * 100 + "\n" + "y\n" * 400, "\n".join(["z" * 90] * 7)])
def test_a_message_of_many_lines_is_cut_too(text):
    assert len(shortened(text)) <= 480
    assert shortened(text).startswith(text[:9])


def test_the_message_of_a_grammar_is_cut_as_a_whole_and_keeps_its_fix():
    error = GrammarError("unknown " + "k" * 9000, "g.jinja", 3, "Correct it.")
    assert len(str(error)) <= 480
    assert str(error).startswith("g.jinja:3: unknown kkk")
    assert str(error).endswith("kkk\n  Correct it.")


SHORT_OF_MEMORY = """
import resource, sys
import tseval.suites
from tseval.cli import main
main.__globals__["tseval"].get_command(None, "expand")
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 60 * 10**6,) * 2)
main()
"""


@needs_linux
def test_too_little_memory_is_one_message(tmp_path):
    # Texts of some length: near its limit, Python looks long for room for each of many small ones.
    filler = "a " * 500
    rows = "".join(f"{filler}{i}\t{filler}{i} b\n" for i in range(40_000))
    (tmp_path / "pairs.tsv").write_text(f"good\tbad\n{rows}")
    words = [sys.executable, "-c", SHORT_OF_MEMORY, "expand", "pairs.tsv"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "tseval: there is not enough memory for this.\n  Close other programs" in done.stderr
