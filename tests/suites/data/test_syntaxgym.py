"""SyntaxGym suites: regions, predictions, and verdicts on them."""

import json
import statistics
from typing import Any

import numpy as np
import pytest
from small import write_file

import tseval
from tseval.errors import SuiteError
from tseval.questions.regions import Regions
from tseval.scoring.surprisal import surprisals
from tseval.suites import load_suite
from tseval.suites.lint import lint_data

SING, PLUR = "(4;%match_sing%) < (4;%mismatch_sing%)", "(4;%match_plur%) < (4;%mismatch_plur%)"
VERBS = {"match_sing": ("author", "is"), "mismatch_sing": ("author", "are"),
         "match_plur": ("authors", "are"), "mismatch_plur": ("authors", "is")}  # fmt: skip


def item(number, attractor="the guards"):
    conditions = [
        {
            "condition_name": name,
            "regions": [
                {"region_number": n, "content": text}
                for n, text in enumerate([f"The {noun}", "", f"near  {attractor}", verb, "good."], 1)
            ],
        }
        for name, (noun, verb) in VERBS.items()
    ]
    return {"item_number": number, "conditions": conditions}


def suite(*formulas, items=None, metric="sum"):
    return {
        "meta": {"name": "number_prep", "metric": metric},
        "region_meta": {"1": "intro"},
        "predictions": [{"type": "formula", "formula": formula} for formula in formulas],
        "items": items or [item(1), item(7, "the old farmers"), item(9, "a pilot")],
    }


def regions(case, condition):
    assert isinstance(case.question, Regions)
    return case.question.regions_of(condition)


def test_conditions_are_labels_and_regions_are_counted_in_words(tmp_path):
    loaded = load_suite(write_file(tmp_path / "s.json", suite(SING)))
    (case,) = loaded.cases
    assert (case.name, case.labels, loaded.score) == ("number_prep", tuple(VERBS), "regions")
    assert case.sentences["match_sing"].to_pylist()[1] == "The author near the old farmers is good."
    assert regions(case, "match_sing")[:2] == [[2, 0, 3, 1, 1], [2, 0, 4, 1, 1]]
    assert case.features["number"].to_pylist() == [1, 7, 9]
    (part,) = load_suite(tmp_path / "s.json", limit=2).cases
    assert regions(part, "match_plur") == [[2, 0, 3, 1, 1], [2, 0, 4, 1, 1]]


def test_tokens_do_not_cross_regions(tmp_path):
    (case,) = load_suite(write_file(tmp_path / "s.json", suite(SING)), tokenise=True).cases
    assert case.sentences["match_sing"].to_pylist()[0] == "The author near the guards is good ."
    assert regions(case, "match_sing")[0] == [2, 0, 3, 1, 2]


def test_predictions_are_decided_by_the_surprisal_of_their_regions(tmp_path):
    model = tseval.load_model("bundled:lstm")
    loaded = load_suite(write_file(tmp_path / "s.json", suite(SING, PLUR)), tokenise=True)
    verdicts = tseval.evaluate(model, loaded).verdicts.set_index(["contrast", "item"])
    (case,) = loaded.cases
    verb = {}
    for name in VERBS:
        for index, tokens in enumerate(surprisals(model, case.sentences[name].to_pylist())):
            verb[name, index] = tokens[-3].surprisal  # before `good .`
    for index in range(3):
        sing = verb["match_sing", index] < verb["mismatch_sing", index]
        plur = verb["match_plur", index] < verb["mismatch_plur", index]
        assert bool(verdicts.loc[("prediction 1", index), "correct"]) == sing
        assert bool(verdicts.loc[("prediction 2", index), "correct"]) == plur
        assert bool(verdicts.loc[("all predictions", index), "correct"]) == (sing and plur)
        scores = verdicts.loc[("prediction 1", index), ["better_score", "worse_score"]]
        expected = [-verb["match_sing", index], -verb["mismatch_sing", index]]
        np.testing.assert_allclose(scores.to_numpy(float), expected, atol=1e-5)
    of_all: Any = verdicts.loc["all predictions", "better_score"]
    assert of_all.isna().all()


def test_whole_sentences_and_empty_regions_have_a_surprisal(tmp_path):
    formulas = "(*;%match_sing%) > 0", "(2;%match_sing%) = 0", "(1;%match_sing%) + (3;%match_sing%) + " \
        "(4;%match_sing%) + (5;%match_sing%) = (*;%match_sing%)"  # fmt: skip
    loaded = load_suite(write_file(tmp_path / "s.json", suite(*formulas)), tokenise=True)
    assert tseval.evaluate(tseval.load_model("bundled:lstm"), loaded).verdicts["correct"].sum() == 12


# How a region's surprisal follows from its words, with Python's own functions.
METRICS: dict[str, Any] = {
    "sum": sum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "range": lambda values: max(values) - min(values),
    "max": max,
    "min": min,
}


def every_region(item, condition):
    """Return the tokenised words of each region of an item of `suite`."""
    texts = [part["content"] for part in item["conditions"][list(VERBS).index(condition)]["regions"]]
    return [text.replace(".", " .").split() for text in texts]


@pytest.fixture(scope="module")
def lstm():
    return tseval.load_model("bundled:lstm")


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_the_metric_of_a_suite_makes_the_surprisal_of_a_region(tmp_path, lstm, metric):
    items = [item(*one) for one in enumerate(["the guards", "the old farmers", "a big pilot"])]
    for one in items:
        for condition in one["conditions"]:
            condition["regions"][1]["content"] = "often"  # an empty region has no mean
    formulas = "(3;%match_sing%) > (1;%match_plur%)", "(*;%match_sing%) > (*;%mismatch_sing%)"
    content = suite(*formulas, items=items, metric=metric)
    loaded = load_suite(write_file(tmp_path / "s.json", content), tokenise=True)
    verdicts = tseval.evaluate(lstm, loaded).verdicts
    found: Any = verdicts.set_index(["contrast", "item"])[["better_score", "worse_score"]]

    def surprisal_of(one, condition):
        words = every_region(one, condition)
        (tokens,) = surprisals(lstm, [" ".join(word for region in words for word in region)])
        left = [token.surprisal for token in tokens]
        return [METRICS[metric]([left.pop(0) for _ in region]) for region in words]

    for index, one in enumerate(items):
        names = "match_sing", "match_plur", "mismatch_sing"
        sing, plur, wrong = (surprisal_of(one, name) for name in names)
        expected = {"prediction 1": (sing[2], plur[0]), "prediction 2": (sum(sing), sum(wrong))}
        for prediction, scores in expected.items():
            np.testing.assert_allclose(found.loc[(prediction, index)].to_numpy(float), scores, atol=1e-5)


def test_a_suite_that_names_no_metric_adds_up(tmp_path):
    content = suite(SING)
    del content["meta"]["metric"]
    silent = load_suite(write_file(tmp_path / "silent.json", content))
    assert silent.digest == load_suite(write_file(tmp_path / "sum.json", suite(SING))).digest
    assert silent.digest != load_suite(write_file(tmp_path / "mean.json", suite(SING, metric="mean"))).digest


def test_the_metric_is_kept_where_a_part_of_the_items_is_taken(tmp_path):
    loaded = load_suite(write_file(tmp_path / "s.json", suite(SING, metric="max")), limit=1, tokenise=True)
    assert isinstance(loaded.cases[0].question, Regions)
    assert loaded.cases[0].question.metric == "max"


def test_another_score_is_refused_on_predictions_and_regions_elsewhere(tmp_path):
    model = tseval.load_model("bundled:lstm")
    with pytest.raises(SuiteError, match="has predictions that compare regions, so --score sentence"):
        tseval.evaluate(model, load_suite(write_file(tmp_path / "s.json", suite(SING))), score="sentence")
    with pytest.raises(
        SuiteError, match="has no predictions about regions, so --score regions is not possible"
    ):
        tseval.evaluate(model, load_suite("marvin_linzen", limit=1), score="regions")


def test_lint_looks_at_predictions(tmp_path):
    unequal = write_file(tmp_path / "s.json", suite("(3;%match_sing%) < (4;%match_sing%)"))
    (found,) = lint_data(unequal)
    assert (found.severity, found.path) == ("warning", unequal)
    assert found.message == (
        "'prediction 1': 3 of 3 items compare sums over different numbers of words: "
        "match_sing.3 3, match_sing.4 1."
    )
    assert lint_data(write_file(tmp_path / "t.json", suite(SING, PLUR))) == []


def broken(change):
    content = suite(SING)
    change(content)
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no JSON"),
        ("[]", "tseval cannot read this file as a SyntaxGym suite"),
        ({"items": []}, r"SyntaxGym suite: 'predictions' is missing\.\n  Correct 'predictions' in the file"),
        (broken(lambda s: s["items"][1]["conditions"][2]["regions"][0].update(content=3)),
         r"'items\[1\]\.conditions\[2\]\.regions\[0\]\.content' should be a text in quotes, not 3"),
        (suite("(4;%match_sing%)"), "the formula compares nothing"),
        (suite("(4;%match%) < 1"), "names the condition 'match', but the items do not have it"),
        (suite("(6;%match_sing%) < 1"), "names the region '6', but the items do not have it"),
        (suite("match_sing.verb < 1"), "names the region 'verb', but the items do not have it"),
        (suite("1 < 2"), "in '1 < 2', the formula must name a region"),
        (suite(), "has 3 items and 0 predictions, but needs at least one of each"),
        (suite(SING, metric="men"), r"s.json: unknown metric 'men'\.\n  Did you mean 'mean'\? "
         r"Metrics: max, mean, median, min, range, sum\."),
        (suite("(2;%match_sing%) < 1", metric="mean"),
         r"item 1: the formula '\(2;%match_sing%\) < 1' needs the mean surprisal of a region that is empty "
         r"under the condition 'match_sing'\.\n  Name another region in the formula, or use the metric "
         r"'sum'"),
        (suite("(*;%match_plur%) < 1", metric="max"),
         "needs the max surprisal of a region that is empty under the condition 'match_plur'"),
        (broken(lambda s: s["items"][1]["conditions"].pop()),
         "item 7: the conditions and numbers of regions differ from those of item 1"),
        (broken(lambda s: s["items"][0]["conditions"][0]["regions"].pop(0)),
         "item 1: the regions of the condition 'match_sing' are not numbered 1, 2, 3"),
    ],
)  # fmt: skip
def test_a_malformed_suite_is_named(tmp_path, content, message):
    path = tmp_path / "s.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(SuiteError, match=message):
        load_suite(path)
