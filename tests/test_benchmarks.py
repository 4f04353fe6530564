"""Every program under benchmarks/ runs at minimal size; Makefile targets run the programs they name."""

import re

import pytest
from in_process import run_process
from rehearsals import BENCHMARKS, MAKE, NEEDED, ROOT, TARGETS, furnish, rehearse

pytestmark = [pytest.mark.slowest, *NEEDED]

# Programs that no target calls: their arguments, and what they print or write.
PROGRAMS = {
    "agreement_generalisation": (
        "--seeds 1 --arch srn --sample 60 --out general --figure nouns.svg",
        "nouns.svg",
    ),
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
    "context": ("--rounds 1 --sample 4 --words 12", "context / plain"),
    "callbacks": ("--text corpus/valid.txt.gz --layers 1 --width 16 --steps 6 --sample 1", "of the training"),
    "draw_pairs": (
        "bank.conllu.gz --number 20 --seed 3 --out drawn.csv --key key.csv",
        "drawn.csv: 20 pairs",
    ),
    "draw_texts": ("--seed 3", "42. tseval/"),
    "forms": ("--suite determiner_noun", "contexts"),
    "hf": ("--layers 1 --hidden 16 --vocabulary 300 --dense 0 --even 512 --sparse 0", "minicons"),
    "multiblimp": ("multiblimp.tsv bank.conllu.gz --show 1", "ours, 1 the same"),
    "prompt_requests": ("--pairs 4 --milliseconds 1", "times as fast as one by one"),
    "public_boards": ("--blimp blimp.jsonl.gz --out suites", "marvin_linzen_120"),
    "public_figure": ("--out public.svg", "public.svg"),
    "treebank_agreement": ("english=run --figure pairs.svg", "pairs.svg"),
    "unchanged": ("record record --only inspected", "inspected.txt"),
}
# Commands that make the files which a program reads.
BEFORE = {
    "treebank_agreement": "tseval data pairs bank.conllu.gz --phenomenon subject-verb-number -o pairs.tsv; "
                          "tseval run --model bundled:lstm --suite ./pairs.tsv --out run",
}  # fmt: skip
# Programs that another test runs, or that no test can run.
ELSEWHERE = {
    "agreement_constructed": "tests/test_make.py, beside the target that makes what it reads",
    "command": "no program: what several of them share",
    "gpu_check": "tests/devices/test_second_device.py",
    "real_weights": "downloads 330 MB: `make test-real`",
}


def programs_of(target):
    """List the programs of a target, from a dry run of make."""
    made = run_process([*MAKE, "--dry-run", *target.split()], cwd=ROOT, check=True).stdout
    return set(re.findall(r"benchmarks/(\w+)\.py", made))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return furnish(tmp_path_factory.mktemp("rehearsal"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_in_its_smallest_form(program, place):
    arguments, shown = PROGRAMS[program]
    for line in BEFORE.get(program, "").split("; "):
        words = line.split()
        assert not words or rehearse(words, place).returncode == 0, line
    done = rehearse(["python", BENCHMARKS / f"{program}.py", *arguments.split()], place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert shown in done.stdout + done.stderr or [*place.rglob(shown)], done.stdout + done.stderr


def test_every_program_is_run():
    called = set().union(*map(programs_of, TARGETS))
    assert called | PROGRAMS.keys() | ELSEWHERE.keys() == {path.stem for path in BENCHMARKS.glob("*.py")}
    assert not PROGRAMS.keys() & called
