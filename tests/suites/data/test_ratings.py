"""Rated sentences: their formats, results from single ratings, and refused files."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small import write_file
from supplied import TURBLIMP_RATINGS

from tseval import load_suite
from tseval.analysis.measures import noise_ceiling

PEOPLE = {"ann": [7, 2, 6, 4], "bob": [5, 1, 5, 1], "cat": [6, 3, 4, 2]}
SENTENCES = ["no one laughs .", "laughs no one .", "the author laughs .", "the author laugh ."]


def features(path):
    """Return the features of the sentences in a file of one case."""
    (case,) = load_suite(path).cases
    return pd.DataFrame({"sentence": case.sentences["sentence"].to_pylist(), **case.features.to_pydict()})


def by_rater(people):
    rows = ["sentence,rating,rater"]
    return "\n".join(
        [
            *rows,
            *(f"{s},{r},{who}" for who, own in people.items() for s, r in zip(SENTENCES, own, strict=True)),
        ]
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv",
         'sentence,rating,rating_se,n,mood\n"no, one",6,0.5,8,calm\nb c,2,0,9,wild\nd,3.5,0.1,7,calm\n'),
        ("a.csv",
         "sentence;rating;rating_se;n;mood\nno, one;6;0.5;8;calm\nb c;2;0;9;wild\nd;3.5;.1;7;calm\n"),
        ("a.tsv", "sentence\trating\trating_se\tn\tmood\nno, one\t6\t0.5\t8\tcalm\nb  c\t2\t0\t9\twild\n"
         "d\t3.5\t1e-1\t7\tcalm\n"),
        ("a.jsonl", '{"sentence": "no, one", "rating": 6, "rating_se": 0.5, "n": 8, "mood": "calm"}\n'
         '{"sentence": "b c", "rating": 2.0, "rating_se": 0, "n": 9, "mood": "wild"}\n'
         '{"sentence": "d", "rating": 3.5, "rating_se": 0.1, "n": 7, "mood": "calm"}\n'),
    ],
)  # fmt: skip
def test_every_form_says_the_same(tmp_path, name, text):
    found = features(write_file(tmp_path / name, text))
    assert found.to_dict("list") == {
        "sentence": ["no, one", "b c", "d"], "rating": [6, 2, 3.5], "rating_se": [0.5, 0, 0.1],
        "n": [8, 9, 7], "mood": ["calm", "wild", "calm"],
    }  # fmt: skip
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert features(tmp_path / f"{name}.gz").equals(found)


def test_a_quoted_cell_may_have_line_breaks_and_quotes(tmp_path):
    found = features(write_file(tmp_path / "a.csv", 'sentence,rating\n"a ""b""\nc",1\nd,2\ne,3\n'))
    assert found["sentence"].tolist() == ['a "b" c', "d", "e"]


def test_rows_of_raters_are_means_with_errors(tmp_path):
    some = {"ann": [7, 2, 6, 4], "bob": [5, 1, 5, 1]}
    text = by_rater(some) + f"\n{SENTENCES[0]},3,cat\n"  # the last rater did not rate the others
    found = features(write_file(tmp_path / "a.csv", text))
    ratings = [[7, 5, 3], [2, 1], [6, 5], [4, 1]]
    assert found["rating"].tolist() == pytest.approx([np.mean(own) for own in ratings])
    assert found["rating_se"].tolist() == pytest.approx([stats.sem(own) for own in ratings])
    assert found["n"].tolist() == [3, 2, 2, 2]


def test_a_cell_of_ratings_is_rows_of_raters_nobody_named(tmp_path):
    text = 'sentence,ratings\na,7 5 3\nb,2;1\nc,"6,5"\nd,4\n'
    found = features(write_file(tmp_path / "a.csv", text))
    ratings = [7, 5, 3], [2, 1], [6, 5], [4]
    lines = [{"sentence": s, "ratings": own} for s, own in zip("abcd", ratings, strict=True)]
    as_json = features(write_file(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines))))
    assert found.equals(as_json)
    assert found["rating"].tolist() == [5, 1.5, 5.5, 4]
    assert found["rating_se"].tolist()[:3] == pytest.approx([stats.sem(own) for own in ratings[:3]])
    assert np.isnan(found["rating_se"][3])


def test_what_differs_among_raters_is_no_feature_of_the_sentence(tmp_path):
    rows = [
        (s, r, who, len(s), f"group of {who}")
        for who, own in PEOPLE.items()
        for s, r in zip(SENTENCES, own, strict=True)
    ]
    text = "sentence,rating,rater,length,group\n" + "\n".join(",".join(map(str, row)) for row in rows)
    found = features(write_file(tmp_path / "a.csv", text))
    assert list(found.columns) == ["sentence", "rating", "rating_se", "n", "length"]
    assert found["length"].tolist() == [len(s) for s in SENTENCES]


def test_people_who_rate_everything_are_allowed_to_be_strict(tmp_path):
    # If everybody rates every sentence, the reliability is Cronbach's alpha, at any rating level.
    table = np.array(list(PEOPLE.values()), dtype=float).T
    k = len(PEOPLE)
    alpha = k / (k - 1) * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))
    found = features(write_file(tmp_path / "a.csv", by_rater(PEOPLE)))
    ceiling = noise_ceiling(found["rating"].to_numpy(), found["rating_se"].to_numpy())
    assert ceiling == pytest.approx(np.sqrt(alpha), abs=1e-11)
    strict = PEOPLE | {"bob": [r - 3 for r in PEOPLE["bob"]]}
    again = features(write_file(tmp_path / "b.csv", by_rater(strict)))
    assert again["rating_se"].to_numpy() == pytest.approx(found["rating_se"].to_numpy())


def test_a_ceiling_needs_errors_and_spread():
    assert noise_ceiling(np.array([1.0, 2, 3]), np.array([0.1, np.nan, np.nan])) is None
    assert noise_ceiling(np.array([2.0, 2, 2]), np.full(3, 0.1)) is None
    assert noise_ceiling(np.array([1.0, 2, 3]), np.full(3, 5.0)) == 0


def test_the_published_sample_has_what_was_published():
    suite = load_suite(TURBLIMP_RATINGS)
    assert (len(suite.cases), suite.n_items, suite.has_accuracy) == (16, 192, False)
    means = pd.concat([pd.DataFrame(case.features.to_pydict()) for case in suite.cases])
    assert set(means["n"]) == {15}
    by = means.groupby("condition")["rating"].mean()
    assert by["good"] > 5.5
    assert by["bad"] < 3


ROWS = "sentence,rating\na,1\nb,2\nc,3\n"


def test_a_sentence_may_be_rated_in_two_cases(tmp_path):
    path = write_file(tmp_path / "a.csv", "sentence,rating,case\na,1,x\nb,2,x\na,3,y\n")
    assert [case.n_items for case in load_suite(path).cases] == [2, 1]


def test_ratings_and_items_are_in_the_digest_and_clusters_are_not(tmp_path):
    texts = ROWS, ROWS.replace("c,3", "c,4"), "sentence,rating,item\na,1,x\nb,2,x\nc,3,y\n"
    digests = [load_suite(write_file(tmp_path / "a.csv", text)).digest for text in texts]
    assert digests[0] == digests[2] != digests[1]
