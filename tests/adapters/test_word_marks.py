"""Words of sub-word models: against all continuations by brute force, a trained toy, and wordsprobability."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
import word_tokenizers
from checkpoints import save_causal, save_masked
from small import make_case, make_suite
from word_tokenizers import END

import tseval
from tseval.adapters import open_model
from tseval.adapters.words import WordMarks, corrections, find_marks, read_to_the_end
from tseval.scoring.protocol import Encoded
from tseval.scoring.scorers import scorer_for
from tseval.scoring.surprisal import surprisals, word_surprisals

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
    """Log-probability of every string of so many pieces after some, by plain forward passes in float64.

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
    """Tell of each piece whether it begins a word or ends the text, by its spelling."""
    pieces = [tokenizer.convert_ids_to_tokens(i) for i in range(len(tokenizer))]
    if any(piece.startswith("##") for piece in pieces):
        return np.array([not piece.startswith("##") for piece in pieces])
    return np.array([piece[0] in "Ġ▁" or piece == END for piece in pieces])


def by_brute_force(model, text, last_is_read=True):
    """Probability of each word: all strings that are its pieces and a boundary, among those it could be."""
    tokenizer, words = model.tokenizer, text.split(" ")
    boundary = is_boundary(tokenizer)
    is_end = np.arange(len(tokenizer)) == tokenizer.eos_token_id
    found, before = [], []
    for n in range(len(words)):
        ids = tokenizer.encode(" ".join(words[: n + 1]), add_special_tokens=False)
        own = ids[len(before) :]
        assert len(own) <= 2
        table = np.exp(all_strings(model, [model.start, *before], len(own) + 1))
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
        # A final period is taken to be closed: what may come behind it is not read.
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
    table = np.exp(all_strings(model, [model.start], 2))
    boundary = is_boundary(tokenizer)
    expected = np.log(table[gals][boundary].sum() / table[boundary].sum())
    assert corrected(model, "gals") == pytest.approx([expected], abs=1e-6)


def test_without_a_start_symbol_a_first_word_follows_from_its_first_piece(tmp_path):
    model = opened(tmp_path, word_tokenizers.laugh_and_s(), arguments={"bos": "false"})
    laugh, s = (model.tokenizer.convert_tokens_to_ids(piece) for piece in ("laugh", "s"))
    table = np.exp(all_strings(model, [laugh], 2))
    expected = np.log(table[s][is_boundary(model.tokenizer)].sum())
    assert corrected(model, "laughs") == pytest.approx([expected], abs=1e-6)


def test_all_words_after_a_context_are_one_event_each(tmp_path):
    """Words of one piece and of two, longer ones and the end of the text make up everything."""
    model = opened(tmp_path, word_tokenizers.byte_level(24))
    ids = model.tokenizer.encode("the gal", add_special_tokens=False)
    table, boundary = np.exp(all_strings(model, [model.start, *ids], 3)), is_boundary(model.tokenizer)
    begins = boundary & (np.arange(len(boundary)) > 0)
    one = table.sum(2)[begins][:, boundary].sum()
    two = table[begins][:, ~boundary][:, :, boundary].sum()
    longer = table[begins][:, ~boundary][:, :, ~boundary].sum()
    assert (one + two + longer + table[0].sum()) / table[boundary].sum() == pytest.approx(1, abs=1e-12)
    assert np.exp(corrected(model, "the gal the")[2]) < one


def test_words_add_up_to_the_sentence_but_for_its_two_ends(tmp_path):
    model = opened(tmp_path, word_tokenizers.byte_level())
    ids = model.tokenizer.encode("the gals laugh", add_special_tokens=False)
    boundary = is_boundary(model.tokenizer)
    opens = ~boundary | (np.arange(len(boundary)) == 0)
    first = np.log(np.exp(all_strings(model, [model.start], 1))[opens].sum())
    last = np.log(np.exp(all_strings(model, [model.start, *ids], 1))[boundary].sum())
    (row,) = scored(model, ["the gals laugh"])
    assert sum(row["words"]) == pytest.approx(row["logprob"] + last - first, abs=1e-5)
    (row,) = scored(model, ["the gals laugh ."])
    assert sum(row["words"]) == pytest.approx(row["logprob"] - first, abs=1e-5)


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
    notes = [text for text in model.warnings if "marks neither beginnings nor ends of words" in text]
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


def test_letters_that_look_like_marks_elsewhere_are_letters():
    """`Č` is a byte of white space in the spelling of GPT-2, and a Czech letter in that of SentencePiece."""
    tokenizer = word_tokenizers.metaspace()
    tokenizer.add_tokens(["Čech", "\n", "<0x0A>"])
    begins = find_marks(tokenizer).begins
    assert begins[tokenizer.convert_tokens_to_ids(["Čech", "\n", "<0x0A>"])].tolist() == [False, True, True]
    tokenizer = word_tokenizers.byte_level()
    tokenizer.add_tokens(["Čech", "Ċ"])
    assert find_marks(tokenizer).begins[tokenizer.convert_tokens_to_ids(["Čech", "Ċ"])].all()


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
    """In bfloat16 the logit of a piece is exact, those of the sum are rounded: the piece may seem more."""
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
    """A model that knows which form of the verb goes with which noun, of *laugh* as well as of *laughs*."""
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
    assert loss.item() < 0.15  # half a bit for the number of the noun, in six tokens
    model.save_pretrained(folder)
    return folder


SINGULAR = ("the boy laughs", "the boy laugh")
PLURAL = ("the boys laugh", "the boys laughs")


@pytest.mark.parametrize("score", ["critical", "sentence"])
def test_a_form_that_begins_another_wins_only_where_it_should(trained, score):
    suite = make_suite(make_case("singular", [SINGULAR]), make_case("plural", [PLURAL]))

    def right(words):
        verdicts = tseval.evaluate(open_model(f"hf:{trained}", {"words": words}), suite, score=score).verdicts
        return dict(zip(verdicts["case"], verdicts["correct"], strict=True))

    assert right("corrected") == {"singular": True, "plural": True}
    # Of pieces alone, `laugh` is as probable as `laugh` and `s` together, and a little more.
    assert right("pieces") == {"singular": score == "sentence", "plural": True}


def test_the_profile_of_a_beginning_reads_behind_its_last_word(trained, tmp_path):
    pairs = tmp_path / "pairs.jsonl"
    lines = [{"good": good, "bad": bad, "nouns": 1} for good, bad in (SINGULAR, PLURAL)]
    pairs.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
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
    assert tokens[2].surprisal == pytest.approx(np.log(2), abs=0.1)  # a verb, or the plural's s
    assert words[2].surprisal > 2


TEXT = """the gals laugh .
the gal that the gals saw sleeps .
gals
a gal laughs ,the gals that
sleeping gals laugh.
the gal's laugh"""


def test_words_are_those_of_wordsprobability(tmp_path, monkeypatch):
    """Pimentel & Meister's own program, on a model and a tokenizer of GPT-2's kind."""
    pytest.importorskip("wordsprobability")
    from wordsprobability import get_surprisal_per_word, models  # noqa: PLC0415 - optional
    from wordsprobability.models import bow_lm  # noqa: PLC0415 - optional

    model = opened(tmp_path, word_tokenizers.byte_level(60, letters="',.aeghilnstuwp"))

    class Toy(bow_lm.GPT2BaseModel):
        """Theirs, but for its sum at the start of a text, where version 0.17 counts the end of text twice."""

        model_name = str(tmp_path)
        tokenizer_cls = transformers.AutoTokenizer

        def _initialise_vocab_masks(self):
            super()._initialise_vocab_masks()
            self.vocab_masks["mid"][self.tokenizer.eos_token_id] = 0

    monkeypatch.setitem(models.MODELS, "toy", Toy)
    theirs = get_surprisal_per_word(TEXT, "toy", return_buggy_surprisals=True)
    for n, own in enumerate(word_surprisals(model, TEXT.split("\n"))):
        expected = theirs.loc[n].astype({"surprisal": float, "surprisal_buggy": float})
        assert [word.text for word in own] == expected["word"].tolist()
        # What comes behind a final mark of punctuation they read, and tseval does not.
        last = -1 if own[-1].text.endswith(".") else None
        found = [word.surprisal for word in own]
        np.testing.assert_allclose(found[:last], expected["surprisal"][:last], atol=1e-5, rtol=1e-6)
        assert np.abs(expected["surprisal"] - expected["surprisal_buggy"])[:last].min() > 0.01
