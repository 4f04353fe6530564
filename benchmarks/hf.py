"""Measure how fast models of transformers are scored, with one model and the same sentences.

    lm-eval   HFLM.loglikelihood of lm-evaluation-harness, which sorts by length; causal models only
    minicons  IncrementalLMScorer or MaskedLMScorer; it gets the sentences sorted by length
    tseval    hf: or mlm:
    words     the same with corrected words, as for --score critical
    bfloat16  tseval with dtype=bfloat16

The sentences are from Marvin & Linzen (2018), each once:

    dense     whole cases from the first one on: 1.3 contexts per sentence
    even      blocks of 512 consecutive sentences, evenly spaced over the sorted suite. They share prefixes
              like the whole suite: 1.58 contexts per sentence, compared with 1.56
    sparse    the sentences of 2,000 random items of the suite, which share fewer prefixes

The model is a GPT-2 or a BERT with random weights in float32, because speed does not depend on the weights.
Its tokenizer is trained on the suite, so that a word is one token, like frequent words in published models.
All batches have about the same number of tokens: 1,024 for tseval, 64 sentences for the others. A masked
model reads a copy of a sentence for each token. There, minicons gets 32 sentences, which are three times as
many tokens.
Every measurement runs in a separate process, to get its peak memory. The sums of log-probabilities are
compared.

    python benchmarks/hf.py                                     # 12 layers of 768, as GPT-2 small
    python benchmarks/hf.py --layers 4 --hidden 256
    python benchmarks/hf.py --kind masked --dense 600 --even 384 --sparse 100
"""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import torch
import transformers
from tabulate import tabulate
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

import tseval
from tseval.adapters.hf import open_causal
from tseval.adapters.mlm import open_masked
from tseval.scoring.engine import shards
from tseval.scoring.scorers import scorer_for
from tseval.suites import stream_cases
from tseval.verdicts import sentences_of

Score = Callable[[list[str]], list[float]]
MODULES = {"lm-eval": "lm_eval", "minicons": "minicons", "tseval": "tseval"}
MODULES |= dict.fromkeys(("words", "bfloat16"), "tseval")
BATCH, MASKED_BATCH = 64, 32
BLOCK = 512


def make_model(path: Path, kind: str, layers: int, hidden: int, vocabulary: int) -> None:
    """Save a model with random weights, and a tokenizer that knows the words of the suite."""
    (causal_tokenizer if kind == "causal" else masked_tokenizer)(vocabulary).save_pretrained(path)
    torch.manual_seed(0)
    heads = max(1, hidden // 64)
    if kind == "causal":
        sizes = {"n_layer": layers, "n_embd": hidden, "n_head": heads, "vocab_size": vocabulary}
        GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).save_pretrained(path)
    else:
        sizes = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
        sizes |= {"intermediate_size": 4 * hidden, "vocab_size": vocabulary}
        BertForMaskedLM(BertConfig(**sizes)).save_pretrained(path)


def causal_tokenizer(vocabulary: int, texts: list[str] | None = None) -> transformers.PreTrainedTokenizerFast:
    """Train a BPE tokenizer like that of GPT-2, on the suite or on other texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(everything() if texts is None else texts, trainer)
    special = dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<|endoftext|>")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def masked_tokenizer(vocabulary: int) -> transformers.BertTokenizer:
    """Train a WordPiece tokenizer like that of BERT."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106  no password
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=vocabulary, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(everything(), trainer)
    return transformers.BertTokenizer(tokenizer_object=tokenizer)


def everything() -> list[str]:
    """Return the distinct sentences of the suite, sorted."""
    return [str(text) for text in sentences_of(tseval.load_suite("marvin_linzen")).to_pylist()]


def dense_sentences(number: int) -> list[str]:
    """Return sentences of the first cases of the suite, until there are enough."""
    found: dict[str, None] = {}
    suite = tseval.load_suite("marvin_linzen")
    for case in suite.cases:
        texts = sentences_of(dataclasses.replace(suite, cases=(case,))).to_pylist()
        found |= dict.fromkeys(map(str, texts))
        if len(found) >= number:
            break
    return sorted(list(found)[:number])


def even_sentences(number: int) -> list[str]:
    """Return blocks of consecutive sentences, evenly spaced over the sorted suite."""
    texts = everything()
    size = min(BLOCK, number)
    n_blocks = max(1, number // size)
    starts = ((np.arange(n_blocks) + 0.5) * len(texts) / n_blocks - size / 2).astype(int)
    return [texts[i] for start in starts for i in range(start, start + size)]


def sparse_sentences(n_items: int) -> list[str]:
    """Return the sentences of random items of the whole suite."""
    _, cases = stream_cases("marvin_linzen", sample=n_items, seed=0)
    return sorted(
        {f"{text} ." for case in cases for item in case.items() for text in item.sentences.values()}
    )


def score_tseval(path: str, kind: str, dtype: str = "float32", words: bool = False) -> Score:
    """Return a function that scores with tseval's engine, shard by shard."""
    open_kind = open_causal if kind == "causal" else open_masked
    scorer = scorer_for(open_kind(path, {"dtype": dtype}, "cpu"), words=words)

    def score(sentences: list[str]) -> list[float]:
        parts = [scorer.score(shard)["logprob"].to_pylist() for shard in shards(pa.array(sentences))]
        return [score for part in parts for score in part]

    return score


def score_lm_eval(path: str, _kind: str) -> Score:
    """Return a function that scores with lm-evaluation-harness, and builds a request for each sentence."""
    from lm_eval.api.instance import Instance  # noqa: PLC0415  only in its own process
    from lm_eval.models.huggingface import HFLM  # noqa: PLC0415

    model = HFLM(path, device="cpu", dtype="float32", softmax_dtype="float32", batch_size=BATCH)

    def score(sentences: list[str]) -> list[float]:
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=0) for text in sentences
        ]
        return [score for score, _ in model.loglikelihood(requests, disable_tqdm=True)]

    return score


def score_minicons(path: str, kind: str) -> Score:
    """Return a function that scores with minicons, shortest first."""
    from minicons.scorer import IncrementalLMScorer, MaskedLMScorer  # noqa: PLC0415  only in its own process

    if kind == "causal":
        model = IncrementalLMScorer(path, device="cpu", dtype=torch.float32)
        options: dict[str, object] = {"bos_token": True}
        at_once = BATCH
    else:
        # minicons 0.3.39 calls a method of tokenizers that transformers 5 has replaced by `__call__`.
        transformers.BertTokenizer.batch_encode_plus = transformers.BertTokenizer.__call__
        model = MaskedLMScorer(path, device="cpu")
        options = {"PLL_metric": "within_word_l2r"}
        at_once = MASKED_BATCH

    def score(sentences: list[str]) -> list[float]:
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i].split()))
        scores = np.empty(len(sentences))
        for first in range(0, len(order), at_once):
            batch = order[first : first + at_once]
            texts = [sentences[i] for i in batch]
            scores[batch] = model.sequence_score(texts, reduction=lambda row: row.sum().item(), **options)
        return scores.tolist()

    return score


def peak_memory() -> float:
    """Return the peak memory of this process, in MiB.

    On Linux, `ru_maxrss` also counts memory that a process inherits before it starts its program. A child
    process would show the peak of its parent.
    """
    with suppress(OSError):
        line = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("utf-8", "replace"))
        if line:
            return int(line[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(score: Score, sentences: list[str]) -> dict[str, object]:
    """Score sentences, and return times, memory and scores."""
    score(sentences[:BATCH])  # the first products of a process are slow
    started, cpu = time.perf_counter(), time.process_time()
    scores = score(sentences)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {"seconds": seconds, "cpu": cpu, "peak_mb": peak_memory(), "scores": scores}


SCORERS: dict[str, Callable[[str, str], Score]] = {
    "lm-eval": score_lm_eval,
    "minicons": score_minicons,
    "tseval": score_tseval,
    "words": partial(score_tseval, words=True),
    "bfloat16": partial(score_tseval, dtype="bfloat16"),
}
METHODS = {
    "causal": ["lm-eval", "minicons", "tseval", "words", "bfloat16"],
    "masked": ["minicons", "tseval", "bfloat16"],
}


def child(method: str, kind: str, model: Path, sentences: Path, threads: int) -> dict:
    """Measure one method in a separate process."""
    command = [sys.executable, __file__, "--child", method, "--kind", kind, "--model", str(model)]
    command += ["--sentences", str(sentences), "--threads", str(threads)]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    content: dict = json.loads(result.stdout.splitlines()[-1])
    return content


@click.command()
@click.option("--kind", type=click.Choice(list(METHODS)), default="causal", show_default=True)
@click.option("--layers", default=12, show_default=True)
@click.option("--hidden", default=768, show_default=True)
@click.option("--vocabulary", default=50_257, show_default=True)
@click.option("--dense", default=11_320, show_default=True, help="Sentences of the dense set (0: none).")
@click.option("--even", default=8_192, show_default=True, help="Sentences of the even set (0: none).")
@click.option("--sparse", default=2_000, show_default=True, help="Items of the sparse set (0: none).")
@click.option("--threads", default=torch.get_num_threads(), show_default=True)
@click.option("--child", "method", hidden=True)
@click.option("--model", type=click.Path(path_type=Path), hidden=True)
@click.option("--sentences", type=click.Path(path_type=Path), hidden=True)
def main(
    kind: str, layers: int, hidden: int, vocabulary: int, dense: int, even: int, sparse: int, threads: int,
    method: str | None, model: Path | None, sentences: Path | None,
) -> None:  # fmt: skip
    """Print sentences per second, peak memory, ratios and differences."""
    torch.set_num_threads(threads)
    if method and model and sentences:
        score = SCORERS[method](str(model), kind)
        click.echo(json.dumps(measure(score, json.loads(sentences.read_text()))))
        return
    if missing := [name for name in METHODS[kind] if not find_spec(MODULES[name])]:
        raise click.UsageError(f"not installed: {', '.join(missing)}. pip install {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        model, chosen = Path(folder) / "model", Path(folder) / "sentences.json"
        make_model(model, kind, layers, hidden, vocabulary)
        sets = (
            ("dense", dense, dense_sentences),
            ("even", even, even_sentences),
            ("sparse", sparse, sparse_sentences),
        )
        for sharing, number, choose in sets:
            if not number:
                continue
            texts = choose(number)
            chosen.write_text(json.dumps(texts))
            results = {name: child(name, kind, model, chosen, threads) for name in METHODS[kind]}
            report(sharing, len(texts), results)


def report(sharing: str, n_sentences: int, results: dict[str, dict]) -> None:
    """Print the results on one set of sentences."""
    ours = results["tseval"]
    rows = [
        (name, f"{result['seconds']:.1f}", f"{n_sentences / result['seconds']:,.0f}",
         f"{n_sentences / result['cpu']:,.0f}", f"{result['peak_mb']:,.0f}",
         f"{result['seconds'] / ours['seconds']:.1f}",
         f"{np.abs(np.subtract(result['scores'], ours['scores'])).max():.1e}")
        for name, result in results.items()
    ]  # fmt: skip
    click.echo(f"{sharing}: {n_sentences:,} sentences")
    headings = ["method", "seconds", "per second", "per CPU second", "peak MB", "tseval is faster by"]
    headings += ["largest difference"]
    click.echo(tabulate(rows, headings))
    gained = ours["cpu"] / results["bfloat16"]["cpu"]
    click.echo(f"bfloat16 takes {gained:.2f} times less CPU time than float32")
    if "words" in results:
        click.echo(f"corrected words take {results['words']['cpu'] / ours['cpu']:.2f} times the CPU time")
    click.echo()


if __name__ == "__main__":
    main()
