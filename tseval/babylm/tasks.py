"""The tasks of BabyLM: the folders that hold them, and the suites that they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.babylm.choices import read_blimp_pair, read_boxes, read_comps_pair, read_ewok_line, read_wug
from tseval.errors import SuiteError
from tseval.formats import stem_of
from tseval.items import Case, Suite, suite_digest
from tseval.questions.regions import Prediction, Regions
from tseval.suites.data.pairs import read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.babylm.choices import Choice, Reader

BABYLM_SOURCE = "Choshen et al. 2026, BabyLM Turns 4 and Goes Multilingual, arXiv 2602.20092"
BOX_SPLITS = ("regular_", "ambiref_", "move_contents_")  # of entity tracking, each counted once


@dataclass(frozen=True, slots=True)
class BabylmTask:
    """A task of the pipeline.

    Attributes:
        name: As the pipeline calls it; two tasks may share a name.
        full: Its folder in the full data.
        fast: Its folder in the data for checkpoints; None where it is not among them.
        read: Reads one record.
    """

    name: str
    full: str
    fast: str | None
    read: Reader

    @property
    def correlates(self) -> bool:
        """Whether probabilities are correlated with what people chose, and no answer is right."""
        return self.read is read_wug


BABYLM_TASKS = (
    BabylmTask("blimp", "blimp_filtered", "blimp_fast", read_blimp_pair),
    BabylmTask("blimp", "supplement_filtered", "supplement_fast", read_blimp_pair),
    BabylmTask("ewok", "ewok_filtered", "ewok_fast", read_ewok_line),
    BabylmTask("entity_tracking", "entity_tracking", "entity_tracking_fast", read_boxes),
    BabylmTask("wug_adj", "wug_adj_nominalization", "wug_adj_nominalization", read_wug),
    BabylmTask("wug_past", "wug_past_tense", "wug_past_tense", read_wug),
    BabylmTask("comps", "comps", None, read_comps_pair),
)


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """A task with its items.

    Attributes:
        task: Which.
        folder: Name of its folder.
        choices: Its items, subset by subset.
        suite: The same as a suite: a case for each subset, its items in order.
    """

    task: BabylmTask
    folder: str
    choices: Sequence[Choice]
    suite: Suite


def load_tasks(data: Path) -> tuple[list[LoadedTask], list[str]]:
    """Read all tasks of a folder of BabyLM's data, full or fast.

    Returns:
        The tasks that are there, and the names of the folders that are not.

    Raises:
        SuiteError: There are none; a record is wrong, with its file and line.
    """
    is_fast = any(
        (data / str(task.fast)).is_dir() for task in BABYLM_TASKS if task.fast not in {None, task.full}
    )
    names = {task: task.fast if is_fast else task.full for task in BABYLM_TASKS}
    there = {task: name for task, name in names.items() if name and (data / name).is_dir()}
    missing = [name for task, name in names.items() if name and task not in there]
    if not there:
        raise SuiteError(
            f"{data}: none of BabyLM's tasks is here: {', '.join(task.full for task in BABYLM_TASKS)}.\n"
            "  Name the folder full_eval or fast_eval of its evaluation data."
        )
    return [_load(task, data / name) for task, name in there.items()], missing


def _load(task: BabylmTask, folder: Path) -> LoadedTask:
    files = sorted(file for file in folder.iterdir() if file.suffix == ".jsonl")
    found: dict[str, list[Choice]] = {}
    for file in files:
        for place, record in read_records(file):
            choice = task.read(place, record, task.name if task.correlates else stem_of(file))
            found.setdefault(choice.subset, []).append(choice)
    if not found:
        raise SuiteError(f"{folder}: holds no items.\n  Its files end in .jsonl.")
    cases = [_case(task, subset, own) for subset, own in found.items()]
    suite = Suite(
        name=f"babylm_{folder.name}",
        title=f"BabyLM, {folder.name}",
        source=BABYLM_SOURCE,
        terminator=None,
        cases=tuple(cases),
        digest=suite_digest(None, cases),
        score="regions",
    )
    return LoadedTask(task, folder.name, [choice for own in found.values() for choice in own], suite)


def _case(task: BabylmTask, subset: str, choices: Sequence[Choice]) -> Case:
    """Make a case of a subset: the label `right` for the first option, `wrong 1` and so on for the others."""
    n_options = len(choices[0].options)
    for choice in choices:
        _check(choice, choices[0])
    labels = ["right", *(f"wrong {n}" for n in range(1, n_options))]
    texts = {
        label: [choice.options[at].prefix + choice.options[at].rest for choice in choices]
        for at, label in enumerate(labels)
    }
    lengths = {
        label: [[len(part.split()) for part in (o.prefix, o.rest)] for o in (c.options[at] for c in choices)]
        for at, label in enumerate(labels)
    }
    formula = " & ".join(f"[(2;%right%) < (2;%{label}%)]" for label in labels[1:])
    kind = pa.list_(pa.int64())
    ratios = {"ratio": pa.array([choice.ratio for choice in choices], pa.float64())}
    return Case(
        name=subset,
        construction=subset,
        phenomenon=task.name,
        dependency=None,
        question=Regions(
            (Prediction("right > wrong" if n_options == 2 else "right > all others", formula),),
            pa.table({label: pa.array(own, kind) for label, own in lengths.items()}),
        ),
        index=pa.array(range(len(choices)), pa.int64()),
        sentences=pa.table({label: pa.array(own, pa.string()) for label, own in texts.items()}),
        features=pa.table(ratios if task.correlates else {}),
    )


def _check(choice: Choice, first: Choice) -> None:
    """Refuse an item that cannot be asked, or not like the others of its subset."""
    if len(choice.options) < 2 or len(choice.options) != len(first.options):
        raise SuiteError(
            f"{choice.place}: {len(choice.options)} texts to choose from, but {len(first.options)} in "
            f"{first.place}.\n  The items of a subset have equally many, two at least."
        )
    for option in choice.options:
        if not option.rest.split():
            raise SuiteError(f"{choice.place}: there is a text without words to choose")
        if option.prefix and not (option.prefix[-1].isspace() or option.rest[0].isspace()):
            raise SuiteError(
                f"{choice.place}: {option.rest[:40]!r} begins inside a word.\n"
                "  A space must stand before it, or end what it follows."
            )
