"""Output formats of a document, one per file."""
