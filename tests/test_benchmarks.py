"""Every program under benchmarks/ and every target of the Makefile that calls one runs, at its smallest."""

import gzip
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from in_process import run_process
from supplied import AGREEMENT, BLIMP_SAMPLE, TEXT_SAMPLE, TREEBANK_SAMPLE
from systems import needs_linux

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
pytestmark = [
    pytest.mark.slowest, needs_linux,
    pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="no Makefile: not a checkout"),
]  # fmt: skip

# What a target of the Makefile prints in its smallest form. Each calls the programs that `programs_of` finds.
TARGETS = {
    "bench SMALL=1": ["import torch", "trie", "nn.LSTM float32", "workers: 2", "check of public-clams"],
    "zoo SMALL=1 ARCH=srn CORPUS=corpus ZOO=zoo": ["srn", "All 19 rows"],
    "formal BUDGET=tiny FORMAL=formal": ["(2,3)"],
    "agreement SEEDS=1 ARCH=lstm EXAMPLES=examples AGREEMENT=agreement": ["number, lstm", "bundled:lstm"],
    "coverage SMALL=1": ["Wilson", "clustered"],
    "campaign SIZE=1 ONLY=checkpoint.pt": ["checkpoint.pt"],
}
# Programs that no target calls: how each is called, and what it prints or writes.
PROGRAMS = {
    "agreement_constructed": (
        "--models agreement --seeds 1 --arch lstm --sample 20 --out constructed",
        "profile.svg",
    ),
    "agreement_generalisation": ("--seeds 1 --arch srn --out general --figure nouns.svg", "nouns.svg"),
    "agreement_hard": (
        "--learn examples/agreement.tsv.gz --ask examples/agreement.tsv.gz --linzen bank.conllu.gz --seeds 1 "
        "--arch lstm --out hard --figure hard.svg",
        "hard.svg",
    ),
    "agreement_parsed": (
        "--learn examples/agreement.tsv.gz --ask examples --linzen bank.conllu.gz --seeds 1 --model lstm "
        "--out parsed --figure sizes.svg",
        "sizes.svg",
    ),
    "calibration": ("--draws 5", "verbs"),
    "callbacks": ("--text corpus/valid.txt.gz --layers 1 --width 16 --steps 6 --sample 1", "of the training"),
    "forms": ("--suite determiner_noun", "contexts"),
    "hf": ("--layers 1 --hidden 16 --vocabulary 300 --dense 0 --even 512 --sparse 0", "minicons"),
    "public_boards": ("--blimp blimp.jsonl.gz --out suites", "marvin_linzen_120"),
    "public_figure": ("--out public.svg", "public.svg"),
    "treebank_agreement": ("english=run --figure pairs.svg", "pairs.svg"),
    "unchanged": ("record record --only inspected", "inspected.txt"),
}
# What a program reads that another one, or a command, has to make before.
BEFORE = {
    "agreement_constructed": "make agreement SEEDS=1 ARCH=lstm EXAMPLES=examples AGREEMENT=agreement",
    "treebank_agreement": "tseval data pairs bank.conllu.gz --phenomenon subject-verb-number -o pairs.tsv; "
                          "tseval run --model bundled:lstm --suite ./pairs.tsv --out run",
}  # fmt: skip
# What a test elsewhere runs, or none can.
ELSEWHERE = {
    "command": "no program: what several of them share",
    "gpu_check": "tests/devices/test_second_device.py",
    "real_weights": "downloads 330 MB: `make test-real`",
}


def programs_of(target):
    """List the programs of a target, as make would call them."""
    made = run_process([*MAKE, "--dry-run", *target.split()], cwd=ROOT, check=True).stdout
    return set(re.findall(r"benchmarks/(\w+)\.py", made))


# In the environment that runs the tests, not in a new one, and not as a part of the `make` around it.
MAKE = ["make", f"--file={ROOT / 'Makefile'}", "--old-file=setup", "--old-file=.venv/kenlm",
        f"BIN={Path(sys.executable).parent}"]  # fmt: skip
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with all that the programs read, and the benchmarks themselves."""
    place = tmp_path_factory.mktemp("benchmarks")
    for name in ("benchmarks", "leaderboards"):
        (place / name).symlink_to(ROOT / name)
    (place / "corpus").mkdir()
    lines = gzip.decompress(TEXT_SAMPLE.read_bytes()).decode().splitlines()[:400]
    for name in ("train", "valid"):
        text = "".join(f"{line}\n" for line in lines)
        (place / f"corpus/{name}.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (place / "examples").mkdir()
    header, *rows = gzip.decompress(AGREEMENT.read_bytes()).decode().splitlines(keepends=True)
    few = gzip.compress("".join([header, *rows[:: max(1, len(rows) // 900)]]).encode(), mtime=0)
    for name in ("agreement", "agreement_craft"):
        (place / f"examples/{name}.tsv.gz").write_bytes(few)
    shutil.copy(BLIMP_SAMPLE, place / "blimp.jsonl.gz")
    shutil.copy(TREEBANK_SAMPLE, place / "bank.conllu.gz")
    return place


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_of_the_makefile_runs_in_its_smallest_form(target, place):
    done = run_process([*MAKE, *target.split()], cwd=place, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [what for what in TARGETS[target] if what not in done.stdout] == [], done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_in_its_smallest_form(program, place):
    arguments, shown = PROGRAMS[program]
    for line in BEFORE.get(program, "").split("; "):
        words = line.split()
        before = [*MAKE, *words[1:]] if words[:1] == ["make"] else words
        assert not before or run_process(before, cwd=place, env=ENVIRONMENT).returncode == 0, line
    command = [sys.executable, BENCHMARKS / f"{program}.py", *arguments.split()]
    done = run_process(command, cwd=place, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert shown in done.stdout + done.stderr or [*place.rglob(shown)], done.stdout + done.stderr


def test_every_program_is_run():
    called = set().union(*map(programs_of, TARGETS))
    assert called | PROGRAMS.keys() | ELSEWHERE.keys() == {path.stem for path in BENCHMARKS.glob("*.py")}
    assert not PROGRAMS.keys() & called
