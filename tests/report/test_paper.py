"""`tseval cite`: every claim of the paragraph follows from the runs, and LaTeX prints the whole text."""

import json
import re
import shutil

import pytest
from in_process import printed, refuse, run_process, succeed
from small import make_case, make_run, make_suite

from tseval.report.opened import for_analysis
from tseval.report.paper import write_up
from tseval.report.references import REFERENCES

ROWS = [(f"the {noun} laughs", f"the {noun} laugh") for noun in "abcdefgh"]
SUITE = make_suite(make_case("one", ROWS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run the bundled model on part of a real suite, and two models on a small made-up suite."""
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
    assert f"We used {manifest['suite']['n_items']:,} items of the suite (12 from each of 22 cases" in text
    assert f"% Suite: marvin_linzen, SHA-256 {manifest['suite']['digest']}\n" in text
    assert manifest["suite"]["digest"][:8] not in printed_lines(text)
    assert "single precision (float32)" in text
    assert ", in lower case, and ended in a period." in text
    assert "clustered by the words that items share (verb" in text
    assert "the sum of the log-probabilities of all its tokens" in text
    assert f"We used tseval {manifest['key']['tseval']} " in text
    other = parts_of(printed("cite", "critical", cwd=folder))["methods.tex"]
    assert "the first word in which the two sentences differ" in other
    assert "the sum of the log-probabilities" not in other


def printed_lines(text):
    """Return the text that LaTeX prints, without comments."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("%"))


@pytest.mark.slow
def test_the_paragraph_and_the_caption_say_how_a_sample_was_drawn(folder):
    options = "--model", "bundled:lstm", "--case", "simple_agrmt", "--case", "prep_anim", "--quiet"
    succeed("run", *options, "--sample", "15", "--seed", "4", "--out", "sample", cwd=folder)
    parts = parts_of(printed("cite", "sample", cwd=folder))
    drawn = "a random sample of 30 items (15 drawn without replacement from each of 2 cases, random seed 4)"
    assert f"We used {drawn}." in parts["methods.tex"]
    assert drawn in parts["table.tex"]


@pytest.mark.slow
def test_a_view_says_what_its_items_are_made_from(folder):
    options = (
        "--model",
        "bundled:lstm",
        "--suite",
        "marvin_linzen:profile",
        "--case",
        "simple_agrmt",
        "--quiet",
    )
    succeed("run", *options, "--limit", "5", "--out", "view", cwd=folder)
    text = parts_of(printed("cite", "view", cwd=folder))["methods.tex"]
    n_items = json.loads((folder / "view" / "manifest.json").read_text("utf-8"))["suite"]["n_items"]
    assert n_items > 5
    assert f"We used {n_items} items of the suite (made from 5 items from one case, not drawn" in text


def test_every_line_of_the_paragraph_is_a_sentence(folder):
    for names in (["real"], ["critical"], ["bad", "good_&_cheap"]):
        text = printed_lines(parts_of(printed("cite", *names, cwd=folder))["methods.tex"])
        sentences = [line for line in text.splitlines() if line and "sloppypar" not in line]
        assert len(sentences) > 8
        for sentence in sentences:
            assert re.match(r"[A-Z].*\.$", sentence), sentence


def test_what_was_not_done_is_not_cited(folder):
    parts = parts_of(printed("cite", "bad", cwd=folder))
    assert "mccaffrey" not in parts["references.bib"].lower()
    assert "treat items as independent" in parts["methods.tex"]
    assert re.search(r"@misc\{small,", parts["references.bib"])
    assert "marvin" not in str(parts).lower()
    assert "Words outside the vocabulary" not in parts["methods.tex"]


def test_where_nothing_is_decidable_nothing_is_said_of_words(folder):
    pairs = [(f"el {noun} duerme", f"el {noun} duermen") for noun in "abc"]
    (folder / "none.jsonl").write_text(
        "\n".join(json.dumps(dict(zip(("good", "bad"), one, strict=True))) for one in pairs)
    )
    succeed(
        "run", "--model", "bundled:lstm", "--suite", "./none.jsonl", "--out", "none", "--quiet", cwd=folder
    )
    text = parts_of(printed("cite", "none", cwd=folder))["methods.tex"]
    assert "\nNo item is decidable, so there are no confidence intervals.\n" in text


def test_the_best_of_each_row_is_bold_and_intervals_come_on_demand(folder):
    arguments = "cite", "bad", "good_&_cheap"
    table = parts_of(printed(*arguments, cwd=folder))["table.tex"]
    (row,) = [line for line in table.splitlines() if line.startswith("Simple ")]
    assert row == r"Simple & 0.000 & \textbf{1.000} \\"
    for part in (r"\begin{table}", r"\caption{Accuracy on", r"\label{tab:small}", r"\toprule"):
        assert part in table
    assert "--" not in table
    with_intervals = parts_of(printed(*arguments, "--intervals", cwd=folder))["table.tex"]
    assert r"{\scriptsize 0.675--1.000}" in with_intervals
    assert r"95\% confidence interval" in with_intervals
    assert "textbf{1.000}" not in parts_of(printed("cite", "good_&_cheap", cwd=folder))["table.tex"]


def test_equal_accuracies_are_not_bold(folder):
    make_run(SUITE, {"laugh": -3.0}, path=folder / "as good", model="as good")
    table = parts_of(printed("cite", "bad", "good_&_cheap", "as good", cwd=folder))["table.tex"]
    (row,) = [line for line in table.splitlines() if line.startswith("Simple ")]
    assert row == r"Simple & 0.000 & 1.000 & 1.000 \\"


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
    evaluated = [text.partition("We evaluated ")[2].partition(" on ")[0] for text in paragraphs]
    assert evaluated == ["the language model lstm", "the language model bad"]
    keys = re.findall(r"^@\w+\{([^,]+),", parts["references.bib"], re.MULTILINE)
    assert len(keys) == len(set(keys)), "each work is cited once"
    assert {"marvin-linzen-2018", "small"} <= set(keys)
    assert re.search(r"^small & 1 &  & 0\.000 \\\\$", parts["table.tex"], re.MULTILINE), "no run of lstm"


# Rows as long as those of Marvin & Linzen, and a name with underscores as in BLiMP.
CONSTRUCTIONS = {
    "Subject-verb agreement": (
        "Simple", "Sentential complement", "Short VP coordination", "In an object RC (no that)",
        "Across a PP",
    ),
    "Reflexive anaphora": ("Simple",),
    "Negative polarity items": (
        "Across a RC (grammatical vs. intrusive)", "Across a RC (intrusive vs. ungrammatical)",
        "distractor_agreement_relational_noun",
    ),
}  # fmt: skip
MODELS = [
    "lstm", "gru_2_layers", "ordered_neurons-seed1", "GPT2-very-large_model.v2", "transformer/xl", "a_b",
    "internationalisation", "m8",
    "m9_a_long_name_of_many_words_and_then_some_more_of_them", "m10", "50%", "m#12",
]  # fmt: skip
LONG_SUITE = make_suite(
    *(
        make_case(
            f"{dependency} {phenomenon} {number}",
            [(f"the {noun} laughs{number}", f"the {noun} laugh") for noun in "abcdefgh"],
            construction=construction, phenomenon=phenomenon, dependency=dependency,
        )
        for dependency in ("short", "long")
        for phenomenon, constructions in CONSTRUCTIONS.items()
        for number, construction in enumerate(constructions)
    )
)  # fmt: skip


@pytest.fixture(scope="module")
def twelve_models():
    """Make twelve models whose accuracies differ by row."""
    runs = []
    for model, name in enumerate(MODELS):
        words = {f"laughs{row}": 0.5 * ((7 * model + 3 * row) % 5) - 2.0 for row in range(9)}
        runs.append(make_run(LONG_SUITE, words | {"a": -2.0}, model=name))
    return runs


def compiled(folder, options, body):
    """Compile a document twice, with its bibliography; return the messages of LaTeX and BibTeX."""
    if not (shutil.which("pdflatex") and shutil.which("bibtex")):
        pytest.skip("needs pdflatex")
    (folder / "t.tex").write_text(
        rf"\documentclass[{options}]{{article}}\usepackage{{booktabs,tabularx,natbib}}\begin{{document}}"
        rf"{body}\bibliographystyle{{plainnat}}\bibliography{{references}}\end{{document}}"
    )
    latex = ["pdflatex", "-halt-on-error", "-no-shell-escape", "t"]
    for command in (latex, ["bibtex", "t"], latex, latex):
        done = run_process(command, cwd=folder)
        assert done.returncode == 0, done.stdout
    log = (folder / "t.log").read_text("utf-8", errors="replace")
    return log, (folder / "t.blg").read_text("utf-8")


def test_latex_and_bibtex_print_all_of_it(folder, tmp_path):
    succeed("cite", "bad", "good_&_cheap", "--intervals", "-o", tmp_path, cwd=folder)
    log, about_references = compiled(tmp_path, "", r"\input{methods}\input{table}")
    assert "undefined" not in log
    assert "Warning--" not in about_references


@pytest.mark.slow
def test_bibtex_knows_every_entry(folder, tmp_path):
    (tmp_path / "references.bib").write_text(REFERENCES)
    log, about_references = compiled(tmp_path, "", r"\nocite{*}Text.")
    assert "undefined" not in log
    assert "Warning--" not in about_references
    assert (tmp_path / "t.bbl").read_text().count(r"\bibitem") == REFERENCES.count("\n@")


@pytest.mark.slow
@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize("options", ["10pt", "twocolumn", "twocolumn,11pt"])
def test_tables_fit_a_page_of_one_and_of_two_columns(twelve_models, options, intervals, tmp_path):
    for n_models in (1, 3, 6, 12):
        paper = write_up(for_analysis(twelve_models[:n_models]), intervals=intervals)
        (tmp_path / f"table{n_models}.tex").write_text(paper.table)
        (tmp_path / f"methods{n_models}.tex").write_text(paper.methods)
        (tmp_path / "references.bib").write_text(paper.references)
    every = "".join(rf"\input{{methods{n}}}\input{{table{n}}}\clearpage " for n in (1, 3, 6, 12))
    log, _ = compiled(tmp_path, options, every)
    assert "Overfull" not in log
    assert "Float too large" not in log


@pytest.mark.slow
@pytest.mark.parametrize("options", ["10pt", "twocolumn"])
def test_means_over_seeds_fit_too(twelve_models, options, tmp_path):
    opened = for_analysis(twelve_models)
    for n_groups in (1, 3, 6):
        size = 12 // n_groups
        groups = {MODELS[at]: MODELS[at * size : (at + 1) * size] for at in range(n_groups)}
        paper = write_up(opened, groups)
        assert r"$\pm$\,0." in paper.table
        assert "standard deviation" in paper.table
        (tmp_path / f"table{n_groups}.tex").write_text(paper.table)
        (tmp_path / "references.bib").write_text(paper.references)
    log, _ = compiled(tmp_path, options, r"\cite{tseval}\input{table1}\input{table3}\input{table6}")
    assert "Overfull" not in log


@pytest.mark.parametrize(("n_models", "kind"), [(1, "table"), (3, "table"), (4, "table*"), (8, "table*")])
def test_up_to_three_models_stand_in_a_column_and_more_across_the_page(twelve_models, n_models, kind):
    table = write_up(for_analysis(twelve_models[:n_models])).table
    assert rf"\begin{{{kind}}}[t]" in table
    assert (r"{\columnwidth}" in table) == (kind == "table")
    rows = [line for line in table.splitlines() if line.startswith("Across a PP ")]
    assert [row.count("&") for row in rows] == [n_models] * 2


def test_of_more_than_eight_models_each_is_a_line_with_all_its_accuracies(twelve_models):
    opened = for_analysis(twelve_models)
    table = write_up(opened).table
    lines = [line for line in table.splitlines() if re.match(r"m10 & ", line)]
    numbers = [number for line in lines for number in re.findall(r"\d\.\d{3}", line)]
    correct = opened.verdicts["m10"].groupby(["dependency", "phenomenon", "construction"])["correct"].mean()
    n_means = 6  # two dependencies, three phenomena, all rows
    assert len(numbers) == len(correct) + n_means
    assert sorted(map(float, numbers[n_means:])) == sorted(map(float, correct))


def test_signatures_and_digests_are_comments(twelve_models):
    paper = write_up(for_analysis(twelve_models[:3]))
    for text in (paper.table, paper.methods):
        assert "SHA-256 555" in text
        assert "|score:sentence|" in text
        assert "SHA" not in printed_lines(text)
        assert "score:sentence" not in printed_lines(text)
