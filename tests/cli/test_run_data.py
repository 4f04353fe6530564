"""`tseval run` on suites from data files."""

import json

import pytest
from in_process import call, refused, succeeded

import tseval
from tseval.runs import read_run
from tseval.suites import load_suite


def run(*arguments, cwd):
    return call("run", "--model", "bundled:lstm", "--out", "run", "--quiet", *arguments, cwd=cwd)


@pytest.fixture
def pairs(tmp_path):
    records = [
        {"good": "The author laughs.", "bad": "The author laugh.", "number": "sing"},
        {"good": "The authors laugh.", "bad": "The authors laughs.", "number": "plur"},
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def test_tokenised_pairs_score_as_their_tokens_do(pairs):
    result = succeeded(run("--suite", "pairs.jsonl", "--tokenise", "--by", "number", cwd=pairs))
    assert "pairs, number plur" in result.stdout
    model = tseval.load_model("bundled:lstm")
    same = [{"good": "the author laughs .", "bad": "the author laugh ."},
            {"good": "the authors laugh .", "bad": "the authors laughs ."}]  # fmt: skip
    (pairs / "same.jsonl").write_text("".join(json.dumps(record) + "\n" for record in same))
    expected = tseval.evaluate(model, load_suite(pairs / "same.jsonl")).verdicts
    found = read_run(pairs / "run").verdicts
    for name in ("better_score", "worse_score", "correct"):
        assert found[name].tolist() == expected[name].tolist()


def test_untokenised_pairs_are_undecidable_to_a_word_level_model(pairs):
    # The model does not know the word `laugh.`; two sentences that look alike decide nothing.
    succeeded(run("--suite", "pairs.jsonl", cwd=pairs))
    assert read_run(pairs / "run").verdicts["undecidable"].all()


def test_a_score_that_the_data_does_not_allow_is_refused(pairs):
    result = refused(run("--suite", "pairs.jsonl", "--score", "ending", cwd=pairs))
    assert "does not state how many words at the end --score ending compares" in result.stderr
    assert not (pairs / "run").exists()  # the message came before anything was scored


def test_a_column_that_items_share_is_kept_with_the_run(pairs):
    result = succeeded(
        run("--suite", "pairs.jsonl", "--cluster", "number", "--by", "number.entry", cwd=pairs)
    )
    assert "pairs, number.entry plur" in result.stdout
    found = read_run(pairs / "run")
    assert found.verdicts["number.entry"].tolist() == ["sing", "plur"]
    assert found.manifest.suite.digest == load_suite(pairs / "pairs.jsonl").digest
    ended = call("analyze", "pairwise", "run", "--where", "number.entry=dual", cwd=pairs)
    assert (
        "no item has number.entry=dual.\n  Choose a value of number.entry that items have: plur, sing."
        in ended.stderr
    )


def test_a_column_that_is_not_there_is_refused_before_anything_is_scored(pairs):
    result = refused(run("--suite", "pairs.jsonl", "--cluster", "numbr", cwd=pairs))
    assert result.stderr.endswith(
        "--cluster numbr: the items of the suite 'pairs' have no column with this name.\n  Did you mean "
        "'number'? Columns: number.\n"
    )
    assert not (pairs / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "then", "scored"),
    [
        ([], ["--cluster", "number"], "without --cluster number, and the command adds this option"),
        (
            ["--cluster", "number"],
            [],
            "with --cluster number, and the command leaves this option out or changes it",
        ),
    ],
)
def test_a_complete_run_is_not_taken_for_one_with_other_columns(pairs, first, then, scored):
    succeeded(run("--suite", "pairs.jsonl", *first, cwd=pairs))
    succeeded(run("--suite", "pairs.jsonl", "--resume", *first, cwd=pairs))
    result = refused(run("--suite", "pairs.jsonl", "--resume", *then, cwd=pairs))
    assert "--resume cannot continue the complete run " in result.stderr
    assert result.stderr.endswith(
        f"run, because it was scored {scored}.\n"
        "  Score the suite again without --resume, into another folder: --out FOLDER\n"
    )
