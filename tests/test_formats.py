import io
import json
import os
import subprocess
import sys
from dataclasses import asdict
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small import make_case, make_run, make_suite

from tseval.errors import RunError, SuiteError, TrainingError
from tseval.formats import ContentError
from tseval.report.curves import read_curves
from tseval.report.error_curves import read_error_curves
from tseval.runs import read_run
from tseval.runs.manifest import seal
from tseval.suites.agreement.example_tables import read_examples
from tseval.tables import read_parquet

# Invalid parquet tables get one message, wherever they are read.
TYPES: dict[str, pa.DataType] = {"step": pa.int64(), "accuracy": pa.float64(), "suite": pa.string()}
SOUND = {"step": [1], "accuracy": [0.5], "suite": ["dyck"]}


def content(**columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


@pytest.mark.slow
def test_a_process_that_quits_right_after_reading_ends_as_it_says(tmp_path):
    # If torch was loaded, threads that Arrow had just started aborted every second process of this kind.
    make_run(make_suite(make_case("a", [("a b", "a c")])), {}, path=tmp_path / "run")
    read = "from tseval.runs import read_run; read_run(sys.argv[1]).load_verdicts()"
    command = [sys.executable, "-c", f"import sys, torch; {read}; sys.exit(3)", str(tmp_path / "run")]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in started] == [("", 3)] * 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a Parquet file"),
        (b"PAR1 the author laughs PAR1", "not a Parquet file"),
        (content(step=[1]), "has no column 'accuracy'"),
        (content(**SOUND | {"step": ["one"]}), "column 'step' has values of the type string, but needs "
                                               "int64"),
        (content(**SOUND | {"step": [1.5]}), "column 'step' has values of the type double, but needs int64"),
        (content(**SOUND | {"suite": [1]}), "column 'suite' has values of the type int64, but needs string"),
        (content(**SOUND | {"accuracy": [[1]]}), "column 'accuracy' has values of the type list<element: "
                                                 "int64>, but needs double"),
        (content(**SOUND, verb=[{"a": 1}]), "column 'verb' has values of the type .*, which is neither "
                                            "text nor a number"),

        (content(**SOUND | {"suite": [b"\xff"]}), "column 'suite' has values of the type binary, but "
                                                  "needs string"),
        (content(**dict.fromkeys(TYPES, pa.nulls(10**7))), "claims 30,000,000 cells, which cannot be in"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(data, message):
    with pytest.raises(ContentError, match=message) as error:
        read_parquet(data, TYPES)
    assert len(str(error.value)) < 400


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="It is a pipe"):
        read_parquet(tmp_path / "pipe", TYPES)


SUITE = make_suite(make_case("a", [("a b", "a c"), ("d b", "d c")], features={"n": [1, 2]}))


@pytest.mark.parametrize("name", ["verdicts", "sentences"])
@pytest.mark.parametrize(
    "column", [pa.array(["x", "y"]), pa.array([[1], [2]]), pa.array([{"a": 1}, {"a": 2}]), None]
)
def test_no_column_of_a_run_can_be_forged(tmp_path, name, column):
    make_run(SUITE, {"b": -0.5}, path=tmp_path / "run")
    path = tmp_path / "run" / f"{name}.parquet"
    table = pq.read_table(path).slice(0, 2)
    for place, known in enumerate(table.column_names):
        if known == "n" and (column is None or column.type == pa.string()):
            continue  # a feature may be missing or be text
        forged = table.drop_columns([known]) if column is None else table.set_column(place, known, column)
        if forged.schema == table.schema:
            continue
        pq.write_table(forged, path)
        manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
        manifest["files"][path.name] = sha256(path.read_bytes()).hexdigest()
        manifest["seal"] = asdict(seal(manifest))
        (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
        run = read_run(tmp_path / "run")
        with pytest.raises(RunError, match=rf"{name}\.parquet is not tseval's: .*{known}") as error:
            run.table() if name == "verdicts" else run.sentences
        assert len(str(error.value)) < 500


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("column", [[[1]], [{"a": 1}], ["x"], [7], [None]])
def test_no_column_beside_the_learning_curves_can_be_forged(tmp_path, name, column):
    curves = {"step": [1], "tokens": [1], "training_loss": [1.0], "validation_loss": [1.0]}
    (tmp_path / "a.curves.parquet").write_bytes(content(**curves, validation_perplexity=[2.0]))
    (tmp_path / "a.accuracy.parquet").write_bytes(content(**SOUND | {name: column}))
    try:
        read_error_curves(tmp_path / "a.curves.parquet")
    except TrainingError as error:
        assert len(str(error)) < 500  # noqa: PT017 - some of these can be read
    (tmp_path / "b.curves.parquet").write_bytes(
        content(**curves | {"tokens": column}, validation_perplexity=[2.0])
    )
    if column not in ([7], [None]):
        with pytest.raises(TrainingError, match=r"b\.curves\.parquet: this file is not a learning curve"):
            read_curves(tmp_path / "b.curves.parquet")


def test_unknown_columns_of_examples_are_not_even_looked_at(tmp_path):
    (tmp_path / "a.parquet").write_bytes(content(sentence=[1], other=[{"a": 1}]))
    with pytest.raises(SuiteError, match="column 'sentence' has values of the type int64, but needs string"):
        read_examples(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes(content(other=[{"a": 1}]))
    with pytest.raises(SuiteError, match="a table of agreement examples needs the column"):
        read_examples(tmp_path / "a.parquet")
