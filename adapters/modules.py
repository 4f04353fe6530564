"""Torch modules with their words, as models that predict the next word.

tseval tries how such a module is called, and what its output means. It changes one word, and checks which
outputs change.

The protocol is that of `native`: a fresh state for every sentence, the start symbol before it, and one word
for all unknown words. The log-probability of a word is conditional on all words before it, in nats.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from tseval.errors import ModelError, first_line
from tseval.models.checkpoint import hash_weights
from tseval.models.encoding import OfWords
from tseval.pretrained.evaluation_mode import undisturbed
from tseval.pretrained.logits import OWN_LOGITS
from tseval.pretrained.opened import BATCH_TOKENS, TOKENS_ON_ACCELERATOR
from tseval.scoring.devices import out_of_memory
from tseval.scoring.protocol import ModelCard, recarded
from tseval.scoring.trie import build_trie, contexts_of, path_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.models.vocabulary import Vocabulary
    from tseval.scoring.protocol import Encoded
    from tseval.scoring.trie import Batch
    from tseval.writing import Writing


# Largest difference between two passes over the same words, in nats; for wider types, 1e-4.
ROUNDING = {torch.float16: 0.03, torch.bfloat16: 0.25}
# Ways to call a module, by their text for messages. Every sentence starts from a fresh state.
CALLS: dict[str, Callable[[Any, Tensor, int], object]] = {
    "module(ids, module.init_hidden(batch))": lambda module, ids, n: module(ids, module.init_hidden(n)),
    "module(ids)": lambda module, ids, _: module(ids),
    "module(ids, None)": lambda module, ids, _: module(ids, None),
}
LAST = "(batch, words) of the last place"
Shapes = Callable[[int, int], list[tuple[int, ...]]]
# Kinds of output: shapes for (batch, time) without the last axis, and conversion to (batch, time, words).
OUTPUTS: dict[str, tuple[Shapes, Callable[[Tensor, int, int], Tensor]]] = {
    "(batch, time, words)": (lambda b, t: [(b, t)], lambda out, b, t: out),
    "(time, batch, words)": (lambda b, t: [(t, b)], lambda out, b, t: out.transpose(0, 1)),
    "(batch*time, words)": (lambda b, t: [(b * t,)], lambda out, b, t: out.view(b, t, -1)),
    "(time*batch, words)": (lambda b, t: [(b * t,)], lambda out, b, t: out.view(t, b, -1).transpose(0, 1)),
    LAST: (lambda b, t: [(b,), (b, 1), (1, b)], lambda out, b, t: out.reshape(b, 1, -1)),
}  # fmt: skip


class UnfitError(Exception):
    """A way of reading a module that failed, with the reason and the number of the failed step."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to call a module and to interpret its output."""

    call: str  # key of `CALLS`
    time_first: bool  # whether its ids are (time, batch) instead of (batch, time)
    output: str  # key of `OUTPUTS`; with `LAST`, every prefix is a separate call

    def __str__(self) -> str:
        ids = "time, batch" if self.time_first else "batch, time"
        return f"{self.call}, ids ({ids}), output {self.output}"

    def read(self, module: nn.Module, ids: Tensor, n_words: int) -> Tensor:
        """Return logits for ids, (batch, time): (batch, time, words), or (batch, 1, words) with `LAST`."""
        batch, time = ids.shape
        inputs = ids.T.contiguous() if self.time_first else ids
        try:
            output = _first_tensor(CALLS[self.call](module, inputs, batch))
        except Exception as error:
            if out_of_memory(error):
                raise
            problem = f"{type(error).__name__}: {first_line(error)[:150]}"
            raise UnfitError(0, f"{self.call} with ids {tuple(inputs.shape)} raises {problem}") from error
        shapes, arrange = OUTPUTS[self.output]
        if output is None:
            raise UnfitError(
                1, f"{self.call} returns no tensor, neither as its first value nor as its attribute `logits`"
            )
        if tuple(output.shape[:-1]) not in shapes(batch, time):
            problem = f"{self.call} with ids {tuple(inputs.shape)} returns the shape {tuple(output.shape)}"
            raise UnfitError(1, problem)
        if output.shape[-1] != n_words:
            problem = (
                f"the module returns {output.shape[-1]:,} numbers for a word, but there are {n_words:,} words"
            )
            raise UnfitError(2, problem)
        return arrange(output, batch, time)

    def check(self, module: nn.Module, ids: Tensor, n_words: int, tolerance: float) -> None:
        """Read made-up sentences, and check that the outputs are predictions of next words."""

        def read(some: Tensor) -> Tensor:
            # The longest prefix comes first, because its shape is the most informative.
            ends = range(some.shape[1], 0, -1) if self.output == LAST else [some.shape[1]]
            outputs = torch.cat([self.read(module, some[:, :end], n_words) for end in ends][::-1], 1)
            if outputs.isnan().any():
                raise UnfitError(3, "the module returns NaN")
            if (outputs >= 0).all() and (outputs.sum(-1) - 1).abs().max() < tolerance + 1e-3:
                raise UnfitError(4, "the module returns probabilities. Return logits or log-probabilities")
            return outputs.float().log_softmax(-1)

        def differ(numbers: Tensor, other: Tensor) -> Tensor:
            return (numbers - other).nan_to_num(0.0).abs().amax(-1)  # equal infinities count as no difference

        first, row, position = read(ids), 1, 3
        if differ(first, read(ids)).max() > tolerance:
            raise UnfitError(
                5,
                "two calls with the same ids give different numbers, so the module keeps a state or is "
                "random",
            )
        changed = ids.clone()
        changed[row, position] = (ids[row, position] + 1) % n_words
        moved = differ(first, read(changed))
        change = float(moved[row, position])
        if change == 0:
            raise UnfitError(
                4,
                "the output at each word must predict the next word, so it must depend on the word "
                "itself, but it does not",
            )
        small = min(tolerance, change / 10)
        if moved[[other for other in range(len(ids)) if other != row]].max() > small:
            raise UnfitError(6, "the outputs for a sentence depend on the other sentences of the batch")
        if moved[row, :position].max() > small:
            raise UnfitError(7, "the module is not causal: its output depends on later words")
        for end in (1, position + 1):
            part = ids[row : row + 1, :end]
            if differ(first[row : row + 1, :end], read(part)).max() > tolerance:
                raise UnfitError(
                    5,
                    "the output for a sentence changes if the sentence is alone in a batch, or if its last "
                    "words are removed",
                )


def _first_tensor(output: object) -> Tensor | None:
    """Find the logits in a module's output: by name, or the first of several values."""
    if isinstance(output, Mapping):
        output = output.get("logits", next(iter(output.values()), None))
    output = getattr(output, "logits", output)
    if isinstance(output, tuple | list) and output:
        output = output[0]
    return output if isinstance(output, Tensor) and output.dim() else None


def find_reading(name: str, module: nn.Module, n_words: int, like: Tensor) -> Reading:
    """Find a way to read a module by trying all, with ids on the device of its weight `like`."""
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
    _, objection = max(objections, key=lambda objection: objection[0])
    raise ModelError(
        f"{name} ({type(module).__name__}) cannot be used: {objection}.\n"
        "  The module must take ids, (batch, time) or (time, batch), and return logits or\n"
        "  log-probabilities of the next words. For any other module, write an object with the\n"
        "  methods of a protocol (tseval.scoring.protocol)."
    )


class ModuleModel(OfWords):
    """A torch module that predicts words, ready for scoring. Its training mode is restored afterwards."""

    def __init__(self, name: str, module: nn.Module, vocabulary: Vocabulary) -> None:
        self.module, self.vocabulary = module, vocabulary
        self.warnings: list[str] = []
        self._ids = vocabulary.ids()
        self._before = [self._ids[vocabulary.start]]  # ids before every sentence
        first = next(
            (weight for weight in self._weights().values() if weight.is_floating_point()), torch.empty(0)
        )
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
                "parameters": sum(weight.numel() for weight in module.parameters()),
                "device": str(self.device),
                "read": str(self.reading),
            },
        )

    def _weights(self) -> dict[str, Tensor]:
        return dict([*self.module.named_parameters(), *self.module.named_buffers()])

    def _fingerprint(self) -> str:
        """Return the SHA-256 over the words and the current weights."""
        kind = json.dumps([type(self.module).__name__, self.vocabulary.words])
        digest = hashlib.sha256(kind.encode())
        hash_weights(
            digest, {key: weight.reshape(weight.shape or (1,)) for key, weight in self._weights().items()}
        )
        return digest.hexdigest()

    def with_current_weights(self) -> Self:
        """Return the same module with its current weights; see `ChangingModel`."""
        if self._fingerprint() == self.card.fingerprint:
            return self
        fresh = type(self)(self.card.name, self.module, self.vocabulary)
        fresh.card = recarded(self.card, fresh.card)
        return fresh

    def after(self, sentences: Sequence[str], rules: Writing | None) -> Self:
        """Return the same module, which reads a text before every sentence; see `ContextModel`.

        It reads the text again with each row of ids, because tseval does not know where a module keeps its
        state.
        """
        del rules  # the module reads words
        encoded = (self.encode(pa.array([sentence], pa.string())).tokens.tolist() for sentence in sentences)
        model = copy(self)
        start = self._ids[self.vocabulary.start]
        model._before = [*self._before, *(token for tokens in encoded for token in (*tokens, start))]
        return model

    def next_logprobs(self, tokens: np.ndarray) -> Iterator[Tensor]:
        """Yield the log-probabilities of all words at each position; see `DistributionModel`."""
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
        """Return the words with the given ids."""
        return [self.vocabulary.words[token] for token in tokens]

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every word given the words before it, (words,) float32, in nats; rows have no padding."""
        trie = build_trie(encoded.tokens, encoded.lengths)
        contexts = contexts_of(trie, self._ids[self.vocabulary.start])
        result = np.zeros(sum(len(level.tokens) for level in trie.levels), dtype=np.float32)
        batch_tokens = min(batch_tokens, max(1, OWN_LOGITS // len(self.vocabulary)))
        batch_tokens = max(1, batch_tokens // len(self._before))
        # Tensors that the module stores during this call must still work in training.
        with undisturbed(self.module), torch.inference_mode(False), torch.no_grad():
            for batch in path_batches(contexts, batch_tokens):
                tokens = contexts.tokens[batch.contexts]
                before = np.tile(np.array(self._before[:-1], dtype=np.int64), (len(tokens), 1))
                ids = torch.from_numpy(np.concatenate((before, tokens), axis=1)).to(self.device)
                for positions, logits in self._outputs(ids, batch):
                    row, target = contexts.targets_of(positions)
                    rows, words = (
                        torch.from_numpy(indices).to(logits.device)
                        for indices in (row, contexts.targets[target])
                    )
                    logprobs = logits.float().log_softmax(-1)[rows, words]
                    result[contexts.nodes[target]] = logprobs.cpu().numpy()
        return result[trie.paths], trie.n_contexts

    def _outputs(self, ids: Tensor, batch: Batch) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Yield the contexts of a batch that need logits, with their logits, (contexts, words)."""
        needs_logits = torch.from_numpy(batch.asked).to(self.device)
        n_before = len(self._before) - 1
        try:
            if self.reading.output != LAST:
                logits = self.reading.read(self.module, ids, len(self.vocabulary))[:, n_before:]
                yield batch.contexts[batch.asked], logits[needs_logits]
                return
            for position in np.flatnonzero(batch.asked.any(0)):
                rows = needs_logits[:, position]
                beginnings = ids[rows, : n_before + position + 1]
                logits = self.reading.read(self.module, beginnings, len(self.vocabulary))[:, 0]
                yield batch.contexts[batch.asked[:, position], position], logits
        except UnfitError as error:
            raise ModelError(f"{self.card.name}: {error.args[1]}") from error
