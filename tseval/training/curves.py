"""Learning curves: their columns, the additional values of cells, and their file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import torch

from tseval.files import write_whole
from tseval.models.cells.cell import Cell
from tseval.runs.directory import to_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tseval.models.network import Network
    from tseval.training.corpus import Window


CurveRow = dict[str, int | float | None]
# Columns of a point; further columns have a watched scalar of a layer (`alpha_1`, `alpha_2`).
CURVE_COLUMNS: dict[str, pa.DataType] = {
    "step": pa.int64(),  # windows read
    "epoch": pa.int64(),  # of this window, from 1
    "tokens": pa.int64(),  # training tokens read
    "learning_rate": pa.float64(),  # of the next window
    "training_loss": pa.float64(),  # nats per token, mean over the windows since the last row
    "validation_loss": pa.float64(),  # nats per token; null if the model was not validated
    "validation_perplexity": pa.float64(),
    "seconds": pa.float64(),  # of training, including validation and saving, over all sessions
}


def curves_path(out: Path) -> Path:
    """Return the path of the learning curves of a checkpoint."""
    return out.with_name(f"{out.stem}.curves.parquet")


@torch.no_grad()
def watched_scalars(model: Network, sample: Window) -> CurveRow:
    """Return the watched scalars of the cells; layers are counted from 1.

    Values that depend on words are means over a sample, which is the same at every point. There is no
    dropout, and no random numbers are drawn.
    """
    row: CurveRow = {}
    x = None
    for layer, cell in enumerate(model.cells, 1):
        row |= {f"{name}_{layer}": value.item() for name, value in cell.watched.items()}
        if type(cell).watched_words is Cell.watched_words:
            continue
        projected = cell.project(model.embedding(sample.words) if x is None else x)
        for name, values in cell.watched_words(projected).items():
            row[f"{name}_{layer}"] = sample.predicting(values).mean().item()
        x, _ = cell.scan(projected, cell.initial_state(sample.words.shape[1]))
    return row


def write_curves(path: Path, rows: Sequence[CurveRow], columns: Mapping[str, pa.DataType]) -> None:
    """Write the points of a learning curve atomically; additional columns are float64."""
    names = [*columns, *(name for name in rows[-1] if name not in columns)]
    types = [columns.get(name, pa.float64()) for name in names]
    values = [
        pa.array([row.get(name) for row in rows], kind) for name, kind in zip(names, types, strict=True)
    ]
    write_whole(path, to_parquet(pa.Table.from_arrays(values, names)))
