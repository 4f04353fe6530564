"""Views of a suite, checked on its own sentences."""

import csv
import gzip
import io
from typing import Any

import pandas as pd
import pytest
from in_process import call, succeed
from small import write_lines

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.tables import open_table

PAIRS = [
    {
        "good": "the author near the guards laughs now",
        "bad": "the author near the guards laugh now",
        "number": "sing",
    },
    {"good": "the pilots are tall", "bad": "the pilots is tall", "number": "plur"},
]


def write(folder, records):
    return write_lines(folder / "pairs.jsonl", records)


@pytest.fixture
def pairs(tmp_path):
    return write(tmp_path, PAIRS)


def sentences(suite):
    return [tuple(item.sentences.values()) for case in suite.cases for item in case.items()]


def test_number_puts_a_number_word_in_the_place_of_the_critical_word(pairs):
    suite = load_suite(f"{pairs}:number")
    assert sentences(suite) == [
        ("the author near the guards <singular>", "the author near the guards <plural>"),
        ("the pilots <plural>", "the pilots <singular>"),
    ]
    assert (suite.name, suite.score, suite.terminator) == ("pairs_number", "ending", None)
    assert [str(contrast) for contrast in suite.cases[0].contrasts] == ["right > wrong"]


def test_a_judgement_shows_one_whole_version_of_an_item_and_says_which():
    plain = load_suite("marvin_linzen", cases="simple_agrmt")
    suite = load_suite("marvin_linzen:judgement", cases="simple_agrmt")
    shown = set()
    for item, (right, wrong) in zip(plain.cases[0].items(), sentences(suite), strict=True):
        version, judgement = right.rsplit(" ", 1)
        assert judgement in {"<grammatical>", "<ungrammatical>"}
        assert version == f"{item.sentences[judgement.strip('<>')]} ."
        assert {judgement, wrong.removeprefix(f"{version} ")} == {"<grammatical>", "<ungrammatical>"}
        shown.add(judgement)
    assert shown == {"<grammatical>", "<ungrammatical>"}
    told = suite.cases[0].features["shown"].to_pylist()
    assert told == [right.rsplit(" ", 1)[1].strip("<>") for right, _ in sentences(suite)]


def test_which_version_is_shown_depends_on_seed_and_item_alone():
    options: dict[str, Any] = {"cases": "sent_comp"}
    whole = dict(enumerate(sentences(load_suite("marvin_linzen:judgement", **options))))
    drawn = load_suite("marvin_linzen:judgement", sample=50, **options)
    assert sentences(drawn) == [whole[index] for index in drawn.cases[0].index.to_pylist()]
    other = sentences(load_suite("marvin_linzen:judgement", seed=1, **options))
    agreeing = sum(a == b for a, b in zip(whole.values(), other, strict=True))
    assert 0.4 < agreeing / len(other) < 0.6
    counts = [text for text, _ in whole.values() if text.endswith(" <grammatical>")]
    assert 0.48 < len(counts) / len(whole) < 0.52


def test_a_profile_has_a_row_for_every_beginning_up_to_the_critical_word(pairs):
    suite = load_suite(f"{pairs}:profile")
    assert sentences(suite) == [
        ("the laughs", "the laugh"), ("the author laughs", "the author laugh"),
        ("the author near laughs", "the author near laugh"),
        ("the author near the laughs", "the author near the laugh"),
        ("the author near the guards laughs", "the author near the guards laugh"), ("the are", "the is"),
        ("the pilots are", "the pilots is"),
    ]  # fmt: skip
    (case,) = suite.cases
    assert case.index.to_pylist() == [0] * 5 + [1] * 2
    assert case.features["position"].to_pylist() == [1, 2, 3, 4, 5, 1, 2]
    assert case.features["word"].to_pylist() == ["the", "author", "near", "the", "guards", "the", "pilots"]
    assert set(case.features["ending"].to_pylist()) == {1}


def test_a_number_profile_asks_for_the_number_in_the_same_places(pairs):
    forms, numbers = (sentences(load_suite(f"{pairs}:{view}")) for view in ("profile", "number_profile"))
    prefixes = [[text.rsplit(" ", 1)[0] for text, _ in each] for each in (forms, numbers)]
    assert prefixes[0] == prefixes[1]
    assert [right.rsplit(" ", 1)[1] for right, _ in numbers] == ["<singular>"] * 5 + ["<plural>"] * 2
    assert numbers[0] == ("the <singular>", "the <plural>")


def test_a_feature_with_the_name_of_a_new_one_gives_way(tmp_path):
    records = [record | {"position": 7, "ending": 3} for record in PAIRS]
    case = load_suite(f"{write(tmp_path, records)}:profile").cases[0]
    assert case.features.column_names == ["number", "ending", "position", "word"]
    assert case.features["position"].to_pylist() == [1, 2, 3, 4, 5, 1, 2]


def test_every_view_and_every_seed_of_a_judgement_has_a_digest_of_its_own(pairs):
    views = "number", "judgement", "profile", "number_profile"
    specs = [str(pairs), *(f"{pairs}:{view}" for view in views)]
    assert len({load_suite(spec).digest for spec in specs}) == len(specs)
    spec = "marvin_linzen:judgement"
    assert load_suite(spec, cases="sent_comp").digest != load_suite(spec, cases="sent_comp", seed=1).digest


def test_a_view_can_be_written_out_and_run(pairs, tmp_path):
    assert call("expand", f"{pairs}:number", "-o", tmp_path / "items.tsv").returncode == 0
    header, _, second = (tmp_path / "items.tsv").read_text().splitlines()
    assert header.split("\t")[0] == "case"
    assert second == "pairs\tthe pilots <plural>\tthe pilots <singular>"
    run = "run", "--model", "bundled:lstm", "--suite", f"{pairs}:profile", "--by", "position"
    assert "pairs_profile" in succeed(*run, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("marvin_linzen:judgement", {"cases": ("sent_comp", "simple_npi_anim")},
         r"case 'simple_npi_anim' compares more than two sentences.*\n  Choose other cases with --case"),
        ("marvin_linzen:numbr", {}, r"marvin_linzen: no method 'numbr'.\n  Did you mean 'number'\? "
         r"Methods: inflection, judgement, judgement_both, number, number_profile, profile."),
        ("marvin_linzen:number:profile", {}, "there is no suite 'marvin_linzen:number'"),
    ],
)  # fmt: skip
def test_a_view_that_a_suite_cannot_give_says_why(spec, options, message):
    with pytest.raises(SuiteError, match=message):
        load_suite(spec, **options)


@pytest.mark.slow
def test_the_number_is_that_of_the_noun_which_the_form_of_the_verb_depends_on():
    """The oracle is the verb: in the pairs of forms of the published items, the form in -s is singular."""
    suite, plain = (load_suite(f"marvin_linzen{view}", sample=150) for view in (":number", ""))
    assert len(suite.cases) == 18
    by_name = {case.name: case for case in plain.cases}
    for case in suite.cases:
        texts = by_name[case.name].sentences
        found = set()
        for good, bad, right in zip(
            texts["grammatical"].to_pylist(), texts["ungrammatical"].to_pylist(),
            case.sentences["right"].to_pylist(), strict=True,
        ):  # fmt: skip
            form, other = next((a, b) for a, b in zip(good.split(), bad.split(), strict=True) if a != b)
            found.add((form, other, right.rsplit(" ", 1)[1]))
        for form, other, number in found:
            singular = {form, other} & {"is", "himself", "herself"} or {max(form, other, key=len)}
            assert (number == "<singular>") == (form in singular), (case.name, form, other)


def test_where_two_nouns_could_choose_the_form_more_items_tell(tmp_path):
    """In two items, either noun may decide; a third item, in which the other noun differs, shows which."""
    rows = [
        ("the author near the guards", "laughs", "laugh", "sing", "plur", "sing"),
        ("the authors near the guard", "laugh", "laughs", "plur", "sing", "sing"),
        ("the author near the guard", "laughs", "laugh", "sing", "sing", "sing"),
    ]
    names = ("subject_number", "embedded_number", "speaker_number")
    records = [
        {"good": f"{before} {right}", "bad": f"{before} {wrong}", **dict(zip(names, numbers, strict=True))}
        for before, right, wrong, *numbers in rows
    ]
    asked = sentences(load_suite(f"{write(tmp_path, records)}:number"))
    assert [right.rsplit(" ", 1)[1] for right, _ in asked] == ["<singular>", "<plural>", "<singular>"]
    with pytest.raises(SuiteError, match="has no feature 'number'"):
        load_suite(f"{write(tmp_path, records[:2])}:number")


def test_both_sentences_of_a_pair_are_judged(pairs):
    both, one = load_suite(f"{pairs}:judgement_both"), load_suite(f"{pairs}:judgement")
    assert sentences(both)[:2] == [
        (f"{PAIRS[0]['good']} <grammatical>", f"{PAIRS[0]['good']} <ungrammatical>"),
        (f"{PAIRS[0]['bad']} <ungrammatical>", f"{PAIRS[0]['bad']} <grammatical>"),
    ]
    (case,) = both.cases
    assert case.index.to_pylist() == [0, 0, 1, 1]
    assert case.features["shown"].to_pylist() == ["grammatical", "ungrammatical"] * 2
    assert set(sentences(one)) < set(sentences(both))
    # The two questions about a pair are not independent.
    assert case.entries["item"].to_pylist() == ["0", "0", "1", "1"]


@pytest.mark.slow
def test_cases_of_three_sentences_are_left_out_and_named(tmp_path):
    suite = load_suite("marvin_linzen:judgement_both", limit=1)
    left_out = ("simple_npi_anim", "simple_npi_inanim", "npi_across_anim", "npi_across_inanim")
    assert (suite.left_out, len(suite.cases), suite.n_items) == (left_out, 18, 36)
    ran = call(
        "run", "--model", "bundled:lstm", "--suite", "marvin_linzen:profile", "--limit", 1, "--out", "run",
        cwd=tmp_path,
    )  # fmt: skip
    assert (
        f"tseval leaves out 4 cases, which compare more than two sentences: {', '.join(left_out)}"
        in ran.stderr
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": "dual"}, "case 'pairs': the feature 'number' of an item has the value 'dual'.\n  "
                             "Write sing or pl"),
        ({"bad": PAIRS[1]["good"]}, "case 'pairs', item 1: this method needs two sentences that begin with"),
        ({"bad": "the pilots are"}, "case 'pairs', item 1: this method needs two sentences that begin with"),
    ],
)  # fmt: skip
def test_an_item_that_cannot_be_asked_about_is_named(tmp_path, change, message):
    path = write(tmp_path, [PAIRS[0], PAIRS[1] | change])
    with pytest.raises(SuiteError, match=message):
        load_suite(f"{path}:number")


# Tables with a header: their separator, their quotes, and the line number of an error.
CELLS = [
    ["good", "bad", "note"], ['so-called "authors" laugh', "a, b; c", "x"], ["zwei\nZeilen", "b", ""],
    ["הילדים צוחקים", "e\u0301le\u0300ves", "格助詞"],
]  # fmt: skip


def read(path):
    _, names, rows = open_table(path)
    return [names, *(cells for _, cells in rows)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_header_of_a_csv_says_what_separates_its_columns(tmp_path, delimiter, name, mark):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(CELLS)
    content = (mark + text.getvalue()).encode()
    (tmp_path / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith("gz") else content)
    assert read(tmp_path / name) == CELLS
    places = [place.rpartition(":")[2] for place, _ in open_table(tmp_path / name)[2]]
    assert places == ["2", "3", "5"]  # a row begins on its first line


@pytest.mark.parametrize(("ending", "separator"), [("tsv", "\t"), ("csv", ","), ("csv", ";"), ("csv", "\t")])
@pytest.mark.parametrize("index", [True, False])
def test_what_pandas_writes_is_what_it_reads(tmp_path, ending, separator, index):
    written = pd.DataFrame({"sen": ['he said "no" .', '"', '"a" "b"', "plain"], "n": ['"x', 'y"', "", '""']})
    path = tmp_path / f"t.{ending}"
    written.to_csv(path, sep=separator, index=index)
    names, *rows = read(path)
    assert names == ["sen", "n"]  # an index has no name and is left out
    assert rows == pd.read_csv(path, sep=separator, keep_default_na=False)[["sen", "n"]].to_numpy().tolist()
    assert rows == written.to_numpy().tolist()


def test_quotes_that_pandas_would_not_write_are_letters_in_tsv(tmp_path):
    cells = ['"yes"', 'd "e', '"', '"a" b"', '""']
    (tmp_path / "t.tsv").write_text("\t".join("abcde") + "\n" + "\t".join(cells) + "\n")
    assert read(tmp_path / "t.tsv")[1] == cells
