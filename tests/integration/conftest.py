import os

import pytest
from release import Release, walk


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """What docs/releasing.md makes, once for all tests of a session."""
    base = tmp_path_factory.getbasetemp()
    # Tests that run side by side have folders of their own below one, where they share it.
    return walk(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
