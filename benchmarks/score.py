"""Compare the speed of the prefix-trie engine with other methods, for one model and the same sentences.

The methods score Marvin & Linzen (2018):

    syneval  one sentence after the other, with all that LM_syneval computes: the sentence's mean loss, each
             word's surprisal and the entropy of the prediction, with recorded gradients
    one      one sentence after the other, with only one forward pass and one log-softmax
    padded   batches of 64 distinct sentences sorted by length, fused layers, log-sum-exp
    trie     the engine of tseval
    bfloat16 the same with --precision bfloat16

The model has random weights, because speed does not depend on them. `trie` and `bfloat16` score every
sentence, or evenly spaced shards. The others would take minutes to hours, so they score evenly spaced
sentences or batches of the length-sorted suite. All log-probabilities are compared with those of `trie`.
Every method runs in a separate process, to get its peak memory.

    python benchmarks/score.py                       # LSTM, embedding 200, hidden 650, 10,000 words
    python benchmarks/score.py --vocabulary 50000
    python benchmarks/score.py --vocabulary 50000 --threads 1 --shards 3 --sample 64    # in three minutes
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pyarrow as pa
import torch
from tabulate import tabulate
from torch.nn import functional as F

import tseval
from tseval.adapters.native import NativeModel, ScoringPrecision
from tseval.models import Vocabulary
from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.scoring import engine, scorers, trie
from tseval.scoring.scorers import scorer_for
from tseval.verdicts import sentences_of

if TYPE_CHECKING:
    from collections.abc import Callable

PADDED_BATCH = 64
METHODS = ("syneval", "one", "padded", "trie", "bfloat16")


def make_checkpoint(path: Path, vocabulary: int, embedding: int, hidden: int, layers: int) -> None:
    """Save an LSTM with random weights, for the suite's words and invented ones."""
    words = {
        word for text in sentences_of(tseval.load_suite("marvin_linzen")).to_pylist() for word in text.split()
    }
    padding = (f"word{i}" for i in range(vocabulary - len(words) - 2))
    torch.manual_seed(0)
    model = LanguageModel(Sizes("lstm", vocabulary, embedding, hidden, layers))
    words_by_id = Vocabulary(("<eos>", "<unk>", *sorted(words), *padding), lowercase=True)
    save_checkpoint(path, model, words_by_id, training={}, validation_perplexity=None)


def by_length(native: NativeModel) -> tuple[pa.StringArray, np.ndarray, Callable[[int], list[int]]]:
    """Return the suite's distinct sentences, their order by length, and a function for the ids of one.

    The ids begin with `<eos>`.
    """
    sentences = sentences_of(tseval.load_suite("marvin_linzen"))
    encoded = native.encode(sentences)
    ends = np.cumsum(encoded.lengths)

    def ids(number: int) -> list[int]:
        return [0, *encoded.tokens[ends[number] - encoded.lengths[number] : ends[number]].tolist()]

    return sentences, np.argsort(encoded.lengths, kind="stable"), ids


@torch.inference_mode()
def score_batch(model: LanguageModel, rows: list[list[int]]) -> list[float]:
    """Score sentences in one padded batch with the model's own fused forward pass."""
    width = max(map(len, rows))
    words = torch.tensor([row + [0] * (width - len(row)) for row in rows]).t()
    outputs, _ = model(words[:-1], model.initial_state(len(rows)))
    logits = model.logits(outputs)
    chosen = logits.gather(2, words[1:, :, None]).squeeze(2) - logits.logsumexp(2)
    real = torch.arange(width - 1)[:, None] < torch.tensor([len(row) - 1 for row in rows])
    return torch.where(real, chosen, 0.0).double().sum(0).tolist()


@torch.inference_mode()
def score_one(model: LanguageModel, row: list[int]) -> float:
    """Score one sentence in one forward pass, with the whole log-softmax."""
    words = torch.tensor(row)
    outputs, _ = model(words[:-1, None], model.initial_state(1))
    table = torch.log_softmax(model.logits(outputs[:, 0]), dim=1)
    return sum(table[position, word].item() for position, word in enumerate(row[1:]))


def score_as_syneval(model: LanguageModel, row: list[int]) -> float:
    """Score one sentence with the work of LM_syneval's test program (Marvin & Linzen 2018).

    That program also computes the sentence's mean loss, and for each word two softmaxes for the entropy of
    the prediction and one for the surprisal. Then it picks the surprisal of the word. In old versions of
    PyTorch, its `volatile` inputs switched gradients off. Since 0.4 they do nothing, so the program records
    gradients that it never uses. This function does the same.
    """
    words = torch.tensor([*row, row[0]])  # it also reads the final period and predicts a closing <eos>
    outputs, _ = model(words[:-1, None], model.initial_state(1))
    logits = model.logits(outputs[:, 0])
    F.cross_entropy(logits, words[1:]).item()
    entropies = [-(torch.softmax(word, 0) * torch.log_softmax(word, 0)).sum() for word in logits]
    surprisals = [-torch.log_softmax(word, 0) for word in logits]
    assert len(torch.stack(entropies)) == len(surprisals)
    return -sum(surprisal[word].item() for surprisal, word in zip(surprisals, row[1:], strict=False))


def open_native(checkpoint: Path, precision: ScoringPrecision = "float32") -> NativeModel:
    """Open the checkpoint as `tseval run` does."""
    return NativeModel(checkpoint.stem, load_checkpoint(checkpoint), torch.device("cpu"), precision)


def measure(method: str, checkpoint: Path, sample: int, n_shards: int) -> dict[str, object]:
    """Run one method, and return its number of sentences, its times and log-probabilities."""
    if method == "bfloat16":
        return measure_trie(open_native(checkpoint, "bfloat16"), n_shards)
    native = open_native(checkpoint)
    if method == "trie":
        return measure_trie(native, n_shards)
    sentences, order, ids = by_length(native)
    if method != "padded":
        chosen = [[i] for i in order[np.linspace(0, len(order) - 1, sample).astype(int)]]
    else:
        starts = np.linspace(0, len(order) - PADDED_BATCH, max(2, 4 * sample // PADDED_BATCH)).astype(int)
        chosen = [[*order[start : start + PADDED_BATCH]] for start in starts]
    score = {
        "syneval": lambda model, rows: [score_as_syneval(model, rows[0])],
        "one": lambda model, rows: [score_one(model, rows[0])],
        "padded": score_batch,
    }[method]
    scores: list[float] = []
    model: Any = native.model  # a language model, no classifier
    score_batch(model, [*map(ids, order[:PADDED_BATCH])])  # the first products of a process are slow
    batches = [[*map(ids, batch)] for batch in chosen]
    started, cpu = time.perf_counter(), time.process_time()
    for rows in batches:
        scores += score(model, rows)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    picked = [i for batch in chosen for i in batch]
    return {
        "sentences": len(picked),
        "seconds": seconds,
        "cpu": cpu,
        "scores": {sentences[int(i)].as_py(): score for i, score in zip(picked, scores, strict=True)},
    }


def measure_trie(native: NativeModel, n_shards: int) -> dict[str, object]:
    """Run the engine on the whole suite or on some shards, and measure the time of its parts."""
    spent: dict[str, float] = {}
    timed(native, "encode", spent, "encode")
    timed(native, "advance", spent, "cell")
    timed(native, "logprobs", spent, "head")
    timed(scorers, "build_trie", spent, "trie")
    timed(trie, "take", spent, "gather")
    timed(scorers, "rows_of_words", spent, "table")
    parts = engine.shards(sentences_of(tseval.load_suite("marvin_linzen")))
    if n_shards:
        parts = [parts[i] for i in np.linspace(0, len(parts) - 1, n_shards).astype(int)]
    scorer = scorer_for(native)
    scorer.score(parts[0].slice(0, PADDED_BATCH))
    spent.clear()
    before = scorer.n_contexts
    started, cpu = time.perf_counter(), time.process_time()
    scored = pa.concat_tables([scorer.score(part) for part in parts])
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {
        "sentences": len(scored),
        "seconds": seconds,
        "cpu": cpu,
        "contexts": scorer.n_contexts - before,
        "parts": {**spent, "everything else": seconds - sum(spent.values())},
        "scores": dict(zip(scored["sentence"].to_pylist(), scored["logprob"].to_pylist(), strict=True)),
    }


def timed(owner: object, name: str, spent: dict[str, float], part: str) -> None:
    """Replace a function by one that also adds its time to `spent`."""
    inner = getattr(owner, name)

    def outer(*arguments: object, **named: object) -> object:
        started = time.perf_counter()
        result = inner(*arguments, **named)
        spent[part] = spent.get(part, 0.0) + time.perf_counter() - started
        return result

    setattr(owner, name, outer)


def share_of_products(checkpoint: Path) -> float:
    """Return the share of the engine's time in matrix products, on two shards."""
    native = open_native(checkpoint)
    parts = engine.shards(sentences_of(tseval.load_suite("marvin_linzen")))
    scorer = scorer_for(native)
    scorer.score(parts[0].slice(0, 500))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        started = time.perf_counter()
        for part in (parts[2], parts[len(parts) // 2]):
            scorer.score(part)
        seconds = time.perf_counter() - started
    products = {"aten::mm", "aten::addmm", "aten::addmm_", "aten::bmm", "mkldnn::_linear_pointwise"}
    inside = sum(row.self_cpu_time_total for row in profile.key_averages() if row.key in products)
    return inside / 1e6 / seconds


def child(method: str, checkpoint: Path, sample: int, shards: int, threads: int) -> dict[str, Any]:
    """Measure one method in a separate process."""
    command = [sys.executable, __file__, "--child", method, "--checkpoint", str(checkpoint)]
    command += ["--sample", str(sample), "--shards", str(shards), "--threads", str(threads)]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    content: dict[str, Any] = json.loads(result.stdout)
    return content


@click.command()
@click.option("--vocabulary", default=10_000, show_default=True)
@click.option("--embedding", default=200, show_default=True)
@click.option("--hidden", default=650, show_default=True)
@click.option("--layers", default=2, show_default=True)
@click.option("--sample", default=1_000, show_default=True, help="Sentences that are scored one at a time.")
@click.option("--shards", default=0, help="Number of shards to score, evenly spaced (0: all).")
@click.option("--threads", default=torch.get_num_threads(), show_default=True)
@click.option("--child", "method", hidden=True)
@click.option("--checkpoint", type=click.Path(path_type=Path), hidden=True)
def main(
    vocabulary: int, embedding: int, hidden: int, layers: int, sample: int, shards: int, threads: int,
    method: str | None, checkpoint: Path | None,
) -> None:  # fmt: skip
    """Print sentences per second, peak memory and ratios."""
    torch.set_num_threads(threads)
    if method and checkpoint:
        result = (
            {"share": share_of_products(checkpoint)}
            if method == "profile"
            else measure(method, checkpoint, sample, shards)
        )
        result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        click.echo(json.dumps(result))
        return
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "lstm.pt"
        make_checkpoint(checkpoint, vocabulary, embedding, hidden, layers)
        results = {name: child(name, checkpoint, sample, shards, threads) for name in METHODS}
        share = child("profile", checkpoint, sample, shards, threads)["share"]
    report(results, share)


def report(results: dict[str, dict], share: float) -> None:
    """Print the results."""
    speeds = {name: result["sentences"] / result["seconds"] for name, result in results.items()}
    rows = [
        (name, f"{result['sentences']:,}", f"{result['seconds']:.1f}", f"{speeds[name]:,.0f}",
         f"{result['sentences'] / result['cpu']:,.0f}", f"{result['peak_mb']:,.0f}",
         f"{speeds['trie'] / speeds[name]:.1f}")
        for name, result in results.items()
    ]  # fmt: skip
    headings = [
        "method",
        "sentences",
        "seconds",
        "per second",
        "per CPU second",
        "peak MB",
        "trie is faster by",
    ]
    click.echo(tabulate(rows, headings))
    trie = results["trie"]
    for name in METHODS:
        scores = results[name]["scores"].items()
        pairs = [(score, trie["scores"][text]) for text, score in scores if text in trie["scores"]]
        if name == "trie" or not pairs:
            continue
        worst = max(abs(a - b) for a, b in pairs)
        click.echo(
            f"largest difference of a sentence's log-probability, {name} against trie: {worst:.1e} nats"
        )
    for name in ("trie", "bfloat16"):
        found = results[name]
        parts = ", ".join(f"{part} {took / found['seconds']:.1%}" for part, took in found["parts"].items())
        click.echo(f"{found['contexts']:,} contexts; time of {name}: {parts}")
    gained = trie["cpu"] / results["bfloat16"]["cpu"]
    click.echo(f"bfloat16 takes {gained:.2f} times less CPU time than float32")
    click.echo(f"of trie inside matrix products: {share:.0%}")


if __name__ == "__main__":
    main()
