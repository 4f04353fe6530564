"""The zip files that torch.save writes: checked once from end to end, then read part by part.

torch does not verify the checksums in its zip files, so they are verified here.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import ModelError, first_line

if TYPE_CHECKING:
    from pathlib import Path

ZIP_ERRORS = (
    *(zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, OverflowError, struct.error),
    zlib.error,
)
PICKLE = "/data.pkl"
_HEADER = 30  # bytes in front of the name of a part


@dataclass(frozen=True, slots=True)
class ZipPart:
    """Bytes of a file: `length` of them from `start` on."""

    start: int
    length: int


def zip_parts(path: Path) -> dict[str, ZipPart]:
    """Read a zip file once, hold it to its checksums, and say where its parts lie.

    Raises:
        ModelError: If it is damaged, or torch would not have written it so; does not name the file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_entries(entries, path.stat().st_size)
            if damaged := archive.testzip():
                raise ModelError(f"damaged checkpoint: wrong checksum in {_plain(damaged)}")
        with path.open("rb") as file:
            starts = []
            for entry in entries:
                file.seek(entry.header_offset + _HEADER - 4)
                starts.append(file.tell() + 4 + sum(struct.unpack("<HH", file.read(4))))
    except ZIP_ERRORS as error:
        raise ModelError(f"truncated or damaged checkpoint ({_plain(first_line(error))})") from None
    return {
        entry.filename: ZipPart(start, entry.file_size) for entry, start in zip(entries, starts, strict=True)
    }


def pickle_part(archive: zipfile.ZipFile) -> str | None:
    """Name the one pickle in an archive of torch, or None where there is another number of them."""
    names = [name for name in archive.namelist() if name.endswith(PICKLE)]
    return names[0] if len(names) == 1 else None


def read_zip_part(path: Path, part: ZipPart) -> bytearray:
    """Read the bytes of a part, or fewer where the file ends."""
    content = bytearray(part.length)
    with path.open("rb") as file:
        file.seek(part.start)
        del content[file.readinto(content) :]
    return content


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Keep out what overlaps, expands or hides behind another part's name."""
    if sum(entry.file_size for entry in entries) > size:
        raise ModelError("damaged checkpoint: its parts claim to be larger than the file")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ModelError("damaged checkpoint: two of its parts have one name")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            name = _plain(entry.filename)
            raise ModelError(f"refused: its part {name} is compressed, which torch.save does not do")


def _plain(text: str) -> str:
    """Give a text from a file as one that a terminal can show, cut short."""
    return repr(text[:100])[1:-1]
