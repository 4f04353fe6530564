"""Where to compute."""

from __future__ import annotations

import torch

from tseval.errors import ModelError

DEVICES = ("cpu", "cuda", "mps")  # devices that really compute


def pick_device(name: str) -> torch.device:
    """Resolve a device name; `auto` is the GPU where there is one.

    Raises:
        ModelError: If the device does not exist.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        usable = torch.empty(0, device=name).device.type in DEVICES
    except (RuntimeError, AssertionError):
        usable = False
    if not usable:
        here = "auto, cpu, cuda" if torch.cuda.is_available() else "auto, cpu"
        raise ModelError(f"device {name!r} cannot be used here. Devices: {here}.")
    return torch.device(name)
