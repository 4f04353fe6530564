"""A quick test whether the Hugging Face hub can be reached."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

ANSWER_SECONDS = 1.5  # a hub that can be reached answers within this time


def stays_here(rest: str) -> bool:
    """Return whether to open a model without the hub: it is a local path, or the hub does not answer."""
    return Path(rest).exists() or not _answers()


def _answers() -> bool:
    """Send a request to the hub in a thread that can be abandoned: a name look-up has no time limit."""
    from huggingface_hub import constants, get_session  # noqa: PLC0415  optional, and heavy

    if constants.HF_HUB_OFFLINE:
        return False
    answered: list[bool] = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=ANSWER_SECONDS)
            answered.append(True)
        except Exception:  # the hub cannot be reached, for any reason
            return

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    return bool(answered)
