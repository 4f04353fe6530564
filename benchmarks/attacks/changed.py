"""Files with something changed: the same result, or a refusal; where no digest tells, another result."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from attacks.commands import Ended, tseval
from attacks.killed import model_differs, run_differs
from attacks.prepared import PAIR, PUBLISH, RUN, TRAIN
from attacks.registry import NotHereError, attack

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

# What files were broken by, or might be.
PIECES = (
    b"", b"\t", b"\n", b"\r", b'"', b"\\", b"\0", b"\x1b[2J", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"\\ud800",
    b"NaN", b"-Infinity", b"1e999", b"null", b"true", b"-1", b"0", b"9" * 19, b"9" * 5000, b"[" * 300,
    b'{"a":' * 300,
    b"x" * 3000, b"x " * 3000, b"\n" * 300, b"{{", b"}}", b"{%", b"%}", b"---\n", b"*x", b"&x", b": ", b"- ",
)  # fmt: skip


def mutated(draw: random.Random, content: bytes) -> bytes:
    """Flip a bit, cut, insert, repeat or overwrite somewhere; once or a few times."""
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        place, size = draw.randrange(len(content)), draw.randrange(1, 64)
        before, after = content[:place], content[place:]
        content = draw.choice([
            before + bytes([after[0] ^ (1 << draw.randrange(8))]) + after[1:], before + after[size:],
            before + draw.randbytes(size) + after, before + after[:size] + after,
            before + draw.randbytes(min(size, len(after))) + after[size:],
            before + draw.choice(PIECES) + after[size % 8 :],
            content[: -size % len(content)], before,
        ]) or b"\0"  # fmt: skip
    return content


def expected_of(here: Path, words: tuple[str, ...]) -> Ended:
    """Give how a command ends where nothing was changed; it must end well."""
    return _expected(here.with_name("prepared"), words)


@cache
def _expected(prepared: Path, words: tuple[str, ...]) -> Ended:
    place = prepared.with_name("expected")
    shutil.copytree(prepared, place)
    done = tseval(*words, cwd=place)
    shutil.rmtree(place)
    if done.code == 2 and "pip install" in done.err:
        raise NotHereError(done.err)
    assert done.code in (0, 1), f"{words} fails even unchanged: {done.err}"
    return done


@dataclass(frozen=True)
class Read:
    """A kind of file, and the command that reads it.

    Attributes:
        path: The file, in the prepared folder; with a star, the first of them.
        command: What reads it.
        sealed: Whether a digest or a checksum tells every change: what is printed must then be the same.
        told: What is said where no checksum could tell, so that a change may go unnoticed.
        differs: Says whether what the command made is not what it makes of the unchanged file.
        ends: Exit codes that are no fault.
    """

    path: str
    command: tuple[str, ...]
    sealed: bool = False
    told: str | None = None
    differs: Callable[[Path], str | None] | None = None
    ends: tuple[int, ...] = (0, 2)

    def __call__(self, draw: random.Random, here: Path) -> str | None:
        """Change the file, and read it."""
        expected = expected_of(here, self.command)
        path = next(here.glob(self.path))
        content = path.read_bytes()
        path.write_bytes(changed := mutated(draw, content))
        done = tseval(*self.command, cwd=here)
        if done.code == 0 and changed != content:
            if self.told and self.told not in done.err:
                return f"loaded without a word: {done.err[-200:]}"
            if self.sealed and done.out != expected.out:
                return "a silently different result"
            if self.differs and (fault := self.differs(here)):
                return fault
        return done.fault(self.ends)


EXPAND = ("expand", "--quiet")
WORDS = ("--model-args", "vocab=words.txt")
for _name, _read in {
    "checkpoint.pt": Read("model.pt", (*PAIR, "model.pt"), sealed=True),
    "checkpoint.safetensors": Read("model.safetensors", (*PAIR, "model.safetensors"), sealed=True),
    "a published pickle, zip": Read("published.pt", (*PAIR, "published.pt", *WORDS), sealed=True),
    "a published pickle, legacy": Read("legacy.pt", (*PAIR, "legacy.pt", *WORDS), told="`tseval convert`"),
    "its vocabulary": Read("words.txt", (*PAIR, "published.pt", *WORDS)),
    "a training's resume file": Read(
        "half.pt.resume", (*TRAIN, "--out", "half.pt", "--resume"),
        differs=lambda here: model_differs(here / "half.pt", here / "model.pt"),
    ),
    "parts of a run": Read(
        "half/parts/*", (*RUN, "--out", "half", "--resume"), sealed=True,
        differs=lambda here: run_differs(here / "half", here / "whole"),
    ),
    "manifest.json": Read("whole/manifest.json", ("table", "whole", "--format", "csv"), sealed=True),
    "verdicts.parquet": Read("whole/verdicts.parquet", ("table", "whole", "--format", "csv"), sealed=True),
    "sentences.parquet": Read("whole/sentences.parquet", (*RUN, "--out", "whole", "--resume"), sealed=True),
    "pairs in jsonl": Read("pairs.jsonl", (*EXPAND, "./pairs.jsonl")),
    "pairs in tsv": Read("pairs.tsv", (*EXPAND, "./pairs.tsv")),
    "pairs in tsv.gz": Read("pairs.tsv.gz", (*EXPAND, "./pairs.tsv.gz"), sealed=True),
    "pairs in parquet": Read("examples.parquet", (*EXPAND, "./examples.parquet")),
    "SyntaxGym JSON": Read("gym.json", (*EXPAND, "./gym.json")),
    "a grammar": Read("grammar/one.jinja", (*EXPAND, "./grammar")),
    "a lexicon": Read("grammar/lexicon.yaml", (*EXPAND, "./grammar")),
    "CoNLL-U": Read("trees.conllu", ("data", "agreement", "trees.conllu", "-o", "examples.tsv")),
    "a vocabulary": Read("vocab.txt", ("lint", "./grammar", "--vocab", "vocab.txt"), ends=(0, 1, 2)),
    "an ARPA file": Read("model.arpa", (*PAIR, "ngram:model.arpa")),
    "a board": Read("board/board.json", ("table", "./board")),
    "a published board": Read("published/board.json", PUBLISH),
    "a published page": Read("published/README.md", PUBLISH),
    "a published manifest": Read("published/entries/srn/manifest.json", PUBLISH),
    "a zoo's record": Read("zoo/zoo.json", PUBLISH),
    "a recipe": Read("recipe.yaml", PUBLISH),
    "a learning curve": Read("model.curves.parquet", ("train", "curves", "model.curves.parquet", "-o",
    "curves.svg")),
    "a folder of transformers": Read("gpt2/*", (*PAIR, "hf:gpt2")),
}.items():  # fmt: skip
    _of_zoo = _read.command == PUBLISH
    attack(_name, cheap=not _of_zoo, needs_zoo=_of_zoo)(_read)
