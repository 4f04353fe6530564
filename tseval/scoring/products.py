"""Matrix products in float32 for models and adapters, by the faster of two libraries.

For inference in float32, PyTorch uses MKL. It uses oneDNN for narrower types. With hundreds of rows and a
large matrix, oneDNN was up to one and a half times as fast, on an AMD processor with one or two threads.
`benchmarks/products.py` measures both. The numbers differ only by rounding.
"""

from __future__ import annotations

import os
import platform
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


# oneDNN caches code for every shape, by default for 1,024: several hundred MB if the number of rows varies.
# It reads this variable at its first use.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
# On other processors, PyTorch's choice is good.
HAS_ONEDNN = platform.machine() in {"x86_64", "AMD64"} and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
# Faster than MKL with large float32 matrices. Scoring ignores this, because rounding would change its
# numbers.
ONEDNN_IS_FASTER = "AVX512" in torch.backends.cpu.get_cpu_capability()
# oneDNN first reorders a matrix; below these sizes that costs more than it gains.
LEAST_ROWS, LEAST_WEIGHTS = 32, 2**18


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + b, (..., outputs), like `torch.nn.functional.linear`."""
    if not _suits(inputs, weight):
        return F.linear(inputs, weight, bias)
    # This operator has no public name; torch's compiler calls it too.
    result: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")
    return result


def _suits(inputs: Tensor, weight: Tensor) -> bool:
    """Return whether oneDNN can multiply these, and may be faster."""
    return (
        HAS_ONEDNN
        and not torch.is_grad_enabled()  # it has no gradients
        and inputs.device.type == weight.device.type == "cpu"
        and inputs.dtype == weight.dtype == torch.float32
        # Quantised and sparse weights have other products.
        and type(weight) in {Tensor, nn.Parameter}
        and weight.layout == torch.strided
        and weight.dim() == 2
        and weight.numel() >= LEAST_WEIGHTS
        and inputs.numel() >= LEAST_ROWS * weight.shape[1]
    )


class Rerouted(TorchFunctionMode):
    """A mode in which a model's matrix products call another function, with the arguments of `linear`."""

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
    """Make `linear` compute all products of a model on a CPU, for all kinds of modules."""
    return Rerouted(linear) if HAS_ONEDNN and device.type == "cpu" else nullcontext()
