"""Links, dates, names and lists of a board are checked when they are read."""

import os
import shutil
import sys

import pytest
import yaml
from forged import board_of_pairs, edit_json, edit_yaml
from in_process import call, refuse, succeed
from systems import needs_linux

from tseval.adapters import open_model
from tseval.boards import ENTRY_NAME
from tseval.report.writers.markdown import markdown_link

DAY = "2026-01-02"
SCRIPT = "javascript:alert(1)"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("fields")
    board_of_pairs(root, open_model("bundled:lstm"))
    return root


@pytest.fixture
def board(made, tmp_path):
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made/board"


def retracted(**changes):
    one = {"reason": "It knew the suite.", "on": DAY, "link": "https://example.org/1", **changes}
    return lambda board: write(board, retracted={"lstm": one})


def verified(on):
    return lambda board: write(board, checks={"lstm": [{"level": "whole", "by": "Ada", "on": on}]})


def write(board, **fields):
    (board / "checks.yaml").write_text(yaml.safe_dump({"format": 1, **fields}))


def defined(**fields):
    return lambda board: edit_yaml(board / "board.yaml", lambda content: content.update(fields))


def known_as(n):
    names = [f"name-{i}" for i in range(n)]
    return lambda board: edit_yaml(
        board / "entries/lstm/entry.yaml", lambda content: content.update(aliases=names)
    )


WRONG = {
    "a script for a link": (retracted(link=SCRIPT), "retracted.lstm.link: should be an address"),
    "data for a link": (retracted(link="data:text/html,x"), "retracted.lstm.link: should be an address"),
    "a quote in a link": (retracted(link='https://x.org/"onclick="'), "retracted.lstm.link"),
    "a link over two lines": (retracted(link="https://x.org/\n<script>"), "retracted.lstm.link"),
    "markup for a day": (retracted(on="<script>alert(1)</script>"), "retracted.lstm.on: should be a date"),
    "a day that is none": (retracted(on="2026-02-30"), "retracted.lstm.on: should be a date"),
    "markup for a day of a check": (verified("| a | <b>"), "checks.lstm.on: should be a date"),
    "a script for the address": (defined(address=SCRIPT), "address: should be an address"),
    "a script for a board before": (defined(renews=SCRIPT), "renews: should be a path"),
    "a link for a board behind": (defined(renewed_by="x) [y](z"), "renewed_by: should be a path"),
    "100,000 names": (
        known_as(20_000),
        "aliases: the list has 20,000 earlier names of the entry, but at most 100",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_link_date_or_name_is_refused_by_its_place(kind, board):
    change, said = WRONG[kind]
    change(board)
    for command in (("board", "check", board), ("board", "write", board)):
        ended = call(*command)
        assert ended.returncode in (1, 2)
        assert said in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr
    ended = call("board", "build", board, "-o", board.parent / "site")
    pages = "".join(path.read_text("utf-8") for path in (board.parent / "site").rglob("*.[hx]*ml"))
    assert 'href="javascript:' not in pages
    assert f"<link>{SCRIPT}" not in pages
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("on", ["<script>", "2026-13-01", "x" * 1000])
def test_a_day_in_board_json_that_is_none_is_refused(on, board):
    edit_json(board / "board.json", lambda content: content["entries"][0].update(date=on))
    said = refuse("board", "build", board, "-o", board.parent / "site").stderr
    assert "entries[0].date: should be a date" in said


def test_a_limit_on_names_can_be_raised(board, monkeypatch):
    known_as(150)(board)
    monkeypatch.setenv("TSEVAL_LIMITS", "aliases=200")
    succeed("board", "write", board)


def test_a_link_of_markdown_leads_to_the_web_alone():
    assert markdown_link("https://example.org/a?b=c") == "<https://example.org/a?b=c>"
    for text in (SCRIPT, "https://x.org/>[x](javascript:alert(1))", "data:text/html,x"):
        assert "<" not in markdown_link(text)
    assert markdown_link(None) == ""


@pytest.mark.parametrize("name", ["lstm.", "CON", "con", "nul.txt", "COM1", "lpt9.x", "a.partial", "..", ""])
def test_names_that_some_systems_cannot_have_are_refused(name, board):
    assert not ENTRY_NAME.fullmatch(name)
    if name:
        assert (
            "cannot be the name of an entry" in refuse("board", "rename", board / "entries/lstm", name).stderr
        )


@pytest.mark.parametrize("name", ["lstm", "CONstant", "con-1", "aux_model", "gpt2.small", "a.b"])
def test_other_names_stay(name):
    assert ENTRY_NAME.fullmatch(name)


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize("size", [0, 700, 1_500, 3_000])
def test_a_full_disk_leaves_nothing_of_an_entry(size, made, tmp_path):
    import resource  # noqa: PLC0415 - not on Windows
    import signal  # noqa: PLC0415 - likewise
    import subprocess  # noqa: PLC0415 - likewise

    shutil.copytree(made, tmp_path / "made")
    shutil.rmtree(tmp_path / "made/board/entries/lstm")
    before = sorted(path for path in (tmp_path / "made/board").rglob("*"))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    command = [sys.executable, "-m", "tseval", "board", "add", "made/board", "made/run"]
    # Otherwise Python's compiled files would also be truncated and break every later start.
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, preexec_fn=limit, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert sorted(path for path in (tmp_path / "made/board").rglob("*")) == before
