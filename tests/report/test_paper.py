"""`tseval cite`: every claim of the paragraph follows from the runs, and LaTeX takes all of it."""

import json
import re
import shutil

import pytest
from in_process import printed, refuse, run_process, succeed
from small import make_case, make_run, make_suite

ROWS = [(f"the {noun} laughs", f"the {noun} laugh") for noun in "abcdefgh"]
SUITE = make_suite(make_case("one", ROWS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The bundled model on a part of a real suite, and two models on a suite of nobody's."""
    folder = tmp_path_factory.mktemp("paper")
    options = ["--model", "bundled:lstm", "--limit", "12", "--quiet"]
    succeed("run", *options, "--out", "real", cwd=folder)
    succeed("run", *options, "--score", "critical", "--out", "critical", cwd=folder)
    make_run(SUITE, {"laugh": -2.0}, path=folder / "good_&_cheap", model="good_&_cheap")
    make_run(SUITE, {"laugh": 1.0}, path=folder / "bad", model="bad")
    return folder


def parts_of(text):
    return dict(
        zip(*[iter(re.split(r"^% (\S+\.(?:bib|tex))$", text, flags=re.MULTILINE)[1:])] * 2, strict=True)
    )


@pytest.mark.slow
def test_software_suite_and_methods_are_cited_and_each_key_is_there(folder):
    parts = parts_of(printed("cite", "real", cwd=folder))
    keys = re.findall(r"^@\w+\{([^,]+),", parts["references.bib"], re.MULTILINE)
    used = re.findall(r"\\cite[pt]\{([^}]+)\}", parts["methods.tex"])
    assert sorted(keys) == sorted(set(used))
    assert {"tseval", "marvin-linzen-2018", "bell-mccaffrey-2002"} <= set(keys)
    assert "10.18653/v1/D18-1151" in parts["references.bib"], "as in CITATION.cff"


def test_the_paragraph_says_what_the_signature_says(folder):
    text = parts_of(printed("cite", "real", cwd=folder))["methods.tex"]
    manifest = json.loads((folder / "real" / "manifest.json").read_text("utf-8"))
    assert f"lstm: {manifest['signature']}\n" in text
    assert f"{manifest['suite']['n_items']:,} items, a part of the suite" in text
    assert f"SHA-256 {manifest['suite']['digest'][:8]}" in text
    assert "dtype float32, lowercase yes" in text
    assert "clustered by " in text
    assert "all tokens of a sentence" in text
    other = parts_of(printed("cite", "critical", cwd=folder))["methods.tex"]
    assert "the first word in which the two sentences differ" in other
    assert "all tokens of a sentence" not in other


def test_what_was_not_done_is_not_cited(folder):
    parts = parts_of(printed("cite", "bad", cwd=folder))
    assert "mccaffrey" not in parts["references.bib"].lower()
    assert "treat items as independent" in parts["methods.tex"]
    assert re.search(r"@misc\{small,", parts["references.bib"])
    assert "marvin" not in str(parts).lower()
    assert "The model read with: " in parts["methods.tex"]


def test_where_nothing_is_decidable_nothing_is_said_of_words(folder):
    pairs = [(f"el {noun} duerme", f"el {noun} duermen") for noun in "abc"]
    (folder / "none.jsonl").write_text(
        "\n".join(json.dumps(dict(zip(("good", "bad"), one, strict=True))) for one in pairs)
    )
    succeed(
        "run", "--model", "bundled:lstm", "--suite", "./none.jsonl", "--out", "none", "--quiet", cwd=folder
    )
    text = parts_of(printed("cite", "none", cwd=folder))["methods.tex"]
    assert "\nNo item is decidable, so there are no intervals.\n" in text


def test_the_best_of_each_row_is_bold_and_intervals_come_on_demand(folder):
    arguments = "cite", "bad", "good_&_cheap"
    table = parts_of(printed(*arguments, cwd=folder))["table.tex"]
    (row,) = [line for line in table.splitlines() if line.startswith("Simple ")]
    assert row == r"Simple & 0.000 & \textbf{1.000} \\"
    for part in (r"\begin{table}", r"\caption{Accuracy on", r"\label{tab:small}", r"\toprule"):
        assert part in table
    assert " to " not in table
    with_intervals = parts_of(printed(*arguments, "--intervals", cwd=folder))["table.tex"]
    assert with_intervals.count(r"& 95\% interval") == 2
    assert "textbf{1.000}" not in parts_of(printed("cite", "good_&_cheap", cwd=folder))["table.tex"]


def test_the_three_files_are_written_whole(folder, tmp_path):
    done = succeed("cite", "real", "-o", tmp_path / "paper", cwd=folder)
    parts = parts_of(printed("cite", "real", cwd=folder))
    assert len(done.stderr.splitlines()) == 3
    for name, text in parts.items():
        assert (tmp_path / "paper" / name).read_text("utf-8").strip() == text.strip()


def test_runs_that_no_table_can_hold_are_refused(folder):
    other = make_suite(make_case("one", ROWS[:4]), digest="6" * 64)
    make_run(other, {"laugh": -2.0}, path=folder / "fewer", model="fewer")
    assert "have different" in refuse("cite", "bad", "fewer", cwd=folder).stderr


def test_several_suites_have_a_paragraph_and_a_table_each_below_a_table_of_means(folder):
    parts = parts_of(printed("cite", "real", "bad", cwd=folder))
    labels = re.findall(r"\\label\{tab:([^}]+)\}", parts["table.tex"])
    assert labels == ["suites", "marvin-linzen", "small"]
    paragraphs = parts["methods.tex"].split("\n\n")[:2]
    assert [("We scored lstm" in text, "We scored bad" in text) for text in paragraphs] == [
        (True, False), (False, True),
    ]  # fmt: skip
    keys = re.findall(r"^@\w+\{([^,]+),", parts["references.bib"], re.MULTILINE)
    assert len(keys) == len(set(keys)), "each work is cited once"
    assert {"marvin-linzen-2018", "small"} <= set(keys)
    assert re.search(r"^small & 1 &  & 0\.000 \\\\$", parts["table.tex"], re.MULTILINE), "no run of lstm"


def test_latex_takes_all_of_it(folder, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex")
    succeed("cite", "bad", "good_&_cheap", "--intervals", "-o", tmp_path, cwd=folder)
    (tmp_path / "t.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\usepackage{natbib}\begin{document}"
        r"\input{methods}\input{table}\bibliographystyle{plainnat}\bibliography{references}\end{document}"
    )
    for command in (
        ["pdflatex", "-halt-on-error", "t"],
        ["bibtex", "t"],
        ["pdflatex", "-halt-on-error", "t"],
    ):
        done = run_process(command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
    assert "@" not in re.findall(r"undefined", done.stdout)
