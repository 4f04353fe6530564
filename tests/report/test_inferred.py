"""Uncertainty in tables: clustered intervals, rank sets, coverage, and the reasons for missing values."""

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest
from small import make_case, make_run, make_suite

from tseval.items import as_entries
from tseval.report import FORMATS, build_table, render
from tseval.report.analyses.differences import differences_table
from tseval.report.analyses.pairwise import pairs
from tseval.report.analyses.seeds import seeds_table
from tseval.report.opened import for_analysis
from tseval.report.published import Board, BoardModel, BoardRow

N_SUBJECTS, N_VERBS = 6, 8
VERBS = [f"verb{i}" for i in range(N_VERBS)]
NOTE = "the run names no lexical factors, so its intervals treat items as independent"


def crossed(name="a", *, entries=True, sizes=(N_SUBJECTS, N_VERBS), **row):
    """Make a case with an item for every subject and verb; only the verb decides."""
    subjects, verbs = np.indices(sizes).reshape(2, -1)
    pairs = [(f"subject{s} verb{v}", f"subject{s} notverb{v}") for s, v in zip(subjects, verbs, strict=True)]
    case = make_case(name, pairs, features={"subject": subjects}, **row)
    if not entries:
        return case
    levels = {"subject": map(str, subjects), "verb": map(str, verbs)}
    return replace(case, entries=pa.table({key: as_entries(list(value)) for key, value in levels.items()}))


def knows(n_verbs):
    """Return word log-probabilities of a model that is correct for the first verbs, with any subject."""
    return {f"verb{i}": -0.5 if i < n_verbs else -2.0 for i in range(30)}


def board(rows, models=("GRU", "SRN"), name="paper"):
    """Make a board with rows `construction -> one accuracy per model`; None is a missing value."""
    made = [
        BoardRow("short", "Subject-verb agreement", construction, "grammatical > ungrammatical", 48,
                 {model: value for model, value in zip(models, values, strict=True) if value is not None})
        for construction, values in rows.items()
    ]  # fmt: skip
    columns = tuple(BoardModel(model) for model in models)
    return Board(name, "A paper", "Someone 2020.", "small", "sentence", 2, columns, tuple(made), ())


def cells(table, label):
    """Return the cells of the last line with this label."""
    found = [line for line in render(table).splitlines() if line.startswith(f"| {label} ")]
    return [cell.strip() for cell in found[-1].strip("|").split("|")][1:]


def content(table):
    return json.loads(render(table, "json"))


# Rows and means


def test_worth_stands_beside_items_and_the_note_names_the_factors():
    table = build_table([make_run(make_suite(crossed()), knows(5))])
    assert cells(table, "lstm on small") == [
        "Items", "Eff. items", "Accuracy", "95% interval", "Ties", "Undecidable",
    ]  # fmt: skip
    assert cells(table, "Simple")[:3] == ["48", "8", "0.625"]
    assert "(clustered by lexicon entry: subject, verb)." in render(table)
    assert NOTE not in render(table)


def test_a_run_without_entries_says_so_and_has_wilsons_interval():
    run = make_run(make_suite(crossed(entries=False)), knows(5))
    table = build_table([run])
    assert cells(table, "lstm on small") == ["Items", "Accuracy", "95% interval", "Ties", "Undecidable"]
    expected = binomtest(30, 48).proportion_ci(0.95, method="wilson")
    (row,) = content(table)["rows"]
    assert (row["low"], row["high"]) == (expected.low, expected.high)
    assert (row["df"], row["n_eff"], row["clusters"]) == (None, 48.0, {})
    assert NOTE in render(table)
    new = make_run(make_suite(crossed()), knows(5), model="new")
    assert f"lstm: {NOTE}" in render(build_table([run, new]))


def test_factors_of_few_entries_are_named_as_fixed():
    case = crossed()
    one = as_entries(["the"] * case.n_items)
    case = replace(case, entries=case.entries.append_column("determiner", one))
    table = build_table([make_run(make_suite(case), knows(5))])
    assert "Fewer than 5 different entries in a row (determiner): the interval" in render(table)
    assert content(table)["rows"][0]["fixed"] == ["determiner"]
    alone = replace(case, entries=pa.table({"determiner": one}))
    text = render(build_table([make_run(make_suite(alone), knows(5))]))
    assert "Eff. items" not in text
    assert "- Fewer than 5 different entries in a row (determiner): the interval" in text


def test_a_mean_has_an_interval_for_verbs_that_stand_in_all_rows():
    rows = [crossed(name, construction=name) for name in ("A", "B", "C")]
    table = build_table([make_run(make_suite(*rows), knows(5))])
    (mean,) = content(table)["means"]
    (first, *_) = content(table)["rows"]
    # The same verbs are known in every row: three rows have the same variance as one.
    assert mean["se"]["lstm"] == pytest.approx(first["se"], rel=0.01)
    *_, interval, _, _ = cells(table, "All 3 rows")
    assert float(interval[:5]) <= mean["low"]["lstm"] < 0.625 < mean["high"]["lstm"] <= float(interval[-5:])


def test_breakdowns_have_intervals_of_their_own():
    table = build_table([make_run(make_suite(crossed()), knows(5))], "subject")
    for row in content(table)["rows"]:
        assert (row["n_items"], row["clusters"], row["df"]) == (8, {"verb": 8}, 7)
    run = make_run(make_suite(crossed()), knows(5))
    (row,) = run.table().to_dict("records")
    assert (row["accuracy"], row["clusters"], row["df"]) == (5 / 8, {"subject": 6, "verb": 8}, 5)
    assert [(row["low"], row["high"])] == [
        (one["low"], one["high"]) for one in content(build_table([run]))["rows"]
    ]


# Ranks


def models(*n_verbs, case=None):
    suite = make_suite(case or crossed())
    return [make_run(suite, knows(n), model=f"m{n}") for n in n_verbs]


def test_models_that_differ_by_one_verb_are_not_told_apart_and_those_far_apart_are():
    table = build_table(models(0, 27, 28, 29, case=crossed(sizes=(30, 30))))
    assert cells(table, "Rank by mean accuracy") == ["4 [4]", "3 [1–3]", "2 [1–3]", "1 [1–3]"]
    assert "No clear difference in mean accuracy: m29, m28, m27." in render(table)
    told = content(table)
    assert told["ranking"]["rank_high"] == {"m0": 4, "m27": 3, "m28": 3, "m29": 3}
    assert told["ranking"]["tied"] == [["m29", "m28", "m27"]]
    assert [(row["rank"], row["rank_low"], row["rank_high"]) for row in told["rows"]] == [
        (4, 4, 4), (3, 1, 3), (2, 1, 3), (1, 1, 3)
    ]  # fmt: skip
    for name in ("m0", "m29"):
        low, high = (told["ranking"][f"mean_rank_{end}"][name] for end in ("low", "high"))
        assert low <= told["means"][-1]["rank"][name] <= high
    low, high = map(float, cells(table, "95% interval")[1].split(" to "))
    assert low <= 3 <= high


def test_csv_holds_one_value_to_a_cell():
    (first, _) = csv.DictReader(
        io.StringIO(render(build_table(models(0, 30, case=crossed(sizes=(30, 30)))), "csv"))
    )
    assert (first["rank"], first["rank_low"], first["rank_high"], first["coverage"]) == ("2", "2", "2", "1.0")
    assert {"se", "df", "n_eff"} <= first.keys()
    assert not {"clusters", "fixed"} & first.keys()


def test_rank_sets_of_a_run_without_entries_beside_one_that_has_them_are_clustered():
    old, _ = models(4, 6, case=crossed(entries=False))
    _, new = models(4, 6)
    both = build_table(models(4, 6))
    assert build_table([old, new]).ranking.overall.high == both.ranking.overall.high
    assert build_table([new, old]).ranking.overall.low == tuple(reversed(both.ranking.overall.low))
    np.testing.assert_allclose(build_table([old, new]).ranking.low, both.ranking.low)


def test_beside_a_published_board_there_are_no_sets_and_a_note_says_why():
    table = build_table([*models(5), board({"Simple": ("0.5", "0.4")})])
    assert table.ranking is None
    assert "Ranks have no intervals, because published accuracies do not say which items" in render(table)
    assert [row["rank_low"] for row in content(table)["rows"]] == [None] * 3
    alone = build_table([board({"Simple": ("0.5", "0.4")})])
    assert "no intervals" not in render(alone)
    assert content(alone)["ranking"] is None


def test_one_model_alone_has_a_rank_and_no_sets():
    table = build_table(models(5))
    (row,) = content(table)["rows"]
    assert (row["rank"], row["rank_low"], row["rank_high"], table.ranking) == (1, None, None, None)


# Ranks of models do not depend on weak models


def two_rows():
    return make_suite(crossed(), crossed("b", construction="Other"))


def test_weak_models_that_know_no_verb_move_nobodys_mean_rank():
    # Their verbs are all <unk>, so nothing is decidable for them.
    strong = [make_run(two_rows(), knows(n), model=f"m{n}") for n in (4, 6, 8)]
    unknown = {*VERBS, *(f"not{verb}" for verb in VERBS)}
    weak = [make_run(two_rows(), {}, model=name, unknown=unknown) for name in ("weak", "poor")]
    before, after = build_table(strong), build_table([*strong, *weak])
    assert after.means[-1].rank == (*before.means[-1].rank, 4, 4)
    assert after.means[-1].accuracy == (*before.means[-1].accuracy, None, None)
    text = render(after)
    assert "weak: no decidable item in 2 of 2 rows, so no mean accuracy." in text
    assert "weak: low coverage, only 0% of the contrasts can be decided" in text
    assert cells(after, "Coverage (share decided)")[-2:] == ["0.000 (low)", "0.000 (low)"]
    assert [rank.split(" ")[0] for rank in cells(after, "Rank by mean accuracy")] == list("32144")


def test_a_published_model_that_lacks_a_row_takes_it_from_no_other():
    whole = build_table([board({"Simple": ("0.5", "0.4"), "Other": ("0.3", "0.6")})])
    lacking = board({"Simple": ("0.5", "0.4", "0.9"), "Other": ("0.3", "0.6", None)}, ("GRU", "SRN", "weak"))
    table = build_table([lacking])
    assert table.means[-1].accuracy == (*whole.means[-1].accuracy, None)
    assert list(table.means[-1].rank) == [2, 2, None]  # 2 and 2, then 3 and 1: the second row has two models
    assert "weak: no value in 1 of 2 rows, so no mean and no mean rank." in render(table)


def test_no_model_gains_by_not_knowing_words():
    # The honest model is correct for 6 of 8 verbs. The other knows only 4 of these 6, and no other verb.
    honest = make_run(make_suite(crossed()), knows(6), model="honest")
    unknown = {word for verb in VERBS[4:] for word in (verb, f"not{verb}")}
    sly = make_run(make_suite(crossed()), knows(4), model="sly", unknown=unknown)
    table = build_table([honest, sly])
    assert cells(table, "Simple") == ["0.750", "1.000"]  # of the items that each can decide
    assert cells(table, "Mean arithmetic rank") == ["1", "2"]
    assert "24 are undecidable (not counted in accuracy, wrong in ranks)." in render(table)
    assert cells(table, "Coverage (share decided)") == ["1.000", "0.500 (low)"]
    assert [row["coverage"] for row in content(table)["rows"]] == [1.0, 0.5]


def test_a_run_beside_a_board_is_ranked_by_all_its_items_too():
    unknown = {word for verb in VERBS[4:] for word in (verb, f"not{verb}")}
    sly = make_run(make_suite(crossed()), knows(4), model="sly", unknown=unknown)
    table = build_table([sly, board({"Simple": ("0.7", "0.4")})])
    assert cells(table, "Simple") == ["1.00", "0.7", "0.4"]
    assert cells(table, "Mean arithmetic rank") == ["2", "1", "3"]


@pytest.mark.slow
def test_a_table_names_what_misses_95_percent():
    uneven = make_case(
        "a", [(f"s{i} verb{v}", f"s{i} notverb{v}") for i, v in enumerate([0] * 20 + [*range(20)])]
    )
    verbs = [pair.split("verb")[1] for pair in uneven.sentences["grammatical"].to_pylist()]
    uneven = replace(uneven, entries=pa.table({"verb": as_entries(verbs)}))
    for case, said in ((uneven, True), (crossed(), False)):
        runs = models(4, 6, case=case)
        for document in (build_table(runs[:1]), build_table(runs), pairs(for_analysis(runs), None)):
            assert ("Few words have most of the items of a row" in render(document)) == said
    assert "Intervals of mean ranks are reliable only if models are far apart" in render(build_table(runs))
    apart, near = "Two seeds differ much here", "Near accuracies of 0 and 1"
    for right, found in (((4, 8), apart), ((8, 8), ""), ((8,) * 4, near), ((8,) * 3, ""), ((4, 8, 4, 8), "")):
        runs = [make_run(make_suite(crossed()), knows(n), model=f"m{i}") for i, n in enumerate((*right, 3))]
        names = [f"m{i}" for i in range(len(runs))]
        told = render(seeds_table(for_analysis(runs), {"one": names[:-1], "other": names[-1:]}))
        assert [note for note in (apart, near) if note in told] == ([found] if found else [])


# Small samples: the verbs of items, one list for each row of the table; None is a missing cell.
LITTLE = {
    "one item": [[0]],
    "one entry": [[0] * 6],
    "an entry in each row only": [[row] * 4 for row in range(6)],
    "an item in each row": [[row] for row in range(6)],
    "missing cells": [[0, None, 1, None, 2, None], [None] * 3],
    "nothing but missing cells": [[None] * 6],
}
ANSWERS = {"right": range(20), "wrong": (), "mixed": (0, 3), "undecidable": None}


def little_run(verbs, known, model):
    cases = []
    for place, row in enumerate(verbs):
        words = [10 + item if verb is None else verb for item, verb in enumerate(row)]
        case = make_case(
            f"c{place}",
            [(f"s{i} v{w}", f"s{i} w{w}") for i, w in enumerate(words)],
            construction=f"Row {place}",
        )
        entries = pa.table({"verb": as_entries(["" if verb is None else str(verb) for verb in row])})
        cases.append(replace(case, entries=entries))
    right = {f"v{i}": -0.5 for i in known or ()} | {
        f"v{i}": -2.0 for i in range(20) if i not in (known or ())
    }
    unknown = [f"{letter}{i}" for letter in "vw" for i in range(20)] if known is None else ()
    return make_run(make_suite(*cases), right, model=model, unknown=unknown)


def intervals(told):
    """Return every interval in nested data, with the value that it should contain."""
    if isinstance(told, list):
        return [pair for one in told for pair in intervals(one)]
    if not isinstance(told, dict):
        return []
    found = [pair for one in told.values() for pair in intervals(one)]
    if "low" in told:
        value = told.get("accuracy", told.get("difference"))
        named = isinstance(told["low"], dict)
        ends = [(value[m], told["low"][m], told["high"][m]) for m in told["low"]] if named else []
        found += ends or [(value, told["low"], told["high"])]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("verbs", LITTLE)
@pytest.mark.parametrize("answers", ANSWERS)
def test_little_input_has_finite_intervals_that_are_no_points_or_a_dash(verbs, answers):
    runs = [little_run(LITTLE[verbs], ANSWERS[answers], f"m{i}") for i in range(2)]
    runs.append(little_run(LITTLE[verbs], (1, 10, 11), "other"))
    opened = for_analysis(runs)
    alone, seeds = {name: [name] for name in opened.verdicts}, {"both": ["m0", "m1"], "other": ["other"]}
    documents: list[Any] = [build_table(runs[:1]), build_table(runs), pairs(opened, None)]
    documents += [differences_table(opened, None, (), 0.02)]
    documents += [seeds_table(opened, groups) for groups in (alone, seeds)]
    for document in documents:
        for form in FORMATS:
            assert not re.search(r"\b(nan|inf|none)\b", render(document, form), re.IGNORECASE), form
        for value, low, high in intervals(content(document)):
            assert (low is None) == (high is None) == (value is None)
            assert value is None or (-1 <= low <= value <= high <= 1 and high - low > 0.05)
    assert ("–" in render(documents[0])) == (answers == "undecidable")
