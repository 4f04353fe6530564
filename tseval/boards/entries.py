"""The entries of a board, from submission to retraction."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import asdict, replace
from shlex import quote
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow.compute as pc

from tseval.boards.dates import today
from tseval.boards.definition import (
    BOARD_FILES_FORMAT,
    Definition,
    check_texts,
    read_definition,
    suite_here,
    write_definition,
)
from tseval.boards.entry import (
    ENTRY_NAME,
    About,
    Checked,
    Entry,
    check_about,
    check_opened,
    read_entry,
    rows_of,
    write_entry,
)
from tseval.boards.entry_folders import ENTRY_FOLDERS, entry_folders, readable_entries
from tseval.boards.maintainer import CHECKS, checks_text, read_checks
from tseval.boards.transaction import (
    Transaction,
    board_transaction,
    complete_interrupted,
    write_folder,
)
from tseval.boards.verified import require_verified
from tseval.errors import BoardError, counted
from tseval.evidence.columns import whole_column
from tseval.evidence.download import LARGEST_EVIDENCE, EvidenceAddress, check_address, keep_evidence
from tseval.evidence.file_format import evidence_bytes
from tseval.evidence.record import gather
from tseval.files import PARTIAL, to_utf8
from tseval.formats import ContentError
from tseval.items import CONTEXT
from tseval.report.published import Retraction
from tseval.runs.board_suite import DEFINITION, suite_spec
from tseval.runs.contexts import in_stated_context
from tseval.runs.directory import digest
from tseval.runs.entry import ENTRY_FILE, EVIDENCE
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import dump_manifest
from tseval.runs.reader import read_run
from tseval.suites import load_suite, without_cache
from tseval.suites.data.critical import with_critical
from tseval.verdicts import sentences_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.runs.opened import Opened
    from tseval.runs.run import Run


T = TypeVar("T")
ADDED_BY = "tseval board add"
_NAME_FIX = "Use at most 60 letters, digits, dots and dashes. Begin with a letter or a digit."
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@without_cache()  # the text in the suite's files, which everybody can expand
def add_entries(  # noqa: PLR0913, PLR0917 - all that a user may say of an entry
    board: Path,
    paths: Sequence[Path],
    about: About,
    name: str | None = None,
    url: str | None = None,
    instead_of: str | None = None,
    opened: Opened | None = None,
) -> list[Path]:
    """Add runs to a board, if all of them pass the checks that need no model.

    This writes only the folders of the entries; `tseval board write` adds them to the pages.

    Args:
        name: Name of the model on the board, for a single run; None: the name in the run. If no folder can
            have this name, it becomes the display name, and the folder gets a similar name.
        url: Address where the evidence of a single run will be, instead of in the folder. Until then,
            it is in the cache.
        opened: Options with which others open the model of a single run; None: the options in the run.
        instead_of: Entry that the single run replaces. Its old name redirects to the new entry.
    """
    command = "add", *map(str, paths), str((asdict(about), name, url, instead_of, opened))
    if (plan := complete_interrupted(board, *command)) is not None:
        return [board / step.path for step in plan.steps if step.action == "put" and "/" in step.path]
    definition = _open_to_runs(board)
    if len(paths) > 1 and any(option is not None for option in (name, url, instead_of, opened)):
        raise BoardError(
            "--name, --evidence, --replace and --model describe a single run, but the command names "
            f"{len(paths)} runs.\n"
            "  Add the runs one by one."
        )
    if url is not None:
        check_address(url)
    about = replace(about, date=about.date or today())
    with _as_board_error("the options about the model"):
        check_about(about)
        check_opened(opened.model if opened else None)
    suite = str(suite_spec(definition.suite, board))
    files_by_folder: dict[Path, dict[str, bytes]] = {}
    entries: dict[Path, Entry] = {}
    for path in paths:
        entry, files = entry_files(definition, suite, path, name, about)
        if opened is not None:
            entry = replace(entry, model=opened.model, model_args=opened.model_args or None)
        if address := url or definition.evidence:
            content = files.pop(EVIDENCE)
            address = address.replace("{sha256}", digest(content))
            entry = replace(entry, evidence=EvidenceAddress(address, digest(content), len(content)))
            keep_evidence(content)
        folder = board / ENTRY_FOLDERS / entry.name
        if _is_taken(folder, files_by_folder):
            raise BoardError(
                f"two of the runs have a model with the name {entry.name!r}, but each entry "
                "needs its own name. Add the runs one by one, the second with --name."
            )
        files_by_folder[folder], entries[folder] = files, entry
    with board_transaction(board, *command) as change:
        folders = entry_folders(board)
        if instead_of is not None:
            old = board / ENTRY_FOLDERS / instead_of
            if old not in folders:
                raise BoardError(
                    f"{board} has no entry {instead_of!r}, so --replace cannot replace it.\n"
                    f"  To list the entries: tseval table {board}"
                )
            folders.remove(old)
            entries = {folder: _successor(entry, old) for folder, entry in entries.items()}
        _refuse_taken(entries, folders, set(read_checks(board).retracted), " with --name")
        for folder, files in files_by_folder.items():
            change.put(_path_in_board(folder), {**files, ENTRY_FILE: to_utf8(write_entry(entries[folder]))})
            if instead_of is not None:
                if folder.name != instead_of:
                    change.remove(_path_in_board(old))
                _call_otherwise(change, instead_of, folder.name, moved=False)
        change.commit(pages=instead_of is not None)
    return list(files_by_folder)


def _path_in_board(entry: Path) -> str:
    """Return the path of an entry's folder, relative to the board."""
    return f"{ENTRY_FOLDERS}/{entry.name}"


def _open_to_runs(board: Path) -> Definition:
    """Read the definition of a board, and refuse a board to which no run can be added."""
    definition = read_definition(board)
    if definition.published:
        raise BoardError(
            f"{board} is a leaderboard of published accuracies, to which tseval cannot add runs.\n"
            f"  Write the file {ENTRY_FOLDERS}/NAME/{ENTRY_FILE} as docs/boards.md describes, then run: "
            f"tseval board write {board}"
        )
    if definition.renewed_by is not None:
        raise BoardError(
            f"{board} is archived, because its suite has a newer version.\n"
            "  Score the model on the new version, and add that run to "
            f"{os.path.normpath(board / definition.renewed_by)}"
        )
    if (present := suite_here(definition, board).digest) != definition.digest:
        raise BoardError(
            f"{board} uses the suite {definition.suite} with the digest {definition.digest[:8]}, but the "
            f"suite now has the digest {present[:8]}.\n"
            f"  To create a leaderboard for the new version: tseval board renew {quote(str(board))}"
        )
    return definition


def _refuse_taken(
    entries: dict[Path, Entry], there: Sequence[Path], retracted: set[str], fix: str = ""
) -> None:
    """Refuse names that entries have or had, and models that are on the board. `fix` ends each message."""
    current_entries = list(readable_entries(there))
    by_identity = {current.identity: current for current in current_entries if current.name not in retracted}
    aliases = {alias.lower(): current.name for current in current_entries for alias in current.aliases}
    for folder, entry in entries.items():
        if _is_taken(folder, there):
            raise BoardError(f"{folder} exists already.\n  Choose another name for the entry{fix}.")
        if (current := aliases.get(folder.name.lower())) is not None:
            raise BoardError(
                f"{folder.name} was an earlier name of the entry {current}, and still redirects to this "
                "entry.\n"
                f"  Choose another name for the entry{fix}."
            )
        equal = by_identity.setdefault(entry.identity, entry)
        if equal is not entry:
            raise BoardError(
                f"{entry.name} is the same model, scored in the same way, as the entry {equal.name}, but a "
                "model can have only one entry.\n"
                f"  To replace the old entry, add --replace {equal.name}."
            )


def entry_files(
    definition: Definition, suite: str, path: Path, name: str | None = None, about: About | None = None
) -> tuple[Entry, dict[str, bytes]]:
    """Return the entry of a run, if the run can be verified without its model.

    Returns:
        The entry, and the content of its other files by name.
    """
    run, about = read_run(path), about or About()
    name = name or run.manifest.key.model
    entry_name = name if ENTRY_NAME.fullmatch(name) else _NOT_IN_NAMES.sub("--", name).strip("-.")
    if not ENTRY_NAME.fullmatch(entry_name) or ("/" in name and ".." in name.split("/")):
        raise BoardError(
            f"the name of the model, {name!r}, cannot be the name of an entry.\n"
            f"  Choose another name with --name. {_NAME_FIX}"
        )
    if entry_name != name and about.display_name is None:
        about = replace(about, display_name=name)
    if refusal := unfit(definition, run, about):
        raise BoardError(
            f"{path} cannot be an entry of this leaderboard: {refusal}.\n"
            "  Score the model with tseval run on the suite of the leaderboard, and add that run."
        )
    require_verified(path, suite)
    evidence = gather(run.load_sentences(), definition.digest)
    if run.manifest.counts.too_long:
        loaded = load_suite(suite, columns=definition.columns or None)
        if (context := run.manifest.suite.context) is not None:
            loaded, _ = in_stated_context(with_critical(loaded), context, lambda: loaded, folder=path)
        sentences = sentences_of(loaded)
        left_out = pc.invert(pc.is_in(sentences, value_set=whole_column(run.load_sentences(), "sentence")))
        evidence = replace(evidence, too_long=tuple(np.flatnonzero(left_out).tolist()))
    content = evidence_bytes(evidence)
    if len(content) > LARGEST_EVIDENCE:
        raise BoardError(
            f"{path}: the evidence (per-token scores) has {len(content):,} bytes, but a leaderboard holds "
            f"at most {LARGEST_EVIDENCE:,}.\n"
            "  Store the evidence on a web server, and add --evidence URL."
        )
    entry = Entry(
        format=BOARD_FILES_FORMAT,
        name=entry_name,
        signature=run.manifest.signature,
        fingerprint=run.manifest.key.fingerprint,
        about=about,
        rows=rows_of(run.verdicts),
        checks=(Checked("plausible", ADDED_BY, today()),),
    )
    opened = run.manifest.opened
    if opened is not None:
        entry = replace(entry, model=opened.model, model_args=opened.model_args or None)
    manifest = replace(run.manifest, seal=None).sealed({EVIDENCE: digest(content)})
    return entry, {EVIDENCE: content, MANIFEST: dump_manifest(manifest)}


def unfit(definition: Definition, run: Run, about: About) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Return why a run does not fit a board, or which requirement it fails; None if it fits."""
    key, suite = run.manifest.key, run.manifest.suite
    if not suite.complete:
        return "the run scored only a part of the suite"
    if suite.digest != definition.digest:
        return (
            f"the run has the suite {suite.name} with the digest {suite.digest[:8]}, but the "
            f"leaderboard uses the digest {definition.digest[:8]}"
        )
    if suite.clusters:
        return (
            f"the run was scored with --cluster {', '.join(suite.clusters)}, but the leaderboard uses "
            "no --cluster"
        )
    if key.score != definition.score:
        return f"the run has the score {key.score!r}, but the leaderboard has the score {definition.score!r}"
    if key.score == "prompt" and "prompt_digest" not in definition.protocol:
        return (
            "its answers depend on the template of the prompt, but board.yaml does not say which template "
            "entries use, with prompt_digest under the key `protocol`"
        )
    if key.half_known is not None:
        return (
            "the run was scored with --unknown score, but the leaderboard counts half-known pairs as "
            "undecidable"
        )
    # The precision of products is stated only if it differs from that of the weights.
    protocol = {
        **key.protocol,
        "precision": key.protocol.get("precision", key.protocol.get("dtype", "float32")),
    }
    if "dtype" in protocol:
        protocol["dtype"] = protocol["precision"]
    if suite.context is not None and CONTEXT not in definition.protocol:
        return (
            f"the run was scored in context (--context {suite.context.source}), but the leaderboard scores "
            "sentences alone"
        )
    for name, value in definition.protocol.items():
        if protocol.get(name) != value:
            return (
                f"the key `{name}` of its protocol is {protocol.get(name)!r}, but the leaderboard "
                f"requires {value!r}"
            )
    if (least := definition.seeds_tried) and (about.seeds_tried or 0) < least:
        seeds = about.seeds_tried
        report = f"is one of {counted(seeds, 'seed')}" if seeds else "does not say how many seeds were tried"
        return f"it {report}, but the leaderboard requires at least {least} seeds (--seeds-tried)"
    return None


@contextmanager
def _as_board_error(subject: str) -> Iterator[None]:
    try:
        yield
    except ContentError as error:
        raise BoardError(f"{subject}: {error}.") from None


def _is_taken(folder: Path, others: Iterable[Path]) -> bool:
    """Return whether another entry has the name, ignoring case: some disks ignore it."""
    return folder.name.lower() in {path.name.lower() for path in others}


def write_new_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files of an entry into a new folder next to its final place."""
    partial = folder.with_name(f"{folder.name}{PARTIAL}")
    write_folder(partial, files)
    return partial


def _successor(entry: Entry, old: Path) -> Entry:
    """Return the entry with the earlier names of the entry that it replaces."""
    old_entries = [*readable_entries([old])]
    aliases = dict.fromkeys([alias for old_entry in old_entries for alias in old_entry.aliases] + [old.name])
    return replace(entry, aliases=tuple(alias for alias in aliases if alias != entry.name))


def _call_otherwise(change: Transaction, old: str, new: str, *, moved: bool) -> None:
    """Plan the new name of an entry in all files of the board. Its checks move too, or are deleted."""
    board = change.board
    definition, checks = read_definition(board), read_checks(board)
    order = tuple(new if name == old else name for name in definition.order)
    seeds = {
        arch: tuple(new if name == old else name for name in names)
        for arch, names in definition.seeds.items()
    }
    named = replace(definition, order=order, seeds=seeds)
    if named != definition:
        change.put(DEFINITION, write_definition(named))

    def renamed(of_entries: Mapping[str, T]) -> dict[str, T]:
        names = {name: new if name == old else name for name in of_entries if moved or name != old}
        return {new_name: of_entries[name] for name, new_name in names.items()}

    of_new = replace(
        checks,
        checks=renamed(checks.checks),
        retracted=renamed(checks.retracted),
        hidden=renamed(checks.hidden),
    )
    if of_new != checks:
        change.put(CHECKS, checks_text(of_new))


def _entry_of_board(folder: Path) -> tuple[Path, Entry]:
    if not (folder / ENTRY_FILE).is_file():
        raise BoardError(
            f"{folder} is not the folder of an entry of a leaderboard.\n"
            f"  Name a folder BOARD/{ENTRY_FOLDERS}/NAME."
        )
    return folder.resolve().parents[1], read_entry(folder)


def _board_of(folder: Path) -> Path:
    """Return the board of an entry's folder, even if a change of the board was interrupted."""
    return folder.resolve().parents[1] if folder.exists() else folder.absolute().parents[1]


def rename_entry(folder: Path, name: str) -> None:
    """Rename an entry; the old name redirects to the new one."""
    command = "rename", folder.name, name
    if complete_interrupted(_board_of(folder), *command) is not None:
        return
    board, entry = _entry_of_board(folder)
    if not ENTRY_NAME.fullmatch(name):
        raise BoardError(
            f"{name!r} cannot be the name of an entry, because the folder of the entry has the same name.\n"
            f"  {_NAME_FIX}"
        )
    with board_transaction(board, *command) as change:
        other_folders = [path for path in entry_folders(board) if path.name != entry.name]
        renamed = replace(_successor(replace(entry, name=name), folder.resolve()), checks=entry.checks)
        _refuse_taken({folder.parent / name: renamed}, other_folders, set(read_checks(board).retracted))
        change.move(f"{ENTRY_FOLDERS}/{entry.name}", f"{ENTRY_FOLDERS}/{name}")
        change.put(f"{ENTRY_FOLDERS}/{name}/{ENTRY_FILE}", write_entry(renamed))
        _call_otherwise(change, entry.name, name, moved=True)
        change.commit()


def retract_entry(folder: Path, why: str, link: str | None = None) -> None:
    """Retract an entry: it loses its rank, but stays listed with reason, date and link."""
    command = "retract", folder.name, why, link or ""
    if complete_interrupted(_board_of(folder), *command) is not None:
        return
    board, entry = _entry_of_board(folder)
    with _as_board_error("the reason"):
        check_texts([why, link or ""])
    if link is not None:
        check_address(link)
    with board_transaction(board, *command) as change:
        checks = read_checks(board)
        if entry.name in checks.retracted:
            raise BoardError(
                f"{entry.name} was already retracted, on {checks.retracted[entry.name].on}.\n"
                "  Name another entry."
            )
        retracted = {**checks.retracted, entry.name: Retraction(why, today(), link)}
        change.put(CHECKS, checks_text(replace(checks, retracted=retracted)))
        change.commit()
