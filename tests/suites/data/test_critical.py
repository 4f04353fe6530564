"""Data without factors: items share the words in which their sentences differ."""

import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from in_process import call, refused, succeeded
from scipy.stats import t as student

import tseval
from tseval.analysis.design import Design, Factors
from tseval.analysis.estimates import estimate
from tseval.items import cluster_by
from tseval.scoring.protocol import ModelCard
from tseval.suites.data.critical import cluster_data, critical_words, with_critical

VERBS = ("laugh", "swim", "smile", "wait", "run", "sing", "jump")


class ByVerb:
    """A model that prefers the correct form of a verb in a share of sentences that differs by verb."""

    def __init__(self, shares):
        self.card = ModelCard("by-verb", "own", "0" * 64, {}, {"architecture": "a rule", "device": "cpu"})
        self.shares = shares

    def word_logprobs(self, sentences):
        return [[self._last(words) if place == len(words) - 1 else -1.0 for place in range(len(words))]
                for words in map(str.split, sentences)]  # fmt: skip

    def _last(self, words):
        stem = words[-1].removesuffix("s")
        draw = int(sha256(f"{words[1].removesuffix('s')} {stem}".encode()).hexdigest()[:8], 16) / 2**32
        right = words[1].endswith("s") != words[-1].endswith("s")
        return -1.0 if right == (draw < self.shares[stem]) else -2.0


def rows_of(verbs, n_each, more=()):
    """Write singular and plural pairs, in which the same words differ in opposite directions."""
    rows = [",".join(["good", "bad", *more])]
    for verb in verbs:
        for n in range(n_each):
            forms = (f"the n{n} {verb}s", f"the n{n} {verb}")
            pair = forms if n % 2 else [text.replace(f"n{n}", f"n{n}s") for text in forms[::-1]]
            rows.append(
                ",".join(
                    [*pair, *(str({"verb": verb, "item": len(rows), "length": n % 7}[name]) for name in more)]
                )
            )
    return "\n".join(rows) + "\n"


@pytest.fixture
def seven(tmp_path):
    path = tmp_path / "seven.csv"
    path.write_text(rows_of(VERBS, 60))
    return path


@pytest.mark.parametrize(
    ("sentences", "words"),
    [
        (("the author laughs", "the author laugh"), "laugh/laughs"),
        (("the authors laugh", "the authors laughs"), "laugh/laughs"),
        (("The author laughs.", "The author laugh."), "laugh/laughs"),
        (("Laughs the author?", "laugh the author?"), "laugh/laughs"),
        (("the author has ever laughed", "the author has laughed"), "ever/–"),
        (("no author saw most guards", "most author saw no guards"), "most no/no most"),
        (("his own sister", "her own sister", "its own sister"), "her/his/its"),
        (("the same", "the same"), None),
        (("गाता है।", "गाती है।"), "गाता/गाती"),
    ],
)
def test_the_words_that_differ_name_an_entry_whichever_is_right(sentences, words):
    assert critical_words(sentences) == words


def test_seven_verbs_have_the_interval_of_seven_verbs(seven):
    shares = dict(zip(VERBS, (0.95, 0.4, 0.8, 0.6, 0.9, 0.5, 0.75), strict=True))
    run = tseval.evaluate(ByVerb(shares), seven)
    (row,) = run.tally()[0].to_dict("records")
    of_verbs = run.verdicts["correct"].to_numpy(float).reshape(7, 60).mean(axis=1)
    p, variance = of_verbs.mean(), of_verbs.var(ddof=1) / 7
    n, q = p * (1 - p) / variance, student.ppf(0.975, 6)
    centre, half = (
        (p + q**2 / (2 * n)) / (1 + q**2 / n),
        q * np.sqrt(p * (1 - p) / n + q**2 / (4 * n**2)) / (1 + q**2 / n),
    )
    assert (row["accuracy"], row["low"], row["high"]) == pytest.approx(
        (p, centre - half, centre + half), rel=1e-9
    )
    assert row["clusters"] == {"critical": 7}
    assert row["high"] - row["low"] > 0.28


def test_it_is_named_in_the_note_and_in_the_manifest(seven):
    done = succeeded(
        call("run", "--model", "bundled:lstm", "--suite", "seven.csv", "-o", "run", cwd=seven.parent)
    )
    assert (
        "The data name no lexical factors, so items whose sentences differ in the same words form one "
        "cluster (critical); --cluster none treats items as independent."
    ) in done.stdout
    assert "clustered by lexicon entry: critical" in (seven.parent / "run/table.md").read_text("utf-8")
    assert json.loads((seven.parent / "run/manifest.json").read_text())["suite"]["inferred"] == "critical"
    succeeded(call("verify", "run", "--suite", "seven.csv", cwd=seven.parent))


def test_the_inferred_factor_may_stand_beside_a_column(tmp_path):
    (tmp_path / "verbs.csv").write_text(rows_of(VERBS, 20, ["verb", "length"]))
    suite = cluster_data(tseval.load_suite(tmp_path / "verbs.csv"), ["critical", "length"])
    assert suite.cases[0].entries.column_names == ["critical", "length"]
    assert (suite.clusters, suite.inferred) == (("critical", "length"), None)


def test_clams_clusters_by_sentence_and_words(tmp_path):
    (tmp_path / "en_evalset").mkdir()
    lines = [f"True\tthe n {verb}s\nFalse\tthe n {verb}\nFalse\tthe n {verb}ing\n" for verb in VERBS * 2]
    (tmp_path / "en_evalset/simple_agrmt.txt").write_text("".join(lines))
    suite = with_critical(tseval.load_suite(tmp_path / "en_evalset"))
    assert suite.cases[0].entries.column_names == ["sentence", "critical"]


def test_fewer_than_five_are_fixed_and_said_to_be(tmp_path):
    (tmp_path / "four.csv").write_text(rows_of(VERBS[:4], 20))
    done = succeeded(call("run", "--model", "bundled:lstm", "--suite", "four.csv", "-o", "run", cwd=tmp_path))
    assert "Fewer than 5 different entries in a row (critical)" in done.stdout
    (row,) = tseval.read_run(tmp_path / "run").tally()[0].to_dict("records")
    assert (row["clusters"], row["fixed"]) == ({}, ("critical",))


def test_cluster_none_takes_items_as_independent_and_is_kept_and_verified(seven):
    where = {"cwd": seven.parent}
    succeeded(
        call(
            "run",
            "--model",
            "bundled:lstm",
            "--suite",
            "seven.csv",
            "--cluster",
            "none",
            "-o",
            "run",
            **where,
        )
    )
    run = tseval.read_run(seven.parent / "run")
    assert run.manifest.suite.clusters == ("none",)
    (row,) = run.tally()[0].to_dict("records")
    assert (row["clusters"], row["fixed"]) == ({}, ())
    succeeded(call("verify", "run", "--suite", "seven.csv", **where))
    both = ["--cluster", "none", "--cluster", "verb"]
    said = refused(call("run", "--model", "bundled:lstm", "--suite", "seven.csv", *both, **where)).stderr
    assert (
        "--cluster none treats all items as independent, so no other --cluster can be added.\n  Leave out "
        "the other"
    ) in said


def test_accuracies_and_digest_do_not_move(seven):
    suite = tseval.load_suite(seven)
    alone = cluster_by(suite, ["none"])
    assert with_critical(suite).inferred == "critical"
    assert suite.digest == alone.digest
    one, other = (tseval.evaluate("bundled:lstm", own).tally()[0] for own in (suite, alone))
    assert list(one["accuracy"]) == list(other["accuracy"])
    assert one["high"].item() - one["low"].item() >= other["high"].item() - other["low"].item()


def test_what_data_say_themselves_comes_first_but_numbers_of_single_items_say_nothing(tmp_path):
    (tmp_path / "named.csv").write_text(rows_of(VERBS, 10, ["verb"]).replace("verb\n", "verb.entry\n", 1))
    (tmp_path / "numbered.csv").write_text(rows_of(VERBS, 10, ["item"]))
    named, numbered = (
        with_critical(tseval.load_suite(tmp_path / f"{name}.csv")) for name in ("named", "numbered")
    )
    assert (named.inferred, named.cases[0].entries.column_names) == (None, ["verb"])
    assert (numbered.inferred, numbered.cases[0].entries.column_names) == ("critical", ["item", "critical"])


def test_pairs_that_share_no_words_stay_independent(tmp_path):
    (tmp_path / "all.csv").write_text("good,bad\nit laughs,it laugh\nit swims,it swim\n")
    suite = with_critical(tseval.load_suite(tmp_path / "all.csv"))
    assert suite.inferred is None
    assert not suite.cases[0].entries.num_columns


def test_columns_that_many_items_share_are_proposed(tmp_path):
    (tmp_path / "verbs.csv").write_text(rows_of(VERBS, 20, ["verb", "length"]))
    done = succeeded(
        call("run", "--model", "bundled:lstm", "--suite", "verbs.csv", "-o", "run", cwd=tmp_path)
    )
    assert (
        "many items share a value in these columns: verb: 7 values in 140 items: --cluster verb"
        in done.stdout + done.stderr
    )
    again = ["--cluster", "verb", "-o", "other"]
    done = succeeded(call("run", "--model", "bundled:lstm", "--suite", "verbs.csv", *again, cwd=tmp_path))
    assert "many items share a value" not in done.stderr


def test_a_run_from_before_there_was_such_a_factor_still_holds(seven):
    as_it_was = replace(tseval.load_suite(seven), files=None)  # without files, no factors are inferred
    tseval.evaluate("bundled:lstm", as_it_was, out=seven.parent / "old")
    assert "inferred" not in (seven.parent / "old/manifest.json").read_text()
    found = succeeded(call("verify", "old", "--suite", "seven.csv", cwd=seven.parent)).stdout
    assert "lexical factors are not recorded, as in old runs" in found


@pytest.mark.parametrize(("n_verbs", "n_each"), [(7, 40), (20, 20)])
def test_intervals_hold_for_other_verbs(n_verbs, n_each):
    # In plain numpy: verbs have accuracies from a beta distribution with mean .7, which is the truth.
    random, held, alone, draws = np.random.default_rng(4), 0, 0, 400
    design = Design.of(Factors(("critical",), np.repeat(np.arange(n_verbs), n_each)[:, None]))
    everything = np.ones(n_verbs * n_each, bool)
    for _ in range(draws):
        shares = np.repeat(random.beta(7, 3, n_verbs), n_each)
        found = estimate(random.random(len(shares)) < shares, everything, design)
        held += found.low <= 0.7 <= found.high
        half = 1.96 * np.sqrt(found.value * (1 - found.value) / len(shares))
        alone += abs(found.value - 0.7) <= half
    assert 0.92 < held / draws < 0.985
    assert alone / draws < 0.8  # the result if items are treated as independent
