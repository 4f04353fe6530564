"""Models that only answer prompts, about the better of two sentences: `prompt:hf:PATH_OR_ID`, `prompt:URL`.

`prompt:hf:` is a local chat model. Its prompt is made with the model's chat template, and its answer is one
token. `prompt:URL` is a model on a server with the API of chat completions. Each pair is presented in both
orders (Hu & Levy 2023 compare such answers with log-probabilities).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from tseval.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.prompting.asked_model import AskedModel

SCHEMES = {"prompt": "open_prompt"}
AT_HAND = "hf:"


def open_prompt(rest: str, arguments: Mapping[str, str], device: str) -> AskedModel:
    """Open a model that answers prompts, on this machine or on a server."""
    if rest.startswith(AT_HAND):  # imports transformers
        module = import_module("tseval.prompting.chat_model")
        return cast("AskedModel", module.open_chat(rest.removeprefix(AT_HAND), arguments, device))
    if rest.startswith(("http://", "https://")):
        served = import_module("tseval.prompting.served_model")
        return cast("AskedModel", served.open_served(rest, arguments))
    raise ModelError(
        f"prompt:{rest}: after prompt: stands neither hf: nor the address of a server.\n"
        "  Write --model prompt:hf:FOLDER_OR_ID, or --model prompt:http://localhost:8000/v1"
    )
