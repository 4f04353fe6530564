"""Training text: vocabulary, encoding, columns, and the messages about bad files."""

from collections import Counter

import pytest
import torch
from small_training import WORDS, Quiet, assert_same, interrupt, outcome

from tseval.errors import TrainingError
from tseval.models import Vocabulary
from tseval.models.network import LanguageModel, Sizes
from tseval.suites.formal.languages import parse_language
from tseval.training.corpus import Lines, columns, count_words, draw_text, encode_text, vocabulary_of
from tseval.training.validation import mean_loss

TEXT = "The author laughs .\nThe pilots laugh .\n\nThe author smiles .\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_the_vocabulary_is_the_most_frequent_words_ties_in_order_of_the_alphabet():
    counts = Counter("bbaacddd")
    vocabulary = Vocabulary.from_counts(counts, size=3, min_count=1, lowercase=False)
    assert vocabulary.words == ("<eos>", "<unk>", "d", "a", "b")
    assert Vocabulary.from_counts(counts, size=None, min_count=3, lowercase=False).words[2:] == ("d",)


def test_text_becomes_one_stream_with_eos_around_every_sentence(text):
    vocabulary = Vocabulary(("<eos>", "<unk>", "the", "author", "laughs", "."), lowercase=True)
    assert encode_text([text], vocabulary).tolist() == [0, 2, 3, 4, 5, 0, 2, 1, 1, 5, 0, 2, 3, 1, 5, 0]


def test_case_is_kept_unless_lowered(text):
    assert count_words([text], lowercase=False)["The"] == 3
    assert count_words([text], lowercase=True)["the"] == 3


def test_columns_are_consecutive_text():
    folded = columns(torch.arange(11), 3)
    assert folded.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_too_little_text_says_what_to_change():
    with pytest.raises(TrainingError, match="3 tokens, which is too few for --batch 3"):
        columns(torch.arange(3), 3)


# Training text from a formal language.
LANGUAGES = ["cross_serial(4,train=300)", "dyck(k=3,m=3,train=3000)", "generalised_dyck(train=200)"]


@pytest.mark.parametrize("spec", LANGUAGES)
def test_drawn_text_is_that_of_a_file_with_one_string_a_line(tmp_path, spec):
    language = parse_language(spec)
    lines = [text for block in language.draw("train") for text in block.texts(language.alphabet)]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines if line))
    vocabulary = vocabulary_of(language)
    drawn, read = draw_text(language, "train"), encode_text([tmp_path / "text"], vocabulary)
    # A file has no empty strings, because blank lines are left out. C_k contains the empty string.
    repeated = (drawn[1:] == 0) & (drawn[:-1] == 0)
    assert int(repeated.sum()) == sum(not line for line in lines)
    assert torch.equal(drawn[torch.cat([torch.tensor([True]), ~repeated])], read)


def test_the_vocabulary_is_the_alphabet_behind_the_special_words():
    language = parse_language("dyck(k=2,m=3)")
    assert vocabulary_of(language) == Vocabulary(("<eos>", "<unk>", "(1", "(2", ")1", ")2"), lowercase=False)


# Windows of columns and batches of whole lines: the words that are read, counted and learnt.
LINES = [(2, 3, 5, 7), (2, 4), (3,), (2, 4, 6, 7), (5, 5, 5, 5, 5, 5)]
STREAM = torch.tensor([0, *(word for line in LINES for word in (*line, 0))])


def small_model(arch="lstm", **sizes):
    torch.manual_seed(0)
    return LanguageModel(Sizes(arch, len(WORDS), **{"embedding": 6, "hidden": 10, "layers": 2} | sizes))


def losses_line_by_line(model, lines):
    """Return cross-entropies of all words and of the final <eos>, each line separately."""
    losses = []
    for line in lines:
        words = torch.tensor([0, *line])[:, None]
        outputs, _ = model(words, model.initial_state(1))
        following = torch.tensor([*line, 0])
        logits = model.logits(outputs)[:, 0]
        losses.append(torch.nn.functional.cross_entropy(logits, following, reduction="none"))
    return torch.cat(losses)


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 100])
def test_the_loss_of_whole_lines_is_that_of_each_line_by_itself(batch):
    model = small_model().eval()
    with torch.inference_mode():
        expected = losses_line_by_line(model, LINES).mean().item()
    assert mean_loss(model, Lines(STREAM, 0, batch)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("arch", ["lstm", "urn"])
def test_an_interrupted_run_over_whole_lines_goes_on_to_the_same_result(tmp_path, train, arch):
    settings = {"whole_lines": True, "batch": 2, "validate_every": 2, "text": (STREAM, STREAM)}
    train("whole.pt", arch, **settings)
    with pytest.raises(KeyboardInterrupt):
        train("parts.pt", arch, listener=Quiet({4: interrupt}), **settings)
    train("parts.pt", arch, resume=True, **settings)
    assert_same(outcome(tmp_path, "whole"), outcome(tmp_path, "parts"))
