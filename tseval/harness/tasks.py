"""Suites as tasks of lm-eval: a group, one task for each row of the table, and the data, in one folder."""

from __future__ import annotations

import json
import re
from shlex import quote
from typing import TYPE_CHECKING

import yaml

from tseval.errors import SuiteError
from tseval.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Case, Suite
    from tseval.questions import Contrast

README = """# {title}

Tasks for lm-eval, made by tseval from the suite {name}, digest {digest}. Run them with

    lm_eval --include_path {folder} --tasks {group} \\
        --model hf --model_args pretrained=...,softmax_dtype=float32

The choices are in the order bad, good, and the good one is the answer: lm-eval takes the first of equal
choices, so a tie is wrong, as it is in tseval. With `softmax_dtype=float32` there are few.
"""


def write_tasks(suite: Suite, folder: Path) -> list[str]:
    """Write a suite as tasks of lm-eval.

    Args:
        suite: What to write; it must compare whole sentences.
        folder: Where to; made if it is not there. It must not hold other files.

    Returns:
        The names of the group and of its tasks.

    Raises:
        SuiteError: The suite compares something else, or the folder holds something.
    """
    if not suite.has_accuracy:
        raise SuiteError(f"{suite.name} has ratings of sentences, for which lm-eval has no kind of task")
    if suite.score != "sentence":
        raise SuiteError(
            f"{suite.name} is compared by its score {suite.score!r}, for which lm-eval has no kind of task"
        )
    if folder.exists() and any(folder.iterdir()):
        raise SuiteError(f"{folder}: holds something already.\n  Name a new folder, or empty it.")
    folder.mkdir(parents=True, exist_ok=True)
    group = f"tseval_{_slug(suite.name)}"
    tasks = dict(_tasks(suite, group))
    for task, parts in tasks.items():
        lines = (
            json.dumps(line, ensure_ascii=False) + "\n" for part in parts for line in _documents(suite, *part)
        )
        _write(folder / f"{task}.jsonl", "".join(lines))
        _write_yaml(folder / f"{task}.yaml", _task(task, folder.resolve() / f"{task}.jsonl", suite))
    _write_yaml(folder / f"{group}.yaml", _group(group, list(tasks), suite))
    about = {"title": suite.title, "name": suite.name, "digest": suite.digest[:12], "group": group}
    _write(folder / "README.md", README.format(**about, folder=quote(str(folder))))
    return [group, *tasks]


def _tasks(suite: Suite, group: str) -> Iterator[tuple[str, list[tuple[Case, Contrast]]]]:
    """Give each task with the cases and contrasts that make it up: those of one row of the table."""
    rows: dict[tuple[str, str | None, str, str], list[tuple[Case, Contrast]]] = {}
    for case in suite.cases:
        for contrast in case.contrasts:
            row = (case.phenomenon, case.dependency, case.construction, str(contrast))
            rows.setdefault(row, []).append((case, contrast))
    constructions = [row[:3] for row in rows]
    taken: set[str] = set()
    for row, parts in rows.items():
        words = [part for part in row[:3] if part]
        if constructions.count(row[:3]) > 1:
            words.append(row[3].replace(" > ", " vs "))
        name = f"{group}_{_slug(' '.join(words))}"
        if name in taken:
            name = f"{name}_{len(taken)}"
        taken.add(name)
        yield name, parts


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def _documents(suite: Suite, case: Case, contrast: Contrast) -> Iterator[dict[str, Json]]:
    """Give the items of one case on one contrast."""
    end = "" if suite.terminator is None else f" {suite.terminator}"
    for item in case.items():
        pair = {"good": item.sentences[contrast.better] + end, "bad": item.sentences[contrast.worse] + end}
        yield {
            "case": case.name,
            "item": item.index,
            "contrast": str(contrast),
            **pair,
            "features": {**item.features},
        }


def _task(name: str, data: Path, suite: Suite) -> dict[str, Json]:
    return {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "",
        "target_delimiter": "",
        "doc_to_choice": "{{[bad, good]}}",
        "doc_to_target": 1,
        "num_fewshot": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"version": 1.0, "suite": suite.name, "digest": suite.digest},
    }


def _group(name: str, tasks: list[str], suite: Suite) -> dict[str, Json]:
    return {
        "group": name,
        "task": list(tasks),
        "aggregate_metric_list": [{"metric": "acc", "aggregation": "mean", "weight_by_size": True}],
        "metadata": {"version": 1.0, "suite": suite.name, "digest": suite.digest},
    }


def _write_yaml(path: Path, content: dict[str, Json]) -> None:
    _write(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode())
