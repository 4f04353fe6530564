"""Results in Python equal the output of the commands and plain arithmetic."""

import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from in_process import call, run_process
from scipy.stats import t

import tseval
from tseval.errors import RunError

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Make two runs of one model in a folder; the second has normalised scores, which change verdicts."""
    folder = tmp_path_factory.mktemp("results")
    for name, options in (("one", []), ("two", ["--normalise", "characters"])):
        ended = call(
            "run", "--model", "bundled:lstm", "--suite", "marvin_linzen", "--case", "prep_anim",
            "--case", "npi_across_anim", "--sample", "40", "--quiet", "--out", name, *options, cwd=folder,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
    return folder


def printed(folder, *arguments):
    """Return the cells that a command prints as CSV."""
    ended = call(*arguments, "--format", "csv", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return pd.read_csv(io.StringIO(ended.stdout))


def as_csv(frame):
    """Return a frame as read back from CSV, so that integers and missing values have the same types."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)))


@pytest.mark.slow
def test_a_table_has_the_cells_that_the_command_prints(runs):
    in_memory = tseval.read_run(runs / "two")
    given: Any
    for given, named, by in (
        (runs / "one", ["one"], ()),
        ([str(runs / "one"), in_memory], ["one", "two"], ()),
        (runs, ["one", "two"], "verb"),
    ):
        options = ["--by", by] if by else []
        expected = printed(runs, "table", *named, *options)
        pd.testing.assert_frame_equal(as_csv(tseval.table(given, by)), expected)


def test_a_table_over_several_suites_has_the_cells_of_the_command(runs, tmp_path):
    options = ["--case", "simple_agrmt", "--sample", "10", "--quiet", "--out", "other"]
    ended = call("run", "--model", "bundled:lstm", "--suite", "clams_english", *options, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    frame = tseval.table([runs / "one", tmp_path / "other"])
    assert list(frame["suite"].unique()) == ["marvin_linzen", "clams_english"]
    pd.testing.assert_frame_equal(as_csv(frame), printed(runs, "table", "one", tmp_path / "other"))


def test_a_published_board_is_named_as_the_command_names_it(tmp_path):
    expected = printed(tmp_path, "table", "bhatt2020")
    pd.testing.assert_frame_equal(as_csv(tseval.table("bhatt2020")), expected)


def test_a_comparison_has_paired_differences_and_p_values_by_row(runs):
    one, two = tseval.read_run(runs / "one"), runs / "two"
    comparison = tseval.compare(one, two)
    expected = printed(runs, "table", "one", "two", "--against", "two")
    rows = comparison.rows
    for frame, lines in ((rows, expected["over"].isna()), (comparison.means, expected["over"].notna())):
        same = expected[lines].reset_index(drop=True)[list(frame)]
        pd.testing.assert_frame_equal(as_csv(frame), as_csv(same), check_dtype=False)
    first, second = one.verdicts, tseval.read_run(two).verdicts
    paired = first.assign(difference=first["correct"].astype(float) - second["correct"].astype(float))
    by_hand = paired.groupby(["construction", "contrast"], sort=False)["difference"].mean()
    keys = list(zip(rows["construction"], rows["contrast"], strict=True))
    assert rows["difference"].tolist() == pytest.approx([by_hand[key] for key in keys])
    assert rows["difference"].abs().max() > 0
    tested = rows[rows["se"].astype(float) > 0]
    two_sided = 2 * t.sf(
        (tested["difference"].abs() / tested["se"]).astype(float), tested["df"].astype(float)
    )
    assert tested["p"].tolist() == pytest.approx(np.asarray(two_sided).tolist())
    assert repr(comparison).startswith(f"<PairedComparison {comparison.first} minus {comparison.second}: ")
    assert "Differences from" in comparison._repr_html_()


@pytest.mark.slow
def test_a_page_is_the_one_that_the_command_writes(runs):
    assert call("report", "one", "two", "-o", "page.html", cwd=runs).returncode == 0
    page = tseval.report([tseval.read_run(runs / "one"), runs / "two"], runs / "mine.html", title="T <1>")
    assert (runs / "mine.html").read_text("utf-8") == page.html
    assert page.lacking is None
    assert "T &lt;1&gt;" in page.html
    assert page.save(runs / "again.html").read_text("utf-8") == page.html
    theirs = (runs / "page.html").read_text("utf-8")
    # Only the title differs, and the command, which contains folder names.
    alike = tseval.report([runs / "one", runs / "two"]).html.replace(f"{runs}/", "")
    assert alike == theirs


def test_what_is_no_run_is_one_message(runs):
    wrong: Any
    for wrong, message in (
        ([], "the list of runs is empty"),
        ([3], "an argument has the type int, but must be a run, a path or a string"),
        ("nothing", "'nothing' is not the folder of a run or a leaderboard"),
    ):
        for function in (tseval.table, tseval.report):
            with pytest.raises(RunError, match=message):
                function(wrong)
    with pytest.raises(RunError, match="has 2 runs, but `compare` needs exactly one run on each side"):
        tseval.compare(runs, runs / "one")
    with pytest.raises(RunError, match="bhatt2020 is a leaderboard of published accuracies"):
        tseval.compare(runs / "one", "bhatt2020")


@pytest.mark.slow
@pytest.mark.parametrize(
    "before",
    [
        "import tseval",
        "import tseval.report.table",
        "import tseval; tseval.report; import tseval.report.rendering",
        "from tseval.report import render; import tseval",
        "from tseval import report; import tseval",
        "import tseval.web.report_page",
    ],
)
def test_report_can_be_called_whatever_was_imported_before(before):
    program = f"""if True:
        {before}
        import sys, tseval, tseval.errors
        function = tseval.report
        import tseval.report.table, tseval.report as room
        from tseval.report import build_table
        assert tseval.report is function is room is sys.modules["tseval.report"]
        assert tseval.report.table.build_table is build_table
        try:
            tseval.report([])
        except tseval.errors.RunError as error:
            print("called:", str(error).splitlines()[0])
    """
    done = run_process([sys.executable, "-c", program])
    assert done.stdout == "called: the list of runs is empty.\n", done.stderr


def test_the_page_of_the_documentation_shows_what_python_prints(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/python.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)*)", page, re.DOTALL)
    comparing, rows = (block for block in blocks if "comparison" in block[0])
    names = {"tseval": tseval}
    for code, expected in (comparing, rows):
        *lines, last = code.strip().split("\n")
        exec("\n".join(lines), names)  # noqa: S102 - our own documentation
        with pd.option_context("display.width", 120, "display.max_columns", 10):
            shown = repr(eval(last, names))  # noqa: S307 - the same
        assert shown.split() == expected.split()
