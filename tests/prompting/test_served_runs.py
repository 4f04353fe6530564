"""Runs on a server's model: counted, saved as answers arrive, continued, and without the key in any file."""

import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from chat_servers import ChatServer, completion, send, shorter
from in_process import refuse, run_process, succeed, succeeded
from preloaded import start
from systems import needs_posix

from tseval.adapters import open_model
from tseval.evaluation import evaluate
from tseval.runs import read_run

KEY = "sk-very-secret-0123456789"


def run_on(server, pairs, out, *more, arguments="model=small"):
    """Return the arguments of a run on a server."""
    model = ["--model", f"prompt:{server.url}", "--model-args", arguments]
    return ["run", *model, "--suite", pairs, "--out", out, *more]


def test_a_run_asks_every_pair_in_both_orders_and_counts_what_follows(pairs, tmp_path):
    with ChatServer(shorter) as server:
        ended = succeed(*run_on(server, pairs, tmp_path / "run"))
    run = read_run(tmp_path / "run")
    assert len(server.asked) == 40
    assert {*server.asked.values()} == {1}
    # It answers with the shorter sentence, which is the better one in half of the pairs.
    assert (run.manifest.counts.correct, run.manifest.counts.tied, run.manifest.counts.undecidable) == (
        10,
        0,
        0,
    )
    assert "small: 40 requests: about " in ended.stderr
    body = server.bodies[0][1]
    assert server.bodies[0][0] == "/v1/chat/completions"
    assert body["model"] == "small"
    assert (body["temperature"], body["max_tokens"], body["stream"]) == (0, 5, False)
    protocol = run.manifest.key.protocol
    assert (protocol["served"], protocol["date"]) == ("small-1", "2025-10-09")  # as the server reports them
    for part in ("prompt:grammatical", "orders:both", "answer:text", "served:small-1", "date:2025-10-09"):
        assert part in run.manifest.signature.split("|")


@pytest.mark.parametrize(("number", "share"), [("1", 1.0), ("2", 0.0)])
def test_a_model_that_always_gives_one_number_is_undecided_by_order_everywhere(
    pairs, tmp_path, number, share
):
    with ChatServer(lambda prompt, times: f" **{number}**.") as server:
        succeed(*run_on(server, pairs, tmp_path / "run", "--quiet"))
    table = json.loads(succeed("table", tmp_path / "run", "--format", "json").stdout)
    (row,) = table["rows"]
    assert (row["n_tied"], row["n_correct"], row["n_undecidable"], row["accuracy"]) == (20, 0, 0, 0)
    assert row["share_of_1"] == table["columns"][0]["share_of_1"] == share


def test_an_answer_that_is_neither_is_counted_and_never_guessed(pairs, tmp_path):
    with ChatServer(lambda prompt, times: "Both." if "pilot" in prompt else shorter(prompt)) as server:
        ended = succeed(*run_on(server, pairs, tmp_path / "run"))
    counts = read_run(tmp_path / "run").manifest.counts
    assert (counts.correct, counts.tied, counts.undecidable) == (9, 0, 2)
    heading = ended.stdout.splitlines()[0]
    assert [*map(str.strip, heading.split("|"))][-4:-1] == [
        "Undecided by order",
        "No answer",
        "Share of answer 1",
    ]
    assert "2 have no answer" in ended.stdout


@pytest.mark.parametrize("parallel", [1, 8])
def test_no_more_requests_are_sent_at_a_time_than_the_user_says(pairs, tmp_path, parallel):
    # No request is answered before this many have arrived. More would arrive meanwhile if more were sent.
    gate = threading.Barrier(parallel)

    def reply(prompt, times):
        gate.wait(60)
        time.sleep(0.02)
        return shorter(prompt)

    with ChatServer(reply) as server:
        succeed(*run_on(server, pairs, tmp_path / "run", "--parallel", parallel))
    assert server.most_at_once == parallel


def test_answers_are_the_same_whatever_is_asked_side_by_side(pairs, tmp_path):
    for parallel in (1, 8):
        with ChatServer(shorter, seconds=0.003) as server:
            succeed(*run_on(server, pairs, tmp_path / str(parallel), "--parallel", parallel))
    one, eight = (read_run(tmp_path / str(parallel)) for parallel in (1, 8))
    assert one.load_verdicts().equals(eight.load_verdicts())


@needs_posix
@pytest.mark.slow
def test_a_killed_run_goes_on_without_asking_anything_that_was_answered(pairs, tmp_path):
    enough = threading.Event()

    def reply(prompt, times):
        if sum(server.answered.values()) >= 15:
            enough.set()
            if not is_over.is_set():
                is_over.wait(20)
        return shorter(prompt)

    is_over = threading.Event()
    with ChatServer(reply, seconds=0.01) as server:
        with Path(os.devnull).open("w") as nowhere:
            process = start(run_on(server, pairs, tmp_path / "run"), stdout=nowhere, stderr=nowhere)
        assert enough.wait(60)
        time.sleep(0.3)  # time to save the answers
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        answered = {prompt for prompt, n in server.answered.items() if n}
        n_saved = len((tmp_path / "run/parts/answers.jsonl").read_text().splitlines())
        assert n_saved == len(answered) >= 15
        is_over.set()
        time.sleep(0.3)
        before = Counter(server.asked)
        ended = succeed(*run_on(server, pairs, tmp_path / "run", "--resume"))
        assert f"small: {40 - n_saved} requests" in ended.stderr
        again = [prompt for prompt in answered if server.asked[prompt] > before[prompt]]
        assert again == []
        assert sum(server.asked.values()) - sum(before.values()) == 40 - n_saved
        counts = read_run(tmp_path / "run").manifest.counts
        assert (counts.correct, counts.resumed_sentences) == (10, n_saved)
        # A complete run sends no requests.
        ended = succeed(*run_on(server, pairs, tmp_path / "run", "--resume"))
        assert sum(server.asked.values()) - sum(before.values()) == 40 - n_saved
    with ChatServer(shorter) as server:
        succeed(*run_on(server, pairs, tmp_path / "whole"))
    whole, killed = (read_run(tmp_path / name) for name in ("whole", "run"))
    assert whole.load_verdicts().equals(killed.load_verdicts())


def test_a_damaged_line_of_saved_answers_is_asked_again_and_no_other(pairs, tmp_path):
    def reply(prompt, times):
        failing = sum(server.answered.values()) >= 10
        return (lambda handler: send(handler, 400, b"{}")) if failing and is_ill else shorter(prompt)

    is_ill = True
    with ChatServer(reply) as server:
        refuse(*run_on(server, pairs, tmp_path / "run", "--parallel", "1"))
        log = tmp_path / "run/parts/answers.jsonl"
        lines = log.read_text().splitlines()
        assert len(lines) == 10
        lines[3] = lines[3].replace('"text": "1"', '"text": "3"').replace('"text": "2"', '"text": "3"')
        log.write_text("\n".join([*lines, lines[0][:50]]))  # with a truncated last line
        is_ill, before = False, sum(server.asked.values())
        succeed(*run_on(server, pairs, tmp_path / "run", "--resume"))
        assert sum(server.asked.values()) - before == 31
    assert read_run(tmp_path / "run").manifest.counts.correct == 10


def test_a_run_is_continued_on_another_day_and_says_both(pairs, tmp_path):
    days = {"2025-10-09": 1_760_000_000, "2025-10-10": 1_760_100_000}

    def reply(prompt, times):
        n = sum(server.asked.values())
        if n == 21 and times == 1:
            return lambda handler: send(handler, 401, b"{}")
        content = json.loads(completion(shorter(prompt)))
        content["created"] = days["2025-10-09"] if n < 21 else days["2025-10-10"]
        return lambda handler: send(handler, 200, json.dumps(content).encode())

    with ChatServer(reply) as server:
        refuse(*run_on(server, pairs, tmp_path / "run", "--parallel", "1"))
        succeed(*run_on(server, pairs, tmp_path / "run", "--parallel", "1", "--resume"))
    assert read_run(tmp_path / "run").manifest.key.protocol["date"] == "2025-10-09/2025-10-10"


def everything_below(folder):
    """Return all content of the files in a folder, as bytes."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.slow
def test_the_key_is_sent_in_a_header_and_written_nowhere(pairs, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    home = tmp_path / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    arguments = "model=small,key_from=MY_KEY"
    leak = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}}).encode()

    def reply(prompt, times):
        if is_refusing:
            return lambda handler: send(handler, 401, leak)
        return lambda handler: send(handler, 200, completion(f"1 {KEY}", model=f"small-{KEY}"))

    with ChatServer(reply) as server:
        is_refusing = True
        texts = [refuse(*run_on(server, pairs, tmp_path / "run", arguments=arguments)).stderr]
        assert "Incorrect API key provided: ***" in texts[0]
        is_refusing = False
        ended = succeed(*run_on(server, pairs, tmp_path / "run", "--resume", "-v", arguments=arguments))
        texts += [ended.stdout, ended.stderr]
        ended = succeed("pair", "--model", f"prompt:{server.url}", "--model-args", arguments, "a", "b")
        texts += [ended.stdout, ended.stderr]
        model = ["--model", f"prompt:{server.url}", "--model-args", arguments]
        sweep = ["sweep", *model, "--suite", pairs, "--workers", "1", "--out", tmp_path / "sweep"]
        ended = succeeded(run_process(["tseval", *sweep]))
        texts += [ended.stdout, ended.stderr]
    suite = ["--suite", pairs]
    page = [*suite, "-o", tmp_path / "page.html"]
    for name, more in {"table": [], "verify": suite, "cite": [], "report": page, "items": suite}.items():
        ended = succeed(name, tmp_path / "run", *more)
        texts += [ended.stdout, ended.stderr]
    assert all(header["Authorization"] == f"Bearer {KEY}" for header in server.headers)
    assert KEY not in "".join(texts)
    assert KEY.encode() not in everything_below(tmp_path)
    assert {*read_run(tmp_path / "run").sentences["answer"]} == {"1 ***"}  # the files are compressed
    assert KEY not in repr(open_model(f"prompt:{server.url}", {"model": "small", "key_from": "MY_KEY"}).card)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (f"model=small,key_from={KEY}", "key_from: the value is not the name of an environment variable"),
        ("model=small,key_from=NO_SUCH_KEY", "the environment variable NO_SUCH_KEY is not set"),
        (f"model=small,api_key={KEY}", "a key on the command line can be read by others"),
    ],
)
def test_a_key_that_is_typed_is_refused_and_not_shown(pairs, tmp_path, arguments, problem):
    for command in ("run", "sweep"):
        more = ["--model", "prompt:http://127.0.0.1:1/v1", "--model-args", arguments, "--suite", pairs]
        ended = run_process(["tseval", command, *more, "--out", tmp_path / command])
        assert ended.returncode in {1, 2}
        assert problem in ended.stderr + ended.stdout
        assert KEY not in ended.stderr + ended.stdout


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (f"http://user:{KEY}@host/v1", "could hold a key"),
        (f"https://host/v1?key={KEY}", "could hold a key"),
        ("http://", "is not the address of a server"),
        ("http://host:0x/v1", "is not the address of a server"),
    ],
)
def test_an_address_that_may_hold_a_key_is_refused(pairs, tmp_path, url, problem):
    ended = refuse(
        "run", "--model", f"prompt:{url}", "--model-args", "model=m", "--suite", pairs, cwd=tmp_path
    )
    assert problem in ended.stderr
    assert KEY not in ended.stderr


def test_a_key_is_not_sent_without_encryption_to_another_network(pairs, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    arguments = "model=m,key_from=MY_KEY"
    url = "prompt:http://example.org/v1"
    ended = refuse("run", "--model", url, "--model-args", arguments, "--suite", pairs, cwd=tmp_path)
    assert "without encryption" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("prompt=likely", "the name of the model is missing"),
        ("model=m,modell=n", "Did you mean 'model'"),
        ("model=m,timeout=soon", "timeout=soon: the value must be a number"),
        ("model=m,parallel=0", "must be a number of at least 1"),
        ("model=m,max_tokens=1.5", "must be a whole number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(pairs, tmp_path, arguments, problem):
    url = "prompt:http://127.0.0.1:1/v1"
    ended = refuse("run", "--model", url, "--model-args", arguments, "--suite", pairs, cwd=tmp_path)
    assert problem in ended.stderr


def test_the_cost_is_estimated_where_prices_are_given(pairs, tmp_path):
    arguments = "model=small,price_in=2,price_out=8"
    with ChatServer(shorter) as server:
        ended = succeed(*run_on(server, pairs, tmp_path / "run", arguments=arguments))
    n_characters = sum(map(len, server.asked))
    (line,) = [line for line in ended.stderr.splitlines() if "requests" in line]
    n_tokens = int(line.partition("about ")[2].partition(" tokens")[0].replace(",", ""))
    assert n_characters / 4 <= n_tokens <= n_characters / 4 + 40 * 9
    cost = (n_tokens * 2 + 40 * 5 * 8) / 1e6
    assert line.endswith(f"a cost of about {cost:.2f}")


@needs_posix
@pytest.mark.slow
def test_a_terminal_is_asked_before_anything_is_sent_unless_yes_is_given(pairs, tmp_path):
    import pty  # noqa: PLC0415 - not on Windows

    def on_a_terminal(typed, *more):
        ours, theirs = pty.openpty()
        with open(os.devnull, "w") as nowhere:
            arguments = run_on(server, pairs, tmp_path / typed.strip(), *more)
            process = start(arguments, stdin=theirs, stdout=nowhere, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
                if b"[y/N]" in shown and typed:
                    os.write(ours, typed.encode())
                    typed = ""
        except OSError:
            pass  # the end of a terminal
        os.close(ours)
        return process.wait(), shown.decode()

    with ChatServer(shorter) as server:
        code, shown = on_a_terminal("n\n")
        assert (code, len(server.asked)) == (2, 0)
        assert "40 requests" in shown
        assert "nothing was sent" in shown
        assert not (tmp_path / "n").exists()
        assert on_a_terminal("y\n")[0] == 0
        assert len(server.asked) == 40
        code, shown = on_a_terminal("x\n", "--yes")
        assert code == 0
        assert "[y/N]" not in shown


def test_log_probabilities_of_a_server_are_compared_where_it_gives_them(pairs):
    def reply(prompt, times):
        number = shorter(prompt)
        other = "12".replace(number, "")
        top = [{"token": f" {number}", "logprob": -0.5}, {"token": number, "logprob": -2.0},
               {"token": other, "logprob": -1.9}, {"token": "The", "logprob": -0.1}]  # fmt: skip
        content = {"content": [{"token": "The", "logprob": -0.1, "top_logprobs": top}]}
        return lambda handler: send(handler, 200, completion("The", logprobs=content))

    with ChatServer(reply) as server:
        run = evaluate(
            open_model(f"prompt:{server.url}", {"model": "small", "answer": "probabilities"}), pairs
        )
    assert run.manifest.counts.correct == 10
    assert server.bodies[0][1]["logprobs"] is True
    chosen = run.sentences[["logprob_1", "logprob_2"]].max(axis=1)
    assert chosen.round(4).unique().tolist() == [-0.2986]  # log(exp(-.5) + exp(-2))


def test_a_server_without_log_probabilities_is_named(pairs, tmp_path):
    with ChatServer(shorter) as server:
        ended = refuse(*run_on(server, pairs, tmp_path / "run", arguments="model=small,answer=probabilities"))
    assert "gives no log-probabilities of its answers" in ended.stderr
    assert "answer=text" in ended.stderr
