"""Boards of published accuracies: reading, output, partial verification, human scores next to models."""

import json
import re
import shlex
import shutil
import subprocess
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import mean, variance
from typing import Any

import pandas as pd
import pytest
import yaml
from forged import add_and_write
from in_process import call, succeed
from scipy.stats import rankdata, spearmanr
from small import with_field
from supplied import BLIMP_HUMANS

from tseval.adapters import open_model
from tseval.boards import About, published_board, sources
from tseval.boards.check import verify_entry, wrong_with_board
from tseval.boards.definition import read_definition
from tseval.boards.entries import add_entries
from tseval.boards.folder import new_board
from tseval.errors import BoardError
from tseval.evaluation import evaluate
from tseval.report.published import BUNDLED_BOARDS, read_board
from tseval.runs import DEFINITION
from tseval.suites import load_suite
from tseval.suites.data.catalogue import CATALOGUE

PUBLISHED = ("bhatt2020", "blimp2020")
# Warstadt et al. 2020, Table 3, row Human, in percent: the means over the paradigms of each phenomenon.
TABLE3 = {
    "All rows": 88.6, "Anaphor agreement": 97.5, "Argument structure": 90.0, "Binding": 87.3,
    "Control/raising": 83.9, "Determiner-noun agreement": 92.2, "Ellipsis": 85.0,
    "Filler-gap dependency": 86.9, "Irregular forms": 97.0, "Island effects": 84.9, "Quantifiers": 86.6,
    "Subject-verb agreement": 90.9,
}  # fmt: skip
KEY = {"dependency": None, "phenomenon": "P", "construction": "C", "contrast": "a > b"}
OTHER = KEY | {"construction": "D"}
BOARD = {
    "format": 1, "title": "A paper", "suite": "none_such", "digest": "0" * 64, "score": "sentence",
    "decimals": 2, "order": ["GRU", "SRN"], "rows": [KEY | {"n_items": 10}, OTHER | {"n_items": 20}],
    "human": {"name": "People", "source": "Somebody asked.", "rows": [KEY | {"accuracy": "0.8125"}]},
}  # fmt: skip
ENTRY = {"format": 1, "level": "published", "rows": [KEY | {"accuracy": "0.90"}, OTHER | {"accuracy": "0.5"}]}


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(content, sort_keys=False))


@pytest.fixture
def board(tmp_path):
    """Make a board of two models over a suite that is not on this machine."""
    write(tmp_path / "board/board.yaml", BOARD)
    for name in ("GRU", "SRN"):
        write(tmp_path / "board/entries" / name / "entry.yaml", {"name": name, **ENTRY})
    assert call("board", "write", tmp_path / "board").returncode == 0
    return tmp_path / "board"


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_every_file_of_a_bundled_board_follows_from_its_entries(name):
    assert wrong_with_board(BUNDLED_BOARDS / name) == []
    found = published_board(BUNDLED_BOARDS / name, read_definition(BUNDLED_BOARDS / name))
    assert found == read_board(BUNDLED_BOARDS / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_of_a_published_board_nothing_more_than_its_files_is_verified(name):
    done = call("verify", name, "--json")
    assert done.returncode == 0
    reports = json.loads(done.stdout)
    assert [report["name"].rpartition("/")[2] for report in reports] == [
        model.name for model in read_board(BUNDLED_BOARDS / name).models
    ]
    for report in reports:
        assert [check["level"] for check in report["checks"]] == ["whole"]
        assert "without evidence to recompute them" in report["checks"][0]["found"]


def test_bundled_boards_are_over_the_suites_that_they_say():
    marvin_linzen = load_suite("marvin_linzen")
    definition = read_definition(BUNDLED_BOARDS / "bhatt2020")
    assert definition.digest == marvin_linzen.digest
    assert sum(row.n_items for row in definition.rows) == marvin_linzen.n_contrasts
    assert read_definition(BUNDLED_BOARDS / "blimp2020").digest == CATALOGUE["blimp"].digest


def test_the_human_row_of_blimp_is_what_the_answers_count_up_to():
    counted = pd.read_csv(BLIMP_HUMANS, sep="\t").set_index("paradigm")
    human = read_board(BUNDLED_BOARDS / "blimp2020").human
    assert {row.construction for row in human.rows} == set(counted.index)
    assert len(human.rows) == 67
    exact = 0
    for row in human.rows:
        right, asked = (
            map(int, str(counted.at[row.construction, name]).split()) for name in ("right", "asked")
        )
        follows = float(sum((Fraction(*pair) for pair in zip(right, asked, strict=True)), Fraction(0)) / 5)
        assert float(row.accuracy) == pytest.approx(follows, abs=0.0011)
        exact += float(row.accuracy) == pytest.approx(follows, abs=1e-12)
    assert exact == 65


def test_the_means_of_people_are_those_that_the_paper_prints():
    told = json.loads(call("table", "blimp2020", "--format", "json").stdout)
    (human,) = told["humans"]
    means = {one["over"]: one["accuracy"] for one in human["means"]}
    assert {over: round(100 * means[over], 1) for over in TABLE3} == TABLE3


def cells_of(line):
    """Return the cells of a line of Markdown or LaTeX."""
    line = line.removesuffix(r"\\").removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)[|&]", line)]


def test_people_stand_behind_the_models_without_ranks(board):
    lines = [[cell.strip() for cell in line.split("|")] for line in call("table", board).stdout.splitlines()]
    assert ["", "none_such", "GRU", "SRN", "People", ""] in lines
    assert ["", "C", "0.90", "0.90", "0.81", ""] in lines
    assert ["", "D", "0.5", "0.5", "–", ""] in lines
    assert ["", "All 2 rows", "0.70", "0.70", "–", ""] in lines
    assert ["", "Mean arithmetic rank", "1", "1", "", ""] in lines
    assert "- People: Somebody asked." in (board / "README.md").read_text()


def test_a_model_that_is_called_as_people_are_told_apart(board):
    shutil.copytree(board / "entries/GRU", board / "entries/People")
    write(board / "entries/People/entry.yaml", {"name": "People", **ENTRY})
    call("board", "write", board)
    first = cells_of(call("table", board).stdout.partition("\n")[0])
    assert first == ["none_such", "GRU", "SRN", "People (board)", "People (board) #2"]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (
            ["level"],
            None,
            (
                "level: this key is missing. The leaderboard has published accuracies, so each entry needs "
                "the line level: published"
            ),
        ),
        (["level"], "rerun", 'level: "rerun" is not one of the values that this key can have'),
        (["rows"], [], "rows: should have at least one accuracy"),
        (["rows", 0, "accuracy"], 0.9, "rows[0].accuracy: should be a text in quotes, not 0.9"),
        (["rows", 0, "accuracy"], "0.901", "should be a fraction from 0 to 1 with at most 2 decimals"),
        (["rows", 1, "accuracy"], "9" * 5000, "rows.accuracy: the text has 5,000 characters"),
        (
            ["rows", 1, "construction"],
            "C",
            "rows[1]: this row has the same case and contrast as an earlier row",
        ),
        (
            ["rows", 1, "construction"],
            "E",
            "rows[1]: this row is about a case and contrast that the leaderboard has no row for",
        ),
        (["name"], "LSTM", "name: should be the same as the name of the entry's folder, 'GRU'"),
        (["validation_perplexity"], "x" * 5000, "validation_perplexity: the text has 5,000 characters"),
    ],
)
def test_a_wrong_field_of_a_published_entry_is_named(board, path, value, said):
    file = board / "entries/GRU/entry.yaml"
    write(file, with_field({"name": "GRU", **ENTRY}, path, value))
    (found,) = (line for line in wrong_with_board(board) if line.startswith("GRU: "))
    assert f"{file}: " in found
    assert said in found
    report = verify_entry(board / "entries/GRU")
    assert not report.ok
    done = call("board", "write", board)
    assert (done.returncode, said in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["rows", 0, "n_items"], 0, "rows[0].n_items: should be a number of items, 1 or more, but is 0"),
        (
            ["rows", 1, "construction"],
            "C",
            "rows[1]: this row has the same case and contrast as an earlier row",
        ),
        (["decimals"], 10**6, "decimals: should be a number of decimals, at most 15, but is 1000000"),
        (["order"], ["GRU", "GRU"], "order: this list has the name of an entry twice"),
        (["seeds"], {"a": ["GRU"], "b": ["GRU"]}, "seeds: this list has the name of an entry twice"),
        (["human", "rows"], [], "human.rows: should have at least one accuracy"),
        (
            ["human", "rows", 0, "construction"],
            "E",
            "human.rows[0]: this row is about a case and contrast that the leaderboard has no row for",
        ),
        (["human", "rows", 0, "accuracy"], "1.2", "human.rows[0].accuracy: should be a fraction"),
        (["rows"], [], "human: this key is allowed only in a leaderboard of published accuracies"),
    ],
)
def test_a_wrong_field_of_what_a_published_board_is_over_is_named(board, path, value, said):
    write(board / "board.yaml", with_field(BOARD, path, value))
    for command in (("board", "check"), ("board", "write"), ("verify",), ("table",)):
        done = call(*command, board)
        assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_what_does_not_follow_and_who_is_not_there_is_named(board):
    (board / "entries/GRU/evidence.parquet").write_bytes(b"PAR1")
    assert wrong_with_board(board) == [
        "GRU: the folder has 'evidence.parquet', which is not a file of an entry"
    ]
    (board / "entries/GRU/evidence.parquet").unlink()
    content = json.loads((board / "board.json").read_text())
    content["rows"][0]["accuracy"]["GRU"] = "0.99"
    (board / "board.json").write_text(json.dumps(content))
    assert [line.partition(" ")[0] for line in wrong_with_board(board)] == ["board.json"]
    shutil.rmtree(board / "entries/SRN")
    assert (
        "board.yaml: the key `order` names 'SRN', but there is no entry with this name"
        in wrong_with_board(board)
    )


def test_no_run_is_added_to_a_published_board_and_no_model_asked_about_it(board, tmp_path):
    with pytest.raises(
        BoardError, match="is a leaderboard of published accuracies, to which tseval cannot add runs"
    ):
        add_entries(board, [tmp_path / "run"], About())
    asked = call("verify", board, "--model", "bundled:lstm")
    assert (asked.returncode, "Leave out --model" in asked.stderr) == (2, True)
    entry = call("table", board / "entries/GRU")
    assert (entry.returncode, "is a part of a leaderboard of published accuracies" in entry.stderr) == (
        2,
        True,
    )


# Boards of the package and the zoo: their numbers, and the location of their other files.
@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """Make a board where the package has its boards, and remove its entry's evidence."""
    (tmp_path / "pairs.tsv").write_text("good\tbad\tn\nthe author laughs .\tthe author laugh .\t1\n")
    evaluate(open_model("bundled:lstm"), load_suite(tmp_path / "pairs.tsv"), out=tmp_path / "run")
    board = tmp_path / "leaderboards/mine"
    new_board(board, "../../pairs.tsv")
    add_and_write(board, [tmp_path / "run"], About())
    monkeypatch.setattr(sources, "BUNDLED_BOARDS", tmp_path / "leaderboards")
    (board / "entries/lstm/evidence.parquet").unlink()
    return board


def test_a_board_without_its_evidence_shows_its_numbers_and_says_why_it_has_no_items(shipped, tmp_path):
    assert "| The one row " in succeed("table", shipped).stdout
    succeed("board", "build", shipped, "-o", tmp_path / "site")
    page = (tmp_path / "site/index.html").read_text("utf-8")
    assert (
        "This page has no items: mine: the evidence (per-token scores) of this leaderboard is too large"
        in page
    )


@pytest.mark.parametrize("command", [("verify",), ("table", "--by", "n"), ("analyze", "pairwise")])
def test_whatever_needs_the_evidence_says_where_it_is(shipped, command):
    done = call(*command, shipped)
    assert done.returncode == 2
    assert (
        "mine: the evidence (per-token scores) of this leaderboard is too large to be in the installed "
        "package"
    ) in done.stderr
    assert "Clone the git repository of tseval, and name the folder leaderboards/mine" in done.stderr


def test_in_a_clone_that_leaves_evidence_out_the_command_that_fetches_it_works(shipped, tmp_path):
    def git(*words, cwd=tmp_path):
        subprocess.run(["git", "-c", "protocol.file.allow=always", *words], cwd=cwd, check=True)

    place = shipped / "entries/lstm/evidence.parquet"
    place.write_bytes(b"evidence")
    git("init", "-q")
    git("add", "leaderboards")
    git("-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "all")
    git("sparse-checkout", "set", "--no-cone", "/*", "!/leaderboards/*/entries/*/evidence.parquet")
    assert not place.exists()
    said = call("verify", shipped).stderr
    assert (
        "mine: the evidence (per-token scores) of this leaderboard is missing in your clone of the "
        "repository.\n"
    ) in said
    git(*shlex.split(said.partition("To fetch the evidence: git ")[2]))
    assert place.read_bytes() == b"evidence"


def test_a_board_of_ones_own_that_lost_its_evidence_is_wrong(shipped, tmp_path):
    shutil.copytree(shipped, tmp_path / "other/own")
    assert "lstm: the file evidence.parquet is missing" in wrong_with_board(tmp_path / "other/own")
    assert call("verify", tmp_path / "other/own").returncode == 1


@pytest.mark.slowest
@pytest.mark.usefixtures("suites_expanded_once")
@pytest.mark.parametrize(("name", "entries"), [("zoo", []), ("zoo-wide", ["drnn-cnn", "lstm-3", "urn"])])
def test_every_number_of_a_zoo_follows_from_its_evidence(name, entries):
    # Only some entries of the larger zoo are checked against their evidence; the numbers below use all.
    zoo = BUNDLED_BOARDS / name
    if not (zoo / DEFINITION).is_file() or sources.lacks_evidence(zoo):
        pytest.skip("the evidence of zoos is not here: it is not a part of source distributions")
    assert wrong_with_board(zoo, entries) == []


# The tables of results of the recipe `wide` follow from the counts on its board and from the paper.
ROOT = Path(__file__).parents[2]
PAGE = (
    (ROOT / "docs/results/bhatt2020-language-models.md")
    .read_text("utf-8")
    .partition("## The seven architectures of Table 4")[2]
    .partition("\n## ")[0]
)
ZOO, PAPER = ROOT / "leaderboards/zoo-wide/entries", ROOT / "leaderboards/bhatt2020/entries"
IN_PAPER = {
    "srn": "SRN", "gru": "GRU", "lstm": "LSTM", "onlstm": "ON-LSTM",
    "drnn": "DRNN", "sdrnn": "SDRNN", "abdrnn": "Ab-DRNN",
}  # fmt: skip
NAMES = {of: name for name, of in IN_PAPER.items()} | {
    "ablated LSTM": "ablated-lstm", "EIRNN": "eirnn", "α by convolution": "drnn-cnn", "URN": "urn",
}  # fmt: skip
AGREEMENT, POLARITY = "Subject-verb agreement", "Negative polarity items"
PREFIXES = {AGREEMENT: "", "Reflexive anaphora": "reflexives: ", POLARITY: "polarity: "}


def table(beginning: str) -> list[list[str]]:
    """Find the page's table whose first line begins like this; return its cells, header first."""
    lines = PAGE[PAGE.index(f"\n{beginning}") + 1 :].splitlines()
    whole = next(list(group) for is_row, group in groupby(lines, lambda line: line.startswith("|")) if is_row)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (whole[0], *whole[2:])]


def label(row: dict[str, str]) -> str:
    """Return the name of a row of the suite as on the page."""
    name = f"{PREFIXES[row['phenomenon']]}{row['construction']}"
    return f"{name} ({row['contrast'].replace(' > ', ' vs. ')})" if row["phenomenon"] == POLARITY else name


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return yaml.load((folder / "entry.yaml").read_text("utf-8"), yaml.CSafeLoader)["rows"]


@cache
def accuracies(entry: str) -> dict[str, Fraction]:
    """Return the accuracies of an entry by row, from its counts alone."""
    return {label(row): Fraction(row["n_correct"], row["n_items"]) for row in rows_of(ZOO / entry)}


@cache
def papers(architecture: str) -> dict[str, Fraction]:
    return {label(row): Fraction(row["accuracy"]) for row in rows_of(PAPER / IN_PAPER[architecture])}


@cache
def seeds(architecture: str) -> list[str]:
    return sorted(folder.name for folder in ZOO.iterdir() if re.sub(r"-\d$", "", folder.name) == architecture)


def over_agreement_of(by_row: dict[str, Fraction]) -> Fraction:
    """Return the mean accuracy over the ten rows of subject-verb agreement, whose names have no prefix."""
    of = [accuracy for row, accuracy in by_row.items() if ": " not in row]
    assert len(of) == 10
    return mean(of)


def over_agreement(entry: str) -> Fraction:
    return over_agreement_of(accuracies(entry))


def mean_ranks(models: list[dict[str, Fraction]]) -> list[str]:
    """Return each model's mean rank over all rows; tied models share the best of their ranks."""
    ranks = [rankdata([-float(model[row]) for model in models], "min") for row in models[0]]
    return [cut(Fraction(int(sum(of_model)), len(ranks)), 2) for of_model in zip(*ranks, strict=True)]


def cut(value: Fraction | float, decimals: int = 3) -> str:
    """Format a share as the tables do: truncated, without the leading zero."""
    exact = Decimal(value) if isinstance(value, float) else Decimal(value.numerator) / value.denominator
    return str(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_FLOOR)).removeprefix("0")


def with_spread(values: list[Fraction]) -> str:
    spread = f" ± {cut(sqrt(variance(values)))}" if len(values) > 1 else ""
    return f"{cut(mean(values))}{spread}"


def test_the_numbers_of_the_board_follow_from_the_counts_of_all_its_entries():
    board = json.loads((ZOO.parent / "board.json").read_text("utf-8"))
    assert [label(row) for row in board["rows"]] == list(accuracies("srn"))
    for row in board["rows"]:
        assert row["accuracy"].keys() == {re.sub(r"-\d$", "", folder.name) for folder in ZOO.iterdir()}
        for architecture, accuracy in row["accuracy"].items():
            follows = mean(accuracies(entry)[label(row)] for entry in seeds(architecture))
            assert accuracy.removeprefix("0") == cut(follows), (architecture, label(row))


def test_the_rows_beside_the_papers():
    head, *rows = table("| | `lstm` | paper |")
    columns = [cell.strip("`") for cell in head[1::2]]
    assert sorted(columns) == sorted(IN_PAPER)
    assert [row[0] for row in rows] == list(accuracies("srn"))
    for name, *cells in rows:
        for architecture, ours, theirs in zip(columns, cells[::2], cells[1::2], strict=True):
            of_seeds = [accuracies(entry)[name] for entry in seeds(architecture)]
            assert ours.strip("*") == with_spread(of_seeds), (name, architecture)
            assert theirs == f"{float(papers(architecture)[name]):.2f}".removeprefix("0"), name


def test_the_order_of_architectures():
    head, agreement, _, how_many, papers_agreement, ranks, _, papers_ranks = table("| | ON-LSTM | LSTM |")
    columns = [NAMES[cell] for cell in head[1:]]
    assert agreement[1:] == [
        with_spread([over_agreement(entry) for entry in seeds(architecture)]) for architecture in columns
    ]
    assert how_many[1:] == [str(len(seeds(architecture))) for architecture in columns]
    assert papers_agreement[1:] == [
        f"{float(over_agreement_of(papers(architecture))):.2f}".removeprefix("0") for architecture in columns
    ]
    assert ranks[1:] == mean_ranks([accuracies(architecture) for architecture in columns])
    assert papers_ranks[1:] == mean_ranks([papers(architecture) for architecture in columns])


def test_the_differences_of_means():
    _, *rows = table("| | difference | 95% interval | p |")
    for name, difference, *_ in rows:
        one, other = (
            mean(over_agreement(entry) for entry in seeds(NAMES[of]))
            for of in re.sub(r" \(.*", "", name).split(", ")
        )
        assert difference == cut(one - other), name


def test_seed_by_seed():
    _, *rows = table("| | agreement | 95% interval | minus the first |")
    there = []
    for name, agreement, _, less, _, correlation, distance, perplexity, _ in rows:
        if name in NAMES:
            architecture = NAMES[name]
        entry = {"second": f"{architecture}-2", "third": f"{architecture}-3"}.get(name, architecture)
        there.append(entry)
        assert agreement == cut(over_agreement(entry)), entry
        manifest = json.loads((ZOO / entry / "manifest.json").read_text("utf-8"))
        assert perplexity == f"{manifest['model']['details']['validation_perplexity']:.1f}", entry
        if entry != architecture:
            apart = over_agreement(entry) - over_agreement(architecture)
            assert less.split()[0] == ("-" if apart < 0 else "") + cut(abs(apart)), entry
        if architecture in IN_PAPER:
            rows_compared = [row for row in papers(architecture) if not row.startswith(PREFIXES[POLARITY])]
            assert len(rows_compared) == 13
            ours = [float(accuracies(entry)[row]) for row in rows_compared]
            theirs = [float(papers(architecture)[row]) for row in rows_compared]
            assert correlation == f"{spearmanr(ours, theirs).statistic:.2f}".removeprefix("0"), entry
            away = mean(abs(one - other) for one, other in zip(ours, theirs, strict=True))
            assert distance == f"{away:.3f}".removeprefix("0"), entry
        else:
            assert correlation == distance == ""
    assert sorted(there) == sorted(folder.name for folder in ZOO.iterdir())
