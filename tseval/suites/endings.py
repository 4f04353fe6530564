"""Endings of file names: which files tseval reads as data and as trees, and which it writes.

A new format of data has its ending in `TABLES` here and its reader in `data/records.py`. A name may end in
`.gz` as well (`bare_name` in `tseval/formats.py`).
"""

# Files of rows with named columns, in the order in which messages name them.
TABLES = (".jsonl", ".json", ".tsv", ".csv", ".parquet", ".xlsx", ".tab")
# Files of lines: `.text` has a `.gold` file with its answers, and `.txt` is CLAMS, a table or plain lines.
LINES = (".text", ".txt")
# Of several files with one name, tseval reads the first of these kinds.
_PREFERRED = (".jsonl", ".tsv", ".parquet")
DATA_ENDINGS = (*_PREFERRED, *(ending for ending in (*TABLES, *LINES) if ending not in _PREFERRED))

TREES = ".conllu"
# What `tseval data` writes.
TREE_ENDINGS = (TREES, f"{TREES}.gz")
EXAMPLE_ENDINGS = (".parquet", ".tsv", ".tsv.gz")
PAIR_ENDINGS = (*EXAMPLE_ENDINGS, ".csv", ".csv.gz")
