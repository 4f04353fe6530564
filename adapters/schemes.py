"""Which adapter opens the model that a name means."""

from __future__ import annotations

import ast
import re
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from tseval.adapters.packages import GROUP, not_yet_installed
from tseval.errors import ModelError, suggest
from tseval.models.bundled_models import bundled_checkpoints

# What a module opens is read from its text: importing them all would load torch and transformers.
STATED = re.compile(r"^SCHEMES = (\{[^}]*\})", re.MULTILINE)
# What may be the name of a model on the hub, and what is surely a file.
ON_THE_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
CHECKPOINTS = {".pt", ".pth", ".safetensors", ".bin", ".ckpt", ".gguf"}


def find_adapter(spec: str) -> tuple[EntryPoint, str]:
    """Find which adapter a name asks for, and what it is to open; imports none."""
    if not spec:
        raise ModelError(
            "the name of the model is empty. Give the path of a checkpoint, or a bundled model: bundled:lstm"
        )
    scheme, colon, rest = spec.partition(":")
    known = _bundled_adapters()
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
    elif scheme not in known:
        known = adapters()  # only here: to look through the installed packages takes longer than all else
        if scheme not in known and file_and_function(spec):
            scheme, rest = "function", spec
    if scheme not in known:
        fix = not_yet_installed(scheme) or f"\n  {suggest(scheme, known, 'Adapters')}"
        raise ModelError(f"{spec}: no file has this name, and no adapter has the name {scheme!r}.{fix}")
    return known[scheme], rest


def file_and_function(spec: str) -> tuple[Path, str] | None:
    """Part `PATH.py:NAME`, also behind `function:`; None where a name is none of that."""
    path, _, called = spec.removeprefix("function:").rpartition(":")
    return (Path(path), called) if path.endswith(".py") and called.isidentifier() else None


def name_of_function(path: Path, called: str) -> str:
    """Name the model that a function gives: by its file, and by the function where it is not `load`."""
    name = name_of_file(path)
    return name if called == "load" else f"{name}-{called}"


def name_of_file(path: Path) -> str:
    """Name the model in a file; a file name need not be text, the model's name must be."""
    return path.stem.encode("utf-8", "replace").decode()


def _meant(name: str) -> str:
    """Return what a name that is no path may mean: a bundled checkpoint, or a model of transformers."""
    if name in bundled_checkpoints():
        return f"Did you mean bundled:{name}?"
    if ON_THE_HUB.fullmatch(name) and Path(name).suffix not in CHECKPOINTS:
        return (
            f"For a transformers model, write --model hf:{name}, "
            f"or --model mlm:{name} for a masked language model."
        )
    return ""


def adapters() -> dict[str, EntryPoint]:
    """List the adapters by scheme: those of this folder, then those of installed packages."""
    bundled = _bundled_adapters()
    # What an older tseval registered of its own may still be installed; no package takes a scheme from us.
    return bundled | {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in bundled}


def _bundled_adapters() -> dict[str, EntryPoint]:
    """Read what the modules beside this one state, and import none."""
    entries = {}
    for path in Path(__file__).parent.glob("*.py"):
        for stated in STATED.findall(path.read_text("utf-8")):
            for scheme, function in ast.literal_eval(stated).items():
                entries[scheme] = EntryPoint(scheme, f"{__package__}.{path.stem}:{function}", GROUP)
    return dict(sorted(entries.items()))
