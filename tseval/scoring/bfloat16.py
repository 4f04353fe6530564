"""Matrix products of operands rounded to bfloat16, with sums and results in float32.

PyTorch's products have results in the type of the operands. For logits that leaves eight binary digits, three
or four of them after the point. Probable words would tie, and log-probabilities be off by hundredths.
The kernel inside PyTorch's products and attention has float32 results. It belongs to PyTorch's C++ interface
(`at::native::cpublas::brgemm` in ATen/native/CPUBlas.h) and is not available in Python. It multiplies blocks;
the caller chooses the blocks and the threads. On processors without such instructions, the rounded operands
are multiplied in float32, which represents products of two bfloat16 numbers exactly. The results are the same
except for the order of sums, and not faster.
"""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tseval.scoring.products import linear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Kernel = Callable[[int, int, int, int, int, int, bool, int, int, int, bool], None]


def multiplies_bfloat16() -> bool:
    """Return whether this processor has bfloat16 products; PyTorch has no public function for this."""
    return bool(torch.cpu._is_avx512_bf16_supported())


# The C++ names include the argument types, so a function with other arguments is not found.
BRGEMM = "_ZN2at6native7cpublas6brgemmEllllllbPKN3c108BFloat16ES5_Pfb"
RELEASE = "_ZN2at6native7cpublas14brgemm_releaseEb"
# Each disables instructions in oneDNN although the processor has them. The kernel would then kill the
# process.
CAPS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
# Outputs and rows per kernel call: as fast as any of 32 to 2,304 outputs and 128 to 1,024 rows.
BLOCK, ROWS = 64, 512
# The kernel caches code for every number of rows, so at most this many per matrix size are used.
FEW = 32
NOTHING_GAINED = "bfloat16 is not faster on this device, which has no bfloat16 products with float32 sums"


def rounded(tensor: Tensor) -> Tensor:
    """Round numbers to bfloat16, and return them as float32."""
    return tensor.bfloat16().float()


@cache
def _library() -> tuple[Kernel, Callable[[bool], None]] | None:
    """Return the kernel and the function that releases its registers; None if it cannot be used."""
    if not multiplies_bfloat16() or any(name in os.environ for name in CAPS):
        return None
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        kernel, release = getattr(library, BRGEMM), getattr(library, RELEASE)
    except (OSError, AttributeError):
        return None
    address, number, flag = ctypes.c_void_p, ctypes.c_int64, ctypes.c_bool
    kernel.argtypes, kernel.restype = [*[number] * 6, flag, *[address] * 3, flag], None
    release.argtypes, release.restype = [flag], None
    return kernel, release


def has_fast_products(device: torch.device) -> bool:
    """Return whether bfloat16 products are faster than float32 products on a device."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.backends.mkldnn.enabled) and _library() is not None


class NarrowMatrix:
    """A matrix, (outputs, columns), of 16-bit numbers, whose products have sums and results in float32.

    The matrix is rounded to bfloat16. On a GPU, float16 stays float16, and 16-bit matrices are not copied.
    """

    def __init__(self, weight: Tensor) -> None:
        self.shape = weight.shape
        fast, on_gpu = has_fast_products(weight.device), weight.device.type == "cuda"
        # Either the CPU kernel multiplies, or a GPU with float32 results.
        self.is_blocked, self._is_wide = fast and not on_gpu, fast and on_gpu
        # The type to which operands are rounded.
        self.dtype = weight.dtype if self._is_wide and weight.dtype == torch.float16 else torch.bfloat16
        self._held = _blocks(weight) if self.is_blocked else weight.to(self.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def product(
        self, inputs: Tensor, bias: Tensor | None = None, first: int = 0, stop: int | None = None
    ) -> Tensor:
        """Return x Wᵀ + b for outputs [first, stop) of W, (rows, stop - first) float32.

        Args:
            inputs: (rows, columns), 16-bit, or float32 to be rounded.
            bias: (stop - first,), float32, or None.
            first: A multiple of `BLOCK`.
            stop: None for all further outputs.
        """
        stop = len(self) if stop is None else min(stop, len(self))
        inputs = inputs.to(self.dtype)
        if self._is_wide:
            product = torch.mm(inputs, self._held[first:stop].t(), out_dtype=torch.float32)
            return product if bias is None else product.add_(bias)
        if not self.is_blocked:
            return linear(inputs.float(), self._held[first:stop].float(), bias)
        blocks = self._held[first // BLOCK : -(-stop // BLOCK)]
        result = torch.empty(len(inputs), len(blocks) * BLOCK)
        if bias is not None:
            result[:, : stop - first] = bias
        columns = 2 * blocks.shape[1]
        if columns > inputs.shape[1]:
            inputs = torch.nn.functional.pad(inputs, (0, columns - inputs.shape[1]))
        _multiply(inputs.contiguous(), blocks, result, add=bias is not None)
        return result[:, : stop - first]


def _blocks(weight: Tensor) -> Tensor:
    """Reorder a matrix for the instructions: (blocks, pairs of columns, `BLOCK` outputs) int32.

    Incomplete blocks and pairs are filled with zeros.
    """
    outputs, columns = weight.shape
    padded = torch.zeros(-(-outputs // BLOCK) * BLOCK, columns + columns % 2, dtype=torch.bfloat16)
    padded[:outputs, :columns] = weight
    pairs = padded.view(torch.int32)
    return pairs.view(-1, BLOCK, pairs.shape[1]).transpose(1, 2).contiguous()


def _multiply(inputs: Tensor, blocks: Tensor, result: Tensor, add: bool) -> None:
    """Write a product into `result`, or add it; each thread takes some of the blocks."""
    workers = min(torch.get_num_threads(), len(blocks))
    ends = [len(blocks) * i // workers for i in range(workers + 1)]
    parts = [slice(*ends[i : i + 2]) for i in range(workers)]
    if workers == 1:
        _multiply_part(inputs, blocks, result, add, parts[0])
    else:
        list(_threads(workers).map(lambda part: _multiply_part(inputs, blocks, result, add, part), parts))


@cache
def _threads(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "bfloat16")


def _multiply_part(inputs: Tensor, blocks: Tensor, result: Tensor, add: bool, part: slice) -> None:
    """Multiply with some of the blocks; the kernel runs without the GIL."""
    library = _library()
    assert library is not None
    kernel, release = library
    columns, width = inputs.shape[1], result.stride(0)
    # Sizes in bytes: 2 for a number of the operands, 4 for one of the result.
    from_inputs, from_blocks, to_result = inputs.data_ptr(), blocks.data_ptr(), result.data_ptr()
    spans = list(_spans(len(inputs)))
    for block in range(part.start, part.stop):
        matrix = from_blocks + 2 * block * BLOCK * columns
        for first, rows in spans:
            row, into = from_inputs + 2 * first * columns, to_result + 4 * (first * width + block * BLOCK)
            kernel(rows, BLOCK, columns, columns, BLOCK, width, add, row, matrix, into, True)
    release(True)


def _spans(rows: int) -> Iterator[tuple[int, int]]:
    """Divide rows into spans of few different sizes; yield the first row and the number of rows of each."""
    cuts = [*range(0, rows, ROWS), rows - rows % FEW, rows]
    for first, stop in pairwise(cuts):
        if stop > first:
            yield first, stop - first


class Bfloat16Products:
    """Products of a model in bfloat16, for `Rerouted`.

    `weights` are matrices that do not change while the model exists. Each is rounded once, at its first use.
    All others are rounded for each product.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        self._lasting: dict[int, NarrowMatrix | None] = {weight.data_ptr(): None for weight in weights}

    def linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return x Wᵀ + b like `torch.nn.functional.linear`, (..., columns) to (..., outputs)."""
        matrix = self._matrix(weight)
        product = matrix.product(inputs.reshape(-1, inputs.shape[-1]), bias)
        return product.reshape(*inputs.shape[:-1], len(matrix))

    def _matrix(self, weight: Tensor) -> NarrowMatrix:
        place = weight.data_ptr()
        matrix = self._lasting.get(place)
        if matrix is None or matrix.shape != weight.shape:
            matrix = NarrowMatrix(weight)
            if place in self._lasting:
                self._lasting[place] = matrix
        return matrix
