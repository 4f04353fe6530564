"""Estimates of requests, tokens and cost for questions to a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


CHARACTERS_OF_A_TOKEN = 4  # of English, on average; the servers' tokenizers are unknown
TOKENS_OF_A_CHAT = 8  # special tokens that servers add to a prompt
A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens, in any currency; 0 if not given."""

    prompt: float = 0.0
    answer: float = 0.0


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """The number of requests, the approximate number of tokens, and the cost if there are prices."""

    n_requests: int
    n_prompt_tokens: int
    n_answer_tokens: int
    cost: float | None

    def __str__(self) -> str:
        line = (
            f"{self.n_requests:,} requests: about {self.n_prompt_tokens:,} tokens of prompts, at most "
            f"{self.n_answer_tokens:,} tokens of answers"
        )
        return line if self.cost is None else f"{line}, a cost of about {self.cost:,.2f}"


def estimate(prompts: Sequence[str], max_tokens: int, prices: Prices) -> RequestEstimate:
    """Estimate requests, tokens and cost of prompts, for answers of the maximal length."""
    n_prompt = sum(-(-len(prompt) // CHARACTERS_OF_A_TOKEN) + TOKENS_OF_A_CHAT for prompt in prompts)
    n_answer = len(prompts) * max_tokens
    cost = (n_prompt * prices.prompt + n_answer * prices.answer) / A_MILLION
    return RequestEstimate(len(prompts), n_prompt, n_answer, cost if prices != Prices() else None)
