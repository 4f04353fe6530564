"""Sentences in context: the items of a suite after 50 to 1,000 words of other text.

`requests` reads the user's options, `texts` draws contexts, `same_case` divides the entries of a case into
parts, and `in_context` chooses the contexts of each item.

Source: Sinha et al. 2023, "Language model acceptability judgements are not always robust to context", ACL.
"""

from tseval.suites.context.in_context import in_context, suite_in_context
from tseval.suites.context.requests import ContextRequest, context_requests

__all__ = ["ContextRequest", "context_requests", "in_context", "suite_in_context"]
