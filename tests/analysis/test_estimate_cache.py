"""Cached estimates equal computed ones, and change with their input."""

import json

import numpy as np
import pytest
from drawn_items import crossed, design_of

from tseval.analysis import estimates
from tseval.analysis.estimate_cache import estimates_kept
from tseval.analysis.estimates import estimate
from tseval.analysis.intervals import at_confidence
from tseval.files import cache_folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return cache_folder() / "estimates"


@pytest.fixture
def items():
    draw = np.random.default_rng(0)
    design = design_of(crossed(8, 9))
    return draw.random(72) < 0.7, draw.random(72) < 0.9, design


def counted(monkeypatch):
    """Count the computations."""
    calls, compute = [], estimates._estimates
    monkeypatch.setattr(estimates, "_estimates", lambda *given: (calls.append(1), compute(*given))[1])
    return calls


def test_an_estimate_from_the_cache_is_the_computed_one_bit_for_bit(items, monkeypatch):
    expected = estimate(*items)
    calls = counted(monkeypatch)
    for _ in range(2):
        with estimates_kept("board"):
            assert estimate(*items) == expected
            assert estimate(*items) == expected
    assert len(calls) == 1


def test_other_verdicts_items_boards_or_levels_are_computed_again(items, monkeypatch):
    correct, decidable, design = items
    with estimates_kept("board"):
        estimate(*items)
    others = (
        (~correct, decidable, design),
        (correct, ~decidable, design),
        (correct, decidable, design_of(crossed(9, 8))),
    )
    expected = [estimate(*given) for given in others]
    with at_confidence(0.9):
        at_90 = estimate(*items)
    calls = counted(monkeypatch)
    for given, computed in zip(others, expected, strict=True):
        with estimates_kept("board"):
            assert estimate(*given) == computed
    with estimates_kept("another"):
        estimate(*items)
    with estimates_kept("board"), at_confidence(0.9):
        assert estimate(*items) == at_90
    assert len(calls) == 5


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a": ', b"\xff"])
def test_a_damaged_cache_is_no_cache(items, cache, content):
    with estimates_kept("board"):
        expected = estimate(*items)
    (file,) = cache.iterdir()
    file.write_bytes(content)
    with estimates_kept("board"):
        assert estimate(*items) == expected
    assert len(json.loads(file.read_bytes())) == 1


def test_nothing_is_kept_for_models_that_are_gone(items, cache):
    correct, decidable, design = items
    with estimates_kept("board"):
        estimate(*items)
        estimate(~correct, decidable, design)
    with estimates_kept("board"):
        estimate(*items)
    (file,) = cache.iterdir()
    assert len(json.loads(file.read_bytes())) == 1


def test_models_estimated_together_have_the_estimates_that_each_has_alone():
    draw = np.random.default_rng(1)
    design = design_of(crossed(8, 9))
    models = [(draw.random(72) < 0.1 * number, np.ones(72, bool)) for number in range(11)]
    models += [(draw.random(72) < 0.5, draw.random(72) < 0.9), (np.ones(72, bool), np.zeros(72, bool))]
    for together, (correct, decidable) in zip(estimates.estimate_models(models, design), models, strict=True):
        assert together == estimate(correct, decidable, design)
    assert estimates.estimate_models(models, design)[-1] is None
