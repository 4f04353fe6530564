"""Properties that every bundled suite must have."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from pages import follow
from supplied import CLAMS, MARVIN_LINZEN, TABLE4
from systems import needs_posix

from tseval.items import Case, Suite
from tseval.suites import TEMPLATES, available_suites, bundled_sizes, load_suite
from tseval.suites.data.catalogue import CATALOGUE
from tseval.suites.grammar.folders import SUITE_FILE, read_folder
from tseval.suites.lint import lint

FOLDERS = sorted(path for path in TEMPLATES.iterdir() if path.is_dir())
BIG = {"agreement", "marvin_linzen", *(path.name for path in FOLDERS if path.name.startswith("clams_"))}
of_every_suite = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


@of_every_suite
def test_a_suite_is_listed_with_a_title_and_a_source(folder):
    assert folder.name in available_suites(), f"templates/{folder.name} has no {SUITE_FILE}"
    suite = read_folder(folder)
    assert suite.title != folder.name, f"templates/{folder.name}/{SUITE_FILE} has no title"
    assert suite.source, f"templates/{folder.name}/{SUITE_FILE} has no source"


@pytest.mark.slow
@of_every_suite
def test_a_suite_is_clean(folder):
    # Items of large suites equal the published ones, or are counted one by one; a sample is not balanced.
    sample = 500 if folder.name in BIG else None
    assert [one for one in lint(folder, sample=sample) if not sample or "unbalanced" not in str(one)] == []


@pytest.mark.slow
@of_every_suite
def test_every_grammar_says_how_many_items_it_has(folder):
    without = [grammar.name for grammar in read_folder(folder).load() if "items" not in grammar.expect]
    assert without == []


# The bundled suite against the digests of the published item files (LM_syneval, edb7378).
def sha256(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.fixture(scope="module")
def published():
    return json.loads(MARVIN_LINZEN.read_text())


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return load_suite("marvin_linzen")


@pytest.fixture(scope="module")
def lines(suite):
    return {case.name: ["\t".join(item.sentences.values()) for item in case.items()] for case in suite.cases}


@pytest.mark.slow
def test_every_condition_has_the_published_items_in_the_published_order(published, suite, lines):
    n_conditions = 0
    for case in suite.cases:
        by_condition: dict[str, list[str]] = {}
        conditions = case.features.column("condition").to_pylist()
        for condition, line in zip(conditions, lines[case.name], strict=True):
            by_condition.setdefault(condition, []).append(line)
        expected = published["cases"][case.name]["conditions"]
        assert by_condition.keys() == expected.keys()
        for key, rows in by_condition.items():
            assert len(rows) == expected[key]["items"], (case.name, key)
            assert sha256(sorted(rows)) == expected[key]["sha256_sorted"], (case.name, key)
            assert sha256(rows) == expected[key]["sha256_original_order"], (case.name, key)
        n_conditions += len(by_condition)
    assert n_conditions == published["totals"]["condition_keys"]


@pytest.mark.slow
def test_the_totals_are_the_published_ones(published, suite, lines):
    totals = published["totals"]
    distinct = {sentence for rows in lines.values() for line in rows for sentence in line.split("\t")}
    assert suite.n_items == totals["items"] == 163_124
    assert suite.n_contrasts == totals["minimal_pair_comparisons"] == 184_772
    assert len(distinct) == totals["unique_sentences"] == 279_252


@pytest.mark.slow
def test_rows_come_in_the_order_of_table_4(suite):
    table = json.loads(TABLE4.read_text())
    phenomena = {
        "SV Agreement": "Subject-verb agreement",
        "Reflexive Anaphora": "Reflexive anaphora",
        "Negative Polarity Items": "Negative polarity items",
    }
    expected = [
        ("short" if row["range"].startswith("Short") else "long", phenomena[row["phenomenon"]], case)
        for row in table["rows"]
        for case in row["cases"]
    ]
    found = [(case.dependency, case.phenomenon, case.name) for case in suite.cases]
    assert found == list(dict.fromkeys(expected))


@pytest.mark.slow
def test_pooled_cases_share_a_row_and_no_others_do(suite):
    table = json.loads(TABLE4.read_text())
    rows: dict[tuple[str | None, str, str], list[str]] = {}
    for case in suite.cases:
        rows.setdefault((case.dependency, case.phenomenon, case.construction), []).append(case.name)
    assert {tuple(cases) for cases in rows.values()} == {tuple(row["cases"]) for row in table["rows"]}
    assert sum(len(suite_contrasts(suite, cases[0])) for cases in rows.values()) == len(table["rows"])


def suite_contrasts(suite: Suite, name: str) -> tuple[str, ...]:
    (case,) = (case for case in suite.cases if case.name == name)
    return tuple(str(contrast) for contrast in case.contrasts)


@pytest.mark.slow
def test_the_distance_is_the_words_between_subject_and_verb(suite):
    # An independent count: in these cases, the target is the last word group and the subject the first.
    (case,) = (case for case in suite.cases if case.name == "obj_rel_across_anim")
    for item in list(case.items())[::97]:
        subject = str(item.features["subject"]) + ("s" if item.features["subject_number"] == "plur" else "")
        verb = len(str(item.features["verb"]).split())
        words = item.sentences["grammatical"].split()
        between = words[1 + len(subject.split()) : len(words) - verb]
        assert item.features["distance"] == len(between)


NUMBER_OF_NOUN = {
    **dict.fromkeys(["languages", "shows", "years", "colleagues"], "plur"),
    **dict.fromkeys(["tennis", "journal", "day"], "sing"),
}


@pytest.mark.slow
def test_intervening_nouns_and_attractors_are_counted_by_head_noun(suite):
    # Linzen et al. 2016: an attractor is an intervening noun of the other number.
    cases = {case.name: case for case in suite.cases}
    for item in cases["long_vp_coord"].items():
        sentence = item.sentences["grammatical"]
        nouns = [NUMBER_OF_NOUN[w] for w in sentence.split(" and ")[0].split() if w in NUMBER_OF_NOUN]
        assert item.features["n_intervening"] == len(nouns), sentence
        opposite = sum(number != item.features["subject_number"] for number in nouns)
        assert item.features["n_attractors"] == opposite, sentence
    for name in ("prep_anim", "subj_rel", "obj_rel_no_comp_across_inanim", "reflexives_across"):
        for item in list(cases[name].items())[::89]:
            assert item.features["n_intervening"] == 1
            mismatch = item.features["embedded_number"] != item.features["subject_number"]
            assert item.features["n_attractors"] == int(mismatch)


# The CLAMS grammars against the fifty published files, and the features of their items.
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
# The number of words of the subject: a noun, possibly with an article.
SUBJECT = {"fr": 2, "de": 2, "he": 2, "ru": 1}
AND = {"fr": " et ", "de": " und ", "he": " ו ", "ru": " и "}


@pytest.fixture(scope="module")
def suites(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return {code: load_suite(name) for code, name in SUITES.items()}


@pytest.mark.slow
@of_every_language
def test_every_construction_has_the_published_pairs(code, suites):
    found = {}
    for case in suites[code].cases:
        good, bad = (case.sentences[label].to_pylist() for label in ("grammatical", "ungrammatical"))
        lines = sorted(map("\t".join, zip(good, bad, strict=True)))
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        found[case.name] = {"pairs": len(lines), "sha256_sorted": digest}
    assert found == json.loads(CLAMS.read_text("utf-8"))["languages"][code]


@pytest.mark.slow
@of_every_language
def test_cases_and_end_are_those_of_the_set_that_can_be_fetched(code, suites):
    assert {f"{case.name}.txt" for case in suites[code].cases} == set(CATALOGUE[f"clams_{code}"].files)
    assert suites[code].terminator is None


def by_name(suite: Suite) -> dict[str, Case]:
    return {case.name: case for case in suite.cases}


@pytest.mark.slow
@of_four_languages
def test_the_distance_is_the_words_between_subject_and_verb_of_clams(code, suites):
    cases = by_name(suites[code])
    for name in ("vp_coord", "long_vp_coord", "prep_anim", "subj_rel", "obj_rel_across_anim"):
        for item in list(cases[name].items())[::37]:
            good, bad = (sentence.split() for sentence in item.sentences.values())
            verb = next(i for i, words in enumerate(zip(good, bad, strict=False)) if len(set(words)) == 2)
            assert item.features["distance"] == verb - SUBJECT[code], item.sentences


@pytest.mark.slow
@of_four_languages
def test_attractors_are_the_nouns_between_of_the_other_number(code, suites):
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


@pytest.mark.slow
@of_every_language
def test_the_verb_of_a_relative_clause_agrees_with_its_own_noun(code, suites):
    case = by_name(suites[code])["obj_rel_within_anim"]
    embedded = "embedded_number" if code == "en" else "other_number"
    assert case.features["number"] == case.features[embedded]


def test_the_page_counts_what_is_published():
    published = json.loads(CLAMS.read_text("utf-8"))["languages"]
    rows = re.findall(r"^\| .+? \| `(\w+)` \| (\d.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    counts = {case: dict(zip(SUITES, numbers.split(" | "), strict=True)) for case, numbers in rows}
    assert counts == {
        case: {code: f"{published[code][case]['pairs']:,}" for code in SUITES} for case in published["de"]
    }


@pytest.mark.slow
def test_the_page_lists_every_suite_with_its_items():
    listed = re.findall(r"^\| `(\w+)` \| .+ \| ([\d,]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    sizes = {name: f"{bundled_sizes(name)[2]:,}" for name in available_suites()}
    assert {name: items for name, items in listed if name in sizes} == sizes


@pytest.mark.slow
@needs_posix
def test_the_page_is_reproduced_by_its_command(tmp_path):
    (command,) = follow(PAGE, tmp_path)
    published = json.loads(CLAMS.read_text("utf-8"))["languages"]["de"]["simple_agrmt"]
    assert command.quoted == command.printed == f"{published['sha256_sorted']}  -"
