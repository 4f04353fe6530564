"""Conversion of transformers' errors into single messages, without its warnings and progress bars."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from tseval.errors import LimitError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator


# transformers keeps loading state in global variables; two loads at once leave models without weights.
ONE_AT_A_TIME = RLock()


@contextmanager
def plain_errors(scheme: str, rest: str, away: bool = True) -> Iterator[None]:
    """Silence transformers and the hub during a with block, and convert any error into one message.

    Only one thread at a time may enter. `away` says whether the hub was available.
    """
    with ONE_AT_A_TIME, _silenced(scheme, rest, away):
        yield


@contextmanager
def _silenced(scheme: str, rest: str, away: bool) -> Iterator[None]:
    from huggingface_hub.utils import logging as hub  # noqa: PLC0415  optional, and heavy
    from transformers.utils import logging  # noqa: PLC0415  optional, and heavy

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub_verbosity = hub.get_verbosity()
    hub.set_verbosity_error()  # type: ignore[no-untyped-call] # untyped in huggingface_hub
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except (LimitError, ModelError):
        raise
    except Exception as error:  # transformers and its libraries raise errors of all types
        message = " ".join(str(error).split())[:300] or type(error).__name__
        if not away and not Path(rest).exists() and isinstance(error, OSError):
            message = (
                "no folder has this name, and the local cache of the hub has no such model. tseval does not "
                "ask the hub: there is no network, or HF_HUB_OFFLINE is set."
            )
        raise ModelError(
            f"{scheme}:{rest} cannot be opened: {message}\n"
            f"  Name the folder of a saved model or a model of the hub: --model {scheme}:FOLDER_OR_ID"
        ) from error
    finally:
        logging.set_verbosity(verbosity)
        hub.set_verbosity(hub_verbosity)
        if bars:
            logging.enable_progress_bar()
