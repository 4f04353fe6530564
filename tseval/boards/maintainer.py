"""Read and write `checks.yaml`, the maintainer's file: verifications, retractions, hidden words."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the types of fields are read
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from tseval.boards.dates import check_dates
from tseval.boards.definition import (
    BOARD_FILES_FORMAT,
    check_web_address,
    check_written,
    read_written,
    write_yaml,
)
from tseval.boards.entry import Checked  # noqa: TC001 - the type of a field that is read
from tseval.errors import BoardError, reason
from tseval.formats import ContentError
from tseval.report.published import Retraction  # noqa: TC001 - the type of a field that is read

if TYPE_CHECKING:
    from pathlib import Path


CHECKS = "checks.yaml"


@dataclass(frozen=True, slots=True)
class Hidden:
    """The accuracy of a model on the board's grammars with hidden words.

    `mean` and its 95% interval are over all rows. `difference` is the difference from the mean on the board's
    suite. `twin` is the digest of the suite with hidden words: once it is published, everybody can check
    that it is the suite of these numbers. `on` is a date (YYYY-MM-DD).
    """

    twin: str
    on: str
    n_items: int
    mean: float
    interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]

    @property
    def worse(self) -> bool:
        """Whether the model is significantly worse on the hidden words."""
        return self.difference_interval[1] < 0


@dataclass(frozen=True, slots=True)
class BoardChecks:
    """The content of `checks.yaml`, the maintainer's file, by name of the entry.

    It has the verifications (levels, person, date), the retractions, and the accuracies on hidden words.
    """

    format: int = BOARD_FILES_FORMAT
    checks: Mapping[str, tuple[Checked, ...]] = field(default_factory=dict)
    retracted: Mapping[str, Retraction] = field(default_factory=dict)
    hidden: Mapping[str, Hidden] = field(default_factory=dict)


def read_checks(board: Path) -> BoardChecks:
    """Read the maintainer's file of a board; without one, the checks are empty."""
    file = board / CHECKS
    if not file.exists():
        return BoardChecks()
    try:
        checks = check_written(read_written(file), BoardChecks)
        for name, entry_checks in checks.checks.items():
            check_dates(entry_checks, f"checks.{name}")
        for name, retraction in checks.retracted.items():
            check_dates([retraction], f"retracted.{name}")
            check_web_address(retraction.link, f"retracted.{name}.link")
        for name, hidden in checks.hidden.items():
            check_dates([hidden], f"hidden.{name}")
        return checks
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None


def checks_text(checks: BoardChecks) -> str:
    """Return the text of the maintainer's file."""
    return write_yaml({name: value for name, value in asdict(checks).items() if value})
