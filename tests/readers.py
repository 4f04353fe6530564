"""Every reader of texts that others wrote, with one signature and a small file that it accepts."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tseval.models.saved_words import read_words
from tseval.report import build_table, render
from tseval.report.published import read_board
from tseval.suites import load_suite
from tseval.suites.agreement.convert import convert
from tseval.suites.agreement.parse import open_source_text
from tseval.suites.agreement.splits import Shares
from tseval.training.corpus import count_words, file_facts
from tseval.training.zoo import read_recipe


@dataclass(frozen=True)
class Reader:
    """A reader.

    Attributes:
        name: Name of a file that it reads.
        good: A valid content of that file.
        read: Reads the file to its end.
        beside: Name and content of another file that it needs in the same folder.
    """

    name: str
    good: bytes
    read: Callable[[Path], object]
    beside: tuple[str, bytes] | None = None


def syntaxgym(number="1", formula="(1;%a%) < (1;%b%)", content="x y"):
    """Return a suite of one item; `number` is inserted into the JSON unchanged."""
    regions = [{"region_number": 1, "content": content}]
    conditions = [{"condition_name": name, "regions": regions} for name in "ab"]
    suite = {
        "items": [{"item_number": 12345, "conditions": conditions}],
        "predictions": [{"formula": formula}],
    }
    return json.dumps(suite).replace("12345", number).encode()


def board(**changes):
    """Return a board of one row."""
    names = {"phenomenon": "P", "construction": "C", "contrast": "a > b", "dependency": None}
    content = {
        "format": 1, "name": "n", "title": "t", "source": "s", "suite": "s", "score": "sentence",
        "decimals": 2, "models": [{"name": "m"}], "rows": [names | {"n_items": 5, "accuracy": {"m": "0.5"}}],
        "notes": [],
    }  # fmt: skip
    return json.dumps(content | changes).encode()


def _agreement(path: Path) -> object:
    return convert([path], Shares(80, 10))


def _table(path: Path) -> object:
    return render(build_table([read_board(path)]), "md")


def _text(path: Path) -> object:
    return count_words([path], lowercase=True), file_facts(path)


TREE = "1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
TREES = (TREE + TREE.replace("dogs", "cats").replace("bark\t", "barks\t", 1).replace("VBP", "VBZ")).encode()
TAB = (
    b"pattern\tconstr_id\tsent_id\tcorrect_number\tform\tclass\ttype\tprefix\tn_attr\n"
    b"p\t1\t1\tsing\tis\tcorrect\toriginal\tx y\t1\np\t1\t1\tsing\tare\twrong\toriginal\tx y\t1\n"
)
BLIMP = {
    "UID": "u", "pairID": "1", "field": "syntax", "linguistics_term": "binding",
    "sentence_good": "a b", "sentence_bad": "b a", "one_prefix_method": False, "two_prefix_method": False,
}  # fmt: skip
EXAMPLES = b"sentence\tverb_index\tverb_form\tnumber\topp_verb_form\nthe dog barks\t2\tbarks\tsing\tbark\n"
LINZEN = (
    b"sentence\tsubj_pos\tverb_pos\tlast_intervening\tsubj_index\tverb_index\tn_intervening\t"
    b"n_diff_intervening\nthe dog barks\tNN\tVBZ\tna\t2\t3\t0\t0\n"
)
GRAMMAR = (
    b"---\nconstruction: S\nphenomenon: P\nslots:\n  verb: [laughs, smiles]\n---\n"
    b"a: he {{ verb }}\nb: they {{ verb }}\n"
)
RECIPE = b"seeds: 1\ntrain: {epochs: 2}\ncells: {lstm: {hidden: 8}}\n"
WORDS = b"<eos>\n<unk>\nthe\n"

READERS = {
    "pairs": Reader("p.jsonl", b'{"good": "a b", "bad": "b a", "n": 1}\n', load_suite),
    "continuations": Reader("p.jsonl", b'{"prefix": "a", "good": "b", "bad": "c d"}\n', load_suite),
    "contexts": Reader("p.tsv", b"Context1\tContext2\tTarget1\tTarget2\na b\tb a\tc\td\n", load_suite),
    "table of pairs": Reader("p.tsv", b"good\tbad\tn\na b\tb a\t1\n", load_suite),
    "csv of pairs": Reader("p.csv", b'good;bad;n\n"a ""b""";b a;1\n', load_suite),
    "compressed pairs": Reader("p.tsv.gz", gzip.compress(b"good\tbad\na b\tb a\n", mtime=0), load_suite),
    "blimp": Reader("b.jsonl", json.dumps(BLIMP).encode() + b"\n", load_suite),
    "clams": Reader("simple_agrmt.txt", b"True\tthe dog barks\nFalse\tthe dog bark\n", load_suite),
    "linzen": Reader("t.text", b"the dog barks\n", load_suite, ("t.gold", b"2\tbarks\tbark\t0\n")),
    "gold": Reader(
        "t.gold",
        b"2\tbarks\tbark\t0\n",
        lambda path: load_suite(path.with_suffix(".text")),
        ("t.text", b"the dog barks\n"),
    ),
    "gulordava": Reader("g.tab", TAB, load_suite),
    "syntaxgym": Reader("s.json", syntaxgym(), load_suite),
    "examples": Reader("e.tsv", EXAMPLES, load_suite),
    "grammar": Reader("g.jinja", GRAMMAR, load_suite),
    "treebank": Reader("t.conllu", TREES, _agreement),
    "linzen's table": Reader("l.tsv", LINZEN, _agreement),
    "vocabulary": Reader("vocab.txt", WORDS, read_words),
    "board": Reader("board.json", board(), _table),
    "recipe": Reader("recipe.yaml", RECIPE, lambda path: read_recipe(str(path))),
    "text to parse": Reader(
        "t.txt", b"the dog barks .\n", lambda path: open_source_text(path, tokenised=True)
    ),
    "treebank to parse": Reader("t.conllu", TREES, lambda path: open_source_text(path, tokenised=True)),
    "training text": Reader("text.txt", b"the author laughs .\n", _text),
}
