"""One function in one file, `function:PATH.py:NAME` or `PATH.py:NAME` alone, and models in memory.

The function, or whoever holds a model, gives an object of our protocols, a model of transformers with its
tokenizer, or a module of torch with its words. How such a module is called, and what its output means, is
found out by trying: one token is changed, and where outputs change then is looked at.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import random
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow.compute as pc
import torch
from torch import Tensor, nn

from tseval.adapters import file_and_function, name_of_function
from tseval.adapters.hf import CausalModel
from tseval.adapters.mlm import METRICS, MaskedModel
from tseval.adapters.native import encode_words
from tseval.adapters.pretrained import BATCH_TOKENS, OWN_LOGITS, TOKENS_ON_ACCELERATOR, Pretrained, _typed
from tseval.errors import ModelError, TsevalError, first_line, reason, suggest
from tseval.files import read_bytes
from tseval.models import EOS, UNK, Vocabulary
from tseval.models.checkpoint import hash_weights
from tseval.scoring.numerics import out_of_memory, pick_device
from tseval.scoring.protocol import PROTOCOL_PARTS, ModelCard, refuse_no_model
from tseval.scoring.trie import build_trie, contexts_of, path_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tseval.scoring.protocol import Encoded, Model

SCHEMES = {"function": "open_function"}

MAY_BE = (
    "a model of tseval.scoring.protocol, (a model of transformers, its tokenizer), or (a torch module, its words: "
    "a list in the order of ids, or a mapping from word to id)"
)
FRAMES = 3  # of the user's file, in the message about an error that was raised there


def open_function(rest: str, arguments: Mapping[str, str], device: str) -> Model:
    """Open `--model PATH.py:NAME`: run the file, and call the function with `--model-args`."""
    named = file_and_function(rest)
    if named is None:
        raise ModelError(f"function:{rest}: name a file and a function in it, --model mine.py:load")
    path, called = named
    target, where = pick_device(device), f"{path.name}:{called}"
    try:
        source = read_bytes(path)
    except OSError as error:
        raise ModelError(
            f"{path}: {reason(error)}.\n  Name a file of Python and a function in it: --model mine.py:load"
        ) from None
    keywords = {key: _typed(key, text) for key, text in arguments.items()}
    with _beside(path) as module, redirect_stdout(sys.stderr), _errors_of(path, where):
        exec(compile(source, str(path), "exec"), vars(module))  # noqa: S102 - it was named to be run
        function = _find(module, called, path)
        if "device" in inspect.signature(function).parameters:
            keywords.setdefault("device", str(target))
        _check_arguments(function, keywords, where)
        returned = function(**keywords)
    model = as_model(returned, f"{where} gives", name_of_function(path, called), target)
    protocol = {
        "file": hashlib.sha256(source).hexdigest(),
        "function": called,
        "arguments": ",".join(f"{key}={_content(text)}" for key, text in sorted(arguments.items())),
    }
    _put_on_card(model, {**model.card.protocol, **protocol}, name_of_function(path, called), where)
    return model


@contextmanager
def _beside(path: Path) -> Iterator[ModuleType]:
    """Make a module of a file, which imports what lies beside it as a script does, and leave no names behind.

    Another file may have modules of the same names beside it.
    """
    folder, before, module = path.resolve().parent, dict(sys.modules), ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(folder))
    try:
        yield module
    finally:
        with suppress(ValueError):
            sys.path.remove(str(folder))
        for name in sys.modules.keys() - before.keys():
            top, file = name.partition(".")[0], getattr(sys.modules[name], "__file__", None)
            if file and {folder / f"{top}.py", folder / top} & {Path(file), *Path(file).parents}:
                del sys.modules[name]
        sys.modules.pop(path.stem, None)
        if path.stem in before:
            sys.modules[path.stem] = before[path.stem]


@contextmanager
def _errors_of(path: Path, where: str) -> Iterator[None]:
    """Say what a user's file raises in one message: where in the file, and what."""
    try:
        yield
    except TsevalError:
        raise
    except SyntaxError as error:
        raise ModelError(f"{where}: {type(error).__name__}: {first_line(error)}") from None
    except (Exception, SystemExit) as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == str(path)]
        lines = [f"  line {one.lineno}, in {one.name}: {one.line}" for one in frames[-FRAMES:]]
        said = f"{type(error).__name__}: {first_line(error)}"  # type: ignore[arg-type] # SystemExit speaks too
        raise ModelError("\n".join([f"{where} raised an error:", *lines, said])) from error


def _find(module: ModuleType, called: str, path: Path) -> Callable[..., object]:
    found: object = vars(module).get(called)
    if callable(found):
        return found
    there = [name for name, value in vars(module).items()
             if callable(value) and value.__module__ == module.__name__ and not name.startswith("_")]  # fmt: skip
    raise ModelError(f"{path} has no function {called!r}. {suggest(called, there, 'Functions')}")


def _check_arguments(function: Callable[..., object], keywords: Mapping[str, object], where: str) -> None:
    parameters = inspect.signature(function).parameters.values()
    by_name = {one.name: one for one in parameters if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}}
    unknown = sorted(keywords.keys() - by_name.keys())
    if unknown and not any(one.kind is one.VAR_KEYWORD for one in parameters):
        raise ModelError(
            f"{where} takes no argument {unknown[0]!r}. {suggest(unknown[0], by_name, 'Arguments')}"
        )
    if lacking := [name for name, one in by_name.items() if one.default is one.empty and name not in keywords]:
        raise ModelError(f"{where} needs {', '.join(lacking)}.\n  Add --model-args {lacking[0]}=...")


def _content(text: str) -> str:
    """Let a file count by its content, and a folder by nothing: where they lie is nobody's business."""
    try:
        path = Path(text)
        if path.is_file():
            return hashlib.sha256(read_bytes(path)).hexdigest()
        return "folder" if path.is_dir() else text
    except OSError:
        return text


def _put_on_card(model: Model, protocol: Mapping[str, Any], name: str, where: str) -> None:
    try:
        model.card = replace(model.card, name=name, protocol=protocol)
    except (AttributeError, TypeError):
        raise ModelError(
            f"{where} gives a model whose card cannot be set.\n  Make card an ordinary attribute, a ModelCard."
        ) from None


def as_model(found: object, who: str, name: str | None = None, device: torch.device | None = None) -> Model:
    """Take what a user holds as a model.

    Args:
        found: An object of our protocols, or a pair.
        who: Of messages: who gives it.
        name: For tables; None for that of its class.
        device: To move it to; None leaves it where it is.

    Raises:
        ModelError: It is nothing of that, or cannot be scored.
    """
    if isinstance(found, tuple(PROTOCOL_PARTS)):
        refuse_no_model(found, f"what {who}")
        if not isinstance(found.card, ModelCard):
            raise ModelError(f"{who} a model whose card is no tseval.scoring.protocol.ModelCard")
        return cast("Model", found)
    match found:
        case (nn.Module() as module, words) if isinstance(words, Vocabulary | Sequence | Mapping):
            if device is not None:
                module.to(device)
            return ModuleModel(name or type(module).__name__, module, as_vocabulary(words))
        case (nn.Module() as module, tokenizer) if hasattr(tokenizer, "convert_ids_to_tokens"):
            return _as_pretrained(cast("PreTrainedModel", module), tokenizer, name, device)
    kind = f"({', '.join(type(one).__name__ for one in found)})" if isinstance(found, tuple) else type(found).__name__
    raise ModelError(f"{who} {kind}, which is no model.\n  It may be {MAY_BE}.")


def as_vocabulary(words: Vocabulary | Sequence[str] | Mapping[str, int]) -> Vocabulary:
    """Make a vocabulary of words in the order of their ids, or of their ids; case is kept."""
    if isinstance(words, Vocabulary):
        return words
    if isinstance(words, Mapping):
        ordered = sorted(words, key=lambda word: words[word])
        if [words[word] for word in ordered] != list(range(len(ordered))):
            raise ModelError(f"the ids of {len(ordered):,} words must be 0 to {len(ordered) - 1:,}, each once")
        words = ordered
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise ModelError("the words of a vocabulary must be texts: a list, or a mapping from word to id")
    return Vocabulary(tuple(words), lowercase=False)


def _as_pretrained(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str | None, device: torch.device | None
) -> Model:
    config: Any = getattr(model, "config", None)
    if config is None or not hasattr(model, "get_output_embeddings") or hasattr(model, "peft_config"):
        raise ModelError(
            f"{type(model).__name__} with a tokenizer is no model of transformers.\n"
            "  Of a change (LoRA) give merge_and_unload(); of a torch module the words instead of a tokenizer."
        )
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(f"{type(model).__name__} is an encoder-decoder: give a causal or a masked model")
    if device is not None and not hasattr(model, "hf_device_map"):
        model.to(device)  # type: ignore[arg-type] # transformers wraps it
    called = name or Path(getattr(config, "_name_or_path", "")).name or type(model).__name__
    if not any(one.__name__.endswith("ForMaskedLM") for one in type(model).__mro__):
        return as_causal(model, tokenizer, called)
    with undisturbed(model):
        opened = Pretrained(called, model, tokenizer, _fingerprint(model, tokenizer), {})
        return LiveMasked(opened, METRICS[0], "single")


class LiveCausal(CausalModel):
    """A causal model that may be in training: it is put into evaluation mode only while it scores."""

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token; see `CausalModel`."""
        with undisturbed(self.model):
            return super().token_logprobs(encoded, batch_tokens)

    def corrected_logprobs(
        self, encoded: Encoded, batch_tokens: int
    ) -> tuple[np.ndarray, np.ndarray | None, int]:
        """Score every token, and correct words; see `CausalModel`."""
        with undisturbed(self.model):
            return super().corrected_logprobs(encoded, batch_tokens)


class LiveMasked(MaskedModel):
    """A masked model that may be in training."""

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token; see `MaskedModel`."""
        with undisturbed(self.model):
            return super().token_logprobs(encoded, batch_tokens)


# How a module is called, by what stands in messages; a state is fresh for every sentence.
CALLS: dict[str, Callable[[Any, Tensor, int], Any]] = {
    "module(ids, init_hidden(batch))": lambda module, ids, batch: module(ids, module.init_hidden(batch)),
    "module(ids)": lambda module, ids, _: module(ids),
    "module(ids, None)": lambda module, ids, _: module(ids, None),
}
# What the dimensions of an output are, before that of words: the shapes, and how it becomes (batch, time, words).
OUTPUTS: dict[str, tuple[Callable[[int, int], list[tuple[int, ...]]], Callable[[Tensor, int, int], Tensor]]] = {
    "(batch, time, words)": (lambda b, t: [(b, t)], lambda out, b, t: out),
    "(time, batch, words)": (lambda b, t: [(t, b)], lambda out, b, t: out.transpose(0, 1)),
    "(batch*time, words)": (lambda b, t: [(b * t,)], lambda out, b, t: out.view(b, t, -1)),
    "(time*batch, words)": (lambda b, t: [(b * t,)], lambda out, b, t: out.view(t, b, -1).transpose(0, 1)),
    LAST: (lambda b, t: [(b,), (b, 1), (1, b)], lambda out, b, t: out.reshape(b, 1, -1)),
}  # fmt: skip
