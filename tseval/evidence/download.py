"""Evidence at an address: downloaded, checked against its digest, and cached."""

from __future__ import annotations

import io
import re
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tseval.downloads import DownloadError, download
from tseval.errors import AwayError, EvidenceError
from tseval.files import cache_folder, limits, read_bytes, write_whole

if TYPE_CHECKING:
    from pathlib import Path


LARGEST_EVIDENCE = 64 << 20  # bytes
_DIGEST = re.compile(r"[0-9a-f]{64}")
_THIS_MACHINE = {"localhost", "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class EvidenceAddress:
    """The address, digest and size of evidence."""

    url: str
    sha256: str
    bytes: int


def check_address(url: str) -> None:
    """Raise an error for an address whose content others could change during the download.

    Raises:
        EvidenceError: The address is not https. http is allowed only for this machine.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    safe = (parts.scheme == "https" and bool(parts.hostname)) or (
        parts.scheme == "http" and parts.hostname in _THIS_MACHINE
    )
    if not safe or not url.isascii() or any(letter <= " " for letter in url):
        raise EvidenceError(
            f"the evidence has the address {url!r:.200}, which is not a valid https:// address"
        )


def stored_evidence(digest: str) -> Path:
    """Return the path in the cache of the evidence with this digest."""
    return cache_folder() / "evidence" / f"{digest}.parquet"


def keep_evidence(content: bytes) -> Path:
    """Put evidence into the cache of `fetch_evidence`."""
    path = stored_evidence(sha256(content).hexdigest())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content, shared=True)
    return path


def fetch_evidence(address: EvidenceAddress) -> bytes:
    """Return evidence from the cache, or else from its address.

    Raises:
        EvidenceError: It is larger than stated or allowed, or has another digest.
        AwayError: It cannot be downloaded.
    """
    if not 0 < address.bytes <= LARGEST_EVIDENCE:
        raise EvidenceError(
            f"the evidence has {address.bytes:,} bytes, but tseval downloads from 1 to {LARGEST_EVIDENCE:,} "
            "bytes"
        )
    if not _DIGEST.fullmatch(address.sha256):
        raise EvidenceError(
            f"the evidence has {address.sha256!r:.80} under the key `sha256`, which is not a SHA-256 digest"
        )
    check_address(address.url)
    path = stored_evidence(address.sha256)
    with suppress(OSError):
        content = read_bytes(path)
        if sha256(content).hexdigest() == address.sha256:
            if len(content) != address.bytes:
                raise EvidenceError(
                    f"the evidence has the digest that the entry states, but it has {len(content):,} bytes, "
                    f"and the entry states {address.bytes:,} bytes"
                )
            return content
    content = _download(address, path)
    digest = sha256(content).hexdigest()
    if len(content) != address.bytes or digest != address.sha256:
        size = f"more than {address.bytes:,}" if len(content) > address.bytes else f"{len(content):,}"
        raise EvidenceError(
            f"the file at {address.url} is not the evidence of the entry: it has {size} bytes and the digest "
            f"{digest[:12]}, but the entry states {address.bytes:,} bytes and the digest "
            f"{address.sha256[:12]}"
        )
    with suppress(OSError):  # without a cache, the next call downloads it again
        keep_evidence(content)
    return content


def _download(address: EvidenceAddress, path: Path) -> bytes:
    """Download at most one byte more than the stated size."""
    content = io.BytesIO()
    try:
        download(address.url, content, address.bytes + 1, limits().download_seconds, _check_redirection)
    except DownloadError as error:
        raise AwayError(
            f"tseval cannot download the evidence from {address.url} ({error}).\n"
            f"  If this machine has no network, copy the file from another machine to {path}"
        ) from None
    return content.getvalue()


def _check_redirection(url: str) -> None:
    """Raise an error for a redirection to an address that an entry may not have."""
    try:
        check_address(url)
    except EvidenceError as error:
        raise ValueError(f"the server redirects, but {error}") from None
