"""The optimisers are torch's own, and start without its compiler."""

import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest
import torch

from tseval.training.settings import SGD, Adam

SIX_WORDS = "the author near the guards laughs .\n" * 40


@pytest.mark.parametrize(("ours", "theirs"), [(Adam, torch.optim.Adam), (SGD, torch.optim.SGD)])
def test_steps_and_what_is_saved_are_torchs(ours, theirs):
    torch.manual_seed(0)
    first = torch.nn.Linear(5, 3)
    models = [first, deepcopy(first)]
    optimisers = [
        kind(model.parameters(), lr=0.1, fused=True)
        for kind, model in zip((ours, theirs), models, strict=True)
    ]
    for step in range(6):
        if step == 3:  # as a training is resumed
            optimisers[0].load_state_dict(deepcopy(optimisers[1].state_dict()))
        data = torch.randn(4, 5)
        for model, optimiser in zip(models, optimisers, strict=True):
            model(data).square().sum().backward()
            optimiser.step()
            optimiser.zero_grad()
    assert torch.equal(*(model.weight for model in models))
    assert models[0].weight.requires_grad
    assert repr(optimisers[0].state_dict()) == repr(optimisers[1].state_dict())


@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_a_training_starts_without_the_compiler(tmp_path: Path, kind):
    (tmp_path / "text.txt").write_text(SIX_WORDS)
    options = "--arch srn --embedding 4 --hidden 4 --layers 1 --dropout 0 --batch 2 --epochs 1 --min-count 1"
    command = [
        *f"train lm --train text.txt --valid text.txt --optimiser {kind} {options}".split(),
        "--out",
        "a.pt",
    ]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tseval", *command, "--no-figure"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "torch.optim" in imported
    assert "torch._dynamo" not in imported
