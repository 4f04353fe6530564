"""Files: read within size limits, written atomically, and locked; also tseval's cache and data folders.

Input files come from others, so everything in them that could grow without end has a limit.

Input over a limit is refused, with a message that names the limit and how to raise it. To raise limits, set
the environment variable `TSEVAL_LIMITS`, for example to `rows=50M,file_bytes=8G`. It holds for every command
and for Python, and is read again whenever a file is read. K, M and G mean 10**3, 10**6 and 10**9.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import sys
import time
import warnings
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

from tseval.errors import LimitError, RunError, TsevalError, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Content = bytes | memoryview | Callable[[IO[bytes]], object]


VARIABLE = "TSEVAL_LIMITS"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_NUMBER = re.compile(r"([0-9]{1,15})([KMG]?)")


@dataclass(frozen=True, slots=True)
class Limits:
    """The size limits of input; docs/reliability.md documents them for users."""

    file_bytes: int = 10**9  # of a data file (suites, treebanks, tables of examples), on disk and unpacked
    rows: int = 3 * 10**6  # lines of a data file; sentences of a treebank
    line_chars: int = 16 * 10**6  # of one line of a data file or text
    document_bytes: int = 16 * 10**6  # of a file that is read in one piece: JSON, vocabularies
    grammar_bytes: int = 1 << 20  # of a grammar, a lexicon or a recipe
    text_bytes: int = 64 * 10**9  # of a training text or a text to parse, on disk and unpacked
    ratio: int = 1000  # largest factor by which a compressed file may grow when unpacked
    depth: int = 100  # of nested lists and mappings in JSON data
    sentence_chars: int = 50_000  # of a sentence to score or from a data set, or of a line to parse
    sentence_words: int = 10_000  # words (and comment lines) of a sentence in a treebank
    columns: int = 2_000  # of a table, or keys of one data record
    sheet_bytes: int = 200 * 10**6  # of an Excel sheet, unpacked
    aliases: int = 100  # earlier names of one entry of a board
    trial_seconds: int = 20  # for trying out a tokenizer or a chat template
    trial_bytes: int = 15 * 10**8  # memory for a trial; a tokenizer of 260,000 pieces needs less than 10**9
    download_seconds: int = 50  # for a download, from the connection to its last byte
    answer_bytes: int = 10**6  # of a server's answer


def limits() -> Limits:
    """Return the current limits; raise a LimitError if `TSEVAL_LIMITS` is invalid."""
    return _parsed(os.environ.get(VARIABLE, ""))


def beyond(limit: str, where: Path | str, excess: str) -> LimitError:
    """Make the error for exceeding a limit, with how to raise it.

    `excess` says what is too large, without the limit: `the file has too many lines`.
    """
    return LimitError(f"{where}: {excess} (limit: {getattr(limits(), limit):,}).\n  {how_to_raise(limit)}")


def how_to_raise(limit: str) -> str:
    """Return the sentence that says how to raise a limit, for the second line of a message.

    >>> how_to_raise("rows")
    'If you need more, raise the limit: set TSEVAL_LIMITS=rows=6M in the environment.'
    """
    raised = _written(2 * getattr(limits(), limit))
    return f"If you need more, raise the limit: set {VARIABLE}={limit}={raised} in the environment."


@lru_cache(maxsize=8)
def _parsed(text: str) -> Limits:
    names = {field.name for field in fields(Limits)}
    raised: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = part.partition("=")
        if name not in names:
            raise LimitError(
                f"{VARIABLE}: tseval has no limit with the name {name!r}.\n  {suggest(name, names, 'Limits')}"
            )
        match = _NUMBER.fullmatch(number)
        if match is None:
            raise LimitError(
                f"{VARIABLE}: {name} should be a whole number, which may end in K, M or G, not "
                f"{number!r}.\n"
                f"  Write for example {VARIABLE}=rows=50M,file_bytes=8G."
            )
        raised[name] = int(match[1]) * _UNITS[match[2]]
    return Limits(**raised)


def _written(number: int) -> str:
    """Write a number in the syntax of the variable.

    >>> _written(2_000_000_000), _written(2_097_152)
    ('2G', '2097152')
    """
    unit = next(unit for unit in ("G", "M", "K", "") if number % _UNITS[unit] == 0)
    return f"{number // _UNITS[unit]}{unit}"


PARTIAL = ".partial"
_BLOCK = 1 << 20
_PACKED_BLOCKS = 1 << 6, 1 << 14


def file_sha256(path: Path) -> str:
    """Hash the bytes of a file."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file to read its bytes (see `refuse_irregular`).

    Raises:
        OSError: The file cannot be opened, or is no regular file; the error names `path`.
    """
    if os.path.isdir(path):  # the same error as the system's
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    refuse_irregular(path)  # before opening: opening a device can have side effects
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        refuse_irregular(path, os.fstat(file.fileno()))  # again: the file may have been replaced in between
    except OSError:
        file.close()
        raise
    return file


def refuse_irregular(path: Path, status: os.stat_result | None = None) -> None:
    """Refuse anything but a regular file: a pipe could block, and a device may never end. Links are followed.

    Raises:
        OSError: The path is not a regular file, does not exist, or is not accessible.
    """
    mode = (status or path.stat()).st_mode
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
        kind = next((name for is_kind, name in kinds if is_kind(mode)), "a device")
        raise OSError(errno.EINVAL, f"It is {kind}, not a regular file", str(path))


def read_bytes(path: Path, limit: str = "file_bytes") -> bytes:
    """Read a whole file, unpacked if its name ends in `.gz`.

    Raises:
        LimitError: The file has more bytes than the limit with the name `limit`.
        OSError, EOFError, zlib.error: The file cannot be read.
    """
    with open_limited(path, limit) as file:
        return b"".join(iter(lambda: file.read(_BLOCK), b""))


def open_limited(path: Path, limit: str = "file_bytes") -> io.BufferedReader:
    """Open a file like `read_bytes`, but to be read piece by piece."""
    file = open_regular(path)
    if os.fstat(file.fileno()).st_size > getattr(limits(), limit):
        file.close()
        raise beyond(limit, path, "the file has too many bytes")
    return io.BufferedReader(_Limited(file, path, limit), _BLOCK)


class _Limited(io.RawIOBase):
    """A stream of a file's bytes, up to a limit, unpacked for `.gz`. Closing it closes the file."""

    def __init__(self, file: io.BufferedReader, path: Path, limit: str) -> None:
        self._file, self._path = file, path
        self._limit, self._most, self._ratio = limit, getattr(limits(), limit), limits().ratio
        self._given = 0
        self._packed = _Packed(file) if path.suffix == ".gz" else None
        self._source: io.BufferedIOBase = file
        if self._packed:
            self._source = gzip.GzipFile(fileobj=self._packed)  # type: ignore[call-overload] # it is only read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override] # that is what it gets
        count = self._source.readinto(buffer)
        self._given += count
        if self._given > self._most:
            raise beyond(self._limit, self._path, "the file has too many bytes")
        if self._packed and self._given > self._ratio * self._packed.taken:
            raise beyond(
                "ratio", self._path, "unpacking multiplies the size of the file by too large a factor"
            )
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class _Packed:
    """A stream of a compressed file's bytes, which counts the bytes that were read.

    Each read returns at most a 64th of all bytes so far, so that excessive unpacking is noticed early.
    """

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.taken = 0

    def read(self, size: int) -> bytes:
        smallest, largest = _PACKED_BLOCKS
        content = self._file.read(min(size, largest, max(smallest, self.taken // 64)))
        self.taken += len(content)
        return content


def bounded_lines(text: TextIO, path: Path | str, rows: bool = True) -> Iterator[str]:
    """Yield the lines of an open text, with a limit on their length and, with `rows`, on their number."""
    longest, most = limits().line_chars, limits().rows if rows else sys.maxsize
    for number, line in enumerate(iter(partial(text.readline, longest + 1), ""), 1):
        if len(line) > longest:
            raise beyond("line_chars", f"{path}:{number}", "the line has too many characters")
        if number > most:
            raise beyond("rows", path, "the file has too many lines")
        yield line.removeprefix("\ufeff") if number == 1 else line  # a byte order mark belongs to no word


def write_whole(path: Path, content: Content, shared: bool = False) -> None:
    """Write a file atomically: other processes see the old or the new file, even after a power cut.

    The content is written to a partial file in the same folder and moved into place, with the permissions of
    the file that it replaces. If a killed process left a partial file behind, the next attempt overwrites or
    removes it. If others may write the same file at once (`shared`), each process has its own partial file.

    Raises:
        OSError: Nothing was written, and no partial file is left; the error names `path`.
    """
    suffix = f".{os.getpid()}" if shared else ""
    partial = path.with_name(f"{path.name}{suffix}{PARTIAL}")
    try:
        with _naming(path), _claimed(path, partial) if shared else nullcontext():
            with partial.open("wb") as file:
                _put(content, file)
                file.flush()
                os.fsync(file.fileno())
            with suppress(OSError):
                shutil.copymode(path, partial)
            partial.replace(path)
            sync_directory(path.parent)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


@contextmanager
def _claimed(path: Path, partial: Path) -> Iterator[None]:
    """Lock this process's partial file, and remove partial files that killed processes left behind."""
    if os.name != "posix":  # an open file cannot be moved
        yield
        return
    pattern = re.compile(rf"{re.escape(path.name)}\.\d+{re.escape(PARTIAL)}")
    with suppress(OSError):
        for leftover in [entry for entry in path.parent.iterdir() if pattern.fullmatch(entry.name)]:
            if (lock := take_lock(leftover)) is not None:
                remove_lock(leftover, lock)
    while (lock := take_lock(partial)) is None:  # another process is testing whether its owner was killed
        time.sleep(0.01)
    try:
        yield
    finally:
        os.close(lock)


def write_output(path: Path, content: Content) -> None:
    """Write a file that a user named, atomically. Links are followed; pipes and devices are written into.

    Raises:
        OSError: The file cannot be written; the error names `path`.
    """
    with _naming(path):
        if _is_stream(path):
            with path.open("wb") as file:
                _put(content, file)
        else:
            write_whole(Path(os.path.realpath(path)), content, shared=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file that a user named; raise a RunError if it cannot be written."""
    try:
        write_output(path, to_utf8(text))
    except OSError as error:
        fix = f"\n  Make the folder {path.parent} first." if isinstance(error, FileNotFoundError) else ""
        raise RunError(f"{path} cannot be written: {error.strerror or error}.{fix}") from None


def to_utf8(text: str) -> bytes:
    """Encode a text as UTF-8. Lone surrogates become question marks."""
    return text.encode(errors="replace")


def cache_folder() -> Path:
    """Return the cache folder: `$XDG_CACHE_HOME/tseval` or `~/.cache/tseval` on Linux."""
    from platformdirs import user_cache_path  # noqa: PLC0415 - most commands need no folder

    return user_cache_path("tseval", appauthor=False)


def data_folder() -> Path:
    """Return the folder of downloaded data: `$XDG_DATA_HOME/tseval` or `~/.local/share/tseval` on Linux."""
    from platformdirs import user_data_path  # noqa: PLC0415 - most commands need no folder

    return user_data_path("tseval", appauthor=False)


def take_lock(path: Path) -> int | None:
    """Lock a file, and create it if it is missing. The system releases the lock when the process ends.

    Returns:
        The open file, or None if another process holds the lock. The lock holds until the file is closed,
        in this process and in the processes that inherited it.
    """
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _lock(lock):
            os.close(lock)
            return None
        # Another process may have removed the file between our opening and locking it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(path)):
                return lock
        os.close(lock)


def _lock(file: int) -> bool:
    """Lock an open file; return False if it is locked already. On systems without locks, return True."""
    with warnings.catch_warnings(action="ignore"):  # filelock warns on systems without locks
        from filelock import lock_descriptor  # noqa: PLC0415 - slow to import, and tables need no lock
    try:
        return lock_descriptor(file, blocking=False)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            return True
        raise


@contextmanager
def locked(path: Path, taken: TsevalError) -> Iterator[None]:
    """Hold a lock during a with block; raise `taken` if another process holds it."""
    if (lock := take_lock(path)) is None:
        raise taken
    try:
        yield
    finally:
        remove_lock(path, lock)


def remove_lock(path: Path, held: int) -> None:
    """Release a lock and remove its file."""
    if os.name == "posix":  # remove first: after the release, the file may be another process's lock
        path.unlink(missing_ok=True)
        os.close(held)
    else:  # an open file cannot be removed here; fails if another process has locked it again
        os.close(held)
        with suppress(OSError):
            path.unlink()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Make system errors name the path that the caller gave."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _put(content: Content, file: IO[bytes]) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content)


def _is_stream(path: Path) -> bool:
    """Return whether a path must be written into, not replaced: a pipe, a device or an open file's name."""
    link = path
    # Under /dev and /proc, a name such as /dev/stdout may be an alias of an open file.
    for _ in range(40):  # the number of links that Linux follows
        if os.path.abspath(link).startswith(("/dev/", "/proc/")):
            return True
        if not link.is_symlink():
            break
        link = link.parent / link.readlink()
    return path.exists() and not path.is_file()


def sync_directory(path: Path) -> None:
    """Make renames in a directory durable, on systems that can open directories."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
