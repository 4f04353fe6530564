"""Attacks on tseval, one function each; benchmarks/campaign.py makes them and counts."""

# Each module puts its attacks into the registry, in the order of the table.
from attacks import killed, places, clocks, network, changed, pickles, archives, bombs, forged  # noqa: F401, I001, RUF100
from attacks import repositories, boards, strangers, servers, prompts  # noqa: F401, I001, RUF100
from attacks.registry import ATTACKS, NotHereError

__all__ = ["ATTACKS", "NotHereError"]
