"""Checkpoints: plain data on disk, read without executing anything.

A `.pt` checkpoint is a dictionary that loads with `weights_only=True`; a `.safetensors` checkpoint holds
the same, everything but the weights as JSON in its header. torch does not verify the checksums in its
zip files, so they are verified here, and a fingerprint over all that decides a score is stored and
compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from tseval.errors import ModelError
from tseval.models.language_model import LanguageModel, Sizes, all_finite
from tseval.models.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.scoring.protocol import Json

BUNDLED = Path(__file__).parent / "bundled"  # checkpoints that come with tseval
FORMAT = "tseval-checkpoint"
VERSION = 1
WEIGHT_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
StoredType = Literal["float16", "float32"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A language model with all that is known about it.

    Attributes:
        model: In float32, in evaluation mode, on the CPU.
        vocabulary: Its words.
        fingerprint: SHA-256 over sizes, vocabulary and weights as stored.
        training: How it was trained (command, settings, data, course).
        validation_perplexity: Of the stored weights on the validation text, or None.
    """

    model: LanguageModel
    vocabulary: Vocabulary
    fingerprint: str
    training: Mapping[str, Json]
    validation_perplexity: float | None


def stored_weights(model: LanguageModel, dtype: StoredType) -> dict[str, Tensor]:
    """Give the weights as they go to disk: rounded to `dtype`, a tied matrix once."""
    return {
        name: tensor.detach().to("cpu", getattr(torch, dtype)).contiguous()
        for name, tensor in model.state_dict().items()
        if not (model.sizes.tied and name == "output.weight")
    }


def fingerprint(sizes: Sizes, vocabulary: Vocabulary, weights: Mapping[str, Tensor]) -> str:
    """Hash everything that decides a score: sizes, words and the bytes of the weights."""
    digest = hashlib.sha256()
    words = [list(vocabulary.words), vocabulary.lowercase]
    digest.update(json.dumps([sizes.to_mapping(), words], sort_keys=True).encode())
    for name in sorted(weights):
        tensor = weights[name].contiguous()
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(
            tensor.view(torch.uint8).numpy().tobytes() if tensor.dim() else tensor.numpy().tobytes()
        )
    return digest.hexdigest()


def save_checkpoint(
    path: Path,
    model: LanguageModel,
    vocabulary: Vocabulary,
    *,
    training: Mapping[str, Json],
    validation_perplexity: float | None,
    dtype: StoredType = "float32",
) -> None:
    """Write a checkpoint; the suffix of `path` decides between `.pt` and `.safetensors`.

    The file appears whole or not at all: it is written beside its place and then moved there.

    Raises:
        OSError: If the file cannot be written.
    """
    weights = stored_weights(model, dtype)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "sizes": model.sizes.to_mapping(),
        "vocabulary": list(vocabulary.words),
        "lowercase": vocabulary.lowercase,
        "training": dict(training),
        "validation_perplexity": validation_perplexity,
        "fingerprint": fingerprint(model.sizes, vocabulary, weights),
    }
    plain = json.dumps(header)  # also holds the .pt header to plain data, which is all that loads again
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        if path.suffix == ".safetensors":
            save_file(weights, temporary, metadata={"tseval": plain})
        else:
            torch.save({**json.loads(plain), "weights": weights}, temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
    if path.is_dir():
        raise ModelError(f"{path}: is a folder, not a checkpoint")
    if not path.exists():
        raise ModelError(f"{path}: no such checkpoint")
    with path.open("rb") as file:
        start = file.read(16)
    header = _read_safetensors(path) if start[8:9] == b"{" else _read_pt(path, start)
    if header.get("format") != FORMAT:
        raise ModelError(
            f"{path}: not a tseval checkpoint (it holds {', '.join(map(repr, list(header)[:6]))})"
        )
    if header.get("version") != VERSION:
        raise ModelError(
            f"{path}: checkpoint format {header.get('version')!r}, but this tseval reads {VERSION}: update it"
        )
    weights = header.pop("weights", None)
    if not isinstance(weights, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in weights.items()
    ):
        raise ModelError(f"{path}: the checkpoint's weights are not a dictionary of tensors")
    return header, weights


def _read_safetensors(path: Path) -> dict[str, object]:
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("tseval", "{}"))
            return {**header, "weights": {name: file.get_tensor(name) for name in file.keys()}}  # noqa: SIM118
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"{path}: damaged safetensors file ({error})") from None


def _read_pt(path: Path, start: bytes) -> dict[str, object]:
    if not start.startswith(b"PK"):
        raise ModelError(
            f"{path}: {_describe(start)}. Models are read from tseval's own .pt and .safetensors files."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
        raise ModelError(f"{path}: truncated or damaged checkpoint ({error})") from None
    if damaged:
        raise ModelError(f"{path}: damaged checkpoint: wrong checksum in {damaged}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch wonders at pickle protocols; what matters is raised
        content = _load_weights_only(path)
    if not isinstance(content, dict):
        raise ModelError(f"{path}: not a tseval checkpoint (it holds a {type(content).__name__})")
    return content


def _load_weights_only(path: Path) -> object:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ModelError(f"{path}: refused, because reading it would execute code{_foreign(path)}") from None
    except (RuntimeError, ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError) as error:
        raise ModelError(f"{path}: not a readable checkpoint ({str(error).splitlines()[0]})") from None


def _describe(start: bytes) -> str:
    if not start:
        return "an empty file"
    if start.startswith(b"\x80"):
        return "a bare pickle, refused because reading it could execute code"
    return "a text file" if start.isascii() and b"\0" not in start else "not a checkpoint"


def _foreign(path: Path) -> str:
    """Name what a pickle would call, without calling it."""
    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # a hostile file may break the listing in any way; it is refused regardless
        return ""
    return f" ({', '.join(sorted(names)[:5])})" if names else ""


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
    sizes = Sizes.from_mapping(sizes)
    vocabulary = _vocabulary(header)
    if len(vocabulary) != sizes.vocabulary:
        raise ModelError(
            f"the vocabulary has {len(vocabulary)} words but the weights are for {sizes.vocabulary}: "
            "they do not belong together"
        )
    _check_weights(sizes, weights)
    marked = header.get("fingerprint")
    actual = fingerprint(sizes, vocabulary, weights)
    if marked != actual:
        raise ModelError("the contents do not match the checkpoint's fingerprint: it was damaged or edited")
    model = LanguageModel(sizes)
    if sizes.tied:
        weights = {**weights, "output.weight": weights["embedding.weight"]}
    model.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    training, perplexity = header.get("training"), header.get("validation_perplexity")
    return Checkpoint(
        model=model.eval(),
        vocabulary=vocabulary,
        fingerprint=actual,
        training=training if isinstance(training, dict) else {},
        validation_perplexity=float(perplexity) if isinstance(perplexity, int | float) else None,
    )


def _check_weights(sizes: Sizes, weights: Mapping[str, Tensor]) -> None:
    """Hold the weights to the shapes that the sizes demand, before any memory is taken for them."""
    if sizes.layers > len(weights):
        raise ModelError(
            f"{sizes.layers} layers are announced but there are only {len(weights)} weight tensors"
        )
    with torch.device("meta"):
        expected = LanguageModel(sizes).state_dict()
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
        if tensor.shape != expected[name].shape:
            raise ModelError(
                f"{name!r} has shape {tuple(tensor.shape)}; the sizes demand {tuple(expected[name].shape)}"
            )
    if broken := all_finite(weights):
        raise ModelError(f"{broken!r} holds NaN or infinite weights: the model cannot be scored")
