"""The base class of models that answer prompts, and the parsing of their common arguments."""

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


# Sources of an answer: the model's text, or the more probable one of the answers 1 and 2.
TEXT, PROBABILITIES = "text", "probabilities"


class AskedModel(ABC):
    """A model that answers which of two sentences is better; see `tseval.scoring.protocol.AnswerModel`.

    Attributes:
        template: The template of its prompts.
    """

    reads = "natural"  # sentences of a grammar become natural text, unless the user decides otherwise
    _rules: Writing | None = None

    def __init__(self, template: PromptTemplate, card: ModelCard) -> None:
        self.template, self.card = template, card
        self.warnings: list[str] = []

    def __repr__(self) -> str:
        return self.card.show(self)

    def writing(self, rules: Writing) -> Self:
        """Return the same model with sentences as natural text; see `WritingModel`."""
        model = copy(self)
        model._rules, model.card = rules, self.card.reading("natural")
        return model

    def prompt(self, question: tuple[str, str]) -> str:
        """Return the prompt about two sentences."""
        first, second = (
            single_spaced(text if self._rules is None else self._rules.write(text)[0]) for text in question
        )
        return self.template.render(first, second)

    @abstractmethod
    def answers(self, questions: Sequence[tuple[str, str]]) -> Iterator[tuple[int, Answer]]:
        """Yield the position of each question and its answer, as soon as it is known."""


def protocol_of(template: PromptTemplate, answer: str) -> dict[str, Json]:
    """Return the protocol of every prompt run: the template, both orders, and the source of answers."""
    digest = template.digest[:16]
    return {"prompt": template.name, "prompt_digest": digest, "orders": "both", "answer": answer}


def take_number(arguments: dict[str, str], name: str, default: float, least: float = 1) -> float:
    """Remove a number from the arguments of a model, and return it."""
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
    """Remove a whole number from the arguments of a model, and return it."""
    number = take_number(arguments, name, default)
    if number != int(number):
        raise ModelError(
            f"--model-args {name}={number:g}: the value must be a whole number.\n"
            f"  Write for example --model-args {name}={default}"
        )
    return int(number)


def take_answer(arguments: dict[str, str], default: str) -> str:
    """Remove the source of answers from the arguments, and return it."""
    value = arguments.pop("answer", default)
    if value not in {TEXT, PROBABILITIES}:
        choices = suggest(value, (TEXT, PROBABILITIES), "Values")
        raise ModelError(f"--model-args answer={value}: unknown value. {choices}")
    return value
