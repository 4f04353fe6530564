"""A second device in software: it computes on the CPU, but refuses what a GPU would refuse.

Its tensors keep their numbers in a CPU tensor and report another device. Every operation goes through
`_compute`, which checks where the operands are. So a tensor on the wrong device, a forgotten `.cpu()` or an
index left behind raises an error on any machine. It is stricter than a GPU in one point: a GPU accepts
indices from the CPU, but must wait for each.

Registering it permanently changes what torch reports as the machine's accelerator in this process. The
device is present only inside `second_device`. Register it before the first backward pass: autograd counts
the devices only then.
"""

import functools
import random
import threading
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_iter, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "software"
# The real accelerator, if any; looked up before the second device is registered, which hides it.
REAL = torch.accelerator.current_accelerator(check_available=True)
# These operations move data between devices; all others need operands on one device.
COPY, TRANSFER = torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default
# Matrix products that autocast computes in the low precision.
PRODUCTS = ["linear", "matmul", "mm", "addmm", "bmm", "baddbmm"]


class Elsewhere(Tensor):
    """A tensor of the second device."""

    @staticmethod
    def __new__(cls, numbers):
        return Tensor._make_wrapper_subclass(
            cls, numbers.size(), strides=numbers.stride(), storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype, layout=numbers.layout, device=torch.device(NAME, 0),
        )  # fmt: skip

    def __init__(self, numbers):
        self.numbers = numbers

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment] # as torch says

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):  # type: ignore[override] # as torch calls it
        return _compute(operation, args, kwargs or {})

    def __getitem__(self, index):
        """Convert lists of indices to tensors here; torch would make them where this class cannot see it."""
        places = index if isinstance(index, tuple) else (index,)
        there = (torch.tensor(place).to(NAME) if isinstance(place, list) else place for place in places)
        return super().__getitem__(tuple(there))

    def tolist(self):
        """Return the numbers as lists, as every device does; torch itself refuses for subclasses."""
        return self.numbers.tolist()

    def __reduce_ex__(self, protocol):
        """Save only the numbers; the reader of the file chooses the device."""
        return self.numbers.__reduce_ex__(protocol)


class _Machine:
    """The interface that torch needs from a kind of device, and settings for tests.

    Attributes:
        there: Whether the device is present.
        doubles: Whether it has float64; Apple's GPUs do not.
        shortages: Numbers of operations until the next memory shortage, each counted from the one before.
        n_emptied: How many times its caches were emptied.
    """

    def __init__(self):
        self.there = False
        self.begin()

    def begin(self):
        """Reset everything."""
        self.doubles, self.n_emptied = True, 0
        self.shortages = []

    def is_available(self):
        return self.there

    is_initialized = is_available

    def device_count(self):
        return int(self.there)

    def current_device(self):
        return 0

    def empty_cache(self):
        self.n_emptied += 1

    def get_rng_state(self, device):
        return torch.get_rng_state()

    def set_rng_state(self, state, device):
        torch.set_rng_state(state)

    def manual_seed_all(self, seed):
        pass

    def get_amp_supported_dtype(self):
        return [torch.bfloat16]

    def _is_in_bad_fork(self):
        return False

    def run_short(self, seed, times, apart):
        """Let memory run out `times` times, each at random within `apart` operations of the one before."""
        draw = random.Random(seed)
        self.shortages = [draw.randint(1, apart) for _ in range(times)]

    def allocate(self):
        """Count an operation, and raise an error if memory does not suffice for it.

        Gradients always have enough memory: torch computes them in a thread that a Python error would end.
        """
        if self.shortages and threading.current_thread() is threading.main_thread():
            self.shortages[0] -= 1
            if not self.shortages[0]:
                del self.shortages[0]
                raise torch.OutOfMemoryError("the second device is out of memory")


MACHINE = _Machine()


class _Everything(TorchDispatchMode):
    """A mode that also sends operations without operands on the device to `_compute`, e.g. `torch.zeros`."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return _compute(operation, args, kwargs or {})


def _compute(operation, args, kwargs):
    """Compute on the CPU. The result is on the device if the operands are, or if the caller requests it."""
    operands = [operand for operand in tree_iter((args, kwargs)) if isinstance(operand, Tensor)]
    elsewhere = any(isinstance(operand, Elsewhere) for operand in operands)
    if operation not in {COPY, TRANSFER} and elsewhere:
        for operand in operands:
            # As on a GPU, a single number may come from the CPU.
            if not isinstance(operand, Elsewhere) and operand.dim():
                raise RuntimeError(f"{operation}: operands on two devices, {NAME} and {operand.device}")
    inner_args, inner_kwargs = tree_map(_numbers_of, (args, kwargs))
    if kwargs.get("device") is not None:
        elsewhere = torch.device(kwargs["device"]).type == NAME
        if elsewhere:
            inner_kwargs["device"] = torch.device("cpu")
    if elsewhere:
        MACHINE.allocate()
    result = operation(*inner_args, **inner_kwargs)
    if operation is COPY:
        return args[0]
    if not elsewhere:
        return result
    if not MACHINE.doubles and any(
        getattr(part, "dtype", None) == torch.float64 for part in tree_iter(result)
    ):
        raise TypeError(f"{operation}: {NAME} has no float64")
    result = tree_map(lambda part: Elsewhere(part) if isinstance(part, Tensor) else part, result)
    return return_and_correct_aliasing(operation, args, kwargs, result)


def _numbers_of(operand):
    return operand.numbers if isinstance(operand, Elsewhere) else operand


def _lstm(inputs, before, weights, *_):
    """Compute one LSTM layer in small steps: on devices other than CPUs, torch has one operation for it."""
    u, w, b, b_recurrent = weights
    h, c = (tensor[0] for tensor in before)
    outputs = []
    for x in inputs:
        i, f, g, o = (x @ u.t() + b + h @ w.t() + b_recurrent).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        outputs.append(h)
    return torch.stack(outputs), h[None], c[None]


def _gru(inputs, before, weights, *_):
    """Compute one GRU layer in small steps, for the same reason."""
    u, w, b, b_recurrent = weights
    h, outputs = before[0], []
    for x in inputs:
        (r, z, n), (r_h, z_h, n_h) = (x @ u.t() + b).chunk(3, 1), (h @ w.t() + b_recurrent).chunk(3, 1)
        r, z = (r + r_h).sigmoid(), (z + z_h).sigmoid()
        h = (1 - z) * (n + r * n_h).tanh() + z * h
        outputs.append(h)
    return torch.stack(outputs), h[None]


def _lowered(product):
    """Compute a product as autocast does."""

    def lowered(*args, **kwargs):
        low = torch.get_autocast_dtype(NAME)

        def cast(operand):
            wide = isinstance(operand, Tensor) and operand.dtype == torch.float32
            return operand.to(low) if wide else operand

        with torch._C._ExcludeDispatchKeyGuard(
            torch._C.DispatchKeySet(torch._C._dispatch_key_parse("AutocastPrivateUse1"))
        ):
            return product(*tree_map(cast, args), **tree_map(cast, kwargs))

    return lowered


@functools.cache
def register():
    """Register the device with torch; return objects that must be kept alive."""
    _setup_privateuseone_for_python_backend(NAME, backend_module=MACHINE)
    others = torch.library.Library("_", "IMPL", "AutocastPrivateUse1")
    others.fallback(torch.library.fallthrough_kernel)
    spelt_out = torch.library.Library("aten", "IMPL")
    spelt_out.impl("lstm.input", _lstm, "AutogradPrivateUse1")
    spelt_out.impl("gru.input", _gru, "AutogradPrivateUse1")
    for name in PRODUCTS:
        product = getattr(torch.ops.aten, name).default
        spelt_out.impl(name, _lowered(product), "AutocastPrivateUse1")
    return others, spelt_out


@contextmanager
def _no_inference_mode():
    """Make `torch.inference_mode` act like `no_grad`: it would merge operations into larger ones."""
    mode = torch.autograd.grad_mode.inference_mode
    before = mode.__enter__, mode.__exit__

    def enter(self):
        self._grad = torch.set_grad_enabled(torch.is_grad_enabled() and not self.mode)
        self._grad.__enter__()

    mode.__enter__, mode.__exit__ = enter, lambda self, *raised: self._grad.__exit__(*raised)
    try:
        yield
    finally:
        mode.__enter__, mode.__exit__ = before


@contextmanager
def second_device():
    """Make the second device present, and yield it."""
    register()
    MACHINE.begin()
    MACHINE.there = True
    try:
        with _Everything(), _no_inference_mode():
            yield torch.device(NAME)
    finally:
        MACHINE.there = False


@contextmanager
def on_device(name):
    """Yield a device by its name; the one in software is present meanwhile."""
    with second_device() if name == NAME else nullcontext(torch.device(name)) as device:
        yield device
