"""Items that are left out: known errors of published sets, and lists of the user."""

import gzip
import json
from collections import Counter

import pytest
from in_process import call, succeed
from supplied import BLIMP, needs_blimp

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.data.exclusions import known_errors
from tseval.suites.data.reading import read_data, what_was_read

CASES = ("passive_1", "principle_A_case_2", "expletive_it_object_raising")


@pytest.mark.slow
@needs_blimp
def test_the_errors_of_blimp_are_those_that_were_reported():
    # Counted in the published files: the words of issues 3 and 7 in the paradigms that they name, and pairs
    # of equal sentences.
    data = read_data(BLIMP)
    errors = {error.address.rpartition("/")[2]: error for error in known_errors(data)}
    counts = {number: sum(map(len, error.items.values())) for number, error in errors.items()}
    assert counts == {"3": 106, "7": 18, "10": 7}
    for case in data.cases:
        for pair, good, bad in zip(
            case.features["pair"].to_pylist(), case.sentences["good"].to_pylist(),
            case.sentences["bad"].to_pylist(), strict=True,
        ):  # fmt: skip
            texts = f"{good} {bad}"
            found = {number for number, error in errors.items() if pair in error.items.get(case.name, ())}
            expected = {"7"} if "unsuprising" in texts else {"10"} if good == bad else set()
            if "out in the open" in texts and case.name.startswith("determiner_noun"):
                expected |= {"3"}
            assert found == expected, (case.name, pair)


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    """Return the paradigms of `CASES` only."""
    path = tmp_path_factory.mktemp("blimp") / "blimp.jsonl"
    with gzip.open(BLIMP, "rt", encoding="utf-8") as lines:
        path.write_text("".join(line for line in lines if json.loads(line)["UID"] in CASES), "utf-8")
    return path


@needs_blimp
def test_known_errors_are_left_out_and_said(some):
    whole, suite = (load_suite(some, exclude=exclude) for exclude in (None, "known-errors"))
    counts = [Counter({case.name: case.n_items for case in one.cases}) for one in (whole, suite)]
    assert counts[0] - counts[1] == dict(zip(CASES, (2, 5, 18), strict=True))
    assert "left out: 25 items of 3,000 (exclude:known-errors)" in what_was_read(suite)
    assert (suite.exclude, len(suite.excluded or ())) == ("known-errors", 131)
    # The other items keep their numbers.
    kept = next(case for case in suite.cases if case.name == "passive_1")
    assert 324 not in kept.index.to_pylist()
    assert kept.index.to_pylist()[-1] == 999


PAIRS = (
    "case,item,good,bad\nx,1,the author laughs .,the author laugh .\n"
    "x,2,the pilots smile .,the pilots smiles .\n"
)


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("out.csv", "paradigm,pairID\nx,2\n"),
        ("out.tsv", "case\titem\nx\t2\n"),
        ("out.json", '[{"paradigm": "x", "pairID": 2}]'),
        ("out.jsonl", '{"UID": "x", "pairID": "2"}\n'),
    ],
)
def test_a_list_is_a_table_in_any_format(pairs, name, content):
    (pairs / name).write_text(content)
    lists = pairs / name, str(pairs / name), [("x", "2")]
    suites = [load_suite(pairs / "pairs.csv", exclude=one) for one in lists]
    assert {suite.digest for suite in suites} == {suites[0].digest}
    assert {suite.exclude for suite in suites} == {suites[0].exclude}
    assert suites[0].cases[0].sentences["good"].to_pylist() == ["the author laughs ."]


@pytest.mark.parametrize(
    ("suite", "listed", "said"),
    [
        ("./pairs.csv", "paradigm,pairID\ny,1\n", "the suite 'pairs' has no case 'y'"),
        ("./pairs.csv", "paradigm,pairID\nx,7\n", "the case 'x' of the suite 'pairs' has no item with the "
                                                  "id '7'"),
        ("./pairs.csv", "paradigm,number\nx,1\n", "no items to exclude in this table, because its columns "
                                                  "are"),
        ("./pairs.csv", "paradigm,pairID\nx,1\nx,2\n", "--exclude removes all items of the suite 'pairs'"),
        ("./pairs.csv", None, "--exclude: the file 'out.csv' does not exist"),
        ("./pairs.csv", "known-errors", "no list of known errors for the suite 'pairs'.\n  Leave out "
                                        "--exclude"),
        ("marvin_linzen", "known-errors", "marvin_linzen: the items of this suite have no ids"),
    ],
)  # fmt: skip
def test_what_cannot_be_left_out_is_one_message(pairs, suite, listed, said):
    if listed and "\n" in listed:
        (pairs / "out.csv").write_text(listed)
    with pytest.raises(SuiteError) as error:
        load_suite(suite, exclude=listed if listed == "known-errors" else "out.csv")
    assert said in str(error.value)


@pytest.mark.slow
def test_a_run_carries_its_list_and_resume_and_verify_hold_it_to_it(pairs):
    (pairs / "out.csv").write_text("paradigm,pairID\nx,2\n")
    run = ["run", "--model", "bundled:lstm", "--suite", "./pairs.csv", "--out", "r"]
    assert "left out: 1 item of 2" in call(*run, "--exclude", "out.csv").stderr
    manifest = json.loads((pairs / "r/manifest.json").read_text())
    digest = manifest["key"]["exclude"]
    assert f"|items:all|exclude:{digest}|tseval:" in manifest["signature"]
    assert manifest["suite"]["excluded"] == [["x", "2"]]
    (pairs / "out.csv").unlink()  # only the manifest is needed
    assert call("verify", "r", "--suite", "./pairs.csv").returncode == 0
    other = call(*run, "--resume")
    assert (other.returncode, f"exclude: {digest}, not nothing" in other.stderr) == (2, True), other.stderr
    succeed("run", "--model", "bundled:lstm", "--suite", "./pairs.csv", "--out", "p")
    plain_key = json.loads((pairs / "p/manifest.json").read_text())["key"]
    assert "exclude" not in plain_key


@needs_blimp
def test_lint_counts_the_known_errors_of_a_set(some):
    found = call("lint", some, "--quiet")
    assert "warning: 7 known errors: both sentences are the same (https://github.com/" in found.stdout
    assert "tseval run --exclude known-errors." in found.stdout
