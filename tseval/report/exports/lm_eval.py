"""Export of suites as tasks of lm-eval."""

from __future__ import annotations

import json
from shlex import quote
from typing import TYPE_CHECKING

import yaml

from tseval.errors import SuiteError
from tseval.files import write_whole
from tseval.runs.slugs import slug

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

The choices are in the order bad, good, and the good one is the answer. lm-eval takes the first of equal
choices, so a tie is wrong, as in tseval. With `softmax_dtype=float32` ties are rare. The accuracy of the
group is the mean over its tasks, each counted once, like the mean of all rows in a table of tseval.
"""


def write_tasks(suite: Suite, folder: Path) -> list[str]:
    """Write a suite as lm-eval tasks into a new or empty folder; return the names of group and tasks.

    If the suite has rules of writing, the tasks have natural text.
    """
    if not suite.has_accuracy:
        raise SuiteError(
            f"{suite.name} is a suite of rated sentences, which a task of lm-eval cannot express.\n"
            "  Choose a suite of sentence pairs."
        )
    if suite.score != "sentence":
        raise SuiteError(
            f"{suite.name} compares sentences with --score {suite.score}, which a task of lm-eval cannot "
            "express.\n"
            "  Choose a suite that compares whole sentences."
        )
    if folder.exists() and any(folder.iterdir()):
        raise SuiteError(
            f"{folder}: this folder is not empty.\n  Name a new folder, or remove the files in {folder}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    group = f"tseval_{slug(suite.name)}"
    tasks = dict(_tasks(suite, group))
    for task, parts in tasks.items():
        lines = (
            json.dumps(line, ensure_ascii=False) + "\n" for part in parts for line in _documents(suite, *part)
        )
        _write(folder / f"{task}.jsonl", "".join(lines))
        _write(folder / f"{task}.yaml", _task(task, folder.resolve() / f"{task}.jsonl", suite))
    group_task: dict[str, Json] = {
        "group": group,
        "task": [*tasks],
        # As in tseval's tables, each row counts once, for any number of items.
        "aggregate_metric_list": [{"metric": "acc", "aggregation": "mean", "weight_by_size": False}],
        "metadata": {"version": 1.0, "suite": suite.name, "digest": suite.digest},
    }
    _write(folder / f"{group}.yaml", group_task)
    fields = {"title": suite.title, "name": suite.name, "digest": suite.digest[:12], "group": group}
    _write(folder / "README.md", README.format(**fields, folder=quote(str(folder))))
    return [group, *tasks]


def _tasks(suite: Suite, group: str) -> Iterator[tuple[str, list[tuple[Case, Contrast]]]]:
    """Yield the name of each task with its cases and contrasts: those of one row of the table."""
    rows: dict[tuple[str, str | None, str, str], list[tuple[Case, Contrast]]] = {}
    for case in suite.cases:
        for contrast in case.contrasts:
            row = (case.phenomenon, case.dependency, case.construction, str(contrast))
            rows.setdefault(row, []).append((case, contrast))
    constructions = [row[:3] for row in rows]
    names: set[str] = set()
    for row, parts in rows.items():
        words = [part for part in row[:3] if part]
        if constructions.count(row[:3]) > 1:
            words.append(row[3].replace(" > ", " vs "))
        name = f"{group}_{slug(' '.join(words))}"
        if name in names:
            name = f"{name}_{len(names)}"
        names.add(name)
        yield name, parts


def _documents(suite: Suite, case: Case, contrast: Contrast) -> Iterator[dict[str, Json]]:
    end = "" if suite.terminator is None else f" {suite.terminator}"
    for item in case.as_text().items():
        pair = {"good": item.sentences[contrast.better] + end, "bad": item.sentences[contrast.worse] + end}
        if suite.writing is not None:
            pair = {role: suite.writing.write(sentence)[0] for role, sentence in pair.items()}
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


def _write(path: Path, content: str | dict[str, Json]) -> None:
    if not isinstance(content, str):
        content = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    write_whole(path, content.encode())
