"""Downloads end at their deadline for all answers of a server, and contact no private address by default."""

import io
import socket
import threading
import time

import pytest

from tseval.downloads import PRIVATE, DownloadError, download

WAYS = {
    "100 Continue for ever": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "headers for ever": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "one header for ever": (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "a body for ever": (b"HTTP/1.1 200 OK\r\n\r\n", b"z"),
    "nothing": (b"", b""),
    "redirections for ever": (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /again\r\n\r\n", b""),
}


class Slow:
    """A server that sends a first text and then another text at intervals; it counts requests."""

    def __init__(self, begin, again):
        self.begin, self.again, self.asked = begin, again, 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client = self.socket.accept()[0]
            except OSError:
                return
            self.asked += 1
            threading.Thread(target=self.answer, args=[client], daemon=True).start()

    def answer(self, client):
        try:
            client.recv(4096)
            client.sendall(self.begin)
            while self.again or not self.begin:
                client.sendall(self.again)
                time.sleep(0.01)
        except OSError:
            pass
        client.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}/file"


@pytest.fixture(params=WAYS)
def slow(request):
    server = Slow(*WAYS[request.param])
    yield server
    server.socket.close()


def test_a_download_ends_at_its_deadline_whatever_comes(slow, monkeypatch):
    monkeypatch.setenv(PRIVATE, "127.0.0.1")
    began = time.monotonic()
    with pytest.raises(DownloadError):
        download(slow.url, io.BytesIO(), 10**9, 2.0)
    assert time.monotonic() - began < 4
    assert slow.asked


HOSTS = (
    "127.0.0.1",
    "localhost",
    "10.1.2.3",
    "192.168.0.1",
    "169.254.169.254",
    "[::1]",
    "2130706433",
)


@pytest.mark.parametrize("host", HOSTS)
def test_no_private_address_is_asked_that_the_user_does_not_name(host, monkeypatch):
    monkeypatch.delenv(PRIVATE, raising=False)
    server = Slow(*WAYS["a body for ever"])
    with pytest.raises(DownloadError, match=r"private network|Name or service|not known|resolve"):
        download(f"http://{host}:{server.socket.getsockname()[1]}/", io.BytesIO(), 10, 2)
    assert server.asked == 0
    server.socket.close()
