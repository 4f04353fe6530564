"""A folder in the layout of BabyLM's evaluation data, and tiny models that the recorded predictions are for.

The BLiMP pairs are from our sample of BLiMP (CC BY 4.0). All other data are made up, with the fields of the
published files. To write the folder for BabyLM's own pipeline: `python tests/babylm_folder.py FOLDER`.
"""

import gzip
import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
import torch
import transformers
from checkpoints import BERT, bpe_tokenizer, wordpiece_tokenizer
from supplied import BLIMP_SAMPLE
from tokenizers import Tokenizer, processors

NAMES = ("Anna", "Kim", "Robert", "Sara")
# The tokenizers are trained without these words, so a space before one of them is a separate piece.
RARE = ("Xylophones", "zips")
THINGS = ("the ball", "the rose and the key", "Xylophones", "nothing", "the hat")
STEMS = ("wug", "blick", "spow", "gling", "frell", "nass")


def write_folder(folder: Path) -> Path:
    """Write the files of every task that is scored."""
    for path, records in _files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(record) + "\n" for record in records)
        (folder / path).write_text("".join(lines), encoding="utf-8")
    return folder


def _files():
    yield from _blimp()
    yield from _supplement()
    yield from _ewok()
    yield from _entity_tracking()
    for name in ("wug_adj_nominalization", "wug_past_tense"):
        yield f"{name}/{name}.jsonl", list(_wugs(name))
    for name in ("base", "wugs", "wugs_dist-before", "wugs_dist-in-between"):
        yield f"comps/comps_{name}.jsonl", list(_comps(name))


def _blimp():
    with gzip.open(BLIMP_SAMPLE, "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    for uid in dict.fromkeys(row["UID"] for row in rows):
        own = [row for row in rows if row["UID"] == uid]
        # The filtered files call the number of a pair `pair_id`.
        yield f"blimp_filtered/{uid}.jsonl", [row | {"pair_id": int(row.pop("pairID"))} for row in own]


def _supplement():
    """Write dialogues of two lines, whose line break is not a space, and pairs of single sentences."""
    dialogues, hypernyms = [], []
    for a, b in ((a, b) for a in NAMES for b in NAMES if a != b):
        asked = f"{a}: What did {b} buy?\n{b}: ", f"{a}: Who did {b} see?\n{b}: "
        for answer, (fits, does_not) in (("A hat.", asked), (f"{a}.", asked[::-1])):
            dialogues.append({"sentence_good": fits + answer, "sentence_bad": does_not + answer})
        dog, animal = f"{a} has a dog", f"{b} has an animal"
        if a < b:
            pair = f"If {dog}, then {animal}.", f"If {animal}, then {dog}."
        else:
            pair = f"If not {animal}, then not {dog}.", f"If not {dog}, then not {animal}."
        hypernyms.append(dict(zip(("sentence_good", "sentence_bad"), pair, strict=True)))
    hypernyms.append(
        dict.fromkeys(("sentence_good", "sentence_bad"), "If Kim has a dog, then Kim has a dog.")
    )
    yield "supplement_filtered/qa_congruence_easy.jsonl", dialogues
    yield "supplement_filtered/hypernym.jsonl", hypernyms


def _ewok():
    for domain, verbs in (
        ("social-relations", ("likes", "hates")),
        ("spatial-relations", ("is near", "is far from")),
    ):
        records = []
        for (a, b), (one, other) in product(
            [(a, b) for a in NAMES for b in NAMES if a < b], [verbs, verbs[::-1]]
        ):
            record = {
                "Domain": domain, "ConceptA": one, "ConceptB": other, "ContextType": "direct",
                "ContextDiff": "antonym", "TargetDiff": "concept swap",
                "Context1": f"{a} {one} {b}.", "Context2": f"{a} {other} {b}.",
                "Target1": f"{b} knows that {a} {one} {b}.", "Target2": f"{b} knows that {a} {other} {b}.",
            }  # fmt: skip
            halves = {
                f"{what}{n}": record[f"{what}{3 - n}"] for what in ("Context", "Target") for n in (1, 2)
            }
            records += [record, record | halves]
        yield f"ewok_filtered/{domain}.jsonl", records


def _entity_tracking():
    for split in ("regular", "ambiref", "move_contents"):
        records = []
        for numops, box in product(range(3), range(4)):
            moved = "".join(f" Put {THINGS[(box + n) % 5]} into Box {(box + n) % 3}." for n in range(numops))
            start = ", ".join(f"Box {n} contains {THINGS[(n + box) % 5]}" for n in range(3))
            options = [f"{thing}." for thing in THINGS[box:] + THINGS[:box]]
            prefix = f"{start}.{moved} Box {(box * 2 + numops) % 3} contains "
            records.append(
                {"sample_id": len(records), "numops": numops, "input_prefix": prefix, "options": options}
            )
        yield f"entity_tracking/{split}.jsonl", records


def _wugs(name):
    for n, stem in enumerate(STEMS):
        if name == "wug_adj_nominalization":
            pair = f"{stem}ive -> {stem}ivity", f"{stem}ive -> {stem}iveness"
        else:
            pair = f"They {stem} and {stem}ed.", f"They {stem} and {stem}t."
        yield {"sentences": "\t".join(pair), "ratio": ((n * 7) % 5) / 5 + n / 100}


def _comps(name):
    between = " It is near a guard." if name == "wugs_dist-in-between" else ""
    for n, (good, bad) in enumerate((a, b) for a in ("sock", "knife", "rose") for b in ("table", "cow")):
        for phrase in (
            "keeps feet warm.",
            "can cut bread.",
            "zips up quickly.",
            "is sold in shops that are open on Sunday.",
        ):
            new = name != "base"
            yield {
                "id": n, "property": phrase[:-1], "acceptable_concept": good, "unacceptable_concept": bad,
                "prefix_acceptable": f"A wug is a {good}.{between} Therefore, a wug" if new else f"A {good}",
                "prefix_unacceptable": f"A wug is a {bad}.{between} Therefore, a wug" if new else f"A {bad}",
                "property_phrase": phrase, "negative_sample_type": "random", "similarity": 0.5,
            }  # fmt: skip


def write_models(folder: Path, tokenizers: dict[str, str] | None = None) -> dict[str, str]:
    """Write a GPT-2 without a start token, a GPT-2 with one, and a BERT.

    Args:
        folder: The folder to write to.
        tokenizers: The recorded tokenizers, as JSON. Without them, new ones are trained on the data.

    Returns:
        The tokenizers of both kinds, as JSON.
    """
    if tokenizers is None:
        texts = [str(value) for _, records in _files() for record in records for value in record.values()]
        for word in RARE:
            texts = [text.replace(word, "") for text in texts]
        bpe, wordpiece = bpe_tokenizer(size=600, texts=texts), wordpiece_tokenizer(600, texts)
        tokenizers = {"gpt2": bpe.backend_tokenizer.to_str(), "bert": wordpiece.backend_tokenizer.to_str()}
    bpe = Tokenizer.from_str(tokenizers["gpt2"])
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
    for name in ("plain", "started"):
        if name == "started":
            start = "<|endoftext|>"
            bpe.post_processor = processors.TemplateProcessing(
                single=f"{start} $A", special_tokens=[(start, bpe.token_to_id(start))]
            )
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=bpe, bos_token="<|endoftext|>", eos_token="<|endoftext|>", pad_token="<pad>"
        )
        special = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 1}
        config = transformers.GPT2Config(vocab_size=len(tokenizer), **special, **sizes)
        _save(transformers.GPT2LMHeadModel(config), tokenizer, folder / name)
    masked = transformers.BertTokenizer(tokenizer_object=Tokenizer.from_str(tokenizers["bert"]))
    config = transformers.BertConfig(vocab_size=len(masked), **{**BERT, "max_position_embeddings": 256})
    _save(transformers.BertForMaskedLM(config), masked, folder / "masked")
    return tokenizers


def _save(model, tokenizer, path):
    """Draw the weights with numpy's oldest generator, whose numbers never change, and save the model."""
    draw = np.random.RandomState(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.from_numpy(draw.normal(0, 0.3, parameter.shape).astype(np.float32)))
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    write_folder(where / "data")
    made = write_models(where)
    (where / "tokenizers.json").write_text(json.dumps(made), encoding="utf-8")
