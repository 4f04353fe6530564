"""Words of sub-word models: against brute force, a small trained model, and wordsprobability."""

import json
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
import word_tokenizers
from checkpoints import TEXT, bpe_tokenizer, save_causal, save_masked, wordpiece_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import call
from small import make_case, make_suite, write_lines
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from word_tokenizers import END

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.pretrained.pieces import WHITE, Pieces
from tseval.pretrained.word_probabilities import WordMarks, corrections, find_marks, read_to_the_end
from tseval.scoring.protocol import Encoded
from tseval.scoring.scorers import scorer_for
from tseval.scoring.surprisal import surprisals, word_surprisals
from tseval.suites import load_suite

TEXTS = sorted(
    ["the gal laughs", "the gals laugh", "the gal laugh .", "gals", "a gal that saw the gals", "sleeps ."]
)


def opened(folder, tokenizer, kind="gpt2", arguments=None, **sizes) -> Any:
    """Save a small random model with a tokenizer, and open it."""
    if not (folder / "config.json").exists():
        save_causal(folder, kind, tokenizer=tokenizer, **sizes)
    return open_model(f"hf:{folder}", arguments or {})


def scored(model, texts, words=True):
    return scorer_for(model, words=words).score(pa.array(texts)).to_pylist()


def corrected(model, text):
    return scored(model, [text])[0]["words"]


def all_strings(model, ids, length):
    """Return the log-probability of every string of `length` pieces after `ids`, by float64 forward passes.

    Returns:
        (vocabulary,) * length.
    """
    network = model.model.double()
    n = len(model.tokenizer)
    rows = torch.tensor([ids])
    table = torch.zeros(1, dtype=torch.float64)
    with torch.no_grad():
        for _ in range(length):
            next_ones = network(rows).logits[:, -1].log_softmax(-1)
            table = (table[:, None] + next_ones).flatten()
            rows = torch.cat((rows.repeat_interleave(n, 0), torch.arange(n).repeat(len(rows))[:, None]), 1)
    network.float()
    return table.reshape((n,) * length).numpy()


def is_boundary(tokenizer):
    """Return for each piece whether it begins a word or ends the text, by its spelling."""
    pieces = [tokenizer.convert_ids_to_tokens(i) for i in range(len(tokenizer))]
    if any(piece.startswith("##") for piece in pieces):
        return np.array([not piece.startswith("##") for piece in pieces])
    return np.array([piece[0] in "Ġ▁" or piece == END for piece in pieces])


def by_brute_force(model, text, last_is_read=True):
    """Return each word's log-probability: its pieces and a boundary, among all possible strings."""
    tokenizer, words = model.tokenizer, text.split(" ")
    boundary = is_boundary(tokenizer)
    is_end = np.arange(len(tokenizer)) == tokenizer.eos_token_id
    found, before = [], []
    for n in range(len(words)):
        ids = tokenizer.encode(" ".join(words[: n + 1]), add_special_tokens=False)
        own = ids[len(before) :]
        assert len(own) <= 2
        table = np.exp(all_strings(model, [*model.starts, *before], len(own) + 1))
        first = boundary if boundary[own[0]] else ~boundary | is_end
        could_be = table[first].sum()
        followed = table[tuple(own)]
        closed = n == len(words) - 1 and not last_is_read
        found.append(np.log(followed.sum() if closed else followed[boundary].sum()) - np.log(could_be))
        before = ids
    return found


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("byte_level", ["the gals laugh", "the gal laugh ."]),
        ("metaspace", ["the gals laugh", "the gal laugh ."]),
        ("continuations_marked", ["the gals laughs", "gals ."]),
        ("laugh_and_s", ["the boys laugh", "the boy laughs", "the boys ."]),
    ],
)
def test_words_are_what_all_continuations_sum_to(tmp_path, name, texts):
    model = opened(tmp_path, getattr(word_tokenizers, name)())
    assert model.card.protocol["words"] == "corrected"
    assert model.card.details["word_marks"] == "beginnings"
    for text in texts:
        # A final period counts as a complete word: the text after it is not read.
        expected = by_brute_force(model, text, last_is_read=not text.endswith("."))
        np.testing.assert_allclose(corrected(model, text), expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", ["cohere", "mamba", "bloom"])
def test_every_way_of_scoring_gives_the_same_words(tmp_path, kind):
    model = opened(tmp_path, word_tokenizers.byte_level(24), kind)
    expected = by_brute_force(model, "the gal")
    np.testing.assert_allclose(corrected(model, "the gal"), expected, atol=1e-5)


def test_a_first_word_with_a_space_before_it_is_one_like_the_others(tmp_path):
    tokenizer = word_tokenizers.byte_level()
    model = opened(tmp_path, tokenizer, arguments={"leading_space": "true"})
    (gals,) = tokenizer.encode(" gals", add_special_tokens=False)
    table = np.exp(all_strings(model, [*model.starts], 2))
    boundary = is_boundary(tokenizer)
    expected = np.log(table[gals][boundary].sum() / table[boundary].sum())
    assert corrected(model, "gals") == pytest.approx([expected], abs=1e-6)


def test_without_a_start_symbol_a_first_word_follows_from_its_first_piece(tmp_path):
    model = opened(tmp_path, word_tokenizers.laugh_and_s(), arguments={"bos": "false"})
    laugh, s = (model.tokenizer.convert_tokens_to_ids(piece) for piece in ("laugh", "s"))
    table = np.exp(all_strings(model, [laugh], 2))
    expected = np.log(table[s][is_boundary(model.tokenizer)].sum())
    assert corrected(model, "laughs") == pytest.approx([expected], abs=1e-6)


@pytest.mark.parametrize("kind", ["gpt2", "cohere", "bloom", "mamba"])
def test_no_bit_of_a_sentence_moves(tmp_path, kind):
    model = opened(tmp_path, word_tokenizers.byte_level(), kind)
    texts = sorted(f"{text.removesuffix(' .')} ." for text in TEXTS)
    plain, words = scored(model, texts, words=False), scored(model, texts)
    assert [row["logprob"] for row in words] == [row["logprob"] for row in plain]
    assert [row["words"] for row in words] != [row["words"] for row in plain]
    as_pieces = opened(tmp_path, None, arguments={"words": "pieces"})
    assert as_pieces.card.protocol["words"] == "pieces"
    assert scored(as_pieces, texts) == scored(as_pieces, texts, words=False) == plain


@pytest.mark.parametrize(
    ("name", "kind"), [("ends_marked", "ends"), ("whole_words", "ends"), ("unmarked", "none")]
)
def test_where_no_beginning_is_marked_words_are_sums_over_pieces(tmp_path, name, kind):
    model = opened(tmp_path, getattr(word_tokenizers, name)())
    assert model.card.details["word_marks"] == kind
    assert model.card.protocol["words"] == "pieces"
    texts = ["the gal laughs .", "the gals laugh"]
    plain = scored(model, texts, words=False)
    assert model.warnings == []
    assert scored(model, texts) == plain
    notes = [text for text in model.warnings if "marks neither the beginning nor the end of a word" in text]
    assert len(notes) == (kind == "none")
    scored(model, texts)
    assert len(model.warnings) == len(notes)


def test_bytes_mark_words_by_their_spaces(tmp_path):
    model = opened(tmp_path, transformers.ByT5Tokenizer(), arguments={"bos": "false"}, n_positions=99)
    letters = model.tokenizer("a b", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        table = model.model(torch.tensor([letters])).logits[0].double().log_softmax(-1)
    ends = [i for i in range(len(model.tokenizer)) if model.tokenizer.convert_ids_to_tokens(i).isspace()]
    ends += [i for i in model.tokenizer.all_special_ids if i != model.tokenizer.unk_token_id]
    closed = [table[i, ends].logsumexp(0).item() for i in range(3)]
    expected = table[0, letters[1]].item() + table[1, letters[2]].item() + closed[2] - closed[0]
    assert corrected(model, "a b")[1] == pytest.approx(expected, abs=1e-5)


def test_an_unknown_piece_within_a_word_is_no_end_of_text():
    tokenizer = word_tokenizers.metaspace()
    tokenizer.add_special_tokens({"unk_token": "<unk>", "pad_token": "<pad>"})
    marks = find_marks(tokenizer)
    assert not marks.begins[tokenizer.unk_token_id]
    assert marks.begins[[tokenizer.eos_token_id, tokenizer.pad_token_id]].all()
    assert marks.opens[[tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id]].all()


def test_masked_models_are_left_alone(tmp_path):
    model: Any = open_model(f"mlm:{save_masked(tmp_path)}")
    assert "words" not in model.card.protocol
    assert scored(model, TEXTS) == scored(model, TEXTS, words=False)


@pytest.mark.parametrize(("begins", "expected"), [(-0.5, -0.3), (-0.05, -0.35)])
def test_a_piece_is_never_more_than_all_that_begin_as_it_does(begins, expected):
    """In bfloat16, a piece's logit is exact but the sum's are rounded, so the piece may exceed the sum."""
    encoded = Encoded(
        pa.array(["a b ."]), np.array([3, 2, 1]), np.array([3]), np.array([0]), np.array([1, 1, 1])
    )
    ended = read_to_the_end(encoded)
    assert ended.tokens.tolist() == [3, 2, 1]
    marks = WordMarks("beginnings", np.array([True] * 3 + [False]), np.array([True] + [False] * 2 + [True]))
    found = np.array([[-1.0, -2.0, -0.5], [-0.1, begins, -9.0], [-1.0, -0.3, -9.0]])
    words = found[:, 0] + corrections(encoded, ended, marks, found)
    assert words.tolist() == pytest.approx([-1.0 + begins + 0.5, expected, -1.0 + 0.3])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Train a model on which form of *laugh* goes with which noun."""
    folder = tmp_path_factory.mktemp("trained")
    tokenizer = word_tokenizers.laugh_and_s()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        save_causal(folder, tokenizer=tokenizer, n_embd=32)
    )
    texts = ["the boy laughs .", "the boys laugh ."]
    rows = [[0, *tokenizer.encode(text, add_special_tokens=False), 0] for text in texts]
    assert {len(row) for row in rows} == {7}
    batch = torch.tensor(rows)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(400):
        optimiser.zero_grad()
        loss = model(batch, labels=batch).loss
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.15  # half a bit for the noun's number, spread over six tokens
    model.save_pretrained(folder)
    return folder


SINGULAR = ("the boy laughs", "the boy laugh")
PLURAL = ("the boys laugh", "the boys laughs")


@pytest.mark.slow
@pytest.mark.parametrize("score", ["critical", "sentence"])
def test_a_form_that_begins_another_wins_only_where_it_should(trained, score):
    suite = make_suite(make_case("singular", [SINGULAR]), make_case("plural", [PLURAL]))

    def right(words):
        verdicts = tseval.evaluate(open_model(f"hf:{trained}", {"words": words}), suite, score=score).verdicts
        return dict(zip(verdicts["case"], verdicts["correct"], strict=True))

    assert right("corrected") == {"singular": True, "plural": True}
    # With pieces alone, `laugh` is slightly more probable than `laugh` and `s` together.
    assert right("pieces") == {"singular": score == "sentence", "plural": True}


def test_the_profile_of_a_beginning_reads_behind_its_last_word(trained, tmp_path):
    lines = [{"good": good, "bad": bad, "nouns": 1} for good, bad in (SINGULAR, PLURAL)]
    pairs = write_lines(tmp_path / "pairs.jsonl", lines)
    suite = tseval.load_suite(f"{pairs}:profile")
    verdicts = tseval.evaluate(open_model(f"hf:{trained}"), suite).verdicts
    whole = verdicts[verdicts["position"] == 2]
    assert len(whole) == 2
    assert whole["correct"].all()
    summed = tseval.evaluate(open_model(f"hf:{trained}", {"words": "pieces"}), suite).verdicts
    assert summed[summed["position"] == 2]["correct"].tolist() == [False, True]


def test_words_have_a_surprisal_of_their_own(trained):
    model = open_model(f"hf:{trained}")
    (tokens,), (words,) = surprisals(model, ["the boy laugh"]), word_surprisals(model, ["the boy laugh"])
    assert [token.token for token in tokens] == ["the", "boy", "laugh"]
    assert [word.text for word in words] == ["the", "boy", "laugh"]
    expected = [-value for value in corrected(model, "the boy laugh")]
    assert [word.surprisal for word in words] == pytest.approx(expected, abs=1e-5)
    assert tokens[2].surprisal == pytest.approx(np.log(2), abs=0.1)  # *laugh*, or the start of *laughs*
    assert words[2].surprisal > 2


TEXT_OF_MARKS = """the gals laugh .
the gal that the gals saw sleeps .
gals
a gal laughs ,the gals that
sleeping gals laugh.
the gal's laugh"""


def test_words_are_those_of_wordsprobability(tmp_path, monkeypatch):
    """Compare with Pimentel & Meister's own program, on a model and tokenizer like GPT-2's."""
    pytest.importorskip("wordsprobability")
    from wordsprobability import get_surprisal_per_word, models  # noqa: PLC0415 - optional
    from wordsprobability.models import bow_lm  # noqa: PLC0415 - optional

    model = opened(tmp_path, word_tokenizers.byte_level(60, letters="',.aeghilnstuwp"))

    class Toy(bow_lm.GPT2BaseModel):
        """Their class with a corrected sum at the start: version 0.17 counts the end of text twice."""

        model_name = str(tmp_path)
        tokenizer_cls = transformers.AutoTokenizer

        def _initialise_vocab_masks(self):
            super()._initialise_vocab_masks()
            self.vocab_masks["mid"][self.tokenizer.eos_token_id] = 0

    monkeypatch.setitem(models.MODELS, "toy", Toy)
    theirs = get_surprisal_per_word(TEXT_OF_MARKS, "toy", return_buggy_surprisals=True)
    for n, own in enumerate(word_surprisals(model, TEXT_OF_MARKS.split("\n"))):
        expected = theirs.loc[n].astype({"surprisal": float, "surprisal_buggy": float})
        assert [word.text for word in own] == expected["word"].tolist()
        # They read the text after a final punctuation mark, and tseval does not.
        last = -1 if own[-1].text.endswith(".") else None
        found = [word.surprisal for word in own]
        np.testing.assert_allclose(found[:last], expected["surprisal"][:last], atol=1e-5, rtol=1e-6)
        assert np.abs(expected["surprisal"] - expected["surprisal_buggy"])[:last].min() > 0.01


# Pieces and their words, against splitting every prefix of a sentence.
BPE = bpe_tokenizer()
WORDPIECE = wordpiece_tokenizer()
# Letters, accents, letters outside the basic plane, digits, marks.
WORDS = st.text("abtheαé𝒜7.'", min_size=1, max_size=6)
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8)


def metaspace_tokenizer():
    """Train pieces as SentencePiece does for Llama: a space is a letter, and may be a separate piece."""
    letters = ["▁", "<unk>", *"abcdefghijklmnopqrstuvwxyz.", "▁t", "▁th"]
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("▁", "t"), ("▁t", "h")], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


METASPACE = metaspace_tokenizer()


def counts_by_beginnings(tokenizer, text, prefix=""):
    words = text.split(" ")
    sizes = [0]
    for n in range(len(words)):
        sizes.append(len(tokenizer.encode(prefix + " ".join(words[: n + 1]), add_special_tokens=False)))
    return [after - before for before, after in pairwise(sizes)]


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", [BPE, METASPACE], ids=["bpe", "metaspace"])
@pytest.mark.parametrize("leading_space", [False, True])
@settings(max_examples=40, deadline=None)
@given(texts=SENTENCES)
def test_every_piece_belongs_to_the_word_it_spells(tokenizer, leading_space, texts):
    encoded = Pieces(tokenizer, leading_space).encode(pa.array(texts))
    prefix = " " if leading_space else ""
    ids = [tokenizer.encode(prefix + text, add_special_tokens=False) for text in texts]
    assert encoded.tokens.tolist() == [token for one in ids for token in one]
    expected = [count for text in texts for count in counts_by_beginnings(tokenizer, text, prefix)]
    assert encoded.pieces.tolist() == expected
    assert encoded.lengths.tolist() == [len(text.split(" ")) for text in texts]


def test_unknown_words_and_case_are_seen_as_the_tokenizer_sees_them():
    encoded = Pieces(WORDPIECE, leading_space=False).encode(pa.array(["The author ☃ .", "the author ☂ ."]))
    assert encoded.seen.to_pylist() == ["the author [UNK] ."] * 2
    assert encoded.n_unknown.tolist() == [1, 1]


def test_a_sentence_that_the_tokenizer_drops_is_an_error():
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, [])))
    with pytest.raises(ModelError, match="gives no pieces for the sentence '☃'"):
        Pieces(fast, leading_space=False).encode(pa.array(["a", "☃"]))


GAPS = st.sampled_from([" ", "  ", "\n", " \n", "\t", "\u00a0"])
SPACED = st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=6).map(
    lambda parts: "".join(word + gap for word, gap in parts).strip()
)


@pytest.mark.parametrize("tokenizer", [BPE, METASPACE], ids=["bpe", "metaspace"])
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(SPACED, min_size=1, max_size=6))
def test_kept_white_space_reaches_the_tokenizer_and_belongs_to_the_word_before_it(tokenizer, texts):
    encoded = Pieces(tokenizer, leading_space=False, white_space="kept").encode(pa.array(texts))
    assert encoded.lengths.tolist() == [len(text.split()) for text in texts]
    tokens, pieces = [], []
    for text in texts:
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        tokens += found["input_ids"]
        begins = [len(text) - len(text.split(None, n)[-1]) for n in range(1, len(text.split()))]
        words = [sum(stop > begin for begin in begins) for _, stop in found["offset_mapping"]]
        pieces += [words.count(n) for n in range(len(begins) + 1)]
    assert encoded.tokens.tolist() == tokens
    assert encoded.pieces.tolist() == pieces
    assert encoded.pieces.sum() == len(tokens)


def test_white_space_is_kept_where_pieces_say_where_they_stand():
    with pytest.raises(ModelError, match=r"white_space=kept: the tokenizer .slow"):
        Pieces(transformers.ByT5Tokenizer(), leading_space=False, white_space="kept")


# The token before every sentence, and the result without one. One pair differs in its first word, one in a
# later word.
ROWS = [("the guards laugh", "no guards laugh"), ("the guards laugh", "the guards laughs")]
TURN = "{% for message in messages %}{{ message.content }}<turn>{% endfor %}"
# As in SmolLM2-Instruct: its start token, here <pad>, and its end token both mark turns.
MARKS = TURN.replace("{{", "<pad>{{", 1)
CHAT: dict[str, Any] = {"bos": "<pad>", "eos": "<turn>", "template": MARKS}


def saved(folder, bos=None, eos="<|endoftext|>", template=None):
    """Save a tiny model whose tokenizer has these special tokens."""
    tokenizer = bpe_tokenizer(bos=bos, eos=eos)
    tokenizer.chat_template = template
    save_causal(folder, tokenizer=tokenizer)
    return folder


@pytest.mark.parametrize(
    ("tokenizer", "bos", "token", "start"),
    [
        ({"bos": "<pad>"}, "auto", "<pad>", "bos"),
        ({}, "auto", "<|endoftext|>", "eos"),
        ({"template": TURN}, "auto", "<|endoftext|>", "eos"),
        ({"template": TURN.replace("<turn>", "<|endoftext|>")}, "auto", None, "none"),
        ({"eos": None}, "auto", None, "none"),
        (CHAT, "auto", "<|endoftext|>", "named"),
        (CHAT | {"template": MARKS.replace("{{", "<|endoftext|>{{", 1)}, "auto", None, "none"),
        (CHAT | {"template": "<pad>" + TURN}, "auto", "<pad>", "bos"),  # only before the first turn
        (CHAT, "<pad>", "<pad>", "bos"),
        (CHAT, "none", None, "none"),
        ({"bos": "<pad>"}, "false", None, "none"),
        ({"bos": "<pad>"}, "<|endoftext|>", "<|endoftext|>", "eos"),
        ({"eos": None}, "<|endoftext|>", "<|endoftext|>", "named"),
    ],
)
def test_the_start_is_in_the_protocol_with_where_it_comes_from(tmp_path, tokenizer, bos, token, start):
    card = open_model(f"hf:{saved(tmp_path, **tokenizer)}", {"bos": bos}).card
    scored = "unscored" if token is None else "scored"
    assert (card.protocol["bos"], card.protocol["start"]) == (token, start)
    assert card.protocol["first_token"] == scored


STANDS = " stands before every sentence, because "


@pytest.mark.parametrize(
    ("tokenizer", "bos", "said"),
    [
        (CHAT, "auto", f"<|endoftext|>{STANDS}<pad> marks turns of a chat"),
        (
            CHAT | {"template": MARKS.replace("{{", "<|endoftext|>{{", 1)},
            "auto",
            f"no token{STANDS}<pad> marks turns of a chat",
        ),
        ({}, "auto", f"<|endoftext|>{STANDS}the tokenizer has no beginning-of-sequence token"),
        ({"bos": "<pad>"}, "auto", None),
        (CHAT, "<pad>", None),
        (CHAT, "none", None),
    ],
)
def test_one_line_says_what_stands_before_where_it_is_not_the_beginning_of_sequence(
    tmp_path, tokenizer, bos, said
):
    model: Any = open_model(f"hf:{saved(tmp_path, **tokenizer)}", {"bos": bos})
    assert [line.partition(" (")[0] for line in model.warnings] == ([] if said is None else [said])


@pytest.mark.parametrize("score", ["sentence", "mean", "critical"])
def test_what_differs_in_an_unscored_token_is_undecidable_and_counted(tmp_path, score):
    suite = make_suite(make_case("simple", ROWS))
    model = open_model(f"hf:{saved(tmp_path / 'tiny', eos=None)}")
    run = tseval.evaluate(model, suite, score=score, out=tmp_path / "run")
    assert run.verdicts["undecidable"].tolist() == [True, False]
    assert run.manifest.counts.undecidable == 1
    assert "1 are undecidable" in (tmp_path / "run" / "table.md").read_text()
    named = tseval.evaluate(open_model(f"hf:{tmp_path / 'tiny'}", {"bos": "<pad>"}), suite, score=score)
    assert named.verdicts["undecidable"].tolist() == [False, False]


def test_endings_are_compared_after_unlike_beginnings_but_not_with_them(tmp_path):
    case = make_case("simple", [ROWS[0], ROWS[0]], features={"ending": [1, 3]})
    run = tseval.evaluate(
        open_model(f"hf:{saved(tmp_path, eos=None)}"), make_suite(case, terminator=None), score="ending"
    )
    assert run.verdicts["undecidable"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("formula", "undecidable"),
    [
        ("(3;%good%) < (3;%bad%)", False),
        ("(*;%good%) < (*;%bad%)", True),
        ("(1;%good%) < (1;%bad%)", False),
        ("(2;%good%) < (2;%bad%)", True),
    ],
)
def test_regions_are_compared_unless_they_begin_unlike_sentences(tmp_path, formula, undecidable):
    conditions = []
    for name, noun in (("good", "guards"), ("bad", "pilots")):
        regions = [{"region_number": n, "content": text} for n, text in enumerate(["", noun, "laugh"], 1)]
        conditions.append({"condition_name": name, "regions": regions})
    suite = {
        "meta": {"name": "begin", "metric": "sum"},
        "predictions": [{"type": "formula", "formula": formula}],
        "items": [{"item_number": 1, "conditions": conditions}],
    }
    (tmp_path / "begin.json").write_text(json.dumps(suite))
    model = open_model(f"hf:{saved(tmp_path / 'tiny', eos=None)}")
    run = tseval.evaluate(model, load_suite(str(tmp_path / "begin.json")))
    assert run.verdicts["undecidable"].tolist() == [undecidable]


def test_without_a_start_symbol_sums_are_those_of_minicons(tmp_path):
    scorer = pytest.importorskip("minicons.scorer")
    path = save_causal(tmp_path, tokenizer=bpe_tokenizer(bos="<pad>"))
    theirs = scorer.IncrementalLMScorer(str(path), device="cpu")
    for bos, with_token in (("false", False), ("auto", True)):
        sums = theirs.sequence_score(TEXT, reduction=lambda x: x.sum().item(), bos_token=with_token)
        rows = scorer_for(open_model(f"hf:{path}", {"bos": bos})).score(pa.array(sorted(TEXT))).to_pylist()
        ours = {row["sentence"]: row["logprob"] for row in rows}
        assert [ours[text] for text in TEXT] == pytest.approx(sums, abs=1e-4)


def test_a_pair_that_differs_in_the_unscored_token_is_undecidable(tmp_path):
    options = "pair", "--model", f"hf:{saved(tmp_path / 'tiny', eos=None)}"
    assert "undecidable: the first tokens differ" in call(*options, *ROWS[0], cwd=tmp_path).stderr
    assert "is preferred" in call(*options, *ROWS[1], cwd=tmp_path).stderr


def test_kept_white_space_is_in_the_protocol_and_goes_with_sums_over_pieces(tmp_path):
    path = saved(tmp_path)
    card = open_model(f"hf:{path}", {"white_space": "kept", "words": "pieces"}).card
    assert card.protocol["white_space"] == "kept"
    assert "white_space" not in open_model(f"hf:{path}").card.protocol
    with pytest.raises(ModelError, match=r"white_space=kept: .* cannot correct word .*\n.*words=pieces"):
        open_model(f"hf:{path}", {"white_space": "kept"})


def test_white_space_is_all_that_unicode_has():
    assert WHITE.tolist() == [code for code in range(sys.maxunicode + 1) if chr(code).isspace()]
