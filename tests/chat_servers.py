"""Servers with the chat completions API: transformers' own, and one whose answers a test chooses."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SECONDS = 120  # to wait until a server answers


@contextmanager
def transformers_serve(folder):
    """Serve a model on this machine with `transformers serve`; return the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("transformers")
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    process = subprocess.Popen(
        [program, "serve", str(folder), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def _wait_for(url, process):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 - http, as above
                if response.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"{url} did not answer")


class ChatServer:
    """A server on this machine that answers each prompt with `reply` and counts requests.

    Attributes:
        reply: Takes a prompt and how many times it was sent. Returns the answer's text, or a function that
            takes the handler and answers.
        asked: How many times each prompt was sent.
        answered: How many times each prompt was answered with status 200.
    """

    def __init__(self, reply, model="small-1", seconds=0.0):
        self.reply, self.model, self.seconds = reply, model, seconds
        self.asked, self.answered, self.bodies, self.headers = Counter(), Counter(), [], []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server._answer(self, body)

            def log_message(self, *_):
                """Log nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                """Ignore connections that a test closes early."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler, body):
        prompt = body["messages"][-1]["content"]
        with self._lock:
            self.asked[prompt] += 1
            times = self.asked[prompt]
            self.bodies.append((handler.path, body))
            self.headers.append(dict(handler.headers))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.seconds:
                time.sleep(self.seconds)
            answer = self.reply(prompt, times)
        finally:
            # Count down first: a client may send its next request as soon as it has the answer.
            with self._lock:
                self.at_once -= 1
        if callable(answer):
            answer(handler)
            return
        with self._lock:
            self.answered[prompt] += 1
        send(handler, 200, completion(answer, self.model))


def completion(text, model="small-1", **more):
    """Return the body of an answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    return json.dumps({"id": "x", "object": "chat.completion", "created": 1_760_000_000, "model": model,
                       "choices": [choice]}).encode()  # fmt: skip


def send(handler, status, content, **headers):
    """Send a response."""
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


def sentences_in(prompt):
    """Return the first and the second sentence in a prompt of a bundled template."""
    lines = dict(line.split(". ", 1) for line in prompt.splitlines() if line[:3] in {"1. ", "2. "})
    return lines["1"], lines["2"]


def shorter(prompt, times=1):
    """Answer with the number of the shorter sentence, or with 1 if both have the same length."""
    first, second = sentences_in(prompt)
    return "2" if len(second) < len(first) else "1"
