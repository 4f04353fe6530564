"""Runs over all verbs, as users call them: resumed, swept, verified, forged, on a leaderboard, cited."""

import json
import shutil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import call, printed, refused, run_process, succeed, succeeded
from small import write_file

import tseval
from tseval.runs import read_run
from tseval.runs.directory import digest, to_parquet
from tseval.runs.manifest import NAME, dump_manifest, load_manifest

LEXICON = "sing,plur,count\nlaughs,laugh,9\nswims,swim,2\nis,are,90\nknows,know,7\nzzorbs,zzorb,1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a suite of one case and a run on it."""
    folder = tmp_path_factory.mktemp("inflection")
    (folder / "mine").mkdir()
    (folder / "mine" / "lexicon.yaml").write_text(
        "noun: {a: [author, pilot, guard, chef, senator]}\nverb: {main: [laughs, swims]}\n"
    )
    (folder / "mine" / "pp.jinja").write_text(
        "---\nconstruction: PP\nphenomenon: Agreement\nlexicon: lexicon.yaml\n"
        "slots: {subject: noun.a, other: noun.a, verb: verb.main}\n---\n"
        "grammatical: the {{ subject }} near the {{ other }} {{ verb | agree(subject) }}\n"
        "ungrammatical: the {{ subject }} near the {{ other }} {{ verb | disagree(subject) }}\n"
    )
    write_file(folder / "verbs.csv", LEXICON)
    succeed(*RUN, "--out", "run", cwd=folder)
    return folder


RUN = ("run", "--model", "bundled:lstm", "--suite", "./mine:inflection", "--lexicon", "verbs.csv", "--quiet")


@pytest.mark.slow
def test_a_stopped_run_goes_on_where_it_was(folder, monkeypatch):
    monkeypatch.setattr("tseval.scoring.engine.ASKED_SHARD", 16)
    suite = tseval.load_suite(f"{folder / 'mine'}:inflection", lexicon=folder / "verbs.csv")
    model = tseval.load_model("bundled:lstm")

    def stop(done, total):
        if 0 < done < total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tseval.evaluate(model, suite, out=folder / "stopped", progress=stop)
    resumed = tseval.evaluate(model, suite, out=folder / "stopped", resume=True)
    assert resumed.manifest.counts.resumed_sentences == 16
    tseval.evaluate(model, suite, out=folder / "undisturbed")
    for name in ("sentences.parquet", "verdicts.parquet", "table.md", "table.csv"):
        assert (folder / "stopped" / name).read_bytes() == (folder / "undisturbed" / name).read_bytes()


@pytest.mark.slow
def test_a_run_is_verified_without_the_file_of_verbs(folder):
    printed_lines = printed(
        "verify", "run", "--suite", "./mine:inflection", "--model", "bundled:lstm", cwd=folder
    )
    assert "WRONG" not in printed_lines
    assert "rescored" in printed_lines


def forge(folder, name, change):
    """Copy the run, change a column of its sentences, and seal it again."""
    path = folder / name
    shutil.copytree(folder / "run", path)
    table = pq.read_table(path / "sentences.parquet")
    content = to_parquet(change(table))
    (path / "sentences.parquet").write_bytes(content)
    manifest: Any = load_manifest(path)
    (path / NAME).write_bytes(
        dump_manifest(manifest.sealed({**manifest.files, "sentences.parquet": digest(content)}))
    )
    return path


def with_lists(table, name, rows):
    place = table.column_names.index(name)
    lists = [[None if np.isnan(value) else value for value in row] for row in rows.tolist()]
    return table.set_column(place, name, pa.array(lists, pa.list_(pa.float32())))


def as_rows(table, name):
    return np.array(table[name].to_pylist(), dtype=np.float64)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "level"),
    [
        (
            "one form",
            lambda t: with_lists(t, "forms", as_rows(t, "forms") + 0.5 * (np.arange(10) == 0)),
            "recomputed",
        ),
        ("a form less", lambda t: with_lists(t, "forms", as_rows(t, "forms")[:, :-1]), "recomputed"),
        ("no forms", lambda t: t.drop_columns(["forms"]), "recomputed"),
        ("a mass above 1", lambda t: with_lists(t, "before", as_rows(t, "before") + 1), "plausible"),
        ("another mass", lambda t: with_lists(t, "before", as_rows(t, "before") * 0.9), "rerun"),
    ],
)
def test_forged_numbers_of_forms_are_found(folder, name, change, level):
    path = forge(folder, name.replace(" ", "-"), change)
    ended = call(
        "verify",
        path,
        "--suite",
        "./mine:inflection",
        "--model",
        "bundled:lstm",
        "--rescore",
        "all",
        cwd=folder,
    )
    assert ended.returncode == 1
    assert f"{level:<11} WRONG" in ended.stdout


@pytest.mark.slow
def test_a_sweep_scores_all_verbs(folder):
    options = "--lexicon", "verbs.csv", "--out", "sweep", "--workers", "1"
    sweep = ["tseval", "sweep", "--model", "bundled:lstm", "--suite", "./mine:inflection", *options]
    succeeded(run_process(sweep, cwd=folder))
    (path,) = {file.parent for file in (folder / "sweep").rglob("verdicts.parquet")}
    assert read_run(path).table().equals(read_run(folder / "run").table())


@pytest.mark.slow
def test_a_leaderboard_keeps_runs_over_all_verbs(folder):
    """Boards have the English list of verbs: a run with another list is refused by its digest."""
    succeed("board", "new", "boards/verbs", "--suite", "../../mine:inflection", cwd=folder)
    refused(call("board", "add", "boards/verbs", "run", "--name", "own-list", cwd=folder))
    succeed(
        "run",
        "--model",
        "bundled:lstm",
        "--suite",
        "./mine:inflection",
        "--out",
        "english",
        "--quiet",
        cwd=folder,
    )
    succeed("board", "add", "boards/verbs", "english", "--name", "lstm", cwd=folder)
    succeed("board", "write", "boards/verbs", cwd=folder)
    succeed("board", "check", "boards/verbs", cwd=folder)
    assert "WRONG" not in printed("verify", "boards/verbs", cwd=folder)
    entry = read_run(folder / "boards/verbs/entries/lstm")
    columns = ["accuracy", "ew", "ew_low", "ew_high", "mw", "mw_low", "mw_high", "n_lemmas"]
    assert entry.table()[columns].equals(read_run(folder / "english").table()[columns])


@pytest.mark.slow
def test_json_has_both_measures_with_their_intervals(folder):
    (row,) = json.loads(printed("table", "run", "--format", "json", cwd=folder))["rows"]
    assert row["n_lemmas"] == 4  # the model does not know `zzorb`
    for name in ("ew", "mw"):
        assert 0 <= row[f"{name}_low"] < row[name] < row[f"{name}_high"] <= 1
    table = read_run(folder / "run").table()
    assert row["ew"] == table["ew"][0]


@pytest.mark.slow
def test_pages_and_citations_say_what_was_compared(folder):
    succeed("report", "run", "-o", "page.html", cwd=folder)
    assert "PP" in (folder / "page.html").read_text()
    cited = printed("cite", "run", cwd=folder)
    assert "We compared the forms of 5 verbs" in cited
    assert "@inproceedings{newman-etal-2021" in cited


@pytest.mark.slow
def test_the_analysis_has_rows_masses_frequencies_and_a_figure(folder):
    found = json.loads(
        printed("analyze", "inflection", "run", "--figure", "mass.svg", "--format", "json", cwd=folder)
    )
    assert (folder / "mass.svg").stat().st_size > 1000
    by_part = {
        part: [row for row in found["rows"] if row["part"] == part] for part in ("row", "mass", "frequency")
    }
    assert [row["row"] for row in by_part["row"]] == ["PP", "All rows"]
    assert by_part["row"][0]["ew"] == read_run(folder / "run").table()["ew"][0]
    assert by_part["mass"][10]["mass"] == 1
    assert by_part["mass"][10]["mw"] == pytest.approx(by_part["row"][1]["mw"], abs=1e-9)
    (lemmas,) = found["lemmas"].values()
    assert {lemma["sing"]: lemma["count"] for lemma in lemmas} == {
        "laughs": 9,
        "swims": 2,
        "is": 90,
        "knows": 7,
    }
    assert np.mean([lemma["ew"] for lemma in lemmas]) == pytest.approx(by_part["row"][0]["ew"])
    assert sum(lemma["share_of_mass"] for lemma in lemmas) == pytest.approx(1)


def test_an_analysis_of_another_suite_is_refused(tmp_path):
    succeed(
        "run",
        "--model",
        "bundled:lstm",
        "--suite",
        "inversion",
        "--limit",
        "3",
        "--out",
        "r",
        "--quiet",
        cwd=tmp_path,
    )
    ended = refused(call("analyze", "inflection", "r", cwd=tmp_path))
    assert "does not compare all verbs" in " ".join(ended.stderr.split())


@pytest.mark.slow
def test_masses_of_a_model_that_gives_only_words_are_refused(folder):
    (folder / "words.py").write_text(
        "from tseval.scoring.protocol import ModelCard\n"
        "class Words:\n"
        "    card = ModelCard('words', 'function', 'f' * 64, {}, {'architecture': 'x', 'device': 'cpu'})\n"
        "    def word_logprobs(self, sentences):\n"
        "        return [[-float(len(word)) for word in sentence.split()] for sentence in sentences]\n"
        "def load():\n"
        "    return Words()\n"
    )
    succeeded(call(*(RUN[:2]), "function:words.py:load", *RUN[3:], "--out", "words", cwd=folder))
    run = read_run(folder / "words")
    # Shorter forms are more probable: plurals are correct in plural contexts, singulars nowhere.
    assert run.verdicts.groupby("number")["ew"].mean().to_dict() == {"plur": 0.8, "sing": 0.2}
    ended = refused(call("analyze", "inflection", "words", "--mass", "0.5", cwd=folder))
    assert "has no probabilities of a whole vocabulary" in " ".join(ended.stderr.split())
    assert "no numbers by mass" in " ".join(
        printed("analyze", "inflection", "words", "--notes", cwd=folder).split()
    )


@pytest.mark.slow
def test_a_run_with_a_mass_prints_both_ends_of_the_probability(folder):
    lines = printed(*RUN, "--out", "massed", "--mass", "0.5", cwd=folder)
    assert "The most likely 0.5 of the probability mass" in lines
    assert "The least likely 0.5 of the probability mass" in lines
    # The run's files equal those of a run without this option.
    assert (folder / "massed" / "table.md").read_bytes() == (folder / "run" / "table.md").read_bytes()
