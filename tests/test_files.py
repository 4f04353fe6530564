import gzip
import os
import re
import stat
import subprocess
import sys
import textwrap
import time
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pytest
from in_process import refuse, run_process
from readers import READERS
from small import make_case, make_suite
from systems import needs_linux, needs_posix

import tseval
from tseval.errors import GrammarError, LimitError, RunError, SuiteError, TsevalError, shortened
from tseval.files import Limits, limits, remove_lock, take_lock, write_output, write_text, write_whole
from tseval.formats import numbered_lines, read_lines
from tseval.runs import read_run
from tseval.scoring.scorer import check_lengths
from tseval.suites import load_suite


def message(action, *arguments):
    with pytest.raises(RunError) as caught:
        action(*arguments)
    return str(caught.value)


def python(code, *arguments, **keywords):
    """Run Python code in a new process."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)


# Files are written completely or not at all


@needs_posix
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path):
    file = tmp_path / "table.md"
    for write in (write_whole, write_output):
        file.write_bytes(b"old")
        file.chmod(0o640)
        write(file, b"new")
        assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)


@pytest.mark.parametrize("write", [write_whole, write_output])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, write):
    def half(out):
        out.write(b"half")
        raise ValueError("half")

    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(ValueError, match="half"):
        write(tmp_path / "file", half)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


@needs_posix
def test_partial_files_of_killed_processes_are_removed_and_those_of_writers_at_work_stay(tmp_path):
    left, working, other = (tmp_path / f"board.json.{pid}.partial" for pid in ("11", "12", "x"))
    for partial in (left, working, other):
        partial.write_bytes(b"half")
    held = take_lock(working)
    write_output(tmp_path / "board.json", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"board.json", working.name, other.name}
    remove_lock(working, held)


MANY = """
    import sys, pathlib
    from tseval.files import write_output
    line = sys.argv[2].encode() * 999
    for _ in range(100):
        write_output(pathlib.Path(sys.argv[1]), lambda out: [out.write(line) for _ in range(9)])
"""


@pytest.mark.slow
def test_several_processes_may_write_one_output_at_once(tmp_path):
    writers = [python(MANY, tmp_path / "table.md", letter) for letter in "abc"]
    while any(writer.poll() is None for writer in writers):
        content = (tmp_path / "table.md").read_bytes() if (tmp_path / "table.md").exists() else b""
        assert len(content) in {0, 9 * 999}
        assert len(set(content)) <= 1
    assert [writer.communicate()[1] for writer in writers] == ["", "", ""]
    assert [path.name for path in tmp_path.iterdir()] == ["table.md"]


# Outputs


@needs_posix
def test_a_text_goes_into_a_pipe_and_the_pipe_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write_text(pipe, "| a table |\n")
        assert reader.stdout.read() == b"| a table |\n"
    assert pipe.is_fifo()


def test_a_text_follows_a_link_and_the_link_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder/table.md")
    for text in ("first\n", "second\n"):  # the first creates the file, the second replaces it
        write_text(link, text)
        assert (tmp_path / "folder" / "table.md").read_text() == text
    assert link.is_symlink()
    assert not list(tmp_path.rglob("*.partial"))


@needs_linux
def test_a_device_is_written_into():
    write_text(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()
    said = message(write_text, Path("/dev/full"), "x")
    assert said == "/dev/full cannot be written: No space left on device."
    assert Path("/dev/full").is_char_device()


def test_a_folder_is_no_place_for_a_text(tmp_path):
    assert message(write_text, tmp_path, "x") == f"{tmp_path} cannot be written: Is a directory."


def test_broken_text_is_written_with_question_marks(tmp_path):
    write_text(tmp_path / "table.md", "a\udcffb")
    assert (tmp_path / "table.md").read_bytes() == b"a?b"


# Inputs


# Python calls audit hooks just before every call that opens a file. Hooks cannot be removed.
OPENED = """
    import os, sys
    from pathlib import Path
    from tseval.files import open_regular
    path, opened = Path(sys.argv[1]), []

    def replace(event, arguments):
        if event == "open" and str(arguments[0]) == str(path):
            opened.append(event)
            path.unlink()
            os.mkfifo(path)

    sys.addaudithook(replace)
    try:
        open_regular(path)
    except OSError as error:
        print(len(opened), error.strerror)
"""


@needs_posix
def test_what_becomes_a_pipe_while_it_is_opened_is_not_waited_for(tmp_path):
    (tmp_path / "file").touch()
    said, error = python(OPENED, tmp_path / "file").communicate(timeout=60)
    assert (said, error) == ("1 It is a pipe, not a regular file\n", "")
    said, error = python(OPENED, tmp_path / "file").communicate(timeout=60)
    assert said == "0 It is a pipe, not a regular file\n", "it was opened"


# Locks


COUNT = """
    import sys, pathlib
    from tseval.files import remove_lock, take_lock
    lock, counter = pathlib.Path(sys.argv[1], "lock"), pathlib.Path(sys.argv[1], "counter")
    done = 0
    while done < 100:
        held = take_lock(lock)
        if held is not None:
            counter.write_text(str(int(counter.read_text()) + 1))
            remove_lock(lock, held)
            done += 1
"""


@pytest.mark.slow
def test_a_lock_is_held_by_one_process_at_a_time_though_its_file_comes_and_goes(tmp_path):
    (tmp_path / "counter").write_text("0")
    processes = [python(COUNT, tmp_path) for _ in range(4)]
    assert [process.communicate()[1] for process in processes] == [""] * 4
    assert (tmp_path / "counter").read_text() == "400"
    assert [path.name for path in tmp_path.iterdir()] == ["counter"]


STARTS_ANOTHER = """
    import os, pathlib, signal, subprocess, sys
    from tseval.files import take_lock
    held = take_lock(pathlib.Path(sys.argv[1]))
    subprocess.Popen(["cat"], pass_fds=[held] if sys.argv[2] == "handed down" else [])
    print("ready", flush=True)
    signal.pause()
"""


@needs_posix
@pytest.mark.parametrize("lock", ["handed down", "kept"])
def test_a_killed_process_leaves_its_lock_only_to_those_it_handed_it_down_to(tmp_path, lock):
    process = python(STARTS_ANOTHER, tmp_path / "lock", lock, stdin=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    assert take_lock(tmp_path / "lock") is None
    process.kill()
    process.wait()
    if lock == "handed down":
        assert take_lock(tmp_path / "lock") is None
    process.communicate("")  # ends the process that it started; its lock is the last to be released
    for _ in range(100):
        held = take_lock(tmp_path / "lock")
        if held is not None:
            break
        time.sleep(0.05)
    assert held is not None
    remove_lock(tmp_path / "lock", held)
    assert not (tmp_path / "lock").exists()


# Systems without fcntl


WITHOUT_FCNTL = """
    import sys

    class Nowhere:
        def find_spec(self, name, path=None, target=None):
            if name == "fcntl":
                raise ModuleNotFoundError("No module named 'fcntl'", name="fcntl")

    assert "fcntl" not in sys.modules
    sys.meta_path.insert(0, Nowhere())
    import tseval.report
    from tseval.cli import main
    sys.argv = ["tseval", *sys.argv[1:]]
    main()
"""


@pytest.mark.slow
def test_runs_are_written_and_tables_made_where_fcntl_does_not_exist(tmp_path):
    def tseval(*arguments):
        process = python(WITHOUT_FCNTL, *arguments, cwd=tmp_path)
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert "Warning" not in err
        return out

    table = tseval("run", "--model", "bundled:lstm", "--case", "simple_agrmt", "--out", "run")
    assert len(read_run(tmp_path / "run").verdicts) == 140
    assert not (tmp_path / "run/.lock").exists()
    assert tseval("table", "run") == table
    tseval("table", "bhatt2020", "run", "-o", "both.md")
    assert "ON-LSTM" in (tmp_path / "both.md").read_text()


# Limits of inputs: larger input is refused early, and the message says how to raise the limit.
PAGE = Path(__file__).parents[1] / "docs/reliability.md"
RAISE = "If you need more, raise the limit: set TSEVAL_LIMITS="


def raised(monkeypatch, text):
    monkeypatch.setenv("TSEVAL_LIMITS", text)


def test_limits_are_raised_by_name(monkeypatch):
    assert limits() == Limits()
    raised(monkeypatch, "rows=50M, file_bytes=8G,depth=7")
    assert limits() == Limits(rows=50_000_000, file_bytes=8_000_000_000, depth=7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row=5", r"tseval has no limit with the name 'row'\.\n  Did you mean 'rows'\?"),
        ("rows", "rows should be a whole number, which may end in K, M or G, not ''"),
        ("rows=-1", "rows should be a whole number"),
        ("rows=5T", "not '5T'.\n  Write for example TSEVAL_LIMITS=rows=50M,file_bytes=8G"),
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


@pytest.mark.slow
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
    assert (
        message == f"{path}: unpacking multiplies the size of the file by too large a factor (limit: 1,000)."
    )
    assert hint == f"  {RAISE}ratio=2K in the environment."
    assert int(megabytes) < (500 if sys.platform != "darwin" else 10**9)
    assert float(seconds) < 10


@pytest.mark.parametrize("name", ["p.tsv", "p.tsv.gz"])
def test_sizes_are_limited_on_disk_and_unpacked(tmp_path, monkeypatch, name):
    path, content = tmp_path / name, b"good\tbad\n" + b"".join(b"a%d\tb\n" % i for i in range(3000))
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    raised(monkeypatch, "file_bytes=20K")
    with pytest.raises(
        LimitError,
        match=rf"{name}: .* too many bytes \(limit: 20,000\)\.\n  "
        rf"{RAISE}file_bytes=40K",
    ):
        load_suite(path)
    raised(monkeypatch, "file_bytes=40K")
    assert load_suite(path).n_items == 3000


def test_rows_and_lines_are_limited(tmp_path, monkeypatch):
    path = tmp_path / "p.tsv"
    path.write_text("good\tbad\n" + "a\tb\n" * 20 + "c" * 30 + "\td\n")
    raised(monkeypatch, "rows=21")
    with pytest.raises(LimitError, match=rf"p\.tsv: .* too many lines \(limit: 21\)\.\n  {RAISE}rows=42"):
        load_suite(path)
    raised(monkeypatch, "rows=22,line_chars=31")
    with pytest.raises(
        LimitError,
        match=r"p\.tsv, after line 0: a line has too many characters \(limit: "
        r"31\)",
    ):
        load_suite(path)
    raised(monkeypatch, "rows=22,line_chars=32")
    assert load_suite(path).n_items == 21


def test_a_line_without_end_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "p.tsv").write_bytes(b"good\tbad\n" + b"a" * 5_000_000)
    raised(monkeypatch, "line_chars=100K")
    with pytest.raises(LimitError, match=r"after line \d: a line has too many characters \(limit: 100,000\)"):
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
    with pytest.raises(
        SuiteError,
        match=r"line 600001 is not UTF-8 text \(invalid start byte at byte "
        r"2400000 of the file\)",
    ):
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
    said = rf"(?s){re.escape(path.name)}.*{RAISE}{limit}=2 in the"
    with pytest.raises((LimitError, GrammarError), match=said):
        READERS[name].read(path)


# Only regular files


IRREGULAR = """
    import os, sys
    from itertools import product
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    from readers import READERS
    from tseval.errors import TsevalError
    for device, (name, reader) in product(("fifo", "/dev/zero"), READERS.items()):
        folder = Path(sys.argv[1], Path(device).name, name)
        folder.mkdir(parents=True)
        path = folder / reader.name
        os.mkfifo(path) if device == "fifo" else path.symlink_to(device)
        if reader.beside:
            (folder / reader.beside[0]).write_bytes(reader.beside[1])
        try:
            print(name, reader.read(path))
        except TsevalError as error:
            assert "not a regular file" in str(error) or "neither a folder nor a grammar" in str(error), error
            print(name)
"""


@pytest.mark.slow
@needs_posix
def test_pipes_and_devices_are_refused_and_never_waited_for(tmp_path):
    words = ["python", "-c", textwrap.dedent(IRREGULAR), tmp_path, Path(__file__).parent]
    done = run_process(words, timeout=240)
    assert (done.stdout.splitlines(), done.stderr) == ([*READERS] * 2, "")


def test_a_vocabulary_of_lint_is_a_regular_file():
    ended = refuse("lint", "marvin_linzen", "--vocab", "/dev/zero")
    said = "tseval: /dev/zero: tseval cannot read this file (It is a device, not a regular file).\n  Give"
    assert ended.stderr.startswith(said)


# Sentences


@pytest.mark.parametrize("what", ["/dev/zero", "-"])
def test_a_text_for_surprisal_may_be_a_pipe_and_never_end(what):
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            ["tseval", "surprisal", "--model", "bundled:lstm", what],
            stdin=endless, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert re.search(
        r":1: the line has too many characters \(limit: [\d,]+\)\.\n  If you need more, raise the limit",
        done.stderr,
    )


def test_a_sentence_that_is_a_whole_text_is_named_and_not_scored(monkeypatch):
    check_lengths(pa.array(["a" * 50_000]))
    started = time.monotonic()
    ended = refuse("pair", "the author laughs " * 10_000, "the author laugh .", "--model", "bundled:lstm")
    assert ended.stderr.startswith("tseval: 'the author laughs the author laughs the ")
    said = f"a sentence of 180,000 characters is too long (limit: 50,000).\n  {RAISE}sentence_chars=100K"
    assert said in ended.stderr
    assert time.monotonic() - started < 60
    raised(monkeypatch, "sentence_chars=10")
    suite = make_suite(make_case("c", [("the author laughs .", "the author laugh .")]))
    with pytest.raises(
        LimitError,
        match=r"'the author laugh.*a sentence of \d+ characters is too long "
        r".limit: 10",
    ):
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


@pytest.mark.slow
@needs_linux
def test_too_little_memory_is_one_message(tmp_path):
    # Texts of some length. Near its memory limit, Python takes long to find room for many small texts.
    filler = "a " * 500
    rows = "".join(f"{filler}{i}\t{filler}{i} b\n" for i in range(40_000))
    (tmp_path / "pairs.tsv").write_text(f"good\tbad\n{rows}")
    words = [sys.executable, "-c", SHORT_OF_MEMORY, "expand", "pairs.tsv"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert (
        "tseval: this computer has not enough free memory for the command.\n  Close other programs"
        in done.stderr
    )
