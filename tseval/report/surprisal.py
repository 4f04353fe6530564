"""Surprisal for people to look at, and for programs to read."""

from __future__ import annotations

import csv
import io
import json
from math import fsum, log
from typing import TYPE_CHECKING

from tseval.errors import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.scoring.surprisal import Token

SURPRISAL_COLUMNS = ("sentence", "word", "text", "token", "surprisal_nats", "surprisal_bits")
BAR = 24  # characters of the longest bar
EIGHTHS = " ▏▎▍▌▋▊▉█"


def bits(nats: float) -> float:
    """Convert nats to bits."""
    return nats / log(2)


def as_rows(names: Sequence[str | int], sentences: Sequence[Sequence[Token]], form: str) -> str:
    """Write one row per token, as `tsv` with a header or as `jsonl`; unknown surprisal is empty, or null."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
    if form == "tsv":
        writer.writerow(SURPRISAL_COLUMNS)
    for name, tokens in zip(names, sentences, strict=True):
        for token in tokens:
            nats = token.surprisal
            values = (name, token.word, token.text, token.token, nats, None if nats is None else bits(nats))
            if form == "jsonl":
                out.write(
                    json.dumps(dict(zip(SURPRISAL_COLUMNS, values, strict=True)), ensure_ascii=False) + "\n"
                )
            else:
                writer.writerow(plain(value) if isinstance(value, str) else value for value in values)
    return out.getvalue()


def as_picture(sentences: Sequence[Sequence[Token]]) -> str:
    """Draw a bar for each token, all to one scale, with sums below each sentence."""
    every = [token for tokens in sentences for token in tokens]
    largest = max((token.surprisal or 0.0 for token in every), default=0.0)
    names = [_names(tokens) for tokens in sentences]
    width = max((len(name) for some in names for name in some), default=0)
    return "\n".join(
        _drawn([f"{name:{width}}" for name in some], tokens, largest)
        for some, tokens in zip(names, sentences, strict=True)
    )


def _names(tokens: Sequence[Token]) -> list[str]:
    """Name each token: its word, and what the model sees of it where that is something else."""
    names = []
    before = None
    for token in tokens:
        text = "" if token.word == before else plain(token.text)  # a word of several tokens is named once
        before = token.word
        names.append(text if token.token == token.text else f"{text}  {plain(token.token)}")
    return names


def _drawn(names: Sequence[str], tokens: Sequence[Token], largest: float) -> str:
    lines = []
    for name, token in zip(names, tokens, strict=True):
        if token.surprisal is None:
            lines.append(f"{name}       –")
        else:
            share = token.surprisal / largest if largest else 0.0
            lines.append(f"{name}  {_both(token.surprisal)}  {bar(share)}".rstrip())
    total = fsum(token.surprisal for token in tokens if token.surprisal is not None)
    return "\n".join([*lines, f"{'':{len(names[0])}}  {_both(total)}  in all", ""])


def _both(nats: float) -> str:
    return f"{nats:6.2f} nats  {bits(nats):6.2f} bits"


def bar(share: float) -> str:
    """Draw a bar of a share of the full length, to an eighth of a character."""
    eighths = round(max(0.0, share) * BAR * 8)
    return EIGHTHS[-1] * (eighths // 8) + EIGHTHS[eighths % 8].strip()
