"""Runs as records of Every Eval Ever: checked against the published schema and against the table."""

import io
import json
import os
import re
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from in_process import call, printed, refuse, run_process, succeed
from jsonschema import Draft7Validator
from small import make_case, make_run, make_suite
from supplied import BLIMP_SAMPLE, RECORD_SCHEMA

from tseval.boards.sources import open_runs
from tseval.errors import RunError
from tseval.items import as_entries
from tseval.report.exports.mixed_models import in_r, mixed_model, write_verdicts
from tseval.runs import read_run

ARPA = Path(__file__).parents[1] / "adapters/trigram.arpa"
SCHEMA = json.loads(RECORD_SCHEMA.read_text("utf-8"))
NGRAM = pytest.mark.skipif(find_spec("kenlm") is None, reason="kenlm needs a C++ compiler to be installed")
RUNS = ("grammars", "data", "pairs", pytest.param("ngram", marks=NGRAM))


def closed(schema: Any) -> Any:
    """Forbid fields that the schema does not name; by default, most objects allow any field."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    tight = {name: one if name in {"if", "then", "else"} else closed(one) for name, one in schema.items()}
    return {"additionalProperties": False} | tight if "properties" in schema else tight


VALID = Draft7Validator(closed(SCHEMA))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run clustered items, data with some unknown words, one pair, and an n-gram model."""
    folder = tmp_path_factory.mktemp("records")
    shutil.copy(BLIMP_SAMPLE, folder / "blimp.jsonl.gz")
    pair = {"good": "the author laughs .", "bad": "the author laugh ."}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    lstm, cases = "bundled:lstm", ["--case", "simple_agrmt", "--case", "vp_coord"]
    runs: list[tuple[str, str, list[Any]]] = [
        ("grammars", lstm, [*cases, "--limit", 60]),
        ("data", lstm, ["--suite", "blimp.jsonl.gz", "--tokenise"]),
        ("pairs", lstm, ["--suite", "pairs.jsonl"]),
        ("ngram", f"ngram:{ARPA}", ["--suite", "pairs.jsonl", "--unknown", "score"]),
    ]
    for name, model, chosen in runs if find_spec("kenlm") else runs[:-1]:
        succeed("run", "--model", model, *chosen, "--quiet", "--out", name, cwd=folder)
    return folder


def exported(*arguments, cwd):
    return json.loads(printed("export", "eee", *arguments, "--quiet", cwd=cwd))


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_record_follows_the_published_schema(folder, name):
    assert SCHEMA["version"] == exported(name, cwd=folder)["schema_version"]
    options = ["--model-id", "us/the-model", "--organisation", "us"]
    for record in (exported(name, cwd=folder), exported(name, *options, cwd=folder)):
        assert [error.message for error in VALID.iter_errors(record)] == []
        named = [result["evaluation_name"] for result in record["evaluation_results"]]
        assert len(set(named)) == len(named)


@pytest.mark.parametrize("name", RUNS)
def test_its_numbers_are_those_of_the_table(folder, name):
    table = json.loads(call("table", name, "--format", "json", cwd=folder).stdout)
    results = exported(name, cwd=folder)["evaluation_results"]
    rows = [row for row in table["rows"] if row["accuracy"] is not None]
    *of_rows, last = results if len(table["rows"]) > 1 else [*results, None]
    for row, result in zip(rows, of_rows, strict=True):
        details = result["score_details"]
        assert details["score"] == row["accuracy"]
        assert ends(details) == [row["se"], row["low"], row["high"]]
        assert details["uncertainty"]["num_samples"] == row["n_items"] - row["n_undecidable"]
        told = details["details"]
        counted = ("n_items", "n_correct", "n_tied", "n_undecidable", "n_eff")
        assert [json.loads(told[count]) for count in counted] == [row[count] for count in counted]
        of_row = ("dependency", "phenomenon", "construction", "contrast")
        assert [told.get(part) for part in of_row] == [row[part] for part in of_row]
        method = details["uncertainty"]["standard_error"]["method"]
        assert all(factor in method for factor in row["clusters"])
    if last is not None:
        mean, (model,) = table["means"][-1], table["means"][-1]["accuracy"]
        assert last["score_details"]["score"] == mean["accuracy"][model]
        assert ends(last["score_details"]) == [mean[part][model] for part in ("se", "low", "high")]
        assert last["score_details"]["details"]["n_rows"] == str(mean["n_rows"])


def ends(details):
    found = details["uncertainty"]
    interval = found["confidence_interval"]
    return [found["standard_error"]["value"], interval["lower"], interval["upper"]]


def test_it_says_what_the_run_says_and_no_more(folder):
    record, manifest = exported("grammars", cwd=folder), read_run(folder / "grammars").manifest
    assert record["eval_library"]["version"] == manifest.key.tseval
    assert record["eval_library"]["additional_details"]["signature"] == manifest.signature
    about = record["evaluation_results"][0]["source_data"]["additional_details"]
    assert (about["digest"], about["complete"]) == (manifest.suite.digest, "false")
    model = record["model_info"]
    assert (model["id"], "developer" in model) == ("lstm", False)
    assert model["additional_details"]["fingerprint"] == manifest.key.fingerprint
    methods = [one["score_details"]["uncertainty"] for one in record["evaluation_results"]]
    assert "t with" in methods[0]["confidence_interval"]["method"]
    assert "subject" in methods[0]["standard_error"]["method"]
    said = exported(
        "grammars", "--model-id", "us/m", "--organisation", "Us", "--relationship", "first_party",
        "--availability", "open_weights", cwd=folder,
    )  # fmt: skip
    assert said["source_metadata"]["source_organization_name"] == "Us"
    assert said["source_metadata"]["evaluator_relationship"] == "first_party"
    assert (said["model_info"]["id"], said["model_info"]["developer"]) == ("us/m", "us")
    assert said["model_info"]["additional_details"]["model_availability"] == "open_weights"


def test_every_choice_is_one_of_the_schema(folder):
    fields = SCHEMA["properties"]["source_metadata"]["properties"]
    model = SCHEMA["$defs"]["model_info"]["properties"]["additional_details"]["properties"]
    for option, allowed in (
        ("--relationship", fields["evaluator_relationship"]["enum"]),
        ("--availability", model["model_availability"]["enum"]),
    ):
        for choice in allowed:
            exported("pairs", option, choice, cwd=folder)


def test_its_place_and_date_are_the_runs_and_made_again_it_replaces_itself(folder, tmp_path):
    shutil.copytree(folder / "pairs", tmp_path / "elsewhere")
    os.utime(tmp_path / "elsewhere/manifest.json", (1_700_000_000, 1_700_000_000))
    for run in (folder / "pairs", "elsewhere", "elsewhere"):
        done = succeed("export", "eee", run, "--model-id", "us/m", "-o", "store", cwd=tmp_path)
    (file,) = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    place = file.relative_to(tmp_path / "store").as_posix()
    assert done.stderr.splitlines()[-1] == f"store/{place}"
    assert place.startswith("data/tseval_pairs/us/m/")
    samples = SCHEMA["properties"]["detailed_evaluation_results"]["properties"]["file_path"]["pattern"]
    assert re.fullmatch(samples, place.replace(".json", "_samples.jsonl"))
    record = json.loads(file.read_text("utf-8"))
    assert record["retrieved_timestamp"] == "1700000000"
    assert record["evaluation_id"].startswith("tseval_pairs/us/m/")
    done = call("export", "eee", "elsewhere", "--model-id", "us/m", "-o", "one.json", cwd=tmp_path)
    assert (tmp_path / "one.json").read_bytes() == file.read_bytes()
    assert "To make the record complete, state also: --organisation, --relationship" in done.stderr


def test_an_entry_of_a_board_has_the_record_of_its_run(folder, tmp_path):
    shutil.copy(folder / "pairs.jsonl", tmp_path)
    for step in (["new", "board", "--suite", "../pairs.jsonl"], ["add", "board", folder / "pairs"]):
        succeed("board", *step, cwd=tmp_path)
    entry, run = exported("board/entries/lstm", cwd=tmp_path), exported("pairs", cwd=folder)
    assert entry | {"retrieved_timestamp": ""} == run | {"retrieved_timestamp": ""}


def test_rows_without_a_score_are_left_out_and_named(folder, tmp_path):
    words = {"known": "author laugh", "half": "zzyzx laugh", "unknown": "author zzyzx"}
    pairs = [{"good": f"the {text}s .", "bad": f"the {text} .", "case": name, "construction": name}
             for name, text in words.items()]  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (tmp_path / "lost.jsonl").write_text(json.dumps(pairs[2]) + "\n")
    for name in ("pairs", "lost"):
        suite = ["--suite", f"{name}.jsonl"]
        succeed("run", "--model", "bundled:lstm", *suite, "--quiet", "--out", name, cwd=tmp_path)
    done = call("export", "eee", "pairs", cwd=tmp_path)
    results = json.loads(done.stdout)["evaluation_results"]
    assert [result["score_details"]["details"]["construction"] for result in results] == ["known", "half"]
    assert "1 of 3 rows have no decidable item" in done.stderr
    lost = refuse("export", "eee", "lost", cwd=tmp_path)
    assert "lost: no item of this run can be decided, so there is no accuracy to record." in lost.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "'nowhere' is not the folder of a run or a leaderboard"),
        (["bhatt2020"], "bhatt2020 is a folder with several runs, but the command needs a single run.\n"),
        (["pairs.jsonl"], "pairs.jsonl is not the folder of a run"),
        (
            ["pairs", "--model-id", "lstm"],
            "'lstm' is not the name of a model on a hub.\n  Write --model-id DEVELOPER/NAME",
        ),
        (["pairs", "--model-id", "a/b/../c"], "'a/b/../c' is not the name of a model on a hub."),
        (["pairs", "-o", "store"], "Add --model-id DEVELOPER/NAME, or name a file"),
        (
            ["pairs", "-o", "pairs.jsonl", "--model-id", "a/b"],
            "pairs.jsonl is a file that exists already.\n  Name a folder",
        ),
        (["pairs", "-o", "folder.json"], "folder.json: Is a directory"),
    ],
)
def test_bad_input_is_told_in_one_message(folder, arguments, said):
    (folder / "folder.json").mkdir(exist_ok=True)
    done = refuse("export", "eee", *arguments, cwd=folder)
    assert said in done.stderr
    assert done.stderr.count("tseval:") == 1
    assert not (folder / "store").exists()


# The table and the formula for lme4: their content, and that another program accepts them.
WORDS = [f"w{n}" for n in range(6)]


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens runs of models: the first is always wrong, the second always correct."""

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
    """Read the table as R or pandas does."""
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
        "             data = verdicts, family = binomial,\n"
        '             control = glmerControl(optimizer = "bobyqa"))\n'
    )


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_fits_what_is_printed(tmp_path):
    succeed("run", "--model", "bundled:lstm", "--case", "simple_agrmt", "--out", "run", cwd=tmp_path)
    lines = succeed("export", "glmm", "run", "-o", "verdicts.csv", cwd=tmp_path).stdout
    (tmp_path / "fit.R").write_text(lines + "cat(class(fit), nobs(fit), is.finite(fixef(fit)))\n")
    fitted = run_process(["Rscript", "fit.R"], cwd=tmp_path)
    if "there is no package called" in fitted.stderr:
        pytest.skip("lme4 is not installed")
    assert fitted.stdout == "glmerMod 140 TRUE", fitted.stderr


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
    assert model.notes == ("No items share words, so the model has no random effects.",)


def test_what_is_undecidable_is_left_out_and_missing_entries_are_empty(opened):
    verbs = [None, *WORDS[1:]]
    runs = opened({"verb": verbs}, n_models=2)
    table = written(runs)
    assert table["verb.entry"].isna().tolist() == [True, *[False] * 5] * 2
    assert table["verb.entry"].dropna().tolist() == WORDS[1:] * 2
    assert table["id"].tolist() == [f"case0:{n}" for n in range(6)] * 2
    assert table["correct"].tolist() == [0] * 6 + [1] * 6
    first = runs.verdicts["m0"].assign(undecidable=[True, False] * 3)
    some = replace(runs, verdicts={**runs.verdicts, "m0": first})
    assert written(some)["id"].tolist() == [f"case0:{n}" for n in (1, 3, 5, *range(6))]
    assert (mixed_model(runs).n_verdicts, mixed_model(some).n_verdicts) == (12, 9)
    nothing = replace(runs, verdicts={**runs.verdicts, "m0": first.assign(undecidable=True)})
    assert mixed_model(nothing).formula == "correct ~ 1 + (1 | verb.entry)"


def test_runs_in_which_nothing_can_be_decided_are_refused(opened):
    with pytest.raises(RunError) as caught:
        mixed_model(opened({"verb": WORDS}, unknown=("b", "c")))
    assert str(caught.value) == (
        "no item of these runs can be decided, so there are no data for a mixed model.\n"
        "  The models may not know the words of the suite. To see the number of undecidable items: "
        "tseval table RUN"
    )


def test_no_text_becomes_a_formula_and_no_feature_takes_a_column_of_ours(opened):
    back = written(opened({"verb": ["=1+1", *WORDS[1:]]}, row=["+x"] * 6, size=[1, 2, 3, 4, 5, None]))
    assert back["verb.entry"][0] == "'=1+1"
    assert back["row"].unique().tolist() == ["Subject-verb agreement: C0"]
    assert back["feature.row"].unique().tolist() == ["'+x"]
    assert back["size"].isna().tolist() == [False] * 5 + [True]
