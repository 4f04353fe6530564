"""Does tseval survive? Attacks on runs, trainings and files, drawn from a seed; a table of survivors.

Survived is: the same result, or one message under 500 characters and exit code 2. Never a traceback, never a
number that silently differs where a digest could tell, never a command that does not end.

    python benchmarks/campaign.py                      # --size 20 --seed 0
    python benchmarks/campaign.py --size 200 --only "kill a run" --only checkpoint.pt

Exits with 1 if anything did not survive, and says how to see it again. Needs a POSIX system: each attack is a
process forked from this one, which has all imports behind it.
"""

from __future__ import annotations

import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from campaign_commands import tseval
from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Callable

os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}

RUN = ("run", "--model", "model.pt", "--suite", "pairs.tsv", "--quiet")
TRAIN = ("train", "lm", "--arch", "srn", "--train", "text.txt", "--valid", "text.txt", "--embedding", "8",
         "--hidden", "8", "--epochs", "2", "--quiet")  # fmt: skip


# What is attacked: each function makes its attack in a folder of its own, with all that `prepare` made.


def kill_a_run(draw: random.Random, here: Path) -> str | None:
    """Kill a run again and again at random moments; resumed, it has the bytes of one left alone."""
    for _ in range(3):
        tseval(*RUN, "--out", "run", "--resume", cwd=here, kill_after=draw.uniform(0, 0.5))
    done = tseval(*RUN, "--out", "run", "--resume", cwd=here)
    if done.code:
        return f"not resumed: {done.err[-200:]}"
    for name in ("sentences.parquet", "verdicts.parquet", "table.csv"):
        if (here / "run" / name).read_bytes() != (here / "whole" / name).read_bytes():
            return f"another {name}"
    left = {path.name for path in (here / "run").iterdir()} - {
        path.name for path in (here / "whole").iterdir()
    }
    return f"left behind: {sorted(left)}" if left else None


def kill_a_training(draw: random.Random, here: Path) -> str | None:
    """Kill a training at random moments; resumed, it ends in the same weights."""
    command = (*TRAIN, "--out", "mine.safetensors", "--save-every", "0.01", "--resume")
    for _ in range(2):
        tseval(*command, cwd=here, kill_after=draw.uniform(0, 1))
    done = tseval(*command, cwd=here)
    if done.code:
        return f"not resumed: {done.err[-200:]}"
    from tseval.models.checkpoint import load_checkpoint  # noqa: PLC0415

    same = (
        load_checkpoint(here / "mine.safetensors").fingerprint
        == load_checkpoint(here / "model.pt").fingerprint
    )
    return None if same else "other weights"


def full_disk(draw: random.Random, here: Path) -> str | None:
    """Let no file grow beyond a random size; with room again, the run goes on."""
    size = int(2 ** draw.uniform(0, 16))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = tseval(*RUN, "--out", "run", cwd=here, before=limit)
    if fault := done.fault():
        return f"{size} bytes: {fault}"
    again = tseval(*RUN, "--out", "run", "--resume", cwd=here)
    return None if again.code == 0 else f"{size} bytes, then room: {again.err[-200:]}"


def two_writers(draw: random.Random, here: Path) -> str | None:
    """Start two runs into one directory: one is done, the other says that it may not write."""
    first = os.fork()
    if first == 0:
        (here / "other").mkdir()
        os._exit(tseval(*(str(here / w) if (here / w).is_file() else w for w in RUN),
                        "--out", str(here / "run"), cwd=here / "other").code)  # fmt: skip
    time.sleep(draw.uniform(0, 0.3))
    done = tseval(*RUN, "--out", "run", cwd=here)
    other = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    if sorted([done.code, other]) != [0, 2]:
        return f"exit codes {done.code} and {other}: {done.err[-200:]}"
    same = (here / "run/table.csv").read_bytes() == (here / "whole/table.csv").read_bytes()
    return done.fault() if same else "another table"


def clock_backwards(draw: random.Random, here: Path) -> str | None:
    """Let the clock of the system run backwards: numbers stay, times are not below zero."""
    start, step = time.time(), draw.uniform(0.1, 10_000)

    def turn() -> None:
        calls = iter(range(10**9))
        time.time = lambda: start - step * next(calls)

    done = tseval(*RUN, "--out", "run", cwd=here, before=turn)
    if done.code:
        return done.fault() or done.err
    return (
        None
        if (here / "run/table.csv").read_bytes() == (here / "whole/table.csv").read_bytes()
        else "a table"
    )


def read_only(draw: random.Random, here: Path) -> str | None:
    """Write where nothing can be written."""
    out = draw.choice(["/proc/run", "/sys/run", "/dev/null", "/dev/null/run", "model.pt"])
    done = tseval(*RUN, "--out", out, cwd=here)
    return done.fault() or (None if done.code == 2 else f"{out} was written")


class Planted:
    """A pickle that makes a file when it is believed."""

    def __init__(self, call: object, *arguments: object) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call, self.arguments


def hostile_pickle(draw: random.Random, here: Path) -> str | None:
    """Give a pickle that calls something as a checkpoint: nothing is executed."""
    planted = draw.choice([
        Planted(os.mkdir, str(here / "PWNED")), Planted(exec, f"open({str(here / 'PWNED')!r}, 'w')"),
        Planted(eval, f"open({str(here / 'PWNED')!r}, 'w')"), Planted(os.system, f"touch {here / 'PWNED'}"),
    ])  # fmt: skip
    data = {"weights": planted, "deep": [planted]} if draw.random() < 0.5 else planted
    (here / "hostile.pt").write_bytes(pickle.dumps(data, protocol=draw.randrange(6)))
    done = tseval("pair", "a b", "a c", "--model", "hostile.pt", cwd=here)
    if (here / "PWNED").exists():
        return "executed"
    return done.fault() or (None if done.code == 2 else "accepted")


BOMBS = (
    "{% for a in range(99999999) %}{% for b in range(99999999) %}x{% endfor %}{% endfor %}",
    "{{ 'a' * 9999999999 }}", "{{ ((9 ** 9) ** 9) ** 9 ** 9 }}", "{{ ''.__class__.__mro__ }}",
    "{{ x | center(99999999999) }}", "{{ '%99999999999d' % 1 }}", "{{ range(9999999999) | list }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ '{:99999999999}'.format(1) }}",
)  # fmt: skip


def template_bomb(draw: random.Random, here: Path) -> str | None:
    """Give a grammar that would take time or memory without end."""
    head = "---\nconstruction: C\nphenomenon: P\nslots: {x: [one, two]}\n---\n"
    (here / "bomb").mkdir()
    (here / "bomb/one.jinja").write_text(f"{head}good: a {{{{ x }}}} {draw.choice(BOMBS)}\nbad: b\n")
    done = tseval("expand", "./bomb", "--quiet", cwd=here)
    return done.fault() or (None if done.code == 2 else "expanded")


def mutated(draw: random.Random, content: bytes) -> bytes:
    """Flip a bit, cut, insert, repeat or overwrite somewhere."""
    place, size = draw.randrange(len(content)), draw.randrange(1, 64)
    before, after = content[:place], content[place:]
    return draw.choice([
        before + bytes([after[0] ^ (1 << draw.randrange(8))]) + after[1:], before, before + after[size:],
        before + draw.randbytes(size) + after, before + after[:size] + after,
        before + draw.randbytes(min(size, len(after))) + after[size:],
    ])  # fmt: skip


@dataclass(frozen=True)
class Read:
    """A kind of file, and the command that reads it.

    Attributes:
        path: The file, in the folder that `prepare` filled.
        command: What reads it.
        sealed: Whether a digest tells every change: the result must then be the same.
        ends: Exit codes that say that all went well.
    """

    path: str
    command: tuple[str, ...]
    sealed: bool = False
    ends: tuple[int, ...] = (0, 2)

    def __call__(self, draw: random.Random, here: Path) -> str | None:
        """Change the file, and read it."""
        path = here / self.path
        content = path.read_bytes()
        expected = tseval(*self.command, cwd=here)
        if expected.code not in self.ends:
            return f"not even unchanged: {expected.err[-200:]}"
        path.write_bytes(mutated(draw, content))
        done = tseval(*self.command, cwd=here)
        if self.sealed and done.code == 0 and done.out != expected.out:
            return "a silently different number"
        return done.fault(self.ends)


PAIR = ("pair", "the dog laughs .", "the dog laugh .", "--format", "tsv", "--model")
SUITE = ("expand", "--quiet")
READS = {
    "checkpoint.pt": Read("model.pt", (*PAIR, "model.pt"), sealed=True),
    "checkpoint.safetensors": Read("model.safetensors", (*PAIR, "model.safetensors"), sealed=True),
    "pairs in jsonl": Read("pairs.jsonl", (*SUITE, "./pairs.jsonl")),
    "pairs in tsv.gz": Read("pairs.tsv.gz", (*SUITE, "./pairs.tsv.gz")),
    "a grammar": Read("grammar/one.jinja", (*SUITE, "./grammar")),
    "a lexicon": Read("grammar/lexicon.yaml", (*SUITE, "./grammar")),
    "CoNLL-U": Read("trees.conllu", ("data", "agreement", "trees.conllu", "-o", "examples.tsv")),
    "SyntaxGym JSON": Read("gym.json", (*SUITE, "./gym.json")),
    "manifest.json": Read("whole/manifest.json", ("table", "whole", "--format", "csv")),
    "verdicts.parquet": Read("whole/verdicts.parquet", ("table", "whole", "--format", "csv"), sealed=True),
    "sentences.parquet": Read("whole/sentences.parquet", (*RUN, "--out", "whole", "--resume"), sealed=True),
    "a vocabulary": Read("vocab.txt", ("lint", "marvin_linzen", "--vocab", "vocab.txt"), ends=(0, 1, 2)),
}
ATTACKS: dict[str, Callable[[random.Random, Path], str | None]] = {
    "kill a run": kill_a_run,
    "kill a training": kill_a_training,
    "full disk": full_disk,
    "two writers": two_writers,
    "clock backwards": clock_backwards,
    "read-only places": read_only,
    "hostile pickles": hostile_pickle,
    "template bombs": template_bomb,
    **READS,
}


def prepare(here: Path) -> None:
    """Make one file of each kind, a small model, and a run that nobody disturbed."""
    import campaign_files  # noqa: PLC0415 - lies beside this program

    campaign_files.write(here)
    for words in (
        (*TRAIN, "--out", "model.pt"),
        (*TRAIN, "--out", "model.safetensors"),
        (*RUN, "--out", "whole"),
    ):
        if (done := tseval(*words, cwd=here)).code:
            raise click.ClickException(f"tseval {' '.join(words)} failed: {done.err}")


@click.command()
@click.option(
    "--size", type=click.IntRange(min=1), default=20, show_default=True, help="Attacks of each kind."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--only", multiple=True, type=click.Choice(tuple(ATTACKS)), help="This kind; may be repeated.")
def command(size: int, seed: int, only: tuple[str, ...]) -> None:
    """Attack tseval, and print how much was survived."""
    import tseval.adapters  # noqa: PLC0415 - now, so that children need not
    import tseval.cli.pair  # noqa: PLC0415
    import tseval.cli.run  # noqa: PLC0415
    import tseval.cli.train.language_model  # noqa: PLC0415
    import tseval.evaluation  # noqa: F401, PLC0415

    rows, faults = [], []
    with tempfile.TemporaryDirectory() as name:
        prepared = Path(name, "prepared")
        prepared.mkdir()
        prepare(prepared)
        for kind in only or ATTACKS:
            survived = 0
            for i in range(size):
                here = Path(name, "here")
                shutil.copytree(prepared, here)
                fault = ATTACKS[kind](random.Random(f"{seed} {kind} {i}"), here)
                shutil.rmtree(here)
                survived += fault is None
                if fault is not None:
                    faults.append(f"{kind}, number {i} of seed {seed}: {fault}")
            rows.append((kind, size, survived))
            click.echo(f"{kind}: {survived} of {size}", err=True)
    click.echo(tabulate(rows, ["attack", "tried", "survived"], tablefmt="github"))
    for fault in faults:
        click.echo(fault, err=True)
    sys.exit(bool(faults))


if __name__ == "__main__":
    command()
