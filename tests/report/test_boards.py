import json
from typing import Any

import pytest
from small import with_field
from supplied import BLIMP_ACCURACIES, TABLE4

from tseval.errors import BoardError
from tseval.report import build_table, render
from tseval.report.boards import BUNDLED_BOARDS, bundled_boards, read_board

BOARD: dict[str, Any] = {
    "format": 1,
    "name": "paper",
    "title": "A paper",
    "source": "Someone 2020.",
    "suite": "small",
    "score": "sentence",
    "decimals": 2,
    "models": [{"name": "GRU", "validation_perplexity": "53.78", "parameters": None}, {"name": "SRN"}],
    "rows": [
        {
            "dependency": "short",
            "phenomenon": "P",
            "construction": "C",
            "contrast": "grammatical > ungrammatical",
            "n_items": 140,
            "accuracy": {"GRU": "0.95"},
        }
    ],
    "notes": [],
}


def changed(path, value):
    """The board with one field replaced, or removed for None."""
    return with_field(BOARD, path, value)


def message(tmp_path, content):
    file = tmp_path / "board.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(BoardError) as caught:
        read_board(tmp_path)
    assert str(caught.value).startswith(f"{file}: ")
    return str(caught.value).removeprefix(f"{file}: ")


def test_a_board_reads_from_its_file_or_its_folder(tmp_path):
    (tmp_path / "board.json").write_text(json.dumps(BOARD))
    board = read_board(tmp_path)
    assert read_board(tmp_path / "board.json") == board
    assert board.rows[0].accuracy == {"GRU": "0.95"}
    assert [model.validation_perplexity for model in board.models] == ["53.78", None]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["format"], 2, "format: is 2, but this tseval reads format 1."),
        (["format"], None, "format: is missing."),
        (["title"], 7, "title: should be a text in quotes, not 7."),
        (["decimals"], True, "decimals: should be a whole number, not true."),
        (["decimals"], 0, "decimals: should be at least 1, not 0."),
        (["models"], [], "models: should name each model once, and at least one."),
        (["models", 1, "name"], "GRU", "models: should name each model once, and at least one."),
        (["models", 0], "GRU", "models[0]: should be a mapping."),
        (["models", 0, "parameters"], 14, "models[0].parameters: should be a text in quotes, not 14."),
        (["rows"], {}, "rows: should be a list, not {}."),
        (["rows"], BOARD["rows"] * 2, "rows[1]: repeats an earlier row."),
        (["rows", 0, "contrast"], None, "rows[0].contrast: is missing."),
        (["rows", 0, "accuracy"], [], "rows[0].accuracy: should be a mapping, not []."),
        (["rows", 0, "accuracy", "LSTM"], "0.5", "rows[0].accuracy.LSTM: is not one of the board's models."),
        (["rows", 0, "accuracy", "GRU"], 0.95, "rows[0].accuracy.GRU: should be a text in quotes, not 0.95."),
    ],
)
def test_a_wrong_field_is_named(tmp_path, path, value, expected):
    assert message(tmp_path, changed(path, value)) == expected


@pytest.mark.parametrize("printed", ["95", "1.01", "-0.5", "0.955", ".95", "0,95", "nan", "", "0.95\n"])
def test_an_accuracy_is_a_fraction_of_few_decimals(tmp_path, printed):
    text = message(tmp_path, changed(["rows", 0, "accuracy", "GRU"], printed))
    assert text.startswith("rows[0].accuracy.GRU: should be a fraction from 0 to 1 with at most 2 decimals")


def test_a_mean_over_seeds_stands_in_a_table_with_its_spread(tmp_path):
    board = changed(["rows", 0, "spread"], {"GRU": "0.01"})
    board["rows"][0]["accuracy"]["SRN"] = "0.5"
    board["models"][0]["spread"] = {"All rows": "0.02"}
    (tmp_path / "board.json").write_text(json.dumps(board))
    printed = render(build_table([read_board(tmp_path)]))
    lines = [[cell.strip() for cell in line.split("|")] for line in printed.splitlines()]
    assert ["", "C", "0.95 ± 0.01", "0.5", ""] in lines
    assert ["", "The one row", "0.95 ± 0.02", "0.50", ""] in lines


def test_programs_get_the_spread_of_a_mean_over_seeds_and_no_column_where_there_is_none(tmp_path):
    board = changed(["rows", 0, "spread"], {"GRU": "0.01"})
    board["rows"][0]["accuracy"]["SRN"] = "0.5"
    board["models"][0]["spread"] = {"All rows": "0.02"}
    (tmp_path / "board.json").write_text(json.dumps(board))
    table = build_table([read_board(tmp_path)])
    found = json.loads(render(table, "json"))
    assert [(row["model"], row["spread"]) for row in found["rows"]] == [("GRU", 0.01), ("SRN", None)]
    assert [mean["spread"] for mean in found["means"]] == [{"GRU": 0.02, "SRN": None}]
    heading, *rows = (line.split(",") for line in render(table, "csv").splitlines())
    assert [row[heading.index("spread")] for row in rows] == ["0.01", ""]
    del board["rows"][0]["spread"], board["models"][0]["spread"]
    (tmp_path / "board.json").write_text(json.dumps(board))
    assert all("spread" not in render(build_table([read_board(tmp_path)]), form) for form in ("csv", "json"))


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["rows", 0, "spread"], {"LSTM": "0.1"}, "rows[0].spread.LSTM: is not one of the board's models."),
        (["rows", 0, "spread"], {"GRU": "wide"}, "rows[0].spread.GRU: should be a fraction from 0 to 1"),
        (["models", 0, "spread"], {"All rows": "2"}, "models[0].spread.All rows: should be a fraction"),
    ],
)
def test_a_spread_that_is_none_is_named(tmp_path, path, value, expected):
    assert message(tmp_path, changed(path, value)).startswith(expected)


def test_a_file_that_is_no_json_is_said_so(tmp_path):
    assert message(tmp_path, "{").startswith("not a JSON file (")
    assert message(tmp_path, "[" * 100_000 + "]" * 100_000).startswith("not a JSON file (")
    assert message(tmp_path, "[]") == "the file: should be a mapping."


def test_a_missing_board_is_said_so(tmp_path):
    with pytest.raises(BoardError, match=r"none\.json: No such file or directory"):
        read_board(tmp_path / "none.json")


@pytest.mark.parametrize("name", bundled_boards())
def test_every_bundled_board_reads_and_stands_under_its_own_name(name):
    assert read_board(BUNDLED_BOARDS / name).name == name


def test_the_bundled_table_4_is_the_papers_digit_by_digit():
    oracle, board = json.loads(TABLE4.read_text()), read_board(BUNDLED_BOARDS / "bhatt2020")
    assert [row.accuracy for row in board.rows] == [row["accuracy"] for row in oracle["rows"]]
    assert [row.n_items for row in board.rows] == [row["items"] for row in oracle["rows"]]
    for fact in ("validation_perplexity", "parameters"):
        ours = {model.name: getattr(model, fact) or "-" for model in board.models}
        assert ours == oracle[fact]


def test_the_bundled_blimp_board_is_the_published_one_and_gives_its_means():
    lines = [json.loads(line) for line in BLIMP_ACCURACIES.read_text().splitlines()]
    board = read_board(BUNDLED_BOARDS / "blimp2020")
    names = dict(zip((model.name for model in board.models), ("ngram", "lstm", "txl", "gpt2"), strict=True))
    published = {line["UID"]: line for line in lines if line["UID"] != "overall"}
    assert len(board.rows) == len(published) == 67
    for row in board.rows:
        expected = {name: published[row.construction][key] for name, key in names.items()}
        assert {name: float(value) for name, value in row.accuracy.items()} == expected
    means = {line["linguistics_term"]: line for line in lines if line["UID"] == "overall"}
    for term, mean in means.items():
        rows = [
            row for row in board.rows if term in {"overall", published[row.construction]["linguistics_term"]}
        ]
        for name, key in names.items():
            found = sum(float(row.accuracy[name]) for row in rows) / len(rows)
            assert found == pytest.approx(mean[key], abs=1e-9)


def test_half_a_character_is_refused(tmp_path):
    content = json.loads((BUNDLED_BOARDS / "bhatt2020/board.json").read_text())
    content["rows"][0]["phenomenon"] = "agree\ud800ment"
    (tmp_path / "board.json").write_text(json.dumps(content))
    with pytest.raises(BoardError, match="the file: has half a character in a text"):
        read_board(tmp_path)
