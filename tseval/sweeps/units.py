"""Units of a sweep: the plan, and the record, log and lock of each unit."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping  # noqa: TC003 - the type of a field that is checked
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tseval.adapters import file_and_function, name_of_function
from tseval.errors import LimitError, RunError, suggest
from tseval.files import remove_lock, take_lock, write_whole
from tseval.formats import ContentError, Json, checked, read_json, read_yaml
from tseval.questions import Score  # noqa: TC001 - the type of a field that is checked
from tseval.questions.unknown import UnknownRule  # noqa: TC001 - the type of a field that is checked
from tseval.runs.answer_log import ANSWERS_FILE
from tseval.runs.directory import PARTS, safe_name
from tseval.suites import check_suite_spec
from tseval.suites.context import ContextRequest, context_requests
from tseval.writing import Form  # noqa: TC001 - the type of a field that is checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Files = tuple[tuple[str, int, int], ...]  # names, sizes in bytes, times in nanoseconds


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `tseval run` for reading and scoring suites. They are the same for a whole sweep."""

    case: tuple[str, ...] = ()
    limit: int | None = None
    tokenise: bool = False
    cluster: tuple[str, ...] = ()
    score: Score | None = None
    too_long: Literal["skip", "refuse"] = "skip"
    device: str = "auto"
    columns: Mapping[str, str] | None = None
    text: Form = "auto"
    sample: int | None = None
    seed: int = 0
    exclude: str | None = None
    normalise: str = "none"
    unigrams: str | None = None
    unknown: UnknownRule = "undecidable"
    lexicon: str | None = None
    context: str | None = None
    context_words: str | int | None = None  # each length makes a unit
    context_seed: int = 0
    contexts: int = 1

    def context_requests(self) -> list[ContextRequest]:
        """Return the settings of contexts, one for each length; empty without contexts."""
        words = None if self.context_words is None else str(self.context_words)
        return context_requests(self.context, words, self.context_seed, self.contexts)


@dataclass(frozen=True, slots=True)
class SweepUnit:
    """One model on one suite."""

    name: str  # name of its log and record and, in a sweep from a plan, of its run directory
    model: str  # as `--model` takes it
    suite: str
    run: str  # the run directory
    arguments: dict[str, str] = field(default_factory=dict)  # as `--model-args` takes them
    options: Options = field(default_factory=Options)
    train: tuple[str, ...] = ()  # if the model must be trained first: the command's words after `tseval`

    def stamp(self) -> str:
        """Return a digest of the unit. If a run with the same stamp exists, the unit is finished.

        The digest covers sizes and times of the files of model and suite, so a thousand units take a second.
        The worker later compares the run's digests.
        """
        files = [*self.model_files(), *self.suite_files()]
        content = json.dumps([version("tseval"), asdict(self), files])
        return hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()

    def model_files(self) -> tuple[Files, ...]:
        """Return the files of the model, for its name with and without the scheme."""
        function = file_and_function(self.model)
        if function is None:
            return _files(self.model), _files(self.model.partition(":")[2])
        # For a function, only the files are known whose path is an argument.
        return _files(str(function[0])), *map(_files, self.arguments.values())

    def suite_files(self) -> tuple[Files, ...]:
        """Return the files of the suite (for its name with and without the method) and of its options."""
        names = self.options.exclude, self.options.unigrams, (self.options.context or "").partition("#")[0]
        options = tuple(_files(name or "") for name in names)
        return _files(self.suite), _files(self.suite.rpartition(":")[0]), *options


def _files(name: str) -> Files:
    """Return names, sizes and times of a file, or of the files in a folder; empty if the name is no path."""
    try:
        path = Path(name)
        if not name or not path.exists():
            return ()
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        statuses = [(os.fspath(file), file.stat()) for file in files]
        return tuple((file, status.st_size, status.st_mtime_ns) for file, status in statuses)
    except OSError:
        return ()


_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?:\.\.(\d+))?")
_WILD = re.compile(r"[*?\[]")
MOST = 100_000  # the largest number of names in a range


def expand_braces(text: str) -> list[str]:
    """Expand braces, in order: a list, or a range of whole numbers with a step.

    >>> expand_braces("step{1,2,10}.{a,b}")
    ['step1.a', 'step1.b', 'step2.a', 'step2.b', 'step10.a', 'step10.b']
    >>> expand_braces("step{0..3000..1000}")
    ['step0', 'step1000', 'step2000', 'step3000']
    """
    pieces = _BRACES.split(text)  # alternately the text outside and inside of braces
    choices = [_choices(piece) if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return ["".join(combination) for combination in product(*choices)]


def _choices(inside: str) -> list[str]:
    """List the texts for a pair of braces. Braces with a single word stay as they are."""
    if bounds := _RANGE.fullmatch(inside):
        first, last, step = (int(number) for number in bounds.groups(default="1"))
        if not step or last < first or (last - first) // step >= MOST:
            raise ValueError(
                f"the range {{{inside}}} should be {{FIRST..LAST..STEP}}, with FIRST below "
                "LAST and fewer than 100,000 numbers"
            )
        return [str(number) for number in range(first, last + 1, step)]
    return inside.split(",") if "," in inside else [f"{{{inside}}}"]


def natural_order(text: str) -> list[tuple[int, str]]:
    """Return a sort key that orders numbers by their value.

    >>> sorted(["step10.pt", "step2.pt"], key=natural_order)
    ['step2.pt', 'step10.pt']
    """
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _matching_files(pattern: str, text: str | None = None) -> list[tuple[Path, tuple[str, ...]]] | None:
    """Find the files and folders that match a pattern, in natural order.

    A path that exists matches itself. Each result also has the parts of the path from the first wildcard on,
    which distinguish it from the others; None if there is no wildcard.
    """
    if not _WILD.search(pattern) or Path(pattern).exists():
        return None
    parts = Path(pattern).parts
    wild = next(i for i, part in enumerate(parts) if _WILD.search(part))
    base = Path(*parts[:wild])
    paths = sorted(base.glob("/".join(parts[wild:])), key=lambda path: natural_order(str(path)))
    if not paths:
        raise RunError(
            f"--model {text or pattern}: no file matches this pattern.\n"
            "  Check the path. Put the pattern in quotes, so that the shell does not change it."
        )
    return [(path, path.relative_to(base).parts) for path in paths]


ROOT = Path("runs")


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """An entry of a plan's models: one model, or several with braces or a pattern."""

    model: str  # a value of `--model`; may contain braces, a pattern of files, or `@REVISION`
    args: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    name: str | None = None  # name in the run directories, for a single model


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The plan of a sweep."""

    models: tuple[str | ModelEntry, ...]
    suites: tuple[str, ...]  # values of `--suite`; may contain braces or patterns of files
    options: Options = field(default_factory=Options)
    out: str | None = None  # the folder of the runs
    slurm: Mapping[str, Json] = field(default_factory=dict)  # submitit's: `timeout_min`, `gpus_per_node`, ...
    ray: Mapping[str, Json] = field(default_factory=dict)  # for each worker: `num_cpus`, `num_gpus`, ...

    def settings(self, engine: str) -> Mapping[str, Json]:
        """Return the plan's settings for an engine."""
        return {"slurm": self.slurm, "ray": self.ray}.get(engine, {})


def read_plan(path: Path) -> SweepPlan:
    """Read a plan."""
    try:
        content = read_yaml(path)
        refuse_unknown(content, SweepPlan, "a plan")
        if isinstance(content, dict):
            refuse_unknown(content.get("options"), Options, "options")
            models = content.get("models")
            for entry in models if isinstance(models, list) else ():
                refuse_unknown(entry, ModelEntry, "a model")
        plan = checked(content, SweepPlan)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except ContentError as error:
        raise RunError(f"{path}: {error}") from None
    return plan if plan.out else replace(plan, out=str(ROOT / path.stem))


def refuse_unknown(content: object, kind: type, owner: str) -> None:
    """Refuse a field with a wrong name: otherwise, a default would silently replace the user's value."""
    names = [part.name for part in fields(kind)]
    for name in content if isinstance(content, dict) else ():
        if name not in names:
            raise ContentError(
                f"{owner} cannot have the key {name!r}.\n  {suggest(str(name), names, 'Keys')}"
            )


def plan_units(plan: SweepPlan) -> list[SweepUnit]:
    """List the units of a plan, model by model. Whether a model can be opened, the worker finds out."""
    assert plan.out is not None
    suites = [(suite, _suite_name(suite)) for entry in plan.suites for suite in _suites(entry)]
    for suite, _ in suites:
        check_suite_spec(suite)
    in_contexts = list(_in_contexts(plan.options))
    units: dict[str, SweepUnit] = {}
    for name, model, arguments in _models(plan.models):
        for (suite, suite_name), (ending, options) in product(suites, in_contexts):
            unit_name = f"{name}-{suite_name}{ending}"
            unit = SweepUnit(unit_name, model, suite, str(Path(plan.out) / unit_name), arguments, options)
            other = units.setdefault(unit_name.casefold(), unit)
            if other is not unit:
                raise RunError(
                    f"{other.model} on {other.suite} and {model} on {suite} would both be saved in the "
                    f"folder {unit.run}.\n"
                    "  Give one model another name in the plan (models: [{model: ..., name: ...}]), or "
                    "use two plans with different --out folders."
                )
    if not units:
        raise RunError(
            "the plan names no model or no suite, so there is nothing to score. Name at least "
            "one model and one suite."
        )
    return list(units.values())


def _in_contexts(options: Options) -> Iterator[tuple[str, Options]]:
    """Yield the options for each length of contexts, with the suffix of the units' names."""
    requests = options.context_requests()
    for request in requests:
        words = "text" if request.words is None else str(request.words)
        yield f"-{safe_name(request.name)}-{words}", replace(options, context_words=request.words)
    if not requests:
        yield "", options


def _models(entries: Sequence[str | ModelEntry]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield name, specification and arguments of every model."""
    for spec in entries:
        entry = ModelEntry(spec) if isinstance(spec, str) else spec
        matches = [match for text in _written_out(entry.model) for match in _matching(text)]
        if entry.name is not None and len(matches) > 1:
            raise RunError(
                f"the pattern {entry.model} matches {len(matches):,} models, which cannot all have the name "
                f"{entry.name!r}.\n"
                "  Leave out the key `name` of this model in the plan."
            )
        for name, model, revision in matches:
            arguments = {key: str(value).lower() if isinstance(value, bool) else str(value)
                         for key, value in entry.args.items()}  # fmt: skip
            if revision and arguments.setdefault("revision", revision) != revision:
                raise RunError(
                    f"{entry.model}: the model name has the revision {revision!r}, but args has the "
                    f"revision {arguments['revision']!r}.\n"
                    "  Leave out one of the two revisions."
                )
            unique_name = safe_name(entry.name or name) + (f"@{safe_name(revision)}" if revision else "")
            yield unique_name, model, arguments


def _matching(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, specification and revision of each model that matches a pattern or a plain name."""
    if (function := file_and_function(text)) and not Path(text).exists():
        for path, parts in _matching_files(str(function[0]), text) or [(function[0], ("",))]:
            yield "-".join((*parts[:-1], name_of_function(path, function[1]))), f"{path}:{function[1]}", ""
        return
    scheme, colon, rest = text.partition(":")
    if not colon or len(scheme) == 1 or Path(text).exists():  # one letter before the colon is a drive
        scheme, colon, rest = "", "", text
    revision = ""
    if colon and "@" in rest and not Path(rest).exists():
        rest, _, revision = rest.rpartition("@")
    for path, parts in _matching_files(rest, text) or [(Path(rest), Path(rest).parts[-1:])]:
        name = "-".join(parts if colon else (*parts[:-1], Path(parts[-1]).stem) if parts else ())
        yield name, f"{scheme}{colon}{rest if str(path) == str(Path(rest)) else path}", revision


def _suites(entry: str) -> Iterator[str]:
    for text in _written_out(entry):
        matches = _matching_files(text)
        yield from [text] if matches is None else (str(path) for path, _ in matches)


def _suite_name(suite: str) -> str:
    """Return the name of a suite in run directories: the name of its file, with the method."""
    stem, colon, method = suite.rpartition(":")
    if colon and not Path(suite).exists():
        return f"{_suite_name(stem)}-{safe_name(method)}"
    return safe_name(Path(suite).name.partition(".")[0] or suite)


def _written_out(text: str) -> list[str]:
    try:
        return expand_braces(text)
    except ValueError as error:
        raise RunError(f"{text}: {error}") from None


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """The task of a sweep's workers, a file."""

    units: tuple[SweepUnit, ...]  # in the order of their models
    cwd: str  # the folder to which paths in units are relative
    place: str  # folder of records
    logs: str


Stage = Literal["waiting", "training", "scoring", "done", "failed"]
ENDED: tuple[Stage, ...] = ("done", "failed")
TAIL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """The record of a unit."""

    stage: Stage = "waiting"  # the current step, or the step at which its worker was killed
    stamp: str = ""  # stamp of the finished unit
    done: int = 0  # sentences scored and saved
    of: int = 0  # sentences to score; 0 while unknown
    deaths: int = 0  # workers that were killed since the unit last made progress
    parts: int = 0  # of the run, saved when the last worker began
    said: str = ""  # the error of a failed unit
    seconds: float = 0.0  # seconds of scoring, of a finished unit
    scored: int = 0  # sentences scored in these seconds
    accuracy: float | None = None  # mean over the rows of the table, each counted once
    coverage: float | None = None  # share of the contrasts that the model decides, of a finished unit

    @property
    def speed(self) -> float | None:
        """Sentences scored in a second; None if unknown."""
        return self.scored / self.seconds if self.seconds and self.scored else None


class Records:
    """The folder of a sweep's records, and the folder of its logs if it is another one.

    Only the process that holds the lock of a unit writes its record, so all workers can rely on records.
    """

    def __init__(self, folder: Path, logs: Path | None = None) -> None:
        self.folder, self.logs = folder, logs or folder

    def log(self, unit: SweepUnit) -> Path:
        """Return the path of a unit's log."""
        return self.logs / f"{unit.name}.log"

    def read(self, unit: SweepUnit) -> UnitRecord:
        """Read the record of a unit; an unreadable record counts as empty."""
        try:
            return checked(read_json(self._record(unit)), UnitRecord)
        except (OSError, ContentError, LimitError):
            return UnitRecord()

    def write(self, unit: SweepUnit, record: UnitRecord) -> UnitRecord:
        """Write the record of a unit. The caller holds its lock."""
        write_whole(self._record(unit), json.dumps(asdict(record)).encode())
        return record

    def is_done(self, unit: SweepUnit) -> bool:
        """Return whether the unit's run exists and has the unit's stamp."""
        record = self.read(unit)
        return record.stage == "done" and _run_exists(unit) and record.stamp == unit.stamp()

    def ended(self, unit: SweepUnit) -> bool:
        """Return whether a unit has ended, so that no worker must begin it."""
        stage = self.read(unit).stage
        return stage == "failed" or (stage == "done" and _run_exists(unit))

    def claim(self, unit: SweepUnit) -> int | None:
        """Lock a unit for this process and for processes that inherit the open file; None if it is locked."""
        return take_lock(self._lock(unit))

    def release(self, unit: SweepUnit, held: int) -> None:
        """Unlock a unit."""
        remove_lock(self._lock(unit), held)

    def is_held(self, unit: SweepUnit) -> bool:
        """Return whether a process holds the lock of a unit."""
        with suppress(OSError):
            if not self._lock(unit).exists():
                return False
            if (lock := self.claim(unit)) is None:
                return True
            self.release(unit, lock)
        return False

    def open_again(self, units: Sequence[SweepUnit]) -> list[SweepUnit]:
        """Return the unfinished units, and reset failures and killed workers of an earlier sweep.

        Units that another sweep is scoring are returned, but not reset.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = [unit for unit in units if not self.is_done(unit)]
        for unit in unfinished:
            if self.read(unit) == UnitRecord() or (lock := self.claim(unit)) is None:
                continue
            if not self.is_done(unit):
                self.write(unit, UnitRecord())
            self.release(unit, lock)
        return unfinished

    def last_line(self, unit: SweepUnit) -> str:
        """Return the last line of a unit's log that is not empty."""
        return (self._tail(unit) or [""])[-1].strip()

    def complaint(self, unit: SweepUnit) -> str:
        """Return the last error in a log: the text from the last line of tseval on, or else the last line."""
        lines = self._tail(unit)
        starts = [i for i, line in enumerate(lines) if line.startswith("tseval: ")]
        return "\n".join(lines[starts[-1] :]).removeprefix("tseval: ") if starts else self.last_line(unit)

    def _tail(self, unit: SweepUnit) -> list[str]:
        with suppress(OSError), self.log(unit).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
            return [line for line in lines if line.strip()]
        return []

    def _record(self, unit: SweepUnit) -> Path:
        return self.folder / f"unit-{unit.name}.json"

    def _lock(self, unit: SweepUnit) -> Path:
        return self.folder / f"unit-{unit.name}.lock"


def _run_exists(unit: SweepUnit) -> bool:
    return (Path(unit.run) / "manifest.json").exists()


def n_saved(unit: SweepUnit) -> int:
    """Count the saved parts of a unit's run or, for a prompt model, the bytes of its answers."""
    parts = Path(unit.run) / PARTS
    answers = parts / ANSWERS_FILE
    return len(list(parts.glob("*.parquet"))) + (answers.stat().st_size if answers.is_file() else 0)
