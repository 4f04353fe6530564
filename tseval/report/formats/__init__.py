"""One module for each format that a document is written in."""
