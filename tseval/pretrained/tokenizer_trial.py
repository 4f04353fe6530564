"""A program that tries out an untrusted tokenizer or chat template.

It runs with limits on memory and time (`tseval.pretrained.trials`), so it imports little. It reads one JSON
object from standard input, and writes the rendered chat, if any, to standard output.
"""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2.parser import Parser

TEXTS = (
    "The Authors near the Guard laugh .",
    " two  spaces, a\ttab: 12,345.67",
    "Élan ½ 私は学生です 👩‍👧",
    "a" * 200,
)
DRAWN, LENGTH = 12, 8
MOST_GROWTH, MOST_MEMORY = 100, 500 * 10**6  # of one text; a letter becomes some dozen pieces at most


def try_tokenizer(path: str) -> None:
    """Split a few texts, decode random tokens of the vocabulary, and split the result.

    Raises:
        MemoryError: A text grows far too much.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415 - not needed for templates

    tokenizer = Tokenizer.from_file(path)
    draw, size = random.Random(0), tokenizer.get_vocab_size()  # noqa: S311 - nothing is kept secret
    before = _memory()
    texts = [*TEXTS]
    for _ in range(DRAWN if size else 0):
        ids = [draw.randrange(size) for _ in range(LENGTH)]
        text, longest = tokenizer.decode(ids), sum(len(tokenizer.id_to_token(number) or "") for number in ids)
        if len(text) > MOST_GROWTH * (longest + 10):
            raise MemoryError
        texts.append(text)
    for text in texts:
        most = MOST_GROWTH * (len(text) + 10)
        if tokenizer.normalizer is not None and len(tokenizer.normalizer.normalize_str(text)) > most:
            raise MemoryError
        if len(tokenizer.encode(text).ids) > most or _memory() > before + MOST_MEMORY:
            raise MemoryError


def _memory() -> int:
    """Return the peak memory of this process in bytes; 0 if the system does not report it."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def render_chat(template: str, messages: list[dict[str, str]], tokens: dict[str, str]) -> str:
    """Render a chat template like transformers does."""
    from datetime import datetime  # noqa: PLC0415 - for templates alone

    from jinja2 import nodes  # noqa: PLC0415 - not needed for tokenizers
    from jinja2.ext import Extension, loopcontrols  # noqa: PLC0415 - likewise
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 - likewise

    class Generation(Extension):
        """The tag `{% generation %}`, which marks the model's text."""

        tags = {"generation"}  # noqa: RUF012 - as Jinja has it

        def parse(self, parser: Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body, lineno=line)

    def raise_exception(message: str) -> None:
        raise ValueError(message)

    def to_json(value: object, ensure_ascii: bool = False, **options: object) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, **options)  # type: ignore[arg-type] # theirs

    extensions = [Generation, loopcontrols]
    room = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    room.filters["tojson"] = to_json
    room.globals["raise_exception"] = raise_exception
    room.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    compiled = room.from_string(template)
    return compiled.render(
        messages=messages, tools=None, documents=None, add_generation_prompt=False, **tokens
    )


def _main() -> None:
    request = json.loads(sys.stdin.read())
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (request["bytes"], request["bytes"]))
        resource.setrlimit(resource.RLIMIT_CPU, (2 * request["seconds"] + 1,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if request.get("tokenizer"):
        try_tokenizer(request["tokenizer"])
        return
    text = render_chat(request["template"], request["messages"], request["tokens"])
    sys.stdout.write(text[: request["characters"]])


if __name__ == "__main__":
    try:
        _main()
    except MemoryError:
        sys.exit(3)
    except Exception:
        sys.exit(4)
