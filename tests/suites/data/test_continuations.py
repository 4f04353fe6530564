"""Continuations of prefixes, and two targets after two contexts, against plain forward passes."""

from typing import Any

import pytest
import torch
import transformers
from checkpoints import bpe_tokenizer, save_causal
from small import write_lines

import tseval
from tseval.adapters import open_model
from tseval.suites import load_suite

PREFIXED: list[dict[str, Any]] = [
    {"prefix": "the author near the guards", "good": "laughs .", "bad": "laugh loudly .", "number": "sing"},
    {"prefix": "the guards", "good": "admire the author .", "bad": "admires .", "number": "plur"},
    {"prefix": "no author that the guards like", "good": "has laughed .", "bad": "have .", "number": "sing"},
]
COMPS: list[dict[str, Any]] = [
    {"prefix_acceptable": "a guard", "prefix_unacceptable": "a taxi", "property_phrase": "can laugh .",
     "similarity": 0.25},
    {"prefix_acceptable": "the author", "prefix_unacceptable": "the taxi driver",
     "property_phrase": "swims .", "similarity": 0.5},
]  # fmt: skip
# In the format of EWoK; made up, because EWoK items must not be published as plain text.
CROSSED: list[dict[str, Any]] = [
    {"Domain": "likes", "ConceptA": "like", "ConceptB": "admire", "ContextType": "direct",
     "ContextDiff": "verb", "TargetDiff": "subject", "Context1": "the guards like the author .",
     "Context2": "the author likes the guards .", "Target1": "the author is liked .",
     "Target2": "the guards are liked ."},
    {"Domain": "swims", "Context1": "the pilot swam .", "Context2": "the pilot laughed .",
     "Target1": "the pilot is wet .", "Target2": "the pilot is loud ."},
    {"Domain": "swims", "Context1": "the pilot laughed .", "Context2": "the pilot swam .",
     "Target1": "the pilot is loud .", "Target2": "the pilot is wet ."},
]  # fmt: skip


def write(path, records):
    """Write records as JSON lines, or as a table."""
    if path.suffix != ".tsv":
        return write_lines(path, records)
    rows = [list(records[0]), *(map(str, record.values()) for record in records)]
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    texts = [str(value) for record in (*PREFIXED, *COMPS, *CROSSED) for value in record.values()]
    path = tmp_path_factory.mktemp("gpt2")
    return save_causal(path, tokenizer=bpe_tokenizer(size=400, texts=texts))


@pytest.fixture(scope="module")
def model(folder):
    return open_model(f"hf:{folder}", {"words": "pieces"})


@pytest.fixture(scope="module")
def logprob(folder):
    """Return log P(continuation | prefix) in nats by one forward pass, with the start symbol first."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    @torch.inference_mode()
    def score(prefix, continuation):
        before = tokenizer(prefix, add_special_tokens=False)["input_ids"]
        ids = tokenizer(f"{prefix} {continuation}", add_special_tokens=False)["input_ids"]
        assert ids[: len(before)] == before
        logits = network(torch.tensor([[tokenizer.bos_token_id, *ids]])).logits[0].log_softmax(-1)
        places = range(len(before), len(ids))
        return float(logits[list(places), ids[len(before) :]].sum())

    return score


def test_a_continuation_is_scored_given_its_prefix(tmp_path, model, logprob):
    run = tseval.evaluate(model, load_suite(write(tmp_path / "c.jsonl", PREFIXED)))
    expected = [[logprob(r["prefix"], r[label]) for r in PREFIXED] for label in ("good", "bad")]
    assert run.verdicts["better_score"].tolist() == pytest.approx(expected[0], abs=1e-4)
    assert run.verdicts["worse_score"].tolist() == pytest.approx(expected[1], abs=1e-4)
    assert run.verdicts["correct"].tolist() == [g > b for g, b in zip(*expected, strict=True)]
    assert run.verdicts["number"].tolist() == ["sing", "plur", "sing"]


@pytest.mark.parametrize("name", ["comps_base.jsonl", "comps_base.tsv"])
def test_comps_is_read_under_its_own_names(tmp_path, model, logprob, name):
    run = tseval.evaluate(model, load_suite(write(tmp_path / name, COMPS)))
    names = "prefix_acceptable", "prefix_unacceptable"
    expected = [[logprob(r[name], r["property_phrase"]) for r in COMPS] for name in names]
    assert run.verdicts["better_score"].tolist() == pytest.approx(expected[0], abs=1e-4)
    assert run.verdicts["worse_score"].tolist() == pytest.approx(expected[1], abs=1e-4)
    assert run.verdicts["similarity"].tolist() == [0.25, 0.5]
    assert set(run.verdicts["construction"]) == {"comps_base"}


def test_each_target_must_be_more_probable_after_its_own_context(tmp_path, model, logprob):
    run = tseval.evaluate(model, load_suite(write(tmp_path / "e.jsonl", CROSSED)))
    found = []
    for record in CROSSED:
        c1, c2, t1, t2 = (record[name] for name in ("Context1", "Context2", "Target1", "Target2"))
        found.append([logprob(c1, t1) > logprob(c2, t1), logprob(c2, t2) > logprob(c1, t2)])
    by_row = run.verdicts.groupby(["construction", "contrast"], observed=True)["correct"]
    assert by_row.apply(list).to_dict() == {
        ("likes", "target 1"): [found[0][0]], ("likes", "target 2"): [found[0][1]],
        ("swims", "target 1"): [found[1][0], found[2][0]], ("swims", "target 2"): [found[1][1], found[2][1]],
    }  # fmt: skip
    # The last record is the one before it with exchanged halves: one item for every method.
    assert run.verdicts["item.entry"].tolist() == ["1", "1", "2", "2", "2", "2"]


def test_tokens_are_counted_after_the_prefix(tmp_path):
    untokenised = [{"prefix": "Can't the author's guard", "good": "laugh, now?", "bad": "laughs?"}]
    suite = load_suite(write(tmp_path / "c.jsonl", untokenised), tokenise=True)
    (case,) = suite.cases
    assert case.sentences["good"].to_pylist() == ["Ca n't the author 's guard laugh , now ?"]
    question: Any = case.question
    assert question.regions_of("good") == [[6, 4]]
    assert question.regions_of("bad") == [[6, 2]]


def test_where_nothing_says_how_probable_first_words_are_an_empty_prefix_decides_nothing(tmp_path, folder):
    records = [{"prefix": "", "good": "author laughs .", "bad": "guards laughs ."}, PREFIXED[0] | {}]
    records[1].pop("number")
    suite = load_suite(write(tmp_path / "c.jsonl", records))
    run = tseval.evaluate(open_model(f"hf:{folder}", {"bos": "false", "words": "pieces"}), suite)
    assert run.verdicts["undecidable"].tolist() == [True, False]
