"""Find the fastest way of scoring that a causal model allows, by comparing with its plain forward pass.

Nothing is taken for granted of an architecture: a mask may be ignored, positions may be counted in the row,
and how a prefix is read may depend on how long its sentence is. So the made-up sentences are as long as those
of a run, and fill more than one row as wide as there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from tseval.adapters.pretrained import OWN_LOGITS, UNLIMITED, ordinary_tokens, wide_logits
from tseval.errors import ModelError
from tseval.scoring.numerics import within_noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.adapters.pretrained import Pretrained

# What is asked besides the tokens themselves, where nothing is.
NO_PARTS = np.empty((0, 0), dtype=np.float32)
# Contexts in a packed row: wider rows repeat fewer paths, but attention grows with the square.
ROW_CONTEXTS = 128
LENGTH = 24  # tokens of the longest sentence that is compared at first, as far as the model reads so many


@dataclass(frozen=True, slots=True)
class Method:
    """A way of scoring.

    Attributes:
        packed: Many contexts share a row; otherwise one sentence a row, rows of equal length together.
        tiled_head: The output matrix is applied by us; otherwise the model's own logits are used.
        shared: What two sentences have in common is read once; otherwise each is read whole.
    """

    packed: bool
    tiled_head: bool
    shared: bool = True

    @property
    def name(self) -> str:
        """For the manifest."""
        apart = "rows of equal length" if self.shared else "each sentence whole"
        rows = "packed tree" if self.packed else apart
        return f"{rows}, {'tiled' if self.tiled_head else 'own'} head"


ALL_METHODS = tuple(
    Method(packed, tiled, shared)
    for packed, shared in ((True, True), (False, True), (False, False))
    for tiled in (True, False)
)


class Scoring(Protocol):
    """What is compared: a model that can score a trie by any method."""

    opened: Pretrained
    starts: tuple[int, ...]
    end: int | None

    def score_by(
        self, method: Method, tokens: np.ndarray, counts: np.ndarray, batch_tokens: int
    ) -> tuple[np.ndarray, int]:
        """Score the tokens of sentences by one method."""
        ...

    def head(self, hidden: Tensor, rows: Tensor, targets: Tensor, parts: Tensor) -> Tensor:
        """Score targets, (targets, 1 + parts), from last hidden states through the tiled output matrix."""
        ...


NOISY = 5  # sentences, the long stem among them, that are read once more in a padded batch
HEADS = 64  # hidden states whose logits are computed with the output matrix in tiles, and whole


@torch.inference_mode()
def choose_method(
    scoring: Scoring, methods: Sequence[Method], length: int, batch_tokens: int
) -> tuple[Method, str | None, np.ndarray]:
    """Take the first method whose log-probabilities are those of the plain forward pass.

    They may differ from it as it does from itself where sentences stand in a padded batch, not alone.

    Args:
        scoring: The model.
        methods: What may be taken, the fastest first.
        length: Tokens of the longest sentence to compare, as far as the model reads so many.
        batch_tokens: Tokens to read at once, as in a run.

    Returns:
        The method, why it is not the fastest of these, if it is not, and in nats a token by how much the
        model differs from itself, read in a padded batch or by that method.
    """
    around = max(1, len(scoring.starts)) + (scoring.end is not None)
    most = (scoring.opened.longest or length + around) - around
    sentences = _sentences(scoring, min(length, most), min(ROW_CONTEXTS, batch_tokens))
    with wide_logits(scoring.opened.model) as hidden:
        expected = _plain(scoring, sentences)
        states = hidden[-1].flatten(0, -2)[:HEADS] if hidden else None
    if not all(np.isfinite(one).all() for one in expected):
        raise ModelError(
            f"the model's own forward pass gives numbers that are not finite, in {scoring.opened.dtype}.\n"
            "  Some weights exceed what a type holds (Gemma's float16): --model-args dtype=float32."
        )
    noise = _noise(scoring, sentences[:NOISY], expected)  # of the model's own logits, which may be rounded
    dtype = scoring.opened.rounded_to
    half = len(sentences[0]) // 2  # up to where the second goes on in another way
    if not within_noise(expected[0][:half] - expected[1][:half], noise, dtype):
        raise ModelError(
            "the model's prediction of a word depends on the words after it: it is not a causal model.\n"
            "  A masked model is opened by mlm:, one that was trained as causal with is_decoder=true."
        )
    counts = np.array([len(sentence) for sentence in sentences])
    tokens, plain = np.concatenate(sentences), np.concatenate(expected)
    tiles = states is not None and _tiles_agree(scoring, states)
    reasons: list[str] = []
    for method in methods:
        found = None
        if tiles or not method.tiled_head:
            found = _score(scoring, method, tokens, counts, batch_tokens)
        difference = None if found is None else np.abs(found - plain)
        if difference is not None and within_noise(difference, noise, dtype):
            why = f"scored by {method.name}: {reasons[0]}" if reasons else None
            return method, why, np.concatenate((noise, difference))
        reasons.append(
            f"{method.name} differs from the plain forward pass by {difference.max():.1g} nats"
            if difference is not None and np.isfinite(difference).all()
            else f"{method.name} fails"
        )
    raise ModelError(f"the model cannot be scored reliably: {'; '.join(reasons)}")


def _score(
    scoring: Scoring, method: Method, tokens: np.ndarray, counts: np.ndarray, batch_tokens: int
) -> np.ndarray | None:
    """Score sentences by a method; None if it fails."""
    try:
        with wide_logits(scoring.opened.model):
            return scoring.score_by(method, tokens, counts, batch_tokens)[0]
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception:  # a model that does not know masks or positions may raise anything
        return None


def _sentences(scoring: Scoring, longest: int, row: int) -> list[np.ndarray]:
    """Make up sentences that part after few and after many tokens, and meet again.

    The second parts from the first half-way. The third has, behind another first token, the tokens of the
    first at the same places. The others part after a quarter to a half, and every second one is half as
    long. Together they fill more than one packed row, so that a wrong mask, a wrong position and a wrong path
    all show.
    """
    ordinary = ordinary_tokens(scoring.opened)
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


def _tiles_agree(scoring: Scoring, hidden: Tensor) -> bool:
    """Tell whether the tiled head gives what the whole softmax does, of the same states, in float32."""
    with wide_logits(scoring.opened.model):
        table = scoring.opened.model.get_output_embeddings()(hidden).log_softmax(-1)
    rows = torch.arange(len(table), device=table.device)
    # Tokens from all over the vocabulary.
    targets = rows * (table.shape[1] - 1) // max(1, len(table) - 1)
    found = scoring.head(hidden, rows, targets, torch.from_numpy(NO_PARTS))[:, 0]
    return within_noise((found - table[rows, targets]).cpu().numpy(), np.zeros(1), torch.float32)


def _plain(scoring: Scoring, sentences: list[np.ndarray], padded: bool = False) -> list[np.ndarray]:
    """Score sentences by the model's own forward pass; 0 for a first token that follows nothing.

    Those of one length are read together; padded, all are, with a mask, and each has some padding.
    """
    opened, end = scoring.opened, [] if scoring.end is None else [scoring.end]
    ids = [torch.tensor([*scoring.starts, *sentence.tolist(), *end]) for sentence in sentences]
    longest = min(max(map(len, ids)) + 1, opened.longest or UNLIMITED)
    found = [np.zeros(len(sentence) + len(end), dtype=np.float32) for sentence in sentences]
    skipped = max(0, len(scoring.starts) - 1)
    for width in [longest] if padded else sorted(set(map(len, ids))):
        rows = [row for row, one in enumerate(ids) if padded or len(one) == width]
        at_once = max(1, OWN_LOGITS // (opened.n_tokens * width))
        for some in (rows[start : start + at_once] for start in range(0, len(rows), at_once)):
            table = nn.utils.rnn.pad_sequence([ids[row] for row in some], batch_first=True)
            table = nn.functional.pad(table, (0, width - table.shape[1])).to(opened.model.device)
            lengths = torch.tensor([len(ids[row]) for row in some])
            mask = (torch.arange(width) < lengths[:, None]).long().to(opened.model.device)
            logits = opened.logits(opened.inputs(table, mask if padded else None))[:, :-1].float()
            chosen = logits.gather(2, table[:, 1:, None].to(logits.device))[..., 0] - logits.logsumexp(2)
            for row, line in zip(some, chosen.cpu().numpy(), strict=True):
                own = line[skipped : len(ids[row]) - 1]
                found[row][len(found[row]) - len(own) :] = own
    return [np.append(one[:-2], one[-2] + one[-1]) for one in found] if end else found


def _noise(scoring: Scoring, sentences: list[np.ndarray], alone: list[np.ndarray]) -> np.ndarray:
    """Measure by how much a padded batch moves the plain forward pass, (tokens,); 0 if it is not read."""
    try:
        padded = _plain(scoring, sentences, padded=True)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception:  # a model may know no masks
        return np.zeros(1, dtype=np.float32)
    noise = np.abs(np.concatenate(padded) - np.concatenate(alone[: len(sentences)]))
    return noise if np.isfinite(noise).all() else np.zeros(1, dtype=np.float32)
