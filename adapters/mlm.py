"""Masked language models of transformers: `mlm:PATH_OR_ID`, scored by pseudo-log-likelihood.

The pseudo-log-likelihood of a sentence is a sum over its tokens. Each term is the log-probability of the
token when it is masked (Salazar et al. 2020, "Masked Language Model Scoring", ACL, equation 2):

    PLL(W) = Σ_t log P(w_t | W without w_t)

`original` is this sum. `within_word_l2r`, the default, also masks the later tokens of the same word, because
they reveal the masked part of a rare word (Kauf & Ivanova 2023, "A Better Way to Do Masked Language Model
Scoring", ACL, section 3). Words are masked as the tokenizer splits them before it makes pieces: BERT's
splits `taking.` into two. If the tokenizer does not split text (Gemma's, Llama's), they are split at spaces.
Results are always for words between spaces, as for all models.

The sentences of a suite differ in few words, so many are equal when the differing word is masked. Each
distinct masked copy is computed once, and the output layer only at the mask.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import ModelError
from tseval.pretrained.loading_errors import plain_errors
from tseval.pretrained.logits import OWN_LOGITS, wide_logits
from tseval.pretrained.opened import ordinary_tokens
from tseval.pretrained.opening import open_pretrained
from tseval.pretrained.options import take_option
from tseval.pretrained.piece_model import OfPieces
from tseval.pretrained.pieces import BEFORE, WHITE_SPACE
from tseval.pretrained.products import ModelProducts
from tseval.pretrained.tokenizer import special_tokens
from tseval.scoring.inflected import AT_ONCE
from tseval.scoring.noise import within_noise
from tseval.scoring.protocol import Encoded
from tseval.scoring.softmax import log_sum_exp_

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor, nn
    from transformers.utils import ModelOutput

    from tseval.pretrained.opened import Pretrained
    from tseval.pretrained.options import OptionValue

SCHEMES = {"mlm": "open_masked"}
METRICS = ("within_word_l2r", "original")
ARGUMENTS = ("pll", "white_space")  # all other arguments go to transformers
# Tokens of masked copies in memory at once, before duplicates are removed.
COPIED_TOKENS = 2**24


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EncodedForMasks(Encoded):
    """Encoded sentences with the words that are masked together."""

    # (tokens,) int64: number of the word that each token is masked with; unique within a sentence
    masked_with: np.ndarray


@dataclass(frozen=True, slots=True)
class Copies:
    """Distinct masked copies of sentences of equal length."""

    tokens: np.ndarray  # (copies, length)
    positions: np.ndarray  # the masked token to predict, (copies,)
    copy_of: np.ndarray  # the copy in which each token is predicted, (sentences, length)


class MaskedModel(OfPieces):
    """A masked language model, ready to score sentences.

    Args:
        opened: The model and tokenizer.
        pll: `within_word_l2r` or `original`.
        white_space: `single`: one space between words; `kept`: as in the text; `all`: the text unchanged.
    """

    def __init__(self, opened: Pretrained, pll: str, white_space: str) -> None:
        super().__init__(opened, False, white_space)
        self.pll = pll
        if opened.tokenizer.mask_token_id is None:
            raise ModelError(
                f"mlm:{opened.name}: the tokenizer has no mask token.\n"
                "  If the model is a causal one, write --model hf:FOLDER"
            )
        self.mask: int = opened.tokenizer.mask_token_id
        self.before, self.after = special_tokens(opened.tokenizer, f"mlm:{opened.name}")
        self.n_special = len(self.before) + len(self.after)
        opened.check_known("", [*self.before, self.mask, *self.after])
        self._products = ModelProducts(self.model)
        self.head_at_masks = True
        if not self._agrees():
            self.head_at_masks = False
            self.warnings.append(
                "the output layer is computed for all tokens, which is slow: this model does not allow less"
            )
        protocol: dict[str, OptionValue] = {"pll": pll, "dtype": opened.dtype}
        if pll == "within_word_l2r":
            protocol["masked_word"] = "tokenizer" if self._pieces.parts_words else "spaces"
        if absent_marks := self._left_out():
            protocol["without"] = ",".join(absent_marks)
            self.warnings.append(
                f"the tokenizer has {' and '.join(absent_marks)} but does not add "
                f"{'them' if len(absent_marks) > 1 else 'it'} to a text, so sentences are scored without"
            )
        self.card = opened.card("mlm", protocol, white_space)

    def _left_out(self) -> list[str]:
        """List the start and end tokens that the tokenizer has but does not add to a text."""
        tokenizer, added = self.opened.tokenizer, {*self.before, *self.after}
        marks = [tokenizer.cls_token, tokenizer.sep_token]
        if not any(marks):
            marks = [tokenizer.bos_token, tokenizer.eos_token]
        return [
            mark
            for mark in dict.fromkeys(marks)
            if mark and tokenizer.convert_tokens_to_ids(mark) not in added
        ]

    def encode(self, sentences: pa.StringArray) -> EncodedForMasks:
        """Split sentences into pieces."""
        encoded = super().encode(sentences)
        words = self._pieces.words_of_tokenizer(sentences)
        if words is None:
            assert encoded.pieces is not None
            words = np.repeat(np.arange(len(encoded.pieces)), encoded.pieces)
        parts = {part.name: getattr(encoded, part.name) for part in fields(encoded)}
        return EncodedForMasks(**parts, masked_with=words)

    @torch.inference_mode()
    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token when it is masked, (tokens,) float32, in nats."""
        counts = encoded.token_counts
        starts = np.cumsum(counts) - counts
        assert isinstance(encoded, EncodedForMasks)
        result = np.empty(len(encoded.tokens), dtype=np.float32)
        n_copies = 0
        for length in np.unique(counts):
            first = starts[counts == length]
            for batch in np.array_split(first, -(-len(first) * length**2 // COPIED_TOKENS)):
                places = batch[:, None] + np.arange(length)
                copies = self._copies(encoded.tokens[places], encoded.masked_with[places])
                n_copies += len(copies.tokens)
                result[places] = self._score(copies, encoded.tokens[places], batch_tokens)
        return result, n_copies

    @torch.inference_mode()
    def after_contexts(self, encoded: Encoded, batch_tokens: int) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Yield the log-probabilities of all tokens at one mask after contexts; see `ContinuationModel`.

        A period follows the mask and ends the sentence. So only words of one token can be compared.
        """
        period = self._pieces.encode(pa.array([f"{BEFORE} ."], pa.string()))
        assert period.pieces is not None
        ending = period.tokens[int(period.pieces[0]) :]
        counts = encoded.token_counts
        starts = np.cumsum(counts) - counts
        for length in np.unique(counts):
            places = np.flatnonzero(counts == length)
            at_once = max(1, min(batch_tokens // (int(length) + 2), AT_ONCE // self.opened.n_tokens))
            for batch in (places[first : first + at_once] for first in range(0, len(places), at_once)):
                tokens = encoded.tokens[starts[batch][:, None] + np.arange(length)]
                ends = np.tile([self.mask, *ending], (len(batch), 1))
                logits = self._logits(np.hstack((tokens, ends)), np.full(len(batch), length))
                yield batch, logits.log_softmax(-1)

    def _copies(self, tokens: np.ndarray, words: np.ndarray) -> Copies:
        """Mask each token of equally long sentences in turn, with its word, and keep distinct copies."""
        length = tokens.shape[1]
        distinct: list[np.ndarray] = []
        copy_of = np.empty(tokens.shape, dtype=np.int64)
        n_copies = 0
        for position in range(length):  # copies with masks at different positions differ
            masked = np.zeros(tokens.shape, dtype=bool)
            masked[:, position] = True
            if self.pll == "within_word_l2r":
                masked[:, position + 1 :] = words[:, position + 1 :] == words[:, position, None]
            copies, inverse = np.unique(np.where(masked, self.mask, tokens), axis=0, return_inverse=True)
            copy_of[:, position] = inverse.reshape(-1) + n_copies
            distinct.append(copies)
            n_copies += len(copies)
        positions = np.repeat(np.arange(length), [len(copies) for copies in distinct])
        return Copies(np.concatenate(distinct), positions, copy_of)

    def _score(self, copies: Copies, tokens: np.ndarray, batch_tokens: int) -> np.ndarray:
        """Score masked tokens, (sentences, length); each copy is computed once."""
        result = np.empty(tokens.size, dtype=np.float32)
        order = np.argsort(copies.copy_of, axis=None, kind="stable")
        copy_of, target = copies.copy_of.ravel()[order], tokens.ravel()[order]
        if not self.head_at_masks:
            batch_tokens = min(batch_tokens, OWN_LOGITS // self.opened.n_tokens)
        width = copies.tokens.shape[1] + self.n_special
        at_once = max(1, batch_tokens // width)
        for first in range(0, len(copies.tokens), at_once):
            batch = slice(first, first + at_once)
            logits = self._logits(copies.tokens[batch], copies.positions[batch])
            masked = slice(*np.searchsorted(copy_of, [first, first + at_once]).tolist())
            row, token = (
                torch.from_numpy(index).to(logits.device)
                for index in (copy_of[masked] - first, target[masked])
            )
            token_logits = logits[row, token]
            result[order[masked]] = (token_logits - log_sum_exp_(logits)[row]).cpu().numpy()
        return result.reshape(tokens.shape)

    def _logits(self, copies: np.ndarray, positions: np.ndarray) -> Tensor:
        """Return the logits of the masked token of each copy, (copies, vocabulary) float32."""
        before, after = (np.tile(special, (len(copies), 1)) for special in (self.before, self.after))
        ids = torch.from_numpy(np.hstack((before, copies, after)).astype(np.int64)).to(self.model.device)
        column = torch.from_numpy(positions + len(self.before))
        row = torch.arange(len(copies))
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        with self._products.rerouted(whole=True):
            if not self.head_at_masks:
                logits = self.opened.logits(inputs)
                return logits[row.to(logits.device), column.to(logits.device)].float()
            with only_at(self.model.base_model, row, column):
                return self.opened.logits(inputs)[:, 0].float()

    @torch.inference_mode()
    def _agrees(self) -> bool:
        """Return whether the output layer at the masks only gives the result of a plain forward pass."""
        draw = np.random.default_rng(0)
        copies = draw.choice(ordinary_tokens(self.opened), (3, 5))
        positions = np.array([0, 2, 4])
        copies[np.arange(3), positions] = self.mask
        try:
            logprobs = self._logits(copies, positions).log_softmax(-1)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception:  # models with an unusual structure may raise anything
            return False
        rows = np.hstack(([self.before] * 3, copies, [self.after] * 3)).astype(np.int64)
        ids = torch.from_numpy(rows).to(self.model.device)
        places = np.arange(3), positions + len(self.before)
        with wide_logits(self.model):
            expected = self.opened.logits(self.opened.inputs(ids))[places].float().log_softmax(-1)
        longer = torch.nn.functional.pad(ids, (0, 1))
        mask = torch.nn.functional.pad(torch.ones_like(ids), (0, 1))
        padded = self.opened.logits(self.opened.inputs(longer, mask))[places].float().log_softmax(-1)
        if logprobs.shape != expected.shape:
            return False
        noise = (padded - expected).cpu().numpy()
        return within_noise((logprobs - expected).cpu().numpy(), noise, self.opened.rounded_to)


@contextmanager
def only_at(encoder: nn.Module, row: Tensor, column: Tensor) -> Iterator[None]:
    """Make an encoder return its last hidden states at some positions only, (rows, 1, hidden)."""

    def gather(_module: nn.Module, _inputs: object, output: ModelOutput) -> ModelOutput:
        hidden = output.last_hidden_state
        places = row.to(hidden.device), column.to(hidden.device)
        output.last_hidden_state = hidden[places][:, None]
        return output

    hook = encoder.register_forward_hook(gather)
    try:
        yield
    finally:
        hook.remove()


def open_masked(rest: str, arguments: Mapping[str, str], device: str) -> MaskedModel:
    """Open `--model mlm:PATH_OR_ID`; arguments that are not in `ARGUMENTS` go to `from_pretrained`."""
    remaining = dict(arguments)
    pll = take_option(remaining, "pll", METRICS)
    white_space = take_option(remaining, "white_space", WHITE_SPACE)
    opened = open_pretrained("mlm", "AutoModelForMaskedLM", rest, remaining, device, ARGUMENTS)
    with plain_errors("mlm", rest):
        model = MaskedModel(opened, pll, white_space)
    model.warnings += opened.notes
    return model
