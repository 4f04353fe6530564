"""Boards: changes that are killed, and fields that are no links, dates or names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from attacks.commands import die_at, tseval
from attacks.prepared import BOARD
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

CALLS = 60  # that change the file system, about as many as a change makes
CHANGES = (
    ("board", "add", BOARD, "expanded-pairs", "--name", "two", "--replace", "one"),
    ("board", "add", BOARD, "expanded-pairs", "--name", "one", "--replace", "one"),
    ("board", "add", BOARD, "expanded-pairs", "--name", "two"),
    ("board", "rename", f"{BOARD}/entries/one", "other"),
    ("board", "retract", f"{BOARD}/entries/one", "--reason", "It knew the suite."),
    ("board", "write", BOARD),
    ("board", "new", "fresh", "--suite", "../pairs.tsv"),
    ("verify", f"{BOARD}/entries/one", "--model", "model.pt", "--record", "Ada"),
)  # fmt: skip


@attack("kill a change of a board", cheap=True)
def change(draw: random.Random, here: Path) -> str | None:
    """Kill a command that changes a board, once or several times; then the same command completes it."""
    words = draw.choice(CHANGES)
    for _ in range(draw.randint(1, 3)):
        killed = tseval(*words, cwd=here, before=die_at(draw.randint(1, CALLS)))
        if killed.code >= 0:
            break
    else:
        killed = tseval(*words, cwd=here)
    if killed.code:
        return f"{' '.join(words)}: not completed: {killed.err[-300:]}"
    for board in [path.parent for path in here.glob("*/board.yaml") if (path.parent / "entries").is_dir()]:
        if board.name in (BOARD, "fresh"):
            done = tseval("board", "check", board.name, cwd=here)
            if done.code:
                return f"{' '.join(words)}: {done.out[-300:]}{done.err[-300:]}"
            if left := [path.name for path in board.rglob("*") if path.name in (".change", ".lock")]:
                return f"{' '.join(words)}: left {left}"
    return None


TEXTS = ("javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<script>alert(1)</script>",
         "vbscript:x", "https://x.org/\" onclick=\"alert(1)", "https://x.org/><script>alert(1)</script>",
         "</td><script>alert(1)</script>", "| a | b\n| c", "[x](javascript:alert(1))", "\x1b]0;x\x07",
         "2026-99-99", "\\write18{id}", "]]><script>", "$(id)", "`id`")  # fmt: skip


@attack("hostile fields of a board", cheap=True)
def fields(draw: random.Random, here: Path) -> str | None:
    """Put scripts where links, dates, addresses and names of a board are."""
    board, text = here / BOARD, draw.choice(TEXTS)
    edits: list[Callable[[], object]] = [
        lambda: _edit(board / "board.yaml", draw.choice(["address", "renews", "renewed_by", "source"]), text),
        lambda: _edit(board / "board.yaml", "authors", [text]),
        lambda: _edit(board / "checks.yaml", "retracted", {"one": {"reason": text, "on": "2026-01-02"}}),
        lambda: _edit(board / "checks.yaml", "retracted", {"one": {"reason": "x", "on": text, "link": None}}),
        lambda: _edit(
            board / "checks.yaml", "retracted", {"one": {"reason": "x", "on": "2026-01-02", "link": text}}
        ),
        lambda: _edit(board / "checks.yaml", "checks", {"one": [{"level": "whole", "by": text, "on": text}]}),
        lambda: _edit(board / "entries/one/entry.yaml", "aliases", [text]),
        lambda: _edit(
            board / "entries/one/entry.yaml", "aliases", [f"a{i}" for i in range(draw.randint(101, 50_000))]
        ),
        lambda: (board / "entries/one").rename(board / "entries" / draw.choice(["CON", "one.", "nul.x"])),
    ]
    draw.choice(edits)()
    for words in (
        ("board", "check", BOARD),
        ("board", "write", BOARD),
        ("board", "build", BOARD, "-o", "site"),
    ):
        if fault := tseval(*words, cwd=here).fault((0, 1, 2)):
            return fault
    pages = [path.read_text("utf-8") for path in (here / "site").rglob("*") if path.is_file()]
    pages.append((board / "README.md").read_text("utf-8"))
    for page in pages:
        if 'href="javascript:' in page.lower() or "<link>javascript:" in page.lower():
            return "a link runs a script"
        if "<script>alert(1)" in page.replace("\\<", ""):
            return "a script is in a page"
    return None


def _edit(file: Path, name: str, value: object) -> None:
    content = yaml.safe_load(file.read_text("utf-8")) if file.exists() else {"format": 1}
    file.write_text(yaml.safe_dump({**content, name: value}), "utf-8")
