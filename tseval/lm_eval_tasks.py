"""tseval inside lm-eval: its models as a model of lm-eval, its suites as tasks of lm-eval.

Any model of tseval as a model of lm-eval: `--model tseval --model_args checkpoint=drnn.pt`.

lm-eval asks for the log-probability of a continuation given a context. Here that is the sum over the words of
the whole text that reach beyond the context; every distinct prefix of all requests is computed once.
"""

from __future__ import annotations

import json
import re
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import yaml
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from tseval.adapters import open_model
from tseval.adapters.native import NativeModel
from tseval.errors import ModelError, SuiteError
from tseval.files import write_whole
from tseval.scoring.engine import shards
from tseval.scoring.scorers import scorer_for
from tseval.suites.data.tokenise import spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lm_eval.api.instance import Instance

    from tseval.formats import Json
    from tseval.items import Case, Suite
    from tseval.questions import Contrast
    from tseval.scoring.protocol import Encoded, Model, ModelCard, PrefixState


LM_EVAL_DEFAULT = "cuda:0"


@register_model("tseval")
class TsevalLM(LM):  # type: ignore[misc] # lm-eval has no types
    """A model of tseval, as lm-eval wants it.

    Args:
        checkpoint: What `--model` of `tseval run` takes: a path, or `scheme:rest`.
        tokenise: Split punctuation and clitics off the words (Penn Treebank tokens), as word-level models
            were trained; lm-eval's tasks are written as people write.
        device: `auto`, `cpu` or `cuda`. lm-eval gives `cuda:0` where the user says nothing, on any machine;
            that is taken for `auto`.
        batch_size: Taken because lm-eval gives it; tseval finds its own.
        max_batch_size: Likewise.
        arguments: For the model's adapter, as in `--model-args` of `tseval run`.
    """

    def __init__(
        self,
        checkpoint: str,
        tokenise: bool = True,
        device: str | None = None,
        batch_size: object = None,
        max_batch_size: object = None,
        **arguments: object,
    ) -> None:
        super().__init__()
        given = {name: str(value) for name, value in arguments.items()}
        said = "auto" if device in {None, LM_EVAL_DEFAULT} else str(device)
        self._model = open_model(checkpoint, given, said)
        self._tokenise = tokenise

    def loglikelihood(
        self, requests: Sequence[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Give the log-probability of each continuation, in nats, and whether it is the model's first choice.

        The second is known of tseval's own checkpoints; of other models it is said to be false.
        """
        texts = [context + continuation for context, continuation in (one.args for one in requests)]
        bounds = [len(one.args[0]) for one in requests]
        words = [self._words(text) for text in texts]
        sentences = list(map(_sentence, texts, words))
        logprobs = _word_scores(self._model, sentences)
        first_choices = FirstChoices(self._model) if isinstance(self._model, NativeModel) else None
        greedy = _word_scores(first_choices, sentences) if first_choices else {}
        results = []
        for sentence, own, bound in zip(sentences, words, bounds, strict=True):
            beyond = np.array([end > bound for _, end in own], dtype=bool)
            first = bool((greedy[sentence][beyond] == 0).all()) if greedy else False
            results.append((float(logprobs[sentence][beyond].astype(np.float64).sum()), first))
        return results

    def loglikelihood_rolling(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[float]:
        """Give the log-probability of each text, in nats."""
        texts = [one.args[0] for one in requests]
        sentences = [_sentence(text, self._words(text)) for text in texts]
        logprobs = _word_scores(self._model, sentences)
        return [float(logprobs[sentence].astype(np.float64).sum()) for sentence in sentences]

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[str]:
        """Refuse: tseval scores sentences, it does not write them."""
        raise ModelError("tseval's models do not generate text: choose tasks that compare log-probabilities")

    def _words(self, text: str) -> list[tuple[int, int]]:
        """Give the beginning and end of each word."""
        return list(spans(text, self._tokenise))


def _sentence(text: str, words: Sequence[tuple[int, int]]) -> str:
    return " ".join(text[start:end] for start, end in words)


def _word_scores(model: Model, sentences: Sequence[str]) -> dict[str, np.ndarray]:
    """Score each distinct sentence; give the values of its words, (words,) float32."""
    scorer = scorer_for(model)
    found: dict[str, np.ndarray] = {}
    for shard in shards(pa.array(sorted(set(sentences)), pa.string())):
        table = scorer.score(shard)
        rows = zip(table["sentence"].to_pylist(), table["words"], strict=True)
        found.update((str(sentence), np.array(words.as_py(), dtype=np.float32)) for sentence, words in rows)
    return found


class FirstChoices:
    """A recurrent model that gives 0 for its most probable next word, and -1 for all others.

    So the scorer finds in one more pass which continuations the model would have chosen itself.

    Args:
        model: Whose choices.
    """

    def __init__(self, model: NativeModel) -> None:
        self._model = model
        self.card: ModelCard = model.card
        self.row_bytes: int = model.row_bytes

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """As the model does."""
        return self._model.encode(sentences)

    def start(self) -> PrefixState:
        """As the model does."""
        return self._model.start()

    def advance(self, state: PrefixState, tokens: np.ndarray) -> PrefixState:
        """As the model does."""
        return self._model.advance(state, tokens)

    def logprobs(self, state: PrefixState, rows: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Give 0 where a word is the most probable one, else -1, (words,) float32."""
        best = self._model.best_tokens(state)
        return np.where(best[rows] == tokens, 0, -1).astype(np.float32)


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
