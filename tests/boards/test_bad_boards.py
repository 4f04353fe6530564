"""Board files with any content: each command gives one message, and no text in them is executed."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import get_args, get_type_hints

import pytest
import yaml
from forged import board_of_pairs, edit_json, edit_yaml, print_anew, seal_anew, with_key
from in_process import call, installed
from systems import needs_posix
from terminals import on_a_terminal

from tseval.adapters import open_model
from tseval.boards import Entry
from tseval.boards.check import wrong_with_board
from tseval.boards.definition import Definition, read_definition
from tseval.boards.readme import write_pages
from tseval.report.published import Board, read_board
from tseval.runs import Manifest

HOSTILE = "a\x1b[2J\x07\u202eb | c </td><script>alert(1)</script> [x](javascript:alert(1)) `d`\n# e\n\n| f |"
LONGEST = 500


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("bad")
    board_of_pairs(root, open_model("bundled:lstm"), ("author", "guard"), [("laughs", "laugh")])
    return root


@pytest.fixture
def root(made, tmp_path):
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


@dataclass(frozen=True)
class Place:
    """A field of a file, by its path of names and indices."""

    file: str
    path: tuple[str | int, ...]
    optional: bool

    def __str__(self):
        return f"{self.file}:{'.'.join(map(str, self.path))}"


def places(file, kind, before=()):
    """Yield every field of a dataclass and of the dataclasses inside it."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        here = (*before, field.name)
        yield Place(file, here, field.default is not MISSING or field.default_factory is not MISSING)
        inner = [one for one in (hints[field.name], *get_args(hints[field.name])) if is_dataclass(one)]
        if inner:
            several = not is_dataclass(hints[field.name]) and "tuple" in str(hints[field.name])
            yield from places(file, inner[0], (*here, 0) if several else here)


ENTRY = "entries/lstm/entry.yaml"
MANIFEST = "entries/lstm/manifest.json"
PLACES = [*places("board.yaml", Definition), *places(ENTRY, Entry), *places(MANIFEST, Manifest)]
COMMANDS = {
    "check": lambda board: ("board", "check", board), "verify": lambda board: ("verify", board),
    "table": lambda board: ("table", board), "write": lambda board: ("board", "write", board),
}  # fmt: skip


def edit(path, change):
    (edit_yaml if path.suffix == ".yaml" else edit_json)(path, change)


def put(place, value):
    def change(content):
        for step in place.path[:-1]:
            content = content[step]
        if value is MISSING:
            del content[place.path[-1]]
        else:
            content[place.path[-1]] = value

    return change


def one_message(ended):
    """Check that a command that refuses prints one message."""
    assert ended.returncode in (0, 1, 2)
    assert "Traceback" not in ended.stderr
    if ended.returncode == 2:
        assert ended.stderr.startswith("tseval: ")
        assert ended.stderr.count("tseval: ") == 1
        assert len(ended.stderr) < LONGEST
    if ended.returncode == 1:
        assert all(len(line) <= LONGEST + 20 for line in ended.stdout.splitlines())
    return ended


# Each command meets every field with one of these values; `check` meets all of them.
WRONG = [MISSING, ["x"], {"x": "y"}, 7.5, "x" * 5000, HOSTILE, None]


@pytest.mark.slowest
@pytest.mark.parametrize("file", ["board.yaml", ENTRY, MANIFEST])
def test_every_field_that_is_missing_or_wrong_gets_one_message(made, tmp_path, file):
    accepted = set()
    commands = list(COMMANDS)
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    path = copy / "board" / file
    sound = path.read_bytes()
    others = {one: one.read_bytes() for one in (copy / "board" / "README.md", copy / "board" / "board.json")}
    for number, place in enumerate(one for one in PLACES if one.file == file):
        for turn, value in enumerate(WRONG):
            path.write_bytes(sound)
            try:
                edit(path, put(place, value))
            except (KeyError, IndexError, TypeError):
                continue  # this board does not have the field
            if path.read_bytes() == sound:
                continue
            if file == MANIFEST and place.path[0] != "seal" and "seal" in json.loads(path.read_text()):
                seal_anew_if_possible(path.parent)
            name = commands[(number + turn) % len(commands)]
            ended = one_message(call(*COMMANDS[name](copy / "board")))
            if ended.returncode == 0 and name in ("check", "verify") and value is MISSING:
                accepted.add(place)
            if name == "write" and ended.returncode == 0:
                for one, content in others.items():
                    one.write_bytes(content)
    assert all(place.optional for place in accepted)


def seal_anew_if_possible(folder):
    with suppress(KeyError, TypeError, AttributeError, FileNotFoundError):  # the list of files was forged
        seal_anew(folder)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("board.yaml", "the key 'title' appears twice (line"),
        (ENTRY, "the key 'signature' appears twice (line"),
        (MANIFEST, "the key 'signature' appears twice in one object"),
    ],
)
def test_a_key_that_stands_twice_is_refused(root, file, said):
    path = root / "board" / file
    text = path.read_text()
    line = next(line for line in text.splitlines() if re.match(r'\s*"?(title|signature)"?:', line))
    path.write_text(text.replace(line, f"{line}\n{line}", 1))
    for command in ("check", "verify"):
        ended = one_message(call(*COMMANDS[command](root / "board")))
        assert ended.returncode
        assert said in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<<: {name: other}\n", "YAML merge keys (<<) are not allowed"),
        ("x: &a 1\ny: *a\n", "aliases (*name) are not allowed"),
        ("accuracy: 1.0\n", "accuracy: this file cannot have a key with this name"),
    ],
)
def test_what_people_would_read_otherwise_is_refused(root, text, said):
    path = root / "board" / ENTRY
    path.write_text(path.read_text() + text)
    ended = call("board", "check", root / "board")
    assert (ended.returncode, said in ended.stdout) == (1, True), ended


@pytest.mark.slow
def test_every_field_of_board_json_that_is_wrong_gets_one_message(root):
    path = root / "board" / "board.json"
    sound = path.read_text()
    for place in places("board.json", Board):
        for value in WRONG:
            path.write_text(sound)
            try:
                edit_json(path, put(place, value))
            except (KeyError, IndexError, TypeError):
                continue
            if path.read_text() != sound:
                one_message(call("table", path))
    path.write_text(sound.replace('"title"', '"title": "x", "title"', 1))
    assert "the key 'title' appears twice" in call("table", path).stderr


def test_hostile_texts_are_inert_on_the_page(root):
    board = root / "board"
    said = HOSTILE.replace("\x1b", "\\x1b")  # in YAML, control characters must be escapes
    edit_yaml(board / "board.yaml", lambda content: content.update(
        title=HOSTILE, text=HOSTILE, source=HOSTILE, rules=[HOSTILE, said]))  # fmt: skip

    def entry(content):
        content["about"] |= dict.fromkeys(("licence", "training_data", "contact", "revision"), HOSTILE)

    edit_yaml(board / ENTRY, entry)
    checks = {"lstm": [{"level": "plausible", "by": HOSTILE, "on": "2026-01-02"}]}
    (board / "checks.yaml").write_text(yaml.safe_dump({"format": 1, "checks": checks}), "utf-8")
    assert call("board", "write", board).returncode == 0
    page = (board / "README.md").read_text()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", page)
    assert not re.search(r"(?<!\\)<", re.sub(r"(?<!\\)`[^`]*`", "", page))  # code is shown unchanged
    own_words, others = page.split("Suite: ")  # `text` is Markdown by design
    assert not re.search(r"(?<!\\)\[x(?<!\\)\]\(", others)
    (row,) = [
        line for line in others.partition("## The entries")[2].splitlines() if line.startswith("| lstm ")
    ]
    assert len(re.findall(r"(?<!\\)\|", row)) == 8  # seven cells
    assert own_words.count("\n# ") == 1  # of `text`
    assert others.count("\n# ") == 0
    assert wrong_with_board(board) == []


@pytest.mark.slow
@needs_posix
def test_hostile_names_are_inert_on_a_terminal(root):
    folder = root / "board" / "entries" / "lstm"
    with_key(folder, lambda key: key.update(model=HOSTILE))
    edit_json(folder / "manifest.json", lambda manifest: manifest.update({"more\x1b[2J\u202e": 1}))
    for sealed in (False, True):
        if sealed:
            seal_anew(folder)
        for command in ("verify", "check"):
            shown, _ = on_a_terminal(*COMMANDS[command](root / "board"), cwd=root)
            assert "\x1b[2J" not in shown
            assert "\u202e" not in shown


# Locations of files.
def test_a_link_is_not_written_through(root):
    page = root / "board" / "README.md"
    page.unlink()
    (root / "precious").write_text("mine")
    page.symlink_to(root / "precious")
    ended = one_message(call("board", "write", root / "board"))
    assert (ended.returncode, "README.md is a link" in ended.stderr) == (2, True)
    assert call("board", "add", root / "board", root / "run", "--name", "two").returncode == 2
    assert (root / "precious").read_text() == "mine"
    assert not (root / "board" / "entries" / "two").exists()


def test_an_entry_that_is_a_link_or_left_by_a_kill_is_named(root):
    entries = root / "board" / "entries"
    shutil.copytree(entries / "lstm", entries / "two.partial")
    assert wrong_with_board(root / "board") == ["two.partial was left by an interrupted change: remove it"]
    ended = call("board", "add", root / "board", root / "run", "--name", "two.partial")
    assert "cannot be the name of an entry" in ended.stderr
    shutil.move(entries / "two.partial", root / "two")
    (entries / "two").symlink_to(root / "two")
    assert "two: is not a folder" in wrong_with_board(root / "board")
    (entries / "two").unlink()
    manifest = entries / "lstm" / "manifest.json"
    shutil.move(manifest, root)
    manifest.symlink_to(root / "manifest.json")
    assert "lstm: manifest.json is a link" in wrong_with_board(root / "board")


@pytest.mark.parametrize("suite", ["../../../../etc/passwd", "/dev/zero", "a\nb"])
def test_a_board_whose_suite_is_none_gets_one_message(root, suite):
    edit_yaml(root / "board" / "board.yaml", lambda content: content.update(suite=suite))
    for command in COMMANDS.values():
        ended = one_message(call(*command(root / "board")))
        assert ended.returncode == 2


def test_evidence_that_is_cut_or_of_another_suite_is_named(root):
    folder = root / "board" / "entries" / "lstm"
    content = (folder / "evidence.parquet").read_bytes()
    (folder / "evidence.parquet").write_bytes(content[: len(content) // 2])
    seal_anew(folder)
    for command in COMMANDS.values():
        ended = one_message(call(*command(root / "board")))
        assert ended.returncode
        assert "not a Parquet file" in ended.stdout + ended.stderr


def test_an_entry_of_another_version_is_read_if_the_suite_is_the_same(root):
    folder = root / "board" / "entries" / "lstm"
    with_key(folder, lambda key: key.update(tseval="9.0.0"))
    edit_json(folder / "manifest.json", lambda manifest: manifest["versions"].update(tseval="9.0.0"))
    seal_anew(folder)
    assert call("board", "write", root / "board").returncode == 0
    assert wrong_with_board(root / "board") == []
    assert call("verify", root / "board", "--model", "bundled:lstm", "--rescore", "all").returncode == 0


@pytest.mark.slow
def test_entries_added_by_several_processes_at_once_are_all_there(root):
    names = [f"model-{i}" for i in range(3)]
    for number, name in enumerate(names):
        other = {"model": name, "fingerprint": f"{number:064x}"}
        shutil.copytree(root / "run", root / name)
        with_key(root / name, lambda key, other=other: key.update(other))
        seal_anew(root / name)
        print_anew(root / name)
    left = names
    while left:
        with ThreadPoolExecutor(len(left)) as pool:
            ended = [*pool.map(lambda name: installed("board", "add", root / "board", root / name), left)]
        failed = [name for name, one in zip(left, ended, strict=True) if one.returncode]
        for one in ended:
            assert not one.returncode or "another tseval command is changing this leaderboard" in one.stderr
        assert len(failed) < len(left), "one of those that start at once succeeds"
        left = failed
    assert wrong_with_board(root / "board") == []
    write_pages(root / "board", read_definition(root / "board"))
    assert {one.name for one in read_board(root / "board" / "board.json").models} == {"lstm", *names}
    assert [path for path in (root / "board").rglob("*") if path.name.endswith((".partial", ".lock"))] == []
