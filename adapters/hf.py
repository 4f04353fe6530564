"""Causal language models of transformers: `hf:PATH_OR_ID`.

The model's tokenizer splits words into pieces. The log-probability of a sentence is the sum over its pieces
(chain rule); that of a word needs a correction (`tseval.pretrained.word_probabilities`). Common beginnings
of sentences are computed once, as far as the model allows (`tseval.pretrained.scoring_methods`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from tseval.errors import ModelError
from tseval.pretrained.loading_errors import plain_errors
from tseval.pretrained.logits import OWN_LOGITS
from tseval.pretrained.opening import open_pretrained
from tseval.pretrained.options import take_option
from tseval.pretrained.piece_model import OfPieces
from tseval.pretrained.pieces import WHITE_SPACE
from tseval.pretrained.products import ModelProducts
from tseval.pretrained.read_text import ReadText
from tseval.pretrained.scoring_methods import (
    ALL_METHODS,
    LENGTH,
    METHODS_BEHIND,
    NO_PARTS,
    ROW_CONTEXTS,
    Method,
    choose_method,
)
from tseval.pretrained.tokenizer import find_end, find_starts, spell_starts, start_kind, why_starts
from tseval.pretrained.windows import card_of_windows, check_window, rows_before, score_in_windows
from tseval.pretrained.word_probabilities import NOTE, Ended, corrections, find_marks, read_to_the_end
from tseval.scoring.devices import on_device
from tseval.scoring.inflected import in_tiles, join_ranges
from tseval.scoring.softmax import chosen_logits, log_shares, log_sums, log_sums_exp_, of_length
from tseval.scoring.trie import (
    attends,
    build_trie,
    contexts_of,
    packed_batches,
    path_batches,
    trie_of_contexts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from transformers import PretrainedConfig

    from tseval.pretrained.opened import Pretrained
    from tseval.pretrained.options import OptionValue
    from tseval.scoring.protocol import Encoded
    from tseval.scoring.trie import Batch, Contexts, Trie
    from tseval.writing import Writing

SCHEMES = {"hf": "open_causal"}
ARGUMENTS = ("bos", "eos", "leading_space", "words", "white_space")  # all other arguments go to transformers


class CausalModel(OfPieces):
    """A causal language model, ready to score tries of pieces.

    Args:
        opened: The model and tokenizer.
        bos: `auto`, `tokenizer`, `true`, `false`, `none`, or tokens of the vocabulary.
        leading_space: Whether a sentence begins with a space.
        words: The log-probability of a word: `corrected`, or the plain sum over its `pieces`.
        white_space: `single`: one space between words; `kept`: as in the text; `all`: the text unchanged.
        eos: `true`: the end of a sentence is scored, together with its last token; otherwise `false`.
    """

    encodes_aside = True  # one thread may split sentences into pieces while another scores
    windows: tuple[int, int] | None = None  # (tokens per window, step between windows), or None
    _text: ReadText | None = None  # the context before sentences, without its last token; computed once

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
                f"white_space={white_space}: tseval cannot correct word probabilities if tokens contain "
                "the space after a word.\n  Add words=pieces: --model-args "
                f"white_space={white_space},words=pieces"
            )
        super().__init__(opened, leading_space, white_space)
        self.tokenizer = opened.tokenizer
        self.model.config.use_cache = False
        self.starts, self.end = find_starts(self.tokenizer, bos), find_end(self.tokenizer, eos)
        opened.check_known("bos", self.starts)
        self.n_special = len(self.starts) + (self.end is not None)
        if bos == "auto" and (reason := why_starts(self.tokenizer, self.starts)):
            self.warnings.append(reason)
        self._marks = find_marks(self.tokenizer)
        corrects = words == "corrected" and self._marks.kind == "beginnings"
        self._parts = self._marks.parts if corrects else None
        self._note = NOTE if words == "corrected" and self._marks.kind == "none" else None
        self._products = ModelProducts(self.model)
        self.method, warning, self.noise = choose_method(self, ALL_METHODS, LENGTH, self.batch_tokens)
        if warning:
            self.warnings.append(warning)
        self._methods = {LENGTH: self.method}
        # Methods after contexts, by the tokens of the longest sentence and the bit length of the context's
        # length.
        self._methods_behind: dict[tuple[int, int], Method] = {}
        token = spell_starts(self.tokenizer, self.starts)
        protocol: dict[str, OptionValue] = {
            "bos": token,
            "start": start_kind(self.tokenizer, self.starts),
            "first_token": "unscored" if token is None else "scored",
            "leading_space": leading_space,
            "words": "corrected" if corrects else "pieces",
            "dtype": opened.dtype,
            **({} if self.end is None else {"eos": True}),  # as for `white_space`, absent if default
        }
        card_details = {"method": self.method.name, "word_marks": self._marks.kind}
        self.card = opened.card("hf", protocol, white_space, **card_details)

    def writing(self, rules: Writing) -> Self:
        """Return the same model that reads sentences as natural text; see `WritingModel`."""
        model = super().writing(rules)
        if self._parts is not None:
            model._marks = find_marks(self.tokenizer, rules)
            model._parts = model._marks.parts
        return model

    def in_windows(self, window: int, stride: int) -> Self:
        """Return the same model, which reads long texts in windows (`tseval.pretrained.windows`)."""
        check_window(self.opened, window, stride)
        model = copy(self)
        model.windows, model.card = (window, stride), card_of_windows(self.card, window, stride)
        return model

    def after(self, sentences: Sequence[str], rules: Writing | None) -> Self:
        """Return the same model, which reads sentences as continuations of a text; see `ContextModel`."""
        tokens = self._pieces.of_text(sentences, rules)
        model = copy(self)
        model.starts = (*self.starts, *tokens)
        model.n_special = self.n_special + len(tokens)
        if self.opened.longest is not None and model.n_special >= self.opened.longest:
            raise ModelError(
                f"the context has {len(tokens):,} tokens, but {self.card.name} reads at most "
                f"{self.opened.longest:,} tokens, the sentence included.\n"
                "  Write a smaller number of words, such as --context-words 100."
            )
        model._pieces = self._pieces.inside_text()
        model._methods = {}
        model._text = ReadText(self.opened, model.starts[:-1]) if len(model.starts) > 1 else None
        if model.starts:  # with a start, every first token has a context
            model.card = replace(self.card, protocol={**self.card.protocol, "first_token": "scored"})
        return model

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces; with windows, they may have any length."""
        if self.windows is None:
            return super().encode(sentences)
        encoded = self._pieces.encode(sentences)
        self.opened.check_tokens(encoded)
        return encoded

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences are too long for the model; with windows, none is."""
        if self.windows is None:
            return super().too_long(sentences)
        return np.zeros(len(sentences), dtype=np.bool_)

    def next_logprobs(self, tokens: np.ndarray) -> Iterator[Tensor]:
        """Yield the log-probabilities of all tokens at each position; see `DistributionModel`."""
        ids = [*self.starts, *tokens.tolist()]
        for first, rows in rows_before(self.opened, ids, self.windows):
            yield rows[max(0, len(self.starts) - first) :]

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token given the tokens before it, (tokens,) float32, in nats.

        Without a start symbol, the first token has no context, and its score is 0.
        """
        method = self._method_for(int(encoded.token_counts.max()), batch_tokens)
        return self.score_by(method, encoded.tokens, encoded.token_counts, batch_tokens)

    def corrected_logprobs(
        self, encoded: Encoded, batch_tokens: int
    ) -> tuple[np.ndarray, np.ndarray | None, int]:
        """Score every token; also return the correction of each word's sum over its tokens, (words,)."""
        if self._parts is None:
            if self._note and self._note not in self.warnings:
                self.warnings.append(self._note)
            logprobs, n_contexts = self.token_logprobs(encoded, batch_tokens)
            return logprobs, None, n_contexts
        method = self._method_for(int(encoded.token_counts.max()), batch_tokens)
        # If the end is scored, it already is the token after the last word.
        ended = read_to_the_end(encoded)
        if self.end is not None:
            ended = _as_they_are(encoded.tokens, encoded.token_counts)
        logprobs, n_contexts = self._score(method, ended, batch_tokens, self._parts)
        return (
            logprobs[ended.own, 0],
            corrections(encoded, ended, self._marks, logprobs),
            n_contexts,
        )

    def _method_for(self, longest: int, batch_tokens: int) -> Method:
        """Choose the method for sentences of up to `longest` tokens; each length is checked once."""
        if self.windows is not None:
            return self.method
        longest = max(longest, LENGTH)
        checked = None
        if self._text is not None:  # rounded up, so that fewer lengths are checked
            longest = -(-longest // LENGTH) * LENGTH
            checked = longest, self._text.n_tokens.bit_length()
            if checked in self._methods_behind:
                return self._methods_behind[checked]
        if longest in self._methods:
            return self._methods[longest]
        methods = ALL_METHODS if self._text is None else (*METHODS_BEHIND, *ALL_METHODS)
        limit = attention_limit(self.model.config)
        if self.method.packed and longest + len(self.starts) - 1 >= limit:
            methods = tuple(method for method in ALL_METHODS if not method.packed)
            warning = f"sentences longer than the attention window ({limit} tokens) are scored one in a row"
            if warning not in self.warnings:
                self.warnings.append(warning)
        method, reason, _ = choose_method(self, methods, longest, batch_tokens)
        if reason and method not in self._methods.values():
            self.warnings.append(f"for sentences of up to {longest} tokens: {reason}")
        self._methods[longest] = method
        if checked is not None:
            self._methods_behind[checked] = method
        return method

    def score_by(
        self, method: Method, tokens: np.ndarray, counts: np.ndarray, batch_tokens: int
    ) -> tuple[np.ndarray, int]:
        """Score the tokens of sentences, (tokens,) int64, with the given method."""
        logprobs, n_contexts = self._score(method, _as_they_are(tokens, counts), batch_tokens, NO_PARTS)
        return logprobs[:, 0], n_contexts

    def _score(
        self, method: Method, ended: Ended, batch_tokens: int, parts: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Score tokens, and parts of the vocabulary at the same positions, (tokens and ends, 1 + parts)."""
        tokens, counts = ended.tokens, ended.counts
        if self.windows is not None:
            return self._score_windows(tokens, counts, parts)
        is_of_text = np.ones(len(tokens), dtype=np.bool_)
        for token, at_end in self._around(method):
            stops = np.cumsum(counts)
            places = (stops if at_end else stops - counts)[~ended.has_end if at_end else slice(None)]
            tokens = np.insert(tokens, places, tokens[places - 1] if token is None else token)
            is_of_text = np.insert(is_of_text, places, values=False)
            counts = counts + (~ended.has_end if at_end else 1)
        trie = build_trie(tokens, counts, method.shared)
        n_contexts = trie.n_contexts - (not self.starts)  # the empty context consists of the start symbol
        if method.behind and self._text is not None:
            n_contexts += self._text.n_new
        scores = self._nodes_by(method, trie, batch_tokens, parts)[trie.paths]
        if self.end is not None:
            last = np.cumsum(counts) - 1 - (not method.shared)
            scores[last - 1, 0] += scores[last, 0]
        return scores[is_of_text], n_contexts

    def _score_windows(
        self, tokens: np.ndarray, counts: np.ndarray, parts: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Score texts in windows, with the result of `_score`."""
        assert self.windows is not None
        end = [] if self.end is None else [self.end]
        texts = [[*self.starts, *text.tolist(), *end] for text in np.split(tokens, np.cumsum(counts)[:-1])]
        scores = score_in_windows(self.opened, texts, len(self.starts), parts, self.windows)
        if end:  # its score is added to that of the last token
            last = np.cumsum(counts + 1) - 1
            scores[last - 1, 0] += scores[last, 0]
            scores = np.delete(scores, last, axis=0)
        return scores, len(tokens)

    def _around(self, method: Method) -> Iterator[tuple[int | None, bool]]:
        """Yield the tokens to add around a sentence, innermost first, and whether each comes after it."""
        if self.end is not None:
            yield self.end, True
        if not method.shared:
            # A plain pass reads the last token too, so any token may follow; it is not read.
            yield None, True
        for token in () if method.behind else reversed(self.starts[1:]):
            yield token, False

    @property
    def word_beginnings(self) -> np.ndarray | None:
        """Tokens that begin a word or end the text, if words are corrected; otherwise None."""
        begins: np.ndarray | None = None if self._parts is None else np.flatnonzero(self._marks.begins)
        return begins

    @torch.inference_mode()
    def after_contexts(self, encoded: Encoded, batch_tokens: int) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Yield the log-probabilities of all tokens after contexts; see `ContinuationModel`."""
        if self.windows is not None:
            raise ModelError(
                "tseval cannot compare many verbs after a context that is read in windows.\n"
                "  Leave out window and stride from --model-args."
            )
        counts, tokens = encoded.token_counts, encoded.tokens
        method = self._method_for(int(counts.max()) + 1, batch_tokens)
        for token in reversed(self.starts[1:]):
            tokens = np.insert(tokens, np.cumsum(counts) - counts, token)
            counts = counts + 1
        trie, nodes = trie_of_contexts(tokens, counts, shared=method.shared)
        order = np.argsort(nodes, kind="stable")
        sorted_nodes = nodes[order]
        contexts = contexts_of(trie, self.starts[0] if self.starts else None)
        for batch in self._batches(method, contexts, batch_tokens):
            row, target = contexts.targets_of(batch.contexts[batch.asked])
            first, stop = (
                np.searchsorted(sorted_nodes, contexts.nodes[target], s) for s in ("left", "right")
            )
            row, places = np.repeat(row, stop - first), join_ranges(first, stop)
            if not len(places):
                continue
            positions = on_device(np.flatnonzero(batch.asked)[row], self.model.device)
            inputs = self._inputs(contexts, batch, method.packed)
            with self._products.rerouted(whole=not method.tiled_head):
                yield from self._whole_vocabulary(method, inputs, positions, order[places])

    def _whole_vocabulary(
        self, method: Method, inputs: dict[str, Tensor], positions: Tensor, contexts: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Yield the log-probabilities of all tokens at positions of a batch, with their contexts."""
        if not method.tiled_head:
            logits = self.opened.logits(inputs).flatten(0, 1)
            logits = logits[positions.to(logits.device)].float()
            yield contexts, logits.log_softmax(-1)
            return
        hidden = self.model.base_model(**inputs)[0].flatten(0, 1)
        output = cast("nn.Linear", self.model.get_output_embeddings())
        hidden = hidden[positions.to(hidden.device)].to(output.weight.device, torch.float32)
        bias = None if output.bias is None else output.bias.float()
        for tile in in_tiles(np.arange(len(contexts)), len(output.weight)):
            rows = hidden[on_device(tile, hidden.device)]
            yield contexts[tile], nn.functional.linear(rows, output.weight.float(), bias).log_softmax(-1)

    def _batches(
        self, method: Method, contexts: Contexts, batch_tokens: int, text: ReadText | None = None
    ) -> Iterator[Batch]:
        """Arrange contexts in rows for a method, each after a text if one is given."""
        if not method.tiled_head:
            batch_tokens = min(batch_tokens, max(1, OWN_LOGITS // self.opened.n_tokens))
        if text is not None:
            batch_tokens = text.batch_tokens(batch_tokens, min(ROW_CONTEXTS, batch_tokens))
        if method.packed:
            return packed_batches(contexts, min(ROW_CONTEXTS, batch_tokens), batch_tokens)
        return path_batches(contexts, batch_tokens)

    @torch.inference_mode()
    def _nodes_by(self, method: Method, trie: Trie, batch_tokens: int, parts: np.ndarray) -> np.ndarray:
        """Score the nodes of a trie, and parts of the vocabulary there, (nodes, 1 + parts) float32."""
        text = self._text if method.behind else None
        first = self.starts[0 if text is None else -1] if self.starts else None
        contexts = contexts_of(trie, first)
        n_nodes = sum(len(level.tokens) for level in trie.levels)
        result = np.zeros((n_nodes, 1 + len(parts)), dtype=np.float32)
        score = self._tiled_head if method.tiled_head else self._own_head
        belongs = torch.from_numpy(parts)
        scores: list[Tensor] = []
        nodes: list[np.ndarray] = []
        for batch in self._batches(method, contexts, batch_tokens, text):
            row, target = contexts.targets_of(batch.contexts[batch.asked])
            positions, rows, targets = (
                on_device(array, self.model.device)
                for array in (np.flatnonzero(batch.asked), row, contexts.targets[target])
            )
            inputs: dict[str, Any] = {**self._inputs(contexts, batch, method.packed)}
            if text is not None:
                inputs = text.before(inputs)
            with self._products.rerouted(whole=not method.tiled_head):
                scores.append(score(inputs, positions, rows, targets, belongs))
            nodes.append(contexts.nodes[target])
        if scores:  # copied once, so that a GPU does not wait between batches
            result[np.concatenate(nodes)] = torch.cat(scores).cpu().numpy()
        return result

    def _inputs(self, contexts: Contexts, batch: Batch, packed: bool) -> dict[str, Tensor]:
        """Return the model inputs of a batch; plain rows need no position ids."""
        device = self.model.device
        numbers = np.maximum(batch.contexts, 0)
        inputs = self.opened.inputs(on_device(contexts.tokens[numbers], device))
        if packed:
            is_visible = attends(contexts, batch, device)[:, None]
            # This mask is added to the attention scores: 0 where attention is allowed, the smallest number
            # elsewhere.
            mask = torch.zeros(is_visible.shape, dtype=self.model.dtype, device=device)
            inputs["attention_mask"] = mask.masked_fill_(~is_visible, torch.finfo(mask.dtype).min)
            inputs["position_ids"] = on_device(contexts.depths[numbers], device)
        return inputs

    def _tiled_head(
        self, inputs: dict[str, Any], positions: Tensor, rows: Tensor, targets: Tensor, parts: Tensor
    ) -> Tensor:
        """Compute log-probabilities from the last hidden states, with the tiled output layer."""
        hidden = self.model.base_model(**inputs)[0].flatten(0, 1)
        return self.head(hidden[positions.to(hidden.device)], rows, targets, parts)

    def head(self, hidden: Tensor, rows: Tensor, targets: Tensor, parts: Tensor) -> Tensor:
        """Compute log-probabilities in float32 from last hidden states, tile by tile of the vocabulary."""
        output = cast("nn.Linear", self.model.get_output_embeddings())
        hidden = hidden.to(output.weight.device, torch.float32)
        rows, targets = rows.to(hidden.device), targets.to(hidden.device)
        logits = chosen_logits(hidden[rows], output.weight, output.bias, targets)
        matrix = self._products.output or output.weight
        parts = of_length(parts.to(hidden.device), len(matrix))
        return log_shares(logits, rows, *log_sums(hidden, matrix, output.bias, parts))

    def _own_head(
        self, inputs: dict[str, Any], positions: Tensor, rows: Tensor, targets: Tensor, parts: Tensor
    ) -> Tensor:
        """Compute log-probabilities from the logits of the model's forward pass."""
        logits = self.opened.logits(inputs).flatten(0, 1)
        logits = logits[positions.to(logits.device)].float()
        rows, targets = rows.to(logits.device), targets.to(logits.device)
        target_logits, parts = logits[rows, targets], of_length(parts.to(logits.device), logits.shape[1])
        return log_shares(target_logits, rows, *log_sums_exp_(logits, parts))


def _as_they_are(tokens: np.ndarray, counts: np.ndarray) -> Ended:
    return Ended(tokens, counts, np.zeros(len(counts), dtype=np.bool_), np.ones(len(tokens), dtype=np.bool_))


def attention_limit(config: PretrainedConfig) -> float:
    """Return the number of tokens with full attention: the smallest window or chunk in a configuration."""
    values = config.get_text_config().to_dict()
    windows = [
        value
        for name, value in values.items()
        if ("window" in name or "chunk" in name)
        and not any(other in name for other in ("layers", "pattern"))  # these count layers, not tokens
        and isinstance(value, int)
        and not isinstance(value, bool)
        and value > 0
    ]
    return min(windows, default=float("inf"))


def open_causal(rest: str, arguments: Mapping[str, str], device: str) -> CausalModel:
    """Open `--model hf:PATH_OR_ID`; arguments that are not in `ARGUMENTS` go to `from_pretrained`."""
    remaining = dict(arguments)
    bos = remaining.pop("bos", "auto")
    eos = take_option(remaining, "eos", ("false", "true"))
    leading_space = take_option(remaining, "leading_space", ("false", "true")) == "true"
    words = take_option(remaining, "words", ("corrected", "pieces"))
    white_space = take_option(remaining, "white_space", WHITE_SPACE)
    opened = open_pretrained("hf", "AutoModelForCausalLM", rest, remaining, device, ARGUMENTS)
    with plain_errors("hf", rest):
        model = CausalModel(opened, bos, leading_space, words, white_space, eos)
    model.warnings += opened.notes
    return model
