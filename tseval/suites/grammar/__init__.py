"""Grammars: folders of templates with lexicons, read, checked and expanded into items."""
