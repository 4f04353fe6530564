"""Targeted syntactic evaluation of language models: exact, fast, honest.

model = tseval.load_model("bundled:lstm")
suite = tseval.load_suite("marvin_linzen")
run = tseval.evaluate(model, suite)
run.table()        # pandas DataFrame, one row per construction
run.verdicts       # one row per contrast, all features
tseval.table([run, "bhatt2020"]), tseval.compare(run, "runs/b"), tseval.report("runs")

`tseval.errors` has the other errors. `tseval.testing` checks adapters.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tseval.adapters import open_model as load_model
    from tseval.errors import TsevalError
    from tseval.evaluation import evaluate
    from tseval.items import Case, Item, Suite
    from tseval.questions import Contrast
    from tseval.results import Page, PairedComparison, compare, report, table
    from tseval.runs import Run, read_run
    from tseval.scoring.protocol import Model, ModelCard
    from tseval.suites import load_suite
    from tseval.suites.context import suite_in_context as in_context

    __version__: str

__all__ = [
    "Case",
    "Contrast",
    "Item",
    "Model",
    "ModelCard",
    "Page",
    "PairedComparison",
    "Run",
    "Suite",
    "TsevalError",
    "__version__",
    "compare",
    "evaluate",
    "in_context",
    "load_model",
    "load_suite",
    "read_run",
    "report",
    "table",
]

# Public name to (module, name in it). Imported on first use, so that `import tseval` stays quick.
_PUBLIC = {
    "Case": ("tseval.items", "Case"),
    "Contrast": ("tseval.questions", "Contrast"),
    "Item": ("tseval.items", "Item"),
    "Model": ("tseval.scoring.protocol", "Model"),
    "ModelCard": ("tseval.scoring.protocol", "ModelCard"),
    "Page": ("tseval.results", "Page"),
    "PairedComparison": ("tseval.results", "PairedComparison"),
    "Run": ("tseval.runs", "Run"),
    "Suite": ("tseval.items", "Suite"),
    "TsevalError": ("tseval.errors", "TsevalError"),
    "compare": ("tseval.results", "compare"),
    "evaluate": ("tseval.evaluation", "evaluate"),
    "in_context": ("tseval.suites.context", "suite_in_context"),
    "load_model": ("tseval.adapters", "open_model"),
    "load_suite": ("tseval.suites", "load_suite"),
    "read_run": ("tseval.runs", "read_run"),
    "report": ("tseval.results", "report"),
    "table": ("tseval.results", "table"),
}


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__


if not TYPE_CHECKING:  # a type checker that sees this accepts every misspelt name

    class _Room(ModuleType):
        """The package `tseval.report`, which is also callable as the public function of the same name."""

        def __call__(self, *given: object, **named: object) -> object:
            """Return what the function `report` returns."""
            return import_module(_PUBLIC["report"][0]).report(*given, **named)

    class _Face(ModuleType):
        """The type of the package `tseval`, which makes its subpackage `report` callable."""

        def __setattr__(self, name: str, value: object) -> None:
            if name == "report" and isinstance(value, ModuleType):
                value.__class__ = _Room
            super().__setattr__(name, value)

    sys.modules[__name__].__class__ = _Face

    def __getattr__(name: str) -> object:
        if name == "__version__":
            # Reading the installed metadata takes longer than the rest of `tseval --help`.
            return import_module("importlib.metadata").version("tseval")
        if name not in _PUBLIC:
            raise AttributeError(f"module 'tseval' has no attribute {name!r}")
        module, inner = _PUBLIC[name]
        if name == "report":  # the subpackage, imported or not, so that the name always means the same object
            return import_module("tseval.report")
        return getattr(import_module(module), inner)
