"""Compare the training speed of the recurrent cells with other programs, at the same sizes and on one text.

The architectures of tseval are compared with:

    nn.LSTM  a plain program with torch's own layer, in float32 and in bfloat16 (autocast): all recurrent
             layers in one call, logits of a whole window, torch's cross-entropy
    loop     tseval's training with the Decay RNN as a plain loop over words and layers: a Linear each for
             input and state, and ReLU(W) D computed again for every word
    before   another checkout of tseval, in separate processes (--before DIR)

`core` is the forward and backward pass of the recurrent layers only, on random word vectors. `step` is a
whole training step: embedding, layers, dropout, output layer and loss, gradients, clipping, Adam. Each
repetition measures every program once, so that other load affects all equally. The median of the repetitions
is printed, in tokens per second of CPU time (on a GPU, of wall-clock time). Words are drawn by Zipf's law.
This makes the URN faster, because its first layer computes each distinct word once.

    python benchmarks/train.py                                  # embedding 200, hidden 650, 10,797 words
    python benchmarks/train.py --hidden 200 --batch 32 --precision bfloat16 --before ../tseval-0.1
    python benchmarks/train.py --device cuda --vocabulary 50000 --compile
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import click
import torch
from tabulate import tabulate
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells import CELLS
from tseval.models.network import LanguageModel, Sizes
from tseval.training.corpus import Columns
from tseval.training.language_model import compile_loops
from tseval.training.settings import Schedule, Settings
from tseval.training.steps import TrainingState, product_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.models.cells.cell import State

WINDOWS = 2  # timed at once
PLAIN = {"nn.LSTM float32": torch.float32, "nn.LSTM bfloat16": torch.bfloat16}
LOOP = "loop"


class TorchLSTM(nn.Module):
    """Torch's LSTM with all its layers in one call, dropout between them."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.hidden, self.layers = sizes.hidden, sizes.layers
        self.lstm = nn.LSTM(sizes.embedding, sizes.hidden, sizes.layers, dropout=sizes.dropout)

    def initial_state(self, batch: int) -> State:
        """Return zeros, two tensors of (layers, batch, hidden)."""
        zeros = next(self.lstm.parameters()).new_zeros(self.layers, batch, self.hidden)
        return zeros, zeros

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window, (time, batch, embedding)."""
        return self.lstm(x, state)


class LoopDecayRNN(nn.Module):
    """The Decay RNN word by word and layer by layer, with all computed again for every word.

    c_t = (ReLU(W) D) h_{t-1} + U x_t + b
    h_t = tanh(α h_{t-1} + (1 - α) c_t)

    Source: Bhatt et al. 2020, section 4.
    """

    dale: Tensor
    states: Any  # a list of nn.Linear

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        widths = [sizes.embedding, *[sizes.hidden] * (sizes.layers - 1)]
        self.inputs = nn.ModuleList(nn.Linear(width, sizes.hidden) for width in widths)
        self.states = nn.ModuleList(nn.Linear(sizes.hidden, sizes.hidden, bias=False) for _ in widths)
        self.decays = nn.ParameterList(torch.tensor(0.8) for _ in widths)
        signs = torch.ones(sizes.hidden)
        signs[sizes.hidden - sizes.hidden // 5 :] = -1
        self.register_buffer("dale", torch.diag(signs))
        self.hidden, self.dropout = sizes.hidden, sizes.dropout

    def initial_state(self, batch: int) -> State:
        """Return zeros, one tensor of (batch, hidden) for each layer."""
        return tuple(self.dale.new_zeros(batch, self.hidden) for _ in self.inputs)

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window, (time, batch, embedding)."""
        outputs, states = [], list(state)
        for word in x:
            below = word
            for layer, (read, recall) in enumerate(zip(self.inputs, self.states, strict=True)):
                weight = recall.weight.relu() @ self.dale
                drive = read(below) + F.linear(states[layer], weight)
                alpha = self.decays[layer].sigmoid()
                states[layer] = torch.tanh(alpha * states[layer] + (1 - alpha) * drive)
                below = F.dropout(states[layer], self.dropout, self.training)
            outputs.append(states[-1])
        return torch.stack(outputs), tuple(states)


class Around(nn.Module):
    """The language model of tseval around other recurrent layers."""

    cells = ()  # tseval's training uses special methods of its own cells, which these layers lack

    def __init__(self, sizes: Sizes, core: TorchLSTM | LoopDecayRNN) -> None:
        super().__init__()
        self.core, self.dropout = core, sizes.dropout
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.embedding)
        self.output = nn.Linear(sizes.hidden, sizes.vocabulary)

    def initial_state(self, batch: int) -> State:
        """Return the initial state of the core."""
        return self.core.initial_state(batch)

    def forward(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window, (time, batch)."""
        x = F.dropout(self.embedding(words), self.dropout, self.training)
        x, state = self.core(x, state)
        return F.dropout(x, self.dropout, self.training), state


@dataclass
class Contender:
    """A language model in training, and the speeds of its parts.

    Attributes:
        name: Architecture or baseline.
        sizes: The sizes of the model.
        core: Runs the recurrent layers forward and backward over one window.
        step: Trains on one window.
        speeds: Tokens per second of each repetition, for `core` and `step`.
    """

    name: str
    sizes: Sizes
    core: Callable[[], None]
    step: Callable[[], None]
    speeds: dict[str, list[float]] = field(default_factory=lambda: {"core": [], "step": []})

    def speed(self, part: str) -> float:
        """Return the median of the repetitions."""
        return statistics.median(self.speeds[part])


def contender(name: str, sizes: Sizes, settings: Settings, device: torch.device) -> Contender:
    """Return a model with the functions to measure."""
    torch.manual_seed(0)
    model: Any  # a language model or a baseline
    if name in PLAIN or name == LOOP:
        model = Around(sizes, TorchLSTM(sizes) if name in PLAIN else LoopDecayRNN(sizes))
    else:
        model = LanguageModel(sizes)
        if settings.compiled:
            compile_loops(model)
    model.to(device).train()
    often = 1 / (torch.arange(sizes.vocabulary) + 5.0)
    n_words = (WINDOWS * settings.window + 1) * settings.batch
    text = torch.multinomial(often, n_words, replacement=True).view(-1, settings.batch)
    schedule = Schedule(settings, Columns(text, settings.window))
    low = PLAIN.get(name, getattr(torch, settings.precision))
    step = plain_step(model, schedule, low) if name in PLAIN else TrainingState(model, schedule).advance
    x = torch.randn(settings.window, settings.batch, sizes.embedding, device=device, requires_grad=True)

    def core() -> None:
        with torch.autocast(device.type, low, enabled=low is not torch.float32):
            outputs = read(model, x, model.initial_state(settings.batch))
        outputs.float().sum().backward()
        model.zero_grad()
        x.grad = None

    return Contender(name, sizes, core, step)


def plain_step(model: Around, schedule: Schedule, low: torch.dtype) -> Callable[[], None]:
    """Return a training step of a plain program: all under autocast, all logits of a window together."""
    optimiser = torch.optim.Adam(model.parameters(), fused=True)
    device, settings, count = model.output.weight.device, schedule.settings, itertools.count()
    state = model.initial_state(settings.batch)

    def step() -> None:
        nonlocal state
        window = schedule.text.read(next(count) % WINDOWS, device)
        with torch.autocast(device.type, low, enabled=low is not torch.float32):
            outputs, after = model(window.words, state)
            loss = F.cross_entropy(model.output(outputs.flatten(0, 1)), window.targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimiser.step()
        optimiser.zero_grad()
        state = tuple(tensor.detach().float() for tensor in after)

    return step


def read(model: Around | LanguageModel, x: Tensor, state: State) -> Tensor:
    """Return the outputs of the recurrent layers, without dropout around them."""
    if isinstance(model, Around):
        return model.core(x, state)[0]
    for cell in model.cells:
        before, state = state[: cell.n_states], state[cell.n_states :]
        x, _ = cell(x, before)
    return x


def measure(contenders: list[Contender], settings: Settings, repeats: int, before: Before | None) -> None:
    """Measure every contender once per repetition, after one round that does not count."""
    for repeat in range(-1, repeats):
        for one in contenders:
            for part, work in (("core", one.core), ("step", one.step)):
                seconds = timed(work)
                if repeat >= 0:
                    one.speeds[part].append(WINDOWS * settings.window * settings.batch / seconds)
            click.echo(f"round {repeat + 1} of {repeats}: {one.name:20}", err=True)
        if before is not None and repeat >= 0:
            before.measure()


def timed(work: Callable[[], None]) -> float:
    """Return the seconds of WINDOWS windows: CPU time, or wall-clock time on a GPU."""
    cuda = torch.cuda.is_available()
    clock = time.perf_counter if cuda else time.process_time
    if cuda:
        torch.cuda.synchronize()
    started = clock()
    for _ in range(WINDOWS):
        work()
    if cuda:
        torch.cuda.synchronize()
    return clock() - started


@dataclass
class Before:
    """The same measurements of another checkout.

    Attributes:
        checkout: Folder of the checkout.
        arguments: Arguments for this program.
        speeds: Tokens per second of whole steps in each repetition, by architecture.
    """

    checkout: str
    arguments: list[str]
    speeds: dict[str, list[float]] = field(default_factory=dict)

    def measure(self) -> None:
        """Measure once, in a process that imports tseval from the checkout."""
        command = [sys.executable, __file__, *self.arguments, "--repeats", "1", "--only-steps"]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": self.checkout}, check=True,
                              stdout=subprocess.PIPE)  # fmt: skip
        for name, speed in json.loads(done.stdout).items():
            self.speeds.setdefault(name, []).append(speed)


@click.command()
@click.option("--vocabulary", default=10_797, show_default=True)
@click.option("--embedding", default=200, show_default=True)
@click.option("--hidden", default=650, show_default=True)
@click.option(
    "--urn-hidden",
    default=32,
    show_default=True,
    help="Units of the URN; its time grows with the third power.",
)
@click.option("--layers", default=2, show_default=True)
@click.option("--batch", default=128, show_default=True)
@click.option("--window", default=35, show_default=True)
@click.option("--dropout", default=0.2, show_default=True)
@click.option("--precision", type=click.Choice(["float32", "bfloat16"]), default="float32", show_default=True)
@click.option("--device", default="cpu", show_default=True)
@click.option("--threads", default=1, show_default=True)
@click.option("--compile", "compiled", is_flag=True, help="Compile the loops of tseval's cells.")
@click.option(
    "--arch",
    "archs",
    type=click.Choice(list(CELLS)),
    multiple=True,
    help="Run only this one; may be repeated.",
)
@click.option("--repeats", default=3, show_default=True)
@click.option("--before", "checkout", metavar="DIR", help="Another checkout of tseval to measure as well.")
@click.option("--only-steps", is_flag=True, help="Print the speeds of tseval's cells as JSON, no table.")
def main(
    vocabulary: int, embedding: int, hidden: int, urn_hidden: int, layers: int, batch: int, window: int,
    dropout: float, precision: Literal["float32", "bfloat16"], device: str, threads: int, compiled: bool,
    archs: tuple[str, ...], repeats: int, checkout: str | None, only_steps: bool,
) -> None:  # fmt: skip
    """Print tokens per second and ratios."""
    torch.set_num_threads(threads)
    settings = Settings(batch=batch, window=window, precision=precision, compiled=compiled)
    contenders = []
    # On a processor without products in bfloat16, torch has no such layer.
    low = product_type("bfloat16", torch.device(device))
    plain = [name for name, dtype in PLAIN.items() if dtype in {torch.float32, low}]
    for name in [*([] if only_steps else [*plain, LOOP]), *(archs or CELLS)]:
        own = urn_hidden if name == "urn" else hidden
        sizes = Sizes(name if name in CELLS else "lstm", vocabulary, embedding, own, layers, dropout)
        contenders.append(contender(name, sizes, settings, torch.device(device)))
    if checkout is None:
        before = None
    else:
        given = {"vocabulary": vocabulary, "embedding": embedding, "hidden": hidden, "urn-hidden": urn_hidden,
                 "layers": layers, "batch": batch, "window": window, "dropout": dropout,
                 "precision": precision, "device": device, "threads": threads}  # fmt: skip
        arguments = [f"--{option}={value}" for option, value in given.items()]
        before = Before(checkout, [*arguments, *(f"--arch={arch}" for arch in archs)])
    measure(contenders, settings, repeats, before)
    if only_steps:
        click.echo(json.dumps({one.name: one.speed("step") for one in contenders}))
    else:
        report(contenders, before, precision, device)


def report(contenders: list[Contender], before: Before | None, precision: str, device: str) -> None:
    """Print the results."""
    rivals = [one for one in contenders if one.name not in CELLS]
    rows = []
    for one in contenders:
        row = [one.name, f"{one.sizes.hidden}", f"{one.speed('core'):,.0f}", f"{one.speed('step'):,.0f}"]
        if before is not None:
            earlier = before.speeds.get(one.name)
            row += ["", ""] if earlier is None else [
                f"{statistics.median(earlier):,.0f}", f"{one.speed('step') / statistics.median(earlier):.2f}"
            ]  # fmt: skip
        rows.append([*row, *(f"{one.speed('step') / rival.speed('step'):.2f}" for rival in rivals)])
    headings = ["model", "hidden", "core tokens/s", "step tokens/s",
                *([] if before is None else ["before", "/ before"]),
                *(f"/ {rival.name}" for rival in rivals)]  # fmt: skip
    align = ("left", *["right"] * (len(headings) - 1))
    click.echo(tabulate(rows, headings, colalign=align, disable_numparse=True))
    where = (
        torch.cuda.get_device_name() if device.startswith("cuda") else f"{torch.get_num_threads()} threads"
    )
    click.echo(f"torch {torch.__version__}, {where}, {precision}; medians")


if __name__ == "__main__":
    main()
