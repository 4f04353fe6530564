"""Checks of a model's configuration against its weight files, before a model is built.

A short configuration can ask for a thousand million layers. Sizes that the weight files cannot fill are
refused.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open

from tseval.errors import LimitError, ModelError
from tseval.formats import ContentError, read_json
from tseval.pretrained.folders import loaded_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


# Fields with numbers of parts that are built one by one.
_COUNTS = re.compile(
    r"(^|_)(layers?|blocks?|experts?|stages?|depths?|groups|group_num|codebooks?|adapters)(_count|_num)?$"
    r"|^n_?layers?$|^(num|n)_(heads|attention_heads|key_value_heads|head|hidden_layers)$"
)
_LABELS = re.compile(r"^(num_|n_)labels$")
_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx")
FEW, MOST_LABELS, MOST_SINES = 1_024, 100_000, 100_000
BYTES_OF_A_TENSOR = 200  # in a pickle, at least
NUMBERS_TO_A_BYTE, SLACK = 10, 10_000_000  # for weights stored in few bits


def refuse_claims(where: str, folder: Path, variant: str | None = None, safe: bool = True) -> None:
    """Refuse a configuration with more parts than its weight files have tensors.

    Raises:
        ModelError: There are more parts; names the field.
    """
    try:
        config = read_json(folder / "config.json")
    except FileNotFoundError:
        return  # another check reports missing files
    except (OSError, LimitError, ContentError) as error:
        raise ModelError(f"{where}: config.json: {error}") from None
    n_tensors = max(FEW, sum(map(_count_tensors, loaded_weights(where, folder, variant, safe))))
    for name, value in _numbers(config):
        most = n_tensors if _COUNTS.search(name) else MOST_LABELS if _LABELS.search(name) else None
        if most is not None and value > most:
            raise ModelError(
                f"{where}: config.json: {name} is {_short(value)}, but the weight files have weights for at "
                f"most {most:,}.\n  Restore the config.json that the model was saved with."
            )
    if isinstance(config, dict) and config.get("sinusoidal_pos_embds"):
        for name in _POSITIONS:
            if isinstance(claimed := config.get(name), int) and claimed > MOST_SINES:
                problem = f"{name} is {_short(claimed)}, but must be at most {MOST_SINES:,}"
                raise ModelError(
                    f"{where}: config.json: {problem}.\n"
                    "  Restore the config.json that the model was saved with."
                )


def refuse_empty_sizes(
    where: str, head: str, source: str, places: Mapping[str, Any], files: tuple[Path, str | None, bool]
) -> None:
    """Refuse a configuration of a model with many more numbers than its weight files.

    The model is built without memory for its numbers, which takes a hundredth of a second.

    Args:
        where: The model, for messages.
        head: Class of transformers that opens it.
        source: Folder, or id on the hub.
        places: Arguments for the hub, such as `revision`.
        files: Arguments of `loaded_weights`.
    """
    import transformers  # noqa: PLC0415  optional, and heavy

    if not Path(source).is_dir():  # folders are checked earlier
        refuse_claims(where, *files)
    config = transformers.AutoConfig.from_pretrained(source, **places)
    n_bytes = sum(path.stat().st_size for path in loaded_weights(where, *files))
    if not n_bytes:
        return
    model = None
    with suppress(Exception), torch.device("meta"):  # transformers reports models that cannot be built
        model = getattr(transformers, head).from_config(config)
    if model is None:
        return
    n_numbers = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    if n_numbers > NUMBERS_TO_A_BYTE * n_bytes + SLACK:
        raise ModelError(
            f"{where}: config.json describes {n_numbers:,} weights, but the weight files have only "
            f"{n_bytes:,} bytes.\n  Restore the config.json that the model was saved with."
        )


def _short(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{number:.0e}"


def _count_tensors(path: Path) -> int:
    if path.name.endswith(".safetensors"):
        with suppress(SafetensorError, OSError), safe_open(path, framework="pt") as tensors:
            return len(tensors.keys())
    return path.stat().st_size // BYTES_OF_A_TENSOR


def _numbers(value: object) -> Iterator[tuple[str, int]]:
    """Yield every whole number in a configuration with its field name."""
    pending: list[tuple[str, object]] = [("", value)]
    while pending:
        name, content = pending.pop()
        if isinstance(content, dict):
            fields: Mapping[str, object] = content
            pending += fields.items()
        elif isinstance(content, list):
            pending += [(name, entry) for entry in content]
        elif isinstance(content, float) and content.is_integer():
            yield name, int(content)
        elif isinstance(content, int) and not isinstance(content, bool):
            yield name, content
