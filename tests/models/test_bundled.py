"""The bundled checkpoint: small enough, really trained, and good for what the README says."""

import gzip
import math
from itertools import islice

import pytest
from supplied import TEXT, TEXT_SAMPLE, needs_text

import tseval
from tseval.models import BUNDLED_CHECKPOINTS
from tseval.models.checkpoint import load_checkpoint
from tseval.training.corpus import Columns, columns, encode_text
from tseval.training.loop import mean_loss
from tseval.verdicts import sentences_of


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint(BUNDLED_CHECKPOINTS / "lstm.pt")


def test_it_is_small_enough_for_git():
    assert (BUNDLED_CHECKPOINTS / "lstm.pt").stat().st_size < 6_000_000


def test_it_knows_every_word_of_marvin_and_linzen(checkpoint):
    sentences = sentences_of(tseval.load_suite("marvin_linzen")).to_pylist()
    words = {word for sentence in sentences for word in sentence.split()}
    assert words <= set(checkpoint.vocabulary.words)


def test_it_records_its_command_and_its_data(checkpoint):
    assert str(checkpoint.training["command"]).startswith("tseval train lm --arch lstm")
    assert checkpoint.training["files"][0]["tokens"] == 9_183_243


@pytest.mark.parametrize("file", [TEXT_SAMPLE, pytest.param(TEXT, marks=needs_text)], ids=["sample", "whole"])
def test_its_perplexity_is_that_of_the_validation_text(checkpoint, tmp_path, file):
    # A slice of the shuffled text is a random sample of it; the recorded number is that of the whole.
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        (tmp_path / "slice.txt").write_text("".join(islice(lines, 3000)))
    text = columns(encode_text([tmp_path / "slice.txt"], checkpoint.vocabulary), 32)
    perplexity = math.exp(mean_loss(checkpoint.model, Columns(text, 35)))
    assert perplexity == pytest.approx(checkpoint.validation_perplexity, rel=0.05)


def test_it_beats_chance_clearly_on_simple_agreement():
    suite = tseval.load_suite("marvin_linzen", cases=["simple_agrmt", "sent_comp"])
    table = tseval.evaluate(tseval.load_model("bundled:lstm"), suite).table()
    assert (table["accuracy"] > 0.9).all(), table
    # The lower ends of the 95% intervals, for other subjects and verbs.
    assert table["low"].tolist()[0] > 0.6, table
    assert table["low"].tolist()[1] > 0.8, table


def test_its_mean_over_a_sample_of_all_rows_is_that_of_the_readme():
    suite = tseval.load_suite("marvin_linzen", sample=50, seed=1)
    table = tseval.evaluate(tseval.load_model("bundled:lstm"), suite).table()
    assert len(table) == 19
    # 0.654 over all items; a coin has 0.5, the smaller LSTM that came before had 0.581.
    assert 0.62 < table["accuracy"].mean() < 0.69, table
