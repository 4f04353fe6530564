"""Scoring of texts that are too long for a model, in overlapping windows.

With N tokens per window and a stride of M, windows begin at tokens 0, M, 2M, ... of the text, counting the
start symbol. Each token is scored once, in the first window that contains it, where its context is the
widest: at least N - M tokens. Nothing is added before a window.

Source: the strided perplexity of transformers' documentation ("Perplexity of fixed-length models").
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from tseval.errors import ModelError
from tseval.pretrained.logits import wide_logits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from tseval.pretrained.opened import Pretrained
    from tseval.scoring.protocol import ModelCard


def check_window(opened: Pretrained, window: int, stride: int) -> None:
    """Refuse windows that are too long for the model, and strides that would skip tokens."""
    if not 1 <= stride < window:
        raise ModelError(
            f"--stride {stride}: the stride must be smaller than the window of {window} tokens.\n"
            f"  Choose a stride from 1 to {window - 1}."
        )
    if opened.longest is not None and window > opened.longest:
        raise ModelError(
            f"--window {window}: the model {opened.name} reads at most {opened.longest} tokens.\n"
            f"  Use --window {opened.longest}"
        )


def card_of_windows(card: ModelCard, window: int, stride: int) -> ModelCard:
    """Record the windows in a card."""
    return replace(card, protocol={**card.protocol, "window": window, "stride": stride})


@torch.inference_mode()
def rows_before(
    opened: Pretrained, ids: Sequence[int], windows: tuple[int, int] | None
) -> Iterator[tuple[int, Tensor]]:
    """Yield the log-probabilities of all words at each token of a text after the first, in order.

    Each yield is the position of its first token, from 1, and (tokens, vocabulary) float32 for one window;
    without windows, for the whole text.
    """
    window, stride = windows or (len(ids), len(ids))
    done = 1
    for begin in range(0, len(ids), stride):
        if done >= len(ids):
            return
        end = min(begin + window, len(ids))
        part = torch.tensor([list(ids[begin:end])], device=opened.model.device)
        with wide_logits(opened.model):
            logits = opened.logits(opened.inputs(part))[0, done - 1 - begin : end - 1 - begin]
        yield done, logits.float().log_softmax(-1)
        done = end


def score_in_windows(
    opened: Pretrained,
    texts: Sequence[Sequence[int]],
    n_starts: int,
    parts: np.ndarray,
    windows: tuple[int, int],
) -> np.ndarray:
    """Score the tokens of texts after their start symbols, and parts of the vocabulary at each position.

    Returns:
        (tokens, 1 + parts) float32, in nats; a first token without context has 0.
    """
    scores: list[np.ndarray] = []
    masks = torch.from_numpy(parts).bool()
    for ids in texts:
        text_scores = np.zeros((len(ids), 1 + len(parts)), dtype=np.float32)
        for first, rows in rows_before(opened, ids, windows):
            places = torch.arange(len(rows), device=rows.device)
            targets = torch.tensor(ids[first : first + len(rows)], device=rows.device)
            text_scores[first : first + len(rows), 0] = rows[places, targets].cpu().numpy()
            for i, mask in enumerate(masks, 1):
                masked = rows[:, : len(mask)].masked_fill(~mask[: rows.shape[1]].to(rows.device), -torch.inf)
                text_scores[first : first + len(rows), i] = masked.logsumexp(-1).cpu().numpy()
        scores.append(text_scores[n_starts:])
    return np.concatenate(scores)
