"""Import of adapters from packages, with advice on what to install if it fails."""

from __future__ import annotations

import json
import tomllib
import traceback
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlparse

from tseval.errors import ModelError, TsevalError, first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from importlib.metadata import Distribution

    from tseval.scoring.protocol import Model

    Opener = Callable[[str, Mapping[str, str], str], Model]


GROUP = "tseval.adapters"
READ_ONCE = "Python reads entry points only when a package is installed"


def load_adapter(entry: EntryPoint) -> Opener:
    """Import an adapter and return its function."""
    dist = entry.dist if is_outside(entry) else _own_package()
    package = "" if dist is None else f" of the package {dist.name} {dist.version}"
    where = f"the adapter {entry.name!r}{package} ({entry.value})"
    advice = _install_again(dist)
    try:
        module = import_module(entry.module)
    except TsevalError:
        raise  # an adapter without its library says what to install
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
        reason = f"{type(error).__name__}: {first_line(error)}"  # type: ignore[arg-type] # SystemExit speaks too
        raise ModelError(
            f"{where} cannot be imported: {reason}{_location(error)}.\n"
            f"  Try another version of the package, or {advice}"
        ) from error
    opener: object = module
    for name in entry.attr.split("."):
        if not hasattr(opener, name):
            raise ModelError(
                f"{where} does not exist: {entry.module} has no function {entry.attr}.\n"
                f"  {READ_ONCE}. If you renamed the function, {advice}"
            )
        opener = getattr(opener, name)
    return cast("Opener", opener)


def is_outside(entry: EntryPoint) -> bool:
    """Return whether an adapter comes from another package."""
    return not entry.value.startswith(f"{__package__}.")


def _own_package() -> Distribution | None:
    try:
        return distribution("tseval")
    except PackageNotFoundError:  # tseval is on sys.path without being installed
        return None


def not_yet_installed(scheme: str) -> str:
    """Explain why an existing adapter is missing: it was registered after its package was installed.

    The text is the end of a message; it is empty if no such adapter is known.
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
    """Yield the name and folder of every package in an editable installation."""
    for dist in distributions():
        origin = _origin(dist)
        if origin is not None and origin[1]:
            yield dist.name, origin[0]


def _registered(folder: Path) -> set[str]:
    """Read the names of the adapters in a project's `pyproject.toml`."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        return set(project["entry-points"][GROUP])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _origin(dist: Distribution) -> tuple[Path, bool] | None:
    """Return the folder that a package was installed from, and whether it is editable; None without one."""
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


def _location(error: BaseException) -> str:
    """Return where an exception was raised; "" for a syntax error, whose message contains the place."""
    if isinstance(error, SyntaxError):
        return ""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f" ({frame.filename}:{frame.lineno})"
