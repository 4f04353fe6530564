"""Tokenizers and templates of chats are tried in a process of their own, with limits.

Their files are small programs: one can ask for all memory, or never end. What the process cannot do within
its limits is refused; what it finds wrong otherwise is told by transformers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import LimitError
from tseval.files import how_to_raise, limits
from tseval.processes import python_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(__file__).with_name("tokenizer_trial.py")
WRONG, LONGEST_CHAT = 4, 1_000_000  # exit code of a program that met an error; characters
_begun: dict[Path, subprocess.Popen[bytes]] = {}
_lock = threading.Lock()  # models may be opened in several threads


@contextmanager
def begun_trial(path: Path) -> Iterator[None]:
    """Begin to try a tokenizer, while other things are imported; end the trial if nobody waits for it."""
    process = None
    with _lock:
        if path.is_file() and path not in _begun:
            process = _begun[path] = _start({"tokenizer": str(path)})
    try:
        yield
    finally:
        with _lock:
            waits = process is not None and _begun.get(path) is process
            if waits:
                del _begun[path]
        if process is not None and waits:
            process.kill()
            process.communicate()


def hold_trial(where: str, path: Path) -> None:
    """Wait for the end of a trial, begun or not.

    Raises:
        LimitError: The tokenizer takes more memory or time than it may.
    """
    with _lock:
        process = _begun.pop(path, None)
    if process is None and path.is_file():
        process = _start({"tokenizer": str(path)})
    if process is not None:
        _ended(process, f"{where}: its tokenizer")


@lru_cache(maxsize=16)
def rendered_chat(where: str, template: str, messages: str, tokens: str) -> str | None:
    """Render a template of chats; messages and special tokens are given as JSON. None if it raises anything.

    Raises:
        LimitError: It takes more memory or time than it may.
    """
    given = {"template": template, "messages": json.loads(messages), "tokens": json.loads(tokens)}
    return _ended(_start({**given, "characters": LONGEST_CHAT}), f"{where}: the chat template")


def _start(given: dict[str, object]) -> subprocess.Popen[bytes]:
    within = limits()
    process = subprocess.Popen(  # noqa: S603 - our own program, no shell
        [sys.executable, "-P", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=python_environment({"TOKENIZERS_PARALLELISM": "false"}),
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(
        json.dumps({**given, "bytes": within.trial_bytes, "seconds": within.trial_seconds}).encode()
    )
    process.stdin.close()
    process.stdin = None
    return process


def _ended(process: subprocess.Popen[bytes], what: str) -> str | None:
    try:
        said, _ = process.communicate(timeout=limits().trial_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        hint = how_to_raise("trial_seconds")
        raise LimitError(f"{what} takes longer than {limits().trial_seconds} seconds.\n  {hint}") from None
    if process.returncode == 0:
        return said.decode(errors="replace")
    if process.returncode == WRONG or os.name != "posix":
        return None
    hint = how_to_raise("trial_bytes")
    raise LimitError(f"{what} takes more memory than {limits().trial_bytes:,} bytes.\n  {hint}")
