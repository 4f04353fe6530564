"""Servers that a board names as the place of evidence: slow ones, and those of a private network."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import yaml

from attacks.commands import tseval
from attacks.prepared import BOARD
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from pathlib import Path

ANSWERS = (
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    (b"HTTP/1.1 200 OK\r\nX: ", b"y"), (b"HTTP/1.1 200 OK\r\n\r\n", b"z"), (b"", b""),
    (b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n", b""), (b"\0" * 100, b"\0"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nz\r\n"),
)  # fmt: skip
SECONDS = 3


@attack("slow and private servers")
def server(draw: random.Random, here: Path) -> str | None:
    """Fetch evidence from a server that never ends, or from one that the user did not name."""
    begin, again = draw.choice(ANSWERS)
    is_named = draw.random() < 0.7
    asked: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening, begin, again, asked), daemon=True).start()
        host = draw.choice(["127.0.0.1", "localhost"])
        url = f"http://{host}:{listening.getsockname()[1]}/evidence.parquet"
        _move_evidence(here / BOARD / "entries/one", url)

        def name_it() -> None:
            os.environ["TSEVAL_LIMITS"] = f"download_seconds={SECONDS}"
            os.environ["TSEVAL_PRIVATE_HOSTS"] = "127.0.0.1,localhost" if is_named else ""

        done = tseval("board", "check", BOARD, cwd=here, before=name_it)
    if asked and not is_named:
        return "a private address was asked"
    return f"took {done.seconds:.0f} s" if done.seconds > 10 * SECONDS else done.fault((1, 2))


def serve(listening: socket.socket, begin: bytes, again: bytes, asked: list[int]) -> None:
    """Answer every connection in the same way, and note that there was one."""
    with suppress(OSError):
        while True:
            client = listening.accept()[0]
            asked.append(1)
            threading.Thread(target=_answer, args=(client, begin, again), daemon=True).start()


def _answer(client: socket.socket, begin: bytes, again: bytes) -> None:
    with suppress(OSError), client:
        client.recv(4096)
        client.sendall(begin)
        while True:
            client.sendall(again)
            time.sleep(0.01)


def _move_evidence(entry: Path, url: str) -> None:
    """Say that the evidence of an entry is at an address."""
    from hashlib import sha256  # noqa: PLC0415 - here alone

    content = (entry / "evidence.parquet").read_bytes()
    said = yaml.safe_load((entry / "entry.yaml").read_text("utf-8"))
    said["evidence"] = {"url": url, "sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (entry / "entry.yaml").write_text(yaml.safe_dump(said), "utf-8")
    (entry / "evidence.parquet").unlink()
