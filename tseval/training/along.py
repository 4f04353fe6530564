"""Accuracy on suites while a model is being trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import torch

from tseval.adapters.native import NativeModel
from tseval.analysis.accuracy import COUNTS, count
from tseval.analysis.formal import by_feature, headline, measure_of
from tseval.callbacks import evaluate_during
from tseval.errors import TrainingError, first_line
from tseval.files import write_whole
from tseval.formats import ContentError
from tseval.models.checkpoint import Checkpoint, fingerprint, stored_weights
from tseval.models.vocabulary import EOS
from tseval.runs import runs_below
from tseval.runs.directory import to_parquet
from tseval.tables import read_parquet
from tseval.training.corpus import Lines
from tseval.training.loop import mean_loss

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.items import Suite
    from tseval.models.network import LanguageModel
    from tseval.models.vocabulary import Vocabulary
    from tseval.runs import Run


STRINGS = 512  # read at once


def string_loss(model: LanguageModel, vocabulary: Vocabulary, suite: Suite) -> float:
    """Measure a model on the strings of a formal language, in nats a symbol, the end of each included.

    Args:
        model: In evaluation mode.
        vocabulary: Its symbols; it knows all of the suite's.
        suite: A formal language.
    """
    ids = vocabulary.ids()
    ends = ids[EOS]
    stream = [ends]
    for case in suite.cases:
        for text in case.sentences[case.labels[0]].to_pylist():
            stream += [*(ids[symbol] for symbol in str(text).split()), ends]
    return mean_loss(model, Lines(torch.tensor(stream), ends, STRINGS))


def headline_error(run: Run) -> float:
    """Give the number that the paper on a language reports, as an error.

    That is the largest error over attractors, the share of strings with an error, or 1 minus the mean
    accuracy over distances (`tseval.analysis.formal.MEASURES`).
    """
    measure = measure_of(run.manifest.key.suite)
    found = headline(by_feature(run.verdicts, measure), measure)
    return 1 - found if measure.quantity == "accuracy" else found


ROW_COLUMNS = ("suite", "phenomenon", "dependency", "construction", "contrast")
ACCURACY_COLUMNS: dict[str, pa.DataType] = {
    **dict.fromkeys(("step", "tokens"), pa.int64()),
    **dict.fromkeys(ROW_COLUMNS, pa.string()),
    **dict.fromkeys(COUNTS, pa.int64()),
    "accuracy": pa.float64(),  # null where no item is decidable
    # Of formal languages alone:
    "string_loss": pa.float64(),  # nats a symbol on the strings of the suite
    "headline_error": pa.float64(),  # as the paper on the language counts it
}
OF_LANGUAGES = ("string_loss", "headline_error")
SCHEMA = pa.schema(ACCURACY_COLUMNS)


def accuracy_path(out: Path) -> Path:
    """Name the file of the early evaluations of a checkpoint."""
    return out.with_name(f"{out.stem}.accuracy.parquet")


@dataclass(frozen=True, slots=True)
class EarlyEvaluation:
    """Scores suites and adds the accuracies to a parquet file, one row per construction and moment.

    Attributes:
        path: The file; what an earlier part of the same run wrote there is not measured again.
        suites: What to score, no two of one name.
        vocabulary: The model's words.
        every: Windows between two moments; None for every validation. The end is always one.
        runs: Where to keep a run of every moment, `RUNS/step-000500`; of several suites, each in a folder of
            its name. None to keep none.
    """

    path: Path
    suites: Sequence[Suite]
    vocabulary: Vocabulary
    every: int | None
    runs: Path | None = None

    def start(self, resumed: bool) -> None:
        """Begin with an empty file, unless an interrupted run goes on.

        Raises:
            TrainingError: A suite asks about symbols that the vocabulary lacks, or there are runs of another
                training.
        """
        if self.runs and not resumed and (found := runs_below(self.runs)) != ([], []):
            first = [*found[0], *found[1]][0]
            raise TrainingError(
                f"{first} is of an earlier training.\n  Name another folder with --eval-runs, or remove it."
            )
        for suite in self.suites:
            if not suite.has_accuracy:
                raise TrainingError(
                    f"--eval-suite {suite.name} has ratings, and what is written along a training "
                    "are accuracies.\n  Score checkpoints with tseval run."
                )
            asks = [case.question.asks() for case in suite.cases]
            asked = [symbol for one in asks if one for symbol in one.symbols]
            if missing := [symbol for symbol in asked if symbol not in self.vocabulary.words]:
                raise TrainingError(
                    f"--eval-suite {suite.name} asks about the symbol {missing[0]}, which the training text "
                    "does not hold.\n  Train on strings of this language, or evaluate another one."
                )
        if not resumed:
            self.path.unlink(missing_ok=True)

    def measure(self, model: LanguageModel, step: int, tokens: int) -> None:
        """Score all suites with a model as it is after `step` windows.

        Raises:
            TrainingError: If the file cannot be read.
            OSError: If the file cannot be written.
        """
        rows = self._rows()
        known = set(zip(rows["step"].to_pylist(), rows["suite"].to_pylist(), strict=True))
        for suite in self.suites:
            if (step, suite.name) not in known:
                out = self.runs and (self.runs / suite.name if len(self.suites) > 1 else self.runs)
                # A run of this step that is there is from before an interruption, perhaps on another device.
                run = evaluate_during(self._wrap(model), suite, out, step, tokens=tokens, overwrite=True)
                counts = count(run.verdicts).assign(
                    step=step,
                    tokens=tokens,
                    suite=suite.name,
                    **self._of_language(model, suite, run),
                )
                new = pa.Table.from_pandas(counts, SCHEMA, preserve_index=False)
                rows = pa.concat_tables([rows, new.replace_schema_metadata(None)])
        write_whole(self.path, to_parquet(rows))

    def _of_language(self, model: LanguageModel, suite: Suite, run: Run) -> dict[str, float | None]:
        """Measure what else is told of a formal language."""
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
                if name not in rows.column_names:  # of a training that an earlier version began
                    rows = rows.append_column(name, pa.nulls(len(rows), pa.float64()))
            return rows.select(list(ACCURACY_COLUMNS)).replace_schema_metadata(None)
        except (OSError, ContentError) as error:
            reason = first_line(error)
            raise TrainingError(
                f"{self.path}: does not hold accuracies along a training ({reason}).\n"
                "  Remove it: the moments in it are then missing, but the training can go on."
            ) from None

    def _wrap(self, model: LanguageModel) -> NativeModel:
        weights = stored_weights(model, "float32")
        mark = fingerprint(model.sizes.to_mapping(), self.vocabulary, weights)
        device = next(model.parameters()).device
        name = self.runs.resolve().name if self.runs else "training"
        return NativeModel(name, Checkpoint(model, self.vocabulary, mark, {}, None), device)
