"""Record the outputs of two checkouts and compare them, to test that a change alters nothing.

    python benchmarks/unchanged.py record BEFORE --checkout ../before    # a checkout of the state before
    python benchmarks/unchanged.py record AFTER --old BEFORE           # this one; also reads the old runs
    python benchmarks/unchanged.py compare BEFORE AFTER                  # prints differences; exit code 1

A record has a file for each output: public names and the commands with their options and defaults; digests
of suites; tables of every shipped board in every format; runs of the bundled model on suites of every kind
(files, manifests without times), their tables, analyses, reports and verifications; exports; boards made,
checked and built; messages and exit codes of commands that fail. Compare figures in `figures/` by eye.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).parents[1]
BOARDS = ("bhatt2020", "blimp2020", "zoo", "zoo-wide")
SUITES = (
    "agreement", "clams_english", "clams_french", "clams_german", "clams_hebrew", "clams_russian",
    "determiner_noun", "filler_gap", "inversion", "marvin_linzen",
    "dyck(k=2,m=3,test=500)", "generalised_dyck(length=10,test=200)", "cross_serial(4,test=200)",
)  # fmt: skip
RUNS: dict[str, tuple[str, ...]] = {
    "whole": (),
    "drawn": ("--sample", "20", "--seed", "3", "--precision", "bfloat16"),
    "again": ("--sample", "20", "--seed", "3"),
    "by": ("--case", "prep_anim", "--limit", "400", "--by", "attractor"),
    "gap": ("--suite", "filler_gap", "--limit", "64"),
    "nouns": ("--suite", "agreement", "--limit", "150"),
    "profile": ("--suite", "agreement:profile", "--limit", "20"),
    "clams": ("--suite", "clams_english", "--limit", "20", "--normalise", "penlp"),
    "pairs": ("--suite", "pairs.csv", "--columns", "good=sen,bad=wrong_sen"),
    "rated": ("--suite", "ratings.csv"),
}
ANALYSES: dict[str, tuple[str, ...]] = {
    "rows": ("analyze", "rows", "runs/drawn", "runs/again", "--figure", "figures/rows.svg"),
    "pairwise": ("analyze", "pairwise", "runs/drawn", "runs/again"),
    "robustness": ("analyze", "robustness", "runs/drawn", "--figure", "figures/robustness.svg"),
    "effects": ("analyze", "effects", "runs/gap", "--figure", "figures/effects.svg"),
    "attractors": ("analyze", "attractors", "runs/nouns", "--figure", "figures/attractors.svg"),
    "profile": ("analyze", "profile", "runs/profile", "--figure", "figures/profile.svg"),
    "ratings": ("analyze", "ratings", "runs/rated", "--figure", "figures/ratings.svg"),
    "against": ("table", "runs/drawn", "runs/again", "--against", "runs/drawn"),
    "split": ("table", "runs/by", "--by", "attractor"),
    "ranked": ("table", "bhatt2020", "runs/whole"),
    "group": ("table", "zoo-wide", "--group"),
    "group against": ("table", "zoo-wide", "--group", "--against", "srn"),
    "over zoo": ("table", "zoo", "--against", "lstm"),
    "pairwise zoo": ("analyze", "pairwise", "zoo"),
    "rows zoo": ("analyze", "rows", "zoo"),
    "glmm": ("export", "glmm", "runs/drawn", "-o", "out/verdicts.csv"),
    "eee": ("export", "eee", "runs/drawn", "-o", "out/eee", "--model-id", "me/lstm"),
    "lm-eval": ("export", "lm-eval", "determiner_noun", "-o", "out/tasks"),
    "report": ("report", "runs/drawn", "runs/again", "-o", "out/page.html"),
    "verify": ("verify", "runs/drawn", "--json"),
    "verify model": ("verify", "runs/by", "--model", "bundled:lstm", "--rescore", "all"),
    "board new": ("board", "new", "out/board", "--suite", "determiner_noun"),
    "board check": ("board", "check", "zoo"),
    "board build": ("board", "build", "zoo", "-o", "out/zoo.html"),
    "pair": ("pair", "the authors laugh .", "the authors laughs .", "--model", "bundled:lstm"),
    "surprisal": ("surprisal", "--model", "bundled:lstm", "text.txt"),
    "expand": ("expand", "marvin_linzen", "--sample", "50"),
    "lint": ("lint", "filler_gap"),
    "suites": ("suites",),
    "models": ("models",),
    "oracle": ("oracle", "dyck-lstm", "-k", "4", "-m", "3", "--show-gates", "(1 (3 )3 )1"),
}
MISTAKES: dict[str, tuple[str, ...]] = {
    "command": ("tabel",),
    "option": ("run", "--modle", "x"),
    "no model": ("run", "--model", "nothing.pt"),
    "no scheme": ("run", "--model", "nothing:x"),
    "no suite": ("run", "--model", "bundled:lstm", "--suite", "marvin_linzenn"),
    "no case": ("run", "--model", "bundled:lstm", "--case", "simple"),
    "no feature": ("table", "runs/by", "--by", "atractor"),
    "no run": ("table", "runs/nothing"),
    "out exists": ("run", "--model", "bundled:lstm", "--out", "runs/whole"),
    "no analysis": ("analyze", "effects", "runs/drawn"),
    "no board": ("board", "check", "nowhere"),
    "bad table": ("run", "--model", "bundled:lstm", "--suite", "bad.csv"),
    "forged": ("verify", "forged"),
}
# Fields that differ between two runs of one program: times, the machine, and the seal over them.
CLOCKS = ("timings", "versions", "device", "seal")
SECONDS = re.compile(r"\d+(\.\d+)? (s|seconds|ms)\b|\d\d\d\d-\d\d-\d\dT[\d:.+Z-]+|\d+%\|.*|in \d+:\d\d")


def tseval(checkout: Path, folder: Path, *arguments: str) -> str:
    """Run the command of a checkout in a folder; return its exit code and its output without times."""
    done = subprocess.run(
        [sys.executable, "-m", "tseval", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(checkout), "SOURCE_DATE_EPOCH": "0", "COLUMNS": "100"},
    )  # fmt: skip
    said = f"exit status {done.returncode}\n{done.stdout}\n-- stderr\n{done.stderr}"
    for path in (folder, checkout):
        said = said.replace(str(path), "FOLDER")
    return SECONDS.sub("TIME", said)


INSPECT = """
import importlib, json, re, sys
import click, tseval
from tseval.cli import tseval as group

def options(command, path):
    context = click.Context(command)
    found = {}
    for one in command.params:
        kind = re.sub(" at 0x[0-9a-f]+", "", str(one.type)), repr(one.default), one.multiple, one.required
        found[one.name] = [one.opts, one.secondary_opts, *kind]
    tree = {path: found}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            tree |= options(command.get_command(context, name), f"{path} {name}")
    return tree

NAMES = {
    "tseval.scoring.protocol": "Model ModelCard Encoded Pieces RecurrentModel TokenModel SentenceModel",
    "tseval.scoring.surprisal": "surprisals word_surprisals",
    "tseval.testing": "check_model",
    "tseval.callbacks": "TransformersCallback as_causal evaluate_during",
    "tseval.errors": "TsevalError ModelError SuiteError RunError",
    "tseval.runs": "read_run Run",
}
modules = {name: importlib.import_module(name) for name in NAMES}
public = {name: [n for n in NAMES[name].split() if hasattr(one, n)] for name, one in modules.items()}
digests = {name: tseval.load_suite(name).digest for name in sys.argv[1:]}
commands = options(group, "tseval")
print(json.dumps({"all": tseval.__all__, "public": public, "commands": commands, "digests": digests}))
"""


def settled(path: Path) -> bytes:
    """Return the content of a file. A manifest is read without times."""
    if path.name != "manifest.json":
        return path.read_bytes()
    manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return json.dumps({name: one for name, one in manifest.items() if name not in CLOCKS}, indent=1).encode()


def write_inputs(work: Path) -> None:
    """Write the small files that some of the commands read."""
    for name in ("runs", "figures", "out"):
        (work / name).mkdir()
    pairs = [
        "sen,wrong_sen",
        "the author laughs .,the author laugh .",
        "the guards swim .,the guards swims .",
    ]
    (work / "pairs.csv").write_text("\n".join(pairs) + "\n", "utf-8")
    rated = ["sentence,rating,item"]
    rated += [f"the {noun} {verb} .,{n % 7}.5,{n}"
              for n, (noun, verb) in enumerate((a, b) for a in ("author", "guards", "pilot", "farmers")
                                               for b in ("laughs", "laugh", "swim", "smiles"))]  # fmt: skip
    (work / "ratings.csv").write_text("\n".join(rated) + "\n", "utf-8")
    (work / "bad.csv").write_text("this,that\na b,b a\n", "utf-8")
    (work / "text.txt").write_text(
        "the authors near the guard laugh .\nno author has ever laughed .\n", "utf-8"
    )


@click.group()
def main() -> None:
    """Record what a checkout prints and writes, and compare two records."""


@main.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--checkout", type=click.Path(exists=True, path_type=Path), default=HERE)
@click.option(
    "--old", type=click.Path(exists=True, path_type=Path), help="Earlier record whose runs are used again."
)
@click.option("--only", multiple=True, metavar="OUTPUT", help="Record only this output; may be repeated.")
def record(out: Path, checkout: Path, old: Path | None, only: tuple[str, ...]) -> None:
    """Record what a checkout prints and writes into OUT."""
    out.mkdir()
    checkout = checkout.resolve()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        write_inputs(work)
        texts = recorded(checkout, work, only)
        # Without old runs, use the new ones, so that both records have the same names.
        runs = (old.resolve() if old else work) / "runs"
        there = [run for run in RUNS if (runs / run).exists()]
        texts |= {f"old {run}": tseval(checkout, runs, "table", run) for run in there}
        for top in ("runs", "figures", "out"):
            shutil.copytree(work / top, out / top)
    for one, text in texts.items():
        (out / f"{one}.txt").write_text(text, "utf-8")


def recorded(checkout: Path, work: Path, only: tuple[str, ...]) -> dict[str, str]:
    """Run all commands in a folder, or only those for the named outputs; return texts by name."""
    texts: dict[str, str] = {}

    def note(name: str, *arguments: str) -> None:
        if only and name not in only:
            return
        click.echo(name, err=True)
        texts[name] = tseval(checkout, work, *arguments)

    inspected = subprocess.run(
        [sys.executable, "-c", INSPECT, *SUITES], cwd=work, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    )  # fmt: skip
    texts["inspected"] = json.dumps(json.loads(inspected.stdout), indent=1)
    for board in BOARDS:
        for form in ("md", "csv", "json", "latex"):
            note(f"board {board} {form}", "table", board, "--format", form)
    for run, options in RUNS.items():
        note(f"run {run}", "run", "--model", "bundled:lstm", "--quiet", "--out", f"runs/{run}", *options)
    if (work / "runs/by").exists():
        forged = shutil.copytree(work / "runs/by", work / "forged")
        manifest = json.loads((forged / "manifest.json").read_text("utf-8"))
        manifest["counts"]["correct"] += 1
        (forged / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for one, arguments in ANALYSES.items():
        note(f"analysis {one}", *arguments)
    for form in ("csv", "json", "latex"):
        note(f"format {form}", "table", "runs/drawn", "runs/again", "--format", form)
    for one, arguments in MISTAKES.items():
        note(f"mistake {one}", *arguments)
    files = sorted(path for top in ("runs", "out") for path in (work / top).rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256(settled(path)).hexdigest()} {path.relative_to(work)}" for path in files]
    texts["files"] = "\n".join(lines) + "\n"
    manifests = [path for path in files if path.name == "manifest.json" and "runs" in path.parts]
    return texts | {f"manifest {path.parent.name}": settled(path).decode() for path in manifests}


@main.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
def compare(before: Path, after: Path) -> None:
    """Print what differs between two records."""
    names = sorted({path.name for folder in (before, after) for path in folder.glob("*.txt")})
    differing = 0
    for name in names:
        first, second = (
            (folder / name).read_text("utf-8").splitlines() if (folder / name).exists() else []
            for folder in (before, after)
        )
        if first != second:
            differing += 1
            click.echo(
                "\n".join(
                    difflib.unified_diff(first, second, f"{before}/{name}", f"{after}/{name}", "", "", 1)
                )
            )
    click.echo(f"{len(names) - differing} of {len(names)} outputs are the same.")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
