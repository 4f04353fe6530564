"""The check of a model's memory during scoring."""

from __future__ import annotations

import ctypes
import gc
import re
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tseval.scoring.devices import accelerator
from tseval.scoring.protocol import RecurrentModel, TokenModel
from tseval.scoring.trie import take
from tseval.testing.findings import Finding, fails, holds, not_applicable
from tseval.testing.scores import directly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from tseval.scoring.protocol import Model


# Allowed memory for each further sentence: its numbers and their records, but no network states.
KEPT = 64 * 2**10
FEWEST = 64  # sentences; with fewer, no growth is visible
BATCHES = 4  # number of batches in a quarter of the sentences; a model may briefly hold two of them
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(model: Model, sentences: Sequence[str]) -> Finding:
    """Check that memory stays within the stated limit: per row of a state, or otherwise per batch."""
    if isinstance(model, RecurrentModel):
        return _rows(model, sentences)
    if len(sentences) < FEWEST:
        return not_applicable(f"{len(sentences)} sentences are too few: {FEWEST} are needed")
    by_length = sorted(sentences, key=lambda text: len(text.split()))
    sample, all_texts = sorted(by_length[::4]), sorted(by_length)
    # The few sentences come first, so that one-time allocations are already done.
    before, after = _highest(_scoring(model, sample, sample)), _highest(_scoring(model, all_texts, sample))
    growth = max(later - earlier for later, earlier in zip(after, before, strict=True))
    per_sentence = growth / (len(all_texts) - len(sample))
    if per_sentence <= KEPT:
        return holds()
    return fails(
        f"each further sentence takes {per_sentence / 2**20:.2f} MiB (batches of one size); "
        f"at most {KEPT / 2**20:.2f} are allowed"
    )


@torch.inference_mode()
def _rows(model: RecurrentModel, sentences: Sequence[str]) -> Finding:
    """Compare `row_bytes` with the tensors of a state."""
    encoded = model.encode(pa.array(sentences[:1], pa.string()))
    state, rows = model.start(), 1
    for n_rows, token in zip((1, 3, 7), [None, *encoded.tokens.tolist()], strict=False):
        if token is not None:
            state = model.advance(take(state, np.zeros(n_rows, dtype=np.int64)), np.full(n_rows, token))
            rows = n_rows
        if any(tensor.shape[0] != rows for tensor in state):
            return fails(f"a state of {rows} rows has tensors of {[tensor.shape[0] for tensor in state]}")
        n_bytes = sum(tensor.nbytes for tensor in state) // rows
        if n_bytes > model.row_bytes:
            return fails(f"a row of a state takes {n_bytes} bytes, but `row_bytes` is {model.row_bytes}")
    return holds()


def _scoring(model: Model, sentences: Sequence[str], few: Sequence[str]) -> Callable[[], object]:
    """Return an action that scores sentences in small batches, whose size is a fraction of `few`."""
    if isinstance(model, TokenModel):
        n_tokens = len(model.encode(pa.array(few, pa.string())).tokens)
        return lambda: directly(model, sentences, batch_tokens=max(1, n_tokens // BATCHES))
    size = len(few) // BATCHES
    return lambda: [
        directly(model, sentences[start : start + size]) for start in range(0, len(sentences), size)
    ]


def _highest(action: Callable[[], object]) -> tuple[int, int]:
    """Run an action, and return the peak memory in bytes: of the process, and of the GPUs.

    If the system does not report the memory of a process (Linux does), only that of Python and numpy counts.
    """
    gc.collect()
    gpu, devices = _gpus_in_use()
    for device in devices:
        gpu.reset_peak_memory_stats(device)
    tracing = not (RESET.exists() and not tracemalloc.is_tracing())
    if tracing:
        tracemalloc.start()
        action()
        _, host = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    else:
        _give_back()
        RESET.write_text("5", "ascii")  # reset the peak to the current value
        action()
        match = re.search(r"VmHWM:\s*(\d+) kB", STATUS.read_text("utf-8", "replace"))
        host = 0 if match is None else int(match[1]) * 2**10
    return host, sum(gpu.max_memory_allocated(device) for device in devices)


def _give_back() -> None:
    """Release unused memory of Arrow and the heap, because a model could reuse it unnoticed."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only in glibc; other libraries keep less
    if trim is not None:
        trim(0)


def _gpus_in_use() -> tuple[ModuleType, range]:
    """Return torch's module for accelerators that report peak memory, and the numbers of those in use.

    Apple's GPUs do not report it. An accelerator without allocations does not count.
    """
    module: ModuleType = torch.get_device_module(accelerator() or torch.device("cpu"))
    in_use = hasattr(module, "max_memory_allocated") and module.is_initialized()
    return module, range(module.device_count() if in_use else 0)
