"""The bundled suite `agreement`: counts of its sentences, word by word, against its own features."""

from collections import Counter
from typing import Any

import pytest

from tseval.adapters import open_model
from tseval.suites import load_suite

SUBJECTS = ["author", "pilot", "surgeon", "farmer", "teacher", "senator", "manager"]
BETWEEN = [
    "guard", "chef", "architect", "skater", "dancer", "minister", "driver", "assistant", "executive",
    "parent",
]  # fmt: skip
NUMBER_OF = dict.fromkeys(SUBJECTS + BETWEEN, "sing") | {f"{n}s": "plur" for n in SUBJECTS + BETWEEN}
MAIN = ["laugh", "swim", "smile", "run", "arrive", "speak", "write"]
LONG = ("pp", "subject_rc", "object_rc", "mixed")
PER_CELL = 210

pytestmark = pytest.mark.slowest  # the suite is expanded again


@pytest.fixture(scope="module")
def cases():
    return {case.name: list(case.items()) for case in load_suite("agreement").cases}


def nouns(words):
    return [NUMBER_OF[word] for word in words if word in NUMBER_OF]


def test_every_feature_can_be_counted_in_the_sentence(cases):
    for item in (item for name in cases for item in cases[name]):
        words = item.sentences["grammatical"].split()
        number, *others = nouns(words)
        verb = words[-1]
        features = item.features
        assert features["number"] == number
        assert (verb.endswith("s"), verb.removesuffix("s") in MAIN) == (number == "sing", True)
        assert item.sentences["ungrammatical"].split()[:-1] == words[:-1]
        stem = verb.removesuffix("s")
        assert {verb, item.sentences["ungrammatical"].split()[-1]} == {stem, f"{stem}s"}
        assert features["n_intervening"] == len(others)
        assert features["n_attractors"] == sum(other != number for other in others)
        assert features["n_non_attractors"] == sum(other == number for other in others)
        assert features["distance"] == len(words) - 3  # without: the, the subject, the verb


def test_every_cell_of_the_grid_is_there_and_as_large_as_any_other(cases):
    for name in LONG:
        features = [item.features for item in cases[name]]
        found = Counter((own["n_intervening"], own["n_attractors"]) for own in features)
        least = 2 if name == "mixed" else 1
        assert found == {(n, k): PER_CELL for n in range(least, 8) for k in range(n + 1)}
    assert len(cases["simple"]) == 7 * 2 * 7


def test_the_bundled_model_knows_every_word(cases):
    model: Any = open_model("bundled:lstm", {}, "cpu")
    texts = {text for items in cases.values() for item in items for text in item.sentences.values()}
    assert {word for text in texts for word in text.split()} <= set(model.vocabulary.words)
