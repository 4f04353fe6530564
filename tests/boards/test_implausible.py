"""Forged evidence is flagged if no language model gives it, or if it was made from other entries."""

import hashlib
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from forged import edit_json, edit_yaml, evidence_forged, put, seal_anew, with_key
from in_process import succeed

from tseval.boards.check import board_suite, warnings_of
from tseval.boards.copies import Numbers, copies
from tseval.boards.flags import NOT_DETECTABLE
from tseval.evidence import read_evidence
from tseval.report.published import BUNDLED_BOARDS
from tseval.runs.board_suite import SplitSuite, numbered

DOCS = Path(__file__).parents[2] / "docs/results/forgeries.md"
LSTM, GEMMA = "bundled-lstm", "Gemma-3-270M"


class Forger:
    """A board with three honest entries, to which forged entries are added."""

    def __init__(self, root):
        for name in ("public-clams", "suites/clams_english_60"):
            shutil.copytree(BUNDLED_BOARDS / name, root / name)
        self.board = root / "public-clams"
        split: SplitSuite = board_suite(self.board)
        words = split.words
        ids, pairs = numbered(words)
        depth = np.arange(len(ids)) - np.repeat(words.starts, words.lengths)
        is_node = depth >= np.repeat(words.shared, words.lengths)
        self.word, self.pair, self.depth = ids[is_node], pairs[is_node], depth[is_node]
        self.draw = np.random.default_rng(0)
        self.n = int(is_node.sum())
        self.is_good = self._nodes_of_good_sentences(split, is_node)

    def _nodes_of_good_sentences(self, split, is_node):
        """Mark the nodes that are part of a grammatical sentence."""
        from tseval.evidence.prefixes import find_nodes  # noqa: PLC0415 - here alone

        nodes = find_nodes(split.words, split.words.shared)
        ended = [case.ended(split.suite.terminator) for case in split.suite.cases]
        good = {text for case in ended for text in case.sentences[case.labels[0]].to_pylist()}
        marked = np.zeros(self.n, dtype=bool)
        for row, text in enumerate(split.sentences.to_pylist()):
            if text in good:
                start = split.words.starts[row]
                marked[nodes[start : start + split.words.lengths[row]]] = True
        return marked

    def of(self, name):
        evidence = read_evidence(self.board / "entries" / name / "evidence.parquet")
        return evidence.table["logprob"].to_numpy().astype(float)

    def add(self, name, values=None, base=LSTM, **details):
        """Add an entry with these numbers, sealed like an honest one."""
        entry = self.board / "entries" / name
        shutil.copytree(self.board / "entries" / base, entry)
        fingerprint = hashlib.sha256(name.encode()).hexdigest()
        with_key(entry, lambda key: key.update(model=name, fingerprint=fingerprint))
        edit_yaml(entry / "entry.yaml", lambda content: content.update(name=name))
        dated = {"date": "2026-11-29"}
        edit_yaml(entry / "entry.yaml", lambda content: content["about"].update(dated))
        edit_json(entry / "manifest.json", lambda manifest: manifest["model"]["details"].update(details))
        if values is not None:
            cells = pa.array(np.minimum(values, -1e-6).astype("f4"), pa.float32())
            evidence_forged(entry, None, lambda table: put(table, "logprob", cells))
        seal_anew(entry)


def hashed(numbers):
    """Give each different number its own log-probability, from -9 to -5."""
    return -5 - 4 * np.random.default_rng(1).random(int(numbers.max()) + 1)[numbers]


# The forgery, as listed in docs/results/forgeries.md; how it is made; and the message.
KINDS = {
    "one log-probability everywhere": (
        lambda f: f.add("a-constant", np.full(f.n, -5.0)), r"each of its 9,407 log-probabilities is -5"),
    "two log-probabilities: one for words of grammatical sentences, one for all other words": (
        lambda f: f.add("a-few", np.where(f.is_good, -5.0, -6.0)),
        r"its 9,407 log-probabilities have only 2 different values"),
    "a log-probability for each word, independent of earlier words": (
        lambda f: f.add("a-unigram", hashed(f.word)), r"the word alone explains 100\.00%.*unigram"),
    "a log-probability for each word, with a little noise": (
        lambda f: f.add("a-noisy-unigram", hashed(f.word) + f.draw.normal(0, 0.02, f.n)),
        r"the word alone explains 99\.\d+%.*unigram"),
    "a log-probability for each pair of a word and the word before it": (
        lambda f: f.add("a-bigram", hashed(f.pair)), r"explain 100\.00% .*as in a bigram model"),
    "random log-probabilities": (
        lambda f: f.add("a-random", -5 - 4 * f.draw.random(f.n)), r"they look like random numbers"),
    "a perplexity below 1": (
        lambda f: f.add("a-perplexity-below-1", validation_perplexity=0.9), r"states a perplexity of 0\.9,"),
    "a perplexity of at least the vocabulary size, with a high accuracy": (
        lambda f: f.add("a-guess", base=GEMMA, validation_perplexity=300_000.0),
        r"right on 92\.\d% .*that of a model that guesses among its 262,144 words"),
    "an accuracy of nearly 1 with a high perplexity": (
        lambda f: f.add("a-perfect", f.of(LSTM) - 12.0 * ~f.is_good),
        r"right on 100\.0% of .* contrasts with a stated perplexity of 59\.43"),
    "a perplexity that does not fit the log-probabilities": (
        lambda f: f.add("a-low-perplexity", f.of(LSTM) - 8.0 - f.draw.random(f.n),
                        validation_perplexity=20.0),
        r"its perplexity on the suite is .*, but it states 20"),
    "the evidence of another entry, under another name and fingerprint": (
        lambda f: f.add("b-copy", f.of(LSTM) + 1e-3), r"within 0\.03 nats of those of bundled-lstm"),
    "the evidence of another entry, with noise": (
        lambda f: f.add("b-noisy", f.of(LSTM) - 0.08 * f.draw.random(f.n)),
        r"nearly those of bundled-lstm \(correlation 0\.999"),
    "the evidence of another entry, each log-probability multiplied by one number": (
        lambda f: f.add("b-scaled", 1.3 * f.of(LSTM)), r"nearly those of bundled-lstm, 1\.3 times as large"),
    "a mean of the log-probabilities of two entries": (
        lambda f: f.add("c-mean", 0.6 * f.of(LSTM) + 0.4 * f.of(GEMMA)),
        r"a mean of those of bundled-lstm \(60%\) and Gemma-3-270M \(40%\)"),
    "a mean of the probabilities of two entries": (
        lambda f: f.add("c-ensemble", np.log(0.3 * np.exp(f.of(LSTM)) + 0.7 * np.exp(f.of(GEMMA)))),
        r"a mean of those of bundled-lstm \(30%\) and Gemma-3-270M \(70%\)"),
    "some log-probabilities from one entry, the others from a second entry": (
        lambda f: f.add("c-stitched", np.where(f.depth % 2, f.of(LSTM), f.of(GEMMA))),
        r"is that of Gemma-3-270M or that of bundled-lstm"),
}  # fmt: skip


@pytest.fixture(scope="module")
def forged(tmp_path_factory):
    """Return the board with all forged entries, and the output of `tseval board check`."""
    forger = Forger(tmp_path_factory.mktemp("implausible"))
    names = {}
    for what, (forge, _) in KINDS.items():
        before = {path.name for path in (forger.board / "entries").iterdir()}
        forge(forger)
        (names[what],) = {path.name for path in (forger.board / "entries").iterdir()} - before
    succeed("board", "write", forger.board)
    return forger.board, names, succeed("board", "check", forger.board)


@pytest.mark.slow
@pytest.mark.parametrize("what", KINDS)
def test_a_forged_model_is_flagged(forged, what):
    _, names, checked = forged
    said = [line for line in checked.stderr.splitlines() if line.startswith(f"warning: {names[what]}: ")]
    assert any(re.search(KINDS[what][1], line) for line in said), said


@pytest.mark.slow
def test_honest_entries_beside_forged_ones_are_not_flagged(forged):
    _, _, checked = forged
    for name in (LSTM, GEMMA, "SmolLM2-135M-Instruct"):
        assert f"warning: {name}:" not in checked.stderr


@pytest.mark.slow
def test_the_page_marks_forged_entries_and_says_why(forged, tmp_path):
    board, names, _ = forged
    for name in {*names.values()} - {"a-constant", "c-mean"}:
        shutil.rmtree(board / "entries" / name)
    succeed("board", "build", board, "-o", tmp_path / "site")
    page = (tmp_path / "site/index.html").read_text("utf-8")
    marked = re.findall(r"<strong>(\S+) looks implausible</strong>: (.*?)</li>", page)
    assert [name for name, _ in marked] == ["a-constant", "c-mean"]
    assert "each of its 9,407 log-probabilities is -5" in marked[0][1]
    entry = (tmp_path / "site/entries/c-mean.html").read_text("utf-8")
    assert "<strong>Looks implausible</strong>: its log-probabilities are a mean of those of" in entry
    assert "Looks implausible" not in (tmp_path / f"site/entries/{LSTM}.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("suites_expanded_once")
@pytest.mark.parametrize("name", ["public", "public-blimp", "public-clams", "public-syntaxgym", "zoo"])
def test_no_honest_entry_of_a_shipped_board_is_flagged(name):
    assert warnings_of(BUNDLED_BOARDS / name) == []


@pytest.mark.slowest
@pytest.mark.usefixtures("suites_expanded_once")
def test_no_honest_seed_of_the_wide_zoo_is_flagged():
    assert warnings_of(BUNDLED_BOARDS / "zoo-wide") == []


def test_models_that_differ_as_seeds_do_are_no_copies():
    draw = np.random.default_rng(2)
    shared = draw.normal(-8, 3, 2_000)
    seeds = [shared + draw.normal(0, 0.7, 2_000) for _ in range(6)]  # their correlation is .95
    numbers = [Numbers(f"seed-{at}", f"{at}" * 64, one, one.copy) for at, one in enumerate(seeds)]
    assert list(copies(numbers)) == []


def test_the_page_lists_these_forgeries_and_what_cannot_be_found():
    text = DOCS.read_text("utf-8")
    section = text.partition("## Forged models")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (.+?) +\| `check` +\|$", section, re.MULTILINE) == [*KINDS]
    unseen = text.partition("## What no check finds")[2].partition("\n## ")[0]
    assert re.findall(r"^- (.+?)[;.]$", unseen, re.MULTILINE) == [*NOT_DETECTABLE]
    listed = text.partition("## Forged files")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!forged \|)[^-].*\|$", listed, re.MULTILINE)
    assert len(rows) + len(KINDS) + len(NOT_DETECTABLE) >= 40
