"""The page on German gender, followed to the letter: its file, its commands, what its model has learnt."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pages import follow
from systems import needs_posix

PAGE = Path(__file__).parents[2] / "docs/tutorial-german-gender.md"

pytestmark = needs_posix


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gender")
    for command in follow(PAGE, folder):
        assert command.quoted in ("", command.printed)
    return folder


def test_the_model_never_read_what_it_is_said_not_to_have_read(folder: Path) -> None:
    begun = {tuple(line.split()[:2]) for line in (folder / "german.txt").read_text("utf-8").splitlines()}
    determiners = ["der", "die", "das", "dieser", "diese", "dieses", "jeder", "jede", "jedes"]
    assert begun == {
        (determiner, adjective)
        for determiner in determiners
        for adjective in ("alte", "neue")
        if not (determiner.startswith("jed") and adjective == "neue")
    }


def test_it_is_right_about_genders_all_the_same(folder: Path) -> None:
    verdicts = pq.read_table(folder / "run/verdicts.parquet").to_pandas()
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
