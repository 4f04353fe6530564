"""Causal language models of transformers: `hf:PATH_OR_ID`.

Words are split into pieces by the model's tokenizer. The log-probability of a sentence is the sum over its
pieces (chain rule); that of a word needs more (`tseval.adapters.words`). Every distinct beginning is
read once: many of them share a row in which each attends to its own beginnings only, at the positions it has
in its sentence. Not every architecture allows that, so each model is held to its own plain forward pass, when
it is opened and for sentences of the lengths that it is given (`tseval.adapters.methods`).
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from tseval.adapters.methods import ALL_METHODS, LENGTH, NO_PARTS, ROW_CONTEXTS, Method, choose_method
from tseval.adapters.pretrained import (
    OWN_LOGITS,
    open_pretrained,
    plain_errors,
    take_option,
)
from tseval.adapters.tokenizer import find_end, find_starts, form_read, spell_starts, start_kind, why_starts
from tseval.adapters.words import (
    NOTE,
    WHITE_SPACE,
    Ended,
    Pieces,
    corrections,
    find_marks,
    read_to_the_end,
)
from tseval.errors import ModelError
from tseval.scoring.numerics import (
    NOTHING_GAINED,
    NarrowMatrix,
    Rerouted,
    chosen_logits,
    fast_products,
    has_fast_products,
    linear,
    log_shares,
    log_sums,
    log_sums_exp_,
    of_length,
    on_device,
)
from tseval.scoring.protocol import ModelCard
from tseval.scoring.trie import attends, build_trie, contexts_of, packed_batches, path_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from torch import Tensor
    from transformers import PretrainedConfig, PreTrainedModel

    from tseval.adapters.pretrained import OptionValue, Pretrained
    from tseval.scoring.protocol import Encoded
    from tseval.scoring.trie import Batch, Contexts, Trie
    from tseval.writing import Writing

SCHEMES = {"hf": "open_causal"}
ARGUMENTS = ("bos", "eos", "leading_space", "words", "white_space")  # all others are transformers' own


class ModelProducts:
    """How the products of a model are made: by the quicker library, and in its own type but for the logits.

    A model in bfloat16 would round its logits to eight binary digits, and probable words would tie. On a CPU
    its output matrix is kept once more, in the order in which the processor multiplies.

    Args:
        model: On its device.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._device = model.device
        output = model.get_output_embeddings()
        narrow = {"cpu": (torch.bfloat16,), "cuda": (torch.bfloat16, torch.float16)}
        is_plain = type(output) is nn.Linear and output.weight.dtype in narrow.get(
            output.weight.device.type, ()
        )
        self._output = output.weight if is_plain else None
        self._matrix: NarrowMatrix | None = None

    @property
    def output(self) -> NarrowMatrix | None:
        """The output matrix, if its numbers are narrow and a product of them gives float32 here."""
        if self._matrix is None and self._output is not None:
            self._matrix = NarrowMatrix(self._output)
        return self._matrix

    def rerouted(self, whole: bool) -> AbstractContextManager[object]:
        """Let all products inside be made so, whatever modules the model consists of.

        Args:
            whole: Whether the output layer is one of them. Of all others a GPU makes what it would anyway.
        """
        if self._output is None or (self._device.type == "cuda" and not whole):
            return fast_products(self._device)
        return Rerouted(self._linear)

    def _linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if self._output is None or weight.data_ptr() != self._output.data_ptr() or self.output is None:
            return linear(inputs, weight, bias)
        logits = self.output.product(inputs.flatten(0, -2), None if bias is None else bias.float())
        return logits.view(*inputs.shape[:-1], len(self.output))


def refuse_precision(scheme: str, arguments: Mapping[str, str]) -> None:
    """Say how a model of transformers is asked for another precision."""
    if "precision" in arguments:
        raise ModelError(
            f"{scheme}: a model of transformers computes in the type of its weights: leave --precision out, "
            f"and give --model-args dtype={arguments['precision']}"
        )


def no_gain(arguments: Mapping[str, str], device: torch.device) -> list[str]:
    """Warn where bfloat16 was asked for, on a processor that multiplies it no faster."""
    asked = arguments.get("dtype", "").removeprefix("torch.") == "bfloat16"
    return [NOTHING_GAINED] if asked and device.type == "cpu" and not has_fast_products(device) else []


class CausalModel:
    """A causal language model, ready to score tries of pieces.

    Attributes:
        encodes_aside: Whether sentences may be split into pieces in one thread while another scores.

    Args:
        opened: What was read.
        bos: `auto`, `tokenizer`, `true`, `false`, `none`, or tokens of the vocabulary.
        leading_space: Whether a sentence begins with a space.
        words: What the log-probability of a word is: `corrected`, or the sum over its `pieces`.
        white_space: Between words, `single` spaces; `kept` as it is there; or `all` of a text as it is.
        eos: `true` if the end of a sentence is scored, with its last token; else `false`.
    """

    encodes_aside = True

    def __init__(
        self,
        opened: Pretrained,
        bos: str,
        leading_space: bool,
        words: str,
        white_space: str = "single",
        eos: str = "false",
    ) -> None:
        if white_space != "single" and words == "corrected":
            raise ModelError(
                f"white_space={white_space}: what is beside a word that begins behind it cannot be "
                "corrected.\n"
                "  Give words=pieces as well."
            )
        self.opened, self.model, self.tokenizer = opened, opened.model, opened.tokenizer
        self.reads = form_read(opened.tokenizer)
        self.model.config.use_cache = False
        self.starts, self.end = find_starts(self.tokenizer, bos), find_end(self.tokenizer, eos)
        opened.check_known("bos", self.starts)
        self._n_special = len(self.starts) + (self.end is not None)
        said = why_starts(self.tokenizer, self.starts) if bos == "auto" else None
        self.warnings: list[str] = [said] if said else []
        self.batch_tokens = opened.batch_tokens
        self._pieces = Pieces(self.tokenizer, leading_space, white_space)
        self._marks = find_marks(self.tokenizer)
        corrects = words == "corrected" and self._marks.kind == "beginnings"
        self._parts = self._marks.parts if corrects else None
        self._note = NOTE if words == "corrected" and self._marks.kind == "none" else None
        self._products = ModelProducts(self.model)
        self.method, warning, self.noise = choose_method(self, ALL_METHODS, LENGTH, self.batch_tokens)
        if warning:
            self.warnings.append(warning)
        self._methods = {LENGTH: self.method}
        token = spell_starts(self.tokenizer, self.starts)
        protocol: dict[str, OptionValue] = {
            "bos": token,
            "start": start_kind(self.tokenizer, self.starts),
            "first_token": "unscored" if token is None else "scored",
            "leading_space": leading_space,
            "words": "corrected" if corrects else "pieces",
            "dtype": opened.dtype,
        }
        # Signatures of all other runs stay what they were.
        if white_space != "single":
            protocol["white_space"] = white_space
        if self.end is not None:
            protocol["eos"] = True
        self.card = ModelCard(
            name=opened.name,
            kind="hf",
            fingerprint=opened.fingerprint,
            protocol=protocol | opened.options,
            details=opened.details | {"method": self.method.name, "word_marks": self._marks.kind},
        )

    def __repr__(self) -> str:
        return self.card.show(self)

    def writing(self, rules: Writing) -> CausalModel:
        """Give the same model that reads sentences as natural text; see `WritingModel`."""
        written = copy(self)
        written._pieces = self._pieces.writing(rules)
        if self._parts is not None:
            written._marks = find_marks(self.tokenizer, rules)
            written._parts = written._marks.parts
        written.card = self.card.reading("natural")
        return written

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces."""
        encoded = self._pieces.encode(sentences)
        self.opened.check_fits(encoded, self._n_special)
        return encoded

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Tell which sentences are longer than the model reads; see `BoundedModel`."""
        return self._pieces.too_long(sentences, self.opened.longest, self._n_special)

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
        # An end that is scored is itself what comes behind the last word.
        ended = (
            read_to_the_end(encoded)
            if self.end is None
            else _as_they_are(encoded.tokens, encoded.token_counts)
        )
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
        method, why, _ = choose_method(self, methods, longest, batch_tokens)
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
        found, n_contexts = self._score(method, _as_they_are(tokens, counts), batch_tokens, NO_PARTS)
        return found[:, 0], n_contexts

    def _score(
        self, method: Method, ended: Ended, batch_tokens: int, parts: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Score tokens, and parts of the vocabulary in the place of each, (tokens and ends, 1 + parts)."""
        tokens, counts = ended.tokens, ended.counts
        own = np.ones(len(tokens), dtype=np.bool_)
        for token, behind in self._around(method):
            stops = np.cumsum(counts)
            at = (stops if behind else stops - counts)[~ended.has_end if behind else slice(None)]
            tokens = np.insert(tokens, at, tokens[at - 1] if token is None else token)
            own = np.insert(own, at, values=False)
            counts = counts + (~ended.has_end if behind else 1)
        trie = build_trie(tokens, counts, method.shared)
        n_contexts = trie.n_contexts - (not self.starts)  # the empty one is read as the start symbol
        found = self._nodes_by(method, trie, batch_tokens, parts)[trie.paths]
        if self.end is not None:
            last = np.cumsum(counts) - 1 - (not method.shared)
            found[last - 1, 0] += found[last, 0]
        return found[own], n_contexts

    def _around(self, method: Method) -> Iterator[tuple[int | None, bool]]:
        """List the tokens around a sentence, the innermost first, and whether they stand behind it."""
        if self.end is not None:
            yield self.end, True
        if (
            not method.shared
        ):  # a plain pass reads the last token too: behind it stands any, which is not read
            yield None, True
        for token in reversed(self.starts[1:]):
            yield token, False

    @torch.inference_mode()
    def _nodes_by(self, method: Method, trie: Trie, batch_tokens: int, parts: np.ndarray) -> np.ndarray:
        """Score nodes of a trie, and parts of the vocabulary in their place, (nodes, 1 + parts) float32."""
        contexts = contexts_of(trie, self.starts[0] if self.starts else None)
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
        found: list[Tensor] = []
        nodes: list[np.ndarray] = []
        for batch in batches:
            row, target = contexts.targets_of(batch.contexts[batch.asked])
            asked, rows, targets = (
                on_device(array, self.model.device)
                for array in (np.flatnonzero(batch.asked), row, contexts.targets[target])
            )
            inputs = self._inputs(contexts, batch, method.packed)
            with self._products.rerouted(whole=not method.tiled_head):
                found.append(score(inputs, asked, rows, targets, belongs))
            nodes.append(contexts.nodes[target])
        if found:  # fetched once: a GPU would have nothing to do while the next batch is laid out
            result[np.concatenate(nodes)] = torch.cat(found).cpu().numpy()
        return result

    def _inputs(self, contexts: Contexts, batch: Batch, packed: bool) -> dict[str, Tensor]:
        """Lay out a batch; plain rows need no positions."""
        device = self.model.device
        numbers = np.maximum(batch.contexts, 0)
        inputs = self.opened.inputs(on_device(contexts.tokens[numbers], device))
        if packed:
            may = attends(contexts, batch, device)[:, None]
            # Added to the scores of attention: nothing where it may look, the least number elsewhere.
            mask = torch.zeros(may.shape, dtype=self.model.dtype, device=device)
            inputs["attention_mask"] = mask.masked_fill_(~may, torch.finfo(mask.dtype).min)
            inputs["position_ids"] = on_device(contexts.depths[numbers], device)
        return inputs

    def _tiled_head(
        self, inputs: dict[str, Tensor], asked: Tensor, rows: Tensor, targets: Tensor, parts: Tensor
    ) -> Tensor:
        """Log-probabilities through the output matrix of what the layers below give."""
        hidden = self.model.base_model(**inputs)[0].flatten(0, 1)
        return self.head(hidden[asked.to(hidden.device)], rows, targets, parts)

    def head(self, hidden: Tensor, rows: Tensor, targets: Tensor, parts: Tensor) -> Tensor:
        """Log-probabilities in float32 from last hidden states, a tile of the vocabulary at a time."""
        output = cast("nn.Linear", self.model.get_output_embeddings())
        hidden = hidden.to(output.weight.device, torch.float32)
        rows, targets = rows.to(hidden.device), targets.to(hidden.device)
        logits = chosen_logits(hidden[rows], output.weight, output.bias, targets)
        matrix = self._products.output or output.weight
        parts = of_length(parts.to(hidden.device), len(matrix))
        return log_shares(logits, rows, *log_sums(hidden, matrix, output.bias, parts))

    def _own_head(
        self, inputs: dict[str, Tensor], asked: Tensor, rows: Tensor, targets: Tensor, parts: Tensor
    ) -> Tensor:
        """Log-probabilities from the logits that the model's own forward pass gives."""
        logits = self.opened.logits(inputs).flatten(0, 1)
        logits = logits[asked.to(logits.device)].float()
        rows, targets = rows.to(logits.device), targets.to(logits.device)
        chosen, parts = logits[rows, targets], of_length(parts.to(logits.device), logits.shape[1])
        return log_shares(chosen, rows, *log_sums_exp_(logits, parts))


def _as_they_are(tokens: np.ndarray, counts: np.ndarray) -> Ended:
    """Put nothing behind sentences."""
    return Ended(tokens, counts, np.zeros(len(counts), dtype=np.bool_), np.ones(len(tokens), dtype=np.bool_))


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
        arguments: `bos`, `eos`, `leading_space`, `words`, `white_space`; all others go to `from_pretrained`.
        device: Where to compute.
    """
    refuse_precision("hf", arguments)
    remaining = dict(arguments)
    bos = remaining.pop("bos", "auto")
    eos = take_option(remaining, "eos", ("false", "true"))
    leading_space = take_option(remaining, "leading_space", ("false", "true")) == "true"
    words = take_option(remaining, "words", ("corrected", "pieces"))
    white_space = take_option(remaining, "white_space", WHITE_SPACE)
    opened = open_pretrained("hf", "AutoModelForCausalLM", rest, remaining, device, ARGUMENTS)
    with plain_errors("hf", rest):
        model = CausalModel(opened, bos, leading_space, words, white_space, eos)
    model.warnings += [*opened.notes, *no_gain(arguments, opened.model.device)]
    return model
