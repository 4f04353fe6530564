"""Training of a number or grammaticality classifier; the checkpoint with the best accuracy is kept."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from tseval.errors import TrainingError
from tseval.models.checkpoint import save_checkpoint
from tseval.models.vocabulary import UNK, Vocabulary, words_of
from tseval.scoring.devices import widest_float
from tseval.training.corpus import Window
from tseval.training.curves import watched_scalars
from tseval.training.divergence import check_finite
from tseval.training.language_model import provenance
from tseval.training.loop import Training, run_training
from tseval.training.resume import Course
from tseval.training.settings import Adam

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from tseval.items import Suite
    from tseval.models.network import Classifier, Task
    from tseval.training.loop import Destination, Listener
    from tseval.training.settings import ClassifierSettings


Labelled = tuple[str, int]  # a text and the number of its class


def read_split(suites: Sequence[Suite], task: Task, split: Sequence[str]) -> list[Labelled]:
    """Collect the examples of one split: the words before the label word, and the right label.

    Sentences of the suites end in a label of the task, as its methods make them. A suite has one case per
    split; `split` lists the possible names of the split.
    """
    examples: list[Labelled] = []
    for case in (case for suite in suites for case in suite.cases if case.name in split):
        for text in case.sentences[case.contrasts[0].better].to_pylist():
            words, _, label = str(text).rpartition(" ")
            examples.append((words, task.labels.index(label)))
    names = " or ".join(split)
    data = ", ".join(suite.name for suite in suites)
    if not examples:
        cases = ", ".join(dict.fromkeys(case.name for suite in suites for case in suite.cases))
        raise TrainingError(
            f"{data}: no example belongs to the split {names}. The splits of these data are: "
            f"{cases or 'none'}.\n  Name the splits 'train' and 'valid' (or 'dev'). Write these names in a "
            "column `split`, or give the cases these names."
        )
    for number, label in enumerate(task.labels):
        if all(number != index for _, index in examples):
            raise TrainingError(
                f"{data}: no example of the split {names} has the answer {label!r}.\n  Add examples of "
                "every answer to this split."
            )
    return examples


def make_vocabulary(examples: Sequence[Labelled], *, min_count: int, lowercase: bool) -> Vocabulary:
    """Make a vocabulary of the words that occur at least `min_count` times; all others become `<unk>`."""
    counts: Counter[str] = Counter()
    for text, _ in examples:
        counts.update(words_of(text, lowercase=lowercase))
    vocabulary = Vocabulary.from_counts(counts, size=None, min_count=min_count, lowercase=lowercase)
    if all(counts[word] < min_count for word in counts):
        raise TrainingError(
            f"--min-count {min_count}: no word of the training examples occurs that often. Lower --min-count"
        )
    return vocabulary


@dataclass(frozen=True, slots=True)
class Examples:
    """Encoded examples, concatenated."""

    tokens: Tensor  # word ids of all examples, (words,) int64
    starts: Tensor  # where each example starts in them, (examples,) int64
    lengths: Tensor  # words of each example, at least 1, (examples,) int64
    classes: Tensor  # number of the right class, (examples,) int64

    @classmethod
    def encode(cls, examples: Sequence[Labelled], vocabulary: Vocabulary) -> Examples:
        """Encode examples with a vocabulary."""
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
        """All data in one tensor, for a hash."""
        return torch.cat((self.lengths, self.classes, self.tokens))

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return a batch of examples.

        Returns:
            Word ids, (time, batch), where shorter examples are padded with the words after them in the data;
            lengths, (batch,); classes, (batch,).
        """
        lengths = self.lengths[rows]
        places = self.starts[rows] + torch.arange(int(lengths.max()))[:, None]
        return self.tokens[places.clamp_(max=len(self.tokens) - 1)], lengths, self.classes[rows]


def epoch_batches(lengths: Tensor, batch: int, seed: int, epoch: int) -> list[Tensor]:
    """Divide the examples into batches of nearly equal lengths, in a new random order for each epoch.

    Epochs count from 1. The result is the rows of the examples in each batch. The last batch of the longest
    examples may be smaller.
    """
    draw = np.random.default_rng([seed, epoch])
    shuffled = torch.from_numpy(draw.permutation(len(lengths)))
    by_length = shuffled[lengths[shuffled].argsort(stable=True)]
    batches = torch.split(by_length, batch)
    return [batches[i] for i in draw.permutation(len(batches))]


VALIDATION_EXAMPLES = 256
# Columns of a point of the learning curve; further columns have a watched scalar of a layer.
CLASSIFIER_COLUMNS: dict[str, pa.DataType] = {
    "step": pa.int64(),  # batches so far
    "epoch": pa.float64(),  # passes over the examples; a whole number at the end of each
    "training_loss": pa.float64(),  # nats per example, mean over the epoch's batches; null within an epoch
    "validation_loss": pa.float64(),  # nats per example; null if the model was not validated
    "validation_accuracy": pa.float64(),
    "seconds": pa.float64(),  # of training, including validation and saving, over all sessions
}


@dataclass(slots=True)
class ClassifierCourse(Course):
    """The history of a run; `loss` is the sum since the end of the last epoch."""

    # highest validation accuracy, with its loss; None before the end of the first epoch
    best: tuple[float, float] | None = None
    stale: int = 0  # epochs since then


def train_classifier(
    model: Classifier,
    vocabulary: Vocabulary,
    examples: tuple[Examples, Examples],
    settings: ClassifierSettings,
    destination: Destination,
    listener: Listener,
) -> float:
    """Train a classifier, keep the checkpoint with the highest validation accuracy, and return the accuracy.

    Of equal accuracies, that with the lower validation loss is better.

    Args:
        model: Model with initial weights, on the training device.
        vocabulary: Its vocabulary.
        examples: Examples for training and for validation.
        settings: All settings of the training.
        destination: Output files.
        listener: Gets reports of progress, counted in examples.
    """
    make = partial(_Run, model, vocabulary, examples, settings, destination)
    return run_training(make, destination.out, listener)


@torch.inference_mode()
def validate(model: Classifier, examples: Examples) -> tuple[float, float]:
    """Compute accuracy and loss of a classifier, and leave it in evaluation mode.

    Returns:
        Accuracy, and mean negative log-probability of the right class, in nats.
    """
    model.eval()
    device = next(model.parameters()).device
    exact = widest_float(device)
    correct, loss = 0, 0.0
    for rows in torch.split(examples.lengths.argsort(stable=True), VALIDATION_EXAMPLES):
        words, lengths, classes = (tensor.to(device) for tensor in examples.batch(rows))
        logits = model.classify(words, lengths)
        correct += int((logits.argmax(1) == classes).sum())
        loss += F.cross_entropy(logits.to(exact), classes, reduction="sum").item()
    return correct / len(examples), loss / len(examples)


def _window_of(examples: Examples, device: torch.device) -> Window:
    """Return the first examples as a window whose predictions are at the ends of the examples."""
    words, lengths, classes = examples.batch(torch.arange(min(VALIDATION_EXAMPLES, len(examples))))
    inside = (torch.arange(len(words))[:, None] < lengths).flatten().nonzero().flatten()
    return Window(words.to(device), classes.to(device), inside.to(device), fresh=True)


class _Run(Training):
    """A training run of a classifier."""

    columns = CLASSIFIER_COLUMNS
    model: Classifier
    settings: ClassifierSettings
    course: ClassifierCourse

    def __init__(
        self,
        model: Classifier,
        vocabulary: Vocabulary,
        examples: tuple[Examples, Examples],
        settings: ClassifierSettings,
        destination: Destination,
    ) -> None:
        self.train, self.valid = examples
        super().__init__(model, vocabulary, (self.train.content, self.valid.content), settings, destination)
        self.model = model
        self.device = next(model.parameters()).device
        self.optimiser = Adam(model.parameters(), lr=settings.learning_rate, fused=True)
        self.n_batches = math.ceil(len(self.train) / settings.batch)
        self.course, self.notes = ClassifierCourse(), []
        self._loss: float | None = None  # of the latest batch
        self._sample = _window_of(self.valid, self.device)
        self._batches: tuple[int, list[Tensor]] = 0, []  # of the current epoch

    def begin(self) -> None:
        """Start or resume the run, and put the model into training mode."""
        super().begin()
        self.model.train()

    def _start(self) -> None:
        self.add_row(None, *reversed(validate(self.model, self.valid)))

    def _ended(self) -> bool:
        settings, course = self.settings, self.course
        impatient = settings.patience is not None and course.stale >= settings.patience
        return impatient or course.step >= settings.epochs * self.n_batches

    def _progress(self) -> tuple[int, int]:
        n_examples = len(self.train)  # an estimate within an epoch
        return round(self.course.step / self.n_batches * n_examples), self.settings.epochs * n_examples

    def advance(self) -> None:
        """Train on one more batch."""
        course, (epoch, place) = self.course, divmod(self.course.step, self.n_batches)
        if self._batches[0] != epoch + 1:
            seed, size = self.settings.seed, self.settings.batch
            self._batches = epoch + 1, epoch_batches(self.train.lengths, size, seed, epoch + 1)
        words, lengths, classes = (t.to(self.device) for t in self.train.batch(self._batches[1][place]))
        loss = F.cross_entropy(self.model.classify(words, lengths), classes)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self._loss = loss.item()
        course.step += 1
        check_finite(self.model, (self._loss, norm.item()), f"epoch {epoch + 1}, batch {course.step}")
        self.optimiser.step()
        self.optimiser.zero_grad()
        course.loss += self._loss

    def read_losses(self) -> float | None:
        """Return the loss of the latest batch."""
        return self._loss

    def _validates(self) -> bool:
        return self.course.step % self.n_batches == 0

    def _validate(self) -> tuple[int, float, bool]:
        course, epoch = self.course, self.course.step // self.n_batches
        accuracy, loss = validate(self.model, self.valid)
        training_loss, course.loss = course.loss / self.n_batches, 0.0
        self.add_row(training_loss, loss, accuracy)
        course.validations.append(
            {"epoch": epoch, "training_loss": training_loss, "validation_accuracy": accuracy}
        )
        better = course.best is None or (accuracy, -loss) > (course.best[0], -course.best[1])
        course.stale = 0 if better else course.stale + 1
        if better:
            course.best = accuracy, loss
            record = {**self.destination.origin, **provenance(self.settings), "course": course.validations}
            save_checkpoint(
                self.out, self.model, self.vocabulary,
                training={**record, "validation_accuracy": accuracy}, validation_perplexity=None,
            )  # fmt: skip
        self.model.train()
        return epoch, accuracy, better

    def add_row(
        self, training_loss: float | None = None, loss: float | None = None, accuracy: float | None = None
    ) -> None:
        """Add a point to the learning curve; losses and accuracy are known only at the end of an epoch."""
        course, now = self.course, time.monotonic()
        course.seconds += now - self._clock
        self._clock = now
        course.rows.append(
            {
                "step": course.step,
                "epoch": course.step / self.n_batches,
                "training_loss": training_loss,
                "validation_loss": loss,
                "validation_accuracy": accuracy,
                "seconds": round(course.seconds, 3),
                **watched_scalars(self.model, self._sample),
            }
        )

    def _best(self) -> float:
        assert self.course.best is not None, "no epoch has ended"
        return self.course.best[0]
