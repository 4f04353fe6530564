"""Checkpoints: plain data on disk, with a fingerprint of everything that decides a score.

A `.pt` checkpoint is a dictionary that loads with `weights_only=True`. A `.safetensors` checkpoint has the
same content, with everything except the weights as JSON in its header. tseval does not call `torch.load`. Its
reader (`pickles`) runs no code from the file, and allocates memory only for numbers that are in the file.

`tseval.models.int8_weights` packs matrices of `int8`.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import torch
from safetensors.torch import save as safetensors_bytes
from torch import Tensor

from tseval.errors import ModelError, counted, first_line, one_line, shortened
from tseval.files import write_whole
from tseval.formats import ContentError, checked
from tseval.models.int8_weights import dequantise, quantise
from tseval.models.network import Classifier, LanguageModel, Network, Sizes, all_finite, no_init
from tseval.models.pickles import Pickled, quoted
from tseval.models.refusals import damaged, refused
from tseval.models.torch_files import (
    OWN_LIMITS,
    StoredTensor,
    find_tensor,
    form_of,
    read_object,
    read_safetensors,
)
from tseval.models.vocabulary import EOS, UNK, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tseval.formats import Json


MAX_DEPTH = 100
MAX_BITS = 2**12  # of a whole number; Python refuses to print much longer ones
# A shared value counts as often as it is referred to, as in JSON, where it is written each time.
TIMES_THE_PICKLE = 64
_META = "torch._utils._rebuild_meta_tensor_no_storage"
_ATOMS = (int, float, bool, type(None))


def read_plain_object(path: Path) -> object:
    """Read a torch zip file that holds only lists, tuples, dictionaries, text, numbers and tensors."""
    file = read_object(path, frozenset({_META}), OWN_LIMITS)
    tensors = _tensors_in(file.value, TIMES_THE_PICKLE * min(file.size, OWN_LIMITS.pickle))
    file.check(tensors)
    tensor_values = {tensor: file.read(tensor) for tensor in tensors}
    return _written_out(file.value, tensor_values)


def _tensors_in(value: object, budget: int) -> list[StoredTensor]:
    """List the tensors in plain data, repeated ones too; limit the number of values and characters."""
    tensors: list[StoredTensor] = []

    def visit(value: object, depth: int) -> None:
        nonlocal budget
        budget -= 1
        if budget < 0 or depth < 0:
            raise damaged("damaged checkpoint: its data are nested too deeply to be read")
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise refused("tseval refuses this file: its Python pickle holds a number that is too large")
        if isinstance(value, str | bytes | bytearray):
            budget -= len(value)
        elif isinstance(value, dict | list | tuple):
            for entry in chain.from_iterable(value.items()) if isinstance(value, dict) else value:
                visit(entry, depth - 1)
        elif not isinstance(value, _ATOMS):
            tensors.append(_stored(value))

    visit(value, MAX_DEPTH)
    return tensors


def _stored(value: object) -> StoredTensor:
    tensor = find_tensor(value)
    if tensor is not None:
        return tensor
    if isinstance(value, Pickled) and value.called == _META:
        raise refused("a tensor has a shape but no numbers")
    description = quoted(value.called) if isinstance(value, Pickled) else quoted(value)
    raise refused(f"tseval refuses this file: its Python pickle holds {description}, which is not plain data")


def _written_out(value: object, made: dict[StoredTensor, Tensor]) -> object:
    """Copy a value so that nothing is shared, and replace the records of tensors by tensors."""
    if isinstance(value, dict):
        return {key: _written_out(entry, made) for key, entry in value.items()}
    if isinstance(value, list):
        return [_written_out(entry, made) for entry in value]
    if isinstance(value, tuple):
        return tuple(_written_out(entry, made) for entry in value)
    return made[_stored(value)] if isinstance(value, Pickled) else value


DESCRIBED_BYTES = 2**20  # bytes of a foreign file that are read to describe it


def read_plain(path: Path) -> dict[str, object]:
    """Read a `.pt` or `.safetensors` file; its content decides which.

    For safetensors, this is the JSON under `tseval` in its header, and the tensors under `weights`.
    """
    if path.is_dir():
        raise ModelError(
            f"{path} is a folder, not a checkpoint.\n  For a transformers model, write --model hf:{path}"
        )
    if not path.is_file():
        problem = "this is not a regular file" if path.exists() else "file not found"
        raise ModelError(f"{path}: {problem}.\n  Name a checkpoint: --model FILE.pt")
    form = form_of(path)
    try:
        return _read_safetensors(path) if form == "safetensors" else _read_pt(path, form)
    except RecursionError:
        raise damaged(f"{path}: damaged checkpoint: its data are nested too deeply to be read") from None
    except MemoryError:
        raise ModelError(
            f"{path}: the file does not fit into memory. Free memory, or use a larger machine"
        ) from None


def _read_safetensors(path: Path) -> dict[str, object]:
    try:
        texts, weights = read_safetensors(path)
        header = json.loads(texts.get("tseval", "{}"))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except ValueError as error:
        raise damaged(f"{path}: damaged safetensors file ({first_line(error)[:200]})") from None
    if not isinstance(header, dict):
        raise ModelError(
            f"{path} is not a tseval checkpoint (its header is a {type(header).__name__}).\n  {_FOREIGN_FIX}"
        )
    return {**header, "weights": weights}


def _read_pt(path: Path, form: str) -> dict[str, object]:
    if form != "zip":
        raise ModelError(f"{path}: {_describe(path)}.\n  {_FOREIGN_FIX}")
    try:
        content = read_plain_object(path)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ModelError(
            f"{path} is not a tseval checkpoint (it holds a {type(content).__name__}).\n  {_FOREIGN_FIX}"
        )
    return content


def _describe(path: Path) -> str:
    """Describe a file that is neither a zip file nor safetensors."""
    with path.open("rb") as file:
        content = file.read(DESCRIBED_BYTES)
    if not content:
        return "the file is empty"
    if content.startswith(b"\x93NUMPY"):
        return "this is a NumPy array, not a checkpoint"
    if content.startswith(b"\x80"):
        return "tseval refuses this file: a plain Python pickle can run code when it is read"
    return (
        "this is a text file, not a checkpoint"
        if content.isascii() and b"\0" not in content
        else "this is not a checkpoint"
    )


CHECKPOINT_FORMAT = "tseval-checkpoint"
CHECKPOINT_VERSION = 1
WEIGHT_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_FOREIGN_FIX = (
    "For a transformers model, write --model hf:FOLDER. For other models see docs/your-checkpoint.md."
)
StoredType = Literal["float16", "float32"]  # of a trained model
PackedType = Literal["float16", "float32", "int8"]  # of a converted model; int8: `tseval.models.int8_weights`


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A language model or a classifier, with everything known about it."""

    model: Network  # float32, evaluation mode, on the CPU
    vocabulary: Vocabulary
    fingerprint: str  # SHA-256 over sizes, vocabulary and stored weights
    training: Mapping[str, Json]  # how it was trained (command, settings, data, course)
    validation_perplexity: float | None  # of the stored weights on the validation text, if known
    warnings: tuple[str, ...] = ()  # warnings for users of its results
    reading: str | None = None  # for files from other programs: how the file was interpreted, on one line

    def place_in_course(self) -> dict[str, Json]:
        """Return the progress of the training; an empty mapping if the checkpoint has no record of it.

        The keys are `step` (windows), `tokens`, and `training`, the same for all checkpoints of one training.
        """
        course = self.training.get("course")
        last = course[-1] if isinstance(course, list) and course else None
        if not isinstance(last, dict) or type(last.get("step")) is not int:
            return {}
        course_parts = [self.training.get(name) for name in ("settings", "digests", "files")]
        mark = hashlib.sha256(json.dumps(course_parts, sort_keys=True).encode()).hexdigest()[:8]
        return {**{name: last[name] for name in ("step", "tokens") if name in last}, "training": mark}

    def __repr__(self) -> str:
        words = counted(len(self.vocabulary), "word")
        return one_line(self, self.fingerprint[:8], self.model.sizes.arch, words)


def stored_weights(model: Network, dtype: PackedType) -> dict[str, Tensor]:
    """Return the weights as a checkpoint restores them: rounded to `dtype`, and a tied matrix once."""
    if dtype == "int8":
        return dequantise(*quantise(stored_weights(model, "float32")))
    return {
        name: tensor.detach().to("cpu", getattr(torch, dtype)).contiguous()
        for name, tensor in model.state_dict().items()
        if not (model.sizes.tied and name == "output.weight")
    }


def fingerprint(sizes: Mapping[str, object], vocabulary: Vocabulary, weights: Mapping[str, Tensor]) -> str:
    """Hash everything that decides a score: sizes, words and the bytes of the weights.

    The sizes are those in the checkpoint, so the fingerprint does not change when a cell gets a new option.
    """
    digest = hashlib.sha256()
    words = [list(vocabulary.words), vocabulary.lowercase]
    digest.update(json.dumps([dict(sizes), words], sort_keys=True).encode())
    hash_weights(digest, weights)
    return digest.hexdigest()


def hash_weights(digest: hashlib._Hash, weights: Mapping[str, Tensor]) -> None:
    """Add names, types, shapes and bytes of weights to a digest, sorted by name."""
    for name in sorted(weights):
        tensor = weights[name].detach().cpu().contiguous()  # one at a time: a GPU may have more memory
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        if tensor.numel():
            content: Any = tensor.reshape(-1).view(torch.uint8).numpy()  # a view without a copy
            digest.update(content)


def save_checkpoint(
    path: Path,
    model: Network,
    vocabulary: Vocabulary,
    *,
    training: Mapping[str, Json],
    validation_perplexity: float | None,
    dtype: PackedType = "float32",
) -> None:
    """Write a checkpoint atomically; the file ending selects `.pt` or `.safetensors`.

    The fingerprint is that of the restored weights.
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
        **({} if vocabulary.start == EOS else {"start": vocabulary.start}),
        **({} if vocabulary.unknown == UNK else {"unknown": vocabulary.unknown}),
        "training": dict(training),
        "validation_perplexity": validation_perplexity,
        "fingerprint": fingerprint(sizes, vocabulary, dequantise(weights, columns)),
        **({"quantised": columns} if columns else {}),
    }
    plain = json.dumps(header)  # also checks that the .pt header is plain data, which can be loaded again
    buffer = io.BytesIO()
    if path.suffix == ".safetensors":
        buffer.write(safetensors_bytes(weights, metadata={"tseval": plain}))
    else:
        torch.save({**json.loads(plain), "weights": weights}, buffer)
    write_whole(path, buffer.getbuffer())


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint of tseval; no code in the file is executed."""
    header, weights = _read(path)
    try:
        return _assemble(header, weights)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary of a checkpoint."""
    header, _ = _read(path)
    return header.words


@dataclass(frozen=True, slots=True)
class _Header:
    """The content of a checkpoint except its weights."""

    sizes: dict[str, object]
    vocabulary: tuple[str, ...]
    lowercase: bool
    fingerprint: str
    start: str = EOS
    unknown: str | None = UNK
    quantised: dict[str, int] = field(default_factory=dict)
    training: object = None
    validation_perplexity: object = None

    @property
    def words(self) -> Vocabulary:
        return Vocabulary(self.vocabulary, self.lowercase, self.start, self.unknown)


def _read(path: Path) -> tuple[_Header, dict[str, Tensor]]:
    """Read header and weights, and check both for damage and types, but not against each other."""
    header = read_plain(path)
    if header.get("format") != CHECKPOINT_FORMAT:
        content_names = _first_names(header)
        raise ModelError(f"{path} is not a tseval checkpoint (it holds {content_names}).\n  {_FOREIGN_FIX}")
    if header.get("version") != CHECKPOINT_VERSION:
        version = shortened(repr(header.get("version")), 60)
        raise ModelError(
            f"{path}: the checkpoint has format {version}, but this tseval reads {CHECKPOINT_VERSION}.\n"
            "  Update tseval: pip install -U tseval"
        )
    weights = header.pop("weights", None)
    if not isinstance(weights, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in weights.items()
    ):
        raise damaged(f"{path}: the weights of the checkpoint are not a dictionary of tensors")
    try:
        return checked(header, _Header), weights
    except ContentError as error:
        raise ModelError(f"{path}: {error}") from None


def _first_names(header: Mapping[str, object]) -> str:
    """Describe the content of a foreign file: the first names of its fields, or of its tensors."""
    weights = header.get("weights")
    names = weights if len(header) == 1 and isinstance(weights, dict) else header
    return shortened(", ".join(shortened(repr(name), 60) for name in list(names)[:6])) or "nothing"


def _assemble(header: _Header, weights: dict[str, Tensor]) -> Checkpoint:
    vocabulary = header.words
    weights = dequantise(weights, header.quantised)
    model = fit_model(Sizes.from_mapping(header.sizes), vocabulary, weights)
    if header.fingerprint != fingerprint(header.sizes, vocabulary, weights):
        raise damaged(
            "the content does not match its stored checksum, so the checkpoint is damaged or was edited"
        )
    training, perplexity = header.training, header.validation_perplexity
    return Checkpoint(
        model=model,
        vocabulary=vocabulary,
        fingerprint=header.fingerprint,
        training=training if isinstance(training, dict) else {},
        validation_perplexity=(
            perplexity if isinstance(perplexity, float) and math.isfinite(perplexity) else None
        ),
    )


def make_network(sizes: Sizes) -> Network:
    """Return a network with new weights: a language model or a classifier."""
    return LanguageModel(sizes) if sizes.task is None else Classifier(sizes)


def fit_model(sizes: Sizes, vocabulary: Vocabulary, weights: Mapping[str, Tensor]) -> Network:
    """Load weights (without `output.weight` if tied) into a model in evaluation mode, float32."""
    if len(vocabulary) != sizes.vocabulary:
        raise damaged(
            f"the vocabulary of the checkpoint has {len(vocabulary)} words, but the weights are for "
            f"{sizes.vocabulary}"
        )
    _check_weights(sizes, weights)
    return network_of(sizes, weights)


def network_of(sizes: Sizes, weights: Mapping[str, Tensor]) -> Network:
    """Load weights that surely fit into a network in evaluation mode, float32."""
    with no_init():  # `load_state_dict` below sets every parameter
        model = make_network(sizes)
    if sizes.tied:
        weights = {**weights, "output.weight": weights["embedding.weight"]}
    model.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    return model.eval()


def _check_weights(sizes: Sizes, weights: Mapping[str, Tensor]) -> None:
    """Check the shapes of the weights against the sizes, before memory is allocated."""
    if sizes.layers > len(weights):
        raise damaged(
            f"the checkpoint should have {sizes.layers} layers, but has only {len(weights)} weight tensors"
        )
    with torch.device("meta"), no_init():
        expected = make_network(sizes).state_dict()
    if sizes.tied:
        del expected["output.weight"]
    if missing := sorted(expected.keys() ^ weights.keys()):
        raise damaged(f"the weights do not fit a {sizes.arch} of {sizes.layers} layers: check {missing[0]!r}")
    for name, tensor in weights.items():
        if tensor.layout is not torch.strided or tensor.dtype not in WEIGHT_TYPES:
            raise refused(
                f"the tensor {name!r} has the type {tensor.dtype} and the layout {tensor.layout}, but "
                "weights must be dense floating-point numbers"
            )
        if tensor.device.type != "cpu" or tensor.untyped_storage().nbytes() < tensor.nbytes:
            raise refused(f"the tensor {name!r} has a shape but no numbers")
        stored, needed = tuple(tensor.shape), tuple(expected[name].shape)
        if stored != needed:
            raise damaged(
                f"the tensor {name!r} has the shape {stored}, but the sizes of the model need the shape "
                f"{needed}"
            )
    if broken := all_finite(weights):
        raise ModelError(
            f"the tensor {broken!r} has NaN or infinite weights, so the model cannot give scores.\n"
            "  Use an earlier checkpoint of the same training."
        )
