"""From a treebank to a table of agreement by attractors, as the tutorial says."""

import shutil
from pathlib import Path

import pytest
from checkpoints import bpe_tokenizer, save_causal
from pages import follow
from supplied import TREEBANKS

from tseval import load_suite
from tseval.suites.agreement.minimal_pairs import make_pairs, open_phenomenon

PAGE = Path(__file__).parents[2] / "docs/tutorial-treebank.md"
RUSSIAN = TREEBANKS / "ru_gsd.conllu.gz"


@pytest.mark.slow
def test_the_tutorial_is_followed_to_the_letter(tmp_path):
    shutil.copy(RUSSIAN, tmp_path / "ru.conllu.gz")
    texts = make_pairs([RUSSIAN], open_phenomenon("subject-verb-gender")).table["good"].to_pylist()
    save_causal(tmp_path / "model", tokenizer=bpe_tokenizer(size=600, texts=texts), n_positions=512)
    followed = follow(PAGE, tmp_path)
    assert len(followed) == 5
    for command in followed:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"
    assert "n_attractors 1" in followed[3].printed
    suite = load_suite(tmp_path / "gender.tsv")
    assert {factor for case in suite.cases for factor in case.entries.column_names} == {
        "target", "controller", "sentence",
    }  # fmt: skip
    assert not {"good_tokens", "bad_tokens"} & {*suite.cases[0].features.column_names}
    tokens = load_suite(tmp_path / "gender.tsv", columns={"good": "good_tokens", "bad": "bad_tokens"})
    assert suite.n_items == tokens.n_items == 48
    assert not {"good", "bad"} & {*tokens.cases[0].features.column_names}
    assert tokens.cases[0].sentences[0][0].as_py().endswith(" .")
