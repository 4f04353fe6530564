"""Small files of strangers that ask for much: shared parts, odd numbers, claims, wide tables, expressions."""

from __future__ import annotations

import json
import pickle
import shutil
import struct
from typing import TYPE_CHECKING, Any

from attacks.commands import tseval
from attacks.pickles import in_old_format, in_zip
from attacks.prepared import PAIR
from attacks.registry import NotHereError, attack

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path


def shared(draw: random.Random) -> object:
    """Make a structure in which each level refers to the one before several times."""
    depth, width = draw.randint(25, 2_000), draw.randint(2, 6)
    value: Any = draw.choice([["a", "b"], {"a": 0, "b": 1}, (), {}, "x", 7])
    kind = draw.choice(["dict", "list", "tuple", "mixed"])
    for level in range(depth):
        form = kind if kind != "mixed" else draw.choice(["dict", "list", "tuple"])
        names = [draw.choice([f"w{i}", f"vocab{i}", f"{level}-{i}", str(i)]) for i in range(width)]
        value = dict.fromkeys(names, value) if form == "dict" else [value] * width
        value = tuple(value) if form == "tuple" else value
    return draw.choice([value, {"vocab": value}, {"model": value, "word2idx": {"a": 0, "b": 1}}])


def flat(value: object) -> bytes:
    """Pickle a structure of any depth: Python's own pickler would call itself too often."""
    out, places, waiting = [b"\x80\x02"], dict[int, int](), [(value, False)]
    while waiting:
        one, entered = waiting.pop()
        if isinstance(one, str):
            out.append(b"X" + struct.pack("<I", len(one.encode())) + one.encode())
        elif isinstance(one, int):
            out.append(pickle.dumps(one, 2)[2:-1])
        elif id(one) in places and not entered:
            out.append(b"j" + struct.pack("<I", places[id(one)]))
        elif entered:
            out.append(b"d" if isinstance(one, dict) else b"l" if isinstance(one, list) else b"t")
            places[id(one)] = len(places)
            out.append(b"r" + struct.pack("<I", places[id(one)]))
        else:
            out.append(b"(")
            waiting.append((one, True))
            parts = [part for pair in one.items() for part in pair] if isinstance(one, dict) else list(one)  # type: ignore[call-overload] # a list or a tuple
            waiting += [(part, False) for part in reversed(parts)]
    return b"".join([*out, b"."])


@attack("shared pickles", cheap=True)
def shared_pickle(draw: random.Random, here: Path) -> str | None:
    """Give a model or a vocabulary whose parts are shared at every level."""
    content = flat(shared(draw))
    if draw.random() < 0.5:
        (here / "m.pt").write_bytes(draw.choice([in_zip, in_old_format])(content))
        return tseval(*PAIR, "m.pt", cwd=here).fault()
    (here / "v.pkl").write_bytes(content)
    return tseval(*PAIR, "legacy.pt", "--model-args", "vocab=v.pkl", cwd=here).fault()


@attack("odd numbers", cheap=True)
def odd_numbers(draw: random.Random, here: Path) -> str | None:
    """Give ids and counts that are no numbers, too long, zero or negative."""
    odd = draw.choice(["²", "٣", "1" * 5_000, "0x1", "-1", "1e5", "", "１", "⅕", "1_0"])
    huge = draw.choice([10**5_000, -1, 0, 2**63, 2**61 - 1, -(2**70)])
    values: list[object] = [
        {odd: "a", "1": "b"}, {"a": huge, "b": 1}, {huge: "a", 1: "b"}, {"vocab": {odd: "a", "0": "b"}},
        {"model_args": {"n_head": huge}, "model": {}}, {(2**61 - 1) * i: "a" for i in range(2_000)},
    ]  # fmt: skip
    value = draw.choice(values)
    form = draw.choice(["pickle", "model", "json"])
    if form == "json":
        (here / "v.json").write_text(f'{{"{odd}": "a", "1": {draw.choice(["1" * 5_000, "2"])}}}')
        return tseval(*PAIR, "legacy.pt", "--model-args", "vocab=v.json", cwd=here).refusal()
    if form == "pickle":
        (here / "v.pkl").write_bytes(pickle.dumps(value, 2))
        return tseval(*PAIR, "legacy.pt", "--model-args", "vocab=v.pkl", cwd=here).fault()
    (here / "m.pt").write_bytes(in_zip(pickle.dumps(value, 2)))
    return tseval(*PAIR, "m.pt", cwd=here).refusal()


EXPRESSIONS = (
    "(a+)+", "(a|a)*", "(a|aa)+", "(.*)*", "(.*a){30}", "((a*)*)*", "(?=a+)+", r"(a)\1", "(" * 9_000,
    "[" * 3_000, "a{999999999}", "((a{1000}){1000}){1000}", "(?:" * 500 + ")" * 500, "\\",
    "(?P<x>a)(?P<x>b)", "[^" + "a" * 5_000, r"\p{L}+", "(?i)" * 200,
)  # fmt: skip
SUBJECT = "1\t{}\tdog\tNOUN\t_\tNumber=Sing\t2\tnsubj\t_\t_\n"
TREE = f"{SUBJECT}2\tbarks\tbark\tVERB\t_\tNumber=Sing\t0\troot\t_\t_\n\n"


@attack("expressions of requests", cheap=True)
def expression(draw: random.Random, here: Path) -> str | None:
    """Ask a treebank for words by an expression that Python's own engine would match for ever."""
    inside = "".join(draw.choices(EXPRESSIONS, k=draw.randint(1, 2))).replace('"', "")
    (here / "r.req").write_text(
        f'% change: V.Number\npattern {{ V [upos=VERB]; N [form=re"{inside}"]; V -[nsubj]-> N }}\n'
        + "without { V [form=x] }\n" * draw.choice([0, 0, 5_000])
    )
    (here / "t.conllu").write_text(TREE.format("a" * draw.randint(1, 40_000) + "b") * draw.randint(1, 50))
    return tseval("data", "pairs", "t.conllu", "--request", "r.req", "-o", "o.tsv", cwd=here).fault()


@attack("weights elsewhere")
def elsewhere(draw: random.Random, here: Path) -> str | None:
    """Name weights by an index, in the folder or out of it: other weights have another fingerprint."""
    folder = here / "gpt2"
    names = draw.choice(["w/a.safetensors", "../out.safetensors", "a.safetensors", "w/../../out.safetensors"])
    from safetensors.torch import load_file, save_file  # noqa: PLC0415 - brings torch along

    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    by = draw.choice(["index", "configuration"])
    if by == "index":
        content = {"metadata": {}, "weight_map": dict.fromkeys(weights, names)}
        (folder / "model.safetensors.index.json").write_text(json.dumps(content))
    else:
        content = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(content | {"transformers_weights": names}))
    place = folder / names
    place.parent.mkdir(parents=True, exist_ok=True)
    found = []
    for by_how_much in (0.0, 0.5):
        save_file({name: one + by_how_much for name, one in weights.items()}, place, {"format": "pt"})
        done = tseval("run", "--model", "hf:gpt2", "--suite", "pairs.tsv", "--quiet", "--out",
                      f"r{by_how_much}", cwd=here)  # fmt: skip
        if fault := done.fault():
            return fault
        if done.code == 0:
            manifest = json.loads((here / f"r{by_how_much}/manifest.json").read_text())
            found.append(manifest["key"]["fingerprint"])
    if ".." in names and found:
        return "weights outside the folder were read"
    return "other weights have the same fingerprint" if len({*found}) < len(found) else None


COUNTS = (
    "n_layer",
    "num_hidden_layers",
    "num_labels",
    "vocab_size",
    "n_positions",
    "max_position_embeddings",
)
TEMPLATES = (
    "{{ 'a' * 9999999999 }}", "{{ 9 ** 9 ** 9 ** 9 }}", "{{ 'x' | center(9999999999) }}",
    "{{ '%9999999999d' % 1 }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
)  # fmt: skip


@attack("claims of a folder")
def claims(draw: random.Random, here: Path) -> str | None:
    """Claim layers, pieces, texts and ranks that no file could fill."""
    folder, big = here / "gpt2", draw.choice([10**6, 10**9, 10**15])
    kind = draw.choice(["counts", "template", "normalizer", "lora"])
    if kind == "lora":
        return tseval(*PAIR, f"hf:{_change(draw, here, big)}", cwd=here).refusal()
    if kind == "counts":
        _add(folder / "config.json", {draw.choice(COUNTS): big})
    elif kind == "template":
        bomb = draw.choice(TEMPLATES)
        _add(folder / "tokenizer_config.json", {"chat_template": f"<eos>{bomb}"})
    else:
        step = {"type": "Replace", "pattern": {"Regex": "."}, "content": "a" * draw.randint(20, 200)}
        grown = {"type": "Sequence", "normalizers": [step] * draw.randint(5, 9)}
        _add(folder / "tokenizer.json", {"normalizer": grown})
    return tseval(*PAIR, "hf:gpt2", cwd=here).fault()


def _change(draw: random.Random, here: Path, big: int) -> str:
    """Write a change (LoRA) of the model with an option that nobody means; give its folder."""
    options: list[dict[str, object]] = [
        {"init_lora_weights": f"pissa_niter_{big}"}, {"target_modules": draw.choice(EXPRESSIONS[:6])},
        {"r": big}, {"layer_replication": [[0, big]]}, {"peft_type": "XLORA"},
        {"peft_type": "PROMPT_TUNING"}, {"rank_pattern": {"(a+)+": 1}},
        {"megatron_config": {"x": 1}, "megatron_core": "own"},
    ]  # fmt: skip
    shutil.copytree(here / "gpt2", here / "lora")
    meant: dict[str, object] = {
        "base_model_name_or_path": "gpt2",
        "peft_type": "LORA",
        "r": 2,
        "target_modules": ["c_attn"],
    }
    (here / "lora/adapter_config.json").write_text(json.dumps(meant | draw.choice(options)))
    return "lora"


def _add(file: Path, fields: dict[str, object]) -> None:
    if not file.exists():
        raise NotHereError(f"no {file.name}")
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | fields))


@attack("wide tables", cheap=True)
def wide(draw: random.Random, here: Path) -> str | None:
    """Give a table of very many columns, or names in one record."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    n = draw.randint(2_001, 60_000)
    names = [f"k{i}" for i in range(n)]
    writers: dict[str, Callable[[Path], object]] = {
        "w.jsonl": lambda path: path.write_text(json.dumps(dict.fromkeys(names, "x")) + "\n"),
        "w.json": lambda path: path.write_text(json.dumps([dict.fromkeys(names, "x")])),
        "w.tsv": lambda path: path.write_text("\t".join(names) + "\n" + "\t".join(names) + "\n"),
        "w.csv": lambda path: path.write_text(",".join(names) + "\n" + ",".join(names) + "\n"),
        "w.parquet": lambda path: pq.write_table(pa.table({name: ["x"] for name in names[:20_000]}), path),
    }
    name = draw.choice(sorted(writers))
    writers[name](here / name)
    return tseval("expand", f"./{name}", "--quiet", cwd=here).refusal()
