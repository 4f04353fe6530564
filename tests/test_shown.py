"""The `repr` of public values is one line with the important facts, never a dump of tensors or tables."""

import pyarrow as pa
import pytest
from own_models import CLASSIFIERS, HEAVY, NATIVE, OTHERS, open_own
from small import make_case, make_run, make_suite

from tseval.items import Item
from tseval.models import bundled_checkpoints
from tseval.models.checkpoint import load_checkpoint
from tseval.questions import Contrast
from tseval.scoring.protocol import ModelCard
from tseval.suites import load_suite
from tseval.testing import Report, Result
from tseval.testing.findings import Finding

LONG = "a name that somebody\nhas made far too long " * 9
CASE = make_case("simple", [("the author laughs", "the author laugh")] * 3, features={"noun": ["author"] * 3})
SUITE = make_suite(CASE)
RESULT = Result("batches", "a sentence gets the same numbers", Finding("fails", "it does not", 0.5, "the ."))


def bundled():
    return load_checkpoint(bundled_checkpoints()["lstm"])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: SUITE, "<Suite small: 1 case, 3 items>"),
        (lambda: make_suite(CASE, complete=False), "<Suite small: 1 case, 3 items, a part>"),
        (lambda: load_suite("marvin_linzen"), "<Suite marvin_linzen: 22 cases, 163,124 items>"),
        (lambda: CASE, "<Case simple: 3 items, 3 verdicts>"),
        (lambda: next(CASE.items()), "<Item simple[0]: the author laughs, the author laugh>"),
        (lambda: Contrast("good", "bad"), "Contrast(better='good', worse='bad')"),
        (lambda: make_run(SUITE, {}), "<Run lstm: lstm on small, 2 sentences, score sentence>"),
        (lambda: make_run(SUITE, {}).manifest, "<Manifest lstm on small: 2 sentences>"),
        (lambda: make_run(SUITE, {}).manifest.key, "<RunKey lstm on small: score sentence, items all>"),
        (lambda: ModelCard("lstm", "native", "ab" * 32, {"start": "<eos>"}, {"words": 9}),
         "<ModelCard lstm: native, fingerprint abababab>"),
        (bundled, f"<Checkpoint {bundled().fingerprint[:8]}: lstm, 10,797 words>"),
        (lambda: bundled().vocabulary, "<Vocabulary: 10,797 words, lower-cased>"),
        (lambda: RESULT.finding, "<Finding fails: it does not>"),
        (lambda: RESULT, "<Result batches: fails>"),
        (lambda: Report("lstm", "RecurrentModel", (RESULT,)), "<Report lstm: 0 hold, 1 fail>"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_value_shows_what_matters(make, expected):
    assert repr(make()) == expected
    assert len(expected) <= 100


@pytest.mark.parametrize(
    "value",
    [
        make_suite(CASE, name=LONG),
        make_case(LONG, [("a", "b")]),
        make_run(SUITE, {}, model=LONG),
        make_run(SUITE, {}, model=LONG).manifest,
        make_run(SUITE, {}, model=LONG).manifest.key,
        ModelCard(LONG, LONG, LONG, {}, {}),
        Item(LONG, 3, {"good": LONG, "bad": LONG}, {}),
        Report(LONG, LONG, ()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_long_name_is_cut_to_a_line(value):
    assert repr(value).startswith(f"<{type(value).__name__} ")
    assert repr(value).endswith(">")
    assert len(repr(value)) <= 100
    assert "\n" not in repr(value)


@pytest.mark.parametrize(
    "name",
    [NATIVE[0], CLASSIFIERS[0], *OTHERS, *(pytest.param(name, marks=pytest.mark.slow) for name in HEAVY)],
)
def test_a_model_is_a_line_with_its_name_and_kind_of_network(name, tmp_path):
    model = open_own(name, tmp_path).model
    values = [model, model.card]
    if hasattr(model, "encode") and not hasattr(model, "check_sentences"):
        encoded = model.encode(pa.array(["the author laughs ."] * 3))
        assert repr(encoded).startswith(f"<{type(encoded).__name__}: 3 sentences, ")
    if hasattr(model, "opened"):
        values.append(model.opened)
    for value in values:
        assert repr(value).startswith(f"<{type(value).__name__} {model.card.name}: ")
        assert len(repr(value)) <= 100
    assert str(model.card.details["architecture"]) in repr(model)
