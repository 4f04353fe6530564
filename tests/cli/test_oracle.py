"""`tseval oracle`, as users call it, and oracles as models by name."""

import pytest
from in_process import refuse, succeed

from tseval.adapters.oracle import open_oracle
from tseval.models import SPECIAL_WORDS
from tseval.models.checkpoint import load_checkpoint
from tseval.runs import read_run


def test_the_walk_prints_the_stack_after_each_symbol(tmp_path):
    for kind, columns in (("dyck-srn", ["copy"]), ("dyck-lstm", ["input", "forget", "output"])):
        for code in ("log", "one-hot"):
            language = "-k", 20, "-m", 2, "--code", code
            done = succeed("oracle", kind, *language, "--show-gates", "(3 (20 )20", cwd=tmp_path)
            heading, _, *rows = done.stdout.splitlines()
            assert heading.split() == ["symbol", "stack", *columns, "may", "follow"]
            start, first, second, third = (row.split() for row in rows)
            assert start[:2] == ["<eos>", "–"]
            assert first[:2] == ["(3", "(3"]
            assert second[:3] == ["(20", "(3", "(20"]
            assert second[-2:] == [")20", "1.000"]
            assert third[:2] == [")20", "(3"]
            assert " ".join(third).endswith(")3 0.048, (1 … (20 0.048 each")  # 1/21


def test_a_saved_oracle_says_how_to_use_it_and_is_the_model_of_that_name(tmp_path):
    done = succeed("oracle", "dyck-srn", "-k", 6, "-m", 3, "-o", "oracle.pt", cwd=tmp_path)
    assert done.stdout == ""
    assert "dyck-srn-k6-m3-log: 48 hidden units" in done.stderr
    assert "To score it: tseval run --model oracle.pt --suite 'dyck(k=6,m=3)'" in done.stderr
    saved = load_checkpoint(tmp_path / "oracle.pt")
    opened = open_oracle("dyck-srn", {"k": "6", "m": "3"}, "cpu")
    assert opened.card.fingerprint == saved.fingerprint
    assert opened.card.name == "dyck-srn-k6-m3-log"
    assert saved.training == {"oracle": "dyck-srn", "k": 6, "m": 3, "code": "log"}
    assert len(saved.vocabulary) == SPECIAL_WORDS + 12


SMALL = "dyck-srn", "-k", 2, "-m", 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dyck-srm", "-k", 2, "-m", 3), "no oracle has the name 'dyck-srm'. Did you mean 'dyck-srn'?"),
        ((*SMALL, "--code", "lag"), "no code has the name 'lag'. Did you mean 'log'?"),
        ((*SMALL, "-k", 0), "0 is not in the range x>=1"),
        (
            (*SMALL, "-k", 9000, "--code", "one-hot"),
            "weights are allowed.\n  Choose a smaller k or m, or the code log.",
        ),
        ((*SMALL, "-m", 100_000), "has 400,000 units and 160,000,000,000 recurrent weights, but"),
        (
            (*SMALL, "--show-gates", "(1 )2"),
            "symbol 2, ')2', cannot follow the symbols before it. Symbols that can follow: )1",
        ),
        ((*SMALL, "--show-gates", ")1"), "Symbols that can follow: <eos>, (1, (2 (<eos> ends the string)"),
        (
            (*SMALL, "-k", 99, "--show-gates", "a"),
            "not a symbol of the language. Symbols: (1, (2, (3, (4, …, )97, )98, )99",
        ),
        ((*SMALL, "-o", "oracle.bin"), "ends in .pt or .safetensors"),
        ((*SMALL, "-o", "here.pt"), "here.pt: this file exists"),
    ],
)
def test_bad_input_gets_one_message(tmp_path, arguments, message):
    (tmp_path / "here.pt").touch()
    assert message in refuse("oracle", *arguments, cwd=tmp_path).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["here.pt"]


def run(cwd, suite, *model):
    succeed("run", *model, "--suite", suite, "--out", "run", cwd=cwd)
    return read_run(cwd / "run").verdicts


@pytest.mark.parametrize(
    ("kind", "code", "k", "m"),
    [("dyck-srn", "log", 1, 3), ("dyck-lstm", "one-hot", 64, 5)],
)
def test_an_oracle_is_right_everywhere_on_the_suite_it_is_built_for(tmp_path, kind, code, k, m):
    model = "--model", f"oracle:{kind}", "--model-args", f"k={k},m={m},code={code}"
    verdicts = run(tmp_path, f"dyck(k={k},m={m},train=500,test=1500)", *model)
    assert len(verdicts) > 1000
    assert verdicts["correct"].all()


def test_an_oracle_that_is_deep_enough_is_right_on_generalised_dyck(tmp_path):
    model = "--model", "oracle:dyck-lstm", "--model-args", "k=5,m=10"
    assert run(tmp_path, "generalised_dyck(train=500,test=100)", *model)["correct"].all()
