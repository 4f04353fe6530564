"""tseval run --context, and commands that read such runs: verify, sweep, analyses, items, pages, boards."""

import json
import re

import pytest
from in_process import call, refused, run_process, succeeded
from small import NOUNS, VERBS

import tseval
from tseval.runs.directory import CONTEXTS_FILE

MODEL = ("--model", "bundled:lstm")


def write_suite(folder):
    """Write a suite of two cases, which differ in the words between subject and verb."""
    folder.mkdir()
    for name, middle in (("near", ""), ("far", " that the chef knows")):
        rows = ["sentence_good\tsentence_bad\tnoun\tverb"]
        rows += [
            f"the {noun}{middle} {verb}s .\tthe {noun}{middle} {verb} .\t{noun}\t{verb}"
            for noun in NOUNS[:8]
            for verb in VERBS[:4]
        ]
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make runs on a suite: without context, and after 20 and 60 words of two kinds."""
    folder = tmp_path_factory.mktemp("context")
    write_suite(folder / "verbs")
    shared = ("--suite", "verbs", *MODEL, "--cluster", "noun", "--cluster", "verb")
    succeeded(
        call(
            "run",
            *shared,
            "--context",
            "other#grammatical",
            "--context-words",
            "0,20,60",
            "--out",
            "good",
            cwd=folder,
        )
    )
    succeeded(
        call(
            "run",
            *shared,
            "--context",
            "other#ungrammatical",
            "--context-words",
            "20,60",
            "--out",
            "bad",
            cwd=folder,
        )
    )
    succeeded(
        call(
            "run",
            *shared,
            "--context",
            "same",
            "--context-words",
            "20",
            "--contexts",
            "3",
            "--out",
            "same",
            cwd=folder,
        )
    )
    return folder


@pytest.mark.slow
def test_each_length_is_a_run_and_one_table_has_a_column_for_each(folder, tmp_path):
    ended = succeeded(
        call("run", "--suite", folder / "verbs", *MODEL, "--context", "other", "--context-words", "0,20",
             "--out", tmp_path / "r")
    )  # fmt: skip
    head = ended.stdout.splitlines()[0]
    assert [cell.strip() for cell in head.split("|")[2:-1]] == ["lstm", "lstm after 20 words (other)"]
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == ["context-0", "context-20"]
    manifest = json.loads((tmp_path / "r/context-20/manifest.json").read_text())
    assert "|context:other|" in manifest["signature"]
    assert manifest["suite"]["context"]["words"] == manifest["key"]["protocol"]["context_words"] == 20
    texts = json.loads((tmp_path / "r/context-20" / CONTEXTS_FILE).read_text())["texts"]
    assert {sum(len(sentence.split()) for sentence in text) for text in texts} == {20}
    plain = json.loads((tmp_path / "r/context-0/manifest.json").read_text())
    assert "context" not in plain["signature"]
    assert "context" not in plain["suite"]


@pytest.mark.slow
def test_a_run_in_context_is_verified_by_drawing_its_contexts_again(folder):
    names = ["good/context-60", "bad/context-20", "same"]
    ended = succeeded(call("verify", *names, "--suite", "verbs", *MODEL, "--rescore", "all", cwd=folder))
    assert ended.stdout.count("rerun") == 3
    assert "WRONG" not in ended.stdout


def test_other_texts_than_the_source_gives_are_wrong(folder, tmp_path):
    forged = tmp_path / "forged"
    forged.mkdir()
    for path in (folder / "good/context-20").iterdir():
        (forged / path.name).write_bytes(path.read_bytes())
    file = forged / CONTEXTS_FILE
    file.write_text(file.read_text().replace("the", "a", 1))
    ended = call("verify", forged, "--suite", folder / "verbs")
    assert ended.returncode == 1
    assert re.search(r"whole +WRONG: .*contexts.json was damaged or edited", ended.stdout)


@pytest.mark.slow
def test_contexts_of_a_text_file_are_those_of_the_run_until_the_file_is_named(folder, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the pilot saw a movie .\nthe old farmers never swim here .\n")
    shared = ("run", "--suite", folder / "verbs", *MODEL, "--case", "near", "--context")
    succeeded(call(*shared, text, "--out", tmp_path / "r"))
    succeeded(call(*shared, "verbs", "--context-words", "9", "--out", tmp_path / "other", cwd=folder))
    moved = text.rename(tmp_path / "moved.txt")
    text.write_text("another text lies where the file was .\n")
    verify = ("verify", tmp_path / "r", "--suite", folder / "verbs", *MODEL)
    ended = succeeded(call(*verify, cwd=tmp_path))
    assert "contexts as the run has them (to draw them again: --context FILE)" in " ".join(
        ended.stdout.split()
    )
    ended = succeeded(call(*verify, "--context", moved))
    assert "contexts as the run has them" not in " ".join(ended.stdout.split())
    assert "rescored" in ended.stdout
    ended = refused(call(*verify, "--context", text))
    assert "--context SOURCE" in ended.stderr
    ended = refused(call("verify", tmp_path / "other", "--suite", folder / "verbs", cwd=folder))
    assert "the contexts of the run come from 'verbs', which is no suite of tseval" in ended.stderr
    succeeded(call("verify", tmp_path / "other", "--suite", "verbs", "--context", "verbs", cwd=folder))


def test_an_interrupted_run_goes_on_and_another_context_is_refused(folder, tmp_path):
    shared = (
        "run",
        "--suite",
        folder / "verbs",
        *MODEL,
        "--case",
        "near",
        "--out",
        tmp_path / "r",
        "--resume",
    )
    succeeded(call(*shared, "--context", "other", "--context-words", "20"))
    again = succeeded(call(*shared, "--context", "other", "--context-words", "20"))
    assert "| near" in again.stdout
    ended = refused(call(*shared, "--context", "other", "--context-words", "21"))
    assert "has a run with other settings" in ended.stderr
    assert "context_words: 20, not 21" in ended.stderr


@pytest.mark.slow
def test_the_analysis_has_a_column_for_each_length_of_each_kind_and_draws_them(folder, tmp_path):
    runs = [folder / "good", folder / "bad", folder / "same"]
    ended = succeeded(call("analyze", "context", *runs, "--json", "--figure", tmp_path / "f.svg"))
    content = json.loads(ended.stdout)
    rows = [row for row in content["rows"] if row["over"] == "All rows"]
    assert [(row["context"], row["words"]) for row in rows] == [
        *((f"other#{label}", words) for label in ("grammatical", "ungrammatical") for words in (0, 20, 60)),
        ("same", 0), ("same", 20),
    ]  # fmt: skip
    for row in rows:
        assert row["low"] <= row["accuracy"] <= row["high"]
    by_case = {(row["construction"], row["context"], row["words"]): row for row in content["rows"]}
    verdicts = tseval.read_run(folder / "same").verdicts
    near = verdicts[verdicts["case"] == "near"]
    decided = near[~near["undecidable"]]
    assert by_case["near", "same", 20]["accuracy"] == pytest.approx(decided["correct"].mean())
    assert by_case["near", "same", 20]["n_items"] == len(near) == 96
    assert "context" in {*by_case["near", "same", 20]["clusters"], *by_case["near", "same", 20]["fixed"]}
    figure = (tmp_path / "f.svg").read_text()
    assert "other#ungrammatical" in figure
    assert figure.index("<!-- All 2 rows -->") < figure.index("<!-- far -->") < figure.index("<!-- near -->")
    shown = succeeded(call("analyze", "context", *runs)).stdout
    assert "| lstm on verbs, by words of context (other#grammatical)" in shown


def test_runs_without_context_have_no_such_analysis(folder):
    ended = refused(call("analyze", "context", folder / "good/context-0"))
    assert "no run has a context" in ended.stderr
    ended = refused(call("analyze", "pairwise", folder / "good/context-0", folder / "same"))
    assert "same has 3 contexts for each item, but context-0 has 1" in ended.stderr
    table = succeeded(call("table", folder / "good/context-0", folder / "same", "--notes")).stdout
    assert "the runs have different numbers of contexts" in table


def test_a_difference_between_contexts_is_clustered_by_the_contexts_of_both(folder):
    def factors(*names):
        ended = succeeded(call("analyze", "pairwise", *(folder / name for name in names), "--json"))
        (row,) = (row for row in json.loads(ended.stdout)["rows"] if row["difference"] is not None)
        return {*row["clusters"], *row["fixed"]}

    assert factors("good/context-0", "good/context-20") == {"noun", "verb", "context"}
    # Runs with two labels and two lengths have the same texts before the same items.
    assert factors("good/context-20", "bad/context-60") == {"noun", "verb", "context"}
    rows = json.loads(
        succeeded(
            call("analyze", "rows", folder / "good/context-0", folder / "good/context-20", "--json")
        ).stdout
    )["rows"]
    named = {row["model"]: {*row["clusters"], *row["fixed"]} for row in rows if row["construction"] == "near"}
    assert named == {
        "lstm": {"noun", "verb"},
        "lstm after 20 words (other#grammatical)": {"noun", "verb", "context"},
    }


def test_items_pages_and_papers_of_a_run_in_context(folder, tmp_path):
    good = folder / "good/context-60"
    ended = succeeded(call("items", good, "--suite", folder / "verbs", "-o", tmp_path / "items.jsonl"))
    assert "64 items" in ended.stderr
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    verdicts = tseval.read_run(good).verdicts
    assert [item["better_score"] for item in items] == pytest.approx(verdicts["better_score"].tolist())
    assert items[0]["better"] == "the author that the chef knows laughs ."
    assert items[0]["better_unknown"] is None
    page = tmp_path / "page.html"
    ended = succeeded(
        call("report", good, folder / "good/context-0", "--suite", folder / "verbs", "-o", page)
    )
    assert "does not list the items" not in ended.stderr
    text = page.read_text()
    assert "after 60 words (other#grammatical)" in text
    assert "\ufdd0" not in text
    paper = succeeded(call("cite", good)).stdout
    assert (
        r"both sentences followed the same 60 words of grammatical sentences of items of another case."
        in (" ".join(paper.split()))
    )
    assert "Each sentence was read on its own" not in paper


@pytest.mark.slow
def test_a_sweep_has_a_unit_for_each_length(folder, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        f"models: [bundled:lstm]\nsuites: ['{folder / 'verbs'}']\nout: '{tmp_path / 'out'}'\n"
        "options: {context: 'other#grammatical', context_words: '20,60', cluster: [noun, verb]}\n"
    )
    succeeded(run_process(["tseval", "sweep", plan, "--workers", "1", "--quiet"]))
    for n_words in (20, 60):
        swept = tseval.read_run(tmp_path / f"out/lstm-verbs-other-grammatical-{n_words}")
        run = tseval.read_run(folder / f"good/context-{n_words}")
        assert swept.manifest.key == run.manifest.key
        assert swept.load_verdicts().equals(run.load_verdicts())


@pytest.mark.slow
def test_a_board_has_the_contexts_that_its_protocol_names(folder, tmp_path):
    verbs = write_suite(tmp_path / "verbs")
    shared = ("--suite", verbs, *MODEL)
    succeeded(call("run", *shared, "--context", "other", "--context-words", "20", "--out", tmp_path / "in"))
    succeeded(call("run", *shared, "--out", tmp_path / "alone"))
    board = tmp_path / "board"
    succeeded(call("board", "new", board, "--suite", "../verbs"))
    ended = refused(call("board", "add", board, tmp_path / "in"))
    assert "the run was scored in context (--context other), but the leaderboard scores" in ended.stderr
    definition = board / "board.yaml"
    protocol = "protocol: {context: other, context_words: 20}"
    definition.write_text(definition.read_text().replace("protocol: {}", protocol))
    succeeded(call("board", "add", board, tmp_path / "in"))
    ended = refused(call("board", "add", board, tmp_path / "alone"))
    assert "the key `context` of its protocol is None, but the leaderboard requires 'other'" in ended.stderr
    ended = succeeded(call("verify", board, *MODEL))
    assert "rescored" in ended.stdout
    entry, run = tseval.read_run(board / "entries/lstm"), tseval.read_run(tmp_path / "in")
    assert entry.verdicts["correct"].equals(run.verdicts["correct"])
    succeeded(call("board", "write", board))
    succeeded(call("board", "check", board))
    (tmp_path / "secret.txt").write_text("the pilot knows a secret .\n")
    definition.write_text(definition.read_text().replace("context: other", "context: ../secret.txt"))
    ended = call("board", "check", board)
    assert ended.returncode != 0
    assert "neither the name of a suite nor a text file in this folder" in " ".join(
        (ended.stdout + ended.stderr).split()
    )


def test_python_puts_a_suite_in_context_as_the_command_does(folder):
    suite = tseval.load_suite(folder / "verbs")
    run = tseval.evaluate("bundled:lstm", tseval.in_context(suite, "other#grammatical", words=20))
    written = tseval.read_run(folder / "good/context-20")
    assert run.manifest.key.differences(written.manifest.key) == []
    assert run.verdicts["better_score"].equals(written.verdicts["better_score"])
    assert tseval.in_context(suite, "same", words=0).context is None


@pytest.mark.parametrize(("options", "message"), [
    (("--context-words", "100"), "--context is missing"),
    (("--context", "same", "--context-words", "ten"), "'ten' is not a number of words"),
    (("--context", "same", "--context-words", "5,5"), "has the length 5 twice"),
    (("--context", "verbs#gramatical"), "no sentences with the label 'gramatical'"),
    (("--context", "nowhere"), "there is no suite 'nowhere'"),
    (("--context", "other", "--case", "near", "--contexts", "0"), "Invalid value for '--contexts'"),
    (("--context", "empty.txt", "--context-words", "9"), "empty.txt: the file has no words"),
    (("--context", "item.txt"), "the context contains the sentence 'the author laughs .'"),
])  # fmt: skip
def test_a_context_that_cannot_be_is_one_message_and_nothing_is_written(folder, tmp_path, options, message):
    (folder / "empty.txt").write_text(" \n")
    (folder / "item.txt").write_text("the author laughs.\n")
    ended = refused(call("run", "--suite", "verbs", *MODEL, *options, "--out", tmp_path / "r", cwd=folder))
    assert message in " ".join(ended.stderr.split())
    assert not (tmp_path / "r").exists()
