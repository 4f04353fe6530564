"""Prompt models: hostile templates, chat servers that misbehave, saved answers that were changed."""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from attacks.bombs import LONG, TEMPLATES
from attacks.changed import mutated
from attacks.commands import tseval
from attacks.registry import attack
from attacks.servers import ANSWERS, serve

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-0123456789-secret"
ANSWER = {"model": "m-1", "choices": [{"message": {"content": "1"}, "logprobs": None}]}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
# What a server may send as an answer.
BODIES = (
    b"", b"{", b"[]", b"null", b'"' * 1000, b"[" * 100_000, b"\xff\xfe", b"<html></html>", b'{"choices": {}}',
    b'{"choices": [{"message": {"content": {"a": [1]}}}]}', b'{"choices": [{"message": {"content": null}}]}',
    b'{"choices": [null]}', b'{"choices": [{"message": []}]}', b"1" * 5_000, b'{"a": ' + b"9" * 5_000 + b"}",
    b'{"model": 7, "created": -1e999, "choices": [{"message": {"content": "1\\ud800\\u0000\\u001b[2J"}}]}',
    b'{"created": 99999999999999, "choices": [{"message": {"content": "1"}}]}', b"x" * 2_000_000,
    json.dumps({**ANSWER, "model": KEY}).encode(), json.dumps({"error": {"message": KEY}}).encode(),
)  # fmt: skip
STATUSES = (
    b"200 OK",
    b"429 Slow",
    b"500 Oh",
    b"401 No",
    b"302 Found",
    b"204 None",
    b"100 Continue",
    b"999 \xff",
)


@attack("prompt templates", cheap=True)
def template(draw: random.Random, here: Path) -> str | None:
    """Give a template that would take time or memory without end, or reach out of itself."""
    both = "{{ sentence_1 }} {{ sentence_2 }} "
    text = both + draw.choice([*TEMPLATES, *LONG]).replace(" x", " sentence_1").replace("(x", "(sentence_1")
    (here / "bomb.jinja").write_text(text)
    done = _run(here, "http://127.0.0.1:9/v1", "--prompt", "bomb.jinja")
    return "executed" if (here / "PLANTED").exists() else done


@attack("faulty chat servers", cheap=True)
def faulty(draw: random.Random, here: Path) -> str | None:
    """Ask a server that sends anything but an answer, or never ends; the key must be nowhere."""
    if draw.random() < 0.5:
        begin, again = draw.choice(ANSWERS)
    else:
        body = draw.choice(BODIES)
        body = mutated(draw, body) if body and draw.random() < 0.3 else body
        length = draw.choice([len(body), len(body) + 100, 0, 10**12])
        status = HEAD.replace(b"200 OK", draw.choice(STATUSES))
        begin, again = status + str(length).encode() + b"\r\nRetry-After: 0\r\n\r\n" + body, b""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        asked: list[int] = []
        threading.Thread(target=serve, args=(listening, begin, again, asked), daemon=True).start()
        problem = _run(here, f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
    held = [path for path in here.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    return problem or (f"the key is in {held[0].name}" if held else None)


@attack("saved answers")
def saved(draw: random.Random, here: Path) -> str | None:
    """Change the answers of a run that goes on: what is damaged is asked again, nothing else changes."""
    with _sound_server() as (url, left):
        left[0] = 6
        _run(here, url)
        log = here / "asked/parts/answers.jsonl"
        if not log.is_file():
            return "no answers were saved"
        log.write_bytes(mutated(draw, log.read_bytes()))
        left[0] = 100
        problem = _run(here, url, "--resume")
    if problem:
        return problem
    rows = (here / "asked/table.csv").read_text("utf-8").splitlines()
    counts = dict(zip(rows[0].split(","), rows[1].split(","), strict=True))
    return None if counts["n_tied"] == "8" else f"not 8 ties: {counts}"


def _run(here: Path, url: str, *more: str) -> str | None:
    """Run a prompt model on eight pairs; say what is wrong with how it ended."""
    rows = [{"good": f"The {n} dogs laugh.", "bad": f"The {n} dogs laughs."} for n in range(8)]
    (here / "asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = "model=m,key_from=ATTACK_KEY,timeout=1,retries=1,parallel=4"
    model = ("--model", f"prompt:{url}", "--model-args", settings)

    def set_key() -> None:
        os.environ["ATTACK_KEY"] = KEY

    done = tseval(
        "run", *model, "--suite", "./asked.jsonl", "--out", "asked", *more, cwd=here, before=set_key
    )
    if KEY in done.out + done.err:
        return "the key was printed"
    return f"took {done.seconds:.0f} s" if done.seconds > 60 else done.fault()


@contextmanager
def _sound_server() -> Iterator[tuple[str, list[int]]]:
    """Serve the answer 1 to as many requests as are left, then a refusal."""
    left = [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            left[0] -= 1
            content = json.dumps(ANSWER).encode()
            self.send_response(200 if left[0] >= 0 else 400)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", left
        server.shutdown()
