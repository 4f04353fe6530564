"""Suites: where sentences come from (grammars, data sets, treebanks, formal languages), and what they are."""
