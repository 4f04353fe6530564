"""Causal language models of transformers: `hf:PATH_OR_ID`.

Words are split into pieces by the model's tokenizer. The log-probability of a sentence is the sum over its
pieces (chain rule); that of a word needs more (`tseval.adapters.word_marks`). Every distinct beginning is
read once: many of them share a row in which each attends to its own beginnings only, at the positions it has
in its sentence. Not every architecture allows that, so each model is held to its own plain forward pass, when
it is opened and for sentences of the lengths that it is given (`tseval.adapters.hf_check`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import nn

from tseval.adapters.bfloat16_head import ModelProducts, no_gain, refuse_precision
from tseval.adapters.hf_check import ALL_METHODS, LENGTH, ROW_CONTEXTS, choose_method
from tseval.adapters.pieces import WHITE_SPACE, Pieces
from tseval.adapters.pretrained import OWN_LOGITS, open_pretrained, plain_errors, take_option
from tseval.adapters.start_tokens import find_start, start_kind
from tseval.adapters.word_marks import NOTE, Ended, corrections, find_marks, read_to_the_end
from tseval.errors import ModelError
from tseval.scoring.numerics import chosen_logits, log_shares, log_sums, log_sums_exp_, of_length
from tseval.scoring.protocol import ModelCard
from tseval.scoring.trie import attends, build_trie, contexts_of, packed_batches, path_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from torch import Tensor
    from transformers import PretrainedConfig

    from tseval.adapters.hf_check import Method
    from tseval.adapters.pretrained import OptionValue, Pretrained
    from tseval.scoring.protocol import Encoded
    from tseval.scoring.trie import Batch, Contexts, Trie

# What is asked besides the tokens themselves, where nothing is.
NO_PARTS = np.empty((0, 0), dtype=np.float32)


class CausalModel:
    """A causal language model, ready to score tries of pieces.

    Args:
        opened: What was read.
        bos: `auto`, `tokenizer`, `true`, `false` or a token of the vocabulary.
        leading_space: Whether a sentence begins with a space.
        words: What the log-probability of a word is: `corrected`, or the sum over its `pieces`.
        white_space: Between words, `single` spaces, or `kept` as it is.

    Raises:
        ModelError: If there is no such start symbol, the model is not causal, or words cannot be corrected.
    """

    def __init__(
        self, opened: Pretrained, bos: str, leading_space: bool, words: str, white_space: str = "single"
    ) -> None:
        if white_space == "kept" and words == "corrected":
            raise ModelError(
                "white_space=kept: what is beside a word that begins behind it cannot be corrected.\n"
                "  Give words=pieces as well."
            )
        self.opened, self.model, self.tokenizer = opened, opened.model, opened.tokenizer
        self.model.config.use_cache = False
        self.start = find_start(self.tokenizer, bos)
        self.warnings: list[str] = []
        self.batch_tokens = opened.batch_tokens
        self._pieces = Pieces(self.tokenizer, leading_space, white_space)
        self._marks = find_marks(self.tokenizer)
        corrects = words == "corrected" and self._marks.kind == "beginnings"
        self._parts = self._marks.parts if corrects else None
        self._note = NOTE if words == "corrected" and self._marks.kind == "none" else None
        self._products = ModelProducts(self.model)
        self.method, warning = choose_method(self, ALL_METHODS, LENGTH, self.batch_tokens)
        if warning:
            self.warnings.append(warning)
        self._methods = {LENGTH: self.method}
        token = None if self.start is None else self.tokenizer.convert_ids_to_tokens(self.start)
        protocol: dict[str, OptionValue] = {
            "bos": token,
            "start": start_kind(self.tokenizer, self.start),
            "first_token": "unscored" if token is None else "scored",
            "leading_space": leading_space,
            "words": "corrected" if corrects else "pieces",
            "dtype": opened.dtype,
        }
        if white_space != "single":  # signatures of all other runs stay what they were
            protocol["white_space"] = white_space
        self.card = ModelCard(
            name=opened.name,
            kind="hf",
            fingerprint=opened.fingerprint,
            protocol=protocol | opened.options,
            details=opened.details | {"method": self.method.name, "word_marks": self._marks.kind},
        )

    def __repr__(self) -> str:
        return self.card.show(self)

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces.

        Raises:
            ModelError: If a sentence is longer than the model reads, or has a piece that it lacks.
        """
        encoded = self._pieces.encode(sentences)
        self.opened.check_fits(encoded, n_special=0 if self.start is None else 1)
        return encoded

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Tell which sentences are longer than the model reads; see `BoundedModel`."""
        return self._pieces.too_long(sentences, self.opened.longest, 0 if self.start is None else 1)

    def token_texts(self, tokens: np.ndarray) -> list[str]:
        """Spell tokens, each by itself."""
        return self._pieces.texts(tokens)

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token by the tokens before it, (tokens,) float32, in nats.

        Without a start symbol a first token follows nothing, and gets 0.
        """
        method = self._method_for(int(encoded.token_counts.max()), batch_tokens)
        return self.score_by(method, encoded.tokens, encoded.token_counts, batch_tokens)

    def corrected_logprobs(
        self, encoded: Encoded, batch_tokens: int
    ) -> tuple[np.ndarray, np.ndarray | None, int]:
        """Score every token, and say what is added to the sum over the tokens of each word, (words,)."""
        if self._parts is None:
            if self._note and self._note not in self.warnings:
                self.warnings.append(self._note)
            logprobs, n_contexts = self.token_logprobs(encoded, batch_tokens)
            return logprobs, None, n_contexts
        method = self._method_for(int(encoded.token_counts.max()), batch_tokens)
        ended = read_to_the_end(encoded)
        found, n_contexts = self._score(method, ended, batch_tokens, self._parts)
        return found[ended.own, 0], corrections(encoded, ended, self._marks, found), n_contexts

    def _method_for(self, longest: int, batch_tokens: int) -> Method:
        """Find the way to score sentences of up to so many tokens; each length is checked once."""
        longest = max(longest, LENGTH)
        if longest in self._methods:
            return self._methods[longest]
        methods, limit = ALL_METHODS, attention_limit(self.model.config)
        if self.method.packed and longest >= limit:
            methods = tuple(method for method in ALL_METHODS if not method.packed)
            warning = f"sentences longer than the attention window of {limit} tokens were read one a row"
            if warning not in self.warnings:
                self.warnings.append(warning)
        method, why = choose_method(self, methods, longest, batch_tokens)
        if why and method not in self._methods.values():
            self.warnings.append(f"where sentences have up to {longest} tokens: {why}")
        self._methods[longest] = method
        return method

    def score_by(
        self, method: Method, tokens: np.ndarray, counts: np.ndarray, batch_tokens: int
    ) -> tuple[np.ndarray, int]:
        """Score the tokens of sentences in one of the ways that a model may allow.

        Args:
            method: The way.
            tokens: Of all sentences one after the other, (tokens,) int64.
            counts: Tokens of each sentence.
            batch_tokens: Tokens to read at once.

        Returns:
            As `token_logprobs`.
        """
        as_they_are = Ended(
            tokens, counts, np.zeros(len(counts), dtype=np.bool_), np.ones(len(tokens), dtype=np.bool_)
        )
        found, n_contexts = self._score(method, as_they_are, batch_tokens, NO_PARTS)
        return found[:, 0], n_contexts

    def _score(
        self, method: Method, ended: Ended, batch_tokens: int, parts: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Score tokens, and parts of the vocabulary in the place of each, (tokens and ends, 1 + parts)."""
        tokens, counts = ended.tokens, ended.counts
        kept = np.ones(len(tokens), dtype=np.bool_)
        if not method.shared:
            # A plain pass reads the last token too: behind it stands one more, which is not read.
            behind = np.cumsum(counts)[~ended.has_end]
            tokens = np.insert(tokens, behind, tokens[behind - 1])
            kept = np.insert(kept, behind, values=False)
            counts = counts + ~ended.has_end
        trie = build_trie(tokens, counts, method.shared)
        n_contexts = trie.n_contexts - (self.start is None)  # the empty one is read as the start symbol
        return self._nodes_by(method, trie, batch_tokens, parts)[trie.paths][kept], n_contexts

    def logprobs_by(self, method: Method, trie: Trie, batch_tokens: int) -> np.ndarray:
        """Score a trie in one of the ways that a model may allow, (nodes,) float32."""
        return self._nodes_by(method, trie, batch_tokens, NO_PARTS)[:, 0]

    @torch.inference_mode()
    def _nodes_by(self, method: Method, trie: Trie, batch_tokens: int, parts: np.ndarray) -> np.ndarray:
        """Score nodes of a trie, and parts of the vocabulary in their place, (nodes, 1 + parts) float32."""
        contexts = contexts_of(trie, self.start)
        n_nodes = sum(len(level.tokens) for level in trie.levels)
        result = np.zeros((n_nodes, 1 + len(parts)), dtype=np.float32)
        if not method.tiled_head:
            batch_tokens = min(batch_tokens, max(1, OWN_LOGITS // self.opened.n_tokens))
        batches: Iterator[Batch]
        if method.packed:
            batches = packed_batches(contexts, min(ROW_CONTEXTS, batch_tokens), batch_tokens)
        else:
            batches = path_batches(contexts, batch_tokens)
        score = self._tiled_head if method.tiled_head else self._own_head
        belongs = torch.from_numpy(parts)
        for batch in batches:
            row, target = contexts.targets_of(batch.contexts[batch.asked])
            asked, rows, targets = (
                torch.from_numpy(array).to(self.model.device)
                for array in (batch.asked, row, contexts.targets[target])
            )
            inputs = self._inputs(contexts, batch, method.packed)
            with self._products.rerouted():
                result[contexts.nodes[target]] = score(inputs, asked, rows, targets, belongs).cpu().numpy()
        return result

    def _inputs(self, contexts: Contexts, batch: Batch, packed: bool) -> dict[str, Tensor]:
        """Lay out a batch; plain rows need neither mask nor positions."""
        device = self.model.device
        numbers = np.maximum(batch.contexts, 0)
        inputs = {"input_ids": torch.from_numpy(contexts.tokens[numbers]).to(device)}
        if packed:
            may = torch.from_numpy(attends(contexts, batch)).to(device)[:, None]
            # Added to the scores of attention: nothing where it may look, the least number elsewhere.
            mask = torch.zeros(may.shape, dtype=self.model.dtype, device=device)
            inputs["attention_mask"] = mask.masked_fill_(~may, torch.finfo(mask.dtype).min)
            inputs["position_ids"] = torch.from_numpy(contexts.depths[numbers]).to(device)
        return inputs

    def _tiled_head(
        self, inputs: dict[str, Tensor], asked: Tensor, rows: Tensor, targets: Tensor, parts: Tensor
    ) -> Tensor:
        """Log-probabilities through the output matrix, in float32, a tile of the vocabulary at a time."""
        output = cast("nn.Linear", self.model.get_output_embeddings())
        hidden = self.model.base_model(**inputs)[0]
        hidden = hidden[asked.to(hidden.device)].to(output.weight.device, torch.float32)
        rows, targets = rows.to(hidden.device), targets.to(hidden.device)
        logits = chosen_logits(hidden[rows], output.weight, output.bias, targets)
        matrix = self._products.output or output.weight
        parts = of_length(parts.to(hidden.device), len(matrix))
        return log_shares(logits, rows, *log_sums(hidden, matrix, output.bias, parts))

    def _own_head(
        self, inputs: dict[str, Tensor], asked: Tensor, rows: Tensor, targets: Tensor, parts: Tensor
    ) -> Tensor:
        """Log-probabilities from the logits that the model's own forward pass gives."""
        logits = self.model(**inputs).logits
        logits = logits[asked.to(logits.device)].float()
        rows, targets = rows.to(logits.device), targets.to(logits.device)
        chosen, parts = logits[rows, targets], of_length(parts.to(logits.device), logits.shape[1])
        return log_shares(chosen, rows, *log_sums_exp_(logits, parts))


def attention_limit(config: PretrainedConfig) -> float:
    """Tokens within which attention is full: the smallest window or chunk of a configuration."""
    values = config.get_text_config().to_dict()
    windows = [
        value
        for name, value in values.items()
        if ("window" in name or "chunk" in name)
        and "layers" not in name
        and isinstance(value, int)
        and not isinstance(value, bool)
        and value > 0
    ]
    return min(windows, default=float("inf"))


def open_causal(rest: str, arguments: Mapping[str, str], device: str) -> CausalModel:
    """Open `--model hf:PATH_OR_ID`.

    Args:
        rest: Folder, or id on the hub.
        arguments: `bos`, `leading_space`, `words`, `white_space`; all others go to `from_pretrained`.
        device: Where to compute.

    Raises:
        ModelError: If the model cannot be used.
    """
    refuse_precision("hf", arguments)
    remaining = dict(arguments)
    bos = remaining.pop("bos", "auto")
    leading_space = take_option(remaining, "leading_space", ("false", "true")) == "true"
    words = take_option(remaining, "words", ("corrected", "pieces"))
    white_space = take_option(remaining, "white_space", WHITE_SPACE)
    opened = open_pretrained("hf", "AutoModelForCausalLM", rest, remaining, device)
    with plain_errors("hf", rest):
        model = CausalModel(opened, bos, leading_space, words, white_space)
    model.warnings += no_gain(arguments, opened.model.device)
    return model
