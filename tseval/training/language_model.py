"""Training of a word-level language model by truncated back-propagation, with evaluations during training."""

from __future__ import annotations

import math
import platform
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import pyarrow as pa
import torch

from tseval.adapters.native import NativeModel
from tseval.analysis.breakdowns import by_feature, headline, measure_of
from tseval.analysis.counts import COUNTS, count
from tseval.callbacks import evaluate_during
from tseval.errors import TrainingError, first_line
from tseval.files import write_whole
from tseval.formats import ContentError
from tseval.models.cells.cell import FusedCell
from tseval.models.checkpoint import Checkpoint, fingerprint, save_checkpoint, stored_weights
from tseval.models.vocabulary import EOS
from tseval.runs.directory import to_parquet
from tseval.runs.search import runs_below
from tseval.tables import read_parquet
from tseval.training.corpus import Columns, Lines, columns
from tseval.training.divergence import remedy
from tseval.training.loop import Training, run_training
from tseval.training.resume import HASHED
from tseval.training.settings import Schedule
from tseval.training.steps import LanguageCourse, TrainingState
from tseval.training.validation import OVERFLOW, as_stored, mean_loss, perplexity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Suite
    from tseval.models.network import LanguageModel
    from tseval.models.vocabulary import Vocabulary
    from tseval.runs.run import Run
    from tseval.training.corpus import Stream, Windows
    from tseval.training.loop import Destination, Listener
    from tseval.training.settings import ClassifierSettings, Settings


STRINGS = 512  # strings read at once


def string_loss(model: LanguageModel, vocabulary: Vocabulary, suite: Suite) -> float:
    """Return the loss on strings of a formal language, in nats per symbol, including the end of strings."""
    ids = vocabulary.ids()
    ends = ids[EOS]
    stream = [ends]
    for case in suite.cases:
        for text in case.sentences[case.labels[0]].to_pylist():
            stream += [*(ids[symbol] for symbol in str(text).split()), ends]
    return mean_loss(model, Lines(torch.tensor(stream), ends, STRINGS))


def headline_error(run: Run) -> float:
    """Return the main number of the paper on a formal language, as an error.

    That is the largest error over attractors, the share of strings with an error, or 1 minus the mean
    accuracy over distances (`tseval.analysis.breakdowns.MEASURES`).
    """
    measure = measure_of(run.manifest.key.suite)
    value = headline(by_feature(run.verdicts, measure), measure)
    return 1 - value if measure.quantity == "accuracy" else value


ROW_COLUMNS = ("suite", "phenomenon", "dependency", "construction", "contrast")
ACCURACY_COLUMNS: dict[str, pa.DataType] = {
    **dict.fromkeys(("step", "tokens"), pa.int64()),
    **dict.fromkeys(ROW_COLUMNS, pa.string()),
    **dict.fromkeys(COUNTS, pa.int64()),
    "accuracy": pa.float64(),  # null if no item is decidable
    # Only for formal languages:
    "string_loss": pa.float64(),  # nats per symbol on the strings of the suite
    "headline_error": pa.float64(),  # by the definition of the paper on the language
}
OF_LANGUAGES = ("string_loss", "headline_error")
SCHEMA = pa.schema(ACCURACY_COLUMNS)


def accuracy_path(out: Path) -> Path:
    """Return the path of a checkpoint's accuracies during training."""
    return out.with_name(f"{out.stem}.accuracy.parquet")


@dataclass(frozen=True, slots=True)
class EarlyEvaluation:
    """Evaluation on suites during training, with a row per construction and moment in a parquet file."""

    path: Path  # rows from an earlier session of the same run are kept
    suites: Sequence[Suite]  # with different names
    vocabulary: Vocabulary
    every: int | None  # windows between evaluations; None for every validation. The end is always evaluated
    # Where to store a run of every moment, `RUNS/step-000500`; with several suites, in a folder for each.
    runs: Path | None = None

    def start(self, resumed: bool) -> None:
        """Check the suites, and start with an empty file unless an interrupted run continues."""
        if self.runs and not resumed and (earlier_runs := runs_below(self.runs)) != ([], []):
            first = [*earlier_runs[0], *earlier_runs[1]][0]
            raise TrainingError(
                f"--eval-runs: the folder already holds runs of an earlier training, such as {first}.\n  "
                f"Name another folder with --eval-runs, or remove {first}."
            )
        for suite in self.suites:
            if not suite.has_accuracy:
                raise TrainingError(
                    f"--eval-suite {suite.name}: this suite has ratings, but a training can record only "
                    "accuracies.\n  Leave --eval-suite out. After the training, type tseval run --model "
                    f"CHECKPOINT --suite {suite.name}"
                )
            questions = [case.question.asks() for case in suite.cases]
            symbols = [symbol for question in questions if question for symbol in question.symbols]
            if missing := [symbol for symbol in symbols if symbol not in self.vocabulary.words]:
                raise TrainingError(
                    f"--eval-suite {suite.name}: this suite needs the symbol {missing[0]}, but the training "
                    "text does not have it.\n  Train on strings of the formal language of this "
                    "suite, or name another suite."
                )
        if not resumed:
            self.path.unlink(missing_ok=True)

    def measure(self, model: LanguageModel, step: int, tokens: int) -> None:
        """Evaluate a model on all suites after `step` windows."""
        rows = self._rows()
        measured = set(zip(rows["step"].to_pylist(), rows["suite"].to_pylist(), strict=True))
        for suite in self.suites:
            if (step, suite.name) not in measured:
                out = self.runs and (self.runs / suite.name if len(self.suites) > 1 else self.runs)
                # An existing run of this step is from before an interruption, perhaps from another device.
                run = evaluate_during(self._wrap(model), suite, out, step, tokens=tokens, overwrite=True)
                language_columns = self._of_language(model, suite, run)
                counts = count(run.verdicts).assign(
                    step=step, tokens=tokens, suite=suite.name, **language_columns
                )
                new = pa.Table.from_pandas(counts, SCHEMA, preserve_index=False)
                rows = pa.concat_tables([rows, new.replace_schema_metadata(None)])
        write_whole(self.path, to_parquet(rows))

    def _of_language(self, model: LanguageModel, suite: Suite, run: Run) -> dict[str, float | None]:
        """Return the additional numbers for a formal language."""
        if suite.score != "choices":
            return dict.fromkeys(OF_LANGUAGES)
        measured = string_loss(model, self.vocabulary, suite), headline_error(run)
        return dict(zip(OF_LANGUAGES, measured, strict=True))

    def _rows(self) -> pa.Table:
        if not self.path.exists():
            return SCHEMA.empty_table()
        older = [name for name in ACCURACY_COLUMNS if name not in OF_LANGUAGES]
        try:
            rows = read_parquet(self.path, ACCURACY_COLUMNS, needed=older, others=False)
            for name in OF_LANGUAGES:
                if name not in rows.column_names:  # written by an earlier version
                    rows = rows.append_column(name, pa.nulls(len(rows), pa.float64()))
            return rows.select(list(ACCURACY_COLUMNS)).replace_schema_metadata(None)
        except (OSError, ContentError) as error:
            reason = first_line(error)
            raise TrainingError(
                f"{self.path}: tseval cannot read this file of accuracies of an earlier training "
                f"({reason}).\n"
                "  Remove the file to continue the training without its earlier accuracies."
            ) from None

    def _wrap(self, model: LanguageModel) -> NativeModel:
        weights = stored_weights(model, "float32")
        mark = fingerprint(model.sizes.to_mapping(), self.vocabulary, weights)
        device = next(model.parameters()).device
        name = self.runs.resolve().name if self.runs else "training"
        return NativeModel(name, Checkpoint(model, self.vocabulary, mark, {}, None), device)


VALIDATION_COLUMNS = 32
VALIDATION_LINES = 512


def train_language_model(
    model: LanguageModel,
    vocabulary: Vocabulary,
    text: tuple[Stream, Stream],
    settings: Settings,
    destination: Destination,
    listener: Listener,
) -> float:
    """Train a model, and keep the checkpoint with the lowest validation perplexity.

    Args:
        model: Model with initial weights, on the training device.
        vocabulary: Its vocabulary.
        text: Training and validation streams of word ids, each (tokens,), in memory or on disk.
        settings: All settings of the training.
        destination: Output files and evaluations.
        listener: Gets reports of progress.

    Returns:
        Validation perplexity of the saved checkpoint, per token including `<eos>`, with `<unk>` for unknown
        words.
    """
    make = partial(_Run, model, vocabulary, text, settings, destination)
    return run_training(make, destination.out, listener)


class _Run(TrainingState, Training):
    """A training run of a language model."""

    model: LanguageModel
    settings: Settings
    course: LanguageCourse

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: Vocabulary,
        text: tuple[Stream, Stream],
        settings: Settings,
        destination: Destination,
    ) -> None:
        train, self.valid = windows_of(text, vocabulary, settings)
        Training.__init__(self, model, vocabulary, text, settings, destination)
        TrainingState.__init__(self, model, Schedule(settings, train))
        self.notes = self.learner.notes

    def begin(self) -> None:
        """Start or resume the run, its evaluations, and the compilation."""
        if self.destination.probe:
            self.destination.probe.start(self.destination.resume and self.resume.exists())
        super().begin()
        if self.settings.compiled:
            compile_loops(self.model)

    def _progress(self) -> tuple[int, int]:
        return self.schedule.tokens(self.course.step), self.schedule.tokens(self.schedule.steps)

    def _ended(self) -> bool:
        return self.course.step >= self.schedule.steps

    def _validates(self) -> bool:
        return self.schedule.validates(self.course.step)

    def _validate(self) -> tuple[int, float, bool]:
        self.read_losses()
        course = self.course
        model = as_stored(self.model, self.settings.stored)
        loss = mean_loss(model, self.valid)
        if not math.isfinite(loss):
            advice = remedy(model)
            raise TrainingError(
                f"the validation loss became {loss} (not a finite number) after window {course.step} of the "
                "training.\n"
                f"  {advice}\n  If there is an earlier checkpoint, tseval keeps it."
            )
        measured = perplexity(loss)
        better = measured < course.best
        course.best = min(measured, course.best)
        course.validations.append(
            {
                "step": course.step,
                "epoch": self.schedule.epoch(course.step),
                "tokens": self.schedule.tokens(course.step),
                "training_loss": course.mean_loss_since(course.at_validation),
                "validation_perplexity": measured if loss < OVERFLOW else None,
                "seconds": round(course.seconds, 1),
            }
        )
        course.at_validation = course.step, course.loss
        if better:
            record: dict[str, Json] = {
                **self.destination.origin,
                "digests": {name: str(self.identity[name]) for name in HASHED},
                **provenance(self.settings),
                "course": list(course.validations),
            }
            save_checkpoint(
                self.out, model, self.vocabulary,
                training=record, validation_perplexity=course.best, dtype=self.settings.stored,
            )  # fmt: skip
        elif self.settings.schedule == "anneal":
            course.anneals += 1
        self.add_row(loss, measured)
        return course.step, measured, better

    def _probe(self) -> None:
        probe, step = self.destination.probe, self.course.step
        if probe is None:
            return
        due = step % probe.every == 0 if probe.every else self._validates()
        if due or self._ended():
            model = as_stored(self.model, self.settings.stored)
            probe.measure(model, step, self.schedule.tokens(step))

    def _best(self) -> float:
        if self.course.best == math.inf:
            advice = remedy(self.model)
            raise TrainingError(f"no epoch of this training had a finite validation perplexity.\n  {advice}")
        return self.course.best


def windows_of(
    text: tuple[Stream, Stream], vocabulary: Vocabulary, settings: Settings
) -> tuple[Windows, Windows]:
    """Divide the training and validation streams into windows."""
    train, valid = text
    if settings.whole_lines:
        eos = vocabulary.ids()[EOS]
        return Lines(train, eos, settings.batch), Lines(valid, eos, VALIDATION_LINES)
    narrow = columns(valid, min(VALIDATION_COLUMNS, len(valid) // 2))
    return (
        Columns(columns(train, settings.batch), settings.window, settings.fresh_state),
        Columns(narrow, settings.window, settings.fresh_state),
    )


def compile_loops(model: LanguageModel) -> None:
    """Let torch compile the loops over words of cells without a fused layer."""
    for cell in model.cells:
        if not isinstance(cell, FusedCell):
            cell.scan = torch.compile(cell.scan)  # type: ignore[method-assign]


def provenance(settings: Settings | ClassifierSettings) -> dict[str, Json]:
    """Return the record of settings and versions for a checkpoint."""
    return {
        "settings": asdict(settings),
        "versions": {
            "tseval": version("tseval"),
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
    }
