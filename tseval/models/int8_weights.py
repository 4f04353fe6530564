"""Compressed `int8` matrices, for the weights of a checkpoint.

An `int8` weight takes about five bits. A row w of a matrix is stored as one-byte integers q and a float16
scale s, so that w ≈ s·q, and compressed. The root mean square of a row is 8.5 steps s, which means noise of
-29 dB. Small numbers are frequent, so a Huffman code takes little more than their entropy, which is 5.1 bits
for normal weights. Numbers of a fixed width need six bits for the same accuracy (Gersho & Gray 1992, chapter
9).
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
import torch

from tseval.models.refusals import damaged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor


STEPS = 8.5  # per root mean square of a row
SCALE = ".scale"  # suffix for the name of a matrix's scales
_MOST = 127
_LEAST_SCALE = torch.finfo(torch.float16).tiny
_LEAST_BITS = 1  # of a Huffman code for a number


def quantise(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, int]]:
    """Compress float matrices into integers; other weights become float16.

    Returns:
        The stored tensors: for a matrix (rows, columns), its compressed numbers as uint8 (bytes,) and its
        scales as float16 (rows,). And the number of columns of each matrix by name.
    """
    stored: dict[str, Tensor] = {}
    columns: dict[str, int] = {}
    for name, tensor in weights.items():
        if tensor.dim() != 2:
            stored[name] = tensor.half()
            continue
        matrix = tensor.float()
        step = matrix.square().mean(1, keepdim=True).sqrt() / STEPS
        step = torch.maximum(step, matrix.abs().amax(1, keepdim=True) / _MOST).clamp_min(_LEAST_SCALE).half()
        numbers = (matrix / step.float()).round().clamp(-_MOST, _MOST).to(torch.int8)
        code = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)
        packed = code.compress(numbers.numpy().tobytes()) + code.flush()
        stored[name] = torch.from_numpy(np.frombuffer(packed, np.uint8).copy())
        stored[name + SCALE] = step.squeeze(1)
        columns[name] = tensor.shape[1]
    return stored, columns


def dequantise(stored: Mapping[str, Tensor], columns: Mapping[str, int]) -> dict[str, Tensor]:
    """Return the weights for scoring: s·q in float32, which is exact."""
    weights = dict(stored)
    for name, width in columns.items():
        packed, scales = weights.get(name), weights.pop(f"{name}{SCALE}", None)
        if packed is None or scales is None:
            raise damaged(f"the tensor {name!r} is quantised, but its numbers or its scales are missing")
        if (
            packed.dtype != torch.uint8
            or packed.dim() != 1
            or scales.dtype != torch.float16
            or scales.dim() != 1
        ):
            raise damaged(
                f"the tensor {name!r} is quantised, but not as bytes with a float16 scale for each row"
            )
        numbers = _numbers(name, packed, len(scales) * width)
        weights[name] = numbers.reshape(len(scales), -1).mul_(scales.float().unsqueeze(1))
    return weights


def _numbers(name: str, packed: Tensor, count: int) -> Tensor:
    """Decompress exactly `count` numbers to float32; refuse counts that the bytes cannot hold."""
    if not 0 < count * _LEAST_BITS <= 8 * len(packed):
        raise damaged(f"the tensor {name!r} is too short for its rows and columns")
    code = zlib.decompressobj()
    try:
        plain = code.decompress(packed.numpy().tobytes(), count)
    except zlib.error:
        raise damaged(f"the tensor {name!r} is damaged: its numbers cannot be decompressed") from None
    if len(plain) != count or not code.eof or code.unused_data:
        raise damaged(f"the number of values in the tensor {name!r} is not its rows times its columns")
    return torch.from_numpy(np.frombuffer(plain, np.int8).astype(np.float32))
