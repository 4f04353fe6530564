"""How fast are causal models of transformers scored? One run, one model, the same sentences, ratios printed.

    lm-eval   HFLM.loglikelihood of lm-evaluation-harness, which sorts by length
    minicons  IncrementalLMScorer.sequence_score, given the sentences sorted by length
    tseval    hf:

on sentences of Marvin & Linzen (2018), each once:

    dense     blocks of consecutive sentences, spaced evenly over the sorted suite: as in a real run
    sparse    the sentences of items drawn at random: hardly anything to share

The model is a GPT-2 with random weights, float32: speed does not depend on their values. Its tokenizer is
a BPE trained on the suite, so that a word is one token, as frequent words are to GPT-2's own. The others
read 64 sentences at a time, tseval 1,024 contexts, which is about as many tokens. Every measurement runs
in a process of its own, which gives its peak memory. All three give sums of log-probabilities after the
same start symbol, which are compared.

    python benchmarks/hf.py                                     # 12 layers of 768, as GPT-2 small
    python benchmarks/hf.py --layers 4 --hidden 256
    python benchmarks/hf.py --dense 0                           # the whole suite: hours
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import torch
import transformers
from tabulate import tabulate
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import tseval
from tseval.adapters.hf import open_causal
from tseval.scoring.engine import Scorer, shards
from tseval.verdicts import sentences_of

MODULES = {"lm-eval": "lm_eval", "minicons": "minicons", "tseval": "tseval"}
BATCH = 64
BLOCK = 1_024


def make_model(path: Path, layers: int, hidden: int, vocabulary: int) -> None:
    """Save a GPT-2 with random weights, and a tokenizer that knows the words of the suite."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(
        map(str, sentences_of(tseval.load_suite("marvin_linzen")).to_pylist()), trainer
    )
    special = dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<|endoftext|>")
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(path)
    torch.manual_seed(0)
    sizes = {"n_layer": layers, "n_embd": hidden, "n_head": max(1, hidden // 64), "vocab_size": vocabulary}
    sizes |= {"bos_token_id": 0, "eos_token_id": 0}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).save_pretrained(path)


def choose_sentences(kind: str, dense: int, sparse: int) -> list[str]:
    """Give the sentences to score, sorted."""
    if kind == "sparse":
        suite = tseval.load_suite("marvin_linzen", sample=sparse, seed=0)
        return sorted(map(str, sentences_of(suite).to_pylist()))
    everything = [str(text) for text in sentences_of(tseval.load_suite("marvin_linzen")).to_pylist()]
    if not dense:
        return everything
    size = min(BLOCK, dense)
    starts = np.linspace(0, len(everything) - size, max(1, dense // size)).astype(int)
    return [everything[i] for start in starts for i in range(start, start + size)]


def score_tseval(path: str, sentences: list[str]) -> list[float]:
    """Score by the engine, shard by shard."""
    scorer = Scorer(open_causal(path, {}, "cpu"))
    started = time.perf_counter(), time.process_time()
    scores = [scorer.score(shard)["logprob"].to_pylist() for shard in shards(pa.array(sentences))]
    return finish(started, [score for part in scores for score in part])


def score_lm_eval(path: str, sentences: list[str]) -> list[float]:
    """Score by lm-evaluation-harness, requests included: it builds one for each sentence."""
    from lm_eval.api.instance import Instance  # noqa: PLC0415  only in its own process
    from lm_eval.models.huggingface import HFLM  # noqa: PLC0415

    model = HFLM(path, device="cpu", dtype="float32", softmax_dtype="float32", batch_size=BATCH)
    started = time.perf_counter(), time.process_time()
    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=0) for text in sentences
    ]
    return finish(started, [score for score, _ in model.loglikelihood(requests, disable_tqdm=True)])


def score_minicons(path: str, sentences: list[str]) -> list[float]:
    """Score by minicons, shortest first."""
    from minicons.scorer import IncrementalLMScorer  # noqa: PLC0415  only in its own process

    model = IncrementalLMScorer(path, device="cpu", dtype=torch.float32)
    started = time.perf_counter(), time.process_time()
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i].split()))
    scores = np.empty(len(sentences))
    for first in range(0, len(order), BATCH):
        batch = order[first : first + BATCH]
        texts = [sentences[i] for i in batch]
        scores[batch] = model.sequence_score(texts, bos_token=True, reduction=lambda row: row.sum().item())
    return finish(started, scores.tolist())


def peak_memory() -> float:
    """Give the most memory that this process has had, in MiB.

    Linux counts into `ru_maxrss` what a process inherits before it starts its program, so that a child would
    show its parent's peak.
    """
    with suppress(OSError):
        line = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if line:
            return int(line[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def finish(started: tuple[float, float], scores: list[float]) -> list[float]:
    """Print what was measured as JSON, and give the scores back."""
    result = {
        "seconds": time.perf_counter() - started[0],
        "cpu": time.process_time() - started[1],
        "peak_mb": peak_memory(),
        "scores": scores,
    }
    click.echo(json.dumps(result))
    return scores


SCORERS = {"lm-eval": score_lm_eval, "minicons": score_minicons, "tseval": score_tseval}


def child(method: str, model: Path, sentences: Path, threads: int) -> dict:
    """Measure one method in a process of its own."""
    command = [sys.executable, __file__, "--child", method, "--model", str(model), "--threads", str(threads)]
    result = subprocess.run([*command, "--sentences", str(sentences)], stdout=subprocess.PIPE, check=True)
    content: dict = json.loads(result.stdout.splitlines()[-1])
    return content


@click.command()
@click.option("--layers", default=12, show_default=True)
@click.option("--hidden", default=768, show_default=True)
@click.option("--vocabulary", default=50_257, show_default=True)
@click.option("--dense", default=8_192, show_default=True, help="Sentences of the dense set; 0 for all.")
@click.option("--sparse", default=100, show_default=True, help="Items of each case in the sparse set.")
@click.option("--threads", default=torch.get_num_threads(), show_default=True)
@click.option("--child", "method", hidden=True)
@click.option("--model", type=click.Path(path_type=Path), hidden=True)
@click.option("--sentences", type=click.Path(path_type=Path), hidden=True)
def main(
    layers: int, hidden: int, vocabulary: int, dense: int, sparse: int, threads: int,
    method: str | None, model: Path | None, sentences: Path | None,
) -> None:  # fmt: skip
    """Print sentences per second, peak memory, ratios and differences."""
    torch.set_num_threads(threads)
    if method and model and sentences:
        SCORERS[method](str(model), json.loads(sentences.read_text()))
        return
    if missing := [name for name, module in MODULES.items() if not find_spec(module)]:
        raise click.UsageError(f"not installed: {', '.join(missing)}. pip install {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        model, chosen = Path(folder) / "gpt2", Path(folder) / "sentences.json"
        make_model(model, layers, hidden, vocabulary)
        for kind in ("dense", "sparse"):
            texts = choose_sentences(kind, dense, sparse)
            chosen.write_text(json.dumps(texts))
            report(kind, len(texts), {name: child(name, model, chosen, threads) for name in SCORERS})


def report(kind: str, n_sentences: int, results: dict[str, dict]) -> None:
    """Print what was measured on one set."""
    ours = results["tseval"]
    rows = [
        (name, f"{result['seconds']:.1f}", f"{n_sentences / result['seconds']:,.0f}",
         f"{n_sentences / result['cpu']:,.0f}", f"{result['peak_mb']:,.0f}",
         f"{result['seconds'] / ours['seconds']:.1f}",
         f"{np.abs(np.subtract(result['scores'], ours['scores'])).max():.1e}")
        for name, result in results.items()
    ]  # fmt: skip
    click.echo(f"{kind}: {n_sentences:,} sentences")
    headings = ["method", "seconds", "per second", "per CPU second", "peak MB", "tseval is faster by"]
    headings += ["largest difference"]
    click.echo(tabulate(rows, headings) + "\n")


if __name__ == "__main__":
    main()
