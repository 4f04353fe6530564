"""Run the programs of benchmarks/ and Makefile targets at minimal size, with the files that they read."""

import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest
from in_process import run_process
from preloaded import programs
from supplied import AGREEMENT, BLIMP_SAMPLE, TEXT_SAMPLE, TREEBANK_SAMPLE
from systems import needs_linux

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
NEEDED = [
    needs_linux,
    pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="no Makefile: not a checkout"),
]
# Use the environment that runs the tests, not a new one.
MAKE = ["make", f"--file={ROOT / 'Makefile'}", "--old-file=setup", "--old-file=.venv/kenlm"]

# The output of each Makefile target at minimal size.
TARGETS = {
    "bench SMALL=1": ["import torch", "trie", "nn.LSTM float32", "workers: 2", "check of public-clams"],
    "zoo SMALL=1 ARCH=srn CORPUS=corpus ZOO=zoo": ["srn", "All 19 rows"],
    "formal BUDGET=tiny FORMAL=formal": ["(2,3)"],
    "agreement SEEDS=1 ARCH=lstm EXAMPLES=examples AGREEMENT=agreement": ["number, lstm", "bundled:lstm"],
    "coverage SMALL=1": ["Wilson", "clustered"],
    "campaign SIZE=1 ONLY=checkpoint.pt": ["checkpoint.pt"],
}

# These kill the processes that they start, so they need real processes and not forks.
KILLS = "campaign"

# Two pairs in MultiBLiMP's format, from sentences of the treebank. tseval also makes the first pair.
MULTIBLIMP = (
    "phenomenon\tsen\thead\thead_idx\tswap_head\tchild\tchild_idx\tchild_upos\tgrammatical_feature\t"
    "ungrammatical_feature\two\tinflect_item\tmetadata\n"
    "SV-#\tNervous people make mistakes\tmake\t2\tmakes\tpeople\t1\tNOUN\tPL\tSG\tSV\tverb\t"
    "{'sent_id': 'weblog-blogspot.com_gettingpolitical_20030906235000_ENG_20030906_235000-0004', "
    "'treebank': 'UD_English-EWT/bank.conllu'}\n"
    "SV-#\tFrom the AP comes this story\tcomes\t3\tcome\tstory\t5\tNOUN\tSG\tPL\tVS\tverb\t"
    "{'sent_id': 'weblog-blogspot.com_nominations_20041117172713_ENG_20041117_172713-0001', "
    "'treebank': 'UD_English-EWT/bank.conllu'}\n"
)


def rehearse(command, place):
    """Run a program or target in a folder, with forks instead of new Pythons; return how it ended."""
    left_out = ("MAKE", "MFLAGS")  # variables of the `make` around the tests
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    kills = any(str(word).startswith(KILLS) for word in command)
    if command[0] == "make":
        command = [*command, f"BIN={Path(sys.executable).parent if kills else programs()}"]
    return run_process(command, cwd=place, env=environment)


def furnish(place):
    """Put the benchmarks and all files that they read into a folder."""
    for name in ("benchmarks", "leaderboards"):
        (place / name).symlink_to(ROOT / name)
    (place / "corpus").mkdir()
    lines = gzip.decompress(TEXT_SAMPLE.read_bytes()).decode().splitlines()[:400]
    for name in ("train", "valid"):
        text = "".join(f"{line}\n" for line in lines)
        (place / f"corpus/{name}.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (place / "examples").mkdir()
    header, *rows = gzip.decompress(AGREEMENT.read_bytes()).decode().splitlines(keepends=True)
    few = gzip.compress("".join([header, *rows[:: max(1, len(rows) // 300)]]).encode(), mtime=0)
    for name in ("agreement", "agreement_craft"):
        (place / f"examples/{name}.tsv.gz").write_bytes(few)
    shutil.copy(BLIMP_SAMPLE, place / "blimp.jsonl.gz")
    shutil.copy(TREEBANK_SAMPLE, place / "bank.conllu.gz")
    (place / "multiblimp.tsv").write_text(MULTIBLIMP, encoding="utf-8")
    return place
