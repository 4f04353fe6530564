"""`tseval train number` and `tseval train grammaticality`, as users call them, on data with a known rule."""

import random
from typing import Any

import pandas as pd
import pytest
from in_process import call, refuse, refused, run_process, succeed, succeeded
from small_training import write_agreement
from supplied import AGREEMENT

from tseval.models.checkpoint import load_checkpoint
from tseval.runs import read_run
from tseval.suites import load_suite

NOUNS = {"author": "sing", "pilot": "sing", "authors": "plur", "pilots": "plur"}
VERBS = {"sing": ("laughs", "laugh"), "plur": ("laugh", "laughs")}
HEADER = [
    "sentence", "verb_index", "verb_form", "number", "opp_verb_form", "n_intervening", "n_attractors",
    "split",
]  # fmt: skip
SMALL = ["--embedding", "8", "--hidden", "12", "--batch", "8", "--learning-rate", "0.02", "--epochs", "12"]


def row(draw, split, last=False):
    """Return a subject, at most two nouns, and a verb that agrees with the first noun, or with the last."""
    nouns = draw.choices(list(NOUNS), k=draw.randint(1, 3))
    number = NOUNS[nouns[-1 if last else 0]]
    words = ["the", *" near the ".join(nouns).split()]
    found, other = VERBS[number]
    attractors = sum(NOUNS[noun] != number for noun in nouns)
    sentence = " ".join([*words, found, "."])
    return [sentence, len(words), found, number, other, len(nouns) - 1, attractors, split]


def write(path, splits, header=HEADER, **kind):
    draw = random.Random(0)
    rows = [row(draw, split, **kind) for split, count in splits.items() for _ in range(count)]
    kept = [HEADER.index(name) for name in header]
    lines = [header, *([cells[i] for i in kept] for cells in rows)]
    path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    return path


@pytest.fixture
def data(tmp_path):
    write(tmp_path / "examples.tsv", {"train": 300, "valid": 60, "test": 80})
    return tmp_path


def train(cwd, task="number", *extra, data="examples.tsv", out="model.pt", arch="gru"):
    return call("train", task, "--data", data, "--arch", arch, "--out", out, *SMALL, *extra, cwd=cwd)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "method"), [("number", "number"), ("grammaticality", "judgement")])
def test_what_is_trained_is_scored_by_a_run_on_the_test_rows(data, task, method):
    succeeded(train(data, task))
    command = "run", "--model", "model.pt", "--suite", f"examples.tsv:{method}", "--out", "run"
    succeed(*command, "--case", "test", cwd=data)
    run: Any = read_run(data / "run")
    assert len(run.verdicts) == 80
    assert run.verdicts["correct"].mean() > 0.95
    # The probabilities of the two answers sum to one.
    scores = run.verdicts[["better_score", "worse_score"]]
    assert scores.map(lambda score: 2.718281828459045**score).sum(axis=1).tolist() == pytest.approx([1] * 80)
    succeed(*command[:-1], "valid", "--case", "valid", cwd=data)
    recorded = run.manifest.model.details["validation_accuracy"]
    assert read_run(data / "valid").verdicts["correct"].mean() == recorded > 0.95
    assert f"task:{task}" in run.manifest.signature


@pytest.mark.slow
def test_a_classifier_learns_what_the_examples_say_and_not_what_is_grammatical(data):
    write(data / "last.tsv", {"train": 300, "valid": 60, "test": 80}, last=True)
    succeeded(train(data, data="last.tsv"))
    for name in ("last", "examples"):
        suite = f"{name}.tsv:number", "--case", "test", "--out", name
        succeed("run", "--model", "model.pt", "--suite", *suite, cwd=data)
    assert read_run(data / "last").verdicts["correct"].mean() > 0.95
    found = read_run(data / "examples").verdicts
    misled = found["n_attractors"] == found["n_intervening"]
    assert found.loc[misled & (found["n_intervening"] > 0), "correct"].mean() < 0.05


def test_the_checkpoint_records_how_it_came_about_and_a_preset_stands_in_for_defaults(data):
    command = (
        "train", "number", "--data", "examples.tsv", "--arch", "drnn", "--out", "model.pt", "--epochs", 1,
    )  # fmt: skip
    succeed(*command, "--preset", "bhatt2020", "--hidden", 7, cwd=data)
    checkpoint: Any = load_checkpoint(data / "model.pt")
    sizes, training = checkpoint.model.sizes, checkpoint.training
    assert (sizes.embedding, sizes.hidden, sizes.layers, sizes.options["activation"]) == (50, 7, 1, "relu")
    assert (training["settings"]["batch"], training["settings"]["learning_rate"]) == (1, 0.001)
    assert training["command"].startswith("tseval train number --data examples.tsv --arch drnn")
    digest = load_suite(f"{data}/examples.tsv:number").digest
    assert training["data"] == [{"suite": "examples_number", "digest": digest}]
    curve = pd.read_parquet(data / "model.curves.parquet")
    assert curve["validation_accuracy"].notna().all()


def test_a_given_activation_goes_before_relu_and_gated_cells_have_it_only_if_given(data):
    relu, tanh = ("--option", "activation=relu"), ("--option", "activation=tanh")
    for arch, options, expected in (
        ("srn", (), {"activation": "relu"}),
        ("srn", tanh, {"activation": "tanh"}),
        ("lstm", ("--preset", "bansal2020"), {}),
        ("lstm", relu, {"activation": "relu"}),
        ("gru", relu, {"activation": "relu"}),
    ):
        succeeded(train(data, "number", "--epochs", 1, *options, arch=arch))
        assert load_checkpoint(data / "model.pt").model.sizes.options == expected
        (data / "model.pt").unlink()


def test_several_tables_are_learnt_from_together(data):
    write(data / "more.tsv", {"train": 40, "dev": 20})
    done = train(data, "number", "--epochs", 1, "--data", "more.tsv")
    assert "340 examples to train on, 80 to validate on" in done.stderr


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (("--data", "./absent.tsv"), "absent.tsv: this file or folder does not exist"),
        (("--data", "./plain.jsonl"), "has no feature 'number', the number that the verb should have"),
        (("--option", "actvation=relu"), "Did you mean 'activation'?"),
        (
            ("--min-count", 9999),
            "--min-count 9999: no word of the training examples occurs that often. Lower --min-count",
        ),
        (("--preset", "gulordava2018"), "'gulordava2018' is not"),
    ],
)
def test_bad_settings_get_one_message(data, extra, message):
    (data / "plain.jsonl").write_text('{"good": "he laughs", "bad": "he laugh"}\n')
    assert message in refused(train(data, "number", *extra, arch="srn")).stderr


@pytest.mark.parametrize(
    ("splits", "header", "message"),
    [
        ({"train": 9, "test": 9}, HEADER,
         "bad_number: no example belongs to the split valid or dev. The splits of these data are: train, "
         "test"),
        ({"valid": 9}, HEADER, "bad_number: no example belongs to the split train. The splits of these "
                               "data are: valid"),
        ({"train": 9}, HEADER[:-1], "bad_number: no example belongs to the split train. The splits of "
                                    "these data are: bad"),
        ({"train": 1, "valid": 9}, HEADER, "no example of the split train has the answer '"),
        ({"train": 9, "valid": 9}, HEADER[1:], "bad.tsv:1: no pair of sentences"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_learnt_from_get_one_message(data, splits, header, message):
    write(data / "bad.tsv", splits, header)
    assert message in refused(train(data, data="bad.tsv")).stderr
    assert not (data / "model.pt").exists()


def test_run_pair_and_lint_know_classifiers(data):
    succeeded(train(data, "number", "--epochs", 1))
    done = refuse("run", "--model", "model.pt", "--suite", "examples.tsv:judgement", cwd=data)
    assert "model is a classifier (number): it reads only sentences that end in <singular> or" in done.stderr
    assert "Use the suite SUITE:number or SUITE:number_profile." in done.stderr
    assert not (data / "runs").exists()
    succeed("pair", "--model", "model.pt", "the authors <plural>", "the authors <singular>", cwd=data)
    write_agreement(data, "author", "surgeon")
    done = call("lint", "--quiet", "./agree.jinja", "--vocab", "model.pt", cwd=data)
    assert done.returncode == 1
    # `number` reads up to the verb, so the classifier has seen none of the later words.
    assert "words missing from the vocabulary (5): ., laughs, laugh, surgeon, surgeons" in done.stdout


@pytest.mark.slow
def test_the_installed_command_learns_number_from_treebank_sentences(tmp_path):
    command = ["tseval", "train", "number", "--data", str(AGREEMENT), "--arch", "gru", "--out", "model.pt"]
    done = succeeded(run_process([*command, "--epochs", "2", "--initial-range", "1"], cwd=tmp_path))
    assert "3,592 examples to train on, 593 to validate on" in done.stderr
    # Better than the most frequent answer: zcat and sort count the validation rows.
    numbers = load_suite(AGREEMENT, cases="valid").cases[0].features["number"].to_pylist()
    majority = numbers.count("sing") / len(numbers)
    training: Any = load_checkpoint(tmp_path / "model.pt").training
    assert training["validation_accuracy"] > majority
