"""Networks of recurrent cells: the language model and classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from tseval.errors import ModelError, suggest
from tseval.models.cells import CELLS
from tseval.models.cells.cell import LARGEST, Option, complete_options, is_narrow
from tseval.models.cells.window import thinned

if TYPE_CHECKING:
    from tseval.models.cells.cell import Cell, State


@dataclass(frozen=True, slots=True)
class Task:
    """A choice between two classes."""

    # A word for each class, in the order of the outputs. One of them ends each sentence, after the other
    # words.
    labels: tuple[str, str]
    methods: tuple[str, ...]  # `SUITE:METHOD` that make such sentences from a suite, the default first


TASKS = {
    "number": Task(("<singular>", "<plural>"), ("number", "number_profile")),
    "grammaticality": Task(("<grammatical>", "<ungrammatical>"), ("judgement", "judgement_both")),
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Everything except the weights that determines a model's computation.

    A field with a help text is an option of `tseval train`.

    Attributes:
        arch: Name of a cell in `tseval.models.cells.CELLS`.
        dropout: Share of units that training drops from word vectors, between layers and before the output.
        tied: Whether the output layer shares its matrix with the embedding; needs embedding == hidden.
        options: Options of the cell (the keyword-only arguments of its constructor). Defaults are filled in,
            so that a checkpoint does not depend on them.
        task: Task of a classifier, a name in `TASKS`; None for a language model.
        widths: Width of each layer, if they differ, as in AWD-LSTM; `hidden` is then the largest.
    """

    arch: Annotated[str, "Architecture: the kind of recurrent cell. docs/architectures.md has the equations."]
    vocabulary: int
    embedding: Annotated[int, "Number of dimensions of each word vector."]
    hidden: Annotated[int, "Number of units in each recurrent layer."]
    layers: Annotated[int, "Number of recurrent layers."]
    dropout: Annotated[
        float, "Dropout rate: share of units, from 0 to 1, that training sets to zero at random."
    ] = 0.0
    tied: Annotated[
        bool, "Tie the weights of the word vectors and of the output layer: both use one matrix."
    ] = False
    options: Mapping[str, Option] = field(default_factory=dict)
    task: str | None = None
    widths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.arch not in CELLS:
            raise ModelError(
                f"unknown architecture {self.arch!r}. {suggest(self.arch, CELLS, 'Architectures')}"
            )
        for name in ("vocabulary", "embedding", "hidden", "layers"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ModelError(f"{name} size must be a whole number above 0, not {value!r}")
            if value > LARGEST:
                raise ModelError(f"{name} size must be at most {LARGEST:,}, not {value:,}")
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise ModelError(f"dropout must be at least 0 and below 1, not {self.dropout!r}")
        self._check_widths()
        if self.task is not None:
            self._check_task()
        if not isinstance(self.options, Mapping):
            raise ModelError(f"options must be a mapping, not a {type(self.options).__name__}")
        object.__setattr__(self, "options", complete_options(CELLS[self.arch], self.options))
        if self.tied and self.embedding != (outputs := self.width_after(self.layers - 1)):
            raise ModelError(
                f"tied weights need equal embedding and hidden sizes, not {self.embedding} and {outputs}.\n"
                "  Set --embedding and --hidden to one number, or leave out --tied."
            )
        self._check_cell()

    def _check_widths(self) -> None:
        if not isinstance(self.widths, list | tuple):
            raise ModelError(f"the widths of the layers must be a list, not {self.widths!r:.60}")
        object.__setattr__(self, "widths", tuple(self.widths))
        are_sizes = all(type(width) is int and 1 <= width <= self.hidden for width in self.widths)
        if self.widths and not (
            are_sizes and len(self.widths) == self.layers and max(self.widths) == self.hidden
        ):
            raise ModelError(
                f"widths must be one number for each of the {self.layers} layers, and the largest must be "
                f"the hidden size {self.hidden}, not {self.widths!r:.60}"
            )

    def _check_task(self) -> None:
        if not isinstance(self.task, str) or self.task not in TASKS:
            raise ModelError(f"unknown task {self.task!r}. {suggest(str(self.task), TASKS, 'Tasks')}")
        if self.tied:
            raise ModelError(
                "a classifier has no output words, so its weights cannot be tied.\n  Leave out --tied."
            )

    def _check_cell(self) -> None:
        """Check the options of the cell with cells that take no memory."""
        try:
            with torch.device("meta"):
                for layer in range(min(2, self.layers)):
                    self.cell(layer)
        except RuntimeError as error:
            raise ModelError(
                f"a cell {self.arch} with hidden size {self.hidden:,} is not possible: {error}.\n"
                "  Choose another hidden size or other options."
            ) from None

    @property
    def outputs(self) -> int:
        """Number of outputs: one for every word, or for every class of a task."""
        return self.vocabulary if self.task is None else len(TASKS[self.task].labels)

    def cell(self, layer: int) -> Cell:
        """Return one recurrent layer with new weights; layers count from 0."""
        inputs = self.width_after(layer - 1) if layer else self.embedding
        return CELLS[self.arch](inputs, self.widths[layer] if self.widths else self.hidden, **self.options)

    def width_after(self, layer: int) -> int:
        """Return the width of a layer's output: of its state, or of its projection."""
        return int(self.options.get("projection") or (self.widths[layer] if self.widths else self.hidden))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> Sizes:
        """Read the sizes from a checkpoint."""
        try:
            return cls(**mapping)  # type: ignore[arg-type]
        except TypeError as error:
            raise ModelError(
                f"the sizes of the model are not valid: {error}.\n  Copy or download the checkpoint again."
            ) from None

    def to_mapping(self) -> dict[str, object]:
        """Return the sizes for a checkpoint; unused fields are left out."""
        mapping = asdict(self)
        if not self.options:
            del mapping["options"]
        if self.task is None:
            del mapping["task"]
        if not self.widths:
            del mapping["widths"]
        return mapping


class Network(nn.Module):
    """A network of embedding, recurrent layers with dropout between them, and output layer.

    Initial word vectors are uniform within ± `initial_range`.

    Source: the word language model of Gulordava et al. 2018 and Marvin & Linzen 2018.
    """

    def __init__(self, sizes: Sizes, initial_range: float = 0.1) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.embedding)
        self.layers = nn.ModuleList(sizes.cell(layer) for layer in range(sizes.layers))
        self.output = nn.Linear(sizes.width_after(sizes.layers - 1), sizes.outputs)
        nn.init.uniform_(self.embedding.weight, -initial_range, initial_range)
        nn.init.uniform_(self.output.weight, -0.1, 0.1)
        nn.init.zeros_(self.output.bias)

    @property
    def cells(self) -> list[Cell]:
        """The recurrent layers, first to last."""
        return list(self.layers)  # type: ignore[arg-type]

    @property
    def n_core_parameters(self) -> int:
        """Parameters of the recurrent layers alone, as in Table 4 of Bhatt et al. 2020."""
        return sum(parameter.numel() for parameter in self.layers.parameters())

    def initial_state(self, batch: int) -> State:
        """Return the state of all layers before the first word: the states of the cells, concatenated."""
        return tuple(tensor for cell in self.cells for tensor in cell.initial_state(batch))

    def forward(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window of word ids, (time, batch), from a given state.

        Returns:
            Outputs of the last layer, (time, batch, hidden), and the state after the window.
        """
        x = words
        after: State = ()
        for depth, cell in enumerate(self.cells):
            before, state = state[: cell.n_states], state[cell.n_states :]
            x, last = cell(x, before) if depth else self._first_layer(words, before)
            x = self._dropped(x)
            after += last
        return x, after

    def _first_layer(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a window with the first layer only; see `forward`."""
        first = self.cells[0]
        if first.costly_projection:
            distinct, indices = torch.unique(words, return_inverse=True)
            vectors = self._dropped(self.embedding(distinct))
            return first.scan_words(first.project(vectors), indices, state)
        return first(self._dropped(self.embedding(words)), state)  # type: ignore[no-any-return]

    def _dropped(self, x: Tensor) -> Tensor:
        share = self.sizes.dropout
        if share and self.training and is_narrow(x):
            return thinned(x, share)
        return F.dropout(x, share, self.training)

    def project(self, words: Tensor) -> Tensor:
        """Return the words' part of the first layer's update, (words, ...); see `Cell.project`."""
        return self.cells[0].project(self.embedding(words))

    def step(self, projected: Tensor, state: State) -> State:
        """Advance every row by one word, without dropout.

        Args:
            projected: Result of `project` for each row's word, (rows, gates * hidden).
            state: Previous state of all layers, each (rows, hidden); the result has the same shapes.
        """
        after: State = ()
        for depth, cell in enumerate(self.cells):
            if depth:
                projected = cell.project(after[-cell.n_states])
            before, state = state[: cell.n_states], state[cell.n_states :]
            after += cell.step(projected, before)
        return after

    def top(self, state: State) -> Tensor:
        """Return the output of the last layer, (rows, hidden), from a state."""
        return state[-self.cells[-1].n_states]

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits of all words or classes: (..., hidden) to (..., outputs)."""
        return self.output(hidden)  # type: ignore[no-any-return]


class LanguageModel(Network):
    """A network whose outputs are the words of its vocabulary; see `Network`."""

    def __init__(self, sizes: Sizes, initial_range: float = 0.1) -> None:
        assert sizes.task is None, "the sizes of a classifier"
        super().__init__(sizes, initial_range)
        if sizes.tied:
            self.output.weight = self.embedding.weight


def count_parameters(model: nn.Module) -> int:
    """Count all parameters, tied ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


def all_finite(weights: Mapping[str, Tensor]) -> str | None:
    """Return the name of the first tensor with a NaN or an infinity, or None."""
    for name, tensor in weights.items():
        # If the sum is finite, all numbers are. Otherwise it may have overflowed, so each number is tested.
        if not (tensor.sum().isfinite() or tensor.isfinite().all()):
            return name
    return None


class Classifier(Network):
    """A network whose outputs are the two classes of a task, computed from the state after the last word.

    There is no start symbol: the first word is read from the initial state.

    Source: Linzen et al. 2016; Bhatt et al. 2020, section 6.
    """

    def __init__(self, sizes: Sizes, initial_range: float = 0.1) -> None:
        assert sizes.task is not None, "the sizes of a language model"
        super().__init__(sizes, initial_range)
        self.task: Task = TASKS[sizes.task]

    def classify(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return logits of the classes for a batch of word sequences, (batch, classes).

        Words after the end of a sequence do not affect its result, so any word may be used as padding.

        Args:
            words: Word ids, (time, batch).
            lengths: Words of each sequence, from 1 to time, (batch,).
        """
        outputs, _ = self(words, self.initial_state(words.shape[1]))
        last = outputs[lengths - 1, torch.arange(len(lengths), device=lengths.device)]
        return self.logits(last)


DRAWS = {nn.init.kaiming_uniform_, nn.init.normal_, nn.init.uniform_, Tensor.normal_, Tensor.uniform_}


class no_init(TorchFunctionMode):  # noqa: N801 - a context, called as torch.no_grad is
    """Create parameters without random initialisation; their values are undefined until weights are loaded.

    Buffers that a cell computes from its sizes are still computed. Random numbers would only be overwritten.
    On the meta device, which stores none, torch would load its whole compiler for them.
    """

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        kwargs = kwargs or {}
        if func in DRAWS:
            return args[0] if args else cast("Tensor", kwargs["tensor"])
        return func(*args, **kwargs)
