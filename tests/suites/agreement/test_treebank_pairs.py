"""Minimal pairs from treebanks equal plain loops over the trees, and every omission has a reason."""

import gzip
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import conllu
import pytest
from in_process import refuse, succeed
from small_treebanks import treebank
from supplied import TREEBANK_SAMPLE, TREEBANKS

from tseval.errors import SuiteError
from tseval.suites.agreement.phenomenon import open_phenomenon, phenomena, read_phenomenon
from tseval.suites.agreement.treebank_pairs import draw_per_cell, list_phenomena, make_pairs

GERMAN, FRENCH, RUSSIAN, TURKISH = (
    TREEBANKS / f"{name}.conllu.gz" for name in ("de_gsd", "fr_gsd", "ru_gsd", "tr_boun")
)


@cache
def sentences(path):
    return conllu.parse(gzip.decompress(path.read_bytes()).decode())


def paradigm(token, feature):
    features = token["feats"] or {}
    rest = {name: value for name, value in features.items() if name not in {feature, "Typo", "Abbr"}}
    return token["lemma"], token["upos"], tuple(sorted(rest.items()))


def written(tokens, changed=None, form=""):
    """Return the text of a sentence: multiword tokens unchanged, spaces as in the file."""
    text, inside = "", set()
    for token in tokens:
        if isinstance(token["id"], tuple):
            if token["id"][1] == "-":
                inside = set(range(token["id"][0], token["id"][2] + 1))
            else:
                continue
        elif token["id"] in inside:
            continue
        space = "" if (token["misc"] or {}).get("SpaceAfter") == "No" else " "
        text += (form if token["id"] == changed else token["form"]) + space
    return text.strip()


def glued(tokens, number):
    """Return whether a word is part of another, or has letters directly before or after it."""
    text = written(tokens, number, "\0")
    at = text.find("\0")
    return at < 0 or any(letter.isalnum() for letter in text[max(at - 1, 0) : at] + text[at + 1 : at + 2])


def capitals(form, model):
    if model.isupper() and len(model) > 1:
        return form.upper()
    return form.capitalize() if model[:1].isupper() else form


APOSTROPHE, VOWEL = re.compile(r"\w['’]$"), re.compile(r"(?i)[aeiouyhàâæéèêëîïôœùûü]")


def by_a_plain_loop(path, feature, targets):
    """Return the pairs of a sentence's target words, by the definition on the page."""
    trees, forms = sentences(path), defaultdict(lambda: defaultdict(Counter))
    for tokens in trees:
        for token in tokens:
            features = token["feats"] or {}
            if isinstance(token["id"], int) and feature in features and "Typo" not in features:
                forms[paradigm(token, feature)][features[feature]][token["form"].lower()] += 1
    found = set()
    elided = {token["lemma"] for tokens in trees for token in tokens if APOSTROPHE.search(token["form"])}
    for tokens in trees:
        words = {token["id"]: token for token in tokens if isinstance(token["id"], int)}
        for token in targets(words):
            features = token["feats"]
            if features.get("Typo") == "Yes" or glued(tokens, token["id"]):
                continue
            seen = forms[paradigm(token, feature)]
            for value, counts in seen.items():
                best = [form for form, n in counts.items() if n == max(counts.values())]
                if value == features[feature] or len(best) > 1 or best[0] == token["form"].lower():
                    continue
                if best[0] in seen[features[feature]] or any(
                    map(APOSTROPHE.search, (best[0], token["form"]))
                ):
                    continue
                before = words.get(token["id"] - 1)
                sounds = {bool(VOWEL.match(form)) for form in (best[0], token["form"])}
                if before and before["lemma"] in elided and len(sounds) > 1:  # je suis, but not j'es
                    continue
                found.add((written(tokens), written(tokens, token["id"], capitals(best[0], token["form"]))))
    return found


def dependents(relation, upos, feature):
    """Return a function that yields dependents of nouns, by relation and upos, if a feature agrees."""

    def targets(words):
        for token in words.values():
            head = words.get(token["head"])
            if head and token["upos"] == upos and token["deprel"].partition(":")[0] == relation:
                own, its = ((one["feats"] or {}).get(feature) for one in (token, head))
                if head["upos"] == "NOUN" and own is not None and own == its:
                    yield token

    return targets


@pytest.mark.slow
@pytest.mark.parametrize("path", [GERMAN, FRENCH, RUSSIAN, TURKISH], ids=lambda path: path.name[:2])
@pytest.mark.parametrize("feature", ["Gender", "Number", "Case"])
def test_pairs_of_determiners_are_those_of_a_plain_loop(path, feature):
    expected = by_a_plain_loop(path, feature, dependents("det", "DET", feature))
    phenomenon = open_phenomenon(f"determiner-noun-{feature.lower()}")
    if not expected:
        with pytest.raises(
            SuiteError, match=f"could make no pair from the 200 sentences|needs the feature '{feature}'"
        ):
            make_pairs([path], phenomenon, strict=False)
        return
    rows = make_pairs([path], phenomenon, strict=False).table.to_pylist()
    assert {(row["good"], row["bad"]) for row in rows} == expected
    assert {row["good"] for row in rows} <= {tokens.metadata["text"] for tokens in sentences(path)}


def test_attractors_and_distances_are_those_of_a_plain_loop():
    rows = make_pairs([RUSSIAN], open_phenomenon("subject-verb-gender"), strict=False).table.to_pylist()
    expected = set()
    for tokens in sentences(RUSSIAN):
        words = [token for token in tokens if isinstance(token["id"], int)]
        gender = [(word["feats"] or {}).get("Gender") for word in words]
        for a, subject in enumerate(words):
            for b, verb in enumerate(words):
                low, high = sorted((a, b))
                same = [n for n in range(low + 1, high) if words[n]["upos"] == subject["upos"]]
                others = sum(gender[n] not in {None, gender[a]} for n in same)
                predicate = verb["id"] if verb["deprel"] not in {"aux", "aux:pass", "cop"} else verb["head"]
                if subject["deprel"].startswith("nsubj") and subject["head"] == predicate:
                    expected.add((tokens.metadata["text"], verb["form"], b - a, len(same), others))
    assert len(rows) > 20
    for row in rows:
        signed = row["distance"] * (1 if row["order"] == "controller first" else -1)
        found = row["good"], row["target"], signed, row["n_intervening"], row["n_attractors"]
        assert found in expected
    assert {row["n_attractors"] for row in rows} > {0}


SINGULAR = (
    "der/der/DET/Number=Sing/2/det Hund/Hund/NOUN/Number=Sing/3/nsubj bellt/bellen/VERB/Number=Sing/0/root"
)
PLURAL = (
    "die/der/DET/Number=Plur/2/det Hunde/Hund/NOUN/Number=Plur/3/nsubj bellen/bellen/VERB/Number=Plur/0/root"
)
SUBJECT = "pattern { V [upos=VERB]; V -[1=nsubj]-> S; V.Number = S.Number }"


def pairs_of(path, *forms, request=SUBJECT, change="V.Number"):
    phenomenon = read_phenomenon(request, "x", "x", change)
    return make_pairs([path], phenomenon, [Path(one) for one in forms], strict=False)


def changes(pairs):
    return sorted((row["target"], row["other_form"], row["form_from"]) for row in pairs.table.to_pylist())


def test_the_other_form_is_of_the_same_paradigm(tmp_path):
    pairs = pairs_of(treebank(tmp_path, SINGULAR, PLURAL))
    assert changes(pairs) == [("bellen", "bellt", "treebank"), ("bellt", "bellen", "treebank")]
    assert [row["bad"] for row in pairs.table.to_pylist()] == ["der Hund bellen", "die Hunde bellt"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([], "no other form is known"),
        # a plural that also occurs as a singular
        ([PLURAL, "Hund/Hund/NOUN/Number=Sing/2/nsubj bellen/bellen/VERB/Number=Sing|Typo=No/0/root",
          "Hund/Hund/NOUN/Number=Sing/2/nsubj bellen/bellen/VERB/Number=Sing/0/root"],
         "the other form also has the first's features"),
        # ... in another mood; a form before which the previous word is spelt differently
        ([PLURAL, "Hund/Hund/NOUN/Number=Sing/2/nsubj bellen/bellen/VERB/Mood=Sub|Number=Sing/0/root"],
         "the other form also has the first's features"),
        ([PLURAL.replace("bellen/bellen", "ebellen/bellen"), "Hund'/Hund/NOUN/_/0/root"],
         "the form depends on the neighbouring sounds"),
        (["Hunde/Hund/NOUN/Number=Plur/2/nsubj bellt/bellen/VERB/Number=Plur/0/root"],
         "the other form has the same letters"),
        ([PLURAL, PLURAL.replace("bellen/bellen", "bölken/bellen")],
         "several other forms are equally frequent"),
    ],
)  # fmt: skip
def test_what_is_not_sure_is_left_out_with_its_reason(tmp_path, more, reason):
    # A pair of another verb, so that the result is not empty.
    others = [line.replace("bell", "heul") for line in (SINGULAR, PLURAL)]
    assert reason in pairs_of(treebank(tmp_path, SINGULAR, *more, *others)).left_out


def test_typos_and_parts_of_words_are_left_out(tmp_path):
    glued_on = SINGULAR.replace("0/root", "0/root/SpaceAfter=No") + " s/es/PRON/_/3/obj"
    typo = SINGULAR.replace("VERB/Number=Sing", "VERB/Number=Sing|Typo=Yes")
    pairs = pairs_of(treebank(tmp_path, PLURAL, SINGULAR, glued_on, typo))
    assert pairs.left_out == {"written together with another word": 1, "marked as a typo": 1}


def test_forms_come_from_more_treebanks_and_from_unimorph(tmp_path):
    (tmp_path / "more").mkdir()
    more = treebank(tmp_path / "more", PLURAL)
    table = tmp_path / "deu"
    forms = "bellt\tV;IND;PRS;3;SG", "bellen\tV;IND;PRS;3;PL", "bellte\tV;IND;PST;3;SG"
    table.write_text("".join(f"bellen\t{form}\n" for form in forms))
    path = treebank(tmp_path, SINGULAR)
    assert changes(pairs_of(path, more)) == [("bellt", "bellen", "t.conllu")]
    assert changes(pairs_of(path, table)) == [("bellt", "bellen", "unimorph")]
    table.write_text("laufen\tläuft\tV;IND;PRS;3;SG\n")
    with pytest.raises(
        SuiteError,
        match=r"this list of forms has none of the words that have the feature Number in the treebanks\. "
        r"One of these words is '.*'\.\n  Give a list of forms for the language",
    ):
        pairs_of(path, table)
    table.write_text("laufen läuft\n")
    with pytest.raises(
        SuiteError, match="deu:1: a line of a UniMorph list has three cells, but this line is 'laufen"
    ):
        pairs_of(path, table)


def test_values_that_share_a_form_make_one_pair(tmp_path):
    words = [("der", "Masc"), ("die", "Fem"), ("dem", "Neut"), ("dem", "Com")]
    lines = [f"{form}/der/DET/Gender={value}/2/det X/x/NOUN/Gender={value}/0/root" for form, value in words]
    request = "pattern { N -[det]-> D; D.Gender = N.Gender }"
    pairs = pairs_of(treebank(tmp_path, *lines), request=request, change="D.Gender")
    rows = [(row["value"], row["other_value"]) for row in pairs.table.to_pylist() if row["target"] == "der"]
    assert sorted(rows) == [("Masc", "Com|Neut"), ("Masc", "Fem")]


def test_what_governs_a_case_takes_no_other(tmp_path):
    cases = [("in", "Haus", "Dat"), ("in", "Hause", "Acc"), ("mit", "Haus", "Dat")]
    lines = [f"{p}/{p}/ADP/_/2/case {form}/haus/NOUN/Case={case}/0/root" for p, form, case in cases]
    pairs = make_pairs([treebank(tmp_path, *lines)], open_phenomenon("adposition-case"), strict=False)
    assert [row["good"] for row in pairs.table.to_pylist()] == ["mit Haus"]
    assert pairs.left_out == {"its governor also occurs with the other value": 2}


def test_a_draw_takes_each_cell_evenly():
    pairs = make_pairs([RUSSIAN], open_phenomenon("determiner-noun-case"))
    cells, taken = (
        Counter((row["value"], row["other_value"], row["n_attractors"]) for row in own.table.to_pylist())
        for own in (pairs, draw_per_cell(pairs, 2))
    )
    assert taken == {cell: min(n, 2) for cell, n in cells.items()}


@pytest.mark.slow
def test_the_list_counts_what_each_phenomenon_gives():
    counted = {one.name: own and own.table.num_rows for one, own, _ in list_phenomena([GERMAN])}
    assert counted.keys() == {*phenomena()}
    assert counted["object-verb-number"] is None
    pairs = make_pairs([GERMAN], open_phenomenon("determiner-noun-gender"))
    assert counted["determiner-noun-gender"] == pairs.table.num_rows > 100


# The command

RUSSIAN_GENDER = ("data", "pairs", RUSSIAN, "--phenomenon", "subject-verb-gender")


@pytest.mark.slow
def test_the_command_says_what_it_found_and_what_is_rarer(tmp_path):
    done = succeed(*RUSSIAN_GENDER, "--frequency", RUSSIAN, "-o", "pairs.parquet", cwd=tmp_path)
    pairs = make_pairs([RUSSIAN], open_phenomenon("subject-verb-gender"))
    assert f"200 sentences, {pairs.table.num_rows:,} pairs; the other form is the rarer one in" in done.stdout
    assert f"{pairs.left_out['no other form is known']} | no other form is known" in done.stdout


VERB = "pattern { V [upos=VERB, Number] }"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--phenomenon subject-verb -o x.tsv",
            "there is no phenomenon with the name 'subject-verb'.\n  Did you mean",
        ),
        (
            "-o x.tsv",
            "the command must name one pattern to search for. Add either --phenomenon NAME, or --request",
        ),
        ("--phenomenon object-case", "the command does not name a file for the pairs. Add -o pairs.parquet."),
        ("--phenomenon object-case -o x.txt", "the name of a table of pairs must end in"),
        (
            "--list --phenomenon object-case",
            "has no use for --request, --phenomenon and -o. Leave out these three",
        ),
        ("--request nowhere.req --change V.Number -o x.tsv", "nowhere.req"),
        ("VERB -o x.tsv", "the request does not name the feature to change"),
        ("VERB --change W.Number -o x.tsv", "the pattern of the request has no node 'W'"),
        ("VERB --change V -o x.tsv", "Write NODE.Feature"),
        ("VERB --change V.lemma -o x.tsv", "lemma is not a morphological feature"),
        ("VERB --change V.Number --controller S -o x.tsv", "the pattern of the request has no node 'S'"),
    ],
)
def test_bad_arguments_are_one_message(tmp_path, arguments, message):
    words = [VERB if word == "VERB" else word for word in arguments.replace("VERB", "--request VERB").split()]
    assert message in refuse("data", "pairs", TREEBANK_SAMPLE, *words, cwd=tmp_path).stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            "pattern { V -[nsubj]-> S; V.Number = S.Number } pattern { V [upos=AUX] }",
            "the pattern of the request has no node 'S'",
        ),
        (
            "pattern { V [Nmber=Sing] }",
            "the request needs the feature 'Nmber', but no word of the "
            "treebanks has this feature.\n  Did you mean 'Number'",
        ),
    ],
)
def test_a_bad_request_is_one_message(tmp_path, request_, message):
    asked = "--request", request_, "--change", "V.Number", "-o", "x.tsv"
    assert message in refuse("data", "pairs", TREEBANK_SAMPLE, *asked, cwd=tmp_path).stderr


ROW = "{0}\tA\ta\tX\t_\tNumber=Sing\t{1}\tx\t_\t_\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no sentence"),
        ("1\tA\ta\n\n", "this line has 3 columns"),
        (
            ROW.format(1, 2) + ROW.format(2, 1) + "\n",
            "t.conllu:1: the heads form a cycle: from the word 'A'",
        ),
    ],
)
def test_a_file_that_is_no_treebank_is_one_message(tmp_path, text, message):
    (tmp_path / "t.conllu").write_text(text)
    done = refuse("data", "pairs", "t.conllu", "--phenomenon", "object-case", "-o", "x.tsv", cwd=tmp_path)
    assert message in done.stderr
