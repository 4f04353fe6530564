"""Sentences in context: the items of a suite after 50 to 1,000 words of other text.

`requests` reads what a user says of contexts, `texts` draws them, `same_case` parts the entries of a case,
and `in_context` chooses the texts of each item.

Source: Sinha et al. 2023, "Language model acceptability judgements are not always robust to context", ACL.
"""

from tseval.suites.context.in_context import in_context, suite_in_context
from tseval.suites.context.requests import ContextRequest, context_requests

__all__ = ["ContextRequest", "context_requests", "in_context", "suite_in_context"]
