"""A training that is killed at any call that changes the file system, and then resumed."""

import pytest
from in_process import succeed
from killing import in_a_process

PROGRAM = """
    import json, sys
    from pathlib import Path
    import pandas as pd
    from in_process import succeed
    from killing import different, files_below, kill_everywhere
    from tseval.models.checkpoint import load_checkpoint

    place = Path(sys.argv[1])
    lines = ["the author laughs .", "the pilots laugh ."] * 30
    (place / "train.txt").write_text("\\n".join(lines))
    (place / "valid.txt").write_text("\\n".join(lines[:10]))
    shape = "--arch srn --embedding 3 --hidden 3 --layers 1 --dropout 0.2".split()
    course = "--batch 4 --window 5 --epochs 2 --learning-rate 0.05 --seed 1".split()

    quietly = "--quiet", "--no-figure"

    def train(*more):
        texts = "--train", place / "train.txt", "--valid", place / "valid.txt"
        succeed("train", "lm", *shape, *course, *texts, "--out", "model.pt", *quietly, *more)

    def timeless(value):
        if isinstance(value, dict):
            kept = value.keys() - {"seconds", "command"}
            return {name: timeless(value[name]) for name in sorted(kept)}
        return [timeless(entry) for entry in value] if isinstance(value, list | tuple) else value

    def compare(whole, other):
        both = []
        for folder in whole, other:
            files = files_below(folder)
            if "model.pt" in files:  # all but the seconds that it took, and --resume
                saved = load_checkpoint(folder / "model.pt")
                files["model.pt"] = [saved.fingerprint, timeless(saved.training), saved.validation_perplexity]
            if "model.curves.parquet" in files:
                curves = pd.read_parquet(folder / "model.curves.parquet").drop(columns="seconds")
                files["model.curves.parquet"] = curves.to_json(double_precision=15)
            both.append(files)
        return different(*both)

    print(json.dumps(kill_everywhere(train, lambda: train("--resume"), compare, place / "points", every=2)))
"""


@pytest.mark.slowest
def test_a_training_killed_at_any_call_resumes_to_the_same_model_and_leaves_nothing_behind(tmp_path):
    found = in_a_process(PROGRAM, tmp_path)
    assert found["wrong"] == {}
    assert found["points"] > 40


@pytest.mark.slowest
def test_a_training_killed_while_its_figure_is_drawn_draws_it_when_it_is_resumed(tmp_path):
    (tmp_path / "text").write_text("the author laughs .\nthe pilots laugh .\n" * 20)
    shape = "--arch srn --embedding 3 --hidden 3 --layers 1 --batch 2 --window 5 --epochs 1"
    texts = "--train", "text", "--valid", "text"
    arguments = "train", "lm", *shape.split(), *texts, "--out", "model.pt"
    succeed(*arguments, cwd=tmp_path)
    whole = {path.name for path in tmp_path.iterdir()}
    (tmp_path / "model.curves.svg").rename(tmp_path / "model.curves.svg.partial")
    (tmp_path / "model.curves.png").unlink()
    succeed(*arguments, "--resume", cwd=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == whole
