"""A zoo of tiny models, scored on two items, for programs that kill it or start it twice."""

import gzip
import json
from pathlib import Path

import pandas as pd
from in_process import call
from killing import files_below

from tseval.models.checkpoint import load_checkpoint
from tseval.training import zoo

SUITE_FILES = {
    "lexicon.yaml": "noun:\n  animate: [author, pilot]\n",
    "simple.jinja": "---\nconstruction: Simple\nphenomenon: Agreement\nlexicon: lexicon.yaml\n"
    "slots:\n  subject: {class: noun.animate, number: sing}\n---\n"
    "grammatical:   the {{ subject }} laughs\nungrammatical: the {{ subject }} laugh\n",
}
RECIPE = "train: {embedding: 3, hidden: 3, layers: 1, batch: 2, window: 5, epochs: 1, no-figure: true}\n"


class SmallZoo:
    """The inputs of a zoo in a folder; the suite has the name of the suite that zoos use."""

    def __init__(self, place: Path):
        self.place = place
        suite = place / zoo.SUITE
        suite.mkdir(parents=True)
        for name, text in SUITE_FILES.items():
            (suite / name).write_text(text)
        zoo.SUITE = str(suite)
        (place / "corpus").mkdir()
        lines = b"the author laughs .\nthe pilots laugh .\n" * 20
        for name in zoo.CORPUS_FILES:
            (place / "corpus" / name).write_bytes(gzip.compress(lines, mtime=0))
        (place / "tiny.yaml").write_text(RECIPE)

    def make(self, *archs, out="zoo", more=()):
        """Run `tseval train zoo`; return how it ended."""
        wanted = [word for arch in archs for word in ("--arch", arch)]
        common = "--corpus", self.place / "corpus", "--recipe", self.place / "tiny.yaml", "--jobs", "1"
        return call("train", "zoo", *common, "--quiet", "--out", out, *wanted, *more)


def timeless(folder):
    """Return the files of a zoo without durations and numbers of starts."""
    files: dict[str, object] = dict(files_below(folder))
    for name in files:
        path = folder / name
        if path.name == "manifest.json":
            manifest = json.loads(path.read_bytes())
            manifest["counts"]["resumed_sentences"] = manifest["timings"] = manifest["seal"] = None
            files[name] = manifest
        elif path.suffix == ".pt":
            files[name] = load_checkpoint(path).fingerprint
        elif path.name.endswith(".curves.parquet"):
            files[name] = pd.read_parquet(path).drop(columns="seconds").to_json(double_precision=15)
        elif path.suffix == ".log":
            files[name] = "what was said"
    return files
