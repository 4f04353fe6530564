"""Windows of columns and batches of whole lines: what is read, what is counted, what is learnt."""

import math

import pandas as pd
import pytest
import torch
from small_training import WORDS, Quiet, assert_same, interrupt, outcome

from tseval.models.checkpoint import load_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.training.corpus import Columns, Lines
from tseval.training.loop import mean_loss

CPU = torch.device("cpu")
LINES = [(2, 3, 5, 7), (2, 4), (3,), (2, 4, 6, 7), (5, 5, 5, 5, 5, 5)]
STREAM = torch.tensor([0, *(word for line in LINES for word in (*line, 0))])


def small_model(arch="lstm", **sizes):
    torch.manual_seed(0)
    return LanguageModel(Sizes(arch, len(WORDS), **{"embedding": 6, "hidden": 10, "layers": 2} | sizes))


def losses_line_by_line(model, lines):
    """Cross-entropies of all words and closing <eos>, each line by itself."""
    losses = []
    for line in lines:
        words = torch.tensor([0, *line])[:, None]
        outputs, _ = model(words, model.initial_state(1))
        following = torch.tensor([*line, 0])
        losses.append(
            torch.nn.functional.cross_entropy(model.logits(outputs)[:, 0], following, reduction="none")
        )
    return torch.cat(losses)


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 100])
def test_the_loss_of_whole_lines_is_that_of_each_line_by_itself(batch):
    model = small_model().eval()
    with torch.inference_mode():
        expected = losses_line_by_line(model, LINES).mean().item()
    assert mean_loss(model, Lines(STREAM, 0, batch)) == pytest.approx(expected, rel=1e-6)


def test_a_batch_of_lines_holds_their_words_and_starts_afresh():
    window = Lines(STREAM, 0, 2).read(1, CPU)
    assert window.words.t().tolist() == [[0, 3, 0, 0, 0], [0, 2, 4, 6, 7]]
    assert window.targets.tolist() == [3, 2, 0, 4, 6, 7, 0]
    assert window.rows.tolist() == [0, 1, 2, 3, 5, 7, 9]
    assert window.fresh


def test_lines_of_one_length_need_no_filling():
    window = Lines(torch.tensor([0, 2, 3, 0, 4, 5, 0]), 0, 2).read(0, CPU)
    assert window.words.tolist() == [[0, 0], [2, 4], [3, 5]]
    assert window.targets.tolist() == [2, 4, 3, 5, 0, 0]
    assert window.rows is None


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (Lines(STREAM, 0, 2), [5 + 3, 2 + 5, 7]),
        (Lines(STREAM, 0, 100), [22]),
        (Columns(torch.zeros(11, 3, dtype=torch.int64), 4), [12, 12, 6]),
    ],
)
def test_windows_are_counted_by_the_words_they_predict(text, sizes):
    assert text.n_windows == len(sizes)
    ends = [sum(sizes[:count]) for count in range(len(sizes) + 1)]
    assert [text.tokens(count) for count in range(len(ends))] == ends
    assert [len(text.read(index, CPU).targets) for index in range(len(sizes))] == sizes
    for tokens in range(1, ends[-1] + 1):
        assert text.windows_for(tokens) == next(count for count, end in enumerate(ends) if end >= tokens)


def test_the_steps_are_plain_adam_on_the_mean_loss_of_the_lines(tmp_path, train):
    train(arch="lstm", whole_lines=True, batch=2, epochs=2, text=(STREAM, STREAM), clip=1e9,
          sizes={"dropout": 0.0})  # fmt: skip
    torch.manual_seed(1)
    model = LanguageModel(Sizes("lstm", len(WORDS), embedding=6, hidden=10, layers=2))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, fused=False, foreach=False)
    for start in (0, 2, 4) * 2:
        losses_line_by_line(model, LINES[start : start + 2]).mean().backward()
        optimiser.step()
        optimiser.zero_grad()
    trained = load_checkpoint(tmp_path / "model.pt").model.state_dict()
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(trained[name], tensor, rtol=1e-3, atol=1e-5)
    table = pd.read_parquet(tmp_path / "model.curves.parquet")
    assert table["tokens"].iloc[-1] == 2 * 22


@pytest.mark.parametrize("arch", ["lstm", "urn", "drnn-cnn"])
def test_an_interrupted_run_over_whole_lines_goes_on_to_the_same_result(tmp_path, train, arch):
    settings = {"whole_lines": True, "batch": 2, "validate_every": 2, "text": (STREAM, STREAM)}
    train("whole.pt", arch, **settings)
    with pytest.raises(KeyboardInterrupt):
        train("parts.pt", arch, listener=Quiet({4: interrupt}), **settings)
    train("parts.pt", arch, resume=True, **settings)
    assert_same(outcome(tmp_path, "whole"), outcome(tmp_path, "parts"))


def test_the_urn_learns_from_whole_lines_what_it_cannot_from_carried_columns(train):
    # The third word is the first once more, one of two: log 2 nats a line of four, and nothing else is free.
    draw = torch.randint(3, 5, (200,), generator=torch.Generator().manual_seed(0)).tolist()
    text = torch.tensor([0, *(word for first in draw for word in (first, 2, first, 0))])
    shape = {"embedding": 28, "hidden": 8, "layers": 1, "dropout": 0.0}
    settings = {"epochs": 40, "batch": 20, "learning_rate": 0.02, "sizes": shape, "text": (text, text)}
    assert math.log(train("lines.pt", "urn", whole_lines=True, **settings)) < math.log(2) / 4 + 0.05
    assert math.log(train("columns.pt", "urn", **settings)) > math.log(2) / 4 + 0.1


def test_a_urn_drops_the_same_of_a_word_wherever_it_stands_in_a_window():
    model = small_model("urn", layers=1, dropout=0.5, embedding=45).train()
    words = torch.tensor([[0, 0, 0], [2, 2, 3], [5, 5, 5]])
    outputs, _ = model(words, model.initial_state(3))
    same, other = outputs[:, 0], outputs[:, 1]
    both = (same != 0) & (other != 0)  # the outputs are dropped one by one
    assert both.any()
    assert torch.equal(same[both], other[both])
    assert ((same != 0) != (other != 0)).any()
