"""What all models have in common that are asked by a prompt: the template, the form of the text, the card."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Self

from tseval.errors import ModelError, suggest
from tseval.writing import single_spaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.formats import Json
    from tseval.prompting.template import PromptTemplate
    from tseval.scoring.protocol import Answer, ModelCard
    from tseval.writing import Writing


# What an answer is read from: the text, or which of the answers 1 and 2 is more probable.
TEXT, PROBABILITIES = "text", "probabilities"


class AskedModel(ABC):
    """A model that is asked which of two sentences is better; see `tseval.scoring.protocol.AnswerModel`.

    Attributes:
        template: What it is asked by.
    """

    reads = "natural"  # sentences of a grammar are written as people write, unless the user says otherwise
    _rules: Writing | None = None

    def __init__(self, template: PromptTemplate, card: ModelCard) -> None:
        self.template, self.card = template, card
        self.warnings: list[str] = []

    def __repr__(self) -> str:
        return self.card.show(self)

    def writing(self, rules: Writing) -> Self:
        """Return the same model that is shown sentences as natural text; see `WritingModel`."""
        written = copy(self)
        written._rules, written.card = rules, self.card.reading("natural")
        return written

    def prompt(self, question: tuple[str, str]) -> str:
        """Return the prompt about two sentences."""
        first, second = (
            single_spaced(text if self._rules is None else self._rules.write(text)[0]) for text in question
        )
        return self.template.render(first, second)

    @abstractmethod
    def answers(self, questions: Sequence[tuple[str, str]]) -> Iterator[tuple[int, Answer]]:
        """Yield the place of a question and its answer, as soon as each is known."""


def protocol_of(template: PromptTemplate, answer: str) -> dict[str, Json]:
    """Return what every prompt run states: the template, that both orders are asked, how answers are read."""
    digest = template.digest[:16]
    return {"prompt": template.name, "prompt_digest": digest, "orders": "both", "answer": answer}


def take_number(arguments: dict[str, str], name: str, default: float, least: float = 1) -> float:
    """Take a number out of the arguments of a model."""
    text = arguments.pop(name, str(default))
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not least <= number < float("inf"):
        raise ModelError(
            f"--model-args {name}={text}: the value must be a number of at least {least:g}.\n"
            f"  Write for example --model-args {name}={default:g}"
        )
    return number


def take_whole(arguments: dict[str, str], name: str, default: int) -> int:
    """Take a whole number out of the arguments of a model."""
    number = take_number(arguments, name, default)
    if number != int(number):
        raise ModelError(
            f"--model-args {name}={number:g}: the value must be a whole number.\n"
            f"  Write for example --model-args {name}={default}"
        )
    return int(number)


def take_answer(arguments: dict[str, str], default: str) -> str:
    """Take out of the arguments what answers are read from."""
    value = arguments.pop("answer", default)
    if value not in {TEXT, PROBABILITIES}:
        choices = suggest(value, (TEXT, PROBABILITIES), "Values")
        raise ModelError(f"--model-args answer={value}: unknown value. {choices}")
    return value
