"""Changes of a board killed at every write: the same command completes them and leaves nothing behind."""

import pytest
from board_changes import COMMANDS, kill_command, make_boards
from systems import needs_posix

pytestmark = [pytest.mark.slowest, needs_posix]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_boards(tmp_path_factory.mktemp("changes"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_change_killed_at_any_write_is_completed_by_the_same_command(name, made, tmp_path):
    found = kill_command(made, tmp_path / "points", name, 1)
    assert found["points"] > (3 if name == "write" else 10)
    assert found["wrong"] == {}
