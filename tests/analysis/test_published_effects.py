"""Garden-path effects from published surprisals: a design finds the words that its authors compared.

The SAP benchmark gives GPT-2's surprisal of every word, and names the three words of each sentence that
count: the one that resolves the ambiguity and two behind it.
"""

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import ttest_1samp
from supplied import GARDEN_PATHS

from tseval.analysis.measures import NATS_PER_BIT, mean_effects, mean_surprisals
from tseval.suites import load_suite
from tseval.verdicts import judge, sentences_of

PLACES = "critical", "critical+1", "critical+2"
BODY = "".join(
    f"{name}: {{{{ frame.{name} }}}} [critical {{{{ frame.critical }}}}] {{{{ frame.{name}_rest }}}}\n"
    for name in ("ambiguous", "clear")
)


@pytest.fixture(scope="module")
def words():
    return pd.read_csv(GARDEN_PATHS, sep="\t")


def entry(item, own):
    """One item of a lexicon: what stands before the verb that resolves its ambiguity, the verb, the rest."""
    forms = {"name": f"item {item}"}
    for ambiguous, sentence in own.groupby("ambiguous"):
        (at,) = np.flatnonzero(sentence["region"] == 0)
        name, text = "ambiguous" if ambiguous else "clear", sentence["word"].tolist()
        forms |= {name: " ".join(text[:at]), "critical": text[at], f"{name}_rest": " ".join(text[at + 1 :])}
    return forms


def scored_as_published(suite, words):
    """What a run would hold of every sentence, if the model were GPT-2 as published."""
    surprisal = {
        " ".join(own["word"]): -own["surprisal"].to_numpy(np.float32)
        for _, own in words.groupby(["construction", "item", "ambiguous"])
    }
    texts = sentences_of(suite).to_pylist()
    of_words = [surprisal[text] for text in texts]
    return pa.table(
        {
            "sentence": texts,
            "seen": texts,
            "logprob": [float(one.sum(dtype=np.float64)) for one in of_words],
            "words": pa.array(of_words, pa.list_(pa.float32())),
            "n_unknown": pa.array([0] * len(texts), pa.int32()),
        }
    )


@pytest.mark.parametrize("construction", ["NPS", "NPZ", "MVRR"])
def test_garden_path_effects_are_those_of_the_published_regions(words, construction, tmp_path):
    own = words[words["construction"] == construction]
    entries = [entry(item, of_item) for item, of_item in own.groupby("item")]
    (tmp_path / "lexicon.yaml").write_text(json.dumps({"frame": {"all": entries}}))
    (tmp_path / "suite.yaml").write_text("terminator: null\n")
    formulas = "".join(f"  {place}: ambiguous.{place} > clear.{place}\n" for place in PLACES)
    (tmp_path / "paths.jinja").write_text(
        f"---\nconstruction: {construction}\nphenomenon: Garden paths\nlexicon: lexicon.yaml\n"
        f"slots: {{frame: frame.all}}\nregions: critical\npredictions:\n{formulas}---\n{BODY}"
    )
    suite = load_suite(tmp_path)
    verdicts = judge(suite, scored_as_published(suite, own), suite.score).to_pandas()
    effects: Any = mean_effects(verdicts).set_index("contrast")
    surprisals: Any = mean_surprisals(verdicts).set_index(["condition", "region"])
    for number, place in enumerate(PLACES):
        published = (
            own[own["region"] == number].pivot(index="item", columns="ambiguous", values="surprisal")
            / NATS_PER_BIT
        )
        differences = (published[1] - published[0]).to_numpy()
        of_items = verdicts[verdicts["contrast"] == place]
        found = (of_items["better_score"] - of_items["worse_score"]).to_numpy() / NATS_PER_BIT
        np.testing.assert_allclose(found, differences, atol=1e-6)
        assert (len(found), of_items["correct"].sum()) == (24, (differences > 0).sum())
        interval = ttest_1samp(differences, 0).confidence_interval()
        row = effects.loc[place, ["value", "low", "high"]].to_numpy(float)
        np.testing.assert_allclose(row, [differences.mean(), *interval], rtol=1e-6)
        means = [surprisals.loc[(condition, place), "value"] for condition in ("ambiguous", "clear")]
        np.testing.assert_allclose(means, [published[1].mean(), published[0].mean()], rtol=1e-7)
    assert effects.loc["critical", "low"] > 0  # GPT-2 is led up every one of these garden paths
