"""Where to compute, and what can be done there."""

from __future__ import annotations

import torch

from tseval.errors import ModelError


def accelerator() -> torch.device | None:
    """Give the GPU, or whatever torch has besides the CPU on this machine."""
    return torch.accelerator.current_accelerator(check_available=True)


def pick_device(name: str) -> torch.device:
    """Resolve a device name; `auto` is the accelerator where there is one.

    Raises:
        ModelError: If the device does not exist.
    """
    found = accelerator()
    if name == "auto":
        name = "cpu" if found is None else found.type
    if not _computes(name):
        here = "auto, cpu" if found is None else f"auto, cpu, {found.type}"
        raise ModelError(f"device {name!r} cannot be used here. Devices: {here}.")
    return torch.device(name)


def _computes(name: str) -> bool:
    """Tell whether a name is that of a device that is here, and holds numbers: torch's `meta` does not."""
    try:
        kind = torch.empty(0, device=name).device.type
        return kind == "cpu" or bool(torch.get_device_module(kind).is_available())
    except (RuntimeError, AssertionError):
        return False


def widest_float(device: torch.device) -> torch.dtype:
    """Give the type for long sums: float64, or float32 on devices that lack it, such as Apple's GPUs."""
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
    # torch's CPU allocator raises a plain RuntimeError, and so does what passes on the error of a device.
    return any(said in str(error) for said in ("allocate memory", "out of memory"))
