from functools import cache

import pytest

from tseval.suites.parsing import parser


@pytest.fixture(autouse=True, scope="session")
def opened_once():
    """Open each parser once for all tests: that takes longer than what they parse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "open_parser", cache(parser.open_parser))
        yield
