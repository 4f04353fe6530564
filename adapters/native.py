"""tseval's own checkpoints, and the checkpoints that come with tseval.

The protocol for language models is that of Marvin & Linzen 2018. Every sentence starts from a zero state,
with `<eos>` as start symbol. All words up to the final period are scored; the closing `<eos>` is not. Unknown
words become `<unk>`. Classifiers start without a start symbol and score the label word at the end.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
import torch

from tseval.adapters.nanogpt import open_nanogpt
from tseval.adapters.schemes import name_of_file
from tseval.errors import ModelError, suggest
from tseval.models.bundled_models import bundled_checkpoints
from tseval.models.checkpoint import Checkpoint, load_checkpoint
from tseval.models.encoding import OfWords
from tseval.models.network import TASKS, count_parameters
from tseval.models.state_files import kind_of
from tseval.models.states import open_state
from tseval.scoring.bfloat16 import NOTHING_GAINED, Bfloat16Products, NarrowMatrix, has_fast_products
from tseval.scoring.devices import on_device, pick_device
from tseval.scoring.inflected import in_tiles
from tseval.scoring.products import Rerouted, fast_products
from tseval.scoring.protocol import Encoded, ModelCard
from tseval.scoring.softmax import best_words, bfloat16_logprobs, log_normaliser, pair_logits
from tseval.scoring.trie import trie_of_contexts, visit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from torch import Tensor

    from tseval.adapters.hf import CausalModel
    from tseval.models.cells.cell import State

SCHEMES = {"bundled": "open_bundled", "native": "open_checkpoint"}


ScoringPrecision = Literal["float32", "bfloat16"]


class NativeModel(OfWords):
    """A checkpoint on a device, which reads prefixes word by word.

    `precision` is the precision of the operands of large products; sums and states are float32.
    """

    encodes_aside = True  # as in `CausalModel`

    def __init__(
        self, name: str, checkpoint: Checkpoint, device: torch.device, precision: ScoringPrecision = "float32"
    ) -> None:
        self.model = checkpoint.model.to(device)
        self.vocabulary = checkpoint.vocabulary
        self.device = device
        self.warnings = list(checkpoint.warnings)
        self._ids = self.vocabulary.ids()
        self._products: Bfloat16Products | None = None
        if precision == "bfloat16":
            self._products = Bfloat16Products(self.model.layers.parameters())
            self._output = NarrowMatrix(self.model.output.weight)
            if not has_fast_products(device):
                self.warnings.append(NOTHING_GAINED)
        protocol = self.protocol_of_words()
        if precision != "float32":
            protocol["precision"] = precision
        sizes = self.model.sizes
        self.card = ModelCard(
            name=name,
            kind="native",
            fingerprint=checkpoint.fingerprint,
            protocol=protocol,
            details={
                "architecture": sizes.arch,
                "embedding": sizes.embedding,
                "hidden": sizes.hidden,
                "layers": sizes.layers,
                "vocabulary": sizes.vocabulary,
                "parameters": count_parameters(self.model),
                "core_parameters": self.model.n_core_parameters,
                "validation_perplexity": checkpoint.validation_perplexity,
                "device": str(device),
                **checkpoint.place_in_course(),
                **({} if checkpoint.reading is None else {"reading": checkpoint.reading}),
            },
        )

    @property
    def row_bytes(self) -> int:
        """Bytes of memory per row of a state."""
        return sum(tensor.nbytes for tensor in self.model.initial_state(1))

    def start(self) -> State:
        """Return the state after `<eos>`, one row."""
        return self.advance(self.model.initial_state(1), np.array([self._ids[self.vocabulary.start]]))

    def advance(self, state: State, tokens: np.ndarray) -> State:
        """Read one more word in every row; each distinct word is projected only once."""
        distinct, indices = np.unique(tokens, return_inverse=True)
        with fast_products(self.device):
            projected = self.model.project(on_device(distinct, self.device))
        with fast_products(self.device) if self._products is None else Rerouted(self._products.linear):
            return self.model.step(projected[on_device(indices, self.device)], state)

    def logprobs(self, state: State, rows: np.ndarray, tokens: np.ndarray) -> np.ndarray | Tensor:
        """Return the log-probabilities of next words, (words,) float32, in nats; on a GPU, as a tensor there.

        The logits of the whole vocabulary are never in memory at once.
        """
        hidden, output = self.model.top(state), self.model.output
        row, token = (on_device(index, self.device) for index in (rows, tokens))
        if self._products is None:
            logits = pair_logits(hidden, output.weight, output.bias, row, token)
            logprobs = logits - log_normaliser(hidden, output.weight, output.bias)[row]
        else:
            logprobs = bfloat16_logprobs(hidden, output, self._output, row, token)
        if self.device.type == "cpu":
            result: np.ndarray = logprobs.numpy()
            return result
        return logprobs

    @torch.inference_mode()
    def next_logprobs(self, tokens: np.ndarray) -> Iterator[Tensor]:
        """Yield the log-probabilities of all words at each position; see `DistributionModel`."""
        state = self.start()
        for token in tokens:
            yield self.model.logits(self.model.top(state)).float().log_softmax(-1)
            state = self.advance(state, np.array([token]))

    @torch.inference_mode()
    def after_contexts(self, encoded: Encoded, batch_tokens: int) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Yield the log-probabilities of all words after contexts; see `ContinuationModel`."""
        trie, nodes = trie_of_contexts(encoded.tokens, encoded.lengths)
        order = np.argsort(nodes, kind="stable")
        for visited in visit(self, trie):
            first, stop = np.searchsorted(nodes[order], [visited.nodes.start, visited.nodes.stop])
            for contexts in in_tiles(order[first:stop], self.model.sizes.vocabulary):
                rows = on_device(visited.rows[nodes[contexts] - visited.nodes.start], self.device)
                logits = self.model.logits(self.model.top(visited.state)[rows])
                yield contexts, logits.float().log_softmax(-1)

    def token_texts(self, tokens: np.ndarray) -> list[str]:
        """Return the words with the given ids."""
        return [self.vocabulary.words[token] for token in tokens]

    def best_tokens(self, state: State) -> np.ndarray:
        """Return the most probable next word of every row, (rows,) int64."""
        hidden, output = self.model.top(state), self.model.output
        best: np.ndarray = best_words(hidden, output.weight, output.bias).cpu().numpy()
        return best


class NativeClassifier(NativeModel):
    """A trained classifier, as a model of sentences that end in one of the two label words of its task.

    The log-probability of a label is that of its class, given the words before it. All other words have 0,
    because the classifier predicts no words. So every score of a sentence is that of its label.
    """

    def __init__(
        self, name: str, checkpoint: Checkpoint, device: torch.device, precision: ScoringPrecision = "float32"
    ) -> None:
        super().__init__(name, checkpoint, device, precision)
        task = self.model.sizes.task
        assert task is not None, "a language model"
        self.task = task
        self._n_words = len(self.vocabulary)
        self._ids |= {label: self._n_words + i for i, label in enumerate(TASKS[task].labels)}
        details = {**self.card.details, "validation_accuracy": checkpoint.training.get("validation_accuracy")}
        protocol = {**self.card.protocol, "start": "none", "task": task}
        self.card = replace(self.card, protocol=protocol, details=details)

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Return sentences as word ids; see `NativeModel.encode`."""
        encoded = super().encode(sentences)
        is_label = encoded.tokens >= self._n_words
        ends = np.cumsum(encoded.lengths)
        n_labels = np.concatenate(([0], np.cumsum(is_label)))
        wrong = ~is_label[ends - 1] | (n_labels[ends] - n_labels[ends - encoded.lengths] != 1)
        if wrong.any():
            task = TASKS[self.task]
            raise ModelError(
                f"{self.card.name} is a classifier ({self.task}): it reads only sentences that end in "
                f"{' or '.join(task.labels)}, not {str(sentences[int(np.argmax(wrong))])!r}.\n"
                f"  Use the suite {' or '.join(f'SUITE:{method}' for method in task.methods)}."
            )
        return encoded

    def check_sentences(self, sentences: pa.StringArray) -> None:
        """Refuse the sentences that `encode` refuses."""
        self.encode(sentences)

    def start(self) -> State:
        """Return the initial state, one row."""
        return self.model.initial_state(1)

    def logprobs(self, state: State, rows: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of labels, and 0 for words, (tokens,) float32, in nats."""
        result = np.zeros(len(tokens), dtype=np.float32)
        is_label = tokens >= self._n_words
        if is_label.any():
            hidden = self.model.top(state)[torch.from_numpy(rows[is_label]).to(self.device)]
            classes = self.model.logits(hidden).log_softmax(1).cpu().numpy()
            result[is_label] = classes[np.arange(len(classes)), tokens[is_label] - self._n_words]
        return result

    def best_tokens(self, state: State) -> np.ndarray:
        """Return the more probable label of every row, (rows,) int64."""
        best: np.ndarray = self.model.logits(self.model.top(state)).argmax(1).cpu().numpy() + self._n_words
        return best


def open_checkpoint(rest: str, arguments: Mapping[str, str], device: str) -> NativeModel | CausalModel:
    """Open `--model PATH`: a tseval checkpoint, or a recurrent language model saved with torch.

    Both take `precision=bfloat16`. `tseval.models.states.ARGUMENTS` lists the arguments that describe files
    from other programs. A nanoGPT checkpoint is opened as GPT-2.
    """
    path = Path(rest)
    name = name_of_file(path)
    remaining = dict(arguments)
    kind = kind_of(path)
    if kind == "nanogpt":
        return open_nanogpt(path, name, remaining, device)
    value = remaining.pop("precision", "float32")
    if value not in get_args(ScoringPrecision):
        raise ModelError(
            f"--model-args precision={value}: unknown precision. "
            f"{suggest(value, get_args(ScoringPrecision), 'Values')}"
        )
    checkpoint = load_checkpoint(path) if kind == "tseval" else open_state(path, remaining)
    if kind == "tseval" and remaining:
        raise ModelError(
            f"--model-args {', '.join(remaining)}: a tseval checkpoint has only the argument precision.\n"
            f"  Remove {', '.join(remaining)} from --model-args."
        )
    model_class = NativeModel if checkpoint.model.sizes.task is None else NativeClassifier
    return model_class(name, checkpoint, pick_device(device), cast("ScoringPrecision", value))


def open_bundled(rest: str, arguments: Mapping[str, str], device: str) -> NativeModel | CausalModel:
    """Open `--model bundled:NAME`, a checkpoint that comes with tseval."""
    checkpoints = bundled_checkpoints()
    if rest not in checkpoints:
        raise ModelError(
            f"no checkpoint that comes with tseval has the name {rest!r}.\n"
            f"  {suggest(rest, checkpoints, 'Bundled')}"
        )
    return open_checkpoint(str(checkpoints[rest]), arguments, device)
