"""Reasons for which a test may be skipped: requirements that some machines do not meet.

If TSEVAL_SKIPS=listed, as in `.ci/run`, a skip for any other reason fails the run. If TSEVAL_SKIPS=none,
every skip does.
"""

import os
import re

# Pattern for the start of the reason, and where the skip is expected.
SKIPS = {
    r"no \.\./\w+/data": "a clone: published data are too large for it, or may not be redistributed",
    r"there is no (zsh|fish)": "a machine without that shell; bash is tested everywhere",
    r"needs pdflatex": "a machine without LaTeX",
    r"wandb is not installed": "most machines: it brings forty packages, and is no dependency of the tests",
    r"(R|lme4) is not installed": "a machine without R",
    r"TSEVAL_BROWSER=none": "a machine where no browser runs: `.ci/run` says so aloud",
    r".* needs a C\+\+ compiler": "a machine without a compiler",
    r"this processor has no bfloat16": "an older processor",
    r"this machine has an accelerator": "a machine with a GPU, on which tests of devices run",
    r"torch\.compile does nothing in a dispatch mode": "a machine without a GPU",
    r"the memory of a real device": "a machine with a GPU",
    r"the super-user may write anywhere": "a container, where tests run as root",
    r"needs root to become another user": "a machine where tests do not run as root",
    r"needs the right to mount": "a container without that right",
    r"this system lets nobody cut a program off the network": "a container without that right",
    r"Ray itself does not start here": "a container with too little shared memory",
    r"not a (checkout|POSIX system)": "a source distribution, or Windows",
    r"not Linux": "macOS and Windows",
    r"no Makefile": "a source distribution",
    r"no real weights in the cache": "`make test-real` brings them",
}


def unlisted(stats: dict[str, list]) -> list[str]:
    """List the reasons of skipped tests that `TSEVAL_SKIPS` does not allow.

    Args:
        stats: Reports of a test run by outcome, as in pytest's terminal reporter.
    """
    if (allowed := os.environ.get("TSEVAL_SKIPS")) is None:
        return []
    patterns = [] if allowed == "none" else SKIPS
    reasons = {reason_of(report.longrepr) for report in stats.get("skipped", [])}
    return sorted(reason for reason in reasons if not any(re.match(pattern, reason) for pattern in patterns))


def reason_of(longrepr: object) -> str:
    """Return the reason of a skip, which pytest stores as file, line and message."""
    message = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return message.removeprefix("Skipped: ")
