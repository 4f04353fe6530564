"""Score the tasks with a model, and write what the pipeline collects where it looks for it.

The pipeline's `collate_preds` reads `OUT/MODEL/REVISION/zero_shot/BACKEND/TASK/FOLDER/predictions.json`.
Beside it stands the run that the predictions follow from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.babylm.predictions import predict
from tseval.errors import ModelError, RunError
from tseval.evaluation import carry_out, make_plan
from tseval.files import read_bytes, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.babylm.predictions import TaskResult
    from tseval.babylm.tasks import LoadedTask
    from tseval.evaluation import Plan
    from tseval.scoring.protocol import Model

PREDICTIONS, SUMMARY, RUN = "predictions.json", "tseval.json", "run"
# How the pipeline reads a text: special tokens are those that the tokenizer adds by itself, and white space
# stays; a continuation is the sum over its pieces, and of a masked model one piece is masked at a time.
PIPELINE_OPTIONS = {
    "hf": {"bos": "tokenizer", "words": "pieces", "white_space": "kept"},
    "mlm": {"pll": "original", "white_space": "kept"},
}


def results_folder(out: Path, spec: str, revision: str) -> Path:
    """Give the folder of a model's zero-shot results, named as the pipeline names it.

    Args:
        out: Of all results.
        spec: The model, as `--model` has it.
        revision: Of the model, `main` where none was chosen.
    """
    scheme, _, rest = spec.rpartition(":")
    # The pipeline, too, takes what follows the last period for an ending.
    name = Path(rest).stem or Path(rest).resolve().stem
    return out / name / revision / "zero_shot" / ("mlm" if scheme == "mlm" else "causal")


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task that can be scored, and nothing stands in its place.

    Attributes:
        loaded: The task.
        plan: How it is scored.
        place: Folder of its predictions.
    """

    loaded: LoadedTask
    plan: Plan
    place: Path


def plan_tasks(model: Model, tasks: Sequence[LoadedTask], where: Path) -> list[PlannedTask]:
    """Find out what must be scored, and refuse what cannot be, before anything is.

    Args:
        model: As `tseval.load_model` gives it.
        tasks: What to score.
        where: As `results_folder` gives it.

    Raises:
        ModelError: The model does not score single words, or does not read so far.
        RunError: A place holds predictions of another program.
    """
    planned = []
    for loaded in tasks:
        plan = make_plan(model, loaded.suite)
        if len(plan.too_long):
            raise ModelError(
                f"{loaded.folder}: {len(plan.too_long):,} texts are longer than {model.card.name} reads, "
                f"the first {str(plan.too_long[0])[:40]!r}.\n  A prediction is needed for every item: leave "
                "that folder out, or take a model that reads longer texts."
            )
        place = where / loaded.task.name / loaded.folder
        if (place / PREDICTIONS).exists() and not (place / RUN).exists():
            raise RunError(_of_another(place / PREDICTIONS))
        planned.append(PlannedTask(loaded, plan, place))
    return planned


def score_task(planned: PlannedTask, progress: Callable[[int, int], None] | None = None) -> TaskResult:
    """Score a task, going on with what was scored before, and write its predictions.

    Args:
        planned: The task.
        progress: Called with the numbers of sentences done and of all.

    Raises:
        RunError: Its place holds a run or predictions of another model.
    """
    run = carry_out(planned.plan, planned.place / RUN, resume=True, progress=progress)
    result = predict(planned.loaded, run)
    _write(planned.place / PREDICTIONS, result)
    return result


def write_summary(model: Model, results: Mapping[str, TaskResult], where: Path) -> None:
    """Write the scores of tasks, by the name of their folder, and what they were made with."""
    tasks = {
        folder: {
            result.measure: result.score,
            "items": result.n_items,
            "ties": result.n_tied,
            "subsets": dict(result.subsets),
        }
        for folder, result in results.items()
    }
    card = model.card
    about = {"name": card.name, "fingerprint": card.fingerprint, "protocol": dict(card.protocol)}
    write_text(where / SUMMARY, json.dumps({"model": about, "tasks": tasks}, indent=1) + "\n")


def _write(path: Path, result: TaskResult) -> None:
    """Write predictions, but not over others."""
    text = json.dumps({name: {"predictions": own} for name, own in result.predictions.items()})
    if path.exists() and read_bytes(path) != text.encode():
        raise RunError(_of_another(path))
    write_text(path, text)


def _of_another(path: Path) -> str:
    return (
        f"{path} holds predictions of another model or program, and is left as it is.\n"
        "  Name another folder with --out, or move the file away."
    )
