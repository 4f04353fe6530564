"""Adapters: one module per kind of model, imported as `tseval.adapters`.

An adapter is a function `(rest, arguments, device) -> model`; the model satisfies one of the protocols of
`tseval.scoring.protocol`. `--model SCHEME:REST` finds it; a bare path is opened by `native`. A module here
states its functions by scheme, `SCHEMES = {"hf": "open_causal"}`; other packages register theirs in the
entry-point group `tseval.adapters`.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
import traceback
from contextlib import nullcontext
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, distributions, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlparse

from tseval.errors import ModelError, TsevalError, first_line, suggest
from tseval.models import bundled_checkpoints
from tseval.scoring.protocol import PROTOCOL_PARTS, current, refuse_no_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from importlib.metadata import Distribution

    from torch import nn
    from transformers import PreTrainedTokenizerBase

    from tseval.models import Vocabulary
    from tseval.scoring.protocol import Model

    # What can be scored as it is: ours, a torch module with its words, a model of transformers.
    Words = Vocabulary | Sequence[str] | Mapping[str, int]
    LiveModel = Model | tuple[nn.Module, Words] | tuple[nn.Module, PreTrainedTokenizerBase]

    Opener = Callable[[str, Mapping[str, str], str], Model]


GROUP = "tseval.adapters"
# What a module opens is read from its text: importing them all would load torch and transformers.
STATED = re.compile(r"^SCHEMES = (\{[^}]*\})", re.MULTILINE)
READ_ONCE = "Python reads entry points only when a package is installed"


def load_adapter(entry: EntryPoint) -> Opener:
    """Import an adapter."""
    dist = entry.dist if is_outside(entry) else _own_package()
    package = "" if dist is None else f" of the package {dist.name} {dist.version}"
    where = f"the adapter {entry.name!r}{package} ({entry.value})"
    advice = _install_again(dist)
    try:
        module = import_module(entry.module)
    except TsevalError:
        raise  # an adapter that lacks its library says itself what to install
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if f"{entry.module}.".startswith(f"{missing}."):
            raise ModelError(
                f"{where} cannot be imported: there is no module {missing}.\n"
                f"  {READ_ONCE}. If you moved or renamed the module, {advice}"
            ) from None
        top = missing.partition(".")[0]
        raise ModelError(
            f"{where} cannot be imported: {first_line(error)}.\n"
            f"  Install the missing package: pip install {top}"
        ) from None
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {first_line(error)}"  # type: ignore[arg-type] # SystemExit speaks too
        raise ModelError(
            f"{where} cannot be imported: {said}{_place(error)}.\n"
            f"  Try another version of the package, or {advice}"
        ) from error
    found: object = module
    for name in entry.attr.split("."):
        if not hasattr(found, name):
            raise ModelError(
                f"{where} does not exist: {entry.module} has no function {entry.attr}.\n"
                f"  {READ_ONCE}. If you renamed the function, {advice}"
            )
        found = getattr(found, name)
    return cast("Opener", found)


def is_outside(entry: EntryPoint) -> bool:
    """Tell adapters of other packages from tseval's own."""
    return not entry.value.startswith(f"{__name__}.")


def _own_package() -> Distribution | None:
    try:
        return distribution("tseval")
    except PackageNotFoundError:  # the package lies on the path and is not installed
        return None


def not_yet_installed(scheme: str) -> str:
    """Say why an adapter that someone has written is not found: it was registered after the installation.

    This is the end of a message, or nothing where no such adapter is known.
    """
    for name, folder in _checkouts():
        if scheme in _registered(folder):
            where = folder / "pyproject.toml"
            return (
                f"\n  {where} registers {scheme!r}, but you installed {name} before you added that line."
                f"\n  {READ_ONCE}. Install it again: pip install -e {folder}"
            )
    module = scheme.replace("-", "_")
    if module.isidentifier() and (Path(__file__).parent / f"{module}.py").exists():
        return (
            f"\n  The module adapters/{module}.py does not name the function that opens {scheme}: models."
            f'\n  Add this line to it: SCHEMES = {{"{scheme}": "NAME_OF_THE_FUNCTION"}}'
        )
    return ""


def _checkouts() -> Iterator[tuple[str, Path]]:
    """Yield name and folder of every package that is installed from a folder in which it can be edited."""
    for dist in distributions():
        origin = _origin(dist)
        if origin is not None and origin[1]:
            yield dist.name, origin[0]


def _registered(folder: Path) -> set[str]:
    """Read which adapters a project's `pyproject.toml` names."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        return set(project["entry-points"][GROUP])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _origin(dist: Distribution) -> tuple[Path, bool] | None:
    """Return the folder that a package was installed from, if it was one, and whether it is edited there."""
    try:
        origin = json.loads(dist.read_text("direct_url.json") or "null")
        url = urlparse(origin["url"])
        if url.scheme != "file" or "dir_info" not in origin:
            return None
        return Path(unquote(url.path)), bool(origin["dir_info"].get("editable"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _install_again(dist: Distribution | None) -> str:
    if dist is None:
        return "install it again"
    origin = _origin(dist)
    if origin is None:
        return f"install it again: pip install --force-reinstall --no-deps {dist.name}"
    folder, editable = origin
    return f"install it again: pip install {'-e ' if editable else ''}{folder}"


def _place(error: BaseException) -> str:
    """Say where an exception was raised; a syntax error says so itself."""
    if isinstance(error, SyntaxError):
        return ""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f" ({frame.filename}:{frame.lineno})"


# What may be the name of a model on the hub, and what is surely a file.
ON_THE_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
CHECKPOINTS = {".pt", ".pth", ".safetensors", ".bin", ".ckpt", ".gguf"}

if __name__ != "tseval.adapters":
    raise ImportError("import tseval.adapters: the folder adapters/ is a part of the tseval package")


def open_model(
    spec: str | Path | LiveModel, arguments: Mapping[str, str] | None = None, device: str = "auto"
) -> Model:
    """Open a model by name, or take one in memory with its present weights, where it is and as it is.

    Args:
        spec: Path of a checkpoint, `scheme:rest` (`bundled:lstm`), or `PATH.py:FUNCTION`. Or a model with the
            methods of a protocol, a pair of a model of transformers and its tokenizer, or a pair of a torch
            module and its words, a list in the order of ids or a mapping from word to id.
        arguments: What the adapter should know besides, as in `--model-args`.
        device: `auto`, `cpu`, `cuda` or `cuda:1`.

    Raises:
        ModelError: If there is no such file, no adapter answers to the scheme, the adapter cannot be
            imported, or the model cannot be used.
    """
    with _stated_precision():
        return _opened(spec, arguments, device)


def _stated_precision() -> AbstractContextManager[None]:
    """Switch off what surrounds the call and would change numbers; without torch nothing does."""
    if "torch" not in sys.modules:
        return nullcontext()
    return cast("AbstractContextManager[None]", import_module("tseval.scoring.precision").stated_precision())


def _opened(spec: str | Path | LiveModel, arguments: Mapping[str, str] | None, device: str) -> Model:
    if not isinstance(spec, str | Path):
        if arguments or device != "auto":
            raise ModelError(
                "a model that is already in memory stays on its device and takes no arguments.\n"
                "  Leave out `arguments` and `device`: load_model(MODEL)."
            )
        if isinstance(spec, tuple(PROTOCOL_PARTS)):
            return current(cast("Model", spec))
        function = import_module(f"{__name__}.function")  # brings torch along
        return cast("Model", function.as_model(spec, "load_model received"))
    entry, rest = find_adapter(str(spec))
    model = load_adapter(entry)(rest, arguments or {}, device)
    refuse_no_model(model, f"what the adapter {entry.name!r} ({entry.value}) returns")
    return model


def find_adapter(spec: str) -> tuple[EntryPoint, str]:
    """Find which adapter a name asks for, and what it is to open; imports none."""
    if not spec:
        raise ModelError(
            "the name of the model is empty. Give the path of a checkpoint, or a bundled model: bundled:lstm"
        )
    scheme, colon, rest = spec.partition(":")
    known = adapters()
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
    elif scheme not in known and file_and_function(spec):
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
    """Say what a name may stand for that is no path: a bundled checkpoint, or a model of transformers."""
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
    own = _own_adapters()
    # What an older tseval registered of its own may still be installed; no package takes a scheme from us.
    return own | {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in own}


def _own_adapters() -> dict[str, EntryPoint]:
    """Read what the modules beside this one state, and import none."""
    found = {}
    for path in Path(__file__).parent.glob("*.py"):
        for stated in STATED.findall(path.read_text("utf-8")):
            for scheme, function in ast.literal_eval(stated).items():
                found[scheme] = EntryPoint(scheme, f"{__name__}.{path.stem}:{function}", GROUP)
    return dict(sorted(found.items()))
