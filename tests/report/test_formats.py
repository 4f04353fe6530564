"""Each output format for a small document, checked against text by hand, and for one with hostile texts."""

import csv
import io
import json
import re
import shutil
import subprocess
from fractions import Fraction
from itertools import accumulate

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import make_case, make_run, make_suite
from wcwidth import wcswidth

from tseval.errors import plain
from tseval.report import FORMATS, build_table, render
from tseval.report.document import Document, Field, Grid, Line, side_by_side
from tseval.report.numbers import (
    format_count,
    format_interval,
    format_mean_rank,
    format_probability,
    format_share,
)
from tseval.report.writers.csv import cell
from tseval.report.writers.latex import latex
from tseval.report.writers.markdown import code, markdown
from tseval.report.writers.terminal import Screen, fitted

NAN = float("nan")
FIELDS = (
    Field("small", align="left"), Field("Items", ("n_items",), format_count), Field("a_b",
    ("accuracy",), format_share),
    Field("95% interval", ("low", "high"), format_interval),
)  # fmt: skip
LINES = (
    Line(("Long & short",), "section"), Line(("P",), "group"),
    Line(("Near", 1200, Fraction(2, 3), (0.5, 0.75))), Line(("Far", 3, None, (NAN, NAN))),
    Line(("Means",), "section"), Line(("Mean rank", "", Fraction(3, 2), ""), show=format_mean_rank),
)  # fmt: skip
RECORDS = pd.DataFrame(
    {"model": ["a_b", "=x"], "n_items": pd.array([1200, None], "Int64"), "accuracy": [2 / 3, NAN]}
)
SMALL = Document(
    grids=(Grid(FIELDS, LINES), Grid(FIELDS[:2], [Line(("Far", 3))], "Accuracy by n_items")),
    records=RECORDS,
    content={"by": (), "rows": RECORDS, "means": {"a_b": Fraction(1, 4), "b": None}, "notes": ["50% <cut>"]},
    notes=("50% <cut>",),
    signatures=[("a_b", "suite:small|start:<eos>")],
)
WRITTEN = {
    "md": """\
| small             |   Items |   a_b |   95% interval |
|:------------------|--------:|------:|---------------:|
| **Long \\& short** |         |       |                |
| *P*               |         |       |                |
| Near              |   1,200 | 0.666 | 0.500 to 0.750 |
| Far               |       3 |     – |              – |
| **Means**         |         |       |                |
| Mean rank         |         |   1.5 |                |

**Accuracy by n_items**

| small   |   Items |
|:--------|--------:|
| Far     |       3 |

- 50% \\<cut\\>
- a_b: `suite:small|start:<eos>`
""",
    "latex": r"""% Needs \usepackage{booktabs} in the preamble.
\begin{tabular}{lrrr}
\toprule
small & Items & a\_b & 95\% interval \\
\midrule
\multicolumn{4}{l}{\textbf{Long \& short}} \\
\multicolumn{4}{l}{\textit{P}} \\
Near & 1,200 & 0.666 & 0.500 to 0.750 \\
Far & 3 & -- & -- \\
\addlinespace
\multicolumn{4}{l}{\textbf{Means}} \\
Mean rank &  & 1.5 &  \\
\bottomrule
\end{tabular}
\par\noindent\textbf{Accuracy by n\_items}\par
\begin{tabular}{lr}
\toprule
small & Items \\
\midrule
Far & 3 \\
\bottomrule
\end{tabular}
\par{\footnotesize\noindent 50\% \textless{}cut\textgreater{}\par}
\par{\footnotesize\noindent a\_b: suite:small\textbar\allowbreak{}start:\textless{}eos\textgreater{}\par}
""",
    "csv": "model,n_items,accuracy\na_b,1200,0.6666666666666666\n'=x,,\n",
    "json": """\
{
  "format": 1,
  "by": [],
  "rows": [
    {
      "model": "a_b",
      "n_items": 1200,
      "accuracy": 0.6666666666666666
    },
    {
      "model": "=x",
      "n_items": null,
      "accuracy": null
    }
  ],
  "means": {
    "a_b": 0.25,
    "b": null
  },
  "notes": [
    "50% <cut>"
  ]
}
""",
}
OF_A_MODEL = [(Field(f"model-{name}"), Field("interval", joined=True)) for name in "abcdef"]
VALUES = [f"{kind}{model}" for model in range(6) for kind in "vw"]
WIDE = Document(
    grids=[
        Grid(
            [Field("n", align="left"), Field("k", joined=True),
             *(field for both in OF_A_MODEL for field in both)],
            [Line(("Long",), "section"), Line((0, 1, *VALUES))],
        )
    ],
    records=RECORDS,
    content={},
    notes=["of any length " * 20],
    signatures=[],
)  # fmt: skip
HOSTILE = "=1|a\\b*c*`d`<e>_f_ [g](h) 100% $i$ #2 {j} ~^&\n\x1b[31m\u202e\u2028"
HOSTILE_RECORDS = pd.DataFrame({"model": [HOSTILE], HOSTILE: [1]})
HOSTILE_DOCUMENT = Document(
    grids=[
        Grid([Field(HOSTILE, align="left"), Field(HOSTILE)],
            [Line((HOSTILE,), "section"), Line((HOSTILE,), "group"), Line((HOSTILE, HOSTILE))], HOSTILE),
    ],
    records=HOSTILE_RECORDS,
    content={HOSTILE: HOSTILE, "rows": HOSTILE_RECORDS, "means": [{HOSTILE: (HOSTILE,)}]},
    notes=[HOSTILE],
    signatures=[(HOSTILE, HOSTILE)],
)  # fmt: skip
PLAIN = "=1|a\\b*c*`d`<e>_f_ [g](h) 100% $i$ #2 {j} ~^&" + "\ufffd\ufffd[31m" + "\ufffd" * 2
IN_MARKDOWN = (
    r"=1\|a\\b\*c\*\`d\`\<e\>\_f\_ \[g\](h) 100% $i$ #2 {j} ~^\&" + "\ufffd\ufffd\\[31m" + "\ufffd" * 2
)


@pytest.mark.parametrize("form", FORMATS)
def test_a_document_is_written_letter_by_letter(form):
    assert render(SMALL, form) == WRITTEN[form]


@pytest.mark.parametrize("form", FORMATS)
def test_no_text_goes_unescaped(nasty, form):
    for told in (HOSTILE_DOCUMENT, nasty):
        text = render(told, form)
        text.encode()
        assert HOSTILE not in text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e\u2066-\u2069]", text)


def test_hostile_text_has_no_markup_in_markdown(nasty):
    text = render(HOSTILE_DOCUMENT, "md")
    for told, bars in ((text, 3), (render(nasty, "md"), 4)):  # a label, and one column or two
        assert {
            len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in told.splitlines() if line[:1] == "|"
        } == {bars}
    in_code = PLAIN.replace("`", "'")
    assert text.count(IN_MARKDOWN) == 1 + 2 + 1 + 1 + 2 + 1 + 1  # title, headings, lines, note, signature
    assert text.endswith(f"- {IN_MARKDOWN}: `{in_code}`\n")


def test_hostile_text_starts_no_command_in_latex():
    text = render(HOSTILE_DOCUMENT, "latex")
    ours = "usepackage|begin|end|toprule|midrule|addlinespace|bottomrule|multicolumn|par|noindent"
    ours += "|footnotesize|text(?:bf|it|backslash|asciitilde|asciicircum|less|greater|bar)|allowbreak"
    text = text.removeprefix("%")  # the comment at the top
    assert re.sub(rf"\\(?:(?:{ours})\b|[\\&%$#_{{}}])", "", text).count("\\") == 0
    assert not re.search(r"(?<!\\)[$#%_~^]", text)
    assert r"\{j\} \textasciitilde{}\textasciicircum{}\&" in text


def test_hostile_text_is_one_cell_and_no_formula_in_csv():
    heading, row = csv.reader(io.StringIO(render(HOSTILE_DOCUMENT, "csv")))
    assert heading == ["model", f"'{PLAIN}"]
    assert row == [f"'{PLAIN}", "1"]


def test_hostile_text_reads_back_from_json():
    content = json.loads(render(HOSTILE_DOCUMENT, "json"))
    assert content == {
        "format": 1, PLAIN: PLAIN, "rows": [{"model": PLAIN, PLAIN: 1}], "means": [{PLAIN: [PLAIN]}],
    }  # fmt: skip


def tables_on_screen(width):
    """Return the tables of a screen, as lists of lines."""
    blocks = render(WIDE, screen=Screen(width)).split("\n\n")
    return [block.splitlines() for block in blocks if "----" in block]


@pytest.mark.parametrize("width", [250, 80, 50])
def test_a_table_on_a_terminal_is_cut_between_models_each_part_with_its_labels(width):
    tables = tables_on_screen(width)
    assert max(len(line) for table in tables for line in table) <= width
    assert len(tables) == 1 or max(len(line) for line in tables[0]) > width - 30, "no narrower than need be"
    values = []
    for heading, _, section, row in tables:
        labels, names = heading.split()[:2], heading.split()[2:]
        assert labels == ["n", "k"]
        assert [name == "interval" for name in names] == [False, True] * (len(names) // 2)
        assert section == "Long"
        values += re.split(r"  +", row)[2:]
    assert values == VALUES


def test_a_screen_obeys_no_text_and_escapes_none():
    text = render(HOSTILE_DOCUMENT, screen=Screen(200, styled=True))
    bare = re.sub("\x1b\\[[013]m", "", text)
    assert not [letter for letter in bare if plain(letter) != letter and letter != "\n"]
    assert PLAIN in bare.replace("\n", " ")


def test_wide_letters_and_numbers_with_commas_are_broken_within_their_column():
    rows = [["格助詞" * 8, "1,680"], ["1,680", "2"], ["https://example.org/a-long-address", "3"]]
    text = fitted(rows, ["a", "b"], ["left", "right"], 30)
    assert "1,680" in text
    assert "https://example.org/a-long-address" in text, "an address can be copied"
    narrow = fitted(rows[:2], ["a", "b"], ["left", "right"], 30)
    assert max(map(wcswidth, narrow.splitlines())) <= 30
    assert narrow.count("格") == 8


def test_models_stand_beside_each_other_after_what_their_rows_share():
    frames = {
        "srn": pd.DataFrame({"k": [0, 1], "accuracy": [0.5, 1.0], "worth": [7, 8]}),
        "gru": pd.DataFrame({"k": [0, 1], "accuracy": [0.25, NAN], "worth": [9, 0]}),
    }
    measures = [Field("", ("accuracy",), format_share), Field("Worth", ("worth",), format_count)]
    fields, lines = side_by_side([Field("Attractors", ("k",), align="left")], frames, measures)
    assert [field.heading for field in fields] == ["Attractors", "srn", "Worth", "gru", "Worth"]
    assert [Grid(fields, lines).texts(line) for line in lines] == [
        ["0", "0.500", "7", "0.250", "9"], ["1", "1.000", "8", "–", "0"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (format_share(Fraction(9_999_999_999, 10_000_000_000)), "0.999"),  # never rounded up
        (format_share(0.29, 2), "0.29"),  # 0.29 * 100 is 28.999999999999996
        (format_share(Fraction(979, 1000), 2), "0.97"),
        (format_interval((0.1239, 0.4561)), "0.123 to 0.457"),
        (format_mean_rank(Fraction(10)), "10"),
        (format_mean_rank(Fraction(25, 8)), "3.12"),
        (format_count(22400), "22,400"),
        (format_probability(0.00099), "< 0.001"),
        (format_probability(0.0312), "0.031"),
    ],
)
def test_numbers_are_cut_and_not_rounded(shown, text):
    assert shown == text


@pytest.fixture
def nasty():
    """Make a table in which every external name is hostile."""
    row = dict.fromkeys(("construction", "phenomenon", "dependency"), HOSTILE)
    case = make_case(HOSTILE, [("a b", "a c")], features={HOSTILE: [HOSTILE]}, **row)
    run = make_run(make_suite(case, name=HOSTILE), {"b": -0.5}, model=HOSTILE)
    return build_table([run, run], [HOSTILE])


@pytest.mark.parametrize(
    ("escape", "text", "escaped"),
    [
        (markdown, "a|b *c* `d` <e> [f](g) _h_ \\ &amp;", r"a\|b \*c\* \`d\` \<e\> \[f\](g) \_h\_ \\ \&amp;"),
        *((markdown, same, same) for same in ("2 [1–4]", "1 [1]", "n_attractors ab_drnn")),
        *((markdown, f"[{of}]{behind}", rf"\[{of}\]{behind}")
          for of, behind in (("1", "(x)"), ("1", ": x"), ("1–x", ""), ("a", ""))),
        (code, "a`b<eos>", "`a'b<eos>`"),
        (cell, "Ab-DRNN", "Ab-DRNN"),
        (latex, "a_b & 50% {x} $y$ #1", r"a\_b \& 50\% \{x\} \$y\$ \#1"),
        (latex, "\\input{x}", r"\textbackslash{}input\{x\}"),
        (latex, "<eos>|~^", r"\textless{}eos\textgreater{}\textbar{}\textasciitilde{}\textasciicircum{}"),
        (latex, "[CLS] --by *", r"{[}CLS] -{}-by {*}"),
        (latex, 'say "a-b" – ', r"say \symbol{34}a-b\symbol{34} -- "),
    ],
)  # fmt: skip
def test_no_markup_in_a_name_is_left_alive_and_names_stay_readable(escape, text, escaped):
    assert escape(text) == escaped


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "＝1"])
def test_a_spreadsheet_runs_no_formula(text):
    assert cell(text).startswith(("'", "\ufffd"))


@pytest.mark.slow
@given(st.text())
def test_plain_text_can_always_be_written_out(text):
    plain(text).encode()
    assert len(plain(text).splitlines()) <= 1


def test_latex_of_hostile_names_compiles(nasty, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex")
    body = render(nasty, "latex").replace("\ufffd", "?")
    start = r"\documentclass{article}\usepackage{booktabs}\begin{document}"
    (tmp_path / "t.tex").write_text(start + body + r"\end{document}")
    command = ["pdflatex", "-halt-on-error", "-no-shell-escape", "t.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_latex_of_hostile_names_is_balanced_and_has_the_rules_of_booktabs(nasty):
    text = re.sub(r"\\[\\{}&%$#_]", "", render(nasty, "latex"))
    depths = list(accumulate((mark == "{") - (mark == "}") for mark in text))
    assert min(depths) == depths[-1] == 0
    rules = re.findall(r"\\(begin|toprule|midrule|bottomrule|end)\b", text)
    assert rules == ["begin", "toprule", "midrule", "bottomrule", "end"]
    assert text.startswith(r"% Needs \usepackage{booktabs}")
