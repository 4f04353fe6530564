import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small import make_case, make_run, make_suite

from tseval.errors import RunError, SuiteError, TrainingError
from tseval.formats import ContentError, checked, read_json, read_yaml
from tseval.report.curves import read_curves, read_error_curves
from tseval.runs import read_run
from tseval.runs.manifest import seal
from tseval.suites.agreement.published import read_examples
from tseval.tables import read_parquet


@dataclass(frozen=True, slots=True)
class Author:
    name: str
    born: int | None = None


@dataclass(frozen=True, slots=True)
class Paper:
    title: str
    pages: int
    authors: tuple[Author, ...]
    scores: Mapping[str, float | int]
    notes: Mapping[str, dict[str, str]] | None = None


PAPER = {
    "title": "T",
    "pages": 9,
    "authors": [{"name": "A"}, {"name": "B", "born": 1950}],
    "scores": {"a": 1},
}


def test_plain_data_becomes_a_dataclass_and_stays_as_it_was():
    paper = checked(PAPER | {"more": [1]}, Paper)
    assert paper == Paper("T", 9, (Author("A"), Author("B", 1950)), {"a": 1})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"title": None}, "title: should be a text in quotes, not null"),
        ({"pages": 9.5}, "pages: should be a whole number, not 9.5"),
        ({"pages": True}, "pages: should be a whole number, not true"),
        ({"pages": "9"}, 'pages: should be a whole number, not "9"'),
        ({"authors": {}}, "authors: should be a list, not {}"),
        ({"authors": [{"name": "A"}, 7]}, "authors[1]: should be a mapping"),
        ({"authors": [{}]}, "authors[0].name: is missing"),
        ({"authors": [{"name": "A", "born": "x"}]}, 'authors[0].born: should be a whole number, not "x"'),
        (
            {"scores": {"a": 1, "b.c": "x", "d": "y"}},
            'scores.b.c: should be a whole number or a number, not "x"',
        ),
        ({"scores": {1: 1}}, "scores: should have names that are texts"),
        ({"notes": {"a": {}, "b": {"x": "y", "z": 3}}}, "notes.b.z: should be a text in quotes, not 3"),
    ],
)
def test_the_field_that_is_wrong_is_named(change, expected):
    content = PAPER | change
    before = repr(content)
    with pytest.raises(ContentError) as caught:
        checked(content, Paper)
    assert str(caught.value) == expected
    assert repr(content) == before


def test_what_is_missing_and_what_is_no_mapping_is_said():
    for content, expected in (({}, "title: is missing"), ([], "the file: should be a mapping")):
        with pytest.raises(ContentError) as caught:
            checked(content, Paper)
        assert str(caught.value) == expected


@pytest.mark.parametrize("content", [b"{", b"[1,]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_said(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ContentError, match="not a JSON file"):
        read_json(tmp_path / "file")


@pytest.mark.parametrize(
    "content", [b"{", b"a: b: c", b"\xff", b"!!python/object:os.system {}", b"[" * 100_000]
)
def test_what_is_no_plain_yaml_is_said(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ContentError, match="not a YAML file"):
        read_yaml(tmp_path / "file")


def test_a_file_that_cannot_be_read_stays_an_error_of_the_system(tmp_path):
    for read in (read_json, read_yaml):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")


# Tables in parquet: what is not as it should be gets one message wherever it is read.
TYPES: dict[str, pa.DataType] = {"step": pa.int64(), "accuracy": pa.float64(), "suite": pa.string()}
SOUND = {"step": [1], "accuracy": [0.5], "suite": ["dyck"]}


def content(**columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_a_sound_table_comes_back_and_whole_numbers_may_stand_for_numbers():
    table = read_parquet(content(**SOUND | {"accuracy": [1]}), TYPES)
    assert table.to_pylist() == [{"step": 1, "accuracy": 1.0, "suite": "dyck"}]
    assert table.schema.types == [pa.int64(), pa.float64(), pa.string()]
    nothing = read_parquet(content(**SOUND | {"accuracy": pa.nulls(1)}), TYPES)
    assert nothing["accuracy"].to_pylist() == [None]


def test_a_process_that_quits_right_after_reading_ends_as_it_says(tmp_path):
    # With torch in memory, threads that Arrow had just started made every other such process abort.
    make_run(make_suite(make_case("a", [("a b", "a c")])), {}, path=tmp_path / "run")
    read = "from tseval.runs import read_run; read_run(sys.argv[1]).load_verdicts()"
    command = [sys.executable, "-c", f"import sys, torch; {read}; sys.exit(3)", str(tmp_path / "run")]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in started] == [("", 3)] * 4


def test_texts_may_be_dictionary_encoded_and_stay_so():
    entries = pa.array(["laughs", None, "laughs"]).dictionary_encode()
    table = read_parquet(content(step=[1, 2, 3], accuracy=[0.5] * 3, suite=["x"] * 3, verb=entries), TYPES)
    assert table["verb"].type == entries.type
    assert table["verb"].to_pylist() == ["laughs", None, "laughs"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a Parquet file"),
        (b"PAR1 the author laughs PAR1", "not a Parquet file"),
        (content(step=[1]), "has no column 'accuracy'"),
        (content(**SOUND | {"step": ["one"]}), "column 'step' holds string, not int64"),
        (content(**SOUND | {"step": [1.5]}), "column 'step' holds double, not int64"),
        (content(**SOUND | {"suite": [1]}), "column 'suite' holds int64, not string"),
        (content(**SOUND | {"accuracy": [[1]]}), "column 'accuracy' holds list<element: int64>, not double"),
        (content(**SOUND, verb=[{"a": 1}]), "column 'verb' holds .*, which is neither text nor a number"),

        (content(**SOUND | {"suite": [b"\xff"]}), "column 'suite' holds binary, not string"),
        (content(**dict.fromkeys(TYPES, pa.nulls(10**7))), "claims 30,000,000 cells in"),
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
            continue  # a feature may be missing, or be text
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
        with pytest.raises(TrainingError, match=r"b\.curves\.parquet: cannot be read as learning curves"):
            read_curves(tmp_path / "b.curves.parquet")


def test_unknown_columns_of_examples_are_not_even_looked_at(tmp_path):
    (tmp_path / "a.parquet").write_bytes(content(sentence=[1], other=[{"a": 1}]))
    with pytest.raises(SuiteError, match="column 'sentence' holds int64, not string"):
        read_examples(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes(content(other=[{"a": 1}]))
    with pytest.raises(SuiteError, match="no table of agreement examples: no column"):
        read_examples(tmp_path / "a.parquet")
