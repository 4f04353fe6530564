"""BabyLM's zero-shot tasks (Choshen et al. 2026) as suites, and predictions in the format of its pipeline.

The protocol is that of BabyLM's evaluation pipeline of 2025 and 2026, `sentence_zero_shot`. docs/babylm.md
describes what each task compares, and how we checked that the predictions are the same.

If several options have the same score, the first is chosen, as in the pipeline. The right option comes
first, so a tie with it counts as right. The verdicts of the run count it as wrong, as everywhere in tseval.

The pipeline's `collate_preds` reads `OUT/MODEL/REVISION/zero_shot/BACKEND/TASK/FOLDER/predictions.json`.
The run from which the predictions were computed is in the same folder.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from scipy.stats import spearmanr

from tseval.adapters import file_and_function, name_of_function
from tseval.errors import ModelError, RunError, SuiteError
from tseval.evaluation import make_plan, run_plan
from tseval.files import read_bytes, write_text
from tseval.formats import stem_of
from tseval.items import Case, Suite, suite_digest
from tseval.questions.formulas import Region
from tseval.questions.regions import Prediction, Regions
from tseval.questions.scored import ScoredSentences
from tseval.scoring.answer_scorer import no_logprobs
from tseval.suites.data.records import read_records
from tseval.suites.data.roles import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.evaluation import Plan
    from tseval.runs import Run
    from tseval.scoring.protocol import Model
    from tseval.suites.data.roles import DataRecord

    Reader = Callable[[str, DataRecord, str], "Choice"]
    Answer = dict[str, str | float]


COMPS_FILES = {
    "comps_base": "base",
    "comps_wugs": "wugs",
    "comps_wugs_dist-before": "wugs_dist_before",
    "comps_wugs_dist-in-between": "wugs_dist_in_between",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the options of an item."""

    prefix: str  # text before the compared part; empty if the whole text is compared
    rest: str  # the compared part
    answer: str  # what the pipeline writes if this option is chosen


@dataclass(frozen=True, slots=True)
class Choice:
    """One item of a task."""

    place: str  # `file:line`, for messages
    subset: str  # accuracy is computed per subset; the pipeline calls it `UID`
    options: tuple[Candidate, ...]  # the right option comes first
    ratio: float | None = None  # share of people who chose the first option, if known


def read_blimp_pair(place: str, record: DataRecord, stem: str) -> Choice:
    """Read a pair of filtered BLiMP or of its supplement; the supplement's records name no paradigm."""
    subset = text_of(place, record, "UID") if "field" in record else stem
    texts = [text_of(place, record, name) for name in ("sentence_good", "sentence_bad")]
    return Choice(place, subset, tuple(Candidate("", text, text) for text in texts))


def read_ewok_line(place: str, record: DataRecord, stem: str) -> Choice:
    """Read half an item of EWoK: two targets after the first context. The other half has another line."""
    context, subset = text_of(place, record, "Context1"), text_of(place, record, "Domain")
    targets = [f" {text_of(place, record, name)}" for name in ("Target1", "Target2")]
    return Choice(place, subset, tuple(Candidate(context, target, target) for target in targets))


def read_boxes(place: str, record: DataRecord, stem: str) -> Choice:
    """Read an item of entity tracking: the contents of a box after a number of operations."""
    prefix, options = text_of(place, record, "input_prefix"), record.get("options")
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise SuiteError(f"{place}: the key 'options' should be a list of texts, not {options!r}")
    number = record.get("numops")
    if not isinstance(number, int):
        raise SuiteError(f"{place}: the key 'numops' should be a whole number, not {number!r}")
    texts = cast("list[str]", options)
    return Choice(place, f"{stem}_{number}_ops", tuple(Candidate(prefix, text, text) for text in texts))


def read_wug(place: str, record: DataRecord, stem: str) -> Choice:
    """Read two forms of a made-up word, with the share of people who chose the first."""
    texts = text_of(place, record, "sentences").split("\t")
    ratio = record.get("ratio")
    try:
        share = float(cast("str", ratio))
        if not isfinite(share):
            raise ValueError
    except (OverflowError, TypeError, ValueError):
        raise SuiteError(f"{place}: the key 'ratio' should be a number, not {ratio!r}") from None
    return Choice(place, stem, tuple(Candidate("", text, text) for text in texts), share)


def read_comps_pair(place: str, record: DataRecord, stem: str) -> Choice:
    """Read a pair of COMPS: one property after each of two concepts."""
    if stem not in COMPS_FILES:
        names = ", ".join(COMPS_FILES)
        raise SuiteError(
            f"{place}: the task COMPS has no file with the name {stem!r}.\n  Rename the file to one of "
            f"these names: {names}."
        )
    prefixes = [
        text_of(place, record, f"prefix_{acceptability}") for acceptability in ("acceptable", "unacceptable")
    ]
    continuation = f" {text_of(place, record, 'property_phrase')}"
    return Choice(
        place,
        COMPS_FILES[stem],
        tuple(Candidate(prefix, continuation, prefix + continuation) for prefix in prefixes),
    )


BABYLM_SOURCE = "Choshen et al. 2026, BabyLM Turns 4 and Goes Multilingual, arXiv 2602.20092"
BOX_SPLITS = ("regular_", "ambiref_", "move_contents_")  # prefixes of the splits of entity tracking


@dataclass(frozen=True, slots=True)
class BabylmTask:
    """A task of the pipeline."""

    name: str  # the pipeline's name; two tasks may share a name
    full: str  # its folder in the full data
    fast: str | None  # its folder in the data for checkpoints, or None if it has none there
    read: Reader

    @property
    def correlates(self) -> bool:
        """Return whether the task correlates probabilities with people's choices and has no right answer."""
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
    """A task with its items."""

    task: BabylmTask
    folder: str
    choices: Sequence[Choice]  # its items, ordered by subset
    suite: Suite  # the same items as a suite, with a case for each subset


def load_tasks(data: Path) -> tuple[list[LoadedTask], list[str]]:
    """Read all tasks in a folder of BabyLM's data, full or fast, and list the folders that are missing."""
    is_fast = any(
        (data / str(task.fast)).is_dir() for task in BABYLM_TASKS if task.fast not in {None, task.full}
    )
    names = {task: task.fast if is_fast else task.full for task in BABYLM_TASKS}
    present = {task: name for task, name in names.items() if name and (data / name).is_dir()}
    missing = [name for task, name in names.items() if name and task not in present]
    if not present:
        raise SuiteError(
            f"{data} has no folder with the name of a BabyLM task "
            f"({', '.join(task.full for task in BABYLM_TASKS)}).\n  Give the path of full_eval or fast_eval "
            "in BabyLM's evaluation data."
        )
    return [_load(task, data / name) for task, name in present.items()], missing


def _load(task: BabylmTask, folder: Path) -> LoadedTask:
    files = sorted(file for file in folder.iterdir() if file.suffix == ".jsonl")
    by_subset: dict[str, list[Choice]] = {}
    for file in files:
        for place, record in read_records(file):
            choice = task.read(place, record, task.name if task.correlates else stem_of(file))
            by_subset.setdefault(choice.subset, []).append(choice)
    if not by_subset:
        raise SuiteError(
            f"{folder} has no .jsonl file with items.\n  Copy BabyLM's .jsonl files of this task into the "
            "folder."
        )
    cases = [_case(task, subset, choices) for subset, choices in by_subset.items()]
    suite = Suite(
        name=f"babylm_{folder.name}",
        title=f"BabyLM, {folder.name}",
        source=BABYLM_SOURCE,
        terminator=None,
        cases=tuple(cases),
        digest=suite_digest(None, cases),
        score="regions",
    )
    return LoadedTask(
        task, folder.name, [choice for choices in by_subset.values() for choice in choices], suite
    )


def _case(task: BabylmTask, subset: str, choices: Sequence[Choice]) -> Case:
    """Make the case of a subset. The first option is labelled `right`, the others `wrong 1` and so on."""
    n_options = len(choices[0].options)
    for choice in choices:
        _check(choice, choices[0])
    labels = ["right", *(f"wrong {n}" for n in range(1, n_options))]
    texts = {
        label: [choice.options[index].prefix + choice.options[index].rest for choice in choices]
        for index, label in enumerate(labels)
    }
    lengths = {
        label: [
            [len(part.split()) for part in (o.prefix, o.rest)] for o in (c.options[index] for c in choices)
        ]
        for index, label in enumerate(labels)
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
            pa.table({label: pa.array(column, kind) for label, column in lengths.items()}),
        ),
        index=pa.array(range(len(choices)), pa.int64()),
        sentences=pa.table({label: pa.array(column, pa.string()) for label, column in texts.items()}),
        features=pa.table(ratios if task.correlates else {}),
    )


def _check(choice: Choice, first: Choice) -> None:
    """Refuse an item that cannot be scored, or has another number of options than its subset."""
    if len(choice.options) < 2 or len(choice.options) != len(first.options):
        raise SuiteError(
            f"{choice.place}: the item has {len(choice.options)} options, but the item at {first.place} has "
            f"{len(first.options)}.\n  Write the same number of options, two or more, in all items of a "
            "subset."
        )
    for option in choice.options:
        if not option.rest.split():
            raise SuiteError(
                f"{choice.place}: an option of this item has no words.\n  Write at least one word in each "
                "option."
            )
        if option.prefix and not (option.prefix[-1].isspace() or option.rest[0].isspace()):
            raise SuiteError(
                f"{choice.place}: the option {option.rest[:40]!r} follows its text without a space, inside "
                "a word.\n  Put a space at the beginning of the option, or at the end of the text."
            )


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The predictions and the score of a task."""

    predictions: Mapping[str, list[Answer]]  # subset to its answers, in the pipeline's format
    measure: str  # `accuracy`, or `spearman`: the rank correlation with people's choices
    # Mean accuracy of the subsets; for entity tracking, first of the subsets in a split, then of the splits.
    # A correlation is over all items, and None if all numbers on one side are equal.
    score: float | None
    subsets: Mapping[str, float]  # accuracy of each subset; empty for a correlation
    n_items: int
    n_tied: int  # items where the first option has the highest probability, but not alone


def predict(loaded: LoadedTask, run: Run) -> TaskResult:
    """Choose the most probable option of every item, from a run on the suite of the task."""
    scored = ScoredSentences(run.load_sentences())
    answered, subsets, n_tied = {}, {}, 0
    first, human, model = 0, [], []
    for case in loaded.suite.cases:
        choices = loaded.choices[first : first + case.n_items]
        first += case.n_items
        scores = _scores(case, scored)
        best = scores.argmax(axis=1)
        n_tied += int(((scores == scores[:, :1]).sum(axis=1) > 1)[best == 0].sum())
        answers: list[Answer] = [
            {"id": f"{case.name}_{number}", "pred": choice.options[index].answer}
            for number, (choice, index) in enumerate(zip(choices, best.tolist(), strict=True))
        ]
        answered[case.name] = answers
        subsets[case.name] = float((best == 0).mean())
        if loaded.task.correlates:
            shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))[:, 0]
            for answer, share in zip(answers, shares.tolist(), strict=True):
                answer["prob"] = share
            human += [choice.ratio for choice in choices if choice.ratio is not None]
            model += shares.tolist()
    if loaded.task.correlates:
        score = float(spearmanr(model, human).statistic) if len(set(model)) > 1 < len(set(human)) else None
        return TaskResult(answered, "spearman", score, {}, len(loaded.choices), n_tied)
    splits = BOX_SPLITS if loaded.task.name == "entity_tracking" else ("",)
    return TaskResult(answered, "accuracy", _mean(subsets, splits), subsets, len(loaded.choices), n_tied)


def _scores(case: Case, scored: ScoredSentences) -> NDArray[np.float64]:
    """Return the log-probability of the compared part of every option, in nats, (items, options)."""
    question = case.question
    assert isinstance(question, Regions)
    columns = [
        scored.words.sums_within(
            scored.find(cast("pa.StringArray", case.sentences[label].combine_chunks())),
            *question.span(Region(2, label)),
        )
        for label in case.labels
    ]
    return np.stack(columns, axis=1)


def _mean(subsets: Mapping[str, float], splits: Sequence[str]) -> float:
    """Average the accuracies: first within each split (subsets with the same prefix), then over splits."""
    groups = [[value for name, value in subsets.items() if name.startswith(split)] for split in splits]
    return float(np.mean([np.mean(values) for values in groups if values]))


PREDICTIONS, SUMMARY, RUN = "predictions.json", "tseval.json", "run"
# How the pipeline reads a text. Only the tokenizer adds special tokens, and white space is kept. The score
# of a continuation is the sum over its pieces. Masked models mask one piece at a time.
PIPELINE_OPTIONS = {
    "hf": {"bos": "tokenizer", "words": "pieces", "white_space": "kept"},
    "mlm": {"pll": "original", "white_space": "kept"},
    "seq2seq": {"score": "mask", "white_space": "kept"},
}
BACKENDS = {"mlm": "mlm", "seq2seq": "enc_dec_mask"}  # the pipeline's names; all other schemes are `causal`


def results_folder(out: Path, spec: str, revision: str) -> Path:
    """Return the folder of a model's zero-shot results, named as the pipeline names it."""
    scheme, _, rest = spec.rpartition(":")
    # The pipeline, too, treats the part after the last period as a file ending.
    function = file_and_function(spec)
    name = name_of_function(*function) if function else Path(rest).stem or Path(rest).resolve().stem
    return out / name / revision / "zero_shot" / BACKENDS.get(scheme, "causal")


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task that can be scored, and whose output folder holds no other predictions."""

    loaded: LoadedTask
    plan: Plan
    place: Path  # folder for its predictions


def plan_tasks(model: Model, tasks: Sequence[LoadedTask], where: Path) -> list[PlannedTask]:
    """Plan the scoring of all tasks. Every task that cannot be scored is refused before scoring starts."""
    planned = []
    for loaded in tasks:
        plan = make_plan(model, loaded.suite)
        if plan.scorer.only_answers:
            raise no_logprobs(model.card.name)
        if len(plan.too_long):
            raise ModelError(
                f"{loaded.folder}: {len(plan.too_long):,} texts are longer than the context of the model "
                f"{model.card.name!r}, for example {str(plan.too_long[0])[:40]!r}.\n  BabyLM needs a "
                "prediction for every item: leave out this folder, or use a model with a longer context."
            )
        place = where / loaded.task.name / loaded.folder
        if (place / PREDICTIONS).exists() and not (place / RUN).exists():
            raise RunError(_of_another(place / PREDICTIONS))
        planned.append(PlannedTask(loaded, plan, place))
    return planned


def score_task(planned: PlannedTask, progress: Callable[[int, int], None] | None = None) -> TaskResult:
    """Score a task, or continue an interrupted one, and write its predictions."""
    run = run_plan(planned.plan, planned.place / RUN, resume=True, progress=progress)
    result = predict(planned.loaded, run)
    _write(planned.place / PREDICTIONS, result)
    return result


def write_summary(model: Model, results: Mapping[str, TaskResult], where: Path) -> None:
    """Write the scores of tasks, by folder name, with the model and the protocol."""
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
    model_facts = {"name": card.name, "fingerprint": card.fingerprint, "protocol": dict(card.protocol)}
    write_text(where / SUMMARY, json.dumps({"model": model_facts, "tasks": tasks}, indent=1) + "\n")


def _write(path: Path, result: TaskResult) -> None:
    text = json.dumps(
        {name: {"predictions": predictions} for name, predictions in result.predictions.items()}
    )
    if path.exists() and read_bytes(path) != text.encode():
        raise RunError(_of_another(path))
    write_text(path, text)


def _of_another(path: Path) -> str:
    return (
        f"{path} holds predictions of another model or program, so tseval does not overwrite the file.\n"
        "  Name another folder with --out, or move the file away."
    )
