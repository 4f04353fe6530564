"""Zip files that lie: about names, sizes, places, or how much there is in them."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from typing import TYPE_CHECKING

from attacks.changed import expected_of
from attacks.commands import tseval
from attacks.pickles import PLANTED
from attacks.prepared import PAIR
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

Members = list[tuple[str, bytes]]
_CENTRAL, _END = b"PK\x01\x02", b"PK\x05\x06"
NAMES = (
    f"../{PLANTED}",
    f"/../{PLANTED}",
    f"a/../../{PLANTED}",
    "\x1b]0;x\x07",
    "x" * 60_000,
    "",
    "a\\..\\b",
    "\ud7ff",
    "data.pkl/",
)


def _written(members: Members, packed: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(buffer, "w", packed) as archive,
    ):  # of one name twice
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, packed)
    return buffer.getvalue()


def _names(draw: random.Random, members: Members) -> bytes:
    """Add a part with a hostile name, or give one to a part."""
    name, place = draw.choice(NAMES), draw.randrange(len(members))
    if draw.random() < 0.5:
        return _written([*members[:place], (name, b"x"), *members[place:]])
    return _written([(name if i == place else old, content) for i, (old, content) in enumerate(members)])


def _repeated(draw: random.Random, members: Members) -> bytes:
    """Have a part twice, the second time with other bytes."""
    name, content = draw.choice(members)
    return _written([*members, (name, draw.randbytes(len(content)))])


def _packed(draw: random.Random, members: Members) -> bytes:
    """Compress the parts, of which one is then mostly zeros."""
    place, size = draw.randrange(len(members)), int(2 ** draw.uniform(10, 27))
    bomb = [
        (name, content + bytes(size) if i == place else content) for i, (name, content) in enumerate(members)
    ]
    return _written(
        bomb,
        draw.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
        if size < 2**22
        else zipfile.ZIP_DEFLATED,
    )


def _many(draw: random.Random, members: Members) -> bytes:
    """Have thousands of parts more."""
    return _written([*members, *((f"archive/more/{i}", b"") for i in range(draw.randrange(20_000)))])


def _lying(draw: random.Random, members: Members) -> bytes:
    """Overwrite a number in the list of parts: sizes, checksum, flags, lengths of names, place, how many."""
    content = bytearray(_written(members))
    starts = [i for i in range(len(content)) if content[i : i + 4] == _CENTRAL]
    start, (offset, form) = draw.choice(starts), draw.choice([
        (8, "<H"), (10, "<H"), (16, "<I"), (20, "<I"), (24, "<I"), (28, "<H"), (30, "<H"), (38, "<I"), (42,
        "<I"),
    ])  # fmt: skip
    if draw.random() < 0.2:
        start, offset, form = (
            content.rindex(_END),
            *draw.choice([(8, "<H"), (10, "<H"), (12, "<I"), (16, "<I")]),
        )
    most = 256 ** struct.calcsize(form) - 1
    struct.pack_into(
        form,
        content,
        start + offset,
        draw.choice([0, 1, most, most // 2 + 1, draw.randint(0, most), draw.randint(0, 500) % most]),
    )
    return bytes(content)


def _overlapping(draw: random.Random, members: Members) -> bytes:
    """Let one entry of the list lead to the bytes of another."""
    content = bytearray(_written(members))
    starts = [i for i in range(len(content)) if content[i : i + 4] == _CENTRAL]
    one, other = draw.sample(starts, 2)
    content[one + 42 : one + 46] = content[other + 42 : other + 46]
    if draw.random() < 0.5:
        content[one + 16 : one + 28] = content[other + 16 : other + 28]
    return bytes(content)


def _surrounded(draw: random.Random, members: Members) -> bytes:
    """Put something before or behind, or another archive."""
    whole, junk = _written(members), draw.randbytes(draw.randrange(1, 1000))
    other = _written([(name, draw.randbytes(len(content))) for name, content in members])
    return draw.choice(
        [junk + whole, whole + junk, b"PK" + whole, whole + other, other + whole, whole + whole]
    )


WAYS: tuple[Callable[[random.Random, Members], bytes], ...] = (
    _names, _repeated, _packed, _many, _lying, _lying, _overlapping, _surrounded,
)  # fmt: skip


@attack("hostile archives", cheap=True)
def hostile_archive(draw: random.Random, here: Path) -> str | None:
    """Change the archive of a checkpoint or of a published model: the same numbers, or a refusal."""
    words = draw.choice([(*PAIR, "model.pt"), (*PAIR, "published.pt", "--model-args", "vocab=words.txt")])
    file = here / words[len(PAIR)]
    expected = expected_of(here, words)
    with zipfile.ZipFile(file) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    file.write_bytes(draw.choice(WAYS)(draw, members))
    done = tseval(*words, cwd=here)
    if any(path.name == PLANTED for path in (*here.parent.rglob(PLANTED), *here.parent.parent.glob(PLANTED))):
        return "a file appeared"
    if done.code == 0 and done.out != expected.out:
        return "silently other numbers"
    return done.fault()
