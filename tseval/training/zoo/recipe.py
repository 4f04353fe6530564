"""Recipes: how every model of a zoo is trained, as a small YAML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tseval.errors import TrainingError, suggest
from tseval.formats import ContentError, read_yaml
from tseval.models.cells import CELLS

if TYPE_CHECKING:
    from collections.abc import Mapping

BUNDLED_RECIPES = Path(__file__).parent / "recipes"
# What the zoo itself decides for each model.
OWN = ("arch", "train", "valid", "out", "seed", "resume")

RecipeValue = str | int | float | bool | dict[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the models of a zoo are trained.

    Attributes:
        name: Name of the recipe that comes with tseval, or of the file without its ending.
        seeds: Models of an architecture that does not say otherwise.
        train: Options of `tseval train lm` by name without dashes, for all models.
        cells: Options that differ for one architecture.
        own_seeds: Models of an architecture that does, by its name.
    """

    name: str
    seeds: int
    train: Mapping[str, RecipeValue]
    cells: Mapping[str, Mapping[str, RecipeValue]]
    own_seeds: Mapping[str, int]

    def seeds_of(self, arch: str) -> int:
        """Give the number of models of an architecture, with seeds 1, 2, ..."""
        return self.own_seeds.get(arch, self.seeds)

    def arguments(self, arch: str) -> tuple[str, ...]:
        """Spell out the options of `tseval train lm` for an architecture."""
        words: list[str] = []
        for name, value in {**self.train, **self.cells.get(arch, {})}.items():
            if isinstance(value, dict):  # an option that takes NAME=VALUE and may be repeated
                for key, one in value.items():
                    words += [f"--{name}", f"{key}={_spelled(one)}"]
            elif isinstance(value, bool):
                words += [f"--{name}"] if value else []
            else:
                words += [f"--{name}", str(value)]
        return tuple(words)


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def bundled_recipes() -> dict[str, Path]:
    """List the recipes that come with tseval, by name."""
    return {path.stem: path for path in sorted(BUNDLED_RECIPES.glob("*.yaml"))}


def read_recipe(name: str) -> Recipe:
    """Read a recipe.

    Args:
        name: Name of one that comes with tseval, or path of a YAML file.

    Raises:
        TrainingError: There is no such recipe, or the file does not hold one; names file and field.
    """
    known = bundled_recipes()
    path = known.get(name, Path(name))
    try:
        return _recipe(path, read_yaml(path))
    except FileNotFoundError:
        hint = suggest(name, known, "Recipes that come with tseval")
        raise TrainingError(f"there is no recipe {name!r}.\n  Name a YAML file. {hint}") from None
    except OSError as error:
        raise TrainingError(f"{path}: cannot be read ({error.strerror})") from None
    except ContentError as error:
        raise TrainingError(f"{path}: {error}") from None


def _recipe(path: Path, content: object) -> Recipe:
    """Hold what a file says to what a recipe is."""
    fields = _mapping(path, "a recipe", content)
    for name in fields:
        if name not in ("seeds", "train", "cells"):
            raise TrainingError(f"{path}: unknown field {name!r}.\n  A recipe has seeds, train and cells.")
    cells = _mapping(path, "cells", fields.get("cells", {}))
    for arch in cells:
        if arch not in CELLS:
            hint = suggest(arch, CELLS, "Architectures")
            raise TrainingError(f"{path}: cells: unknown architecture {arch!r}.\n  {hint}")
    own = {arch: _options(path, f"cells.{arch}", options) for arch, options in cells.items()}
    own_seeds = {arch: options.pop("seeds") for arch, options in own.items() if "seeds" in options}
    return Recipe(
        name=path.stem,
        seeds=_seeds(path, "seeds", fields.get("seeds", 1)),
        train=_options(path, "train", fields.get("train", {})),
        cells={arch: options for arch, options in own.items() if options},
        own_seeds={arch: _seeds(path, f"cells.{arch}.seeds", seeds) for arch, seeds in own_seeds.items()},
    )


def _seeds(path: Path, where: str, content: object) -> int:
    if not isinstance(content, int) or isinstance(content, bool) or content < 1:
        raise TrainingError(f"{path}: {where} should be a whole number above 0, not {content!r}")
    return content


def _options(path: Path, where: str, content: object) -> dict[str, RecipeValue]:
    """Check that options are named values; whether they exist and are in range, `tseval train lm` knows."""
    options = _mapping(path, where, content)
    for name, value in options.items():
        if name in OWN:
            raise TrainingError(f"{path}: {where}.{name} is set by the zoo itself: leave it out")
        nested = value.values() if isinstance(value, dict) else [value]
        if not all(isinstance(one, str | int | float) for one in nested):
            raise TrainingError(f"{path}: {where}.{name} should be a text or a number, not {value!r}")
    return cast("dict[str, RecipeValue]", options)


def _mapping(path: Path, where: str, content: object) -> dict[str, object]:
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise TrainingError(f"{path}: {where} should be a mapping of names, not {content!r:.60}")
    return content
