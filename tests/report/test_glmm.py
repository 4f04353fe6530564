"""The table and the formula for lme4: what is in them, and that another program takes them."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from small import make_case, make_run, make_suite

from tseval.boards.sources import open_runs
from tseval.errors import RunError
from tseval.items import as_entries
from tseval.report.exports import in_r, mixed_model, write_verdicts

WORDS = [f"w{n}" for n in range(6)]


@pytest.fixture
def opened(tmp_path):
    """Open runs of models of which the first is always wrong and the second always right."""

    def runs(entries, n_rows=1, n_models=1, unknown=(), **features):
        cases = [
            make_case(f"case{place}", [(f"a{n} b", f"a{n} c") for n in range(len(WORDS))],
                      construction=f"C{place}", features=features)
            for place in range(n_rows)
        ]  # fmt: skip
        table = pa.table({name: as_entries(values) for name, values in entries.items()})
        suite = make_suite(*(replace(case, entries=table) for case in cases))
        for place in range(n_models):
            logprobs, path = {"b": -1.0, "c": -0.5 - place}, tmp_path / f"r{place}"
            make_run(suite, logprobs, path=path, model=f"m{place}", unknown=unknown)
        return open_runs([str(tmp_path / f"r{place}") for place in range(n_models)])

    return runs


def written(opened):
    """The table as R or pandas read it."""
    file = io.BytesIO()
    write_verdicts(opened, file)
    return pd.read_csv(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize(
    ("factors", "n_rows", "n_models", "formula"),
    [
        (["verb"], 1, 1, "correct ~ 1 + (1 | verb.entry)"),
        (["verb", "noun"], 2, 1, "correct ~ row + (1 | verb.entry) + (1 | noun.entry)"),
        (["verb"], 1, 2, "correct ~ model + (1 + model | verb.entry) + (1 | id)"),
        (["verb"], 2, 2, "correct ~ model * row + (1 + model | verb.entry) + (1 | id)"),
        (["my verb"], 1, 1, "correct ~ 1 + (1 | `my verb.entry`)"),
    ],
)
def test_entries_are_crossed_random_effects_of_each_model(opened, factors, n_rows, n_models, formula):
    model = mixed_model(opened(dict.fromkeys(factors, WORDS), n_rows, n_models))
    assert model.formula == formula
    assert model.fixed == ()
    assert in_r(model, "my file.csv") == (
        "library(lme4)\n"
        'verdicts <- read.csv("my file.csv", check.names = FALSE, na.strings = character())\n'
        f"fit <- glmer({formula},\n"
        "             data = verdicts, family = binomial)\n"
    )


def test_factors_of_few_entries_are_not_random_and_named(opened):
    model = mixed_model(opened({"verb": WORDS, "said": ["x", "y"] * 3, "one": ["z"] * 6}))
    assert model.formula == "correct ~ 1 + (1 | verb.entry)"
    assert model.fixed == ("said.entry",)
    assert model.notes == (
        "Fewer than 5 entries, so no random effect: said.entry. "
        "Add them as fixed effects, or leave them out.",
    )


def test_items_that_share_nothing_need_no_mixed_model(opened):
    model = mixed_model(opened({}, n_rows=2))
    assert in_r(model, "a.csv").endswith("fit <- glm(correct ~ row, data = verdicts, family = binomial)\n")
    assert model.notes == ("No item is known to share a word with others: there is nothing to be random.",)


def test_what_is_undecidable_is_left_out_and_missing_entries_are_empty(opened):
    verbs = [None, *WORDS[1:]]
    runs = opened({"verb": verbs}, n_models=2)
    table = written(runs)
    assert table["verb.entry"].isna().tolist() == [True, *[False] * 5] * 2
    assert table["verb.entry"].dropna().tolist() == WORDS[1:] * 2
    assert table["id"].tolist() == [f"case0:{n}" for n in range(6)] * 2
    assert table["correct"].tolist() == [0] * 6 + [1] * 6
    assert mixed_model(runs).n_verdicts == 12
    first = runs.verdicts["m0"].assign(undecidable=[True, False] * 3)
    some = replace(runs, verdicts={**runs.verdicts, "m0": first})
    assert written(some)["id"].tolist() == [
        "case0:1",
        "case0:3",
        "case0:5",
        *[f"case0:{n}" for n in range(6)],
    ]
    assert mixed_model(some).n_verdicts == 9
    nothing = replace(runs, verdicts={**runs.verdicts, "m0": first.assign(undecidable=True)})
    assert mixed_model(nothing).formula == "correct ~ 1 + (1 | verb.entry)"
    assert len(written(nothing)) == 6


def test_runs_in_which_nothing_can_be_decided_are_refused(opened):
    with pytest.raises(RunError) as caught:
        mixed_model(opened({"verb": WORDS}, unknown=("b", "c")))
    assert str(caught.value) == (
        "no item of these runs can be decided, so there is nothing to fit.\n"
        "  The model may not know the words: tseval table shows how many items are undecidable."
    )


def test_no_text_becomes_a_formula_and_no_feature_takes_a_column_of_ours(opened):
    back = written(opened({"verb": ["=1+1", *WORDS[1:]]}, row=["+x"] * 6, size=[1, 2, 3, 4, 5, None]))
    assert back["verb.entry"][0] == "'=1+1"
    assert back["row"].unique().tolist() == ["Subject-verb agreement: C0"]
    assert back["feature.row"].unique().tolist() == ["'+x"]
    assert back["size"].isna().tolist() == [False] * 5 + [True]


@pytest.mark.slow
def test_another_program_fits_the_model_to_the_table(opened):
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM  # noqa: PLC0415 - slow to import

    one = written(opened({"verb": WORDS}))
    random = np.random.default_rng(0)
    verbs = np.repeat(np.arange(40), 60)
    chance = 1 / (1 + np.exp(-(0.8 + random.standard_normal(40)[verbs])))
    table = one.iloc[np.zeros(len(verbs), int)].assign(
        correct=(random.random(len(verbs)) < chance).astype(int), **{"verb.entry": [f"v{n}" for n in verbs]}
    )
    back = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    random_effects = {"verb": "0 + C(Q('verb.entry'))"}
    fit = BinomialBayesMixedGLM.from_formula("correct ~ 1", random_effects, back).fit_map()
    assert fit.fe_mean[0] == pytest.approx(0.8, abs=0.4)
    assert np.exp(fit.vcp_mean[0]) == pytest.approx(1.0, abs=0.35)
