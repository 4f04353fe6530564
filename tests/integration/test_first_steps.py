"""First commands of a new user, and the exact messages that tseval prints."""

import json
import re
import shlex

import pytest
from in_process import call, succeed
from small import make_case, make_key, make_run, make_suite

from tseval.runs import start_run
from tseval.suites.endings import DATA_ENDINGS

PAIRS = [("The authors laugh.", "The authors laughs."), ("The author laughs.", "The author laugh.")]


def write_pairs(path, pairs, **features):
    rows = [{"good": good, "bad": bad, **features} for good, bad in pairs]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


HUB = "For a transformers model, write --model hf:{}, or --model mlm:{} for a masked language model."
PATH = "Give the path of a checkpoint: --model PATH"


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("lstm", "Did you mean bundled:lstm?"),
        ("gpt2", HUB.format("gpt2", "gpt2")),
        ("a/b-1.5", HUB.format("a/b-1.5", "a/b-1.5")),
        ("drnn.pt", PATH),
        ("models/deep/drnn", PATH),
    ],
)
def test_a_model_that_is_no_file_is_named_as_it_may_have_been_meant(tmp_path, model, hint):
    for command in (["run", "--limit", 1], ["pair", "a", "b"]):
        done = call(*command, "--model", model, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"tseval: {model}: file not found.\n  {hint}\n")


@pytest.mark.parametrize("command", [["run", "--model", "bundled:lstm", "--suite"], ["lint"], ["expand"]])
def test_a_file_that_is_no_suite_names_what_can_be_read(tmp_path, command):
    (tmp_path / "pairs.xls").write_text("good,bad\nthe author laughs .,the author laugh .\n")
    done = call(*command, "./pairs.xls", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "tseval: pairs.xls: tseval cannot read this file as a suite.\n"
        "  Give a .jinja grammar, a folder of such grammars, or a table (.jsonl, .tsv, .parquet, "
        ".json, .csv, .xlsx, .tab, .text, .txt; docs/datasets.md).\n"
        "  Its first line may be the header of a table: name a copy pairs.csv.\n",
    )
    assert all(ending in done.stderr for ending in DATA_ENDINGS)


def test_text_that_was_not_tokenised_is_told_how(tmp_path):
    suite = write_pairs(tmp_path / "pairs.jsonl", PAIRS)
    command = "run", "--model", "bundled:lstm", "--suite", suite, "--out"
    done = succeed(*command, "run", cwd=tmp_path)
    warned = (
        "2 of 2 contrasts are undecidable; some words have punctuation, such as 'laugh.': "
        "to split off punctuation, add --tokenise"
    )
    # A pipe takes the table away, so the warning is also on standard error.
    assert (done.stdout.count(warned), done.stderr.count(f"warning: {warned}\n")) == (1, 1)
    (warning,) = json.loads((tmp_path / "run" / "manifest.json").read_text())["warnings"]
    assert "--tokenise" in warning
    done = call(*command, "other", "--tokenise", cwd=tmp_path)
    assert "undecidable" not in done.stderr
    assert "tokenise" not in done.stderr


def test_words_that_are_merely_unknown_get_no_hint(tmp_path):
    suite = write_pairs(tmp_path / "pairs.jsonl", [("the blorf .", "the glorf .")])
    done = call("run", "--model", "bundled:lstm", "--suite", suite, "--out", "run", cwd=tmp_path)
    assert "| pairs                                    |       1 |          – |" in done.stdout
    assert "tokenise" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_run_that_decides_nothing_warns_and_may_be_refused(tmp_path):
    pairs = [("the blorf .", "the glorf ."), ("the wug .", "the wugg .")]
    suite = write_pairs(tmp_path / "pairs.jsonl", pairs)
    command = "run", "--model", "bundled:lstm", "--suite", suite, "--quiet", "--out"
    done = succeed(*command, "run", cwd=tmp_path)
    assert done.stderr.startswith(
        "warning: lstm decides none of the 2 contrasts of pairs, so this run measures nothing."
    )
    # The command in the warning must read the user's file.
    hint = re.search(r"tseval (lint .*)", done.stderr)[1]
    assert "blorf, " in call(*shlex.split(hint), cwd=tmp_path).stdout
    done = call(*command, "other", "--require-coverage", "0.5", cwd=tmp_path)
    assert done.returncode == 1
    assert "tseval: lstm decides 0 of the 2 contrasts of pairs (0.0%)" in done.stderr
    assert (tmp_path / "other" / "manifest.json").exists(), "the run is kept"
    half = write_pairs(tmp_path / "half.jsonl", [pairs[0], ("the author laughs .", "the author laugh .")])
    for least, code in ((0.5, 0), (0.51, 1)):
        done = call(
            *command[:4], half, *command[5:], f"half{code}", "--require-coverage", least, cwd=tmp_path
        )
        assert done.returncode == code
    assert "is not in the range" in call(*command, "no", "--require-coverage", "90", cwd=tmp_path).stderr


def test_a_table_takes_every_run_below_a_folder(tmp_path):
    suite = make_suite(make_case("a", [("right", "wrong")]))
    for name in ("one", "two", "deeper/three"):
        make_run(suite, {"right": -0.5}, path=tmp_path / "runs" / name, model=name[-3:])
    with start_run(tmp_path / "runs" / "begun", make_key(suite)):
        pass
    done = succeed("table", "runs/", cwd=tmp_path)
    finish = "To finish the run, repeat its command with --resume --out runs/begun"
    assert done.stderr == f"runs/begun: tseval leaves this run out, because it is not finished. {finish}\n"
    assert [cell.strip() for cell in done.stdout.splitlines()[0].split("|")[2:-1]] == ["ree", "one", "two"]
    assert call("table", "runs/deeper/three", "runs/one", "runs/two", cwd=tmp_path).stdout == done.stdout
    assert (
        "'runs/one' is the same run or leaderboard as 'runs'."
        in call("table", "runs", "runs/one", cwd=tmp_path).stderr
    )


@pytest.mark.parametrize(
    ("pairs", "known", "code", "said"),
    [
        (PAIRS, None, 0, []),
        ([("a b", "a c"), ("a b", "a b"), ("a b", "a c")], None, 1,
         ["error: 1 of 3 items have two equal sentences in a contrast, for example 'a b' / 'a b'.",
          "error: 1 of 3 items repeat another, for example 'a b' (2 times)."]),
        ([("a b", "a b c"), ("a d", "a e")], None, 0,
         ["note: 1 of 2 pairs of 'good > bad' have unequal numbers of words, for example 'a b' / 'a b c'. "
          "So one score adds up more words than the other."]),
        ([("the author laughs", "the author laugh"), ("the x", "the y")], "the\nauthor\nlaughs\n", 1,
         ["warning: 1 of 2 pairs of 'good > bad' are undecidable with this vocabulary: all "
          "words that differ are "
          "unknown, for example 'the x' / 'the y'.",
          "warning: 1 of 2 pairs of 'good > bad' are half known with this vocabulary. Missing: laugh (1).",
          "warning: words missing from the vocabulary (3): x, laugh, y."]),
    ],
)  # fmt: skip
def test_pairs_are_linted_too(tmp_path, pairs, known, code, said):
    write_pairs(tmp_path / "pairs.jsonl", pairs)
    (tmp_path / "words").write_text(known or "")
    done = call("lint", "./pairs.jsonl", "--quiet", *(["--vocab", "words"] if known else []), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "".join(f"pairs.jsonl: {line}\n" for line in said))
    how_many = (
        f"{len(said)} finding{'s' * (len(said) > 1)}" if code else "Notes only" if said else "No findings"
    )
    assert done.stderr == f"{how_many} in {len(pairs)} items.\n"


def test_findings_of_several_cases_name_the_case(tmp_path):
    write_pairs(tmp_path / "a.jsonl", [("a b", "a b")])
    write_pairs(tmp_path / "b.jsonl", [("a b", "a c")])
    done = call("lint", ".", "--quiet", cwd=tmp_path)
    assert done.stdout.startswith(".: error: case 'a': 1 of 1 items have two equal sentences in a contrast")
