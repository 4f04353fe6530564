"""Whether models on the hub can be asked for: a folder never asks, and without a network nobody waits."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

ANSWER_SECONDS = 1.5  # in which a hub that can be reached answers


def stays_here(rest: str) -> bool:
    """Tell whether a model must be opened without asking the hub: it is a folder, or the hub does not answer.

    Args:
        rest: Folder, or id on the hub.
    """
    return Path(rest).exists() or not _answers()


def _answers() -> bool:
    """Ask the hub for nothing; any answer will do.

    In a thread of its own that is left behind: the search for a name cannot be given a time.
    """
    from huggingface_hub import constants, get_session  # noqa: PLC0415  optional, and heavy

    if constants.HF_HUB_OFFLINE:
        return False
    answered: list[bool] = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=ANSWER_SECONDS)
            answered.append(True)
        except Exception:  # whatever keeps it from being reached
            return

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    return bool(answered)
