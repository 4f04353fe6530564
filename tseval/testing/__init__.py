"""Checks of models for authors of adapters: properties that must hold before a model's numbers are used.

report = tseval.testing.check_model(model)
print(report)
report.raise_for_failures()   # in a test of your own

`tseval check-model SPEC` does the same. `docs/adapters.md` lists the properties.
"""

from tseval.testing.check import check_model
from tseval.testing.report import Report, Result

__all__ = ["Report", "Result", "check_model"]
