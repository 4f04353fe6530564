"""An lm-eval model class for all tseval models: `--model tseval --model_args checkpoint=drnn.pt`.

lm-eval requests the log-probability of a continuation given a context. Here, that is the sum over those words
of the whole text that end after the context. Each distinct prefix of all requests is computed once.
"""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from tseval.adapters import open_model
from tseval.adapters.native import NativeModel
from tseval.errors import ModelError
from tseval.scoring.engine import shards
from tseval.scoring.protocol import TokenModel, TotalModel
from tseval.scoring.scorers import scorer_for
from tseval.suites.penn_tokens import spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lm_eval.api.instance import Instance
    from lm_eval.api.model import CacheHook

    from tseval.scoring.protocol import Model, ModelCard, PrefixState


LM_EVAL_DEFAULT = "cuda:0"
# Adapter arguments with which the model reads a text unchanged.
AS_IT_IS = {
    "hf": {"white_space": "all", "words": "pieces"},
    "mlm": {"white_space": "all"},
    "seq2seq": {"white_space": "all"},
}


@register_model("tseval")
class TsevalLM(LM):  # type: ignore[misc] # lm-eval has no types
    """A tseval model with lm-eval's interface.

    Args:
        checkpoint: A path or `scheme:rest`, as for `--model` of `tseval run`.
        tokenise: Split punctuation and clitics off the words (Penn Treebank tokens), as in the training data
            of word-level models; lm-eval's tasks are natural text. By default, only word-level models get
            tokens. All others split the text themselves and get it unchanged.
        device: `auto`, `cpu` or `cuda`. lm-eval passes `cuda:0` if the user names no device, on any machine;
            here it means `auto`.
        batch_size: Ignored, because tseval chooses its own; accepted because lm-eval passes it.
        max_batch_size: Ignored.
        arguments: Arguments for the model's adapter, as in `--model-args` of `tseval run`.
    """

    def __init__(
        self,
        checkpoint: str,
        tokenise: bool | None = None,
        device: str | None = None,
        batch_size: object = None,
        max_batch_size: object = None,
        **arguments: object,
    ) -> None:
        super().__init__()
        options = {name: str(value) for name, value in arguments.items()}
        device_name = "auto" if device in {None, LM_EVAL_DEFAULT} else str(device)
        options.pop("path", None)  # set by `create_from_arg_obj`, if a dictionary of arguments is reused
        if not tokenise and (defaults := AS_IT_IS.get(checkpoint.partition(":")[0])):
            options = defaults | options
        self._model = open_model(checkpoint, options, device_name)
        self._tokenise = _reads_words(self._model) if tokenise is None else tokenise

    @classmethod
    def create_from_arg_obj(
        cls, arg_dict: dict[str, object], additional_config: dict[str, object] | None = None
    ) -> TsevalLM:
        """Open the model, and set `path` in its arguments, because lm-eval names its results folder by it."""
        model: TsevalLM = super().create_from_arg_obj(arg_dict, additional_config)
        arg_dict["path"] = f"{model.card.name}-{model.card.fingerprint[:8]}"
        return model

    @property
    def card(self) -> ModelCard:
        """Information about the model."""
        return self._model.card

    def set_cache_hook(self, cache_hook: CacheHook) -> None:
        """Give each model its own table in the file of `--use_cache`: lm-eval's keys name no model."""
        super().set_cache_hook(cache_hook)
        if (cache := cache_hook.dbdict) is not None:
            identity = [self.card.fingerprint, self.card.protocol, self._tokenise, version("tseval")]
            cache.tablename = sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
            cache.conn.execute(
                f'CREATE TABLE IF NOT EXISTS "{cache.tablename}" (key TEXT PRIMARY KEY, value BLOB)'
            )
            cache.commit()

    def loglikelihood(
        self, requests: Sequence[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Return each continuation's log-probability, in nats, and whether it is the model's first choice.

        The first choice is known only for tseval's own checkpoints; for other models it is False.
        """
        texts = [context + continuation for context, continuation in (request.args for request in requests)]
        bounds = [len(request.args[0]) for request in requests]
        words = [self._words(text) for text in texts]
        sentences = list(map(self._sentence, texts, words))
        logprobs = _word_scores(self._model, sentences)
        first_choices = FirstChoices(self._model) if isinstance(self._model, NativeModel) else None
        greedy = _word_scores(first_choices, sentences) if first_choices else {}
        results = []
        for sentence, word_spans, bound in zip(sentences, words, bounds, strict=True):
            beyond = np.array([end > bound for _, end in word_spans], dtype=bool)
            first = bool((greedy[sentence][beyond] == 0).all()) if greedy else False
            results.append((float(logprobs[sentence][beyond].astype(np.float64).sum()), first))
        return results

    def loglikelihood_rolling(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[float]:
        """Return the log-probability of each text, in nats."""
        texts = [request.args[0] for request in requests]
        sentences = [self._sentence(text, self._words(text)) for text in texts]
        logprobs = _word_scores(self._model, sentences)
        return [float(logprobs[sentence].astype(np.float64).sum()) for sentence in sentences]

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[str]:
        """Refuse: tseval scores sentences and does not generate text."""
        raise ModelError(
            "tseval cannot run lm-eval tasks in which the model writes text. Choose tasks that compare "
            "log-probabilities"
        )

    def _words(self, text: str) -> list[tuple[int, int]]:
        """Return the beginning and end of each word."""
        return list(spans(text, self._tokenise))

    def _sentence(self, text: str, words: Sequence[tuple[int, int]]) -> str:
        return " ".join(text[start:end] for start, end in words) if self._tokenise else text


def _reads_words(model: Model) -> bool:
    """Return whether a model splits a sentence into words at spaces."""
    return not isinstance(model, TokenModel | TotalModel) and model.card.kind != "lm-eval"


def _word_scores(model: Model, sentences: Sequence[str]) -> dict[str, np.ndarray]:
    """Score each distinct sentence, and return the values of its words, (words,) float32."""
    scorer = scorer_for(model)
    scores: dict[str, np.ndarray] = {}
    for shard in shards(pa.array(sorted(set(sentences)), pa.string())):
        table = scorer.score(shard)
        rows = zip(table["sentence"].to_pylist(), table["words"], strict=True)
        scores.update((str(sentence), np.array(words.as_py(), dtype=np.float32)) for sentence, words in rows)
    return scores


class FirstChoices:
    """A recurrent model whose log-probability is 0 for its most probable next word and -1 for all others.

    A second pass of the scorer over it finds the continuations that the model itself would choose.
    """

    def __init__(self, model: NativeModel) -> None:
        self._model = model
        self.card: ModelCard = model.card
        self.row_bytes: int = model.row_bytes
        self.encode, self.start, self.advance = model.encode, model.start, model.advance

    def logprobs(self, state: PrefixState, rows: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Return 0 for words that are the most probable ones, otherwise -1, (words,) float32."""
        best = self._model.best_tokens(state)
        return np.where(best[rows] == tokens, 0, -1).astype(np.float32)
