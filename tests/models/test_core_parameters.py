"""Parameter counts against closed forms, printed numbers, and the table in docs/architectures.md."""

import re
from pathlib import Path

import pytest
import torch
from equations import KNOWN

from tseval.models.cells import CELLS
from tseval.models.network import LanguageModel, Sizes, count_parameters
from tseval.report.table import BUNDLED_BOARDS, read_board

PAGE = Path(__file__).parents[2] / "docs/architectures.md"
PRINTED = {model.name: model.parameters for model in read_board(BUNDLED_BOARDS / "bhatt2020").models}
NAMES = {"srn": "SRN", "gru": "GRU", "lstm": "LSTM", "drnn": "DRNN", "sdrnn": "SDRNN", "abdrnn": "Ab-DRNN"}


def two_layers(layer):
    """Add up a closed form over two layers of 650 units, the first of which reads 200 numbers."""
    return layer(200, 650) + layer(650, 650)


CLOSED_FORMS = {arch: two_layers(known.parameters) for arch, known in KNOWN.items()}


def make(arch, vocabulary=10, embedding=200, hidden=650, layers=2):
    with torch.device("meta"):
        return LanguageModel(Sizes(arch, vocabulary, embedding, hidden, layers))


@pytest.mark.parametrize("arch", CELLS)
def test_the_recurrent_core_has_the_parameters_of_its_equation(arch):
    assert make(arch).n_core_parameters == CLOSED_FORMS[arch]


@pytest.mark.parametrize("arch", NAMES)
def test_the_recurrent_core_has_the_size_that_table_4_prints(arch):
    # 1.4M, 4.2M, 5.6M, 1.4M, 1.4M and 0.55M: two digits, and rounded, unlike the table's accuracies.
    assert f"{make(arch).n_core_parameters / 1e6:.2g}M" == PRINTED[NAMES[arch]]


@pytest.mark.parametrize(("n", "printed"), [(8, 444), (16, 1644), (32, 6348)])
def test_the_urn_has_as_many_parameters_as_printed(n, printed):
    # Bernardy & Lappin 2022, Dyck words of five kinds of brackets; a word vector holds the angles.
    model = make("urn", vocabulary=12, embedding=n * (n - 1) // 2, hidden=n, layers=1)
    assert count_parameters(model) == 12 * n * (n - 1) // 2 + 12 * (n + 1) == printed


@pytest.mark.parametrize(("n", "printed"), [(8, 924), (16, 2204), (32, 6300)])
def test_the_lstm_has_one_bias_per_gate_more_than_printed(n, printed):
    # The same paper counts one bias per gate; torch's layer has a second one, 4 n numbers.
    model = make("lstm", vocabulary=12, embedding=12, hidden=n, layers=1)
    assert 12 * 12 + 4 * (n * (n + 12) + n) + 12 * (n + 1) == printed
    assert count_parameters(model) == printed + 4 * n


def test_the_page_of_the_architectures_has_these_numbers():
    rows = re.findall(
        r"^\| `([\w-]+)` \|[^|]+\|[^|]+\| +([\d,]+) \| +(\S+) \|$", PAGE.read_text("utf-8"), re.M
    )
    counts = {arch: int(count.replace(",", "")) for arch, count, _ in rows}
    assert list(counts) == [arch for arch in CELLS if arch in counts], "rows in the order of the cells"
    assert counts == {arch: CLOSED_FORMS[arch] for arch in counts}
    assert {arch: printed for arch, _, printed in rows if printed != "–"} == {
        arch: PRINTED[name] for arch, name in NAMES.items()
    }
