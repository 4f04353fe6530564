"""Folders that hold no model but a change of one, by LoRA, and name the model: `adapter_config.json`."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tseval.adapters.folders import refuse_hostile
from tseval.errors import ModelError
from tseval.formats import ContentError, checked, read_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from tseval.formats import Json

CONFIG = "adapter_config.json"


@dataclass(frozen=True, slots=True)
class Base:
    """Which model is changed: a folder or an id on the hub, and which revision of it, if any."""

    base_model_name_or_path: str
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Lora:
    """A change of a model.

    Attributes:
        folder: Where it lies.
        base: What it changes.
        settings: All else that its configuration says.
    """

    folder: Path
    base: Base
    settings: dict[str, Json]

    def apply(self, model: PreTrainedModel) -> PreTrainedModel:
        """Add the change to the weights of its base: what comes is a model like any other."""
        import peft  # noqa: PLC0415  optional, and heavy

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "Found missing adapter keys")
            changed = peft.PeftModel.from_pretrained(model, str(self.folder))
            return cast("PreTrainedModel", changed.merge_and_unload())

    def fingerprint(self, of_base: str, of_files: str) -> str:
        """Give the SHA-256 over the base and the change, its files and settings; not where they lie."""
        told = json.dumps([of_base, of_files, self.settings], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()


def find_lora(scheme: str, rest: str) -> Lora | None:
    """Tell whether a folder holds a change of a model, and of which.

    Raises:
        ModelError: It does, and does not say of which; or peft, which opens it, is not installed.
    """
    where, file = f"{scheme}:{rest}", Path(rest, CONFIG)
    if not file.is_file():
        return None
    refuse_hostile(where, file.parent)
    try:
        content = read_json(file)
        base = checked(content, Base)
    except ContentError as error:
        raise ModelError(f"{where}: {CONFIG}: {error}") from None
    try:
        import peft  # noqa: F401, PLC0415  optional, and heavy
    except ImportError:
        raise ModelError(
            f"{where} holds no model but a change (LoRA) of {base.base_model_name_or_path}.\n"
            "  To open it: pip install peft; or save both as one: merge_and_unload(), then save_pretrained()."
        ) from None
    said = cast("dict[str, Json]", content)
    return Lora(file.parent, base, {name: said[name] for name in said if name not in Base.__slots__})
