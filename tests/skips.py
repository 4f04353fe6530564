"""Why a test may be skipped: what it needs that not every machine has.

With TSEVAL_SKIPS=listed, as `.ci/run` sets it, a skip for any other reason fails the run; with
TSEVAL_SKIPS=none every skip does.
"""

import os
import re

# Pattern of the reason, from its beginning, and where that is expected.
SKIPS = {
    r"no \.\./\w+/data/": "a clone: published data are too large for it, or may not be redistributed",
}


def unlisted(stats: dict[str, list]) -> list[str]:
    """List the reasons of skipped tests that `TSEVAL_SKIPS` does not allow.

    Args:
        stats: Reports of a test run by their outcome, as pytest's terminal reporter keeps them.
    """
    if (allowed := os.environ.get("TSEVAL_SKIPS")) is None:
        return []
    patterns = [] if allowed == "none" else SKIPS
    reasons = {reason_of(report.longrepr) for report in stats.get("skipped", [])}
    return sorted(reason for reason in reasons if not any(re.match(pattern, reason) for pattern in patterns))


def reason_of(longrepr: object) -> str:
    """Read the reason of a skip, which pytest gives as file, line and message."""
    message = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return message.removeprefix("Skipped: ")
