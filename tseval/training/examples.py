"""Examples for classifiers: sequences of words, each with the number of its class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from tseval.errors import TrainingError
from tseval.models.vocabulary import UNK, Vocabulary, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from tseval.items import Suite
    from tseval.models.network import Task

Labelled = tuple[str, int]  # a text, and its class


def read_split(suites: Sequence[Suite], task: Task, split: Sequence[str]) -> list[Labelled]:
    """Gather the examples of one split: what stands before the label word, and the right label.

    Args:
        suites: Whose sentences end in the labels of the task, as the task's methods make them.
        task: The labels.
        split: Names of the split; a suite has a case for each of its splits.

    Raises:
        TrainingError: If the split is empty, or a class never occurs in it.
    """
    found: list[Labelled] = []
    for case in (case for suite in suites for case in suite.cases if case.name in split):
        for text in case.sentences[case.contrasts[0].better].to_pylist():
            words, _, label = str(text).rpartition(" ")
            found.append((words, task.labels.index(label)))
    names = " or ".join(split)
    data = ", ".join(suite.name for suite in suites)
    if not found:
        cases = ", ".join(dict.fromkeys(case.name for suite in suites for case in suite.cases))
        raise TrainingError(
            f"{data}: no examples of the split {names}; there are {cases or 'none'}.\n"
            "  Training needs train, and valid or dev: what a column split, or the name of a case, says."
        )
    for number, label in enumerate(task.labels):
        if all(number != given for _, given in found):
            raise TrainingError(
                f"{data}: {label} is never the answer in the split {names}: there is nothing to tell apart"
            )
    return found


def make_vocabulary(examples: Sequence[Labelled], *, min_count: int, lowercase: bool) -> Vocabulary:
    """Keep the words that occur often enough in some examples; the others are `<unk>`.

    Raises:
        TrainingError: If there is none.
    """
    counts: Counter[str] = Counter()
    for text, _ in examples:
        counts.update(words_of(text, lowercase=lowercase))
    vocabulary = Vocabulary.from_counts(counts, size=None, min_count=min_count, lowercase=lowercase)
    if all(counts[word] < min_count for word in counts):
        raise TrainingError(f"no word of the training examples occurs {min_count} times: lower --min-count")
    return vocabulary


@dataclass(frozen=True, slots=True)
class Examples:
    """Encoded examples, end to end.

    Attributes:
        tokens: Word ids of all examples, (words,) int64.
        starts: Where each example starts in them, (examples,) int64.
        lengths: Words of each example, at least 1, (examples,) int64.
        classes: Number of the right class, (examples,) int64.
    """

    tokens: Tensor
    starts: Tensor
    lengths: Tensor
    classes: Tensor

    @classmethod
    def encode(cls, examples: Sequence[Labelled], vocabulary: Vocabulary) -> Examples:
        """Bring examples to a vocabulary."""
        ids = vocabulary.ids()
        unknown = ids[UNK]
        rows = [
            [ids.get(word, unknown) for word in words_of(text, lowercase=vocabulary.lowercase)]
            for text, _ in examples
        ]
        lengths = torch.tensor([len(row) for row in rows])
        return cls(
            tokens=torch.tensor([word for row in rows for word in row]),
            starts=lengths.cumsum(0) - lengths,
            lengths=lengths,
            classes=torch.tensor([number for _, number in examples]),
        )

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def content(self) -> Tensor:
        """All of it in one tensor, to be hashed."""
        return torch.cat((self.lengths, self.classes, self.tokens))

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gather some examples.

        Returns:
            Word ids, (time, batch), where what follows a shorter example in the text stands behind it as
            padding; lengths, (batch,); classes, (batch,).
        """
        lengths = self.lengths[rows]
        places = self.starts[rows] + torch.arange(int(lengths.max()))[:, None]
        return self.tokens[places.clamp_(max=len(self.tokens) - 1)], lengths, self.classes[rows]


def epoch_batches(lengths: Tensor, batch: int, seed: int, epoch: int) -> list[Tensor]:
    """Cut the examples into batches of nearly equal lengths, in an order that is another one each epoch.

    Args:
        lengths: Words of each example, (examples,).
        batch: Examples of a batch; the last of the longest may be fewer.
        seed: Of the run.
        epoch: From 1.

    Returns:
        Rows of the examples of each batch.
    """
    draw = np.random.default_rng([seed, epoch])
    shuffled = torch.from_numpy(draw.permutation(len(lengths)))
    by_length = shuffled[lengths[shuffled].argsort(stable=True)]
    batches = torch.split(by_length, batch)
    return [batches[i] for i in draw.permutation(len(batches))]
