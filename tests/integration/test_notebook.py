"""The output of tseval in a notebook that a real kernel executes."""

import re

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow  # they share a kernel

CELLS = (
    "import tseval",
    "suite = tseval.load_suite('marvin_linzen', cases=['simple_agrmt', 'vp_coord'], limit=200)\nsuite",
    "suite.cases[0]",
    "next(suite.cases[0].items())",
    "run = tseval.evaluate('bundled:lstm', suite)\nrun",
    "run.table()",
    """from tseval.report.analyses.attractors import attractors
from tseval.report.opened import for_analysis
attractors(for_analysis([run]))""",
    """%matplotlib inline
from tseval.report.analyses.attractors import attractor_panels
from tseval.report.figures import draw
from tseval.report.looks import SMALL_LINES
draw(attractor_panels(attractors(for_analysis([run]))), SMALL_LINES)""",
    """from tseval.questions.normalisation import Normalised
other = tseval.evaluate('bundled:lstm', suite, score=Normalised('characters'))
tseval.table([run, other])""",
    "tseval.compare(run, other)",
    "tseval.report([run, other])",
    """from tseval.items import Item
Item('a<b>', 0, {'good': '<script>alert(1)</script>', 'bad': 'x'}, {})""",
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return the outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = str(tmp_path_factory.mktemp("notebook"))
    executed = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    return [cell.outputs for cell in executed.cells]


def html_of(outputs):
    return "".join(output.data.get("text/html", "") for output in outputs if "data" in output)


def rows_of(html):
    rows = re.findall(r"<tr.*?</tr>", html, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_suites_cases_and_items_are_tables(outputs):
    suite, case, item = map(html_of, outputs[1:4])
    assert rows_of(suite)[0] == ["phenomenon", "construction", "case", "items", "first sentence"]
    assert [row[2:4] for row in rows_of(suite)[1:]] == [["simple_agrmt", "140"], ["vp_coord", "200"]]
    assert rows_of(case)[:2] == [["grammatical", "ungrammatical"], ["the author laughs", "the author laugh"]]
    assert ["grammatical", "the author laughs"] in rows_of(item)


def test_a_run_shows_its_table_with_intervals_and_its_signature(outputs):
    html = html_of(outputs[4])
    assert "suite:marvin_linzen@" in html
    head, *rows = [row for row in rows_of(html) if len(row) > 4]
    assert len(rows) == 2
    assert {"accuracy", "low", "high", "n_items"} <= set(head)
    assert "accuracy" in html_of(outputs[5])


def test_scoring_shows_how_far_it_is_to_the_end(outputs):
    (bar,) = re.findall(r"<progress.*?sentences", html_of(outputs[4]))
    done, of = re.search(r": ([\d,]+) of ([\d,]+) sentences", bar).groups()
    assert done == of != "0"


def test_an_analysis_is_its_tables_and_notes(outputs):
    html = html_of(outputs[6])
    assert "Notes" in html
    assert "lstm" in html


def test_a_figure_is_a_picture(outputs):
    assert any("image/png" in output.get("data", {}) for output in outputs[7])


def test_tables_comparisons_and_pages_are_shown(outputs):
    table, comparison, page = map(html_of, outputs[8:11])
    assert "accuracy" in table
    assert ["Mean, each row counted once"] in [row[:1] for row in rows_of(comparison)]
    (address,) = re.findall(r'<iframe srcdoc="(.*?)"', page, re.DOTALL)
    assert "&lt;title&gt;" in address


def test_text_from_outside_is_no_html(outputs):
    html = html_of(outputs[11])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
