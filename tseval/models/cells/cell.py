"""What every recurrent cell offers: one layer that can read a window or take a single step."""

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
LEAST_UNITS = 2**12  # of a whole batch, from which on a window is read by `read_window`
LARGEST = 10**9  # of an option that is a whole number; checkpoints can hold any


class Cell(nn.Module):
    """One recurrent layer.

    The update is split in two, because most of its cost does not depend on the state: `project`
    turns word vectors into their contribution to the update (once for a whole window, or once per
    vocabulary item), `step` combines that contribution with the previous state.

    What can be chosen about a cell besides its sizes are the keyword-only arguments of its constructor.
    """

    name: ClassVar[str]  # what `--arch` calls it; a class without a name of its own is a base of others
    n_states: ClassVar[int] = 1  # tensors that make up the state; the first is the output
    # Whether `project` costs so much that a language model should project each distinct word of a window only
    # once. Dropout then drops the same units of a word everywhere in a window.
    costly_projection: ClassVar[bool] = False
    # Options that the cell got when there were checkpoints of it. At their default they leave no trace in a
    # model's sizes, so that fingerprints and resume files stay what they were.
    later_options: ClassVar[tuple[str, ...]] = ()
    kernels: Kernels | None = None  # what a training on a GPU advances by, if not by plain operations

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size

    @property
    def watched(self) -> Mapping[str, Tensor]:
        """Scalars whose course over training is worth a curve, such as a learned decay rate."""
        return {}

    def watched_words(self, projected: Tensor) -> Mapping[str, Tensor]:
        """Return what is like `watched` but depends on the words of a window: by name, (time, batch, 1).

        `projected` is what `project` gave for the window, (time, batch, ...).
        """
        return {}

    @property
    def advice(self) -> str | None:
        """What to change about the cell's options if training diverges, if anything."""
        return None

    def initial_state(self, batch: int) -> State:
        """Return the zero state, `n_states` tensors of (batch, hidden)."""
        weight = next(self.parameters())
        return tuple(weight.new_zeros(batch, self.hidden_size) for _ in range(self.n_states))

    def project(self, x: Tensor) -> Tensor:
        """Turn word vectors, (..., input), into their part of the update, (..., gates * hidden)."""
        raise NotImplementedError

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word.

        Args:
            projected: What `project` gave for the word, (batch, gates * hidden).
            state: The previous one, each tensor (batch, hidden), as of the next.
        """
        raise NotImplementedError

    def scan(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        """Advance word by word through a window.

        Args:
            projected: What `project` gave for the window, (time, batch, gates * hidden).
            state: Before the window, each tensor (batch, hidden).

        Returns:
            Outputs, (time, batch, hidden), and the state after the window.
        """
        outputs = []
        for word in projected.unbind():
            state = self.step(word, state)
            outputs.append(state[0])
        return torch.stack(outputs), state

    def scan_words(self, projected: Tensor, which: Tensor, state: State) -> tuple[Tensor, State]:
        """Advance through a window whose distinct words were projected once each; otherwise as `scan`.

        Args:
            projected: What `project` gave for each distinct word, (distinct, ...).
            which: The distinct word at each place of the window, (time, batch).
        """
        outputs = []
        table = projected.flatten(1)
        for row in which:
            state = self.step(F.embedding(row, table).view(-1, *projected.shape[1:]), state)
            outputs.append(state[0])
        return torch.stack(outputs), state

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window of word vectors, (time, batch, input); otherwise as `scan`."""
        return self.scan(self.project(x), state)


class AdditiveCell(Cell):
    """A cell that sees word and state only as a sum, the drive: W h_{t-1} + U x_t + b.

    A subclass gives W and what becomes of the drive; the input weights U and the bias b are here. The drive
    is `hidden_size` wide for each gate.
    """

    def __init__(self, input_size: int, hidden_size: int, drive_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.drive_size = drive_size
        self.input = nn.Linear(input_size, drive_size)

    def project(self, x: Tensor) -> Tensor:
        """U x + b, (..., drive)."""
        return self.input(x)  # type: ignore[no-any-return]

    def recurrent_weight(self) -> Tensor | None:
        """W as it acts on the state, (drive, hidden), signed or masked as the cell demands; None: no W."""
        raise NotImplementedError

    def update(self, drive: Tensor, state: State) -> State:
        """Turn the drive, (batch, drive), and the previous state into the next state."""
        raise NotImplementedError

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """Parameters that `update` may read; see `Recurrence`. A cell that reads fewer had better say so."""
        return [parameter for name, parameter in self.named_parameters() if not name.startswith("input.")]

    def update_backward(self, drive: Tensor, before: State, _: State, slopes: State, /) -> Gradients:
        """Carry the gradient back through one `update`; see `Recurrence`.

        Here autograd does it, which computes the update once more: a cell that draws at random must give its
        own derivative, others are quicker for it.
        """
        with torch.enable_grad():
            given = [tensor.detach().requires_grad_() for tensor in (drive, *before)]
            after = self.update(given[0], tuple(given[1:]))
        wanted = *given, *self.update_parameters
        gradients = torch.autograd.grad(after, wanted, slopes, materialize_grads=True)
        return gradients[0], gradients[1 : 1 + self.n_states], gradients[1 + self.n_states :]

    def step(self, projected: Tensor, state: State) -> State:
        """Advance by one word; see `Cell.step`."""
        weight = self.recurrent_weight()
        return self.update(projected if weight is None else projected + F.linear(state[0], weight), state)

    def scan(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        """Advance through a window; see `Cell.scan`. W is made once for all its words.

        Under autocast only the products are in the low type: a slowly decaying state would lose what it
        adds up.
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
    """Return whether `read_window` is the way: for gradients, with narrow products on a CPU, or with kernels.

    On a GPU without them, or with small layers, its many operations take longer than what they save.
    """
    if not torch.is_grad_enabled():
        return False
    return cell.kernels is not None or (is_narrow(x) and state[0].numel() >= LEAST_UNITS)


def is_narrow(x: Tensor) -> bool:
    """Return whether products are made in a narrow type, on a CPU."""
    return x.device.type == "cpu" and torch.is_autocast_enabled("cpu")


class FusedCell(Cell):
    """A cell that torch has a fused layer for; that layer holds the weights and reads windows."""

    layer_type: ClassVar[type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]]
    layer: nn.RNNBase
    fused: bool = True  # whether the layer computes what the cell is; otherwise it only holds the weights
    projection: int = 0  # width to which the output is projected; 0 for none
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
        """Turn the drive into the next state; see `Recurrence`."""
        raise NotImplementedError

    def update_backward(self, drive: Tensor, before: State, after: State, slopes: State, /) -> Gradients:
        """Carry the gradient back through one `update`; see `Recurrence`."""
        raise NotImplementedError

    def recurrent(self) -> tuple[Tensor, Tensor | None]:
        """W and its own bias, in the order of the drive's first columns; see `read_window`."""
        return self.weights[1], None

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window; see `Cell.forward`.

        Torch's layer is in float32 under autocast too: it would keep its state in the low type as well, with
        which an LSTM learns word frequencies and no more (perplexity 494, not 241, after 450,000 tokens).
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
    """Return new recurrent weights, (rows, columns), uniform within ±1/√columns as in torch's own layers."""
    bound = columns**-0.5
    return nn.Parameter(torch.empty(rows, columns).uniform_(-bound, bound))


def options_of(cell: type[Cell]) -> dict[str, Option]:
    """List what can be chosen about a cell, with the defaults."""
    parameters = inspect.signature(cell).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def complete_options(cell: type[Cell], given: Mapping[str, Option]) -> dict[str, Option]:
    """Fill up options with the defaults (see `Cell.later_options`) and hold them to the defaults' types."""
    defaults = options_of(cell)
    for name, value in given.items():
        if name not in defaults:
            hint = suggest(str(name), defaults, "Options")
            raise ModelError(f"{cell.__name__} has no option {name!r}. {hint}")
        wanted, actual = type(defaults[name]), type(value)
        if actual is not wanted and not (wanted is float and actual is int):
            raise ModelError(
                f"option {name} must be of type {wanted.__name__}, not {actual.__name__}: {value!r:.60}"
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
    """Refuse the value of an option."""
    if not holds:
        raise ModelError(f"option {name} must be {demand}, not {value!r}")
