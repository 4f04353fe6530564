"""Follow a page of the documentation exactly: write its files and run its commands."""

import os
import re
import shlex
from dataclasses import dataclass
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

from in_process import call, run_process

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("leaderboards/**/*.md")]

CODE = re.compile(r"^```.*?^```$|(?:^    [^\n]*\n)+", re.MULTILINE | re.DOTALL)
# A command, possibly after a prompt, a pipe, an opening bracket, variable settings or `uvx`.
CALL = re.compile(r"^(?:\$ )?(?:.*?(?:\$\(|[|&] )|uvx --from \S+ )?((?:\w+=\S+ )*)tseval\s+(.*)")
# ```language, then, if the block is a file, its path and perhaps `append`.
BLOCK = re.compile(r"^```(\w+)(?: (\S+)( append)?)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page_id(path: Path) -> str:
    """Return the path of a page in the repository."""
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page, the output that the page shows, and the real output."""

    line: str
    quoted: str
    printed: str

    def keeps_its_word(self) -> bool:
        """Compare both outputs as doctest does: `...` on the page matches anything."""
        return OutputChecker().check_output(self.quoted + "\n", self.printed + "\n", ELLIPSIS)


def follow(page: Path, folder: Path, environment: dict[str, str] | None = None) -> list[Command]:
    """Write the named blocks of a page into a folder, and run its console blocks there, in order.

    Args:
        page: The page.
        folder: The folder.
        environment: Environment of the commands. Without it, commands of tseval alone run in this process.

    Raises:
        AssertionError: A command failed. The error has its message.
    """
    write_files(page, folder)
    commands = []
    for language, name, _, content in BLOCK.findall(page.read_text("utf-8")):
        if language == "console" and not name:
            commands += [_run(step, folder, environment) for step in content.removeprefix("$ ").split("\n$ ")]
    return commands


def write_files(page: Path, folder: Path) -> None:
    """Write the named blocks of a page into a folder."""
    for _, name, append, content in BLOCK.findall(page.read_text("utf-8")):
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text((path.read_text("utf-8") if append else "") + content, "utf-8")


def offline_pip(folder: Path) -> dict[str, str]:
    """Return an environment in which pip installs into the folder `site`, offline, and Python finds it there.

    pip reads these variables as options. "0" is correct: pip stores it in its option `build_isolation`.
    """
    site = str(folder / "site")
    return os.environ | {
        "PIP_TARGET": site, "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONPATH": site,
        "XDG_CACHE_HOME": str(folder / "cache"),
    }  # fmt: skip


# `tseval ARGUMENTS`, possibly redirected into a file, without other shell syntax.
PLAIN = re.compile(r"tseval ([^|&;$`<>]*)(?:> (\S+))?")


def _run(step: str, folder: Path, environment: dict[str, str] | None) -> Command:
    line, _, quoted = step.rstrip("\n").partition("\n")
    if environment is None and (plain := PLAIN.fullmatch(line)):
        done = call(*shlex.split(plain[1]), cwd=folder)
        if plain[2]:
            (folder / plain[2]).write_text(done.stdout, "utf-8")
            done.stdout = ""
    else:
        command = ["bash", "-o", "pipefail", "-c", line]
        done = run_process(command, env=environment, cwd=folder)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    # A terminal shows both streams in order of time, so print first the stream that the page shows first.
    first = done.stderr.partition("\n")[0]
    both = (done.stderr, done.stdout) if first and quoted.startswith(first) else (done.stdout, done.stderr)
    return Command(line, quoted.rstrip("\n"), "".join(both).rstrip("\n"))
