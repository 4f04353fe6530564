"""The page on publishing a leaderboard, followed exactly: its files, commands and output."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from in_process import call, run_process
from pages import BLOCK, Command, write_files
from systems import needs_posix

import tseval

pytestmark = [needs_posix, pytest.mark.slowest]

PAGE = Path(__file__).parents[2] / "docs/publish-a-leaderboard.md"
# git without the user's settings
GIT = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "Us"), ("EMAIL", "us@example.org"))}  # fmt: skip
GIT |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
REFUSED = "tseval: "  # the start of the message of a failed command


def steps():
    """Yield the commands of the page, each with its output on the page."""
    for language, name, _, content in BLOCK.findall(PAGE.read_text("utf-8")):
        if language == "console" and not name:
            for step in content.removeprefix("$ ").split("\n$ "):
                line, _, quoted = step.partition("\n")
                yield line, quoted.rstrip("\n")


def done(line, folder):
    """Run a command: tseval in this process, other programs in a separate one."""
    if line.startswith("tseval "):
        return call(*shlex.split(line)[1:], cwd=folder)
    return run_process(["bash", "-c", line], cwd=folder, env=os.environ | GIT)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """Return a folder in which the page was followed, and the page's commands."""
    folder = tmp_path_factory.mktemp("publish")
    write_files(PAGE, folder)
    commands = []
    for line, quoted in steps():
        ended = done(line, folder)
        said = ended.stdout + ended.stderr
        assert ended.returncode == (2 if quoted.startswith(REFUSED) else 0), f"{line}\n{said}"
        commands.append(Command(line, quoted, said.rstrip("\n")))
    return folder, commands


def test_every_command_prints_what_the_page_says(followed):
    _, commands = followed
    assert len(commands) == len(list(steps())) >= 20
    assert [(one.line, one.printed) for one in commands if not one.keeps_its_word()] == []
    assert sum(one.quoted.startswith(REFUSED) for one in commands) == 1


def test_the_clone_has_three_entries_and_passes_what_the_forge_runs(followed):
    clone = followed[0] / "stranger"
    assert sorted(path.name for path in (clone / "board/entries").iterdir()) == ["lstm", "lstm-bf16", "srn"]
    jobs = yaml.safe_load((clone / ".github/workflows/board.yml").read_text("utf-8"))["jobs"]
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    ours = [line for line in dict.fromkeys(lines) if line.startswith("tseval ") and "--changed" not in line]
    assert ours == ["tseval board check .", "tseval board write .", "tseval board build . -o site"]
    # No model is scored, so torch's CPU build suffices; it has a tenth of the usual size.
    cpu = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
    # The pull request must not choose its own judge: the base branch decides what is installed.
    base = 'git show "origin/${GITHUB_BASE_REF:-main}:requirements.txt" > "$RUNNER_TEMP/requirements.txt"\n'
    base += 'pip install -r "$RUNNER_TEMP/requirements.txt"\n'
    assert {cpu, base, "pip install -r requirements.txt"} == {line for line in lines if "pip " in line}
    for line in ours:
        ended = done(line, clone)
        assert ended.returncode == 0, ended.stderr
    assert (clone / "site/board/index.html").exists()


def test_what_a_submitter_reads_links_to_what_is_there(followed):
    clone = followed[0] / "stranger"
    pages = [clone / "README.md", clone / "CONTRIBUTING.md"]
    links = [link for page in pages for link in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8"))]
    assert links
    assert [link for link in links if not (clone / link).exists()] == []
    pinned = f"tseval @ git+https://example.org/tseval@v{tseval.__version__}\n"
    assert (clone / "requirements.txt").read_text() == pinned, "no index has it: by the tag of the repository"


def test_the_forge_names_a_pull_request_that_changes_counts(followed, tmp_path):
    assert done(f"git clone --quiet '{followed[0] / 'leaderboard'}' theirs", tmp_path).returncode == 0
    entry = tmp_path / "theirs/board/entries/srn/entry.yaml"
    content = yaml.safe_load(entry.read_text("utf-8"))
    content["rows"][0]["n_correct"] = (content["rows"][0]["n_correct"] + 1) % 5
    entry.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    ended = done("tseval board check board", tmp_path / "theirs")
    assert ended.returncode == 1
    assert ended.stdout.startswith("srn: entry.yaml: the key `rows[0].n_correct` is ")


def test_a_forge_understands_the_workflow(followed):
    workflow = followed[0] / "stranger/.github/workflows/board.yml"
    schema = ["--builtin-schema", "vendor.github-workflows"]
    command = [sys.executable, "-m", "check_jsonschema", *schema, str(workflow)]
    checked = run_process(command)
    assert checked.returncode == 0, checked.stdout


def test_a_repository_does_not_overwrite_what_is_there(tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"good": "he laughs .", "bad": "he laugh ."}\n')
    new = ["board", "new", "here", "--repository", "--suite", "../../pairs.jsonl"]
    (tmp_path / "here").mkdir()
    (tmp_path / "here/LICENSE").write_text("ours")
    (tmp_path / "here/README.md").write_text("ours")
    refused = call(*new, cwd=tmp_path)
    assert refused.returncode == 2
    assert (
        "here/README.md exists already, and tseval does not overwrite it.\n  Name another folder"
        in refused.stderr
    )
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["LICENSE", "README.md"]
    (tmp_path / "here/README.md").unlink()
    lost = call(*new[:-1], "../nowhere.jsonl", cwd=tmp_path)
    assert (lost.returncode, lost.stderr.count("tseval:")) == (2, 1)
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["LICENSE"]
    titled = call(*new, "--title", "A $title of ${{ours}}", cwd=tmp_path)
    assert titled.returncode == 0, titled.stderr
    assert (tmp_path / "here/README.md").read_text("utf-8").startswith("# A $title of ${{ours}}\n")
    assert (tmp_path / "here/LICENSE").read_text() == "ours"
    again = call(*new, cwd=tmp_path)
    assert (again.returncode, "here/board already has the suite" in again.stderr) == (2, True)
