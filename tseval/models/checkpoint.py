"""The checkpoints that come with tseval. Names are answered from here, without torch."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from safetensors.torch import save as safetensors_bytes
from torch import Tensor

from tseval.errors import ModelError, counted, shortened, shown
from tseval.files import write_whole
from tseval.models.network import Classifier, LanguageModel, Network, Sizes, Undrawn, all_finite
from tseval.models.plain import read_plain
from tseval.models.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tseval.formats import Json


STEPS = 8.5  # to a row's root mean square
SCALE = ".scale"  # what follows the name of a matrix in that of its scales
_MOST = 127
_LEAST_SCALE = torch.finfo(torch.float16).tiny
_LEAST_BITS = 1  # that a Huffman code takes for a number


def quantise(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, int]]:
    """Compress matrices into whole numbers; other weights go to float16.

    Args:
        weights: By name, float, on the CPU.

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


def dequantise(stored: Mapping[str, Tensor], columns: object) -> dict[str, Tensor]:
    """Give weights as they score: s·q in float32, which is exact.

    Args:
        stored: By name, as `quantise` gave them.
        columns: Of the matrices, by name, as a header holds them.

    Raises:
        ModelError: If the two do not fit together.
    """
    if not isinstance(columns, dict):
        raise ModelError("'quantised' does not give the columns of matrices by name")
    weights = dict(stored)
    for name, width in columns.items():
        packed, scales = weights.get(name), weights.pop(f"{name}{SCALE}", None)
        if packed is None or scales is None:
            raise ModelError(f"{name!r} is quantised, but its numbers or its scales are not there")
        if (
            packed.dtype != torch.uint8
            or packed.dim() != 1
            or scales.dtype != torch.float16
            or scales.dim() != 1
        ):
            raise ModelError(f"{name!r} is quantised, but not as bytes with a float16 scale for each row")
        numbers = _numbers(name, packed, len(scales) * width if type(width) is int else -1)
        weights[name] = numbers.reshape(len(scales), -1).float() * scales.float().unsqueeze(1)
    return weights


def _numbers(name: str, packed: Tensor, count: int) -> Tensor:
    """Decompress exactly so many numbers, and never more than an honest file could hold."""
    if not 0 < count * _LEAST_BITS <= 8 * len(packed):
        raise ModelError(f"{name!r} is too short for its rows and columns")
    code = zlib.decompressobj()
    try:
        plain = code.decompress(packed.numpy().tobytes(), count)
    except zlib.error:
        raise ModelError(f"{name!r} is damaged: its numbers cannot be decompressed") from None
    if len(plain) != count or not code.eof or code.unused_data:
        raise ModelError(f"{name!r} does not hold as many numbers as its rows and columns say")
    return torch.from_numpy(np.frombuffer(plain, np.int8).copy())


CHECKPOINT_FORMAT = "tseval-checkpoint"
CHECKPOINT_VERSION = 1
WEIGHT_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_FOREIGN = "Name a model of transformers hf:FOLDER; for any other write an adapter (docs/adapters.md)."
StoredType = Literal["float16", "float32"]  # of a model that is trained
PackedType = Literal["float16", "float32", "int8"]  # of one that is converted: int8 is `models/quantised.py`


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A language model or a classifier, with all that is known about it.

    Attributes:
        model: In float32, in evaluation mode, on the CPU.
        vocabulary: Its words.
        fingerprint: SHA-256 over sizes, vocabulary and weights as stored.
        training: How it was trained (command, settings, data, course).
        validation_perplexity: Of the stored weights on the validation text, or None.
        warnings: What a reader of its results should know.
    """

    model: Network
    vocabulary: Vocabulary
    fingerprint: str
    training: Mapping[str, Json]
    validation_perplexity: float | None
    warnings: tuple[str, ...] = ()

    def place_in_course(self) -> dict[str, Json]:
        """Say how far the training had come; nothing where the checkpoint does not know.

        Returns:
            `step` (windows), `tokens`, and `training`, which is the same for all checkpoints of one training.
        """
        course = self.training.get("course")
        last = course[-1] if isinstance(course, list) and course else None
        if not isinstance(last, dict) or type(last.get("step")) is not int:
            return {}
        which = [self.training.get(name) for name in ("settings", "digests", "files")]
        mark = hashlib.sha256(json.dumps(which, sort_keys=True).encode()).hexdigest()[:8]
        return {**{name: last[name] for name in ("step", "tokens") if name in last}, "training": mark}

    def __repr__(self) -> str:
        words = counted(len(self.vocabulary), "word")
        return shown(self, self.fingerprint[:8], self.model.sizes.arch, words)


def stored_weights(model: Network, dtype: PackedType) -> dict[str, Tensor]:
    """Give the weights as they come back from disk: rounded to `dtype`, a tied matrix once."""
    if dtype == "int8":
        return dequantise(*quantise(stored_weights(model, "float32")))
    return {
        name: tensor.detach().to("cpu", getattr(torch, dtype)).contiguous()
        for name, tensor in model.state_dict().items()
        if not (model.sizes.tied and name == "output.weight")
    }


def fingerprint(sizes: Mapping[str, object], vocabulary: Vocabulary, weights: Mapping[str, Tensor]) -> str:
    """Hash everything that decides a score: sizes, words and the bytes of the weights.

    Args:
        sizes: As they stand in the checkpoint, so that it stays the same when a cell gets a new option.
        vocabulary: The words.
        weights: By name, as they stand in the checkpoint.
    """
    digest = hashlib.sha256()
    words = [list(vocabulary.words), vocabulary.lowercase]
    digest.update(json.dumps([dict(sizes), words], sort_keys=True).encode())
    hash_weights(digest, weights)
    return digest.hexdigest()


def hash_weights(digest: hashlib._Hash, weights: Mapping[str, Tensor]) -> None:
    """Add names, types, shapes and bytes of weights, by name, to a digest."""
    for name in sorted(weights):
        tensor = weights[name].contiguous()
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(
            tensor.view(torch.uint8).numpy().tobytes() if tensor.dim() else tensor.numpy().tobytes()
        )


def save_checkpoint(
    path: Path,
    model: Network,
    vocabulary: Vocabulary,
    *,
    training: Mapping[str, Json],
    validation_perplexity: float | None,
    dtype: PackedType = "float32",
) -> None:
    """Write a checkpoint; the suffix of `path` decides between `.pt` and `.safetensors`.

    The file appears whole or not at all. The fingerprint is that of the weights as they come back from it.

    Raises:
        OSError: If the file cannot be written.
    """
    weights = stored_weights(model, "float32" if dtype == "int8" else dtype)
    sizes = model.sizes.to_mapping()
    columns: dict[str, int] = {}
    if dtype == "int8":
        weights, columns = quantise(weights)
    header = {
        "format": CHECKPOINT_FORMAT,
        "version": CHECKPOINT_VERSION,
        "sizes": sizes,
        "vocabulary": list(vocabulary.words),
        "lowercase": vocabulary.lowercase,
        "training": dict(training),
        "validation_perplexity": validation_perplexity,
        "fingerprint": fingerprint(sizes, vocabulary, dequantise(weights, columns)),
        **({"quantised": columns} if columns else {}),
    }
    plain = json.dumps(header)  # also holds the .pt header to plain data, which is all that loads again
    buffer = io.BytesIO()
    if path.suffix == ".safetensors":
        buffer.write(safetensors_bytes(weights, metadata={"tseval": plain}))
    else:
        torch.save({**json.loads(plain), "weights": weights}, buffer)
    write_whole(path, buffer.getbuffer())


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint that tseval wrote; nothing in the file is executed.

    Raises:
        ModelError: If the file is missing, damaged, no checkpoint, or does not fit together.
    """
    header, weights = _read(path)
    try:
        return _assemble(header, weights)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary of a checkpoint.

    Raises:
        ModelError: As `load_checkpoint`.
    """
    header, _ = _read(path)
    return _vocabulary(header)


def _read(path: Path) -> tuple[dict[str, object], dict[str, Tensor]]:
    """Read header and weights, checked for damage and for type but not yet against each other."""
    header = read_plain(path)
    if header.get("format") != CHECKPOINT_FORMAT:
        held = _first_names(header)
        raise ModelError(f"{path}: not a tseval checkpoint (it holds {held}).\n  {_FOREIGN}")
    if header.get("version") != CHECKPOINT_VERSION:
        version = shortened(repr(header.get("version")), 60)
        raise ModelError(
            f"{path}: checkpoint format {version}, but this tseval reads {CHECKPOINT_VERSION}: update it"
        )
    weights = header.pop("weights", None)
    if not isinstance(weights, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in weights.items()
    ):
        raise ModelError(f"{path}: the checkpoint's weights are not a dictionary of tensors")
    return header, weights


def _first_names(header: Mapping[str, object]) -> str:
    """Say what a foreign file holds: names of tensors, where there is nothing else."""
    weights = header.get("weights")
    names = weights if len(header) == 1 and isinstance(weights, dict) else header
    return shortened(", ".join(shortened(repr(name), 60) for name in list(names)[:6])) or "nothing"


def _vocabulary(header: Mapping[str, object]) -> Vocabulary:
    words, lowercase = header.get("vocabulary"), header.get("lowercase")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ModelError("the checkpoint's vocabulary is not a list of words")
    if not isinstance(lowercase, bool):
        raise ModelError("the checkpoint does not say whether its text was lower-cased")
    return Vocabulary(tuple(words), lowercase)


def _assemble(header: Mapping[str, object], weights: dict[str, Tensor]) -> Checkpoint:
    sizes = header.get("sizes")
    if not isinstance(sizes, dict):
        raise ModelError("the checkpoint does not hold the sizes of its model")
    vocabulary = _vocabulary(header)
    weights = dequantise(weights, header.get("quantised", {}))
    model = fit_model(Sizes.from_mapping(sizes), vocabulary, weights)
    marked = header.get("fingerprint")
    actual = fingerprint(sizes, vocabulary, weights)
    if marked != actual:
        raise ModelError("the contents do not match the checkpoint's fingerprint: it was damaged or edited")
    training, perplexity = header.get("training"), header.get("validation_perplexity")
    return Checkpoint(
        model=model,
        vocabulary=vocabulary,
        fingerprint=actual,
        training=training if isinstance(training, dict) else {},
        validation_perplexity=_finite(perplexity),
    )


def make_network(sizes: Sizes) -> Network:
    """Make the kind of network that sizes are of, with fresh weights."""
    return LanguageModel(sizes) if sizes.task is None else Classifier(sizes)


def fit_model(sizes: Sizes, vocabulary: Vocabulary, weights: Mapping[str, Tensor]) -> Network:
    """Put weights into a model, float32, in evaluation mode.

    Args:
        sizes: Of the model.
        vocabulary: Its words.
        weights: By name; of a tied model, without `output.weight`.

    Raises:
        ModelError: If the three do not fit together, or a weight is not finite.
    """
    if len(vocabulary) != sizes.vocabulary:
        raise ModelError(
            f"the vocabulary has {len(vocabulary)} words but the weights are for {sizes.vocabulary}: "
            "they do not belong together"
        )
    _check_weights(sizes, weights)
    with Undrawn():  # every parameter gets its weight below: `load_state_dict` sees to that
        model = make_network(sizes)
    if sizes.tied:
        weights = {**weights, "output.weight": weights["embedding.weight"]}
    model.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    return model.eval()


def _finite(value: object) -> float | None:
    return value if isinstance(value, float) and math.isfinite(value) else None


def _check_weights(sizes: Sizes, weights: Mapping[str, Tensor]) -> None:
    """Hold the weights to the shapes that the sizes demand, before any memory is taken for them."""
    if sizes.layers > len(weights):
        raise ModelError(
            f"{sizes.layers} layers are announced but there are only {len(weights)} weight tensors"
        )
    with torch.device("meta"), Undrawn():
        expected = make_network(sizes).state_dict()
    if sizes.tied:
        del expected["output.weight"]
    if missing := sorted(expected.keys() ^ weights.keys()):
        raise ModelError(
            f"the weights do not fit a {sizes.arch} of {sizes.layers} layers: check {missing[0]!r}"
        )
    for name, tensor in weights.items():
        if tensor.layout is not torch.strided or tensor.dtype not in WEIGHT_TYPES:
            raise ModelError(
                f"{name!r} is {tensor.dtype}, {tensor.layout}: weights must be dense floating point"
            )
        if tensor.device.type != "cpu" or tensor.untyped_storage().nbytes() < tensor.nbytes:
            raise ModelError(f"{name!r} has no numbers of its own behind its shape: it cannot be scored")
        if tensor.shape != expected[name].shape:
            raise ModelError(
                f"{name!r} has shape {tuple(tensor.shape)}; the sizes demand {tuple(expected[name].shape)}"
            )
    if broken := all_finite(weights):
        raise ModelError(f"{broken!r} holds NaN or infinite weights: the model cannot be scored")
