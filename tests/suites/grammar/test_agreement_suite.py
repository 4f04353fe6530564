"""The bundled suite `agreement`: counted from its sentences, word by word, against what it says of itself."""

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
PLACES = ["near", "behind", "beside", "with", "before", "after", "opposite"]
NUMBER_OF = dict.fromkeys(SUBJECTS + BETWEEN, "sing") | {f"{n}s": "plur" for n in SUBJECTS + BETWEEN}
MAIN = ["laugh", "swim", "smile", "run", "arrive", "speak", "write"]
LONG = ("pp", "subject_rc", "object_rc", "mixed")
PER_CELL = 210

pytestmark = pytest.mark.slow  # the suite is expanded anew


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
        assert {verb, item.sentences["ungrammatical"].split()[-1]} == {
            verb.removesuffix("s"), f"{verb.removesuffix('s')}s"
        }  # fmt: skip
        assert features["n_intervening"] == len(others)
        assert features["n_attractors"] == sum(other != number for other in others)
        assert features["n_non_attractors"] == sum(other == number for other in others)
        assert features["distance"] == len(words) - 3  # the, the subject, the verb


def test_every_cell_of_the_grid_is_there_and_as_large_as_any_other(cases):
    for name in LONG:
        found = Counter(
            (item.features["n_intervening"], item.features["n_attractors"]) for item in cases[name]
        )
        least = 2 if name == "mixed" else 1
        assert found == {(n, k): PER_CELL for n in range(least, 8) for k in range(n + 1)}
    assert len(cases["simple"]) == 7 * 2 * 7


@pytest.mark.parametrize("name", LONG)
def test_in_every_cell_each_word_is_used_equally_often_in_each_place(cases, name):
    cells = {}
    for item in cases[name]:
        key = item.features["n_intervening"], item.features["n_attractors"]
        cells.setdefault(key, []).append(item)
    for (n, k), items in cells.items():
        texts = [item.sentences["grammatical"].split() for item in items]
        assert set(Counter(words[1] for words in texts).values()) == {PER_CELL // 14}  # both numbers
        assert set(Counter(words[-1].removesuffix("s") for words in texts).values()) == {PER_CELL // 7}
        places = zip(*([word for word in words if word in NUMBER_OF][1:] for words in texts), strict=True)
        for place in places:
            assert set(Counter(word.removesuffix("s") for word in place).values()) == {PER_CELL // 10}
        attracts = zip(
            *([other != nouns(words)[0] for other in nouns(words)[1:]] for words in texts), strict=True
        )
        for place in attracts:
            # 4 does not divide 210: there a place may hold one attractor more or less.
            assert abs(sum(place) - PER_CELL * k / n) <= (1 if n == 4 else 0)


def test_each_preposition_is_used_equally_often_in_each_place_of_a_chain(cases):
    for n in range(1, 8):
        chains = [item.features for item in cases["pp"] if item.features["n_intervening"] == n]
        for place in zip(*(chain["prepositions"].split(", ") for chain in chains), strict=True):
            assert Counter(place) == dict.fromkeys(PLACES, PER_CELL // 7 * (n + 1))


@pytest.mark.parametrize("name", LONG)
def test_each_noun_stands_in_each_place_about_equally_often_in_each_number(cases, name):
    counts = {}
    for item in cases[name]:
        between = [word for word in item.sentences["grammatical"].split() if word in NUMBER_OF][1:]
        for place, word in enumerate(between):
            counts.setdefault(place, Counter())[word] += 1
    for place, found in counts.items():
        assert found.keys() == set(NUMBER_OF) - {w for s in SUBJECTS for w in (s, f"{s}s")}
        mean = found.total() / 20
        # Chance decides which lemma is singular where: four standard deviations of a fair draw.
        assert all(abs(count - mean) < 4 * mean**0.5 for count in found.values()), place


def test_the_bundled_model_knows_every_word(cases):
    model: Any = open_model("bundled:lstm", {}, "cpu")
    texts = {text for items in cases.values() for item in items for text in item.sentences.values()}
    assert {word for text in texts for word in text.split()} <= set(model.vocabulary.words)
