"""The contexts of a run: reading and writing `contexts.json`, and putting the suite into them again."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tseval.errors import RunError, SuiteError, first_line
from tseval.formats import ContentError, checked, read_json
from tseval.items import SuiteContexts
from tseval.runs.directory import CONTEXTS_FILE
from tseval.suites.context import ContextRequest, in_context
from tseval.suites.context.in_context import put_into
from tseval.suites.context.requests import is_known_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tseval.items import Suite
    from tseval.runs.manifest import ContextFacts


@dataclass(frozen=True, slots=True)
class _Stored:
    """The content of the file."""

    texts: tuple[tuple[str, ...], ...]


def write_contexts(contexts: SuiteContexts) -> str:
    """Return the content of `contexts.json`: the sentences of each text, in the order of text numbers."""
    return json.dumps({"texts": contexts.texts}, ensure_ascii=False, indent=1) + "\n"


def read_contexts(folder: Path) -> tuple[tuple[str, ...], ...]:
    """Read the texts of a run.

    Raises:
        RunError: The file is missing or damaged.
    """
    try:
        return checked(read_json(folder / CONTEXTS_FILE), _Stored).texts
    except (OSError, ContentError) as error:
        raise RunError(
            f"{folder / CONTEXTS_FILE}: tseval cannot read the contexts of the run ({first_line(error)}).\n"
            "  Score the suite again, into a new folder."
        ) from None


def in_stated_context(
    suite: Suite,
    stated: ContextFacts,
    whole: Callable[[], Suite],
    source: str | None = None,
    folder: Path | None = None,
) -> tuple[Suite, bool]:
    """Put a suite into the contexts of a run again.

    Args:
        suite: The items that the run scored.
        stated: The contexts, as the manifest describes them.
        whole: Loads the suite with all items of all cases.
        source: Name or path of the source of the contexts; None for the name in the manifest.
        folder: The folder of the run. If the source is a text file that is not here, the run's texts are
            used.

    Returns:
        The suite in context, and whether its texts were drawn again. Otherwise they are the texts of the run,
        checked against the digest in its manifest.

    Raises:
        SuiteError: The source does not exist, or its texts are different.
        RunError: The file with the texts cannot be read.
    """
    if source is None and not is_known_source(stated.source):
        return _as_stored(suite, stated, folder), False
    request = ContextRequest(source or stated.source, stated.words, stated.seed, stated.each)
    try:
        suite_in_context = in_context(suite, request, whole(), tokenise=stated.tokenise)
    except SuiteError as error:
        raise SuiteError(
            f"{first_line(error)}\n"
            "  Add --context SOURCE, with the name or path of the source of the contexts"
        ) from None
    if suite_in_context.context is None or suite_in_context.context.digest != stated.digest:
        actual = "none" if suite_in_context.context is None else suite_in_context.context.digest[:8]
        raise SuiteError(
            f"the contexts from {request.source} have the digest {actual} on this machine, but the run "
            f"states {stated.digest[:8]}.\n"
            "  Add --context SOURCE, with the name or path of the source of the contexts"
        )
    # Keep the source name of the manifest: `source` may be a path on this machine.
    return replace(suite_in_context, context=replace(suite_in_context.context, source=stated.source)), True


def _as_stored(suite: Suite, stated: ContextFacts, folder: Path | None) -> Suite:
    """Put a suite into the texts that a run stored from a text file, checked against the stated digest."""
    texts = read_contexts(folder) if folder is not None and stated.is_text else ()
    contexts = SuiteContexts(
        stated.source, stated.words, stated.seed, stated.each, texts, None, stated.tokenise, stated.is_text
    )
    if contexts.digest != stated.digest:
        raise SuiteError(
            f"the contexts of the run come from {stated.source!r}, which is no suite of tseval.\n"
            "  Add --context SOURCE, with the name or path of the source of the contexts"
        )
    return put_into(suite, contexts)
