"""`tseval analyze formal` on real runs of small models."""

import io
import json

import pandas as pd
import pytest
import torch
from in_process import call, refuse, succeed

from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.suites.formal.languages import parse_language

SUITES = {
    "dyck": ("dyck(2,2,test=900,train=400)", "distance"),
    "generalised": ("generalised_dyck(pairs=2,length=10,train=400,test=200)", "attractors"),
    "cross": ("cross_serial(3,test=300)", "m_plus_n"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two models on each language, each in a directory of its own."""
    folder = tmp_path_factory.mktemp("formal")
    for name, (spec, _) in SUITES.items():
        alphabet = parse_language(spec).alphabet
        for seed in (0, 1):
            torch.manual_seed(seed)
            model = LanguageModel(Sizes("lstm", len(alphabet) + 2, 8, 12, 1))
            for parameter in model.output.parameters():
                torch.nn.init.normal_(parameter)
            path = folder / f"{name}$_{seed}.pt"
            words = Vocabulary(("<eos>", "<unk>", *alphabet), lowercase=False)
            save_checkpoint(path, model, words, training={}, validation_perplexity=None)
            succeed("run", "--model", path, "--suite", spec, "--out", folder / f"{name}{seed}", "--quiet")
    return folder


@pytest.mark.parametrize("name", SUITES)
def test_every_number_is_that_of_the_verdicts(runs, name):
    feature = SUITES[name][1]
    done = succeed("analyze", "formal", f"{name}0", f"{name}1", "--format", "csv", cwd=runs)
    rows = pd.read_csv(io.StringIO(done.stdout))
    for seed in (0, 1):
        own = rows[rows["model"] == f"{name}$_{seed}"]
        wrong = 1 - pd.read_parquet(runs / f"{name}{seed}" / "verdicts.parquet").set_index(feature)["correct"]
        error = wrong.groupby(level=0).mean()
        value = 1 - error if name == "dyck" else error
        summary = {"dyck": value.mean(), "generalised": value.max(), "cross": wrong.mean()}[name]
        assert own["at"].tolist()[:-1] == error.index.tolist()
        assert own["value"].tolist() == pytest.approx([*value, summary])
        assert own["n_items"].tolist()[-1] == len(wrong)


@pytest.mark.parametrize("name", SUITES)
def test_seeds_give_means_with_the_spread_between_them(runs, name):
    arguments = ("analyze", "formal", f"{name}0", f"{name}1")
    done = succeed(*arguments, "--group", "--format", "csv", "--figure", "g.svg", cwd=runs)
    assert (runs / "g.svg").read_text().rstrip().endswith("</svg>")
    means = pd.read_csv(io.StringIO(done.stdout))
    rows = pd.read_csv(io.StringIO(call(*arguments, "--format", "csv", cwd=runs).stdout))
    of_seeds = [own.reset_index(drop=True) for _, own in rows.groupby("model", sort=False)]
    values = pd.concat([own["value"] for own in of_seeds], axis=1)
    assert means["model"].unique().tolist() == ["lstm"]
    assert means["at"].tolist()[:-1] == of_seeds[0]["at"].tolist()[:-1]
    assert means["value"].tolist() == pytest.approx(values.mean(axis=1).tolist())
    assert means["spread"].tolist() == pytest.approx(values.std(axis=1).tolist())
    inside = means["low"].le(means["value"] + 1e-9) & means["high"].ge(means["value"] - 1e-9)
    assert inside.tolist() == [True] * (len(means) - 1) + [False]  # the headline has no interval
    printed = call(*arguments, "--group", cwd=runs).stdout
    assert "- Seeds: lstm 2. Means over seeds, ± the standard deviation between them" in printed


def test_readers_get_a_table_and_programs_all_digits(runs):
    table = call("analyze", "formal", "generalised0", "generalised1", cwd=runs).stdout
    assert table.startswith("**Error on generalised_dyck_2_10**")
    assert "| Largest " in table
    assert "- Source: Bernardy" in table
    content = json.loads(call("analyze", "formal", "generalised0", "--format", "json", cwd=runs).stdout)
    assert content["rows"][-1]["by"] == "largest"
    assert content["rows"][-1]["at"] is None
    largest = max(row["value"] for row in content["rows"][:-1])
    assert f"{int(largest * 1000) / 1000:.3f}" in table.partition("| Largest ")[2]
    assert "Largest" in call("analyze", "formal", "generalised0", "--format", "latex", cwd=runs).stdout


def test_a_run_on_a_suite_of_pairs_is_refused(runs):
    few = "--case", "simple_agrmt", "--limit", 5
    succeed("run", "--model", "bundled:lstm", *few, "--out", "pairs", cwd=runs)
    done = refuse("analyze", "formal", "pairs", cwd=runs)
    assert "on marvin_linzen, which is not a formal language.\n  Make a run on one" in done.stderr
