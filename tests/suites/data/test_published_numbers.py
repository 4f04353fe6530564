"""Published numbers, from the authors' published scores and the items as tseval reads them."""

import csv
import gzip
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from supplied import AANN, N400

from tseval.suites import load_suite
from tseval.suites.data.catalogue import CATALOGUE


def rows_of(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def difference(surprisals, is_other, *groups):
    """Fit surprisal ~ condition + (1|group) + ... by maximum likelihood; return coefficient and error."""
    count = len(surprisals)
    design = np.column_stack([np.ones(count), is_other])
    alike = [np.array([[one == other for other in own] for one in own], dtype=float) for own in groups]

    def fitted(ratios):
        covariance = np.eye(count) + sum(np.exp(r) * same for r, same in zip(ratios, alike, strict=True))
        factor = np.linalg.cholesky(covariance)
        white, target = np.linalg.solve(factor, design), np.linalg.solve(factor, surprisals)
        found = np.linalg.lstsq(white, target, rcond=None)[0]
        variance = np.mean((target - white @ found) ** 2)
        deviance = count * np.log(variance) + 2 * np.log(np.diag(factor)).sum()
        return deviance, found, np.sqrt(variance * np.diag(np.linalg.inv(white.T @ white)))

    def of(ratios: Any) -> float:
        return float(fitted(ratios)[0])

    best = minimize(of, np.array([-0.5, 0.5]), method="Nelder-Mead", tol=1e-6)
    _, found, error = fitted(best.x)
    return found[1], error[1]


# Michaelov & Bergen 2020, `stats/CoNLL2020Submission.html`, 3.9 and 3.10: estimate and standard error.
@pytest.mark.parametrize(
    ("name", "model", "published"),
    [
        ("n400_pronouns", "grnn", (1.609245, 0.1232689)),
        ("n400_pronouns", "jrnn", (3.045422, 0.1930153)),
        ("n400_anomalies", "grnn", (4.777943, 0.481351)),
        ("n400_anomalies", "jrnn", (6.34269, 0.4929564)),
    ],
)
def test_differences_of_surprisal_between_conditions_are_the_published_ones(tmp_path, name, model, published):
    set_, rows = CATALOGUE[name], [row for row in rows_of(N400) if row["set"] == name]
    table = "".join(f'{row["condition"]},{row["frame"]},"{row["sentence"]}"\n' for row in rows)
    path = tmp_path / f"{name}.csv"
    path.write_text(f"Condition,SentenceFrame,Sentence\n{table}", encoding="utf-8")
    suite = load_suite(path, columns=set_.columns)
    assert (suite.digest, suite.n_items) == (set_.digest, set_.n_items)
    (case,) = suite.cases
    scores = {" ".join(row["sentence"].split()): row for row in rows}
    scored = [
        (float(scores[text][model]), label == "bad", item, scores[text]["word"])
        for label in case.labels
        for text, item in zip(
            case.sentences[label].to_pylist(), case.entries["item"].to_pylist(), strict=True
        )
        if scores[text][model]  # the GRNN does not know 28 of the words
    ]
    surprisals, is_bad, *groups = zip(*scored, strict=True)
    found = difference(np.array(surprisals), np.array(is_bad, dtype=float), *groups)
    assert found == pytest.approx(published, abs=2e-5)


def test_share_of_constructions_that_beat_their_four_corruptions_is_the_published_one(tmp_path):
    rows = rows_of(AANN)
    names = ("order_swap", "no_article", "no_modifier", "no_numeral")
    header = ("idx", "prefixes", "aann", *names)
    path = tmp_path / "aann.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, header, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    scores = {}
    for row in rows:
        for name, score in (("aann", "construction_score"), *((name, f"{name}_score") for name in names)):
            scores[row["idx"], f"{row['prefixes']} {row[name]}"] = float(row[score])
    right = {row["idx"]: True for row in rows}
    for name in names:
        suite = load_suite(path, columns={**CATALOGUE["aann"].columns, "bad": name})
        (case,) = suite.cases
        items = zip(case.entries["item"].to_pylist(), case.sentences.to_pylist(), strict=True)
        for item, texts in items:
            right[item] &= scores[item, texts["good"]] > scores[item, texts["bad"]]
    # Misra & Mahowald 2024, `paper/results12182023.csv`, first row.
    assert len(right) == 2027
    assert sum(right.values()) / len(right) == pytest.approx(0.6492353231376419, abs=1e-12)
