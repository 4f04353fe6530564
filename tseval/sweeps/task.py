"""What workers of a sweep are given, as a file on a disk that all of them see."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tseval.formats import Json, checked, read_json
from tseval.sweeps.unit import SweepUnit  # noqa: TC001 - the type of a field that is checked

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """What workers of a sweep are given, as a file.

    Attributes:
        units: In order of their models.
        cwd: The folder that paths in units start from.
        place: Of records.
        logs: Of logs.
    """

    units: tuple[SweepUnit, ...]
    cwd: str
    place: str
    logs: str

    def to_mapping(self) -> dict[str, Json]:
        """Give the content of the file."""
        return asdict(self)


def read_task(path: Path) -> WorkerTask:
    """Read what workers are given.

    Raises:
        OSError, LimitError, ContentError: The file cannot be read.
    """
    return checked(read_json(path), WorkerTask)
