"""Endings of file names: which files tseval reads as data and as treebanks, and which files it writes.

A new data format needs its ending in `TABLES` here and its reader in `data/records.py`. A name may end in
`.gz` as well (`bare_name` in `tseval/formats.py`).
"""

# Files of rows with named columns, in the order in which messages name them.
TABLES = (".jsonl", ".json", ".tsv", ".csv", ".parquet", ".xlsx", ".tab")
# Files of lines: a `.text` file has its answers in a `.gold` file; `.txt` is CLAMS, a table or plain lines.
LINES = (".text", ".txt")
# If several files have the same name, tseval reads the first of these kinds.
_PREFERRED = (".jsonl", ".tsv", ".parquet")
DATA_ENDINGS = (*_PREFERRED, *(ending for ending in (*TABLES, *LINES) if ending not in _PREFERRED))

TREES = ".conllu"
# Endings that `tseval data` writes.
TREE_ENDINGS = (TREES, f"{TREES}.gz")
EXAMPLE_ENDINGS = (".parquet", ".tsv", ".tsv.gz")
PAIR_ENDINGS = (*EXAMPLE_ENDINGS, ".csv", ".csv.gz")
