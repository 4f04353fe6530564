"""Every architecture by the installed commands: trained, saved, loaded, scored, and recomputed by hand."""

import random
from typing import Any

import pandas as pd
import pytest
import torch
from equations import sentence_logprob
from in_process import call

import tseval
from tseval.models.cells import CELLS
from tseval.verdicts import sentences_of

CASES = ["simple_agrmt", "prep_anim", "npi_across_anim"]
LIMIT = 4
TRAIN = "--embedding 12 --hidden 20 --layers 2 --dropout 0.1 --batch 8 --epochs 2 --learning-rate 0.02"

OPTIONS = {
    "eirnn": ["beta=0.3", "self_connections=true"],
    "sdrnn": ["alpha_bound=none", "initial_alpha=0.4"],
    "drnn-cnn": ["window=2"],
    "onlstm": ["chunk=4", "weight_drop=0.2"],
}


def command(*arguments, cwd):
    done = call(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Text in the words of the suite, but for one that the models will not know."""
    folder, draw = tmp_path_factory.mktemp("corpus"), random.Random(0)
    sentences = sentences_of(tseval.load_suite("marvin_linzen", cases=CASES, sample=200)).to_pylist()
    known = [sentence for sentence in sentences if "laughs" not in sentence.split()]
    for name, size in (("train.txt", 400), ("valid.txt", 60)):
        (folder / name).write_text("".join(f"{draw.choice(known)}\n" for _ in range(size)))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("arch", CELLS)
def test_a_run_scores_what_the_equations_give_for_the_weights_in_the_file(corpus, tmp_path, arch):
    files = "--train", corpus / "train.txt", "--valid", corpus / "valid.txt", "--out", "model.pt"
    options = [word for option in OPTIONS.get(arch, []) for word in ("--option", option)]
    command("train", "lm", "--arch", arch, *options, *files, *TRAIN.split(), "--no-figure", cwd=tmp_path)
    cases = [word for case in CASES for word in ("--case", case)]
    command("run", "--model", "model.pt", *cases, "--limit", LIMIT, "--out", "run", cwd=tmp_path)

    content = torch.load(tmp_path / "model.pt", weights_only=True)
    weights = {name: tensor.double().numpy() for name, tensor in content["weights"].items()}
    ids = {word: number for number, word in enumerate(content["vocabulary"])}
    scored = pd.read_parquet(tmp_path / "run" / "sentences.parquet")
    assert set(scored["sentence"]) == set(
        sentences_of(tseval.load_suite("marvin_linzen", cases=CASES, limit=LIMIT)).to_pylist()
    )
    assert scored["n_unknown"].sum() > 0
    row: Any
    for row in scored.itertuples():
        read = [ids["<eos>"], *(ids.get(word, ids["<unk>"]) for word in row.sentence.split())]
        by_hand = sentence_logprob(content["sizes"], weights, read)
        assert row.logprob == pytest.approx(by_hand, rel=0, abs=1e-4), row.sentence
    # Training has moved the scores away from those of a model that knows nothing.
    assert scored["logprob"].std() > 1
