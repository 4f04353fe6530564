"""Any command line gives a result, or one message and exit code 2."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_process import call, refuse, succeed

LONG = 100_000
# Any text that a command line can contain: bytes that are not text become halves of surrogate pairs.
BYTES = st.binary(max_size=60).map(lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
CONTROLS = st.text(st.sampled_from("a,=:(.)/%{}[]*~-\x1b\x07\r\n\t\x7f\x9b\u202e\udcff "), max_size=20)
TEXTS = (
    BYTES | CONTROLS | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
)
TIMES = st.sampled_from([1, 1, 1, LONG])

# X is replaced by hostile text. No path starts at the root, because everything below it would be read.
COMMANDS = {
    "a command": ["X"],
    "an option": ["suites", "X"],
    "pair, sentences": ["pair", "--model", "bundled:lstm", "--", "X", "the author laughs ."],
    "pair, model": ["pair", "a b", "a c", "--model", "X"],
    "pair, scheme": ["pair", "a b", "a c", "--model", "bundled:X"],
    "pair, model arguments": ["pair", "a b", "a c", "--model", "bundled:lstm", "--model-args", "X"],
    "pair, a model argument": [
        "pair", "a b", "a c", "--model", "oracle:dyck-lstm", "--model-args", "k=X,m=2",
    ],
    "pair, device": ["pair", "a b", "a c", "--model", "bundled:lstm", "--device", "X"],
    "pair, format": ["pair", "a b", "a c", "--model", "bundled:lstm", "--format", "X"],
    "surprisal, file": ["surprisal", "--model", "bundled:lstm", "--", "./X"],
    "expand, suite": ["expand", "--quiet", "--limit", "2", "--", "X"],
    "expand, case": ["expand", "marvin_linzen", "--limit", "2", "--case", "X"],
    "expand, number": ["expand", "marvin_linzen", "--limit", "X"],
    "run, by": ["run", "--model", "bundled:lstm", "--case", "simple_agrmt", "--limit", "1", "--by", "X"],
    "run, suite": ["run", "--model", "bundled:lstm", "--limit", "1", "--suite", "./X/X"],
    "table": ["table", "--", "./X/X"],
    "lint": ["lint", "--", "./X/X"],
    "lint, vocabulary": ["lint", "marvin_linzen", "--vocab", "./X"],
    "convert": ["convert", "./X", "out.pt"],
    "data": ["data", "agreement", "./X", "-o", "out.tsv"],
    "data, text": ["data", "parse", "./X", "-o", "./X.conllu", "--parser", "X"],
    "data, parser": ["data", "parse", __file__, "-o", "out.conllu", "--parser", "X"],
    "data, tables": ["data", "compare", "./X", "./X"],
}  # fmt: skip


@pytest.mark.slowest
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_any_argument_is_a_result_or_one_message(words, tmp_path_factory):
    @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(TEXTS, TIMES)
    def hold(text, times):
        if "X" in words[-2:-1]:  # inputs of scoring have their own limits
            times = 1
        hostile = (text * times)[:LONG]
        folder = tmp_path_factory.mktemp("any")
        done = call(
            *(word.replace("X", hostile) for word in words), cwd=folder
        )  # raises errors that main does not catch
        assert done.returncode in {0, 2}, done.stderr
        if done.returncode == 2:
            assert done.stderr.strip()
            assert done.stderr.count("tseval: ") + done.stderr.count("Error: ") <= 2
            message = done.stderr.partition("Error: ")[2] or done.stderr
            assert len(message) < 500, message
            assert "Traceback" not in done.stderr

    hold()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--model", "bundled:lstm", "--suite", ""],
         "the name of the suite is empty ('')"),
        (["table", ""], "an argument of the command is empty ('')"),
        (["data", "agreement", "a.conllu", "-o", "x.tsv", "--train", "nan"], "nan is not a finite number"),
        (["check-model", "bundled:lstm", "--tolerance", "nan"], "nan is not a finite number"),
    ],
)  # fmt: skip
def test_nothing_is_no_name_and_no_number(words, said):
    assert said in refuse(*words).stderr


def test_a_table_is_not_written_over_a_file_of_a_run(tmp_path):
    options = ["--case", "simple_agrmt", "--limit", "1", "--out", tmp_path / "run"]
    succeed("run", "--model", "bundled:lstm", *options)
    for name in ("manifest.json", "verdicts.parquet", "table.md"):
        before = (tmp_path / "run" / name).read_bytes()
        done = call("table", tmp_path / "run", "-o", tmp_path / "run" / name)
        assert (done.returncode, (tmp_path / "run" / name).read_bytes()) == (2, before)
        assert f"{name}: tseval would overwrite this file, which belongs to a run." in done.stderr
