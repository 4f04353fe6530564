"""Downloads from public addresses within one deadline.

The server may be chosen by a stranger. It may send a byte now and then, or endless headers, so the whole
download has a deadline. An address in the user's own network may give access to internal services.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
import urllib.request
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import IO, TYPE_CHECKING, Any

from tseval.files import how_to_raise

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message
    from http.client import HTTPMessage, HTTPResponse


PRIVATE = "TSEVAL_PRIVATE_HOSTS"  # variable with allowed hosts of the user's network, separated by commas
ANSWER_SECONDS = 30  # longest time without a byte
_BLOCK = 1 << 16


class DownloadError(Exception):
    """The reason why a download failed."""


def download(
    url: str,
    into: IO[bytes],
    most: int,
    seconds: float,
    check: Callable[[str], object] | None = None,
    is_ours: bool = False,
) -> None:
    """Download an address into a file, at most `most` bytes.

    Args:
        url: The address.
        into: The file.
        most: Number of bytes to read; the rest is ignored.
        seconds: Deadline for the whole download, from the connection on.
        check: Called with the address of each redirection; raises a ValueError to refuse it.
        is_ours: Whether the address comes from tseval's code. Such an address may be private.

    Raises:
        DownloadError: The download failed or was too slow, or the address is in a private network.
    """
    work = _Download(url, into, most, check, is_ours)
    work.start()
    work.join(seconds)
    if work.is_alive():
        work.give_up()
        raise DownloadError(
            f"the download was stopped, because it took more than {seconds:.0f} seconds. "
            f"{how_to_raise('download_seconds')}"
        )
    if work.failure is not None:
        raise work.failure


class _Download(threading.Thread):
    """A download in a thread that can be abandoned, because a name look-up has no time limit."""

    def __init__(
        self, url: str, into: IO[bytes], most: int, check: Callable[[str], object] | None, is_ours: bool
    ) -> None:
        super().__init__(daemon=True)
        self.failure: DownloadError | None = None
        self._url, self._into, self._most, self._check = url, into, most, check
        self._sockets: list[socket.socket] = []
        self._is_guarded = not is_ours
        self._given_up = False

    def run(self) -> None:
        guard = self._sockets, self._is_guarded
        handlers = _Http(*guard), _Https(*guard), _Redirects(self._check)
        try:
            opener = urllib.request.build_opener(*handlers)
            with opener.open(self._url, timeout=ANSWER_SECONDS) as answer:
                remaining = self._most
                while remaining > 0 and (part := answer.read1(min(remaining, _BLOCK))) and not self._given_up:
                    self._into.write(part)
                    remaining -= len(part)
        except (OSError, ValueError, HTTPException) as error:
            self.failure = DownloadError(str(getattr(error, "reason", None) or error))

    def give_up(self) -> None:
        """Close the connection, so that the thread ends."""
        self._given_up = True
        for connection in self._sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _connect(held: list[socket.socket], guarded: bool) -> Callable[..., socket.socket]:
    """Return a function that connects to the checked address; a second look-up could return another."""

    def connect(address: tuple[str, int], timeout: Any = None, source: Any = None) -> socket.socket:
        host, port = address
        if guarded:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            _refuse_private(host, [str(place[4][0]) for place in addresses])
            host = str(addresses[0][4][0])
        held.append(socket.create_connection((host, port), timeout, source))
        return held[-1]

    return connect


def _refuse_private(host: str, addresses: list[str]) -> None:
    """Refuse a host of this machine or of a private network, unless the user allows it in `PRIVATE`.

    Raises:
        ValueError: The host is one of these.
    """
    if host in {name.strip() for name in os.environ.get(PRIVATE, "").split(",")}:
        return
    for address in addresses:
        if not ipaddress.ip_address(address.partition("%")[0]).is_global:
            raise ValueError(
                f"{host} is an address of this machine or of a private network, which tseval does not "
                f"open. To allow it, set {PRIVATE}={host} in the environment"
            )


def _opened(kind: type[HTTPConnection], held: list[socket.socket], guarded: bool) -> Callable[..., Any]:
    def make(*arguments: Any, **keywords: Any) -> HTTPConnection:
        connection: Any = kind(*arguments, **keywords)
        connection._create_connection = _connect(held, guarded)
        return connection  # type: ignore[no-any-return]

    return make


def _is_direct(request: urllib.request.Request) -> bool:
    """Return whether the request uses no proxy; with a proxy, the only connection is to the proxy."""
    return not request.has_proxy() and not getattr(request, "_tunnel_host", None)


class _Http(urllib.request.HTTPHandler):
    def __init__(self, held: list[socket.socket], guarded: bool) -> None:
        super().__init__()
        self._held, self._guarded = held, guarded

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_opened(HTTPConnection, self._held, self._guarded and _is_direct(req)), req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, held: list[socket.socket], guarded: bool) -> None:
        super().__init__()
        self._held, self._guarded = held, guarded

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_opened(HTTPSConnection, self._held, self._guarded and _is_direct(req)), req)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """A handler that checks the address of each redirection before it follows it."""

    def __init__(self, check: Callable[[str], object] | None) -> None:
        self._check = check

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage | Message,
        newurl: str,
    ) -> urllib.request.Request | None:  # fmt: skip
        if self._check is not None:
            self._check(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
