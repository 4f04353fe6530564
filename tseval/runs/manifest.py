"""The manifest of a run: its key, its content, its file and its seal.

The seal has digests of the manifest's content, which anyone can compute. It shows that the manifest was not
edited by accident, but not who wrote it.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping  # noqa: TC003 - manifests are read into fields of it
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Literal, cast

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import RunError, counted, one_line
from tseval.formats import ContentError, Json, checked, read_json
from tseval.questions.unknown import Unknown, UnknownRule
from tseval.runs.opened import Opened  # noqa: TC001 - manifests are read into it
from tseval.scoring.protocol import ModelCard  # noqa: TC001 - manifests are read into it

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.items import Suite
    from tseval.scoring.engine import Scored


# Characters that would break the one line of a signature or forge a part of it.
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff|]")


# Parts of a protocol that are known only after a server has answered (`tseval.scoring.answer_scorer`).
DATED = frozenset({"served", "date"})


@dataclass(frozen=True, slots=True)
class RunKey:
    """The identity of a run. Two runs with equal keys have equal numbers.

    The names of suite and model are only labels; their digests are compared.

    Attributes:
        score: The score that compares sentences (`tseval.questions`).
        items: `all`, or the number of selected items: `100 selected`.
        protocol: The adapter's presentation of sentences: start symbol, unknown words, dtype, ...
        exclude: The list of excluded items: `known-errors`, the digest of another list, or None.
        half_known: `score` if half-known pairs are compared (`tseval.questions.unknown`); None if they are
            undecidable.
    """

    suite: str = field(compare=False)
    suite_digest: str
    model: str = field(compare=False)
    fingerprint: str
    score: str
    terminator: str | None
    items: str
    tseval: str
    protocol: Mapping[str, Json]
    exclude: str | None = None
    half_known: Literal["score"] | None = None

    def __repr__(self) -> str:
        return one_line(self, f"{self.model} on {self.suite}", f"score {self.score}", f"items {self.items}")

    @property
    def signature(self) -> str:
        """The key on one line, with shortened digests, in the style of sacreBLEU.

        Source: Post 2018, "A Call for Clarity in Reporting BLEU Scores", WMT.
        """
        parts = {
            "suite": f"{self.suite}@{self.suite_digest[:8]}",
            "model": f"{self.model}@{self.fingerprint[:8]}",
            "score": self.score,
            **{name: _text(value) for name, value in sorted(self.protocol.items())},
            "terminator": _text(self.terminator),
            "items": self.items,
            **({"exclude": self.exclude} if self.exclude else {}),
            **({"half_known": self.half_known} if self.half_known else {}),
            "tseval": self.tseval,
        }
        return "|".join(f"{UNSAFE.sub('?', name)}:{UNSAFE.sub('?', value)}" for name, value in parts.items())

    def differences(self, other: RunKey) -> list[str]:
        """Return the parts in which another key differs, each as `part: ours, not theirs`."""
        # JSON texts, because a missing part is not null, and 1 is not true.
        values, other_values = (
            {name: json.dumps(value, sort_keys=True) for name, value in key.parts().items()}
            for key in (self, other)
        )
        return [
            f"{name}: {_part_text(values.get(name))}, not {_part_text(other_values.get(name))}"
            for name in values | other_values
            if values.get(name) != other_values.get(name)
        ]

    def undated(self) -> RunKey:
        """Return the key before a server has answered, without the parts in `DATED`."""
        protocol = {name: value for name, value in self.protocol.items() if name not in DATED}
        return replace(self, protocol=protocol)

    @property
    def hidden(self) -> set[str]:
        """The parts of the protocol that have the name of another part of the key and would replace it."""
        return set(self.protocol) & {part.name for part in fields(self)}

    def parts(self) -> dict[str, Json]:
        """Return the parts that are compared, by name, including those of the protocol."""
        decisive = {part.name for part in fields(self) if part.compare} - {"protocol"}
        parts = {name: value for name, value in self.to_mapping().items() if name in decisive}
        return parts | dict(self.protocol)

    def to_mapping(self) -> dict[str, Json]:
        """Return the key in the form of a manifest."""
        mapping = {part.name: getattr(self, part.name) for part in fields(self)}
        mapping |= {"protocol": dict(self.protocol)}
        for name in ("exclude", "half_known"):
            if mapping[name] is None:  # keys from before these options must not change
                del mapping[name]
        return mapping


def _part_text(part: str | None) -> str:
    return "nothing" if part is None else _text(json.loads(part))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


FIELD = "seal"
DIGITS = 16  # of the digest of each field: enough to detect an edit


@dataclass(frozen=True, slots=True)
class Seal:
    """SHA-256 digests of canonical JSON (sorted keys, no spaces, ASCII): of the manifest, of each field."""

    manifest: str
    fields: Mapping[str, str]


def seal(content: Mapping[str, Json]) -> Seal:
    """Compute the seal of a manifest's content; a seal in the content is ignored."""
    sealed = {name: value for name, value in content.items() if name != FIELD}
    return Seal(_digest(sealed), {name: _digest(value)[:DIGITS] for name, value in sealed.items()})


def broken(content: Mapping[str, Json], stated: Seal) -> list[str]:
    """Return the fields of a manifest that differ from its seal."""
    sealed = seal(content)
    names = sorted(sealed.fields.keys() | stated.fields.keys())
    edited = [name for name in names if sealed.fields.get(name) != stated.fields.get(name)]
    return edited or ([] if sealed.manifest == stated.manifest else [FIELD])


def _digest(value: Json) -> str:
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


MANIFEST_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """The contexts of a run, with fields of `SuiteContexts`.

    `digest` is the SHA-256 of the texts, which are in `contexts.json`.
    """

    source: str
    words: int
    seed: int
    each: int
    n_texts: int
    digest: str
    tokenise: bool = False
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class SuiteFacts:
    """A suite as described in a manifest, with fields of `Suite`.

    None means: `clusters`: an older run; `inferred`: no shared values were inferred; `sample`: items were not
    drawn; `seed`: no seed chose sentences, or an older run; `columns`: the user did not name columns;
    `exclude` and `excluded`: nothing was left out; `files`: the suite has no data files, or an older run;
    `lexicon`: no list of verbs is compared; `context`: sentences were scored without context. `inferred`,
    `lexicon` and `context` are then missing in the file. `tokenise` is in the file only if the words were
    split into tokens.
    """

    name: str
    title: str
    source: str | None
    digest: str
    complete: bool
    terminator: str | None
    n_items: int
    n_contrasts: int
    clusters: tuple[str, ...] | None = None
    inferred: str | None = None
    sample: str | None = None
    seed: int | None = None
    columns: Mapping[str, str] | None = None
    exclude: str | None = None
    excluded: tuple[tuple[str, str], ...] | None = None
    files: Mapping[str, str] | None = None
    lexicon: tuple[str, ...] | None = None
    context: ContextFacts | None = None
    tokenise: bool = False


@dataclass(frozen=True, slots=True)
class Timings:
    """Wall-clock seconds of the parts of a run; for a resumed run, since it was resumed."""

    scoring_seconds: float
    verdict_seconds: float
    planning_seconds: float = 0.0
    table_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of scored units and of verdicts; `docs/run-directory.md` explains each."""

    items: int
    contrasts: int
    sentences: int
    tokens: int
    correct: int
    tied: int
    undecidable: int
    contexts: int
    resumed_sentences: int
    too_long: int = 0  # undecidable contrasts with a sentence that is too long; not in older runs
    n_half_known: int = 0  # in the file only if it is not 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `manifest.json`; `docs/run-directory.md` explains every field.

    A run in memory has no files, and older runs have no seal. `opened` is None if the model was in memory
    already.
    """

    signature: str
    key: RunKey
    suite: SuiteFacts
    model: ModelCard
    device: str
    timings: Timings
    counts: Counts
    warnings: tuple[str, ...]
    versions: Mapping[str, str | None]
    files: Mapping[str, str]
    opened: Opened | None = None
    seal: Seal | None = None

    def __repr__(self) -> str:
        return one_line(
            self, f"{self.key.model} on {self.key.suite}", counted(self.counts.sentences, "sentence")
        )

    def __getitem__(self, name: str) -> Json:
        """Return a field in the form of `manifest.json`."""
        return self.to_mapping()[name]

    def sealed(self, files: Mapping[str, str]) -> Manifest:
        """Return a copy with the digests of the run's data files and a seal."""
        manifest = replace(self, files=dict(files))
        return replace(manifest, seal=seal(manifest.to_mapping()))

    @property
    def unknown(self) -> Unknown:
        """The model's sign of unknown words, and the rule for half-known pairs.

        If a run counts none, it had none, or it is an older run, which compared them.
        """
        unsaid = not self.counts.n_half_known
        rule: UnknownRule = "score" if unsaid or self.key.half_known else "undecidable"
        return replace(Unknown.of(self.key.protocol, rule), unsaid=unsaid)

    def to_mapping(self) -> dict[str, Json]:
        """Return the content of `manifest.json`."""
        mapping = cast("dict[str, Json]", {part.name: getattr(self, part.name) for part in fields(self)})
        mapping |= {"key": self.key.to_mapping(), "warnings": list(self.warnings)}
        for name in ("suite", "model", "timings", "counts"):
            mapping[name] = asdict(getattr(self, name))
        for name in ("inferred", "lexicon", "context", "tokenise"):
            # Without these options, manifests must not change.
            if not getattr(self.suite, name):
                del cast("dict[str, Json]", mapping["suite"])[name]
        if not self.counts.n_half_known:  # manifests without such pairs must not change
            del cast("dict[str, Json]", mapping["counts"])["n_half_known"]
        if self.opened is None:  # older manifests, and models from memory
            del mapping["opened"]
        else:
            mapping["opened"] = asdict(self.opened)
        mapping[FIELD] = asdict(self.seal) if self.seal else None
        return {"format": MANIFEST_FORMAT, "status": "complete", **mapping}


@dataclass(frozen=True, slots=True)
class UnfinishedManifest:
    """The content of the manifest of an unfinished run."""

    key: RunKey
    seal: Seal | None = None

    def to_mapping(self) -> dict[str, Json]:
        """Return the content of `manifest.json`, sealed."""
        head: dict[str, Json] = {"format": MANIFEST_FORMAT, "status": "running"}
        content = head | {"signature": self.key.signature, "key": self.key.to_mapping()}
        return content | {FIELD: asdict(seal(content))}


def describe_suite(suite: Suite) -> SuiteFacts:
    """Describe a suite for a manifest."""
    facts = {part.name: getattr(suite, part.name) for part in fields(SuiteFacts)}
    if (contexts := suite.context) is not None:
        facts["context"] = ContextFacts(
            contexts.source, contexts.words, contexts.seed, contexts.each, len(contexts.texts),
            contexts.digest, contexts.tokenise, contexts.is_text,
        )  # fmt: skip
    return SuiteFacts(**facts)


def count_run(suite: Suite, scored: Scored, verdicts: pa.Table, too_long: int = 0) -> Counts:
    """Count the contents of a run; `too_long` is the number of contrasts with too long sentences."""
    return Counts(
        items=suite.n_items,
        **count_verdicts(verdicts),
        **count_sentences(scored.table),
        contexts=scored.n_contexts,
        resumed_sentences=scored.n_resumed,
        too_long=too_long,
    )


def count_verdicts(verdicts: pa.Table) -> dict[str, int]:
    """Count the verdicts of a table."""
    return {
        "contrasts": verdicts.num_rows,
        "correct": _true(verdicts, "correct"),
        "tied": _true(verdicts, "tie"),
        "undecidable": _true(verdicts, "undecidable"),
        "n_half_known": _true(verdicts, "half_known") if "half_known" in verdicts.column_names else 0,
    }


def count_sentences(scored: pa.Table) -> dict[str, int]:
    """Count the sentences and tokens of a table."""
    tokens = pc.sum(pc.list_value_length(scored["words"])).as_py() or 0
    return {"sentences": scored.num_rows, "tokens": tokens}


def software() -> dict[str, str | None]:
    """Return the versions of the software that makes a run, without importing it."""
    packages: dict[str, str | None] = dict.fromkeys(("tseval", "torch", "numpy", "pyarrow"))
    for name in packages:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return packages | {"python": platform.python_version(), "platform": platform.platform()}


def dump_manifest(manifest: Manifest | UnfinishedManifest) -> bytes:
    """Return a manifest as indented JSON."""
    return (json.dumps(manifest.to_mapping(), indent=2) + "\n").encode()


def _true(verdicts: pa.Table, column: str) -> int:
    return int(pc.sum(verdicts[column]).as_py() or 0)


SELECTED = re.compile(r"(\d+) selected")


def contradiction(manifest: Manifest) -> str | None:
    """Return a field of a manifest that contradicts another one, as `field from other`, or None."""
    key, suite, model, counts = manifest.key, manifest.suite, manifest.model, manifest.counts
    selected = SELECTED.fullmatch(key.items)
    n_decided = counts.correct + counts.tied + counts.undecidable
    follows = {
        "signature from key": manifest.signature == key.signature,
        "suite.name from key.suite": suite.name == key.suite,
        "suite.digest from key.suite_digest": suite.digest == key.suite_digest,
        "suite.terminator from key.terminator": suite.terminator == key.terminator,
        "suite.complete from key.items": suite.complete == (key.items == "all"),
        "suite.exclude from key.exclude": suite.exclude == key.exclude,
        "suite.sample from suite.complete": suite.sample is None or not suite.complete,
        "suite.n_items from key.items": not selected or int(selected[1]) == suite.n_items,
        "model.name from key.model": model.name == key.model,
        "model.fingerprint from key.fingerprint": model.fingerprint == key.fingerprint,
        "model.protocol from key.protocol": model.protocol == key.protocol,
        "key.protocol from possible keys of a protocol": not key.hidden,
        "key.protocol from suite.context": suite.context is None
        or key.protocol.get("context_digest") == suite.context.digest[:16],
        "counts.items from suite.n_items": counts.items == suite.n_items,
        "counts.contrasts from suite.n_contrasts": counts.contrasts == suite.n_contrasts,
        "counts.correct from counts.contrasts": n_decided <= counts.contrasts,
        "counts.too_long from counts.undecidable": 0 <= counts.too_long <= max(counts.undecidable, 0),
        "counts.n_half_known from counts.contrasts": 0 <= counts.n_half_known <= counts.contrasts,
        "counts.resumed_sentences from counts.sentences": counts.resumed_sentences <= counts.sentences,
    }
    return next((rule for rule, holds in follows.items() if not holds), None)


def miscounted(counts: Counts, name: str, table: pa.Table) -> str | None:
    """Return a count of the manifest that contradicts a table of the run, given by its file name."""
    count = {"sentences.parquet": count_sentences, "verdicts.parquet": count_verdicts}[name]
    try:
        counted: Mapping[str, int] = count(table)
    except (KeyError, pa.ArrowException):
        return "counts"  # the table lacks the columns to count
    return next((f"counts.{part}" for part, value in counted.items() if getattr(counts, part) != value), None)


NAME = "manifest.json"

_AGAIN = "Score the suite again with tseval run, into a new folder."


def load_manifest(directory: Path) -> Manifest | UnfinishedManifest:
    """Read the manifest of a complete or interrupted run.

    Both are checked against their seals; a complete one is also checked for contradictions.
    """
    file = directory / NAME
    try:
        content = read_json(file)
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(
            f"{directory} is not the folder of a run, because the file {NAME} is missing in "
            "it.\n"
            "  Name the folder of a run."
        ) from None
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}.") from None
    except ContentError as error:
        position = error.what.removeprefix("not a JSON file ")
        raise RunError(f"{file} is damaged: it is not JSON {position}.\n  {_AGAIN}") from None
    version = content.get("format") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(version, int) or version < 1:
        raise RunError(
            f"{file} is not the manifest of a run, because it has no key `format` with a number.\n  {_AGAIN}"
        )
    if version > MANIFEST_FORMAT:
        raise RunError(
            f"{file} has format {version}, but this version of tseval reads formats up to "
            f"{MANIFEST_FORMAT}.\n"
            "  A newer tseval wrote the file. To read the file, update tseval."
        )
    key = content.get("key")
    if isinstance(key, dict) and key.keys() - {part.name for part in fields(RunKey)}:
        raise RunError(
            f"{file} is damaged: the mapping `key` has keys that tseval does not know.\n  {_AGAIN}"
        )
    try:
        complete = content.get("status") == "complete"
        manifest = checked(content, Manifest) if complete else checked(content, UnfinishedManifest)
    except ContentError as error:
        raise RunError(
            f"{file} is damaged: the key `{error.where}` is missing or has a wrong value.\n  {_AGAIN}"
        ) from None
    _refuse_edited(file, manifest, content)
    return manifest


def _refuse_edited(file: Path, manifest: Manifest | UnfinishedManifest, content: dict[str, Json]) -> None:
    """Raise an error for a manifest that differs from its seal or contradicts itself."""
    try:
        edited = broken(content, manifest.seal) if manifest.seal else []
        contradicted = contradiction(manifest) if isinstance(manifest, Manifest) else None
    except RecursionError:
        raise RunError(
            f"{file} is damaged: its lists and mappings are nested too deeply.\n  {_AGAIN}"
        ) from None
    if edited:
        keys = ", ".join(f"`{key}`" for key in edited)
        phrase = f"value of the key {keys} is" if len(edited) == 1 else f"values of the keys {keys} are"
        raise RunError(f"{file} was edited: the {phrase} not what tseval wrote.\n  {_AGAIN}")
    if contradicted:
        field, _, source = contradicted.partition(" from ")
        other = f"the {source}" if " " in source else f"the key `{source}`"
        raise RunError(f"{file} was edited: the key `{field}` contradicts {other}.\n  {_AGAIN}")
