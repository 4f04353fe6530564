"""Text to trees: sentences through a dependency parser, written in CoNLL-U."""
