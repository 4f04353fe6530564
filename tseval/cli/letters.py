"""Letters that a terminal or a pipe has no code for, as the nearest that it has."""

from __future__ import annotations

import codecs
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import io

NEAREST = {
    **dict.fromkeys("–—−━╸╺", "-"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("█▉▊▋▌", "#"),  # bars, to the nearest whole letter
    **dict.fromkeys("▍▎▏", " "),
    "…": "...",
    "±": "+/-",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
}
HANDLER = "nearest"


def nearest(letter: str) -> str:
    """Give what stands for a letter in ASCII: its like, the letter without its accents, or a question mark.

    >>> print("".join(map(nearest, "–é…日")))
    -e...?
    """
    plain = NEAREST.get(letter) or unicodedata.normalize("NFKD", letter)
    return plain.encode("ascii", "ignore").decode() or "?"


def give_nearest(stream: io.TextIOWrapper) -> None:
    """Have a stream write the nearest letters where it lacks those that are written."""
    ascii_alone = codecs.lookup(stream.encoding).name == "ascii"
    stream.reconfigure(encoding=_ASCII.name if ascii_alone else None, errors=HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(nearest, error.object[error.start : error.end])), error.end


def _find(name: str) -> codecs.CodecInfo | None:
    return _ASCII if name == _ASCII.name else None


# click takes a stream in ASCII for a mistake and writes UTF-8 there, unless ASCII has another name.
_ASCII = codecs.CodecInfo(
    name="nearest_ascii",
    encode=codecs.ascii_encode,
    decode=codecs.ascii_decode,
    incrementalencoder=codecs.lookup("ascii").incrementalencoder,
    incrementaldecoder=codecs.lookup("ascii").incrementaldecoder,
)
codecs.register(_find)
codecs.register_error(HANDLER, _replace)
