"""Sentences in context against plain passes over context and sentence, without tseval's code."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from checkpoints import save_causal
from equations import sentence_logprob
from small import make_case, make_suite
from torch import nn
from torch_modules import GPT, BatchFirst, RNNModel, made

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.items import as_entries
from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.scoring.protocol import ModelCard
from tseval.scoring.surprisal import word_surprisals
from tseval.suites.context import ContextRequest, in_context
from tseval.writing import IN_CONTEXT, LANGUAGES

NOUNS = ("author", "pilot", "surgeon", "farmer", "manager", "officer")
VERBS = ("laugh", "smile", "run")
PAIRS = [(noun, verb) for noun in NOUNS for verb in VERBS]
WORDS = ("<eos>", "<unk>", "the", "near", ".", *NOUNS, *VERBS, *(f"{verb}s" for verb in VERBS))


def of_case(name, middle="", pairs=PAIRS):
    rows = [(f"the {noun}{middle} {verb}s", f"the {noun}{middle} {verb}") for noun, verb in pairs]
    nouns, verbs = (as_entries(list(column)) for column in zip(*pairs, strict=True))
    return replace(make_case(name, rows), entries=pa.table({"subject": nouns, "verb": verbs}))


SUITE = replace(
    make_suite(of_case("simple"), of_case("across", " near the farmer")), writing=LANGUAGES["english"]
)

FEW = replace(
    make_suite(of_case("simple", "", PAIRS[::2]), of_case("across", " near the farmer", PAIRS[::2])),
    writing=LANGUAGES["english"],
)


def parts_of(run, suite):
    """Yield each sentence with the sentences before it and tseval's row for it."""
    for row in run.load_sentences().to_pylist():
        number, _, text = row["sentence"].partition(IN_CONTEXT)
        yield suite.context.texts[int(number)], text, row


def after(request, suite=SUITE):
    return in_context(suite, request)


def ids_of(texts, known):
    """Return the ids of sentences, with the start symbol before the first and after each."""
    tokens = [known["<eos>"]]
    for text in texts:
        tokens += [*(known.get(word, known["<unk>"]) for word in text.split()), known["<eos>"]]
    return tokens


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["lstm", "drnn", "urn"])
@pytest.mark.parametrize(
    "request_", [ContextRequest("same", 9), ContextRequest("other#ungrammatical", 14, 1, 3)]
)
def test_a_sentence_in_context_scores_as_the_equations_have_it(arch, request_, tmp_path):
    torch.manual_seed(0)
    sizes = Sizes(arch, len(WORDS), 8, 12, 2)
    network = LanguageModel(sizes, initial_range=2.0).eval()
    save_checkpoint(
        tmp_path / "a.pt", network, Vocabulary(WORDS, False), training={}, validation_perplexity=None
    )
    suite = after(request_)
    run = tseval.evaluate(tmp_path / "a.pt", suite)
    weights = {name: weight.double().numpy() for name, weight in network.state_dict().items()}
    known = {word: at for at, word in enumerate(WORDS)}
    for before, text, row in list(parts_of(run, suite))[::5]:
        context = ids_of(before, known)
        sentence = [known.get(word, known["<unk>"]) for word in text.split()]
        both = sentence_logprob(sizes.to_mapping(), weights, [*context, *sentence])
        alone = sentence_logprob(sizes.to_mapping(), weights, context)
        assert row["logprob"] == pytest.approx(both - alone, abs=2e-5)
        assert len(row["words"]) == len(text.split())


def test_the_bundled_lstm_in_context_scores_as_torchs_own_lstm():
    suite = after(ContextRequest("other", 30, 0, 2))
    model: Any = open_model("bundled:lstm")
    run = tseval.evaluate(model, suite)
    state, known = model.model.state_dict(), model._ids
    embedding = nn.Embedding.from_pretrained(state["embedding.weight"])
    layers = [nn.LSTM(200, 400), nn.LSTM(400, 400)]
    for depth, layer in enumerate(layers):
        prefix = f"layers.{depth}.layer."
        layer.load_state_dict({n.removeprefix(prefix): w for n, w in state.items() if n.startswith(prefix)})
    for before, text, row in list(parts_of(run, suite))[::9]:
        context = ids_of(before, known)
        ids = torch.tensor([*context, *(known.get(word, known["<unk>"]) for word in text.split())])
        with torch.no_grad():
            x = embedding(ids)
            for layer in layers:
                x, _ = layer(x)
            table = (x @ state["output.weight"].T + state["output.bias"]).double().log_softmax(-1)
        expected = [table[at - 1, ids[at]].item() for at in range(len(context), len(ids))]
        np.testing.assert_allclose(row["words"], expected, atol=2e-5, rtol=0)


def test_contexts_that_share_a_beginning_or_differ_in_length_are_read_apart(tmp_path):
    """Contexts of different lengths share a batch: a wrong row would use another context's state."""
    text = tmp_path / "text.txt"
    text.write_text(
        "the pilot near the guard .\nthe nobody knows this word here .\nthe farmer .\nthe .\n" * 3
    )
    suite = in_context(SUITE, ContextRequest(str(text), 5))
    assert len({len(before) for before in suite.context.texts}) > 1
    model: Any = open_model("bundled:lstm")
    run = tseval.evaluate(model, suite)
    net = model.model
    for before, sentence, row in list(parts_of(run, suite))[::11]:
        context = ids_of(before, model._ids)
        ids = torch.tensor([*context, *(model._ids.get(w, model._ids["<unk>"]) for w in sentence.split())])
        with torch.no_grad():
            out, _ = net(ids[:, None], net.initial_state(1))
            table = net.output(out[:, 0]).double().log_softmax(-1)
        expected = sum(table[at - 1, ids[at]].item() for at in range(len(context), len(ids)))
        assert row["logprob"] == pytest.approx(expected, abs=5e-5)


def test_an_empty_text_is_no_context_bit_for_bit(tmp_path):
    (tmp_path / "empty.txt").write_text("\n  \n")
    plain = tseval.evaluate("bundled:lstm", SUITE)
    for request in (ContextRequest(str(tmp_path / "empty.txt")), ContextRequest("same", 0)):
        run = tseval.evaluate("bundled:lstm", in_context(SUITE, request))
        assert run.load_sentences().equals(plain.load_sentences())
        assert run.load_verdicts().equals(plain.load_verdicts())


KINDS = ["gpt2", "llama", "bloom", "mistral", "gemma2", "mamba"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("context")
    return lambda kind: folder / kind if (folder / kind).exists() else save_causal(folder / kind, kind)


@pytest.mark.parametrize("bos", ["auto", "false"])
@pytest.mark.parametrize(
    "kind", ["gpt2", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])]
)
def test_a_transformer_in_context_scores_as_its_own_forward_pass(saved, kind, bos):
    """`bloom` counts positions in a row; `mamba` does not store a text as keys and values."""
    model: Any = open_model(f"hf:{saved(kind)}", {"bos": bos})
    suite = after(ContextRequest("other", 4, 0, 1), FEW)
    run = tseval.evaluate(model, suite)
    assert run.manifest.key.protocol["first_token"] == "scored"
    rules = LANGUAGES["english"]
    checked = 0
    for before, text, row in list(parts_of(run, suite))[::4]:
        context = " ".join(rules.write(sentence)[0] for sentence in before)
        whole = f"{context} {rules.write(text)[0]}"
        n_context = len(model.tokenizer(context, add_special_tokens=False)["input_ids"]) + len(model.starts)
        ids = [*model.starts, *model.tokenizer(whole, add_special_tokens=False)["input_ids"]]
        with torch.no_grad():
            table = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        pieces = [table[at - 1, ids[at]].item() for at in range(n_context, len(ids))]
        assert row["logprob"] == pytest.approx(sum(pieces), abs=1e-4 * len(pieces))
        checked += 1
    assert checked > 3


@pytest.mark.slow
def test_a_transformer_reads_a_text_once(saved):
    suite = after(ContextRequest("other", 4))
    model: Any = open_model(f"hf:{saved('gpt2')}")
    reads = []

    def note(module, args, kwargs):
        past = kwargs.get("past_key_values")
        rows, width = (args[0] if args else kwargs["input_ids"]).shape
        reads.append((rows, width, None if past is None else past.get_seq_length()))

    hook = model.model.base_model.register_forward_pre_hook(note, with_kwargs=True)
    tseval.evaluate(model, suite)  # the scoring method is checked first, on made-up sentences
    reads.clear()
    run = tseval.evaluate(model, suite)
    hook.remove()
    write = LANGUAGES["english"].write
    texts = {row["sentence"].partition(IN_CONTEXT)[0]: before for before, _, row in parts_of(run, suite)}
    written = [" ".join(write(sentence)[0] for sentence in text) for text in texts.values()]
    # The last token of a context is read with the sentences, and the start symbol with the context.
    n_read = [len(model.tokenizer(text, add_special_tokens=False)["input_ids"]) for text in written]
    alone = [width for rows, width, n_before in reads if n_before == 0]
    assert sorted(alone) == sorted(n_read)
    assert all(n_before in n_read for *_, n_before in reads if n_before != 0)


def test_words_of_pieces_in_context_have_the_probabilities_that_they_have_in_the_whole_text(saved, tmp_path):
    (tmp_path / "text.txt").write_text("The farmers met.\nNobody saw them, not even the pilot.\n")
    rows = [(f"The {noun} {verb}s here.", f"The {noun} {verb} here.") for noun, verb in PAIRS[:4]]
    suite = in_context(
        make_suite(make_case("data", rows), terminator=None), ContextRequest(str(tmp_path / "text.txt"))
    )
    model: Any = open_model(f"hf:{saved('gpt2')}")
    run = tseval.evaluate(model, suite, score="critical")
    for before, text, row in parts_of(run, suite):
        (whole,) = word_surprisals(model, [f"{' '.join(before)} {text}"])
        expected = [-word.surprisal for word in whole[-len(text.split()) :]]
        np.testing.assert_allclose(row["words"], expected, atol=2e-4, rtol=0)
        assert not np.allclose(row["words"], row["pieces"], atol=1e-3)


@pytest.mark.parametrize(
    "kind", [RNNModel, BatchFirst, lambda n: GPT(n, block=40), lambda n: GPT(n, False, 40)]
)
def test_a_module_of_torch_in_context_scores_as_one_call_of_it(kind):
    module = made(kind, len(WORDS)).eval()
    suite = after(ContextRequest("same", 8))
    run = tseval.evaluate((module, list(WORDS)), suite)
    known = {word: at for at, word in enumerate(WORDS)}
    for before, text, row in list(parts_of(run, suite))[::13]:
        context = ids_of(before, known)
        ids = [*context, *(known.get(word, known["<unk>"]) for word in text.split())]
        expected = []
        for at in range(len(context), len(ids)):
            some = torch.tensor([ids[:at]])
            with torch.no_grad():
                if isinstance(module, RNNModel):
                    logits = module(some.T, module.init_hidden(1))[0][-1]
                else:
                    logits = module(some)[0][0, -1]
            expected.append(logits.log_softmax(-1)[ids[at]].item())
        np.testing.assert_allclose(row["words"], expected, atol=1e-5, rtol=0)


class Lengths:
    """A model that gives each word minus the number of words before it: lost or doubled words show."""

    card = ModelCard("lengths", "function", "0", {}, {})

    def word_logprobs(self, sentences):
        return [[-float(at) for at in range(len(text.split()))] for text in sentences]


def test_a_model_of_sentences_is_given_the_text_before_each():
    suite = after(ContextRequest("same", 9))
    run = tseval.evaluate(Lengths(), suite)
    for _, text, row in parts_of(run, suite):
        assert row["words"] == [-9.0 - at for at in range(len(text.split()))]


class Goes(Lengths):
    """A model that reads contexts itself: their words count like those of the sentence."""

    def __init__(self, n_before=0):
        self.n_before = n_before

    def after(self, sentences, rules):
        return Goes(sum(len(sentence.split()) for sentence in sentences))

    def word_logprobs(self, sentences):
        return [[-float(self.n_before + at) for at in range(len(text.split()))] for text in sentences]


def test_a_model_of_sentences_may_read_the_text_itself():
    suite = after(ContextRequest("same", 9))
    own, given = (tseval.evaluate(model, suite) for model in (Goes(), Lengths()))
    assert own.load_sentences().equals(given.load_sentences())


class Totals:
    card = ModelCard("totals", "function", "0", {}, {})

    def sentence_logprobs(self, sentences):
        return [0.0 for _ in sentences]


def test_a_model_of_totals_is_refused_by_name():
    with pytest.raises(ModelError, match=r"totals gives only one log-probability for a whole sentence, but"):
        tseval.evaluate(Totals(), after(ContextRequest("same", 9)))


def test_a_context_longer_than_the_model_is_refused_and_a_long_sentence_behind_it_is_undecidable(saved):
    with pytest.raises(ModelError, match=r"the context has \d+ tokens, but gpt2 reads at most 64 tokens"):
        tseval.evaluate(f"hf:{saved('gpt2')}", after(ContextRequest("other", 60)))
    run = tseval.evaluate(f"hf:{saved('gpt2')}", after(ContextRequest("other", 14)))
    counts = run.manifest.counts
    assert 0 < counts.too_long == counts.undecidable < counts.contrasts
    assert any("sentences are longer than gpt2 reads" in text for text in run.manifest.warnings)


def test_words_of_contexts_that_the_model_does_not_know_are_counted(tmp_path):
    (tmp_path / "text.txt").write_text("the zzz is a qqq .\n")
    run = tseval.evaluate("bundled:lstm", in_context(SUITE, ContextRequest(str(tmp_path / "text.txt"))))
    assert any(
        text.startswith("2 of 6 words in the different sentences of the contexts")
        for text in run.manifest.warnings
    )


def test_means_and_single_words_count_the_words_of_the_sentence_alone():
    suite = after(ContextRequest("other", 12))
    by_mean = tseval.evaluate("bundled:lstm", suite, score="mean").verdicts
    by_sum = tseval.evaluate("bundled:lstm", suite).verdicts
    n_words = np.where(by_sum["case"] == "simple", 4, 7)  # with the period
    np.testing.assert_allclose(by_mean["better_score"], by_sum["better_score"] / n_words)
    run = tseval.evaluate("bundled:lstm", suite, score="critical")
    words = {row["sentence"]: row["words"] for row in run.load_sentences().to_pylist()}
    case = suite.cases[0]
    critical = [words[f"{text} ."][2] for text in case.sentences["grammatical"].to_pylist()]
    np.testing.assert_allclose(run.verdicts["better_score"][: case.n_items], critical)


class Stops(Lengths):
    """A model that stops after a number of calls, as if the user had pressed Ctrl-C."""

    def __init__(self, n_calls):
        self.left = n_calls

    def word_logprobs(self, sentences):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().word_logprobs(sentences)


def test_a_stopped_run_goes_on_where_it_was_and_writes_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("tseval.scoring.engine.SHARD", 20)
    suite = after(ContextRequest("same", 9))
    with pytest.raises(KeyboardInterrupt):
        tseval.evaluate(Stops(9), suite, out=tmp_path / "stopped")
    saved = len(list((tmp_path / "stopped/parts").iterdir()))
    assert 0 < saved < 4
    run = tseval.evaluate(Stops(99), suite, out=tmp_path / "stopped", resume=True)
    assert run.manifest.counts.resumed_sentences == 20 * saved
    tseval.evaluate(Stops(99), suite, out=tmp_path / "whole")
    for name in run.manifest.files:
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
