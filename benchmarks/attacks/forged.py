"""Files made by someone who knows how tseval makes them, and computes every checksum anew."""

from __future__ import annotations

import hashlib
import io
import json
import os
from dataclasses import asdict, replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from attacks.changed import mutated
from attacks.commands import tseval
from attacks.killed import run_differs
from attacks.prepared import EXPANDED, RUN
from attacks.registry import attack

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tseval.items import Case


@attack("the suite cache, changed", cheap=True)
def cache(draw: random.Random, here: Path) -> str | None:
    """Change bytes in the cache: the run is the same."""
    file = _cached(here)
    file.write_bytes(mutated(draw, file.read_bytes()))
    return _same_run(here)


@attack("the suite cache, forged", cheap=True)
def forged_cache(draw: random.Random, here: Path) -> str | None:
    """Forge the cache with its checksum: the run is the same, or states the digest of another suite."""
    from tseval.items import suite_digest  # noqa: PLC0415 - heavy
    from tseval.suites import load_cached, save_suite, suite_key  # noqa: PLC0415 - likewise

    with patch.dict(os.environ, {"XDG_CACHE_HOME": str(here / ".cache")}):
        key = suite_key(here / "grammar")
        suite = load_cached(key)
        assert suite is not None, "not in the cache"
        cases = tuple(_edited(draw, case) for case in suite.cases)
        digest = suite_digest(suite.terminator, cases)
        assert digest != suite.digest, "not edited"
        consistent = draw.random() < 0.3
        save_suite(replace(suite, cases=cases, digest=digest if consistent else suite.digest), key)
    if not consistent:
        return _same_run(here)
    done = tseval(*EXPANDED, "--out", "run", cwd=here)
    if done.code:
        return done.fault() or done.err
    stated, genuine = (
        json.loads((here / run / "manifest.json").read_text())["suite"]["digest"]
        for run in ("run", "expanded")
    )
    return "another suite under the same digest" if stated == genuine else None


def _edited(draw: random.Random, case: Case) -> Case:
    """Exchange better and worse sentences, or words in them, or leave items out."""
    good, bad = case.labels
    sentences, n = case.sentences, case.sentences.num_rows
    if draw.random() < 0.3:
        kept = draw.randrange(1, n)
        return replace(
            case,
            index=case.index[:kept],
            sentences=sentences[:kept],
            features=case.features[:kept],
            entries=case.entries[:kept],
        )
    row = draw.randrange(n)
    columns = {name: sentences[name].to_pylist() for name in case.labels}
    if draw.random() < 0.5:
        columns[good][row], columns[bad][row] = columns[bad][row], columns[good][row]
    else:
        columns[draw.choice([good, bad])][row] += " laughs"
    return replace(case, sentences=pa.table(columns))


def _cached(here: Path) -> Path:
    """Find the grammar's file in the cache: the smaller one, beside Marvin & Linzen's."""
    return min((here / ".cache/tseval").glob("*.arrow"), key=lambda file: file.stat().st_size)


def _same_run(here: Path) -> str | None:
    done = tseval(*EXPANDED, "--out", "run", cwd=here)
    return (done.fault() or done.err) if done.code else run_differs(here / "run", here / "expanded")


# What follows from other fields, or from the tables.
DERIVED = (
    *(("counts", name) for name in ("items", "contrasts", "correct", "tied", "undecidable")),
    *(("suite", name) for name in ("name", "digest", "complete", "n_items", "n_contrasts", "terminator")),
    *(("model", name) for name in ("name", "fingerprint", "protocol")),
    *(("key", name) for name in ("score", "items", "tseval", "suite_digest")),
    ("files", "verdicts.parquet"),
)


@attack("a manifest, sealed anew", cheap=True)
def manifest(draw: random.Random, here: Path) -> str | None:
    """Edit what follows from something else in the run, and seal it anew: refused."""
    path = here / "whole/manifest.json"
    content = json.loads(path.read_text())
    part, name = draw.choice(DERIVED)
    old = content[part][name]
    content[part][name] = (
        not old if isinstance(old, bool) else old + draw.choice([-1, 1]) if isinstance(old, int)
        else {**old, "start": "none"} if isinstance(old, dict) else f"{old}{draw.randrange(10)}"
    )  # fmt: skip
    _seal(path, content)
    return tseval("table", "whole", cwd=here).refusal()


@attack("tables of a run, sealed anew", cheap=True)
def tables(draw: random.Random, here: Path) -> str | None:
    """Edit what a run found, and seal it anew: refused, unless every count is edited too."""
    path = here / "whole/manifest.json"
    content = json.loads(path.read_text())
    verdicts = pq.read_table(here / "whole/verdicts.parquet")
    rows = verdicts.to_pylist()
    row = draw.randrange(len(rows))
    change = draw.choice(["correct", "tie", "undecidable", "fewer", "more"])
    if change in ("fewer", "more"):
        rows = [*rows[:row], *rows[row + 1 :]] if change == "fewer" else [*rows, rows[row]]
    else:
        rows[row][change] = not rows[row][change]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=verdicts.schema), sink)
    (here / "whole/verdicts.parquet").write_bytes(sink.getvalue())
    content["files"]["verdicts.parquet"] = hashlib.sha256(sink.getvalue()).hexdigest()
    _seal(path, content)
    words = draw.choice(
        [
            ("table", "whole"),
            (*RUN, "--out", "whole", "--resume"),
            ("analyze", "pairwise", "whole", "expanded"),
        ]
    )
    return tseval(*words, cwd=here).refusal()


def _seal(path: Path, content: dict[str, object]) -> None:
    from tseval.runs.manifest import seal  # noqa: PLC0415 - brings pyarrow along

    content["seal"] = asdict(seal(content))  # type: ignore[arg-type] # JSON
    path.write_text(json.dumps(content))
