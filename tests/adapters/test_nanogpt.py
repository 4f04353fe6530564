"""nanoGPT checkpoints are scored like nanoGPT's own forward pass, which is rewritten here in torch."""

import pickle
from typing import Any

import pyarrow as pa
import pytest
import torch
from in_process import succeed
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from torch.nn import functional as F

import tseval
from tseval.errors import ModelError
from tseval.scoring.scorers import scorer_for

LETTERS = sorted(set("the author laughs. near guard an\n"))
SENTENCES = ["an author laughs.", "the guard near the author laughs."]
WIDTH, HEADS, LAYERS, BLOCK = 16, 4, 3, 64


def weights(vocabulary, bias, seed=0):
    """Make weights with nanoGPT's names and shapes; the output shares the token matrix."""
    torch.manual_seed(seed)
    found = {
        "transformer.wte.weight": torch.randn(vocabulary, WIDTH),
        "transformer.wpe.weight": torch.randn(BLOCK, WIDTH),
    }
    shapes = {"attn.c_attn": (3 * WIDTH, WIDTH), "attn.c_proj": (WIDTH, WIDTH),
              "mlp.c_fc": (4 * WIDTH, WIDTH), "mlp.c_proj": (WIDTH, 4 * WIDTH)}  # fmt: skip
    for i in range(LAYERS):
        for name, shape in shapes.items():
            found[f"transformer.h.{i}.{name}.weight"] = torch.randn(shape) * 0.3
            found[f"transformer.h.{i}.{name}.bias"] = torch.randn(shape[0])
    for norm in ("ln_f", *(f"h.{i}.{name}" for i in range(LAYERS) for name in ("ln_1", "ln_2"))):
        found |= {f"transformer.{norm}.{part}": torch.randn(WIDTH) for part in ("weight", "bias")}
    found["lm_head.weight"] = found["transformer.wte.weight"]
    return {name: weight for name, weight in found.items() if bias or not name.endswith("bias")}


def forward(state, ids):
    """Return logits after every token: pre-norm blocks and exact GELU, as in nanoGPT's model.py."""
    x = state["transformer.wte.weight"][ids] + state["transformer.wpe.weight"][: len(ids)]

    def linear(name, value):
        return F.linear(value, state[f"{name}.weight"], state.get(f"{name}.bias"))

    def norm(name, value):
        return F.layer_norm(value, (WIDTH,), state[f"{name}.weight"], state.get(f"{name}.bias"), 1e-5)

    mask = torch.ones(len(ids), len(ids)).triu(1).bool()
    for i in range(LAYERS):
        block = f"transformer.h.{i}"
        parts = linear(f"{block}.attn.c_attn", norm(f"{block}.ln_1", x)).split(WIDTH, dim=1)
        q, k, v = (part.view(len(ids), HEADS, -1).transpose(0, 1) for part in parts)
        scores = (q @ k.transpose(1, 2) / (WIDTH // HEADS) ** 0.5).masked_fill(mask, float("-inf"))
        mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(ids), WIDTH)
        x = x + linear(f"{block}.attn.c_proj", mixed)
        x = x + linear(f"{block}.mlp.c_proj", F.gelu(linear(f"{block}.mlp.c_fc", norm(f"{block}.ln_2", x))))
    return linear("lm_head", norm("transformer.ln_f", x))


def save(path, state, prefix=""):
    sizes = {"n_layer": LAYERS, "n_head": HEADS, "n_embd": WIDTH, "block_size": BLOCK, "dropout": 0.2,
             "bias": "transformer.ln_f.bias" in state,
             "vocab_size": len(state["lm_head.weight"])}  # fmt: skip
    optimizer = torch.optim.AdamW([nn.Parameter(torch.ones(2, 2))]).state_dict()
    named = {f"{prefix}{name}": tensor for name, tensor in state.items()}
    content = {"model": named, "optimizer": optimizer, "model_args": sizes, "iter_num": 5,
               "best_val_loss": torch.tensor(1.5),
               "config": {"dataset": "letters", "device": "cuda", "compile": True}}  # fmt: skip
    torch.save(content, path)


@pytest.fixture
def letters(tmp_path):
    ids = {letter: i for i, letter in enumerate(LETTERS)}
    with (tmp_path / "meta.pkl").open("wb") as file:
        pickle.dump({"vocab_size": len(LETTERS), "itos": dict(enumerate(LETTERS)), "stoi": ids}, file)
    return tmp_path


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("prefix", ["", "_orig_mod."])
def test_letters_score_as_nanogpt_computes_them(letters, bias, prefix):
    state = weights(len(LETTERS), bias)
    save(letters / "ckpt.pt", state, prefix)
    model: Any = tseval.load_model(letters / "ckpt.pt", {"words": "pieces"})
    scored = scorer_for(model).score(pa.array(SENTENCES))["logprob"].to_pylist()
    for sentence, logprob in zip(SENTENCES, scored, strict=True):
        ids = torch.tensor([LETTERS.index(letter) for letter in sentence])
        table = forward(state, ids).log_softmax(-1)  # the first letter has no context and no score
        expected = table[:-1].gather(1, ids[1:, None]).sum().item()
        assert logprob == pytest.approx(expected, abs=1e-4)
    assert model.card.protocol["first_token"] == "unscored"


def test_an_item_with_another_letter_is_undecidable(letters):
    save(letters / "ckpt.pt", weights(len(LETTERS), bias=False))
    (letters / "pairs.csv").write_text(
        "sentence_good,sentence_bad\n"
        "the author laughs.,the author laugh.\nthe author jokes.,the author joke.\n"
    )
    done = succeed("run", "--model", "ckpt.pt", "--suite", "pairs.csv", "--out", "run", cwd=letters)
    assert "or with unknown characters" in done.stdout + done.stderr
    assert tseval.read_run(letters / "run").verdicts["undecidable"].to_list() == [False, True]


def test_pieces_of_a_tokenizer_score_as_nanogpt_computes_them(tmp_path):
    pieces = [
        "<|endoftext|>",
        *(f"Ġ{word}" for word in ("the", "author", "laughs", "laugh")),
        "the",
        "an",
        "unused",
    ]
    tokenizer = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token="unused"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    state = weights(len(pieces) + 4, bias=False)  # nanoGPT rounds up the vocabulary size
    save(tmp_path / "ckpt.pt", state)
    arguments = {"vocab": str(tmp_path / "tokenizer.json"), "bos": "<|endoftext|>", "words": "pieces"}
    model = tseval.load_model(tmp_path / "ckpt.pt", arguments)
    (logprob,) = scorer_for(model).score(pa.array(["the author laughs"]))["logprob"].to_pylist()
    ids = torch.tensor([0, 5, 2, 3])
    expected = forward(state, ids).log_softmax(-1)[:-1].gather(1, ids[1:, None]).sum().item()
    assert logprob == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "add --model-args vocab=meta.pkl"),
        ({"vocab": "words.txt"}, "single characters, but has 2 entries"),
        ({"dtype": "half"}, "--model-args dtype: nanoGPT models have no argument with this name"),
    ],
)
def test_what_is_missing_is_named(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("the author")
    save(tmp_path / "ckpt.pt", weights(len(LETTERS), bias=False))
    with pytest.raises(ModelError, match=message):
        tseval.load_model("ckpt.pt", arguments)


def test_tensors_of_gpt_2_without_sizes_are_not_guessed_at(letters):
    torch.save(weights(len(LETTERS), bias=True), letters / "pytorch_model.pt")
    with pytest.raises(ModelError, match="no model_args of nanoGPT"):
        tseval.load_model(letters / "pytorch_model.pt")
