import os
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from systems import needs_linux, needs_posix

from tseval.errors import RunError
from tseval.files import refuse_irregular, remove_lock, take_lock, write_output, write_text, write_whole
from tseval.runs import read_run


def message(action, *arguments):
    with pytest.raises(RunError) as caught:
        action(*arguments)
    return str(caught.value)


def python(code, *arguments, **keywords):
    """Start a piece of Python."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)


# Whole or not at all


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


def test_a_partial_file_left_by_a_kill_is_overwritten(tmp_path):
    (tmp_path / "model.pt.partial").write_bytes(b"half of a model")
    write_whole(tmp_path / "model.pt", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


MANY = """
    import sys, pathlib
    from tseval.files import write_output
    line = sys.argv[2].encode() * 999
    for _ in range(100):
        write_output(pathlib.Path(sys.argv[1]), lambda out: [out.write(line) for _ in range(9)])
"""


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
    for text in ("first\n", "second\n"):  # the file is made, then replaced
        write_text(link, text)
        assert (tmp_path / "folder" / "table.md").read_text() == text
    assert link.is_symlink()
    assert not list(tmp_path.rglob("*.partial"))


@needs_linux
def test_a_device_is_written_into():
    write_text(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()
    assert message(write_text, Path("/dev/full"), "x") == (
        "/dev/full cannot be written: No space left on device."
    )
    assert Path("/dev/full").is_char_device()


def test_a_folder_is_no_place_for_a_text(tmp_path):
    assert message(write_text, tmp_path, "x") == f"{tmp_path} cannot be written: Is a directory."


def test_broken_text_is_written_with_question_marks(tmp_path):
    write_text(tmp_path / "table.md", "a\udcffb")
    assert (tmp_path / "table.md").read_bytes() == b"a?b"


# Inputs


def test_only_regular_files_are_read_and_links_to_them(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    refuse_irregular(tmp_path / "file")
    refuse_irregular(tmp_path / "link")
    refused = [(tmp_path, "a folder"), (tmp_path / "pipe", "a pipe"), (Path("/dev/zero"), "a device")]
    for path, kind in refused:
        with pytest.raises(OSError, match=f"It is {kind}, not a regular file") as error:
            refuse_irregular(path)
        assert error.value.filename == str(path)
    with pytest.raises(FileNotFoundError):
        refuse_irregular(tmp_path / "absent")


# Python tells of every call that opens a file just before it is made, to hooks that stay for good.
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
    process.communicate("")  # ends the one that it started; its lock is the last that it lets go of
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
