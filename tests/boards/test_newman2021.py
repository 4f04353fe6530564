"""The published EW and MW equal the digits that the paper prints for GPT-2 XL."""

import pytest

import tseval
from tseval.boards.definition import read_definition
from tseval.report.published import BUNDLED_BOARDS
from tseval.suites import load_suite

# MW, EW, published verb.
GPT2_XL = {
    "Simple": (0.90, 0.86, 1.00),
    "Across a PP": (0.84, 0.76, 0.96),
    "Across an object RC": (0.95, 0.89, 0.99),
}


def test_the_board_has_the_digits_of_the_paper():
    rows = tseval.table(["newman2021"])
    of_gpt2 = rows[rows["model"] == "GPT-2-XL"].set_index(["construction", "contrast"])["accuracy"]
    for construction, values in GPT2_XL.items():
        for contrast, value in zip(("MW", "EW", "published verb"), values, strict=True):
            assert of_gpt2[construction, contrast] == value


@pytest.mark.slow
def test_the_board_is_over_the_suite_that_comes_with_tseval():
    definition = read_definition(BUNDLED_BOARDS / "newman2021")
    assert definition.published
    assert load_suite(definition.suite).digest == definition.digest
