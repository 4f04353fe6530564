"""Which models of a published zoo stay where others are added to it.

So a zoo can be trained on several machines, and goes on where the weights of its first models are gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.boards import DEFINITION, entry_folders, read_definition, read_entry
from tseval.boards.check import wrong_with_board
from tseval.errors import TrainingError
from tseval.training.zoo.plan import planned
from tseval.training.zoo.told import told_digests, told_options

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from tseval.training.zoo.plan import ZooModel
    from tseval.training.zoo.recipe import Recipe

_ANEW = "Publish to another folder; without --extend, what this zoo does not hold is removed there."


def models_to_keep(
    target: Path, recipe: Recipe, own: Collection[str], digests: Collection[str]
) -> list[ZooModel]:
    """Find the published models that a zoo has not made itself, if they were made as its own are.

    Args:
        target: The folder of the publication; there may be none yet.
        recipe: How the zoo's own models are trained.
        own: Names of those that it has made.
        digests: SHA-256 of each text that they read.

    Raises:
        TrainingError: A published model has other settings, read other texts, or is none of a zoo's.
        BoardError: The publication cannot be read.
    """
    if not (target / DEFINITION).exists():
        return []
    definition = read_definition(target)
    kept = []
    for folder in entry_folders(target, definition.order):
        if folder.name in own:
            continue
        model = planned(recipe, folder.name, target)
        if model is None:
            raise TrainingError(f"{folder} is of no model that a zoo has.\n  {_ANEW}")
        before, now = told_options(definition.text, model.arch), " ".join(model.options)
        if before != now:
            raise TrainingError(
                f"{target} holds a {model.name} of other settings: {before}\n"
                f"  and recipe {recipe.name} has {now}\n  {_ANEW}"
            )
        read = read_entry(folder).about.training_data or "no text that is named"
        if told_digests(read) != set(digests):
            raise TrainingError(f"{target} holds a {model.name} trained on other texts: {read}\n  {_ANEW}")
        kept.append(model)
    return kept


def check_kept(target: Path, kept: Sequence[ZooModel]) -> None:
    """Hold the entries that stay to what they say, as `tseval board check` does.

    Raises:
        TrainingError: Something is wrong with one of them; says what.
    """
    wrong = wrong_with_board(target, [model.name for model in kept]) if kept else []
    if wrong:
        raise TrainingError(
            f"{target} cannot be extended: {wrong[0]}.\n"
            "  Put that entry right or remove its folder, then give the same command again."
        )
