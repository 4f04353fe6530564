"""Boards are created, extended, read, verified and checked; every false claim of an entry is named."""

import re
import shutil
from dataclasses import replace

import pytest
import yaml
from forged import VERBS, add_and_write, edit_json, edit_yaml, evidence_forged, put, run_of_pairs, seal_anew
from in_process import call, refuse, succeed

from tseval.adapters import open_model
from tseval.boards import About, check, entry_folders, entry_runs, read_entry, write_entry
from tseval.boards.check import board_suite, verify_entry, warnings_of, wrong_with_board
from tseval.boards.definition import read_definition
from tseval.boards.entries import add_entries, entry_files, unfit, write_new_folder
from tseval.boards.folder import new_board
from tseval.boards.sources import open_sources
from tseval.errors import BoardError, RunError, SuiteError
from tseval.evaluation import evaluate
from tseval.models import bundled_checkpoints
from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.report import build_table, render
from tseval.report.published import read_board
from tseval.runs import Run, read_run
from tseval.suites import load_suite


@pytest.fixture(scope="module")
def model():
    return open_model("bundled:lstm")


@pytest.fixture(scope="module")
def made(model, tmp_path_factory):
    """Make a board with two entries next to its suite of pairs; return it with the run of the entries."""
    root = tmp_path_factory.mktemp("boards")
    run_of_pairs(root, model, ("author", "pilot", "guard", "chef"), VERBS[:2])
    new_board(root / "board", "../pairs.jsonl", title="Pairs of our own")
    add_and_write(root / "board", [root / "run"], About(licence="MIT", contains_suite="no"))
    evaluate(model, load_suite(root / "pairs.jsonl"), score="mean", out=root / "other-score")
    other = open_model("bundled:lstm", {"precision": "bfloat16"})
    evaluate(other, load_suite(root / "pairs.jsonl"), out=root / "second")
    add_and_write(root / "board", [root / "second"], About(), name="lstm-bf16")
    return root


@pytest.fixture
def root(made, tmp_path):
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def rewrite(file, **changes):
    content = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump(content | changes, sort_keys=False))


@pytest.mark.slow
def test_an_entry_gives_the_tables_of_its_run(made):
    (entry, _), run = entry_runs(entry_folders(made / "board")), read_run(made / "run")
    assert entry.load_verdicts().equals(run.load_verdicts())
    opened = read_run(made / "board" / "entries" / entry.name)
    assert opened.load_verdicts().equals(run.load_verdicts())
    assert opened.load_sentences().equals(entry.load_sentences())
    for form in ("md", "csv"):
        assert render(build_table([entry]), form) == render(build_table([run]), form)
    both = [one for one in open_sources([str(made / "board")]) if isinstance(one, Run)]
    assert [one.manifest.model.name for one in both] == ["lstm", "lstm-bf16"]
    (alone,) = open_sources([str(made / "board" / "entries" / "lstm")])
    assert isinstance(alone, Run)
    assert alone.table().equals(run.table())
    board = read_board(made / "board")
    assert [one.name for one in board.models] == ["lstm", "lstm-bf16"]
    assert board.rows[0].accuracy["lstm"] == f"{run.table()['accuracy'][0]:.3f}"
    assert call("table", made / "board/entries").stdout == call("table", made / "board").stdout


def test_an_entry_outside_its_board_and_a_board_without_entries_are_no_runs(made, tmp_path):
    shutil.copytree(made / "board" / "entries" / "lstm", tmp_path / "a" / "b" / "lstm")
    with pytest.raises(
        RunError, match=r"(?s)but tseval cannot find the suite: .*Name the entry in the folder"
    ):
        read_run(tmp_path / "a" / "b" / "lstm")
    shutil.copy(made / "pairs.jsonl", tmp_path)
    new = "board", "new", tmp_path / "mine", "--suite", "../pairs.jsonl"
    assert call(*new).returncode == 0
    assert "is not an empty folder" in refuse(*new).stderr
    assert "has no entries yet" in refuse("table", tmp_path / "mine").stderr
    assert call("verify", tmp_path / "mine").stderr == f"{tmp_path / 'mine'}: no entries\n"


def test_an_honest_board_has_nothing_wrong_and_its_entries_verify(made, model):
    assert wrong_with_board(made / "board") == []
    report = verify_entry(made / "board" / "entries" / "lstm", model=model, share=1.0)
    assert [check.level for check in report.checks] == ["whole", "recomputed", "plausible", "rerun"]
    assert report.ok


def test_the_weights_of_an_entry_stored_otherwise_are_warned_of(root):
    succeed("convert", bundled_checkpoints()["lstm"], "-o", root / "half.pt", "--stored", "float16")
    evaluate(open_model(str(root / "half.pt")), load_suite(root / "pairs.jsonl"), out=root / "half")
    add_and_write(root / "board", [root / "half"], About())
    said = "all its log-probabilities are within 0.03 nats of those of half, so both may be the same model"
    assert warnings_of(root / "board", ["half"]) == [f"lstm: {said}", f"lstm-bf16: {said}"]
    assert warnings_of(root / "board", ["lstm-bf16"]) == [f"lstm-bf16: {said}"]


def test_all_entries_of_a_board_are_verified_against_one_expansion_of_its_suite(root, monkeypatch):
    shutil.copytree(root / "board", root / "other")
    expanded = []
    monkeypatch.setattr(check, "board_suite", lambda board: expanded.append(board.name) or board_suite(board))
    assert call("verify", root / "board", root / "other").returncode == 0
    assert expanded == ["board", "other"]
    rewrite(root / "other" / "board.yaml", digest="0" * 64)  # a board with another suite than the first
    ended = call("verify", root / "board", root / "other")
    assert (ended.returncode, ended.stdout.count("plausible")) == (2, 2)
    assert "other" in ended.stderr


@pytest.mark.parametrize(
    ("run", "name", "said"),
    [
        ("run", None, "exists already.\n  Choose another name for the entry with --name."),
        ("run", "LSTM", "exists already.\n  Choose another name for the entry with --name."),
        ("run", "../x", "cannot be the name of an entry"),
        ("other-score", "mean", "the run has the score 'mean', but the leaderboard has the score 'sentence'"),
    ],
)
def test_what_does_not_belong_is_refused(root, run, name, said):
    before = sorted(path.name for path in (root / "board" / "entries").iterdir())
    with pytest.raises(BoardError, match=re.escape(said)):
        add_entries(root / "board", [root / run], About(), name)
    assert sorted(path.name for path in (root / "board" / "entries").iterdir()) == before


@pytest.mark.slow
def test_several_runs_are_added_together_or_none_is(root):
    checkpoint = load_checkpoint(bundled_checkpoints()["lstm"])
    for name in ("third", "fourth"):
        checkpoint.model.output.bias.data[0] += 1
        other = checkpoint.model, checkpoint.vocabulary
        save_checkpoint(root / f"{name}.pt", *other, training={}, validation_perplexity=None)
        evaluate(open_model(root / f"{name}.pt"), load_suite(root / "pairs.jsonl"), out=root / name)
    board = root / "board"
    before = sorted(board.rglob("*")), (board / "README.md").read_text()
    refusals = (
        ((root / "third", root / "run"), {}, "lstm exists"),
        ((root / "third", root / "third"), {}, "two of the runs have a model with the name 'third'"),
        ((root / "third", root / "fourth"), {"name": "both"}, "describe a single run"),
    )
    for runs, options, said in refusals:
        with pytest.raises(BoardError, match=said):
            add_entries(board, runs, About(), **options)
        assert (sorted(board.rglob("*")), (board / "README.md").read_text()) == before
    result = call("board", "add", board, root / "third", root / "fourth", "--licence", "MIT")
    assert result.returncode == 0, result.stderr
    assert (board / "README.md").read_text() == before[1]  # an entry is its folder
    waiting = call("board", "check", board)
    assert "not on the pages yet: fourth, third" in waiting.stderr
    assert waiting.returncode == call("board", "write", board).returncode == 0
    assert "not on the pages yet" not in call("board", "check", board).stderr
    entries = {folder.name: read_entry(folder) for folder in entry_folders(board)}
    assert {"third", "fourth"} < set(entries)
    assert entries["third"].about.licence == entries["fourth"].about.licence == "MIT"
    assert {"third", "fourth"} < {column.name for column in read_board(board).models}


def test_a_part_of_the_suite_another_protocol_and_a_run_that_does_not_hold_are_refused(root, model):
    evaluate(model, load_suite(root / "pairs.jsonl", limit=3), out=root / "part")
    with pytest.raises(BoardError, match="the run scored only a part of the suite"):
        add_entries(root / "board", [root / "part"], About(), "part")
    (root / "second/table.md").write_text("| lstm | 1.000 |\n")
    with pytest.raises(BoardError, match=r"table\.md was damaged or edited"):
        add_entries(root / "board", [root / "second"], About(), "forged")
    rewrite(root / "board" / "board.yaml", protocol={"dtype": "float64"})
    with pytest.raises(
        BoardError,
        match="the key `dtype` of its protocol is 'float32', but the leaderboard requires 'float64'",
    ):
        add_entries(root / "board", [root / "run"], About(), "again")


# The file to edit, the edit, and the message.
def _count(folder):
    edit_yaml(folder / "entry.yaml", lambda content: content["rows"][0].update(
        n_correct=content["rows"][0]["n_correct"] - 1))  # fmt: skip


def _manifest_count(folder):
    edit_json(folder / "manifest.json", lambda manifest: manifest["counts"].update(
        correct=manifest["counts"]["correct"] - 1))  # fmt: skip
    seal_anew(folder)


def _evidence(folder):
    evidence_forged(folder, None, lambda table: put(table, "logprob", [-0.05] * table.num_rows))
    seal_anew(folder)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_count, "entry.yaml: the key `rows[0].n_correct` is"),
        (_manifest_count, "counts.correct"),
        (lambda folder: rewrite(folder / "entry.yaml", signature="x"), ("`signature` is not the same as in "
                                                                        "manifest")),
        (lambda folder: rewrite(folder / "entry.yaml", fingerprint="0" * 64), ("`fingerprint` is not the "
                                                                               "same as")),
        (lambda folder: rewrite(folder / "entry.yaml", format=9), ("this version of tseval reads only "
                                                                   "format 1")),
        (lambda folder: rewrite(folder / "entry.yaml", about={"contact": "x" * 9999}),
         "contact: the text has 9,999"),
        (lambda folder: (folder / "evidence.parquet").write_bytes(b"PAR1"), "was damaged or edited: its"),
        (lambda folder: (folder / "evidence.parquet").unlink(), "the file evidence.parquet is missing"),
        (lambda folder: (folder / "more.txt").write_text(""), ("the folder has 'more.txt', which is not a "
                                                               "file of an entry")),
        (_evidence, "have a total probability of"),
    ],
)  # fmt: skip
def test_what_is_edited_is_named(root, edit, said):
    edit(root / "board" / "entries" / "lstm")
    found = wrong_with_board(root / "board")
    assert said in "\n".join(found)
    assert all(line.startswith("lstm: ") for line in found)


def test_copies_and_strangers_are_named(root):
    entries = root / "board" / "entries"
    shutil.copytree(entries / "lstm", entries / "copy")
    rewrite(entries / "copy" / "entry.yaml", name="copy")
    assert wrong_with_board(root / "board") == ["lstm: has the same signature as copy, with equal accuracies"]
    shutil.rmtree(entries / "copy")
    (root / "board" / "script.js").write_text("")
    assert wrong_with_board(root / "board") == [
        "the folder has 'script.js', which is not a file of a leaderboard"
    ]


def test_written_files_that_were_edited_are_named(root):
    page = root / "board" / "README.md"
    page.write_text(page.read_text().replace("MIT", "CC0"))
    (root / "board" / "board.json").unlink()
    named = [line.partition(" ")[0] for line in wrong_with_board(root / "board")]
    assert named == ["README.md", "board.json"]


def test_another_suite_under_the_same_name_is_said(root):
    shutil.rmtree(root / "board/suite")
    (root / "pairs.jsonl").write_text('{"sentence_good": "he laughs .", "sentence_bad": "he laugh ."}\n')
    with pytest.raises(BoardError, match="but the leaderboard uses the digest"):
        wrong_with_board(root / "board")
    (root / "pairs.jsonl").unlink()
    with pytest.raises(SuiteError):
        wrong_with_board(root / "board")


def test_one_model_is_one_entry_whatever_it_is_called(root):
    copy = shutil.copy(bundled_checkpoints()["lstm"], root / "supermodel.pt")
    evaluate(open_model(copy), load_suite(root / "pairs.jsonl"), out=root / "super")
    refused = call("board", "add", root / "board", root / "super")
    assert refused.returncode == 2
    assert "supermodel is the same model, scored in the same way, as the entry lstm" in refused.stderr
    # Files that a user put there.
    entry, files = entry_files(read_definition(root / "board"), str(root / "pairs.jsonl"), root / "super")
    write_new_folder(
        root / "board/entries/supermodel", {**files, "entry.yaml": write_entry(entry).encode()}
    ).rename(root / "board/entries/supermodel")
    found = wrong_with_board(root / "board")
    assert "supermodel: has the same weights and protocol as lstm, with equal accuracies" in found


@pytest.mark.slow
def test_who_verified_an_entry_stands_in_the_maintainers_file_alone(root):
    board = root / "board"
    ask = "--model", "bundled:lstm", "--rescore", "all", "--record"
    done = call("verify", board / "entries/lstm", *ask, "Ada Keeper")
    assert done.returncode == 0, done.stderr
    recorded = yaml.safe_load((board / "checks.yaml").read_text())["checks"]["lstm"]
    assert [(one["level"], one["by"]) for one in recorded] == [("rerun", "Ada Keeper")]
    assert "rerun, Ada Keeper" in (board / "README.md").read_text()
    assert wrong_with_board(board) == []
    assert call("board", "build", board, "-o", root / "site").returncode == 0
    assert "Ada Keeper" in (root / "site/index.html").read_text("utf-8")
    # A check with a model other than the entry's is not recorded.
    other = call(
        "verify", board / "entries/lstm-bf16", *ask, "Ada Keeper", "--model-args", "precision=float32"
    )
    assert other.returncode == 1
    assert "lstm-bf16" not in (board / "checks.yaml").read_text()
    edit_yaml(board / "entries/lstm/entry.yaml", lambda entry: entry["checks"][0].update(level="rerun"))
    assert "lstm: entry.yaml has the key `checks`, but only checks.yaml" in "\n".join(wrong_with_board(board))
    refused = call("verify", root / "run", *ask, "Ada Keeper")
    assert (refused.returncode, "run is not an entry of a leaderboard" in refused.stderr) == (2, True)


def test_a_board_may_ask_for_a_precision_whatever_a_run_says_of_it(root):
    definition, narrow, wide = (
        read_definition(root / "board"),
        *map(read_run, (root / "second", root / "run")),
    )
    for asked in ("precision", "dtype"):
        asking = replace(definition, protocol={asked: "float32"})
        assert unfit(asking, wide, About()) is None
        assert unfit(asking, narrow, About()) == (
            f"the key `{asked}` of its protocol is 'bfloat16', but the leaderboard requires 'float32'"
        )


def test_a_suite_is_named_as_the_user_sees_it_or_as_the_board_does(tmp_path, monkeypatch):
    (tmp_path / "pairs.tsv").write_text("good\tbad\nthe author laughs .\tthe author laugh .\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    refused = call("board", "new", "board", "--suite", "../other.tsv")
    assert refused.returncode == 2
    assert f"there is no file or folder {tmp_path.parent / 'other.tsv'} or {tmp_path / 'other.tsv'}." in (
        refused.stderr
    )
    assert not (tmp_path / "board").exists()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for name, suite in (("a", "../pairs.tsv"), ("b", "pairs.tsv"), ("c", tmp_path / "pairs.tsv")):
        if name == "b":
            monkeypatch.chdir(tmp_path)
        assert call("board", "new", tmp_path / "boards" / name, "--suite", suite).returncode == 0
        assert read_definition(tmp_path / "boards" / name).suite == "../../pairs.tsv"
    assert call("board", "new", tmp_path / "board", "--suite", "../pairs.tsv").returncode == 0
    assert read_definition(tmp_path / "board").suite == "../pairs.tsv"


def test_commands_that_are_printed_can_be_typed(tmp_path):
    (tmp_path / "pairs.tsv").write_text("good\tbad\nthe author laughs .\tthe author laugh .\n")
    board, none = tmp_path / "my board", tmp_path / "no board"
    made = call("board", "new", board, "--suite", "../pairs.tsv")
    assert f"tseval board add '{board}' RUN" in made.stderr
    assert "    tseval verify 'my board'\n" in (board / "README.md").read_text("utf-8")
    assert f"tseval board new '{none}' --suite" in call("board", "check", none).stderr
