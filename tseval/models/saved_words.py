"""Vocabularies for model files from other programs: in the file, in its folder, or in a separate file.

A vocabulary can also be rebuilt from the training text. No code in a file is run.
"""

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
from tseval.formats import is_count
from tseval.models.pickles import Pickled, read_pickle
from tseval.models.torch_files import OWN_LIMITS, read_object
from tseval.models.vocabulary import EOS, UNK, Vocabulary
from tseval.models.walks import Walk, path_within

if TYPE_CHECKING:
    from collections.abc import Iterator


# Names of vocabulary files in a checkpoint's folder, and of vocabularies inside a checkpoint.
BESIDE = ("vocab.txt", "vocab.json", "meta.pkl", "dict.txt")
NAMES = re.compile(
    r"vocab(ulary)?|words?|tokens?|dictionary|dict|corpus|[is]to[is]"
    r"|(idx|index|id|ix|i)_?(2|to)_?(word|token|w)|(word|token|w)_?(2|to)_?(idx|index|id|ix|i)",
    re.IGNORECASE,
)
# Start symbols of sentences; if there is none, the symbol at the end of the sentence before.
STARTS = ("<bos>", "<BOS>", "<sos>", "<SOS>", "<s>", "<S>", "[BOS]", "<start>", "<START>",
          EOS, "<EOS>", "</s>", "</S>", "[EOS]", "<end>", "<END>", "<|endoftext|>")  # fmt: skip
UNKNOWNS = (UNK, "<UNK>", "<unknown>", "<UNKNOWN>", "[UNK]", "<oov>", "<OOV>", "UNK", "<|unk|>")
SYMBOL = re.compile(r"<.*>|\[.*\]|UNK")
# Calls in pickled dictionaries that become records or plain containers.
_CALLED_OF_WORDS = frozenset({
    *("collections.Counter", "collections.defaultdict", "collections.OrderedDict"),
    *("copyreg._reconstructor", "copy_reg._reconstructor", "builtins.object", "__builtin__.object"),
    *("builtins.int", "builtins.set", "__builtin__.set", "_codecs.encode"),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class VocabularyOptions:
    """The options in `--model-args` about the words."""

    vocab: str | None = None  # a file of words, or the path of one of several vocabularies in the checkpoint
    # text files, separated by commas: words by first occurrence, with `<eos>` at the end of each line
    vocab_from: str | None = None
    bos: str | None = None  # the word before every sentence
    unk: str | None = None  # the word for all unknown words, or `none`
    lowercase: str | None = None  # `true` or `false`


@dataclass(frozen=True, slots=True)
class Words:
    """A vocabulary, its source, and a description on one line."""

    vocabulary: Vocabulary
    source: str
    reading: str


def find_vocabulary(path: Path, value: object, size: int, options: VocabularyOptions) -> Words:
    """Find the words of a model: in the user's file, in the checkpoint, or in the checkpoint's folder."""
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
    """Return the words in the order of their ids, and their source."""
    if options.vocab is not None and options.vocab_from is not None:
        raise ModelError("--model-args vocab= and vocab_from= cannot be used together. Remove one of the two")
    if options.vocab_from is not None:
        return words_of_texts(options.vocab_from.split(",")), options.vocab_from
    word_lists = {
        location: words for location, words in find_words(value) if len(words) == size or _is_named(location)
    }
    if options.vocab is not None:
        if options.vocab in word_lists and not Path(options.vocab).exists():
            return word_lists[options.vocab], f"its {options.vocab}"
        return read_words(Path(options.vocab), size), options.vocab
    fitting = {location: words for location, words in word_lists.items() if len(words) == size}
    if len({tuple(words) for words in fitting.values()}) > 1:
        first, second, *_ = fitting
        raise ModelError(
            f"the file holds two vocabularies of {size:,} words: {first} and {second}.\n"
            f"  Add --model-args vocab={first}, or vocab={second}"
        )
    if fitting:
        return next(iter(fitting.values())), f"its {next(iter(fitting))}"
    for name in BESIDE:
        if (file := path.parent / name).is_file():
            return read_words(file, size), str(file)
    if word_lists:
        location, words = next(iter(word_lists.items()))
        return words, f"its {location}"
    raise ModelError(
        f"the file does not hold the words of its {size:,} ids.\n"
        "  Add --model-args vocab=FILE (a text file with one word a line, in the order of the ids),\n"
        "  or vocab_from=train.txt,valid.txt,test.txt (the training text of word_language_model)."
    )


def _is_named(path: str) -> bool:
    return any(NAMES.fullmatch(part) for part in path.split("."))


def describe_words(words: list[str], source: str, options: VocabularyOptions) -> Words:
    """Add start symbol, unknown word and case to words, inferred or from the options."""
    known_words = set(words)
    for name, word in (("bos", options.bos), ("unk", options.unk)):
        if word is not None and word not in known_words and not (name == "unk" and word == "none"):
            raise ModelError(
                f"{name}={word}: the vocabulary has no such word. {suggest(word, words, 'Words')}"
            )
    start = options.bos or next((word for word in STARTS if word in known_words), None)
    if start is None:
        raise ModelError(
            f"the vocabulary has no {EOS}, and no other symbol that tseval can put before a sentence.\n"
            "  Name the symbol that was before each sentence in training (often the one at the end of "
            "each line): --model-args bos=WORD"
        )
    unknown = options.unk or next((word for word in UNKNOWNS if word in known_words), None)
    if options.lowercase not in (None, "true", "false"):
        raise ModelError(f"lowercase={options.lowercase}: write true or false")
    plain = [word for word in words if not SYMBOL.fullmatch(word)]
    lowercase = (
        options.lowercase == "true" if options.lowercase else not any(word != word.lower() for word in plain)
    )
    unknown = None if unknown == "none" else unknown
    vocabulary = Vocabulary(tuple(words), lowercase, start, unknown)
    case = "lower-cased" if lowercase else "case kept"
    reading = f"{len(words):,} words of {source or 'its own'}, {case}, {start} before each sentence, " + (
        f"{unknown} for unknown words"
        if unknown
        else "no word for unknown words (they make a pair undecidable)"
    )
    return Words(vocabulary, source, reading)


def find_words(
    value: object, path: str = "", depth: int = 5, walk: Walk | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield all saved values that may be vocabularies, with their paths (`corpus.dictionary`)."""
    walk = walk or Walk()
    value = value.state if isinstance(value, Pickled) else value
    if isinstance(value, Mapping | list) and not walk.enters(value, depth):
        return
    if (words := as_words(value)) is not None:
        yield path, words
    elif depth and isinstance(value, Mapping):
        for name, entry in value.items():
            if not str(name).startswith("_"):  # internal attributes of torch modules
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
        pairs = [(int(i), word) for i, word in pairs]  # JSON keys cannot be numbers
    elif not all(type(i) is int and isinstance(word, str) for i, word in pairs):
        return None
    by_id = dict(pairs)
    return [by_id[i] for i in range(len(by_id))] if by_id.keys() == set(range(len(pairs))) else None


def read_words(path: Path, size: int | None = None) -> list[str]:
    """Read words in the order of their ids; if there are several interpretations, the one with `size` words.

    Formats: text, one word per line, optionally with a number (`words_of_text`); JSON, a list or a map of
    words and ids; a pickle of torch or of Python with such a value or an object that has one. No code in a
    pickle is run.
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


# The symbols before the first word, which fairseq's dict.txt omits (fairseq/data/dictionary.py).
FAIRSEQ_SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]
WITH_NUMBER = re.compile(r"(\S.*?)[ \t]+(-?\d+)(?: #fairseq:overwrite)?")
AFTER_NUMBER = re.compile(r"(\d+)[ \t]+(\S.*?)")


def words_of_text(text: str, size: int | None = None) -> list[str]:
    """Read the words of a text file in the order of their ids.

    There is one word per line. A line ends only at a line feed. Only spaces and tabs around a word are
    removed, because a no-break space or another line separator of Unicode may belong to a word. If every line
    also has a number, the numbers are ids if they are 0 to n-1, and otherwise counts. fairseq's dict.txt has
    counts; if there are four more ids, its four symbols are added. If only this gives the right number, words
    are split at any white space, as in the published code for the models of Gulordava et al. 2018.
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
        readings.insert(0, raw)  # in a vocabulary of characters, one may be a space
    for reading in readings:
        if size in (len(reading), None):
            return reading
    if len(words) < len(lines):
        blank = next(number for number, line in enumerate(lines, 1) if not line)
        raise ModelError(
            f"line {blank} of the vocabulary is blank. Without blank lines, the file has {len(words):,} "
            f"words, but the weights need {size:,}.\n"
            "  Write the words as a JSON list, in the order of their ids. Or use the pickled vocabulary of "
            "the program that trained the model."
        )
    return words if all(len(word.split()) == 1 for word in words) else text.split()


def _named_words(value: object) -> list[list[str]]:
    """Return possible vocabularies in a pickle whose path has the name of a vocabulary."""
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
    """Rebuild the words of PyTorch's word_language_model: by first occurrence, `<eos>` at each line's end.

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
