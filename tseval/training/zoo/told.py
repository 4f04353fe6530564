"""What a published zoo tells of how its models were made: written here, and read here to extend it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.formats import Json
    from tseval.training.zoo.plan import ZooModel
    from tseval.training.zoo.recipe import Recipe

_OPTIONS = re.compile(r"^- (?:but )?(\S+): `(--.*)`$", re.MULTILINE)
_DIGEST = re.compile(r"SHA-256 ([0-9a-f]{64})")
_SHARED = "all"  # no architecture has this name


def tell_options(recipe: Recipe, models: Sequence[ZooModel]) -> str:
    """Give the options that all models share, and all options of each architecture that has its own."""
    own = {model.arch: model.options for model in models if model.arch in recipe.cells}
    lines = {_SHARED: recipe.arguments(""), **{f"but {arch}": options for arch, options in own.items()}}
    return "\n".join(f"- {group}: `{' '.join(words)}`" for group, words in lines.items())


def told_options(text: str, arch: str) -> str | None:
    """Find in a page the options of an architecture; None where it tells none."""
    told = dict(_OPTIONS.findall(text))
    return told.get(arch, told.get(_SHARED))


def tell_texts(files: Sequence[Mapping[str, Json]]) -> str:
    """Name the texts that a model read, for its entry."""
    return "; ".join(f"{file['name']}, {file['tokens']:,} tokens, SHA-256 {file['sha256']}" for file in files)


def told_digests(texts: str) -> set[str]:
    """Find in an entry the SHA-256 of each text that its model read."""
    return set(_DIGEST.findall(texts))
