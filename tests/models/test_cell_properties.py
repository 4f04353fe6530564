"""Properties of each architecture beyond its equation, and relations between architectures."""

import math

import pytest
import torch

from tseval.models.cells import CELLS
from tseval.models.cells.decay import EIRNN, AblatedDecayRNN, ConvolutionalDecayRNN, DecayRNN, SlackedDecayRNN
from tseval.models.cells.rnn import ONLSTM

INPUT, HIDDEN, BATCH, TIME = 7, 12, 3, 6
WITH_DALE = ["drnn", "drnn-cnn", "eirnn"]


def words(time=TIME, batch=BATCH, width=INPUT, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(time, batch, width, generator=generator, dtype=torch.float64)


def make(cell_type, input_size=INPUT, hidden=HIDDEN, **options):
    torch.manual_seed(2)
    return cell_type(input_size, hidden, **options).double()


def share_weights(cell, other):
    """Copy the shared weights of another cell into a cell."""
    cell.load_state_dict({n: w for n, w in other.state_dict().items() if n in cell.state_dict()})
    return cell


def read(cell, x):
    return cell(x, cell.initial_state(x.shape[1]))[0]


def train(cell, steps=20):
    """Train to random outputs, with steps large enough to move every recurrent weight past zero."""
    optimiser = torch.optim.Adam(cell.parameters(), lr=0.1)
    goals = words(width=cell.hidden_size, seed=3)
    for _ in range(steps):
        optimiser.zero_grad()
        (read(cell, words()) - goals).square().sum().backward()
        optimiser.step()


@pytest.mark.parametrize("arch", WITH_DALE)
def test_units_keep_their_sign_through_training(arch):
    cell = make(CELLS[arch])
    before = cell.recurrent.detach().clone()
    train(cell)
    assert (before.sign() != cell.recurrent.detach().sign()).any()
    outgoing = cell.recurrent_weight()[:HIDDEN].detach()
    # The last two of twelve units are inhibitory; a column has the outgoing weights of a unit.
    assert (outgoing[:, :10] >= 0).all()
    assert (outgoing[:, 10:] <= 0).all()
    assert (outgoing[:, :10] > 0).any()
    assert (outgoing[:, 10:] < 0).any()


def test_self_connections_stay_away_through_training():
    cell = make(EIRNN)
    train(cell)
    assert (cell.recurrent_weight().diagonal() == 0).all()
    assert (cell.recurrent.diagonal() > 0).any()  # only the mask removes them


@pytest.mark.parametrize(("beta", "sigma"), [(0.17, 0.15), (0.001, 0.4)])
def test_the_eirnns_noise_has_variance_two_beta_sigma_squared(beta, sigma):
    cell, batch = make(EIRNN, hidden=100, beta=beta, sigma=sigma), 2000
    x = words(1, 1).expand(1, batch, INPUT)
    _, (_, noisy) = cell.train()(x, cell.initial_state(batch))
    _, (_, still) = cell.eval()(x, cell.initial_state(batch))
    noise = (noisy - still).flatten()
    wanted, n = 2 * beta * sigma**2, 100 * batch
    # Five standard deviations of the mean and of the variance of n normal numbers.
    assert noise.mean().item() == pytest.approx(0, abs=5 * math.sqrt(wanted / n))
    assert noise.var().item() == pytest.approx(wanted, rel=5 * math.sqrt(2 / n))
    # Units and rows have independent noise: two neighbours do not correlate.
    pairs = (noisy - still)[:, :50] * (noisy - still)[:, 50:]
    assert pairs.mean().item() == pytest.approx(0, abs=5 * wanted / math.sqrt(n / 2))


def test_the_eirnns_noise_is_new_at_every_word_and_for_training_only():
    cell = make(EIRNN)
    x = words()
    torch.manual_seed(4)
    first, again = read(cell.train(), x), read(cell, x)
    assert not torch.equal(first, again)
    torch.manual_seed(4)
    assert torch.equal(first, read(cell, x))
    cell.eval()
    assert torch.equal(read(cell, x), read(cell, x))
    without = share_weights(make(EIRNN, sigma=0.0), cell).train()
    torch.testing.assert_close(read(without, x), read(cell, x))


@pytest.mark.parametrize("cell_type", [DecayRNN, SlackedDecayRNN, AblatedDecayRNN])
@pytest.mark.parametrize("bound", ["sigmoid", "none"])
def test_alpha_starts_where_it_should(cell_type, bound):
    assert make(cell_type, alpha_bound=bound).alpha.item() == pytest.approx(0.8)
    # The authors' program starts at the sigmoid of 0.8.
    program = 1 / (1 + math.exp(-0.8))
    cell = make(cell_type, alpha_bound=bound, initial_alpha=program)
    assert cell.alpha.item() == pytest.approx(program)
    if bound == "sigmoid":
        assert cell.decay.item() == pytest.approx(0.8)


def test_the_convolution_starts_around_alpha_08():
    cell = make(ConvolutionalDecayRNN)
    assert cell.decay.sigmoid().item() == pytest.approx(0.8)


@pytest.mark.parametrize("direction", [1, -1])
def test_only_an_unbounded_alpha_leaves_the_unit_interval(direction):
    found = {}
    for bound in ("sigmoid", "none"):
        cell = make(AblatedDecayRNN, alpha_bound=bound)
        optimiser = torch.optim.SGD([cell.decay], lr=1.0)
        for _ in range(5):
            optimiser.zero_grad()
            (-direction * cell.alpha).backward()
            optimiser.step()
        found[bound] = cell.watched["alpha"].item()
    assert 0 < found["sigmoid"] < 1
    assert not 0 < found["none"] < 1


def test_one_chunk_for_all_units_forgets_like_an_lstm_and_admits_nothing():
    # With one master unit, m_f = 1 and m_i = 0 for all inputs, so c stays zero.
    assert (read(make(ONLSTM, chunk=HIDDEN), words()) == 0).all()


def test_the_default_chunk_is_ten_where_ten_divides_the_units():
    assert make(ONLSTM, hidden=650).chunk == 10
    assert make(ONLSTM, hidden=16).chunk == 8
    assert make(ONLSTM, hidden=13).chunk == 1
    assert make(ONLSTM, hidden=10).chunk == 5  # one chunk for all units would let nothing in


def test_weights_drop_in_training_only_and_once_for_a_window():
    cell = make(ONLSTM, hidden=60, weight_drop=0.3)
    whole = cell.recurrent.detach()
    assert torch.equal(cell.eval().recurrent_weight(), whole)
    dropped = cell.train().recurrent_weight().detach()
    kept = dropped != 0
    n = whole.numel()
    assert 1 - kept.double().mean().item() == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / n))
    torch.testing.assert_close(dropped[kept], whole[kept] / 0.7)
    without = share_weights(make(ONLSTM, hidden=60), cell)
    torch.manual_seed(5)
    window, next_window = read(cell, words()), read(cell, words())
    torch.manual_seed(5)
    without.recurrent.data = cell.recurrent_weight().detach()
    assert torch.equal(window, read(without, words()))
    assert not torch.equal(window, next_window)
