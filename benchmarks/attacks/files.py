"""A small file of each kind that tseval reads."""

from __future__ import annotations

import gzip
import json
import shutil
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NOUNS, VERBS = ("dog", "cat", "author", "guard"), ("laugh", "smile", "swim")
GRAMMAR = """---
construction: C
phenomenon: P
lexicon: lexicon.yaml
slots: {x: noun.main}
---
good: the {{ x }} laughs .
bad: the {{ x }} laugh .
"""
LEXICON = "irregular: {is: are}\nnoun:\n  main: [author, guard, cat]\n"
TREE = """1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\tNN\tNumber=Sing\t3\tnsubj\t_\t_
3\tlaughs\tlaugh\tVERB\tVBZ\tNumber=Sing\t0\troot\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""
ARPA = """\\data\\
ngram 1=8
ngram 2=3

\\1-grams:
-99\t<s>\t-0.3
-1.2\t<unk>\t0
-0.9\t</s>\t0
-0.8\tthe\t-0.25
-1.0\tdog\t-0.4
-1.3\tlaughs\t-0.1
-1.5\tlaugh\t-0.1
-0.7\t.\t-0.2

\\2-grams:
-0.2\t<s> the
-0.5\tthe dog
-0.6\tdog laughs

\\end\\
"""
RECIPE = """train:
  {embedding: 8, hidden: 8, layers: 1, dropout: 0, batch: 16, max-tokens: 4000, learning-rate: 0.01}
"""
BOARD = Path(__file__).parents[2] / "leaderboards/bhatt2020/board.json"


def write(here: Path) -> None:
    """Write them into a folder."""
    pairs = [(f"the {n} {v}s .", f"the {n} {v} .") for n, v in product(NOUNS, VERBS)]
    tsv = "good\tbad\n" + "".join(f"{good}\t{bad}\n" for good, bad in pairs)
    text = "".join(f"{good}\n{bad}\n" for good, bad in pairs) * 20
    lines = (json.dumps({"sentence_good": good, "sentence_bad": bad}) for good, bad in pairs)
    for name, content in {
        "pairs.tsv": tsv,
        "pairs.jsonl": "\n".join(lines) + "\n",
        "text.txt": text,
        "vocab.txt": "\n".join([*NOUNS, *VERBS]) + "\n",
        "grammar/one.jinja": GRAMMAR,
        "grammar/lexicon.yaml": LEXICON,
        "gym.json": json.dumps(_gym(pairs)),
        "trees.conllu": TREE * 3,
        "model.arpa": ARPA,
        "recipe.yaml": RECIPE,
    }.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(content)
    for name, content in {
        "pairs.tsv.gz": tsv,
        "corpus/train.txt.gz": text,
        "corpus/valid.txt.gz": text,
    }.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_bytes(gzip.compress(content.encode(), mtime=0))
    pq.write_table(_examples(), here / "examples.parquet")
    (here / "board").mkdir()
    shutil.copy(BOARD, here / "board")


def _examples() -> pa.Table:
    """Lay out agreement examples, of which the same ones are learnt from and validated on."""
    rows = [
        {"sentence": f"the {noun}{'' if sing else 's'} {verb}{'s' if sing else ''} .", "verb_index": 2,
         "verb_form": f"{verb}{'s' if sing else ''}", "number": "sing" if sing else "plur",
         "opp_verb_form": f"{verb}{'' if sing else 's'}", "n_attractors": 0, "split": split}
        for split in ("train", "valid")
        for noun, verb, sing in product(NOUNS, VERBS, (True, False))
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


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
