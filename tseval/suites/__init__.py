"""Suites (grammars, data sets, formal languages) by name or path: found, loaded, cached.

Expanded suites lie on disk, so that the second run need not expand again. One file holds a checksum of all
that follows, a JSON line about the suite, and four Arrow streams per case. It is keyed by the content of
every source file and of the code that expands them. Whatever is wrong with the cache, the suite is expanded
again.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, counted, suggest
from tseval.files import cache_folder, data_folder, open_regular, write_whole
from tseval.formats import ContentError, checked
from tseval.items import ENTRIES, Case, Suite, choose_rows, cluster_by, refuse_unknown_cases, suite_digest
from tseval.questions import Contrast  # noqa: TC001 - read at run time
from tseval.questions.pairs import Pairs
from tseval.suites.data.catalogue import CATALOGUE, columns_at, published_at, refuse_elsewhere
from tseval.suites.data.exclusions import leave_out, refuse_exclusion
from tseval.suites.data.fetching import fetch_files
from tseval.suites.data.folders import NOT_READ, is_data, not_a_suite
from tseval.suites.data.kinds import methods_of
from tseval.suites.data.reading import read_data
from tseval.suites.data.roles import refuse_columns
from tseval.suites.formal import draw_test, language_case
from tseval.suites.formal.languages import FORMAL_LANGUAGES, STOP, names_language, parse_language
from tseval.suites.views import VIEWS, tokenise_case, view_suite
from tseval.writing import without_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tseval.suites.data.exclusions import Exclude
    from tseval.writing import Writing


CACHE_FORMAT = 2
_afresh: ContextVar[dict[str, Suite] | None] = ContextVar("afresh", default=None)


class _CaseFacts(TypedDict):
    name: str
    construction: str
    phenomenon: str
    dependency: str | None
    contrasts: tuple[Contrast, ...]


class _SuiteFacts(TypedDict):
    name: str
    title: str
    source: str | None
    terminator: str | None
    digest: str


class _Head(TypedDict):
    suite: _SuiteFacts
    cases: list[_CaseFacts]


_CODE = Path(__file__).parent


def suite_key(path: Path) -> str:
    """Hash everything that an expansion follows from: the suite's files and our code."""
    digest = hashlib.sha256(f"{CACHE_FORMAT} {path.resolve().name}".encode())
    folder = path if path.is_dir() else path.parent
    grammars = [path] if path.is_file() else sorted(folder.glob("*.jinja"))
    code = [*sorted((_CODE / "grammar").glob("*.py")), _CODE / "__init__.py"]
    for file in [*grammars, *sorted(folder.glob("*.yaml")), *code]:
        content = None
        with suppress(OSError):
            content = file.read_bytes() if file.is_file() else None  # a pipe would be waited for without end
        size = "unreadable" if content is None else len(content)
        digest.update(f"\n{file.name} {size}\n".encode() + (content or b""))
    return digest.hexdigest()


def save_suite(suite: Suite, key: str) -> None:
    """Write an expanded suite; where the cache cannot be written, do without."""
    if (expanded := _afresh.get()) is not None:
        expanded[key] = suite
        return
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for case in suite.cases:
        index = pa.table({"index": case.index})
        for table in (index, case.sentences, case.features, case.entries):
            with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
                writer.write_table(table)
    head = {"suite": _facts(suite, _SuiteFacts), "cases": [_facts(case, _CaseFacts) for case in suite.cases]}
    content = json.dumps(head, default=asdict).encode() + b"\n" + sink.getvalue().to_pybytes()
    checksum = hashlib.sha256(content).hexdigest().encode()
    path = _path(key)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, checksum + b"\n" + content, shared=True)


@contextmanager
def afresh() -> Iterator[None]:
    """Inside, no cache on disk is read: whoever verifies expands again, and every suite once.

    A block inside another goes on with what that has expanded.
    """
    outer = _afresh.get()
    token = _afresh.set({} if outer is None else outer)
    try:
        yield
    finally:
        _afresh.reset(token)


def load_cached(key: str) -> Suite | None:
    """Read an expanded suite, or None where it is absent or damaged."""
    if (expanded := _afresh.get()) is not None:
        return expanded.get(key)
    try:
        with open_regular(_path(key)) as file:
            checksum, _, content = file.read().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            return None
        first, _, streams = content.partition(b"\n")
        head = checked(json.loads(first), _Head)
        source = pa.BufferReader(streams)
        cases = tuple(_read_case(facts, source) for facts in head["cases"])
        sound = cases and all(_is_sound(case) for case in cases)
        return Suite(cases=cases, **head["suite"]) if sound else None
    except (OSError, ValueError, LookupError, RecursionError, ContentError, pa.ArrowException):
        return None


def _read_case(facts: _CaseFacts, source: pa.BufferReader) -> Case:
    index, sentences, features, entries = (pa.ipc.open_stream(source).read_all() for _ in range(4))
    numbers = cast("pa.Int64Array", index.column("index").combine_chunks())
    return Case(
        name=facts["name"],
        construction=facts["construction"],
        phenomenon=facts["phenomenon"],
        dependency=facts["dependency"],
        question=Pairs(facts["contrasts"]),
        index=numbers,
        sentences=sentences,
        features=features,
        entries=entries,
    )


def _is_sound(case: Case) -> bool:
    """Return whether a case hangs together: a checksum anyone can compute proves nothing."""
    return (
        case.index.type == pa.int64()
        and len(case.index) == case.sentences.num_rows == case.features.num_rows
        and set(case.sentences.schema.types) == {pa.string()}
        and (not case.entries.num_columns or len(case.index) == case.entries.num_rows)
        and set(case.entries.schema.types) <= {ENTRIES}
        and len(case.contrasts) > 0
        and all({contrast.better, contrast.worse} <= set(case.labels) for contrast in case.contrasts)
    )


def _facts(value: Suite | Case, kind: type) -> dict[str, object]:
    return {name: getattr(value, name) for name in kind.__annotations__}


def _path(key: str) -> Path:
    return cache_folder() / f"{key[:32]}.arrow"


TEMPLATES = Path(__file__).parents[1] / "templates"


def available_suites() -> tuple[str, ...]:
    """Name the bundled suites."""
    return tuple(sorted(file.parent.name for file in TEMPLATES.glob("*/suite.yaml")))


def bundled_sizes(name: str) -> tuple[str, int, int, int]:
    """Return title and numbers of cases, items and contrasts of a bundled suite, without expanding it."""
    from tseval.suites.grammar import read_folder  # noqa: PLC0415 - brings Jinja and YAML along

    folder = read_folder(TEMPLATES / name)
    grammars = folder.load()
    questions = [
        own.experiment.predictions if own.experiment else folder.contrasts_of(own) for own in grammars
    ]
    n_items = [grammar.n_items for grammar in grammars]
    contrasts = sum(n * len(own) for n, own in zip(n_items, questions, strict=True))
    return folder.title, len(grammars), sum(n_items), contrasts


def find_suite(spec: str | Path) -> Path:
    """Find a suite by the name of a bundled or published one, or by path; names come first.

    A published one is downloaded where it is not here yet.
    """
    if spec == "":
        raise SuiteError(
            "the name of the suite is empty ('').\n"
            "  Write a name or a path: --suite marvin_linzen. Check that your shell variable is not empty."
        )
    if isinstance(spec, str) and spec in available_suites():
        return TEMPLATES / spec
    if isinstance(spec, str) and spec in CATALOGUE:
        if not (data_folder() / spec).exists():
            fetch_suite(spec)
        return data_folder() / spec
    if isinstance(spec, Path) or os.path.basename(spec) != spec or Path(spec).exists():
        path = Path(spec)
        if not path.exists():
            raise SuiteError(
                f"{path}: this file or folder does not exist.\n"
                "  Give the name of a suite, or a path: tseval run --suite NAME."
            )
        if path.is_file() and path.suffix != ".jinja" and not is_data(path):
            raise not_a_suite(path)
        return path
    if names_language(spec):
        raise SuiteError(
            f"{spec} is a formal language, so it has no grammars and no sentence pairs.\n  Use formal "
            "languages with tseval run, tseval expand or tseval train."
        )
    refuse_elsewhere(spec)
    near = get_close_matches(spec, CATALOGUE, n=1)  # all of them would be more than a message holds
    known = suggest(spec, [*available_suites(), *near, *FORMAL_LANGUAGES], "Suites")
    raise SuiteError(
        f"there is no suite {spec!r}.\n  {known} To see all suites, type tseval suites. To "
        f"use a file or folder, give its path: ./{spec}."
    )


def fetch_suite(name: str, progress: Callable[[int, int], None] | None = None) -> str:
    """Download a published set (`fetch_files`), and give its digest."""

    def digest_of(folder: Path, columns: Mapping[str, str]) -> str:
        return load_suite(folder, columns=columns).digest

    return fetch_files(name, CATALOGUE[name], data_folder() / name, digest_of, progress)


def taken_before(spec: str) -> str | None:
    """Say that a name is taken before a file or folder that is called so too."""
    name = spec.rpartition(":")[0] or spec
    if name in (*available_suites(), *CATALOGUE) and Path(name).exists():
        return f"{name} is a suite of tseval. To use your file or folder of the same name, write ./{spec}"
    return None


def check_suite_spec(spec: str) -> None:
    """Check that there is such a suite, without reading it; refuse as `load_suite` does."""
    if names_language(spec):
        parse_language(spec)
    else:
        locate_suite(spec)


def locate_suite(spec: str | Path) -> tuple[Path, str | None]:
    """Find a suite, and the method that `NAME:METHOD` chooses, None where it chooses none."""
    if not isinstance(spec, str) or ":" not in spec or Path(spec).exists():
        return find_suite(spec), None
    name, _, method = spec.rpartition(":")
    path = find_suite(name)
    methods = (*VIEWS, *methods_of(path))
    if method not in methods:
        raise SuiteError(f"{name}: no method {method!r}.\n  {suggest(method, methods, 'Methods')}")
    return path, method


_CACHED_ITEMS = 1_000_000


def load_suite(  # noqa: PLR0913 - which suite, which of its items, and how data are read
    spec: str | Path,
    *,
    cases: str | Sequence[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    tokenise: bool = False,
    columns: Mapping[str, str] | None = None,
    exclude: Exclude | None = None,
) -> Suite:
    """Load a suite: all its items, or some, expanding only what is asked for.

    Args:
        spec: Name of a suite, formal language with its settings (`dyck(k=4,m=3)`), path of a folder of
            grammars or of one `.jinja` file, or path of a file or a folder of data. `:METHOD` after it
            asks something else of the items (`tseval.suites.views`), or chooses among the methods of a data
            set (`blimp:one_prefix`).
        cases: Only these cases, or this one; all where empty.
        limit: The first so many items of each case.
        sample: So many items of each case, drawn uniformly without replacement, in item order.
        seed: Of the draw, and of the sentences that `:judgement` shows.
        tokenise: Split punctuation and clitics off the words of a data set (Penn Treebank tokens), for
            word-level models; the sentences of grammars are tokenised anyway.
        columns: Of a table, what each column is: `{"good": "sen", "bad": "wrong_sen"}`, and how it is read
            (`tseval.suites.data.roles`). None for names that are known.
        exclude: Items of data to leave out: `known-errors`, which is what its authors and readers found, the
            path of a list, or pairs of a case and an id (`tseval.suites.data.entries`).

    Raises:
        SuiteError: No such suite, case or column; a limit or sample below 1.
        GrammarError: A grammar that cannot be expanded, with file, line and fix.
    """
    _check_counts(limit, sample)
    names = (cases,) if isinstance(cases, str) else cases
    suite = _load(spec, names, (limit, sample, seed), tokenise, columns, exclude)
    return suite if sample is None else replace(suite, sample=f"{sample} of each case, seed {seed}")


def _load(
    spec: str | Path,
    names: Sequence[str],
    which: tuple[int | None, int | None, int],
    tokenise: bool,
    columns: Mapping[str, str] | None,
    exclude: Exclude | None,
) -> Suite:
    """Load a suite, or the items that are asked for: limit, sample and seed."""
    limit, sample, seed = which
    if isinstance(spec, str) and names_language(spec):
        refuse_columns(spec, columns)
        refuse_exclusion(spec, exclude)
        return _formal_suite(spec, names, which)
    path, method = locate_suite(spec)
    if method in VIEWS:
        whole = _load(path, names, which, tokenise, columns, exclude)
        return view_suite(whole, method, seed, leave_out=not names)
    complete = not names and limit is None and sample is None
    from tseval.suites.grammar import read_folder  # noqa: PLC0415 - brings Jinja and YAML along

    if is_data(path):
        suite = _data_suite(path, method, names, which, columns, exclude)
        if not tokenise:
            return suite
        tokenised = tuple(map(tokenise_case, suite.cases))
        return replace(suite, cases=tokenised, digest=suite_digest(None, tokenised))
    refuse_columns(spec, columns)
    refuse_exclusion(spec, exclude)
    key = suite_key(path) if complete else None
    cached = None if key is None else load_cached(key)
    # Anyone can write into a cache (decision 9): its content must be what its digest says.
    if cached and suite_digest(cached.terminator, cached.cases) == cached.digest:
        # Rules of writing are read from the file: no digest covers what a cache says of them.
        own = cached if cached.writing else read_folder(path)
        same = (own.writing, own.notes) == (cached.writing, cached.notes)
        return cached if same else replace(cached, writing=own.writing, notes=own.notes)

    from tseval.suites.grammar.code_problems import note_of_errors  # noqa: PLC0415 - likewise
    from tseval.suites.grammar.expand import check_size, expand  # noqa: PLC0415 - likewise

    folder = read_folder(path)
    grammars = folder.load(names)
    for grammar in grammars:
        check_size(grammar, None if limit is None and sample is None else 0)
    expanded = tuple(
        expand(grammar, folder.contrasts_of(grammar), choose_rows(grammar.n_items, *which), folder.terminator)
        for grammar in grammars
    )
    errors = note_of_errors(grammars)
    suite = Suite(
        name=folder.name,
        title=folder.title,
        source=folder.source,
        terminator=folder.terminator,
        cases=expanded,
        digest=suite_digest(folder.terminator, expanded),
        complete=complete,
        writing=folder.writing,
        notes=(*folder.notes, *errors),
        score="sentence" if all(case.contrasts for case in expanded) else "regions",
    )
    # Only pairs are kept: they are what takes long. What is wrong with a grammar is said each time.
    if key is not None and not errors and suite.n_items <= _CACHED_ITEMS and suite.score == "sentence":
        save_suite(suite, key)
    return suite


def terminator_of(spec: str | Path) -> str | None:
    """Tell what ends the sentences of a suite when they are scored; those of data end as they stand."""
    if isinstance(spec, str) and names_language(spec):
        return None
    path, _ = locate_suite(spec)
    from tseval.suites.grammar import read_folder  # noqa: PLC0415 - brings Jinja and YAML along

    return None if is_data(path) else read_folder(path).terminator


def writing_of(spec: str | Path) -> tuple[Writing, str | None]:
    """Read the rules by which the tokens of a suite of grammars are written, and what ends its sentences."""
    path, _ = locate_suite(spec)
    from tseval.suites.grammar import read_folder  # noqa: PLC0415 - brings Jinja and YAML along

    folder = None if is_data(path) else read_folder(path)
    if folder is None or folder.writing is None:
        raise without_rules(path.name)
    return folder.writing, folder.terminator


def stream_cases(  # noqa: PLR0913 - what a user may say, and what is told
    spec: str | Path,
    *,
    cases: str | Sequence[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
    labels: list[str] | None = None,
) -> tuple[int, Iterator[Case]]:
    """Go through the items of a suite in blocks, for writing them out.

    What is given is that of `load_suite`, but limit and sample are of the items of all the cases together.
    Gives how many items there will be, and the blocks; a large case comes in several. A grammar that cannot
    be expanded is refused at the latest while its block is made. What a reader should know of how data were
    read is added to `notes`, the labels of all cases to `labels`.
    """
    _check_counts(limit, sample)
    found = [] if labels is None else labels
    from tseval.suites.grammar import read_folder  # noqa: PLC0415 - brings Jinja and YAML along
    from tseval.suites.grammar.expand import LARGEST_INDEX, check_size, expand_blocks  # noqa: PLC0415 - likewise

    if isinstance(spec, str) and names_language(spec):
        suite = load_suite(spec, cases=cases, limit=limit, sample=sample, seed=seed, columns=columns)
        found += _all_labels(case.labels for case in suite.cases)
        return suite.n_items, iter(suite.cases)
    path, method = locate_suite(spec)
    if (limit is None and sample is None) or method is not None or is_data(path):
        suite = load_suite(spec, cases=cases, seed=seed, columns=columns)
        if notes is not None:
            notes += suite.notes
        found += _all_labels(case.labels for case in suite.cases)
        rows = choose_rows(suite.n_items, limit, sample, seed)
        ends = np.cumsum([case.n_items for case in suite.cases]).tolist()
        cut = zip(suite.cases, ends, strict=True)
        return len(rows), (case.take(_rows_between(rows, end - case.n_items, end)) for case, end in cut)
    refuse_columns(spec, columns)
    folder = read_folder(path)
    grammars = folder.load((cases,) if isinstance(cases, str) else cases)
    for grammar in grammars:
        check_size(grammar, 0)
    found += _all_labels(grammar.labels for grammar in grammars)
    ends = np.cumsum([grammar.n_items for grammar in grammars], dtype=object)
    if ends[-1] > LARGEST_INDEX:
        raise SuiteError(
            f"{spec}: the suite has more than 9 quintillion items.\n  Choose fewer cases with --case."
        )
    rows = choose_rows(int(ends[-1]), limit, sample, seed)

    def blocks() -> Iterator[Case]:
        for grammar, end in zip(grammars, ends, strict=True):
            own = _rows_between(rows, end - grammar.n_items, end)
            yield from expand_blocks(grammar, folder.contrasts_of(grammar), own, folder.terminator)

    return len(rows), blocks()


def _all_labels(of_cases: Iterable[tuple[str, ...]]) -> Iterable[str]:
    """Return the labels of all cases, each once, in the order of the case that has the most."""
    return dict.fromkeys(label for labels in sorted(of_cases, key=len, reverse=True) for label in labels)


def _formal_suite(spec: str, cases: Sequence[str], which: tuple[int | None, int | None, int]) -> Suite:
    language = parse_language(spec)
    refuse_unknown_cases(language.name, [language.name], cases)
    limit, sample, seed = which
    strings = draw_test(language, limit if sample is None else None)
    rows = np.array(choose_rows(len(strings), limit, sample, seed), dtype=np.int64)
    case = language_case(language, strings.take(rows), rows)
    return Suite(
        name=language.name,
        title=language.title,
        source=language.source,
        terminator=STOP,
        cases=(case,),
        digest=suite_digest(STOP, [case]),
        complete=limit is None and sample is None,
        score="choices",
    )


def _data_suite(
    path: Path,
    method: str | None,
    cases: Sequence[str],
    which: tuple[int | None, int | None, int],
    columns: Mapping[str, str] | None,
    exclude: Exclude | None,
) -> Suite:
    """Read a data set and take the items that are asked for: limit, sample and seed."""
    columns = columns_at(path, columns)
    data = read_data(path, method, columns)
    refuse_unknown_cases(data.name, [case.name for case in data.cases], cases)
    chosen = [case for case in data.cases if not cases or case.name in cases]
    label, listed, notes = None, None, data.notes
    if exclude is not None:
        before = sum(case.n_items for case in chosen)
        label, listed, chosen = leave_out(data, chosen, exclude)
        left = before - sum(case.n_items for case in chosen)
        notes = (*notes, f"left out: {counted(left, 'item')} of {before:,} (exclude:{label})")
    taken = tuple(case.take(choose_rows(case.n_items, *which)) for case in chosen)
    suite = Suite(
        name=data.name,
        title=data.title,
        source=data.source,
        terminator=None,
        cases=taken,
        digest=suite_digest(None, taken),
        complete=not cases and which[:2] == (None, None),
        score=data.score,
        columns=None if columns is None else dict(columns),
        exclude=label,
        excluded=listed,
        files=data.files,
        notes=notes,
    )
    published = published_at(path)
    whole = suite.complete and exclude is None and method is None
    if published and whole and published.columns == (columns or {}) and published.digest != suite.digest:
        digest = published.digest and published.digest[:12]
        said = f"this is not the published set: the digest is {suite.digest[:12]}, not {digest}"
        suite = replace(suite, notes=(*notes, said)) if digest else suite
    if columns and "cluster" in columns:
        shared = columns["cluster"]
        return cluster_by(suite, ["item" if columns.get("item") == shared else shared])
    return suite


def what_was_read(suite: Suite) -> str:
    """Say in one line what was read of which files of data, what was not and why, and what was left out."""
    read: list[str] = []
    left: list[str] = []
    for name, what in (suite.files or {}).items():
        (left if what.startswith(NOT_READ) else read).append(f"{name} ({what.removeprefix(NOT_READ)})")
    not_read = [f"not read: {_some(left)}"] if left else []
    said = [f"{suite.name}: read {_some(read)}", *not_read, *suite.notes]
    pairs = (case.sentences for case in suite.cases if {"good", "bad"} <= {*case.labels})
    if equal := sum(len(pc.indices_nonzero(pc.equal(one["good"], one["bad"]))) for one in pairs):
        said.append(f"in {counted(equal, 'item')} the file has the same sentence twice")
    return "; ".join(said)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5:,} more" if len(names) > 6 else ""
    return ", ".join(names[:5] if more else names) + more


def _check_counts(limit: int | None, sample: int | None) -> None:
    for name, count in (("limit", limit), ("sample", sample)):
        if count is not None and count < 1:
            raise SuiteError(
                f"the number of items, {name}={count}, must be 1 or more.\n  To use all items, leave {name} "
                "out."
            )


def _rows_between(rows: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Take the ascending rows in [start, end), counted from start."""
    if isinstance(rows, range):
        return range(max(rows.start, start) - start, max(min(rows.stop, end), start) - start)
    return [row - start for row in rows if start <= row < end]
