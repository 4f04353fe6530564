"""Verdicts as a table for mixed models in R, and R code that fits a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.design import FEWEST_LEVELS
from tseval.analysis.features import entry_columns
from tseval.analysis.rows import ROW
from tseval.errors import RunError
from tseval.report.layout import row_labels
from tseval.report.writers.csv import cell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.report.opened import RunSet


_SYNTACTIC = re.compile(r"[A-Za-z][A-Za-z0-9._]*")
_SCORES = ["better_score", "worse_score", "tie", "undecidable"]


@dataclass(frozen=True, slots=True)
class MixedModel:
    """A model to fit to the table of `write_verdicts`.

    Attributes:
        fixed: Factors with too few entries to be random; the user decides about them.
    """

    formula: str
    fixed: tuple[str, ...]
    n_verdicts: int

    @property
    def is_mixed(self) -> bool:
        """Whether the model has random effects; otherwise it is for `glm`."""
        return "|" in self.formula

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the formula for the user."""
        notes = []
        if self.fixed:
            notes.append(
                f"Fewer than {FEWEST_LEVELS} entries, so no random effect: {', '.join(self.fixed)}. "
                "Add them as fixed effects, or leave them out."
            )
        if "1 + model" in self.formula:
            notes.append("If the fit does not converge, write (1 | verb.entry) for (1 + model | verb.entry).")
        if not self.is_mixed:
            notes.append("No items share words, so the model has no random effects.")
        return tuple(notes)


def mixed_model(opened: RunSet) -> MixedModel:
    """Return the formula for the verdicts of runs.

    Entries are random effects, crossed with each other, as items and subjects are in experiments. With
    several models, the effect of an entry may differ between models, because models are compared.

    Source: Baayen, Davidson & Bates 2008, "Mixed-effects modeling with crossed random effects for subjects
    and items", Journal of Memory and Language 59; Barr, Levy, Scheepers & Tily 2013, "Random effects
    structure for confirmatory hypothesis testing: Keep it maximal", ibid. 68.
    """
    all_decided = [_decided(verdicts) for verdicts in opened.verdicts.values()]
    parts = [frame for frame in all_decided if len(frame)]
    if not parts:
        raise RunError(
            "no item of these runs can be decided, so there are no data for a mixed model.\n"
            "  The models may not know the words of the suite. To see the number of undecidable items: "
            "tseval table RUN"
        )
    rows = pd.concat([frame[list(ROW)].drop_duplicates() for frame in parts]).drop_duplicates()
    predictors = [name for name, n in (("model", len(parts)), ("row", len(rows))) if n > 1]
    entries: dict[str, set[str]] = {}
    for frame in parts:
        for name in entry_columns(frame):
            entries.setdefault(name, set()).update(frame[name].dropna().unique())
    counts = {name: len(words) for name, words in entries.items()}
    slopes = "1 + model" if "model" in predictors else "1"
    effects = [f"({slopes} | {_quoted(cell(name))})" for name, n in counts.items() if n >= FEWEST_LEVELS]
    if len(parts) > 1 or parts[0].duplicated(["case", "item"]).any():
        effects.append("(1 | id)")
    return MixedModel(
        formula=" + ".join([f"correct ~ {' * '.join(predictors) or '1'}", *effects]),
        fixed=tuple(name for name, n in counts.items() if 1 < n < FEWEST_LEVELS),
        n_verdicts=sum(map(len, parts)),
    )


def _decided(verdicts: pd.DataFrame) -> pd.DataFrame:
    return verdicts[~verdicts["undecidable"].to_numpy(bool)]


def write_verdicts(opened: RunSet, file: IO[bytes]) -> None:
    """Write one line per model and decidable verdict, one model after the other.

    The columns are `model`, `row` (of the table), `id` (of the item, equal for all models and contrasts) and
    `correct` (0 or 1); then the columns of verdicts. An `.entry` is empty if an item has none.
    """
    names = list(dict.fromkeys(str(name) for frame in opened.verdicts.values() for name in frame.columns))
    for number, (model, verdicts) in enumerate(opened.verdicts.items()):
        table = _tidy(model, verdicts.reindex(columns=names))
        file.write(table.to_csv(index=False, header=number == 0, lineterminator="\n").encode())


def _tidy(model: str, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the decidable verdicts of one model in the form of the file."""
    frame = _decided(verdicts)
    keys = {
        "model": cell(model),
        "row": _rows(verdicts)[~verdicts["undecidable"].to_numpy(bool)],
        "id": frame["case"].astype(str) + ":" + frame["item"].astype(str),
        "correct": frame["correct"].astype(int),
    }
    new_names = {name: f"feature.{name}" for name in keys}
    features = frame.drop(columns=["correct", *_SCORES]).rename(columns=new_names)
    texts = {}
    for name, column in features.items():
        if not pd.api.types.is_numeric_dtype(column):  # make each distinct text safe for spreadsheets, once
            codes, values = pd.factorize(column)
            texts[str(name)] = np.array([*(cell(str(text)) for text in values), ""], object)[codes]
    return pd.concat([pd.DataFrame(keys, frame.index), features.assign(**texts)], axis=1).rename(columns=cell)


def _rows(verdicts: pd.DataFrame) -> NDArray[np.object_]:
    """Return for each verdict the label of its row in the table, with the phenomenon."""
    keys = verdicts[list(ROW)]
    distinct = keys.drop_duplicates()
    labels = row_labels(distinct)
    names = [
        f"{phenomenon}: {label}" for phenomenon, label in zip(distinct["phenomenon"], labels, strict=True)
    ]
    number = keys.groupby(list(ROW), sort=False, dropna=False).ngroup()
    return np.array(list(map(cell, names)), object)[number]


def _quoted(name: str) -> str:
    """Return the name of a column in R syntax."""
    return name if _SYNTACTIC.fullmatch(name) else "`" + name.replace("`", "\\`") + "`"


def in_r(model: MixedModel, file: str) -> str:
    """Return R code that reads the table and fits the model."""
    read = f"verdicts <- read.csv({_text(file)}, check.names = FALSE, na.strings = character())"
    if not model.is_mixed:
        return f"{read}\nfit <- glm({model.formula}, data = verdicts, family = binomial)\n"
    fit = f"fit <- glmer({model.formula},\n             data = verdicts, family = binomial,\n"
    # For models near chance, the default optimiser warns that it has not converged.
    fit += '             control = glmerControl(optimizer = "bobyqa"))'
    return f"library(lme4)\n{read}\n{fit}\n"


def _text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
