"""The entries of a board, from submission to retraction."""

from __future__ import annotations

import math
import os
import re
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow.compute as pc

from tseval.analysis.correctness import estimate_means
from tseval.analysis.counts import tally
from tseval.boards import (
    CHECKS,
    ENTRY_FOLDERS,
    ENTRY_NAME,
    About,
    Checked,
    Entry,
    Hidden,
    Retraction,
    check_about,
    checks_text,
    entry_folders,
    ranked_folders,
    read_checks,
    read_entry,
    readable_entries,
    rows_of,
    today,
    write_entry,
)
from tseval.boards.definition import (
    BOARD_FILES_FORMAT,
    Definition,
    check_texts,
    read_definition,
    suite_here,
    suite_of,
    write_definition,
)
from tseval.boards.folder import is_there, refuse_full, release, write_new_board
from tseval.boards.transaction import (
    Transaction,
    board_transaction,
    complete_interrupted,
    write_folder,
)
from tseval.errors import BoardError, counted
from tseval.evidence import (
    LARGEST_EVIDENCE,
    EvidenceAddress,
    check_address,
    evidence_bytes,
    gather,
    keep_evidence,
    whole_column,
)
from tseval.files import PARTIAL, to_utf8
from tseval.formats import ContentError
from tseval.runs import DEFINITION, ENTRY_FILE, EVIDENCE, SplitSuite, entry_run, read_run, suite_spec
from tseval.runs.directory import digest
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import dump_manifest
from tseval.suites import load_suite, without_cache
from tseval.verdicts import sentences_of
from tseval.verifying import verify_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tseval.analysis.estimates import Estimate
    from tseval.report.boards import RowKey
    from tseval.runs import Run


T = TypeVar("T")
ADDED_BY = "tseval board add"
_NAME_FIX = "Use at most 60 letters, digits, dots and dashes."
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@without_cache()  # what is written there is what anyone finds who expands the suite
def add_entries(
    board: Path,
    paths: Sequence[Path],
    about: About,
    name: str | None = None,
    url: str | None = None,
    instead_of: str | None = None,
) -> list[Path]:
    """Add runs to a board, if all of them hold as far as they can be verified without their models.

    Nothing but the folders of these entries is written: `tseval board write` puts them on the pages.

    Args:
        name: What the board calls the model of a single run; None for the name that the run states. One that
            no folder can have is the display name, and that of the folder is made of it.
        url: Where the evidence of a single run will lie, instead of in the folder; it is kept in the cache
            meanwhile.
        instead_of: An entry that the single run takes the place of; its name goes on to lead here.
    """
    command = "add", *map(str, paths), str((asdict(about), name, url, instead_of))
    if (plan := complete_interrupted(board, *command)) is not None:
        return [board / step.path for step in plan.steps if step.action == "put" and "/" in step.path]
    definition = _open_to_runs(board)
    if len(paths) > 1 and (name is not None or url is not None or instead_of is not None):
        raise BoardError(
            "--name, --evidence and --replace describe a single run, but the command names "
            "{len(runs)} runs. Add the runs one by one."
        )
    if url is not None:
        check_address(url)
    about = replace(about, date=about.date or today())
    with _as_board_error("the options about the model"):
        check_about(about)
    suite = str(suite_spec(definition.suite, board))
    added: dict[Path, dict[str, bytes]] = {}
    entries: dict[Path, Entry] = {}
    for path in paths:
        entry, files = entry_files(definition, suite, path, name, about)
        if address := url or definition.evidence:
            content = files.pop(EVIDENCE)
            address = address.replace("{sha256}", digest(content))
            entry = replace(entry, evidence=EvidenceAddress(address, digest(content), len(content)))
            keep_evidence(content)
        folder = board / ENTRY_FOLDERS / entry.name
        if _is_taken(folder, added):
            raise BoardError(
                f"two of the runs have a model with the name {entry.name!r}, but each entry "
                "needs its own name. Add the runs one by one, the second with --name."
            )
        added[folder], entries[folder] = files, entry
    with board_transaction(board, *command) as change:
        there = entry_folders(board)
        if instead_of is not None:
            old = board / ENTRY_FOLDERS / instead_of
            if old not in there:
                raise BoardError(
                    f"{board} has no entry {instead_of!r}, so --replace cannot replace it.\n"
                    f"  To list the entries: tseval table {board}"
                )
            there.remove(old)
            entries = {folder: _successor(entry, old) for folder, entry in entries.items()}
        _refuse_taken(entries, there, set(read_checks(board).retracted), " with --name")
        for folder, files in added.items():
            change.put(_place(folder), {**files, ENTRY_FILE: to_utf8(write_entry(entries[folder]))})
            if instead_of is not None:
                if folder.name != instead_of:
                    change.remove(_place(old))
                _call_otherwise(change, instead_of, folder.name, moved=False)
        change.commit(pages=instead_of is not None)
    return list(added)


def _place(entry: Path) -> str:
    """Say where the folder of an entry is, seen from its board."""
    return f"{ENTRY_FOLDERS}/{entry.name}"


def _open_to_runs(board: Path) -> Definition:
    """Read what a board is over, if runs can be added to it."""
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
    entries: dict[Path, Entry], there: Sequence[Path], retracted: set[str], how: str = ""
) -> None:
    """Refuse names that others have, or had, and models that are on the board; `how` an entry is named."""
    others = list(readable_entries(there))
    known = {other.identity: other for other in others if other.name not in retracted}
    aliases = {alias.lower(): other.name for other in others for alias in other.aliases}
    for folder, entry in entries.items():
        if _is_taken(folder, there):
            raise BoardError(f"{folder} exists already.\n  Choose another name for the entry{how}.")
        if (other := aliases.get(folder.name.lower())) is not None:
            raise BoardError(
                f"{folder.name} was an earlier name of the entry {other}, and still redirects to this "
                "entry.\n"
                f"  Choose another name for the entry{how}."
            )
        twin = known.setdefault(entry.identity, entry)
        if twin is not entry:
            raise BoardError(
                f"{entry.name} is the same model, scored in the same way, as the entry {twin.name}, but a "
                "model can have only one entry.\n"
                f"  To replace the old entry, add --replace {twin.name}."
            )


def entry_files(
    definition: Definition, suite: str, path: Path, name: str | None = None, about: About | None = None
) -> tuple[Entry, dict[str, bytes]]:
    """Make the entry of a run, if it holds as far as it can be verified without its model.

    Returns:
        The entry, and its files but for `entry.yaml`, by name.
    """
    run, about = read_run(path), about or About()
    name = name or run.manifest.key.model
    own = name if ENTRY_NAME.fullmatch(name) else _NOT_IN_NAMES.sub("--", name).strip("-.")
    if not ENTRY_NAME.fullmatch(own) or ("/" in name and ".." in name.split("/")):
        raise BoardError(
            f"the name of the model, {name!r}, cannot be the name of an entry.\n"
            f"  Choose another name with --name. {_NAME_FIX}"
        )
    if own != name and about.display_name is None:
        about = replace(about, display_name=name)
    if refusal := unfit(definition, run, about):
        raise BoardError(
            f"{path} cannot be an entry of this leaderboard: {refusal}.\n"
            "  Score the model with tseval run on the suite of the leaderboard, and add that run."
        )
    found = verify_run(path, suite=suite)
    if not found.ok:
        raise BoardError(
            f"{path} cannot be verified: {found.checks[-1].found}.\n  For details: tseval verify {path}"
        )
    evidence = gather(run.load_sentences(), definition.digest)
    if run.manifest.counts.too_long:
        sentences = sentences_of(load_suite(suite, columns=definition.columns or None))
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
        name=own,
        signature=run.manifest.signature,
        fingerprint=run.manifest.key.fingerprint,
        about=about,
        rows=rows_of(run.verdicts),
        checks=(Checked("plausible", ADDED_BY, today()),),
    )
    manifest = replace(run.manifest, seal=None).sealed({EVIDENCE: digest(content)})
    return entry, {EVIDENCE: content, MANIFEST: dump_manifest(manifest)}


def unfit(definition: Definition, run: Run, about: About) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Say why a run is none of what a board is over, or lacks what the board asks for, if so."""
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
    if key.half_known is not None:
        return (
            "the run was scored with --unknown score, but the leaderboard counts half-known pairs as "
            "undecidable"
        )
    # Products in another precision than the weights' are stated where there are any.
    stated = {
        **key.protocol,
        "precision": key.protocol.get("precision", key.protocol.get("dtype", "float32")),
    }
    if "dtype" in stated:
        stated["dtype"] = stated["precision"]
    for name, value in definition.protocol.items():
        if stated.get(name) != value:
            return (
                f"the key `{name}` of its protocol is {stated.get(name)!r}, but the leaderboard "
                f"requires {value!r}"
            )
    if (least := definition.seeds_tried) and (about.seeds_tried or 0) < least:
        tried = about.seeds_tried
        said = f"is one of {counted(tried, 'seed')}" if tried else "does not say how many seeds were tried"
        return f"it {said}, but the leaderboard requires at least {least} seeds (--seeds-tried)"
    return None


@contextmanager
def _as_board_error(what: str) -> Iterator[None]:
    try:
        yield
    except ContentError as error:
        raise BoardError(f"{what}: {error}.") from None


def _is_taken(folder: Path, others: Iterable[Path]) -> bool:
    """Return whether another has the name, in whatever case: some disks do not tell these apart."""
    return folder.name.lower() in {one.name.lower() for one in others}


def write_beside(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files of an entry into a folder beside its place, from which it is then moved there."""
    partial = folder.with_name(f"{folder.name}{PARTIAL}")
    write_folder(partial, files)
    return partial


def _successor(entry: Entry, old: Path) -> Entry:
    """Return an entry the names by which that in whose place it stands was known."""
    known = [*readable_entries([old])]
    aliases = dict.fromkeys([alias for one in known for alias in one.aliases] + [old.name])
    return replace(entry, aliases=tuple(alias for alias in aliases if alias != entry.name))


def _call_otherwise(change: Transaction, old: str, new: str, *, moved: bool) -> None:
    """Plan an entry's new name where the board has the old one; checks move along, or go."""
    board = change.board
    definition, checks = read_definition(board), read_checks(board)
    order = tuple(new if name == old else name for name in definition.order)
    seeds = {arch: tuple(new if one == old else one for one in own) for arch, own in definition.seeds.items()}
    named = replace(definition, order=order, seeds=seeds)
    if named != definition:
        change.put(DEFINITION, write_definition(named))

    def renamed(of_entries: Mapping[str, T]) -> dict[str, T]:
        names = {name: new if name == old else name for name in of_entries if moved or name != old}
        return {own: of_entries[name] for name, own in names.items()}

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
    """Name the board that the folder of an entry is in, or was before a change of it was interrupted."""
    return folder.resolve().parents[1] if folder.exists() else folder.absolute().parents[1]


def rename_entry(folder: Path, name: str) -> None:
    """Return an entry another name; the old one goes on to lead to it."""
    command = "rename", folder.name, name
    if complete_interrupted(_board_of(folder), *command) is not None:
        return
    board, entry = _entry_of_board(folder)
    if not ENTRY_NAME.fullmatch(name):
        raise BoardError(
            f"{name!r} cannot be the name of an entry, which is also the name of its folder.\n  {_NAME_FIX}"
        )
    with board_transaction(board, *command) as change:
        others = [one for one in entry_folders(board) if one.name != entry.name]
        renamed = replace(_successor(replace(entry, name=name), folder.resolve()), checks=entry.checks)
        _refuse_taken({folder.parent / name: renamed}, others, set(read_checks(board).retracted))
        change.move(f"{ENTRY_FOLDERS}/{entry.name}", f"{ENTRY_FOLDERS}/{name}")
        change.put(f"{ENTRY_FOLDERS}/{name}/{ENTRY_FILE}", write_entry(renamed))
        _call_otherwise(change, entry.name, name, moved=True)
        change.commit()


def retract_entry(folder: Path, why: str, link: str | None = None) -> None:
    """Take an entry out of tables and ranks; it stays listed, with reason, date and link."""
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


@without_cache()
def renew_board(board: Path, out: Path | None = None) -> Path:
    """Begin a board over the present version of the suite beside that over the last, which is archived."""
    is_completed = complete_interrupted(board, "renew", str(out)) is not None
    definition = read_definition(board)
    if definition.published:
        raise BoardError(
            f"{board} is a leaderboard of published accuracies, so tseval cannot renew it for a new "
            "version of a suite.\n"
            "  Write a new board.yaml, as docs/boards.md describes."
        )
    if is_completed and definition.renewed_by is not None:
        return out or Path(os.path.normpath(board.absolute() / definition.renewed_by))
    if definition.renewed_by is not None:
        raise BoardError(
            f"{board} was already renewed for a new version of its suite.\n"
            f"  Use the new leaderboard: {os.path.normpath(board / definition.renewed_by)}"
        )
    present = suite_here(definition, board)
    if present.digest == definition.digest:
        raise BoardError(
            f"{board}: the suite {definition.suite} has not changed, so there is no new version to renew "
            "the leaderboard for.\n"
            f"  Change or download the suite first, then run: tseval board renew {board}"
        )
    new = out or board.absolute().with_name(f"{board.resolve().name}-{present.digest[:8]}")
    spec = suite_spec(definition.suite, board)
    suite = os.path.relpath(spec, new) if isinstance(spec, Path) else spec
    own = replace(
        definition,
        suite=suite,
        digest=present.digest,
        source=present.source,
        order=(),
        seeds={},
        renews=os.path.relpath(board.absolute(), new.absolute()),
    )
    with board_transaction(board, "renew", str(out)) as change:
        if is_there(new, own):  # a kill left the new board, and the old one as it was
            release(new)
        else:
            refuse_full(new)
            write_new_board(new, spec, own)
        archived = replace(definition, renewed_by=os.path.relpath(new.absolute(), board.absolute()))
        change.put(DEFINITION, write_definition(archived))
        change.commit()
    return new


@without_cache()
def record_hidden(board: Path, paths: Sequence[Path], suite: str) -> dict[str, Hidden]:
    """Write into the maintainer's file what entries got right on a hidden twin of the board's suite.

    Each run is verified, and is of the entry with its weights and protocol. The interval of the difference
    of two independent means is made of theirs.

    Args:
        suite: Where the twin is (`tseval.suites.grammar.write_twin`).

    Source: Newcombe 1998, "Interval estimation for the difference between independent proportions", method
    10, of the intervals that tables have.
    """
    definition = read_definition(board)
    ranked = ranked_folders(board, definition)
    of_model = {entry.model_identity: folder for folder in ranked for entry in readable_entries([folder])}
    split = SplitSuite(suite_of(definition, board))
    found: dict[str, Hidden] = {}
    for path in paths:
        run = read_run(path)
        key = Entry(BOARD_FILES_FORMAT, "", run.manifest.signature, run.manifest.key.fingerprint, About(), ())
        folder = of_model.get(key.model_identity)
        if folder is None:
            raise BoardError(
                f"{path}: no entry of {board} has the model of this run, with these weights and scored in "
                "this way.\n"
                f"  Add an entry for the model first: tseval board add {board} RUN"
            )
        if run.manifest.suite.digest == definition.digest:
            raise BoardError(
                f"{path} is a run on the public suite of the leaderboard, not on the hidden version.\n"
                "  Score the model on the hidden version: tseval run --suite HIDDEN --model MODEL"
            )
        verified = verify_run(path, suite=suite)
        if not verified.ok:
            raise BoardError(
                f"{path} cannot be verified: {verified.checks[-1].found}.\n  For details: tseval verify "
                f"{path}"
            )
        public, hidden = (_mean_over_rows(one, path) for one in (entry_run(folder, split), run))
        if public[0] != hidden[0]:
            raise BoardError(
                f"{path} has other rows than the leaderboard, so its suite is not the hidden version of "
                "this one.\n"
                "  Score the model on the hidden version: tseval run --suite HIDDEN --model MODEL"
            )
        found[folder.name] = _beside(run, public[1], hidden[1])
    with board_transaction(board, "hidden", *map(str, paths), suite) as change:
        checks = read_checks(board)
        change.put(CHECKS, checks_text(replace(checks, hidden={**checks.hidden, **found})))
        change.commit()
    return found


def _mean_over_rows(run: Run, path: Path) -> tuple[list[RowKey], Estimate]:
    """Return the rows of a run, and the mean over them."""
    counts, answers = tally(run.verdicts)
    rows = [one.key for one in rows_of(run.verdicts)]
    ((mean,),) = estimate_means([answers], [range(len(rows))])
    if mean is None or (counts["n_items"] == counts["n_undecidable"]).any():
        raise BoardError(
            f"{path}: in one row no item can be decided, so the mean over rows is unknown.\n"
            "  Use a model whose vocabulary has the words of the suite."
        )
    return rows, mean


def _beside(run: Run, public: Estimate, hidden: Estimate) -> Hidden:
    """Put the mean on withheld words beside that on the board's."""
    difference = hidden.value - public.value
    below = math.hypot(hidden.value - hidden.low, public.high - public.value)
    above = math.hypot(hidden.high - hidden.value, public.value - public.low)

    def outwards(low: float, high: float) -> tuple[float, float]:
        return math.floor(low * 1000) / 1000, math.ceil(high * 1000) / 1000

    return Hidden(
        twin=run.manifest.suite.digest,
        on=today(),
        n_items=run.manifest.counts.items,
        mean=round(hidden.value, 3),
        interval=outwards(hidden.low, hidden.high),
        difference=round(difference, 3),
        difference_interval=outwards(difference - below, difference + above),
    )
