"""The conformance kit on every adapter of tseval's own."""

import re
import tomllib
from pathlib import Path

import pytest
from own_models import CLASSIFIERS, HEAVY, KINDS, NATIVE, OTHERS, open_own

from tseval.adapters import adapters, is_outside
from tseval.errors import ModelError
from tseval.testing import check_model

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SCHEMES = PROJECT["entry-points"]["tseval.adapters"]


def test_every_adapter_of_our_own_is_held_to_the_kit():
    assert SCHEMES.keys() <= KINDS.keys(), "KINDS in tests/own_models.py"


def test_every_adapter_of_our_own_is_installed():
    installed = {scheme: entry.value for scheme, entry in adapters().items() if not is_outside(entry)}
    assert installed == SCHEMES, "entry points are read when a package is installed: pip install -e ."


def test_the_page_of_the_adapters_has_a_row_for_every_scheme():
    _, table = (ROOT / "docs/adapters.md").read_text("utf-8").split("\n| scheme | |\n")
    rows = re.findall(r"^\| `([\w-]+)` \|", table.partition("\n\n")[0], re.MULTILINE)
    assert sorted(rows) == sorted(SCHEMES), "the table of schemes in docs/adapters.md"


@pytest.mark.parametrize(
    "name",
    [*NATIVE, *CLASSIFIERS, *OTHERS, *(pytest.param(name, marks=pytest.mark.slow) for name in HEAVY)],
)
def test_an_adapter_of_our_own_passes_the_kit(name, tmp_path):
    own = open_own(name, tmp_path)
    report = check_model(own.model, own.sentences)
    assert report.ok, str(report)
    skipped = {result.name for result in report.results if result.finding.verdict == "not applicable"}
    assert skipped == own.not_applicable, str(report)


def test_a_model_of_particular_sentences_must_be_given_some(tmp_path):
    own = open_own("classifier number", tmp_path)
    with pytest.raises(
        ModelError,
        match=r"(?s)sentences that end in <singular>.*\n  The checks need sentences .* --sentences FILE",
    ):
        check_model(own.model)
    with pytest.raises(ModelError) as refused:
        check_model(own.model, ["the authors laugh ."])
    assert "--sentences" not in str(refused.value)
