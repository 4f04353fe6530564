"""The answer log of a run in progress: one line for each answer, written as soon as the model gives it."""

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
    """A line of the file; the digest of the other fields shows damage."""

    question: str
    text: str
    logprobs: tuple[float | None, float | None] | None
    model: str | None
    date: str | None
    digest: str


def append_answer(file: Path, question: str, answer: Answer) -> None:
    """Append an answer to a file; an incomplete line of a killed process stays a separate line."""
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
    """Read the answers of a file, if it exists; damaged or incomplete lines are ignored."""
    answers: dict[str, Answer] = {}
    with suppress(OSError), open_regular(file) as log:
        for line in log:
            with suppress(ContentError, ValueError, RecursionError):
                record = checked(parse_json(line.decode()), _Line)
                content = {
                    "question": record.question, "text": record.text, "logprobs": record.logprobs,
                    "model": record.model, "date": record.date,
                }  # fmt: skip
                if record.digest == _digest(content):
                    answers[record.question] = Answer(record.text, record.logprobs, record.model, record.date)
    return answers


def _digest(content: Mapping[str, object]) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
