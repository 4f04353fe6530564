"""Inputs that tseval once refused or misread silently: names of types, commas in paths, dashes, bad trees."""

import json

import pytest
from checkpoints import save_causal
from in_process import refuse, succeed
from small import write_file

from tseval.adapters import open_model
from tseval.cli.model_options import read_arguments
from tseval.errors import ModelError
from tseval.scoring.surprisal import surprisals


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("models") / "gpt2", "gpt2")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("bf16", "bfloat16"), ("half", "float16"), ("fp16", "float16"), ("torch.float16", "float16"),
     ("float", "float32"), ("FP32", "float32"), ("bfloat16", "bfloat16")],
)  # fmt: skip
def test_types_have_the_names_that_people_give_them(folder, name, dtype):
    assert open_model(f"hf:{folder}", {"dtype": name}).card.protocol["dtype"] == dtype


def test_what_is_no_type_is_named(folder):
    with pytest.raises(
        ModelError, match=r"dtype=fp8: unknown type\. Types: auto, bfloat16, float16, float32"
    ):
        open_model(f"hf:{folder}", {"dtype": "fp8"})


def test_a_path_may_hold_commas_and_equals_signs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b=1").mkdir()
    write_file(tmp_path / "a,b=1" / "w,x.txt", "a\n")
    assert read_arguments("vocab=a,b=1/w,x.txt,bos=<s>") == {"vocab": "a,b=1/w,x.txt", "bos": "<s>"}
    assert read_arguments("vocab_from=a,b,bos=<s>") == {"vocab_from": "a,b", "bos": "<s>"}
    assert read_arguments("a=1,b=2,") == {"a": "1", "b": "2"}


def test_a_sentence_may_begin_with_a_dash():
    told = succeed("pair", "- the author laughs .", "-- the author laugh .", "--model", "bundled:lstm")
    assert [line.split("\t")[2] for line in told.stdout.splitlines()[1:3]] == ["-", "the"]
    assert "No such option" in refuse("pair", "a", "b", "--modle", "bundled:lstm").stderr


def test_parts_of_a_character_are_spelt_as_bytes(folder):
    (tokens,) = surprisals(open_model(f"hf:{folder}"), ["Ö"])
    assert [token.token for token in tokens] == [r"\xc3", r"\x96"]


def test_parameters_are_a_number_in_json(tmp_path):
    pair = {"good": "the author laughs .", "bad": "the author laugh ."}
    file = write_file(tmp_path / "a.jsonl", pair)
    succeed("run", "--model", "bundled:lstm", "--suite", file, "--out", tmp_path / "run")
    (column,) = json.loads(succeed("table", tmp_path / "run", "--format", "json").stdout)["columns"]
    details = json.loads((tmp_path / "run/manifest.json").read_text())["model"]["details"]
    assert column["parameters"] == details["core_parameters"]


TREE = (
    "1\tauthors\tauthor\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n"
    "2\tlaugh\tlaugh\tVERB\tVBP\tNumber=Plur\t0\troot\t_\t_\n"
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            TREE.replace("authors", "_"),
            "t.conllu:1: this line has _ in column 2, where the word must be.",
        ),
        (
            TREE.replace("\t2\tnsubj", "\t0\troot"),
            "t.conllu:2: the sentence has two roots: both 'laugh' (this line) and 'authors' (an earlier "
            "line) have head 0.",
        ),
        (
            TREE.replace("Number=Plur\t0", "Number=Plur|Number=Sing\t0"),
            "t.conllu:2: the feature 'Number' appears twice",
        ),
    ],
)
def test_faults_of_trees_are_said(tmp_path, content, said):
    pytest.importorskip("conllu")
    write_file(tmp_path / "t.conllu", content + "\n")
    assert said in refuse("data", "agreement", "t.conllu", "-o", "t.tsv", cwd=tmp_path).stderr
