"""Server faults: each ends in a retry or one message; no answer is lost or requested twice."""

import itertools
import json
import socket
import struct
import time

import pytest
from chat_servers import ChatServer, completion, send, shorter
from in_process import refuse, succeed

from tseval.runs import read_run


def status(code, content=b"{}", **headers):
    """Return a reply with this status."""
    return lambda handler: send(handler, code, content, **headers)


def half(handler):
    """Announce more bytes than are sent, and close the connection."""
    content = completion("1")
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content) + 50))
    handler.end_headers()
    handler.wfile.write(content)
    handler.wfile.flush()
    handler.close_connection = True


def half_json(handler):
    """Send the beginning of JSON as a complete answer."""
    send(handler, 200, completion("1")[:40])


def closed(handler):
    """Close the connection without sending a byte."""
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def hang(handler):
    """Send nothing for longer than the client waits."""
    time.sleep(1.5)
    handler.close_connection = True


def drip(handler):
    """Send a byte at intervals, so that no single wait is long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(20):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


PASSING = {
    "500": status(500), "502": status(502, b"<html>Bad gateway</html>"), "503": status(503, Retry_After="0"),
    "429": status(429, b'{"error": {"message": "slow down"}}', Retry_After="0.2"), "half an answer": half,
    "half of JSON": half_json, "no JSON": status(200, b"<html>Welcome</html>"), "nothing": status(200, b""),
    "no choices": status(200, b'{"choices": []}'), "a list": status(200, b"[1]"), "closed": closed,
    "hang": hang, "drip": drip, "nested": status(200, b"[" * 100_000),
}  # fmt: skip


def run_on(server, pairs, out, *more, arguments=""):
    """Return the arguments of a run on a server, with short waits."""
    settings = f"model=small,timeout=0.7{arguments}"
    model = ["--model", f"prompt:{server.url}", "--model-args", settings]
    return ["run", *model, "--suite", pairs, "--out", out, "--parallel", "4", *more]


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_repeated_and_loses_nothing(pairs, tmp_path, fault):
    ill = {3, 4, 11}  # the questions, by order of arrival

    def reply(prompt, times):
        place = list(server.asked).index(prompt)
        return PASSING[fault] if place in ill and times == 1 else shorter(prompt)

    with ChatServer(reply) as server:
        succeed(*run_on(server, pairs, tmp_path / "run"))
    assert sum(server.asked.values()) == 43
    assert {*server.answered.values()} == {1}
    counts = read_run(tmp_path / "run").manifest.counts
    assert (counts.correct, counts.undecidable) == (10, 0)


MESSAGES = {
    "500": "the server answered with the status 500", "502": "status 502 (<html>Bad gateway</html>)",
    "429": "status 429 (slow down)", "half an answer": "the connection failed", "half of JSON": "is not JSON",
    "no JSON": "the answer is not JSON (<html>Welcome</html>)", "no choices": "has no choices[0].message",
    "closed": "the connection failed", "hang": "no answer within 0.7 seconds",
    "drip": "no answer within 0.7 seconds",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fault", MESSAGES)
def test_a_fault_that_stays_ends_in_one_message_and_answers_before_it_are_kept(pairs, tmp_path, fault):
    def reply(prompt, times):
        return PASSING[fault] if is_ill and list(server.asked).index(prompt) >= 12 else shorter(prompt)

    is_ill = True
    with ChatServer(reply) as server:
        ended = refuse(*run_on(server, pairs, tmp_path / "run", arguments=",retries=1"))
        assert MESSAGES[fault] in ended.stderr
        assert "2 attempts" in ended.stderr or "1 attempt" in ended.stderr or fault == "429"
        assert "--resume" in ended.stderr or "timeout" in ended.stderr
        answered = set(server.answered)
        assert len(answered) == 12
        is_ill = False
        before = dict(server.asked)
        succeed(*run_on(server, pairs, tmp_path / "run", "--resume"))
        assert [prompt for prompt in answered if server.asked[prompt] > before[prompt]] == []
    assert read_run(tmp_path / "run").manifest.counts.correct == 10


FINAL = {
    "wrong model name": (
        404,
        {"error": {"message": "no model `smal`"}},
        "--model-args model=NAME",
    ),
    "wrong key": (401, {"error": {"message": "no such key"}}, "--model-args key_from"),
    "not allowed": (403, {"detail": "not you"}, "--model-args key_from"),
    "wrong request": (400, {"error": "temperature is not supported"}, "docs/ask-a-chat-model.md"),
    "moved": (301, {}, "Check the address"),
}


@pytest.mark.parametrize("fault", FINAL)
def test_a_refusal_is_not_repeated_and_says_what_to_change(pairs, tmp_path, fault):
    code, content, advice = FINAL[fault]
    with ChatServer(lambda prompt, times: status(code, json.dumps(content).encode())) as server:
        ended = refuse(*run_on(server, pairs, tmp_path / "run"))
    assert f"status {code}" in ended.stderr
    assert advice in ended.stderr
    assert len(server.asked) <= 4
    assert {*server.asked.values()} == {1}


def test_an_answer_of_ten_megabytes_is_not_read(pairs, tmp_path):
    huge = completion("1" * 10**7)
    with ChatServer(lambda prompt, times: status(200, huge)) as server:
        ended = refuse(*run_on(server, pairs, tmp_path / "run"))
    assert "an answer of more than 1,000,000 bytes" in ended.stderr
    assert "TSEVAL_LIMITS=answer_bytes=2M" in ended.stderr


def test_a_wait_that_the_server_asks_for_holds_for_all_requests(pairs, tmp_path):
    times_of = []

    def reply(prompt, times):
        times_of.append(time.monotonic())
        if len(times_of) == 5:
            return status(429, Retry_After="1.0")
        return shorter(prompt)

    with ChatServer(reply) as server:
        succeed(*run_on(server, pairs, tmp_path / "run"))
    # The requests already sent are answered; after that, none for a second.
    gaps = [after - before for before, after in itertools.pairwise(times_of)]
    assert max(gaps) > 0.9
    assert sum(server.asked.values()) == 41


def test_a_server_that_asks_to_wait_for_an_hour_ends_the_run_with_its_answers_kept(pairs, tmp_path):
    with ChatServer(lambda prompt, times: status(429, Retry_After="3600")) as server:
        started = time.monotonic()
        ended = refuse(*run_on(server, pairs, tmp_path / "run"))
    assert time.monotonic() - started < 30
    assert "status 429" in ended.stderr


def test_a_server_that_changes_its_model_in_the_middle_ends_the_run(pairs, tmp_path):
    def reply(prompt, times):
        model = "small-1" if list(server.asked).index(prompt) < 20 else "small-2"
        return status(200, completion(shorter(prompt), model=model))

    with ChatServer(reply) as server:
        ended = refuse(*run_on(server, pairs, tmp_path / "run", "--parallel", "1"))
    assert "'small-2', but earlier in this run as 'small-1'" in ended.stderr


def test_no_server_at_all_is_one_message(pairs, tmp_path):
    with ChatServer(shorter) as server:
        url = server.url
    settings = "model=small,retries=0"
    model = ["--model", f"prompt:{url}", "--model-args", settings]
    ended = refuse("run", *model, "--suite", pairs, "--out", tmp_path / "run")
    assert "cannot connect to the server" in ended.stderr
    assert "Start the server" in ended.stderr


CONTROL = '1\x00\x07\x1b[2J\x1b]0;title\x07\u202e\ud800</script><b>&"\ufdd1'


def test_control_characters_of_an_answer_reach_no_terminal_and_no_page(pairs, tmp_path):
    with ChatServer(lambda prompt, times: status(200, completion(CONTROL, model=f"m{CONTROL}"))) as server:
        ended = succeed(*run_on(server, pairs, tmp_path / "run", "-v"))
        pair = succeed("pair", "--model", f"prompt:{server.url}", "--model-args", "model=small", "a", "b")
    shown = [ended.stdout, ended.stderr, pair.stdout, pair.stderr]
    for name in ("table", "verify", "cite", "items"):
        more = ["--suite", pairs] if name in {"verify", "items"} else []
        ended = succeed(name, tmp_path / "run", *more)
        shown += [ended.stdout, ended.stderr]
    succeed("report", tmp_path / "run", "--suite", pairs, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "</script><b>" not in page
    for text in (*shown, page):
        assert not set(text) & set("\x00\x07\x1b\u202e")
    assert {*read_run(tmp_path / "run").sentences["answer"]} == {CONTROL.replace("\ud800", "?")}


def test_a_long_answer_is_cut_and_read_as_far_as_it_is_kept(pairs, tmp_path):
    with ChatServer(lambda prompt, times: f"{shorter(prompt)}. {'Because. ' * 100} 1 2") as server:
        succeed(*run_on(server, pairs, tmp_path / "run"))
    run = read_run(tmp_path / "run")
    assert {*map(len, run.sentences["answer"])} == {200}
    assert run.manifest.counts.correct == 10
    assert "20 verdicts" in succeed("verify", tmp_path / "run", "--suite", pairs).stdout
