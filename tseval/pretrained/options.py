"""Parsing and checks of `--model-args` for transformers models."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import torch

from tseval.errors import ModelError, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# Arguments that locate a model; the fingerprint identifies it.
WHERE = ("revision", "subfolder", "cache_dir", "token", "local_files_only")
# Arguments that cannot change a number, or that do not belong in a manifest.
UNRECORDED = {*WHERE, "trust_remote_code", "device_map", "dtype", "max_memory", "offload_folder"}
OptionValue = str | int | float | bool | None


def take_option(arguments: dict[str, str], name: str, choices: tuple[str, ...]) -> str:
    """Remove one of tseval's arguments from those for `from_pretrained`; the first choice is the default."""
    value = arguments.pop(name, choices[0])
    if value not in choices:
        raise ModelError(f"--model-args {name}={value}: unknown value. {suggest(value, choices, 'Values')}")
    return value


# Arguments that `from_pretrained` takes as text; it also takes all fields of a model's config.json.
TAKEN = (
    *WHERE, "allow_all_kernels", "attn_implementation", "device_map", "disable_mmap", "dtype",
    "experts_implementation", "force_download", "gguf_file", "ignore_mismatched_sizes", "max_memory",
    "offload_buffers", "offload_folder", "torch_dtype", "tp_plan", "tp_size", "trust_remote_code",
    "use_kernels", "use_safetensors", "variant", "weights_only",
)  # fmt: skip
USUAL = ("attn_implementation", "device_map", "dtype", "revision", "subfolder", "trust_remote_code")


def refuse_foreign_options(
    scheme: str, given: Mapping[str, OptionValue], own: Sequence[str], source: str, where: Mapping[str, Any]
) -> None:
    """Refuse unknown arguments, because a model's custom code may accept and ignore any."""
    import transformers  # noqa: PLC0415  optional, and heavy

    if given.keys() <= {*TAKEN}:
        return
    config = transformers.AutoConfig.from_pretrained(source, **where)
    of_bits = inspect.signature(transformers.BitsAndBytesConfig).parameters
    names = {*own, *TAKEN, *of_bits, *config.to_dict(), *config.attribute_map}
    for name in given.keys() - names:
        parts = [word for word in name.split("_") if word in {*own, *USUAL}]
        near = (parts or get_close_matches(name, sorted(names), n=1) or [name])[0]
        choices = {*own, *USUAL, near} & names
        raise ModelError(
            f"--model-args {name}: models of the kind {scheme} have no argument {name!r}. "
            f"{suggest(near, choices, 'Arguments')}\n"
            "  Arguments of transformers' from_pretrained and fields of config.json are allowed too."
        )


# Other common names of number types.
TYPES = {
    "bf16": "bfloat16", "fp16": "float16", "f16": "float16", "half": "float16", "float": "float32",
    "fp32": "float32", "f32": "float32", "double": "float64", "fp64": "float64", "f64": "float64",
}  # fmt: skip


def with_type_names(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return arguments with torch's names of number types; refuse unknown types."""
    result = dict(arguments)
    for name in ("dtype", "torch_dtype"):
        if name in result:
            value = result[name].removeprefix("torch.")
            value = TYPES.get(value.lower(), value)
            types = ("auto", "float32", "float16", "bfloat16", "float64")
            if not isinstance(getattr(torch, value, None), torch.dtype) and value != "auto":
                raise ModelError(
                    f"--model-args {name}={result[name]}: unknown type. {suggest(value, types, 'Types')}"
                )
            result[name] = value
    return result


def typed(name: str, text: str) -> OptionValue:
    """Read the value of an argument: a number, true, false, none, or text."""
    words: dict[str, bool | None] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if name not in WHERE:  # a revision may look like a number
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text
