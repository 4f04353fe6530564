"""Models on a server, which get prompts in parallel requests."""

from __future__ import annotations

import hashlib
from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING

from tseval.errors import ModelError, suggest
from tseval.prompting.answer_tokens import answer_of
from tseval.prompting.asked_model import (
    PROBABILITIES,
    TEXT,
    AskedModel,
    protocol_of,
    take_answer,
    take_number,
    take_whole,
)
from tseval.prompting.chat_server import ChatServer, check_url, read_key, refuse_open_key
from tseval.prompting.estimate import Prices, RequestEstimate, estimate
from tseval.prompting.template import DEFAULT, open_template
from tseval.scoring.protocol import Answer, ModelCard

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from tseval.formats import Json
    from tseval.prompting.chat_server import Reply
    from tseval.prompting.template import PromptTemplate


MAX_TOKENS = 5  # of an answer: a number, and what models write around it
ALTERNATIVES = 20  # number of first tokens with log-probabilities; servers give at most so many
PARALLEL = 8
MOST_PARALLEL = 256
# Settings of requests that are also in the protocol.
_STATED = ("temperature", "max_tokens", "max_completion_tokens")
KEYS = ("answer", "key_from", "max_completion_tokens", "max_tokens", "model", "parallel", "price_in",
        "price_out", "prompt", "retries", "temperature", "timeout")  # fmt: skip


class ServedModel(AskedModel):
    """A model on a server with the API of chat completions.

    Attributes:
        parallel: Number of requests at a time.
    """

    def __init__(
        self,
        server: ChatServer,
        settings: Mapping[str, Json],
        template: PromptTemplate,
        card: ModelCard,
        parallel: int,
        prices: Prices,
    ) -> None:
        super().__init__(template, card)
        self._server, self._settings, self.parallel, self._prices = server, settings, parallel, prices

    def estimate(self, questions: Sequence[tuple[str, str]]) -> RequestEstimate:
        """Estimate the requests, tokens and cost of questions before they are sent."""
        tokens = self._settings.get("max_tokens", self._settings.get("max_completion_tokens"))
        longest = tokens if isinstance(tokens, int) else 1
        return estimate([self.prompt(question) for question in questions], longest, self._prices)

    def answers(self, questions: Sequence[tuple[str, str]]) -> Iterator[tuple[int, Answer]]:
        """Send requests in parallel, and yield each answer as it arrives.

        If a request fails finally, or the user stops, no new requests are sent. Pending answers are yielded
        first, and then the error is raised.
        """
        remaining = iter(enumerate(questions))
        running: dict[Future[Reply], int] = {}
        problem: BaseException | None = None
        with self._server as server:
            while True:
                while problem is None and len(running) < self.parallel:
                    place, question = next(remaining, (None, None))
                    if place is None or question is None:
                        break
                    running[server.send(self._body(question))] = place
                if not running:
                    break
                try:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt as stop:
                    if problem is not None:  # a second interrupt: wait for nothing
                        raise
                    problem, done = stop, set()
                    server.stop()
                for future in done:
                    place = running.pop(future)
                    try:
                        answer = self._answer(future.result())
                    except Exception as error:
                        problem = problem or error
                        server.stop()
                    else:
                        yield place, answer
        if problem is not None:
            raise problem

    def _body(self, question: tuple[str, str]) -> dict[str, Json]:
        return {**self._settings, "messages": [{"role": "user", "content": self.prompt(question)}]}

    def _answer(self, reply: Reply) -> Answer:
        if self.card.protocol["answer"] == TEXT:
            return Answer(reply.text, None, reply.model, reply.date)
        if reply.alternatives is None:
            raise ModelError(
                f"{self._server.url}: the server gives no log-probabilities of its answers.\n"
                "  Read the text of the answers: --model-args answer=text"
            )
        text, logprobs = answer_of(reply.alternatives, reply.text)
        return Answer(text, logprobs, reply.model, reply.date)


def open_served(url: str, arguments: Mapping[str, str]) -> ServedModel:
    """Open `prompt:URL`; nothing is sent until the first question."""
    options = dict(arguments)
    if unknown := sorted(options.keys() - {*KEYS}):
        raise ModelError(
            f"--model-args {unknown[0]}: prompt:URL has no argument {unknown[0]!r}. "
            f"{suggest(unknown[0], KEYS, 'Arguments')}"
        )
    address = check_url(url)
    name = options.pop("model", "")
    if not name:
        raise ModelError(
            f"prompt:{url}: the name of the model is missing.\n"
            "  Write the name that the server knows: --model-args model=NAME"
        )
    template, answer = open_template(options.pop("prompt", DEFAULT)), take_answer(options, TEXT)
    key = read_key(options.pop("key_from", None))
    refuse_open_key(address, key)
    prices = Prices(take_number(options, "price_in", 0, 0), take_number(options, "price_out", 0, 0))
    timeout, retries = take_number(options, "timeout", 120, 0.01), int(take_number(options, "retries", 6, 0))
    parallel = min(MOST_PARALLEL, take_whole(options, "parallel", PARALLEL))
    settings = _request_settings(name, options, answer)
    stated_settings = {part: value for part, value in settings.items() if part in _STATED}
    protocol = {**protocol_of(template, answer), **stated_settings}
    host = address.removesuffix("/chat/completions")
    digest = hashlib.sha256(f"prompt\n{host}\n{name}".encode()).hexdigest()
    details: dict[str, Json] = {
        "architecture": "unknown (behind a server)", "device": "server", "server": host,
        "template": template.text,
    }  # fmt: skip
    # A local server may identify a model by its folder.
    model_name = name.rstrip("/").rpartition("/")[2] if name.startswith(("/", ".")) else name
    card = ModelCard(model_name or name, "prompt", digest, protocol, details)
    server = ChatServer(address, key, timeout=timeout, retries=retries, parallel=parallel)
    return ServedModel(server, settings, template, card, parallel, prices)


def _request_settings(name: str, left: dict[str, str], answer: str) -> dict[str, Json]:
    """Return the settings of every request."""
    settings: dict[str, Json] = {"model": name, "stream": False}
    temperature = left.pop("temperature", "0")
    if temperature != "none":  # some models refuse every temperature
        settings["temperature"] = take_number({"temperature": temperature}, "temperature", 0, 0)
    if answer == PROBABILITIES:
        settings |= {"max_tokens": 1, "logprobs": True, "top_logprobs": ALTERNATIVES}
    elif "max_completion_tokens" in left:
        settings["max_completion_tokens"] = take_whole(left, "max_completion_tokens", MAX_TOKENS)
    else:
        settings["max_tokens"] = take_whole(left, "max_tokens", MAX_TOKENS)
    return settings
