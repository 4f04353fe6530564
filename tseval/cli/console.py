"""Where bars and changing tables are drawn: colours reach a terminal, control characters in texts do not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich.console

from tseval.cli.terminal import beneath, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment


class Console(rich.console.Console):
    """Standard error as rich draws on it.

    Args:
        quiet: Draw nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        super().__init__(file=beneath(sys.stderr), quiet=quiet, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Spell out control characters in texts; those that rich itself means are not texts."""
        for segment in super().render(renderable, options):
            if segment.control or not self.is_terminal:
                yield segment
            else:
                yield segment._replace(text=escaped(segment.text))
