"""Training text that is drawn from a formal language."""

import pytest
import torch

from tseval.models import Vocabulary
from tseval.suites.formal.languages import parse_language
from tseval.training.corpus import draw_text, encode_text, vocabulary_of

LANGUAGES = ["cross_serial(4,train=300)", "dyck(k=3,m=3,train=3000)", "generalised_dyck(train=200)"]


@pytest.mark.parametrize("spec", LANGUAGES)
def test_drawn_text_is_that_of_a_file_with_one_string_a_line(tmp_path, spec):
    language = parse_language(spec)
    lines = [text for block in language.draw("train") for text in block.texts(language.alphabet)]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines if line))
    vocabulary = vocabulary_of(language)
    drawn, read = draw_text(language, "train"), encode_text([tmp_path / "text"], vocabulary)
    # A file has no empty strings: blank lines are left out. C_k holds the empty string.
    repeated = (drawn[1:] == 0) & (drawn[:-1] == 0)
    assert int(repeated.sum()) == sum(not line for line in lines)
    assert torch.equal(drawn[torch.cat([torch.tensor([True]), ~repeated])], read)


def test_the_vocabulary_is_the_alphabet_behind_the_special_words():
    language = parse_language("dyck(k=2,m=3)")
    assert vocabulary_of(language) == Vocabulary(("<eos>", "<unk>", "(1", "(2", ")1", ")2"), lowercase=False)


@pytest.mark.parametrize("spec", LANGUAGES)
def test_training_and_validation_text_differ_and_come_again(spec):
    language = parse_language(spec)
    assert torch.equal(draw_text(language, "train"), draw_text(language, "train"))
    train, valid = draw_text(language, "train"), draw_text(language, "valid")
    assert not torch.equal(train[:200], valid[:200])
