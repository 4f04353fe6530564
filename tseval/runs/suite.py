"""Find the suite that a run scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import SuiteError, first_line
from tseval.suites import load_suite
from tseval.suites.data.exclusions import KNOWN_ERRORS
from tseval.suites.views import INFLECTION

if TYPE_CHECKING:
    from tseval.items import Suite
    from tseval.runs.manifest import Manifest, SuiteFacts


def load_stated_suite(stated: SuiteFacts, spec: str | None = None) -> Suite:
    """Load a suite with the settings of a run: seed, columns, tokens, excluded items.

    Args:
        stated: The suite, as the manifest describes it.
        spec: Name or path of the suite; None for the name in the manifest.

    Raises:
        SuiteError: The suite does not exist, or cannot be read with these settings.
    """
    name = stated.name
    if stated.lexicon is not None:  # the name of the suite that has the contexts
        name = f"{name.removesuffix(f'_{INFLECTION}')}:{INFLECTION}"
    return load_suite(
        spec or name,
        lexicon=stated.lexicon,
        seed=stated.seed or 0,
        columns=stated.columns,
        tokenise=stated.tokenise,
        # The items that the manifest lists, except for the list of known errors, which tseval has.
        exclude=stated.exclude if stated.exclude in {None, KNOWN_ERRORS} else stated.excluded or (),
    )


def suite_of_run(manifest: Manifest, spec: str | None = None) -> Suite:
    """Load the whole suite that a run scored, even if the run scored only a part.

    Args:
        manifest: The manifest of the run.
        spec: Name or path of the suite; None for the name in the manifest.

    Raises:
        SuiteError: The suite does not exist, or the installed suite has other items.
    """
    facts = manifest.suite
    try:
        suite = load_stated_suite(facts, spec)
    except SuiteError as error:
        raise SuiteError(
            f"{first_line(error)}\n  Name the suite that the run scored: --suite SUITE, as for tseval run."
        ) from None
    # If the run scored a part, its items are checked one by one later.
    if facts.complete and suite.digest != facts.digest:
        raise SuiteError(
            f"the suite {suite.name} on this machine has the digest {suite.digest[:8]}, but the run has "
            f"{facts.digest[:8]}.\n  Name the suite that the run scored: --suite SUITE"
        )
    return suite
