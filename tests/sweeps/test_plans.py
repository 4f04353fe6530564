"""Plans of sweeps: the runs that they describe, and plans that are refused before anything starts."""

import json
import time
from pathlib import Path

import pytest
from in_process import call, refuse, run_process, succeed, succeeded

from tseval.errors import RunError, SuiteError
from tseval.runs import read_run
from tseval.sweeps.units import SweepPlan, expand_braces, plan_units, read_plan


def sweep(*arguments, cwd):
    """Run `tseval sweep ARGUMENTS` in a fork, whose workers are forks too."""
    return run_process(["tseval", "sweep", *arguments], cwd=cwd)


def planned(*models, suites=("marvin_linzen",)):
    """Return directory, model and arguments of every unit."""
    units = plan_units(SweepPlan(models, tuple(suites), out="out"))
    return [(Path(unit.run).name, unit.model, unit.arguments) for unit in units]


@pytest.fixture
def checkpoints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ckpt/step10.pt", "ckpt/step2.pt", "ckpt/notes.txt", "a/best.pt", "b/best.pt", "odd@[1].pt"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    return tmp_path


def test_files_come_in_the_order_of_their_numbers(checkpoints):
    names = [name for name, _, _ in planned("ckpt/step*.pt")]
    assert names == ["step2-marvin_linzen", "step10-marvin_linzen"]


def test_what_a_wildcard_stands_for_names_the_run(checkpoints):
    assert planned("*/best.pt") == [
        ("a-best-marvin_linzen", str(Path("a/best.pt")), {}),
        ("b-best-marvin_linzen", str(Path("b/best.pt")), {}),
    ]


def test_a_file_with_the_name_of_a_pattern_stands_for_itself(checkpoints):
    assert planned("odd@[1].pt") == [("odd-1-marvin_linzen", "odd@[1].pt", {})]


def test_revisions_are_arguments_of_the_model_and_part_of_the_name():
    assert planned("hf:EleutherAI/pythia-70m@step{1000,2000}") == [
        (f"pythia-70m@step{n}-marvin_linzen", "hf:EleutherAI/pythia-70m", {"revision": f"step{n}"})
        for n in (1000, 2000)
    ]


def test_a_range_has_both_ends_and_a_step():
    assert expand_braces("step{0..3000..1000}") == ["step0", "step1000", "step2000", "step3000"]
    assert expand_braces("{8..11}") == ["8", "9", "10", "11"]
    assert expand_braces("{1,2}{a,b}") == ["1a", "1b", "2a", "2b"]
    assert expand_braces("plain{x}") == ["plain{x}"]


def test_all_fields_of_a_plan_reach_its_units(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "models: [{model: bundled:lstm, name: own, args: {precision: bfloat16, x: true}}]\n"
        "suites: [marvin_linzen]\nout: elsewhere\nslurm: {timeout_min: 5}\n"
        "options: {case: [simple_agrmt], limit: 3, tokenise: true, cluster: [verb], score: critical,\n"
        "  too_long: refuse, device: cpu}\n"
    )
    plan = read_plan(tmp_path / "p.yaml")
    (unit,) = plan_units(plan)
    assert (unit.name, unit.run) == ("own-marvin_linzen", str(Path("elsewhere/own-marvin_linzen")))
    assert unit.arguments == {"precision": "bfloat16", "x": "true"}
    options = unit.options
    assert (options.case, options.limit, options.tokenise) == (("simple_agrmt",), 3, True)
    assert (options.cluster, options.score, options.too_long) == (("verb",), "critical", "refuse")
    assert (plan.settings("slurm"), plan.settings("local")) == ({"timeout_min": 5}, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modls: [a.pt]\nsuites: [x]", r"a plan cannot have the key 'modls'.\n  Did you mean 'models'\?"),
        (("models: [a.pt]\nsuites: [x]\noptions: {limt: "
          "3}"), r"options cannot have the key 'limt'.\n.*'limit'"),
        ("models: [{modell: a.pt}]\nsuites: [x]", r"a model cannot have the key 'modell'.\n.*'model'"),
        ("models: [a.pt]\nsuites: [x]\noptions: {score: best}",
         r'options.score: "best" is not one of the values that this key can have'),
        ("models: [", r"not a YAML file"),
    ],
)  # fmt: skip
def test_a_typo_is_named_with_file_and_field(tmp_path, text, said):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(RunError, match=said) as error:
        read_plan(tmp_path / "p.yaml")
    assert str(error.value).startswith(f"{tmp_path / 'p.yaml'}: ")


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (
            ("ckpt/stp*.pt",),
            r"ckpt/stp\*.pt: no file matches this pattern.\n  Check the path. Put the pattern in quotes",
        ),
        (
            ("a/best.pt", "b/best.pt"),
            "a/best.pt on marvin_linzen and b/best.pt on marvin_linzen would both be saved in the folder",
        ),
        (("bundled:lstm", "bundled:lstm"), r"would both be saved in the folder out.lstm-marvin_linzen"),
        (
            ("hf:x@{5..1}",),
            r"hf:x@\{5..1\}: the range \{5..1\} should be \{FIRST..LAST..STEP\}, with FIRST below LAST",
        ),
        ((), "the plan names no model or no suite, so there is nothing to score"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_is_begun(checkpoints, models, said):
    with pytest.raises(RunError, match=said):
        planned(*models)
    assert not Path("out").exists()


def test_an_unknown_suite_is_refused_before_anything_is_begun():
    said = r"there is no suite 'marvin_linzn'.\n  Did you mean 'marvin_linzen'"
    with pytest.raises(SuiteError, match=said):
        planned("bundled:lstm", suites=["marvin_linzn"])


def test_the_command_wants_one_plan_or_models(checkpoints):
    Path("p.yaml").write_text("models: [bundled:lstm]\nsuites: [marvin_linzen]")
    for words in ([], ["p.yaml", "q.yaml"], ["p.yaml", "--model", "a.pt"]):
        done = call("sweep", *words)
        assert (done.returncode, "Name one PLAN, or the models with --model MODEL." in done.stderr) == (
            2,
            True,
        ), words
    done = call("sweep", "p.yaml", "--limit", 3)
    assert (done.returncode, "--limit cannot be combined with a plan" in done.stderr) == (2, True)
    done = call("sweep", "nothere.yaml")
    assert (done.returncode, done.stderr) == (2, "tseval: nothere.yaml: No such file or directory\n")


def test_an_engine_that_is_not_installed_is_named_with_its_extra(checkpoints, monkeypatch):
    monkeypatch.setattr("tseval.sweeps.engines.find_spec", lambda name: None)
    for engine, package in (("slurm", "submitit"), ("ray", "ray")):
        done = refuse("sweep", "--model", "ckpt/step2.pt", "--engine", engine, "-o", "out")
        assert (
            f"--engine {engine} needs the Python package {package}, which is not installed.\n" in done.stderr
        )
        assert f'pip install "tseval[{engine}]"' in done.stderr
    assert not Path("out").exists()


def test_a_thousand_units_are_planned_and_their_state_told_in_seconds(checkpoints):
    Path("many").mkdir()
    for i in range(200):
        Path(f"many/step{i}.pt").touch()
    suites = ["marvin_linzen", "agreement:judgement", *(f"dyck(k={k},m=3)" for k in (2, 3, 4))]
    Path("p.yaml").write_text(json.dumps({"models": ["many/*.pt"], "suites": suites, "out": "out"}))
    began = time.process_time()
    done = call("sweep", "status", "p.yaml")
    assert not Path("out").exists()
    assert time.process_time() - began < 5
    assert done.stdout.endswith("\n1,000 units: 1,000 waiting\n")
    assert done.stdout.count("\n") == 1001
    first = [line.split()[0] for line in done.stdout.splitlines()[:3]]
    assert first == ["step0-marvin_linzen", "step0-agreement-judgement", "step0-dyck-k-2-m-3"]


@pytest.mark.slow
def test_a_sweep_takes_what_a_run_takes_and_scores_the_same(tmp_path):
    options = (
        "--model", "bundled:lstm", "--suite", "marvin_linzen", "--case", "vp_coord", "--sample", "7",
        "--seed", "5", "--normalise", "penlp", "--precision", "bfloat16", "--quiet",
    )  # fmt: skip
    succeed("run", *options, "--out", "one", cwd=tmp_path)
    succeeded(sweep(*options, "--out", "many", "--workers", "1", cwd=tmp_path))
    (swept,) = (tmp_path / "many").glob("*/manifest.json")
    one, same = (json.loads(path.read_bytes()) for path in (tmp_path / "one/manifest.json", swept))
    assert (one["signature"], one["suite"]) == (same["signature"], same["suite"])
    assert "precision:bfloat16" in same["signature"]
    more = "--unigrams", "none.csv", "--out", "more", "--workers", "1"
    other = sweep(*options[:-1], *more, cwd=tmp_path)
    assert other.returncode != 0
    assert "none.csv" in other.stderr


@pytest.mark.slow
def test_programs_get_each_result_and_status_fails_if_a_unit_failed(tmp_path):
    options = (
        "--suite",
        "marvin_linzen",
        "--case",
        "vp_coord",
        "--sample",
        "5",
        "-o",
        "out",
        "--workers",
        "1",
    )
    models = ("--model", "bundled:lstm", "--model", "nothere.pt")
    done = sweep(*models, *options, "--json", cwd=tmp_path)
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1] == {"event": "end", "units": 2, "done": 1, "failed": 1}
    assert any(line["event"] == "progress" and line["stage"] == "scoring" for line in lines)
    results = {line["model"]: line for line in lines if line["event"] == "result"}
    manifest = json.loads((tmp_path / "out/lstm-marvin_linzen/manifest.json").read_text())
    verdicts = read_run(tmp_path / "out/lstm-marvin_linzen").verdicts
    of_rows = verdicts.groupby("construction")["correct"].apply(lambda cells: cells.astype(float).mean())
    lstm = results["bundled:lstm"]
    assert lstm["mean_accuracy"] == pytest.approx(of_rows.mean())
    speed = manifest["counts"]["sentences"] / manifest["timings"]["scoring_seconds"]
    assert lstm["sentences_per_second"] == pytest.approx(speed)
    assert (lstm["stage"], lstm["run"], lstm["coverage"]) == ("done", "out/lstm-marvin_linzen", 1)
    assert (results["nothere.pt"]["stage"], "file not found" in results["nothere.pt"]["error"]) == (
        "failed",
        True,
    )
    status = call("sweep", "status", *models, *options, cwd=tmp_path)
    assert status.returncode == 1
    assert f"{lstm['seconds']:.1f} s, {speed:,.0f} sentences/s" in status.stdout
    again = call("sweep", "--resume", *models[:2], *options, cwd=tmp_path)
    assert (again.returncode, "(1 of them finished earlier)" in again.stderr) == (0, True)
    assert call("sweep", "status", *models[:2], *options, cwd=tmp_path).returncode == 0
