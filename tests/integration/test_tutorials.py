"""The tutorials, followed exactly: files are written, commands run, output is compared, models are scored."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from checkpoints import bpe_tokenizer, save_causal
from pages import follow
from supplied import TREEBANKS
from systems import needs_posix

from tseval import load_suite
from tseval.suites.agreement.phenomenon import open_phenomenon
from tseval.suites.agreement.treebank_pairs import make_pairs

pytestmark = pytest.mark.slowest

DOCS = Path(__file__).parents[2] / "docs"
RUSSIAN = TREEBANKS / "ru_gsd.conllu.gz"


def followed(page: str, folder: Path, n_commands: int) -> list[str]:
    """Follow a page in a folder; check the output that it shows; return the output of its commands."""
    commands = follow(DOCS / page, folder)
    assert len(commands) == n_commands
    for command in commands:
        sound = not command.quoted or command.keeps_its_word()
        assert sound, f"{command.line} prints:\n{command.printed}"
    return [command.printed for command in commands]


def test_the_first_tutorial_does_what_it_says(tmp_path: Path) -> None:
    followed("tutorial-new-phenomenon.md", tmp_path, 6)


def test_the_guide_to_a_phenomenon_begins_with_a_sound_suite(tmp_path: Path) -> None:
    followed("add-a-phenomenon.md", tmp_path, 3)


def test_a_treebank_becomes_a_table_of_agreement_by_attractors(tmp_path: Path) -> None:
    shutil.copy(RUSSIAN, tmp_path / "ru.conllu.gz")
    texts = make_pairs([RUSSIAN], open_phenomenon("subject-verb-gender")).table["good"].to_pylist()
    save_causal(tmp_path / "model", tokenizer=bpe_tokenizer(size=600, texts=texts), n_positions=512)
    assert "n_attractors 2" in followed("tutorial-treebank.md", tmp_path, 5)[3]
    suite = load_suite(tmp_path / "gender.tsv")
    assert {factor for case in suite.cases for factor in case.entries.column_names} == {
        "target", "controller", "sentence",
    }  # fmt: skip
    assert not {"good_tokens", "bad_tokens"} & {*suite.cases[0].features.column_names}
    tokens = load_suite(tmp_path / "gender.tsv", columns={"good": "good_tokens", "bad": "bad_tokens"})
    assert suite.n_items == tokens.n_items == 20
    assert not {"good", "bad"} & {*tokens.cases[0].features.column_names}
    assert tokens.cases[0].sentences[0][0].as_py().endswith(" .")


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gender")
    followed("tutorial-german-gender.md", folder, 4)
    return folder


@needs_posix
def test_the_model_never_read_what_it_is_said_not_to_have_read(german: Path) -> None:
    begun = {tuple(line.split()[:2]) for line in (german / "german.txt").read_text("utf-8").splitlines()}
    determiners = ["der", "die", "das", "dieser", "diese", "dieses", "jeder", "jede", "jedes"]
    assert begun == {
        (determiner, adjective)
        for determiner in determiners
        for adjective in ("alte", "neue")
        if not (determiner.startswith("jed") and adjective == "neue")
    }


@needs_posix
def test_it_is_right_about_genders_all_the_same(german: Path) -> None:
    verdicts = pq.read_table(german / "run/verdicts.parquet").to_pandas()
    assert len(verdicts) == 144
    assert not verdicts["undecidable"].any()
    unread = verdicts[verdicts["determiner"].str.startswith("jed") & (verdicts["adjective"] == "neue")]
    assert len(unread) == 24
    assert unread["correct"].mean() > 0.9
    assert set(zip(verdicts["gender"], verdicts["wrong"], strict=True)) == {
        (gender, wrong)
        for gender in ("masc", "fem", "neut")
        for wrong in ("masc", "fem", "neut")
        if gender != wrong
    }
