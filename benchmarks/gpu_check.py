"""Check that results are right on this machine's GPU, measure the speed, and write Markdown and JSON.

The check needs torch with CUDA and the dependencies of tseval, but not the boards' evidence or the tests. If
lm-eval and minicons are installed, it compares them with tseval. All programs run in one process, on the same
sentences of Marvin & Linzen (2018). The models have random weights, because speed does not depend on them.

    scores      log-probabilities on the GPU and on the CPU, for each architecture and kind of model
    output      the output layer in bfloat16, compared with float64 for the same numbers
    speed       sentences per second, of tseval and of other programs
    training    losses of recorded and of plain steps; tokens per second
    memory      scoring and training with little free memory
    commands    whole runs, with the time of their parts

If a difference is larger than rounding errors, the command prints it and exits with code 1.

    python benchmarks/gpu_check.py                                  # about 5 minutes on an H100
    python benchmarks/gpu_check.py --only speed --only training
    python benchmarks/gpu_check.py --device cpu --small --out DIR   # a rehearsal with tiny models
"""

from __future__ import annotations

import datetime
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import numpy as np
import pyarrow as pa
import torch
from hf import causal_tokenizer, even_sentences
from score import make_checkpoint, score_batch
from tabulate import tabulate
from train import WINDOWS, Around, TorchLSTM, plain_step
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

import tseval
from tseval.adapters.hf import open_causal
from tseval.adapters.native import NativeModel
from tseval.models import Vocabulary
from tseval.models.cells import CELLS
from tseval.models.checkpoint import Checkpoint, load_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.scoring.bfloat16 import NarrowMatrix
from tseval.scoring.devices import accelerator
from tseval.scoring.engine import score_all
from tseval.scoring.scorers import scorer_for
from tseval.scoring.softmax import log_normaliser
from tseval.training.corpus import Columns
from tseval.training.settings import Schedule, Settings
from tseval.training.steps import TrainingState
from tseval.verdicts import sentences_of

if TYPE_CHECKING:
    from collections.abc import Callable

# The parts, with the text above the table of each.
EXPLANATIONS = {
    "scores": (
        "Rows with *against* compare tseval with another program; both run on the GPU. All other rows "
        "compare tseval on the GPU with tseval on the CPU.\n\n"
        "In the row *verdicts*, each contrast has two verdicts, and `largest_difference` is the number of "
        "contrasts whose verdicts differ. In all other rows, two log-probabilities of each sentence are "
        "computed, and `largest_difference` is their largest difference, in nats."
    ),
    "output": (
        "The log-normaliser is the logarithm of the softmax's denominator. The table compares tseval's "
        "output layer in 16-bit numbers with the same computation in float64, in nats."
    ),
    "speed": (
        "`per_second` is the number of sentences that a program scores in a second. The LSTM scores all "
        "sentences of Marvin & Linzen. GPT-2 and Llama score 8,192 of them; in rows with *all sentences*, "
        "GPT-2 scores all.\n\n"
        "`times_the_rival` is tseval's speed divided by the speed of another program with the same model "
        "and precision. For the LSTM, the other program is a loop over padded batches in PyTorch. For the "
        "other models, it is the faster one of lm-eval and minicons, if both are measured. `peak_mb` is "
        "the largest amount of GPU memory that was used."
    ),
    "training": (
        "- *Recorded*: a CUDA graph repeats the training step. *Plain*: PyTorch starts each operation of "
        "the step separately.\n"
        "- *Layers compiled*: the number of layers that torch compiles. In float32, SRN, GRU and LSTM use "
        "PyTorch's own layers, so torch compiles none.\n"
        "- *Windows*: a window is the text of one training step.\n"
        "- *Losses*: the training is in float32. `largest_difference` is the largest difference between "
        "the losses of recorded steps and the losses of plain steps. The steps of the URN are never "
        "recorded, so its row compares plain steps with plain steps.\n"
        "- *To begin*: how many seconds the first 20 training steps take. In recorded training, tseval "
        "compiles and records the step in this time.\n"
        "- `times_nn_lstm`: the speed divided by that of `nn.LSTM`. `times_plain`: the speed divided by "
        "that of the plain step."
    ),
    "memory": (
        "Here, other data occupy most of the GPU's memory. The table compares the numbers with those from "
        "an empty GPU. In each row, the parentheses have the warnings that tseval printed; they are empty "
        "if it printed none."
    ),
    "commands": (
        "`seconds` is the time of the whole command. `parts` has the time for scoring sentences, and the "
        "time for computing verdicts."
    ),
}
PARTS = tuple(EXPLANATIONS)
TINY, VOCABULARY = (2, 64, 2), 8_000
BOTH = (torch.float32, torch.bfloat16)
# Kind, name, (layers, width, heads), vocabulary, types. The second has the sizes of SmolLM2-135M.
MODELS = (
    ("gpt2", "GPT-2 small", (12, 768, 12), 50_257, BOTH),
    ("llama", "Llama 135M", (30, 576, 9), 49_152, BOTH),
    ("llama", "Llama 1.3B", (24, 2_048, 16), 32_000, BOTH[1:]),
)
FEW_FOR_LSTM, FEW_FOR_TRANSFORMERS = 300, 64  # sentences of a rehearsal; its speeds do not matter
tokenizer_of = cache(causal_tokenizer)
PEERS = {"lm-eval": "lm_eval", "minicons": "minicons"}


@dataclass
class Page:
    """The results of the check.

    Attributes:
        device: The checked device.
        small: Whether models are tiny, for a rehearsal.
        rows: The rows of each part, as they are printed.
        failures: A line for each wrong number.
    """

    device: torch.device
    small: bool
    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, part: str, **row: object) -> None:
        """Add a row to a part, and print it."""
        self.rows.setdefault(part, []).append(row)
        click.echo(f"{part}: " + ", ".join(f"{name} {value}" for name, value in row.items()), err=True)

    def hold(self, part: str, what: str, found: float | np.floating, limit: float) -> None:
        """Add a difference that must not exceed a limit."""
        right = bool(found <= limit)  # NaN is not right
        self.add(part, what=what, largest_difference=f"{found:.1e}", limit=f"{limit:.0e}", right=right)
        if not right:
            self.failures.append(f"{part}: {what} differs by {found:.1e}, more than {limit:.0e}")

    def markdown(self) -> str:
        """Return the page as Markdown."""
        verdict = "Everything holds." if not self.failures else "\n".join(f"- **{f}**" for f in self.failures)
        meaning = "In each table, `right` is `True` if `largest_difference` is not above `limit`."
        if not self.failures:
            meaning = f"This means that no difference on this page exceeds its limit. {meaning}"
        parts = [f"# The check on {machine(self.device)}\n", verdict, "", meaning]
        if self.small:
            parts.append(
                f"\nThis is a rehearsal with tiny models and few sentences: {FEW_FOR_LSTM} for the LSTM, and "
                f"{FEW_FOR_TRANSFORMERS} for GPT-2. Sizes of models and numbers of sentences below are those "
                "of the full check."
            )
        if self.device.type == "cpu":
            parts.append("\nThe check ran on a CPU, so its speeds say nothing about a GPU.")
        for part, rows in self.rows.items():
            parts.append(f"\n## {part.capitalize()}\n\n{EXPLANATIONS[part]}\n")
            parts.append(tabulate(rows, headers="keys", tablefmt="github", disable_numparse=True))
        return "\n".join(parts) + "\n"


def machine(device: torch.device) -> str:
    """Return the device, the versions of torch and Python, and the date."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    cuda = f" + CUDA {torch.version.cuda}" if device.type == "cuda" else ""
    day = datetime.datetime.now(datetime.UTC).date()
    return f"{name}, torch {torch.__version__}{cuda}, Python {platform.python_version()}, {day}"


def tidy(device: torch.device) -> None:
    """Release unused memory, and reset the peak memory."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def timed(device: torch.device, action: Callable[[], object]) -> float:
    """Return the seconds of an action, with the work on the device."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    action()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def peak(device: torch.device) -> str:
    """Return the peak memory of the device since `tidy`, in MB."""
    return f"{torch.cuda.max_memory_allocated() / 2**20:,.0f}" if device.type == "cuda" else "–"


def spread(sentences: pa.StringArray, number: int) -> pa.StringArray:
    """Return evenly spaced sentences, or all if there are no more."""
    places = np.unique(np.linspace(0, len(sentences) - 1, min(number, len(sentences))).astype(int))
    return sentences.take(pa.array(places))


def logprobs_of(model: Any, sentences: pa.StringArray) -> np.ndarray:
    """Return the log-probabilities of sentences, (sentences,)."""
    found: np.ndarray = score_all(scorer_for(model), sentences).table["logprob"].to_numpy()
    return found


def save_causal(
    path: Path, kind: str, sizes: tuple[int, int, int], vocabulary: int, dtype: torch.dtype
) -> Path:
    """Save a GPT-2 or a Llama with random weights, and a tokenizer that knows the words of the suite."""
    layers, hidden, heads = sizes
    ids = {"bos_token_id": 0, "eos_token_id": 0, "vocab_size": vocabulary}
    torch.manual_seed(0)
    if kind == "gpt2":
        model = GPT2LMHeadModel(GPT2Config(n_layer=layers, n_embd=hidden, n_head=heads, **ids))
    else:
        shape = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
        shape |= {
            "intermediate_size": 8 * hidden // 3,
            "num_key_value_heads": heads,
            "tie_word_embeddings": True,
        }
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            model = LlamaForCausalLM(LlamaConfig(**shape, **ids))
    model.to(dtype).save_pretrained(path)
    tokenizer_of(vocabulary).save_pretrained(path)
    return path


def native(
    arch: str, vocabulary: Vocabulary, hidden: int, device: torch.device, **options: Any
) -> NativeModel:
    """Return a recurrent model of an architecture with random weights, on a device."""
    torch.manual_seed(0)
    model = LanguageModel(Sizes(arch, len(vocabulary), hidden, hidden, 2)).eval()
    return NativeModel(arch, Checkpoint(model, vocabulary, arch, {}, None), device, **options)


def check_scores(page: Page, folder: Path) -> None:
    """Compare log-probabilities of sentences on the device and on the CPU."""
    cpu, everything = torch.device("cpu"), sentences_of(tseval.load_suite("marvin_linzen"))
    sample = spread(everything, 200 if page.small else 20_000)
    for precision, limit in (("float32", 1e-4), ("bfloat16", 0.02)):
        models = [
            tseval.load_model("bundled:lstm", {"precision": precision}, where.type)
            if precision != "float32"
            else tseval.load_model("bundled:lstm", device=where.type)
            for where in (cpu, page.device)
        ]
        one, two = (logprobs_of(model, sample) for model in models)
        page.hold("scores", f"bundled:lstm, {precision}, a sentence", np.abs(one - two).max(), limit)
    runs = [
        tseval.evaluate(
            tseval.load_model("bundled:lstm", device=where.type),
            tseval.load_suite("marvin_linzen", sample=10 if page.small else 500),
        )
        for where in (cpu, page.device)
    ]
    one, two = (run.load_verdicts()["correct"].to_numpy(zero_copy_only=False) for run in runs)
    page.hold("scores", f"bundled:lstm, verdicts of {len(one):,}", float((one != two).sum()), 0)
    words = Vocabulary(
        ("<eos>", "<unk>", *sorted({w for s in sample.to_pylist() for w in s.split()})), lowercase=True
    )
    few = spread(everything, 100 if page.small else 3_000)
    for arch in CELLS:
        one, two = (
            logprobs_of(native(arch, words, 32 if page.small else 200, where), few)
            for where in (cpu, page.device)
        )
        page.hold("scores", f"{arch}, a sentence", np.abs(one - two).max(), 2e-4)
    for kind in ("gpt2", "llama"):
        path = save_causal(
            folder / f"scores-{kind}", kind, TINY if page.small else (4, 256, 4), VOCABULARY, torch.float32
        )
        one, two = (logprobs_of(open_causal(str(path), {}, where.type), few) for where in (cpu, page.device))
        page.hold("scores", f"{kind}, a sentence", np.abs(one - two).max(), 5e-4)


def check_output(page: Page, _: Path) -> None:
    """Compare the output layer in 16-bit types with float64, for the same numbers."""
    rows, hidden, vocabulary = (64, 32, 1_000) if page.small else (2_048, 768, 50_257)
    torch.manual_seed(0)
    states = torch.randn(rows, hidden, device=page.device)
    weight = torch.randn(vocabulary, hidden, device=page.device) / hidden**0.5 * 3
    for dtype in (torch.bfloat16, torch.float16)[: 2 if page.device.type == "cuda" else 1]:
        low, matrix = states.to(dtype), weight.to(dtype)
        found = log_normaliser(low.float(), NarrowMatrix(matrix), None).double()
        expected = torch.logsumexp(low.double() @ matrix.double().t(), 1)
        name = f"log-normaliser, {str(dtype).removeprefix('torch.')}"
        page.hold("output", name, float((found - expected).abs().max()), 1e-3)


def speed_of(
    page: Page, what: str, n: int, action: Callable[[], object], rival: float | None = None
) -> float:
    """Measure twice, and return the sentences per second of the faster time."""
    tidy(page.device)
    rate = n / min(timed(page.device, action) for _ in range(2))
    ratio = "" if rival is None else f"{rate / rival:.1f}"
    page.add("speed", what=what, per_second=f"{rate:,.0f}", times_the_rival=ratio, peak_mb=peak(page.device))
    return rate


def measure_speed(page: Page, folder: Path) -> None:
    """Measure the speed of scoring, also of other programs."""
    path, device = folder / "lstm.pt", page.device
    make_checkpoint(path, *((2_000, 32, 32, 2) if page.small else (50_000, 650, 650, 2)))
    sentences = sentences_of(tseval.load_suite("marvin_linzen"))
    sentences = spread(sentences, FEW_FOR_LSTM) if page.small else sentences
    for precision in ("float32", "bfloat16"):
        lstm = NativeModel("lstm", load_checkpoint(path), device, precision)
        logprobs_of(lstm, sentences.slice(0, 16_384))
        rival = padded_lstm(page, lstm, sentences, precision)
        score = partial(logprobs_of, lstm, sentences)
        speed_of(page, f"LSTM 2×650, V = 50,000, {precision}", len(sentences), score, rival)
    del lstm, score
    texts = even_sentences(FEW_FOR_TRANSFORMERS if page.small else 8_192)
    strings = pa.array(texts, pa.string())
    for kind, name, sizes, vocabulary, types in MODELS[: 1 if page.small else None]:
        for dtype in types:
            short, what = str(dtype).removeprefix("torch."), f"{name}, {str(dtype).removeprefix('torch.')}"
            shape = (TINY, VOCABULARY) if page.small else (sizes, vocabulary)
            path = save_causal(folder / f"{name}-{short}", kind, *shape, dtype)
            peer = fastest_peer(page, what, path, texts, short)
            model = open_causal(str(path), {"dtype": short}, device.type)
            logprobs_of(model, strings)
            speed_of(page, what, len(texts), partial(logprobs_of, model, strings), peer)
            if kind == "gpt2" and not page.small:
                score = partial(logprobs_of, model, sentences)
                speed_of(page, f"{what}, all sentences", len(sentences), score)
            del model


def padded_lstm(page: Page, model: NativeModel, sentences: pa.StringArray, precision: str) -> float:
    """Measure scoring with the fused layers, in padded batches of 1,024 sentences sorted by length."""
    encoded = model.encode(sentences)
    order = np.argsort(encoded.lengths, kind="stable")
    ids = [[0, *one.tolist()] for one in np.split(encoded.tokens, np.cumsum(encoded.lengths)[:-1])]
    rows = [ids[i] for i in order]
    starts = np.linspace(0, max(0, len(rows) - 1_024), 2 if page.small else 24).astype(int)
    batches = [rows[start : start + 1_024] for start in starts]
    low = precision == "bfloat16"

    def score() -> None:
        with torch.device(page.device), torch.autocast(page.device.type, torch.bfloat16, enabled=low):
            for batch in batches:
                score_batch(cast("LanguageModel", model.model), batch)

    score()
    return speed_of(page, f"  padded batches, {precision}", sum(map(len, batches)), score)


def fastest_peer(page: Page, what: str, path: Path, texts: list[str], dtype: str) -> float | None:
    """Measure and compare lm-eval and minicons, if they are installed; return the speed of the faster one."""
    speeds = []
    strings = pa.array(texts, pa.string())
    ours = logprobs_of(open_causal(str(path), {"dtype": dtype, "bos": "true"}, page.device.type), strings)
    for name, module in PEERS.items():
        if not find_spec(module) or (name == "minicons" and (dtype != "float32" or "GPT" not in what)):
            continue
        score = (peer_lm_eval if name == "lm-eval" else peer_minicons)(str(path), page, dtype)
        score(texts[:512])
        speeds.append(speed_of(page, f"  {name}: {what}", len(texts), partial(score, texts)))
        difference = np.abs(np.array(score(texts)) - ours).max()
        if dtype == "float32":
            page.hold("scores", f"{what} against {name}, a sentence", difference, 1e-3)
        del score
    return max(speeds, default=None)


def peer_lm_eval(path: str, page: Page, dtype: str) -> Callable[[list[str]], list[float]]:
    """Return a function that scores with lm-evaluation-harness, in batches of 512."""
    from lm_eval.api.instance import Instance  # noqa: PLC0415  compared only where it is
    from lm_eval.models.huggingface import HFLM  # noqa: PLC0415

    size = 16 if page.small else 512
    model = HFLM(path, device=page.device.type, dtype=dtype, softmax_dtype="float32", batch_size=size)

    def score(texts: list[str]) -> list[float]:
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=0) for text in texts
        ]
        return [one for one, _ in model.loglikelihood(requests, disable_tqdm=True)]

    return score


def peer_minicons(path: str, page: Page, _: str) -> Callable[[list[str]], list[float]]:
    """Return a function that scores with minicons, in batches of 512, shortest first."""
    from minicons.scorer import IncrementalLMScorer  # noqa: PLC0415  compared only where it is

    model = IncrementalLMScorer(path, device=page.device.type, dtype=torch.float32)

    def score(texts: list[str]) -> list[float]:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i].split()))
        found = np.empty(len(texts))
        for first in range(0, len(order), 512):
            some = order[first : first + 512]
            found[some] = model.sequence_score(
                [texts[i] for i in some], reduction=lambda row: row.sum().item(), bos_token=True
            )
        return found.tolist()

    return score


def text_of(vocabulary: int, settings: Settings, windows: int) -> torch.Tensor:
    """Draw words by Zipf's law, (time, batch)."""
    torch.manual_seed(0)
    often = 1 / (torch.arange(vocabulary) + 5.0)
    n_words = (windows * settings.window + 1) * settings.batch
    return torch.multinomial(often, n_words, replacement=True).view(-1, settings.batch)


def state_of(
    page: Page, arch: str, precision: str, graph: bool, dropout: float, windows: int
) -> TrainingState:
    """Prepare a training: 650 units, 50,000 words, batches of 64 columns."""
    hidden, vocabulary = (32, 500) if page.small else (650, 50_000)
    settings = Settings(batch=8 if page.small else 64, window=35, precision=precision, epochs=1)  # type: ignore[arg-type]
    text = text_of(vocabulary, settings, windows)
    torch.manual_seed(0)
    model = LanguageModel(Sizes(arch, vocabulary, hidden, hidden, 2, dropout)).to(page.device).train()
    return TrainingState(model, Schedule(settings, Columns(text, settings.window)), graph=graph)


def check_training(page: Page, _: Path) -> None:
    """Compare recorded steps with plain ones, and measure both and nn.LSTM."""
    n = 6 if page.small else 12
    for arch in ("lstm", "drnn") if page.small else CELLS:
        losses = []
        for graph in (False, True):
            state = state_of(page, arch, "float32", graph, 0.0, n)
            for _window in range(n):
                state.advance()
            losses.append(torch.stack(state._unread)[:, 0].double().cpu())
            how = what_step(state)
            del state
            tidy(page.device)
        page.hold(
            "training",
            f"{arch}: losses of {n} windows, {how}",
            float((losses[0] - losses[1]).abs().max()),
            2e-3,
        )
    rival = measure_training(page, "nn.LSTM", None)
    for arch in ("lstm",) if page.small else ("lstm", "drnn", "onlstm"):
        plain = measure_training(page, arch, rival, graph=False)
        measure_training(page, arch, rival, graph=True, plain=plain)


def what_step(state: TrainingState) -> str:
    """Return a text: whether a step was recorded, and how many layers were compiled."""
    learner = state.learner
    return f"{'recorded' if learner.graph else 'plain'}, {learner.n_fused} layers compiled"


def measure_training(
    page: Page, arch: str, rival: float | None, graph: bool = False, plain: float | None = None
) -> float:
    """Return the tokens per second of training in bfloat16. The first windows do not count."""
    tidy(page.device)
    windows, how = (6 if page.small else 60), "plain"
    if arch == "nn.LSTM":
        hidden, vocabulary = (32, 500) if page.small else (650, 50_000)
        settings = Settings(batch=8 if page.small else 64, window=35, precision="bfloat16", epochs=1)
        sizes = Sizes("lstm", vocabulary, hidden, hidden, 2, 0.2)
        model = Around(sizes, TorchLSTM(sizes)).to(page.device).train()
        schedule = Schedule(settings, Columns(text_of(vocabulary, settings, WINDOWS), settings.window))
        step = plain_step(model, schedule, torch.bfloat16)
        for _ in range(windows // 3):
            step()
        seconds = timed(page.device, lambda: [step() for _ in range(windows)])
    else:
        state = state_of(page, arch, "bfloat16", graph, 0.2, 3 * windows)
        settings = state.settings
        began = time.perf_counter()
        for _ in range(windows // 3):
            state.advance()
        state.read_losses()
        prepared = time.perf_counter() - began
        seconds = timed(page.device, lambda: [state.advance() for _ in range(windows)])
        how = f"{what_step(state)}, {prepared:.0f} s to begin"
    rate = windows * settings.batch * settings.window / seconds
    page.add(
        "training", what=f"{arch}, bfloat16", tokens_per_second=f"{rate:,.0f}", how=how,
        times_nn_lstm="" if rival is None else f"{rate / rival:.2f}",
        times_plain="" if plain is None else f"{rate / plain:.1f}", peak_mb=peak(page.device),
    )  # fmt: skip
    return rate


def check_memory(page: Page, folder: Path) -> None:
    """Check scoring and training with little free memory on the device."""
    if page.device.type != "cuda":
        return
    path = save_causal(folder / "memory", "gpt2", (12, 768, 12), 50_257, torch.float32)
    sentences = spread(sentences_of(tseval.load_suite("marvin_linzen")), 20_000)
    model = open_causal(str(path), {}, "cuda")
    expected = logprobs_of(model, sentences)
    taken = all_but(500, page.device)
    scorer = scorer_for(model)
    found = score_all(scorer, sentences).table["logprob"].to_numpy()
    said = "; ".join(scorer.warnings)
    page.hold("memory", f"scores with 500 MB free ({said})", np.abs(found - expected).max(), 5e-4)
    if "out of memory" not in said:
        page.failures.append("memory: nothing ran out of memory, so that nothing was tried")
    del taken, model, scorer
    losses = []
    for short in (False, True):
        state = state_of(page, "lstm", "float32", graph=False, dropout=0.0, windows=6)
        state.advance()
        taken = all_but(200, page.device) if short else torch.empty(0)
        for _ in range(5):
            state.advance()
        losses.append(torch.stack(state._unread)[:, 0].double().cpu())
        notes = "; ".join(state.learner.notes)
        del state, taken
    worst = float((losses[0] - losses[1]).abs().max())
    page.hold("memory", f"losses with 200 MB free ({notes})", worst, 2e-3)
    if "memory ran out" not in notes:
        page.failures.append("memory: no window was learnt from in parts, so that nothing was tried")


def all_but(megabytes: int, device: torch.device) -> torch.Tensor:
    """Allocate all memory of a device except some megabytes."""
    tidy(device)
    return torch.empty(torch.cuda.mem_get_info()[0] - megabytes * 2**20, dtype=torch.uint8, device=device)


def run_commands(page: Page, folder: Path) -> None:
    """Measure whole commands, and read the time of their parts from the manifest."""
    shape = (TINY, VOCABULARY) if page.small else ((12, 768, 12), 50_257)
    path = save_causal(folder / "gpt2", "gpt2", *shape, torch.float32)
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    for what in ("bundled:lstm", f"hf:{path}"):
        out = folder / what.partition(":")[0]
        command = [sys.executable, "-m", "tseval", "run", "--model", what, "--suite", "marvin_linzen"]
        command += ["--device", page.device.type, "--out", str(out), "--quiet"]
        command += ["--limit", "3"] if page.small else []
        began = time.perf_counter()
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        seconds = time.perf_counter() - began
        if result.returncode:
            page.failures.append(f"commands: {what} ended with {result.returncode}: {result.stderr[-300:]}")
            continue
        timings = json.loads(next(out.rglob("manifest.json")).read_text())["timings"]
        page.add(
            "commands",
            what=f"tseval run --model {what.partition(':')[0]}:…",
            seconds=f"{seconds:.1f}",
            parts=json.dumps(timings),
        )


WORK = {
    "scores": check_scores,
    "output": check_output,
    "speed": measure_speed,
    "training": check_training,
    "memory": check_memory,
    "commands": run_commands,
}


@click.command(help=__doc__)
@click.option("--device", "name", default="auto", show_default=True)
@click.option("--small", is_flag=True, help="Use tiny models, for a rehearsal.")
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="Run only this part; may be repeated.")
@click.option("--out", default=Path("docs/gpu"), type=click.Path(path_type=Path), show_default=True)
def main(name: str, small: bool, only: tuple[str, ...], out: Path) -> None:
    """Write the page."""
    device = accelerator() if name == "auto" else torch.device(name)
    if device is None:
        click.echo("gpu-check: torch reports no accelerator on this machine; nothing was checked", err=True)
        sys.exit(2)
    page = Page(torch.device(device.type), small)
    out.mkdir(parents=True, exist_ok=True)
    seconds = {}
    for part in only or PARTS:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            try:
                WORK[part](page, Path(folder))
            except Exception:  # the other parts still have results
                page.failures.append(f"{part}: {traceback.format_exc().strip()}")
        tidy(device)
        seconds[part] = round(time.perf_counter() - began, 1)
        (out / "check.md").write_text(page.markdown(), "utf-8")
        found = {
            "machine": machine(device),
            "seconds": seconds,
            "parts": page.rows,
            "failures": page.failures,
        }
        (out / "check.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    click.echo(page.markdown())
    for failure in page.failures:
        click.echo(failure, err=True)
    sys.exit(1 if page.failures else 0)


if __name__ == "__main__":
    main()
