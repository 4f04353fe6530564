"""Inspection of folders that transformers and peft saved, before they are opened."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, cast

from tseval.errors import LimitError, ModelError, reason
from tseval.files import file_sha256
from tseval.formats import ContentError, checked, read_json
from tseval.models.torch_files import STATE_LIMITS, read_object
from tseval.pretrained.lora_options import refuse_lora_options

if TYPE_CHECKING:
    from tseval.formats import Json


# Files that determine what a model computes. If weights are in several formats, the first is read.
WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")
OTHER_FILES = ("config.json", "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json",
               "added_tokens.json", "*.model", "*.tiktoken", "*.spm", "*.codes", "dict.txt",
               "*.py")  # fmt: skip
# Names of weight files of a model and of an adapter (LoRA); the first that exists is read.
OF_A_MODEL = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
              "pytorch_model.bin.index.json")  # fmt: skip
OF_A_CHANGE = ("adapter_model.safetensors", "adapter_model.bin")


POINTER, POINTER_BYTES = b"version https://git-lfs.github.com/spec/", 1_024
PICKLED_WEIGHTS = "*_model*.bin"  # of a model or an adapter
TOKENIZER = ("tokenizer*", "vocab*", "*.model", "*.tiktoken", "*.vocab", "merges.txt")


def loaded_weights(where: str, folder: Path, variant: str | None = None, safe: bool = True) -> list[Path]:
    """Return the weight files that transformers or peft reads in a folder; [] if there are none.

    Args:
        where: The model, for messages.
        folder: The folder with the configuration.
        variant: Part of the file names before the ending, as in `from_pretrained`.
        safe: Whether safetensors files are read; otherwise only pickles.

    Raises:
        ModelError: An index or the configuration names a file outside the folder, or is invalid.
    """
    weights_name: Json = None
    names: tuple[str, ...]
    if (folder / CONFIG).is_file():
        names = OF_A_CHANGE
    else:
        names = tuple(
            _with_variant(name, variant) for name in OF_A_MODEL if safe or ".safetensors" not in name
        )
        weights_name = _read(where, folder / "config.json", {}).get("transformers_weights")
    if weights_name is not None:
        names = (_inside(where, folder, "config.json", weights_name),)
    first = next((folder / name for name in names if (folder / name).is_file()), None)
    if first is None:
        return []
    if first.suffix != ".json":
        return [first]
    parts = _read(where, first, {}).get("weight_map")
    if not isinstance(parts, dict):
        raise ModelError(
            f"{where}: the file {first.name} has no key 'weight_map', which must name the weight files.\n  "
            f"Download {first.name} again."
        )
    files = {_inside(where, folder, first.name, part) for part in parts.values()}
    if missing := sorted(name for name in files if not (folder / name).is_file()):
        raise ModelError(
            f"{where}: {first.name} names the weight file {missing[0]!r:.80}, which is missing.\n"
            "  Download that file into the folder."
        )
    return [folder / name for name in sorted(files)]


def _with_variant(name: str, variant: str | None) -> str:
    """Insert a variant where transformers expects it: before the last ending."""
    stem, _, ending = name.rpartition(".")
    return f"{stem}.{variant}.{ending}" if variant else name


def _read(where: str, file: Path, default: dict[str, Json]) -> dict[str, Json]:
    """Read a JSON file that contains an object."""
    try:
        content = read_json(file)
    except FileNotFoundError:
        return default
    except (OSError, ContentError) as error:
        raise ModelError(f"{where}: {file.name}: {reason(error)}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{where}: {file.name}: the content should be a JSON object: {{...}}")
    return content


def _inside(where: str, folder: Path, file: str, name: object) -> str:
    """Check that a file name in a configuration stays inside the folder of the model."""
    path = PurePosixPath(name) if isinstance(name, str) else PurePosixPath("..")
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in str(path) or ":" in str(path):
        raise ModelError(
            f"{where}: {file} names {str(name)!r:.80}, which is not a file inside the folder.\n"
            "  Put all weight files of the model into its folder."
        )
    return path.as_posix()


def refuse_hostile(where: str, folder: Path, variant: str | None = None, safe: bool = True) -> None:
    """Refuse a folder with pipes, devices, Git LFS pointers or hostile pickles, before transformers opens it.

    Torch's reader executes nothing in a pickle of weights, but allocates any memory that the pickle requests.
    All pickles that are loaded are checked, and all others with the name of a weight file.
    """
    if not folder.is_dir():
        return
    with suppress(OSError):  # transformers reports unreadable folders
        for path in folder.iterdir():
            if not path.is_file():
                if path.exists() and not path.is_dir():
                    raise ModelError(
                        f"{where}: {path.name!r} in the folder is not a regular file.\n  Remove "
                        f"{path.name!r} from the folder."
                    )
                continue
            if path.stat().st_size < POINTER_BYTES and path.read_bytes().startswith(POINTER):
                raise ModelError(
                    f"{where}: {path.name} is only a pointer of Git LFS, not the file itself.\n"
                    "  Download the file: run git lfs pull in that folder."
                )
            if path.match(PICKLED_WEIGHTS):
                _refuse_hostile_pickle(where, path)
    for path in loaded_weights(where, folder, variant, safe):
        if ".safetensors" not in path.name and not path.match(PICKLED_WEIGHTS):
            _refuse_hostile_pickle(where, path)


def _refuse_hostile_pickle(where: str, path: Path) -> None:
    try:
        read_object(path, frozenset(), STATE_LIMITS)
    except ModelError as error:
        raise ModelError(f"{where}: {path.name}: {error}") from None


def check_saved(where: str, folder: Path, tokenizer: Path) -> None:
    """Refuse folders without a model or tokenizer; names on the hub are not checked."""
    if (folder / CONFIG).is_file():  # transformers would read the weights of its base model
        raise ModelError(
            f"{where} holds an adapter (LoRA), but the base model of an adapter must be a whole model.\n"
            "  Merge that adapter into its own base model, and save the result: merge_and_unload(), then "
            "save_pretrained()."
        )
    if folder.is_dir() and not (folder / "config.json").exists():
        raise ModelError(
            f"{where} is not the folder of a saved model: it has no config.json.\n"
            "  Name the folder that has one, or save the model: model.save_pretrained(FOLDER)."
        )
    if tokenizer.is_dir() and not holds_tokenizer(tokenizer):
        raise ModelError(
            f"{where} has no tokenizer: neither tokenizer.json nor a vocabulary file.\n"
            "  Save the tokenizer there: AutoTokenizer.from_pretrained(BASE).save_pretrained(FOLDER)."
        )


def place_in_training(folder: Path) -> dict[str, str | int]:
    """Return the progress of the training for a checkpoint that transformers' Trainer saved; else {}.

    The keys are `step`, and `folder`, the name of the parent folder.
    """
    try:
        state = read_json(folder / "trainer_state.json")
    except (OSError, LimitError, ContentError):
        return {}
    step = state.get("global_step") if isinstance(state, dict) else None
    if not isinstance(step, int) or isinstance(step, bool):
        return {}
    return {"step": step, "folder": folder.resolve().parent.name}


def holds_tokenizer(folder: Path) -> bool:
    """Return whether a folder contains tokenizer files."""
    return any(next(folder.glob(pattern), None) for pattern in TOKENIZER)


def stored_type(folder: Path) -> str | None:
    """Return the type in which weights were saved, according to their configuration, or None."""
    try:
        content = read_json(folder / "config.json")
    except (OSError, LimitError, ContentError):  # transformers has a better message
        return None
    dtype = content.get("dtype") or content.get("torch_dtype") if isinstance(content, dict) else None
    return dtype.removeprefix("torch.") if isinstance(dtype, str) else None


def fingerprint_of(folder: Path, variant: str | None = None, safe: bool = True) -> str:
    """Return the SHA-256 over the names and bytes of the files that determine what a model computes.

    Of the weight files, only those that are loaded are included, wherever in the folder they are.
    """
    weights = loaded_weights(str(folder), folder, variant, safe)
    if not weights:
        weights = next((matches for pattern in WEIGHTS if (matches := [*folder.glob(pattern)])), [])
    others = [path for pattern in OTHER_FILES for path in folder.glob(pattern)]
    total = hashlib.sha256()
    for path in sorted(path for path in {*weights, *others} if path.is_file()):
        total.update(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n".encode())
    return total.hexdigest()


CONFIG = "adapter_config.json"


@dataclass(frozen=True, slots=True)
class Base:
    """The base model of an adapter: a folder or an id on the hub, and its revision, if any."""

    base_model_name_or_path: str
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Lora:
    """An adapter (LoRA) of a model."""

    folder: Path
    base: Base
    settings: dict[str, Json]  # all other settings of its configuration

    def fingerprint(self, of_base: str, of_files: str) -> str:
        """Return the SHA-256 over the base, the adapter's files and its settings; paths are not included."""
        content = json.dumps([of_base, of_files, self.settings], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def find_lora(scheme: str, rest: str) -> Lora | None:
    """Return the adapter in a folder, with its base model; None if the folder has none."""
    where, file = f"{scheme}:{rest}", Path(rest, CONFIG)
    if not file.is_file():
        return None
    refuse_hostile(where, file.parent)
    try:
        content = read_json(file)
        base = checked(content, Base)
    except ContentError as error:
        raise ModelError(f"{where}: {CONFIG}: {error}.\n  Save the adapter again with peft.") from None
    refuse_lora_options(where, cast("dict[str, Json]", content), file.parent / OF_A_CHANGE[0])
    try:
        import peft  # noqa: F401, PLC0415  optional, and heavy
    except ImportError:
        raise ModelError(
            f"{where} holds an adapter (LoRA) of {base.base_model_name_or_path}, which only peft can read.\n"
            "  Install it: pip install peft\n"
            "  Or save the merged model: merge_and_unload(), then save_pretrained()."
        ) from None
    settings = cast("dict[str, Json]", content)
    return Lora(file.parent, base, {name: settings[name] for name in settings if name not in Base.__slots__})
