"""A GPT-2 with random weights that are the same on every machine, because no library draws or trains them.

`tests/oracles/newman2021.json` has the scores of this model by the program of Newman et al. 2021.
"""

import json

import numpy as np
import torch
import transformers

# Each of these words is one piece with a space before it. Other words have several pieces.
NOUNS = (
    "author",
    "authors",
    "pilot",
    "pilots",
    "guard",
    "guards",
    "senator",
    "senators",
    "teacher",
    "teachers",
)
OTHERS = ("the", "near", "that", "said", "and")
VERBS = (
    "laugh",
    "swim",
    "smile",
    "know",
    "like",
    "write",
    "go",
    "see",
    "make",
    "take",
    "walk",
    "run",
    "say",
    "hold",
)
SEVERAL = (
    ("admires", "admire"),
    ("wonders", "wonder"),
    ("walks", "walk"),
)  # several pieces each, except `walk`


def third_person(base):
    return base + ("es" if base == "go" else "s")


PAIRS = [(third_person(base), base) for base in VERBS if base != "walk"] + [("is", "are"), ("has", "have")]


def vocabulary():
    """Return the vocabulary (GPT-2's bytes, then a piece for each prefix of each word) and the merges."""
    pieces, merges = byte_letters(), []
    words = [*NOUNS, *OTHERS, *(form for pair in PAIRS for form in pair), "walk"]
    for word in words:
        joined = "Ġ"
        for letter in word:
            if joined + letter not in pieces:
                pieces.append(joined + letter)
                merges.append(f"{joined} {letter}")
            joined += letter
    return {piece: place for place, piece in enumerate([*pieces, "<|endoftext|>"])}, merges


def byte_letters():
    """Return the letters that represent the 256 bytes, by the rule of GPT-2's authors."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return [chr(byte) for byte in printed] + [chr(256 + place) for place in range(len(others))]


def save_random_gpt2(path):
    """Save the model and its tokenizer; return the folder."""
    path.mkdir(parents=True, exist_ok=True)
    vocab, merges = vocabulary()
    (path / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    (path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")
    (path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "GPT2Tokenizer", **dict.fromkeys(
            ("bos_token", "eos_token", "unk_token"), "<|endoftext|>")})
    )  # fmt: skip
    end = vocab["<|endoftext|>"]
    config = transformers.GPT2Config(
        vocab_size=len(vocab), n_positions=32, n_embd=48, n_layer=2, n_head=4,
        bos_token_id=end, eos_token_id=end,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    draw = np.random.RandomState(2021)  # numpy guarantees that these numbers never change
    with torch.no_grad():
        for name, weights in sorted(model.transformer.named_parameters()):
            numbers = draw.standard_normal(tuple(weights.shape)).astype(np.float32)
            scale = 0.2 if "wte" in name else 0.3
            is_norm = "ln_" in name and name.endswith("weight")
            weights.copy_(torch.from_numpy(1 + 0.2 * numbers if is_norm else scale * numbers))
    model.save_pretrained(path)
    return path


def contexts():
    """Return correct and incorrect sentences that end in a verb, with the number of the verb."""
    rows = []
    for place, noun in enumerate(NOUNS):
        singular = not noun.endswith("s")
        for other in (NOUNS[(place + 3) % len(NOUNS)], NOUNS[(place + 6) % len(NOUNS)]):
            for stem in (
                f"the {noun} near the {other}",
                f"the {noun} that the {other} said",
                f"the {other} and the {noun}",
            ):
                pair = ("laughs", "laugh") if singular else ("laugh", "laughs")
                rows.append({
                    "good": f"{stem} {pair[0]}", "bad": f"{stem} {pair[1]}",
                    "number": "sing" if singular else "plur",
                })  # fmt: skip
    return rows
