"""`tseval new --language`: each example is a suite without lint findings and with correct sentences."""

import unicodedata

import pytest
from in_process import call, refuse

from tseval.suites import load_suite, writing_of
from tseval.suites.starter import starter_language, starter_languages

# Made by hand from the lexicons: (items, number of an item, right sentence, wrong sentence), in ordinary
# spelling.
EXPECTED = {
    "arabic": [
        (32, 0, "صديق الطبيب يعمل.", "صديق الطبيب يعملون."),
        # The last item: plural of the second head, plural of the second genitive, second verb.
        (32, 31, "زملاء المترجمين يضحكون.", "زملاء المترجمين يضحك."),
        (32, 2, "صديق الأطباء يعمل.", "صديق الأطباء يعملون."),
    ],
    "english": [
        (64, 0, "The author that the guard likes laughs.", "The author that the guard likes laugh."),
        (64, 4, "The author that the guards like laughs.", "The author that the guards like laugh."),
        (64, 63, "The farmers that the teachers admire swim.", "The farmers that the teachers admire swims."),
    ],
    "german": [
        (32, 0, "Der Arzt neben dem Koch schläft.", "Der Arzt neben dem Koch schlafen."),
        (32, 2, "Der Arzt neben den Köchen schläft.", "Der Arzt neben den Köchen schlafen."),
        (32, 8, "Die Ärzte neben dem Koch schlafen.", "Die Ärzte neben dem Koch schläft."),
        (32, 21, "Die Lehrerin neben der Freundin lacht.", "Die Lehrerin neben der Freundin lachen."),
        (32, 25, "Die Lehrerinnen neben dem Koch lachen.", "Die Lehrerinnen neben dem Koch lacht."),
    ],
    "hindi": [
        (32, 0, "लड़का कुत्ते के पास सोता है।", "लड़का कुत्ते के पास सोती है।"),
        (32, 4, "लड़का बिल्ली के पास सोता है।", "लड़का बिल्ली के पास सोती है।"),
        (32, 10, "लड़के कुत्तों के पास सोते हैं।", "लड़के कुत्तों के पास सोती हैं।"),
        (32, 31, "लड़कियाँ बिल्लियों के पास खेलती हैं।", "लड़कियाँ बिल्लियों के पास खेलते हैं।"),
    ],
    "japanese": [
        (16, 0, "昨日学生しか部屋に来なかった。", "昨日学生しか部屋に来た。"),
        (16, 15, "先週先生しか学校に入らなかった。", "先週先生しか学校に入った。"),
    ],
    "russian": [
        (32, 0, "Врач перед поваром молчит.", "Врач перед поваром молчат."),
        (32, 2, "Врач перед поварами молчит.", "Врач перед поварами молчат."),
        (32, 31, "Студентки перед подругами спят.", "Студентки перед подругами спит."),
    ],
    "turkish": [
        (32, 0, "Ben senin kitabını gördüm.", "Ben senin kitabını gördün."),
        (32, 31, "Siz bizim anahtarımızı buldunuz.", "Siz bizim anahtarımızı bulduk."),
        (32, 4, "Ben sizin kitabınızı gördüm.", "Ben sizin kitabınızı gördünüz."),
    ],
}  # fmt: skip


@pytest.mark.parametrize("language", EXPECTED)
def test_a_new_suite_in_a_language_lints_clean_and_has_the_sentences_of_its_comments(tmp_path, language):
    done = call("new", "mine", "--language", language, cwd=tmp_path)
    assert done.returncode == 0
    assert {file.name for file in (tmp_path / "mine").iterdir()} == {
        "mine.jinja", "lexicon.yaml", "suite.yaml",
    }  # fmt: skip
    linted = call("lint", "./mine", "--quiet", cwd=tmp_path)
    assert (linted.returncode, linted.stdout) == (0, "")

    (case,) = load_suite(tmp_path / "mine").cases
    rules, terminator = writing_of(str(tmp_path / "mine"))
    written = case.written(rules, terminator)
    for n_items, place, *pair in EXPECTED[language]:
        assert case.n_items == n_items
        assert [written.sentences[label].to_pylist()[place] for label in case.labels] == pair

    text = (tmp_path / "mine/mine.jinja").read_text("utf-8")
    for part in ("# Contrast:", "# Source:", "wrong"):  # the author reads which form is right, and the source
        assert part in text
    for file in (tmp_path / "mine").iterdir():  # only characters that people can type
        assert unicodedata.is_normalized("NFC", file.read_text("utf-8"))


def test_every_example_is_held_and_named_by_help():
    assert starter_languages() == sorted(EXPECTED)
    text = " ".join(call("new", "--help").stdout.split())
    assert ", ".join(language.capitalize() for language in starter_languages()) in text


@pytest.mark.parametrize("language", ["german", "hindi"])
def test_a_model_that_does_not_know_the_language_runs_and_decides_nothing(tmp_path, language):
    done = call("new", "mine", "--language", language, cwd=tmp_path)
    assert f"hf:MODEL: a model that knows {language.capitalize()}" in done.stderr
    ran = call("run", "--model", "bundled:lstm", "--suite", "./mine", "--quiet", cwd=tmp_path)
    assert ran.returncode == 0
    assert "no decidable item in 1 of 1 rows" in ran.stdout


def test_the_english_example_runs_with_a_bundled_model(tmp_path):
    done = call("new", "mine", "--language", "en", cwd=tmp_path)
    *_, line = done.stderr.splitlines()
    assert line == "then: tseval run --model bundled:lstm --suite ./mine"
    linted = call("lint", "./mine", "--quiet", "--vocab", "bundled:lstm", cwd=tmp_path)
    assert (linted.returncode, linted.stdout) == (0, "")
    ran = call("run", "--model", "bundled:lstm", "--suite", "./mine", "--quiet", cwd=tmp_path)
    assert "Across an object relative clause" in ran.stdout
    assert "undecidable" not in ran.stdout


@pytest.mark.parametrize(
    ("name", "language"),
    [("German", "german"), ("DE", "german"), ("deu", "german"), ("ger", "german"), ("de-AT", "german"),
     ("tr", "turkish"), ("TUR", "turkish"), ("hi", "hindi"), ("ar", "arabic"), ("arb", "arabic"),
     ("ru_RU", "russian"), ("jpn", "japanese"), ("ja", "japanese"), ("ENG", "english"), (" en ", "english")],
)  # fmt: skip
def test_a_language_is_known_by_its_name_and_its_codes(name, language):
    assert starter_language(name) == language


@pytest.mark.parametrize("name", ["finnish", "Turkis", "xx", ""])
def test_an_unknown_language_lists_those_that_there_are_and_writes_nothing(tmp_path, name):
    message = refuse("new", "mine", "--language", name, cwd=tmp_path).stderr
    assert f"tseval has no example for the language {name!r}" in message
    assert f"Languages: {', '.join(starter_languages())}." in message
    assert ("Did you mean 'turkish'?" in message) == (name == "Turkis")
    assert list(tmp_path.iterdir()) == []
