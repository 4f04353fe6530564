"""How fast do the recurrent cells train? One run, the same sizes and text, ratios printed.

Every architecture of tseval against two others, inside the same language model and the same training step:

    nn.LSTM  torch's own layer, all recurrent layers in one call
    loop     the Decay RNN as a plain loop over words and layers: input and state each through a Linear of
             their own, and the weights under Dale's law, ReLU(W) D, made anew for every word

`core` is forward and backward pass of the recurrent layers alone, on random word vectors; `step` is all that
a window of training takes: embedding, layers, dropout, output layer and loss, gradients, clipping, Adam.
Each repetition measures every contender once, so that what else the machine does strikes all alike; the
median of the repetitions is printed. Text is random: speed depends on its length alone, but for the URN,
whose first layer turns each distinct word once where nothing is dropped from the word vectors.

    python benchmarks/train.py                                  # embedding 200, hidden 650, 10,000 words
    python benchmarks/train.py --hidden 200 --batch 64 --precision bfloat16
    python benchmarks/train.py --device cuda --vocabulary 50000 --compile
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import click
import torch
from tabulate import tabulate
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells import CELLS
from tseval.models.language_model import LanguageModel, Sizes
from tseval.training.language_model import compile_loops
from tseval.training.schedule import Schedule
from tseval.training.settings import Settings
from tseval.training.state import TrainingState
from tseval.training.windows import Columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.models.cells.cell import State

BASELINES = ("nn.LSTM", "loop")


class TorchLSTM(nn.Module):
    """Torch's LSTM with all its layers in one call, dropout between them."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.hidden, self.layers = sizes.hidden, sizes.layers
        self.lstm = nn.LSTM(sizes.embedding, sizes.hidden, sizes.layers, dropout=sizes.dropout)

    def initial_state(self, batch: int) -> State:
        """Give zeros, two tensors of (layers, batch, hidden)."""
        zeros = next(self.lstm.parameters()).new_zeros(self.layers, batch, self.hidden)
        return zeros, zeros

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window, (time, batch, embedding)."""
        return self.lstm(x, state)


class LoopDecayRNN(nn.Module):
    """The Decay RNN word by word and layer by layer, everything made anew for every word.

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
        """Give zeros, one tensor of (batch, hidden) for each layer."""
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

    def __init__(self, sizes: Sizes, core: TorchLSTM | LoopDecayRNN) -> None:
        super().__init__()
        self.core, self.dropout = core, sizes.dropout
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.embedding)
        self.output = nn.Linear(sizes.hidden, sizes.vocabulary)

    def initial_state(self, batch: int) -> State:
        """Give the core's."""
        return self.core.initial_state(batch)

    def forward(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window, (time, batch)."""
        x = F.dropout(self.embedding(words), self.dropout, self.training)
        x, state = self.core(x, state)
        return F.dropout(x, self.dropout, self.training), state


@dataclass
class Contender:
    """A language model in training, and how fast its parts were.

    Attributes:
        name: Architecture or baseline.
        sizes: Of the model.
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
        """Give the median of the repetitions."""
        return statistics.median(self.speeds[part])


def contender(name: str, sizes: Sizes, settings: Settings, windows: int, device: torch.device) -> Contender:
    """Build a model and what is timed of it."""
    torch.manual_seed(0)
    model: Any  # a baseline stands in for the language model
    if name in BASELINES:
        model = Around(sizes, TorchLSTM(sizes) if name == "nn.LSTM" else LoopDecayRNN(sizes))
    else:
        model = LanguageModel(sizes)
        if settings.compiled:
            compile_loops(model)
    model.to(device).train()
    text = torch.randint(sizes.vocabulary, (windows * settings.window + 1, settings.batch))
    state = TrainingState(model, Schedule(settings, Columns(text, settings.window)))
    x = torch.randn(settings.window, settings.batch, sizes.embedding, device=device, requires_grad=True)
    low = getattr(torch, settings.precision)

    def core() -> None:
        with torch.autocast(device.type, low, enabled=low is not torch.float32):
            outputs = read(model, x, model.initial_state(settings.batch))
        outputs.float().sum().backward()
        model.zero_grad()
        x.grad = None

    return Contender(name, sizes, core, state.advance)


def read(model: Around | LanguageModel, x: Tensor, state: State) -> Tensor:
    """Run the recurrent layers alone, without dropout around them."""
    if isinstance(model, Around):
        return model.core(x, state)[0]
    for cell in model.cells:
        before, state = state[: cell.n_states], state[cell.n_states :]
        x, _ = cell(x, before)
    return x


def measure(contenders: list[Contender], settings: Settings, windows: int, repeats: int) -> None:
    """Time every contender once per repetition, after one round that does not count."""
    cuda = torch.cuda.is_available()
    for repeat in range(-1, repeats):
        for one in contenders:
            for part, work in (("core", one.core), ("step", one.step)):
                if cuda:
                    torch.cuda.synchronize()
                started = time.perf_counter()
                for _ in range(windows):
                    work()
                if cuda:
                    torch.cuda.synchronize()
                seconds = time.perf_counter() - started
                if repeat >= 0:
                    one.speeds[part].append(windows * settings.window * settings.batch / seconds)
            click.echo(f"round {repeat + 1} of {repeats}: {one.name:20}", err=True)


@click.command()
@click.option("--vocabulary", default=10_000, show_default=True)
@click.option("--embedding", default=200, show_default=True)
@click.option("--hidden", default=650, show_default=True)
@click.option("--urn-hidden", default=32, show_default=True, help="Its cost grows with the third power.")
@click.option("--layers", default=2, show_default=True)
@click.option("--batch", default=128, show_default=True)
@click.option("--window", default=35, show_default=True)
@click.option("--precision", type=click.Choice(["float32", "bfloat16"]), default="float32", show_default=True)
@click.option("--device", default="cpu", show_default=True)
@click.option("--threads", default=torch.get_num_threads(), show_default=True)
@click.option("--compile", "compiled", is_flag=True, help="Compile the loops of tseval's cells.")
@click.option("--arch", "archs", type=click.Choice(list(CELLS)), multiple=True, help="Only this one.")
@click.option("--windows", default=1, show_default=True, help="Timed at once.")
@click.option("--repeats", default=3, show_default=True)
def main(
    vocabulary: int, embedding: int, hidden: int, urn_hidden: int, layers: int, batch: int, window: int,
    precision: Literal["float32", "bfloat16"], device: str, threads: int, compiled: bool,
    archs: tuple[str, ...], windows: int, repeats: int,
) -> None:  # fmt: skip
    """Print tokens per second and ratios."""
    torch.set_num_threads(threads)
    settings = Settings(batch=batch, window=window, precision=precision, compiled=compiled)
    contenders = []
    for name in [*BASELINES, *(archs or CELLS)]:
        own = urn_hidden if name == "urn" else hidden
        sizes = Sizes("lstm" if name in BASELINES else name, vocabulary, embedding, own, layers, 0.2)
        contenders.append(contender(name, sizes, settings, windows, torch.device(device)))
    if urn_hidden != hidden and "urn" in (archs or CELLS):  # the URN against others of its own size
        sizes = Sizes("lstm", vocabulary, embedding, urn_hidden, layers, 0.2)
        contenders += [contender(name, sizes, settings, windows, torch.device(device)) for name in BASELINES]
    measure(contenders, settings, windows, repeats)
    report(contenders, precision, device)


def report(contenders: list[Contender], precision: str, device: str) -> None:
    """Print what was measured."""
    rows = []
    for one in contenders:
        rivals = {
            other.name: other
            for other in contenders
            if other.name in BASELINES and other.sizes.hidden == one.sizes.hidden
        }
        row: list[str] = [one.name, str(one.sizes.hidden)]
        for part in ("core", "step"):
            row.append(f"{one.speed(part):,.0f}")
            row += [f"{one.speed(part) / rivals[name].speed(part):.2f}" for name in BASELINES]
        rows.append(row)
    ratios = [f"/ {name}" for name in BASELINES]
    headings = ["model", "hidden", "core tokens/s", *ratios, "step tokens/s", *ratios]
    click.echo(tabulate(rows, headings, colalign=("left", *["right"] * 7), disable_numparse=True))
    where = (
        torch.cuda.get_device_name() if device.startswith("cuda") else f"{torch.get_num_threads()} threads"
    )
    click.echo(f"torch {torch.__version__}, {where}, {precision}; medians")


if __name__ == "__main__":
    main()
