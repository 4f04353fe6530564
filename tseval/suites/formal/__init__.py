"""Formal languages: sample strings, list the symbols that may follow a prefix, make suites. No torch."""
