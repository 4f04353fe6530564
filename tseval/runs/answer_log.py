"""The answers of a run that is going on: one line for each, written as soon as the model has answered."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from tseval.files import open_regular
from tseval.formats import ContentError, checked, parse_json
from tseval.scoring.protocol import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


ANSWERS_FILE = "answers.jsonl"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the file; its digest, over the line without it, shows damage."""

    question: str
    text: str
    logprobs: tuple[float | None, float | None] | None
    model: str | None
    date: str | None
    digest: str


def append_answer(file: Path, question: str, answer: Answer) -> None:
    """Add an answer to a file; what a killed process left of a line stays apart from it."""
    content = {
        "question": question, "text": answer.text, "logprobs": answer.logprobs, "model": answer.model,
        "date": answer.date,
    }  # fmt: skip
    line = json.dumps(content | {"digest": _digest(content)}) + "\n"
    with file.open("ab+") as log:
        if log.tell():
            log.seek(-1, 2)
            line = line if log.read(1) == b"\n" else f"\n{line}"
        log.write(line.encode())


def read_answer_log(file: Path) -> dict[str, Answer]:
    """Read the answers of a file, if there is one; a line that is damaged or cut off counts as not there."""
    answers: dict[str, Answer] = {}
    with suppress(OSError), open_regular(file) as log:
        for line in log:
            with suppress(ContentError, ValueError, RecursionError):
                read = checked(parse_json(line.decode()), _Line)
                content = {
                    "question": read.question, "text": read.text, "logprobs": read.logprobs,
                    "model": read.model, "date": read.date,
                }  # fmt: skip
                if read.digest == _digest(content):
                    answers[read.question] = Answer(read.text, read.logprobs, read.model, read.date)
    return answers


def _digest(content: Mapping[str, object]) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
