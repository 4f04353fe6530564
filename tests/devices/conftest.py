"""Tests here run on the accelerator of this machine, if any, and on the second device in software."""

import pytest
import torch
from second_device import MACHINE, NAME, REAL, on_device, register, second_device

# The real one first: once registered, the one in software hides it.
NAMES = [*([REAL.type] if REAL else []), NAME]

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
    with second_device():
        yield MACHINE


@pytest.fixture
def tolerance(device_name):
    """Nats by which numbers may differ from the CPU's: real devices add in another order."""
    return 2e-5 if device_name == NAME else 1e-3
