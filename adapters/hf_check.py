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
from torch import nn

from tseval.adapters.pretrained import ordinary_tokens
from tseval.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from tseval.adapters.pretrained import Pretrained

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
    start: int | None

    def score_by(
        self, method: Method, tokens: np.ndarray, counts: np.ndarray, batch_tokens: int
    ) -> tuple[np.ndarray, int]:
        """Score the tokens of sentences by one method."""
        ...


@torch.inference_mode()
def choose_method(
    scoring: Scoring, methods: Sequence[Method], length: int, batch_tokens: int
) -> tuple[Method, str | None]:
    """Take the first method whose log-probabilities are those of the plain forward pass.

    Args:
        scoring: The model.
        methods: What may be taken, the fastest first.
        length: Tokens of the longest sentence to compare, as far as the model reads so many.
        batch_tokens: Tokens to read at once, as in a run.

    Returns:
        The method, and why it is not the fastest of these, if it is not.

    Raises:
        ModelError: If the model reads words that are yet to come, or no method agrees.
    """
    tolerance = scoring.opened.tolerance
    most = (scoring.opened.longest or length + 1) - 1  # beside a start symbol
    sentences = _sentences(scoring, min(length, most), min(ROW_CONTEXTS, batch_tokens))
    expected = [_plain(scoring, sentence) for sentence in sentences]
    half = len(sentences[0]) // 2  # up to where the second goes on in another way
    if not np.allclose(expected[0][:half], expected[1][:half], atol=tolerance, rtol=0):
        raise ModelError(
            "the model's prediction of a word depends on the words after it: it is not a causal model.\n"
            "  A masked model is opened by mlm:, one that was trained as causal with is_decoder=true."
        )
    reasons: list[str] = []
    for method in methods:
        difference = _difference(scoring, method, sentences, np.concatenate(expected), batch_tokens)
        if difference <= tolerance:
            why = f"scored by {method.name}: {reasons[0]}" if reasons else None
            return method, why
        reasons.append(
            f"{method.name} differs from the plain forward pass by {difference:.1g} nats"
            if np.isfinite(difference)
            else f"{method.name} fails"
        )
    raise ModelError(f"the model cannot be scored reliably: {'; '.join(reasons)}")


def _difference(
    scoring: Scoring, method: Method, sentences: list[np.ndarray], expected: np.ndarray, batch_tokens: int
) -> float:
    """Give the largest difference from the plain forward pass; infinite if a method fails."""
    output = scoring.opened.model.get_output_embeddings()
    if method.tiled_head and (type(output) is not nn.Linear or output.weight.is_meta):
        return float("inf")
    counts = np.array([len(sentence) for sentence in sentences])
    try:
        found, _ = scoring.score_by(method, np.concatenate(sentences), counts, batch_tokens)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception:  # a model that does not know masks or positions may raise anything
        return float("inf")
    difference = np.abs(found - expected).max()
    return float(difference) if np.isfinite(difference) else float("inf")


def _sentences(scoring: Scoring, longest: int, row: int) -> list[np.ndarray]:
    """Make up sentences that part after few and after many tokens, and meet again.

    The second parts from the first half-way. The third has, behind another first token, the tokens of the
    first at the same places. The others part anywhere, and every second one is half as long. Together they
    fill more than one packed row, so that a wrong mask, a wrong position and a wrong path all show.
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
        shared = int(draw.integers(length))
        sentences.append(np.concatenate((stem[:shared], draw.choice(ordinary, length - shared))))
        n_contexts += length - shared
    return sentences


def _plain(scoring: Scoring, sentence: np.ndarray) -> np.ndarray:
    """Score one sentence by the model's own forward pass; 0 for a first token that follows nothing."""
    ids = sentence if scoring.start is None else np.concatenate(([scoring.start], sentence))
    logits: Tensor = scoring.opened.model(
        input_ids=torch.from_numpy(ids)[None].to(scoring.opened.model.device)
    ).logits
    table = logits[0, :-1].float().log_softmax(-1).cpu()
    found = table[torch.arange(len(ids) - 1), torch.from_numpy(ids[1:])].numpy()
    return found if scoring.start is not None else np.concatenate(([0.0], found))
