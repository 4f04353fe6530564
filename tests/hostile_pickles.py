"""Hostile pickles that would take memory or time or run code, and the ways in which torch files are read."""

import io
import os
import pickle
import struct
import zipfile
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

from tseval.adapters.native import open_checkpoint
from tseval.models.states import open_state
from tseval.runs import Run
from tseval.runs.reader import load_table

VOCABULARY = "vocab.txt"


class Payload:
    """An object that creates a folder when it is unpickled."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __reduce__(self):
        return os.mkdir, (self.trace,)


def read_checkpoint(path):
    """Read a file as `--model PATH` does."""
    open_checkpoint(str(path), {}, "cpu")


def read_published(path):
    """Read a file as `--model PATH --model-args vocab=FILE` does."""
    open_state(path, {"vocab": str(path.with_name(VOCABULARY))})


def number(value):
    length = value.bit_length() // 8 + 1
    content = value.to_bytes(length, "little", signed=True)
    return (
        b"\x8a" + bytes([length]) + content if length < 256 else b"\x8b" + struct.pack("<i", length) + content
    )


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def storage(key="0", kind="FloatStorage", numel=4):
    """Return a persistent id as `torch.save` writes it."""
    of_kind = b"ctorch\n" + kind.encode() + b"\n"
    return b"(" + text("storage") + of_kind + text(key) + text("cpu") + number(numel) + b"tQ"


def numbers(values):
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(kept=None, offset=0, shape=(4,), stride=(1,), metadata=b""):
    """Return the call that builds a tensor, as `torch.save` writes it."""
    place = (kept or storage()) + number(offset) + numbers(shape) + numbers(stride)
    hooks = b"\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + place + hooks + metadata + b"tR"


def weights(*values):
    """Return a dictionary of values under `weights`, so that the pickle starts like a tseval checkpoint."""
    head = text("format") + text("tseval-checkpoint") + text("version") + b"K\x01" + text("weights")
    entries = b"".join(text(f"w{i}") + value for i, value in enumerate(values))
    return b"\x80\x02}(" + head + b"}(" + entries + b"uu."


def call(name, *arguments):
    return b"c" + name.replace(".", "\n", 1).encode() + b"\n(" + b"".join(arguments) + b"tR"


LAUGHS = b"]q\x000" + b"".join(b"](" + b"h%c" % i * 20 + b"eq%c0" % (i + 1) for i in range(40)) + b"h%c" % 40
LARGE = storage("1", numel=40_000)
VIEW = tensor(b"h2", shape=(40_000,))
MKDIR = call("os.mkdir", text("executed"))
HUGE = 4 * 10**9
PICKLES = {
    "bytearray": weights(call("builtins.bytearray", number(HUGE))),
    "bytearray of python 2": weights(call("__builtin__.bytearray", number(HUGE))),
    "counter": weights(call("collections.Counter", text("x"))),
    "lone mark": b"\x80\x02}(.",
    "two lone marks": b"\x80\x02}((u.",
    "no dictionary to fill": b"\x80\x02}0(K\x01K\x02u.",
    "bad memo": b"\x80\x02}h\x07.",
    "far memo": b"\x80\x02}r\xff\xff\xff\xff.",
    "nothing on the stack": b"\x80\x02}00.",
    "no end": b"\x80\x02}",
    "odd items": b"\x80\x02}(K\x01u.",
    "list as a key": b"\x80\x02}]K\x01s.",
    "costly key": b"\x80\x02}N" + b"q\x00h\x00\x86" * 60 + b"Ns.",
    "deep lists": weights(b"]" * 50_000 + b"a" * 49_999),
    "deep tuples": weights(b"N" + b"\x85" * 50_000),
    "deep dictionaries": weights(b"}" + b"K\x01}" * 50_000 + b"s" * 50_000),
    "list in itself": weights(b"]q\x01h\x01a"),
    "dictionary in itself": b"\x80\x02}q\x01X\x01\x00\x00\x00ah\x01s.",
    "tuple in itself": weights(b"]q\x01h\x01\x85q\x02a0h\x02"),
    "laughs": weights(LAUGHS),
    "laughs of text": weights(text("x" * 100_000) + b"q\x010](" + b"h\x01" * 50_000 + b"e"),
    "huge number": weights(b"\x8b\xff\xff\xff\x7f"),
    "many digits": weights(b"L" + b"9" * 100_000 + b"L\n"),
    "large number": weights(number(1 << 100_000)),
    "huge text": weights(b"X\xff\xff\xff\xffx"),
    "huge bytes": weights(b"\x8e" + (2**62).to_bytes(8, "little")),
    "huge array of bytes": weights(b"\x96" + (2**62).to_bytes(8, "little")),
    "many marks": b"\x80\x02}" + b"(" * 150_000 + b".",
    "many lists": b"\x80\x02}" + b"]" * 150_000 + b".",
    "many memos": b"\x80\x02}" + b"".join(b"r" + struct.pack("<I", i) for i in range(150_000)) + b".",
    "code": weights(MKDIR),
    "code in a state": weights(b"ccollections\nOrderedDict\n)R(N}Vx\n" + MKDIR + b"stb"),
    "code by inst": b"(Vexecuted\nios\nmkdir\n.",
    "code by obj": b"(cos\nmkdir\nVexecuted\no.",
    "code by stack": b"\x80\x04" + text("os") + text("mkdir") + b"\x93(Vexecuted\ntR.",
    "code by extension": b"\x82\xf0(Vexecuted\ntR.",
    "code by extension of two bytes": b"\x83\xf0\x00(Vexecuted\ntR.",
    "code by extension of four bytes": b"\x84\xf0\x00\x00\x00(Vexecuted\ntR.",
    "code by eval": b"cbuiltins\neval\n(V__import__('os').mkdir('executed')\ntR.",
    "code by getattr": b"cbuiltins\ngetattr\n(cos\npath\nVos\ntR0cos\nmkdir\n(Vexecuted\ntR.",
    "code popped": b"cos\nmkdir\n(Vexecuted\ntR0]0I1\n.",
    "code in a key": b"\x80\x02}" + MKDIR + b"K\x01s.",
    "code with a long name": weights(call("os." + "x" * 100_000, text("executed"))),
    "control characters": weights(call("os.\x1b]0;PWN\x07", text("executed"))),
    "long key": b"\x80\x02}" + text("x" * 200_000) + b"K\x01s.",
    "long version": weights().replace(b"K\x01", text("x" * 9_000)),
    "persistent number": b"\x80\x02}K\x01Q.",
    "persistent text": b"\x80\x02}X\x01\x00\x00\x00aQ.",
    "persistent empty": b"\x80\x02})Q.",
    "no such storage": weights(tensor(storage("7"))),
    "storage elsewhere": weights(tensor(storage("../data.pkl"))),
    "storage too short": weights(tensor(storage(numel=5), shape=(5,))),
    "storage too long": weights(tensor(storage(numel=3), shape=(3,))),
    "storage of no length": weights(tensor(storage(numel=-4))),
    "storage without end": weights(tensor(storage(numel=2**63))),
    "storage of another type": weights(tensor(storage(kind="DoubleStorage"))),
    "storage of complex numbers": weights(tensor(storage(kind="ComplexFloatStorage", numel=2))),
    "storage of two types": weights(tensor(), tensor(storage(kind="IntStorage"))),
    "storage alone": weights(storage()),
    "state of a list": weights(b"](Vx\nK\x01dN\x86b"),
    "state of a function": weights(b"ctorch._utils\n_rebuild_tensor_v2\n}b"),
    "call of a list": weights(b"])R"),
    "function alone": weights(b"cbuiltins\neval\n"),
    "negative stride": weights(tensor(offset=3, stride=(-1,))),
    "negative offset": weights(tensor(offset=-1, shape=(2,))),
    "negative size": weights(tensor(shape=(-1,))),
    "sizes beyond": weights(tensor(shape=(5,))),
    "sizes without end": weights(tensor(shape=(2**70,))),
    "product without end": weights(tensor(shape=(2**40, 2**40, 0), stride=(0, 0, 0))),
    "rank without end": weights(tensor(shape=(1,) * 200, stride=(1,) * 200)),
    "view of one number": weights(tensor(shape=(10**6, 10**6), stride=(0, 0))),
    "overlapping views": weights(VIEW.replace(b"h2", LARGE + b"q2"), *[VIEW] * 4_999),
    "negated": weights(tensor(metadata=b"}" + text("neg") + b"\x88s")),
    "conjugated": weights(tensor(metadata=b"}" + text("conj") + b"\x88s")),
    "tensor of a list": weights(call("torch._utils._rebuild_tensor_v2", b"]")),
    "parameter of itself": weights(call("torch._utils._rebuild_parameter", b"]q\x01")),
    "size as a device": weights(call("torch.Size", numbers([HUGE]))),
    "another instruction": b"\x80\x05}\x97.",
    "text that is none": b"\x80\x02}X\x01\x00\x00\x00\xffK\x01s.",
    "surrogates": b"\x80\x02}X\x03\x00\x00\x00\xed\xa0\x80K\x01s.",
}  # fmt: skip


def in_zip(pickled):
    """Return a file in torch's format, with one storage of four numbers and one of 40,000."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/data/0", struct.pack("<4f", 1, 2, 3, 4))
        archive.writestr("archive/data/1", bytes(160_000))
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


def in_old_format(pickled):
    head = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    kept = pickle.dumps(["0"], 2) + struct.pack("<q4f", 4, 1, 2, 3, 4)
    return b"".join(pickle.dumps(part, 2) for part in head) + pickled + kept


def as_module(pickled):
    """Return the same file, but its pickle does not start with a dictionary, as in a published model."""
    return in_zip(pickled.replace(b"\x80\x02}", b"\x80\x02N0}", 1))


FORMS = {"zip": in_zip, "old": in_old_format, "module": as_module}


def write_all(folder, form):
    """Write every hostile pickle in one form; return the files."""
    folder.mkdir()
    Path(folder, VOCABULARY).write_text("<eos> <unk> the author")
    paths = [Path(folder, f"{name.replace(' ', '-')}.pt") for name in PICKLES]
    for path, pickled in zip(paths, PICKLES.values(), strict=True):
        path.write_bytes(FORMS[form](pickled))
    return paths


def read_verdicts(path):
    """Read a file as the verdicts of a run whose manifest has the file's digest."""
    content = path.read_bytes()
    counts = SimpleNamespace(
        **dict.fromkeys(("contrasts", "correct", "tied", "undecidable", "n_half_known"), ANY)
    )
    manifest: Any = SimpleNamespace(
        files={"verdicts.parquet": sha256(content).hexdigest()},
        counts=counts,
        key=SimpleNamespace(score="sentence"),
        suite=SimpleNamespace(lexicon=None),
    )
    with TemporaryDirectory() as folder:
        Path(folder, "verdicts.parquet").write_bytes(content)
        load = partial(load_table, Path(folder), manifest, "verdicts.parquet")
        Run("run", manifest, load, load).table()
