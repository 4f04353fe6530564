"""Read the text that the options of a training name."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from click.core import ParameterSource

from tseval.errors import TrainingError
from tseval.models import SPECIAL_WORDS, Vocabulary
from tseval.suites.formal.languages import Language, parse_language
from tseval.training.corpus import (
    Stream,
    count_words,
    describe_drawn,
    draw_text,
    encode_text,
    file_facts,
    map_text,
    vocabulary_of,
)

if TYPE_CHECKING:
    import click

    from tseval.formats import Json


FILE_OPTIONS = ("train_files", "valid_file", "vocab_from", "vocab_size", "min_count", "lowercase")


@dataclass(frozen=True, slots=True)
class TrainingText:
    """The vocabulary, the two texts, and facts about their files. Training text from files stays on disk."""

    vocabulary: Vocabulary
    streams: tuple[Stream, Stream]
    files: list[Json]


def chosen_language(context: click.Context) -> Language | None:
    """Return the formal language of `--suite`, or None. For a language, set the option `whole_lines`."""
    suite = context.params["suite"]
    named = [
        name for name in FILE_OPTIONS if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if suite is None:
        if not context.params["train_files"] or context.params["valid_file"] is None:
            raise TrainingError(
                "the command must name a text to train on. Add --train FILE and --valid FILE. For a "
                "formal language, add --suite LANGUAGE, such as --suite 'cross_serial(8)'."
            )
        return None
    if named:
        option = {"train_files": "train", "valid_file": "valid"}.get(named[0], named[0].replace("_", "-"))
        raise TrainingError(
            f"--{option} cannot be combined with --suite, which has its own text and "
            f"vocabulary. Leave out --{option}."
        )
    context.params["whole_lines"] = True
    return parse_language(suite)


def read_training_text(context: click.Context, language: Language | None) -> TrainingText:
    """Draw the text from the language, or read the files and make the vocabulary from them."""
    if language is not None:
        streams = draw_text(language, "train"), draw_text(language, "valid")
        names = (f"{context.params['suite']} {split}" for split in ("train", "valid"))
        files = [asdict(describe_drawn(*pair)) for pair in zip(names, streams, strict=True)]
        return TrainingText(vocabulary_of(language), streams, list(files))
    train_files, valid_file = context.params["train_files"], context.params["valid_file"]
    lowercase, min_count = context.params["lowercase"], context.params["min_count"]
    vocab_from = context.params["vocab_from"]
    of_words = train_files if vocab_from is None else [vocab_from]
    counts = count_words(of_words, lowercase=lowercase)
    if not counts:
        raise TrainingError(
            f"{', '.join(map(str, of_words))}: the text has no words. Name a text file with one sentence a "
            "line."
        )
    vocabulary = Vocabulary.from_counts(
        counts, size=context.params["vocab_size"], min_count=min_count, lowercase=lowercase
    )
    if len(vocabulary) == SPECIAL_WORDS:
        text = "the training text" if vocab_from is None else vocab_from
        raise TrainingError(
            f"no word of {text} occurs {min_count} times, so the vocabulary would be "
            f"empty. Lower --min-count {min_count}."
        )
    return TrainingText(
        vocabulary,
        (map_text(train_files, vocabulary), encode_text([valid_file], vocabulary)),
        [asdict(file_facts(path)) for path in [*train_files, valid_file]],
    )
