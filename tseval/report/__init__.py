"""Render tables as Markdown, CSV, JSON and LaTeX."""
