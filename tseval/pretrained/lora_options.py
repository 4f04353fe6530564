"""Checks of the settings of an adapter (LoRA) before peft uses them.

Some settings name Python modules to import, some can cause endless work, and some are regular expressions
that Python's engine might match for ever.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from safetensors import SafetensorError, safe_open

from tseval.errors import ModelError, suggest
from tseval.expressions import goes_back

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tseval.formats import Json


# Adapter types that peft can merge into a model; others load further models, or read texts.
KINDS = ("ADALORA", "BOFT", "BONE", "DORA", "FOURIERFT", "HRA", "IA3", "LOHA", "LOKR", "LORA", "MISS", "OFT",
         "RANDLORA", "SHIRA", "VBLORA", "VERA")  # fmt: skip
# Adapter types that add trained tokens or parts, and do not change weights.
NOT_MERGED = (
    "PROMPT_TUNING",
    "MULTITASK_PROMPT_TUNING",
    "PREFIX_TUNING",
    "P_TUNING",
    "ADAPTION_PROMPT",
    "CPT",
)
MERGE_FIX = (
    "  Use the base model, or an adapter that adds to weights (LoRA).\n"
    "  Or write a function that returns the model: --model mine.py:load (docs/adapters.md)."
)
BEGINNINGS = re.compile(r"gaussian|eva|olora|orthogonal|loftq|corda|pissa(_niter_[1-9][0-9]?)?|mica|lora_ga")
IMPORTED = ("megatron_config",)  # `auto_mapping` is only read when a model is opened in another way
# Settings with these names are sizes or numbers of repetitions.
SIZES = re.compile(r"(^|_)(r|rank|iter|niter|size|bits|steps|num|block_size|n_frequency)($|_)")
LARGEST, MOST_COPIES = 65_536, 1_000
MOST_REPEATS = 4  # in an expression; module names are short


def refuse_lora_options(where: str, settings: Mapping[str, Json], file: Path) -> None:
    """Refuse settings of an adapter that name code, or that could cause endless work in peft.

    Args:
        where: The model, for messages.
        settings: The adapter's configuration.
        file: The safetensors file with its tensors, if there is one.

    Raises:
        ModelError: Names the setting.
    """
    kind = settings.get("peft_type", "LORA")
    if isinstance(kind, str) and kind.upper() in NOT_MERGED:
        raise cannot_be_merged(where, kind)
    if not isinstance(kind, str) or kind.upper() not in KINDS:
        raise _wrong(where, "peft_type", kind, suggest(str(kind), KINDS, "Kinds that are read"))
    for name in IMPORTED:
        if settings.get(name):
            raise _wrong(
                where,
                name,
                settings[name],
                "Remove the setting: peft would import and run the code that it names.",
            )
    initialisation = settings.get("init_lora_weights", True)
    if not isinstance(initialisation, bool | None) and not (
        isinstance(initialisation, str) and BEGINNINGS.fullmatch(initialisation)
    ):
        raise _wrong(
            where, "init_lora_weights", initialisation, "Write true, false or gaussian as its value."
        )
    for setting, name, number in _numbers(settings):
        if SIZES.search(name) and abs(number) > LARGEST:
            raise _wrong(where, setting, settings[setting], f"Write a number of at most {LARGEST:,}.")
    largest = max(_widths(file), default=LARGEST)
    if isinstance(rank := settings.get("r"), int) and rank > largest:
        raise _wrong(where, "r", rank, f"Write a number of at most {largest:,}, the width of the tensors.")
    _refuse_copies(where, settings.get("layer_replication"))
    for name, pattern in _patterns(settings):
        if refusal := goes_back(pattern, MOST_REPEATS):
            raise _wrong(where, name, pattern, refusal)


def cannot_be_merged(where: str, kind: str, why: str = "") -> ModelError:
    """Make the error for an adapter that does not change weights."""
    type_name = kind.replace("_", " ").lower()
    problem = f"{where} holds an adapter of the type {type_name!r}, which cannot be merged into the weights"
    return ModelError(f"{problem}{why}.\n{MERGE_FIX}")


def _wrong(where: str, name: str, value: object, fix: str) -> ModelError:
    return ModelError(
        f"{where}: adapter_config.json: the setting {name} is {value!r:.80}, which tseval does not "
        f"accept.\n  {fix}"
    )


def _refuse_copies(where: str, ranges: Json) -> None:
    """Refuse a model that repeats layers too often."""
    if not isinstance(ranges, list):
        return
    total = 0
    for layers in ranges:
        match layers:
            case [int(first), int(last)] if 0 <= first <= MOST_COPIES and 0 <= last <= MOST_COPIES:
                total += max(0, last - first)
            case _:
                fix = f"Write a list of two layer numbers from 0 to {MOST_COPIES:,}, such as [0, 4]."
                raise _wrong(where, "layer_replication", layers, fix)
    if total > MOST_COPIES:
        raise _wrong(
            where, "layer_replication", ranges, f"Name {MOST_COPIES:,} layers at most, not {total:,}."
        )


def _numbers(settings: Mapping[str, Json]) -> Iterator[tuple[str, str, float]]:
    """Yield every number with its setting, and its name within the setting."""
    pending: list[tuple[str, str, Json]] = [(name, name, value) for name, value in settings.items()]
    while pending:
        setting, name, value = pending.pop()
        if isinstance(value, dict):
            of_modules = setting == "rank_pattern"  # its keys are names of modules
            pending += [(setting, "rank" if of_modules else key, entry) for key, entry in value.items()]
        elif isinstance(value, list):
            pending += [(setting, name, entry) for entry in value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield setting, name, value


def _widths(file: Path) -> Iterator[int]:
    """Yield the sizes of the tensors of an adapter."""
    if not file.name.endswith(".safetensors"):
        return
    try:
        with safe_open(file, framework="pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - it is no dictionary
                yield from tensors.get_slice(name).get_shape()
    except (SafetensorError, OSError):
        return


def _patterns(settings: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield every setting that peft uses as a regular expression, including names of modules."""
    for name in (
        "target_modules",
        "exclude_modules",
        "layers_pattern",
        "modules_to_save",
        "target_parameters",
    ):
        value = settings.get(name)
        for pattern in value if isinstance(value, list) else [value]:
            if isinstance(pattern, str):
                yield name, pattern
    for name in ("rank_pattern", "alpha_pattern"):
        if isinstance(value := settings.get(name), dict):
            yield from ((name, key) for key in value)
