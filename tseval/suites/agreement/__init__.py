"""Agreement in running text: examples and minimal pairs from treebanks, parsed text and published tables.

An example is a sentence with its target verb, the verb's number and its form in the other number
(`examples`). `convert` makes a table of examples, `treebank_pairs` makes minimal pairs for a phenomenon.
"""
