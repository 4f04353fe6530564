import csv
import io
import json
import re
import shutil
import subprocess
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import make_case, make_run, make_suite

from tseval.errors import plain
from tseval.report import FORMATS, build_table, render
from tseval.report.document import cell, code, latex, markdown

NASTY = "=1+1|a\\b*c*`d`<script>_e_ [x](y) 100% $z$ #1 {q} ~^\n\x1b[31m\u202eevil &amp;"


@pytest.fixture
def nasty():
    """A table in which every name from outside is hostile."""
    case = make_case(
        NASTY,
        [("a b", "a c")],
        construction=NASTY,
        phenomenon=NASTY,
        dependency=NASTY,
        features={NASTY: [NASTY]},
    )
    run = make_run(make_suite(case, name=NASTY), {"b": -0.5}, model=NASTY)
    return build_table([run, run], [NASTY])


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_lets_control_characters_or_turned_text_through(nasty, form):
    text = render(nasty, form)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_a_hostile_name_adds_no_cell_to_a_markdown_table(nasty):
    rows = [line for line in render(nasty, "md").splitlines() if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows}
    assert bars == {4}  # a label and two columns


def test_no_markup_in_a_name_is_left_alive_in_markdown():
    escaped = markdown("a|b *c* `d` <e> [f](g) _h_ \\ &amp;")
    assert escaped == r"a\|b \*c\* \`d\` \<e\> \[f\](g) \_h\_ \\ \&amp;"


def test_ranks_in_brackets_stay_readable_and_links_stay_escaped():
    assert markdown("2 [1–4]") == "2 [1–4]"
    assert markdown("1 [1]") == "1 [1]"
    for text in ("[1](x)", "[1]: x", "[1–x]", "[a]"):
        assert markdown(text).startswith(r"\[")


def test_underscores_within_a_word_stay_readable():
    assert markdown("n_attractors ab_drnn") == "n_attractors ab_drnn"


def test_a_signature_cannot_leave_its_code():
    assert code("a`b<eos>") == "`a'b<eos>`"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "＝1"])
def test_a_spreadsheet_runs_no_formula(text):
    assert cell(text).startswith(("'", "\ufffd"))


def test_a_hyphen_within_a_name_is_no_formula():
    assert cell("Ab-DRNN") == "Ab-DRNN"


def test_csv_of_hostile_names_reads_back_whole(nasty):
    rows = list(csv.reader(io.StringIO(render(nasty, "csv"))))
    assert len({len(row) for row in rows}) == 1
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row)
    assert len(rows) == 3


def test_json_of_hostile_names_reads_back(nasty):
    content = json.loads(render(nasty, "json"))
    assert content["rows"][0]["construction"] == plain(NASTY)


@given(st.text())
def test_plain_text_can_always_be_written_out(text):
    plain(text).encode()
    assert len(plain(text).splitlines()) <= 1


def test_latex_specials_are_escaped():
    assert latex("a_b & 50% {x} $y$ #1") == r"a\_b \& 50\% \{x\} \$y\$ \#1"
    assert latex("\\input{x}") == r"\textbackslash{}input\{x\}"
    assert latex("<eos>|~^") == r"\textless{}eos\textgreater{}\textbar{}\textasciitilde{}\textasciicircum{}"


def test_latex_of_hostile_names_compiles(nasty, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex")
    body = render(nasty, "latex").replace("\ufffd", "?")
    start = r"\documentclass{article}\usepackage{booktabs}\begin{document}"
    (tmp_path / "t.tex").write_text(start + body + r"\end{document}")
    command = ["pdflatex", "-halt-on-error", "-no-shell-escape", "t.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_every_line_of_a_latex_table_has_every_cell(nasty):
    spans = []
    for line in (line for line in render(nasty, "latex").splitlines() if line.endswith(r"\\")):
        across = re.match(r"\\multicolumn\{(\d+)\}", line)
        spans.append(len(re.findall(r"(?<!\\)&", line)) + (int(across[1]) if across else 1))
    assert set(spans) == {3}
    # Headings, dependency, phenomenon, one row, a section with one line, and one with three of ranks.
    assert len(spans) == 10


def test_latex_of_hostile_names_is_balanced_and_has_the_rules_of_booktabs(nasty):
    text = re.sub(r"\\[\\{}&%$#_]", "", render(nasty, "latex"))
    depths = list(accumulate((mark == "{") - (mark == "}") for mark in text))
    assert min(depths) == depths[-1] == 0
    rules = re.findall(r"\\(begin|toprule|midrule|bottomrule|end)\b", text)
    assert rules == ["begin", "toprule", "midrule", "bottomrule", "end"]
    assert text.startswith(r"% Needs \usepackage{booktabs}")


def test_latex_makes_no_dash_option_or_quote_of_a_name():
    assert latex("[CLS] --by *") == r"{[}CLS] -{}-by {*}"
    assert latex('say "a-b" – ') == r"say \symbol{34}a-b\symbol{34} -- "
