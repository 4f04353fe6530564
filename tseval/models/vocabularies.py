"""The words of a model that others saved: in its file, beside it, in a file of their own, or in its text."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tseval.errors import ModelError, reason, shortened, suggest
from tseval.files import open_limited, read_bytes
from tseval.models import EOS, UNK, Vocabulary
from tseval.models.pickles import Pickled, read_pickle
from tseval.models.torch_files import OWN_LIMITS, read_object

if TYPE_CHECKING:
    from collections.abc import Iterator


# Where words lie beside a checkpoint, and what they are called in one.
BESIDE = ("vocab.txt", "vocab.json", "meta.pkl")
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
_CALLED = frozenset({
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
            f"the vocabulary has {len(words):,} words but the weights are for {size:,}: "
            f"they do not belong together ({source})"
        )
    try:
        return describe_words(words, source, options)
    except ModelError as error:
        raise ModelError(f"{source and f'{source}: '}{error}") from None


def _words(path: Path, value: object, size: int, options: VocabularyOptions) -> tuple[list[str], str]:
    """Give the words in the order of their ids, and where they were found."""
    if options.vocab is not None and options.vocab_from is not None:
        raise ModelError("--model-args vocab= and vocab_from= exclude each other: give one")
    if options.vocab_from is not None:
        return words_of_texts(options.vocab_from.split(",")), options.vocab_from
    inside = {place: words for place, words in find_words(value) if len(words) == size or _is_named(place)}
    if options.vocab is not None:
        if options.vocab in inside and not Path(options.vocab).exists():
            return inside[options.vocab], f"its {options.vocab}"
        return read_words(Path(options.vocab)), options.vocab
    fitting = {place: words for place, words in inside.items() if len(words) == size}
    if len({tuple(words) for words in fitting.values()}) > 1:
        first, second, *_ = fitting
        raise ModelError(
            f"it holds two vocabularies of {size:,} words: {first} and {second}.\n"
            f"  Add --model-args vocab={first}, or vocab={second}."
        )
    if fitting:
        return next(iter(fitting.values())), f"its {next(iter(fitting))}"
    for name in BESIDE:
        if (beside := path.parent / name).is_file():
            return read_words(beside), str(beside)
    if inside:
        place, words = next(iter(inside.items()))
        return words, f"its {place}"
    raise ModelError(
        f"it does not hold the words of its {size:,} ids. Add --model-args vocab=FILE, a text file with one "
        "word a line in the order of the ids,\n  or vocab_from=train.txt,valid.txt,test.txt, the text that "
        "word_language_model was trained on."
    )


def _is_named(place: str) -> bool:
    return any(NAMES.fullmatch(part) for part in place.split("."))


def describe_words(words: list[str], source: str, options: VocabularyOptions) -> Words:
    """Tell start symbol, unknown word and case from the words, or as the user says."""
    known = set(words)
    for name, word in (("bos", options.bos), ("unk", options.unk)):
        if word is not None and word not in known and not (name == "unk" and word == "none"):
            raise ModelError(f"{name}={word}: {suggest(word, words, 'Words')}")
    start = options.bos or next((word for word in STARTS if word in known), None)
    if start is None:
        raise ModelError(
            f"the vocabulary has no {EOS}, and no other word that starts a sentence.\n"
            "  Add --model-args bos=WORD, the word that ended lines in training."
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
        f"{unknown} for unknown ones" if unknown else "none for unknown ones: what holds one is undecidable"
    )
    return Words(vocabulary, source, reading)


def find_words(value: object, place: str = "", depth: int = 5) -> Iterator[tuple[str, list[str]]]:
    """Give everything in what was saved that may be a vocabulary, with its place (`corpus.dictionary`)."""
    value = value.state if isinstance(value, Pickled) else value
    if (words := as_words(value)) is not None:
        yield place, words
    elif depth and isinstance(value, Mapping):
        for name, entry in value.items():
            if not str(name).startswith("_"):  # what a module of torch is made of
                yield from find_words(entry, f"{place}.{name}" if place else str(name), depth - 1)


def as_words(value: object) -> list[str] | None:
    """Take a list of words, or a map between words and ids 0 to n-1, for a vocabulary; None if it is none."""
    if isinstance(value, list) and len(value) > 1 and all(isinstance(word, str) for word in value):
        return cast("list[str]", value)
    if not isinstance(value, Mapping) or len(value) < 2:
        return None
    pairs = list(value.items())
    if all(isinstance(word, str) and type(i) is int for word, i in pairs):
        pairs = [(i, word) for word, i in pairs]
    elif all(isinstance(i, str) and i.isdigit() and isinstance(word, str) for i, word in pairs):
        pairs = [(int(i), word) for i, word in pairs]  # JSON has no numbers for keys
    elif not all(type(i) is int and isinstance(word, str) for i, word in pairs):
        return None
    by_id = dict(pairs)
    return [by_id[i] for i in range(len(by_id))] if by_id.keys() == set(range(len(pairs))) else None


def read_words(path: Path) -> list[str]:
    """Read words in the order of their ids.

    They are text, one word a line (any white space parts two words, as in the code published with the models
    of Gulordava et al. 2018); JSON, a list or a map of words and ids; or a pickle of such, or of an object
    that has one, of torch or of Python alone, read without running it.
    """
    try:
        with path.open("rb") if path.is_file() else io.BytesIO() as file:
            start = file.read(2)
        if start == b"PK":
            return _only(path, _named_words(read_object(path, _CALLED, OWN_LIMITS).value))
        if start[:1] == b"\x80":
            content = io.BytesIO(read_bytes(path, "document_bytes"))
            pickled = read_pickle(content, _CALLED, max_instructions=OWN_LIMITS.instructions)
            return _only(path, _named_words(pickled.value))
        text = read_bytes(path, "document_bytes").decode()
    except UnicodeDecodeError:
        raise ModelError(f"{path}: not a vocabulary: give UTF-8 text, one word a line") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ModelError(f"{path}: the vocabulary cannot be read: {reason(error)}") from None
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    if path.suffix != ".json":
        return text.split()
    try:
        found = [words for _, words in find_words(json.loads(text))]
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: not a vocabulary: no JSON") from None
    return _only(path, found)


def _named_words(value: object) -> list[list[str]]:
    """Give what may be a vocabulary in a pickle, at a place that is called like one."""
    return [words for place, words in find_words(value) if not place or _is_named(place)]


def _only(path: Path, found: list[list[str]]) -> list[str]:
    distinct = {tuple(words) for words in found}
    if len(distinct) != 1:
        raise ModelError(
            f"{path}: holds {len(distinct) or 'no'} vocabularies: give one list of words in the order of "
            "their ids, or one map of words to ids 0 to n-1"
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
            raise ModelError(f"vocab_from: {path}: cannot be read: {shortened(reason(error), 200)}") from None
    return list(words)
