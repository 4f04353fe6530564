"""Groups of runs: by name pattern or by GROUP=RUN; a warning if conditions differ within a group."""

import csv
import io
import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from in_process import call, printed, refuse, succeed
from small import finished_run, make_case, make_key, make_manifest, make_suite, score

from tseval.boards.sources import open_items
from tseval.report.analyses.row_dots import row_panels
from tseval.report.analyses.seeds import seeds_table
from tseval.report.groups import Grouping
from tseval.report.opened import for_analysis
from tseval.runs import start_run

VERBS = {"laughs": "laugh", "swims": "swim", "smiles": "smile", "is": "are"}
ROWS = [(f"the {noun} {good}", f"the {noun} {bad}") for noun in "abcd" for good, bad in VERBS.items()]
SUITE = make_suite(
    make_case("one", ROWS), make_case("two", ROWS[::2], construction="Coordination"), digest="5" * 64
)
WRONG = {"drop-s1": ["swims"], "drop-s2": [], "nodrop-s1": ["swims", "is"], "nodrop-s2": ["laughs"]}


def make(path, wrong, **details):
    """Write a run of an LSTM that fails on some verbs."""
    words = {bad: 0.0 if good in wrong else -2.0 for good, bad in VERBS.items()}
    key = make_key(SUITE, path.name, path.name.encode().hex().ljust(64, "0")[:64])
    _, scored, verdicts = finished_run(SUITE, key, score(SUITE, words))
    manifest = make_manifest(SUITE, key, scored, verdicts, architecture="lstm", hidden=8, **details)
    with start_run(path, key) as writer:
        writer.finish(manifest, scored, verdicts, {"table.md": "", "table.csv": ""})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    for name, wrong in WRONG.items():
        make(folder / "runs" / name, wrong)
    return folder


def accuracies(folder, names, construction=None):
    """Return each run's accuracy, by numpy from its verdicts: of a row, or the mean over rows."""
    values = []
    for name in names:
        verdicts = pq.read_table(folder / "runs" / name / "verdicts.parquet").to_pandas()
        rows = verdicts.groupby("construction")["correct"].apply(lambda cells: cells.astype(float).mean())
        values.append(rows.mean() if construction is None else rows[construction])
    return np.array(values)


def rows_of(*arguments, cwd):
    text = printed("table", *arguments, "--format", "csv", cwd=cwd)
    return {(row["model"], row["construction"] or row["over"]): row
            for row in csv.DictReader(io.StringIO(text))}  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ["--group-by", "{group}-s{seed}", "runs"],
        ["drop=runs/drop-s1", "drop=runs/drop-s2", "nodrop=runs/nodrop-*"],
        ["drop=runs/drop-*", "--group-by", "{group}-s{seed}", "runs/nodrop-s1", "runs/nodrop-s2"],
    ],
)
def test_groups_have_the_mean_and_the_spread_of_their_runs(folder, arguments):
    rows = rows_of(*arguments, cwd=folder)
    assert {model for model, _ in rows} == {"drop", "nodrop"}
    for group in ("drop", "nodrop"):
        names = [f"{group}-s1", f"{group}-s2"]
        for row, own in (("Coordination", accuracies(folder, names, "Coordination")),
                         ("All rows", accuracies(folder, names))):  # fmt: skip
            found = rows[group, row]
            assert float(found["accuracy"]) == pytest.approx(own.mean())
            assert float(found["spread"]) == pytest.approx(own.std(ddof=1))
            assert found["n_seeds"] == "2"


def test_one_architecture_in_two_conditions_is_not_merged_without_a_warning(folder):
    ended = succeed("table", "--group", "runs", cwd=folder)
    wanted = "The group lstm is a mean over models whose names differ by more than a number (drop-s1, drop-s2"
    assert f"warning: {wanted}" in ended.stderr
    assert wanted in ended.stdout
    for names in (["runs/drop-s1", "runs/drop-s2"], ["all=runs/drop-s1", "all=runs/drop-s2"]):
        assert printed("table", "--group", *names, cwd=folder)
    ended = succeed("table", "all=runs", cwd=folder)
    assert "warning: The group all is a mean over models whose names differ" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--group-by", "{group}_s{seed}", "runs"],
         "--group-by '{group}_s{seed}': the name 'drop-s1' does not match this pattern"),
        (["--group-by", "{name}-s{seed}", "runs"], "should have {group} once and {seed} once"),
        (["--group-by", "{group}-s{seed}", "--group", "runs"], "--group cannot be combined with --group-by"),
        (["drop=nowhere", "runs/drop-s1"], "'drop=nowhere': no run has the path 'nowhere'"),
        (["a=runs/drop-s1", "b=runs"], "is already in the group a"),
        (["drop=runs/drop-*", "--over", "step"], "--over cannot be combined with"),
    ],
)  # fmt: skip
def test_what_names_no_groups_is_one_message(folder, arguments, message):
    assert message in refuse("table", *arguments, cwd=folder).stderr


def test_a_run_whose_path_has_an_equals_sign_is_a_run(tmp_path):
    for name in ("lr=1", "lr=2"):
        make(tmp_path / name, [])
    text = printed("table", "lr=1", "lr=2", cwd=tmp_path)
    assert "Means over seeds" not in text


def test_pairs_of_groups_differ_by_their_means(folder):
    text = printed(
        "analyze", "pairwise", "--group-by", "{group}-s{seed}", "runs", "--format", "json", cwd=folder
    )
    (pair,) = json.loads(text)["rows"]
    right = {
        name: pq.read_table(folder / "runs" / name / "verdicts.parquet").to_pandas()["correct"].mean()
        for name in WRONG
    }
    means = [np.mean([right[f"{group}-s1"], right[f"{group}-s2"]]) for group in ("drop", "nodrop")]
    assert pair["difference"] == pytest.approx(means[0] - means[1])
    assert (pair["first"], pair["second"], pair["n_items"]) == ("drop", "nodrop", 24)
    assert "p_mcnemar" not in pair, "no item is right or wrong for a mean over seeds"


def test_a_figure_has_a_point_for_each_seed(folder):
    opened = for_analysis(open_items([str(folder / "runs")]))
    groups = Grouping(pattern="{group}-s{seed}").of(opened).runs_of
    (panel,) = row_panels(opened, seeds_table(opened, groups), groups)
    assert list(panel.words) == ["Coordination", "Simple"]  # the y axis counts from below
    for line in panel.series:
        runs = [f"{line.name}-s1", f"{line.name}-s2"]
        expected = [
            (place, value)
            for place, row in enumerate(("Coordination", "Simple"), 1)
            for value in accuracies(folder, runs, row)
        ]
        np.testing.assert_allclose(sorted(line.points), sorted(expected))


def board(folder):
    """Write a leaderboard of published accuracies with two models."""
    row = {"dependency": "short", "phenomenon": "Subject-verb agreement",
           "contrast": "grammatical > ungrammatical"}  # fmt: skip
    rows = [
        {**row, "construction": "Simple", "n_items": 16, "accuracy": {"best": "0.99", "worst": "0.5"}},
        {**row, "construction": "Coordination", "n_items": 8, "accuracy": {"best": "0.9", "worst": "0.61"}},
    ]
    content = {
        "format": 1, "name": "paper", "title": "A paper", "source": "A paper", "suite": "small",
        "score": "sentence", "decimals": 2, "models": [{"name": "best"}, {"name": "worst"}], "rows": rows,
        "notes": [],
    }  # fmt: skip
    (folder / "paper.json").write_text(json.dumps(content))
    return "paper.json"


def test_published_models_stand_beside_means_over_seeds_with_ranks_of_both(folder):
    paper = board(folder)
    rows = rows_of("--group-by", "{group}-s{seed}", "runs", paper, cwd=folder)
    means = {"best": (0.99 + 0.9) / 2, "worst": (0.5 + 0.61) / 2}
    for group in ("drop", "nodrop"):
        own = [
            accuracies(folder, [f"{group}-s1", f"{group}-s2"], row).mean()
            for row in ("Simple", "Coordination")
        ]
        means[group] = np.mean([np.floor(value * 100 + 1e-9) / 100 for value in own])
    order = sorted(means, key=means.get, reverse=True)
    assert {name: int(float(rows[name, "All rows"]["rank"])) for name in means} == {
        name: 1 + order.index(name) for name in means
    }
    assert float(rows["best", "All rows"]["accuracy"]) == pytest.approx(0.945)
    assert (rows["best", "Simple"]["accuracy"], rows["best", "Simple"]["low"]) == ("0.99", "")
    text = printed("table", "--group-by", "{group}-s{seed}", "runs", paper, "--notes", cwd=folder)
    (head,) = re.findall(r"^\| small .*$", text, re.MULTILINE)
    assert [cell.strip() for cell in head.split("|")][-3:-1] == ["best", "worst"], "without intervals"
    assert "Published accuracies have 2 decimals" in text


def test_a_page_and_a_paper_have_the_same_groups(folder, tmp_path):
    text = printed("cite", "--group-by", "{group}-s{seed}", "runs", cwd=folder)
    assert "the language models drop (2 random seeds) and nodrop (2 random seeds) on" in text
    assert r"Mean $\pm$ standard deviation over seeds (drop 2, nodrop 2)." in text
    ended = call("report", "--group-by", "{group}-s{seed}", "runs", "-o", tmp_path / "page.html", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert re.search(
        r"Means over seeds</h2>.*?<th scope=\"col\">drop</th><th scope=\"col\">nodrop</th>", page, re.DOTALL
    )


def test_checkpoints_of_a_training_are_in_the_order_of_their_steps_with_its_curve(tmp_path):
    for step, wrong in ((100, ["is"]), (20, ["is", "swims"]), (3, [*VERBS])):
        make(tmp_path / "runs" / f"lm-step{step}", wrong, step=step)
    ended = call("report", "runs", "-o", "page.html", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    (heads,) = re.findall(r'<table id="board".*?</thead>', page, re.DOTALL)
    assert re.findall(r"lm-step(\d+)</", heads) == ["3", "20", "100"]
    assert '"order":"board"' in page, "as the script draws it too"
    steps = re.findall(r'<th scope="row">(\d+)</th><td class="num">([\d.]+)</td>', page)
    found = [float(accuracies(tmp_path, [f"lm-step{step}"])[0]) for step in (3, 20, 100)]
    assert [step for step, _ in steps] == ["3", "20", "100"]
    assert [float(share) for _, share in steps] == pytest.approx(found, abs=0.001)
    (curve,) = re.findall(r'<polyline class="curve" points="([^"]+)"', page)
    places = [tuple(map(float, place.split(","))) for place in curve.split()]
    assert [x for x, _ in places] == pytest.approx([50, 50 + 560 * 17 / 97, 610], abs=0.1)
    assert [y for _, y in places] == pytest.approx([200 - 190 * share for share in found], abs=0.1)
