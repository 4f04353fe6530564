"""Small suites and runs, built by hand, for tests that need no model."""

import gzip
import json

import numpy as np
import pyarrow as pa

from tseval.items import Case, Suite
from tseval.questions import Contrast
from tseval.questions.pairs import Pairs
from tseval.report import build_table, render
from tseval.runs import Run, RunKey, start_run
from tseval.runs.manifest import Manifest, Timings, count_run, describe_suite, software
from tseval.scoring.engine import Scored
from tseval.scoring.protocol import ModelCard
from tseval.verdicts import judge, sentences_of


def make_case(name, rows, *, labels=("grammatical", "ungrammatical"), contrasts=None, features=None, **row):
    """Make a case from rows of sentences, one per label."""
    kind = {"construction": "Simple", "phenomenon": "Subject-verb agreement", "dependency": "short"} | row
    columns = zip(*rows, strict=True)
    return Case(
        name=name,
        question=Pairs(tuple(Contrast(*pair) for pair in contrasts or [labels])),
        index=pa.array(range(len(rows)), pa.int64()),
        sentences=pa.table({label: list(column) for label, column in zip(labels, columns, strict=True)}),
        features=pa.table(features or {}),
        **kind,
    )


def write_file(path, content):
    """Write a text, bytes or JSON to a file; return its path."""
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


NOUNS = (
    "author", "pilot", "surgeon", "farmer", "manager", "customer", "officer", "teacher", "senator", "dancer",
)  # fmt: skip
VERBS = ("laugh", "smile", "sleep", "run", "walk", "talk")


def write_verb_pairs(path, start="the", singular_is_better=True):
    """Write a table of 60 pairs, one for each noun and verb, which differ in the form of the verb."""
    rows = []
    for noun in NOUNS:
        for verb in VERBS:
            pair = f"{start} {noun} {verb}s .", f"{start} {noun} {verb} ."
            rows.append(",".join(pair if singular_is_better else pair[::-1]))
    return write_file(path, "\n".join(["good,bad", *rows]) + "\n")


def write_lines(path, records):
    """Write records as JSON lines, compressed if the name ends in .gz."""
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
    return path


def number_prep():
    """Make the smallest possible SyntaxGym suite."""
    conditions = [
        {"condition_name": name, "regions": [{"region_number": 1, "content": f"the author {verb} ."}]}
        for name, verb in (("match", "laughs"), ("mismatch", "laugh"))
    ]
    return {
        "meta": {"name": "number_prep", "metric": "sum"},
        "region_meta": {"1": "all"},
        "predictions": [{"type": "formula", "formula": "(1;%match%) < (1;%mismatch%)"}],
        "items": [{"item_number": 1, "conditions": conditions}],
    }


def make_suite(*cases, name="small", terminator=".", digest="5" * 64, complete=True):
    """Make a suite from cases."""
    return Suite(name, "Small 2020", None, terminator, cases, digest, complete)


def score(suite, word_logprobs, default=-1.0, unknown=()):
    """Score a suite's sentences with a table of word log-probabilities; unknown words become <unk>."""
    sentences = sentences_of(suite).to_pylist()
    seen = [" ".join("<unk>" if w in unknown else w for w in s.split(" ")) for s in sentences]
    words = [[word_logprobs.get(w, default) for w in s.split(" ")] for s in seen]
    return pa.table(
        {
            "sentence": pa.array(sentences),
            "seen": pa.array(seen),
            "logprob": pa.array([float(np.sum(np.array(w, "f4"), dtype="f8")) for w in words], pa.float64()),
            "words": pa.array(words, pa.list_(pa.float32())),
            "n_unknown": pa.array([s.split(" ").count("<unk>") for s in seen], pa.int32()),
        }
    )


def make_key(suite, model="lstm", fingerprint="a" * 64, mode="sentence", **protocol):
    """Make the key of a run."""
    return RunKey(
        suite=suite.name, suite_digest=suite.digest, model=model, fingerprint=fingerprint, score=mode,
        terminator=suite.terminator, items="all" if suite.complete else "selected", tseval="0.1.0",
        protocol={"dtype": "float32", "start": "<eos>"} | protocol,
    )  # fmt: skip


def make_manifest(suite, key, scored, verdicts, **details):
    """Make the manifest of a run."""
    return Manifest(
        signature=key.signature,
        key=key,
        suite=describe_suite(suite),
        model=ModelCard(key.model, "native", key.fingerprint, key.protocol, details),
        device="cpu",
        timings=Timings(0.5, 0.0),
        counts=count_run(suite, Scored(scored, 7, 0), verdicts),
        warnings=(),
        versions=software(),
        files={},
    )


def finished_run(suite, key, scored) -> tuple[Manifest, pa.Table, pa.Table]:
    """Judge scored sentences; return the arguments of `RunWriter.finish` except the tables."""
    verdicts = judge(suite, scored)
    return make_manifest(suite, key, scored, verdicts), scored, verdicts


def make_run(suite, word_logprobs, *, path=None, model="lstm", mode="sentence", unknown=(), **details):
    """Score a suite and return the run; if `path` is given, write it there."""
    key = make_key(suite, model, mode=mode)
    scored = score(suite, word_logprobs, unknown=unknown)
    verdicts = judge(suite, scored, mode)
    run = Run.of(make_manifest(suite, key, scored, verdicts, **details), scored, verdicts)
    if path is not None:
        table = build_table([run])
        with start_run(path, key) as writer:
            tables = {f"table.{form}": render(table, form) for form in ("md", "csv")}
            writer.finish(run.manifest, scored, verdicts, tables)
    return run


def with_field(content, path, value):
    """Replace a field, or remove it if the value is None."""
    content = json.loads(json.dumps(content))
    *steps, last = path
    place = content
    for step in steps:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return content


def leaves(value, where=()):
    """Return the path of every value in nested data that contains no other value."""
    if isinstance(value, dict | list) and value:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for name, entry in entries for leaf in leaves(entry, (*where, name))]
    return [where]
