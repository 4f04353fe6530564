"""All models that lm-eval can run, such as servers, vllm, gguf, or lm-eval's own `hf`.

A sentence is scored as the continuation of an empty context, which lm-eval replaces by the model's start
token. lm-eval returns one number per sentence, so `--score critical` is not available.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from contextlib import suppress
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tseval.errors import ModelError, first_line, suggest
from tseval.files import file_sha256
from tseval.pretrained.pieces import may_exceed
from tseval.scoring.devices import pick_device
from tseval.scoring.protocol import SECRETS, ModelCard

try:
    import lm_eval.models  # noqa: F401 - registers the backends
    from lm_eval.api.instance import Instance
    from lm_eval.api.registry import model_registry
    from lm_eval.utils import handle_arg_string
except ImportError:
    raise ModelError(
        'lm-eval: models need the package lm-eval. Install it: pip install "tseval[lm-eval]"'
    ) from None

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from tseval.formats import Json

SCHEMES = {"lm-eval": "open_lm_eval"}


# For `check_ends`: number of tokens, ids to search for them, and nats below which two numbers are equal.
N_TRIED, MOST_TRIED, SAME = 3, 2_000, 1e-4
# Arguments that change only the speed, or that are secret. They are not part of the protocol.
UNSIGNED = {"batch_size", "max_batch_size", "num_concurrent", "max_retries", "timeout", "device"} | SECRETS


class Backend(Protocol):
    """The methods of an lm-eval model that tseval calls."""

    def loglikelihood(
        self, requests: Sequence[object], disable_tqdm: bool = False
    ) -> Sequence[tuple[float, bool]]:
        """Return the log-probability of each continuation, and whether it is the greedy continuation."""


class LmEvalModel:
    """A model of lm-eval, with the arguments that created it.

    `context` is a text before every sentence, for backends that add no start token.
    """

    def __init__(self, backend: str, model: Backend, arguments: Mapping[str, str], context: str = "") -> None:
        self._model, self._context = model, context
        silent = "disable_tqdm" in inspect.signature(model.loglikelihood).parameters
        self._options = {"disable_tqdm": True} if silent else {}
        self.card = ModelCard(
            name=_name(backend, arguments),
            kind="lm-eval",
            fingerprint=_fingerprint(backend, arguments),
            protocol=_protocol(backend, model, arguments) | ({"start": context} if context else {}),
            details={
                "architecture": f"lm-eval {backend}",
                "device": str(getattr(model, "_device", "unknown")),
            },
        )

    def __repr__(self) -> str:
        return self.card.show(self)

    def sentence_logprobs(self, sentences: Sequence[str]) -> list[float]:
        """Score whole sentences; see `TotalModel`."""
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=(self._context, sentence), idx=i)
            for i, sentence in enumerate(sentences)
        ]
        try:
            return [float(logprob) for logprob, _ in self._model.loglikelihood(requests, **self._options)]
        except Exception as error:
            message = f"lm-eval cannot score the sentences: {_named(error)}{self._advice(error)}"
            raise ModelError(f"{self.card.name}: {self._too_long(sentences) or message}") from error

    def check_ends(self) -> None:
        """Refuse a backend that ignores the first or the last token of a sentence.

        Scores must change with the only token of a sentence, and with the last of two. Some servers return no
        value for the token after the start. Others return none for the token that they generate at the end,
        and lm-eval then drops the last token of the sentence instead.
        """
        tokens = self._single_tokens()
        if len(tokens) < 2:  # nothing to compare
            return
        for position, texts in (("last", [f"{tokens[0]} {token}" for token in tokens]), ("first", tokens)):
            logprobs = np.array(self.sentence_logprobs(texts))
            if not np.isfinite(logprobs).all() or np.ptp(logprobs) < SAME:
                raise ModelError(
                    f"{self.card.name}: the backend does not count the {position} token of a sentence: "
                    f"{texts[0]!r} and {texts[1]!r} differ in this token, but both have the log-probability "
                    f"{logprobs[0]:.4g}.\n"
                    "  Score the weights on this machine (--model hf:FOLDER),\n"
                    "  or use a server that returns the log-probability of every prompt token (vLLM)."
                )

    def _single_tokens(self) -> list[str]:
        """Find texts that are one token each; use letters if the backend does not know its tokens."""
        model: Any = self._model
        texts: list[str] = []
        with suppress(Exception):
            for token in range(MOST_TRIED):
                text = model.tokenizer.decode([token])
                if text.isalnum() and list(model.tok_encode(text)) == [token]:
                    texts.append(text)
                if len(texts) == N_TRIED:
                    return texts
        return texts if hasattr(model, "tokenizer") else ["a", "b", "c"]

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences are longer than the backend's limit, if it has one; see `BoundedModel`."""
        model: Any = self._model
        is_too_long = np.zeros(len(sentences), dtype=np.bool_)
        with suppress(Exception):  # not every backend knows its tokens
            most = model.max_length
            for index in np.flatnonzero(may_exceed(sentences, most)):
                is_too_long[index] = len(model.tok_encode(str(sentences[int(index)]))) > most
        return is_too_long

    def _advice(self, error: Exception) -> str:
        """Return advice for the case that a server's answer is not in the form that lm-eval expects."""
        if getattr(self._model, "tokenized_requests", False) and type(error).__name__ == "HTTPError":
            return "\n  If the server accepts only text, add --model-args tokenized_requests=False"
        if isinstance(error, TypeError) and "NoneType" in str(error):
            return (
                "\n  The server gives no log-probability for the first token.\n"
                "  Name the start symbol of the model: --model-args bos=TEXT (for example bos=<s>)"
            )
        return ""

    def _too_long(self, sentences: Sequence[str]) -> str | None:
        """Describe a sentence that is too long for the backend; lm-eval reports only `AssertionError`."""
        model: Any = self._model
        with suppress(Exception):  # not every backend knows its tokens; keep its own message
            most = model.max_length
            for sentence in sorted(sentences, key=len, reverse=True):
                n_tokens = len(model.tok_encode(sentence))
                if n_tokens > most:
                    start = f"'{sentence[:60]}...'"
                    return f"a sentence has {n_tokens} tokens, but the model reads at most {most}: {start}"
        return None


def open_lm_eval(rest: str, arguments: Mapping[str, str], device: str) -> LmEvalModel:
    """Open `--model lm-eval:BACKEND`; `--model-args` are arguments of lm-eval."""
    backends = sorted(model_registry.keys())
    if rest not in backends:
        raise ModelError(f"lm-eval has no backend {rest!r}. {suggest(rest, backends, 'Backends')}")
    context, arguments = arguments.get("bos", ""), {**arguments}
    if context:
        del arguments["bos"]
    try:
        cls = model_registry.get(rest)
        _refuse_foreign(rest, cls, arguments)
        options = inspect.signature(cls).parameters
        if "softmax_dtype" in options:
            # In half precision, log-probabilities are so coarse that many sentences tie.
            arguments = {"softmax_dtype": "float32", **arguments}
        device_option = {"device": str(pick_device(device))} if "device" in options else {}
        parsed = {key: handle_arg_string(value) for key, value in arguments.items()}
        model = cls.create_from_arg_obj(parsed, device_option)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"lm-eval:{rest}: {_named(error)}") from error
    scorer = LmEvalModel(rest, model, arguments, context)
    scorer.check_ends()
    return scorer


def _refuse_foreign(backend: str, cls: type, arguments: Mapping[str, str]) -> None:
    """Refuse unknown arguments; most backends accept any, and some silently ignore them."""
    names = {"bos"} | {
        name
        for base in cls.__mro__
        for name, parameter in inspect.signature(vars(base).get("__init__", object)).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    } - {"self"}
    is_served = any(base.__name__ == "TemplateAPI" for base in cls.__mro__)
    for name in sorted(arguments.keys() - names):
        # A backend with local weights passes them on to a library, which has better messages.
        if is_served or get_close_matches(name, sorted(names), n=1):
            raise ModelError(
                f"--model-args {name}: lm-eval:{backend} has no argument {name!r}. "
                f"{suggest(name, names, 'Arguments')}"
            )


def _named(error: Exception) -> str:
    """Describe an error on one line; any library may raise it, in any form."""
    name, message = type(error).__name__, first_line(error)
    return name if message == name else f"{name}: {message[:300]}"


def _name(backend: str, arguments: Mapping[str, str]) -> str:
    called = arguments.get("pretrained") or arguments.get("model") or backend
    return Path(called).name or backend


def _protocol(backend: str, model: Backend, arguments: Mapping[str, str]) -> dict[str, Json]:
    """Return every choice that can change a number; files enter the fingerprint by content instead."""
    recorded = {
        key: value
        for key, value in sorted(arguments.items())
        if key not in UNSIGNED and not os.path.exists(value)
    }
    return {
        "backend": backend,
        "lm_eval": version("lm_eval"),
        "start": str(getattr(model, "prefix_token_id", "the backend's")),
        "arguments": ",".join(f"{key}={value}" for key, value in recorded.items()),
    }


def _fingerprint(backend: str, arguments: Mapping[str, str]) -> str:
    """Hash arguments, and files by their content. For remote models, only the address is known."""
    digest = hashlib.sha256(backend.encode())
    for key, value in sorted(arguments.items()):
        if key in UNSIGNED:
            continue
        if not os.path.exists(value):
            digest.update(f"\n{key}={value}".encode())
            continue
        for file in sorted(_files(Path(value))):
            digest.update(f"\n{key} {file.relative_to(value)} {file_sha256(file)}".encode())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
