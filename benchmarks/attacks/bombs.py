"""Small files that stand for something without end, and compressed files that were cut or joined."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from attacks.commands import tseval
from attacks.prepared import PUBLISH, TRAIN
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from pathlib import Path

TEMPLATES = (
    "{% for a in range(99999999) %}{% for b in range(99999999) %}x{% endfor %}{% endfor %}",
    "{{ 'a' * 9999999999 }}", "{{ ((9 ** 9) ** 9) ** 9 ** 9 }}", "{{ ''.__class__.__mro__ }}",
    "{{ x | center(99999999999) }}", "{{ '%99999999999d' % 1 }}", "{{ range(9999999999) | list }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ '{:99999999999}'.format(1) }}",
    "{{ x | replace('', x * 9999) | replace('', x * 9999) }}", "{% set x = x ~ x %}" * 64 + "{{ x }}",
    "{{ lipsum(n=99999999) }}", "{{ cycler.__init__.__globals__.os.mkdir('PLANTED') }}",
    "{% include '/etc/passwd' %}", "{% import 'os' as os %}", "{{ [x] * 9999999999 }}",
    "{{ 10 ** 10 ** 10 }}",
    "{{ x.__getattribute__('a') }}", "{{ " + "(" * 5000 + "x" + ")" * 5000 + " }}",
)  # fmt: skip
# These are only long.
LONG = ("{{ x" + " ~ x" * 20_000 + " }}", "{{ x | " + "upper | " * 5000 + "upper }}", "{{ x }} " * 20_000)
PLAIN = b"good\tbad\n" + b"the dog laughs .\tthe dog laugh .\n" * 20


@attack("template bombs", cheap=True)
def template(draw: random.Random, here: Path) -> str | None:
    """Give a grammar that would take time or memory without end, or reach out of its template."""
    bombs = draw.choice([TEMPLATES, TEMPLATES, LONG])
    text = " ".join(draw.choices(bombs, k=draw.randint(1, 2)))
    head = "---\nconstruction: C\nphenomenon: P\nslots: {x: [one, two]}\n---\n"
    (here / "bomb").mkdir()
    (here / "bomb/one.jinja").write_text(f"{head}good: a {{{{ x }}}} {text}\nbad: b\n")
    done = tseval("expand", "./bomb", "--quiet", cwd=here)
    if (here / "PLANTED").exists():
        return "executed"
    return done.fault() if bombs is LONG else done.refusal()


@attack("gzip bombs")
def bomb(draw: random.Random, here: Path) -> str | None:
    """Give compressed data that unpacks to a thousand times its size, or to more lines than are read."""
    one = draw.choice([b"a", b"\n", b"\0", None])
    content = one * int(2 ** draw.uniform(22, 25)) if one else b"a\tb\n" * draw.randint(3_100_000, 4_000_000)
    packed = gzip.compress(content, mtime=0)
    if draw.random() < 0.3:
        packed = draw.choice([gzip.compress(PLAIN, mtime=0) + packed, gzip.compress(packed, mtime=0)])
    name = draw.choice(["bomb.tsv.gz", "bomb.jsonl.gz"])
    read: tuple[str, ...] = ("expand", f"./{name}", "--quiet")
    if one and draw.random() < 0.5:
        name = "bomb.txt.gz"
        read = (*TRAIN[:-4], "--train", name, "--valid", "text.txt", "--out", "mine.pt")
    (here / name).write_bytes(packed)
    return tseval(*read, cwd=here).refusal()


@attack("cut and joined .gz", cheap=True)
def joined(draw: random.Random, here: Path) -> str | None:
    """Cut a compressed file, or join several: cut is refused, joined is read as all of it."""
    whole = gzip.compress(PLAIN, mtime=0)
    more = [gzip.compress(PLAIN.partition(b"\n")[2], mtime=0) for _ in range(draw.randrange(3))]
    cut = draw.randrange(1, len(whole))
    refused = draw.random() < 0.5
    if refused:
        packed = draw.choice(
            [
                whole[:cut],
                b"".join([whole, *more, whole[:cut]]),
                whole + draw.randbytes(8),
                whole[cut:] + whole,
            ]
        )
    else:
        packed = b"".join([whole, *more, bytes(draw.choice([0, 1, 512]))])
    (here / "pairs.tsv.gz").write_bytes(packed)
    done = tseval("expand", "./pairs.tsv.gz", "--quiet", cwd=here)
    if refused:
        return done.refusal()
    rows = PLAIN + PLAIN.partition(b"\n")[2] * len(more)
    (here / "pairs.tsv").write_bytes(rows)
    plain = tseval("expand", "./pairs.tsv", "--quiet", cwd=here)
    return done.fault((0,)) or (None if done.out == plain.out else "not all of it was read")


@attack("documents without end", cheap=True, needs_zoo=True)
def document(draw: random.Random, here: Path) -> str | None:
    """Give documents that are nested without end, or hold numbers or texts without end."""
    name, words = draw.choice([
        ("board/board.json", ("table", "./board")), ("gym.json", ("expand", "./gym.json", "--quiet")),
        ("whole/manifest.json", ("table", "whole")), ("pairs.jsonl", ("expand", "./pairs.jsonl", "--quiet")),
        ("zoo/zoo.json", PUBLISH), ("recipe.yaml", PUBLISH), ("published/board.json", PUBLISH),
        ("grammar/lexicon.yaml", ("expand", "./grammar", "--quiet")),
    ])  # fmt: skip
    deep = int(2 ** draw.uniform(7, 18))
    laughs = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
    content = draw.choice([
        "[" * deep, "[" * deep + "]" * deep, '{"a":' * deep, '{"a":' * deep + "1" + "}" * deep,
        "9" * deep + "0" * 5000,
        '"' + "x" * deep, "- " * deep, "? " * deep, laughs, '{"format": ' + "9" * 5000 + "}", '"\\ud800"',
        "\0" * deep,
        '{"format": 1e999}', "!!python/object/apply:os.mkdir [PLANTED]", "!!binary x", "1" * 17_000_000,
    ])  # fmt: skip
    (here / name).write_text(content)
    done = tseval(*words, cwd=here)
    return "executed" if (here / "PLANTED").exists() else done.refusal()
