"""A resumed run is published under the digests of an undisturbed one: same bytes, not only same values."""

import pyarrow as pa
import pytest
import torch

import tseval
from tseval.adapters.native import NativeModel
from tseval.models import Vocabulary
from tseval.models.checkpoint import Checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.runs import RunWriter
from tseval.runs.directory import part_bytes, read_part, to_parquet
from tseval.scoring import engine
from tseval.scoring.engine import Part
from tseval.suites import load_suite


@pytest.fixture
def model():
    torch.manual_seed(0)
    words = Vocabulary(
        ("<eos>", "<unk>", "(1", ")1", "(2", ")2", "the", "author", "laughs", "laugh", "."), lowercase=True
    )
    network = LanguageModel(Sizes("srn", len(words), 3, 3, 1))
    return NativeModel("m", Checkpoint(network, words, "f" * 64, {}, None), torch.device("cpu"))


@pytest.mark.parametrize("suite", ["dyck(k=2,m=3)", "marvin_linzen"])
@pytest.mark.parametrize("saved", [0, 1, 2])
def test_a_resumed_run_has_the_bytes_of_an_undisturbed_one(model, tmp_path, monkeypatch, suite, saved):
    monkeypatch.setattr(engine, "SHARD", 7)
    monkeypatch.setattr(engine, "ASKED_SHARD", 7)
    items = load_suite(suite, cases=["simple_agrmt"] if suite == "marvin_linzen" else (), limit=30)
    whole = tseval.evaluate(model, items, out=tmp_path / "whole")

    class Stopped(Exception):  # noqa: N818 - no error, but a kill
        pass

    def stop(writer, i, part, save=RunWriter.save_part):
        if i == saved:
            raise Stopped
        save(writer, i, part)

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "save_part", stop)
        with pytest.raises(Stopped):
            tseval.evaluate(model, items, out=tmp_path / "resumed")
    resumed = tseval.evaluate(model, items, out=tmp_path / "resumed", resume=True)
    assert resumed.manifest.counts.resumed_sentences == 7 * saved
    assert resumed.manifest.files == whole.manifest.files


def test_a_part_reads_back_as_it_was_scored_nulls_included():
    lists = pa.array([[0.5, None], [], None, [1.0]], pa.list_(pa.float64()))
    table = pa.table(
        {
            "sentence": ["a", "b", "c", "d"],
            "seen": ["a", "b", "c", "d"],
            "logprob": [0.5, 0.0, 0.0, 1.0],
            "words": lists.cast(pa.list_(pa.float32())),
            "n_unknown": pa.array([0] * 4, pa.int32()),
        }
    )
    table = table.append_column("right", lists)
    read = read_part(part_bytes(Part(table, 3)))
    assert read.n_contexts == 3
    assert read.table.schema.equals(table.schema, check_metadata=True)
    assert to_parquet(read.table) == to_parquet(table)
