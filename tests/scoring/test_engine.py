"""The engine against scoring sentence by sentence with the model's own forward pass."""

import random
import textwrap
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from in_process import run_process
from small import make_case, make_suite
from systems import needs_linux

import tseval
from tseval.errors import ModelError
from tseval.models.cells import CELLS
from tseval.questions.choices import Asked, Asks
from tseval.scoring import scorers
from tseval.scoring.engine import score_all
from tseval.scoring.protocol import CorrectingModel, Encoded, ModelCard, TokenModel
from tseval.scoring.scorers import scorer_for
from tseval.scoring.surprisal import surprisals

WORDS = [f"w{i}" for i in range(12)]


def sentences(n, words=WORDS, seed=0):
    draw = random.Random(seed)
    return pa.array(sorted({" ".join(draw.choices(words, k=draw.randint(1, 9))) for _ in range(n)}))


def one_by_one(native, sentence):
    """Return each word's log-probability as in LM_syneval: one sentence, zero state, `<eos>` first."""
    ids = [native.vocabulary.ids().get(word, 1) for word in ["<eos>", *sentence.split()]]
    model = native.model
    with torch.inference_mode():
        outputs, _ = model(torch.tensor(ids)[:, None], model.initial_state(1))
        table = model.logits(outputs[:, 0]).double().log_softmax(-1)
    return [table[position, word].item() for position, word in enumerate(ids[1:])]


@pytest.mark.slow
@pytest.mark.parametrize("arch", sorted(CELLS))
def test_every_word_scores_as_sentence_by_sentence(make_model, arch):
    native = make_model(WORDS, arch)
    scored = scorer_for(native).score(sentences(800))
    assert len(scored) == len(sentences(800))
    for row in scored.to_pylist():
        np.testing.assert_allclose(row["words"], one_by_one(native, row["sentence"]), atol=2e-6, rtol=0)
        assert row["logprob"] == pytest.approx(sum(row["words"]), abs=1e-9)


def test_the_budget_for_states_bounds_the_rows_and_changes_no_score(make_model, monkeypatch):
    native = make_model(WORDS)
    whole = scorer_for(native)
    expected = whole.score(sentences(500))["logprob"].to_numpy()
    monkeypatch.setattr(scorers, "STATE_BYTES", 20 * native.row_bytes)
    frugal = scorer_for(native)
    widest = []
    advance = native.advance
    native.advance = lambda state, tokens: widest.append(len(tokens)) or advance(state, tokens)
    np.testing.assert_allclose(frugal.score(sentences(500))["logprob"].to_numpy(), expected, atol=1e-5)
    assert max(widest) <= 10
    # Only a prefix on both sides of a cut is computed again.
    assert whole.n_contexts < frugal.n_contexts < 4 * whole.n_contexts


def test_contexts_are_computed_once(make_model):
    native = make_model(WORDS)
    scorer = scorer_for(native)
    texts = sentences(600)
    scorer.score(texts)
    prefixes = {tuple(s.split()[:n]) for s in texts.to_pylist() for n in range(len(s.split()))}
    assert scorer.n_contexts == len(prefixes)


def test_unknown_words_are_scored_as_unk_and_reported(make_model):
    native = make_model(WORDS)
    rows = scorer_for(native).score(pa.array(["w1 other w2", "w1 strange w2", "w1 w1 w2"])).to_pylist()
    assert [row["seen"] for row in rows] == ["w1 <unk> w2", "w1 <unk> w2", "w1 w1 w2"]
    assert [row["n_unknown"] for row in rows] == [1, 1, 0]
    assert rows[0]["words"] == rows[1]["words"] != rows[2]["words"]


def test_a_lower_casing_vocabulary_sees_lower_case(make_model):
    native = make_model(WORDS, lowercase=True)
    rows = scorer_for(native).score(pa.array(["W1 w2", "w1 w2"])).to_pylist()
    assert rows[0]["seen"] == rows[1]["seen"] == "w1 w2"
    assert rows[0]["logprob"] == rows[1]["logprob"]


def test_a_sentence_without_words_is_refused(make_model):
    with pytest.raises(ModelError, match="has no words"):
        scorer_for(make_model(WORDS)).score(pa.array([" ", "w1"]))


class Lengths:
    """A sentence model with a closed form: a word of n letters has probability exp(-n)."""

    def __init__(self, fits=10**9):
        self.card = ModelCard("lengths", "test", "0", {}, {})
        self.fits = fits
        self.batches = []

    def word_logprobs(self, sentences):
        self.batches.append(list(sentences))
        if len(sentences) > self.fits:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return [[-float(len(word)) for word in text.split()] for text in sentences]


def test_an_opaque_model_gets_batches_of_equal_length_and_its_scores_come_back_in_order():
    model = Lengths()
    texts = sentences(300)
    rows = scorer_for(model).score(texts).to_pylist()
    for row, text in zip(rows, texts.to_pylist(), strict=True):
        assert row["sentence"] == row["seen"] == text
        assert row["words"] == [-float(len(word)) for word in text.split()]
    lengths = [len(text.split()) for batch in model.batches for text in batch]
    assert lengths == sorted(lengths)


def test_out_of_memory_halves_the_batch_and_goes_on():
    model = Lengths(fits=20)
    scorer = scorer_for(model)
    rows = scorer.score(sentences(300)).to_pylist()
    for row in rows:
        assert row["logprob"] == -float(sum(map(len, row["sentence"].split())))
    assert max(len(batch) for batch in model.batches[2:]) == 16
    assert scorer.warnings == [
        "out of memory with 64 sentences at once; continued with 32",
        "out of memory with 32 sentences at once; continued with 16",
    ]


def test_an_opaque_model_can_report_unknown_words():
    model: Any = Lengths()
    model.seen = lambda texts: [text.replace("w2", "<unk>") for text in texts]
    rows = scorer_for(model).score(pa.array(["w1 w2", "w1 w3", "w2 w2 w1"])).to_pylist()
    assert [row["seen"] for row in rows] == ["w1 <unk>", "w1 w3", "<unk> <unk> w1"]
    assert [row["n_unknown"] for row in rows] == [1, 0, 2]
    assert [row["sentence"] for row in rows] == ["w1 w2", "w1 w3", "w2 w2 w1"]


@pytest.mark.slow
@needs_linux
def test_the_cpu_allocator_running_dry_is_survived():
    # A real limit on address space, in a separate process: the states of all sentences together do not fit.
    program = textwrap.dedent("""
        import resource, pyarrow as pa, torch
        from tseval.adapters.native import NativeModel
        from tseval.models.checkpoint import Checkpoint
        from tseval.models.network import LanguageModel, Sizes
        from tseval.models import Vocabulary
        from tseval.scoring import scorers
        from tseval.scoring.scorers import scorer_for

        torch.set_num_threads(1)
        vocabulary = Vocabulary(("<eos>", "<unk>", *(f"w{i}" for i in range(256))), False)
        model = LanguageModel(Sizes("srn", len(vocabulary), 8, 1024, 1)).eval()
        native = NativeModel("srn", Checkpoint(model, vocabulary, "", {}, None), torch.device("cpu"))
        texts = pa.array(sorted(f"w{i} w{j} w1" for i in range(64) for j in range(256)))
        warm = scorer_for(native).score(texts.slice(0, 64))
        scorers.STATE_BYTES = 2**40  # no budget: only the limit below holds
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + 80 * 2**20,) * 2)
        scorer = scorer_for(native)
        scored = scorer.score(texts)
        assert abs(scored["logprob"][3].as_py() - warm["logprob"][3].as_py()) < 1e-4
        print(len(scored), len(scorer.warnings))
    """)
    result = run_process(["python", "-c", program])
    assert result.returncode == 0, result.stderr
    n_scored, n_warnings = map(int, result.stdout.split())
    assert n_scored == 64 * 256
    assert n_warnings >= 1


# Models that score tokens themselves, against a closed form.
class Letters:
    """A model whose pieces are letters; letter number k of a sentence has log-probability -k."""

    def __init__(self, fits=10**9):
        self.card = ModelCard("letters", "test", "0", {}, {})
        self.warnings = []
        self.batch_tokens = 64
        self.fits = fits
        self.tried = []

    def token_texts(self, tokens):
        return [chr(token) for token in tokens]

    def encode(self, sentences):
        words = [word for text in sentences.to_pylist() for word in text.split()]
        return Encoded(
            seen=sentences,
            tokens=np.array([ord(letter) for word in words for letter in word]),
            lengths=np.array([len(text.split()) for text in sentences.to_pylist()]),
            n_unknown=np.zeros(len(sentences), dtype=np.int32),
            pieces=np.array([len(word) for word in words]),
        )

    def token_logprobs(self, encoded, batch_tokens):
        self.tried.append(batch_tokens)
        if batch_tokens > self.fits:
            raise torch.OutOfMemoryError("CUDA out of memory")
        tokens = np.concatenate([-np.arange(1, n + 1) for n in encoded.token_counts])
        return tokens.astype(np.float32), 7


def test_a_word_scores_the_sum_of_its_pieces():
    model = Letters()
    assert isinstance(model, TokenModel)
    rows = scorer_for(model).score(pa.array(["ab", "ab c def", "b a"])).to_pylist()
    assert [row["words"] for row in rows] == [[-3.0], [-3.0, -3.0, -15.0], [-1.0, -2.0]]
    assert [row["logprob"] for row in rows] == [-3.0, -21.0, -3.0]


def test_out_of_memory_halves_the_tokens_and_keeps_what_the_model_says():
    model = Letters(fits=20)
    model.warnings.append("read backwards")
    scorer = scorer_for(model)
    for _ in range(2):
        scorer.score(pa.array(["ab c", "b a"]))
    assert model.tried == [64, 32, 16, 16]
    assert scorer.n_contexts == 14
    first, *others = scorer.warnings
    assert (first, others[0]) == ("read backwards", "out of memory with 64 tokens at once; continued with 32")


def test_other_errors_of_a_model_are_not_taken_for_lack_of_memory():
    model = Letters()
    model.token_logprobs = lambda encoded, batch_tokens: torch.ones(2) @ torch.ones(3)
    with pytest.raises(RuntimeError, match="inconsistent"):
        scorer_for(model).score(pa.array(["a b"]))


class Closed(Letters):
    """A model that adds 0.5 to every word, unless a test sets another result."""

    given = None

    def corrected_logprobs(self, encoded, batch_tokens):
        logprobs, n_contexts = self.token_logprobs(encoded, batch_tokens)
        return self.given or (logprobs, np.full(len(encoded.pieces), 0.5), n_contexts)


def test_words_are_corrected_where_they_matter_and_sentences_never():
    assert isinstance(Closed(), CorrectingModel)
    assert not isinstance(Letters(), CorrectingModel)
    texts = pa.array(["ab c def"])
    (plain,), (words,) = (scorer_for(Closed(), words=w).score(texts).to_pylist() for w in (False, True))
    assert plain == scorer_for(Letters(), words=True).score(texts).to_pylist()[0]
    assert words["words"] == [-2.5, -2.5, -14.5]
    assert words["logprob"] == plain["logprob"] == -21.0


def test_scores_that_compare_words_ask_for_corrected_ones():
    suite = make_suite(make_case("one", [("a bb", "a b")]), terminator=None)
    compared = tseval.evaluate(Closed(), suite, score="critical").verdicts
    assert compared["better_score"].tolist() == [-4.5]
    whole = tseval.evaluate(Closed(), suite, score="sentence").verdicts
    assert whole["better_score"].tolist() == [-6.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((np.zeros(2), 3), r"letters must return a tuple of three values \(log-probabilities, corrections, "
         r"and the number of contexts as an `int`\), but returned something else for the sentence 'a b'\.\n"),
        ((np.zeros(2), np.zeros(3), 3), r"letters returned an array .* shape \(3,\), but must return an "
         r"array of 2 numbers: corrections of the words of the sentence 'a b'"),
        ((np.zeros(2), np.array([0, -np.inf]), 3), (r"log-probability -inf for the sentence 'a b', but the "
                                                    r"number")),
        ((np.zeros(2), np.array([0, 2.0]), 3), (r"log-probability 2 in the sentence 'a b', but a "
                                                r"log-probability above 0")),
    ],
)  # fmt: skip
def test_what_is_no_correction_is_one_message(given, message):
    model = Closed()
    model.given = given
    with pytest.raises(ModelError, match=message):
        score_all(scorer_for(model, words=True), pa.array(["a b"]))


# Models that give one number for a sentence: enough for verdicts, and tseval invents no other numbers.
SENTENCES = ["the author laughs .", "the authors near the guard laugh .", "the guard laughs ."]


class Totals:
    """A model with only sentence totals: a sentence of n letters has probability exp(-n)."""

    def __init__(self):
        self.card = ModelCard("totals", "test", "0", {}, {})
        self.calls = []

    def sentence_logprobs(self, sentences):
        self.calls.append(list(sentences))
        return [-float(len(sentence)) for sentence in sentences]


def test_totals_are_enough_for_verdicts_but_not_for_single_words():
    model = Totals()
    suite = tseval.load_suite("marvin_linzen", cases=["simple_agrmt"])
    run = tseval.evaluate(model, suite)
    sentences = [sentence for call in model.calls for sentence in call]
    assert len(sentences) == len(set(sentences)) > 100
    # Plural verbs are shorter, so a longer good sentence loses.
    row: Any
    for row in run.verdicts.itertuples():
        assert row.correct == (row.better_score > row.worse_score)
        assert row.better_score == int(row.better_score) < 0
    assert 0 < run.verdicts["correct"].mean() < 1
    mean = tseval.evaluate(Totals(), suite, score="mean").verdicts
    assert mean["better_score"].iloc[0] == pytest.approx(run.verdicts["better_score"].iloc[0] / 4)
    with pytest.raises(
        ModelError, match="totals gives only one log-probability for a whole sentence, but --score critical"
    ):
        tseval.evaluate(Totals(), suite, score="critical")


@pytest.mark.parametrize(
    ("model", "answers", "texts", "said"),
    [
        (
            Lengths(),
            {"seen": lambda texts: texts[1:]},
            ["w1 w2", "w1 w3"],
            "the method `seen` of lengths returned 1 sentences, but received 2",
        ),
        (
            Totals(),
            {"sentence_logprobs": lambda _: [0.0]},
            SENTENCES,
            "totals returned 1 scores, but received 3 sentences",
        ),
        (Lengths(fits=0), {}, ["a b", "c d"], "the device has not enough memory to score even one sentence"),
        (Letters(fits=0), {}, ["a b", "c d"], "the device has not enough memory to score even one sentence"),
    ],
)
def test_what_is_no_answer_of_a_model_is_one_message(monkeypatch, model, answers, texts, said):
    for name, answer in answers.items():
        monkeypatch.setattr(model, name, answer, raising=False)
    with pytest.raises(ModelError, match=said):
        scorer_for(model).score(pa.array(texts))


# Questions after prefixes, against the model's own forward pass, string by string.
WORDS_OF_ASKING = ["a", "b", "c", "d", "e"]
STRINGS = pa.array(sorted(["a b a c <eos>", "a b a a <eos>", "a b <eos>", "<eos>", "c c c c c c d <eos>"]))
SIGNS = np.array([[1, -1, -1, 0], [0, 1, 1, -1], [-1, -1, 1, 1]], dtype=np.int8)
ALTERNATIVES = ("a", "b", "d", "<eos>")


def asked_after(prefix):
    """Choose a question by the prefix alone; after some prefixes there is none (-1)."""
    return (len(prefix) * 7 + prefix.count("a")) % 4 - 1


def ask_all(native, share=None, strings=STRINGS):
    asked = [
        np.array([asked_after(words[:n]) for n in range(len(words))], dtype=np.int32)
        for words in (string.split() for string in strings.to_pylist())
    ]
    return scorer_for(native).answer(strings, Asked(Asks(ALTERNATIVES, SIGNS, share), asked)).to_pylist()


def next_words(native, prefix):
    """Return the probability of every next word, from one plain forward pass."""
    ids = native.vocabulary.ids()
    tokens = torch.tensor([ids[word] for word in ["<eos>", *prefix]])[:, None]
    with torch.inference_mode():
        outputs, _ = native.model(tokens, native.model.initial_state(1))
        table = native.model.logits(outputs[-1, 0]).double().softmax(-1)
    return {word: table[ids[word]].item() for word in native.vocabulary.words}


@pytest.mark.parametrize("share", [None, 0.8])
@pytest.mark.parametrize("arch", ["lstm", "urn"])
def test_answers_are_those_of_the_models_own_probabilities(make_model, arch, share):
    sizes = {"embedding": 28, "hidden": 8, "layers": 1} if arch == "urn" else {}
    native = make_model(WORDS_OF_ASKING, arch, **sizes)
    n_asked = 0
    for row in ask_all(native, share):
        words = row["sentence"].split()
        for n, word in enumerate(words):
            table = next_words(native, words[:n])
            assert row["words"][n] == pytest.approx(log(table[word]), abs=1e-5)
            question = asked_after(words[:n])
            if question < 0:
                assert row["right"][n] is row["wrong"][n] is None
                continue
            n_asked += 1
            right, wrong = (
                [table[s] for s, sign in zip(ALTERNATIVES, SIGNS[question], strict=True) if sign == x]
                for x in (1, -1)
            )
            scores = log(max(right)), log(max(wrong))
            if share:
                scores = log(sum(right) / sum(right + wrong)), log(share)
            assert (row["right"][n], row["wrong"][n]) == pytest.approx(scores, abs=1e-5)
    assert n_asked > 10


def test_small_blocks_and_little_memory_change_no_answer(make_model, monkeypatch):
    native = make_model(WORDS_OF_ASKING)
    whole = ask_all(native)
    monkeypatch.setattr(scorers, "ALTERNATIVES", 8)
    monkeypatch.setattr(scorers, "STATE_BYTES", 4 * native.row_bytes)
    for one, other in zip(whole, ask_all(native), strict=True):
        for name in ("words", "right", "wrong"):
            assert one[name] == pytest.approx(other[name], abs=1e-6)


def test_a_share_of_exactly_the_least_is_not_more():
    # With four to one, the correct symbol has exactly 0.8 of both.
    asked = Asks(("x", "y"), np.array([[1, -1]], dtype=np.int8), 0.8)
    right, wrong = asked.compare(np.zeros(3, dtype=np.int64), np.log([[0.4, 0.1], [0.41, 0.1], [0.39, 0.1]]))
    assert list(right > wrong) == [False, True, False]
    assert np.exp(wrong) == pytest.approx([0.8] * 3)


def test_equal_probabilities_are_a_tie():
    asked = Asks(("x", "y", "z"), np.array([[1, -1, -1]], dtype=np.int8), None)
    right, wrong = asked.compare(np.zeros(1, dtype=np.int64), np.log([[0.2, 0.2, 0.1]]))
    assert right[0] == wrong[0]


def test_a_model_that_does_not_know_a_symbol_is_refused(make_model):
    with pytest.raises(
        ModelError,
        match=r"lstm has no word for the symbols b, d in its vocabulary, so .*\n  Use a model that",
    ):
        ask_all(make_model(["a", "c"]), strings=pa.array(["a"]))


def test_an_answer_that_is_not_finite_names_its_string(make_model):
    native = make_model(WORDS_OF_ASKING)
    with torch.no_grad():
        native.model.output.bias[native.vocabulary.ids()["a"]] = float("inf")
    with pytest.raises(
        ModelError, match=r"nan for the sentence|symbol in '.* <eos>', but the number must be finite"
    ):
        ask_all(native)


def test_a_model_that_scores_sentences_only_is_refused():
    class Uniform:
        card = ModelCard("uniform", "test", "0" * 64, {}, {})

        def word_logprobs(self, sentences):
            return [[-1.0] * len(sentence.split()) for sentence in sentences]

    said = r"cannot compare several words after the same prefix.*\n  Use a recurrent model"
    with pytest.raises(ModelError, match=said):
        ask_all(Uniform())


def test_an_error_out_of_a_model_is_one_message_that_names_model_place_and_sentence():
    model = Letters()
    model.token_logprobs = lambda encoded, batch_tokens: torch.ones(2) @ torch.ones(3)
    message = (
        r"letters raised a Python error while tseval scored the sentence 'a b':\n"
        r"  RuntimeError: inconsistent tensor size.*\(.*test_engine.py:\d+\)\.\n  Correct the code"
    )
    with pytest.raises(ModelError, match=message):
        surprisals(model, ["a b"])
    with pytest.raises(ModelError, match=message):
        score_all(scorer_for(model), pa.array(["a b"]))
