"""Groups of runs: seeds of an architecture, runs with similar names, runs that a user groups."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from os.path import realpath
from typing import TYPE_CHECKING

from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.report.opened import RunSet


# Details that differ between models that differ only in their seed, or in where they were scored.
_OF_A_SEED = frozenset(
    {"validation_perplexity", "validation_accuracy", "device", "step", "tokens", "training", "folder"}
)
GROUP, SEED = "{group}", "{seed}"
_LAST_NUMBER = re.compile(r"(.*?)((?:[-_.@ ]?[^\W\d_]*)?)\d+(\D*)")
_SEED_AT_THE_END = re.compile(r"(?<=.)[-_.@ ]?(?:seed|s)?\d+$")
MOST_NAMED = 4  # models listed in a warning


@dataclass(frozen=True, slots=True)
class Groups:
    """Names of groups with the names of their runs, in the order of the runs.

    `warning` lists groups whose models may differ in more than their seed, or is None.
    """

    runs_of: Mapping[str, list[str]]
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Grouping:
    """The user's settings for groups.

    Attributes:
        by_architecture: Join models that differ only in their seed.
        pattern: Join models with the same {group} in their names, such as `{group}-s{seed}`.
        named: The group of a run, by the real path of its folder. Other runs follow `by_architecture` or
            `pattern`; without these, each is a group alone.
    """

    by_architecture: bool = False
    pattern: str | None = None
    named: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.by_architecture or self.pattern is not None or bool(self.named)

    def of(self, opened: RunSet) -> Groups:
        """Return the groups of runs on one suite.

        Raises:
            RunError: There is nothing to join, a name does not match the pattern, or a group has two runs
                of the same model.
        """
        if not self:
            return Groups({name: [name] for name in opened.verdicts})
        named = {name: self.named.get(realpath(folder)) for name, folder in opened.folders.items()}
        ungrouped = [name for name in opened.verdicts if named[name] is None]
        if self.pattern is not None:
            group_of = {name: _group_in_name(self.pattern, name, opened) for name in ungrouped}
        elif self.by_architecture:
            group_of = _by_architecture(opened, ungrouped, bool(self.named))
        else:
            group_of = {name: name for name in ungrouped}
        runs_of: dict[str, list[str]] = {}
        for name in opened.verdicts:
            runs_of.setdefault(named[name] or group_of[name], []).append(name)
        for names in runs_of.values():
            _refuse_same_model(opened, names)
        if self.by_architecture and all(len(names) == 1 for names in runs_of.values()):
            raise RunError(
                "no two of these models differ only in their seed, so there are no means over seeds.\n"
                "  Name runs of models with the same architecture, sizes and vocabulary, or leave out "
                "--group."
            )
        return Groups(runs_of, _warning(opened, runs_of))


def check_pattern(pattern: str) -> None:
    """Check that a pattern of names has exactly one {group} and one {seed}.

    Raises:
        RunError: It has not.
    """
    fields = Counter(re.findall(r"\{[^{}]*\}", pattern))
    if fields != Counter((GROUP, SEED)):
        raise RunError(
            f"--group-by {pattern!r}: the pattern should have {GROUP} once and {SEED} once, and no other "
            "text in braces.\n  For names such as lstm-s1 and lstm-s2, write --group-by '{group}-s{seed}'."
        )


def _group_in_name(pattern: str, heading: str, opened: RunSet) -> str:
    """Return the group in the name of a model, or else in the name of its run's folder."""
    check_pattern(pattern)
    parts = {GROUP: r"(?P<group>.+?)", SEED: r"\d+"}
    wanted = re.compile("".join(parts.get(part) or re.escape(part) for part in _split(pattern)), re.DOTALL)
    names = _names_of(opened, heading)
    for name in names:
        if match := wanted.fullmatch(name):
            return match["group"]
    raise RunError(
        f"--group-by {pattern!r}: the name {names[0]!r} does not match this pattern ({SEED} is a whole "
        f"number). The run is {opened.folders[heading]}.\n"
        "  Change the pattern, leave out this run, or name the group of the run: "
        f"GROUP={opened.folders[heading]}"
    )


def _split(pattern: str) -> list[str]:
    return [part for part in re.split(r"(\{[^{}]*\})", pattern) if part]


def _names_of(opened: RunSet, heading: str) -> list[str]:
    """Return the name of a model, and the name of its run's folder without the suite."""
    return [opened.manifests[heading].model.name, stem_of_folder(opened.folders[heading], opened.suite)]


def stem_of_folder(folder: str, suite: str) -> str:
    """Return the name of a run's folder without suite and time, which commands add to it.

    >>> stem_of_folder("runs/lstm-s1-clams_english", "clams_english")
    'lstm-s1'
    >>> stem_of_folder("runs/lstm-s1--blimp--20260131T120000", "blimp")
    'lstm-s1'
    """
    name = re.split(r"[/\\]", folder.rstrip("/\\"))[-1]
    return re.sub(rf"--?{re.escape(suite)}(?:--\d{{8}}T\d{{6}}(?:-\d+)?)?$", "", name) or name


def _by_architecture(opened: RunSet, rest: Sequence[str], others: bool) -> dict[str, str]:
    """Return the group of each run: models with equal details apart from their weights and seed.

    The group has the name of the architecture; a model without others keeps its name.
    """
    groups: dict[str, list[str]] = {}
    for name in rest:
        card = opened.manifests[name].model
        described = {detail: value for detail, value in card.details.items() if detail not in _OF_A_SEED}
        key = repr((card.kind, card.protocol, described)) if "architecture" in described else name
        _refuse_same_model(opened, [*groups.setdefault(key, []), name])
        groups[key].append(name)
    names: dict[str, list[str]] = {}
    for runs in groups.values():
        details = opened.manifests[runs[0]].model.details
        name = str(details.get("architecture", runs[0])) if len(runs) > 1 else runs[0]
        names[name if name not in names else f"{name} ({runs[0]})"] = runs
    return {run: name for name, runs in names.items() for run in runs}


def _refuse_same_model(opened: RunSet, names: Sequence[str]) -> None:
    first: dict[str, str] = {}
    for name in names:
        first_name = first.setdefault(opened.manifests[name].model.fingerprint, name)
        if first_name != name:
            raise RunError(
                f"{first_name} and {name} are two runs of the same model, not of two models with different "
                "seeds.\n  Leave out one of the two runs."
            )


def _warning(opened: RunSet, runs_of: Mapping[str, Sequence[str]]) -> str | None:
    """Return a warning if runs of a group may differ in more than the seed, by their names or scores."""
    warnings = []
    for group, runs in runs_of.items():
        listed = ", ".join(runs[:MOST_NAMED]) + (", ..." if len(runs) > MOST_NAMED else "")
        if not _differ_by_a_number(_distinct_names(opened, runs)):
            warnings.append(
                f"The group {group} is a mean over models whose names differ by more than a number "
                f"({listed}). If they differ in more than the seed, use --group-by."
            )
        if len({opened.manifests[run].key.score for run in runs}) > 1:
            warnings.append(
                f"The group {group} is a mean over runs that are scored by different methods ({listed})."
            )
    return " ".join(warnings) or None


def _distinct_names(opened: RunSet, runs: Sequence[str]) -> list[str]:
    """Return the names of models or, if all are equal, of the folders of their runs."""
    names = [_names_of(opened, run) for run in runs]
    models = [model for model, _ in names]
    return models if len({*models}) > 1 else [folder for _, folder in names]


def _differ_by_a_number(names: Sequence[str]) -> bool:
    """Return whether names differ in at most one number, which may be missing at the end.

    >>> _differ_by_a_number(["lstm", "lstm-2"]), _differ_by_a_number(["lr1-s1", "lr5-s2"])
    (True, False)
    """
    if len({_SEED_AT_THE_END.sub("", name) for name in names}) == 1:
        return True
    parts = [re.split(r"(\d+)", name) for name in names]
    if len({tuple(split[::2]) for split in parts}) > 1:
        return False
    return sum(len(set(numbers)) > 1 for numbers in zip(*(split[1::2] for split in parts), strict=True)) <= 1


def pattern_for(names: Sequence[str]) -> str | None:
    """Return a pattern for names that all end in a number; None if no pattern matches all.

    >>> pattern_for(["drop-s1", "nodrop-s2"])
    '{group}-s{seed}'
    """
    match = _LAST_NUMBER.fullmatch(names[0])
    if match is None or not match[1]:
        return None
    literal, end = match[2], match[3]
    fitting = re.compile(rf".+?{re.escape(literal)}\d+{re.escape(end)}")
    return f"{GROUP}{literal}{SEED}{end}" if all(map(fitting.fullmatch, names)) else None
