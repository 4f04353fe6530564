"""Devices: available ones, transfer of arrays, and errors of missing memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tseval.errors import ModelError

if TYPE_CHECKING:
    import numpy as np


def accelerator() -> torch.device | None:
    """Return the GPU or other accelerator that torch finds on this machine, or None."""
    return torch.accelerator.current_accelerator(check_available=True)


def pick_device(name: str) -> torch.device:
    """Return the device with a name; `auto` is the accelerator if there is one, otherwise the CPU."""
    device = accelerator()
    if name == "auto":
        name = "cpu" if device is None else device.type
    if not _computes(name):
        choices = "auto, cpu" if device is None else f"auto, cpu, {device.type}"
        raise ModelError(
            f"the device {name!r} is not available on this machine. Choose an available --device: {choices}."
        )
    return torch.device(name)


def _computes(name: str) -> bool:
    """Return whether a device exists here and stores numbers, unlike torch's `meta`."""
    try:
        kind = torch.empty(0, device=name).device.type
        return kind == "cpu" or bool(torch.get_device_module(kind).is_available())
    except (RuntimeError, AssertionError):
        return False


def on_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Copy an array to a device; for a GPU, asynchronously from pinned memory."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def widest_float(device: torch.device) -> torch.dtype:
    """Return the type for long sums: float64, or float32 on devices that lack it, such as Apple's GPUs."""
    try:
        return torch.empty(0, dtype=torch.float64, device=device).dtype
    except (RuntimeError, TypeError):
        return torch.float32


def empty_caches() -> None:
    """Free the accelerator's memory that torch caches but does not use."""
    device = accelerator()
    if device is not None:
        torch.get_device_module(device).empty_cache()


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out, on the CPU or on an accelerator."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    # torch's CPU allocator, forwarded device errors, and oneDNN without memory for its code all raise a plain
    # RuntimeError.
    message = str(error)
    return any(
        text in message for text in ("allocate memory", "out of memory", "could not create a primitive")
    )
