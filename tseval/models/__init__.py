"""Recurrent cells, networks, oracles, checkpoints; vocabularies, and the models that come with tseval."""

from tseval.models.bundled_models import BUNDLED_CHECKPOINTS, bundled_checkpoints
from tseval.models.vocabulary import EOS, SPECIAL_WORDS, UNK, Vocabulary, words_of

__all__ = [
    "BUNDLED_CHECKPOINTS",
    "EOS",
    "SPECIAL_WORDS",
    "UNK",
    "Vocabulary",
    "bundled_checkpoints",
    "words_of",
]
