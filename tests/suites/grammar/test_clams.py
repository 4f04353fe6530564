"""The grammars of CLAMS against the fifty published files, and what their items are known by."""

import hashlib
import json
import os
import re
import sys
from pathlib import Path

import pytest
from pages import follow
from supplied import CLAMS
from systems import needs_posix

from tseval.items import Case, Suite
from tseval.suites import available_suites, bundled_sizes, load_suite
from tseval.suites.data.catalogue import CATALOGUE

PAGE = Path(__file__).parents[3] / "docs/suites.md"
SUITES = {
    "en": "clams_english", "fr": "clams_french", "de": "clams_german",
    "he": "clams_hebrew", "ru": "clams_russian",
}  # fmt: skip
of_every_language = pytest.mark.parametrize("code", SUITES)
of_four_languages = pytest.mark.parametrize("code", ["fr", "de", "he", "ru"])

# Nouns of the long verb phrases, looked up one by one: sing or plur.
NOUNS = {
    "fr": "langues:p émissions:p télévision:s ans:p tennis:s collègues:p journal:s jours:p",
    "de": "Sprachen:p Fernsehprogramme:p Jahre:p Tennis:s Kollegen:p Tag:s Journal:s",
    "he": "שפות:p תוכניות:p טלוויזיה:s מרכז:s עיר:s כדורגל:s חברים:p יומן:s יום:s",
    "ru": "языков:p телепередачи:p спортом:s неделю:s теннис:s коллегами:p дневнике:s день:s",
}
# How many words the subject has: an article, where there is one, and a noun.
SUBJECT = {"fr": 2, "de": 2, "he": 2, "ru": 1}
AND = {"fr": " et ", "de": " und ", "he": " ו ", "ru": " и "}


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Suite]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return {code: load_suite(name) for code, name in SUITES.items()}


@of_every_language
def test_every_construction_has_the_published_pairs(code: str, suites: dict[str, Suite]) -> None:
    found = {}
    for case in suites[code].cases:
        good, bad = (case.sentences[label].to_pylist() for label in ("grammatical", "ungrammatical"))
        lines = sorted(map("\t".join, zip(good, bad, strict=True)))
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        found[case.name] = {"pairs": len(lines), "sha256_sorted": digest}
    assert found == json.loads(CLAMS.read_text("utf-8"))["languages"][code]


@of_every_language
def test_cases_and_end_are_those_of_the_set_that_can_be_fetched(code: str, suites: dict[str, Suite]) -> None:
    assert {f"{case.name}.txt" for case in suites[code].cases} == set(CATALOGUE[f"clams_{code}"].files)
    assert suites[code].terminator is None


def by_name(suite: Suite) -> dict[str, Case]:
    return {case.name: case for case in suite.cases}


@of_four_languages
def test_the_distance_is_the_words_between_subject_and_verb(code: str, suites: dict[str, Suite]) -> None:
    cases = by_name(suites[code])
    for name in ("vp_coord", "long_vp_coord", "prep_anim", "subj_rel", "obj_rel_across_anim"):
        for item in list(cases[name].items())[::37]:
            good, bad = (sentence.split() for sentence in item.sentences.values())
            verb = next(i for i, words in enumerate(zip(good, bad, strict=False)) if len(set(words)) == 2)
            assert item.features["distance"] == verb - SUBJECT[code], item.sentences


@of_four_languages
def test_attractors_are_the_nouns_between_of_the_other_number(code: str, suites: dict[str, Suite]) -> None:
    cases = by_name(suites[code])
    numbers = dict(noun.split(":") for noun in NOUNS[code].split())
    for item in cases["long_vp_coord"].items():
        first, _, _ = item.sentences["grammatical"].partition(AND[code])
        between = [numbers[word] for word in first.split() if word in numbers]
        own = str(item.features["number"])[0]
        assert item.features["n_intervening"] == len(between), first
        assert item.features["n_attractors"] == sum(number != own for number in between), first
    for name in ("prep_anim", "subj_rel", "obj_rel_across_anim"):
        features = cases[name].features.to_pydict()
        assert set(features["n_intervening"]) == {1}
        pairs = zip(features["other_number"], features["number"], strict=True)
        assert features["n_attractors"] == [int(other != number) for other, number in pairs]


@of_every_language
def test_the_verb_of_a_relative_clause_agrees_with_its_own_noun(code: str, suites: dict[str, Suite]) -> None:
    case = by_name(suites[code])["obj_rel_within_anim"]
    embedded = "embedded_number" if code == "en" else "other_number"
    assert case.features["number"] == case.features[embedded]


def test_the_page_counts_what_is_published() -> None:
    published = json.loads(CLAMS.read_text("utf-8"))["languages"]
    rows = re.findall(r"^\| .+? \| `(\w+)` \| (\d.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    counts = {case: dict(zip(SUITES, numbers.split(" | "), strict=True)) for case, numbers in rows}
    assert counts == {
        case: {code: f"{published[code][case]['pairs']:,}" for code in SUITES} for case in published["de"]
    }


def test_the_page_lists_every_suite_with_its_items() -> None:
    listed = re.findall(r"^\| `(\w+)` \| .+ \| ([\d,]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    sizes = {name: f"{bundled_sizes(name)[2]:,}" for name in available_suites()}
    assert {name: items for name, items in listed if name in sizes} == sizes


@needs_posix
def test_the_page_is_reproduced_by_its_command(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (command,) = follow(PAGE, tmp_path, os.environ | {"PATH": path})
    published = json.loads(CLAMS.read_text("utf-8"))["languages"]["de"]["simple_agrmt"]
    assert command.quoted == command.printed == f"{published['sha256_sorted']}  -"
