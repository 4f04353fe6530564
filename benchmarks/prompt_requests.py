"""Measure the speed of requests to a chat server: 1,000 pairs, one or eight requests at the same time.

The server is another process on this machine. It takes some milliseconds for each answer, like a small model
on a GPU, and answers any number of requests at the same time.

    python benchmarks/prompt_requests.py
    python benchmarks/prompt_requests.py --pairs 100 --milliseconds 20
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from tseval.adapters import open_model
from tseval.evaluation import evaluate
from tseval.suites import load_suite

PARALLEL = (1, 8)
LEAST = 6.0  # smallest ratio of speeds that passes
# Answers with the same number every time, some milliseconds after each request.
SERVER = """
import asyncio, json, sys

ANSWER = json.dumps({"model": "fast", "choices": [{"message": {"content": "1"}}]}).encode()
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(ANSWER)

async def serve(reader, writer):
    while head := await reader.readuntil(b"\\r\\n\\r\\n"):
        (length,) = [line for line in head.split(b"\\r\\n") if line.lower().startswith(b"content-length:")]
        await reader.readexactly(int(length.split(b":")[1]))
        await asyncio.sleep(float(sys.argv[1]) / 1000)
        writer.write(HEAD + ANSWER)

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def measure(n_pairs: int, milliseconds: float) -> dict[int, float]:
    """Return the seconds of a run for each number of parallel requests."""
    seconds = {}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(milliseconds)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert server.stdout is not None
    url = f"prompt:http://127.0.0.1:{int(server.stdout.readline())}/v1"
    try:
        with tempfile.TemporaryDirectory() as folder:
            pairs = Path(folder, "pairs.jsonl")
            rows = [{"good": f"Author {i} laughs.", "bad": f"Author {i} laugh."} for i in range(n_pairs)]
            pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
            suite = load_suite(pairs)
            for parallel in PARALLEL:
                model = open_model(url, {"model": "fast", "parallel": str(parallel)})
                started = time.perf_counter()
                run = evaluate(model, suite, out=Path(folder, f"run-{parallel}"))
                seconds[parallel] = time.perf_counter() - started
                assert run.manifest.counts.tied == n_pairs
    finally:
        server.kill()
        server.wait()
    return seconds


@click.command(help=__doc__.partition("\n")[0])
@click.option("--pairs", default=1_000, show_default=True, help="Number of pairs.")
@click.option("--milliseconds", default=25.0, show_default=True, help="Time of the server for an answer.")
def main(pairs: int, milliseconds: float) -> None:
    """Measure, print, and fail if eight side by side are not fast enough."""
    seconds = measure(pairs, milliseconds)
    for parallel, took in seconds.items():
        rate = 2 * pairs / took
        click.echo(f"{parallel} at a time: {took:.1f} s, {rate:.0f} requests per second")
    ratio = seconds[PARALLEL[0]] / seconds[PARALLEL[-1]]
    click.echo(f"{PARALLEL[-1]} at a time are {ratio:.1f} times as fast as one by one (at least {LEAST:g})")
    if pairs >= 1_000 and ratio < LEAST:
        sys.exit(1)


if __name__ == "__main__":
    main()
