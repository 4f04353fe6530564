"""Verdicts for a mixed model in R: one tidy table, and the formula that goes with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.accuracy import ROW
from tseval.analysis.inference.factors import FEWEST_LEVELS
from tseval.analysis.selection import entry_columns
from tseval.errors import RunError
from tseval.report.formats.csv import cell
from tseval.report.layout import row_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.report.analyses import Opened

_SYNTACTIC = re.compile(r"[A-Za-z][A-Za-z0-9._]*")
_SCORES = ["better_score", "worse_score", "tie", "undecidable"]


@dataclass(frozen=True, slots=True)
class MixedModel:
    """What lme4 needs.

    Attributes:
        table: One line per model and decidable verdict: `model`, `row` (of the table), `id` (of the item, the
            same for all models and contrasts), `correct` (0 or 1); then the columns of the verdicts, `.entry`
            empty where an item has none.
        formula: Fixed effects of model and row; lexicon entries as crossed random effects.
        fixed: Factors with too few entries to be random: they are left to the reader.
    """

    table: pd.DataFrame
    formula: str
    fixed: tuple[str, ...]

    @property
    def is_mixed(self) -> bool:
        """Whether anything is random: else it is a model for `glm`."""
        return "|" in self.formula

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the formula."""
        notes = []
        if self.fixed:
            notes.append(
                f"Fewer than {FEWEST_LEVELS} entries, so no random effect: {', '.join(self.fixed)}. "
                "Add them as fixed effects, or leave them out."
            )
        if "1 + model" in self.formula:
            notes.append("If the fit does not converge, write (1 | verb.entry) for (1 + model | verb.entry).")
        if not self.is_mixed:
            notes.append("No item is known to share a word with others: there is nothing to be random.")
        return tuple(notes)


def mixed_model(opened: Opened) -> MixedModel:
    """Put the verdicts of runs into one table, and write the formula for it.

    Entries are random effects, crossed with each other, as items and subjects are in experiments. With
    several models an entry has an effect of its own for each of them, since models are what is compared.

    Raises:
        RunError: Nothing is decidable.

    Source: Baayen, Davidson & Bates 2008, "Mixed-effects modeling with crossed random effects for subjects
    and items", Journal of Memory and Language 59; Barr, Levy, Scheepers & Tily 2013, "Random effects
    structure for confirmatory hypothesis testing: Keep it maximal", ibid. 68.
    """
    table = pd.concat([_tidy(name, verdicts) for name, verdicts in opened.verdicts.items()])
    if table.empty:
        raise RunError(
            "no item of these runs can be decided, so there is nothing to fit.\n"
            "  The model may not know the words: tseval table shows how many items are undecidable."
        )
    factors = entry_columns(table)
    counts = {name: table[name].replace("", pd.NA).nunique() for name in factors}
    random = [name for name in factors if counts[name] >= FEWEST_LEVELS]
    fixed = tuple(name for name in factors if 1 < counts[name] < FEWEST_LEVELS)
    several = [name for name in ("model", "row") if table[name].nunique() > 1]
    slopes = "1 + model" if "model" in several else "1"
    groups = [f"({slopes} | {_quoted(name)})" for name in random]
    if table["id"].duplicated().any():
        groups.append("(1 | id)")
    return MixedModel(table, " + ".join([f"correct ~ {' * '.join(several) or '1'}", *groups]), fixed)


def _tidy(model: str, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Give the decidable verdicts of one model, ready to be written."""
    decided = ~verdicts["undecidable"].to_numpy(bool)
    frame = verdicts[decided]
    keys = {
        "model": cell(model),
        "row": _rows(verdicts)[decided],
        "id": frame["case"].astype(str) + ":" + frame["item"].astype(str),
        "correct": frame["correct"].astype(int),
    }
    others = frame.drop(columns=["correct", *_SCORES]).rename(
        columns={name: f"feature.{name}" for name in keys}
    )
    texts = {
        str(name): _cells(column)
        for name, column in others.items()
        if not pd.api.types.is_numeric_dtype(column)
    }
    return pd.concat([pd.DataFrame(keys), others.assign(**texts)], axis=1)


def _cells(column: pd.Series[str]) -> NDArray[np.object_]:
    """Write each text once as a spreadsheet may read it; empty where it is missing."""
    codes, texts = pd.factorize(column)
    return np.array([*(cell(str(text)) for text in texts), ""], object)[codes]


def _rows(verdicts: pd.DataFrame) -> NDArray[np.object_]:
    """Name the row of the table that each verdict counts in, with its phenomenon."""
    keys = verdicts[list(ROW)]
    different = keys.drop_duplicates()
    labels = row_labels(different)
    names = [
        f"{phenomenon}: {label}" for phenomenon, label in zip(different["phenomenon"], labels, strict=True)
    ]
    number = keys.groupby(list(ROW), sort=False, dropna=False).ngroup()
    return np.array(list(map(cell, names)), object)[number]


def _quoted(name: str) -> str:
    """Write the name of a column as R reads it."""
    return name if _SYNTACTIC.fullmatch(name) else "`" + name.replace("`", "\\`") + "`"


def in_r(model: MixedModel, file: str) -> str:
    """Write the lines of R that read the table and fit the model."""
    read = f"verdicts <- read.csv({_text(file)}, check.names = FALSE, na.strings = character())"
    if not model.is_mixed:
        return f"{read}\nfit <- glm({model.formula}, data = verdicts, family = binomial)\n"
    fit = f"fit <- glmer({model.formula},\n             data = verdicts, family = binomial)"
    return f"library(lme4)\n{read}\n{fit}\n"


def _text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
