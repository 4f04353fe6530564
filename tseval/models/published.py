"""Published pickles of word-level models (Gulordava et al. 2018 and others), opened without their code.

The word language models of Gulordava et al. 2018 and Marvin & Linzen 2018, as they were published.

Both come from PyTorch's example `word_language_model`: a pickled module with the attributes `encoder`
(Embedding), `rnn` (LSTM, GRU or RNN), `decoder` (Linear) and `drop` (Dropout), perhaps inside a DataParallel.
Its words are in a text file of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.errors import ModelError
from tseval.models import read_words
from tseval.models.checkpoint import Checkpoint, fingerprint, fit_model
from tseval.models.network import Sizes
from tseval.models.pickles import Pickled, quoted
from tseval.models.torch_files import StoredTensor, TorchFile, find_tensor, read_object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tseval.models.cells.cell import Option


# Kind of recurrent layer, as torch names it, to our cell of the same equation, with its options.
PUBLISHED_CELLS: dict[str, tuple[str, dict[str, Option]]] = {
    "LSTM": ("lstm", {}),
    "GRU": ("gru", {}),
    "RNN_TANH": ("srn", {}),
    "RNN_RELU": ("srn", {"activation": "relu"}),
}
_EMBEDDING = "torch.nn.modules.sparse.Embedding"
_LINEAR = "torch.nn.modules.linear.Linear"
_DROPOUT = "torch.nn.modules.dropout.Dropout"
_RECURRENT = frozenset(f"torch.nn.modules.rnn.{name}" for name in ("LSTM", "GRU", "RNN"))
_PARALLEL = "torch.nn.parallel.data_parallel.DataParallel"
# What such a module is made of; nothing else is read.
_KNOWN = _RECURRENT | {
    _EMBEDDING,
    _LINEAR,
    _DROPOUT,
    _PARALLEL,
    "torch.nn.backends.thnn._get_thnn_function_backend",  # until PyTorch 1.3; holds no numbers
    "torch.device",
}
NO_CHECKSUMS = (
    "the checkpoint is in torch's old format, which has no checksums: a changed bit in a weight is not "
    "noticed. `tseval convert` writes one that has"
)
_WEIGHT = re.compile(r"(weight_ih|weight_hh|bias_ih|bias_hh)_l(\d{1,6})")


def load_published(path: Path, vocabulary: Path | None) -> Checkpoint:
    """Read a pickled word language model; nothing in the file is executed.

    Args:
        path: What `torch.save(model, path)` wrote, in the old format or as a zip file.
        vocabulary: Its words, in the order of their ids; see `read_words`. Without it, whatever else is wrong
            with the file is said, or else that it is missing.

    Returns:
        The model in float32; under `training`, what the file was.
    """
    try:
        file = read_object(path, _KNOWN)
        model = _find_model(file)
        stored = _weights(model)
        sizes = _sizes(model, stored)
        if vocabulary is None:
            raise ModelError(
                "a pickled model does not hold its words. Add --model-args vocab=FILE, "
                "a text file with one word a line in the order of the ids."
            )
        if sizes.tied:
            del stored["output.weight"]
        file.check(stored.values())
        weights = {name: file.read(tensor).float() for name, tensor in stored.items()}
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    words = read_words(vocabulary)
    try:
        fitted = fit_model(sizes, words, weights)
    except ModelError as error:
        raise ModelError(f"{path}, {vocabulary}: {error}") from None
    return Checkpoint(
        model=fitted,
        vocabulary=words,
        fingerprint=fingerprint(sizes.to_mapping(), words, weights),
        training={"published": {"class": model.called, "format": file.form}},
        validation_perplexity=None,
        warnings=(NO_CHECKSUMS,) if file.form == "old" else (),
    )


def _find_model(file: TorchFile) -> Pickled:
    """Find the model in what was saved, and hold the names in it to what such a model needs."""
    model = file.value
    if isinstance(model, Pickled) and model.called == _PARALLEL:
        model = _entries(model, "_modules").get("module")
    own = {model.called} if isinstance(model, Pickled) else set()
    if foreign := sorted(file.names - own):
        raise ModelError(
            f"refused, and not run: its pickle names {quoted(foreign[0])}, which no word language model needs"
        )
    if not isinstance(model, Pickled):
        raise ModelError(f"it holds a {type(model).__name__}, not a model as torch.save(model) writes it")
    return model


def _entries(module: object, name: str) -> Mapping[str, object]:
    """Give one of the dictionaries that make up a module: `_modules` or `_parameters`."""
    state = module.state if isinstance(module, Pickled) else None
    entries = state.get(name) if isinstance(state, dict) else None
    if not isinstance(entries, dict):
        raise ModelError("what it holds is no module of torch, or a damaged one")
    return entries


def _option(module: object, name: str) -> object:
    """Give an attribute of a module, None where it has none."""
    return module.state.get(name) if isinstance(module, Pickled) and isinstance(module.state, dict) else None


def _parts(model: Pickled) -> Mapping[str, Pickled]:
    """Give encoder, rnn, decoder and drop, which must be what they are in PyTorch's example."""
    parts = _entries(model, "_modules")
    wanted = {"encoder": {_EMBEDDING}, "rnn": _RECURRENT, "decoder": {_LINEAR}, "drop": {_DROPOUT}}
    found: dict[str, Pickled] = {}
    for name, classes in wanted.items():
        part = parts.get(name)
        if isinstance(part, Pickled) and part.called in classes:
            found[name] = part
        elif name != "drop" or part is not None:
            kinds = " or ".join(sorted(cls.rpartition(".")[2] for cls in classes))
            raise ModelError(
                f"{quoted(model.called)} is no word language model: it has no {name!r} of kind {kinds}"
            )
    if more := [*(parts.keys() - wanted), *_entries(model, "_parameters")]:
        raise ModelError(f"{quoted(model.called)} has a part unknown here, {quoted(more[0])}")
    return found


def _weights(model: Pickled) -> dict[str, StoredTensor]:
    """Find the weights and give them the names that they have in our language model."""
    parts = _parts(model)
    if _option(parts["encoder"], "max_norm") is not None:
        raise ModelError("its word vectors are cut to a largest norm, which cannot be computed here")
    named = {
        "embedding.weight": _entries(parts["encoder"], "_parameters").get("weight"),
        "output.weight": _entries(parts["decoder"], "_parameters").get("weight"),
        "output.bias": _entries(parts["decoder"], "_parameters").get("bias"),
    }
    for name, value in _entries(parts["rnn"], "_parameters").items():
        known = _WEIGHT.fullmatch(name) if isinstance(name, str) else None
        if not known:
            raise ModelError(f"its recurrent layers have {quoted(name)}, which cannot be computed here")
        named[f"layers.{int(known[2])}.layer.{known[1]}_l0"] = value
    stored = {name: find_tensor(value) for name, value in named.items()}
    if missing := [name for name, tensor in stored.items() if tensor is None]:
        raise ModelError(f"it has no {missing[0]!r}")
    return {name: tensor for name, tensor in stored.items() if tensor is not None}


def _sizes(model: Pickled, stored: Mapping[str, StoredTensor]) -> Sizes:
    """Read the sizes off the weights."""
    parts = _parts(model)
    kind, dropout = _option(parts["rnn"], "mode"), _option(parts.get("drop"), "p")
    if not isinstance(kind, str) or kind not in PUBLISHED_CELLS:
        raise ModelError(
            f"its recurrent layers are of kind {quoted(kind)}; known are {', '.join(PUBLISHED_CELLS)}"
        )
    arch, options = PUBLISHED_CELLS[kind]
    first = stored.get("layers.0.layer.weight_hh_l0")
    match stored["embedding.weight"].shape, first and first.shape:
        case (words, width), (_, hidden):
            return Sizes(
                arch=arch,
                vocabulary=words,
                embedding=width,
                hidden=hidden,
                layers=sum(name.endswith("weight_hh_l0") for name in stored),
                dropout=dropout if isinstance(dropout, float) and 0 <= dropout < 1 else 0.0,
                tied=stored["embedding.weight"] == stored["output.weight"],
                options=options,
            )
    raise ModelError("its weights do not have the shapes of a language model's")
