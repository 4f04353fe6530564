"""N-gram models against back-off by hand, and against kenlm's own sums."""

import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from in_process import run_process

import tseval
from tseval.errors import ModelError
from tseval.scoring.scorers import scorer_for

kenlm = pytest.importorskip("kenlm", reason="kenlm needs a C++ compiler to be installed")

ARPA = Path(__file__).parent / "trigram.arpa"
BINARY = Path(__file__).parent / "trigram.binary"  # ARPA, written by KenLM as a hash table
SENTENCES = ["the author laughs .", "author the author .", "the guard laughs the", "<unk> . .", "laughs"]


def tables(path):
    """Return the log10 probability and back-off weight of each n-gram of an ARPA file."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line[:1] == "-"]
    probability = {tuple(row[1].split()): float(row[0]) for row in rows}
    return probability, {tuple(row[1].split()): float(row[2]) for row in rows if len(row) > 2}


def back_off(context, word, probability, weight):
    """Compute Katz back-off: p(w | c) of the table, or weight of c times p(w | c less its first word)."""
    if (*context, word) in probability:
        return probability[*context, word]
    return weight.get(context, 0.0) + back_off(context[1:], word, probability, weight)


def by_hand(sentence, eos=False):
    probability, weight = tables(ARPA)
    words = ["<s>", *(word if (word,) in probability else "<unk>" for word in sentence.split())]
    words += ["</s>"] * eos
    values = [
        back_off(tuple(words[max(0, i - 2) : i]), words[i], probability, weight) for i in range(1, len(words))
    ]
    return [value * math.log(10) for value in values]


@pytest.mark.parametrize("path", [ARPA, BINARY], ids=["arpa", "binary"])
def test_words_score_as_by_hand(path):
    model: Any = tseval.load_model(f"ngram:{path}")
    for ours, sentence in zip(model.word_logprobs(SENTENCES), SENTENCES, strict=True):
        np.testing.assert_allclose(ours, by_hand(sentence), atol=1e-6)
        whole = kenlm.Model(str(ARPA)).score(sentence, bos=True, eos=False)
        assert sum(ours) == pytest.approx(whole * math.log(10), abs=1e-5)


def test_the_end_of_the_sentence_is_scored_on_request_and_signed():
    plain: Any
    ended: Any
    plain, ended = (tseval.load_model(f"ngram:{ARPA}", {"eos": eos}) for eos in ("false", "true"))
    for sentence in SENTENCES:
        (ours,) = ended.word_logprobs([sentence])
        *all_but_last, last, end = by_hand(sentence, eos=True)
        np.testing.assert_allclose(ours, [*all_but_last, last + end], atol=1e-6)
        assert sum(ours) == pytest.approx(kenlm.Model(str(ARPA)).score(sentence) * math.log(10), abs=1e-5)
    assert plain.card.protocol != ended.card.protocol
    assert plain.card.fingerprint == ended.card.fingerprint


def test_unknown_words_are_reported():
    texts = ["the author laughs .", "the guard waves .", "the guard laughs ."]
    rows = scorer_for(tseval.load_model(f"ngram:{ARPA}")).score(pa.array(texts)).to_pylist()
    assert [row["seen"] for row in rows] == ["the author laughs .", "the <unk> <unk> .", "the <unk> laughs ."]
    assert [row["n_unknown"] for row in rows] == [0, 2, 1]


@pytest.mark.slow
def test_a_suite_is_scored_and_invisible_contrasts_are_undecidable(tmp_path):
    shutil.copy(ARPA, tmp_path / "small.arpa")
    arguments = ["run", "--model", "ngram:small.arpa", "--case", "simple_agrmt", "--out", "run"]
    arguments += ["--unknown", "score"]  # the model knows only one form of some verbs
    done = run_process(["tseval", *arguments], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # kenlm writes what it reads to standard error; tseval's users must not see that.
    assert "Reading" not in done.stderr
    verdicts = pd.read_parquet(tmp_path / "run" / "verdicts.parquet")
    items: dict[Any, Any] = {
        item.index: item.sentences
        for item in tseval.load_suite("marvin_linzen", cases=["simple_agrmt"]).cases[0].items()
    }
    known = {row.item: "laughs" in " ".join(items[row.item].values()) for row in verdicts.itertuples()}
    assert all(row.undecidable != known[row.item] for row in verdicts.itertuples())
    assert 0 < verdicts["undecidable"].sum() < len(verdicts)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["model"]["protocol"]["end"] == "not scored"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "this is not an intact ARPA file or KenLM binary (End of file"),
        (BINARY.read_bytes()[:300], "Binary file has size 300 but the headers say"),
        (b"\\data\\\nngram 1=\xac8\n", "Bad count \ufffd8"),  # kenlm quotes bytes that are not text
    ],
)
def test_a_damaged_file_is_refused(tmp_path, content, message):
    path = tmp_path / "model.arpa"
    path.write_bytes(content)
    with pytest.raises(ModelError) as error:
        tseval.load_model(f"ngram:{path}")
    assert str(error.value).startswith(f"{path}: ")
    said, advice = str(error.value).split("\n")
    assert message in said
    assert said.isprintable()  # KenLM's messages have many lines
    assert advice == "  Build it again with KenLM: lmplz -o 5 < TEXT > FILE.arpa"
    assert "lm/" not in str(error.value)


@pytest.mark.parametrize(
    ("spec", "arguments", "device", "message"),
    [
        ("ngram:absent.arpa", {}, "auto", r"absent\.arpa: file not found"),
        (f"ngram:{ARPA.parent}", {}, "auto", "not a file"),
        (f"ngram:{ARPA}", {"eos": "yes"}, "auto", "eos=yes: eos must be true or false"),
        (f"ngram:{ARPA}", {"bos": "true"}, "auto", "bos: models of the kind ngram have no argument"),
        (f"ngram:{ARPA}", {}, "cuda", "--device cuda: n-gram models run on the CPU only"),
    ],
)
def test_what_cannot_be_opened_is_named(spec, arguments, device, message):
    with pytest.raises(ModelError, match=message):
        tseval.load_model(spec, arguments, device)


def test_without_kenlm_the_extra_is_named():
    program = f"import sys; sys.modules['kenlm'] = None; import tseval; tseval.load_model('ngram:{ARPA}')"
    done = run_process([sys.executable, "-c", program])
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tseval.errors.ModelError: models of the kind ngram need the package kenlm")
    assert 'pip install "tseval[ngram]"' in last
