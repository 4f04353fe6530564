"""Ways in which causal models of transformers can score sentences, and which of them a model allows.

Every distinct beginning is read once: many of them share a row in which each attends to its own beginnings
only, at the positions it has in its sentence. Not every architecture allows that: a mask may be ignored,
positions may be counted in the row, and how a prefix is read may depend on how long its sentence is. So each
model is held to its own plain forward pass, on made-up sentences that are as long as those of a run and fill
more than one row as wide as there.
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

# No parts of words are needed besides the tokens themselves.
NO_PARTS = np.empty((0, 0), dtype=np.float32)
# Contexts in a packed row: wider rows repeat fewer paths, but attention grows with the square.
ROW_CONTEXTS = 128
LENGTH = 24  # tokens of the longest sentence that is compared at first, as far as the model reads so many


@dataclass(frozen=True, slots=True)
class Method:
    """A way of scoring."""

    packed: bool  # many contexts share a row; otherwise one sentence a row, rows of equal length together
    tiled_head: bool  # the output matrix is applied by us; otherwise the model's own logits are used
    shared: bool = True  # what two sentences have in common is read once; otherwise each is read whole
    behind: bool = False  # the text that sentences go on from is read once, and kept

    @property
    def name(self) -> str:
        """For the manifest."""
        apart = "rows of equal length" if self.shared else "each sentence whole"
        rows = "packed tree" if self.packed else apart
        text = " behind a text that is read once" if self.behind else ""
        return f"{rows}{text}, {'tiled' if self.tiled_head else 'own'} head"


ALL_METHODS = tuple(
    Method(packed, tiled, shared)
    for packed, shared in ((True, True), (False, True), (False, False))
    for tiled in (True, False)
)

# Of sentences that go on from a text, which every row would hold otherwise.
METHODS_BEHIND = tuple(replace(method, behind=True) for method in ALL_METHODS if method.shared)


# Sentences, the long stem among them, that are read once more in a padded batch; fewer behind a text.
NOISY, NOISY_BEHIND = 5, 2
HEADS = 64  # hidden states whose logits are computed with the output matrix in tiles, and whole


class ScoredCausally(Protocol):
    """What is needed of a causal model: its parts, and a pass by a method."""

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
    """Return the first method whose log-probabilities are those of the plain forward pass.

    They may differ from it as much as it differs from itself between a padded batch and a single sentence.

    Args:
        methods: The methods to try, the fastest first.
        length: Tokens of the longest sentence to compare, as far as the model reads so many.

    Returns:
        The method, why it is not the fastest of these, if it is not, and in nats a token by how much the
        model differs from itself, read in a padded batch or by that method.
    """
    around = max(1, len(causal.starts)) + (causal.end is not None)
    most = (causal.opened.longest or length + around) - around
    # Behind a text a plain pass takes long, and how rows are filled was checked when the model was opened.
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
    noise = _noise(causal, sentences[:noisy], expected)  # of the model's own logits, which may be rounded
    dtype = causal.opened.rounded_to
    half = len(sentences[0]) // 2  # up to where the second goes on in another way
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
            why = f"scored by {method.name}: {reasons[0]}" if reasons else None
            return method, why, np.concatenate((noise, difference))
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
    except Exception:  # a model that does not know masks or positions may raise anything
        return None


def _sentences(causal: ScoredCausally, longest: int, row: int) -> list[np.ndarray]:
    """Return made-up sentences that part after few and after many tokens, and meet again.

    The second parts from the first half-way. The third has, behind another first token, the tokens of the
    first at the same places. The others part after a quarter to a half, and every second one is half as
    long. Together they fill more than one packed row, so that a wrong mask, a wrong position and a wrong path
    all show.
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
        shared = int(draw.integers(length // 4, length // 2 + 1))  # no more: the plain pass reads it again
        sentences.append(np.concatenate((stem[:shared], draw.choice(ordinary, length - shared))))
        n_contexts += length - shared
    return sentences


def _tiles_agree(causal: ScoredCausally, hidden: Tensor) -> bool:
    """Return whether the tiled head gives what the whole softmax does, of the same states, in float32."""
    with wide_logits(causal.opened.model):
        table = causal.opened.model.get_output_embeddings()(hidden).log_softmax(-1)
    rows = torch.arange(len(table), device=table.device)
    # Tokens from all over the vocabulary.
    targets = rows * (table.shape[1] - 1) // max(1, len(table) - 1)
    tiled = causal.head(hidden, rows, targets, torch.from_numpy(NO_PARTS))[:, 0]
    return within_noise((tiled - table[rows, targets]).cpu().numpy(), np.zeros(1), torch.float32)


def _plain(causal: ScoredCausally, sentences: list[np.ndarray], padded: bool = False) -> list[np.ndarray]:
    """Score sentences by the model's own forward pass; 0 for a first token that follows nothing.

    Those of one length are read together; padded, all are, with a mask, and each has some padding.
    """
    opened, end = causal.opened, [] if causal.end is None else [causal.end]
    ids = [torch.tensor([*causal.starts, *sentence.tolist(), *end]) for sentence in sentences]
    longest = min(max(map(len, ids)) + 1, opened.longest or UNLIMITED)
    scores = [np.zeros(len(sentence) + len(end), dtype=np.float32) for sentence in sentences]
    skipped = max(0, len(causal.starts) - 1)
    for width in [longest] if padded else sorted(set(map(len, ids))):
        rows = [row for row, sequence in enumerate(ids) if padded or len(sequence) == width]
        at_once = max(1, OWN_LOGITS // (opened.n_tokens * width))
        for some in (rows[start : start + at_once] for start in range(0, len(rows), at_once)):
            table = nn.utils.rnn.pad_sequence([ids[row] for row in some], batch_first=True)
            table = nn.functional.pad(table, (0, width - table.shape[1])).to(opened.model.device)
            lengths = torch.tensor([len(ids[row]) for row in some])
            mask = (torch.arange(width) < lengths[:, None]).long().to(opened.model.device)
            logits = opened.logits(opened.inputs(table, mask if padded else None))[:, :-1].float()
            chosen = logits.gather(2, table[:, 1:, None].to(logits.device))[..., 0] - logits.logsumexp(2)
            for row, line in zip(some, chosen.cpu().numpy(), strict=True):
                scored = line[skipped : len(ids[row]) - 1]
                scores[row][len(scores[row]) - len(scored) :] = scored
    return [np.append(sequence[:-2], sequence[-2] + sequence[-1]) for sequence in scores] if end else scores


def _noise(causal: ScoredCausally, sentences: list[np.ndarray], alone: list[np.ndarray]) -> np.ndarray:
    """Measure by how much a padded batch moves the plain forward pass, (tokens,); 0 if it is not read."""
    try:
        padded = _plain(causal, sentences, padded=True)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception:  # a model may know no masks
        return np.zeros(1, dtype=np.float32)
    noise = np.abs(np.concatenate(padded) - np.concatenate(alone[: len(sentences)]))
    return noise if np.isfinite(noise).all() else np.zeros(1, dtype=np.float32)
