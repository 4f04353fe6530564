"""Matrix products in float32 of models and adapters, by the quicker of two libraries.

Products of inference in float32 are given by PyTorch to MKL. With hundreds of rows and a large matrix,
oneDNN, which it uses for the narrower types, was up to one and a half times as fast on an AMD processor, with
two threads or one; `benchmarks/products.py` measures both. The numbers differ by rounding alone.
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


# oneDNN keeps code for every shape that it has met, by default for 1,024 of them: several hundred MB where
# the number of rows varies. It reads this when it is first used.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
# On other processors PyTorch chooses well itself.
HAS_ONEDNN = platform.machine() in {"x86_64", "AMD64"} and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
# Than MKL, with large matrices in float32. Scoring does not ask: that would move its numbers, by rounding.
ONEDNN_IS_FASTER = "AVX512" in torch.backends.cpu.get_cpu_capability()
# oneDNN first brings a matrix into an order of its own; below these sizes that costs more than it gains.
LEAST_ROWS, LEAST_WEIGHTS = 32, 2**18


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
