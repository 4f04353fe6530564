"""Tests of this folder run on this machine's accelerator or, without one, on the second device in software.

One process never uses both: if the software device is registered, CUDA's gradients fail. To hide a real
accelerator, set `CUDA_VISIBLE_DEVICES=`.
"""

import pytest
import torch
from second_device import MACHINE, NAME, REAL, on_device, register, second_device

NAMES = [REAL.type if REAL else NAME]

if REAL is None:
    register()  # tests of other folders may train before these tests


@pytest.fixture(params=NAMES, scope="session")
def device_name(request):
    """Return the name of a device."""
    return request.param


@pytest.fixture
def device(device_name):
    """Yield a device that is present and does not round the operands of products."""
    torch.set_float32_matmul_precision("highest")
    with on_device(device_name) as device:
        yield device


@pytest.fixture
def machine():
    """Yield the settings of the software device, while it is present."""
    if REAL is not None:
        pytest.skip("this machine has an accelerator, beside which there is no device in software")
    with second_device():
        yield MACHINE


@pytest.fixture
def tolerance(device_name):
    """Return the allowed difference from the CPU in nats: real devices sum in another order."""
    return 2e-5 if device_name == NAME else 1e-3
