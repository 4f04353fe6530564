"""Count how many prefixes the sentences of a suite share in natural and in tokenised form.

For both forms, the program prints the number of distinct prefixes (contexts) that a causal model reads, shard
by shard as in the engine, and the seconds to split the sentences into pieces. No model is run, because a
context costs the same in both forms.

    python benchmarks/forms.py                                  # a byte-level BPE, trained on both forms
    python benchmarks/forms.py --model hf:HuggingFaceTB/SmolLM2-135M --suite clams_french
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from hf import causal_tokenizer
from tabulate import tabulate
from transformers import GPT2Config, GPT2LMHeadModel

import tseval
from tseval.adapters import open_model
from tseval.evaluation import as_read
from tseval.scoring.engine import shards
from tseval.scoring.trie import build_trie
from tseval.verdicts import sentences_of


def small_model(folder: str, texts: list[str]) -> str:
    """Save a tiny model with a tokenizer that is trained on these texts."""
    causal_tokenizer(5_000, texts).save_pretrained(folder)
    GPT2LMHeadModel(
        GPT2Config(vocab_size=5_000, n_layer=1, n_embd=8, n_head=1, bos_token_id=0, eos_token_id=0)
    ).save_pretrained(folder)
    return f"hf:{folder}"


@click.command()
@click.option("--model", "spec", help="Model with the tokenizer to use (default: train one).")
@click.option("--suite", "name", default="marvin_linzen", show_default=True)
def main(spec: str | None, name: str) -> None:
    """Print how many prefixes the sentences of a suite share in both forms."""
    suite = tseval.load_suite(name)
    assert suite.writing is not None
    sentences = sentences_of(suite)
    rows: list[tuple[Any, ...]] = []
    texts = [str(text) for text in sentences.to_pylist()]
    with tempfile.TemporaryDirectory() as folder:
        both = [*texts, *(suite.writing.write(text)[0] for text in texts)]
        model = open_model(spec or small_model(str(Path(folder) / "model"), both))
        for form in ("tokenised", "natural"):
            reader: Any = as_read(model, suite, form)
            begun, counts = time.perf_counter(), np.zeros(2, np.int64)
            encoded = [reader.encode(shard) for shard in shards(sentences)]
            seconds = time.perf_counter() - begun
            for one in encoded:
                counts += build_trie(one.tokens, one.token_counts).n_contexts, len(one.tokens)
            rows.append((form, len(texts), counts[1], counts[0], counts[0] / len(texts), seconds))
    heads = ["form", "sentences", "pieces", "contexts", "contexts a sentence", "seconds to encode"]
    click.echo(tabulate(rows, heads, "pipe", floatfmt=".3f", intfmt=","))
    contexts, encoding = (rows[1][place] / rows[0][place] for place in (3, 5))
    click.echo(f"\nnatural / tokenised: {contexts:.3f} contexts, {encoding:.2f} seconds")


if __name__ == "__main__":
    main()
