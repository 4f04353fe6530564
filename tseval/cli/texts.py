"""Read the text of a command from a file, plain or compressed, or from standard input."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import TextIO

from tseval.errors import SuiteError, reason
from tseval.files import bounded_lines, open_limited


def read_open_text(file: TextIO) -> str:
    """Read the text of an open file, plain or gzip-compressed, or of standard input."""
    name, unpacked = file.name, None
    try:
        if name.endswith(".gz"):
            unpacked = io.TextIOWrapper(open_limited(Path(name), "text_bytes"), "utf-8")
        return "".join(bounded_lines(unpacked or file, name))
    except UnicodeDecodeError as error:
        raise SuiteError(
            f"{name}: this file is not UTF-8 text ({error.reason} at byte {error.start}).\n"
            "  Save the file in the encoding UTF-8."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise SuiteError(
            f"{name}: tseval cannot read this file ({reason(error)}).\n"
            "  Check that the file exists, is complete, and may be read by you."
        ) from None
