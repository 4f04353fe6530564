"""The precision that a model's card states, independent of torch's current settings.

A callback of mixed-precision training runs inside `torch.autocast`. A script may have set a default type or
device, or faster matrix products. All these change numbers, and no card records them. So opening, scoring and
surprisals switch them off while they run.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("cpu", "cuda", "mps", "xpu", "hpu", "privateuseone")  # types of devices that may have autocast


@contextmanager
def stated_precision() -> Iterator[None]:
    """Compute in the types of the weights during a with block, and restore torch's settings afterwards."""
    dtype, precision = torch.get_default_dtype(), torch.get_float32_matmul_precision()
    with ExitStack() as stack:
        for kind in KINDS:
            if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        try:
            torch.set_default_dtype(torch.float32)
            torch.set_float32_matmul_precision("highest")
            yield
        finally:
            torch.set_float32_matmul_precision(precision)
            torch.set_default_dtype(dtype)
