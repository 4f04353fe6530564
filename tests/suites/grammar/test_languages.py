"""Ordinary spelling of languages: capitals as in ICU, marks of all scripts, no rules of other languages."""

import json

import pyarrow as pa
import pytest
from checkpoints import save_causal
from in_process import succeed
from small import write_file

import tseval
from tseval.adapters import open_model
from tseval.errors import SuiteError
from tseval.models.encoding import encode_words
from tseval.writing import LANGUAGES, capitalise

# The result of ICU 78.3, `UnicodeString(word).toTitle(Locale(...))`, for the first letter of each word.
ICU = [
    ("turkish", "işçi", "İşçi"), ("turkish", "ırmak", "Irmak"), ("turkish", "İzmir", "İzmir"),
    ("azerbaijani", "ilham", "İlham"), ("english", "işçi", "Işçi"), ("dutch", "ijsland", "IJsland"),
    ("dutch", "ik", "Ik"), ("german", "ijs", "Ijs"),
    ("lithuanian", "i\u0307\u0301rašas", "I\u0307\u0301rašas"),
    ("greek", "όλοι", "Όλοι"), ("german", "ßen", "Ssen"), ("georgian", "ქართული", "ქართული"),
    ("croatian", "ǆep", "ǅep"), ("armenian", "և", "Եվ"), ("french", "élan", "Élan"),
    ("english", "ﬁsh", "Fish"), ("hindi", "लड़का", "लड़का"), ("russian", "ёлка", "Ёлка"),
]  # fmt: skip
TEXTS = [
    ("turkish", "işçi geldi .", "İşçi geldi."),
    ("hindi", "लड़का है ।", "लड़का है।"),
    ("urdu", "لڑکا ہے ۔", "لڑکا ہے۔"),
    ("arabic", "هل جاء ؟", "هل جاء؟"),
    ("greek", "ποιος είναι ;", "Ποιος είναι;"),
    ("amharic", "ልጁ መጣ ።", "ልጁ መጣ።"),
    ("armenian", "նա եկավ ։", "Նա եկավ։"),
    ("spanish", "¿ quién es ?", "¿Quién es?"),
    ("chinese", "孩子们 在 玩 。", "孩子们在玩。"),
    ("dutch", "'s avonds is het koud .", "'s Avonds is het koud."),
    ("italian", "l' amico è qui .", "L'amico è qui."),
    ("french", "où est l' ami ?", "Où est l'ami ?"),
]
GRAMMAR = """---
construction: Simple
phenomenon: Agreement
{head}slots:
  word: [işçi, ırmak]
---
grammatical:   {{{{ word }}}} geldi
ungrammatical: {{{{ word }}}} geldiler
"""


@pytest.mark.parametrize(("language", "word", "expected"), ICU)
def test_capitals_are_those_of_icu(language, word, expected):
    assert capitalise(word, language) == expected


@pytest.mark.parametrize(("language", "tokens", "expected"), TEXTS)
def test_marks_of_all_scripts_attach(language, tokens, expected):
    text, starts = LANGUAGES[language].write(tokens)
    assert text == expected
    assert len(starts) == len(tokens.split())


def suite(folder, about, head=""):
    folder.mkdir(exist_ok=True)
    write_file(folder / "simple.jinja", GRAMMAR.format(head=head))
    if about is not None:
        write_file(folder / "suite.yaml", about)
    return folder


STATED = [
    ("language: turkish\n", ""), ("writing: turkish\n", ""), ("writing: {language: turkish}\n", ""),
    ("language: tr\n", ""), ("title: A\n", "language: turkish\n"), (None, "language: turkish\n"),
]  # fmt: skip


@pytest.mark.parametrize(("about", "head"), STATED)
def test_a_language_may_be_stated_anywhere(tmp_path, about, head):
    folder = suite(tmp_path / "s", about, head)
    told = succeed("expand", folder, "--text", "natural").stdout
    assert told.splitlines()[1].split("\t")[1:] == ["İşçi geldi.", "İşçi geldiler."]


def test_a_language_without_rules_is_read_as_its_tokens_stand_and_that_is_said(tmp_path):
    folder = suite(tmp_path / "s", "language: klingon\n")
    model = open_model(f"hf:{save_causal(tmp_path / 'model', 'gpt2')}")
    run = tseval.evaluate(model, folder)
    assert any("tseval knows no rules of writing for klingon" in w for w in run.manifest.warnings)
    assert "text" not in run.manifest.key.protocol
    with pytest.raises(
        SuiteError,
        match=r"'klingon', for which tseval has no rules.*\n  For another language, delete the line `writing",
    ):
        tseval.load_suite(suite(tmp_path / "t", "writing: klingon\n"))


def test_where_nothing_is_stated_english_is_written(tmp_path):
    told = succeed("expand", suite(tmp_path / "s", None), "--text", "natural").stdout
    assert told.splitlines()[1].split("\t")[1] == "Işçi geldi."


def test_rules_may_be_added_to_a_language(tmp_path):
    about = "writing: {language: turkish, capital: false}\n"
    told = succeed("expand", suite(tmp_path / "s", about), "--text", "natural", "--format", "jsonl").stdout
    assert json.loads(told.splitlines()[0])["sentences"]["grammatical"] == "işçi geldi."


def test_a_model_reads_the_text_that_expand_shows(tmp_path):
    folder = suite(tmp_path / "s", "language: turkish\n")
    model = open_model(f"hf:{save_causal(tmp_path / 'model', 'gpt2')}")
    run = tseval.evaluate(model, folder)
    (first,) = run.load_verdicts().slice(0, 1).to_pylist()
    plain = tseval.evaluate(
        model, tseval.load_suite(write_file(tmp_path / "a.jsonl", {"good": "İşçi geldi.", "bad": "a"}))
    )
    assert first["better_score"] == pytest.approx(plain.load_verdicts()["better_score"][0].as_py(), abs=1e-4)


def test_lower_case_has_a_final_sigma_as_the_vocabulary_was_made():
    # Vocabularies are made with `str.lower`; arrow writes σ at the end of a word, which would be unknown.
    ids = {word: i for i, word in enumerate(["<unk>", *"ο δρόμος ΟΔΟΣ".lower().split()])}
    encoded = encode_words(ids, pa.array(["Ο Δρόμος", "ΟΔΟΣ"]), "<unk>", lowercase=True)
    assert encoded.n_unknown.tolist() == [0, 0]
    assert encoded.seen.to_pylist() == ["ο δρόμος", "οδος"]
