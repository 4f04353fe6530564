"""Encoder-decoders of transformers: `seq2seq:PATH_OR_ID`, such as T5, BART and other Seq2SeqLM models.

There are two scores. `mask` is a pseudo-log-likelihood: in the encoder, each token is replaced by the mask,
or by the first sentinel. The decoder gets the same mark and predicts the token (`enc_dec_mask` of the BabyLM
challenge's pipeline). For `prefix`, the encoder reads a context, by default an empty one, and the decoder
reads the sentence (minicons, Misra 2022). The default follows the training: T5 and mT5 fill spans, BART
restores masked words, and all others use `prefix`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tseval.adapters.mlm import MaskedModel
from tseval.errors import ModelError
from tseval.pretrained.loading_errors import plain_errors
from tseval.pretrained.logits import OWN_LOGITS
from tseval.pretrained.opened import ordinary_tokens
from tseval.pretrained.opening import open_pretrained
from tseval.pretrained.options import take_option
from tseval.pretrained.piece_model import OfPieces
from tseval.pretrained.pieces import WHITE_SPACE
from tseval.pretrained.products import ModelProducts
from tseval.pretrained.tokenizer import special_tokens
from tseval.scoring.noise import within_noise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor
    from transformers.utils import ModelOutput

    from tseval.pretrained.opened import Pretrained
    from tseval.scoring.protocol import Encoded, ModelCard

SCHEMES = {"seq2seq": "open_seq2seq"}
ARGUMENTS = ("score", "context", "leading_space", "white_space")  # all other arguments go to transformers
TRAINED_TO_FILL = {"t5", "mt5", "umt5", "bart", "mbart"}
SENTINELS = ("<extra_id_0>", "▁<extra_id_0>")  # the piece in T5 and in mT5


def _card(opened: Pretrained, score: str, white_space: str, **more: str | bool) -> ModelCard:
    return opened.card("seq2seq", {"seq2seq": score, "dtype": opened.dtype, **more}, white_space)


class DenoisingModel(MaskedModel):
    """An encoder-decoder that predicts masked tokens."""

    def __init__(self, opened: Pretrained, leading_space: bool, white_space: str) -> None:
        OfPieces.__init__(self, opened, leading_space, white_space)
        self.pll, tokenizer = "original", opened.tokenizer
        sentinels = [
            id
            for id in tokenizer.convert_tokens_to_ids(SENTINELS)
            if id not in {None, tokenizer.unk_token_id}
        ]
        mask = sentinels[0] if tokenizer.mask_token_id is None and sentinels else tokenizer.mask_token_id
        if mask is None:
            raise ModelError(
                f"seq2seq:{opened.name}: the tokenizer has neither a mask token nor {SENTINELS[0]}.\n"
                "  Score the text in the decoder: --model-args score=prefix"
            )
        self.mask: int = mask
        start = tokenizer.bos_token_id
        self.decoder_starts = [
            opened.model.config.decoder_start_token_id if start is None else start,
            self.mask,
        ]
        self.before, self.after = special_tokens(tokenizer, f"seq2seq:{opened.name}")
        self.n_special = len(self.before) + len(self.after)
        opened.check_known("", [*self.before, *self.decoder_starts, *self.after])
        self._products = ModelProducts(self.model)
        self.head_at_masks = True  # the decoder computes only the masked tokens
        self.card = _card(opened, "mask", white_space, leading_space=leading_space, pll=self.pll)

    def after_contexts(self, encoded: Encoded, batch_tokens: int) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Refuse: the text of a sentinel may have any length."""
        raise ModelError(
            f"{self.card.name} predicts spans of text, so tseval cannot compare all verbs after a context.\n"
            "  Use a causal or a masked model (hf:MODEL or mlm:MODEL)."
        )

    def _logits(self, copies: np.ndarray, positions: np.ndarray) -> Tensor:
        """Return the logits after the decoder's mark, (copies, vocabulary) float32."""
        before, after, starts = (
            np.tile(np.array(special, dtype=np.int64), (len(copies), 1))
            for special in (self.before, self.after, self.decoder_starts)
        )
        ids = torch.from_numpy(np.hstack((before, copies, after))).to(self.model.device)
        decoder = torch.from_numpy(starts).to(self.model.device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": decoder}
        with self._products.rerouted(whole=True):
            return self.opened.logits(inputs)[:, -1].float()


class PrefixModel(OfPieces):
    """An encoder-decoder whose decoder reads the sentences; the encoder reads one context, once."""

    def __init__(self, opened: Pretrained, context: str, leading_space: bool, white_space: str) -> None:
        super().__init__(opened, leading_space, white_space)
        start = opened.model.config.decoder_start_token_id
        if start is None:
            raise ModelError(
                f"seq2seq:{opened.name}: config.json has no decoder_start_token_id.\n"
                "  Add it: --model-args decoder_start_token_id=ID"
            )
        self.start: int = start
        self.n_special = 1
        self._products = ModelProducts(self.model)
        # Without a context, the encoder reads only the tokens that the tokenizer adds to every text.
        ids = opened.tokenizer(context, add_special_tokens=not context)["input_ids"] or [start]
        self._context = torch.tensor([ids], device=self.model.device)
        self._mask = torch.ones_like(self._context)
        self._check()
        self.card = _card(opened, "prefix", white_space, leading_space=leading_space, context=context)

    @torch.inference_mode()
    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token given the tokens before it, (tokens,) float32, in nats."""
        counts = encoded.token_counts
        starts = np.cumsum(counts) - counts
        result = np.empty(len(encoded.tokens), dtype=np.float32)
        with self._products.rerouted(whole=True):
            encoder_output = self.model.get_encoder()(
                input_ids=self._context, attention_mask=self._mask, return_dict=True
            )
            n_contexts = 0
            for length in np.unique(counts):
                places = starts[counts == length][:, None] + np.arange(length)
                tokens = encoded.tokens[places]
                # Sentences that differ only in their last token share one row of the decoder.
                rows, row_of = np.unique(tokens[:, :-1], axis=0, return_inverse=True)
                row_of = row_of.reshape(-1)
                n_contexts += rows.size + len(rows)
                logs = self._logs(rows, tokens, row_of, encoder_output, batch_tokens)
                result[places] = logs
        return result, n_contexts

    def _logs(
        self, rows: np.ndarray, tokens: np.ndarray, row_of: np.ndarray, read: ModelOutput, batch_tokens: int
    ) -> np.ndarray:
        """Return the log-probabilities of tokens, (sentences, length); rows lack the last token."""
        length = tokens.shape[1]
        logprobs = np.empty(tokens.shape, dtype=np.float32)
        at_once = max(1, min(batch_tokens, OWN_LOGITS // self.opened.n_tokens) // length)
        for first in range(0, len(rows), at_once):
            batch = rows[first : first + at_once]
            ids = np.hstack((np.full((len(batch), 1), self.start), batch)).astype(np.int64)
            logs = self._read(ids, read).log_softmax(-1)
            sentences = np.flatnonzero((row_of >= first) & (row_of < first + at_once))
            row = torch.from_numpy(row_of[sentences] - first).to(logs.device)
            target = torch.from_numpy(tokens[sentences]).to(logs.device)
            logprobs[sentences] = logs[row].gather(2, target[..., None])[..., 0].cpu().numpy()
        return logprobs

    def _read(self, ids: np.ndarray, read: ModelOutput | None) -> Tensor:
        """Return the decoder's logits, (rows, length, vocabulary); if `read` is None, run the encoder too."""
        inputs: dict[str, object] = {"attention_mask": self._mask.expand(len(ids), -1)}
        if read is None:
            inputs["input_ids"] = self._context.expand(len(ids), -1)
        else:  # the encoder's output object: some decoders need more than its hidden states
            hidden = read.last_hidden_state.expand(len(ids), -1, -1)
            inputs["encoder_outputs"] = type(read)({**read, "last_hidden_state": hidden})
        decoder = torch.from_numpy(ids).to(self.model.device)
        logits: Tensor = self.model(**inputs, decoder_input_ids=decoder).logits
        return logits.float()

    @torch.inference_mode()
    def _check(self) -> None:
        """Check that made-up sentences score the same with a stored encoder output as in a plain pass."""
        draw = np.random.default_rng(0).choice(ordinary_tokens(self.opened), (3, 5))
        ids = np.hstack((np.full((3, 1), self.start), draw)).astype(np.int64)
        with self._products.rerouted(whole=True):
            encoder_output = self.model.get_encoder()(
                input_ids=self._context, attention_mask=self._mask, return_dict=True
            )
            shared, plain = (self._read(ids, encoded).log_softmax(-1) for encoded in (encoder_output, None))
            alone = torch.cat([self._read(ids[i : i + 1], None) for i in range(len(ids))]).log_softmax(-1)
        noise, differences = ((encoded - plain).cpu().numpy() for encoded in (alone, shared))
        if not within_noise(differences, noise, self.opened.rounded_to):
            raise ModelError(
                f"seq2seq:{self.opened.name}: if tseval computes the encoder only once, the\n"
                f"  log-probabilities of the model change by up to {np.abs(differences).max():.2g} nats.\n"
                "  Write a function that returns an object with the methods of a SentenceModel\n"
                "  (docs/adapters.md), and score it: --model mine.py:load"
            )


def open_seq2seq(rest: str, arguments: Mapping[str, str], device: str) -> DenoisingModel | PrefixModel:
    """Open `--model seq2seq:PATH_OR_ID`; arguments that are not in `ARGUMENTS` go to `from_pretrained`."""
    remaining = dict(arguments)
    score = take_option(remaining, "score", ("auto", "mask", "prefix"))
    context = remaining.pop("context", "")
    leading_space = take_option(remaining, "leading_space", ("false", "true")) == "true"
    white_space = take_option(remaining, "white_space", WHITE_SPACE)
    opened = open_pretrained("seq2seq", "AutoModelForSeq2SeqLM", rest, remaining, device, ARGUMENTS)
    if score == "auto":
        score = "mask" if opened.model.config.model_type in TRAINED_TO_FILL and not context else "prefix"
    if score == "mask" and context:
        raise ModelError(
            "--model-args context: a context can be used only with score=prefix.\n"
            "  Add score=prefix: --model-args score=prefix,context=TEXT"
        )
    model: DenoisingModel | PrefixModel
    with plain_errors("seq2seq", rest):
        if score == "mask":
            model = DenoisingModel(opened, leading_space, white_space)
        else:
            model = PrefixModel(opened, context, leading_space, white_space)
    model.warnings += opened.notes
    return model
