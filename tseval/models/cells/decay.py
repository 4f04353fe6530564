"""Cells with a decaying state: EIRNN, Decay RNN, and its slacked, ablated and convolutional variants."""

from __future__ import annotations

import hashlib
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.cell import AdditiveCell, State, recurrent_matrix, require
from tseval.models.cells.window import Gradients, aten, tanh_

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
# Derivatives: from the loss's derivative by the activation's value, and that value, to that by its argument.
DERIVATIVES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": aten.tanh_backward,
    "relu": lambda slope, value: aten.threshold_backward(slope, value, 0),
}
# In-place versions of the activation and its derivative (into the last argument), for gated cells.
IN_PLACE: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor, Tensor], object]]] = {
    "tanh": (tanh_, lambda slope, value, out: aten.tanh_backward.grad_input(slope, value, grad_input=out)),
    "relu": (
        torch.relu_,
        lambda slope, value, out: aten.threshold_backward.grad_input(slope, value, 0, grad_input=out),
    ),
}
BOUNDS = ("sigmoid", "none")


class DecayCell(AdditiveCell):
    """A cell whose state decays towards the drive c_t at one learned rate per layer.

    h_t = f(α h_{t-1} + (1 - α) c_t)

    Args:
        initial_alpha: α before training.
        alpha_bound: `sigmoid`: α = σ(a) with a learned; `none`: α itself is learned, without bounds.
        activation: f, `tanh` for language models, `relu` for classifiers.

    Source: Bhatt et al. 2020, section 4. Departure: the authors' language-modelling program starts at
    α = σ(0.8) = 0.69, and their number-prediction programs learn α without a sigmoid. Both are options; the
    default follows the paper.
    """

    has_recurrent = True

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        initial_alpha: float = 0.8,
        alpha_bound: str = "sigmoid",
        activation: str = "tanh",
    ) -> None:
        super().__init__(input_size, hidden_size, hidden_size)
        require("alpha_bound", alpha_bound, alpha_bound in BOUNDS, "sigmoid or none")
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        self.bounded = alpha_bound == "sigmoid"
        self.activation = ACTIVATIONS[activation]
        self.activation_backward = DERIVATIVES[activation]
        if self.bounded:
            require("initial_alpha", initial_alpha, 0 < initial_alpha < 1, "between 0 and 1")
        else:
            require("initial_alpha", initial_alpha, math.isfinite(initial_alpha), "finite")
        self.decay = nn.Parameter(torch.tensor(logit(initial_alpha) if self.bounded else initial_alpha))
        if self.has_recurrent:
            self.recurrent = recurrent_matrix(hidden_size, hidden_size)

    def recurrent_weight(self) -> Tensor | None:
        """Return W, (hidden, hidden)."""
        return self.recurrent

    @property
    def alpha(self) -> Tensor:
        """Decay rate α, a scalar."""
        return self.decay.sigmoid() if self.bounded else self.decay

    @property
    def watched(self) -> Mapping[str, Tensor]:
        """α, whose course over training is in Figure 5 of Bhatt et al. 2020."""
        return {"alpha": self.alpha}

    @property
    def advice(self) -> str | None:
        """Advice for unbounded α: above 1, it amplifies the state at every word, and only tanh limits it."""
        if self.bounded or self.activation is not torch.relu:
            return None
        return (
            "With ReLU and no bound, an α above 1 makes the state grow with every word. "
            "Try --option alpha_bound=sigmoid, a lower initial_alpha, or activation=tanh."
        )

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state; see `AdditiveCell.update`."""
        return (self.activation(torch.lerp(drive, state[0], self.alpha)),)

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """The parameter from which α is computed."""
        return (self.decay,)

    def update_backward(self, drive: Tensor, before: State, after: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`."""
        alpha = self.alpha
        slope = self.activation_backward(slopes[0], after[0])
        by_alpha = torch.dot(slope.flatten(), (before[0] - drive).flatten())
        if self.bounded:
            by_alpha *= alpha * (1 - alpha)
        return slope * (1 - alpha), (slope * alpha,), (by_alpha,)


def logit(share: float) -> float:
    """Return the inverse of the sigmoid."""
    return math.log(share / (1 - share))


INHIBITORY = "0.2:last"  # as in Bhatt et al. 2020
_CHOICE = re.compile(
    r"(?P<share>0(\.[0-9]{1,9})?|1(\.0{1,9})?):(?P<place>first|last|drawn:(?P<seed>[0-9]{1,18}))"
)


def dale_signs(hidden: int, inhibitory: str = INHIBITORY) -> Tensor:
    """Return the diagonal of D, (hidden,): -1 for the inhibitory units, +1 for the others.

    D multiplies from the right, so it sets the signs of columns, the outgoing weights of a unit.

    Args:
        hidden: Number of units.
        inhibitory: The inhibitory units, `SHARE:PLACE`: floor(share * hidden) units, the `last` ones, the
            `first` ones, or random ones, `drawn:SEED`, the same in every layer and on every machine.

    Source: Bhatt et al. 2020, section 4; Song et al. 2016: the last fifth. Departure: the published program
    of Bhatt et al. has noise outside D's diagonal; here D is exact.
    """
    match = _CHOICE.fullmatch(inhibitory)
    demand = "a share from 0 to 1 and a place, such as 0.2:last, 0.2:first or 0.2:drawn:7"
    require("inhibitory", inhibitory, match is not None, demand)
    assert match is not None
    count = int(Decimal(match["share"]) * hidden)
    signs = torch.ones(hidden)
    if signs.is_meta:  # only the options are checked
        return signs
    if match["seed"] is not None:
        signs[_drawn(hidden, count, int(match["seed"]))] = -1
    else:
        signs[slice(count) if match["place"] == "first" else slice(hidden - count, hidden)] = -1
    return signs


def _drawn(hidden: int, count: int, seed: int) -> list[int]:
    """Draw units with a hash, because a library's random generator may change between versions."""
    lots = {unit: hashlib.sha256(f"{seed} {unit}".encode()).digest() for unit in range(hidden)}
    return sorted(lots, key=lots.__getitem__)[:count]


class DecayRNN(DecayCell):
    """A recurrent network whose state decays at a learned rate, under Dale's law.

    c_t = (ReLU(W) D) h_{t-1} + U x_t + b
    h_t = f(α h_{t-1} + (1 - α) c_t)

    Source: Bhatt et al. 2020, section 4. `DecayCell` describes α and f, `dale_signs` the inhibitory units.
    """

    name = "drnn"
    later_options = ("inhibitory",)
    signs: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        initial_alpha: float = 0.8,
        alpha_bound: str = "sigmoid",
        activation: str = "tanh",
        inhibitory: str = INHIBITORY,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            initial_alpha=initial_alpha,
            alpha_bound=alpha_bound,
            activation=activation,
        )
        # Derived from the options and the size, so it is not saved in checkpoints.
        self.register_buffer("signs", dale_signs(hidden_size, inhibitory), persistent=False)

    def recurrent_weight(self) -> Tensor:
        """Return ReLU(W) D, (hidden, hidden)."""
        return self.recurrent.relu() * self.signs


class SlackedDecayRNN(DecayCell):
    """A Decay RNN without Dale's law: a unit may excite some units and inhibit others.

    c_t = W h_{t-1} + U x_t + b
    h_t = f(α h_{t-1} + (1 - α) c_t)

    Source: Bhatt et al. 2020, section 4. See `DecayCell` for α.
    """

    name = "sdrnn"


class AblatedDecayRNN(DecayCell):
    """A Decay RNN whose only memory is the decay: units are not connected.

    h_t = f(α h_{t-1} + (1 - α) (U x_t + b))

    Source: Bhatt et al. 2020, section 4. See `DecayCell` for α.
    """

    name = "abdrnn"
    has_recurrent = False

    def recurrent_weight(self) -> None:
        """Return None, because there is no recurrent weight."""
        return


class EIRNN(AdditiveCell):
    """A network of excitatory and inhibitory rate units with a fixed leak rate, and noise in training.

    r_{t-1} = relu(s_{t-1})
    s_t     = (1 - β) s_{t-1} + β ((ReLU(W) D) r_{t-1} + U x_t + b) + √(2 β σ²) N(0, 1)

    The state is (r, s); r is the output. Without self-connections, the diagonal of W is always masked, so
    that training cannot restore them.

    Source: Song, Yang & Wang 2016, the discretised dynamics; β as in Bansal et al. 2020 (0.17 and 0.001).
    Departure: the published program of Bansal et al. has β = 0.005 and no noise.

    Args:
        beta: β, the share of the state that is replaced at every word.
        sigma: σ, strength of the noise in training; 0 for none.
        self_connections: Whether units have connections to themselves.
        inhibitory: The inhibitory units; see `dale_signs`.
    """

    name = "eirnn"
    n_states = 2
    later_options = ("inhibitory",)
    mask: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        beta: float = 0.17,
        sigma: float = 0.15,
        self_connections: bool = False,
        inhibitory: str = INHIBITORY,
    ) -> None:
        require("beta", beta, 0 < beta <= 1, "above 0 and at most 1")
        require("sigma", sigma, 0 <= sigma < math.inf, "a finite number, 0 or above")
        super().__init__(input_size, hidden_size, hidden_size)
        self.beta, self.sigma = beta, sigma
        self.recurrent = recurrent_matrix(hidden_size, hidden_size)
        mask = dale_signs(hidden_size, inhibitory).repeat(hidden_size, 1)
        if not self_connections:
            mask.fill_diagonal_(0)
        # Derived from the options and the size, so it is not saved in checkpoints.
        self.register_buffer("mask", mask, persistent=False)

    def recurrent_weight(self) -> Tensor:
        """Return ReLU(W) D, (hidden, hidden), with a zero diagonal unless there are self-connections."""
        return self.recurrent.relu() * self.mask

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """An empty sequence: `update` reads no parameters."""
        return ()

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state; see `AdditiveCell.update`."""
        s = torch.lerp(state[1], drive, self.beta)
        if self.training and self.sigma:
            s = s + math.sqrt(2 * self.beta) * self.sigma * torch.randn_like(s)
        return s.relu(), s

    def update_backward(self, _: Tensor, __: State, after: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`. The noise does not affect it."""
        slope = aten.threshold_backward(slopes[0], after[0], 0) + slopes[1]
        return slope * self.beta, (torch.zeros_like(slope), slope * (1 - self.beta)), ()


INITIAL_ALPHA = 0.8
MAX_WINDOW = 1000  # words; sentences are shorter


class ConvolutionalDecayRNN(AdditiveCell):
    """A Decay RNN with a decay rate for every step, computed from a window of word vectors.

    α_t = σ(k_0 · x_t + k_1 · x_{t-1} + ... + k_{n-1} · x_{t-n+1} + b_α)
    c_t = (ReLU(W) D) h_{t-1} + U x_t + b
    h_t = f(α_t h_{t-1} + (1 - α_t) c_t)

    The window ends at the current word, because a language model must not look ahead. Instead of the last
    word vectors, the state (h, pending) stores their contributions to later decay rates, (batch, n - 1):
    pending_i is the part of the sum for α_{t+1+i} that is known at time t. Before the first word, it is 0.

    Source: Bansal et al. 2020, section 6.2 and Figure 4.

    Args:
        window: n, number of words on which the decay rate depends, at most 1,000.
        activation: f, `tanh` for language models, `relu` for classifiers.
        inhibitory: The inhibitory units; see `dale_signs`.
    """

    name = "drnn-cnn"
    n_states = 2
    later_options = ("inhibitory",)
    signs: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        window: int = 3,
        activation: str = "tanh",
        inhibitory: str = INHIBITORY,
    ) -> None:
        require("window", window, 0 < window <= MAX_WINDOW, f"from 1 to {MAX_WINDOW}")
        require("activation", activation, activation in ACTIVATIONS, "tanh or relu")
        super().__init__(input_size, hidden_size, hidden_size)
        self.activation, self.activation_backward = ACTIVATIONS[activation], DERIVATIVES[activation]
        self.taps = nn.Linear(input_size, window, bias=False)
        self.decay = nn.Parameter(torch.tensor(logit(INITIAL_ALPHA)))
        self.recurrent = recurrent_matrix(hidden_size, hidden_size)
        self.drive_size += window
        self.register_buffer("signs", dale_signs(hidden_size, inhibitory), persistent=False)

    def initial_state(self, batch: int) -> State:
        """Return h = 0 and pending = 0: (batch, hidden) and (batch, window - 1)."""
        widths = self.hidden_size, self.taps.out_features - 1
        return tuple(self.decay.new_zeros(batch, width) for width in widths)

    def project(self, x: Tensor) -> Tensor:
        """Return U x + b, then k_0 · x to k_{n-1} · x, (..., hidden + window)."""
        return torch.cat((self.input(x), self.taps(x)), -1)

    def recurrent_weight(self) -> Tensor:
        """Return ReLU(W) D, (hidden + window, hidden), with zero rows for the convolution."""
        return F.pad(self.recurrent.relu() * self.signs, (0, 0, 0, self.taps.out_features))

    def watched_words(self, projected: Tensor) -> Mapping[str, Tensor]:
        """Return α_t of each word, with pending = 0 before the first."""
        sums = projected[..., self.hidden_size :]
        earlier = (F.pad(sums[..., lag], (0, 0, lag, 0))[: len(sums)] for lag in range(sums.shape[-1]))
        return {"alpha": (sum(earlier, start=self.decay).sigmoid())[..., None]}

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """The constant b_α."""
        return (self.decay,)

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state; see `AdditiveCell.update`."""
        h, pending = state
        c, taps = drive[:, : self.hidden_size], drive[:, self.hidden_size :]
        sums = taps + F.pad(pending, (0, 1))
        alpha = (sums[:, :1] + self.decay).sigmoid()
        return self.activation(torch.lerp(c, h, alpha)), sums[:, 1:]

    def update_backward(self, drive: Tensor, before: State, after: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`."""
        c, taps = drive[:, : self.hidden_size], drive[:, self.hidden_size :]
        h, pending = before
        alpha = (taps[:, :1] + F.pad(pending, (0, 1))[:, :1] + self.decay).sigmoid()
        slope = self.activation_backward(slopes[0], after[0])
        by_alpha = (slope * (h - c)).sum(1, keepdim=True) * alpha * (1 - alpha)
        by_sums = torch.cat((by_alpha, slopes[1]), 1)
        by_drive = torch.cat((slope * (1 - alpha), by_sums), 1)
        return by_drive, (slope * alpha, by_sums[:, :-1]), (by_alpha.sum(),)
