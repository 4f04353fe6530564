"""Whether the hub answers, asked within a moment."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

ANSWER_SECONDS = 1.5  # in which a hub that can be reached answers


def stays_here(rest: str) -> bool:
    """Return whether a model must be opened without asking the hub: it is a folder, or the hub is silent."""
    return Path(rest).exists() or not _answers()


def _answers() -> bool:
    """Ask the hub for nothing, in a thread that is left behind: a look-up of a name knows no limit."""
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
