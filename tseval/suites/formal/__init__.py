"""Formal languages: sample their strings, say what may follow a prefix, make suites of them. No torch."""
