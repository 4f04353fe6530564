"""One function in one file, `function:PATH.py:NAME` or `PATH.py:NAME` alone, and models in memory.

The function, or whoever holds a model, gives an object of our protocols, a model of transformers with its
tokenizer, or a module of torch with its words. How such a module is called, and what its output means, is
found out by trying: one word is changed, and where outputs change then is looked at.

Protocol of modules, as of `native`: a fresh state for every sentence, the start symbol before it, one word
for unknown ones; a word's log-probability is given all words before it, in nats.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from tseval.adapters import file_and_function, name_of_function
from tseval.adapters.mlm import METRICS, MaskedModel
from tseval.adapters.native import OfWords, as_causal, fingerprint_in_memory, refreshed, undisturbed
from tseval.adapters.pretrained import BATCH_TOKENS, OWN_LOGITS, TOKENS_ON_ACCELERATOR, Pretrained, typed
from tseval.errors import ModelError, TsevalError, first_line, reason, suggest
from tseval.files import file_sha256, read_bytes
from tseval.models import Vocabulary
from tseval.models.checkpoint import hash_weights
from tseval.models.state_files import VocabularyOptions, as_words, describe_words
from tseval.scoring.numerics import out_of_memory, pick_device
from tseval.scoring.protocol import PROTOCOL_PARTS, ModelCard, recarded, refuse_no_model
from tseval.scoring.trie import build_trie, contexts_of, path_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tseval.scoring.protocol import Encoded, Model
    from tseval.scoring.trie import Batch

SCHEMES = {"function": "open_function"}

# How far two passes over the same words may differ, in nats; wider types less than 1e-4.
ROUNDING = {torch.float16: 0.03, torch.bfloat16: 0.25}

MAY_BE = (
    "an object with the methods of a protocol (tseval.scoring.protocol),\n"
    "  a pair (transformers model, tokenizer),\n"
    "  or a pair (torch module, words); words: a list in the order of the ids, or a mapping from word to id"
)
FRAMES = 3  # of the user's file, in the message about an error that was raised there


def open_function(rest: str, arguments: Mapping[str, str], device: str) -> Model:
    """Open `--model PATH.py:NAME`: run the file, and call the function with `--model-args`.

    Values are numbers, true, false, none or text. A function that takes `device` is given it.
    """
    named = file_and_function(rest)
    if named is None:
        raise ModelError(
            f"function:{rest}: the model must be named as FILE.py:FUNCTION.\n"
            "  Name a file and a function in it: --model mine.py:load"
        )
    path, called = named
    target, where, name = pick_device(device), f"{path.name}:{called}", name_of_function(path, called)
    try:
        source = read_bytes(path)
    except OSError as error:
        raise ModelError(
            f"{path}: {reason(error)}.\n  Name a Python file and a function in it: --model mine.py:load"
        ) from None
    digest = hashlib.sha256(source).hexdigest()
    module = ModuleType(f"{path.stem} {digest[:8]}")  # no name that something else may have
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    keywords: dict[str, object] = {key: typed(key, text) for key, text in arguments.items()}
    with _errors_of(path, where), _beside(path.resolve().parent), redirect_stdout(sys.stderr):
        exec(compile(source, str(path), "exec"), vars(module))  # noqa: S102 - it was named to be run
        function = _find(module, called, path)
        if "device" in inspect.signature(function).parameters:
            keywords.setdefault("device", str(target))
        _check_arguments(function, keywords, where)
        returned = function(**keywords)
    model = as_model(returned, f"{where} returns", name, target)
    protocol = {"file": digest, "function": called}
    if arguments:
        protocol["arguments"] = ",".join(f"{key}={_content(text)}" for key, text in sorted(arguments.items()))
    try:
        model.card = replace(model.card, name=name, protocol={**model.card.protocol, **protocol})
    except (AttributeError, TypeError):
        raise ModelError(
            f"{where} returns a model whose attribute `card` cannot be set.\n"
            "  Make `card` an ordinary attribute: self.card = tseval.ModelCard(...)."
        ) from None
    return model


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """Let a file import what lies beside it, and drop it: another may have the same names."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in sys.modules.keys() - before:
            top, file = name.partition(".")[0], getattr(sys.modules[name], "__file__", None)
            if file and {folder / f"{top}.py", folder / top} & {Path(file), *Path(file).parents}:
                del sys.modules[name]


@contextmanager
def _errors_of(path: Path, where: str) -> Iterator[None]:
    """Say what a user's file raises in one message: where in the file, and what."""
    try:
        yield
    except TsevalError:
        raise
    except (Exception, SystemExit) as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == str(path)]
        lines = [f"  line {one.lineno}, in {one.name}: {one.line}" for one in frames[-FRAMES:]]
        said = f"{type(error).__name__}: {first_line(error)}"  # type: ignore[arg-type] # SystemExit speaks too
        raise ModelError("\n".join([f"{where} raised an error. Correct your file:", *lines, said])) from error


def _find(module: ModuleType, called: str, path: Path) -> Callable[..., object]:
    found: object = vars(module).get(called)
    if callable(found):
        return found
    there = [
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    ]
    raise ModelError(f"{path} has no function {called!r}. {suggest(called, there, 'Functions')}")


def _check_arguments(function: Callable[..., object], keywords: Mapping[str, object], where: str) -> None:
    parameters = inspect.signature(function).parameters.values()
    by_name = {
        one.name: one for one in parameters if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}
    }
    unknown = sorted(keywords.keys() - by_name.keys())
    if unknown and not any(one.kind is one.VAR_KEYWORD for one in parameters):
        raise ModelError(
            f"{where} takes no argument {unknown[0]!r}. {suggest(unknown[0], by_name, 'Arguments')}"
        )
    if lacking := [
        name for name, one in by_name.items() if one.default is one.empty and name not in keywords
    ]:
        raise ModelError(
            f"{where} needs a value for {', '.join(lacking)}.\n  Add --model-args {lacking[0]}=VALUE"
        )


def _content(text: str) -> str:
    """Let a file count by its content, and a folder by nothing: where they lie is nobody's business."""
    try:
        path = Path(text)
        if path.is_file():
            return file_sha256(path)
        return "folder" if path.is_dir() else text
    except (OSError, ValueError):
        return text


def as_model(
    found: object, call_returns: str, name: str | None = None, device: torch.device | None = None
) -> Model:
    """Take what a user holds as a model: an object of our protocols, which stays what it is, or a pair.

    Args:
        name: For tables; None for that of its class, or of where transformers found it.
        device: To move it to; None leaves it where it is.
    """
    match found:
        case (nn.Module() as module, Vocabulary() | Sequence() | Mapping() as words):
            return ModuleModel(name or type(module).__name__, module.to(device), _as_vocabulary(words))
        case (nn.Module() as module, tokenizer) if hasattr(tokenizer, "convert_ids_to_tokens"):
            return _as_pretrained(cast("PreTrainedModel", module), tokenizer, call_returns, name, device)
    if isinstance(found, (type, *PROTOCOL_PARTS)) or hasattr(found, "card"):
        refuse_no_model(found, f"what {call_returns}")
        return cast("Model", found)
    found_type = type(found).__name__
    if isinstance(found, tuple):
        found_type = f"({', '.join(type(one).__name__ for one in found)})"
    raise ModelError(f"{call_returns} {found_type}, which is not a model.\n  Give {MAY_BE}.")


def _as_vocabulary(words: Vocabulary | Sequence[str] | Mapping[str, int]) -> Vocabulary:
    """Make a vocabulary of words in the order of their ids, or of their ids; case counts."""
    if isinstance(words, Vocabulary):
        return words
    found = as_words(list(words) if isinstance(words, tuple) else words)
    if found is None:
        raise ModelError(
            "the words of a torch module must be a list of strings in the order of their ids,\n"
            "  or a mapping from word to id, with each id from 0 to n-1 once"
        )
    return describe_words(found, "", VocabularyOptions()).vocabulary


def _as_pretrained(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    call_returns: str,
    name: str | None,
    device: torch.device | None,
) -> Model:
    config: Any = getattr(model, "config", None)
    if not hasattr(model, "get_output_embeddings") or hasattr(model, "peft_config"):
        raise ModelError(
            f"{call_returns} a tokenizer with {type(model).__name__}, which is not a transformers model.\n"
            "  For a LoRA adapter, merge it first: model.merge_and_unload().\n"
            "  For a torch module, give its list of words, not a tokenizer."
        )
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            f"{call_returns} {type(model).__name__}, an encoder-decoder model.\n"
            "  Give a causal or a masked language model, or save it and use --model seq2seq:FOLDER."
        )
    if device is not None and not hasattr(model, "hf_device_map"):
        cast("nn.Module", model).to(device)
    called = name or Path(getattr(config, "_name_or_path", "")).name or type(model).__name__
    if not any(one.__name__.endswith("ForMaskedLM") for one in type(model).__mro__):
        return as_causal(model, tokenizer, called)
    return _as_masked(model, tokenizer, called)


def _as_masked(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> LiveMasked:
    with undisturbed(model):
        opened = Pretrained(name, model, tokenizer, fingerprint_in_memory(model, tokenizer), {})
        return LiveMasked(opened, METRICS[0], "single")


class LiveMasked(MaskedModel):
    """A masked model that may be in training: it is in evaluation mode only while it scores."""

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token; see `MaskedModel`."""
        with undisturbed(self.model):
            return super().token_logprobs(encoded, batch_tokens)

    def with_current_weights(self) -> Self:
        """Return the same model as its weights are now; see `ChangingModel`."""

        def wrap(opened: Pretrained) -> LiveMasked:
            return _as_masked(opened.model, opened.tokenizer, opened.name)

        return cast("Self", refreshed(self, wrap))


# How a module is called, by what stands in messages; a state is fresh for every sentence.
CALLS: dict[str, Callable[[Any, Tensor, int], object]] = {
    "module(ids, module.init_hidden(batch))": lambda module, ids, n: module(ids, module.init_hidden(n)),
    "module(ids)": lambda module, ids, _: module(ids),
    "module(ids, None)": lambda module, ids, _: module(ids, None),
}
LAST = "(batch, words) of the last place"
Shapes = Callable[[int, int], list[tuple[int, ...]]]
# What an output is: its shapes but for the words, by (batch, time), and how it becomes (batch, time, words).
OUTPUTS: dict[str, tuple[Shapes, Callable[[Tensor, int, int], Tensor]]] = {
    "(batch, time, words)": (lambda b, t: [(b, t)], lambda out, b, t: out),
    "(time, batch, words)": (lambda b, t: [(t, b)], lambda out, b, t: out.transpose(0, 1)),
    "(batch*time, words)": (lambda b, t: [(b * t,)], lambda out, b, t: out.view(b, t, -1)),
    "(time*batch, words)": (lambda b, t: [(b * t,)], lambda out, b, t: out.view(t, b, -1).transpose(0, 1)),
    LAST: (lambda b, t: [(b,), (b, 1), (1, b)], lambda out, b, t: out.reshape(b, 1, -1)),
}  # fmt: skip


class UnfitError(Exception):
    """A module cannot be read in some way; it holds how far the attempt came, and why."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a module is read."""

    call: str  # of `CALLS`
    time_first: bool  # whether its ids are (time, batch), and not (batch, time)
    output: str  # of `OUTPUTS`; of `LAST`, every prefix is read by itself

    def __str__(self) -> str:
        ids = "time, batch" if self.time_first else "batch, time"
        return f"{self.call}, ids ({ids}), output {self.output}"

    def read(self, module: nn.Module, ids: Tensor, n_words: int) -> Tensor:
        """Return logits, (batch, time, words), or (batch, 1, words) of `LAST`, for ids, (batch, time)."""
        batch, time = ids.shape
        given = ids.T.contiguous() if self.time_first else ids
        try:
            found = _first_tensor(CALLS[self.call](module, given, batch))
        except Exception as error:
            if out_of_memory(error):
                raise
            said = f"{type(error).__name__}: {first_line(error)[:150]}"
            raise UnfitError(0, f"{self.call} with ids {tuple(given.shape)} raises {said}") from error
        shapes, arrange = OUTPUTS[self.output]
        if found is None:
            raise UnfitError(
                1, f"{self.call} returns no tensor, neither as its first value nor as its attribute `logits`"
            )
        if tuple(found.shape[:-1]) not in shapes(batch, time):
            said = f"{self.call} with ids {tuple(given.shape)} returns the shape {tuple(found.shape)}"
            raise UnfitError(1, said)
        if found.shape[-1] != n_words:
            said = (
                f"the module returns {found.shape[-1]:,} numbers for a word, but there are {n_words:,} words"
            )
            raise UnfitError(2, said)
        return arrange(found, batch, time)

    def check(self, module: nn.Module, ids: Tensor, n_words: int, tolerance: float) -> None:
        """Read made-up sentences, and see whether the numbers are those of next words."""

        def read(some: Tensor) -> Tensor:
            # Of every prefix, the longest first: it tells most of its shape.
            ends = range(some.shape[1], 0, -1) if self.output == LAST else [some.shape[1]]
            found = torch.cat([self.read(module, some[:, :end], n_words) for end in ends][::-1], 1)
            if found.isnan().any():
                raise UnfitError(3, "the module returns NaN")
            if (found >= 0).all() and (found.sum(-1) - 1).abs().max() < tolerance + 1e-3:
                raise UnfitError(4, "the module returns probabilities, not logits or log-probabilities")
            return found.float().log_softmax(-1)

        def differ(one: Tensor, other: Tensor) -> Tensor:
            return (one - other).nan_to_num(0.0).abs().amax(-1)  # infinite ones differ by nothing

        first, row, place = read(ids), 1, 3
        if differ(first, read(ids)).max() > tolerance:
            raise UnfitError(
                5,
                "two calls with the same ids give different numbers, so the module keeps a state or is "
                "random",
            )
        changed = ids.clone()
        changed[row, place] = (ids[row, place] + 1) % n_words
        moved = differ(first, read(changed))
        here = float(moved[row, place])
        if here == 0:
            raise UnfitError(
                4,
                "the output at each word must predict the next word, so it must depend on the word "
                "itself, but it does not",
            )
        small = min(tolerance, here / 10)
        if moved[[other for other in range(len(ids)) if other != row]].max() > small:
            raise UnfitError(6, "the numbers of a sentence depend on the other sentences of the batch")
        if moved[row, :place].max() > small:
            raise UnfitError(7, "the module is not causal: its output depends on later words")
        for end in (1, place + 1):
            part = ids[row : row + 1, :end]
            if differ(first[row : row + 1, :end], read(part)).max() > tolerance:
                raise UnfitError(
                    5,
                    "the numbers of a sentence change when the sentence is alone in a batch, or is cut "
                    "shorter",
                )


def _first_tensor(output: object) -> Tensor | None:
    """Find logits in what a module returns: named so, or the first of several."""
    if isinstance(output, Mapping):
        output = output.get("logits", next(iter(output.values()), None))
    output = getattr(output, "logits", output)
    if isinstance(output, tuple | list) and output:
        output = output[0]
    return output if isinstance(output, Tensor) and output.dim() else None


def find_reading(name: str, module: nn.Module, n_words: int, like: Tensor) -> Reading:
    """Try how a module can be read, with ids on the device of one of its weights."""
    ids = torch.from_numpy(np.random.default_rng(0).integers(n_words, size=(3, 5))).to(like.device)
    objections: list[tuple[int, str]] = []
    for call, time_first, output in product(CALLS, (False, True), OUTPUTS):
        reading = Reading(call, time_first, output)
        if call.startswith("module(ids, module.") and not hasattr(module, "init_hidden"):
            continue
        try:
            reading.check(module, ids, n_words, ROUNDING.get(like.dtype, 1e-4))
        except UnfitError as error:
            objections.append(error.args)
            continue
        return reading
    raise ModelError(
        f"{name} ({type(module).__name__}) cannot be used: {max(objections, key=lambda one: one[0])[1]}.\n"
        "  The module must take ids, (batch, time) or (time, batch), and return logits or\n"
        "  log-probabilities of the next words. For any other module, write an object with the\n"
        "  methods of a protocol (tseval.scoring.protocol)."
    )


class ModuleModel(OfWords):
    """A module of torch that predicts words, ready to score; it is left as it was, training or not."""

    def __init__(self, name: str, module: nn.Module, vocabulary: Vocabulary) -> None:
        self.module, self.vocabulary = module, vocabulary
        self.warnings: list[str] = []
        self._ids = vocabulary.ids()
        first = next((one for one in self._weights().values() if one.is_floating_point()), torch.empty(0))
        self.device = first.device
        self.batch_tokens = BATCH_TOKENS.get(self.device.type, TOKENS_ON_ACCELERATOR)
        with undisturbed(module), torch.inference_mode(False), torch.no_grad():
            self.reading = find_reading(name, module, len(vocabulary), first)
        self.card = ModelCard(
            name=name,
            kind="function",
            fingerprint=self._fingerprint(),
            protocol=self.protocol_of_words(str(first.dtype).removeprefix("torch.")),
            details={
                "architecture": type(module).__name__,
                "vocabulary": len(vocabulary),
                "parameters": sum(one.numel() for one in module.parameters()),
                "device": str(self.device),
                "read": str(self.reading),
            },
        )

    def _weights(self) -> dict[str, Tensor]:
        return dict([*self.module.named_parameters(), *self.module.named_buffers()])

    def _fingerprint(self) -> str:
        """Return the SHA-256 over the words and the weights that the module has now."""
        kind = json.dumps([type(self.module).__name__, self.vocabulary.words])
        digest = hashlib.sha256(kind.encode())
        hash_weights(digest, {key: one.reshape(one.shape or (1,)) for key, one in self._weights().items()})
        return digest.hexdigest()

    def with_current_weights(self) -> Self:
        """Return the same module as its weights are now; see `ChangingModel`."""
        if self._fingerprint() == self.card.fingerprint:
            return self
        now = type(self)(self.card.name, self.module, self.vocabulary)
        now.card = recarded(self.card, now.card)
        return now

    def next_logprobs(self, tokens: np.ndarray) -> Iterator[Tensor]:
        """Yield the log-probabilities of all words before each of a sentence; see `DistributionModel`."""
        ids = torch.tensor([[self._ids[self.vocabulary.start], *tokens.tolist()[:-1]]], device=self.device)
        ends = range(1, ids.shape[1] + 1) if self.reading.output == LAST else [ids.shape[1]]
        with undisturbed(self.module), torch.inference_mode(False), torch.no_grad():
            for end in ends:
                yield (
                    self.reading.read(self.module, ids[:, :end], len(self.vocabulary))[0]
                    .float()
                    .log_softmax(-1)
                )

    def token_texts(self, tokens: np.ndarray) -> list[str]:
        """Return words by their ids."""
        return [self.vocabulary.words[token] for token in tokens]

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every word by the words before it, (words,) float32, in nats; rows have no padding."""
        trie = build_trie(encoded.tokens, encoded.lengths)
        contexts = contexts_of(trie, self._ids[self.vocabulary.start])
        result = np.zeros(sum(len(level.tokens) for level in trie.levels), dtype=np.float32)
        batch_tokens = min(batch_tokens, max(1, OWN_LOGITS // len(self.vocabulary)))
        # Tensors that the module keeps from here must serve its training.
        with undisturbed(self.module), torch.inference_mode(False), torch.no_grad():
            for batch in path_batches(contexts, batch_tokens):
                ids = torch.from_numpy(contexts.tokens[batch.contexts]).to(self.device)
                for asked, logits in self._outputs(ids, batch):
                    row, target = contexts.targets_of(asked)
                    rows, words = (
                        torch.from_numpy(one).to(logits.device) for one in (row, contexts.targets[target])
                    )
                    found = logits.float().log_softmax(-1)[rows, words]
                    result[contexts.nodes[target]] = found.cpu().numpy()
        return result[trie.paths], trie.n_contexts

    def _outputs(self, ids: Tensor, batch: Batch) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Yield contexts that are asked for, and the logits after each, (contexts, words)."""
        asked = torch.from_numpy(batch.asked).to(self.device)
        try:
            if self.reading.output != LAST:
                logits = self.reading.read(self.module, ids, len(self.vocabulary))
                yield batch.contexts[batch.asked], logits[asked]
                return
            for place in np.flatnonzero(batch.asked.any(0)):
                rows = asked[:, place]
                logits = self.reading.read(self.module, ids[rows, : place + 1], len(self.vocabulary))[:, 0]
                yield batch.contexts[batch.asked[:, place], place], logits
        except UnfitError as error:
            raise ModelError(f"{self.card.name}: {error.args[1]}") from error
