"""Training on windows of words, with products in a narrow type and sums and states in float32.

Autograd would store every intermediate value of every word, and add up the gradient of the recurrent weights
word by word. Here, the words' part of the update is computed beforehand, so each word needs one product. The
gradient of the recurrent weights is a single product over the whole window.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.autograd.function import FunctionCtx

    class Context(FunctionCtx):
        """Values of the loop that its gradient needs."""

        cell: Recurrence
        matrix: Tensor | None  # W in the type of the products
        has_bias: bool
        n_columns: int  # columns that depend on words
        drives: Tensor
        states: list[Tensors]  # before the first word and after each
        recalled: Tensor  # their first tensors in the type of the products

    class FusedContext(Context):
        """The values of a loop with kernels, which has separate tensors for each word."""

        drives: list[Tensor]  # type: ignore[assignment]
        recalled: list[Tensor]  # type: ignore[assignment]


aten = torch.ops.aten  # torch's operations by name, including those of gradients
Tensors = tuple[Tensor, ...]  # a state, or the derivatives by a state
# Derivatives by the drive, by the previous state (without the path through the drive), and by each parameter.
Gradients = tuple[Tensor, Tensors, "Sequence[Tensor]"]


class Recurrence(Protocol):
    """A cell whose update is element-wise, given the drive: the sum of the word's and the state's parts.

    The drive, (batch, drive), may begin with columns that depend only on the state, and end with columns that
    depend only on the word. All others are the sum of both.
    """

    @property
    def n_states(self) -> int:
        """Number of tensors in the state."""

    @property
    def drive_size(self) -> int:
        """Width of the drive."""

    @property
    def kernels(self) -> Kernels | None:
        """Compiled kernels for the loop; None for plain operations."""

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """Parameters that `update` reads, such as a decay rate."""

    def update(self, drive: Tensor, state: Tensors) -> Tensors:
        """Compute the next state from the drive and the previous state."""

    def update_backward(
        self, drive: Tensor, before: Tensors, after: Tensors, slopes: Tensors, /
    ) -> Gradients:
        """Compute the gradient of one `update`.

        Args:
            drive: The drive that `update` got; may be overwritten.
            before: State before the update.
            after: State after the update.
            slopes: Derivatives of the loss by `after`.
        """


def read_window(
    cell: Recurrence, projected: Tensor, weight: Tensor | None, bias: Tensor | None, state: Tensors
) -> tuple[Tensor, Tensors]:
    """Advance through a window, with gradients.

    Args:
        cell: The cell that updates the state.
        projected: The words' part of the drive, its last columns, (time, batch, columns). Its type is that of
            all products.
        weight: W, (rows, hidden). Its product with the state's first tensor is the first columns of the
            drive. None if the drive does not depend on the state.
        bias: Added to that product, (rows,), or None.
        state: State before the window, float32 like the state after it.

    Returns:
        Outputs, (time, batch, hidden), and the state after the window.
    """
    function = _Window if cell.kernels is None else _FusedWindow
    outputs, *after = function.apply(cell, projected, weight, bias, *state, *cell.update_parameters)  # type: ignore[no-untyped-call]
    return outputs, tuple(after)


class _Window(torch.autograd.Function):
    """The loop over a window, and its gradient from the last word to the first."""

    @staticmethod
    def forward(
        ctx: Context, cell: Recurrence, projected: Tensor, weight: Tensor | None, bias: Tensor | None,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        state, low = tensors[: cell.n_states], projected.dtype
        rows = 0 if weight is None else len(weight)
        matrix = None if weight is None else weight.to(low)
        added = None if bias is None else bias.to(low)
        # The state before each word, in the type of the products.
        recalled = state[0].new_empty((len(projected), *state[0].shape), dtype=low)
        drives = state[0].new_empty((len(projected), len(state[0]), cell.drive_size))
        n_state_columns = cell.drive_size - projected.shape[2]  # columns that depend only on the state
        drives[..., :n_state_columns] = 0
        states = [state]
        for word, drive, recall in zip(projected, drives, recalled, strict=True):
            drive[:, n_state_columns:] = word
            if matrix is not None:
                recall.copy_(state[0])
                drive[:, :rows] += F.linear(recall, matrix, added)
            state = cell.update(drive, state)
            states.append(state)
        ctx.cell, ctx.matrix, ctx.has_bias = cell, matrix, bias is not None
        ctx.drives, ctx.states, ctx.recalled, ctx.n_columns = drives, states, recalled, projected.shape[2]
        return torch.stack([after[0] for after in states[1:]]), *(tensor.clone() for tensor in state)

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, outputs: Tensor, *after: Tensor) -> tuple[Tensor | None, ...]:
        cell, matrix, drives, states = ctx.cell, ctx.matrix, ctx.drives, ctx.states
        rows = 0 if matrix is None else len(matrix)
        by_drives = torch.empty_like(drives, dtype=ctx.recalled.dtype)
        by_parameters = [torch.zeros_like(parameter) for parameter in cell.update_parameters]
        slopes: Tensors = after
        for t in reversed(range(len(drives))):
            first, *others = slopes
            by_drive, slopes, by_cell = cell.update_backward(
                drives[t], states[t], states[t + 1], (first + outputs[t], *others)
            )
            by_drives[t] = by_drive
            by_parameters = [total + part for total, part in zip(by_parameters, by_cell, strict=True)]
            if matrix is not None:
                slopes[0].add_(by_drives[t, :, :rows] @ matrix)
        by_projected = by_drives[..., cell.drive_size - ctx.n_columns :]
        by_weight = by_bias = None
        if matrix is not None:
            by_products = by_drives[..., :rows].flatten(0, 1)
            by_weight = (by_products.t() @ ctx.recalled.flatten(0, 1)).to(drives.dtype)
            by_bias = column_sums(by_products).to(drives.dtype) if ctx.has_bias else None
        return None, by_projected, by_weight, by_bias, *slopes, *by_parameters


class Kernels:
    """The compiled element-wise part of a cell's loop; a word is one product and a few kernels."""

    def __init__(self, cell: Recurrence) -> None:
        def advance(word: Tensor, product: Tensor | None, state: Tensors) -> tuple[Tensor, Tensor, Tensors]:
            """Return the drive, the state's first tensor in the type of the products, and the new state."""
            drive = F.pad(word.to(state[0].dtype), (cell.drive_size - word.shape[1], 0))
            if product is not None:
                drive = drive + F.pad(product, (0, cell.drive_size - product.shape[1]))
            after = cell.update(drive, state)
            return drive, after[0].to(word.dtype), after

        def retreat(
            at: tuple[Tensor, Tensors, Tensors], slopes: Tensors, output: Tensor, product: Tensor | None,
            totals: Tensors, low: torch.dtype,
        ) -> tuple[Tensor, Tensors, Tensors]:  # fmt: skip
            """Return derivatives by the drive (in the products' type), by the state and by the parameters.

            Derivatives by the new state's first tensor also come from the output and from the next product.
            """
            drive, before, after = at
            first, *others = slopes
            first = (first if product is None else first + product) + output
            gradients = cell.update_backward(drive.clone(), before, after, (first, *others))
            totals = tuple(total + part for total, part in zip(totals, gradients[2], strict=True))
            return gradients[0].to(low), gradients[1], totals

        self.advance, self.retreat = _compiled(advance), _compiled(retreat)


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function for the shapes of one training.

    Torch stores compiled code with the function's code object, and gives up after many compilations. So each
    cell gets a copy of the code object. Random numbers are those of plain operations.
    """
    plain = cast("FunctionType", function)
    copied = FunctionType(plain.__code__.replace(), plain.__globals__, closure=plain.__closure__)
    return torch.compile(copied, fullgraph=True, dynamic=False, options={"fallback_random": True})


class _FusedWindow(torch.autograd.Function):
    """The loop of `_Window`, with a cell's kernels."""

    @staticmethod
    def forward(
        ctx: FusedContext, cell: Recurrence, projected: Tensor, weight: Tensor | None, bias: Tensor | None,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        assert cell.kernels is not None, "no kernels"
        state, low = tensors[: cell.n_states], projected.dtype
        matrix = None if weight is None else weight.to(low)
        added = None if bias is None else bias.to(low)
        drives, recalled, states = [], [state[0].to(low)], [state]
        with torch.autocast(projected.device.type, enabled=False):
            for word in projected.unbind():
                product = None if matrix is None else F.linear(recalled[-1], matrix, added)
                drive, recall, state = cell.kernels.advance(word, product, state)
                drives.append(drive)
                recalled.append(recall)
                states.append(state)
        ctx.cell, ctx.matrix, ctx.has_bias, ctx.n_columns = cell, matrix, bias is not None, projected.shape[2]
        ctx.drives, ctx.states, ctx.recalled = drives, states, recalled
        return torch.stack([after[0] for after in states[1:]]), *(tensor.clone() for tensor in state)

    @staticmethod
    @once_differentiable
    def backward(ctx: FusedContext, outputs: Tensor, *after: Tensor) -> tuple[Tensor | None, ...]:
        cell, matrix, states, low = ctx.cell, ctx.matrix, ctx.states, ctx.recalled[0].dtype
        assert cell.kernels is not None, "no kernels"
        rows = 0 if matrix is None else len(matrix)
        outputs = outputs.contiguous()
        # After the last word, there is no product.
        product = None if matrix is None else torch.zeros_like(ctx.recalled[0])
        totals = tuple(torch.zeros_like(parameter) for parameter in cell.update_parameters)
        by_drives: list[Tensor] = []
        slopes: Tensors = after
        for t in reversed(range(len(outputs))):
            by_drive, slopes, totals = cell.kernels.retreat(
                (ctx.drives[t], states[t], states[t + 1]), slopes, outputs[t], product, totals, low
            )
            by_drives.append(by_drive)
            product = None if matrix is None else by_drive[:, :rows] @ matrix
        by_words = torch.stack(by_drives[::-1])
        by_weight = by_bias = None
        if product is not None:
            slopes = slopes[0] + product, *slopes[1:]
            by_products = by_words[..., :rows].flatten(0, 1)
            recalled = torch.stack(ctx.recalled[:-1]).flatten(0, 1)
            by_weight = (by_products.t() @ recalled).to(outputs.dtype)
            by_bias = column_sums(by_products).to(outputs.dtype) if ctx.has_bias else None
        by_projected = by_words[..., cell.drive_size - ctx.n_columns :]
        return None, by_projected, by_weight, by_bias, *slopes, *totals


def column_sums(matrix: Tensor) -> Tensor:
    """Add up the rows of a matrix in a narrow type, (rows, columns) to (columns,).

    A product with ones has float32 sums; `Tensor.sum` would first copy the matrix into a wider type.
    """
    return matrix.new_ones(1, len(matrix)).mm(matrix)[0]


def tanh_(x: Tensor) -> Tensor:
    """Compute tanh in place, as 2 σ(2x) - 1; torch's function took ten times as long on an AMD processor.

    The absolute error is that of a float, 1e-7. Near 0, the relative error is larger, so it is only for
    gradients.
    """
    return x.mul_(2).sigmoid_().mul_(2).sub_(1)


def thinned(x: Tensor, share: float) -> Tensor:
    """Drop a share of a tensor's entries and scale up the others, like dropout.

    On a CPU, torch draws each entry separately, which takes up to a tenth of a training step. Here, four
    entries share 64 random bits, so the share has a resolution of 1/65,536.
    """
    threshold = round((1 - share) * 2**16)
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    mask = bits.view(torch.int16)[: x.numel()].view(x.shape) < threshold - 2**15
    return x * mask * (2**16 / threshold)
