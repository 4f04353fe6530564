"""Error against training loss: how data are joined, and the messages if data are missing."""

from statistics import stdev
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import refuse, succeed

from tseval.errors import TrainingError
from tseval.report.error_curves import error_panels, read_error_curves, read_string_curves, string_panels
from tseval.report.figures import draw

CURVES: dict[str, Any] = {
    "step": [0, 10, 20, 30], "tokens": [0, 1000, 2000, 3000], "training_loss": [None, 2.0, 1.5, 1.25],
    "validation_loss": [None, 2.1, None, 1.3], "validation_perplexity": [None, 8.0, None, 3.7],
}  # fmt: skip
# Two rows of a table at steps 10 and 30, another suite at 30, and a step without a loss.
ACCURACY: dict[str, Any] = {
    "step": [30, 10, 10, 30, 30, 0],
    "suite": ["dyck", "dyck", "dyck", "dyck", "other", "dyck"],
    "accuracy": [1.0, 0.5, 0.25, 0.75, 0.0, 0.1],
}


@pytest.fixture
def curves(tmp_path):
    path = tmp_path / "urn.curves.parquet"
    pq.write_table(pa.table(CURVES), path)
    pq.write_table(pa.table(ACCURACY), tmp_path / "urn.accuracy.parquet")
    return path


def test_error_is_one_minus_the_mean_accuracy_of_the_rows_at_the_loss_of_the_same_window(curves):
    found = read_error_curves(curves)
    assert found.columns.tolist() == ["model", "suite", "training_loss", "error"]
    assert found.to_numpy().tolist() == [
        ["urn", "dyck", 2.0, 0.625], ["urn", "dyck", 1.25, 0.125], ["urn", "other", 1.25, 1.0]
    ]  # fmt: skip


def test_each_suite_has_a_panel_and_each_model_a_line_and_its_name(curves):
    found = read_error_curves(curves)
    another = pd.DataFrame([("$x_1$", "dyck", 1.9, 0.5)], columns=found.columns)
    dyck: Any
    dyck, other = draw(*error_panels([found, another])).axes
    assert [axes.get_title(loc="left") or axes.get_title() for axes in (dyck, other)] == ["dyck", "other"]
    assert [*dyck.lines[0].get_xdata()] == [2.0, 1.25]
    assert [*dyck.lines[0].get_ydata()] == [0.625, 0.125]
    assert [text.get_text() for text in dyck.texts] == ["urn", "$x_1$"]
    assert dyck.xaxis_inverted()


def test_the_command_draws_it_and_writes_its_numbers(curves):
    figure, numbers = curves.with_name("error.svg"), curves.with_name("error.csv")
    succeed("train", "curves", str(curves), "--error", "-o", str(figure), "--numbers", str(numbers))
    assert "falling" in figure.read_text()
    assert numbers.read_text().splitlines() == [
        "model,suite,training_loss,error", "urn,dyck,2.0,0.625", "urn,dyck,1.25,0.125", "urn,other,1.25,1.0"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(),
         r"urn\.accuracy\.parquet: this file does not exist\. If you train.*\n  .*--eval-suite"),
        (lambda path: path.write_text("x"), ("this file does not have the accuracies that --eval-suite "
                                             "measures")),
        (lambda path: pq.write_table(pa.table({"step": [7], "suite": ["dyck"], "accuracy": [0.5]}), path),
         r"no training step has both an accuracy in this file and a loss in .*urn\.curves\.parquet"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said(curves, damage, message):
    damage(curves.with_name("urn.accuracy.parquet"))
    with pytest.raises(TrainingError, match=message):
        read_error_curves(curves)


def write_strings(folder, name, losses, errors, suite="generalised_dyck_5_20"):
    """Write two epochs of a training."""
    path = folder / f"{name}.curves.parquet"
    pq.write_table(pa.table(CURVES | {"epoch": [1, 1, 1, 2]}), path)
    measured = {"step": [20, 30], "suite": [suite] * 2, "string_loss": losses, "headline_error": errors}
    pq.write_table(pa.table(measured), folder / f"{name}.accuracy.parquet")
    return path


def test_seeds_are_one_line_with_their_spread(tmp_path):
    paths = [
        write_strings(tmp_path, "urn-8-seed1", [2.0, 1.0], [0.5, 0.25]),
        write_strings(tmp_path, "urn-8-seed2", [3.0, 2.0], [0.5, 0.75]),
        write_strings(tmp_path, "lstm-16", [1.5, 1.25], [0.125, 0.0]),
    ]
    found = read_string_curves(paths)
    columns = ["model", "epoch", "n_seeds", "string_loss", "headline_error"]
    assert found[columns].to_numpy().tolist() == [
        ["urn-8", 1, 2, 2.5, 0.5], ["urn-8", 2, 2, 1.5, 0.5],
        ["lstm-16", 1, 1, 1.5, 0.125], ["lstm-16", 2, 1, 1.25, 0.0],
    ]  # fmt: skip
    assert found["headline_error_spread"].tolist()[:2] == [0, pytest.approx(stdev([0.25, 0.75]))]
    assert found["headline_error_spread"].isna().tolist()[2:] == [True, True]
    by_loss: Any
    by_error: Any
    by_loss, by_error, both = draw(*string_panels(found)).axes
    assert [[*line.get_ydata()] for line in by_loss.lines] == [[2.5, 1.5], [1.5, 1.25]]
    assert [[*line.get_ydata()] for line in by_error.lines] == [[0.5, 0.5], [0.125, 0.0]]
    assert both.xaxis_inverted()
    assert [text.get_text() for text in by_loss.texts] == ["lstm-16", "urn-8"]


def test_strings_are_drawn_and_their_numbers_written(tmp_path):
    path = write_strings(tmp_path, "urn", [2.0, 1.0], [0.5, 0.25])
    succeed("train", "curves", path, "--strings", "-o", "s.svg", "--numbers", "s.csv", cwd=tmp_path)
    assert "Loss on test strings" in (tmp_path / "s.svg").read_text()
    assert (tmp_path / "s.csv").read_text().splitlines()[1] == "urn,1,1,2.0,,0.5,"


def test_what_cannot_be_drawn_of_strings_is_said(tmp_path, curves):
    with pytest.raises(TrainingError, match=r"measures during a training .*string_loss"):
        read_string_curves([curves])
    paths = [write_strings(tmp_path, name, [2.0, 1.0], [0.5, 0.25], name) for name in ("a", "b")]
    with pytest.raises(
        TrainingError, match=r"on several formal languages \(a, b\), but one figure shows only one"
    ):
        read_string_curves(paths)
    nothing = write_strings(tmp_path, "c", pa.nulls(2, pa.float64()), [None, 0.25])
    said = r"the model was not evaluated on a formal language.*\n  .*--eval-suite"
    with pytest.raises(TrainingError, match=said):
        read_string_curves([nothing])
    done = refuse("train", "curves", curves, "--error", "--strings", "-o", "x.svg", cwd=tmp_path)
    assert "--error and --strings draw two different figures. Leave out --error or --strings." in done.stderr
