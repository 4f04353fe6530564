"""Methods for scoring with causal transformers models, and the choice of the fastest correct one.

Every distinct beginning is read once. Many of them share a row, in which each attends only to its own
beginnings, at the positions that it has in its sentence. Not every architecture allows this: it may ignore
the mask, count positions within the row, or read a prefix differently in a longer sentence. So each method is
compared with the model's plain forward pass on made-up sentences. They are as long as those of a run, and
fill more than one row of the width used there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from tseval.errors import ModelError
from tseval.pretrained.logits import OWN_LOGITS, wide_logits
from tseval.pretrained.opened import UNLIMITED, ordinary_tokens
from tseval.scoring.noise import within_noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.pretrained.opened import Pretrained

# No word parts, only the tokens themselves.
NO_PARTS = np.empty((0, 0), dtype=np.float32)
# Contexts in a packed row. Wider rows repeat fewer paths, but attention grows with the square of the width.
ROW_CONTEXTS = 128
LENGTH = 24  # tokens of the longest sentence in the first comparison, or the model's limit


@dataclass(frozen=True, slots=True)
class Method:
    """A scoring method."""

    packed: bool  # many contexts share a row; otherwise one sentence per row, in batches of equal length
    tiled_head: bool  # tseval applies the output matrix in tiles; otherwise the model computes the logits
    shared: bool = True  # common beginnings are read once; otherwise each sentence is read whole
    behind: bool = False  # the text before sentences is read once and stored

    @property
    def name(self) -> str:
        """Description for the manifest."""
        unpacked = "rows of equal length" if self.shared else "each sentence whole"
        rows = "packed tree" if self.packed else unpacked
        text = " behind a text that is read once" if self.behind else ""
        return f"{rows}{text}, {'tiled' if self.tiled_head else 'own'} head"


ALL_METHODS = tuple(
    Method(packed, tiled, shared)
    for packed, shared in ((True, True), (False, True), (False, False))
    for tiled in (True, False)
)

# For sentences after a text; otherwise, every row would contain the text.
METHODS_BEHIND = tuple(replace(method, behind=True) for method in ALL_METHODS if method.shared)


# Sentences, including the first, that are read again in a padded batch; fewer after a text.
NOISY, NOISY_BEHIND = 5, 2
HEADS = 64  # hidden states on which the tiled output layer is compared with the whole one


class ScoredCausally(Protocol):
    """The parts of a causal model that are needed here, and a pass with a given method."""

    opened: Pretrained
    starts: tuple[int, ...]
    end: int | None

    def head(self, hidden: Tensor, rows: Tensor, targets: Tensor, parts: Tensor) -> Tensor:
        """Compute log-probabilities of tokens from hidden states, (targets, 1 + parts)."""

    def score_by(
        self, method: Method, tokens: np.ndarray, counts: np.ndarray, batch_tokens: int
    ) -> tuple[np.ndarray, int]:
        """Score the tokens of sentences by a method."""


@torch.inference_mode()
def choose_method(
    causal: ScoredCausally, methods: Sequence[Method], length: int, batch_tokens: int
) -> tuple[Method, str | None, np.ndarray]:
    """Return the first method whose log-probabilities agree with the plain forward pass.

    The allowed difference is that between a padded batch and a single sentence in plain passes.

    Args:
        causal: The model.
        methods: The methods to try, the fastest first.
        length: Tokens of the longest sentence to compare, or the model's limit.
        batch_tokens: Tokens to read at once.

    Returns:
        The method; the reason if it is not the fastest; and the differences within the model, from a padded
        batch and from the method, in nats per token.
    """
    n_around = max(1, len(causal.starts)) + (causal.end is not None)
    most = (causal.opened.longest or length + n_around) - n_around
    # After a text, a plain pass is slow, and the layout of rows was checked when the model was opened.
    row, noisy = min(ROW_CONTEXTS, batch_tokens), NOISY
    if methods[0].behind:
        row, noisy = 1, NOISY_BEHIND
    sentences = _sentences(causal, min(length, most), row)
    with wide_logits(causal.opened.model) as hidden:
        expected = _plain(causal, sentences)
        states = hidden[-1].flatten(0, -2)[:HEADS] if hidden else None
    if not all(np.isfinite(scores).all() for scores in expected):
        raise ModelError(
            f"the model computes numbers that are not finite in {causal.opened.dtype}.\n"
            "  Some models need a wider number format: try --model-args dtype=float32"
        )
    noise = _noise(causal, sentences[:noisy], expected)  # of the model's logits, which may be rounded
    dtype = causal.opened.rounded_to
    half = len(sentences[0]) // 2  # the second sentence differs from here on
    if not within_noise(expected[0][:half] - expected[1][:half], noise, dtype):
        raise ModelError(
            "the model is not causal: its prediction of a word depends on the words after it.\n"
            "  For a masked language model, write --model mlm:FOLDER.\n"
            "  For a model that was trained as a causal one, add --model-args is_decoder=true"
        )
    counts = np.array([len(sentence) for sentence in sentences])
    tokens, plain = np.concatenate(sentences), np.concatenate(expected)
    tiles = states is not None and _tiles_agree(causal, states)
    reasons: list[str] = []
    for method in methods:
        logprobs = None
        if tiles or not method.tiled_head:
            logprobs = _score(causal, method, tokens, counts, batch_tokens)
        difference = None if logprobs is None else np.abs(logprobs - plain)
        if difference is not None and within_noise(difference, noise, dtype):
            explanation = f"scored by {method.name}: {reasons[0]}" if reasons else None
            return method, explanation, np.concatenate((noise, difference))
        reasons.append(
            f"{method.name} differs from the model's forward pass by {difference.max():.1g} nats"
            if difference is not None and np.isfinite(difference).all()
            else f"{method.name} fails"
        )
    raise ModelError(
        f"the scores of the model are not reliable: {'; '.join(reasons)}.\n"
        "  Try --model-args dtype=float32, or report the model as an issue of tseval."
    )


def _score(
    causal: ScoredCausally, method: Method, tokens: np.ndarray, counts: np.ndarray, batch_tokens: int
) -> np.ndarray | None:
    """Score sentences by a method; None if it fails."""
    try:
        with wide_logits(causal.opened.model):
            return causal.score_by(method, tokens, counts, batch_tokens)[0]
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception:  # a model without support for masks or positions may raise anything
        return None


def _sentences(causal: ScoredCausally, longest: int, row: int) -> list[np.ndarray]:
    """Return made-up sentences that differ after few or many tokens, and later agree again.

    The second differs from the first from the middle on. The third has another first token, and then the
    tokens of the first at the same positions. The others differ after a quarter to a half, and every second
    one is half as long. Together they fill more than one packed row, so that wrong masks, positions and paths
    become visible.
    """
    ordinary = ordinary_tokens(causal.opened)
    draw = np.random.default_rng(0)
    stem = draw.choice(ordinary, longest)
    sentences = [
        stem,
        np.concatenate((stem[: longest // 2], draw.choice(ordinary, longest - longest // 2))),
        np.concatenate((draw.choice(ordinary, 1), stem[1:])),
    ]
    n_contexts = 2 * longest
    while n_contexts < 1.5 * max(row, 2 * longest):
        length = max(1, longest // (1 + len(sentences) % 2))
        shared = int(draw.integers(length // 4, length // 2 + 1))  # not more: the plain pass reads it again
        sentences.append(np.concatenate((stem[:shared], draw.choice(ordinary, length - shared))))
        n_contexts += length - shared
    return sentences


def _tiles_agree(causal: ScoredCausally, hidden: Tensor) -> bool:
    """Return whether the tiled output layer agrees with the whole softmax on the same states, in float32."""
    with wide_logits(causal.opened.model):
        table = causal.opened.model.get_output_embeddings()(hidden).log_softmax(-1)
    rows = torch.arange(len(table), device=table.device)
    # Tokens from the whole vocabulary.
    targets = rows * (table.shape[1] - 1) // max(1, len(table) - 1)
    tiled = causal.head(hidden, rows, targets, torch.from_numpy(NO_PARTS))[:, 0]
    return within_noise((tiled - table[rows, targets]).cpu().numpy(), np.zeros(1), torch.float32)


def _plain(causal: ScoredCausally, sentences: list[np.ndarray], padded: bool = False) -> list[np.ndarray]:
    """Score sentences with the model's plain forward pass; a first token without context gets 0.

    Sentences of one length are read together. With `padded`, all are read together with a mask and padding.
    """
    opened, end = causal.opened, [] if causal.end is None else [causal.end]
    ids = [torch.tensor([*causal.starts, *sentence.tolist(), *end]) for sentence in sentences]
    longest = min(max(map(len, ids)) + 1, opened.longest or UNLIMITED)
    scores = [np.zeros(len(sentence) + len(end), dtype=np.float32) for sentence in sentences]
    skipped = max(0, len(causal.starts) - 1)
    for width in [longest] if padded else sorted(set(map(len, ids))):
        rows = [row for row, sequence in enumerate(ids) if padded or len(sequence) == width]
        at_once = max(1, OWN_LOGITS // (opened.n_tokens * width))
        for batch in (rows[start : start + at_once] for start in range(0, len(rows), at_once)):
            table = nn.utils.rnn.pad_sequence([ids[row] for row in batch], batch_first=True)
            table = nn.functional.pad(table, (0, width - table.shape[1])).to(opened.model.device)
            lengths = torch.tensor([len(ids[row]) for row in batch])
            mask = (torch.arange(width) < lengths[:, None]).long().to(opened.model.device)
            logits = opened.logits(opened.inputs(table, mask if padded else None))[:, :-1].float()
            values = logits.gather(2, table[:, 1:, None].to(logits.device))[..., 0] - logits.logsumexp(2)
            for row, line in zip(batch, values.cpu().numpy(), strict=True):
                kept_scores = line[skipped : len(ids[row]) - 1]
                scores[row][len(scores[row]) - len(kept_scores) :] = kept_scores
    return [np.append(sequence[:-2], sequence[-2] + sequence[-1]) for sequence in scores] if end else scores


def _noise(causal: ScoredCausally, sentences: list[np.ndarray], alone: list[np.ndarray]) -> np.ndarray:
    """Measure how much a padded batch changes the plain forward pass, (tokens,); 0 if it fails."""
    try:
        padded = _plain(causal, sentences, padded=True)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception:  # a model may not support masks
        return np.zeros(1, dtype=np.float32)
    noise = np.abs(np.concatenate(padded) - np.concatenate(alone[: len(sentences)]))
    return noise if np.isfinite(noise).all() else np.zeros(1, dtype=np.float32)
