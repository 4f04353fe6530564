"""An opened transformers model with its tokenizer, limits and card."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tseval.errors import ModelError, one_line
from tseval.scoring.protocol import ModelCard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tseval.pretrained.options import OptionValue
    from tseval.scoring.protocol import Encoded


# Tokenizers without a limit state about 10**30.
UNLIMITED = 10**12
# Tokens read at once, enough for fast matrix products. Weights on `meta` are stored on the CPU or a disk.
BATCH_TOKENS = {"cpu": 1_024, "meta": 1_024, "mps": 4_096}
TOKENS_ON_ACCELERATOR = 16_384


@dataclass(frozen=True, slots=True)
class Pretrained:
    """An opened model."""

    name: str  # last part of the path, or id on the hub
    model: PreTrainedModel  # in evaluation mode, on its device
    tokenizer: PreTrainedTokenizerBase  # as saved with it
    fingerprint: str  # over the files of weights, configuration and tokenizer; independent of the path
    options: dict[str, OptionValue]  # options for `from_pretrained` that can change a number
    origin: dict[str, OptionValue] = field(default_factory=dict)  # its revision, or progress in a training
    # number of tokens for which its position table has rows; None if it has no table
    positions: int | None = None
    needs_mask: bool = False  # whether it cannot run without an attention mask
    notes: tuple[str, ...] = ()  # notes for users on how it was opened

    def __repr__(self) -> str:
        return one_line(self, self.name, type(self.model).__name__, self.dtype)

    @property
    def dtype(self) -> str:
        """Type of the weights, for example `float32`."""
        return str(self.model.dtype).removeprefix("torch.")

    @property
    def rounded_to(self) -> torch.dtype:
        """Type with about the precision of the products; quantised models have low precision."""
        return torch.bfloat16 if getattr(self.model, "is_quantized", False) else self.model.dtype

    @property
    def batch_tokens(self) -> int:
        """Tokens to read at once, by type of device."""
        return BATCH_TOKENS.get(self.model.device.type, TOKENS_ON_ACCELERATOR)

    @property
    def details(self) -> dict[str, OptionValue]:
        """Facts for users about the model."""
        return {
            "architecture": type(self.model).__name__,
            "vocabulary": len(self.tokenizer),
            "parameters": self.model.num_parameters(),
            "device": str(self.model.device),
            **self.origin,
        }

    def card(
        self, kind: str, protocol: Mapping[str, OptionValue], white_space: str, **details: OptionValue
    ) -> ModelCard:
        """Make the card; `single` white space is left out, so that old signatures stay valid."""
        spaces = {} if white_space == "single" else {"white_space": white_space}
        full_protocol = {**protocol, **spaces, **self.options}
        return ModelCard(self.name, kind, self.fingerprint, full_protocol, self.details | details)

    @property
    def n_tokens(self) -> int:
        """Number of tokens that the model knows."""
        return int(self.model.get_input_embeddings().weight.shape[0])

    @property
    def longest(self) -> int | None:
        """Most tokens that the model can read; None if neither it nor its tokenizer sets a limit."""
        n_positions = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        # A configuration may state too many: RoBERTa has two positions that no token uses.
        limits = (n_positions, self.positions, self.tokenizer.model_max_length)
        return min(
            (limit for limit in limits if isinstance(limit, int) and 0 < limit < UNLIMITED), default=None
        )

    def inputs(self, tokens: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
        """Return the model inputs for ids, (rows, tokens), with a mask of ones if the model needs a mask."""
        if mask is None and self.needs_mask:
            mask = torch.ones_like(tokens)
        return {"input_ids": tokens} if mask is None else {"input_ids": tokens, "attention_mask": mask}

    def logits(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return logits, (rows, tokens, vocabulary); custom models may return a tuple that begins so."""
        output = self.model(**inputs)
        return cast("Tensor", output[0] if isinstance(output, tuple) else output.logits)

    def check_known(self, argument: str, tokens: Sequence[int]) -> None:
        """Refuse special tokens without a row in the model, because they were added after training."""
        if unknown := [token for token in tokens if token >= self.n_tokens]:
            spelt = self.tokenizer.convert_ids_to_tokens(unknown[0])
            advice = "  Resize the embeddings of the model, or save the tokenizer of its training."
            if argument:
                advice = f"  Name another token: --model-args {argument}=TOKEN"
            raise ModelError(
                f"the token {spelt} of the tokenizer has the id {unknown[0]}, but the model has only "
                f"{self.n_tokens} tokens.\n{advice}"
            )

    def check_tokens(self, encoded: Encoded) -> None:
        """Refuse sentences with tokens that have no row in the model."""
        if encoded.tokens.max() >= self.n_tokens:
            token = self.tokenizer.convert_ids_to_tokens(int(encoded.tokens.max()))
            raise ModelError(
                f"the token {token!r} of the tokenizer has the id {int(encoded.tokens.max())}, but the model "
                f"has only {self.n_tokens} tokens.\n"
                "  Put the tokenizer of the model's training into the model's folder."
            )

    def check_fits(self, encoded: Encoded, n_special: int) -> None:
        """Refuse sentences that the model cannot read together with its special tokens."""
        self.check_tokens(encoded)
        lengths = encoded.token_counts + n_special
        if self.longest is not None and self.longest < lengths.max():
            row = int(lengths.argmax())
            raise ModelError(
                f"a sentence has {lengths[row]} tokens, but the model reads at most {self.longest}: "
                f"'{str(encoded.seen[row].as_py())[:60]}...'.\n"
                "  Shorten the sentence, or add --too-long skip, which skips such sentences."
            )


class _Tables(TorchFunctionMode):
    """A mode that records which table rows a model looks up while it reads one token several times."""

    def __init__(self) -> None:
        super().__init__()
        self.rooms: list[int] = []

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        """Record the room in a position table: only there, consecutive rows are looked up."""
        if func is nn.functional.embedding:
            ids, weight = [*args, *(kwargs or {}).values()][:2]
            rows = ids.flatten().tolist()
            if len(rows) == REPEATED and np.all(np.diff(rows) == 1):
                self.rooms.append(len(weight) - rows[0])
        return func(*args, **(kwargs or {}))


REPEATED = 3  # repetitions of the token for finding a model's positions


@torch.inference_mode()
def probe(opened: Pretrained) -> Pretrained:
    """Find out facts that configurations do not state uniformly, by reading a token several times.

    These are the number of tokens for which the position table has rows (some rows are never used), and
    whether the model works without a mask.
    """
    tables, needs_mask = _Tables(), False
    token = int(ordinary_tokens(opened)[-1])
    ids = torch.full((1, REPEATED), token, device=opened.model.device)
    with suppress(Exception):  # later checks report models that cannot read this
        try:
            with tables:
                opened.model(input_ids=ids)
        except Exception:  # a model without a mask may raise anything
            with tables:
                opened.model(input_ids=ids, attention_mask=torch.ones_like(ids))
            needs_mask = True
    return replace(opened, positions=min(tables.rooms, default=None), needs_mask=needs_mask)


def ordinary_tokens(opened: Pretrained) -> np.ndarray:
    """Return the ids of all tokens except special ones, for made-up sentences."""
    n_tokens = min(len(opened.tokenizer), opened.n_tokens)
    return np.setdiff1d(np.arange(n_tokens), opened.tokenizer.all_special_ids)
