"""Readers of model files that trainings save: tensors by name, without running code.

Supported are files of `torch.save` and safetensors: a `state_dict`, alone or in a training's dictionary; a
module, also in DataParallel; a checkpoint of Lightning. Prefixes that wrappers add to names are removed.
`tseval.models.saved_words` finds the words of the model.
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

from tseval.errors import ModelError, first_line, shortened, suggest
from tseval.models.pickles import Pickled, quoted, read_pickle
from tseval.models.refusals import damaged
from tseval.models.torch_files import (
    MAGIC,
    OWN_LIMITS,
    StoredTensor,
    TorchFile,
    find_tensor,
    form_of,
    read_object,
    read_safetensors,
    start_of_pickle,
)
from tseval.models.walks import MOST_PARTS, Walk, path_within

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


GPT = "transformer.wte.weight"  # a tensor in nanoGPT's and GPT-2's checkpoints
WRAPPERS = {"module", "_orig_mod", "_forward_module"}  # DataParallel and WeightDrop, torch.compile, Lightning
LAYER = re.compile(r"(?:(.*)\.)?(weight|bias)_(ih|hh|hr)(?:_l(\d{1,3}))?(_reverse)?(_raw)?")
OPTIMISER = {"state", "param_groups"}  # keys of every optimizer's state_dict

_EMBEDDING = "torch.nn.modules.sparse.Embedding"
_RECURRENT = frozenset(
    f"torch.nn.modules.rnn.{kind}{part}" for kind in ("LSTM", "GRU", "RNN") for part in ("", "Cell")
)
_DROPOUT = "torch.nn.modules.dropout.Dropout"
# Modules that affect logits only by their weights, which are identified by name.
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
# Other objects in training checkpoints; these calls become records.
_CALLED = _MODULES | {
    *("torch.device", "torch.Size", "_codecs.encode", "numpy.dtype", "argparse.Namespace"),
    *("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"),
    *("collections.Counter", "collections.defaultdict", "builtins.int", "builtins.list", "builtins.float"),
    *(
        f"{room}.{kind}Path"
        for room in ("pathlib", "pathlib._local")
        for kind in ("Posix", "Windows", "PurePosix")
    ),
    "torch.nn.backends.thnn._get_thnn_function_backend",  # until PyTorch 1.3; has no numbers
}
# Classes of any package that hold data: words, settings, or training history.
DATA_CLASSES = re.compile(
    r"(torch\.(?!nn\.)|(lightning|pytorch_lightning|omegaconf|torchtext|transformers|typing|types)\.).*"
    r"|.*(Dictionary|Vocab|Vocabulary|Corpus|Config|Configuration|Namespace|Args|Arguments|Options|Params"
    r"|AttributeDict|AttrDict|EasyDict)"
)


@dataclass(frozen=True, slots=True)
class State:
    """The tensors of a model in a file, by their names in its state_dict."""

    path: str  # path in the file, such as `model.encoder`; empty for the whole file
    tensors: dict[str, StoredTensor]  # by name, without prefixes from wrappers
    # names of recurrent layer types in the modules or in the settings
    modes: frozenset[str] = frozenset()
    dropout: float = 0.0  # dropout rate of the module
    class_name: str = "state_dict"  # of the module; `state_dict` if there is no module

    @property
    def has_layers(self) -> bool:
        """Whether any of the tensors belongs to a recurrent layer."""
        return any(LAYER.fullmatch(name) for name in self.tensors)


def kind_of(path: Path) -> Literal["tseval", "nanogpt", "other"]:
    """Return the program that wrote a checkpoint; `tseval` also if it is no torch or safetensors file."""
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
    """Return whether torch or safetensors wrote a file, but not tseval."""
    return kind_of(path) != "tseval"


# Python errors that unexpected values in a checkpoint cause.
_OF_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@contextmanager
def naming(path: Path, arguments: Mapping[str, str]) -> Iterator[None]:
    """Add the file's name to errors about the file."""
    try:
        yield
    except ModelError as error:
        names_file = str(error).startswith((str(path), f"{arguments.get('vocab', path)}: "))
        raise ModelError(str(error) if names_file else f"{path}: {error}") from None
    except RecursionError:
        raise damaged(f"{path}: damaged checkpoint: its data are nested too deeply to be read") from None
    except _OF_DAMAGE as error:  # the file is at fault, not tseval
        message = shortened(f"{type(error).__name__}: {first_line(error)}", 150)
        raise damaged(f"{path}: damaged checkpoint ({message})") from None


def read_state_file(path: Path) -> TorchFile:
    """Read a file without its numbers; only their positions are recorded."""
    if form_of(path) == "safetensors":
        tensors = read_safetensors(path)[1]
        return TorchFile("safetensors", tensors, frozenset(), lambda _: torch.empty(0), path.stat().st_size)
    file = read_object(path, _CALLED, OWN_LIMITS)
    modules_inside = {module.called for module in _modules(file.value)}
    foreign = sorted(name for name in file.names - modules_inside if not DATA_CLASSES.fullmatch(name))
    if foreign:
        raise ModelError(
            "tseval refuses this file and ran none of its code: its Python pickle refers to "
            f"{quoted(foreign[0])}, but a word-level language model never needs "
            "that.\n  Save only the weights and the words: "
            "torch.save({'model': model.state_dict(), 'vocab': words}, FILE)."
        )
    return file


def choose_state(value: object, path: str | None) -> State:
    """Return the only saved model; if there are several, the one at a path from the error message."""
    states = list(find_states(value))
    if path is not None:
        names = [state.path for state in states]
        if path not in names:
            raise ModelError(f"state={path}: the file has no such model. {suggest(path, names, 'Models')}")
        return states[names.index(path)]
    recurrent = [state for state in states if state.has_layers]
    if len(recurrent) > 1:
        names = [state.path for state in recurrent]
        raise ModelError(
            f"the file holds {len(names)} models: {', '.join(names[:6])}.\n"
            f"  Choose one, for example with --model-args state={names[0]}"
        )
    if recurrent:
        return recurrent[0]
    if states:
        return max(states, key=lambda state: len(state.tensors))
    optimiser = isinstance(value, Mapping) and (
        value.keys() >= OPTIMISER
        or any(isinstance(entry, Mapping) and entry.keys() >= OPTIMISER for entry in value.values())
    )
    if optimiser:
        raise ModelError(
            "the file holds the state of an optimizer, but no model.\n"
            "  Save the weights: torch.save(model.state_dict(), FILE)."
        )
    key_names = shortened(", ".join(map(repr, list(value)[:6])), 200) if isinstance(value, Mapping) else ""
    raise ModelError(
        f"the file holds a {type(value).__name__}{f' of {key_names}' if key_names else ''}, not a model.\n"
        "  Save the weights: torch.save(model.state_dict(), FILE)."
    )


def find_states(value: object, path: str = "", depth: int = 4, walk: Walk | None = None) -> Iterator[State]:
    """Yield every saved model: modules, and dictionaries of tensors with at least one matrix."""
    walk = walk or Walk()
    if not depth or isinstance(value, str):
        return
    if isinstance(value, Pickled | Mapping | list | tuple) and not walk.enters(value, depth):
        return
    if isinstance(value, Pickled) and _parts_of(value) is not None:
        yield _flat(value, path)
        return
    if isinstance(value, Mapping):
        tensors: dict[str, Any] = {
            name: entry if isinstance(entry, torch.Tensor) else find_tensor(entry)
            for name, entry in value.items()
            if isinstance(name, str)
        }
        matrices = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        if any(len(tensor.shape) == 2 and is_float(tensor) for tensor in matrices.values()):
            yield State(path, without_wrappers(matrices))
        elif not value.keys() >= OPTIMISER:
            for name, entry in value.items():
                yield from find_states(entry, path_within(path, name), depth - 1, walk)
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value[:100]):
            yield from find_states(entry, path_within(path, i), depth - 1, walk)


def is_float(tensor: StoredTensor) -> bool:
    """Return whether a tensor holds floating-point weights, not counts."""
    dtype = tensor.dtype if isinstance(tensor, torch.Tensor) else tensor.view.storage.dtype
    return dtype.is_floating_point


def without_wrappers(tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Remove from tensor names the prefixes of DataParallel, torch.compile and other wrappers."""
    unwrapped: dict[str, StoredTensor] = {}
    for name, tensor in tensors.items():
        short = ".".join(part for part in name.split(".") if part not in WRAPPERS)
        unwrapped[name if short in unwrapped else short] = tensor
    return unwrapped


def _parts_of(module: object) -> Mapping[str, object] | None:
    """Return the dictionaries of a module's attributes; None if the value is not a module."""
    state = module.state if isinstance(module, Pickled) else None
    if isinstance(state, dict) and isinstance(state.get("_parameters"), dict):
        return state if isinstance(state.get("_modules"), dict) else None
    return None


def _modules(value: object, depth: int = 4, walk: Walk | None = None) -> Iterator[Pickled]:
    """Yield the outermost saved modules; for DataParallel, also the module inside."""
    walk = walk or Walk()
    if isinstance(value, Pickled | Mapping | list | tuple) and not walk.enters(value, depth):
        return
    if isinstance(value, Pickled) and (parts := _parts_of(value)) is not None:
        yield value
        children = parts["_modules"]
        if value.called.startswith("torch.nn.parallel.") and isinstance(children, dict):
            yield from _modules(children.get("module"), depth, walk)
    elif depth and isinstance(value, Mapping | list | tuple):
        for entry in list(value.values() if isinstance(value, Mapping) else value)[:100]:
            yield from _modules(entry, depth - 1, walk)


def _flat(module: Pickled, path: str) -> State:
    """Convert a module to its state_dict, with layer types and dropout."""
    tensors: dict[str, StoredTensor] = {}
    modes: set[str] = set()
    dropout, class_name = 0.0, module.called
    walk = Walk(MOST_PARTS)

    def visit(part: Pickled, before: str) -> None:
        nonlocal dropout
        walk.count()
        parts = _parts_of(part)
        if parts is None:
            raise damaged("the file holds no torch module, or a damaged one")
        if part.called == _EMBEDDING and parts.get("max_norm") is not None:
            raise ModelError(
                "the embedding limits the norm of its word vectors (max_norm), which tseval does not "
                "support.\n"
                "  Write a function that builds the model: --model ./FILE.py:FUNCTION"
            )
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
                walk.count()
                if value is not None and (tensor := find_tensor(value)) is None:
                    raise damaged(f"the file is damaged: {quoted(f'{before}{name}')} is not a tensor")
                if value is not None:
                    tensors[f"{before}{name}"] = tensor  # type: ignore[assignment]
        for name, child in parts["_modules"].items():  # type: ignore[attr-defined]
            if isinstance(child, Pickled):
                visit(child, f"{before}{name}.")

    visit(module, "")
    if module.called.startswith("torch.nn.parallel."):
        class_name = next((inner.called for inner in _modules(module) if inner is not module), module.called)
    return State(path, without_wrappers(tensors), frozenset(modes), dropout, class_name)
