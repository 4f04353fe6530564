"""A small file of each kind that tseval reads, for benchmarks/campaign.py."""

from __future__ import annotations

import gzip
import json
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NOUNS, VERBS = ("dog", "cat", "author", "guard"), ("laugh", "smile", "swim")
GRAMMAR = """---
construction: C
phenomenon: P
lexicon: lexicon.yaml
slots: {x: noun.main}
---
good: the {{ x }} laughs
bad: the {{ x }} laugh
"""
LEXICON = "irregular: {is: are}\nnoun:\n  main: [author, pilot]\n"
TREE = """1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\tNN\tNumber=Sing\t3\tnsubj\t_\t_
3\tlaughs\tlaugh\tVERB\tVBZ\tNumber=Sing\t0\troot\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""


def write(here: Path) -> None:
    """Write them into a folder."""
    pairs = [(f"the {n} {v}s .", f"the {n} {v} .") for n, v in product(NOUNS, VERBS)]
    tsv = "good\tbad\n" + "".join(f"{good}\t{bad}\n" for good, bad in pairs)
    (here / "pairs.tsv").write_text(tsv)
    (here / "pairs.tsv.gz").write_bytes(gzip.compress(tsv.encode(), mtime=0))
    lines = (json.dumps({"sentence_good": good, "sentence_bad": bad}) for good, bad in pairs)
    (here / "pairs.jsonl").write_text("\n".join(lines) + "\n")
    (here / "text.txt").write_text("".join(f"{good}\n{bad}\n" for good, bad in pairs) * 20)
    (here / "vocab.txt").write_text("\n".join([*NOUNS, *VERBS]) + "\n")
    (here / "grammar").mkdir()
    (here / "grammar/one.jinja").write_text(GRAMMAR)
    (here / "grammar/lexicon.yaml").write_text(LEXICON)
    (here / "gym.json").write_text(json.dumps(_gym(pairs)))
    (here / "trees.conllu").write_text(TREE * 3)


def _gym(pairs: list[tuple[str, str]]) -> object:
    """Lay out pairs as a suite of SyntaxGym."""

    def condition(name: str, sentence: str) -> object:
        texts = enumerate(sentence.split(), 1)
        return {
            "condition_name": name,
            "regions": [{"region_number": n, "content": text} for n, text in texts],
        }

    items = [
        {"item_number": n, "conditions": [condition("match", good), condition("mismatch", bad)]}
        for n, (good, bad) in enumerate(pairs, 1)
    ]
    formula = {"type": "formula", "formula": "(3;%match%) < (3;%mismatch%)"}
    return {
        "meta": {"name": "gym", "metric": "sum"},
        "region_meta": {"1": "det", "2": "noun", "3": "verb", "4": "end"},
        "predictions": [formula],
        "items": items,
    }
