"""Models in the files that trainings save: their tensors by name and their words, without running anything.

What `torch.save` or safetensors wrote: a `state_dict`, alone or in the dictionary that a training saves; a
module, perhaps in DataParallel; a checkpoint of Lightning. Names are rid of what wrappers put into them.
Words are in the file, beside it, in a file of their own, or in the text that the model was trained on.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from safetensors import SafetensorError, safe_open

from tseval.errors import ModelError, first_line, reason, shortened, suggest
from tseval.files import open_limited, read_bytes
from tseval.formats import is_count
from tseval.models.pickles import Pickled, quoted, read_pickle
from tseval.models.refusals import damaged
from tseval.models.torch_files import (
    MAGIC,
    OWN_LIMITS,
    StoredTensor,
    TorchFile,
    find_tensor,
    form_of,
    read_object,
    read_safetensors,
    start_of_pickle,
)
from tseval.models.vocabulary import EOS, UNK, Vocabulary
from tseval.models.walks import MOST_PARTS, Walk, path_within

if TYPE_CHECKING:
    from collections.abc import Iterator


GPT = "transformer.wte.weight"  # a tensor that nanoGPT's checkpoints have, and GPT-2's
WRAPPERS = {"module", "_orig_mod", "_forward_module"}  # DataParallel and WeightDrop, torch.compile, Lightning
LAYER = re.compile(r"(?:(.*)\.)?(weight|bias)_(ih|hh|hr)(?:_l(\d{1,3}))?(_reverse)?(_raw)?")
OPTIMISER = {"state", "param_groups"}  # what every optimizer's state_dict has

_EMBEDDING = "torch.nn.modules.sparse.Embedding"
_RECURRENT = frozenset(
    f"torch.nn.modules.rnn.{kind}{part}" for kind in ("LSTM", "GRU", "RNN") for part in ("", "Cell")
)
_DROPOUT = "torch.nn.modules.dropout.Dropout"
# Modules that change no logits but by weights, which are found by name.
_MODULES = _RECURRENT | {
    *(_EMBEDDING, _DROPOUT, "torch.nn.modules.linear.Linear", "torch.nn.modules.linear.Identity"),
    *(f"torch.nn.modules.container.{name}" for name in ("ModuleList", "ModuleDict", "Sequential")),
    *("torch.nn.modules.activation.LogSoftmax", "torch.nn.modules.activation.Softmax"),
    *("torch.nn.modules.loss.CrossEntropyLoss", "torch.nn.modules.loss.NLLLoss"),
    *(
        "torch.nn.parallel.data_parallel.DataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
    ),
}
# What trainings save beside weights; such calls become records.
_CALLED = _MODULES | {
    *("torch.device", "torch.Size", "_codecs.encode", "numpy.dtype", "argparse.Namespace"),
    *("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"),
    *("collections.Counter", "collections.defaultdict", "builtins.int", "builtins.list", "builtins.float"),
    *(
        f"{room}.{kind}Path"
        for room in ("pathlib", "pathlib._local")
        for kind in ("Posix", "Windows", "PurePosix")
    ),
    "torch.nn.backends.thnn._get_thnn_function_backend",  # until PyTorch 1.3; holds no numbers
}
# Classes of any package that hold data: words, settings, or the course of a training.
DATA_CLASSES = re.compile(
    r"(torch\.(?!nn\.)|(lightning|pytorch_lightning|omegaconf|torchtext|transformers|typing|types)\.).*"
    r"|.*(Dictionary|Vocab|Vocabulary|Corpus|Config|Configuration|Namespace|Args|Arguments|Options|Params"
    r"|AttributeDict|AttrDict|EasyDict)"
)


@dataclass(frozen=True, slots=True)
class State:
    """The tensors of a model in a file, by the names that its state_dict has."""

    path: str  # where in the file, such as `model.encoder`; empty for the whole file
    tensors: dict[str, StoredTensor]  # by name, without what wrappers put before it
    # of recurrent layers, as the modules or settings around them name them
    modes: frozenset[str] = frozenset()
    dropout: float = 0.0  # that the module says
    class_name: str = "state_dict"  # of the module; `state_dict` where there is none

    @property
    def has_layers(self) -> bool:
        """Whether recurrent layers are among them."""
        return any(LAYER.fullmatch(name) for name in self.tensors)


def kind_of(path: Path) -> Literal["tseval", "nanogpt", "other"]:
    """Return which program wrote a checkpoint; `tseval` also if neither torch nor safetensors did."""
    if not path.is_file():
        return "tseval"
    form = form_of(path)
    if form == "zip":
        if b"tseval-checkpoint" in start_of_pickle(path, 128):
            return "tseval"
        return "nanogpt" if GPT.encode() in start_of_pickle(path, OWN_LIMITS.pickle) else "other"
    try:
        if form == "safetensors":
            with safe_open(path, framework="pt") as tensors:
                return "tseval" if "tseval" in (tensors.metadata() or {}) else "other"
        with path.open("rb") as file:
            return "other" if read_pickle(io.BytesIO(file.read(64))).value == MAGIC else "tseval"
    except (ModelError, SafetensorError, ValueError):
        return "tseval"


def is_foreign(path: Path) -> bool:
    """Check whether torch or safetensors wrote a file, but not tseval."""
    return kind_of(path) != "tseval"


# What Python raises where a value is none that a checkpoint holds.
_OF_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@contextmanager
def naming(path: Path, arguments: Mapping[str, str]) -> Iterator[None]:
    """Put the file's name before what is wrong with it."""
    try:
        yield
    except ModelError as error:
        names_file = str(error).startswith((str(path), f"{arguments.get('vocab', path)}: "))
        raise ModelError(str(error) if names_file else f"{path}: {error}") from None
    except RecursionError:
        raise damaged(f"{path}: damaged checkpoint: its data are nested too deeply to be read") from None
    except _OF_DAMAGE as error:  # the file is at fault, not tseval
        message = shortened(f"{type(error).__name__}: {first_line(error)}", 150)
        raise damaged(f"{path}: damaged checkpoint ({message})") from None


def read_state_file(path: Path) -> TorchFile:
    """Read a file without its numbers: of these only the positions are noted."""
    if form_of(path) == "safetensors":
        tensors = read_safetensors(path)[1]
        return TorchFile("safetensors", tensors, frozenset(), lambda _: torch.empty(0), path.stat().st_size)
    file = read_object(path, _CALLED, OWN_LIMITS)
    modules_inside = {module.called for module in _modules(file.value)}
    foreign = sorted(name for name in file.names - modules_inside if not DATA_CLASSES.fullmatch(name))
    if foreign:
        raise ModelError(
            "tseval refuses this file and ran none of its code: its Python pickle refers to "
            f"{quoted(foreign[0])}, but a word-level language model never needs "
            "that.\n  Save only the weights and the words: "
            "torch.save({'model': model.state_dict(), 'vocab': words}, FILE)."
        )
    return file


def choose_state(value: object, path: str | None) -> State:
    """Return the only model that was saved; of several the one at a path, as a message printed it."""
    states = list(find_states(value))
    if path is not None:
        names = [state.path for state in states]
        if path not in names:
            raise ModelError(f"state={path}: the file has no such model. {suggest(path, names, 'Models')}")
        return states[names.index(path)]
    recurrent = [state for state in states if state.has_layers]
    if len(recurrent) > 1:
        names = [state.path for state in recurrent]
        raise ModelError(
            f"the file holds {len(names)} models: {', '.join(names[:6])}.\n"
            f"  Choose one, for example with --model-args state={names[0]}"
        )
    if recurrent:
        return recurrent[0]
    if states:
        return max(states, key=lambda state: len(state.tensors))
    optimiser = isinstance(value, Mapping) and (
        value.keys() >= OPTIMISER
        or any(isinstance(entry, Mapping) and entry.keys() >= OPTIMISER for entry in value.values())
    )
    if optimiser:
        raise ModelError(
            "the file holds the state of an optimizer, but no model.\n"
            "  Save the weights: torch.save(model.state_dict(), FILE)."
        )
    held = shortened(", ".join(map(repr, list(value)[:6])), 200) if isinstance(value, Mapping) else ""
    raise ModelError(
        f"the file holds a {type(value).__name__}{f' of {held}' if held else ''}, not a model.\n"
        "  Save the weights: torch.save(model.state_dict(), FILE)."
    )


def find_states(value: object, path: str = "", depth: int = 4, walk: Walk | None = None) -> Iterator[State]:
    """Yield every model in what was saved: modules, and dictionaries of tensors that hold a matrix."""
    walk = walk or Walk()
    if not depth or isinstance(value, str):
        return
    if isinstance(value, Pickled | Mapping | list | tuple) and not walk.enters(value, depth):
        return
    if isinstance(value, Pickled) and _parts_of(value) is not None:
        yield _flat(value, path)
        return
    if isinstance(value, Mapping):
        tensors: dict[str, Any] = {
            name: entry if isinstance(entry, torch.Tensor) else find_tensor(entry)
            for name, entry in value.items()
            if isinstance(name, str)
        }
        matrices = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        if any(len(tensor.shape) == 2 and is_float(tensor) for tensor in matrices.values()):
            yield State(path, without_wrappers(matrices))
        elif not value.keys() >= OPTIMISER:
            for name, entry in value.items():
                yield from find_states(entry, path_within(path, name), depth - 1, walk)
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value[:100]):
            yield from find_states(entry, path_within(path, i), depth - 1, walk)


def is_float(tensor: StoredTensor) -> bool:
    """Check whether a tensor holds weights, not counts."""
    dtype = tensor.dtype if isinstance(tensor, torch.Tensor) else tensor.view.storage.dtype
    return dtype.is_floating_point


def without_wrappers(tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Return tensors by their names without what DataParallel, torch.compile and other wrappers add."""
    unwrapped: dict[str, StoredTensor] = {}
    for name, tensor in tensors.items():
        short = ".".join(part for part in name.split(".") if part not in WRAPPERS)
        unwrapped[name if short in unwrapped else short] = tensor
    return unwrapped


def _parts_of(module: object) -> Mapping[str, object] | None:
    """Return the dictionaries that make up a module; None if it is none."""
    state = module.state if isinstance(module, Pickled) else None
    if isinstance(state, dict) and isinstance(state.get("_parameters"), dict):
        return state if isinstance(state.get("_modules"), dict) else None
    return None


def _modules(value: object, depth: int = 4, walk: Walk | None = None) -> Iterator[Pickled]:
    """Yield the outermost modules in what was saved, in DataParallel the one inside it too."""
    walk = walk or Walk()
    if isinstance(value, Pickled | Mapping | list | tuple) and not walk.enters(value, depth):
        return
    if isinstance(value, Pickled) and (parts := _parts_of(value)) is not None:
        yield value
        inside = parts["_modules"]
        if value.called.startswith("torch.nn.parallel.") and isinstance(inside, dict):
            yield from _modules(inside.get("module"), depth, walk)
    elif depth and isinstance(value, Mapping | list | tuple):
        for entry in list(value.values() if isinstance(value, Mapping) else value)[:100]:
            yield from _modules(entry, depth - 1, walk)


def _flat(module: Pickled, path: str) -> State:
    """Write a module as its state_dict, and note what its parts say of themselves."""
    tensors: dict[str, StoredTensor] = {}
    modes: set[str] = set()
    dropout, class_name = 0.0, module.called
    walk = Walk(MOST_PARTS)

    def visit(part: Pickled, before: str) -> None:
        nonlocal dropout
        walk.count()
        parts = _parts_of(part)
        if parts is None:
            raise damaged("the file holds no torch module, or a damaged one")
        if part.called == _EMBEDDING and parts.get("max_norm") is not None:
            raise ModelError(
                "the embedding limits the norm of its word vectors (max_norm), which tseval does not "
                "support.\n"
                "  Write a function that builds the model: --model ./FILE.py:FUNCTION"
            )
        if part.called in _RECURRENT:
            modes.add(str(parts.get("mode") or parts.get("nonlinearity") or part.called.rpartition(".")[2]))
        if (
            part.called == _DROPOUT
            and before.rstrip(".").endswith("drop")
            and isinstance(parts.get("p"), float)
        ):
            dropout = parts["p"]  # type: ignore[assignment]
        for kind in ("_parameters", "_buffers"):
            entries = parts.get(kind)
            for name, value in entries.items() if isinstance(entries, dict) else ():
                walk.count()
                if value is not None and (tensor := find_tensor(value)) is None:
                    raise damaged(f"the file is damaged: {quoted(f'{before}{name}')} is not a tensor")
                if value is not None:
                    tensors[f"{before}{name}"] = tensor  # type: ignore[assignment]
        for name, child in parts["_modules"].items():  # type: ignore[attr-defined]
            if isinstance(child, Pickled):
                visit(child, f"{before}{name}.")

    visit(module, "")
    if module.called.startswith("torch.nn.parallel."):
        class_name = next((inner.called for inner in _modules(module) if inner is not module), module.called)
    return State(path, without_wrappers(tensors), frozenset(modes), dropout, class_name)


# Where words lie beside a checkpoint, and what they are called in one.
BESIDE = ("vocab.txt", "vocab.json", "meta.pkl", "dict.txt")
NAMES = re.compile(
    r"vocab(ulary)?|words?|tokens?|dictionary|dict|corpus|[is]to[is]"
    r"|(idx|index|id|ix|i)_?(2|to)_?(word|token|w)|(word|token|w)_?(2|to)_?(idx|index|id|ix|i)",
    re.IGNORECASE,
)
# What starts a sentence: its own symbol, or else the one that ended the sentence before.
STARTS = ("<bos>", "<BOS>", "<sos>", "<SOS>", "<s>", "<S>", "[BOS]", "<start>", "<START>",
          EOS, "<EOS>", "</s>", "</S>", "[EOS]", "<end>", "<END>", "<|endoftext|>")  # fmt: skip
UNKNOWNS = (UNK, "<UNK>", "<unknown>", "<UNKNOWN>", "[UNK]", "<oov>", "<OOV>", "UNK", "<|unk|>")
SYMBOL = re.compile(r"<.*>|\[.*\]|UNK")
# Calls in pickled dictionaries; they become records or plain containers.
_CALLED_OF_WORDS = frozenset({
    *("collections.Counter", "collections.defaultdict", "collections.OrderedDict"),
    *("copyreg._reconstructor", "copy_reg._reconstructor", "builtins.object", "__builtin__.object"),
    *("builtins.int", "builtins.set", "__builtin__.set", "_codecs.encode"),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class VocabularyOptions:
    """What `--model-args` say of the words."""

    vocab: str | None = None  # a file of words, or the place of one of several vocabularies in the checkpoint
    # texts, separated by commas: words in the order of first sight, `<eos>` at each line's end
    vocab_from: str | None = None
    bos: str | None = None  # the word that stands before every sentence
    unk: str | None = None  # the word for all unknown ones, or `none`
    lowercase: str | None = None  # `true` or `false`


@dataclass(frozen=True, slots=True)
class Words:
    """A vocabulary, where it was found, and how it is read in one line."""

    vocabulary: Vocabulary
    source: str
    reading: str


def find_vocabulary(path: Path, value: object, size: int, options: VocabularyOptions) -> Words:
    """Find the words of a model: in what its file holds, beside it, or where the user says."""
    words, source = _words(path, value, size, options)
    if len(words) != size:
        raise ModelError(
            f"the vocabulary ({source}) has {len(words):,} words, but the weights are for {size:,}.\n"
            "  Name the vocabulary of the training: --model-args vocab=FILE"
        )
    try:
        return describe_words(words, source, options)
    except ModelError as error:
        raise ModelError(f"{source and f'{source}: '}{error}") from None


def _words(path: Path, value: object, size: int, options: VocabularyOptions) -> tuple[list[str], str]:
    """Return the words in the order of their ids, and where they were found."""
    if options.vocab is not None and options.vocab_from is not None:
        raise ModelError("--model-args vocab= and vocab_from= cannot be used together. Remove one of the two")
    if options.vocab_from is not None:
        return words_of_texts(options.vocab_from.split(",")), options.vocab_from
    inside = {
        location: words for location, words in find_words(value) if len(words) == size or _is_named(location)
    }
    if options.vocab is not None:
        if options.vocab in inside and not Path(options.vocab).exists():
            return inside[options.vocab], f"its {options.vocab}"
        return read_words(Path(options.vocab), size), options.vocab
    fitting = {location: words for location, words in inside.items() if len(words) == size}
    if len({tuple(words) for words in fitting.values()}) > 1:
        first, second, *_ = fitting
        raise ModelError(
            f"the file holds two vocabularies of {size:,} words: {first} and {second}.\n"
            f"  Add --model-args vocab={first}, or vocab={second}"
        )
    if fitting:
        return next(iter(fitting.values())), f"its {next(iter(fitting))}"
    for name in BESIDE:
        if (beside := path.parent / name).is_file():
            return read_words(beside, size), str(beside)
    if inside:
        location, words = next(iter(inside.items()))
        return words, f"its {location}"
    raise ModelError(
        f"the file does not hold the words of its {size:,} ids.\n"
        "  Add --model-args vocab=FILE (a text file with one word a line, in the order of the ids),\n"
        "  or vocab_from=train.txt,valid.txt,test.txt (the training text of word_language_model)."
    )


def _is_named(path: str) -> bool:
    return any(NAMES.fullmatch(part) for part in path.split("."))


def describe_words(words: list[str], source: str, options: VocabularyOptions) -> Words:
    """Return words with their start symbol, unknown word and case, inferred or as the user states them."""
    known = set(words)
    for name, word in (("bos", options.bos), ("unk", options.unk)):
        if word is not None and word not in known and not (name == "unk" and word == "none"):
            raise ModelError(
                f"{name}={word}: the vocabulary has no such word. {suggest(word, words, 'Words')}"
            )
    start = options.bos or next((word for word in STARTS if word in known), None)
    if start is None:
        raise ModelError(
            f"the vocabulary has no {EOS}, and no other word that starts a sentence.\n"
            "  Name the word that ended a line in training: --model-args bos=WORD"
        )
    unknown = options.unk or next((word for word in UNKNOWNS if word in known), None)
    if options.lowercase not in (None, "true", "false"):
        raise ModelError(f"lowercase={options.lowercase}: write true or false")
    plain = [word for word in words if not SYMBOL.fullmatch(word)]
    lowercase = (
        options.lowercase == "true" if options.lowercase else not any(word != word.lower() for word in plain)
    )
    unknown = None if unknown == "none" else unknown
    vocabulary = Vocabulary(tuple(words), lowercase, start, unknown)
    case = "lower-cased" if lowercase else "case kept"
    reading = f"{len(words):,} words of {source or 'its own'}, {case}, {start} first, " + (
        f"{unknown} for unknown words"
        if unknown
        else "no word for unknown words (they make a pair undecidable)"
    )
    return Words(vocabulary, source, reading)


def find_words(
    value: object, path: str = "", depth: int = 5, walk: Walk | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield everything saved that may be a vocabulary, with its path (`corpus.dictionary`)."""
    walk = walk or Walk()
    value = value.state if isinstance(value, Pickled) else value
    if isinstance(value, Mapping | list) and not walk.enters(value, depth):
        return
    if (words := as_words(value)) is not None:
        yield path, words
    elif depth and isinstance(value, Mapping):
        for name, entry in value.items():
            if not str(name).startswith("_"):  # what a module of torch is made of
                yield from find_words(entry, path_within(path, name), depth - 1, walk)


def as_words(value: object) -> list[str] | None:
    """Return the words of a list, or of a map between words and ids 0 to n-1; None for other values."""
    if isinstance(value, list) and len(value) > 1 and all(isinstance(word, str) for word in value):
        return cast("list[str]", value)
    if not isinstance(value, Mapping) or len(value) < 2:
        return None
    pairs = list(value.items())
    if all(isinstance(word, str) and type(i) is int for word, i in pairs):
        pairs = [(i, word) for word, i in pairs]
    elif all(isinstance(i, str) and is_count(i) and isinstance(word, str) for i, word in pairs):
        pairs = [(int(i), word) for i, word in pairs]  # JSON has no numbers for keys
    elif not all(type(i) is int and isinstance(word, str) for i, word in pairs):
        return None
    by_id = dict(pairs)
    return [by_id[i] for i in range(len(by_id))] if by_id.keys() == set(range(len(pairs))) else None


def read_words(path: Path, size: int | None = None) -> list[str]:
    """Read words in the order of their ids; where a file may be read in two ways, as many as `size`.

    They are text, one word a line, perhaps with a number (`words_of_text`); JSON, a list or a map of words
    and ids; or a pickle of such, or of an object that has one, of torch or of Python alone, read without
    running it.
    """
    try:
        with path.open("rb") if path.is_file() else io.BytesIO() as file:
            start = file.read(2)
        if start == b"PK":
            return _only(path, _named_words(read_object(path, _CALLED_OF_WORDS, OWN_LIMITS).value))
        if start[:1] == b"\x80":
            content = io.BytesIO(read_bytes(path, "document_bytes"))
            pickled = read_pickle(content, _CALLED_OF_WORDS, max_instructions=OWN_LIMITS.instructions)
            return _only(path, _named_words(pickled.value))
        text = read_bytes(path, "document_bytes").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelError(
            f"{path}: the vocabulary is not UTF-8 text.\n  Write the vocabulary as UTF-8 text, one word a "
            "line."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise ModelError(
            f"{path}: the vocabulary cannot be read: {reason(error)}.\n"
            "  Name a text file with one word a line: --model-args vocab=FILE"
        ) from None
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    if path.suffix != ".json":
        try:
            return words_of_text(text, size)
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None
    try:
        vocabularies = [words for _, words in find_words(json.loads(text))]
    except (ValueError, RecursionError):
        raise ModelError(
            f"{path}: the vocabulary is not correct JSON.\n  Write the vocabulary as a JSON list, in the "
            "order of the ids."
        ) from None
    return _only(path, vocabularies)


# What fairseq's dict.txt leaves out: the symbols before its first word (fairseq/data/dictionary.py).
FAIRSEQ_SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]
WITH_NUMBER = re.compile(r"(\S.*?)[ \t]+(-?\d+)(?: #fairseq:overwrite)?")
AFTER_NUMBER = re.compile(r"(\d+)[ \t]+(\S.*?)")


def words_of_text(text: str, size: int | None = None) -> list[str]:
    """Read the words of a text file in the order of their ids.

    One word stands on a line. A line ends at a line feed alone, and only spaces and tabs around a word are
    taken off: a no-break space, or another line separator of Unicode, may be a part of a word. Where every
    line also has a number, the numbers are ids if they are 0 to n-1, and else counts. fairseq's dict.txt has
    counts; its four symbols are added where there are as many ids more. If only that fits, any white space
    parts two words, as in the code published with the models of Gulordava et al. 2018.
    """
    raw = text.removesuffix("\n").replace("\r\n", "\n").split("\n")
    lines = [line.strip(" \t\r") for line in raw]
    words = [line for line in lines if line]
    for pattern, word, number in ((WITH_NUMBER, 1, 2), (AFTER_NUMBER, 2, 1)):
        matches = [pattern.fullmatch(line) for line in words]
        if len(matches) < 2 or not all(matches):
            continue
        ids = {int(match[number]): match[word] for match in matches if match}
        if ids.keys() == set(range(len(words))):
            return [ids[i] for i in range(len(ids))]
        if pattern is WITH_NUMBER:
            words = [match[word] for match in matches if match]
            break
    if size == len(FAIRSEQ_SYMBOLS) + len(words) and not set(FAIRSEQ_SYMBOLS) & set(words):
        return [*FAIRSEQ_SYMBOLS, *words]
    readings = [words, lines, text.split()]
    if len({len(line) for line in raw}) == 1 and len(raw[0]) == 1:
        readings.insert(0, raw)  # of letters one may be a space
    for reading in readings:
        if size in (len(reading), None):
            return reading
    if len(words) < len(lines):
        blank = next(number for number, line in enumerate(lines, 1) if not line)
        raise ModelError(
            f"line {blank} of the vocabulary is blank. Without blank lines, the file has {len(words):,} "
            f"words, but the weights need {size:,}.\n"
            "  Write the words as a JSON list, in the order of their ids, or use the pickle of the training."
        )
    return words if all(len(word.split()) == 1 for word in words) else text.split()


def _named_words(value: object) -> list[list[str]]:
    """Return what may be a vocabulary in a pickle, at a path whose name says so."""
    return [words for path, words in find_words(value) if not path or _is_named(path)]


def _only(path: Path, vocabularies: list[list[str]]) -> list[str]:
    distinct = {tuple(words) for words in vocabularies}
    if len(distinct) != 1:
        raise ModelError(
            f"{path}: the file must hold one vocabulary, but holds {len(distinct) or 'none'}.\n"
            "  Write one list of words in the order of their ids, or one map of words to ids 0 to n-1."
        )
    return list(distinct.pop())


def words_of_texts(paths: list[str]) -> list[str]:
    """Rebuild the words of PyTorch's word_language_model: in order of sight, `<eos>` at each line's end.

    Source: `pytorch/examples`, word_language_model/data.py, class Corpus.
    """
    words: dict[str, None] = {}
    for path in paths:
        try:
            with io.TextIOWrapper(open_limited(Path(path), "text_bytes"), "utf-8") as lines:
                for line in lines:
                    words.update(dict.fromkeys([*line.split(), EOS]))
        except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
            raise ModelError(
                f"vocab_from: {path} cannot be read: {shortened(reason(error), 200)}.\n"
                "  Name the files of the training text: --model-args vocab_from=FILE,FILE"
            ) from None
    return list(words)
