import csv
import io
import json
from dataclasses import replace
from fractions import Fraction

import pytest
from small import make_case, make_run, make_suite

from tseval.errors import BoardError, RunError, SuiteError
from tseval.report import FORMATS, build_table, render
from tseval.report.published import Board, BoardModel, BoardRow

NPI = ("grammatical", "intrusive", "ungrammatical")
# 100 items; the first k are correct if only the words right0 ... are probable.
PAIRS = [(f"right{i}", f"wrong{i}") for i in range(100)]


def hundred(**row):
    return make_suite(make_case("a", PAIRS, **row))


def words(n_correct, n_tied=0):
    """Return word log-probabilities for which the first items are correct and the next are ties."""
    ties = dict.fromkeys((f"right{i}" for i in range(n_correct, n_correct + n_tied)), -1.0)
    wrong = {f"right{i}": -2.0 for i in range(n_correct + n_tied, 100)}
    return {f"right{i}": -0.5 for i in range(n_correct)} | ties | wrong


def board(accuracy, n_items=100, suite="small", decimals=2):
    row = BoardRow(
        "short", "Subject-verb agreement", "Simple", "grammatical > ungrammatical", n_items, accuracy
    )
    models = tuple(BoardModel(name, "50.25", None) for name in accuracy)
    return Board("paper", "A paper", "Someone 2020.", suite, "sentence", decimals, models, (row,), ())


def lines(table, form="md"):
    """Return the cells of each line of the Markdown table, by label; the last line with a label counts."""
    text = render(table, form)
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_one_run_shows_items_accuracy_interval_ties_and_undecidable_items():
    run = make_run(hundred(), words(60, n_tied=10), unknown={"right90", "wrong90"})
    table = lines(build_table([run]))
    assert table["lstm on small"] == ["Items", "Accuracy", "95% interval", "Ties", "Undecidable"]
    items, accuracy, interval, ties, undecidable = table["Simple"]
    assert (items, accuracy, ties, undecidable) == ("100", "0.606", "10", "1")  # 60 of 99, truncated
    low, high = map(float, interval.split(" to "))
    assert low < 60 / 99 < high


def test_an_interval_holds_the_accuracy_printed_beside_it():
    for k in (0, 1, 50, 99, 100):
        _, accuracy, interval, *_ = lines(build_table([make_run(hundred(), words(k))]))["Simple"]
        low, high = map(float, interval.split(" to "))
        assert low <= float(accuracy) <= high


def test_runs_alone_are_ranked_on_exact_counts():
    suite = make_suite(make_case("a", [(f"right{i}", f"wrong{i}") for i in range(2000)]))
    almost = {f"right{i}": -0.5 for i in range(1999)} | {"right1999": -2.0}
    whole = make_run(suite, almost | {"right1999": -0.5}, model="all")
    table = lines(build_table([make_run(suite, almost, model="almost"), whole]))
    assert table["Simple"] == ["0.999", "1.000"]
    assert table["Mean arithmetic rank"] == ["2", "1"]


# 889 of 1000 is more than 0.88, but a paper that truncates prints 0.88 too. 0.29 * 100 is below 29.
@pytest.mark.parametrize(("right", "of", "printed"), [(889, 1000, "0.88"), (29, 100, "0.29")])
def test_a_run_beside_a_board_is_cut_before_it_is_ranked(right, of, printed):
    suite = make_suite(make_case("a", [(f"right{i}", f"w{i}") for i in range(of)]))
    run = make_run(suite, {f"right{i}": -0.5 if i < right else -2.0 for i in range(of)})
    table = build_table([run, board({"GRU": printed}, n_items=of)])
    assert lines(table)["Simple"] == [printed, printed]
    assert lines(table)["Mean arithmetic rank"] == ["1", "1"]
    assert "truncated, not rounded, to" in render(table)


def test_published_values_stay_as_they_were_printed():
    assert lines(build_table([board({"A": "0.5", "B": "0.50", "C": "1"})]))["Simple"] == ["0.5", "0.50", "1"]


def test_ties_and_undecidable_items_are_never_silent_beside_other_models():
    tied = make_run(hundred(), words(60, n_tied=3), model="tied")
    clear = make_run(hundred(), words(60), model="clear")
    text = render(build_table([tied, clear]))
    assert "tied: 3 of 100 contrasts are ties (counted as wrong), 0 are undecidable" in text
    assert "clear: of" not in text


def test_a_construction_with_several_contrasts_names_them():
    contrasts = [NPI[:2], NPI[1:]]
    suite = make_suite(make_case("npi", [("a", "b", "c")], labels=NPI, contrasts=contrasts))
    rows = lines(build_table([make_run(suite, {})]))
    assert "Simple (grammatical vs. intrusive)" in rows
    assert "Simple (intrusive vs. ungrammatical)" in rows


def test_sections_and_groups_stand_above_their_rows():
    suite = make_suite(
        make_case("a", [("a", "b")], dependency="long", phenomenon="P", construction="Far"),
        make_case("b", [("a", "b")], dependency="short", phenomenon="P", construction="Near"),
    )
    labels = list(lines(build_table([make_run(suite, {})])))
    expected = ["**Short-range dependency**", "*P*", "Near", "**Long-range dependency**", "Far"]
    assert [label for label in labels if label in expected] == expected


def test_suites_without_dependencies_have_no_sections():
    text = render(build_table([make_run(hundred(dependency=None), words(50))]))
    assert "dependency" not in text
    assert "None" not in text


def test_a_breakdown_has_a_row_per_value():
    features = {"n": [1, 2] * 50, "kind": ["x"] * 100}
    run = make_run(hundred(features=features), words(50))
    table = lines(build_table([run], ["n", "kind", "n"]))
    assert table["Simple, n 1, kind x"][:2] == ["50", "0.500"]
    assert table["Simple, n 2, kind x"][:2] == ["50", "0.500"]


def test_rows_that_only_one_column_has_are_left_out_of_ranks_and_said_so():
    suite = make_suite(make_case("a", PAIRS), make_case("b", [("x", "y")], construction="Other"))
    run = make_run(suite, words(60) | {"x": -0.5})
    text = build_table([run, board({"GRU": "0.5"})])
    assert lines(text)["Other"] == ["1.00", "–"]
    assert lines(text)["The one row"] == ["0.60", "0.50"]
    assert "1 of 2 rows have a missing value, and do not count in means and ranks" in render(text)


# Headings


def test_two_models_of_one_name_get_headings_of_their_own_and_the_same_run_twice_is_numbered():
    run = make_run(hundred(), words(60), model="GRU")
    table = build_table([replace(run, name="first"), replace(run, name="second"), board({"GRU": "0.5"})])
    assert [column.heading for column in table.columns] == ["GRU (first)", "GRU (second)", "GRU (paper)"]
    twice = build_table([run, run])
    assert [column.heading for column in twice.columns] == [f"GRU ({run.name})", f"GRU ({run.name}) #2"]


# Contents that one table cannot have


PART = make_suite(make_case("a", PAIRS), complete=False)
OTHER = make_suite(make_case("a", PAIRS[:5]), digest="6" * 64, complete=False)


@pytest.mark.parametrize(
    ("suites", "published", "by", "error", "said"),
    [
        ([hundred(), OTHER], [], [], RunError,
         r"lstm \(small@55555555\) and m1 \(small@66666666\) have different items"),
        ([hundred()], [board({"GRU": "0.5"}, suite="blimp")], [], RunError,
         r"paper \(blimp, published\) have different items"),
        ([PART], [board({"GRU": "0.5"}, n_items=22400)], [], RunError,
         r"lstm has 100 items in 'Simple', but paper has 22,400(.|\n)*without --limit"),
        ([], [board({"GRU": "0.5"})], ["number"], BoardError,
         "paper has published accuracies without single items"),
        ([hundred()], [], ["number"], SuiteError, "--by number: the items"),
    ],
)  # fmt: skip
def test_what_one_table_cannot_hold_is_refused(suites, published, by, error, said):
    names = ("lstm", "m1")
    runs = [make_run(suite, words(60), model=name) for suite, name in zip(suites, names, strict=False)]
    with pytest.raises(error, match=said):
        build_table([*runs, *published], by)


def test_a_part_of_a_suite_is_marked_as_such():
    text = render(build_table([make_run(PART, words(60))]))
    assert "Only a part of the suite was scored: these are not results on the whole suite." in text


def test_columns_scored_in_different_ways_are_said_so():
    runs = [make_run(hundred(), words(60)), make_run(hundred(), words(60), model="gru", mode="mean")]
    assert "different methods (lstm: sentence, gru: mean)" in render(build_table(runs))


# Files


def test_csv_holds_counts_and_full_precision_of_every_model():
    run = make_run(hundred(features={"n": [1] * 100}), words(60, n_tied=1), unknown={"right99", "wrong99"})
    rows = list(csv.DictReader(io.StringIO(render(build_table([run, board({"GRU": "0.5"})]), "csv"))))
    assert [row["model"] for row in rows] == ["lstm", "GRU"]
    ours, theirs = rows
    counts = {name: ours[name] for name in ("n_items", "n_correct", "n_tied", "n_undecidable")}
    assert counts == {"n_items": "100", "n_correct": "60", "n_tied": "1", "n_undecidable": "1"}
    assert float(ours["accuracy"]) == 60 / 99
    assert (theirs["accuracy"], theirs["n_correct"], theirs["rank"]) == ("0.5", "", "2")


def test_json_holds_rows_means_and_signatures():
    run = make_run(hundred(), words(60), validation_perplexity=52.734, core_parameters=5_600_000)
    content = json.loads(render(build_table([run, board({"GRU": "0.5"})]), "json"))
    assert [column["model"] for column in content["columns"]] == ["lstm", "GRU"]
    assert content["columns"][0]["signature"] == run.manifest.signature
    assert content["columns"][0]["validation_perplexity"] == "52.73"
    assert content["columns"][0]["parameters"] == 5_600_000
    assert content["rows"][0]["n_correct"] == 60
    assert content["rows"][1]["n_correct"] is None
    assert content["means"][-1]["rank"] == {"lstm": 1.0, "GRU": 2.0}


def test_what_parameters_count_is_said_once_and_only_where_they_are_printed():
    bare = lines(build_table([make_run(hundred(), words(5), parameters=117_000_000), board({"GRU": "0.5"})]))
    assert (bare["Validation perplexity"], bare["Parameters"]) == (["–", "50.25"], ["117M", "–"])
    assert "Validation perplexity" not in lines(build_table([make_run(hundred(), words(5))] * 2))
    run, note = make_run(hundred(), words(5), core_parameters=1_402_950), "those of the recurrent layers only"
    assert note not in render(build_table([run]))
    text = build_table([run, replace(run, name="again")])
    assert lines(text)["Parameters"] == ["1.4M", "1.4M"]
    assert render(text).count(note) == 1


def test_each_value_of_a_feature_has_a_mean_over_its_rows_each_counted_once():
    # a: 2 of 3 correct with x, 1 of 1 with y. b: 0 of 2 with x. The last item has no feature.
    a = make_case("a", PAIRS[:4], features={"n": ["x", "x", "x", "y"], "same": [1] * 4})
    b = make_case("b", PAIRS[4:6], construction="Other", features={"n": ["x", "x"], "same": [1] * 2})
    c = make_case("c", PAIRS[6:7], construction="Bare")
    run = make_run(make_suite(a, b, c), words(2) | {"right3": -0.5})
    found = {mean.over: (mean.n_rows, *mean.accuracy) for mean in build_table([run], ["n", "same"]).means}
    assert found["n x"] == (2, Fraction(1, 3))  # the mean of 2/3 and 0, not 2 of 5
    assert found["n y"] == (1, Fraction(1))
    assert [name for name in found if name.startswith("same")] == []
    table = lines(build_table([run, replace(run, name="again")], "n"))
    assert table["n x"] == ["1.5", "1.5"] or table["n x"] == ["1", "1"]


def test_broken_text_in_a_board_is_rendered():
    broken = board({f"A{half}": "0.5" for half in "\ud800\ud801"}, suite="s\ud800")
    table = build_table([replace(broken, name="n\ud800", notes=("\ud800",))])
    for form in FORMATS:
        render(table, form).encode()
    assert [column.heading for column in table.columns] == ["A\ufffd (n\ufffd)", "A\ufffd (n\ufffd) #2"]
