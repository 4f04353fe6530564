"""Opening of transformers models and tokenizers, from a folder, a GGUF file or the hub."""

from __future__ import annotations

from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

from tseval.errors import ModelError
from tseval.pretrained.activations import fuse_activations
from tseval.pretrained.claims import refuse_claims, refuse_empty_sizes
from tseval.pretrained.folders import (
    check_saved,
    find_lora,
    fingerprint_of,
    holds_tokenizer,
    place_in_training,
    refuse_hostile,
    stored_type,
)
from tseval.pretrained.gguf_files import opened_gguf
from tseval.pretrained.hub import stays_here
from tseval.pretrained.loading_errors import plain_errors
from tseval.pretrained.merging import merge
from tseval.pretrained.opened import Pretrained, probe
from tseval.pretrained.options import (
    TAKEN,
    UNRECORDED,
    WHERE,
    OptionValue,
    refuse_foreign_options,
    typed,
    with_type_names,
)
from tseval.pretrained.tokenizer import open_tokenizer
from tseval.pretrained.trials import begun_trial
from tseval.pretrained.weights import load_weights, refuse_lacking, refuse_left_over
from tseval.scoring.bfloat16 import NOTHING_GAINED, has_fast_products
from tseval.scoring.devices import pick_device

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.pretrained.gguf_files import Gguf


QUANTISATION = ("load_in_", "bnb_", "llm_int8_")


def open_pretrained(
    scheme: str, head: str, rest: str, arguments: Mapping[str, str], device: str, own: Sequence[str]
) -> Pretrained:
    """Open a model and its tokenizer.

    Args:
        scheme: Scheme of the adapter, for messages.
        head: Class of transformers that opens the model: `AutoModelForCausalLM`.
        rest: Folder, or id on the hub.
        arguments: Arguments for `from_pretrained`, as text.
        device: `auto`, `cpu`, `cuda`, ...; must be `auto` if `device_map` is among the arguments.
        own: Names of the adapter's arguments, for messages.
    """
    _refuse_precision(scheme, arguments)
    arguments = with_type_names(arguments)
    with begun_trial(Path(rest, arguments.get("subfolder", ""), "tokenizer.json")):
        return _open(scheme, head, rest, arguments, device, own)


def _open(
    scheme: str, head: str, rest: str, arguments: Mapping[str, str], device: str, own: Sequence[str]
) -> Pretrained:
    try:
        import transformers  # noqa: F401, PLC0415  optional, and heavy
    except ImportError:
        raise ModelError(
            f"{scheme}: models need the package transformers.\n  Install the package: pip install "
            '"tseval[hf]"'
        ) from None
    if not rest:
        raise ModelError(
            f"{scheme}: no model is named after the colon.\n"
            f"  Name a folder or a model of the Hugging Face hub: --model {scheme}:FOLDER_OR_ID"
        )
    with opened_gguf(f"{scheme}:{rest}", rest) as gguf:
        if gguf is None:
            return _open_saved(scheme, head, rest, arguments, device, own)
        return _open_gguf(scheme, head, gguf, arguments, device)


def _open_gguf(scheme: str, head: str, gguf: Gguf, arguments: Mapping[str, str], device: str) -> Pretrained:
    """Open a GGUF file with transformers; the weights are dequantised."""
    import transformers  # noqa: PLC0415  optional, and heavy

    where = f"{scheme}:{gguf.path.name}"
    options = {name: typed(name, text) for name, text in arguments.items()}
    if foreign := sorted(options.keys() - {"dtype", "attn_implementation", "device_map"}):
        raise ModelError(
            f"--model-args {foreign[0]}: GGUF models have no argument with this name.\n"
            "  Use only dtype, attn_implementation and device_map."
        )
    keywords: dict[str, object] = {"dtype": torch.float32, **options}
    target = _place(keywords, device, quantised=False)
    place = {"pretrained_model_name_or_path": str(gguf.path.parent), "gguf_file": gguf.path.name}
    # tqdm's progress bars cannot be silenced in another way.
    quiet = redirect_stderr(StringIO())
    with plain_errors(scheme, gguf.path.name), TemporaryDirectory() as folder, quiet:
        transformers.AutoTokenizer.from_pretrained(**place).save_pretrained(folder)
        tokenizer, notes = open_tokenizer(where, folder, {})
        model, info = getattr(transformers, head).from_pretrained(
            **place, **keywords, output_loading_info=True
        )
        if target is not None:
            model = model.to(target)
    refuse_lacking(where, model, info["missing_keys"])
    # The weights are no longer quantised, and a saved model must not say so.
    model.config.__dict__.pop("quantization_config", None)
    model.hf_quantizer, model.is_quantized = None, False
    fuse_activations(model)
    recorded = {name: value for name, value in options.items() if name not in UNRECORDED}
    recorded["quantisation"] = f"{gguf.quantisation},dequantised"
    opened = Pretrained(gguf.path.stem, model.eval(), tokenizer, gguf.digest, recorded)
    note = (
        f"weights stored as {gguf.quantisation} are dequantised; "
        "llama.cpp also rounds activations, so its numbers differ"
    )
    return probe(replace(opened, notes=(*notes, note)))


def _open_saved(
    scheme: str, head: str, rest: str, arguments: Mapping[str, str], device: str, own: Sequence[str]
) -> Pretrained:
    """Open a model from a folder or the hub."""
    import transformers  # noqa: PLC0415  optional, and heavy

    lora = find_lora(scheme, rest)
    source = rest if lora is None else lora.base.base_model_name_or_path
    options = {name: typed(name, text) for name, text in arguments.items()}
    if lora and lora.base.revision:
        options["revision"] = lora.base.revision
    is_remote = not stays_here(source)
    if not is_remote:
        options["local_files_only"] = True
    keywords: dict[str, object] = {"trust_remote_code": False, **options}
    quantised = {name: keywords.pop(name) for name in options if name.startswith(QUANTISATION)}
    where = {name: options[name] for name in WHERE if name in options}
    target = _place(keywords, device, bool(quantised))
    subfolder = str(options.get("subfolder", ""))
    spelling = rest if holds_tokenizer(Path(rest, subfolder)) else source
    weight_options = _look_through(
        f"{scheme}:{source}", Path(source, subfolder), Path(spelling, subfolder), options
    )
    with plain_errors(scheme, source, is_remote):
        folder = Path(transformers.utils.cached_file(source, "config.json", **where)).parent
        allowed = {**where, "trust_remote_code": keywords["trust_remote_code"]}
        refuse_foreign_options(scheme, options, own, source, allowed)
        tokenizer, notes = open_tokenizer(f"{scheme}:{rest}", spelling, allowed)
        stored = stored_type(folder)
        if not allowed["trust_remote_code"]:
            refuse_empty_sizes(f"{scheme}:{source}", head, source, where, (folder, *weight_options))
        keywords.setdefault("dtype", _default_type(stored, target))
        if quantised:
            keywords["quantization_config"] = transformers.BitsAndBytesConfig(**quantised)
        model, info = load_weights(getattr(transformers, head), source, keywords)
    refuse_lacking(f"{scheme}:{source}", model, info["missing_keys"], info["unexpected_keys"])
    if options.keys() <= {*TAKEN}:  # other options change the configuration, which is intended
        refuse_left_over(f"{scheme}:{source}", model, info["unexpected_keys"])
    fingerprint = fingerprint_of(folder, *weight_options)
    with plain_errors(scheme, rest):
        if lora:
            model = merge(f"{scheme}:{rest}", lora.folder, model)
            fingerprint = lora.fingerprint(fingerprint, fingerprint_of(Path(rest)))
        if target is not None:
            model = model.to(target)
    fuse_activations(model)
    recorded = {name: value for name, value in options.items() if name not in UNRECORDED}
    name = Path(rest).resolve().name if Path(rest).exists() else rest
    origin: dict[str, OptionValue] = dict(place_in_training(Path(rest, subfolder)))
    if lora is None and "revision" in options and not Path(source).exists():
        origin["revision"] = options["revision"]
    opened = Pretrained(name, model.eval(), tokenizer, fingerprint, recorded, origin)
    return probe(replace(opened, notes=(*notes, *_notes_on_type(stored, arguments, opened))))


def _look_through(
    where: str, folder: Path, tokenizer: Path, options: Mapping[str, OptionValue]
) -> tuple[str | None, bool]:
    """Refuse a hostile folder before anything opens it; return which weight files are read."""
    variant = options.get("variant")
    weight_options = (
        None if variant is None else str(variant),
        options.get("use_safetensors", True) is not False,
    )
    refuse_hostile(where, folder, *weight_options)
    check_saved(where, folder, tokenizer)
    refuse_claims(where, folder, *weight_options)
    return weight_options


def _refuse_precision(scheme: str, arguments: Mapping[str, str]) -> None:
    if "precision" in arguments:
        raise ModelError(
            f"--precision {arguments['precision']}: a transformers model computes in the number format of "
            f"its weights.\n  Remove --precision, and add --model-args dtype={arguments['precision']}"
        )


def _notes_on_type(stored: str | None, arguments: Mapping[str, str], opened: Pretrained) -> Iterator[str]:
    """Yield notes if the weights are computed in another type than stored, or bfloat16 gains nothing."""
    dtype, device = opened.dtype, opened.model.device
    requested = arguments.get("dtype", "").removeprefix("torch.")
    if stored not in (None, dtype):
        yield (
            f"the weights are stored in {stored}, but tseval computes in {dtype} "
            f"(to compute in {stored}: --model-args dtype={stored})"
        )
    if requested == "bfloat16" and device.type == "cpu" and not has_fast_products(device):
        yield NOTHING_GAINED


def _default_type(stored: str | None, target: torch.device | None) -> torch.dtype | str:
    """Return the type for computing: as stored, but float32 on a CPU, where it is fastest and exact."""
    on_cpu = target is not None and target.type == "cpu"
    return torch.float32 if on_cpu and stored in {"float16", "bfloat16"} else "auto"


def _place(keywords: dict[str, object], device: str, quantised: bool) -> torch.device | None:
    """Return the device to move a model to; None if `from_pretrained` places it."""
    if "device_map" in keywords:
        if device != "auto":
            raise ModelError(
                f"--device {device} and --model-args device_map=... cannot be used together.\n"
                "  Remove one of the two."
            )
        return None
    target = pick_device(device)
    if quantised:  # quantised weights cannot be moved later
        keywords["device_map"] = {"": str(target)}
        return None
    return target
