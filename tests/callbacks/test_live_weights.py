"""A model is wrapped one time, before the training loop; each evaluation uses the current weights."""

import pytest
import torch
from checkpoints import bpe_tokenizer, spread, wordpiece_tokenizer
from small import make_case, make_suite
from torch_modules import BatchFirst, made
from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

import tseval
from tseval.callbacks import as_causal, evaluate_during
from tseval.errors import RunError
from tseval.runs import read_run
from tseval.scoring.surprisal import surprisals

WORDS = ["<eos>", "<unk>", "the", "author", "pilots", "laughs", "laugh", "."]
SENTENCES = ["the author laughs .", "the author laugh ."]
SUITE = make_suite(
    make_case("a", [("the author laughs", "the author laugh"), ("the pilots laugh", "the pilots laughs")])
)


def train_a_step(module):
    """Change every weight, also through `.data`, which does not change the parameter's version."""
    for weight in module.parameters():
        weight.data.add_(0.5 * torch.randn_like(weight))


def llama(dtype=torch.float32):
    torch.manual_seed(0)
    tokenizer = bpe_tokenizer()
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes))
    spread(model)
    return model.to(dtype).train(), tokenizer


def plain(module, sentence):
    """Return the sum by a forward pass in plain torch, with the start symbol before the words."""
    ids = torch.tensor([[0, *map(WORDS.index, sentence.split())]])
    training = module.training
    with torch.no_grad():
        table = module.eval()(ids)[0][0].log_softmax(-1)
    module.train(training)
    return table[range(ids.shape[1] - 1), ids[0, 1:]].sum().item()


def scores(run):
    table = run.load_sentences()
    return dict(zip(table["sentence"].to_pylist(), table["logprob"].to_pylist(), strict=True))


def test_a_module_wrapped_once_is_scored_with_the_weights_of_each_step(tmp_path):
    module = made(BatchFirst, len(WORDS)).train()
    model = tseval.load_model((module, WORDS))
    runs = []
    for step in range(3):
        runs.append(evaluate_during(model, SUITE, tmp_path / "mine", step))
        for sentence in SENTENCES:
            assert scores(runs[-1])[sentence] == pytest.approx(plain(module, sentence), abs=1e-4)
        train_a_step(module)
    assert len({run.manifest.model.fingerprint for run in runs}) == 3
    assert module.training


def test_a_step_that_is_there_with_other_weights_is_refused_and_stays(tmp_path):
    module = made(BatchFirst, len(WORDS))
    model = tseval.load_model((module, WORDS))
    first = evaluate_during(model, SUITE, tmp_path / "mine", 0)
    assert scores(evaluate_during(model, SUITE, tmp_path / "mine", 0)) == scores(first)
    train_a_step(module)
    with pytest.raises(RunError, match=r"step-000000 has a run with other settings.*\(fingerprint: "):
        evaluate_during(model, SUITE, tmp_path / "mine", 0)
    assert scores(read_run(tmp_path / "mine/step-000000")) == scores(first)
    replaced = evaluate_during(model, SUITE, tmp_path / "mine", 0, overwrite=True)
    assert scores(replaced)[SENTENCES[0]] == pytest.approx(plain(module, SENTENCES[0]), abs=1e-4)


def test_a_pair_is_taken_as_evaluate_takes_it(tmp_path):
    module = made(BatchFirst, len(WORDS))
    during = evaluate_during((module, WORDS), SUITE, tmp_path / "mine", 0)
    run = tseval.evaluate((module, WORDS), SUITE)
    assert scores(during) == scores(run)
    assert during.manifest.model.fingerprint == run.manifest.model.fingerprint


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_as_causal_before_the_loop_follows_the_training(dtype):
    module, tokenizer = llama(dtype)  # in bfloat16, a reordered copy of the output matrix is kept
    model, seen = as_causal(module, tokenizer, "mine"), set()
    for step in range(2):
        run = evaluate_during(model, SUITE, None, step)
        fresh = tseval.evaluate(as_causal(module, tokenizer, "mine"), SUITE)
        assert scores(run) == pytest.approx(scores(fresh), abs=1e-6)
        assert run.manifest.model.fingerprint == fresh.manifest.model.fingerprint
        seen.add(run.manifest.model.fingerprint)
        tokens = [token.surprisal for token in surprisals(model, SENTENCES[:1])[0]]
        ids = [0, *tokenizer.encode(SENTENCES[0])]
        with torch.no_grad():
            logits = module.eval()(torch.tensor([ids])).logits[0].float().log_softmax(-1)
        expected = (-logits[range(len(ids) - 1), ids[1:]]).tolist()
        assert tokens == pytest.approx(expected, abs=1e-4 if dtype == torch.float32 else 0.3)
        module.train()
        train_a_step(module)
    assert len(seen) == 2


def test_a_masked_model_follows_too_and_keeps_its_name():
    torch.manual_seed(0)
    tokenizer = wordpiece_tokenizer()
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    module = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes))
    spread(module)
    model = tseval.load_model((module, tokenizer))
    before = tseval.evaluate(model, SUITE)
    train_a_step(module)
    after = tseval.evaluate(model, SUITE)
    assert scores(after) == scores(tseval.evaluate((module, tokenizer), SUITE))
    assert scores(after) != scores(before)
    assert after.manifest.model.fingerprint != before.manifest.model.fingerprint
    assert after.manifest.model.name == before.manifest.model.name == "BertForMaskedLM"
