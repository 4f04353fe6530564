"""Find the fastest way of scoring that a causal model allows, by comparing with its plain forward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import nn

from tseval.adapters.pretrained import ordinary_tokens
from tseval.errors import ModelError
from tseval.scoring.trie import build_trie

if TYPE_CHECKING:
    from torch import Tensor

    from tseval.adapters.pretrained import Pretrained
    from tseval.scoring.trie import Trie

LENGTH = 24  # tokens of the longest sentence that is compared, as far as the model reads so many


@dataclass(frozen=True, slots=True)
class Method:
    """A way of scoring.

    Attributes:
        packed: Many contexts share a row; otherwise one sentence a row, rows of equal length together.
        tiled_head: The output matrix is applied by us; otherwise the model's own logits are used.
    """

    packed: bool
    tiled_head: bool

    @property
    def name(self) -> str:
        """For the manifest."""
        rows = "packed tree" if self.packed else "rows of equal length"
        return f"{rows}, {'tiled' if self.tiled_head else 'own'} head"


ALL_METHODS = [Method(packed, tiled) for packed in (True, False) for tiled in (True, False)]


class Scoring(Protocol):
    """What is compared: a model that can score a trie by any method."""

    opened: Pretrained
    start: int | None

    def logprobs_by(self, method: Method, trie: Trie, batch_tokens: int) -> np.ndarray:
        """Score a trie."""
        ...


@torch.inference_mode()
def choose_method(scoring: Scoring) -> tuple[Method, str | None]:
    """Take the first method whose log-probabilities are those of the plain forward pass.

    Returns:
        The method, and a warning unless it is the fastest.

    Raises:
        ModelError: If the model reads words that are yet to come, or no method agrees.
    """
    tolerance = scoring.opened.tolerance
    sentences = _sentences(scoring)
    lengths = np.array([len(sentence) for sentence in sentences])
    trie = build_trie(np.concatenate(sentences), lengths)
    expected = np.concatenate([_plain(scoring, sentence) for sentence in sentences])
    half = _plain(scoring, sentences[0][: lengths[0] // 2])
    if not np.allclose(half, expected[: len(half)], atol=tolerance, rtol=0):
        raise ModelError(
            "the model's prediction of a word depends on the words after it: it is not a causal model.\n"
            "  A masked model is opened by mlm:, one that was trained as causal with is_decoder=true."
        )
    reasons: list[str] = []
    for method in ALL_METHODS:
        difference = _difference(scoring, method, trie, expected)
        if difference <= tolerance:
            warning = f"scored by {method.name}: {reasons[0]}" if reasons else None
            return method, warning
        reasons.append(
            f"{method.name} differs from the plain forward pass by {difference:.1g} nats"
            if np.isfinite(difference)
            else f"{method.name} fails"
        )
    raise ModelError(f"the model cannot be scored reliably: {'; '.join(reasons)}")


def _difference(scoring: Scoring, method: Method, trie: Trie, expected: np.ndarray) -> float:
    """Give the largest difference from the plain forward pass; infinite if a method fails."""
    output = scoring.opened.model.get_output_embeddings()
    if method.tiled_head and (type(output) is not nn.Linear or output.weight.is_meta):
        return float("inf")
    try:
        found = scoring.logprobs_by(method, trie, 2 * LENGTH)[trie.paths]
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception:  # a model that does not know masks or positions may raise anything
        return float("inf")
    difference = np.abs(found - expected).max()
    return float(difference) if np.isfinite(difference) else float("inf")


def _sentences(scoring: Scoring) -> list[np.ndarray]:
    """Make up sentences that part after few and after many tokens, and meet again.

    One of them has, behind another first token, the tokens of the first at the same places. Together they
    fill more than one packed row, so that a wrong mask, a wrong position and a wrong path all show.
    """
    longest = min(LENGTH, scoring.opened.longest or LENGTH) - 1  # beside a start symbol
    ordinary = ordinary_tokens(scoring.opened)
    draw = np.random.default_rng(0)
    stem = draw.choice(ordinary, longest)
    sentences = [stem, np.concatenate((draw.choice(ordinary, 1), stem[1:]))]
    for shared in (2, 7, 7, 12, 18):
        sentences.append(np.concatenate((stem[:shared], draw.choice(ordinary, LENGTH // 2 - shared // 4))))
    return [sentence[:longest] for sentence in sentences]


def _plain(scoring: Scoring, sentence: np.ndarray) -> np.ndarray:
    """Score one sentence by the model's own forward pass; 0 for a first token that follows nothing."""
    ids = sentence if scoring.start is None else np.concatenate(([scoring.start], sentence))
    logits: Tensor = scoring.opened.model(
        input_ids=torch.from_numpy(ids)[None].to(scoring.opened.model.device)
    ).logits
    table = logits[0, :-1].float().log_softmax(-1).cpu()
    found = table[torch.arange(len(ids) - 1), torch.from_numpy(ids[1:])].numpy()
    return found if scoring.start is not None else np.concatenate(([0.0], found))
