"""Training's way through a window: products in a narrow type, sums and states in float32.

Autograd would keep every intermediate value of every word, and add up a gradient of the recurrent weights
word by word. Here the words' part of the update is there beforehand, one product a word carries the state on,
and the gradient of the recurrent weights is a single product over the whole window.
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
        """What the derivative needs of the loop."""

        cell: Recurrence
        matrix: Tensor | None  # W in the type of the products
        has_bias: bool
        n_columns: int  # that the words feed
        drives: Tensor
        states: list[Tensors]  # before the first word and after each
        recalled: Tensor  # their first tensors in the type of the products

    class FusedContext(Context):
        """What it needs of a loop by kernels: of each word tensors of its own."""

        drives: list[Tensor]  # type: ignore[assignment]
        recalled: list[Tensor]  # type: ignore[assignment]


aten = torch.ops.aten  # torch's operations by name, those of gradients among them
Tensors = tuple[Tensor, ...]  # a state, or the derivatives by one
# Derivatives by the drive, by the state before (but for what goes through the drive), and by each parameter.
Gradients = tuple[Tensor, Tensors, "Sequence[Tensor]"]


class Recurrence(Protocol):
    """A cell whose update is element-wise, given the drive: what word and state add up to.

    The drive, (batch, drive), may begin with columns that the state alone feeds and end with columns that the
    word alone feeds; the others get the sum of both.
    """

    @property
    def n_states(self) -> int:
        """Tensors that make up the state."""

    @property
    def drive_size(self) -> int:
        """Width of the drive."""

    @property
    def kernels(self) -> Kernels | None:
        """What the loop advances by; None for plain operations."""

    @property
    def update_parameters(self) -> Sequence[Tensor]:
        """Parameters that `update` reads besides the drive, such as a decay rate."""

    def update(self, drive: Tensor, state: Tensors) -> Tensors:
        """Turn the drive and the previous state into the next state."""

    def update_backward(
        self, drive: Tensor, before: Tensors, after: Tensors, slopes: Tensors, /
    ) -> Gradients:
        """Carry the gradient back through one `update`.

        Args:
            drive: What `update` was given; may be overwritten.
            slopes: Derivatives of the loss by `after`.
        """


def read_window(
    cell: Recurrence, projected: Tensor, weight: Tensor | None, bias: Tensor | None, state: Tensors
) -> tuple[Tensor, Tensors]:
    """Advance through a window, with gradients.

    Args:
        cell: What becomes of the drive.
        projected: The words' part of the drive, its last columns, (time, batch, columns); its type is that of
            all products.
        weight: W, (rows, hidden), whose product with the state's first tensor makes the first columns of the
            drive; None if the state has no part in it.
        bias: Added to that product, (rows,), or None.
        state: Before the window, float32, as is the state after it.

    Returns:
        Outputs, (time, batch, hidden), and the state after the window.
    """
    way = _Window if cell.kernels is None else _FusedWindow
    outputs, *after = way.apply(cell, projected, weight, bias, *state, *cell.update_parameters)  # type: ignore[no-untyped-call]
    return outputs, tuple(after)


class _Window(torch.autograd.Function):
    """The loop over a window, and its derivative from the last word to the first."""

    @staticmethod
    def forward(
        ctx: Context, cell: Recurrence, projected: Tensor, weight: Tensor | None, bias: Tensor | None,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        state, low = tensors[: cell.n_states], projected.dtype
        rows = 0 if weight is None else len(weight)
        matrix = None if weight is None else weight.to(low)
        added = None if bias is None else bias.to(low)
        # The state before each word, as the products read it.
        recalled = state[0].new_empty((len(projected), *state[0].shape), dtype=low)
        drives = state[0].new_empty((len(projected), len(state[0]), cell.drive_size))
        alone = cell.drive_size - projected.shape[2]  # columns that the state alone feeds
        drives[..., :alone] = 0
        states = [state]
        for word, drive, recall in zip(projected, drives, recalled, strict=True):
            drive[:, alone:] = word
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
            by_drive, slopes, by_own = cell.update_backward(
                drives[t], states[t], states[t + 1], (first + outputs[t], *others)
            )
            by_drives[t] = by_drive
            by_parameters = [total + part for total, part in zip(by_parameters, by_own, strict=True)]
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
    """The element-wise part of a cell's loop, compiled: a word is then one product and a kernel or a few."""

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
            """Return derivatives by the drive, in the type of the products, by the state, by the parameters.

            What the loss owes to the new state came by its own way, by the output and by the next product.
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

    Torch keeps what it compiled with the function's code, and gives up on code that it compiled often: here
    the code of each cell is its own. Random numbers stay those of plain operations.
    """
    plain = cast("FunctionType", function)
    copied = FunctionType(plain.__code__.replace(), plain.__globals__, closure=plain.__closure__)
    return torch.compile(copied, fullgraph=True, dynamic=False, options={"fallback_random": True})


class _FusedWindow(torch.autograd.Function):
    """As `_Window`, by a cell's kernels."""

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
        # What the word after the last has: nothing.
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

    As a product, because its sums are in float32; `Tensor.sum` would first copy the matrix into a wider type.
    """
    return matrix.new_ones(1, len(matrix)).mm(matrix)[0]


def tanh_(x: Tensor) -> Tensor:
    """Hyperbolic tangent in place, as 2 σ(2x) - 1: torch's own took ten times as long on an AMD processor.

    Its absolute error is that of a float, 1e-7; the relative one is larger near 0: it serves gradients alone.
    """
    return x.mul_(2).sigmoid_().mul_(2).sub_(1)


def thinned(x: Tensor, share: float) -> Tensor:
    """Drop a share of a tensor's entries and scale up the others, as dropout does.

    Torch draws each entry by itself on a CPU, which takes up to a tenth of a whole training step. Here four
    entries share 64 random bits, so that the share is met to 1/65,536.
    """
    kept = round((1 - share) * 2**16)
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    chosen = bits.view(torch.int16)[: x.numel()].view(x.shape) < kept - 2**15
    return x * chosen * (2**16 / kept)
