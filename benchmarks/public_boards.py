"""Make the suites of the public boards, which are small parts of four suites.

A board needs a whole suite, so these suites are small: grammars that draw some of their items, evenly over
words; some pairs of each paradigm, chosen by hash; and the published SyntaxGym.

    python benchmarks/public_boards.py --blimp blimp.jsonl.gz --syntaxgym test_suites/json
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections import defaultdict
from pathlib import Path

import click

from tseval.suites import TEMPLATES

SUITES = Path(__file__).parents[1] / "leaderboards/suites"  # where they are published
DRAWN = {"marvin_linzen": 120, "clams_english": 60}
PAIRS_A_PARADIGM = 50
KEPT_OF_A_PAIR = ("UID", "pairID", "field", "linguistics_term", "sentence_good", "sentence_bad")


def draw_grammars(name: str, n_items: int, out: Path) -> None:
    """Copy a suite's grammars. Those with more than three times `n_items` items draw `n_items` of them."""
    folder = out / f"{name}_{n_items}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(TEMPLATES / name, folder)
    for path in folder.glob("*.jinja"):
        text = path.read_text("utf-8")
        found = re.search(r"^  items: +(\d+)$", text, re.MULTILINE)
        if found is None or int(found[1]) <= 3 * n_items:
            continue
        # The expected values of the whole grammar do not hold for a part.
        text = re.sub(r"^expect:\n(?:  .*\n)+", f"draw:\n  items: {n_items}\n", text, flags=re.MULTILINE)
        path.write_text(text, "utf-8")
    described = folder / "suite.yaml"
    title = rf"\1, {n_items} items a case"
    described.write_text(re.sub(r"^(title: [^\n]*)", title, described.read_text("utf-8")), "utf-8")


def choose_pairs(blimp: Path, out: Path) -> None:
    """Write the pairs of each paradigm with the smallest hashes."""
    paradigms = defaultdict(list)
    with gzip.open(blimp, "rt", encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            paradigms[pair["UID"]].append({name: pair[name] for name in KEPT_OF_A_PAIR})
    folder = out / f"blimp_{PAIRS_A_PARADIGM}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, pairs in paradigms.items():
        chosen = sorted(pairs, key=lambda pair: hashlib.sha256(f"{name} {pair['pairID']}".encode()).digest())
        chosen = sorted(chosen[:PAIRS_A_PARADIGM], key=lambda pair: int(pair["pairID"]))
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in chosen), "utf-8")


def copy_syntaxgym(source: Path, out: Path) -> None:
    """Copy the suites of SyntaxGym without the fields that tseval does not read."""
    folder = out / "syntaxgym"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(source.glob("*.json")):
        content = json.loads(path.read_text("utf-8"))
        for item in content["items"]:
            for condition in item["conditions"]:
                condition["regions"] = [
                    {name: region[name] for name in ("region_number", "content")}
                    for region in condition["regions"]
                ]
        (folder / path.name).write_text(json.dumps(content, separators=(",", ":")) + "\n", "utf-8")


@click.command(help=__doc__.partition("\n")[0])
@click.option("--blimp", type=click.Path(exists=True, path_type=Path), help="BLiMP's pairs, .jsonl.gz.")
@click.option("--out", type=click.Path(path_type=Path), default=SUITES, help="Folder for the suites.")
@click.option(
    "--syntaxgym", type=click.Path(exists=True, path_type=Path), help="Folder with SyntaxGym's .json files."
)
def main(blimp: Path | None, syntaxgym: Path | None, out: Path) -> None:
    """Write what can be written."""
    for name, n_items in DRAWN.items():
        draw_grammars(name, n_items, out)
    if blimp:
        choose_pairs(blimp, out)
    if syntaxgym:
        copy_syntaxgym(syntaxgym, out)


if __name__ == "__main__":
    main()
