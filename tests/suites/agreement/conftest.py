from functools import cache

import pytest

from tseval.suites.agreement import parse


@pytest.fixture(autouse=True, scope="session")
def opened_once():
    """Open each parser once for all tests: that takes longer than what they parse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse, "open_parser", cache(parse.open_parser))
        yield
