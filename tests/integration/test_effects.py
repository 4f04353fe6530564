"""Effects of designs, against surprisals of single sentences, SyntaxGym's JSON, statsmodels and scipy."""

import json
import re
import xml.etree.ElementTree as ET
from io import StringIO
from math import log

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from in_process import call, printed, succeed
from scipy.stats import t as student
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups

import tseval
from tseval.scoring.surprisal import surprisals

PEOPLE = ["farmer", "pilot", "soldier", "teacher", "lawyer", "doctor"]
EVENTS = [("bought", "the house"), ("lost", "the letter"), ("found", "the car"), ("painted", "the picture"),
          ("stole", "the old horse")]  # fmt: skip
CONDITIONS = {"that_object": ("that", True), "what_object": ("what", True), "that_gap": ("that", False),
              "what_gap": ("what", False)}  # fmt: skip
PREDICTIONS = {
    "gap is licensed": "what_gap.after < that_gap.after",
    "filled gap": "what_object.object > that_object.object",
    "interaction": "(what_gap.after - that_gap.after) < (what_object.after - that_object.after)",
    "spill-over": "what_gap.after+1 < that_gap.after+1",
}


def grammar(predictions):
    lines = "".join(
        f"{name}: I know {word} the {{{{ subject }}}} {{{{ event.verb }}}} "
        f"[object{' {{ event.thing }}' if filled else ''}] [after at night] again\n"
        for name, (word, filled) in CONDITIONS.items()
    )
    stated = "".join(f"  {name}: {formula}\n" for name, formula in predictions.items())
    return (
        "---\nconstruction: Gaps\nphenomenon: Filler-gap\nlexicon: lexicon.yaml\n"
        "slots: {subject: {class: noun.person, number: sing}, event: event.past}\n"
        f"regions: [object, after]\npredictions:\n{stated}---\n{lines}"
    )


def regions_of(person, event, condition):
    word, filled = CONDITIONS[condition]
    return [f"I know {word} the {person} {event[0]}", event[1] if filled else "", "at night", "again", "."]


ITEMS = [(person, event) for person in PEOPLE for event in EVENTS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the design as a grammar, and score it."""
    folder = tmp_path_factory.mktemp("effects")
    (folder / "mine").mkdir()
    events = [{"verb": verb, "thing": thing} for verb, thing in EVENTS]
    lexicon = {"noun": {"person": PEOPLE}, "event": {"past": events}}
    (folder / "mine/lexicon.yaml").write_text(json.dumps(lexicon))
    (folder / "mine/gaps.jinja").write_text(grammar(PREDICTIONS))
    done = succeed("run", "--model", "bundled:lstm", "--suite", "./mine", "--out", "a", "--quiet", cwd=folder)
    (folder / "a.printed").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def bits():
    """Return the surprisal of each region in bits, from surprisals of single sentences, (items,) each."""
    model, found = tseval.load_model("bundled:lstm"), {}
    for condition in CONDITIONS:
        texts = [regions_of(person, event, condition) for person, event in ITEMS]
        scored = surprisals(model, [" ".join(" ".join(text).split()) for text in texts])
        for place, name in ((1, "object"), (2, "after"), (3, "after+1")):
            values = []
            for text, tokens in zip(texts, scored, strict=True):
                before = sum(len(part.split()) for part in text[:place])
                own = tokens[before : before + len(text[place].split())]
                values.append(sum(token.surprisal for token in own) / log(2))
            found[f"{condition}.{name}"] = np.array(values)
    return found


def expected_effects(bits):
    """Return each prediction's effect: the side that should be greater minus the other, by item."""
    return {
        "gap is licensed": bits["that_gap.after"] - bits["what_gap.after"],
        "filled gap": bits["what_object.object"] - bits["that_object.object"],
        "interaction": (bits["what_object.after"] - bits["that_object.after"])
        - (bits["what_gap.after"] - bits["that_gap.after"]),
        "spill-over": bits["that_gap.after+1"] - bits["what_gap.after+1"],
    }


def cut(value):
    """Format a number with three decimals, truncated."""
    return f"{int(value * 1000) / 1000:+.3f}"


def records(folder, *arguments):
    return json.loads(printed(*arguments, "--format", "json", cwd=folder))


def clustered(values):
    """Return mean and interval, with subject and event as clusters (Cameron, Gelbach & Miller 2011)."""
    subject, event = np.divmod(np.arange(len(ITEMS)), len(EVENTS))
    fitted = sm.OLS(values, np.ones(len(values))).fit()
    variance = max(
        float(cov_cluster_2groups(fitted, subject, event)[0][0, 0]), float(fitted.cov_params()[0, 0])
    )
    half = student.ppf(0.975, min(len(PEOPLE), len(EVENTS)) - 1) * np.sqrt(variance)
    return values.mean(), values.mean() - half, values.mean() + half, np.sqrt(variance)


@pytest.mark.slow
def test_a_run_tells_the_accuracy_and_the_effect_of_each_prediction(folder, bits):
    rows = {row["contrast"]: row for row in records(folder, "table", "a")["rows"]}
    for name, effects in expected_effects(bits).items():
        row = rows[name]
        assert row["accuracy"] == np.mean(effects > 0)
        found = [row[key] for key in ("effect", "effect_low", "effect_high", "effect_se")]
        np.testing.assert_allclose(found, clustered(effects), rtol=1e-4, atol=1e-5)
    every = np.all([effects > 0 for effects in expected_effects(bits).values()], axis=0)
    assert (rows["all predictions"]["accuracy"], rows["all predictions"]["effect"]) == (every.mean(), None)
    printed = (folder / "a.printed").read_text()
    assert "|   Effect (bits) |" in printed
    assert re.search(rf"\| +{re.escape(cut(rows['interaction']['effect']))} \|", printed)


def test_surprisals_are_averaged_over_items_under_each_condition(folder, bits):
    means = [row for row in records(folder, "analyze", "effects", "a")["rows"] if row["condition"]]
    assert [(row["region"], row["condition"]) for row in means] == [
        *(("after", condition) for condition in CONDITIONS),
        *(("object", condition) for condition in ("that_object", "what_object")),
        *(("after+1", condition) for condition in ("that_gap", "what_gap")),
    ]
    for row in means:
        found = [row[name] for name in ("value", "low", "high", "se")]
        expected = clustered(bits[f"{row['condition']}.{row['region']}"])
        np.testing.assert_allclose(found, expected, rtol=1e-4)
        assert row["clusters"] == {"subject": 6, "event": 5}


@pytest.mark.slow
def test_models_stand_side_by_side_in_every_format(folder):
    call("run", "--model", "bundled:lstm", "--suite", "mine", "--out", "b", "--precision", "bfloat16",
         "--quiet", cwd=folder)  # fmt: skip
    rows = pd.read_csv(StringIO(call("analyze", "effects", "a", "b", "--format", "csv", cwd=folder).stdout))
    assert rows.groupby("model").size().tolist() == [4 + 8] * 2
    shown = call("analyze", "effects", "a", "b", cwd=folder).stdout
    value = rows.loc[rows["contrast"] == "interaction", "value"].iloc[0]
    assert re.search(rf"^\| Gaps \(interaction\) +\| +30 \| +{re.escape(cut(value))} \|", shown, re.MULTILINE)
    assert "Surprisals in bits, mine" in shown


def test_the_figure_names_conditions_and_regions(folder):
    succeed("analyze", "effects", "a", "--figure", "f.svg", cwd=folder)
    drawing = (folder / "f.svg").read_text()
    for text in (*CONDITIONS, "surprisal in bits", "region after+1"):
        assert f"<!-- {text} -->" in drawing
    assert "<!-- chance -->" not in drawing
    ET.fromstring(drawing)  # noqa: S314 - written a moment before


def test_effects_of_chosen_items_and_of_parts(folder, bits):
    subject = np.repeat(PEOPLE, len(EVENTS))
    values = expected_effects(bits)["interaction"][subject == "pilot"]
    found = records(folder, "analyze", "effects", "a", "--where", "subject=pilot")["rows"][2]
    fitted = sm.OLS(values, np.ones(len(values))).fit()
    se = np.sqrt(cov_cluster(fitted, np.arange(len(values)))[0, 0])
    np.testing.assert_allclose((found["value"], found["se"]), (values.mean(), se), rtol=1e-4)
    assert (found["contrast"], found["n_items"], found["clusters"]) == ("interaction", 5, {"event": 5})
    rows = records(folder, "table", "a", "--by", "subject")["rows"]
    (split,) = [row for row in rows if (row["contrast"], row["subject"]) == ("interaction", "pilot")]
    assert split["effect"] == pytest.approx(found["value"], rel=1e-12)


def test_what_cannot_be_decided_has_no_effect(folder, tmp_path):
    (tmp_path / "lexicon.yaml").write_text("noun: {person: [blorf, pilot]}\n")
    (tmp_path / "half.jinja").write_text(
        "---\nconstruction: C\nphenomenon: P\nlexicon: lexicon.yaml\n"
        "slots: {subject: {class: noun.person, number: sing}}\nregions: noun\n"
        "predictions: {p: a.noun < b.noun, none: a.noun = b.noun}\n---\n"
        "a: the [noun {{ subject }}] laughs\nb: the [noun author] laughs\n"
    )
    succeed("run", "--model", "bundled:lstm", "--suite", tmp_path / "half.jinja", "--out", "half",
            "--quiet", cwd=tmp_path)  # fmt: skip
    effect, *means = records(tmp_path, "analyze", "effects", "half")["rows"]
    assert (effect["contrast"], effect["n_items"], effect["low"]) == ("p", 1, None)
    assert [row["n_items"] for row in means] == [1, 1]


@pytest.mark.slow
def test_a_design_can_be_verified_and_put_on_a_board(folder):
    done = succeed(
        "verify", "a", "--suite", "mine", "--model", "bundled:lstm", "--rescore", "all", cwd=folder
    )
    assert "0 of 150 verdicts differ" in done.stdout
    for command in (["new", "bd", "--suite", "../mine"], ["add", "bd", "a"], ["check", "bd"]):
        succeed("board", *command, cwd=folder)
    shown = call("table", "bd", cwd=folder).stdout
    assert shown.splitlines()[3] == (folder / "a.printed").read_text().splitlines()[3]


def test_other_questions_about_a_design_are_refused_in_one_message(folder):
    for arguments, message in (
        (["run", "--model", "bundled:lstm", "--suite", "./mine", "--score", "sentence"],
         "case 'gaps' has predictions that compare regions, so --score sentence is not possible"),
        (["run", "--model", "bundled:lstm", "--suite", "./mine:profile"], "case 'gaps'"),
        (["export", "lm-eval", "./mine", "-o", "tasks"], ("--score regions, which a task of lm-eval cannot "
                                                          "express")),
        (["run", "--model", "bundled:lstm", "--case", "simple_agrmt", "--limit", "1", "--out", "p"], ""),
        (["analyze", "effects", "p"], "tseval: these runs do not compare regions of sentences, so"),
    ):  # fmt: skip
        done = call(*arguments, cwd=folder)
        assert (done.returncode, message in done.stderr) == (2 if message else 0, True)


def test_a_run_warns_of_sums_over_unequal_numbers_of_words(folder, tmp_path):
    (tmp_path / "lexicon.yaml").write_text((folder / "mine/lexicon.yaml").read_text())
    uneven = {"uneven": "what_gap.after < that_object.object", "worse": "what_gap.* < that_object.*"}
    (tmp_path / "uneven.jinja").write_text(grammar(uneven))
    done = call(
        "run", "--model", "bundled:lstm", "--suite", tmp_path / "uneven.jinja", "--out", tmp_path / "r"
    )
    assert (
        "case 'uneven', 'uneven': 6 of 30 items compare sums over different numbers of words: "
        "what_gap.after 2, that_object.object 3 (1 more: tseval lint)"
    ) in (done.stdout + done.stderr).replace("\\", "")
