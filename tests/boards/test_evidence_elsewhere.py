"""Evidence at a web address: downloaded from a real server, checked against its digest, and cached."""

import json
import shutil
import threading
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from in_process import call

from tseval.adapters import open_model
from tseval.boards.check import wrong_with_board
from tseval.boards.definition import LONGEST_TEXT
from tseval.boards.folder import new_board
from tseval.downloads import PRIVATE
from tseval.evaluation import evaluate
from tseval.evidence import LARGEST_EVIDENCE, stored_evidence
from tseval.runs import read_run
from tseval.suites import load_suite

PAIRS = [("the author laughs .", "the author laugh ."), ("the pilots smile .", "the pilots smiles .")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a board next to its pairs, whose entry has its evidence on the server, and the entry's run."""
    root = tmp_path_factory.mktemp("elsewhere")
    lines = (json.dumps({"sentence_good": good, "sentence_bad": bad, "n": 1}) + "\n" for good, bad in PAIRS)
    (root / "pairs.jsonl").write_text("".join(lines))
    evaluate(open_model("bundled:lstm"), load_suite(root / "pairs.jsonl"), out=root / "run")
    new_board(root / "board", "../pairs.jsonl")
    server = Server(root / "served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PRIVATE, "127.0.0.1")
        patch.setenv("XDG_CACHE_HOME", str(root / "cache"))
        done = call("board", "add", root / "board", root / "run", "--evidence", server.at("/lstm.parquet"))
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.endswith(f".parquet at {server.at('/lstm.parquet')}")
    yield root, server, Path(said.removeprefix("put ").partition(" at ")[0]).read_bytes()
    server.end()


class Server:
    """A file server that records its requests; `/away` redirects to `leads_to`."""

    def __init__(self, served):
        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(handler):  # noqa: N805 - `self` is the server
                self.asked.append(handler.path)
                if handler.path == "/away":
                    handler.send_response(302)
                    handler.send_header("Location", self.leads_to)
                    handler.end_headers()
                else:
                    super(Handler, handler).do_GET()

        self.asked, self.served, self.leads_to = [], served, ""
        self.real = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=served))
        threading.Thread(target=self.real.serve_forever, daemon=True).start()

    def at(self, path):
        return f"http://127.0.0.1:{self.real.server_port}{path}"

    def end(self):
        self.real.shutdown()
        self.real.server_close()


@pytest.fixture
def server(made):
    """Return the server, with the evidence on it."""
    _, server, content = made
    shutil.rmtree(server.served, ignore_errors=True)
    server.served.mkdir()
    (server.served / "lstm.parquet").write_bytes(content)
    server.asked.clear()
    return server


@pytest.fixture
def board(made, server, tmp_path, monkeypatch):
    """Copy the board, and set an empty cache."""
    monkeypatch.setenv(PRIVATE, "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("board", "run"):
        shutil.copytree(made[0] / name, tmp_path / name)
    shutil.copy(made[0] / "pairs.jsonl", tmp_path)
    return tmp_path / "board"


def entry_of(board):
    return yaml.safe_load((board / "entries/lstm/entry.yaml").read_text())


def change(board, **evidence):
    entry = entry_of(board)
    entry["evidence"] |= evidence
    (board / "entries/lstm/entry.yaml").write_text(yaml.safe_dump(entry))


@pytest.mark.slow
def test_evidence_elsewhere_is_fetched_once_and_then_works_offline(board, server):
    content = (server.served / "lstm.parquet").read_bytes()
    assert entry_of(board)["evidence"] == {
        "url": server.at("/lstm.parquet"), "sha256": sha256(content).hexdigest(), "bytes": len(content),
    }  # fmt: skip
    assert {path.name for path in (board / "entries/lstm").iterdir()} == {"entry.yaml", "manifest.json"}
    verified = call("verify", board)
    assert (verified.returncode, "plausible" in verified.stdout) == (0, True)
    assert server.asked == ["/lstm.parquet"]
    (server.served / "lstm.parquet").unlink()
    assert wrong_with_board(board) == []
    table = call("table", board, "--by", "n")
    assert (table.returncode, table.stdout) == (0, call("table", board.parent / "run", "--by", "n").stdout)
    assert read_run(board / "entries/lstm").table().equals(read_run(board.parent / "run").table())
    assert server.asked == ["/lstm.parquet"]


def test_damage_in_the_cache_is_fetched_again(board, server):
    assert call("verify", board).returncode == 0
    kept = stored_evidence(entry_of(board)["evidence"]["sha256"])
    kept.write_bytes(b"PAR1")
    assert call("verify", board).returncode == 0
    assert server.asked == ["/lstm.parquet"] * 2


def test_another_file_at_the_address_is_refused_and_not_kept(board, server):
    file = server.served / "lstm.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    for command in (("board", "check"), ("verify",)):
        done = call(*command, board)
        assert done.returncode == 1
        assert "is not the evidence of the entry: it has" in done.stdout
    table = call("table", board, "--by", "n")
    assert (table.returncode, "is not the evidence of the entry" in table.stderr) == (2, True)
    assert not stored_evidence(entry_of(board)["evidence"]["sha256"]).exists()


def test_a_larger_file_is_read_no_further_than_it_may_be(board, server):
    size = entry_of(board)["evidence"]["bytes"]
    with (server.served / "lstm.parquet").open("ab") as file:
        file.truncate(LARGEST_EVIDENCE * 16)  # a sparse file, which takes no disk space
    (found,) = wrong_with_board(board)
    assert f"it has more than {size:,} bytes" in found


def test_what_cannot_be_had_is_one_message_that_says_where_to_put_it(board, server):
    (server.served / "lstm.parquet").rename(server.served / "kept")
    (found,) = wrong_with_board(board)
    assert "tseval cannot download the evidence from http://127.0.0.1" in found
    assert "File not found" in found
    verified = call("verify", board)  # not wrong: the evidence cannot be checked
    assert (verified.returncode, "tseval cannot download the evidence" in verified.stderr) == (2, True)
    table = call("table", board)
    place = stored_evidence(entry_of(board)["evidence"]["sha256"])
    assert (
        table.returncode,
        f"copy the file from another machine to {place}" in table.stderr.replace("\n", ""),
    ) == (2, True)
    place.parent.mkdir(parents=True, exist_ok=True)
    (server.served / "kept").rename(place)
    assert call("table", board).returncode == 0


def test_it_is_followed_where_it_leads_unless_that_is_no_safe_address(board, server):
    change(board, url=server.at("/away"))
    server.leads_to = "http://example.org/lstm.parquet"
    assert (
        "has the address 'http://example.org/lstm.parquet', which is not a valid https:// address"
        in wrong_with_board(board)[0]
    )
    server.leads_to = (server.served / "lstm.parquet").as_uri()
    assert "is not allowed" in wrong_with_board(board)[0]
    server.leads_to = server.at("/lstm.parquet")
    assert call("verify", board).returncode == 0


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        (
            "url",
            "http://example.org/x",
            "has the address 'http://example.org/x', which is not a valid https:// address",
        ),
        ("url", "file:///etc/passwd", "which is not a valid https:// address"),
        ("url", "https://[", "which is not a valid https:// address"),
        ("url", "https://example.org/a b\r\nHost: x", "which is not a valid https:// address"),
        ("url", "https://ex\u00e4mple.org/", "which is not a valid https:// address"),
        ("url", "https://" + "x" * LONGEST_TEXT, "evidence.url: the text has 4,0"),
        ("sha256", "../../../etc/passwd", "which is not a SHA-256 digest"),
        ("sha256", "A" * 64, "which is not a SHA-256 digest"),
        ("bytes", 0, "the evidence has 0 bytes, but tseval downloads from 1 to"),
        ("bytes", LARGEST_EVIDENCE + 1, "bytes, but tseval downloads from 1 to"),
    ],
)
def test_an_address_that_is_none_is_named_and_not_asked(board, server, field, value, said):
    change(board, **{field: value})
    found = wrong_with_board(board)
    assert said in found[0]
    assert found[0].startswith("lstm: ")
    assert server.asked == []


def test_evidence_of_another_entry_is_not_that_of_the_manifest(board, server):
    other = server.served / "other.parquet"
    other.write_bytes(b"something else")
    change(board, url=server.at("/other.parquet"), sha256=sha256(b"something else").hexdigest(), bytes=14)
    (found,) = wrong_with_board(board)
    assert "the digest of the evidence is not the digest in manifest.json" in found


def test_an_unsafe_address_is_refused_before_anything_is_written(board):
    run = board.parent / "run"
    done = call("board", "add", board, run, "--name", "two", "--evidence", "http://example.org/x")
    assert (done.returncode, "which is not a valid https:// address" in done.stderr) == (2, True)
    assert [path.name for path in (board / "entries").iterdir()] == ["lstm"]
