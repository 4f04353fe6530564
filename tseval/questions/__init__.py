"""What a case asks of a model, and how numbers answer it: one type for each form that a question has.

    Question                   what every form can do
    ├── Pairs                  is one sentence more probable than another?
    ├── Regions                do formulas over the surprisals of regions hold?
    ├── ForcedChoice           which of two sentences does a model choose, asked in both orders?
    ├── Choices                which symbols are more probable, after one prefix or many?
    ├── Inflection             which form of each verb of a list is more probable, after one prefix?
    └── Ratings                how far do scores go with human judgements?

A new form is one more module, and nobody else asks a question what it is.
"""

from tseval.questions.columns import hash_column, named_columns
from tseval.questions.contrast import Contrast
from tseval.questions.question import Decided, Question
from tseval.questions.scores import COMPARES_WORDS, SCORES, Score

__all__ = [
    "COMPARES_WORDS",
    "SCORES",
    "Contrast",
    "Decided",
    "Question",
    "Score",
    "hash_column",
    "named_columns",
]
