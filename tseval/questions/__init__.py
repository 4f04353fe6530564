"""The forms of questions that a case asks, one type for each, and how scores answer them.

    Question                   the interface of all forms
    ├── Pairs                  is one sentence more probable than another?
    ├── Regions                do formulas over the surprisals of regions hold?
    ├── ForcedChoice           which of two sentences does a model choose, prompted in both orders?
    ├── Choices                which symbols are more probable, after one prefix or many?
    ├── Inflection             which form of each verb of a list is more probable, after one prefix?
    └── Ratings                how well do scores correlate with human judgements?

A new form needs only a new module, because no other code depends on the type of a question.
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
