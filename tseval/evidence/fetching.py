"""Evidence that lies elsewhere: fetched by its address, known by its digest, kept in the cache."""

from __future__ import annotations

import re
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tseval.errors import AwayError, EvidenceError
from tseval.files import cache_folder, read_bytes, write_whole

if TYPE_CHECKING:
    from http.client import HTTPMessage, HTTPResponse
    from pathlib import Path
    from typing import IO

LARGEST_EVIDENCE = 64 << 20  # bytes
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TIMEOUT = 30  # seconds without an answer
_LONGEST = 600  # seconds in all: who sends a byte now and then holds up everyone who checks the board
_THIS_MACHINE = {"localhost", "127.0.0.1"}
_OTHERWISE = "Where there is no network, bring the file by other means, as"


@dataclass(frozen=True, slots=True)
class EvidenceAddress:
    """Where evidence lies, and what it must be.

    Attributes:
        url: Its address.
        sha256: Digest of the file.
        bytes: Its size.
    """

    url: str
    sha256: str
    bytes: int


def check_address(url: str) -> None:
    """Refuse an address that anyone on the way could change what comes from.

    Raises:
        EvidenceError: It is no https address; http is for this machine alone.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    safe = (parts.scheme == "https" and bool(parts.hostname)) or (
        parts.scheme == "http" and parts.hostname in _THIS_MACHINE
    )
    if not safe or not url.isascii() or any(letter <= " " for letter in url):
        raise EvidenceError(f"{url!r:.200} is no https address")


def kept_evidence(digest: str) -> Path:
    """Name the file in the cache that holds the evidence of a digest."""
    return cache_folder() / "evidence" / f"{digest}.parquet"


def keep_evidence(content: bytes) -> Path:
    """Put evidence into the cache, where `fetch_evidence` finds it.

    Raises:
        OSError: It cannot be written.
    """
    place = kept_evidence(sha256(content).hexdigest())
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, content, shared=True)
    return place


def fetch_evidence(address: EvidenceAddress) -> bytes:
    """Give evidence from the cache, or else from its address.

    Raises:
        EvidenceError: It is larger than it says or may be, or has another digest.
        AwayError: It does not come.
    """
    if not 0 < address.bytes <= LARGEST_EVIDENCE:
        raise EvidenceError(f"of {address.bytes:,} bytes is not fetched: at most {LARGEST_EVIDENCE:,} are")
    if not _DIGEST.fullmatch(address.sha256):
        raise EvidenceError(f"has no SHA-256 digest, but {address.sha256!r:.80}")
    check_address(address.url)
    place = kept_evidence(address.sha256)
    with suppress(OSError):
        content = read_bytes(place)
        if sha256(content).hexdigest() == address.sha256:
            if len(content) != address.bytes:
                raise EvidenceError(
                    f"of that digest has {len(content):,} bytes, not the {address.bytes:,} that are said"
                )
            return content
    content = _download(address, place)
    found = sha256(content).hexdigest()
    if len(content) != address.bytes or found != address.sha256:
        size = f"more than {address.bytes:,}" if len(content) > address.bytes else f"{len(content):,}"
        raise EvidenceError(
            f"at {address.url} is not that of the entry: it has {size} bytes and the digest {found[:12]}, "
            f"not {address.bytes:,} and {address.sha256[:12]}"
        )
    with suppress(OSError):  # without a cache it comes again the next time
        keep_evidence(content)
    return content


def _download(address: EvidenceAddress, place: Path) -> bytes:
    """Read no more than one byte beyond what is announced."""
    opener = urllib.request.build_opener(_SafeRedirects)
    try:
        with opener.open(address.url, timeout=_TIMEOUT) as answer:
            content = _read(answer, address.bytes + 1, time.monotonic() + _LONGEST)
    except (OSError, ValueError, HTTPException) as error:
        why = getattr(error, "reason", None) or error
        raise AwayError(
            f"evidence cannot be had from {address.url} ({why}).\n"
            f"  Where there is no network, bring the file by other means, as {place}"
        ) from None
    return content


def _read(answer: HTTPResponse, most: int, deadline: float) -> bytes:
    """Read as it comes, up to so many bytes.

    Raises:
        OSError: It does not end in time.
    """
    content = bytearray()
    while part := answer.read1(most - len(content)):
        content += part
        if time.monotonic() > deadline:
            raise TimeoutError(f"it does not end in {_LONGEST} seconds")
        if len(content) >= most:
            break
    return bytes(content)


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows to no address that would not be asked in the first place."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        try:
            check_address(newurl)
        except EvidenceError as error:
            raise ValueError(f"it leads on, but {error}") from None
        return super().redirect_request(req, fp, code, msg, headers, newurl)
