"""Recurrent language models as people save them, read by names and shapes; nothing in a file is executed.

What `torch.save` wrote: a `state_dict`, alone or in the dictionary that a training saves, or the module itself,
perhaps inside DataParallel, torch.compile or a LightningModule. The forward pass is code and is in no file. It
is taken to be that of PyTorch's example `word_language_model`: embedding, recurrent layers, output layer. The
models of Gulordava et al. 2018 and Marvin & Linzen 2018 and AWD-LSTM (Merity et al. 2018) descend from it.
Where names and shapes allow two readings, none is guessed: the message says what decides.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open

from tseval.errors import ModelError, first_line, shortened, suggest
from tseval.models.checkpoint import Checkpoint, fingerprint, fit_model
from tseval.models.network import Sizes
from tseval.models.pickles import Pickled, quoted, read_pickle
from tseval.models.torch_files import (
    MAGIC,
    OWN_LIMITS,
    StoredTensor,
    find_tensor,
    holds_checkpoint,
    read_object,
)
from tseval.models.vocabularies import VocabularyOptions, find_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor

    from tseval.models.cells.cell import Option
    from tseval.models.vocabularies import Words


ANY_OTHER = "  Any other model: one function that builds it, --model ./FILE.py:FUNCTION; one of transformers: hf:FOLDER."
NO_CHECKSUMS = (
    "the checkpoint is in torch's old format, which has no checksums: a changed bit in a weight is not "
    "noticed. `tseval convert` writes one that has"
)
ARGUMENTS = ("vocab", "vocab_from", "bos", "unk", "lowercase", "nonlinearity", "embedding", "output", "layers",
             "state", "tied")  # fmt: skip
# Rows of a recurrent matrix to each unit tell the cell.
GATES = {4: "lstm", 3: "gru", 1: "srn"}
NONLINEARITIES = {"RNN_TANH": "tanh", "RNN_RELU": "relu", "tanh": "tanh", "relu": "relu"}
WRAPPERS = {"module", "_orig_mod", "_forward_module"}  # DataParallel and WeightDrop, torch.compile, Lightning
LAYER = re.compile(r"(?:(.*)\.)?(weight|bias)_(ih|hh|hr)(?:_l(\d{1,3}))?(_reverse)?(_raw)?")
INPUT_NAMES = re.compile(r"enc|emb|wte|lookup|lut|input|word|vectors", re.IGNORECASE)
OUTPUT_NAMES = re.compile(
    r"dec|out|fc|lin|head|proj|softmax|generator|classifier|logit|hidden2|to_vocab", re.IGNORECASE
)
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
    r"(torch\.(?!nn\.)|lightning\.|pytorch_lightning\.|omegaconf\.|torchtext\.|transformers\.|typing\.|types\.).*"
    r"|.*(Dictionary|Vocab|Vocabulary|Corpus|Config|Configuration|Namespace|Args|Arguments|Options|Params"
    r"|AttributeDict|AttrDict|EasyDict)"
)


@dataclass(frozen=True, slots=True)
class State:
    """The tensors of a model in a file, by the names that its state_dict has.

    Attributes:
        place: Where in the file; empty for the whole.
        tensors: By name, without what wrappers put before it.
        modes: Kinds of recurrent layers that the modules or settings around them name, as torch does.
        dropout: That the module says.
        class_name: Of the module; `state_dict` where there is none.
    """

    place: str
    tensors: dict[str, StoredTensor]
    modes: frozenset[str] = frozenset()
    dropout: float = 0.0
    class_name: str = "state_dict"

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


def is_foreign(path: Path) -> bool:
    """Tell what torch or safetensors wrote, but not tseval, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"PK"):
        return not holds_checkpoint(path)
    try:
        if start[8:9] == b"{":
            with safe_open(path, framework="pt") as tensors:
                return "tseval" not in (tensors.metadata() or {})
        return read_pickle(io.BytesIO(start)).value == MAGIC
    except (ModelError, SafetensorError, ValueError):
        return False


def open_state(path: Path, arguments: Mapping[str, str]) -> Checkpoint:
    """Read a recurrent language model that tseval did not write.

    Args:
        path: A file of torch, old or zip, or safetensors.
        arguments: Of `ARGUMENTS`; what the file does not say.

    Returns:
        The model in float32; under `training`, what the file was.

    Raises:
        ModelError: Names the tensors that fit no reading, or the argument that decides between two.
    """
    if unknown := [name for name in arguments if name not in ARGUMENTS]:
        raise ModelError(
            f"--model-args {unknown[0]}: {suggest(unknown[0], ARGUMENTS, 'A recurrent model takes')}"
        )
    try:
        file = read_state_file(path)
        state = choose_state(file.value, arguments.get("state"))
        return _assemble(path, file, state, arguments)
    except ModelError as error:
        names_file = str(error).startswith((str(path), f"{arguments.get('vocab', path)}: "))
        raise ModelError(str(error) if names_file else f"{path}: {error}") from None


def read_state_file(path: Path) -> StateFile:
    """Read what a file holds; of the numbers only the places are noted."""
    with path.open("rb") as opened:
        start = opened.read(16)
    if start[8:9] == b"{":
        return _read_safetensors(path)
    file = read_object(path, _CALLED, OWN_LIMITS)
    own = {module.called for _, module in _modules(file.value)}
    foreign = sorted(name for name in file.names - own if not DATA_CLASSES.fullmatch(name))
    if foreign:
        raise ModelError(
            f"refused, and not run: its pickle names {quoted(foreign[0])}, which no word language model needs.\n"
            "  Save weights and words alone: torch.save({'model': model.state_dict(), 'vocab': words}, FILE)."
        )
    return StateFile(file.value, file.form, file.check, file.read)


def _read_safetensors(path: Path) -> StateFile:
    try:
        with safe_open(path, framework="pt") as file:
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"damaged safetensors file ({first_line(error)[:200]})") from None
    return StateFile(tensors, "safetensors", lambda _: None, lambda tensor: tensor)  # type: ignore[arg-type, return-value]


def choose_state(value: object, place: str | None) -> State:
    """Find the one model in what was saved.

    Args:
        value: What is in the file.
        place: Which of several it is, as a message named it.
    """
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
            f"it holds {len(names)} models: {', '.join(names[:6])}.\n  Add --model-args state={names[0]}, or another."
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
        if any(len(tensor.shape) == 2 and _is_float(tensor) for tensor in matrices.values()):
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


def _is_float(tensor: StoredTensor) -> bool:
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


def _modules(value: object, depth: int = 4) -> Iterator[tuple[str, Pickled]]:
    """Give the outermost modules in what was saved, in DataParallel the one inside it too."""
    if isinstance(value, Pickled) and (parts := _parts_of(value)) is not None:
        yield "", value
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
    dropout, name_of = 0.0, module.called

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
        name_of = next((inner.called for _, inner in _modules(module) if inner is not module), module.called)
    return State(place, without_wrappers(tensors), frozenset(modes), dropout, name_of)


@dataclass(frozen=True, slots=True)
class Layer:
    """One recurrent layer: its tensors by torch's names (`weight_ih`), and what their shapes tell."""

    name: str
    tensors: dict[str, StoredTensor]
    arch: str
    inputs: int
    hidden: int
    outputs: int


def _layers(state: State, order: str | None) -> tuple[list[Layer], set[str]]:
    """Find the recurrent layers, first to last, and the names of all their tensors."""
    groups: dict[tuple[str, int], dict[str, tuple[str, StoredTensor]]] = {}
    names = set()
    for name, tensor in state.tensors.items():
        if not (known := LAYER.fullmatch(name)):
            continue
        prefix, kind, part, number, reverse, raw = known.groups()
        if reverse:
            raise ModelError(f"its layers read from both ends ({name}): no language model sees later words")
        group = groups.setdefault((prefix or "", int(number or 0)), {})
        if raw or f"{kind}_{part}" not in group:  # a dropped copy may stand beside the raw weights
            group[f"{kind}_{part}"] = name, tensor
        names.add(name)
    found = {
        key: _layer(".".join(filter(None, (key[0], f"l{key[1]}"))), group) for key, group in groups.items()
    }
    return _in_order(found, order), names


def _layer(name: str, group: Mapping[str, tuple[str, StoredTensor]]) -> Layer:
    tensors = {part: tensor for part, (_, tensor) in group.items()}
    if lacking := {"weight_ih", "weight_hh"} - tensors.keys():
        raise ModelError(f"the recurrent layer {name!r} has no {min(lacking)}")
    shapes = {part: tuple(tensor.shape) for part, tensor in tensors.items()}
    match shapes["weight_ih"], shapes["weight_hh"], shapes.get("weight_hr"):
        case (rows, inputs), (same, outputs), None if rows == same:
            hidden = outputs
        case (rows, inputs), (same, outputs), (projected, hidden) if rows == same and projected == outputs:
            pass
        case _:
            rows, inputs, outputs, hidden = 0, 0, 0, 1
    arch = GATES.get(rows // max(hidden, 1)) if hidden and rows % hidden == 0 else None
    biases = [shapes[part] for part in ("bias_ih", "bias_hh") if part in shapes]
    if arch is None or any(shape != (rows,) for shape in biases) or (outputs != hidden and arch != "lstm"):
        said = ", ".join(f"{group[part][0]} {shape}" for part, shape in shapes.items())
        raise ModelError(f"a recurrent layer is none of LSTM, GRU and RNN: {said}.\n{ANY_OTHER}")
    return Layer(name, tensors, arch, inputs, hidden, outputs)


def _in_order(found: Mapping[tuple[str, int], Layer], order: str | None) -> list[Layer]:
    """Bring layers into the order in which they are read: by their numbers, or as their widths demand."""
    prefixes = list(dict.fromkeys(prefix for prefix, _ in found))
    if order is not None:
        wanted = order.split(",")
        if sorted(wanted) != sorted(prefixes):
            raise ModelError(f"layers={order}: name each of {', '.join(prefixes)}, first to last")
        orders = [tuple(wanted)]
    elif len({re.sub(r"\d+", "", prefix) for prefix in prefixes}) == 1:
        orders = [tuple(sorted(prefixes, key=lambda prefix: [int(n) for n in re.findall(r"\d+", prefix)]))]
    else:
        orders = list(permutations(prefixes)) if len(prefixes) <= 6 else []
    chains = [[found[key] for prefix in one for key in sorted(found) if key[0] == prefix] for one in orders]
    fitting = [chain for chain in chains if all(a.outputs == b.inputs for a, b in pairwise(chain))]
    if len(fitting) > 1:
        raise ModelError(
            f"its recurrent layers may be read in {len(fitting)} orders.\n"
            f"  Add --model-args layers={','.join(prefixes)}, first to last."
        )
    if not fitting:
        widths = ", ".join(f"{layer.name} {layer.inputs} to {layer.outputs}" for layer in found.values())
        raise ModelError(
            f"its recurrent layers do not fit one another: {shortened(widths, 200)}.\n{ANY_OTHER}"
        )
    return fitting[0]


@dataclass(frozen=True, slots=True)
class Ends:
    """The two matrices beside the recurrent layers, (vocabulary, width) each, and the output bias, if any."""

    embedding: str
    output: str
    bias: str | None


def _ends(state: State, layers: Sequence[Layer], rest: dict[str, StoredTensor], file: StateFile,
          arguments: Mapping[str, str]) -> Ends:  # fmt: skip
    """Tell embedding, output matrix and output bias by their shapes; by names only where shapes leave two."""
    width, outputs = layers[0].inputs, layers[-1].outputs
    matrices = {name: tensor for name, tensor in rest.items() if len(tensor.shape) == 2}
    for argument in ("embedding", "output"):
        if (name := arguments.get(argument)) is not None and name not in matrices:
            raise ModelError(f"{argument}={name}: {suggest(name, matrices, 'Its matrices')}")
    inputs = [name for name in matrices if matrices[name].shape[1] == width]
    if not inputs:
        raise ModelError(
            f"it has no word vectors of width {width}, as its first layer reads: {_listed(matrices)}.\n{ANY_OTHER}"
        )
    same = _same_numbers(matrices, file)
    pairs = [
        (one, other)
        for one in inputs
        for other in matrices
        if one != other
        and matrices[other].shape[1] == outputs
        and matrices[one].shape[0] == matrices[other].shape[0]
        if arguments.get("embedding", one) == one and arguments.get("output", other) == other
    ]
    if not pairs:
        return _tied_alone(inputs, matrices, rest, outputs, arguments)
    biased = [pair for pair in pairs if _bias_of(pair[1], rest) and not _bias_of(pair[0], rest)]
    pairs = biased or pairs
    if len(pairs) > 1 and not all(same[one] == same[other] for one, other in pairs):
        named = [
            pair for pair in pairs
            if (INPUT_NAMES.search(pair[0]) and not INPUT_NAMES.search(pair[1]))
            or (OUTPUT_NAMES.search(pair[1]) and not OUTPUT_NAMES.search(pair[0]))
        ]  # fmt: skip
        if len(named) != 1:
            raise ModelError(
                f"{pairs[0][0]} and {pairs[0][1]} have one shape {tuple(matrices[pairs[0][0]].shape)}: either may be "
                f"the output matrix.\n  Add --model-args output={pairs[0][1]}, or output={pairs[0][0]}."
            )
        pairs = named
    embedding, output = pairs[0]
    bias = _bias_of(output, rest) or _lone_bias(rest, matrices[output].shape[0])
    for name in [name for name in matrices if same[name] == same[embedding] or same[name] == same[output]]:
        if name not in (embedding, output):
            del rest[name]  # the same numbers under another name
    return Ends(embedding, output, bias)


def _tied_alone(inputs: list[str], matrices: Mapping[str, StoredTensor], rest: Mapping[str, StoredTensor],
                outputs: int, arguments: Mapping[str, str]) -> Ends:  # fmt: skip
    """Take the embedding for the output matrix too, where an output bias or the user says so."""
    embedding = arguments.get("embedding", inputs[0])
    rows, width = matrices[embedding].shape
    bias = _lone_bias(rest, rows)
    if len(matrices) == 1 and width == outputs and (bias or arguments.get("tied") == "true"):
        return Ends(embedding, embedding, bias)
    others = {name: tensor for name, tensor in matrices.items() if name != embedding}
    hint = (
        "\n  If it shares the word vectors, add --model-args tied=true."
        if width == outputs and not others
        else ""
    )
    found = f"; there is {_listed(others)}" if others else ""
    raise ModelError(
        f"it has no output matrix of shape {(rows, outputs)}, for the {rows:,} words of {embedding}{found}."
        f"{hint or chr(10) + ANY_OTHER}"
    )


def _bias_of(matrix: str, rest: Mapping[str, StoredTensor]) -> str | None:
    name = f"{matrix.removesuffix('weight')}bias"
    return name if name in rest and len(rest[name].shape) == 1 else None


def _lone_bias(rest: Mapping[str, StoredTensor], rows: int) -> str | None:
    """Give the one vector with a number for each word."""
    found = [name for name, tensor in rest.items() if tuple(tensor.shape) == (rows,)]
    return found[0] if len(found) == 1 else None


def _same_numbers(matrices: Mapping[str, StoredTensor], file: StateFile) -> dict[str, str]:
    """Say of each matrix which is the first that holds the same numbers."""
    first: dict[str, str] = {}
    for name, tensor in matrices.items():
        for other in dict.fromkeys(first.values()):
            if tuple(matrices[other].shape) != tuple(tensor.shape):
                continue
            shared = not isinstance(tensor, torch.Tensor) and matrices[other] == tensor
            if shared or torch.equal(file.read(tensor), file.read(matrices[other])):
                first[name] = other
                break
        else:
            first[name] = name
    return first


def _listed(tensors: Mapping[str, StoredTensor]) -> str:
    """Name tensors with their shapes, as far as a message has room."""
    some = ", ".join(
        f"{shortened(name, 60)} {tuple(tensor.shape)}" for name, tensor in list(tensors.items())[:4]
    )
    return (
        some + (f" and {len(tensors) - 4:,} more" if len(tensors) > 4 else "") if tensors else "nothing else"
    )


def _assemble(path: Path, file: StateFile, state: State, arguments: Mapping[str, str]) -> Checkpoint:
    """Make a model of tensors whose places in it are found."""
    if not state.has_layers:
        raise ModelError(
            f"its tensors are not those of an LSTM, GRU or RNN language model: {_listed(state.tensors)}.\n{ANY_OTHER}"
        )
    file.check(list(state.tensors.values()))
    layers, names = _layers(state, arguments.get("layers"))
    rest = {name: tensor for name, tensor in state.tensors.items() if name not in names and _is_float(tensor)}
    ends = _ends(state, layers, rest, file, arguments)
    if left := {
        name: tensor for name, tensor in rest.items() if name not in (ends.embedding, ends.output, ends.bias)
    }:
        raise ModelError(
            f"it has weights that an LSTM, GRU or RNN language model has not: {_listed(left)}.\n{ANY_OTHER}"
        )
    arch, options = _cell(layers, _modes(state, file.value), arguments.get("nonlinearity"))
    stored = {"embedding.weight": rest[ends.embedding], "output.weight": rest[ends.output]}
    if ends.bias:
        stored["output.bias"] = rest[ends.bias]
    for i, layer in enumerate(layers):
        stored |= {f"layers.{i}.layer.{part}_l0": tensor for part, tensor in layer.tensors.items()}
    words = find_vocabulary(
        path, file.value, stored["embedding.weight"].shape[0],
        VocabularyOptions(**{name: arguments[name] for name in VocabularyOptions.__slots__ if name in arguments}),
    )  # fmt: skip
    read = {name: file.read(tensor).float() for name, tensor in stored.items()}
    tied = torch.equal(read["embedding.weight"], read["output.weight"])
    hidden = {layer.hidden for layer in layers}
    sizes = Sizes(
        arch=arch,
        vocabulary=len(read["embedding.weight"]),
        embedding=layers[0].inputs,
        hidden=max(hidden),
        layers=len(layers),
        dropout=state.dropout if 0 <= state.dropout < 1 else 0.0,
        tied=tied,
        options=options,
        widths=tuple(layer.hidden for layer in layers) if len(hidden) > 1 else (),
    )
    weights = _with_biases(read, layers)
    if tied:
        del weights["output.weight"]
    try:
        model = fit_model(sizes, words.vocabulary, weights)
    except ModelError as error:
        raise ModelError(f"{path}{words.source and f', {words.source}'}: {error}") from None
    return Checkpoint(
        model=model,
        vocabulary=words.vocabulary,
        fingerprint=fingerprint(sizes.to_mapping(), words.vocabulary, weights),
        training={"published": {"class": state.class_name, "format": file.form}},
        validation_perplexity=None,
        warnings=(NO_CHECKSUMS,) if file.form == "old" else (),
        reading=_reading(sizes, options, words),
    )


def _cell(
    layers: Sequence[Layer], modes: frozenset[str], nonlinearity: str | None
) -> tuple[str, dict[str, Option]]:
    """Tell the cell and its options; torch's RNN has two functions, which no shape tells apart."""
    kinds = {layer.arch for layer in layers}
    if len(kinds) > 1:
        raise ModelError(f"its layers are of several kinds: {', '.join(sorted(kinds))}.\n{ANY_OTHER}")
    arch = kinds.pop()
    if strange := sorted(
        mode for mode in modes if mode.isupper() and mode not in {"LSTM", "GRU", *NONLINEARITIES}
    ):
        raise ModelError(f"its recurrent layers are of kind {quoted(strange[0])}.\n{ANY_OTHER}")
    if arch != "srn":
        projections = {layer.outputs for layer in layers if layer.outputs != layer.hidden}
        if len(projections) > 1 or (projections and any(layer.outputs == layer.hidden for layer in layers)):
            raise ModelError(f"its layers are projected to different widths.\n{ANY_OTHER}")
        return arch, {"projection": projections.pop()} if projections else {}
    found = {NONLINEARITIES[mode] for mode in modes if mode in NONLINEARITIES}
    chosen = nonlinearity or (found.pop() if len(found) == 1 else None)
    if chosen not in ("tanh", "relu"):
        said = "" if nonlinearity is None else f"nonlinearity={nonlinearity}: "
        raise ModelError(
            f"{said}its layers are torch's RNN, whose weights do not tell tanh from ReLU.\n"
            "  Add --model-args nonlinearity=tanh, or nonlinearity=relu."
        )
    return arch, {} if chosen == "tanh" else {"activation": "relu"}


def _modes(state: State, value: object) -> frozenset[str]:
    """Find what the module, or the settings beside the weights, say of the recurrent layers."""
    found = set(state.modes)

    def visit(entry: object, name: str, depth: int) -> None:
        if isinstance(entry, str) and (
            entry in ("RNN_TANH", "RNN_RELU") or (name == "nonlinearity" and entry in NONLINEARITIES)
        ):
            found.add(entry)
        entry = entry.state if isinstance(entry, Pickled) else entry
        if depth and isinstance(entry, Mapping) and len(entry) < 1000:
            for key, inner in entry.items():
                visit(inner, str(key), depth - 1)

    if not found:
        visit(value, "", 4)
    return frozenset(found)


def _with_biases(weights: Mapping[str, Tensor], layers: Sequence[Layer]) -> dict[str, Tensor]:
    """Put zeros where a layer has no bias: they change nothing."""
    complete = dict(weights)
    complete.setdefault("output.bias", torch.zeros(len(weights["output.weight"])))
    for i, layer in enumerate(layers):
        for part in ("bias_ih", "bias_hh"):
            rows = len(weights[f"layers.{i}.layer.weight_ih_l0"])
            complete.setdefault(f"layers.{i}.layer.{part}_l0", torch.zeros(rows))
    return complete


def _reading(sizes: Sizes, options: Mapping[str, Option], words: Words) -> str:
    """Say in one line how a file was read."""
    kind = (
        "ReLU RNN"
        if options.get("activation") == "relu"
        else {"srn": "tanh RNN"}.get(sizes.arch, sizes.arch.upper())
    )
    of_layers = " and ".join(map(str, sizes.widths)) if sizes.widths else str(sizes.hidden)
    tied = ", tied" if sizes.tied else ""
    return f"{kind} of {sizes.layers} layers of {of_layers}{tied}; {words.reading}"
