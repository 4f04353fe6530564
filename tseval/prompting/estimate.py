"""What questions to a server take: requests, tokens, and money where prices are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


CHARACTERS_OF_A_TOKEN = 4  # of English, on average; tokenizers of servers are not known
TOKENS_OF_A_CHAT = 8  # marks that servers put around a prompt
A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens, in any currency; 0 where none is given."""

    prompt: float = 0.0
    answer: float = 0.0


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """How many requests and about how many tokens; the cost in the currency of the prices, or None."""

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
    """Estimate what prompts take, with answers of the greatest length."""
    n_prompt = sum(-(-len(prompt) // CHARACTERS_OF_A_TOKEN) + TOKENS_OF_A_CHAT for prompt in prompts)
    n_answer = len(prompts) * max_tokens
    cost = (n_prompt * prices.prompt + n_answer * prices.answer) / A_MILLION
    return RequestEstimate(len(prompts), n_prompt, n_answer, cost if prices != Prices() else None)
