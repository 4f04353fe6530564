"""The history of a board in real git: two people submit at the same time, entries are renamed and retracted.

Words are withheld, and the suite gets a new version.
"""

import json
import os
import re
import shutil
import xml.etree.ElementTree as ET
from math import hypot

import pytest
import yaml
from board_changes import GRAMMAR
from in_process import call, refuse, run_process, succeed
from site_links import dead_links

from tseval.analysis.counts import count
from tseval.boards import read_entry
from tseval.runs import read_run

RUN = "run", "--model", "bundled:lstm", "--quiet"
PUBLIC = {"noun": {"person": ["author", "guard", "pilot", "doctor", "teacher", "farmer"]},
          "verb": {"main": ["laughs", "swims", "works", "runs", "speaks", "moves"]}}  # fmt: skip
PRIVATE = {"noun": {"person": ["king", "student", "writer", "player", "singer", "soldier"]},
           "verb": {"main": ["sings", "plays", "leaves", "comes", "lives", "sees"]}}  # fmt: skip


def git(folder, *words):
    named = ("-c", "user.name=A. Person", "-c", "user.email=a@example.org")
    done = run_process(["git", *named, *words], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def step(folder, name, **environment):
    """Run the steps of a workflow job as they are written, except the installation."""
    jobs = yaml.safe_load((folder / ".github/workflows/board.yml").read_text("utf-8"))["jobs"]
    wanted = environment.pop("event", "push")
    summary = folder.with_name("summary.md")
    known = {"GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(summary)}
    said = []
    for one in jobs[name]["steps"]:
        if "run" in one and "pip install" not in one["run"] and wanted in one.get("if", wanted):
            environment = {**os.environ, **known}
            command = ["bash", "-e", "-o", "pipefail", "-c", one["run"]]
            done = run_process(command, cwd=folder, env=environment)
            said.append(done)
            if done.returncode:
                break
    return said


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """Make a bare repository with a board, and two clones in which two people have submitted a model."""
    root = tmp_path_factory.mktemp("life")
    suite = root / "first/agreement"
    suite.mkdir(parents=True)
    (suite / "simple.jinja").write_text(GRAMMAR)
    (suite / "lexicon.yaml").write_text(yaml.safe_dump(PUBLIC))
    new = "board", "new", "first", "--repository", "--suite", "../agreement", "--title", "Agreement"
    succeed(*new, cwd=root)
    git(root, "init", "--quiet", "--initial-branch", "main", "first")
    git(root / "first", "add", "--all")
    git(root / "first", "commit", "--quiet", "--message", "A board without entries")
    git(root, "clone", "--quiet", "--bare", "first", "host.git")
    for who, options in (("ann", ()), ("bob", ("--precision", "bfloat16"))):
        git(root, "clone", "--quiet", "host.git", who)
        git(root / who, "checkout", "--quiet", "-b", who)
        run = ("--suite", root / who / "agreement", "--out", root / f"run-{who}", "--quiet")
        succeed("run", "--model", "bundled:lstm", *options, *run)
        about = ("--name", f"{who}/lstm", "--seeds-tried", 3, "--weights", "https://example.org/lstm")
        said = succeed("board", "submit", root / f"run-{who}", root / who / "board", *about)
        assert "# " + f"{who}/lstm" in said.stdout
        assert git(root / who, "status", "--porcelain", "-uall").split("\n")[:-1] == [
            f"?? board/entries/{who}--lstm/{file}"
            for file in ("entry.yaml", "evidence.parquet", "manifest.json")
        ]
        git(root / who, "add", "--all")
        git(root / who, "commit", "--quiet", "--message", f"Enter {who}'s model")
        git(root / who, "push", "--quiet", "origin", who)
    return root


@pytest.fixture(scope="module")
def merged(life):
    """Check both requests and merge them; return the checks and the repository as the workflow leaves it."""
    requests = [step(life / who, "check", event="pull_request")[0] for who in ("ann", "bob")]
    git(life, "clone", "--quiet", "host.git", "main")
    for who in ("ann", "bob"):
        git(life / "main", "merge", "--quiet", "--no-edit", f"origin/{who}")
    git(life / "main", "push", "--quiet", "origin", "main")
    after = [*step(life / "main", "check"), *step(life / "main", "publish")]
    return life / "main", requests, after


@pytest.mark.slow
def test_two_submit_at_once_and_nothing_meets(merged):
    main, requests, after = merged
    for who, request in zip(("ann", "bob"), requests, strict=True):
        assert request.returncode == 0, request.stdout + request.stderr
        assert f"**Agreement**, new: {who}--lstm" in request.stdout
        assert "| mean over all rows |" in " ".join(request.stdout.split())
    assert [one.returncode for one in after] == [0] * 4
    assert "not on the pages yet" in after[0].stderr
    assert "Pages of the boards" in git(main, "log", "-1", "--format=%s", "origin/main")
    assert succeed("board", "check", main).stderr == ""
    board = json.loads((main / "board/board.json").read_text())
    assert [entry["name"] for entry in board["entries"]] == ["ann/lstm", "bob/lstm"]
    run = read_run(main.parent / "run-ann")
    (row,) = count(run.verdicts).to_dict("records")
    feed = board["entries"][0]
    assert (feed["n_correct"], feed["fingerprint"]) == ([row["n_correct"]], run.manifest.key.fingerprint)
    assert feed["low"][0] == pytest.approx(row["low"], abs=0.001)
    assert "best of 3" in (main / "board/README.md").read_text()


@pytest.mark.slow
def test_the_site_of_boards_lies_anywhere_and_no_link_is_dead(merged):
    site = merged[0] / "site"
    assert dead_links(site) == []
    feed = ET.parse(site / "board/feed.xml")  # noqa: S314 - a file that was written here
    items = feed.getroot().findall("channel/item")
    assert [one.findtext("title") for one in items] == ["bob/lstm", "ann/lstm"]
    page = (site / "board/entries/ann--lstm.html").read_text("utf-8")
    assert '<a href="https://example.org/lstm">' in page
    commit = git(merged[0], "log", "-1", "--format=%h", "--", "board").strip()
    assert f"version = {{{commit}" in page


@pytest.fixture
def clone(merged, tmp_path):
    shutil.copytree(merged[0], tmp_path / "main")
    shutil.copytree(merged[0].parent / "first/agreement", tmp_path / "first/agreement")
    return tmp_path / "main"


FORBIDDEN = [
    ("board/board.yaml", "changes board/board.yaml, but a submission may only add new folders entries/NAME"),
    (
        "board/checks.yaml",
        "changes board/checks.yaml, but a submission may only add new folders entries/NAME",
    ),
    (".github/workflows/board.yml", "changes .github/workflows/board.yml, but a submission may only add"),
    ("board/entries/ann--lstm/entry.yaml", "which belongs to an entry that exists already"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "said"), FORBIDDEN)
def test_a_request_that_changes_anything_else_is_named(clone, path, said):
    git(clone, "checkout", "--quiet", "-b", "sly", "origin/main")
    with (clone / path).open("a") as file:
        file.write("# edited\n")
    done = call("board", "check", clone, "--changed", "origin/main")
    assert (done.returncode, said in done.stdout.replace("\\", "")) == (1, True), done.stdout


@pytest.mark.slow
def test_a_request_with_the_weights_of_another_is_named(clone):
    git(clone, "checkout", "--quiet", "-b", "sly", "origin/main")
    copy = clone / "board/entries/super"
    shutil.copytree(clone / "board/entries/ann--lstm", copy)
    entry = copy / "entry.yaml"
    entry.write_text(entry.read_text().replace("name: ann--lstm", "name: super"))
    done = call("board", "check", clone, "--changed", "origin/main")
    assert done.returncode == 1
    assert "super: has the same signature as ann--lstm, with equal accuracies" in done.stdout.replace(
        "\\", ""
    )


@pytest.mark.slow
def test_a_copy_of_the_suite_that_was_changed_is_named(clone):
    lexicon = clone / "board/suite/agreement/lexicon.yaml"
    lexicon.write_text(lexicon.read_text().replace("author", "king"))
    done = call("board", "check", clone / "board")
    assert (done.returncode, "the copy of the suite in suite has the digest" in done.stdout) == (1, True), (
        done.stdout
    )


@pytest.mark.slow
def test_a_base_that_is_no_ancestor_is_one_message(clone):
    git(clone, "checkout", "--quiet", "--orphan", "other")
    git(clone, "commit", "--quiet", "--message", "Another history")
    for base, said in (
        ("origin/main", "the current commit does not contain the commit origin/main"),
        ("nowhere", "no commit 'nowhere'"),
    ):
        assert said in refuse("board", "check", clone, "--changed", base).stderr


@pytest.mark.slow
def test_names_of_old_lead_to_an_entry_and_a_retracted_one_has_no_rank(clone):
    entries = clone / "board/entries"
    taken = refuse("board", "rename", "entries/bob--lstm", "ann--lstm", cwd=clone / "board").stderr
    assert taken == "tseval: entries/ann--lstm exists already.\n  Choose another name for the entry.\n"
    renamed = succeed("board", "rename", "entries/bob--lstm", "lstm-bf16", cwd=clone / "board")
    assert renamed.stderr == "entries/lstm-bf16\n"
    assert read_entry(entries / "lstm-bf16").aliases == ("bob--lstm",)
    succeed("board", "retract", entries / "ann--lstm", "--reason", "Not the model that it names",
                   "--link", "https://example.org/issues/1")  # fmt: skip
    again = refuse("board", "retract", entries / "ann--lstm", "--reason", "x")
    assert "ann--lstm was already retracted, on" in again.stderr
    assert succeed("board", "check", clone).stderr == ""
    readme = (clone / "board/README.md").read_text()
    assert "| ann--lstm | Not the model that it names |" in " ".join(readme.split()).replace(r"\-", "-")
    assert "ann--lstm" not in succeed("table", clone / "board").stdout
    site = clone.parent / "site"
    succeed("board", "build", clone, "-o", site)
    assert dead_links(site) == []
    moved, gone = (
        (site / f"board/entries/{name}.html").read_text("utf-8") for name in ("bob--lstm", "ann--lstm")
    )
    assert 'href="lstm-bf16.html"' in moved
    assert "Not the model that it names" in gone
    checks = clone / "board/checks.yaml"
    checks.write_text(checks.read_text().replace("ann--lstm", "nobody"))
    assert "checks.yaml: the key `retracted` names 'nobody'" in call("board", "check", clone).stdout


@pytest.mark.slow
def test_an_entry_takes_the_place_of_another(clone):
    board, run = clone / "board", clone.parent / "run"
    options = ("--precision", "bfloat16", "--suite", clone / "agreement", "--out", run, "--quiet")
    succeed("run", "--model", "bundled:lstm", *options)
    taken = refuse("board", "add", board, run, "--name", "newer")
    assert "newer is the same model, scored in the same way, as the entry bob--lstm" in taken.stderr
    succeed("board", "add", board, run, "--name", "newer", "--replace", "bob--lstm")
    for _ in range(2):  # it replaces another entry, then itself
        assert sorted(path.name for path in (board / "entries").iterdir()) == ["ann--lstm", "newer"]
        assert read_entry(board / "entries/newer").aliases == ("bob--lstm",)
        succeed("board", "add", board, run, "--name", "newer", "--replace", "newer")
    assert succeed("board", "check", clone).stderr == ""


@pytest.mark.slow
def test_withheld_words_are_no_words_of_the_suite(clone):
    private = clone.parent / "private.yaml"
    for change, said in (
        ({"noun": {"person": [*PRIVATE["noun"]["person"][:5], "author"]}}, "'author' is a word of the suite"),
        ({"noun": {"person": ["king"]}}, "but the same class of the suite has 6 words"),
        ({"noun": {"people": ["king"]}}, "the suite has no class 'noun.people'"),
    ):
        private.write_text(yaml.safe_dump(change))
        twin = "suite", "twin", clone / "agreement", "--lexicon", private, "-o", clone.parent / "twin"
        done = refuse(*twin)
        assert re.search(r"private\.yaml:\d+: ", done.stderr)
        assert said in done.stderr
        assert not (clone.parent / "twin").exists()


@pytest.mark.slow
def test_what_a_model_gets_right_on_a_hidden_twin_stands_beside_its_mean(clone):
    root, board = clone.parent, clone / "board"
    (root / "private.yaml").write_text(yaml.safe_dump(PRIVATE))
    twin = "suite", "twin", clone / "agreement", "--lexicon", root / "private.yaml", "-o", root / "twin"
    succeed(*twin)
    expanded = succeed("expand", root / "twin").stdout
    assert not {"author", "laughs", "laugh"} & set(expanded.split())
    assert {"king", "sings", "sing"} <= set(expanded.split())
    assert expanded.count("\n") == succeed("expand", clone / "agreement").stdout.count("\n")
    succeed(*RUN, "--suite", root / "twin", "--out", root / "hidden")
    succeed(*RUN, "--suite", clone / "agreement", "--out", root / "open")
    succeed("board", "hidden", board, root / "hidden", "--suite", root / "twin")
    # Newcombe's interval of a difference, from the intervals of both tables.
    public, hidden = (count(read_run(root / name).verdicts).iloc[0] for name in ("open", "hidden"))
    difference = hidden["accuracy"] - public["accuracy"]
    below = hypot(hidden["accuracy"] - hidden["low"], public["high"] - public["accuracy"])
    above = hypot(hidden["high"] - hidden["accuracy"], public["accuracy"] - public["low"])
    found = yaml.safe_load((board / "checks.yaml").read_text())["hidden"]["ann--lstm"]
    assert found["mean"] == pytest.approx(hidden["accuracy"], abs=0.0006)
    assert found["difference"] == pytest.approx(difference, abs=0.0006)
    assert found["difference_interval"] == pytest.approx([difference - below, difference + above], abs=0.0011)
    assert "## Hidden words" in (board / "README.md").read_text()
    assert succeed("board", "check", clone).stderr == ""
    other = refuse("board", "hidden", board, root / "open", "--suite", clone / "agreement")
    assert "is a run on the public suite of the leaderboard, not on the hidden version" in other.stderr
    succeed("board", "build", clone, "-o", root / "site")
    assert "Hidden minus public" in (root / "site/board/index.html").read_text("utf-8")


@pytest.mark.slow
def test_a_new_version_of_the_suite_has_a_board_of_its_own(clone):
    board = clone / "board"
    before = succeed("table", board).stdout
    assert "has not changed, so there is no new version" in refuse("board", "renew", board).stderr
    lexicon = clone / "agreement/lexicon.yaml"
    lexicon.write_text(lexicon.read_text().replace("author", "farmhand"))
    for command in (("board", "check", board), ("verify", board), ("board", "write", board)):
        succeed(*command)
    assert succeed("table", board).stdout == before
    run = clone.parent / "run"
    succeed("run", "--model", "bundled:lstm", "--suite", clone / "agreement", "--out", run, "--quiet")
    assert "tseval board renew" in refuse("board", "add", board, run).stderr
    done = succeed("board", "renew", board)
    new, *waiting = done.stdout.splitlines()
    assert waiting == [
        "ann--lstm: this model of the old leaderboard has no run on the new suite yet",
        "bob--lstm: this model of the old leaderboard has no run on the new suite yet",
    ]
    assert "is archived" in refuse("board", "add", board, run).stderr
    succeed("board", "add", new, run, "--name", "lstm")
    succeed("board", "write", clone)
    assert "bob--lstm\n" in (clone / new / "README.md").read_text().replace(r"\-", "-")
    checked = succeed("board", "check", clone)
    assert checked.stdout.count("no problems found") == 2
    assert succeed("table", board).stdout == before
    succeed("board", "build", clone, "-o", clone.parent / "site")
    assert dead_links(clone.parent / "site") == []
    assert "Archived" in (clone.parent / "site/board/index.html").read_text("utf-8")


def test_boards_stand_beside_each_other_in_a_repository(tmp_path):
    pairs = '{"good": "the author laughs .", "bad": "the author laugh ."}\n'
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.jsonl").write_text(pairs)
    refuse("board", "new", "x", "--suite", "../one.jsonl", "--suite", "../two.jsonl", cwd=tmp_path)
    both = ("--suite", "../../one.jsonl", "--suite", "../../two.jsonl")
    succeed("board", "new", "both", "--repository", *both, cwd=tmp_path)
    succeed("board", "new", "both", "--repository", "--suite", "../../three.jsonl", cwd=tmp_path)
    checked = succeed("board", "check", "both", cwd=tmp_path).stdout.splitlines()
    assert checked == [f"both/{name}: no problems found" for name in ("one", "three", "two")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"seeds_tried": 0}, "about.seeds_tried: should be a number of seeds, 1 or more"),
        ({"date": "yesterday"}, "about.date: should be a date"),
        ({"date": "2026-99-99"}, "about.date: should be a date"),
        ({"display_name": ""}, "about.display_name: should be one line of at most 100"),
        ({"display_name": "x" * 101}, "about.display_name: should be one line of at most 100"),
    ],
)
def test_what_no_page_could_show_is_named(clone, about, said):
    file = clone / "board/entries/ann--lstm/entry.yaml"
    content = yaml.safe_load(file.read_text())
    content["about"] |= about
    file.write_text(yaml.safe_dump(content))
    done = call("board", "check", clone / "board")
    assert done.returncode == 1
    assert said.partition(": ")[2] in done.stdout


@pytest.mark.slow
def test_no_page_is_written_under_a_name_that_leads_out_of_the_site(clone):
    file = clone / "board/entries/ann--lstm/entry.yaml"
    file.write_text(file.read_text() + "aliases: [../../../outside]\n")
    assert "cannot be the name of an entry" in call("board", "check", clone / "board").stdout
    refuse("board", "build", clone / "board", "-o", clone.parent / "site")
    assert not list(clone.parent.rglob("outside*"))


@pytest.mark.slow
def test_a_board_may_ask_how_many_seeds_were_tried(clone):
    with (clone / "board/board.yaml").open("a") as file:
        file.write("seeds_tried: 5\n")
    done = call("board", "check", clone / "board")
    assert (
        "ann--lstm: it is one of 3 seeds, but the leaderboard requires at least 5 seeds (--seeds-tried)"
        in done.stdout
    )


@pytest.mark.slow
def test_verifying_takes_over_the_precision_of_an_entry_and_records_who_did(clone):
    entry = clone / "board/entries/bob--lstm"
    asked = ("verify", entry, "--model", "bundled:lstm", "--rescore", "all", "--record", "A. Reviewer")
    assert "rerun" in succeed(*asked).stdout
    assert "| rerun, A. Reviewer," in " ".join((clone / "board/README.md").read_text().split())
    wrong = call(*asked[:-2], "--model-args", "precision=float32")
    assert (wrong.returncode, "WRONG" in wrong.stdout) == (1, True)


@pytest.mark.slow
def test_a_board_becomes_a_record_for_each_entry_of_a_common_store(clone):
    store = clone.parent / "store"
    assert "Name a folder" in refuse("export", "eee", clone / "board").stderr
    succeed("export", "eee", clone / "board", "-o", store)
    records = [json.loads(file.read_text("utf-8")) for file in store.rglob("*.json")]
    assert sorted(one["model_info"]["id"] for one in records) == ["ann/lstm", "bob/lstm"]


@pytest.mark.slow
def test_a_pull_request_from_a_fork_is_checked_and_summarised(life, tmp_path):
    # GitHub checks out the merge of the request into main, in a clone of the repository itself.
    git(tmp_path, "clone", "--quiet", "--bare", life / "first", "host.git")
    git(tmp_path, "clone", "--quiet", "--bare", "host.git", "fork.git")
    git(tmp_path, "clone", "--quiet", "fork.git", "author")
    git(tmp_path / "author", "checkout", "--quiet", "-b", "carol", "origin/main")
    succeed("board", "submit", life / "run-ann", tmp_path / "author/board", "--name", "carol")
    git(tmp_path / "author", "add", "--all")
    git(tmp_path / "author", "commit", "--quiet", "--message", "Enter a model")
    git(tmp_path / "author", "push", "--quiet", "origin", "carol")
    git(tmp_path, "clone", "--quiet", "host.git", "runner")
    git(tmp_path / "runner", "fetch", "--quiet", tmp_path / "fork.git", "carol")
    git(tmp_path / "runner", "checkout", "--quiet", "--detach", "origin/main")
    git(tmp_path / "runner", "merge", "--quiet", "--no-ff", "--no-edit", "FETCH_HEAD")
    checked = step(tmp_path / "runner", "check", event="pull_request")[0]
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "**Agreement**, new: carol" in checked.stdout
    assert (tmp_path / "summary.md").read_text("utf-8") == checked.stdout


@pytest.mark.slow
def test_from_an_empty_folder_to_a_page_are_five_commands(tmp_path):
    (tmp_path / "agreement").mkdir()
    (tmp_path / "agreement/simple.jinja").write_text(GRAMMAR)
    (tmp_path / "agreement/lexicon.yaml").write_text(yaml.safe_dump(PUBLIC))
    for command in (
        ("board", "new", "board", "--suite", "./agreement"),
        (*RUN, "--suite", "./agreement", "--out", "runs/lstm"),
        ("board", "add", "board", "runs/lstm"),
        ("board", "write", "board"),
        ("board", "build", "board", "-o", "site"),
    ):
        succeed(*command, cwd=tmp_path)
    assert "0." in (tmp_path / "site/index.html").read_text("utf-8")
    assert succeed("board", "check", "board", cwd=tmp_path).stderr == ""
