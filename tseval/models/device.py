"""Where to compute."""

from __future__ import annotations

import torch

from tseval.errors import ModelError


def pick_device(name: str) -> torch.device:
    """Resolve a device name; `auto` is the GPU where there is one.

    Raises:
        ModelError: If the device does not exist.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError):
        here = "auto, cpu, cuda" if torch.cuda.is_available() else "auto, cpu"
        raise ModelError(f"device {name!r} cannot be used here. Devices: {here}.") from None
    return torch.device(name)
