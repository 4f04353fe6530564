"""The plan of a sweep: a YAML file, or options, that name models, suites, and how they are scored."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the type of a field that is checked
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import RunError, suggest
from tseval.formats import ContentError, Json, checked, read_yaml
from tseval.runs.directory import safe_name
from tseval.suites import check_suite_spec
from tseval.sweeps.expansion import expand_braces, matching_files
from tseval.sweeps.unit import Options, SweepUnit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path("runs")


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """Models that a plan names: one, or as many as braces and patterns stand for.

    Attributes:
        model: As `--model` takes it, or with braces, a pattern of files, or `@REVISION`.
        args: As `--model-args` takes them.
        name: Of the run directories, where it is one model.
    """

    model: str
    args: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    name: str | None = None


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What is to be swept.

    Attributes:
        models: Which models.
        suites: Which suites, as `--suite` takes them, or with braces or patterns of files.
        options: How all of them are read and scored.
        out: The folder of the runs.
        slurm: What submitit is told: `timeout_min`, `slurm_partition`, `gpus_per_node`, ...
        ray: What Ray is told of each worker: `num_cpus`, `num_gpus`, ...
    """

    models: tuple[str | ModelEntry, ...]
    suites: tuple[str, ...]
    options: Options = field(default_factory=Options)
    out: str | None = None
    slurm: Mapping[str, Json] = field(default_factory=dict)
    ray: Mapping[str, Json] = field(default_factory=dict)

    def settings(self, engine: str) -> Mapping[str, Json]:
        """Give what the plan says to an engine."""
        return {"slurm": self.slurm, "ray": self.ray}.get(engine, {})


def read_plan(path: Path) -> SweepPlan:
    """Read a plan.

    Raises:
        RunError: The file does not hold one; names file and field.
    """
    try:
        content = read_yaml(path)
        _refuse_unknown(content, SweepPlan, "a plan")
        if isinstance(content, dict):
            _refuse_unknown(content.get("options"), Options, "options")
            models = content.get("models")
            for entry in models if isinstance(models, list) else ():
                _refuse_unknown(entry, ModelEntry, "a model")
        plan = checked(content, SweepPlan)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except ContentError as error:
        raise RunError(f"{path}: {error}") from None
    return plan if plan.out else replace(plan, out=str(ROOT / path.stem))


def _refuse_unknown(content: object, kind: type, what: str) -> None:
    """Refuse a field with a wrong name: what is left out would be swept otherwise than was meant."""
    known = [part.name for part in fields(kind)]
    for name in content if isinstance(content, dict) else ():
        if name not in known:
            raise ContentError(f"unknown field {name!r} of {what}.\n  {suggest(str(name), known, 'Fields')}")


def plan_units(plan: SweepPlan) -> list[SweepUnit]:
    """List the units of a plan, model by model; whether a model can be opened is found out by a worker.

    Raises:
        RunError: A pattern matches nothing, or two units would have one directory.
        SuiteError: There is no such suite.
    """
    assert plan.out is not None
    suites = [(suite, _suite_name(suite)) for entry in plan.suites for suite in _suites(entry)]
    for suite, _ in suites:
        check_suite_spec(suite)
    units: dict[str, SweepUnit] = {}
    for name, model, arguments in _models(plan.models):
        for suite, suite_name in suites:
            own = f"{name}-{suite_name}"
            unit = SweepUnit(own, model, suite, str(Path(plan.out) / own), arguments, plan.options)
            other = units.setdefault(own.casefold(), unit)
            if other is not unit:
                raise RunError(
                    f"{other.model} on {other.suite} and {model} on {suite} would both be {unit.run}.\n"
                    "  Name one in the plan (models: [{model: ..., name: ...}]), or sweep into two folders."
                )
    if not units:
        raise RunError("the sweep has no units: it needs a model and a suite")
    return list(units.values())


def _models(entries: Sequence[str | ModelEntry]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Give name, specification and arguments of every model."""
    for given in entries:
        entry = ModelEntry(given) if isinstance(given, str) else given
        found = [one for text in _written_out(entry.model) for one in _matching(text)]
        if entry.name is not None and len(found) > 1:
            raise RunError(
                f"{entry.model} stands for {len(found):,} models: they cannot all be {entry.name!r}"
            )
        for name, model, revision in found:
            arguments = {key: str(value).lower() if isinstance(value, bool) else str(value)
                         for key, value in entry.args.items()}  # fmt: skip
            if revision and arguments.setdefault("revision", revision) != revision:
                raise RunError(f"{entry.model}: args name another revision, {arguments['revision']!r}")
            own = safe_name(entry.name or name) + (f"@{safe_name(revision)}" if revision else "")
            yield own, model, arguments


def _matching(text: str) -> Iterator[tuple[str, str, str]]:
    """Give name, specification and revision of each model that a pattern, or a plain name, stands for."""
    scheme, colon, rest = text.partition(":")
    if not colon or len(scheme) == 1 or Path(text).exists():  # of one letter: a drive
        scheme, colon, rest = "", "", text
    revision = ""
    if colon and "@" in rest and not Path(rest).exists():
        rest, _, revision = rest.rpartition("@")
    found = matching_files(rest)
    if found is None:
        found = [(Path(rest), Path(rest).parts[-1:])]
    elif not found:
        raise RunError(f"{text}: no file matches")
    for path, parts in found:
        name = "-".join(parts if colon else (*parts[:-1], Path(parts[-1]).stem) if parts else ())
        yield name, f"{scheme}{colon}{rest if str(path) == str(Path(rest)) else path}", revision


def _suites(entry: str) -> Iterator[str]:
    for text in _written_out(entry):
        found = matching_files(text)
        if found is not None and not found:
            raise RunError(f"{text}: no file matches")
        yield from [text] if found is None else (str(path) for path, _ in found)


def _suite_name(suite: str) -> str:
    """Name a suite in a directory: by its file, with the method that is asked for."""
    stem, colon, method = suite.rpartition(":")
    if colon and not Path(suite).exists():
        return f"{_suite_name(stem)}-{safe_name(method)}"
    return safe_name(Path(suite).name.partition(".")[0] or suite)


def _written_out(text: str) -> list[str]:
    try:
        return expand_braces(text)
    except ValueError as error:
        raise RunError(f"{text}: {error}") from None
