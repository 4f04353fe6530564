"""Evidence of all kinds of models: taken from a run, written, read, and turned back into its numbers."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from own_models import CLASSIFIERS, HEAVY, NATIVE, OTHERS, open_own
from small import make_case, make_suite, score

from tseval.adapters import open_model
from tseval.errors import EvidenceError
from tseval.evaluation import evaluate
from tseval.evidence import Evidence, evidence_bytes, gather, read_evidence, scored_again
from tseval.suites import load_suite
from tseval.verdicts import judge, sentences_of

# The unit of one row of evidence by kind of model; the default is a prefix.
UNITS = {"mlm": "word", "seq2seq": "word", "lm-eval": "sentence", "oracle": "word"}


def suite_for(own, name):
    """Make pairs of sentences that a model reads; for an oracle, questions about the next symbols."""
    if name == "oracle":
        return load_suite("dyck(k=4,m=3)", limit=40)
    if own.sentences is None:
        return load_suite("marvin_linzen", cases=["simple_agrmt", "simple_npi_anim"], sample=40)
    pairs = list(zip(own.sentences[::2], own.sentences[1::2], strict=False))
    return make_suite(make_case("pairs", pairs), terminator=None)


def kept_and_made_again(run, suite, unit):
    """Write and read the evidence of a run, and recompute the numbers of its sentences."""
    evidence = read_evidence(evidence_bytes(gather(run.load_sentences(), suite.digest)))
    assert evidence.unit == unit
    again = scored_again(evidence, sentences_of(suite))
    for column in again.column_names:
        assert again[column].to_pylist() == run.load_sentences()[column].to_pylist(), column
    return again


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NATIVE, *CLASSIFIERS, *OTHERS, *HEAVY])
def test_every_number_of_a_run_follows_from_suite_and_evidence(name, tmp_path):
    own = open_own(name, tmp_path)
    suite = suite_for(own, name)
    run = evaluate(own.model, suite)
    again = kept_and_made_again(run, suite, UNITS.get(name.partition(" ")[0], "prefix"))
    assert judge(suite, again, suite.score).equals(run.load_verdicts())


@pytest.mark.parametrize("score", ["critical", "sentence"])
def test_sentences_with_corrected_words_follow_from_their_pieces(tmp_path, score):
    own = open_own("hf gpt2", tmp_path)
    suite = suite_for(own, "hf")
    run = evaluate(own.model, suite, score=score, out=tmp_path / "run")
    columns = run.load_sentences().column_names
    assert ("pieces" in columns) == (score == "critical")
    assert set(kept_and_made_again(run, suite, "prefix").column_names) == set(columns) - {"n_unknown"}


def test_first_tokens_that_a_model_leaves_unscored_are_in_it(tmp_path):
    from checkpoints import bpe_tokenizer, save_causal  # noqa: PLC0415 - takes seconds

    tokenizer = bpe_tokenizer(bos=None, eos=None)
    rows = [("no guards laugh", "no guards laughs"), ("the guards laugh", "no guards laugh")]
    suite = make_suite(make_case("pairs", rows))
    run = evaluate(open_model(f"hf:{save_causal(tmp_path, tokenizer=tokenizer)}"), suite)
    again = kept_and_made_again(run, suite, "prefix")
    assert "unscored" in again.column_names
    verdicts = judge(suite, again, suite.score)
    assert verdicts.equals(run.load_verdicts())
    assert verdicts["undecidable"].to_pylist() == [False, True]


def small_suite():
    pairs = [("the author laughs", "the author laugh"), ("the zebra laughs", "the zebra laugh")]
    return make_suite(make_case("a", pairs))


def small_evidence():
    suite = small_suite()
    scored = score(suite, {"laughs": -1.5, "laugh": -2.5}, unknown={"zebra"})
    return gather(scored, suite.digest), sentences_of(suite)


def test_a_prefix_has_one_number_and_the_nodes_are_in_preorder():
    evidence, sentences = small_evidence()
    prefixes = Counter()
    nodes = []
    for sentence in sentences.to_pylist():
        words = sentence.split()
        for end in range(1, len(words) + 1):
            prefixes[tuple(words[:end])] += 1
            if prefixes[tuple(words[:end])] == 1:
                nodes.append(words[end - 1])
    values = {"laughs": -1.5, "laugh": -2.5}
    assert evidence.table["logprob"].to_pylist() == [values.get(word, -1.0) for word in nodes]
    assert evidence.table["seen"].to_pylist() == ["<unk>" if word == "zebra" else None for word in nodes]


def test_there_is_no_sentence_in_it():
    content = evidence_bytes(small_evidence()[0])
    assert b"author" not in content


def test_a_prefix_that_was_computed_twice_keeps_both_numbers():
    suite = small_suite()
    scored = score(suite, {})
    words = scored["words"].to_pylist()
    words[2][0] = np.nextafter(np.float32(-1.0), np.float32(0)).item()
    sums = [float(np.array(of, "f4").astype("f8").sum()) for of in words]
    scored = scored.set_column(3, "words", pa.array(words, pa.list_(pa.float32())))
    scored = scored.set_column(2, "logprob", pa.array(sums))
    evidence = gather(scored, suite.digest)
    # Shards do not explain a difference in one sentence of four, so the evidence stores single words.
    assert evidence.unit == "word"
    assert scored_again(evidence, sentences_of(suite))["words"].to_pylist() == words


@pytest.mark.slow
def test_shards_leave_few_prefixes_apart(monkeypatch):
    suite = load_suite("marvin_linzen", sample=40)
    monkeypatch.setattr("tseval.scoring.engine.SHARD", 500)
    run = evaluate(open_model("bundled:lstm"), suite)
    evidence = gather(run.load_sentences(), suite.digest)
    assert evidence.unit == "prefix"
    assert len(evidence.apart) < 0.01 * run.manifest.counts.sentences
    again = scored_again(evidence, sentences_of(suite))
    assert again["logprob"].to_pylist() == run.load_sentences()["logprob"].to_pylist()


@pytest.mark.parametrize("n_left", [0, 10])
def test_evidence_that_is_cut_is_refused(n_left):
    evidence, sentences = small_evidence()
    assert evidence.table.num_rows == 11
    cut = Evidence(evidence.suite_digest, "prefix", {}, evidence.table.slice(0, n_left))
    with pytest.raises(EvidenceError, match="the file is truncated or belongs to another suite"):
        scored_again(cut, sentences)


def test_a_sentence_cannot_be_said_to_share_more_than_it_does():
    evidence, sentences = small_evidence()
    for apart in ({1: 3}, {0: 0}, {99: 0}, {1: -1}):
        with pytest.raises(EvidenceError, match="the evidence does not fit the suite"):
            scored_again(Evidence(evidence.suite_digest, "prefix", apart, evidence.table), sentences)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.select(["logprob"]), "has no column 'seen'"),
        (lambda table: table.append_column("more", table["logprob"]),
         "it has the columns logprob, seen, more"),
        (lambda table: table.set_column(0, "logprob", table["logprob"].cast("float64")), ("a number of "
                                                                                          "type float")),
        (lambda table: table.replace_schema_metadata(None), "do not name the suite"),
        (lambda table: table.replace_schema_metadata({"tseval.evidence": b'{"format": 2}'}), "has format 2"),
        (lambda table: table.replace_schema_metadata({"tseval.evidence": b'{"format": 1}'}), "suite_digest"),
        (lambda table: table.replace_schema_metadata({"tseval.evidence": b"[" * 9999}),
         "do not name the suite"),
    ],
)  # fmt: skip
def test_a_file_that_holds_something_else_is_refused(change, said):
    import pyarrow.parquet as pq  # noqa: PLC0415 - here alone

    table = pq.read_table(pa.BufferReader(evidence_bytes(small_evidence()[0])))
    sink = pa.BufferOutputStream()
    pq.write_table(change(table), sink)
    with pytest.raises(EvidenceError, match=said):
        read_evidence(sink.getvalue().to_pybytes())
