"""Leaderboards of prompt models: one template for all, and no entries with log-probabilities."""

import json

import pytest
from chat_servers import ChatServer, shorter
from in_process import call, refuse, succeed

from tseval.runs.manifest import load_manifest

PAIRS = "".join(
    json.dumps({"good": f"The {word} laughs.", "bad": f"The {word} are laughs."}) + "\n"
    for word in ("author", "pilot", "guard", "surgeon")
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make runs with two templates on two servers, one run with log-probabilities, and a board."""
    root = tmp_path_factory.mktemp("boards")
    (root / "pairs.jsonl").write_text(PAIRS)
    suite = ["--suite", "pairs.jsonl", "--quiet"]
    replies = {"good-1": shorter, "bad-1": lambda prompt, times: "1"}
    for name, reply in replies.items():
        with ChatServer(reply, model=name) as server:
            for template in ("grammatical", "likely"):
                model = ["--model", f"prompt:{server.url}", "--model-args", f"model={name[:-2]}"]
                succeed("run", *model, "--prompt", template, *suite, "--out", f"{name}-{template}", cwd=root)
    succeed("run", "--model", "bundled:lstm", *suite, "--out", "lstm", cwd=root)
    succeed("board", "new", "board", "--suite", "../pairs.jsonl", "--score", "prompt", cwd=root)
    return root


@pytest.mark.slow
def test_a_board_of_prompts_takes_runs_of_its_template_and_no_others(place):
    definition = (place / "board/board.yaml").read_text()
    assert "prompt: grammatical" in definition
    assert "orders: both" in definition
    succeed("board", "add", "board", "good-1-grammatical", cwd=place)
    succeed("board", "add", "board", "bad-1-grammatical", cwd=place)
    ended = refuse("board", "add", "board", "good-1-likely", "--name", "other", cwd=place)
    assert "the key `prompt` of its protocol is 'likely'" in ended.stderr
    ended = refuse("board", "add", "board", "lstm", cwd=place)
    assert "the run has the score 'sentence', but the leaderboard has the score 'prompt'" in ended.stderr
    succeed("board", "new", "direct", "--suite", "../pairs.jsonl", cwd=place)
    ended = refuse("board", "add", "direct", "good-1-grammatical", cwd=place)
    assert "the run has the score 'prompt'" in ended.stderr
    # Each entry keeps the server's description of itself.
    manifest = load_manifest(place / "board/entries/good")
    assert manifest.key.protocol["served"] == "good-1"
    assert manifest.key.protocol["date"] == "2025-10-09"
    table = json.loads(succeed("table", "board", "--format", "json", cwd=place).stdout)
    assert {row["model"]: (row["accuracy"], row["n_tied"], row["share_of_1"]) for row in table["rows"]} == {
        "good": (1, 0, 0.5), "bad": (0, 4, 1),
    }  # fmt: skip
    report = succeed("verify", "board", cwd=place).stdout
    assert "given as 'good-1' on 2025-10-09, which only the server could confirm" in report
    succeed("board", "check", "board", cwd=place)
    succeed("board", "write", "board", cwd=place)
    page = (place / "board/README.md").read_text()
    assert "served:good-1" in page
    assert "date:2025-10-09" in page
    succeed("board", "build", "board", "-o", "site", cwd=place)
    pages = "".join(path.read_text() for path in (place / "site").rglob("*.html"))
    assert "chosen 2 of 2" in pages


def test_a_board_whose_template_is_not_stated_takes_no_prompt_run(place, tmp_path):
    succeed(
        "board", "new", tmp_path / "open", "--suite", place / "pairs.jsonl", "--score", "prompt", cwd=place
    )
    file = tmp_path / "open/board.yaml"
    kept = [line for line in file.read_text().splitlines() if "prompt_digest" not in line]
    file.write_text("\n".join(kept) + "\n")
    ended = call("board", "add", tmp_path / "open", "good-1-grammatical", cwd=place)
    assert ended.returncode == 2
    assert "does not say which template entries use" in ended.stderr


def test_a_prompt_is_only_for_boards_of_prompts(place):
    ended = refuse("board", "new", "third", "--suite", "../pairs.jsonl", "--prompt", "likely", cwd=place)
    assert "Add --score prompt" in ended.stderr
