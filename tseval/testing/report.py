"""The report of a model check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tseval.errors import ModelError, counted, one_line, shortened

if TYPE_CHECKING:
    from tseval.formats import Json
    from tseval.testing.findings import Finding


@dataclass(frozen=True, slots=True)
class Result:
    """One property of a model.

    Attributes:
        name: Short name, the same in every version.
        claim: The condition.
        finding: The finding.
    """

    name: str
    claim: str
    finding: Finding

    def __repr__(self) -> str:
        return one_line(self, self.name, self.finding.verdict)

    def __str__(self) -> str:
        finding = self.finding
        worst = "" if finding.difference is None else f"{finding.difference:.1e}"
        text = f"{self.claim}: {finding.note}" if finding.note else self.claim
        location = f"\n{'':34}in {finding.sentence!r}" if finding.sentence is not None else ""
        return shortened(f"{self.name:<16}{finding.verdict:<15}{worst:>9}  {text}{location}".rstrip())


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a model check; `str` formats it as a table.

    Attributes:
        model: Name on the model's card.
        protocol: The protocol of `tseval.scoring.protocol` that was checked.
        results: One for each property, in a fixed order.
    """

    model: str
    protocol: str
    results: tuple[Result, ...]

    @property
    def failures(self) -> tuple[Result, ...]:
        """Properties that fail."""
        return tuple(result for result in self.results if result.finding.verdict == "fails")

    @property
    def ok(self) -> bool:
        """Return whether no property fails."""
        return not self.failures

    def raise_for_failures(self) -> None:
        """Raise if a property fails; for tests.

        Raises:
            ModelError: Lists the failed properties and the findings.
        """
        if self.ok:
            return
        lines = [f"  {line}" for result in self.failures for line in str(result).splitlines()]
        summary = f"{len(self.failures)} of {counted(len(self.results), 'check')}"
        raise ModelError("\n".join([f"{self.model} fails {summary}:", *lines]))

    def to_mapping(self) -> dict[str, Json]:
        """Return the report as plain data."""
        results: list[Json] = [
            {"name": result.name, "claim": result.claim, **asdict(result.finding)} for result in self.results
        ]
        return {"model": self.model, "protocol": self.protocol, "ok": self.ok, "results": results}

    def __repr__(self) -> str:
        holding = sum(result.finding.verdict == "holds" for result in self.results)
        return one_line(self, self.model, f"{holding} hold", f"{len(self.failures)} fail")

    def __str__(self) -> str:
        heading = f"{self.model}, checked as a {self.protocol}; differences in nats"
        return "\n".join([heading, "", *map(str, self.results)])
