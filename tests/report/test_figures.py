"""Panels of lines: everything that is drawn lies inside the figure, and no name over another."""

from itertools import pairwise

import pytest
from matplotlib.text import Annotation

from tseval.report.figures import LineOf
from tseval.report.panels import Panel, draw_panels


@pytest.mark.parametrize("name", ["srn", "grammaticality-lstm-1", "n" * 30])
@pytest.mark.parametrize("n_panels", [1, 5])
def test_the_legend_lies_inside_the_figure_however_long_the_names(name, n_panels):
    lines = [LineOf(i, name, [0, 1], [0.4, 0.6]) for i in range(7)]
    figure = draw_panels([Panel(f"{n}", lines) for n in range(n_panels)], "attractors", "accuracy")
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    width, height = figure.bbox.width, figure.bbox.height
    assert len(figure.legends[0].get_texts()) == 8
    assert 0 <= box.x0 < box.x1 <= width
    assert 0 <= box.y0 < box.y1 <= height


def height(text):
    assert isinstance(text, Annotation)
    return text.xy[1]


@pytest.mark.parametrize("ends", [[0.5] * 4, [0.0, 0.0, 0.01], [1.0, 1.0, 0.99, 0.4]])
def test_names_that_would_meet_stand_apart_around_their_middle_and_inside_the_panel(ends):
    lines = [LineOf(i, f"m{i}", [1, 2], [0.2, end]) for i, end in enumerate(ends)]
    axes = draw_panels([Panel("", lines, ["the", "author"])], "words", "confidence").axes[0]
    names = {text.get_text(): height(text) for text in axes.texts}
    assert names.keys() == {"chance", *(line.name for line in lines)}
    places = sorted(names.values())
    assert min(b - a for a, b in pairwise(places)) >= 0.07 - 1e-9
    low, high = axes.get_ylim()
    assert low <= places[0]
    assert places[-1] <= high
    if ends == [0.5] * 4:
        assert sum(places) / 5 == pytest.approx(0.5)


def test_a_name_that_meets_no_other_stands_where_its_line_ends():
    lines = [LineOf(i, f"m{i}", [1, 2], [0.2, end]) for i, end in enumerate([0.9, 0.52, 0.51])]
    axes = draw_panels([Panel("", lines, ["the", "author"])], "words", "confidence").axes[0]
    assert {text.get_text(): height(text) for text in axes.texts}["m0"] == 0.9
