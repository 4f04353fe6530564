"""Grammars: read, check and expand folders of templates with lexicons into items."""
