"""Changes of a board killed at many writes: the same command completes them and leaves nothing behind."""

import hashlib
import json
import shutil

import pytest
from board_changes import COMMANDS, kill_command, make_boards
from in_process import call, refuse, succeed
from killing import in_a_process
from systems import needs_posix

pytestmark = needs_posix


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_boards(tmp_path_factory.mktemp("changes"))


@pytest.mark.slowest
@pytest.mark.parametrize("name", ["retract", "rename"])
def test_a_change_killed_at_some_writes_is_completed_by_the_same_command(name, made, tmp_path):
    found = kill_command(made, tmp_path / "points", name, 5)
    assert found["points"] > 10
    assert found["wrong"] == {}


@pytest.mark.slowest
def test_any_other_command_completes_an_interrupted_change_too(made, tmp_path):
    shutil.copytree(made / "start", tmp_path / "here")
    program = """
        import os, sys
        from in_process import call
        from tseval.boards import transaction
        transaction.write_pages = lambda *_: os.kill(os.getpid(), 9)
        call(*sys.argv[1:])
    """
    begin = f"import os\nos.chdir({str(tmp_path / 'here')!r})"
    with pytest.raises(AssertionError):
        in_a_process(begin + _dedented(program), *COMMANDS["rename"])
    here = tmp_path / "here"
    said = call("board", "check", "board", cwd=here).stdout
    assert "interrupted. To complete this change: tseval board write board" in said
    succeed("board", "write", "board", cwd=here)
    succeed("board", "check", "board", cwd=here)
    assert (here / "board/entries/two").is_dir()


def _dedented(text):
    return "\n" + "\n".join(line.strip() for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [
        {"action": "put", "path": "../outside", "source": "0"},
        {"action": "put", "path": "entries/../../outside", "source": "0"},
        {"action": "put", "path": "README.md", "source": "../../secret"},
        {"action": "move", "path": "entries/x", "source": "../start"},
        {"action": "remove", "path": ".."},
        {"action": "remove", "path": "entries/.."},
    ],
)
def test_a_plan_that_a_stranger_wrote_reaches_nothing_outside(step, made, tmp_path):
    shutil.copytree(made / "start", tmp_path / "here")
    board = tmp_path / "here/board"
    text = json.dumps({"command": [], "steps": [step], "pages": False}).encode()
    (board / ".lock").write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode())
    (board / ".change").mkdir()
    (board / ".change/0").write_text("planted")
    before = sorted(path for path in tmp_path.rglob("*"))
    assert (
        "lists changes to the leaderboard that tseval never makes" in refuse("board", "write", board).stderr
    )
    assert sorted(path for path in tmp_path.rglob("*")) == before
