"""Matrices in one byte a number, compressed: the weights of a checkpoint of `int8`.

Weights of `int8` take about five bits: a row w of a matrix is kept as whole numbers q in one byte and a
float16 scale s, so that w ≈ s·q, compressed. Of steps s there are 8.5 to the row's root mean square, which is
noise of -29 dB. Small numbers are frequent, and a Huffman code takes little more than their entropy, 5.1 bits
where weights are normal; numbers of a fixed width would need six bits to be as close (Gersho & Gray 1992,
chapter 9).
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


STEPS = 8.5  # to a row's root mean square
SCALE = ".scale"  # what follows the name of a matrix in that of its scales
_MOST = 127
_LEAST_SCALE = torch.finfo(torch.float16).tiny
_LEAST_BITS = 1  # that a Huffman code takes for a number


def quantise(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, int]]:
    """Compress matrices of float into whole numbers; other weights go to float16.

    Returns:
        What goes to disk, for a matrix (rows, columns) its compressed numbers as uint8 (bytes,) and its
        scales as float16 (rows,); and the columns of each matrix by name.
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
    """Return weights as they score: s·q in float32, which is exact."""
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
    """Decompress exactly so many numbers to float32, and never more than an honest file could hold."""
    if not 0 < count * _LEAST_BITS <= 8 * len(packed):
        raise damaged(f"the tensor {name!r} is too short for its rows and columns")
    code = zlib.decompressobj()
    try:
        plain = code.decompress(packed.numpy().tobytes(), count)
    except zlib.error:
        raise damaged(f"the tensor {name!r} is damaged: its numbers cannot be decompressed") from None
    if len(plain) != count or not code.eof or code.unused_data:
        raise damaged(f"the tensor {name!r} has another number of values than its rows and columns need")
    return torch.from_numpy(np.frombuffer(plain, np.int8).astype(np.float32))
