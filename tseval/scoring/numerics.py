"""Numerics that models and adapters share: devices, matrix products, output layers.

Products of operands rounded to bfloat16 have sums and results in float32. PyTorch's own give their results in
the type of the operands. Of a logit that leaves eight binary digits, three or four of them behind the point:
probable words would tie, and log-probabilities be off by hundredths. The kernel that these products and
PyTorch's attention are made of has float32 results. It belongs to PyTorch's C++ interface
(`at::native::cpublas::brgemm` in ATen/native/CPUBlas.h) and has no name in Python. It multiplies blocks:
which ones, and in how many threads, is left to the caller. Where the processor has no such instructions, the
rounded operands are multiplied in float32, which holds products of two bfloat16 numbers exactly: the same
results but for the order of sums, and no faster.

Products of inference in float32 are given by PyTorch to MKL. With hundreds of rows and a large matrix,
oneDNN, which it uses for the narrower types, was up to one and a half times as fast on an AMD processor, with
two threads or one; `benchmarks/products.py` measures both. The numbers differ by rounding alone.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from tseval.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    Kernel = Callable[[int, int, int, int, int, int, bool, int, int, int, bool], None]


# oneDNN keeps code for every shape that it has met, by default for 1,024 of them: several hundred MB where
# the number of rows varies. It reads this when it is first used.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
# On other processors PyTorch chooses well itself.
HAS_ONEDNN = platform.machine() in {"x86_64", "AMD64"} and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
# Than MKL, with large matrices in float32. Scoring does not ask: that would move its numbers, by rounding.
ONEDNN_IS_FASTER = "AVX512" in torch.backends.cpu.get_cpu_capability()
# oneDNN first brings a matrix into an order of its own; below these sizes that costs more than it gains.
LEAST_ROWS, LEAST_WEIGHTS = 32, 2**18


def multiplies_bfloat16() -> bool:
    """Return whether this processor has products in bfloat16; the question has no public name."""
    return bool(torch.cpu._is_avx512_bf16_supported())


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + b, (..., outputs), as `torch.nn.functional.linear` does."""
    if not _suits(inputs, weight):
        return F.linear(inputs, weight, bias)
    # Its operator has no public name; torch's own compiler calls it as well.
    result: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")
    return result


def _suits(inputs: Tensor, weight: Tensor) -> bool:
    """Return whether oneDNN can multiply these, and may be quicker."""
    return (
        HAS_ONEDNN
        and not torch.is_grad_enabled()  # it knows no gradients
        and inputs.device.type == weight.device.type == "cpu"
        and inputs.dtype == weight.dtype == torch.float32
        # Quantised and sparse weights have products of their own.
        and type(weight) in {Tensor, nn.Parameter}
        and weight.layout == torch.strided
        and weight.dim() == 2
        and weight.numel() >= LEAST_WEIGHTS
        and inputs.numel() >= LEAST_ROWS * weight.shape[1]
    )


class Rerouted(TorchFunctionMode):
    """Sends products that a model asks PyTorch for through another function, called as `linear` is."""

    def __init__(self, multiply: Callable[..., Tensor]) -> None:
        super().__init__()
        self._multiply = multiply

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        if not kwargs and func is F.linear:
            return self._multiply(*args)
        if not kwargs and func is torch.addmm:
            added, inputs, matrix = args
            if added.shape == matrix.shape[1:]:
                return self._multiply(inputs, matrix.t(), added)
            return self._multiply(inputs, matrix.t()).add_(added)
        return func(*args, **(kwargs or {}))


def fast_products(device: torch.device) -> AbstractContextManager[object]:
    """Let all products of a model on a CPU be made by `linear`, whatever modules it consists of."""
    return Rerouted(linear) if HAS_ONEDNN and device.type == "cpu" else nullcontext()


# The name of a C++ function holds the types of its arguments: one with others would not be found.
BRGEMM = "_ZN2at6native7cpublas6brgemmEllllllbPKN3c108BFloat16ES5_Pfb"
RELEASE = "_ZN2at6native7cpublas14brgemm_releaseEb"
# Either keeps oneDNN from instructions that the processor has; then the kernel would end the process.
CAPS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
# Outputs and rows that the kernel gets at once: of 32 to 2,304 and 128 to 1,024 as fast as any.
BLOCK, ROWS = 64, 512
# It keeps code for every number of rows that it has met: this many for each size of matrix.
FEW = 32
NOTHING_GAINED = "bfloat16 is not faster on this device, which has no bfloat16 products with float32 sums"


def rounded(tensor: Tensor) -> Tensor:
    """Round numbers to bfloat16; the type stays float32."""
    return tensor.bfloat16().float()


@cache
def _library() -> tuple[Kernel, Callable[[bool], None]] | None:
    """Find the kernel, and what gives its registers back; None where it cannot be used."""
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
    """Return whether operands in bfloat16 are multiplied faster than in float32 on a device."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.backends.mkldnn.enabled) and _library() is not None


class NarrowMatrix:
    """A matrix, (outputs, columns), of numbers of 16 bits; products have sums and results in float32.

    It is rounded to bfloat16; float16 stays as it is on a GPU, and matrices there that are narrow already are
    not copied.
    """

    def __init__(self, weight: Tensor) -> None:
        self.shape = weight.shape
        fast, on_gpu = has_fast_products(weight.device), weight.device.type == "cuda"
        # Whether the kernel of the CPU multiplies, or a GPU with float32 results.
        self.is_blocked, self._is_wide = fast and not on_gpu, fast and on_gpu
        # What operands are rounded to.
        self.dtype = weight.dtype if self._is_wide and weight.dtype == torch.float16 else torch.bfloat16
        self._held = _blocks(weight) if self.is_blocked else weight.to(self.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def product(
        self, inputs: Tensor, bias: Tensor | None = None, first: int = 0, stop: int | None = None
    ) -> Tensor:
        """Return x Wᵀ + b for outputs [first, stop) of W, (rows, stop - first) float32.

        Args:
            inputs: (rows, columns), narrow, or float32 to be rounded.
            bias: (stop - first,), float32, or None.
            first: A multiple of `BLOCK`.
            stop: None for all that follow.
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
    """Bring a matrix into the order of the instructions: (blocks, pairs of columns, `BLOCK` outputs) int32.

    What is missing to whole blocks and pairs is filled up with zeros.
    """
    outputs, columns = weight.shape
    whole = torch.zeros(-(-outputs // BLOCK) * BLOCK, columns + columns % 2, dtype=torch.bfloat16)
    whole[:outputs, :columns] = weight
    pairs = whole.view(torch.int32)
    return pairs.view(-1, BLOCK, pairs.shape[1]).transpose(1, 2).contiguous()


def _multiply(inputs: Tensor, blocks: Tensor, result: Tensor, add: bool) -> None:
    """Write a product, or add it to what is there; each thread takes some of the blocks."""
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
    """Multiply with some of the blocks; while the kernel runs, other threads do."""
    library = _library()
    assert library is not None
    kernel, release = library
    columns, width = inputs.shape[1], result.stride(0)
    # Bytes: 2 for a number of the operands, 4 for one of the result.
    from_inputs, from_blocks, to_result = inputs.data_ptr(), blocks.data_ptr(), result.data_ptr()
    spans = list(_spans(len(inputs)))
    for block in range(part.start, part.stop):
        matrix = from_blocks + 2 * block * BLOCK * columns
        for first, rows in spans:
            row, into = from_inputs + 2 * first * columns, to_result + 4 * (first * width + block * BLOCK)
            kernel(rows, BLOCK, columns, columns, BLOCK, width, add, row, matrix, into, True)
    release(True)


def _spans(rows: int) -> Iterator[tuple[int, int]]:
    """Cut rows into spans of few different sizes: first row and number of rows of each."""
    cuts = [*range(0, rows, ROWS), rows - rows % FEW, rows]
    for first, stop in pairwise(cuts):
        if stop > first:
            yield first, stop - first


class Bfloat16Products:
    """Products of a model in bfloat16, for `Rerouted`.

    Matrices among `weights` stay as they are as long as the model; each is rounded once, when it is first
    used. All others are rounded for each product.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        self._lasting: dict[int, NarrowMatrix | None] = {weight.data_ptr(): None for weight in weights}

    def linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return x Wᵀ + b, as `torch.nn.functional.linear` does, (..., columns) to (..., outputs)."""
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


# How noisy numbers may be whose products have few digits: by the median, two percentiles and the largest of
# their differences. In float32 the order of sums alone makes these, in nats a token, of 30 layers: one token
# in some hundred is ill-conditioned (SmolLM2: .0006 nats off float64 in its own pass, .005 in ours).
LEVELS, ROUNDING = (0.5, 0.9, 0.99, 1.0), (1e-4, 1e-4, 1e-3, 1e-2)
# Two honest ways to compute differ by up to so many times what two others do, the few largest by a step of
# the type more. The median is not `MORE` nats above: where positions are off by one it is, at noise of .02.
# The largest of three times as many has a longer tail: Gemma 3's in bfloat16 is 6.2 times its own.
TIMES, MORE = (2.5, 3.0, 4.0, 8.0), 0.01
# Noise is no more than so many steps of a type: else a model that reads padding would excuse all.
MOST_STEPS = 128


def noise_limits(noise: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """Return the most that `LEVELS` of honest differences may be, in nats a token.

    `noise` is the difference of two computations that are beyond doubt, (tokens,), with products of `dtype`.
    """
    step = torch.finfo(dtype).eps
    measured = np.quantile(np.abs(noise), LEVELS).clip(max=MOST_STEPS * step)
    limits: np.ndarray = TIMES * measured + (0, step, step, step)
    limits[0] = min(limits[0], measured[0] + MORE)
    limits += ROUNDING
    return limits


def within_noise(differences: np.ndarray, noise: np.ndarray, dtype: torch.dtype) -> bool:
    """Return whether numbers differ, (others,), as they do by rounding alone; otherwise as `noise_limits`."""
    found = np.abs(differences)
    return bool(np.isfinite(found).all() and (np.quantile(found, LEVELS) <= noise_limits(noise, dtype)).all())


# Logits held at once. On a CPU a tile stays in the cache between its matrix product and its exponentials
# (2**20 measured fastest of 2**17 to 2**23, 95% of the speed of the product alone); a GPU wants large ones.
TILE_LOGITS = {"cpu": 2**20}
LOGITS_ON_ACCELERATOR = 2**26
# Faster products leave a larger share to the exponentials: their tile fits into the second cache.
BFLOAT16_TILE = 2**18
LOG2_E = math.log2(math.e)
# Logits computed for each that is asked for, from which on single dot products are quicker.
DENSE = 4


def _tiles(
    hidden: Tensor, weight: Tensor | NarrowMatrix, bias: Tensor | None, width: int | None = None
) -> Iterator[tuple[int, Tensor]]:
    """Yield the logits of a tile of the vocabulary at a time, (rows, words), with its first word id.

    Tiles have so many words, or what suits the device.
    """
    at_once = TILE_LOGITS.get(hidden.device.type, LOGITS_ON_ACCELERATOR)
    inputs, least = hidden, 1
    if isinstance(weight, NarrowMatrix):
        at_once = BFLOAT16_TILE if weight.is_blocked else at_once
        inputs, least = hidden.to(weight.dtype), BLOCK
    width = width or max(least, at_once // max(1, len(hidden)) // least * least)
    for first in range(0, len(weight), width):
        words = slice(first, first + width)
        part = None if bias is None else bias[words].to(hidden.dtype)
        if isinstance(weight, NarrowMatrix):
            yield first, weight.product(inputs, part, first, first + width)
        else:
            yield first, linear(hidden, weight[words].to(hidden.dtype), part)


def log_normaliser(hidden: Tensor, weight: Tensor | NarrowMatrix, bias: Tensor | None) -> Tensor:
    """Logarithm of the softmax's denominator, log Σ_v exp(w_v · h + b_v), for every row.

    The sum runs over tiles of the vocabulary, each scaled by its own maximum, so that nothing overflows.

    Args:
        hidden: Outputs of the last layer, (rows, hidden).
        weight: Output matrix, (vocabulary, hidden); each tile is brought to the type of `hidden`. With one in
            bfloat16 the operands are rounded, and nothing else.
        bias: (vocabulary,), or None.

    Returns:
        (rows,), in the type of `hidden`.
    """
    return log_sums(hidden, weight, bias, hidden.new_empty(0, len(weight)))[0]


def log_sums(
    hidden: Tensor, weight: Tensor | NarrowMatrix, bias: Tensor | None, parts: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the same logarithm, and that of the sum over parts of the vocabulary only.

    A part costs one more product with exponentials that are there already: `parts` is 1 where a word belongs
    to it, else 0, (parts, vocabulary), in the type of `hidden`.

    Returns:
        (rows,), the same to the bit whatever the parts, and (rows, parts); in the type of `hidden`.
    """
    if hidden.device.type == "cuda" and not len(parts):
        return _log_sums_by_rows(hidden, weight, bias), hidden.new_empty(len(hidden), 0)
    total = hidden.new_full((len(hidden),), float("-inf"))
    shares = hidden.new_full((len(hidden), len(parts)), float("-inf"))
    scale = _quick_scale_ if isinstance(weight, NarrowMatrix) else _scale_
    for first, logits in _tiles(hidden, weight, bias):
        one, several = _log_sums_of(*scale(logits), parts[:, first : first + logits.shape[1]])
        total, shares = torch.logaddexp(total, one), torch.logaddexp(shares, several)
    return total, shares


# Words in a tile whose log-softmax CUDA computes in one pass: more take three. Of few rows a tile has more,
# up to so many logits, or most of the time would go into starting the work.
ONE_PASS, ONE_TILE = 1_024, 2**23


def _log_sums_by_rows(hidden: Tensor, weight: Tensor | NarrowMatrix, bias: Tensor | None) -> Tensor:
    """Return the logarithm of sums of exponentials on CUDA, (rows,).

    A tile's is the difference between any logit and its log-probability within the tile. So one pass over the
    logits does what takes four otherwise: on an H200 2.4 ms, not 5.1, for 8,192 rows of 50,257 words.
    """
    width = max(ONE_PASS, ONE_TILE // max(1, len(hidden)) // BLOCK * BLOCK)
    tiles = (logits for _, logits in _tiles(hidden, weight, bias, width))
    sums = [logits[:, 0] - torch.log_softmax(logits, 1)[:, 0] for logits in tiles]
    return torch.logsumexp(torch.stack(sums, 1), 1)


def log_sum_exp_(logits: Tensor) -> Tensor:
    """Return log Σ_v exp(logit_v), (rows, words) to (rows,), without overflow; the logits are overwritten.

    In place, because memory as large as the logits takes longer to get than to fill.
    """
    return log_sums_exp_(logits, logits.new_empty(0, logits.shape[1]))[0]


def log_sums_exp_(logits: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same, and the same of parts of the words, (parts, words); (rows,) and (rows, parts)."""
    return _log_sums_of(*_scale_(logits), parts)


def _log_sums_of(scaled: Tensor, top: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Sum exponentials that were scaled by the maximum of their row, all and by parts."""
    return scaled.sum(1).log_().add_(top), (scaled @ parts.t()).log_().add_(top[:, None])


def _scale_(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return exp(logit - maximum) in place of the logits, and the maximum of each row."""
    top = logits.amax(1)
    return logits.sub_(top[:, None]).exp_(), top


def _quick_scale_(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Do what `_scale_` does, by powers of 2, which PyTorch computes in a quarter of the time.

    The last digits differ.
    """
    top = logits.amax(1)
    return logits.sub_(top[:, None]).mul_(LOG2_E).exp2_(), top


def of_length(parts: Tensor, n_words: int) -> Tensor:
    """Cut parts of a vocabulary, (parts, words), or fill them up with words that belong to none."""
    return nn.functional.pad(parts, (0, n_words - parts.shape[1]))


def log_shares(chosen: Tensor, rows: Tensor, total: Tensor, sums: Tensor) -> Tensor:
    """Lay the log-probabilities of words beside those of parts of the vocabulary in their place.

    Args:
        chosen: Logits of the words, (words,).
        rows: Which row each word follows, (words,).
        total: Logarithm of the softmax's denominator, (rows,).
        sums: The same over each part, (rows, parts).

    Returns:
        (words, 1 + parts).
    """
    return torch.cat(((chosen - total[rows])[:, None], (sums - total[:, None])[rows]), dim=1)


def best_words(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Most probable word for every row, the first of equals: (rows, hidden) to word ids (rows,)."""
    top = hidden.new_full((len(hidden),), float("-inf"))
    best = torch.zeros(len(hidden), dtype=torch.int64, device=hidden.device)
    for first, logits in _tiles(hidden, weight, bias):
        value, word = logits.max(1)
        best = torch.where(value > top, first + word, best)
        top = torch.maximum(top, value)
    return best


def pair_logits(hidden: Tensor, weight: Tensor, bias: Tensor | None, rows: Tensor, words: Tensor) -> Tensor:
    """Logits of words after rows: (rows, hidden), row numbers and word ids (pairs,) to (pairs,).

    Where many of all words are asked for, one matrix product is quicker than a dot product for each pair.
    """
    if len(hidden) * len(weight) > DENSE * len(rows):
        return chosen_logits(hidden[rows], weight, bias, words)
    logits = hidden @ weight.to(hidden.dtype).t()
    chosen = logits[rows, words]
    return chosen if bias is None else chosen + bias[words]


def chosen_logits(hidden: Tensor, weight: Tensor, bias: Tensor | None, words: Tensor) -> Tensor:
    """Logit of one word for every row: (rows, hidden), word ids (rows,) to (rows,)."""
    logits = (hidden * weight[words]).sum(1)
    return logits if bias is None else logits + bias[words]


def bfloat16_logprobs(
    hidden: Tensor, layer: nn.Linear, low: NarrowMatrix, rows: Tensor, words: Tensor
) -> Tensor:
    """Log-probabilities of words after rows, with the products of the normaliser in bfloat16.

    The logit of the word itself is exact, in the normaliser too, where its rounded one is taken out: so no
    words tie by rounding, the rounding of a probable word cancels, and no probability exceeds 1.

    Args:
        hidden: Outputs of the last layer, (rows, hidden), float32.
        layer: The output layer, (vocabulary, hidden), float32.
        low: Its matrix in bfloat16.
        rows: Row numbers, (pairs,).
        words: Word ids, (pairs,).

    Returns:
        (pairs,), float32, in nats.
    """
    shift = layer.bias[words] - log_normaliser(hidden, low, layer.bias)[rows]
    before, after = hidden[rows], layer.weight[words]
    exact = (before * after).sum(1) + shift
    nearby = (rounded(before) * rounded(after)).sum(1) + shift
    others = torch.expm1(nearby).neg_().clamp_min_(0).log_()
    return exact - torch.logaddexp(others, exact)


def accelerator() -> torch.device | None:
    """Return the GPU, or whatever torch has besides the CPU on this machine."""
    return torch.accelerator.current_accelerator(check_available=True)


def pick_device(name: str) -> torch.device:
    """Resolve a device name; `auto` is the accelerator where there is one."""
    found = accelerator()
    if name == "auto":
        name = "cpu" if found is None else found.type
    if not _computes(name):
        here = "auto, cpu" if found is None else f"auto, cpu, {found.type}"
        raise ModelError(
            f"the device {name!r} is not available on this machine. Choose an available --device: {here}."
        )
    return torch.device(name)


def _computes(name: str) -> bool:
    """Return whether a name is that of a device that is here, and holds numbers: torch's `meta` does not."""
    try:
        kind = torch.empty(0, device=name).device.type
        return kind == "cpu" or bool(torch.get_device_module(kind).is_available())
    except (RuntimeError, AssertionError):
        return False


def on_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Bring an array to a device. For a GPU nobody waits: it fetches by itself what lies in pinned memory."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def widest_float(device: torch.device) -> torch.dtype:
    """Return the type for long sums: float64, or float32 on devices that lack it, such as Apple's GPUs."""
    try:
        return torch.empty(0, dtype=torch.float64, device=device).dtype
    except (RuntimeError, TypeError):
        return torch.float32


def empty_caches() -> None:
    """Return back the accelerator's memory that torch keeps although nothing is in it."""
    found = accelerator()
    if found is not None:
        torch.get_device_module(found).empty_cache()


def out_of_memory(error: BaseException) -> bool:
    """Tell lack of memory, on either kind of device, from other faults."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    # torch's CPU allocator raises a plain RuntimeError, so does what passes on the error of a device, and
    # oneDNN where there is no room for what it compiles.
    said = str(error)
    return any(one in said for one in ("allocate memory", "out of memory", "could not create a primitive"))
