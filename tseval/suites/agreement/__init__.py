"""Subject-verb agreement in running text: examples from treebanks and published sets."""
