"""The tables of docs/zoo.md on the recipe `wide` follow from the counts on its board and from the paper."""

import json
import re
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import mean, variance
from typing import Any

import yaml
from scipy.stats import rankdata, spearmanr

ROOT = Path(__file__).parents[2]
PAGE = (
    (ROOT / "docs/zoo.md").read_text("utf-8").partition("### Of the recipe `wide`")[2].partition("\n### ")[0]
)
ZOO, PAPER = ROOT / "leaderboards/zoo-wide/entries", ROOT / "leaderboards/bhatt2020/entries"
IN_PAPER = {
    "srn": "SRN", "gru": "GRU", "lstm": "LSTM", "onlstm": "ON-LSTM",
    "drnn": "DRNN", "sdrnn": "SDRNN", "abdrnn": "Ab-DRNN",
}  # fmt: skip
NAMES = {of: name for name, of in IN_PAPER.items()} | {
    "ablated LSTM": "ablated-lstm", "EIRNN": "eirnn", "α by convolution": "drnn-cnn", "URN": "urn",
}  # fmt: skip
AGREEMENT, POLARITY = "Subject-verb agreement", "Negative polarity items"
PREFIXES = {AGREEMENT: "", "Reflexive anaphora": "reflexives: ", POLARITY: "polarity: "}


def table(beginning: str) -> list[list[str]]:
    """Find the table of the page whose first line begins so, and give its cells, the head first."""
    lines = PAGE[PAGE.index(f"\n{beginning}") + 1 :].splitlines()
    whole = next(list(group) for is_row, group in groupby(lines, lambda line: line.startswith("|")) if is_row)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (whole[0], *whole[2:])]


def label(row: dict[str, str]) -> str:
    """Name a row of the suite as the page does."""
    name = f"{PREFIXES[row['phenomenon']]}{row['construction']}"
    return f"{name} ({row['contrast'].replace(' > ', ' vs. ')})" if row["phenomenon"] == POLARITY else name


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return yaml.load((folder / "entry.yaml").read_text("utf-8"), yaml.CSafeLoader)["rows"]


@cache
def accuracies(entry: str) -> dict[str, Fraction]:
    """The accuracies of an entry by row, from its counts alone."""
    return {label(row): Fraction(row["n_correct"], row["n_items"]) for row in rows_of(ZOO / entry)}


@cache
def papers(architecture: str) -> dict[str, Fraction]:
    return {label(row): Fraction(row["accuracy"]) for row in rows_of(PAPER / IN_PAPER[architecture])}


@cache
def seeds(architecture: str) -> list[str]:
    return sorted(folder.name for folder in ZOO.iterdir() if re.sub(r"-\d$", "", folder.name) == architecture)


def over_agreement_of(by_row: dict[str, Fraction]) -> Fraction:
    """The mean accuracy over the ten rows of subject-verb agreement, whose names have no prefix."""
    of = [accuracy for row, accuracy in by_row.items() if ": " not in row]
    assert len(of) == 10
    return mean(of)


def over_agreement(entry: str) -> Fraction:
    return over_agreement_of(accuracies(entry))


def mean_ranks(models: list[dict[str, Fraction]]) -> list[str]:
    """The mean rank of each model among them over all rows; equals share the best of theirs."""
    ranks = [rankdata([-float(model[row]) for model in models], "min") for row in models[0]]
    return [cut(Fraction(int(sum(of_model)), len(ranks)), 2) for of_model in zip(*ranks, strict=True)]


def cut(value: Fraction | float, decimals: int = 3) -> str:
    """Print a share as the tables do, without the leading zero."""
    exact = Decimal(value) if isinstance(value, float) else Decimal(value.numerator) / value.denominator
    return str(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_FLOOR)).removeprefix("0")


def with_spread(values: list[Fraction]) -> str:
    spread = f" ± {cut(sqrt(variance(values)))}" if len(values) > 1 else ""
    return f"{cut(mean(values))}{spread}"


def test_the_rows_beside_the_papers():
    head, *rows = table("| | `lstm` | paper |")
    columns = [cell.strip("`") for cell in head[1::2]]
    assert sorted(columns) == sorted(IN_PAPER)
    assert [row[0] for row in rows] == list(accuracies("srn"))
    for name, *cells in rows:
        for architecture, ours, theirs in zip(columns, cells[::2], cells[1::2], strict=True):
            of_seeds = [accuracies(entry)[name] for entry in seeds(architecture)]
            assert ours.strip("*") == with_spread(of_seeds), (name, architecture)
            assert theirs == f"{float(papers(architecture)[name]):.2f}".removeprefix("0"), (
                name,
                architecture,
            )


def test_the_order_of_architectures():
    head, agreement, _, how_many, papers_agreement, ranks, _, papers_ranks = table("| | ON-LSTM | LSTM |")
    columns = [NAMES[cell] for cell in head[1:]]
    assert agreement[1:] == [
        with_spread([over_agreement(entry) for entry in seeds(architecture)]) for architecture in columns
    ]
    assert how_many[1:] == [str(len(seeds(architecture))) for architecture in columns]
    assert papers_agreement[1:] == [
        f"{float(over_agreement_of(papers(architecture))):.2f}".removeprefix("0") for architecture in columns
    ]
    assert ranks[1:] == mean_ranks([accuracies(architecture) for architecture in columns])
    assert papers_ranks[1:] == mean_ranks([papers(architecture) for architecture in columns])


def test_the_differences_of_means():
    _, *rows = table("| | difference | 95% interval | p |")
    for name, difference, *_ in rows:
        one, other = (
            mean(over_agreement(entry) for entry in seeds(NAMES[of]))
            for of in re.sub(r" \(.*", "", name).split(", ")
        )
        assert difference == cut(one - other), name


def test_seed_by_seed():
    _, *rows = table("| | agreement | 95% interval | less the first |")
    there = []
    for name, agreement, _, less, _, correlation, distance, perplexity, _ in rows:
        if name in NAMES:
            architecture = NAMES[name]
        entry = {"second": f"{architecture}-2", "third": f"{architecture}-3"}.get(name, architecture)
        there.append(entry)
        assert agreement == cut(over_agreement(entry)), entry
        manifest = json.loads((ZOO / entry / "manifest.json").read_text("utf-8"))
        assert perplexity == f"{manifest['model']['details']['validation_perplexity']:.1f}", entry
        if entry != architecture:
            apart = over_agreement(entry) - over_agreement(architecture)
            assert less.split()[0] == ("-" if apart < 0 else "") + cut(abs(apart)), entry
        if architecture in IN_PAPER:
            rows_compared = [row for row in papers(architecture) if not row.startswith(PREFIXES[POLARITY])]
            assert len(rows_compared) == 13
            ours = [float(accuracies(entry)[row]) for row in rows_compared]
            theirs = [float(papers(architecture)[row]) for row in rows_compared]
            assert correlation == f"{spearmanr(ours, theirs).statistic:.2f}".removeprefix("0"), entry
            away = mean(abs(one - other) for one, other in zip(ours, theirs, strict=True))
            assert distance == f"{away:.3f}".removeprefix("0"), entry
        else:
            assert correlation == distance == ""
    assert sorted(there) == sorted(folder.name for folder in ZOO.iterdir())
