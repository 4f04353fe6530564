"""The figure of learning curves: its content, its safety, and the same bytes every time."""

import math
import xml.etree.ElementTree as ET
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import call

from tseval.errors import TrainingError
from tseval.report.curves import curve_panels, read_curves, write_curves_figure
from tseval.report.figures import COLOURS, draw

COLUMNS: dict[str, Any] = {
    "step": [0, 10, 20, 30],
    "tokens": [0, 1_000_000, 2_000_000, 3_000_000],
    "training_loss": [None, 6.0, 5.0, 4.5],
    "validation_loss": [None, None, 5.1, 4.6],
    "validation_perplexity": [None, None, math.exp(5.1), math.exp(4.6)],
}
ALPHA = {"alpha_1": [0.8, 0.75, 0.7, 0.65], "alpha_2": [0.8, 0.82, 0.84, 0.86]}


@pytest.fixture
def write(tmp_path):
    def write(name="drnn", **columns):
        path = tmp_path / f"{name}.curves.parquet"
        pq.write_table(pa.table(COLUMNS | columns), path)
        return path

    return write


def draw_curves(curves):
    return draw(*curve_panels(curves))


def lines(axes):
    return [([*line.get_xdata()], [*line.get_ydata()]) for line in axes.lines]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_every_layer_has_a_line_of_its_decay_over_millions_of_tokens(write):
    figure = draw_curves([read_curves(write(**ALPHA))])
    alpha, loss, perplexity = figure.axes
    assert lines(alpha) == [([0, 1, 2, 3], ALPHA["alpha_1"]), ([0, 1, 2, 3], ALPHA["alpha_2"])]
    assert lines(loss) == [([1, 2, 3], [6.0, 5.0, 4.5]), ([2, 3], [5.1, 4.6])]
    assert lines(perplexity) == [([2, 3], COLUMNS["validation_perplexity"][2:])]
    assert perplexity.get_yscale() == "log"
    assert legend(figure) == ["drnn", "layer 1", "layer 2", "training", "validation"]


def test_a_classifier_is_drawn_by_epochs_and_accuracy(tmp_path):
    columns: dict[str, Any] = {
        "step": [0, 15, 30], "epoch": [0, 1, 2], "training_loss": [None, 0.6, 0.4],
        "validation_loss": [0.7, 0.5, 0.45], "validation_accuracy": [0.5, 0.75, 0.8],
    }  # fmt: skip
    pq.write_table(pa.table(columns), tmp_path / "number.curves.parquet")
    loss, accuracy = draw_curves([read_curves(tmp_path / "number.curves.parquet")]).axes
    assert lines(loss) == [([1, 2], [0.6, 0.4]), ([0, 1, 2], [0.7, 0.5, 0.45])]
    assert lines(accuracy) == [([0, 1, 2], [0.5, 0.75, 0.8])]
    assert (loss.get_xlabel(), loss.get_ylabel()) == ("epochs", "nats per example")
    assert accuracy.get_title() == "Validation accuracy"


def test_language_models_and_classifiers_do_not_share_a_figure(write, tmp_path):
    columns = {name: [0.5] for name in ("epoch", "training_loss", "validation_loss", "validation_accuracy")}
    pq.write_table(pa.table(columns), tmp_path / "number.curves.parquet")
    both = [read_curves(write()), read_curves(tmp_path / "number.curves.parquet")]
    with pytest.raises(
        TrainingError, match="number is a classifier, but drnn is a language model, so one figure"
    ):
        write_curves_figure(both, [tmp_path / "both.svg"])
    assert not (tmp_path / "both.svg").exists()


def test_the_numbers_of_all_models_are_one_table_without_the_seconds_they_took(write, tmp_path):
    paths = [write("lstm", seconds=[0.0, 1.5, 3.1, 4.0]), write("drnn", **ALPHA)]
    done = call("train", "curves", *paths, "-o", "both.svg", "--numbers", "both.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = (tmp_path / "both.csv").read_text().splitlines()
    assert lines[0] == "model,step,tokens,training_loss,validation_loss,validation_perplexity,alpha_1,alpha_2"
    assert lines[2] == "lstm,10,1000000,6.0,,,,"
    assert lines[5] == "drnn,0,0,,,,0.8,0.8"
    assert lines[8] == f"drnn,30,3000000,4.5,4.6,{math.exp(4.6)},0.65,0.86"
    assert len(lines) == 1 + 2 * 4


def test_a_published_model_is_called_as_its_file(write, tmp_path):
    (tmp_path / "curves").mkdir()
    published = write().rename(tmp_path / "curves/onlstm.parquet")
    assert set(read_curves(published)["model"]) == {"onlstm"}


def test_a_model_without_a_decay_rate_has_no_panel_for_it(write):
    figure = draw_curves([read_curves(write("lstm"))])
    assert [axes.get_title() for axes in figure.axes] == ["Loss", "Validation perplexity"]
    assert legend(figure) == ["lstm", "training", "validation"]


def test_models_share_the_panels_each_in_its_colour(write):
    figure = draw_curves([read_curves(write("lstm")), read_curves(write("drnn", **ALPHA))])
    alpha, loss, _ = figure.axes
    assert {line.get_color() for line in alpha.lines} == {COLOURS[1]}
    assert [line.get_color() for line in loss.lines] == [COLOURS[0]] * 2 + [COLOURS[1]] * 2


def test_a_loss_that_explodes_and_recovers_does_not_flatten_the_rest(write):
    figure = draw_curves([read_curves(write(training_loss=[None, 5e6, 5.0, 4.5]))])
    low, high = figure.axes[0].get_ylim()
    assert 4 < low < 4.5
    assert 6 < high < 10


def test_what_is_not_finite_is_left_out(write):
    figure = draw_curves([read_curves(write(validation_perplexity=[None, math.inf, math.nan, 99.0]))])
    assert lines(figure.axes[1]) == [([3], [99.0])]


@pytest.mark.slow
def test_the_same_curves_give_the_same_files(write, tmp_path):
    curves = [read_curves(write(**ALPHA))]
    for name in ("a", "b"):
        write_curves_figure(curves, [tmp_path / f"{name}.svg", tmp_path / f"{name}.png"])
    for suffix in (".svg", ".png"):
        a, b = ((tmp_path / name).with_suffix(suffix).read_bytes() for name in ("a", "b"))
        assert a == b
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["$\\frac$", "_hidden", "<script>alert(1)<", "drei\u202egnu", "x" * 200])
def test_names_of_files_are_only_text(write, tmp_path, name):
    figure = draw_curves([read_curves(write(name))])
    shown = legend(figure)[0]
    assert shown == name.replace("\u202e", "\ufffd")[:40]
    write_curves_figure([read_curves(write(name))], [tmp_path / "a.svg", tmp_path / "a.png"])
    tags = {element.tag.rpartition("}")[2] for element in ET.parse(tmp_path / "a.svg").iter()}  # noqa: S314 - ours
    assert "script" not in tags


def test_files_that_are_no_curves_are_named(write, tmp_path):
    with pytest.raises(TrainingError, match=r"absent.parquet: this file does not exist"):
        read_curves(tmp_path / "absent.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 the author laughs PAR1")
    with pytest.raises(TrainingError, match=r"broken.parquet: this file is not a learning curve of tseval"):
        read_curves(tmp_path / "broken.parquet")
    pq.write_table(pa.table({"step": [1]}), tmp_path / "other.parquet")
    with pytest.raises(TrainingError, match=r"other.parquet: .* because the column 'tokens' is missing"):
        read_curves(tmp_path / "other.parquet")
    with pytest.raises(TrainingError, match=r"a.gif: a file with a figure cannot have this name"):
        write_curves_figure([read_curves(write())], [tmp_path / "a.svg", tmp_path / "a.gif"])
    assert not (tmp_path / "a.svg").exists()
