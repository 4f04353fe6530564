"""Levels of verification, and what a verification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tseval.errors import one_line

if TYPE_CHECKING:
    from tseval.formats import Json


# whole       every file is the one that the manifest describes, and the manifest agrees with itself
# recomputed  the suite, expanded again, and the evidence give these verdicts and these tables
# plausible   no log-probability is above 0, and what may follow a prefix has no more than all probability
# rescored    the model gives the same log-probabilities for a share of the sentences that nobody could choose
# rerun       it does so for all of them
VerifyLevel = Literal["whole", "recomputed", "plausible", "rescored", "rerun"]
VERIFY_LEVELS: tuple[VerifyLevel, ...] = get_args(VerifyLevel)


class CheckFailed(Exception):  # noqa: N818 - not an error of ours: what a check is there to find
    """Something that is not as it is claimed to be."""


@dataclass(frozen=True, slots=True)
class Check:
    """One level that was checked: whether it holds, and what was seen, in a line."""

    level: VerifyLevel
    ok: bool
    found: str

    def __repr__(self) -> str:
        return one_line(self, self.level, "holds" if self.ok else "wrong")


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found of a run or entry; it ends with the first level that is wrong."""

    name: str
    what: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.ok for check in self.checks)

    @property
    def level(self) -> VerifyLevel | None:
        """The last level that holds; None where the first is wrong."""
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
