"""The trainings that runs are moments of, and what was measured along each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.analysis.selection import require_features
from tseval.analysis.trajectories import emergence, trajectory
from tseval.errors import RunError
from tseval.runs.steps import progress_of, training_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from tseval.analysis.trajectories import Emergence, Trajectory
    from tseval.report.analyses import Opened
    from tseval.runs.manifest import Manifest
    from tseval.runs.steps import Clock

CHANCE_OF_PAIRS = 0.5
# Scores that do not choose between two sentences: who guesses has no accuracy that is known.
_NO_PAIRS = {"regions", "choices"}
# What checkpoints of one training have in common.
_OF_A_TRAINING = ("architecture", "parameters", "vocabulary", "training", "folder")


@dataclass(frozen=True, slots=True)
class Training:
    """The runs of one training.

    Attributes:
        name: Of the training, made distinct; text from outside.
        runs: Moment, ascending, to the name of a model among those opened.
        along: What was measured at each.
        chance: The accuracy of who guesses; None where it is not known.
    """

    name: str
    runs: Mapping[int, str]
    along: Trajectory
    chance: float | None

    def parts(self) -> tuple[tuple[pd.DataFrame, Mapping[int, pd.DataFrame]], ...]:
        """Give the two parts of a table: the rows, then the means, each with what was measured."""
        return (self.along.rows, self.along.of_rows), (self.along.means, self.along.of_means)

    def emergences(self, measured: Mapping[int, pd.DataFrame]) -> list[Emergence | None]:
        """Say of each line when it rises above chance; nothing where chance is not known."""
        n_lines = len(next(iter(measured.values())))
        if self.chance is None:
            return [None] * n_lines
        return [
            emergence({moment: frame.iloc[place] for moment, frame in measured.items()}, self.chance)
            for place in range(n_lines)
        ]


def find_trainings(
    opened: Opened, over: Clock = "step", by: Sequence[str] = ()
) -> tuple[list[Training], list[str]]:
    """Put runs in the order of the trainings that their models are checkpoints of.

    Args:
        opened: The runs.
        over: What a training is measured in.
        by: Features that rows are broken down by.

    Returns:
        The trainings, in the order of their first runs, and the runs of which no moment is known.

    Raises:
        RunError: No moment is known of any run, or two are of one.
        SuiteError: The suite has no such feature.
    """
    require_features(next(iter(opened.verdicts.values())), by)
    found: dict[str, dict[int, str]] = {}
    names: dict[str, str] = {}
    left_out = []
    for name, manifest in opened.manifests.items():
        moment = progress_of(manifest.model, over)
        if moment is None:
            left_out.append(opened.places[name])
            continue
        training = _training(manifest)
        names[training] = training_of(manifest.model)
        own = found.setdefault(training, {})
        if moment in own:
            raise RunError(
                f"{opened.places[own[moment]]} and {opened.places[name]} are both of {names[training]} at "
                f"{over} {moment:,}.\n  Leave one of them out."
            )
        own[moment] = name
    if not found:
        raise RunError(
            f"of none of these runs is known at which {over} of a training its model was.\n"
            "  A checkpoint says it by its content, its revision or its name, such as drnn-step1000.pt."
        )
    trainings = []
    for training, name in _distinct(names).items():
        runs = dict(sorted(found[training].items()))
        manifest = opened.manifests[next(iter(runs.values()))]
        along = trajectory({moment: opened.verdicts[model] for moment, model in runs.items()}, by)
        chance = None if manifest.key.score in _NO_PAIRS else CHANCE_OF_PAIRS
        trainings.append(Training(name, runs, along, chance))
    return trainings, left_out


def _training(manifest: Manifest) -> str:
    """Identify a training by all that its checkpoints have in common."""
    card = manifest.model
    known = [card.details.get(name) for name in _OF_A_TRAINING]
    return repr((training_of(card), card.kind, sorted(card.protocol.items()), known, manifest.key.score))


def _distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Give every training a name of its own: equal ones get a number."""
    shared, seen = Counter(names.values()), Counter[str]()
    distinct = {}
    for training, name in names.items():
        seen[name] += 1
        distinct[training] = f"{name} #{seen[name]}" if shared[name] > 1 else name
    return distinct
