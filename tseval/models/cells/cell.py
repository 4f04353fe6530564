"""Base classes of recurrent cells: one layer that reads a window or takes a single step."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.errors import ModelError, suggest
from tseval.models.cells.window import Gradients, read_window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.models.cells.window import Kernels

State = tuple[Tensor, ...]
Option = bool | int | float | str
LEAST_UNITS = 2**12  # units of a whole batch from which `read_window` is used
LARGEST = 10**9  # limit on integer options; checkpoints may hold any number


class Cell(nn.Module):
    """One recurrent layer.

    The update has two parts, because most of its cost does not depend on the state. `project` computes the
    contribution of word vectors (once for a whole window, or once per vocabulary item). `step` combines it
    with the previous state.

    The keyword-only arguments of the constructor are the options of the cell, besides its sizes.
    """

    name: ClassVar[str]  # name for `--arch`; a class without a name is only a base class
    n_states: ClassVar[int] = 1  # number of tensors in the state; the first is the output
    # Whether `project` is so slow that a language model should project each distinct word of a window only
    # once. Dropout then drops the same units of a word everywhere in a window.
    costly_projection: ClassVar[bool] = False
    # Options that were added after checkpoints of the cell existed. At their default, they are left out of a
    # model's sizes, so that fingerprints and resume files do not change.
    later_options: ClassVar[tuple[str, ...]] = ()
    kernels: Kernels | None = None  # compiled kernels for training on a GPU; None for plain operations

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size

    @property
    def watched(self) -> Mapping[str, Tensor]:
        """Scalars to plot over training, such as a learned decay rate."""
        return {}

    def watched_words(self, projected: Tensor) -> Mapping[str, Tensor]:
        """Return values like `watched` that depend on the words of a window: by name, (time, batch, 1).

        `projected` is the result of `project` for the window, (time, batch, ...).
        """
        return {}

    @property
    def advice(self) -> str | None:
        """Advice on the cell's options if training diverges, or None."""
        return None

    def initial_state(self, batch: int) -> State:
        """Return the zero state, `n_states` tensors of (batch, hidden)."""
        weight = next(self.parameters())
        return tuple(weight.new_zeros(batch, self.hidden_size) for _ in range(self.n_states))

    def project(self, x: Tensor) -> Tensor:
        """Compute the words' part of the update from word vectors: (..., input) to (..., gates * hidden)."""
        raise NotImplementedError

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word.

        Args:
            projected: Result of `project` for the word, (batch, gates * hidden).
            state: Previous state, each tensor (batch, hidden); the result has the same shapes.
        """
        raise NotImplementedError

    def scan(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        """Advance through a window word by word.

        Args:
            projected: Result of `project` for the window, (time, batch, gates * hidden).
            state: State before the window, each tensor (batch, hidden).

        Returns:
            Outputs, (time, batch, hidden), and the state after the window.
        """
        outputs = []
        for word in projected.unbind():
            state = self.step(word, state)
            outputs.append(state[0])
        return torch.stack(outputs), state

    def scan_words(self, projected: Tensor, which: Tensor, state: State) -> tuple[Tensor, State]:
        """Advance through a window like `scan`, with one projection for each distinct word.

        Args:
            projected: Result of `project` for each distinct word, (distinct, ...).
            which: Number of the distinct word at each position of the window, (time, batch).
            state: State before the window.
        """
        outputs = []
        table = projected.flatten(1)
        for row in which:
            state = self.step(F.embedding(row, table).view(-1, *projected.shape[1:]), state)
            outputs.append(state[0])
        return torch.stack(outputs), state

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window of word vectors, (time, batch, input), like `scan`."""
        return self.scan(self.project(x), state)


class AdditiveCell(Cell):
    """A cell that uses word and state only as a sum, the drive: W h_{t-1} + U x_t + b.

    Subclasses define W and the update. This class has the input weights U and the bias b. The drive has
    `hidden_size` columns for each gate.
    """

    def __init__(self, input_size: int, hidden_size: int, drive_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.drive_size = drive_size
        self.input = nn.Linear(input_size, drive_size)

    def project(self, x: Tensor) -> Tensor:
        """Return U x + b, (..., drive)."""
        return self.input(x)  # type: ignore[no-any-return]

    def recurrent_weight(self) -> Tensor | None:
        """Return the effective W, (drive, hidden), after signs and masks; None if there is none."""
        raise NotImplementedError

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state from the drive, (batch, drive), and the previous state."""
        raise NotImplementedError

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """Parameters that `update` may read; see `Recurrence`. Override if there are fewer."""
        return [parameter for name, parameter in self.named_parameters() if not name.startswith("input.")]

    def update_backward(self, drive: Tensor, before: State, _: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`.

        This default uses autograd, which computes the update again. So a cell with random numbers must
        override it; other cells may, for speed.
        """
        with torch.enable_grad():
            inputs = [tensor.detach().requires_grad_() for tensor in (drive, *before)]
            after = self.update(inputs[0], tuple(inputs[1:]))
        sources = *inputs, *self.update_parameters
        gradients = torch.autograd.grad(after, sources, slopes, materialize_grads=True)
        return gradients[0], gradients[1 : 1 + self.n_states], gradients[1 + self.n_states :]

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        weight = self.recurrent_weight()
        return self.update(projected if weight is None else projected + F.linear(state[0], weight), state)

    def scan(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        """Advance through a window; see `Cell.scan`. W is computed once for all its words.

        Under autocast, only the products have the narrow type, because a slowly decaying state would lose
        small additions.
        """
        weight, device = self.recurrent_weight(), projected.device.type
        if by_window(self, projected, state):
            return read_window(self, projected, weight, None, state)
        if weight is not None and torch.is_autocast_enabled(device):
            weight = weight.to(torch.get_autocast_dtype(device))
        outputs = []
        for word in projected.to(state[0].dtype).unbind():
            drive = word if weight is None else word + F.linear(state[0], weight)
            state = self.update(drive, state)
            outputs.append(state[0])
        return torch.stack(outputs), state


def by_window(cell: Cell, x: Tensor, state: State) -> bool:
    """Return whether to use `read_window`: for gradients, with kernels or with narrow products on a CPU.

    On a GPU without kernels, or with small layers, its many operations cost more than they save.
    """
    if not torch.is_grad_enabled():
        return False
    return cell.kernels is not None or (is_narrow(x) and state[0].numel() >= LEAST_UNITS)


def is_narrow(x: Tensor) -> bool:
    """Return whether products have a narrow type on a CPU."""
    return x.device.type == "cpu" and torch.is_autocast_enabled("cpu")


class FusedCell(Cell):
    """A cell with a fused layer in torch; that layer holds the weights and reads windows."""

    layer_type: ClassVar[type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]]
    layer: nn.RNNBase
    fused: bool = True  # whether torch's layer computes this cell; otherwise it only holds the weights
    projection: int = 0  # width of the projected output; 0 for no projection
    update_parameters: Sequence[Tensor] = ()

    def __init__(self, input_size: int, hidden_size: int, layer: nn.RNNBase | None = None) -> None:
        super().__init__(input_size, hidden_size)
        self.layer = self.layer_type(input_size, hidden_size) if layer is None else layer
        self.drive_size = len(self.weights[0])

    @property
    def weights(self) -> list[nn.Parameter]:
        """Input weights U, recurrent weights W, and torch's two bias vectors."""
        return self.layer.all_weights[0][:4]

    def update(self, drive: Tensor, state: State) -> State:
        """Compute the next state from the drive; see `Recurrence`."""
        raise NotImplementedError

    def update_backward(self, drive: Tensor, before: State, after: State, slopes: State, /) -> Gradients:
        """Compute the gradient of one `update`; see `Recurrence`."""
        raise NotImplementedError

    def recurrent(self) -> tuple[Tensor, Tensor | None]:
        """Return W and its separate bias, in the order of the drive's first columns; see `read_window`."""
        return self.weights[1], None

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window; see `Cell.forward`.

        Torch's layer stays in float32 under autocast. Otherwise, its state would have the narrow type too,
        and an LSTM would learn only word frequencies (perplexity 494 instead of 241 after 450,000 tokens).
        """
        if by_window(self, x, state) and not self.projection:
            return read_window(self, self.project(x), *self.recurrent(), state)
        if not self.fused:
            return super().forward(x, state)
        before = tuple(tensor[None] for tensor in state)
        with torch.autocast(x.device.type, enabled=False):
            outputs, after = self.layer(x.to(state[0].dtype), before if self.n_states > 1 else before[0])
        return outputs, tuple(tensor[0] for tensor in (after if self.n_states > 1 else (after,)))


def recurrent_matrix(rows: int, columns: int) -> nn.Parameter:
    """Return new recurrent weights, (rows, columns), uniform within ±1/√columns as in torch's layers."""
    bound = columns**-0.5
    return nn.Parameter(torch.empty(rows, columns).uniform_(-bound, bound))


def options_of(cell: type[Cell]) -> dict[str, Option]:
    """Return the options of a cell with their defaults."""
    parameters = inspect.signature(cell).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def complete_options(cell: type[Cell], given: Mapping[str, Option]) -> dict[str, Option]:
    """Add missing options with their defaults (see `Cell.later_options`), and check the other types."""
    defaults = options_of(cell)
    for name, value in given.items():
        if name not in defaults:
            hint = suggest(str(name), defaults, "Options")
            raise ModelError(f"{cell.__name__} has no option {name!r}. {hint}")
        expected, actual = type(defaults[name]), type(value)
        if actual is not expected and not (expected is float and actual is int):
            raise ModelError(
                f"option {name} must be of type {expected.__name__}, not {actual.__name__}: {value!r:.60}"
            )
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ModelError(f"option {name} must be at most {LARGEST:,}, not {value:,}")
    complete = {name: type(default)(given.get(name, default)) for name, default in defaults.items()}
    return {
        name: value
        for name, value in complete.items()
        if name not in cell.later_options or value != defaults[name]
    }


def require(name: str, value: Option, holds: bool, demand: str) -> None:
    """Refuse the value of an option if a condition does not hold."""
    if not holds:
        raise ModelError(f"option {name} must be {demand}, not {value!r}")
