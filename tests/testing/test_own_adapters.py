"""The conformance kit on every adapter of tseval."""

import ast
import re
from pathlib import Path

import pytest
from own_models import CLASSIFIERS, HEAVY, KINDS, NATIVE, OTHERS, open_own

from tseval.adapters import adapters, is_outside
from tseval.errors import ModelError
from tseval.testing import check_model

ROOT = Path(__file__).parents[2]
OWN = {scheme: entry for scheme, entry in adapters().items() if not is_outside(entry)}


def test_every_adapter_of_our_own_is_held_to_the_kit():
    assert OWN.keys() <= KINDS.keys(), "KINDS, in the test file of the adapter"


def test_every_function_that_opens_models_is_stated_and_every_one_that_is_stated_is_there():
    for path in (ROOT / "adapters").glob("*.py"):
        functions = [
            node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
        ]
        openers = {
            f.name for f in functions if [a.arg for a in f.args.args] == ["rest", "arguments", "device"]
        }
        stated = {entry.attr for entry in OWN.values() if entry.module == f"tseval.adapters.{path.stem}"}
        assert stated == openers, f"SCHEMES in {path}"


def test_every_scheme_is_in_the_list_of_the_page_or_in_the_first_line_of_its_module():
    _, schemes = (ROOT / "docs/adapters.md").read_text("utf-8").split("tseval comes with these schemes:\n\n")
    rows = re.findall(r"^- `([\w-]+)`", schemes.partition("\n\n")[0], re.MULTILINE)
    assert len(rows) > 3, "the list of schemes in docs/adapters.md"
    assert {*rows} <= OWN.keys(), "the list of schemes in docs/adapters.md"
    for scheme in OWN.keys() - {*rows}:
        path = ROOT / "adapters" / f"{OWN[scheme].module.rpartition('.')[2]}.py"
        assert f"`{scheme}:" in path.read_text("utf-8").partition("\n")[0], path


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
        match=r"(?s)sentences that end in <singular>.*\n  The model cannot read tseval's own .* "
        r"--sentences FILE",
    ):
        check_model(own.model)
    with pytest.raises(ModelError) as refused:
        check_model(own.model, ["the authors laugh ."])
    assert "--sentences" not in str(refused.value)
