"""Networks without first weights, for weights that are read from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DRAWS = {nn.init.kaiming_uniform_, nn.init.normal_, nn.init.uniform_, Tensor.normal_, Tensor.uniform_}


class Undrawn(TorchFunctionMode):
    """Make parameters without drawing them: they hold anything until weights are put into them.

    What a cell computes from its sizes is computed. Drawn numbers would only be written over; on the meta
    device, which has none, torch loads its whole compiler before it does not draw them.
    """

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        if func in DRAWS:
            return args[0] if args else cast("Tensor", kwargs["tensor"])
        return func(*args, **kwargs)
