"""The page on CI jobs: its commands print the output shown, and its workflow runs as written."""

import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
import yaml
from in_process import run_process, succeed
from pages import ROOT, follow, write_files
from systems import needs_posix

from tseval.models.checkpoint import load_checkpoint, save_checkpoint

PAGE = ROOT / "docs/fail-a-ci-job.md"
WORKFLOW = Path(".github/workflows/gate.yml")
BUNDLED = ROOT / "tseval/models/bundled/lstm.pt"
SAMPLE = "--sample 40 --seed 1"
pytestmark = [needs_posix, pytest.mark.slowest]


def test_every_command_prints_what_the_page_says(tmp_path):
    commands = follow(PAGE, tmp_path)
    assert len(commands) == 3
    assert [(one.line, one.printed) for one in commands if not one.keeps_its_word()] == []


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Make a repository with the page's workflow, a checkpoint, and the baseline of step 1."""
    folder = tmp_path_factory.mktemp("checkout")
    write_files(PAGE, folder)
    shutil.copy(BUNDLED, folder / "model.pt")
    succeed(*f"run --model model.pt {SAMPLE} --quiet --out baseline/run".split(), cwd=folder)
    return folder


def job(folder):
    """Run the steps of the workflow as GitHub does, each in a shell that stops at the first error.

    Returns:
        The exit code of the failed step, or 0, and the job's summary.
    """
    (steps,) = (
        one["steps"] for one in yaml.safe_load((folder / WORKFLOW).read_text("utf-8"))["jobs"].values()
    )
    lines = [step["run"] for step in steps if "run" in step and not step["run"].startswith("pip ")]
    assert len(lines) == 2
    environment = os.environ | {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    shutil.rmtree(folder / "runs", ignore_errors=True)
    for line in lines:
        ended = run_process(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line], cwd=folder, env=environment
        )
        if ended.returncode:
            break
    summary = folder / "summary.md"
    return ended.returncode, summary.read_text("utf-8") if summary.exists() else ""


def test_the_workflow_passes_the_same_model_and_stops_a_damaged_one(checkout):
    code, summary = job(checkout)
    assert (code, summary.splitlines()[0]) == (0, "## tseval gate: passed")
    kept = load_checkpoint(checkout / "model.pt")
    with torch.no_grad():
        for weights in kept.model.parameters():
            weights.data += (
                torch.randn(weights.shape, generator=torch.Generator().manual_seed(1)) * weights.std()
            )
    save_checkpoint(
        checkout / "model.pt", kept.model, kept.vocabulary, training={}, validation_perplexity=None
    )
    code, summary = job(checkout)
    assert code == 1
    assert "## tseval gate: failed" in summary
    assert "dropped" in summary
    root = ElementTree.parse(checkout / "gate.xml").getroot()  # noqa: S314 - our own
    assert root.find("testsuite").get("failures") != "0"


def test_a_checkpoint_that_is_gone_is_no_drop(checkout):
    (checkout / "model.pt").rename(checkout / "elsewhere.pt")
    try:
        assert job(checkout)[0] == 2
    finally:
        (checkout / "elsewhere.pt").rename(checkout / "model.pt")
