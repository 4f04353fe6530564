"""A zoo of several seeds, really trained: every mean is shown with its spread."""

import json
import re
from statistics import mean, stdev

import pandas as pd
import pytest
from in_process import call, succeed
from killing import in_a_process

pytestmark = pytest.mark.slowest  # they share a trained zoo

# Almost untrained models prefer one verb form or the other by their initial weights.
PROGRAM = """
    import json, sys
    from pathlib import Path
    import small_zoo

    grammar = (
        "---\\nconstruction: {name}\\nphenomenon: Agreement\\nlexicon: lexicon.yaml\\n"
        "slots:\\n  subject: {{class: noun.animate, number: sing}}\\n"
        "  other: noun.known\\n  third: noun.known\\n  verb: verb.main\\n---\\n"
        "grammatical:   the {{{{ subject }}}} {more}{{{{ verb | agree(subject) }}}}\\n"
        "ungrammatical: the {{{{ subject }}}} {more}{{{{ verb | disagree(subject) }}}}\\n"
    )
    small_zoo.SUITE_FILES.clear()
    small_zoo.SUITE_FILES.update({
        "lexicon.yaml": "noun:\\n  animate: [author, pilot, guard, chef, skater, farmer]\\n"
                        "  known: [author, pilot]\\n"
                        "verb: {main: [laughs]}\\n",
        "simple.jinja": grammar.format(name="Simple", more="{{ other }} "),
        "twice.jinja": grammar.format(name="Twice", more="{{ other }} laugh the {{ third }} "),
    })
    small_zoo.RECIPE = small_zoo.RECIPE.replace("epochs: 1,", "epochs: 1, learning-rate: 1.0e-6,")
    small_zoo.RECIPE += "seeds: 2\\ncells: {gru: {seeds: 1}}\\n"
    place = Path(sys.argv[1])
    zoo = small_zoo.SmallZoo(place)
    done = zoo.make("gru", "drnn", out=place / "zoo", more=["--publish", place / "tables"])
    print(json.dumps((done.returncode, done.stdout, done.stderr)))
"""


NAMES = ["gru", "drnn", "drnn-2"]


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """Return the folder of a finished zoo and the command's output."""
    place = tmp_path_factory.mktemp("zoo")
    code, printed, said = in_a_process(PROGRAM, place)
    assert code == 0, said
    return place, printed


def accuracies(place):
    """Return row to the accuracy of each seed, from the tables of the runs."""
    tables = [pd.read_csv(place / "zoo/runs" / name / "table.csv") for name in ("drnn", "drnn-2")]
    shares = [(own["n_correct"] / (own["n_items"] - own["n_undecidable"])).tolist() for own in tables]
    return dict(zip(tables[0]["construction"], zip(*shares, strict=True), strict=True))


def cut(value):
    return f"{int(round(value * 1000, 6)) / 1000:.3f}"


def test_the_board_holds_the_spread_of_every_mean(zoo):
    place, *_ = zoo
    board, seeds = json.loads((place / "tables/board.json").read_text()), accuracies(place)
    for row in board["rows"]:
        own = seeds[row["construction"]]
        assert (row["accuracy"]["drnn"], row["spread"]["drnn"]) == (cut(mean(own)), cut(stdev(own)))
    (model,) = (model for model in board["models"] if model["name"] == "drnn")
    of_seeds = [mean(one) for one in zip(*seeds.values(), strict=True)]
    assert model["spread"]["All rows"] == cut(stdev(of_seeds))
    assert re.fullmatch(r"[\d.]+ ± [\d.]+", model["validation_perplexity"])
    assert any(stdev(own) for own in seeds.values()), "seeds differ"


def test_no_mean_of_seeds_is_printed_without_its_spread(zoo):
    place, printed = zoo
    page = (place / "tables/README.md").read_text()
    table = call("table", "tables", cwd=place).stdout
    for text in (printed, page.partition("## With the published models")[0], table):
        lines = [
            line for line in text.splitlines() if re.match(r"\| (Simple|Twice|All 2 rows|Validation)", line)
        ]
        assert len(lines) >= 4
        for line in lines:
            assert line.count("± ") == 1, line
    assert "means over seeds (gru 1, drnn 2), ± the standard deviation between seeds." in page


def test_the_page_and_the_command_say_how_sure_the_means_are(zoo):
    place, printed = zoo
    page = (place / "tables/README.md").read_text()
    runs = [f"zoo/runs/{name}" for name in NAMES]
    grouped = call("table", "--group", *runs, cwd=place).stdout
    assert "## Seeds" in page
    for text in (printed, page):
        assert grouped.partition("\n- ")[0] in text
    assert "- Seeds: gru 1, drnn 2." in page


def test_what_needs_single_items_takes_the_entries_of_all_seeds(zoo):
    place, *_ = zoo
    runs = [f"zoo/runs/{name}" for name in NAMES]
    assert sorted(path.name for path in (place / "tables/entries").iterdir()) == sorted(NAMES)
    succeed("board", "check", "tables", cwd=place)
    for option in (("--group",), ("--by", "subject_number")):
        of_entries = call("table", *option, "tables", cwd=place).stdout
        assert of_entries == call("table", *option, *runs, cwd=place).stdout


def test_a_recipe_may_have_fewer_seeds_of_an_architecture(zoo):
    place, printed = zoo
    assert sorted(path.stem for path in (place / "zoo/models").glob("*.pt")) == sorted(NAMES)
    assert "- Seeds: gru 1, drnn 2." in printed
    page = (place / "tables/README.md").read_text()
    assert "    tseval train zoo --recipe tiny --arch gru --arch drnn --corpus DIR" in page
    table = page.partition("## The table")[2].splitlines()
    models, simple = (
        [cell.strip() for cell in next(line for line in table if line.startswith(start)).split("|")[2:-1]]
        for start in ("| marvin_linzen", "| Simple")
    )
    of = dict(zip(models, simple, strict=True))
    assert re.fullmatch(r"[\d.]+", of["gru"])
    assert re.fullmatch(r"[\d.]+ ± [\d.]+", of["drnn"])
