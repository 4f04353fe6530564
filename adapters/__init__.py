"""Adapters: one module per kind of model, imported as `tseval.adapters`.

An adapter is a function `(rest, arguments, device) -> model`. The model satisfies one of the protocols of
`tseval.scoring.protocol`. `--model SCHEME:REST` selects the adapter; a bare path is opened by `native`. A
module in this folder lists its functions by scheme, `SCHEMES = {"hf": "open_causal"}`. Other packages
register theirs in the entry-point group `tseval.adapters`.
"""

from tseval.adapters.opening import open_model
from tseval.adapters.packages import GROUP, is_outside, load_adapter
from tseval.adapters.schemes import adapters, file_and_function, find_adapter, name_of_file, name_of_function

if __name__ != "tseval.adapters":
    raise ImportError("import tseval.adapters: the folder adapters/ is a part of the tseval package")

__all__ = [
    "GROUP", "adapters", "file_and_function", "find_adapter", "is_outside", "load_adapter",
    "name_of_file", "name_of_function", "open_model",
]  # fmt: skip
