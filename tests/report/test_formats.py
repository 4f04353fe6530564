"""Each format, of one small document written down by hand, and of one whose every text is hostile."""

import csv
import io
import json
import re
from fractions import Fraction

import pandas as pd
import pytest

from tseval.report import FORMATS, render
from tseval.report.document import Document, Field, Grid, Line, interval, mean_rank, share, whole

NAN = float("nan")
FIELDS = (
    Field("small", align="left"),
    Field("Items", ("n_items",), whole),
    Field("a_b", ("accuracy",), share),
    Field("95% interval", ("low", "high"), interval),
)
LINES = (
    Line(("Long & short",), "section"),
    Line(("P",), "group"),
    Line(("Near", 1200, Fraction(2, 3), (0.5, 0.75))),
    Line(("Far", 3, None, (NAN, NAN))),
    Line(("Means",), "section"),
    Line(("Mean rank", "", Fraction(3, 2), ""), show=mean_rank),
)
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
            [
                Field("n", align="left"),
                Field("k", joined=True),
                *(field for both in OF_A_MODEL for field in both),
            ],
            [Line(("Long",), "section"), Line((0, 1, *VALUES))],
        )
    ],
    records=RECORDS,
    content={},
    notes=["of any length " * 20],
    signatures=[],
)
HOSTILE = "=1|a\\b*c*`d`<e>_f_ [g](h) 100% $i$ #2 {j} ~^&\n\x1b[31m\u202e\u2028"
HOSTILE_RECORDS = pd.DataFrame({"model": [HOSTILE], HOSTILE: [1]})
HOSTILE_DOCUMENT = Document(
    grids=[
        Grid(
            [Field(HOSTILE, align="left"), Field(HOSTILE)],
            [Line((HOSTILE,), "section"), Line((HOSTILE,), "group"), Line((HOSTILE, HOSTILE))],
            HOSTILE,
        )
    ],
    records=HOSTILE_RECORDS,
    content={HOSTILE: HOSTILE, "rows": HOSTILE_RECORDS, "means": [{HOSTILE: (HOSTILE,)}]},
    notes=[HOSTILE],
    signatures=[(HOSTILE, HOSTILE)],
)
PLAIN = "=1|a\\b*c*`d`<e>_f_ [g](h) 100% $i$ #2 {j} ~^&" + "\ufffd\ufffd[31m" + "\ufffd" * 2
IN_MARKDOWN = (
    r"=1\|a\\b\*c\*\`d\`\<e\>\_f\_ \[g\](h) 100% $i$ #2 {j} ~^\&" + "\ufffd\ufffd\\[31m" + "\ufffd" * 2
)


@pytest.mark.parametrize("form", FORMATS)
def test_a_document_is_written_letter_by_letter(form):
    assert render(SMALL, form) == WRITTEN[form]


@pytest.mark.parametrize("form", FORMATS)
def test_no_text_of_a_document_goes_unescaped(form):
    text = render(HOSTILE_DOCUMENT, form)
    text.encode()
    assert HOSTILE not in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)


def test_hostile_text_has_no_markup_in_markdown():
    text = render(HOSTILE_DOCUMENT, "md")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table} == {3}
    in_code = PLAIN.replace("`", "'")
    assert text.count(IN_MARKDOWN) == 1 + 2 + 1 + 1 + 2 + 1 + 1  # title, headings, lines, note, signature
    assert text.endswith(f"- {IN_MARKDOWN}: `{in_code}`\n")


def test_hostile_text_starts_no_command_in_latex():
    text = render(HOSTILE_DOCUMENT, "latex")
    ours = (
        "usepackage|begin|end|toprule|midrule|addlinespace|bottomrule|multicolumn|par|noindent|footnotesize"
    )
    ours += "|text(?:bf|it|backslash|asciitilde|asciicircum|less|greater|bar)|allowbreak"
    text = text.removeprefix("%")  # the comment on top
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
        "format": 1,
        PLAIN: PLAIN,
        "rows": [{"model": PLAIN, PLAIN: 1}],
        "means": [{PLAIN: [PLAIN]}],
    }


def table_lines(text):
    return [line for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("width", [250, 100, 80, 50])
def test_a_table_for_a_terminal_is_cut_between_models_each_part_with_its_labels(width):
    whole, text = render(WIDE, "md"), render(WIDE, "md", width)
    assert max(map(len, table_lines(text))) <= width
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert (len(tables) == 1) == (text == whole) == (max(map(len, table_lines(whole))) <= width)
    values = []
    for heading, rule, section, row in tables:
        labels, names = heading.strip("|").split("|")[:2], heading.strip("|").split("|")[2:]
        assert [label.strip() for label in labels] == ["n", "k"]
        assert [name.strip() == "interval" for name in names] == [False, True] * (len(names) // 2)
        assert rule.startswith("|:--")
        assert "**Long**" in section
        values += [value.strip() for value in row.strip("|").split("|")[2:]]
    assert values == VALUES


def test_a_column_wider_than_the_terminal_stands_alone_uncut():
    tables = [block for block in render(WIDE, "md", 5).split("\n\n") if block.startswith("|")]
    assert len(tables) == 6


@pytest.mark.parametrize("form", ["csv", "json", "latex"])
def test_only_markdown_heeds_the_width(form):
    assert render(WIDE, form, 20) == render(WIDE, form)
