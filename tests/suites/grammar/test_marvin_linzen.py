"""The bundled suite against the digests of the published item files (LM_syneval, edb7378)."""

import hashlib
import json

import pytest
from supplied import MARVIN_LINZEN, TABLE4

from tseval.items import Suite
from tseval.suites import TEMPLATES, load_suite
from tseval.suites.grammar import read_folder


def sha256(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.fixture(scope="module")
def published() -> dict:
    return json.loads(MARVIN_LINZEN.read_text())


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return load_suite("marvin_linzen")


@pytest.fixture(scope="module")
def lines(suite: Suite) -> dict[str, list[str]]:
    return {case.name: ["\t".join(item.sentences.values()) for item in case.items()] for case in suite.cases}


def test_every_case_has_the_published_items(published: dict, lines: dict[str, list[str]]) -> None:
    found = {name: (len(rows), sha256(sorted(rows))) for name, rows in lines.items()}
    assert found == {
        name: (case["items"], case["sha256_all_lines_sorted"]) for name, case in published["cases"].items()
    }


def test_every_condition_has_the_published_items_in_the_published_order(
    published: dict, suite: Suite, lines: dict[str, list[str]]
) -> None:
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


def test_the_totals_are_the_published_ones(
    published: dict, suite: Suite, lines: dict[str, list[str]]
) -> None:
    totals = published["totals"]
    distinct = {sentence for rows in lines.values() for line in rows for sentence in line.split("\t")}
    assert suite.n_items == totals["items"] == 163_124
    assert suite.n_contrasts == totals["minimal_pair_comparisons"] == 184_772
    assert len(distinct) == totals["unique_sentences"] == 279_252


def test_rows_come_in_the_order_of_table_4(suite: Suite) -> None:
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


def test_pooled_cases_share_a_row_and_no_others_do(suite: Suite) -> None:
    table = json.loads(TABLE4.read_text())
    rows: dict[tuple[str | None, str, str], list[str]] = {}
    for case in suite.cases:
        rows.setdefault((case.dependency, case.phenomenon, case.construction), []).append(case.name)
    assert {tuple(cases) for cases in rows.values()} == {tuple(row["cases"]) for row in table["rows"]}
    assert sum(len(suite_contrasts(suite, cases[0])) for cases in rows.values()) == len(table["rows"])


def suite_contrasts(suite: Suite, name: str) -> tuple[str, ...]:
    (case,) = (case for case in suite.cases if case.name == name)
    return tuple(str(contrast) for contrast in case.contrasts)


def test_polarity_items_count_three_contrasts(suite: Suite) -> None:
    assert suite_contrasts(suite, "simple_npi_anim") == (
        "grammatical > intrusive",
        "intrusive > ungrammatical",
        "grammatical > ungrammatical",
    )


def test_the_distance_is_the_words_between_subject_and_verb(suite: Suite) -> None:
    # An independent count: in these cases the target is the last word group, and the subject the first.
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


def test_intervening_nouns_and_attractors_are_counted_by_head_noun(suite: Suite) -> None:
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


def test_every_grammar_promises_items_and_one_example_of_each_label() -> None:
    for grammar in read_folder(TEMPLATES / "marvin_linzen").load():
        assert grammar.expect.keys() == {"items", *grammar.labels}, grammar.name
