import os

import pytest
from release import Release, walk


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Return the results of docs/releasing.md, made one time for all tests of a session."""
    base = tmp_path_factory.getbasetemp()
    # Parallel test processes have folders below a common folder, where they share the results.
    return walk(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
