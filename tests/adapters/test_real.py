"""Real weights: scores equal those of plain transformers, minicons and lm-eval, in every precision."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from supplied import needs_real, real_weights

from tseval import evaluate, in_context
from tseval.adapters import open_model
from tseval.evaluation import as_read
from tseval.runs import read_run
from tseval.scoring.scorers import scorer_for
from tseval.suites import load_suite
from tseval.verdicts import sentences_of
from tseval.verifying import verify_run
from tseval.writing import IN_CONTEXT

pytestmark = [pytest.mark.real, needs_real]
NAMES = ("smollm2", "gemma3")
SUITE = load_suite("marvin_linzen", limit=5)
TEXTS = [str(text) for text in sentences_of(SUITE).to_pylist()][::6]


def scores(model, texts=TEXTS):
    return scorer_for(model).score(pa.array(texts))["logprob"].to_numpy()


def plain(model):
    """Return the score of each sentence, one at a time, by the model's own forward pass."""
    found = []
    for text in TEXTS:
        ids = [*model.starts, *model.tokenizer(text, add_special_tokens=False)["input_ids"]]
        with torch.no_grad():
            table = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        found.append(sum(table[i - 1, ids[i]].item() for i in range(1, len(ids))))
    return np.array(found)


@pytest.fixture(scope="module", params=NAMES)
def model(request):
    return open_model(f"hf:{real_weights(request.param)}", {}, "cpu")


def test_scores_are_those_of_plain_transformers(model):
    np.testing.assert_allclose(scores(model), plain(model), atol=1e-3, rtol=0)


def test_a_sentence_in_context_scores_as_a_plain_pass_over_context_and_sentence(model, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(
        "Nobody knew where the old keys were.\nThe neighbours had not seen them either, they said.\n" * 3
    )
    suite = in_context(load_suite("marvin_linzen", cases=["simple_agrmt"], limit=12), text)
    run = evaluate(model, suite)
    write, tokenizer = suite.writing.write, model.tokenizer
    for row in run.load_sentences().to_pylist()[::5]:
        number, _, text = row["sentence"].partition(IN_CONTEXT)
        context = " ".join(suite.context.texts[int(number)])
        both = tokenizer(f"{context} {write(text)[0]}", add_special_tokens=False)["input_ids"]
        n_before = len(tokenizer(context, add_special_tokens=False)["input_ids"]) + len(model.starts)
        ids = [*model.starts, *both]
        with torch.no_grad():
            table = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        expected = sum(table[i - 1, ids[i]].item() for i in range(n_before, len(ids)))
        assert row["logprob"] == pytest.approx(expected, abs=1e-4 * (len(ids) - n_before))


def test_scores_are_those_of_lm_eval(model):
    huggingface = pytest.importorskip("lm_eval.models.huggingface")
    instance = pytest.importorskip("lm_eval.api.instance").Instance
    path = str(real_weights(model.card.name))
    theirs = huggingface.HFLM(pretrained=path, device="cpu", dtype="float32", batch_size=8)
    theirs.custom_prefix_token_id = model.starts[0]
    asked = [instance("loglikelihood", {}, ("", text), 0) for text in TEXTS]
    found = [value for value, _ in theirs.loglikelihood(asked, disable_tqdm=True)]
    np.testing.assert_allclose(scores(model), found, atol=1e-3, rtol=0)


def test_scores_are_those_of_minicons(model):
    scorer = pytest.importorskip("minicons.scorer")
    theirs = scorer.IncrementalLMScorer(model.model, device="cpu", tokenizer=model.tokenizer)
    puts = model.tokenizer("a")["input_ids"][0] == model.starts[0]  # as Gemma's tokenizer does
    before = "" if puts else model.tokenizer.convert_ids_to_tokens(model.starts[0])
    sums = theirs.sequence_score(
        [before + text for text in TEXTS], reduction=lambda x: x.sum().item(), bos_token=False
    )
    np.testing.assert_allclose(scores(model), sums, atol=1e-3, rtol=0)


def test_a_chat_model_starts_as_its_base_was_trained():
    model: Any = open_model(f"hf:{real_weights('smollm2')}", {}, "cpu")
    assert model.card.protocol["bos"] == "<|endoftext|>"
    (line,) = model.warnings
    assert line.startswith(
        "<|endoftext|> stands before every sentence, because <|im_start|> marks turns of a chat"
    )
    marked = open_model(f"hf:{real_weights('smollm2')}", {"bos": "<|im_start|>"}, "cpu")
    assert scores(model).mean() > scores(marked).mean() + 5  # nats a sentence


def by_token(model, padded):
    """Score every token with the model's own layers, with or without padding; only logits are float32."""
    rows = [
        [*model.starts, *model.tokenizer(text, add_special_tokens=False)["input_ids"]] for text in TEXTS[:12]
    ]
    matrix, found = model.model.get_output_embeddings().weight.float(), []
    width = max(map(len, rows)) + 1
    table = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    with torch.no_grad():
        batch = model.model.base_model(input_ids=table, attention_mask=mask)[0] if padded else None
        for i, row in enumerate(rows):
            alone = batch[i, : len(row)] if padded else model.model.base_model(torch.tensor([row]))[0][0]
            logprobs = (alone.float() @ matrix.T).log_softmax(-1)
            found.append(logprobs[torch.arange(len(row) - 1), torch.tensor(row[1:])])
    return torch.cat(found).numpy()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_in_low_precision_scores_are_as_near_to_plain_transformers_as_these_to_themselves(dtype):
    model: Any = open_model(f"hf:{real_weights('smollm2')}", {"dtype": dtype}, "cpu")
    found, _ = model.token_logprobs(model.encode(pa.array(TEXTS[:12])), 1024)
    alone, padded = by_token(model, padded=False), by_token(model, padded=True)
    assert len(found) == len(alone)
    ours, theirs = np.abs(found - alone), np.abs(padded - alone)
    print(dtype, *(np.quantile(apart, (0.5, 0.9, 1)).round(4) for apart in (ours, theirs)))
    assert theirs.max() > 0
    for level in (0.5, 0.9, 1):
        assert np.quantile(ours, level) < 3 * np.quantile(theirs, level)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_run_in_low_precision_verifies_and_keeps_nearly_all_verdicts(tmp_path, dtype):
    runs = {}
    for kind in ("float32", dtype):
        opened: Any = open_model(f"hf:{real_weights('smollm2')}", {"dtype": kind}, "cpu")
        runs[kind] = evaluate(opened, SUITE, out=tmp_path / kind)
    report = verify_run(tmp_path / dtype, model=opened, share=1.0)
    assert report.ok, str(report)
    assert "verdicts differ" in report.checks[-1].found
    part = verify_run(tmp_path / dtype, model=opened, share=0.1)  # other batches, so bits differ
    assert part.ok, str(part)
    print(part.checks[-1].found)
    one, other = (read_run(tmp_path / kind).load_verdicts()["correct"].to_numpy() for kind in runs)
    print(f"{dtype}: {(one != other).sum()} of {len(one)} verdicts differ; {report.checks[-1].found}")
    assert (one != other).mean() < 0.03


def test_all_verbs_after_contexts_are_those_of_plain_transformers(model):
    """One piece: the softmax after the context. Several: all pieces and the probability of a word end."""
    verbs = ("laughs laugh 1", "is are 1", "knows know 1", "swims swim 1", "crumples crumple 1")
    cases = ("simple_agrmt", "prep_anim")
    suite = load_suite("marvin_linzen:inflection", cases=cases, sample=4, lexicon=verbs)
    natural: Any = as_read(model, suite, "natural")
    run = evaluate(natural, suite)
    forms = list(dict.fromkeys(form for verb in verbs for form in verb.split()[:2]))
    partner = {form: other for verb in verbs for form, other in (verb.split()[:2], verb.split()[1::-1])}
    begins = natural.word_beginnings
    pieces = {form: model.tokenizer(f" {form}", add_special_tokens=False)["input_ids"] for form in forms}
    assert {len(ids) > 1 for ids in pieces.values()} == {True, False}

    def logprobs(ids):
        with torch.no_grad():
            logits = model.model(torch.tensor([[*model.starts, *ids]])).logits[0]
        return logits.double().log_softmax(-1).numpy()

    for context, stored in zip(run.sentences["sentence"], run.sentences["forms"], strict=True):
        ids = model.tokenizer(context[0].upper() + context[1:], add_special_tokens=False)["input_ids"]
        before = np.logaddexp.reduce(logprobs(ids)[-1, begins])
        for form, value in zip(forms, stored, strict=False):
            several = len(pieces[form]) > 1 or len(pieces[partner[form]]) > 1
            whole = logprobs([*ids, *pieces[form]])
            first = len(model.starts) + len(ids) - 1
            expected = sum(whole[first + place, piece] for place, piece in enumerate(pieces[form])) - before
            if several:
                expected += np.logaddexp.reduce(whole[-1, begins])
            assert value == pytest.approx(expected, abs=1e-4 * (len(ids) + len(pieces[form])))
