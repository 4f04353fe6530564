"""Draw the figure of the public boards for README: means over rows, with intervals.

    python benchmarks/public_figure.py

writes docs/figures/public.svg, which has dark colours if the browser uses a dark theme.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pandas as pd

from tseval.errors import TsevalError
from tseval.report.figures import INK, write_figure
from tseval.report.looks import ACCURACY_DOTS
from tseval.report.panels import Axis, Panel, lines_of

ROOT = Path(__file__).parents[1]
FIGURE = ROOT / "docs/figures/public.svg"
BOARDS = {
    "public": "Marvin & Linzen",
    "public-clams": "CLAMS, English",
    "public-syntaxgym": "SyntaxGym",
    "public-blimp": "BLiMP",
}
MODELS = ["Gemma-3-270M", "SmolLM2-135M-Instruct", "bundled-lstm"]
# Means over groups that are not a phenomenon.
LEFT_OUT = {
    "Short-range dependency",
    "Long-range dependency",
    "Morphology",
    "Semantics",
    "Syntax",
    "Syntax & semantics",
}
# Colours on a dark page: background, text, lines, and the first three colours of curves.
DARK = {
    "#ffffff": "#0d1117", "#000000": "#e6edf3", INK: "#e6edf3", "#555555": "#9198a1", "#e5e5e5": "#2a313c",
    "#332288": "#a5a0f0", "#cc6677": "#f0909d", "#117733": "#56c57a",
}  # fmt: skip


def panel_of(board: str, title: str) -> Panel:
    """Return a panel with the means of a board, the first at the top."""
    command = [sys.executable, "-m", "tseval", "table", f"leaderboards/{board}", "--format", "json"]
    table = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    means = [mean for mean in table["means"] if mean["over"] not in LEFT_OUT]
    records = [
        {"model": model, "place": len(means) - at}
        | {name: mean[name][model] for name in ("accuracy", "low", "high")}
        for at, mean in enumerate(means)
        for model in mean["accuracy"]
        if mean["accuracy"][model] is not None
    ]
    words = [mean["over"] for mean in reversed(means)]
    lines = lines_of(pd.DataFrame(records), "place", "accuracy", MODELS)
    return Panel(title, lines, y=Axis("mean accuracy", (0, 1)), words=words)


def in_the_dark() -> str:
    """Return a style that changes the colours if the browser uses a dark theme."""
    rules = [
        f'[style*="{what}: {colour}"]{{{what}:{dark}!important}}'
        for colour, dark in DARK.items()
        for what in ("fill", "stroke")
    ]
    return f"<style>@media (prefers-color-scheme: dark){{svg{{fill:{DARK[INK]}}}{''.join(rules)}}}</style>"


@click.command(help=__doc__.partition("\n")[0])
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), default=FIGURE, help="File for the figure (.svg)."
)
def main(out: Path) -> None:
    """Draw it."""
    write_figure([panel_of(*one) for one in BOARDS.items()], ACCURACY_DOTS, [out], TsevalError)
    text = out.read_text("utf-8")
    out.write_text(text.replace("</svg>", f"{in_the_dark()}</svg>"), "utf-8")


if __name__ == "__main__":
    main()
