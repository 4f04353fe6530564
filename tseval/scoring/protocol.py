"""What a model must offer to be scored. Adapters satisfy these protocols; they inherit nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Who a model is, for the manifest of a run.

    Attributes:
        name: Short name for file names and table headings.
        kind: Adapter that opened it, for example `native`.
        fingerprint: SHA-256 over the bytes of weights and vocabulary; independent of file names.
        protocol: Everything about the presentation of sentences that can change a number
            (start symbol, case, unknown words).
        details: What a reader wants to know besides: architecture, parameters, validation perplexity.
    """

    name: str
    kind: str
    fingerprint: str
    protocol: Mapping[str, Json]
    details: Mapping[str, Json]
