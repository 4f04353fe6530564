"""Tests here run on this machine's accelerator, or where there is none, on the second device in software.

Never on both in one process: with the one in software registered, CUDA's gradients fail. Hide a real one by
`CUDA_VISIBLE_DEVICES=`.
"""

import pytest
import torch
from second_device import MACHINE, NAME, REAL, on_device, register, second_device

NAMES = [REAL.type if REAL else NAME]

if REAL is None:
    register()  # tests of other folders may train before those here


@pytest.fixture(params=NAMES, scope="session")
def device_name(request):
    """The name of a device."""
    return request.param


@pytest.fixture
def device(device_name):
    """A device that is plugged in, and multiplies without rounding its operands."""
    torch.set_float32_matmul_precision("highest")
    with on_device(device_name) as device:
        yield device


@pytest.fixture
def machine():
    """What can be set about the device in software, which is plugged in."""
    if REAL is not None:
        pytest.skip("this machine has an accelerator, beside which there is no device in software")
    with second_device():
        yield MACHINE


@pytest.fixture
def tolerance(device_name):
    """Nats by which numbers may differ from the CPU's: real devices add in another order."""
    return 2e-5 if device_name == NAME else 1e-3
