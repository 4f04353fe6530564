"""Read a grammar file, check it, expand it into items."""
