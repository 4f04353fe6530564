"""Models in the files that trainings save: their tensors by name, found without running anything.

What `torch.save` or safetensors wrote: a `state_dict`, alone or in the dictionary that a training saves; a
module, perhaps in DataParallel; a checkpoint of Lightning. Names are rid of what wrappers put into them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from safetensors import SafetensorError, safe_open

from tseval.errors import ModelError, shortened, suggest
from tseval.models.pickles import Pickled, quoted, read_pickle
from tseval.models.torch_files import (
    MAGIC,
    OWN_LIMITS,
    StoredTensor,
    find_tensor,
    form_of,
    read_object,
    read_safetensors,
    start_of_pickle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor


GPT = "transformer.wte.weight"  # a tensor that nanoGPT's checkpoints have, and GPT-2's
WRAPPERS = {"module", "_orig_mod", "_forward_module"}  # DataParallel and WeightDrop, torch.compile, Lightning
LAYER = re.compile(r"(?:(.*)\.)?(weight|bias)_(ih|hh|hr)(?:_l(\d{1,3}))?(_reverse)?(_raw)?")
OPTIMISER = {"state", "param_groups"}  # what every optimizer's state_dict has

_EMBEDDING = "torch.nn.modules.sparse.Embedding"
_RECURRENT = frozenset(
    f"torch.nn.modules.rnn.{kind}{part}" for kind in ("LSTM", "GRU", "RNN") for part in ("", "Cell")
)
_DROPOUT = "torch.nn.modules.dropout.Dropout"
# Modules that change no logits but by weights, which are found by name.
_MODULES = _RECURRENT | {
    *(_EMBEDDING, _DROPOUT, "torch.nn.modules.linear.Linear", "torch.nn.modules.linear.Identity"),
    *(f"torch.nn.modules.container.{name}" for name in ("ModuleList", "ModuleDict", "Sequential")),
    *("torch.nn.modules.activation.LogSoftmax", "torch.nn.modules.activation.Softmax"),
    *("torch.nn.modules.loss.CrossEntropyLoss", "torch.nn.modules.loss.NLLLoss"),
    *(
        "torch.nn.parallel.data_parallel.DataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
    ),
}
# What trainings save beside weights; such calls become records.
_CALLED = _MODULES | {
    *("torch.device", "torch.Size", "_codecs.encode", "numpy.dtype", "argparse.Namespace"),
    *("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"),
    *("collections.Counter", "collections.defaultdict", "builtins.int", "builtins.list", "builtins.float"),
    *(
        f"{room}.{kind}Path"
        for room in ("pathlib", "pathlib._local")
        for kind in ("Posix", "Windows", "PurePosix")
    ),
    "torch.nn.backends.thnn._get_thnn_function_backend",  # until PyTorch 1.3; holds no numbers
}
# Classes that hold words, settings or the course of a training: data, whoever's they are.
DATA_CLASSES = re.compile(
    r"(torch\.(?!nn\.)|(lightning|pytorch_lightning|omegaconf|torchtext|transformers|typing|types)\.).*"
    r"|.*(Dictionary|Vocab|Vocabulary|Corpus|Config|Configuration|Namespace|Args|Arguments|Options|Params"
    r"|AttributeDict|AttrDict|EasyDict)"
)


@dataclass(frozen=True, slots=True)
class State:
    """The tensors of a model in a file, by the names that its state_dict has."""

    place: str  # where in the file; empty for the whole
    tensors: dict[str, StoredTensor]  # by name, without what wrappers put before it
    # of recurrent layers, as the modules or settings around them name them
    modes: frozenset[str] = frozenset()
    dropout: float = 0.0  # that the module says
    class_name: str = "state_dict"  # of the module; `state_dict` where there is none

    @property
    def has_layers(self) -> bool:
        """Whether recurrent layers are among them."""
        return any(LAYER.fullmatch(name) for name in self.tensors)


@dataclass(frozen=True, slots=True)
class StateFile:
    """A file that was read: what is in it, and how the numbers of a tensor are had."""

    value: object
    form: str
    check: Callable[[Sequence[StoredTensor]], None]
    read: Callable[[StoredTensor], Tensor]


def kind_of(path: Path) -> Literal["tseval", "nanogpt", "other"]:
    """Tell whose checkpoint a file is; what neither torch nor safetensors wrote is left to our own reader."""
    if not path.is_file():
        return "tseval"
    form = form_of(path)
    if form == "zip":
        if b"tseval-checkpoint" in start_of_pickle(path, 128):
            return "tseval"
        return "nanogpt" if GPT.encode() in start_of_pickle(path, OWN_LIMITS.pickle) else "other"
    try:
        if form == "safetensors":
            with safe_open(path, framework="pt") as tensors:
                return "tseval" if "tseval" in (tensors.metadata() or {}) else "other"
        with path.open("rb") as file:
            return "other" if read_pickle(io.BytesIO(file.read(64))).value == MAGIC else "tseval"
    except (ModelError, SafetensorError, ValueError):
        return "tseval"


def is_foreign(path: Path) -> bool:
    """Tell what torch or safetensors wrote, but not tseval."""
    return kind_of(path) != "tseval"


@contextmanager
def naming(path: Path, arguments: Mapping[str, str]) -> Iterator[None]:
    """Put the file's name before what is wrong with it."""
    try:
        yield
    except ModelError as error:
        names_file = str(error).startswith((str(path), f"{arguments.get('vocab', path)}: "))
        raise ModelError(str(error) if names_file else f"{path}: {error}") from None
    except RecursionError:
        raise ModelError(f"{path}: damaged checkpoint: nested without end") from None


def read_state_file(path: Path) -> StateFile:
    """Read what a file holds; of the numbers only the places are noted."""
    if form_of(path) == "safetensors":
        read: Any = lambda tensor: tensor  # noqa: E731  these tensors are read already
        return StateFile(read_safetensors(path)[1], "safetensors", lambda _: None, read)
    file = read_object(path, _CALLED, OWN_LIMITS)
    own = {module.called for module in _modules(file.value)}
    foreign = sorted(name for name in file.names - own if not DATA_CLASSES.fullmatch(name))
    if foreign:
        raise ModelError(
            f"refused, and not run: its pickle names {quoted(foreign[0])}, which no word language model "
            "needs.\n  Save weights and words alone: "
            "torch.save({'model': model.state_dict(), 'vocab': words}, FILE)."
        )
    return StateFile(file.value, file.form, file.check, file.read)


def choose_state(value: object, place: str | None) -> State:
    """Find the one model in what was saved; of several the one at a place, as a message named it."""
    found = list(find_states(value))
    if place is not None:
        names = [state.place for state in found]
        if place not in names:
            raise ModelError(f"state={place}: {suggest(place, names, 'It holds')}")
        return found[names.index(place)]
    recurrent = [state for state in found if state.has_layers]
    if len(recurrent) > 1:
        names = [state.place for state in recurrent]
        raise ModelError(
            f"it holds {len(names)} models: {', '.join(names[:6])}.\n"
            f"  Add --model-args state={names[0]}, or another."
        )
    if recurrent:
        return recurrent[0]
    if found:
        return max(found, key=lambda state: len(state.tensors))
    if isinstance(value, Mapping) and _only_optimiser(value):
        raise ModelError(
            "it holds the state of an optimizer and no model.\n"
            "  Save the weights: torch.save(model.state_dict(), FILE)."
        )
    held = shortened(", ".join(map(repr, list(value)[:6])), 200) if isinstance(value, Mapping) else ""
    raise ModelError(
        f"it holds a {type(value).__name__}{f' of {held}' if held else ''}, not a model.\n"
        "  Save the weights: torch.save(model.state_dict(), FILE)."
    )


def _only_optimiser(value: Mapping[object, object]) -> bool:
    return value.keys() >= OPTIMISER or any(
        isinstance(entry, Mapping) and entry.keys() >= OPTIMISER for entry in value.values()
    )


def find_states(value: object, place: str = "", depth: int = 4) -> Iterator[State]:
    """Give every model in what was saved: modules, and dictionaries of tensors that hold a matrix."""
    if isinstance(value, Pickled) and _parts_of(value) is not None:
        yield _flat(value, place)
        return
    if not depth or isinstance(value, str):
        return
    if isinstance(value, Mapping):
        tensors = {name: as_tensor(entry) for name, entry in value.items() if isinstance(name, str)}
        matrices = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        if any(len(tensor.shape) == 2 and is_float(tensor) for tensor in matrices.values()):
            yield State(place, without_wrappers(matrices))
        elif not value.keys() >= OPTIMISER:
            for name, entry in value.items():
                yield from find_states(entry, f"{place}.{name}" if place else str(name), depth - 1)
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value[:100]):
            yield from find_states(entry, f"{place}.{i}" if place else str(i), depth - 1)


def as_tensor(value: object) -> StoredTensor | None:
    """Give the tensor that a value is, read already or not; None if it is none."""
    return value if isinstance(value, torch.Tensor) else find_tensor(value)  # type: ignore[return-value]


def is_float(tensor: StoredTensor) -> bool:
    """Tell weights from counters."""
    dtype = tensor.dtype if isinstance(tensor, torch.Tensor) else tensor.view.storage.dtype
    return dtype.is_floating_point


def without_wrappers(tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Take off what DataParallel, torch.compile and the like put into names."""
    found: dict[str, StoredTensor] = {}
    for name, tensor in tensors.items():
        short = ".".join(part for part in name.split(".") if part not in WRAPPERS)
        found[name if short in found else short] = tensor
    return found


def _parts_of(module: object) -> Mapping[str, object] | None:
    """Give the dictionaries that make up a module; None if it is none."""
    state = module.state if isinstance(module, Pickled) else None
    if isinstance(state, dict) and isinstance(state.get("_parameters"), dict):
        return state if isinstance(state.get("_modules"), dict) else None
    return None


def _modules(value: object, depth: int = 4) -> Iterator[Pickled]:
    """Give the outermost modules in what was saved, in DataParallel the one inside it too."""
    if isinstance(value, Pickled) and (parts := _parts_of(value)) is not None:
        yield value
        inside = parts["_modules"]
        if value.called.startswith("torch.nn.parallel.") and isinstance(inside, dict):
            yield from _modules(inside.get("module"), depth)
    elif depth and isinstance(value, Mapping | list | tuple):
        for entry in list(value.values() if isinstance(value, Mapping) else value)[:100]:
            yield from _modules(entry, depth - 1)


def _flat(module: Pickled, place: str) -> State:
    """Write a module as its state_dict, and note what its parts say of themselves."""
    tensors: dict[str, StoredTensor] = {}
    modes: set[str] = set()
    dropout, class_name = 0.0, module.called

    def visit(part: Pickled, before: str) -> None:
        nonlocal dropout
        parts = _parts_of(part)
        if parts is None:
            raise ModelError("what it holds is no module of torch, or a damaged one")
        if part.called == _EMBEDDING and parts.get("max_norm") is not None:
            raise ModelError("its word vectors are cut to a largest norm, which cannot be computed here")
        if part.called in _RECURRENT:
            modes.add(str(parts.get("mode") or parts.get("nonlinearity") or part.called.rpartition(".")[2]))
        if (
            part.called == _DROPOUT
            and before.rstrip(".").endswith("drop")
            and isinstance(parts.get("p"), float)
        ):
            dropout = parts["p"]  # type: ignore[assignment]
        for kind in ("_parameters", "_buffers"):
            entries = parts.get(kind)
            for name, value in entries.items() if isinstance(entries, dict) else ():
                if value is not None and (tensor := find_tensor(value)) is None:
                    raise ModelError(f"{quoted(f'{before}{name}')} is no tensor: the file is damaged")
                if value is not None:
                    tensors[f"{before}{name}"] = tensor  # type: ignore[assignment]
        for name, child in parts["_modules"].items():  # type: ignore[attr-defined]
            if isinstance(child, Pickled):
                visit(child, f"{before}{name}.")

    visit(module, "")
    if module.called.startswith("torch.nn.parallel."):
        class_name = next((inner.called for inner in _modules(module) if inner is not module), module.called)
    return State(place, without_wrappers(tensors), frozenset(modes), dropout, class_name)
