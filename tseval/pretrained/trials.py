"""Trials of tokenizers and chat templates in separate processes with limits.

Their files are small programs, which may request all memory, or never end. A file that exceeds the limits in
its process is refused. Other faults are reported by transformers.
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
WRONG, LONGEST_CHAT = 4, 1_000_000  # exit code after an error in the program; characters
_begun: dict[Path, subprocess.Popen[bytes]] = {}
_lock = threading.Lock()  # several threads may open models


@contextmanager
def begun_trial(path: Path) -> Iterator[None]:
    """Start the trial of a tokenizer, to run during imports; stop it if nobody waits for it."""
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
    """Wait for the end of a trial; start it if necessary.

    Raises:
        LimitError: The tokenizer exceeds the limits on memory or time.
    """
    with _lock:
        process = _begun.pop(path, None)
    if process is None and path.is_file():
        process = _start({"tokenizer": str(path)})
    if process is not None:
        _ended(process, f"{where}: its tokenizer")


@lru_cache(maxsize=16)
def rendered_chat(where: str, template: str, messages: str, tokens: str) -> str | None:
    """Render a chat template, with messages and special tokens as JSON; None if the template raises an error.

    Raises:
        LimitError: The template exceeds the limits on memory or time.
    """
    request = {"template": template, "messages": json.loads(messages), "tokens": json.loads(tokens)}
    return _ended(_start({**request, "characters": LONGEST_CHAT}), f"{where}: the chat template")


def _start(given: dict[str, object]) -> subprocess.Popen[bytes]:
    bounds = limits()
    process = subprocess.Popen(  # noqa: S603 - our own program, no shell
        [sys.executable, "-P", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=python_environment({"TOKENIZERS_PARALLELISM": "false"}),
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(
        json.dumps({**given, "bytes": bounds.trial_bytes, "seconds": bounds.trial_seconds}).encode()
    )
    process.stdin.close()
    process.stdin = None
    return process


def _ended(process: subprocess.Popen[bytes], what: str) -> str | None:
    try:
        output, _ = process.communicate(timeout=limits().trial_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        hint = how_to_raise("trial_seconds")
        raise LimitError(f"{what} takes longer than {limits().trial_seconds} seconds.\n  {hint}") from None
    if process.returncode == 0:
        return output.decode(errors="replace")
    if process.returncode == WRONG or os.name != "posix":
        return None
    hint = how_to_raise("trial_bytes")
    raise LimitError(f"{what} takes more memory than {limits().trial_bytes:,} bytes.\n  {hint}")
