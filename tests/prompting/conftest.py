"""A suite of pairs that a server can answer by sentence length."""

import json

import pytest

WORDS = [
    "author", "pilot", "guard", "surgeon", "farmer", "teacher", "dancer", "banker", "senator", "mechanic",
]  # fmt: skip


@pytest.fixture(scope="session")
def pairs(tmp_path_factory):
    """Write twenty pairs; in half of them, the better sentence is the shorter one."""
    path = tmp_path_factory.mktemp("data") / "pairs.jsonl"
    rows = []
    for word in WORDS:
        rows.append({"good": f"The {word} laughs.", "bad": f"The {word} are laughs."})
        rows.append({"good": f"The {word}s have laughed.", "bad": f"The {word}s laughs."})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
