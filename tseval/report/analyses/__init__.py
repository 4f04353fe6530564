"""Analyses of opened runs, one per file: from runs to a document and to the panels of a figure."""
