"""Find the trainings that the runs of a command line belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.cli.printing import warn_once

if TYPE_CHECKING:
    from tseval.report.analyses.trajectory import Training
    from tseval.report.opened import RunSet
    from tseval.runs import Clock


def trainings_of_runs(opened: RunSet, over: Clock, by: tuple[str, ...] = ()) -> list[Training]:
    """Return the trainings that runs belong to, and print the runs that belong to none."""
    from tseval.report.analyses.trajectory import find_trainings

    trainings, left_out = find_trainings(opened, over, by)
    for run in left_out:
        warn_once(
            f"{run}: tseval leaves this run out, because it does not state the training {over} of "
            "its checkpoint"
        )
    single = [training.name for training in trainings if len(training.runs) == 1]
    if single and len(trainings) > 1:
        joined = "tseval joins runs whose models differ only in the number in their name"
        warn_once(f"each of these trainings has only one run: {', '.join(single)} ({joined})")
    return trainings
