"""Levels of verification, and their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tseval.errors import one_line

if TYPE_CHECKING:
    from tseval.formats import Json


# whole       every file matches its digest in the manifest, and the manifest does not contradict itself
# recomputed  the suite, expanded again, and the evidence give these verdicts and these tables
# plausible   no log-probability is above 0, and the tokens after a prefix have a total probability of at most
# 1 rescored    the model gives the same log-probabilities for a random share of the sentences
# rerun       the model gives the same log-probabilities for all of them
VerifyLevel = Literal["whole", "recomputed", "plausible", "rescored", "rerun"]
VERIFY_LEVELS: tuple[VerifyLevel, ...] = get_args(VerifyLevel)


class CheckFailed(Exception):  # noqa: N818 - not an error of ours: what a check is there to find
    """Raised if something differs from the claim."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one level: whether it holds, and a line about what was found."""

    level: VerifyLevel
    ok: bool
    found: str

    def __repr__(self) -> str:
        return one_line(self, self.level, "holds" if self.ok else "wrong")


@dataclass(frozen=True, slots=True)
class Verification:
    """The results of a verification of a run or entry; they end with the first level that fails."""

    name: str
    what: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether all levels hold."""
        return all(check.ok for check in self.checks)

    @property
    def level(self) -> VerifyLevel | None:
        """The last level that holds; None if the first fails."""
        return next((check.level for check in reversed(self.checks) if check.ok), None)

    def to_mapping(self) -> dict[str, Json]:
        """Return the report as plain data."""
        checks: list[Json] = [{"level": c.level, "ok": c.ok, "found": c.found} for c in self.checks]
        return {"name": self.name, "what": self.what, "ok": self.ok, "level": self.level, "checks": checks}

    def __repr__(self) -> str:
        return one_line(self, self.name, f"verified: {self.level}" if self.ok else "wrong")

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.what}"]
        lines += [f"  {c.level:<11} {'' if c.ok else 'WRONG: '}{c.found}" for c in self.checks]
        return "\n".join(lines)
