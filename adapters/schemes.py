"""Look-up of the adapter for a model's name."""

from __future__ import annotations

import ast
import re
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from tseval.adapters.packages import GROUP, not_yet_installed
from tseval.errors import ModelError, suggest
from tseval.models.bundled_models import bundled_checkpoints

# The schemes of a module are read from its source, because importing all would load torch and transformers.
STATED = re.compile(r"^SCHEMES = (\{[^}]*\})", re.MULTILINE)
# Names that may be models on the Hugging Face hub, and endings that are always files.
ON_THE_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
CHECKPOINTS = {".pt", ".pth", ".safetensors", ".bin", ".ckpt", ".gguf"}


def find_adapter(spec: str) -> tuple[EntryPoint, str]:
    """Find the adapter for a name, and the rest of the name; nothing is imported."""
    if not spec:
        raise ModelError(
            "the name of the model is empty. Give the path of a checkpoint, or a bundled model: bundled:lstm"
        )
    scheme, colon, rest = spec.partition(":")
    known_adapters = _bundled_adapters()
    if not colon or Path(spec).exists():
        scheme, rest = "hf" if Path(spec).suffix == ".gguf" else "native", spec
        if not Path(spec).exists():
            hint = _meant(spec) or "Give the path of a checkpoint: --model PATH"
            raise ModelError(f"{spec}: file not found.\n  {hint}")
        if Path(spec).suffix == ".py":
            raise ModelError(
                f"{spec} is a Python file, not a model.\n"
                f"  Name the function in it that returns a model: --model {spec}:load"
            )
    elif scheme not in known_adapters:
        known_adapters = adapters()  # only here, because listing the installed packages is slow
        if scheme not in known_adapters and file_and_function(spec):
            scheme, rest = "function", spec
    if scheme not in known_adapters:
        fix = not_yet_installed(scheme) or f"\n  {suggest(scheme, known_adapters, 'Adapters')}"
        raise ModelError(f"{spec}: no file has this name, and no adapter has the name {scheme!r}.{fix}")
    return known_adapters[scheme], rest


def file_and_function(spec: str) -> tuple[Path, str] | None:
    """Split `PATH.py:NAME`, with or without `function:`; return None for other names."""
    path, _, called = spec.removeprefix("function:").rpartition(":")
    return (Path(path), called) if path.endswith(".py") and called.isidentifier() else None


def name_of_function(path: Path, called: str) -> str:
    """Name a function's model after its file, and after the function if that is not `load`."""
    name = name_of_file(path)
    return name if called == "load" else f"{name}-{called}"


def name_of_file(path: Path) -> str:
    """Name the model in a file; bytes of the file name that are not text are replaced."""
    return path.stem.encode("utf-8", "replace").decode()


def _meant(name: str) -> str:
    """Suggest a meaning for a name that is not a path: a bundled checkpoint, or a transformers model."""
    if name in bundled_checkpoints():
        return f"Did you mean bundled:{name}?"
    if ON_THE_HUB.fullmatch(name) and Path(name).suffix not in CHECKPOINTS:
        return (
            f"For a transformers model, write --model hf:{name}, "
            f"or --model mlm:{name} for a masked language model."
        )
    return ""


def adapters() -> dict[str, EntryPoint]:
    """Return the adapters by scheme: first those of this folder, then those of installed packages."""
    bundled = _bundled_adapters()
    # Entry points of an older tseval may still be installed. Other packages cannot replace tseval's schemes.
    return bundled | {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in bundled}


def _bundled_adapters() -> dict[str, EntryPoint]:
    """Read the schemes of the modules in this folder from their source."""
    entries = {}
    for path in Path(__file__).parent.glob("*.py"):
        for text in STATED.findall(path.read_text("utf-8")):
            for scheme, function in ast.literal_eval(text).items():
                entries[scheme] = EntryPoint(scheme, f"{__package__}.{path.stem}:{function}", GROUP)
    return dict(sorted(entries.items()))
