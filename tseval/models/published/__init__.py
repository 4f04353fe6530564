"""Whole pickled modules, as language models were published for years, read without running their code."""
