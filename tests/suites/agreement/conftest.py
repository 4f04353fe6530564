from functools import cache

import pytest

from tseval.suites.agreement import parse


@pytest.fixture(autouse=True, scope="session")
def opened_once():
    """Open each parser one time for all tests; opening takes longer than parsing their texts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse, "open_parser", cache(parse.open_parser))
        yield
