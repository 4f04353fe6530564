"""Checks that any model must pass before its numbers are believed; for whoever writes an adapter.

report = tseval.testing.check_model(model)
print(report)
report.raise_for_failures()   # in a test of your own

`tseval check-model SPEC` does the same. What is checked stands in `docs/adapters.md`.
"""

from tseval.testing.check import check_model
from tseval.testing.report import Report, Result

__all__ = ["Report", "Result", "check_model"]
