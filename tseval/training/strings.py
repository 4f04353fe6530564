"""What a model learns of a formal language: the loss on test strings, and the number of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tseval.analysis.formal import by_feature, headline, measure_of
from tseval.models.vocabulary import EOS
from tseval.training.validation import mean_loss
from tseval.training.windows import Lines

if TYPE_CHECKING:
    from tseval.items import Suite
    from tseval.models.network import LanguageModel
    from tseval.models.vocabulary import Vocabulary
    from tseval.runs import Run

STRINGS = 512  # read at once


def string_loss(model: LanguageModel, vocabulary: Vocabulary, suite: Suite) -> float:
    """Measure a model on the strings of a formal language, in nats a symbol, the end of each included.

    Args:
        model: In evaluation mode.
        vocabulary: Its symbols; it knows all of the suite's.
        suite: A formal language.
    """
    ids = vocabulary.ids()
    ends = ids[EOS]
    stream = [ends]
    for case in suite.cases:
        for text in case.sentences[case.labels[0]].to_pylist():
            stream += [*(ids[symbol] for symbol in str(text).split()), ends]
    return mean_loss(model, Lines(torch.tensor(stream), ends, STRINGS))


def headline_error(run: Run) -> float:
    """Give the number that the paper on a language reports, as an error.

    That is the largest error over attractors, the share of strings with an error, or 1 minus the mean
    accuracy over distances (`tseval.analysis.formal.MEASURES`).
    """
    measure = measure_of(run.manifest.key.suite)
    found = headline(by_feature(run.verdicts, measure), measure)
    return 1 - found if measure.quantity == "accuracy" else found
