"""Evidence that lies at an address: fetched from a real server, held to its digest, kept in the cache."""

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
from tseval.evaluation import evaluate
from tseval.evidence.fetching import LARGEST_EVIDENCE, kept_evidence
from tseval.suites.load import load_suite

PAIRS = [("the author laughs .", "the author laugh ."), ("the pilots smile .", "the pilots smiles .")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A board over pairs beside it, still empty, and a run over them."""
    root = tmp_path_factory.mktemp("elsewhere")
    lines = (json.dumps({"sentence_good": good, "sentence_bad": bad, "n": 1}) + "\n" for good, bad in PAIRS)
    (root / "pairs.jsonl").write_text("".join(lines))
    evaluate(open_model("bundled:lstm"), load_suite(root / "pairs.jsonl"), out=root / "run")
    new_board(root / "board", "../pairs.jsonl")
    return root


@pytest.fixture
def server(tmp_path):
    """A server of the files in `served`, and the paths that it was asked for; `/away` leads to `leads_to`."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            server.asked.append(self.path)
            if self.path == "/away":
                self.send_response(302)
                self.send_header("Location", server.leads_to)
                self.end_headers()
            else:
                super().do_GET()

    (tmp_path / "served").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path / "served")) as server:
        server.asked, server.served = [], tmp_path / "served"
        server.leads_to = f"http://127.0.0.1:{server.server_port}/lstm.parquet"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def board(made, tmp_path, server, monkeypatch):
    """The board with an entry whose evidence is at the server, and a cache of its own, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(made, tmp_path / "copy")
    board = tmp_path / "copy/board"
    url = f"http://127.0.0.1:{server.server_port}/lstm.parquet"
    done = call("board", "add", board, made / "run", "--evidence", url)
    assert done.returncode == 0, done.stderr
    kept = Path(done.stderr.splitlines()[-1].removeprefix("put ").partition(" at ")[0])
    kept.rename(server.served / "lstm.parquet")  # as the user is told to
    return board


def entry_of(board):
    return yaml.safe_load((board / "entries/lstm/entry.yaml").read_text())


def change(board, **evidence):
    entry = entry_of(board)
    entry["evidence"] |= evidence
    (board / "entries/lstm/entry.yaml").write_text(yaml.safe_dump(entry))


def test_evidence_elsewhere_is_fetched_once_and_then_works_offline(board, server, made):
    content = (server.served / "lstm.parquet").read_bytes()
    assert entry_of(board)["evidence"] == {
        "url": f"http://127.0.0.1:{server.server_port}/lstm.parquet",
        "sha256": sha256(content).hexdigest(),
        "bytes": len(content),
    }
    assert {path.name for path in (board / "entries/lstm").iterdir()} == {"entry.yaml", "manifest.json"}
    assert server.asked == []
    verified = call("verify", board)
    assert (verified.returncode, "plausible" in verified.stdout) == (0, True)
    assert server.asked == ["/lstm.parquet"]
    server.shutdown()
    server.server_close()
    assert wrong_with_board(board) == []
    table = call("table", board, "--by", "n")
    assert (table.returncode, table.stdout) == (0, call("table", made / "run", "--by", "n").stdout)
    assert server.asked == ["/lstm.parquet"]


def test_damage_in_the_cache_is_fetched_again(board, server):
    assert call("verify", board).returncode == 0
    kept = kept_evidence(entry_of(board)["evidence"]["sha256"])
    kept.write_bytes(b"PAR1")
    assert call("verify", board).returncode == 0
    assert server.asked == ["/lstm.parquet"] * 2


def test_another_file_at_the_address_is_refused_and_not_kept(board, server):
    file = server.served / "lstm.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    for command in (("board", "check"), ("verify",)):
        done = call(*command, board)
        assert done.returncode == 1
        assert "is not that of the entry: it has" in done.stdout
    table = call("table", board, "--by", "n")
    assert (table.returncode, "is not that of the entry" in table.stderr) == (2, True)
    assert not kept_evidence(entry_of(board)["evidence"]["sha256"]).exists()


def test_a_larger_file_is_read_no_further_than_it_may_be(board, server):
    size = entry_of(board)["evidence"]["bytes"]
    with (server.served / "lstm.parquet").open("ab") as file:
        file.truncate(LARGEST_EVIDENCE * 16)  # holes, no disk
    (found,) = wrong_with_board(board)
    assert f"it has more than {size:,} bytes" in found


def test_what_cannot_be_had_is_one_message_that_says_where_to_put_it(board, server):
    (server.served / "lstm.parquet").rename(server.served / "kept")
    (found,) = wrong_with_board(board)
    assert "evidence cannot be had from http://127.0.0.1" in found
    assert "File not found" in found
    verified = call("verify", board)  # not wrong: nothing can be said
    assert (verified.returncode, "evidence cannot be had" in verified.stderr) == (2, True)
    table = call("table", board)
    place = kept_evidence(entry_of(board)["evidence"]["sha256"])
    assert (table.returncode, f"as {place}" in table.stderr.replace("\n", "")) == (2, True)
    place.parent.mkdir(parents=True)
    (server.served / "kept").rename(place)
    assert call("table", board).returncode == 0


def test_it_is_followed_where_it_leads_unless_that_is_no_safe_address(board, server):
    change(board, url=f"http://127.0.0.1:{server.server_port}/away")
    server.leads_to = "http://example.org/lstm.parquet"
    assert "'http://example.org/lstm.parquet' is no https address" in wrong_with_board(board)[0]
    server.leads_to = (server.served / "lstm.parquet").as_uri()
    assert "is no https address" in wrong_with_board(board)[0]
    server.leads_to = f"http://127.0.0.1:{server.server_port}/lstm.parquet"
    assert call("verify", board).returncode == 0


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("url", "http://example.org/x", "'http://example.org/x' is no https address"),
        ("url", "file:///etc/passwd", "is no https address"),
        ("url", "https://", "is no https address"),
        ("url", "https://[", "is no https address"),
        ("url", "https://example.org/a b\r\nHost: x", "is no https address"),
        ("url", "https://ex\u00e4mple.org/", "is no https address"),
        ("url", 7, "evidence.url: should be a text in quotes, not 7"),
        ("url", "https://" + "x" * LONGEST_TEXT, "evidence.url: has "),
        ("sha256", "../../../etc/passwd", "has no SHA-256 digest"),
        ("sha256", "A" * 64, "has no SHA-256 digest"),
        ("sha256", None, "evidence.sha256: should be a text in quotes"),
        ("bytes", 0, "of 0 bytes is not fetched"),
        ("bytes", LARGEST_EVIDENCE + 1, "is not fetched: at most"),
        ("bytes", "many", "evidence.bytes: should be a whole number"),
        ("bytes", 10**30, "evidence.bytes: "),
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
    change(
        board,
        url=f"http://127.0.0.1:{server.server_port}/other.parquet",
        sha256=sha256(b"something else").hexdigest(),
        bytes=len(b"something else"),
    )
    (found,) = wrong_with_board(board)
    assert "evidence.sha256 is not that of manifest.json" in found


def test_an_unsafe_address_is_refused_before_anything_is_written(made, tmp_path):
    shutil.copytree(made, tmp_path / "copy")
    done = call("board", "add", tmp_path / "copy/board", made / "run", "--evidence", "http://example.org/x")
    assert (done.returncode, "is no https address" in done.stderr) == (2, True)
    assert list((tmp_path / "copy/board/entries").iterdir()) == []
