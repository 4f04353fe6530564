"""Optimisers of torch, without the two seconds that their first step takes.

Torch keeps its compiler out of the methods of an optimiser, and their first call imports the compiler for
that, which takes as long as torch itself. Nothing here compiles an optimiser, or differentiates through one.
"""

from __future__ import annotations

from inspect import unwrap
from typing import Any

import torch
from torch.optim import Optimizer


class _Bare(Optimizer):
    """The methods as they are, without what keeps the compiler out."""

    add_param_group: Any = unwrap(Optimizer.add_param_group)
    zero_grad: Any = unwrap(Optimizer.zero_grad)
    state_dict: Any = unwrap(Optimizer.state_dict)
    load_state_dict: Any = unwrap(Optimizer.load_state_dict)


class Adam(_Bare, torch.optim.Adam):
    """Adam (Kingma and Ba 2015)."""

    step: Any = torch.no_grad()(unwrap(torch.optim.Adam.step))


class SGD(_Bare, torch.optim.SGD):
    """Stochastic gradient descent."""

    step: Any = torch.no_grad()(unwrap(torch.optim.SGD.step))
