"""Targeted syntactic evaluation of language models: exact, fast, honest."""

from importlib.metadata import version

__version__ = version("tseval")
