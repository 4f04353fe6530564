"""Recurrent language models from other programs, recognised by the names and shapes of their tensors.

The forward pass is code and not in the file. It is assumed to be that of PyTorch's example
`word_language_model`: embedding, recurrent layers, output layer. The models of Gulordava et al. 2018, of
Marvin & Linzen 2018 and AWD-LSTM (Merity et al. 2018) are based on it. If names and shapes are ambiguous,
tseval does not guess: the message names the option that decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from typing import TYPE_CHECKING

import torch

from tseval.errors import ModelError, counted, shortened, suggest
from tseval.models.checkpoint import Checkpoint, fingerprint, fit_model
from tseval.models.network import Sizes
from tseval.models.pickles import Pickled, quoted
from tseval.models.saved_words import VocabularyOptions, find_vocabulary
from tseval.models.state_files import LAYER, choose_state, is_float, naming, read_state_file
from tseval.models.walks import Walk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.models.cells.cell import Option
    from tseval.models.saved_words import Words
    from tseval.models.state_files import State
    from tseval.models.torch_files import StoredTensor, TorchFile


OTHER_FIX = (
    "  For a transformers model, write --model hf:FOLDER.\n"
    "  For any other model, write a function that builds it: --model ./FILE.py:FUNCTION (docs/adapters.md)."
)
NO_CHECKSUMS = (
    "the checkpoint has torch's old format without checksums, so tseval cannot notice a damaged weight. "
    "To add checksums, run `tseval convert`"
)
OF_WORDS = ("vocab", "vocab_from", "bos", "unk", "lowercase")
ARGUMENTS = (*OF_WORDS, "nonlinearity", "embedding", "output", "layers", "state", "tied")  # fmt: skip
# Rows of a recurrent matrix per unit, which identify the cell.
GATES = {4: "lstm", 3: "gru", 1: "srn"}
NONLINEARITIES = {"RNN_TANH": "tanh", "RNN_RELU": "relu", "tanh": "tanh", "relu": "relu"}
# Names in fairseq's LSTM. Its texts begin with the end symbol of the sentence before, and `<s>` is never
# trained: fairseq/data/monolingual_dataset.py and token_block_dataset.py.
FAIRSEQ_EMBEDDING = "decoder.embed_tokens.weight"
FAIRSEQ_LAYER = re.compile(r"decoder\.layers\.\d+\.weight_ih")
FAIRSEQ_START = "</s>"
INPUT_NAMES = re.compile(r"enc|emb|wte|lookup|lut|input|word|vectors", re.IGNORECASE)
OUTPUT_NAMES = re.compile(
    r"dec|out|fc|lin|head|proj|softmax|generator|classifier|logit|hidden2|to_vocab", re.IGNORECASE
)


def open_state(path: Path, arguments: Mapping[str, str]) -> Checkpoint:
    """Read a recurrent language model of another program (old, zip or safetensors format), in float32.

    `arguments` describe what is not in the file; `training` of the result describes the file.
    """
    with naming(path, arguments):
        if unknown := [name for name in arguments if name not in ARGUMENTS]:
            raise ModelError(
                f"--model-args {unknown[0]}: recurrent models have no argument with this name. "
                f"{suggest(unknown[0], ARGUMENTS, 'Arguments')}"
            )
        file = read_state_file(path)
        return _assemble(path, file, choose_state(file.value, arguments.get("state")), arguments)


@dataclass(frozen=True, slots=True)
class Layer:
    """One recurrent layer: tensors by torch's names (`weight_ih`), and the sizes from their shapes."""

    name: str
    tensors: dict[str, StoredTensor]
    arch: str
    inputs: int
    hidden: int
    outputs: int


def _is_fairseq(state: State) -> bool:
    return FAIRSEQ_EMBEDDING in state.tensors and any(map(FAIRSEQ_LAYER.fullmatch, state.tensors))


def _layers(state: State, order: str | None) -> tuple[list[Layer], set[str]]:
    """Find the recurrent layers, first to last, and the names of all their tensors."""
    groups: dict[tuple[str, int], dict[str, tuple[str, StoredTensor]]] = {}
    names = set()
    for name, tensor in state.tensors.items():
        if not (match := LAYER.fullmatch(name)):
            continue
        prefix, kind, part, number, reverse, raw = match.groups()
        if reverse:
            raise ModelError(
                f"the layers are bidirectional ({name}), so they see later words.\n"
                "  Use a model that reads from left to right."
            )
        group = groups.setdefault((prefix or "", int(number or 0)), {})
        if raw or f"{kind}_{part}" not in group:  # there may be a copy with dropped weights
            group[f"{kind}_{part}"] = name, tensor
        names.add(name)
    layers = {
        key: _layer(".".join(filter(None, (key[0], f"l{key[1]}"))), group) for key, group in groups.items()
    }
    return _in_order(layers, order), names


def _layer(name: str, group: Mapping[str, tuple[str, StoredTensor]]) -> Layer:
    tensors = {part: tensor for part, (_, tensor) in group.items()}
    if missing := {"weight_ih", "weight_hh"} - tensors.keys():
        raise ModelError(
            f"the recurrent layer {name!r} has no {min(missing)}.\n"
            "  Save all weights: torch.save(model.state_dict(), FILE)."
        )
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
        shape_texts = ", ".join(f"{group[part][0]} {shape}" for part, shape in shapes.items())
        raise ModelError(
            "the shapes of a recurrent layer do not fit an LSTM, a GRU or an RNN: "
            f"{shape_texts}.\n{OTHER_FIX}"
        )
    return Layer(name, tensors, arch, inputs, hidden, outputs)


def _in_order(layers: Mapping[tuple[str, int], Layer], order: str | None) -> list[Layer]:
    """Sort layers from first to last: by their numbers, or so that their widths fit."""
    prefixes = list(dict.fromkeys(prefix for prefix, _ in layers))
    if order is not None:
        prefix_order = order.split(",")
        if sorted(prefix_order) != sorted(prefixes):
            raise ModelError(
                f"layers={order}: the setting must name every recurrent layer once. Name "
                f"{', '.join(prefixes)}, from first to last"
            )
        orders = [tuple(prefix_order)]
    elif len({re.sub(r"\d+", "", prefix) for prefix in prefixes}) == 1:
        orders = [tuple(sorted(prefixes, key=lambda prefix: [int(n) for n in re.findall(r"\d+", prefix)]))]
    else:
        orders = list(permutations(prefixes)) if len(prefixes) <= 6 else []
    chains = [
        [layers[key] for prefix in names for key in sorted(layers) if key[0] == prefix] for names in orders
    ]
    fitting = [chain for chain in chains if all(a.outputs == b.inputs for a, b in pairwise(chain))]
    if len(fitting) > 1:
        raise ModelError(
            f"the order of the recurrent layers is not clear: {len(fitting)} orders are possible.\n"
            f"  Name the layers from first to last: --model-args layers={','.join(prefixes)}"
        )
    if not fitting:
        widths = ", ".join(f"{layer.name} {layer.inputs} to {layer.outputs}" for layer in layers.values())
        raise ModelError(
            f"the widths of the recurrent layers do not fit together: {shortened(widths, 200)}.\n{OTHER_FIX}"
        )
    return fitting[0]


@dataclass(frozen=True, slots=True)
class Ends:
    """Names of the embedding and output matrices, (vocabulary, width) each, and of the bias, if any."""

    embedding: str
    output: str
    bias: str | None


def _ends(state: State, layers: Sequence[Layer], rest: dict[str, StoredTensor], file: TorchFile,
          arguments: Mapping[str, str]) -> Ends:  # fmt: skip
    """Find embedding, output matrix and output bias by shape, or by name if two have the same shape."""
    width, outputs = layers[0].inputs, layers[-1].outputs
    matrices = {name: tensor for name, tensor in rest.items() if len(tensor.shape) == 2}
    for argument in ("embedding", "output"):
        if (name := arguments.get(argument)) is not None and name not in matrices:
            raise ModelError(
                f"{argument}={name}: the checkpoint has no such matrix. {suggest(name, matrices, 'Matrices')}"
            )
    inputs = [name for name in matrices if matrices[name].shape[1] == width]
    if not inputs:
        raise ModelError(
            f"there are no word vectors of width {width} for the first layer. "
            f"Matrices outside the recurrent layers: {_listed(matrices)}.\n"
            f"{OTHER_FIX}"
        )
    same = _same_numbers(matrices, file)
    pairs = [
        (name, other)
        for name in inputs
        for other in matrices
        if name != other
        and matrices[other].shape[1] == outputs
        and matrices[name].shape[0] == matrices[other].shape[0]
        if arguments.get("embedding", name) == name and arguments.get("output", other) == other
    ]
    if not pairs:
        return _tied_alone(inputs, matrices, rest, outputs, arguments)
    biased = [pair for pair in pairs if _bias_of(pair[1], rest) and not _bias_of(pair[0], rest)]
    pairs = biased or pairs
    if len(pairs) > 1 and not all(same[name] == same[other] for name, other in pairs):
        named_pairs = [
            pair for pair in pairs
            if (INPUT_NAMES.search(pair[0]) and not INPUT_NAMES.search(pair[1]))
            or (OUTPUT_NAMES.search(pair[1]) and not OUTPUT_NAMES.search(pair[0]))
        ]  # fmt: skip
        if len(named_pairs) != 1:
            raise ModelError(
                f"{' and '.join(pairs[0])} have the same shape {tuple(matrices[pairs[0][0]].shape)}: both "
                f"can be the output matrix.\n  Add --model-args output={pairs[0][1]}, or output={pairs[0][0]}"
            )
        pairs = named_pairs
    embedding, output = pairs[0]
    bias = _bias_of(output, rest) or _lone_bias(rest, matrices[output].shape[0])
    for name in [name for name in matrices if same[name] == same[embedding] or same[name] == same[output]]:
        if name not in (embedding, output):
            del rest[name]  # the same numbers under another name
    return Ends(embedding, output, bias)


def _tied_alone(inputs: list[str], matrices: Mapping[str, StoredTensor], rest: Mapping[str, StoredTensor],
                outputs: int, arguments: Mapping[str, str]) -> Ends:  # fmt: skip
    """Use the embedding as output matrix too, if an output bias or the user indicates it."""
    embedding = arguments.get("embedding", inputs[0])
    rows, width = matrices[embedding].shape
    bias = _lone_bias(rest, rows)
    tied = bias or arguments.get("tied") == "true" or embedding == FAIRSEQ_EMBEDDING
    if len(matrices) == 1 and width == outputs and tied:
        return Ends(embedding, embedding, bias)
    others = {name: tensor for name, tensor in matrices.items() if name != embedding}
    hint = OTHER_FIX
    if width == outputs and not others:
        hint = "  If the output matrix is the matrix of word vectors, add --model-args tied=true"
    other_matrices = f" (other matrices: {_listed(others)})" if others else ""
    raise ModelError(
        f"the file has no output matrix for its {rows:,} words: no matrix has the shape "
        f"{(rows, outputs)}{other_matrices}."
        f"\n{hint}"
    )


def _bias_of(matrix: str, rest: Mapping[str, StoredTensor]) -> str | None:
    name = f"{matrix.removesuffix('weight')}bias"
    return name if name in rest and len(rest[name].shape) == 1 else None


def _lone_bias(rest: Mapping[str, StoredTensor], rows: int) -> str | None:
    """Return the name of the only vector with one number per word, or None."""
    vectors = [name for name, tensor in rest.items() if tuple(tensor.shape) == (rows,)]
    return vectors[0] if len(vectors) == 1 else None


def _same_numbers(matrices: Mapping[str, StoredTensor], file: TorchFile) -> dict[str, str]:
    """Return, for each matrix, the name of the first matrix with the same numbers."""
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
    descriptions = [
        f"{shortened(name, 60)} {tuple(tensor.shape)}" for name, tensor in list(tensors.items())[:4]
    ]
    remainder = f" and {len(tensors) - 4:,} more" if len(tensors) > 4 else ""
    return ", ".join(descriptions) + remainder or "none"


def _assemble(path: Path, file: TorchFile, state: State, arguments: Mapping[str, str]) -> Checkpoint:
    if not state.has_layers:
        raise ModelError(
            f"these tensors are not a language model of LSTM, GRU or RNN layers: {_listed(state.tensors)}.\n"
            f"{OTHER_FIX}"
        )
    file.check(list(state.tensors.values()))
    layers, names = _layers(state, arguments.get("layers"))
    rest = {name: tensor for name, tensor in state.tensors.items() if name not in names and is_float(tensor)}
    ends = _ends(state, layers, rest, file, arguments)
    if unused := {
        name: tensor for name, tensor in rest.items() if name not in (ends.embedding, ends.output, ends.bias)
    }:
        raise ModelError(
            f"the file has weights that no LSTM, GRU or RNN language model has: {_listed(unused)}."
            f"\n{OTHER_FIX}"
        )
    arch, options = _cell(layers, _modes(state, file.value), arguments.get("nonlinearity"))
    stored = {"embedding.weight": rest[ends.embedding], "output.weight": rest[ends.output]}
    if ends.bias:
        stored["output.bias"] = rest[ends.bias]
    for i, layer in enumerate(layers):
        stored |= {f"layers.{i}.layer.{part}_l0": tensor for part, tensor in layer.tensors.items()}
    options_of_words = {name: value for name, value in arguments.items() if name in OF_WORDS}
    if _is_fairseq(state):
        options_of_words.setdefault("bos", FAIRSEQ_START)
    words = find_vocabulary(
        path, file.value, stored["embedding.weight"].shape[0], VocabularyOptions(**options_of_words)
    )
    tensors = {name: file.read(tensor).float() for name, tensor in stored.items()}
    tied = torch.equal(tensors["embedding.weight"], tensors["output.weight"])
    hidden = {layer.hidden for layer in layers}
    sizes = Sizes(
        arch=arch,
        vocabulary=len(tensors["embedding.weight"]),
        embedding=layers[0].inputs,
        hidden=max(hidden),
        layers=len(layers),
        dropout=state.dropout if 0 <= state.dropout < 1 else 0.0,
        tied=tied,
        options=options,
        widths=tuple(layer.hidden for layer in layers) if len(hidden) > 1 else (),
    )
    weights = dict(tensors)
    # Zeros for missing biases, which do not change the results.
    weights.setdefault("output.bias", torch.zeros(sizes.vocabulary))
    for i, part in product(range(len(layers)), ("bias_ih", "bias_hh")):
        rows = len(tensors[f"layers.{i}.layer.weight_ih_l0"])
        weights.setdefault(f"layers.{i}.layer.{part}_l0", torch.zeros(rows))
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
    """Return the cell and its options; tanh and ReLU layers of torch's RNN have the same shapes."""
    kinds = {layer.arch for layer in layers}
    if len(kinds) > 1:
        raise ModelError(f"the layers have different types: {', '.join(sorted(kinds))}.\n{OTHER_FIX}")
    arch = kinds.pop()
    if unknown_types := sorted(
        mode for mode in modes if mode.isupper() and mode not in {"LSTM", "GRU", *NONLINEARITIES}
    ):
        raise ModelError(
            f"the recurrent layers have the unknown type {quoted(unknown_types[0])}.\n{OTHER_FIX}"
        )
    if arch != "srn":
        projections = {layer.outputs for layer in layers if layer.outputs != layer.hidden}
        if len(projections) > 1 or (projections and any(layer.outputs == layer.hidden for layer in layers)):
            raise ModelError(f"the layers have projections of different widths.\n{OTHER_FIX}")
        return arch, {"projection": projections.pop()} if projections else {}
    functions = {NONLINEARITIES[mode] for mode in modes if mode in NONLINEARITIES}
    activation = nonlinearity or (functions.pop() if len(functions) == 1 else None)
    if activation not in ("tanh", "relu"):
        prefix = "" if nonlinearity is None else f"nonlinearity={nonlinearity}: "
        raise ModelError(
            f"{prefix}the layers are torch.nn.RNN layers, and their weights do not show whether the "
            "nonlinearity is tanh or ReLU.\n"
            "  Add --model-args nonlinearity=tanh or --model-args nonlinearity=relu"
        )
    return arch, {} if activation == "tanh" else {"activation": "relu"}


def _modes(state: State, value: object) -> frozenset[str]:
    """Find the types of the recurrent layers in the module, or in the settings saved with the weights."""
    modes = set(state.modes)

    walk = Walk()

    def visit(entry: object, name: str, depth: int) -> None:
        if isinstance(entry, str) and (
            entry in ("RNN_TANH", "RNN_RELU") or (name == "nonlinearity" and entry in NONLINEARITIES)
        ):
            modes.add(entry)
        entry = entry.state if isinstance(entry, Pickled) else entry
        if depth and isinstance(entry, Mapping) and len(entry) < 1000 and walk.enters(entry, depth):
            for key, inner in entry.items():
                visit(inner, key if isinstance(key, str) else "", depth - 1)

    if not modes:
        visit(value, "", 4)
    return frozenset(modes)


def _reading(sizes: Sizes, options: Mapping[str, Option], words: Words) -> str:
    kind = {"srn": "tanh RNN"}.get(sizes.arch, sizes.arch.upper())
    if options.get("activation") == "relu":
        kind = "ReLU RNN"
    of_layers = " and ".join(map(str, sizes.widths)) if sizes.widths else str(sizes.hidden)
    tied = ", tied" if sizes.tied else ""
    layers = counted(sizes.layers, "layer")
    return f"{kind} of {layers} of {of_layers}{tied}; {words.reading}"
