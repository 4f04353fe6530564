"""Devices: which there are, arrays on them, and memory that runs out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tseval.errors import ModelError

if TYPE_CHECKING:
    import numpy as np


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
    """Give back the accelerator's memory that torch keeps although nothing is in it."""
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
