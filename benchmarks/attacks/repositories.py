"""Folders in which a program lies in wait: for git, for Python, for a shell that completes a line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING

from attacks.commands import tseval
from attacks.prepared import BOARD, SWEEP
from attacks.registry import NotHereError, attack

if TYPE_CHECKING:
    import random
    from pathlib import Path

MARK = "EXECUTED"
SETTINGS = (
    (("core.fsmonitor", "{}"),), (("log.showSignature", "true"), ("gpg.program", "{}")),
    (("diff.external", "{}"),), (("filter.x.clean", "{}"), ("filter.x.required", "true")),
    (("core.hooksPath", "hooks"),), (("core.sshCommand", "{}"),), (("core.pager", "{}"),),
    (("diff.x.textconv", "{}"),), (("core.editor", "{}"),), (("extensions.partialClone", "origin"),
    ("remote.origin.url", "ext::{}"), ("remote.origin.promisor", "true"), ("protocol.ext.allow", "always")),
)  # fmt: skip


def git(folder: Path, *words: str) -> str:
    """Do something in a repository."""
    named = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", *named, *words], cwd=folder, capture_output=True, text=True, check=True,  # noqa: S607
    )  # fmt: skip
    return done.stdout.strip()


def program(here: Path) -> Path:
    """Write a program that leaves a mark."""
    file = here / "program"
    file.write_text(f"#!/bin/sh\ntouch '{here / MARK}'\nexit 1\n")
    file.chmod(0o755)
    return file


@attack("hostile repositories", cheap=True)
def repository(draw: random.Random, here: Path) -> str | None:
    """Check and build a board in a repository whose configuration names programs."""
    if shutil.which("git") is None:
        raise NotHereError("git is not installed")
    clone, file = here / "clone", program(here)
    clone.mkdir()
    shutil.copytree(here / BOARD, clone / "board")
    git(clone, "init", "--quiet", "--initial-branch", "main")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "A board")
    git(clone, "branch", "base")
    for settings in draw.sample(SETTINGS, draw.randint(1, 3)):
        for name, value in settings:
            git(clone, "config", name, value.format(file))
    (clone / ".git/info").mkdir(exist_ok=True)
    (clone / ".git/info/attributes").write_text("* filter=x diff=x\n")
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (clone / ".git/hooks").mkdir(exist_ok=True)
        shutil.copy(file, clone / ".git/hooks" / hook)
    (clone / "board/README.md").touch()
    way = draw.choice(["as it is", "included", "gitfile", "embedded"])
    if way == "included":
        (clone / ".git/config").rename(clone / ".git/other")
        (clone / ".git/config").write_text("[include]\n\tpath = other\n")
    elif way == "gitfile":
        (clone / ".git").rename(here / "elsewhere")
        (clone / ".git").write_text(f"gitdir: {here / 'elsewhere'}\n")
    elif way == "embedded":
        shutil.copytree(clone / ".git", clone / "board", dirs_exist_ok=True)
    checked = tseval("board", "check", "clone/board", "--changed", "base", cwd=here)
    built = tseval("board", "build", "clone/board", "-o", "site", cwd=here)
    if (here / MARK).exists():
        return f"executed ({way})"
    return checked.fault((0, 1, 2)) or built.fault()


@attack("hostile modules")
def modules(draw: random.Random, here: Path) -> str | None:
    """Sweep in a folder with a Python file of the names that are imported."""
    known = sorted({*sys.stdlib_module_names, *packages_distributions(), "tseval", "sitecustomize"})
    for name in draw.sample(known, len(known) // 2):
        if name.isidentifier():
            (here / f"{name}.py").write_text(
                f"open({str(here / MARK)!r}, 'w').close()\nraise SystemExit(9)\n"
            )
    done = tseval(*SWEEP, "--out", "swept", cwd=here)
    return "executed" if (here / MARK).exists() else done.fault((0,))


@attack("a line completed in a hostile folder", cheap=True)
def completed(draw: random.Random, here: Path) -> str | None:
    """Press TAB where files are pipes, devices, deep or no text."""
    folder = here / "sent"
    folder.mkdir()
    name = draw.choice(["x.jinja", "x.jsonl", "manifest.json"])
    kind = draw.choice(["pipe", "device", "bytes", "deep", "long", "crowd"])
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "device":
        (folder / name).symlink_to(draw.choice(["/dev/zero", "/dev/random", "/dev/stdin"]))
    elif kind == "crowd":
        for number in range(draw.randint(1, 20_000)):
            (folder / f"{number}.jinja").touch()
    else:
        content = {"bytes": draw.randbytes(1 << 20), "deep": b"[" * draw.randint(1, 10**6),
                   "long": b'{"suite": {"name": ' + b"9" * draw.randint(1, 10**5) + b"}}"}[kind]  # fmt: skip
        (folder / name).write_bytes(content)
    line = f"tseval run --suite sent {draw.choice(['--by', '--case', '--suite', '--model'])} "

    def ask() -> None:
        os.environ.update(_TSEVAL_COMPLETE="zsh_complete", COMP_WORDS=line, COMP_CWORD=str(line.count(" ")))

    done = tseval(cwd=here, before=ask)
    if done.err:
        return f"{kind}: said {done.err[-200:]}"
    return f"{kind}: took {done.seconds:.1f} s" if done.seconds > 5 else done.fault((0, 1))
