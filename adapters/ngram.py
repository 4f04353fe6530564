"""Back-off n-gram models in ARPA files and KenLM binaries, read with the kenlm library.

Every sentence begins with `<s>`, which is not scored. The closing `</s>` is not scored either, as in the
protocol of Marvin & Linzen 2018 for recurrent models. With `eos=true`, its log-probability is added to that
of the last word.

Source: Heafield 2011, "KenLM: Faster and Smaller Language Model Queries".
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tseval.adapters.schemes import name_of_file
from tseval.errors import ModelError, suggest
from tseval.files import file_sha256
from tseval.scoring.protocol import UNKNOWN, ModelCard

try:
    import kenlm
except ImportError:
    raise ModelError(
        'models of the kind ngram need the package kenlm. Install it: pip install "tseval[ngram]"'
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SCHEMES = {"ngram": "open_ngram"}
NATS = math.log(10)  # nats per unit of log10, which kenlm returns


class Queries(Protocol):
    """The methods of a kenlm model that tseval calls."""

    order: int

    def full_scores(self, sentence: str, bos: bool, eos: bool) -> Iterator[tuple[float, int, bool]]:
        """Return each word's log10 probability, the length of its n-gram, and whether it is unknown."""
        ...

    def __contains__(self, word: str) -> bool: ...


class NgramModel:
    """An n-gram model. With `eos`, the end of the sentence is scored together with the last word."""

    def __init__(self, path: Path, model: Queries, *, eos: bool) -> None:
        self._model, self._eos = model, eos
        self.card = ModelCard(
            name=name_of_file(path),
            kind="ngram",
            fingerprint=file_sha256(path),
            protocol={
                "start": "<s>",
                "end": "with the last word" if eos else "not scored",
                "unknown": UNKNOWN,
            },
            details={"architecture": f"{model.order}-gram", "order": model.order, "device": "cpu"},
        )

    def __repr__(self) -> str:
        return self.card.show(self)

    def word_logprobs(self, sentences: Sequence[str]) -> list[list[float]]:
        """Score sentences; see `SentenceModel`."""
        return [self._score(sentence.split()) for sentence in sentences]

    def _score(self, words: list[str]) -> list[float]:
        scores = [score * NATS for score, _, _ in self._model.full_scores(" ".join(words), True, self._eos)]
        if self._eos:
            scores[-2:] = [sum(scores[-2:])]
        return scores

    def seen(self, sentences: Sequence[str]) -> list[str]:
        """Replace unknown words; see `ReportingModel`."""
        texts = (sentence.split() for sentence in sentences)
        return [" ".join(word if word in self._model else UNKNOWN for word in words) for words in texts]


def open_ngram(rest: str, arguments: Mapping[str, str], device: str) -> NgramModel:
    """Open `--model ngram:FILE`, an ARPA file or a KenLM binary."""
    if unknown := sorted(arguments.keys() - {"eos"}):
        hint = suggest(unknown[0], ("eos",), "Arguments")
        raise ModelError(
            f"--model-args {unknown[0]}: models of the kind ngram have no argument with this name. {hint}"
        )
    eos = arguments.get("eos", "false")
    if eos not in ("true", "false"):
        raise ModelError(f"--model-args eos={eos}: eos must be true or false")
    if device not in ("auto", "cpu"):
        raise ModelError(f"--device {device}: n-gram models run on the CPU only.\n  Use --device cpu.")
    path = Path(rest)
    if not path.is_file():
        problem = "this is not a file" if path.exists() else "file not found"
        raise ModelError(f"{path}: {problem}.\n  Name an ARPA file or a KenLM binary: --model ngram:FILE")
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        model = kenlm.Model(os.fsencode(path), config)
    except (OSError, UnicodeDecodeError) as error:  # kenlm's message quotes the file, which may not be text
        raise ModelError(
            f"{path}: this is not an intact ARPA file or KenLM binary{_reason(error)}.\n"
            "  Build it again with KenLM: lmplz -o 5 < TEXT > FILE.arpa"
        ) from None
    return NgramModel(path, model, eos=eos == "true")


def _reason(error: OSError | UnicodeDecodeError) -> str:
    """Return the part of a kenlm message that describes the file, in brackets, or "".

    Some builds of kenlm give no description if the file is not text.
    """
    if isinstance(error, UnicodeDecodeError):
        reason = error.object.decode("utf-8", "replace")
    else:
        reason = str(error).partition("' (")[2].removesuffix(")")
    reason = re.sub(r"^.*? threw \w+(?: because `.*?')?\.\s*", "", reason)
    text = "".join(letter if letter.isprintable() else "?" for letter in reason)[:200]
    return f" ({text})" if text else ""
