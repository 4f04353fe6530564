"""Line panels: everything is inside the figure, and no name covers another."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Annotation

from tseval.report.families import MOST_TOGETHER, in_families
from tseval.report.figures import BEHIND, COLOURS, MARKERS, draw
from tseval.report.looks import BANDS, BARS, LONG_LINES, ROW_DOTS, SMALL_LINES
from tseval.report.panels import SHARES, Axis, Panel, Series, share_panel

ZOO = ["srn", "gru", "lstm", "eirnn", "drnn", "sdrnn", "abdrnn", "drnn-cnn", "ablated-lstm", "onlstm", "urn"]
AXIS = Axis("confidence", SHARES)
GATED, DECAYING = {"gru", "lstm", "ablated-lstm", "onlstm"}, {"eirnn", "drnn", "sdrnn", "abdrnn", "drnn-cnn"}


@pytest.mark.parametrize("name", ["srn", "grammaticality-lstm-1", "n" * 30])
@pytest.mark.parametrize("n_panels", [1, 5])
def test_the_legend_lies_inside_the_figure_however_long_the_names(name, n_panels):
    lines = [Series(i, name, [0, 1], [0.4, 0.6]) for i in range(7)]
    figure = draw([Panel(f"{n}", lines, y=AXIS) for n in range(n_panels)], SMALL_LINES)
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    width, height = figure.bbox.width, figure.bbox.height
    assert len(figure.legends[0].get_texts()) == 8
    assert 0 <= box.x0 < box.x1 <= width
    assert 0 <= box.y0 < box.y1 <= height


def test_each_bar_ends_where_its_value_is_and_no_two_overlap():
    values = {"lstm": [0.9, 0.4], "drnn": [0.6, 0.7]}
    lines = [Series(i, name, [1, 2], y, y, y) for i, (name, y) in enumerate(values.items())]
    figure = draw([Panel("rows", lines, words=["Simple", "Across a PP"])], BARS)
    axes: Any
    (axes,) = figure.subfigs[0].axes
    assert [bar.get_height() for bar in axes.patches] == [0.9, 0.4, 0.6, 0.7]
    spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches)
    assert all(end < start for (_, end), (start, _) in pairwise(spans))
    assert [round(sum(span) / 2) for span in spans] == [1, 1, 2, 2]  # each next to its label
    assert [text.get_text() for text in axes.get_xticklabels()] == ["Simple", "Across a PP"]
    assert [text.get_text() for text in figure.subfigs[0].legends[0].get_texts()] == [*values, "chance"]


LABELS = ["Across a RC (grammatical vs. ungrammatical)", "distractor_agreement_relational_noun", "Simple"]


@pytest.mark.slow
@pytest.mark.parametrize("n_models", [1, 3, 6])
@pytest.mark.parametrize("n_panels", [3, 12])
def test_dots_of_rows_are_as_wide_as_a_column_or_a_page_and_labels_leave_half_of_it(n_models, n_panels):
    lines = [
        Series(i, f"model {i}", [1, 2, 3], [0.2, 0.5, 0.9], [0.1, 0.4, 0.8], [0.3, 0.6, 1.0])
        for i in range(n_models)
    ]
    panel = Panel("Negative polarity items (long-range)", lines, y=Axis("accuracy", (0, 1)), words=LABELS)
    with rc_context({"font.size": ROW_DOTS.text_size}):
        figure = draw([panel] * n_panels, ROW_DOTS)
        figure.draw_without_rendering()
    n_columns = len(figure.subfigs)
    assert figure.get_figwidth() == pytest.approx(3.3 * n_columns)
    assert n_columns == (1 if n_panels == 3 else 2)
    column = figure.bbox.width / n_columns
    for axes in (axes for part in figure.subfigs for axes in part.axes if axes.get_lines()):
        labels = [label.get_window_extent() for label in axes.get_yticklabels()]
        assert axes.get_window_extent().width > 0.45 * column
        assert all(label.x0 >= 0 and label.x1 <= axes.get_window_extent().x0 for label in labels)
        assert all(low.y1 < high.y0 for low, high in pairwise(labels)), "labels do not overlap"
        assert axes.title.get_window_extent().x0 >= 0
        assert axes.title.get_window_extent().x1 <= figure.bbox.width


def test_single_seeds_stand_as_open_points_on_the_line_of_their_mean():
    series = Series(0, "lstm", [1], [0.6], [0.5], [0.7], points=[(1, 0.55), (1, 0.65)])
    figure = draw([Panel("Agreement", [series], words=["Simple"])], ROW_DOTS)
    (axes,) = [axes for axes in figure.subfigs[0].axes if axes.get_lines()]
    (seeds,) = [line for line in axes.get_lines() if line.get_markerfacecolor() == "none"]
    assert np.asarray(seeds.get_xdata()).tolist() == [0.55, 0.65]
    assert np.asarray(seeds.get_ydata()).tolist() == [1, 1]
    assert len(axes.collections) == 1, "the stroke of the interval alone"
    assert "one seed" in [text.get_text() for text in figure.legends[0].get_texts()]


def height(text):
    assert isinstance(text, Annotation)
    return text.xy[1]


@pytest.mark.parametrize("ends", [[0.5] * 4, [0.0, 0.0, 0.01], [1.0, 1.0, 0.99, 0.4]])
def test_names_that_would_meet_stand_apart_around_their_middle_and_inside_the_panel(ends):
    lines = [Series(i, f"$m_{i}$", [1, 2], [0.2, end]) for i, end in enumerate(ends)]
    axes = draw([Panel("", lines, y=AXIS, words=["the", "author"])], LONG_LINES).axes[0]
    names = {text.get_text(): height(text) for text in axes.texts}
    assert not any(text.get_parse_math() for text in axes.texts)
    assert names.keys() == {"chance", *(line.name for line in lines)}
    places = sorted(names.values())
    assert min(b - a for a, b in pairwise(places)) >= 0.07 - 1e-9
    low, high = axes.get_ylim()
    assert low <= places[0]
    assert places[-1] <= high
    if ends == [0.5] * 4:
        assert sum(places) / 5 == pytest.approx(0.5)


def test_a_name_that_meets_no_other_stands_where_its_line_ends():
    lines = [Series(i, f"m{i}", [1, 2], [0.2, end]) for i, end in enumerate([0.9, 0.52, 0.51])]
    axes = draw([Panel("", lines, y=AXIS, words=["the", "author"])], LONG_LINES).axes[0]
    assert {text.get_text(): height(text) for text in axes.texts}["m0"] == 0.9


def members(families, names):
    return {title: {names[place] for place in places} for title, places in families}


def test_many_models_are_parted_into_families_by_the_architecture_in_their_names():
    others = {"srn", "urn"}
    assert members(in_families(ZOO), ZOO) == {"Gated": GATED, "Decaying": DECAYING, "Others": others}
    named = [f"number-{name.upper()}-2" for name in ZOO]
    assert [places for _, places in in_families(named)] == [places for _, places in in_families(ZOO)]
    assert in_families(ZOO[:MOST_TOGETHER]) == [("", list(range(MOST_TOGETHER)))]


def shades(axes):
    return [to_hex(line.get_color()).upper() for line in axes.lines if len(line.get_xdata()) == 3]


@pytest.mark.parametrize(("words", "look"), [((), SMALL_LINES), (("the", "author", "laughs"), LONG_LINES)])
def test_eleven_models_stand_in_panels_by_family_the_others_grey_each_named_once(words, look):
    lines = [Series(i, name, [1, 2, 3], [0.5, 0.6, i / 11]) for i, name in enumerate(ZOO)]
    figure = draw([Panel("pp", lines, y=AXIS, words=words)], look)
    named = [{text.get_text() for text in axes.texts} - {"chance"} for axes in figure.axes]
    assert named == [GATED, DECAYING, {"srn", "urn"}]
    assert figure.legends == []
    for axes, own in zip(figure.axes, named, strict=True):
        assert len(shades(axes)) == 11
        assert shades(axes).count(BEHIND.upper()) == 11 - len(own)
        assert len(set(shades(axes))) == len(own) + 1
    figure.draw_without_rendering()
    assert all(
        0 <= text.get_window_extent().x1 <= figure.bbox.width for axes in figure.axes for text in axes.texts
    )


def test_eleven_lines_of_shares_stand_below_each_other_on_one_scale():
    lines = [
        Series(i, name, [1, 2, 3], [0.1, 0.2, i / 99], [0.0] * 3, [0.3] * 3) for i, name in enumerate(ZOO)
    ]
    figure = draw([share_panel("Error", lines, "attractors", "error")], BANDS)
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes] == [
        "Gated: Error", "Decaying: Error", "Others: Error"
    ]  # fmt: skip
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def lightness(colour):
    """Return L* of CIELAB, from 0 to 100: the lightness of a colour in a grey print."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    y = np.dot([0.2126, 0.7152, 0.0722], linear)
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


# From linear RGB to the perceived colour: Machado, Oliveira & Fernandes 2009, severity 1.0.
VISION = {
    "protanopia": "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216 -0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413 -0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779 -0.078411 0.930809 0.147602 0.004733 0.691367 0.303900",
}


def test_the_models_of_one_panel_differ_in_grey_and_in_their_markers():
    together = COLOURS[:MOST_TOGETHER]
    assert min(abs(lightness(a) - lightness(b)) for a, b in combinations(together, 2)) > 7
    assert len(set(MARKERS[:MOST_TOGETHER])) == MOST_TOGETHER
    assert lightness(BEHIND) > max(map(lightness, together)) + 7


@pytest.mark.parametrize("vision", VISION)
def test_the_models_of_one_panel_differ_to_the_colour_blind(vision):
    matrix = np.array(VISION[vision].split(), float).reshape(3, 3)
    seen = [np.clip(matrix @ (np.array(to_rgb(c)) ** 2.2), 0, 1) ** (1 / 2.2)
            for c in COLOURS[:MOST_TOGETHER]]  # fmt: skip
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 0.12
