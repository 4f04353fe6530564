"""Hostile pickles, and folders with code: nothing in them may be executed."""

from __future__ import annotations

import io
import json
import pickle
import re
import struct
import zipfile
from typing import TYPE_CHECKING

from attacks.commands import tseval
from attacks.prepared import PAIR, TRAIN
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from pathlib import Path

PLANTED = "PLANTED"  # what appears where something was executed
_MAGIC = 0x1950A86A20F9469CFC6C
# What a pickle may call, with its argument: what shows that it was executed, and what takes memory.
EXECUTED = (
    ("os", "mkdir", PLANTED), ("os", "system", f"mkdir {PLANTED}"), ("posix", "mkdir", PLANTED),
    ("builtins", "exec", f"import os; os.mkdir({PLANTED!r})"),
    ("builtins", "eval", f"__import__('os').mkdir({PLANTED!r})"),
)  # fmt: skip
GREEDY = (("builtins", "bytearray", 6 * 10**9), ("builtins", "list", 6 * 10**9))


def text(value: str) -> bytes:
    """Write a text as a pickle's instruction."""
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def call(draw: random.Random, calls: tuple[tuple[str, str, str | int], ...] = EXECUTED + GREEDY) -> bytes:
    """Write a call, in one of the ways that pickles have for it."""
    module, name, argument = draw.choice(calls)
    given = text(argument) if isinstance(argument, str) else pickle.dumps(argument, 2)[2:-1]
    named = f"{module}\n{name}\n".encode()
    return draw.choice([
        b"c" + named + given + b"\x85R",
        text(module) + text(name) + b"\x93" + given + b"\x85R",
        b"(" + given + b"i" + named,
        b"(c" + named + given + b"o",
    ])  # fmt: skip


def hidden(draw: random.Random, call: bytes) -> bytes:
    """Write a pickle that makes a call, alone or somewhere in data like that of a checkpoint."""
    for _ in range(draw.randrange(4)):
        call = draw.choice(
            [b"](" + call + b"e", call + b"\x85", b"}(" + text("deep") + call + b"u", b"N" + call + b"\x86"]
        )
    like_ours = b"}(" + text("format") + text("tseval-checkpoint") + text("version") + b"K\x01"
    field = text(draw.choice(["weights", "training", "vocabulary", "sizes"]))
    return b"\x80\x02" + draw.choice([call, like_ours + field + call + b"u", b"N0" + call]) + b"."


def in_zip(pickled: bytes, more: dict[str, bytes] | None = None) -> bytes:
    """Put a pickle where torch puts it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {
            "data.pkl": pickled,
            "data/0": bytes(16),
            "version": b"3\n",
            **(more or {}),
        }.items():
            archive.writestr(f"archive/{name}", content)
    return buffer.getvalue()


def in_old_format(pickled: bytes) -> bytes:
    """Put a pickle where torch put it until 2020."""
    head = (_MAGIC, 1001, {"little_endian": True})
    return b"".join(pickle.dumps(part, 2) for part in head) + pickled + pickle.dumps([], 2)


def corrupted(draw: random.Random, content: bytes) -> bytes:
    """Let a sound pickle name something hostile in the place of a class or a function that torch has."""
    names = list(re.finditer(rb"c(?:torch|collections)[\w.]*\n[\w.]+\n", content))
    found = draw.choice(names)
    module, name, _ = draw.choice(EXECUTED + GREEDY)
    return content[: found.start()] + f"c{module}\n{name}\n".encode() + content[found.end() :]


def refused(here: Path, words: tuple[str, ...]) -> str | None:
    """Say what is wrong, where a command must refuse a file and leave no trace."""
    before = _names(here)
    done = tseval(*words, cwd=here)
    if (here / PLANTED).exists():
        return "executed"
    if appeared := _names(here) - before - {".out", ".err"}:
        return f"made {sorted(appeared)}"
    return done.refusal()


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def reader(draw: random.Random, here: Path, content: bytes) -> tuple[str, ...]:
    """Put a file where a model, a vocabulary, or a training's state is expected; give what reads it."""
    (here / "hostile.pt").write_bytes(content)
    (here / "half.pt.resume").write_bytes(content)
    with_words = (*PAIR, "hostile.pt", "--model-args", "vocab=words.txt")
    return draw.choice([
        (*PAIR, "hostile.pt"), with_words, with_words, (*TRAIN, "--out", "half.pt", "--resume"),
        ("convert", "hostile.pt", "--vocab", "words.txt", "-o", "converted.pt"),
        ("lint", "./grammar", "--vocab", "hostile.pt"),
    ])  # fmt: skip


@attack("hostile pickles, zip", cheap=True)
def hostile_zip(draw: random.Random, here: Path) -> str | None:
    """Give a pickle that calls something, in torch's zip file."""
    return refused(here, reader(draw, here, in_zip(hidden(draw, call(draw)))))


@attack("hostile pickles, legacy", cheap=True)
def hostile_legacy(draw: random.Random, here: Path) -> str | None:
    """Give one in torch's old format, or as it is."""
    pickled = hidden(draw, call(draw))
    return refused(here, reader(draw, here, draw.choice([in_old_format(pickled), pickled, pickled[2:]])))


@attack("hostile published pickles", cheap=True)
def hostile_published(draw: random.Random, here: Path) -> str | None:
    """Give a published model with another function in it."""
    if draw.random() < 0.5:
        content = corrupted(draw, (here / "legacy.pt").read_bytes())
    else:
        with zipfile.ZipFile(here / "published.pt") as archive:
            parts = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
        content = in_zip(corrupted(draw, parts.pop("data.pkl")), parts)
    return refused(here, reader(draw, here, content))


@attack("folders with code")
def code(draw: random.Random, here: Path) -> str | None:
    """Open a folder of transformers that brings code along, or a hostile pickle for weights.

    Such weights are read by torch's own reader, which executes nothing but may be made to take memory.
    """
    folder = here / "gpt2"
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(here / PLANTED)!r})\n")
    named = dict.fromkeys(("AutoConfig", "AutoModelForCausalLM", "AutoModelForMaskedLM"), "own.Own")
    edits: dict[str, dict[str, object]] = {"config.json": {}, "tokenizer_config.json": {}}
    if draw.random() < 0.7:
        edits["config.json"]["auto_map"] = named
    if draw.random() < 0.5:
        edits["config.json"]["model_type"] = "own"
    if draw.random() < 0.5:
        edits["tokenizer_config.json"] |= {
            "auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]},
            "tokenizer_class": "Own",
        }
    for name, changes in edits.items():
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(content | changes))
    if draw.random() < 0.5:
        (folder / "model.safetensors").unlink()
        pickled = hidden(draw, call(draw))
        (folder / "pytorch_model.bin").write_bytes(
            draw.choice([in_zip(pickled), in_old_format(pickled), pickled])
        )
    done = tseval(*PAIR, f"{draw.choice(['hf', 'mlm'])}:gpt2", cwd=here)
    return "executed" if (here / PLANTED).exists() else done.fault()
