"""A training text as what a model reads at once: windows of parallel columns, or batches of whole lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from tseval.training.corpus import BLOCK

if TYPE_CHECKING:
    from torch import Tensor

    from tseval.training.corpus import FoldedText, Stream


@dataclass(frozen=True, slots=True)
class Window:
    """What is read at once.

    Attributes:
        words: Word ids, (time, batch).
        targets: The words that follow, (predictions,).
        rows: Which of the time * batch outputs predict them; None for all.
        fresh: Whether the state before it is the fresh one, not that after the window before.
    """

    words: Tensor
    targets: Tensor
    rows: Tensor | None
    fresh: bool

    def predicting(self, outputs: Tensor) -> Tensor:
        """Pick the outputs that predict a word: (time, batch, hidden) to (predictions, hidden)."""
        flat = outputs.flatten(0, 1)
        return flat if self.rows is None else flat[self.rows]


class Windows(Protocol):
    """A text, one window after the other."""

    @property
    def n_windows(self) -> int:
        """Windows of the whole text."""
        ...

    def tokens(self, windows: int) -> int:
        """Count the words predicted in the first so many windows."""
        ...

    def windows_for(self, tokens: int) -> int:
        """Count the windows, from the first, in which at least so many words are predicted."""
        ...

    def read(self, window: int, device: torch.device) -> Window:
        """Give one window, counted from 0."""
        ...


@dataclass(frozen=True, slots=True)
class Columns:
    """A text folded into columns that are read side by side; all but the first row is predicted.

    Attributes:
        text: Word ids, (time, batch), in memory or on disk.
        length: Rows predicted at once.
        fresh_state: Whether every window starts from the fresh state; otherwise the first alone.
    """

    text: Tensor | FoldedText
    length: int
    fresh_state: bool = False

    @property
    def n_windows(self) -> int:
        """See `Windows`; the last may be shorter than the others."""
        return -(-(len(self.text) - 1) // self.length)

    def tokens(self, windows: int) -> int:
        """See `Windows`."""
        return min(windows * self.length, len(self.text) - 1) * self.text.shape[1]

    def windows_for(self, tokens: int) -> int:
        """See `Windows`."""
        return -(-tokens // (self.length * self.text.shape[1]))

    def read(self, window: int, device: torch.device) -> Window:
        """See `Windows`."""
        start = window * self.length
        words = self.text[start : start + self.length + 1].to(device)
        return Window(words[:-1], words[1:].flatten(), None, self.fresh_state or window == 0)


class Lines:
    """A text read by whole lines, each from the fresh state and the `<eos>` before it to the one at its end.

    A batch holds lines that follow each other in the text. Shorter ones are filled up with `<eos>`, after
    which nothing is predicted.

    Args:
        stream: Word ids, (tokens,), with `<eos>` first, last and between lines.
        eos: The id of `<eos>`.
        batch: Lines read at once; the last batch may hold fewer.
    """

    def __init__(self, stream: Stream, eos: int, batch: int) -> None:
        ends = _places_of(eos, stream)
        self.stream, self.eos, self.batch = stream, eos, batch
        self.starts, self.lengths = ends[:-1], ends.diff()
        # Words predicted up to the end of each batch.
        self._tokens = torch.cat([self.starts[::batch], ends[-1:]]) - ends[0]

    @property
    def n_windows(self) -> int:
        """See `Windows`."""
        return len(self._tokens) - 1

    def tokens(self, windows: int) -> int:
        """See `Windows`."""
        return int(self._tokens[windows])

    def windows_for(self, tokens: int) -> int:
        """See `Windows`."""
        return int(torch.searchsorted(self._tokens, tokens))

    def read(self, window: int, device: torch.device) -> Window:
        """See `Windows`."""
        lines = slice(window * self.batch, (window + 1) * self.batch)
        starts, lengths = self.starts[lines], self.lengths[lines]
        steps = torch.arange(int(lengths.max()))[:, None]
        inside = steps < lengths
        where = torch.where(inside, starts + steps, starts)
        rows = None if inside.all() else inside.flatten().nonzero().flatten()
        targets = self.stream[where[inside] + 1]
        words = self.stream[where]
        return Window(
            words.to(device), targets.to(device), None if rows is None else rows.to(device), fresh=True
        )


def _places_of(word: int, stream: Stream) -> Tensor:
    """Find a word in a stream, block by block."""
    found, start = [], 0
    for block in stream.split(BLOCK):
        found.append((block == word).nonzero().flatten() + start)
        start += len(block)
    return torch.cat(found)
