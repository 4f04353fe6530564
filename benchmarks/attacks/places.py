"""Places where nothing can be written, or no more, and little of what a process needs."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING

from attacks.commands import tseval
from attacks.killed import model_differs, run_differs
from attacks.prepared import CLASSIFY, EXPANDED, PAIR, PUBLISH, RUN, TRAIN
from attacks.registry import NotHereError, attack
from attacks.seclusion import mount, secluded

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

NOBODY = 65534


@attack("files that may not grow")
def full_files(draw: random.Random, here: Path) -> str | None:
    """Let no file grow beyond a random size; with room again, the run goes on."""
    size = int(2 ** draw.uniform(10, 14))  # a message must still go into its file

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = tseval(*RUN, "--out", "run", cwd=here, before=limit)
    if fault := done.fault():
        return f"{size} bytes: {fault}"
    again = tseval(*RUN, "--out", "run", "--resume", cwd=here)
    return run_differs(here / "run", here / "whole") if again.code == 0 else f"then room: {again.err[-200:]}"


@attack("a full disk")
@secluded
def full_disk(draw: random.Random, here: Path) -> str | None:
    """Write to a disk with room for little, or for few files; with room again, the same command goes on."""
    disk = here / "disk"
    mount(disk, draw.choice([f"size={draw.randint(1, 40) * 4096}", f"nr_inodes={draw.randint(2, 14)}"]))
    words, differs = draw.choice([
        ((*RUN, "--out", "disk/run", "--resume"), lambda: run_differs(disk / "run", here / "whole")),
        ((*TRAIN, "--out", "disk/m.pt", "--resume"), lambda: model_differs(disk / "m.pt", here / "model.pt")),
        ((*CLASSIFY, "--out", "disk/m.pt", "--resume"), lambda: model_differs(disk / "m.pt",
        here / "classifier.pt")),
        ((*PUBLISH[:-1], "disk/published"), lambda: None),
        (("expand", "./grammar", "--quiet", "-o", "disk/items.tsv"), lambda: None),
        (("convert", "legacy.pt", "--vocab", "words.txt", "-o", "disk/converted.pt"), lambda: None),
    ])  # fmt: skip
    done = tseval(*words, cwd=here)
    if fault := done.fault():
        return fault
    if left := [str(path) for path in disk.rglob("*.partial")]:
        return f"left behind: {left}"
    mount(disk, "remount,size=100m,nr_inodes=1000")
    if done.code == 2 and (again := tseval(*words, cwd=here)).code:
        return f"then room: {again.err[-200:]}"
    return differs()


@attack("read-only places")
@secluded
def read_only(draw: random.Random, here: Path) -> str | None:
    """Write where nothing can be written; read and score where only the outcome may be."""
    disk = here / "disk"
    mount(disk, "size=100m")
    for name in ("whole", "half", "published"):
        shutil.copytree(here / name, disk / name)
    shutil.copytree(here / ".cache", disk / ".cache")
    (disk / "whole/.lock").touch()  # as a kill at the very end leaves it
    mount(disk, "remount,ro")
    if draw.random() < 0.3:
        return _with_read_only_cache(here)
    out = draw.choice(["/proc/run", "/sys/run", "model.pt", "disk/run", "disk/half"])
    words = draw.choice([
        (*RUN, "--resume", "--out", out), (*TRAIN, "--out", f"{out}/m.pt"), (*PUBLISH[:-1],
        f"{out}/published"),
        ("expand", "./grammar", "--quiet", "-o", f"{out}/items.tsv"), (*PUBLISH[:-1], "disk/published"),
    ])  # fmt: skip
    return tseval(*words, cwd=here).refusal()


def _with_read_only_cache(here: Path) -> str | None:
    """Score a grammar that is not in the cache, and read a run that cannot be cleared up."""
    (here / "grammar/one.jinja").write_text((here / "grammar/one.jinja").read_text() + "\n")
    shutil.rmtree(here / ".cache")
    (here / ".cache").symlink_to(here / "disk/.cache")
    done = tseval(*EXPANDED, "--out", "run", cwd=here)
    if done.code:
        return f"with a read-only cache: {done.err[-200:]}"
    read = tseval("table", "disk/whole", cwd=here)
    if read.code:
        return f"a read-only run: {read.err[-200:]}"
    return run_differs(here / "run", here / "expanded")


READERS: dict[str, tuple[str, ...]] = {
    "grammar": ("expand", "./grammar", "--quiet"),
    "whole": ("table", "whole"),
    "board": ("table", "./board"),
    "pairs.tsv": ("expand", "./pairs.tsv"),
    "model.pt": (*PAIR, "model.pt"),
    "model.arpa": (*PAIR, "ngram:model.arpa"),
    "words.txt": (*PAIR, "legacy.pt", "--model-args", "vocab=words.txt"),
}


@attack("another user's places")
def closed(draw: random.Random, here: Path) -> str | None:
    """Read and write where the rights are another user's."""
    if os.getuid() != 0:
        raise NotHereError("only root can become another user")
    here.chmod(0o755)
    (here / "open").mkdir()
    (here / "open").chmod(0o777)
    secret = draw.choice([
        "pairs.tsv", "model.pt", "whole/manifest.json", "whole/verdicts.parquet", "grammar/one.jinja",
        "grammar/lexicon.yaml", "board/board.json", "model.arpa", "words.txt", "whole", "grammar", "board",
    ])  # fmt: skip
    words: tuple[str, ...] = draw.choice([
        (*RUN, "--out", "run"), (*RUN, "--out", "whole", "--resume"), (*RUN, "--out", "half", "--resume"),
        (*TRAIN, "--out", "mine.pt"), PUBLISH,
    ])  # fmt: skip
    if draw.random() < 0.7:
        (here / secret).chmod(0)
        words = READERS[secret.partition("/")[0]]
    return tseval(*words, cwd=here, before=_become_nobody).fault()


def _become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


COMMANDS = (
    (*RUN, "--out", "run"), (*TRAIN, "--out", "mine.pt"), ("table", "whole", "./board"),
    ("expand", "./grammar"), (*PAIR, "model.safetensors"), PUBLISH, ("expand", "./pairs.tsv.gz"),
)  # fmt: skip


@attack("few open files")
def few_files(draw: random.Random, here: Path) -> str | None:
    """Let a command open few files at a time: it ends as ever, or says so."""
    few = draw.randint(4, 40)
    return _limited(draw, here, resource.RLIMIT_NOFILE, lambda: few)


@attack("little memory")
def little_memory(draw: random.Random, here: Path) -> str | None:
    """Leave a command little more memory than it has when it begins."""
    if sys.platform != "linux":
        raise NotHereError("only Linux says how much memory a process has")
    more = int(2 ** draw.uniform(23, 30))
    return _limited(draw, here, resource.RLIMIT_AS, lambda: _addresses() + more)


def _addresses() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _limited(draw: random.Random, here: Path, what: int, limit: Callable[[], int]) -> str | None:
    words = draw.choice(COMMANDS)
    expected = tseval(*words, cwd=here)
    for made in ("run", "mine.pt"):
        shutil.rmtree(here / made, ignore_errors=True)
        (here / made).unlink(missing_ok=True)
    done = tseval(*words, cwd=here, before=lambda: resource.setrlimit(what, (limit(),) * 2))
    if done.code == 0 and done.out != expected.out:
        return f"{words[0]}: another result"
    fault = done.fault()
    return f"{words[0]}: {fault}" if fault else None


@attack("two writers")
def two_writers(draw: random.Random, here: Path) -> str | None:
    """Start two runs into one directory: one is done, the other says that it may not write."""
    first = os.fork()
    if first == 0:
        (here / "other").mkdir()
        words = (str(here / word) if (here / word).is_file() else word for word in RUN)
        os._exit(tseval(*words, "--out", str(here / "run"), cwd=here / "other").code)

    time.sleep(draw.uniform(0, 0.3))
    done = tseval(*RUN, "--out", "run", cwd=here)
    other = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    if sorted([done.code, other]) != [0, 2]:
        return f"exit codes {done.code} and {other}: {done.err[-200:]}"
    return done.fault() or run_differs(here / "run", here / "whole")
