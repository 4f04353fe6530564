"""Analyses of opened runs: one file each, from runs to a document and to the panels of a figure."""
