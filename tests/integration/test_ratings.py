"""Rated sentences on the command line: correlations, tables, figures, and commands that refuse them."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from in_process import call, printed, refuse, succeed
from pages import follow
from scipy import stats
from supplied import LAU_RATINGS, TURBLIMP_RATINGS
from systems import needs_posix

from tseval import load_suite
from tseval.runs import read_run

PAGE = Path(__file__).parents[2] / "docs/ratings.md"
MODEL = ("--model", "bundled:lstm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Score the sample of Lau et al. in two ways, the TurBLiMP sample, and pairs."""
    folder = tmp_path_factory.mktemp("ratings")
    lau = ("--suite", LAU_RATINGS, "--tokenise")
    for name, *more in (
        ("sum", *lau),
        ("mean", *lau, "--score", "mean"),
        ("turkish", "--suite", TURBLIMP_RATINGS, "--tokenise", "--cluster", "version"),
        ("pairs", "--case", "simple_agrmt", "--limit", "20"),
    ):
        succeed("run", *MODEL, *more, "--out", name, "--quiet", cwd=folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_correlations_are_those_of_scipy(folder, name):
    (row,) = csv.DictReader(io.StringIO(printed("table", name, "--format", "csv", cwd=folder)))
    verdicts, sentences = (getattr(read_run(folder / name), what) for what in ("verdicts", "sentences"))
    scores = sentences.set_index("sentence")["logprob"]
    lengths = sentences.set_index("sentence")["words"].map(len)
    (case,) = load_suite(LAU_RATINGS, tokenise=True).cases
    texts = case.sentences["sentence"].to_pylist()
    expected = [scores[text] / (lengths[text] if name == "mean" else 1) for text in texts]
    ratings = case.features["rating"].to_pylist()
    assert float(row["pearson"]) == pytest.approx(stats.pearsonr(expected, ratings).statistic, abs=1e-11)
    assert float(row["spearman"]) == pytest.approx(stats.spearmanr(expected, ratings).statistic, abs=1e-11)
    assert verdicts["better_score"].tolist() == pytest.approx(expected, abs=1e-12)
    assert verdicts[["correct", "tie", "worse_score"]].isna().all(axis=None)
    assert not verdicts["undecidable"].any()


def test_every_row_has_its_own_correlation_and_all_sentences_have_one(folder):
    rows = list(csv.DictReader(io.StringIO(printed("table", "turkish", "--format", "csv", cwd=folder))))
    verdicts = read_run(folder / "turkish").verdicts
    assert [row["construction"] for row in rows] == [*verdicts["case"].unique(), "All sentences"]
    for row, (_, own) in zip(rows, [*verdicts.groupby("case", sort=False), ("", verdicts)], strict=True):
        assert int(row["n_items"]) == len(own)
        expected = stats.spearmanr(own["better_score"], own["rating"]).statistic
        assert float(row["spearman"]) == pytest.approx(expected, abs=1e-11)
        assert (row["clusters"], row["fixed"]) == ("", "version")  # two versions are too few to be random


def test_models_stand_side_by_side_and_rows_split(folder):
    text = printed("table", "sum", "mean", "--by", "language", cwd=folder)
    assert "lstm (sum)" in text
    assert "lstm (mean)" in text
    assert len(re.findall(r"^\| lau_ratings, language \w\w ", text, re.MULTILINE)) == 5
    assert re.search(r"^\| All sentences +\| +60 \|", text, re.MULTILINE)
    assert "scored by different methods (lstm (sum): sentence, lstm (mean): mean)" in text


@pytest.mark.parametrize("form", ["md", "csv", "json", "latex"])
def test_every_format_holds_the_correlation(folder, form):
    found = json.loads(printed("analyze", "ratings", "sum", "--format", "json", cwd=folder))
    (row,) = found["rows"]
    assert (found["analysis"], row["model"], row["n_items"]) == ("ratings", "lstm", 60)
    assert row["pearson_low"] < row["pearson"] < row["pearson_high"] < row["ceiling"] < 1
    shown = str(row["spearman"]) if form in ("csv", "json") else str(row["spearman"])[:5]
    assert shown in printed("analyze", "ratings", "sum", "--format", form, cwd=folder)


def test_the_figure_has_a_dot_for_every_sentence(folder):
    printed("analyze", "ratings", "sum", "mean", "--figure", "r.svg", cwd=folder)
    drawing = ET.fromstring((folder / "r.svg").read_text("utf-8"))  # noqa: S314 - ours
    dots = [
        len(group.findall(".//{*}use"))
        for group in drawing.iterfind(".//{*}g[@id]")
        if group.get("id", "").startswith("PathCollection")
    ]
    assert dots == [60, 60]
    text = (folder / "r.svg").read_text("utf-8")
    assert "log-probability, nats / log-probability per word, nats" in text
    assert "mean rating" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("table sum mean --against sum", "sum is a run on rated sentences"),
        ("table sum --group", "sum is a run on rated sentences"),
        ("table sum --over step", "sum is a run on rated sentences"),
        ("report sum -o page.html", "sum is a run on rated sentences"),
        ("analyze attractors sum", "sum is a run on rated sentences"),
        ("analyze ratings pairs", "pairs is a run on marvin_linzen, whose sentences have no human ratings."),
        ("export glmm sum -o v.csv", "sum is a run on rated sentences"),
        ("export eee sum", "sum is a run on rated sentences"),
        (f"export lm-eval {LAU_RATINGS} -o tasks", "lau_ratings is a suite of rated sentences, which"),
        (f"board new board --suite {LAU_RATINGS}", "lau_ratings is a suite of rated sentences, but a"),
        (f"run --model bundled:lstm --suite {LAU_RATINGS} --score critical", "so --score critical"),
        (f"run --model bundled:lstm --suite {LAU_RATINGS}:judgement", "compares no two sentences"),
        ("train lm --arch srn --hidden 4 --embedding 4 --batch 2 --train text --valid text --out m.pt "
         f"--eval-suite {LAU_RATINGS}", "--eval-suite lau_ratings: this suite has "),
    ],
)  # fmt: skip
def test_who_cannot_use_ratings_says_so_once(folder, arguments, said):
    (folder / "text").write_text("the author laughs .\nthe pilot smiles .\n" * 100)
    done = refuse(*arguments.split(), cwd=folder)
    assert said in done.stderr
    assert done.stderr.count("tseval: ") == 1


@pytest.mark.slow
def test_a_run_is_verified_and_resumed_like_any_other(folder):
    # The words of this run come from --tokenise, as the manifest states.
    succeed("verify", "turkish", "--suite", TURBLIMP_RATINGS, *MODEL, cwd=folder)
    where = ("--suite", LAU_RATINGS, "--out", "plain", "--quiet")
    first = printed("run", *MODEL, *where, cwd=folder)
    assert printed("run", *MODEL, *where, "--resume", cwd=folder) == first
    done = succeed("verify", "plain", "--suite", LAU_RATINGS, *MODEL, "--rescore", "100%", cwd=folder)
    assert "60 sentences, 60 verdicts, 2 tables from suite and evidence" in done.stdout
    assert "0 of 60 verdicts differ" in done.stdout


@pytest.mark.slow
def test_a_warning_names_the_remedy_for_attached_punctuation(folder):
    said = call("run", *MODEL, "--suite", LAU_RATINGS, "--out", "warned", cwd=folder).stderr
    warned = "of 60 sentences hold words that the model does not know; some words have punctuation"
    assert said.count(warned) == 1
    assert "--tokenise" in said
    said = call("run", *MODEL, "--suite", LAU_RATINGS, "--out", "not", "--tokenise", cwd=folder).stderr
    assert "warning" not in said


@needs_posix
def test_the_page_is_reproduced_by_its_commands(tmp_path):
    followed = follow(PAGE, tmp_path)
    for command in followed:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"
    assert (tmp_path / "lstm.svg").exists()
    assert (tmp_path / "lstm.md").read_text("utf-8").startswith("| lstm on ratings ")
