"""Every cell says its equation and its source; docs/architectures.md says the same of those it shows."""

import inspect
import re
from pathlib import Path

import pytest

from tseval.models.cells import CELLS, FIRST

PAGE = Path(__file__).parents[2] / "docs/architectures.md"
TEXT = PAGE.read_text("utf-8")
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| ([^|]+?) \|", TEXT, re.MULTILINE))
# The first code under a heading of its own.
SECTIONS = dict(re.findall(r"^## (.+)\n\n((?:    .+\n)+)", TEXT, re.MULTILINE))


def equations(lines: str) -> list[str]:
    """Give equations, one a line, without their alignment and what is said of them after a comma."""
    return [re.split(r", (?=[^\W\d])", " ".join(line.split()))[0] for line in lines.splitlines()]


@pytest.mark.parametrize("arch", CELLS)
def test_every_cell_says_its_equation_and_its_source(arch: str) -> None:
    text = inspect.getdoc(CELLS[arch])
    _, equation, *_ = text.split("\n\n")
    assert "=" in equation, f"the docstring of {CELLS[arch].__name__} has no equation after its first line"
    assert "\nSource: " in text, f"the docstring of {CELLS[arch].__name__} has no line 'Source: ...'"


@pytest.mark.parametrize("arch", [arch for arch in CELLS if arch in {*FIRST, *ROWS}])
def test_every_row_of_the_page_has_a_section_with_the_equation_of_the_cell(arch: str) -> None:
    _, equation, *_ = inspect.getdoc(CELLS[arch]).split("\n\n")
    assert arch in ROWS, f"docs/architectures.md has no row for {arch}"
    assert ROWS[arch] in SECTIONS, f"docs/architectures.md has no section '{ROWS[arch]}' with an equation"
    assert equations(SECTIONS[ROWS[arch]]) == equations(equation)
