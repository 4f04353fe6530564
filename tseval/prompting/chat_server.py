"""Requests to a server with the API of chat completions, with retries and protection of the key.

The key is read from the environment and used only in a header. It is removed from everything that a server
sends back.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import uniform
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tseval.errors import LimitError, ModelError, counted, first_line, plain, quoted_text
from tseval.files import how_to_raise, limits
from tseval.formats import parse_json

try:
    import httpx
except ImportError:
    raise ModelError(
        'models behind a server need the package httpx. Install it: pip install "tseval[prompt]"'
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Future

    from tseval.formats import Json


PATH = "/chat/completions"
FIRST_WAIT, LONGEST_WAIT = 0.25, 60.0  # seconds before a request is repeated; doubled each time
LONGEST_ASKED_WAIT = 600.0  # longest wait, in seconds, that a server may request
QUOTED = 160  # characters of a server's message
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_TOO_EARLY = {408, 409, 425, 429}  # status codes that are tried again, in addition to those from 500 on


def check_url(url: str) -> str:
    """Return the address for requests; refuse addresses that are invalid or might contain a key."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_address = urlsplit(""), False
    if not is_address or not url.isascii() or any(letter <= " " for letter in url):
        raise ModelError(
            f"prompt:{url!r:.80} is not the address of a server.\n"
            "  Write for example --model prompt:http://localhost:8000/v1 --model-args model=NAME"
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ModelError(
            f"the address of the server {parts.hostname} has a user name, a password, a query (?...) or a "
            "fragment (#...). These parts could hold a key.\n  Write only host and path in the address. "
            "Name the environment variable with the key: --model-args key_from=VARIABLE"
        )
    path = parts.path.rstrip("/").removesuffix(PATH) or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}{PATH}"


def read_key(variable: str | None) -> str | None:
    """Read the key from an environment variable; a value that is not a name may be a key and is not shown."""
    if variable is None:
        return None
    if not _VARIABLE.fullmatch(variable):
        raise ModelError(
            "--model-args key_from: the value is not the name of an environment variable.\n"
            "  Put the key into a variable, such as API_KEY, and write key_from=API_KEY"
        )
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelError(
            f"--model-args key_from={variable}: the environment variable {variable} is not set.\n"
            f"  Set it to the key of the server: export {variable}=..."
        )
    if not key.isascii() or not key.isprintable():
        raise ModelError(
            f"the environment variable {variable} does not hold a key: it has characters that no header may "
            f"have.\n  Set it to the key of the server: export {variable}=..."
        )
    return key


def refuse_open_key(url: str, key: str | None) -> None:
    """Refuse to send a key without encryption over a public network."""
    host = urlsplit(url).hostname or ""
    is_near = host in {"localhost", "::1"} or host.startswith(("127.", "10.", "192.168.")) or "." not in host
    if key is not None and url.startswith("http://") and not is_near:
        raise ModelError(
            f"{host}: the key would be sent without encryption.\n  Write https:// instead of http://"
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's reply: the text, the alternatives of its first token, the server's model, and the day."""

    text: str
    alternatives: tuple[tuple[str, float], ...] | None
    model: str | None
    date: str


class _Fault(Exception):  # noqa: N818 - no error of ours: another attempt may succeed
    """A failed request."""

    def __init__(self, problem: str, *, again: bool, wait: float | None = None, advice: str = "") -> None:
        super().__init__(problem)
        self.again, self.wait, self.advice = again, wait, advice


class ChatServer:
    """A connection to a server for parallel requests, used in a with block; failed requests are repeated.

    Requests run in an event loop in a separate thread. Each attempt has one deadline, so that a server that
    sends a byte now and then cannot block it.

    Args:
        url: Address from `check_url`.
        key: Key for the header, or None.
        timeout: Seconds for one attempt.
        retries: Number of repetitions of a request.
        parallel: Number of open connections.
    """

    def __init__(self, url: str, key: str | None, *, timeout: float, retries: int, parallel: int) -> None:
        self.url, self.timeout, self.retries = url, timeout, retries
        self._key, self._parallel = key, parallel

    def __enter__(self) -> ChatServer:
        """Start the loop."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._stopped, self._not_before = asyncio.Event(), 0.0
        authorization = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        sizes = httpx.Limits(max_connections=self._parallel, max_keepalive_connections=self._parallel)
        self._client = httpx.AsyncClient(
            headers={"User-Agent": "tseval", **authorization}, timeout=self.timeout, limits=sizes
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel pending requests, and stop the loop."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()

    def send(self, body: Mapping[str, Json]) -> Future[Reply]:
        """Start to send a request, and return the future reply.

        The future raises a ModelError if the server refuses the request, or fails too often.
        """
        return asyncio.run_coroutine_threadsafe(self._ask(body), self._loop)

    def stop(self) -> None:
        """Stop repeating requests: those that wait for another attempt fail."""
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _ask(self, body: Mapping[str, Json]) -> Reply:
        attempt = 0
        while True:
            await self._sleep(self._not_before - time.monotonic())
            try:
                return await self._once(body)
            except _Fault as fault:
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * uniform(0.75, 1.25)  # noqa: S311 - no secret
                wait = wait if fault.wait is None else fault.wait
                is_last = attempt >= self.retries or wait > LONGEST_ASKED_WAIT or self._stopped.is_set()
                if not fault.again or is_last:
                    raise self._given_up(fault, attempt) from None
                if fault.wait is not None:  # it applies to all requests
                    self._not_before = max(self._not_before, time.monotonic() + wait)
            attempt += 1
            await self._sleep(wait)

    async def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), seconds)

    def _given_up(self, fault: _Fault, attempt: int) -> ModelError:
        times = f", {counted(attempt + 1, 'attempt')}" if attempt else ""
        advice = fault.advice or "Answers so far are saved. Repeat the command later, with --resume."
        return ModelError(f"{self.url}: {fault}{times}.\n  {advice}")

    async def _once(self, body: Mapping[str, Json]) -> Reply:
        with _faults(self.timeout):
            async with (
                asyncio.timeout(self.timeout),
                self._client.stream("POST", self.url, json=body) as response,
            ):
                content = await self._read(response)
        if response.status_code != 200:
            raise self._refused(response, content)
        return self._reply(content, response.headers.get("date"))

    async def _read(self, response: httpx.Response) -> bytes:
        """Read a reply, up to the limit on its size."""
        most, content = limits().answer_bytes, bytearray()
        async for block in response.aiter_bytes():
            content += block
            if len(content) > most:
                raise LimitError(
                    f"{self.url}: the server sent an answer of more than {most:,} bytes.\n"
                    f"  Check the address of the server. {how_to_raise('answer_bytes')}"
                )
        return bytes(content)

    def _refused(self, response: httpx.Response, content: bytes) -> _Fault:
        code = response.status_code
        problem = f"the server answered with the status {code}{self._quoted(content)}"
        if code in _TOO_EARLY or code >= 500:
            return _Fault(problem, again=True, wait=_asked_wait(response.headers.get("retry-after")))
        advice = {
            401: "Check the key: --model-args key_from=VARIABLE names the variable that holds it.",
            403: "Check the key: --model-args key_from=VARIABLE names the variable that holds it.",
            404: "Check the address, and the name in --model-args model=NAME.",
        }.get(code, "Check the address and --model-args; docs/ask-a-chat-model.md lists all settings.")
        return _Fault(problem, again=False, advice=advice)

    def _quoted(self, content: bytes) -> str:
        """Quote a server's error message."""
        text = content.decode(errors="replace")
        try:
            parsed = parse_json(text)
        except (ValueError, RecursionError):
            parsed = None
        error = parsed.get("error", parsed.get("detail")) if isinstance(parsed, dict) else None
        message = error.get("message", error) if isinstance(error, dict) else error
        quotation = self._hidden(plain(" ".join(str(text if message is None else message).split())))
        return f" ({quotation[:QUOTED]})" if quotation else ""

    def _hidden(self, text: str) -> str:
        return text if self._key is None else text.replace(self._key, "***")

    def _reply(self, content: bytes, sent: str | None) -> Reply:
        try:
            parsed = parse_json(content.decode(errors="replace"))
        except (ValueError, RecursionError):
            raise _Fault(f"the answer is not JSON{self._quoted(content)}", again=True) from None
        choices = parsed.get("choices") if isinstance(parsed, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(parsed, dict) or not isinstance(choice, dict) or not isinstance(message, dict):
            raise _Fault(f"the answer has no choices[0].message{self._quoted(content)}", again=True)
        text, model = message.get("content"), parsed.get("model")
        model_name = self._hidden(plain(model))[:100] if isinstance(model, str) and model else None
        answer = self._hidden(text) if isinstance(text, str) else ""
        return Reply(
            answer, _alternatives(choice.get("logprobs")), model_name, _day(parsed.get("created"), sent)
        )


@contextmanager
def _faults(timeout: float) -> Iterator[None]:
    """Convert connection errors into a `_Fault`."""
    try:
        yield
    except (httpx.TimeoutException, TimeoutError):
        longer = (
            "To wait longer: --model-args timeout=SECONDS. To continue, repeat the command with --resume."
        )
        problem = f"no answer within {timeout:g} seconds"
        raise _Fault(problem, again=True, advice=longer) from None
    except httpx.ConnectError as error:
        advice = "Start the server, or correct the address. To continue a run, add --resume."
        problem = f"tseval cannot connect to the server ({first_line(error)})"
        raise _Fault(problem, again=True, advice=advice) from None
    except httpx.HTTPError as error:
        problem = f"the connection failed ({type(error).__name__}: {quoted_text(first_line(error), 80)})"
        raise _Fault(problem, again=True) from None


def _asked_wait(header: str | None) -> float | None:
    """Read the number of seconds that a server asks to wait, from a number or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _alternatives(logprobs: Json) -> tuple[tuple[str, float], ...] | None:
    """Read the most probable first tokens of an answer, with their log-probabilities."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = tokens[0] if isinstance(tokens, list) and tokens else None
    entries = first.get("top_logprobs") if isinstance(first, dict) else None
    if not isinstance(entries, list):
        return None
    pairs = [(entry.get("token"), entry.get("logprob")) for entry in entries if isinstance(entry, dict)]
    return tuple(
        (token, float(logprob))
        for token, logprob in pairs
        if isinstance(token, str) and isinstance(logprob, int | float)
    )


def _day(created: Json, sent: str | None) -> str:
    """Return the day of a reply: from the reply, or else its header, or else this machine's clock (UTC)."""
    try:
        if isinstance(created, int) and created > 10**9:
            return datetime.fromtimestamp(created, UTC).date().isoformat()
        if sent is not None:
            return parsedate_to_datetime(sent).astimezone(UTC).date().isoformat()
    except (ValueError, OverflowError, OSError, TypeError):
        pass
    return datetime.now(UTC).date().isoformat()
