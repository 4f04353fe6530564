"""docs/architectures.md has a section for every cell, with the equation of the cell's docstring."""

import inspect
import re
from pathlib import Path

import pytest

from tseval.models.cells import CELLS

PAGE = Path(__file__).parents[2] / "docs/architectures.md"
TEXT = PAGE.read_text("utf-8")
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| ([^|]+?) \|", TEXT, re.MULTILINE))
# The first code under a heading of its own.
SECTIONS = dict(re.findall(r"^## (.+)\n\n((?:    .+\n)+)", TEXT, re.MULTILINE))


def equations(lines: str) -> list[str]:
    """Give equations, one a line, without their alignment and what is said of them after a comma."""
    return [re.split(r", (?=[^\W\d])", " ".join(line.split()))[0] for line in lines.splitlines()]


@pytest.mark.parametrize("arch", CELLS)
def test_every_cell_has_a_section_with_its_equation(arch: str) -> None:
    _, equation, *_ = inspect.getdoc(CELLS[arch]).split("\n\n")
    assert "=" in equation, f"the docstring of {CELLS[arch].__name__} has no equation after its first line"
    assert arch in ROWS, f"docs/architectures.md has no row for {arch}"
    assert ROWS[arch] in SECTIONS, f"docs/architectures.md has no section '{ROWS[arch]}' with an equation"
    assert equations(SECTIONS[ROWS[arch]]) == equations(equation)
