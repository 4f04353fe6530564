"""Targeted syntactic evaluation of language models: exact, fast, honest."""
