"""What a trained classifier can be asked: the two classes of each task, and the words that stand for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Task:
    """A choice between two classes.

    Attributes:
        labels: Words that stand for the classes, in the order of the classifier's outputs. They end a
            sentence, after the words that the classifier reads.
        methods: Methods `SUITE:METHOD` that make such sentences of a suite, the usual one first.
    """

    labels: tuple[str, str]
    methods: tuple[str, ...]


TASKS = {
    "number": Task(("<singular>", "<plural>"), ("number", "number_profile")),
    "grammaticality": Task(("<grammatical>", "<ungrammatical>"), ("judgement", "judgement_both")),
}
