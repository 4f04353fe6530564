"""The table in docs/datasets.md from a file's appearance to the line to type, row by row."""

import json
import re
import shlex
from pathlib import Path

import pytest
from in_process import call, refuse, succeed

from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.suites.data.catalogue import CATALOGUE

PAGE = (Path(__file__).parents[3] / "docs/datasets.md").read_text("utf-8")


def rows():
    section = PAGE.partition("## My file looks like this")[2].partition("\n- ")[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


ROWS = list(rows())


def test_the_table_has_its_rows():
    assert len(ROWS) > 20
    assert len({name for name, *_ in ROWS}) == len(ROWS)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Save a model that loads quickly."""
    words = Vocabulary(("<eos>", "<unk>", "the", "author", "laughs", "laugh", "."), lowercase=True)
    path = tmp_path_factory.mktemp("model") / "small.pt"
    model = LanguageModel(Sizes("srn", len(words), 4, 4, 1)).eval()
    save_checkpoint(path, model, words, training={}, validation_perplexity=None)
    return path


@pytest.mark.slowest
@pytest.mark.parametrize("row", ROWS, ids=[row[0].strip("`") for row in ROWS])
def test_every_row_is_read_by_its_line(small, tmp_path, monkeypatch, row):
    name, content, line, read = row
    monkeypatch.chdir(tmp_path)
    file = name.strip("`")
    lines = [part.strip("`").replace("→", "\t") for part in content.split(" / ")]
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    added = [] if line == "nothing" else shlex.split(line.strip("`"))
    result = succeed("run", "--model", small, "--suite", f"./{file}", "--out", "run", *added)
    assert f"read {file} ({read})" in result.stderr


@pytest.mark.slowest
@pytest.mark.parametrize("taken", ["marvin_linzen", "blimp"])
def test_a_name_of_the_catalogue_comes_first_and_a_path_decides(tmp_path, monkeypatch, taken):
    assert taken == "marvin_linzen" or taken in CATALOGUE
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for folder in (tmp_path / taken, tmp_path / "data/tseval" / taken):
        folder.mkdir(parents=True)
        (folder / "mine.tsv").write_text("good\tbad\nthe author laughs .\tthe author laugh .\n")
    path = call("run", "--model", "bundled:lstm", "--suite", f"./{taken}", "--out", "a")
    assert (path.returncode, "is a suite of tseval" in path.stderr) == (0, False)
    assert "read mine.tsv (pairs, 1 item)" in path.stderr
    named = succeed("run", "--model", "bundled:lstm", "--suite", taken, "--limit", "1", "--out", "b")
    assert f"{taken} is a suite of tseval. To use your file or folder of the same name," in named.stderr


def test_surprisal_of_a_table_is_told_row_by_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = 'item,condition,Sentence,disamb\n1,A,"If the pilot waits, the author laughs at home.",7\n'
    Path("items.csv").write_text(rows, encoding="utf-8")
    told = call("surprisal", "items.csv", "--model", "bundled:lstm")
    header, row = (line.split("\t") for line in told.stdout.splitlines())
    assert (header[:4], row[:4]) == (["row", "what", "word", "text"], ["2", "1 A", "7", "laughs"])
    Path("words.txt").write_text("If the pilot waits, the author laughs at home.\n", encoding="utf-8")
    words = call("surprisal", "words.txt", "--model", "bundled:lstm", "--words").stdout.splitlines()
    assert float(words[7].split("\t")[4]) == pytest.approx(float(row[4]), abs=1e-5)
    refuse("surprisal", "words.txt", "--model", "bundled:lstm", "--columns", "sentence=x")


def test_a_manifest_lists_what_was_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set").mkdir()
    (tmp_path / "set/LICENSE.txt").write_text("CC BY 4.0")
    (tmp_path / "set/pairs.tsv").write_text("good\tbad\nthe author laughs .\tthe author laugh .\n")
    assert call("run", "--model", "bundled:lstm", "--suite", "./set", "--out", "r").returncode == 0
    manifest = json.loads((tmp_path / "r/manifest.json").read_text("utf-8"))
    assert manifest["suite"]["files"] == {"LICENSE.txt": "not read: a license", "pairs.tsv": "pairs, 1 item"}
    assert call("verify", "r", "--suite", "./set").returncode == 0
