"""The installed commands `expand`, `suites` and `lint`, as users call them."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import in_process
import pyarrow.parquet as pq
import pytest
from in_process import Ended, call, refuse, refused, succeeded
from supplied import MARVIN_LINZEN
from systems import needs_linux, needs_posix

TSEVAL = Path(sys.executable).with_name("tseval")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def installed(cache: Path, tmp_path: Path):
    return partial(in_process.installed, cwd=tmp_path, env=os.environ | {"XDG_CACHE_HOME": str(cache)})


@pytest.fixture
def tseval(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that runs the command in this process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return partial(call, cwd=tmp_path)


def succeed(result: subprocess.CompletedProcess[str] | Ended) -> str:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, n_items in (("one", 3), ("two", 5)):
        body = "good: {{ x }} good\nbad: {{ x }} bad\n"
        head = f"construction: C\nphenomenon: P\nslots: {{x: {list(range(n_items))}}}\n"
        (folder / f"{name}.jinja").write_text(f"---\n{head}---\n{body}")
    return folder


@pytest.mark.slow
def test_the_tab_separated_suite_is_the_published_one(installed) -> None:
    rows: dict[str, list[str]] = {}
    for row in succeed(installed("expand", "marvin_linzen", "--no-header")).splitlines():
        case, line = row.split("\t", 1)
        rows.setdefault(case, []).append(line)
    published = json.loads(MARVIN_LINZEN.read_text())["cases"]
    assert {
        name: (len(lines), hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest())
        for name, lines in rows.items()
    } == {name: (case["items"], case["sha256_all_lines_sorted"]) for name, case in published.items()}


@pytest.mark.slow
@needs_posix
def test_nothing_is_lost_where_python_does_not_buffer_and_signals_cut_writes_short(cache, tseval) -> None:
    wanted = "expand", "marvin_linzen", "--case", "npi_across_anim"
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([TSEVAL, *wanted], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        content = process.stdout.read(1)  # the pipe is full, so the command waits
        for _ in range(20):
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
            content += process.stdout.read(4096)
        content += process.stdout.read()
    assert process.returncode == 0
    whole = succeed(tseval(*wanted)).encode()
    assert len(whole) > 200_000  # more than a pipe holds
    assert content == whole


def test_limit_counts_items_over_the_cases_in_order(tseval, mine: Path) -> None:
    out = succeed(tseval("expand", "./mine", "--limit", "4"))
    assert (
        out
        == "case\tgood\tbad\none\t0 good\t0 bad\none\t1 good\t1 bad\none\t2 good\t2 bad\ntwo\t0 good\t0 bad\n"
    )
    assert succeed(tseval("expand", "./mine", "--limit", "1", "--case", "two")) == (
        "case\tgood\tbad\ntwo\t0 good\t0 bad\n"
    )
    assert len(succeed(tseval("expand", "./mine", "--limit", "99", "--no-header")).splitlines()) == 8


def test_a_sample_is_drawn_from_all_cases_and_repeats_under_its_seed(tseval, mine: Path) -> None:
    full = succeed(tseval("expand", "./mine", "--no-header")).splitlines()
    seeds = 0, 1, 2, 3, 2
    drawn = [
        succeed(tseval("expand", "./mine", "--no-header", "--sample", "4", "--seed", str(n))).splitlines()
        for n in seeds
    ]
    assert drawn[2] == drawn[4]
    assert drawn[0] != drawn[1]
    assert drawn == [[row for row in full if row in rows] for rows in drawn]
    assert {row.split("\t")[0] for rows in drawn for row in rows} == {"one", "two"}


def test_json_lines_hold_sentences_features_and_row_names(tseval, mine: Path) -> None:
    rows = [json.loads(row) for row in succeed(tseval("expand", "./mine", "--format", "jsonl")).splitlines()]
    assert rows[3] == {
        "case": "two", "item": 0, "sentences": {"good": "0 good", "bad": "0 bad"}, "features": {"x": 0},
        "construction": "C", "phenomenon": "P", "dependency": None,
    }  # fmt: skip


def test_parquet_has_a_column_for_every_label_and_feature(tseval, mine: Path, tmp_path: Path) -> None:
    text = (mine / "two.jinja").read_text()
    (mine / "two.jinja").write_text(text.replace("slots", "features: {double: x * 2}\nslots"))
    succeed(tseval("expand", "./mine", "--format", "parquet", "-o", "items.parquet"))
    table = pq.read_table(tmp_path / "items.parquet")
    assert table.column_names == [
        *("case", "item", "construction", "phenomenon", "dependency", "good", "bad", "x", "double")
    ]
    assert table.column("double").to_pylist() == [None, None, None, 0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("arguments", "said", "more"),
    [
        ("expand ./mine --format parquet", "which a terminal cannot show. Add -o FILE.parquet.", None),
        ("expand ./mine -o no/items.tsv", "tseval: no/items.tsv: No such file or directory\n", ""),
        ("expand marvin_linzen --case vp_cord",
         ("tseval: the suite 'marvin_linzen' has no case with the name 'vp_cord'.\n  Did you mean "
          "'vp_coord'? Cases: "), None),
        ("lint marvin_linzen --vocab bundled:lst",
         "tseval: no checkpoint that comes with tseval has the name 'lst'.\n  Did you mean 'lstm'?", None),
        ("lint marvin_linzen --vocab no.txt",
         "tseval: no.txt: tseval cannot read this file (No such file or directory).\n"
         "  Give a text file with one word per line, a checkpoint, or bundled:NAME.\n", ""),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("mine")
def test_what_cannot_be_asked_for_is_one_message(tseval, arguments: str, said: str, more: str | None) -> None:
    before, found, after = refused(tseval(*arguments.split())).stderr.partition(said)
    assert found
    assert before == "" or not said.startswith("tseval: ")
    assert more in (None, after)


def test_a_failed_expansion_leaves_the_old_file(tseval, mine: Path, tmp_path: Path) -> None:
    (tmp_path / "items.tsv").write_text("old")
    (mine / "two.jinja").write_text((mine / "two.jinja").read_text().replace("bad: ", "bad: {{ 1 / x }}"))
    result = refused(tseval("expand", "./mine", "--limit", "8", "-o", "items.tsv"))
    assert result.stderr == (
        "tseval: mine/two.jinja:7: this text cannot be printed: division by zero.\n"
        "  Check the kinds of the values: words, text, numbers, lists.\n"
    )
    assert (tmp_path / "items.tsv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.tsv", "mine"]


@needs_posix
def test_an_open_file_under_dev_is_written_to_and_not_replaced(mine: Path, tmp_path: Path) -> None:
    # A link instead of /dev/stdout: if the command replaced a link, it would be this one, not the machine's.
    (tmp_path / "out").symlink_to("/dev/fd/1")
    with (tmp_path / "items.tsv").open("wb") as file:
        before = os.fstat(file.fileno()).st_ino
        command = [str(TSEVAL), "expand", "./mine", "-o", "out"]
        subprocess.run(command, stdout=file, cwd=tmp_path, check=True)
    assert (tmp_path / "items.tsv").stat().st_ino == before
    assert len((tmp_path / "items.tsv").read_text().splitlines()) == 9
    assert (tmp_path / "out").is_symlink()


@needs_linux
def test_an_output_that_cannot_be_written_is_named_as_it_was_given(tseval, mine: Path) -> None:
    result = refused(tseval("expand", "./mine", "-o", "/proc/items.tsv"))
    assert result.stderr.startswith("tseval: /proc/items.tsv: ")
    (mine.parent / "link.tsv").symlink_to("/sys/items.tsv")
    assert refused(tseval("expand", "./mine", "-o", "link.tsv")).stderr.startswith("tseval: link.tsv: ")


@pytest.mark.slow
def test_suites_lists_names_and_sizes(installed) -> None:
    listed = succeed(installed("suites"))
    rows = [line.split() for line in listed.splitlines()]
    assert rows[0] == ["name", "title", "cases", "items", "contrasts"]
    assert ["marvin_linzen", "Marvin", "&", "Linzen", "2018", "22", "163,124", "184,772"] in rows
    assert "dyck(k, m, train=2000000, valid=20000, test=300000, seed=0)" in listed


def test_lint_exits_with_1_for_findings_and_2_for_bad_input(tseval, mine: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("good\n.\n0\n1\n2\n3\n4\n")
    result = tseval("lint", "--quiet", "./mine", "--vocab", "words.txt")
    assert (result.returncode, result.stderr) == (1, "3 findings in 8 items.\n")
    half_known = "pairs of 'good > bad' are half known with this vocabulary. Missing: bad"
    assert result.stdout.splitlines() == [
        f"mine/one.jinja:6: warning: 3 of 3 {half_known} (3).",
        f"mine/two.jinja:6: warning: 5 of 5 {half_known} (5).",
        "mine: warning: words missing from the vocabulary (1): bad.",
    ]
    (mine / "one.jinja").write_text("---\n")
    result = tseval("lint", "--quiet", "./mine")
    assert (result.returncode, result.stderr) == (1, "1 finding in 5 items.\n"), "the other file is looked at"
    assert result.stdout.startswith(
        "mine/one.jinja:1: error: the front matter (the settings between two lines '---') has no second line "
        "'---'. Add a line '---' after the settings."
    )
    (tmp_path / "words.txt").write_bytes(b"\xff\xfe")
    result = refused(tseval("lint", "marvin_linzen", "--vocab", "words.txt"))
    assert result.stderr.startswith(
        "tseval: words.txt: this file is not a vocabulary, because it is not UTF-8 text.\n"
    )


def test_what_lint_finds_is_short(tseval, mine: Path) -> None:
    grammar = mine / "one.jinja"
    grammar.write_text(grammar.read_text().replace("good\n", f"{'word ' * 5000}\n"))
    found = tseval("lint", "--quiet", "./mine")
    assert found.stdout.startswith("mine/one.jinja:")
    assert max(map(len, found.stdout.replace("\n  ", " ").splitlines())) < 500


def test_lint_of_too_many_items_advises_what_lint_can_do(tseval, mine: Path) -> None:
    (mine / "one.jinja").write_text(
        "---\nconstruction: C\nphenomenon: P\nslots:\n"
        + "".join(f"  x{i}: {list(range(10))}\n" for i in range(7))
        + "---\na: {{ x1 }}\nb: b\n"
    )
    result = tseval("lint", "--quiet", "./mine")
    assert result.returncode == 1
    assert result.stdout == (
        "mine/one.jinja:4: error: the grammar makes 10,000,000 items, but a full expansion has "
        "at most 2,000,000. "
        "tseval lint checks all items: shorten the slots, or add --sample N.\n"
    )
    result = tseval("lint", "--quiet", "./mine", "--sample", "50")
    assert (result.returncode, result.stderr.endswith(" in 55 items.\n")) == (1, True), result.stderr
    assert "of 50 items repeat another" in result.stdout, "found in what was drawn"
    assert tseval("lint", "--quiet", "./mine", "--sample", "50").stdout == result.stdout, (
        "the same items at any time"
    )


def test_a_new_phenomenon_passes_lint_and_can_be_scored(tmp_path):
    done = succeeded(call("new", "my_agreement", cwd=tmp_path))
    *files, lint, run = done.stderr.splitlines()
    assert sorted(tmp_path / file for file in files) == sorted((tmp_path / "my_agreement").iterdir())
    assert lint == "next: tseval lint ./my_agreement"
    assert run == "then: tseval run --model bundled:lstm --suite ./my_agreement"
    assert call("lint", "./my_agreement", cwd=tmp_path).stderr == "No findings in 32 items.\n"
    command = ["run", "--model", "bundled:lstm", "--suite", "./my_agreement", "--by", "condition", "--quiet"]
    assert "My agreement, condition plur_sing" in call(*command, cwd=tmp_path).stdout


def test_a_new_phenomenon_writes_over_nothing_and_needs_a_name(tmp_path):
    (tmp_path / "mine").mkdir()
    assert (
        "mine: a file or folder with this name exists already" in refuse("new", "mine", cwd=tmp_path).stderr
    )
    assert "cannot be the name of a suite" in refuse("new", "1 2", cwd=tmp_path).stderr
    assert list((tmp_path / "mine").iterdir()) == []
