"""Models from a function in a Python file: `function:PATH.py:NAME`, or just `PATH.py:NAME`.

The function returns an object with one of tseval's protocols, a transformers model with its tokenizer, or a
torch module with its words.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tseval.adapters.live import as_model
from tseval.adapters.schemes import file_and_function, name_of_function
from tseval.errors import ModelError, TsevalError, first_line, reason, suggest
from tseval.files import file_sha256, read_bytes
from tseval.pretrained.options import typed
from tseval.scoring.devices import pick_device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tseval.scoring.protocol import Model

SCHEMES = {"function": "open_function"}


FRAMES = 3  # number of lines of the user's file in the message about an error


def open_function(rest: str, arguments: Mapping[str, str], device: str) -> Model:
    """Open `--model PATH.py:NAME`: run the file, and call the function with `--model-args`.

    Values become numbers, true, false, none or text. If the function takes `device`, it gets the device.
    """
    path_and_name = file_and_function(rest)
    if path_and_name is None:
        raise ModelError(
            f"function:{rest}: the model must be named as FILE.py:FUNCTION.\n"
            "  Name a file and a function in it: --model mine.py:load"
        )
    path, called = path_and_name
    target, where, name = pick_device(device), f"{path.name}:{called}", name_of_function(path, called)
    try:
        source = read_bytes(path)
    except OSError as error:
        raise ModelError(
            f"{path}: {reason(error)}.\n  Name a Python file and a function in it: --model mine.py:load"
        ) from None
    digest = hashlib.sha256(source).hexdigest()
    module = ModuleType(f"{path.stem} {digest[:8]}")  # a name that no other module has
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    keywords: dict[str, object] = {key: typed(key, text) for key, text in arguments.items()}
    with _errors_of(path, where), _imports_from(path.resolve().parent), redirect_stdout(sys.stderr):
        exec(compile(source, str(path), "exec"), vars(module))  # noqa: S102 - it was named to be run
        function = _find(module, called, path)
        if "device" in inspect.signature(function).parameters:
            keywords.setdefault("device", str(target))
        _check_arguments(function, keywords, where)
        returned = function(**keywords)
    model = as_model(returned, f"{where} returns", name, target)
    protocol = {"file": digest, "function": called}
    if arguments:
        protocol["arguments"] = ",".join(f"{key}={_content(text)}" for key, text in sorted(arguments.items()))
    try:
        model.card = replace(model.card, name=name, protocol={**model.card.protocol, **protocol})
    except (AttributeError, TypeError):
        raise ModelError(
            f"{where} returns a model whose attribute `card` cannot be set.\n"
            "  Make `card` an ordinary attribute: self.card = tseval.ModelCard(...)."
        ) from None
    return model


@contextmanager
def _imports_from(folder: Path) -> Iterator[None]:
    """Let a file import modules from its folder, and unload them, because others may have the same names."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in sys.modules.keys() - before:
            top, file = name.partition(".")[0], getattr(sys.modules[name], "__file__", None)
            if file and {folder / f"{top}.py", folder / top} & {Path(file), *Path(file).parents}:
                del sys.modules[name]


@contextmanager
def _errors_of(path: Path, where: str) -> Iterator[None]:
    """Turn any error in a user's file into one ModelError that shows the lines of the file."""
    try:
        yield
    except TsevalError:
        raise
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        lines = [f"  line {frame.lineno}, in {frame.name}: {frame.line}" for frame in frames[-FRAMES:]]
        reason = f"{type(error).__name__}: {first_line(error)}"  # type: ignore[arg-type] # of SystemExit too
        heading = f"{where} raised an error. Correct your file:"
        raise ModelError("\n".join([heading, *lines, reason])) from error


def _find(module: ModuleType, called: str, path: Path) -> Callable[..., object]:
    value: object = vars(module).get(called)
    if callable(value):
        return value
    names = [
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    ]
    raise ModelError(f"{path} has no function {called!r}. {suggest(called, names, 'Functions')}")


def _check_arguments(function: Callable[..., object], keywords: Mapping[str, object], where: str) -> None:
    parameters = inspect.signature(function).parameters.values()
    by_keyword = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    by_name = {parameter.name: parameter for parameter in parameters if parameter.kind in by_keyword}
    unknown = sorted(keywords.keys() - by_name.keys())
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        raise ModelError(
            f"{where} takes no argument {unknown[0]!r}. {suggest(unknown[0], by_name, 'Arguments')}"
        )
    required = [name for name, parameter in by_name.items() if parameter.default is parameter.empty]
    if missing := [name for name in required if name not in keywords]:
        raise ModelError(
            f"{where} needs a value for {', '.join(missing)}.\n  Add --model-args {missing[0]}=VALUE"
        )


def _content(text: str) -> str:
    """Replace a file by its hash, and a folder by the word "folder", because paths are private."""
    try:
        path = Path(text)
        if path.is_file():
            return file_sha256(path)
        return "folder" if path.is_dir() else text
    except (OSError, ValueError):
        return text
