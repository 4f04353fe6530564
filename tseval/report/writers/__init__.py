"""Formats of a document, one file each."""
