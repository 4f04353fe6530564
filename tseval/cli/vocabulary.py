"""Look up words in a vocabulary: a text file with one word per line, or a model as for `tseval run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tseval.cli.checkpoint_files import CHECKPOINT_ENDINGS
from tseval.cli.model_options import open_chosen, read_arguments
from tseval.errors import ModelError, SuiteError, suggest
from tseval.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable


_BUNDLED = "bundled:"
# Endings of files that are models, with any content.
_MODEL_ENDINGS = {".pt", ".pth", ".safetensors", ".bin", ".ckpt", ".gguf", ".pkl", ".arpa"}


def known_words(spec: str, model_args: str = "") -> Callable[[str], bool]:
    """Return a function that tells whether a vocabulary knows a word."""
    from tseval.models import bundled_checkpoints
    from tseval.models.checkpoint import read_vocabulary
    from tseval.models.state_files import is_foreign

    path = Path(spec)
    if spec.startswith(_BUNDLED):
        name, checkpoints = spec.removeprefix(_BUNDLED), bundled_checkpoints()
        if name not in checkpoints:
            hint = suggest(name, checkpoints, "Bundled checkpoints")
            raise ModelError(f"no checkpoint that comes with tseval has the name {name!r}.\n  {hint}")
        path = checkpoints[name]
    if path.suffix in CHECKPOINT_ENDINGS and path.is_file() and not model_args and not is_foreign(path):
        vocabulary = read_vocabulary(path)  # without the weights
        words = frozenset(vocabulary.words)
        return lambda word: (word.lower() if vocabulary.lowercase else word) in words
    is_text = (":" not in spec or path.exists()) and path.suffix not in _MODEL_ENDINGS and not path.is_dir()
    if is_text and not read_arguments(model_args):
        return _words_of_text(path).__contains__
    model = open_chosen(spec, model_args, "cpu", quiet=True)
    from tseval.scoring.vocabulary import known_to

    return known_to(model)


def _words_of_text(path: Path) -> frozenset[str]:
    try:
        text = read_bytes(path, "document_bytes").decode("utf-8-sig")
    except UnicodeDecodeError:
        fix = "Give a UTF-8 text with one word per line, or a model as for tseval run."
        raise SuiteError(
            f"{path}: this file is not a vocabulary, because it is not UTF-8 text.\n  {fix}"
        ) from None
    except OSError as error:
        fix = "Give a text file with one word per line, a checkpoint, or bundled:NAME."
        raise SuiteError(f"{path}: tseval cannot read this file ({error.strerror}).\n  {fix}") from None
    return frozenset(word.strip() for word in text.split("\n"))
