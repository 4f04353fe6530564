"""Runs whose model chooses inside strings: verified like any other, and forged choices are found."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch

from tseval.adapters import open_model
from tseval.evaluation import evaluate
from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.runs import read_run
from tseval.runs.directory import digest, to_parquet
from tseval.runs.manifest import count_verdicts, dump_manifest
from tseval.suites import load_suite
from tseval.suites.formal.languages import parse_language
from tseval.verifying import verify_run

SUITES = ["dyck(2,2,test=900,train=400)", "cross_serial(3,test=300)"]


@pytest.fixture(scope="module", params=SUITES)
def verified(request, tmp_path_factory):
    """A run on a formal language, its suite, and its model."""
    folder = tmp_path_factory.mktemp("choices")
    alphabet = parse_language(request.param).alphabet
    torch.manual_seed(1)
    network = LanguageModel(Sizes("lstm", len(alphabet) + 2, 8, 12, 1))
    words = Vocabulary(("<eos>", "<unk>", *alphabet), lowercase=False)
    save_checkpoint(folder / "m.pt", network, words, training={}, validation_perplexity=None)
    model = open_model(str(folder / "m.pt"))
    evaluate(model, load_suite(request.param), out=folder / "run")
    return folder / "run", request.param, model


def test_a_run_of_choices_holds_at_every_level(verified):
    run, suite, model = verified
    found = verify_run(run, suite=suite, model=model, share=1)
    assert found.ok, found
    assert [check.level for check in found.checks][-1] == "rerun"


def test_choices_that_are_all_right_do_not_follow(verified, tmp_path):
    run, suite, _ = verified
    opened = read_run(run)
    verdicts = opened.load_verdicts()
    place = verdicts.column_names.index("correct")
    verdicts = verdicts.set_column(place, "correct", pa.array([True] * verdicts.num_rows))
    assert pc.sum(opened.load_verdicts()["correct"]).as_py() < verdicts.num_rows
    forged = tmp_path / "forged"
    forged.mkdir()
    files = {name: (run / name).read_bytes() for name in opened.manifest.files}
    files["verdicts.parquet"] = to_parquet(verdicts)
    for name, content in files.items():
        (forged / name).write_bytes(content)
    counts = replace(opened.manifest.counts, **count_verdicts(verdicts))
    manifest = replace(opened.manifest, counts=counts, seal=None)
    sealed = manifest.sealed({name: digest(content) for name, content in files.items()})
    (forged / "manifest.json").write_bytes(dump_manifest(sealed))
    found = verify_run(forged, suite=suite)
    assert not found.ok
    assert "correct of" in found.checks[-1].found
    assert [check.level for check in found.checks] == ["whole", "recomputed"]
