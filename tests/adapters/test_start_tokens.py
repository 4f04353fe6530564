"""Which token stands before every sentence, and what follows where there is none."""

import json
from typing import Any

import pyarrow as pa
import pytest
from checkpoints import TEXT, bpe_tokenizer, save_causal
from in_process import call
from small import make_case, make_suite
from tokenizers import processors

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.runs.directory import part_bytes, read_part
from tseval.scoring.engine import Part
from tseval.scoring.scorers import scorer_for
from tseval.suites import load_suite

# A pair that differs in its first word, and one that does later.
ROWS = [("the guards laugh", "no guards laugh"), ("the guards laugh", "the guards laughs")]
TURN = "{% for message in messages %}{{ message.content }}<turn>{% endfor %}"


def saved(folder, bos=None, eos="<|endoftext|>", template=None):
    """Save a tiny model with a tokenizer that has these marks."""
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


def test_the_signature_tells_the_three_apart(tmp_path):
    suite = make_suite(make_case("simple", ROWS[1:]))
    ways: dict[str, dict[str, Any]] = {"bos": {"bos": "<pad>"}, "eos": {}, "none": {"eos": None}}
    for start, tokenizer in ways.items():
        run = tseval.evaluate(open_model(f"hf:{saved(tmp_path / start, **tokenizer)}"), suite)
        assert f"|start:{start}|" in run.manifest.signature
        assert run.manifest.model.protocol["start"] == start


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


def test_words_that_differ_after_the_unscored_piece_are_compared(tmp_path):
    model: Any = open_model(f"hf:{saved(tmp_path, eos=None)}")
    pieces = [model.tokenizer.tokenize(word) for word in ("guards", "guardlikes")]
    assert pieces[0][0] == pieces[1][0]
    suite = make_suite(make_case("simple", [("guards laugh", "guardlikes laugh")]))
    assert tseval.evaluate(model, suite).verdicts["undecidable"].tolist() == [False]


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
    conditions = [
        {
            "condition_name": name,
            "regions": [
                {"region_number": n, "content": text} for n, text in enumerate(["", noun, "laugh"], 1)
            ],
        }
        for name, noun in (("good", "guards"), ("bad", "pilots"))
    ]
    suite = {
        "meta": {"name": "begin", "metric": "sum"},
        "region_meta": {"1": "nothing"},
        "predictions": [{"type": "formula", "formula": formula}],
        "items": [{"item_number": 1, "conditions": conditions}],
    }
    (tmp_path / "begin.json").write_text(json.dumps(suite))
    model = open_model(f"hf:{saved(tmp_path / 'tiny', eos=None)}")
    run = tseval.evaluate(model, load_suite(str(tmp_path / "begin.json")))
    assert run.verdicts["undecidable"].tolist() == [undecidable]


def test_a_saved_part_keeps_the_unscored_tokens(tmp_path):
    model: Any = open_model(f"hf:{saved(tmp_path, eos=None)}")
    table = scorer_for(model).score(pa.array(["no guards laugh", "the guards laugh"]))
    first = [model.tokenizer.encode(word)[0] for word in ("no", "the")]
    assert table["unscored"].to_pylist() == first
    assert read_part(part_bytes(Part(table, 7))).table.equals(table)


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
    result = call(*options, *ROWS[0], cwd=tmp_path)
    assert "undecidable: the two begin with different tokens" in result.stderr
    assert "is preferred" in call(*options, *ROWS[1], cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("single", "token"),
    [("$A", None), ("<pad> $A", "<pad>"), ("<pad> $A <|endoftext|>", "<pad>"), ("$A <pad>", None)],
)
def test_the_start_may_be_what_the_tokenizer_adds_by_itself(tmp_path, single, token):
    tokenizer = bpe_tokenizer(bos="<pad>")
    add_by_itself(tokenizer, single)
    path = save_causal(tmp_path, tokenizer=tokenizer)
    card = open_model(f"hf:{path}", {"bos": "tokenizer"}).card
    assert card.protocol["bos"] == token
    assert open_model(f"hf:{path}").card.protocol["bos"] == "<pad>"  # which it has, whether it adds it or not


def test_two_tokens_before_a_text_are_no_start(tmp_path):
    tokenizer = bpe_tokenizer()
    add_by_itself(tokenizer, "<pad> <|endoftext|> $A")
    path = save_causal(tmp_path, tokenizer=tokenizer)
    with pytest.raises(
        ModelError, match=r"bos=tokenizer: the tokenizer puts 2 tokens before a text.\n.*bos=TOKEN"
    ):
        open_model(f"hf:{path}", {"bos": "tokenizer"})


def test_kept_white_space_is_in_the_protocol_and_goes_with_sums_over_pieces(tmp_path):
    path = saved(tmp_path)
    card = open_model(f"hf:{path}", {"white_space": "kept", "words": "pieces"}).card
    assert card.protocol["white_space"] == "kept"
    assert "white_space" not in open_model(f"hf:{path}").card.protocol
    with pytest.raises(ModelError, match=r"white_space=kept: .* cannot be corrected.\n.*words=pieces"):
        open_model(f"hf:{path}", {"white_space": "kept"})


def add_by_itself(tokenizer, single):
    """Let a tokenizer put special tokens around every text."""
    special = [("<|endoftext|>", 0), ("<pad>", 1)]
    processor = processors.TemplateProcessing(single=single, special_tokens=special)
    tokenizer.backend_tokenizer.post_processor = processor
