"""The directory of a run: start or resume a run, save parts while scoring, finish, clean up."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.errors import RunError
from tseval.files import PARTIAL, open_regular, read_bytes, remove_lock, take_lock, to_utf8, write_whole
from tseval.formats import ContentError
from tseval.questions.answers import ANSWER_COLUMNS
from tseval.runs.answer_log import ANSWERS_FILE, append_answer, read_answer_log
from tseval.runs.manifest import NAME, Manifest, RunKey, UnfinishedManifest, dump_manifest, load_manifest
from tseval.scoring.engine import Part
from tseval.tables import read_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from tseval.scoring.protocol import Answer


CONTEXTS = b"contexts"
# All data files of a complete run.
RUN_FILES = ("sentences.parquet", "verdicts.parquet", "table.md", "table.csv")
# An additional file of a run in context: the texts that its sentences were scored after.
CONTEXTS_FILE = "contexts.json"

# Columns of the tables; verdicts have another column for every feature.
SENTENCES: dict[str, pa.DataType] = {
    "sentence": pa.string(),
    "seen": pa.string(),
    "logprob": pa.float64(),
    "words": pa.list_(pa.float32()),
    "n_unknown": pa.int32(),
}
# Optional columns of sentences: values of right and wrong symbols, if there are choices inside sentences;
# the sums over pieces, if words were corrected (sentence scores are made of these); first tokens, if the
# model leaves them unscored; log-probabilities of the forms of a list of verbs, and the total probability of
# all tokens more probable than each form; the lengths and sums that scores were normalised by; and a prompt
# model's answers.
SOMETIMES: dict[str, pa.DataType] = {
    **dict.fromkeys(("right", "wrong"), pa.list_(pa.float64())),
    "pieces": pa.list_(pa.float32()),
    "unscored": pa.int64(),
    **dict.fromkeys(("forms", "before"), pa.list_(pa.float32())),
    "n_tokens": pa.int32(),
    "unigram_logprob": pa.float64(),
    **ANSWER_COLUMNS,
}
VERDICTS: dict[str, pa.DataType] = {
    "case": pa.string(),
    "item": pa.int64(),
    **dict.fromkeys(("construction", "phenomenon", "dependency", "contrast"), pa.string()),
    **dict.fromkeys(("better_score", "worse_score"), pa.float64()),
    **dict.fromkeys(("correct", "tie", "undecidable"), pa.bool_()),
}
HALF_KNOWN = {"half_known": pa.bool_()}  # an optional column of verdicts


def to_parquet(table: pa.Table) -> bytes:
    """Return the bytes of a parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def read_sentences(content: bytes) -> pa.Table:
    """Read scored sentences."""
    return read_parquet(content, SENTENCES | SOMETIMES, needed=SENTENCES)


def part_bytes(part: Part) -> bytes:
    """Return the bytes of a saved part; the file's metadata have the number of its contexts."""
    return to_parquet(part.table.replace_schema_metadata({CONTEXTS: str(part.n_contexts)}))


def read_part(content: bytes) -> Part:
    """Read a saved part unchanged, so that a resumed run writes the same bytes as an uninterrupted one."""
    table = read_sentences(content)
    stored_number = (table.schema.metadata or {}).get(CONTEXTS, b"")
    # Parquet names list entries `element`, and Arrow would write this name: restore Arrow's `item`.
    lists = [field for field in table.schema if pa.types.is_list(field.type)]
    types = {field.name: field.type for field in table.schema}
    types |= {field.name: pa.list_(field.type.value_type) for field in lists}
    return Part(
        table.cast(pa.schema(types.items())),
        int(stored_number) if stored_number.isdigit() and len(stored_number) <= 18 else 0,
    )


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    return sha256(content).hexdigest()


def read_intact(path: Path, files: Mapping[str, str], name: str) -> bytes:
    """Read one file of a complete run and check its digest in the manifest."""
    try:
        content = read_bytes(path / name)
    except OSError as error:
        raise RunError(
            f"{path / name}: tseval cannot read this file of the run ({error.strerror}).\n"
            "  Score the suite again, into a new folder."
        ) from None
    if digest(content) != files.get(name):
        raise RunError(
            f"{path / name} was damaged or edited: its digest is not the digest in the manifest of the "
            "run.\n"
            "  Score the suite again, into a new folder."
        )
    return content


RUN_LOCK = ".lock"
PARTS = "parts"
# A part: its number and the start of its digest; or the answer log.
_PART = re.compile(rf"(\d{{6,}}-[0-9a-f]+\.parquet({re.escape(PARTIAL)})?|{re.escape(ANSWERS_FILE)})")
# All that a run may have before its first manifest.
BEFORE_MANIFEST = {RUN_LOCK, PARTS, f"{NAME}{PARTIAL}"}

# The names that `fresh_directory` gives to runs.
_NAMED = re.compile(r".+--.+--\d{8}T\d{6}(-\d+)?")


def clear_begun(root: Path) -> None:
    """Remove the directories below a root that tseval named, if it was killed before their first manifest.

    Nothing was scored in them. A directory stays if another process works in it or if it cannot be removed.
    """
    for path in sorted(root.glob("*/")):
        if _NAMED.fullmatch(path.name):
            with suppress(OSError):
                _remove_begun(path)


def _remove_begun(path: Path) -> None:
    """Remove a directory without a manifest, unless it has other files or a process works there."""
    lock = take_lock(path / RUN_LOCK) if _is_begun(path) else None
    if lock is None:
        return
    is_begun = _is_begun(path)  # check again: it may have changed before we held the lock
    if is_begun:
        (path / f"{NAME}{PARTIAL}").unlink(missing_ok=True)
        remove_parts(path)
    remove_lock(path / RUN_LOCK, lock)
    if is_begun:
        path.rmdir()


def _is_begun(path: Path) -> bool:
    """Return whether a directory has only files that a run has before its first manifest."""
    return {entry.name for entry in path.iterdir()} <= BEFORE_MANIFEST


def clear_complete(path: Path) -> None:
    """Remove the lock and parts of a complete run whose process was killed before it removed them.

    If the directory is read-only, or the process still works, everything stays: the run is complete.
    """
    if not (path / RUN_LOCK).exists() and not (path / PARTS).exists():
        return
    with suppress(OSError):
        lock = take_lock(path / RUN_LOCK)
        if lock is not None:
            remove_parts(path)
            remove_lock(path / RUN_LOCK, lock)


def remove_parts(path: Path) -> None:
    """Remove the saved parts of a run whose lock is held; other files stay.

    If the folder is a link, everything in it stays: tseval did not make it, and it may belong to others.
    """
    parts = path / PARTS
    if parts.is_symlink():
        return
    with suppress(OSError):
        for part in parts.iterdir():
            if _PART.fullmatch(part.name):
                part.unlink()
        parts.rmdir()


ATTEMPTS = 200  # to lock a directory, within about half a second


def fresh_directory(root: Path, key: RunKey, now: datetime) -> Path:
    """Return a new path for a run: `<model>--<suite>--<time>` below a root."""
    stem = f"{safe_name(key.model)}--{safe_name(key.suite)}--{now:%Y%m%dT%H%M%S}"
    names = chain([stem], (f"{stem}-{i}" for i in count(2)))
    return next(root / name for name in names if not (root / name).exists())


def safe_name(name: str) -> str:
    """Turn an untrusted name into one part of a file name, without separators or leading dots."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", name)[:60].strip("-.") or "unnamed"


def start_run(path: str | Path, key: RunKey, resume: bool = False) -> RunWriter:
    """Create the directory of a run, or open that of an interrupted run."""
    path = Path(path)
    with _folder_errors(path):
        if path.exists() and not path.is_dir():
            raise RunError(f"{path} is a file, but a run needs a folder.\n  Name a new folder with --out.")
        if (path / NAME).exists() and isinstance(load_manifest(path), Manifest):
            complete = _take_up(path, key, resume)
            clear_complete(path)
            return RunWriter(path, key, complete, held=None)
        lock = _claim(path)
    try:
        # Another process may have finished the run before we held the lock.
        complete = (path / NAME).exists() and _take_up(path, key, resume)
        with _folder_errors(path):
            for partial in path.rglob(f"*{PARTIAL}"):
                partial.unlink()
            if complete:
                remove_parts(path)
            else:
                (path / PARTS).mkdir(exist_ok=True)
                write_whole(path / NAME, dump_manifest(UnfinishedManifest(key)))
    except BaseException:
        remove_lock(path / RUN_LOCK, lock)
        raise
    return RunWriter(path, key, complete, lock)


def remove_other(path: Path, key: RunKey) -> None:
    """Remove the run in a directory if its key differs; a directory without a run stays (an error later)."""
    if not (path / NAME).exists():
        return
    manifest = load_manifest(path)
    if not manifest.key.undated().differences(key.undated()):
        return
    files = manifest.files if isinstance(manifest, Manifest) else ()
    lock = _claim(path)
    with _folder_errors(path):
        try:
            remove_parts(path)
            for name in (*files, NAME):  # the manifest last: without it, the rest would not be a run
                (path / name).unlink(missing_ok=True)
        finally:
            remove_lock(path / RUN_LOCK, lock)


def _refuse_strangers(path: Path) -> None:
    """Raise an error for a directory with files that are not of a run."""
    strangers = sorted(entry.name for entry in path.iterdir() if entry.name not in BEFORE_MANIFEST)
    if strangers and NAME not in strangers:
        raise RunError(
            f"{path} is a folder with other files, such as {strangers[0]!r}, so tseval does not write a "
            "run into it.\n"
            "  Name a new folder with --out."
        )


def _take_up(path: Path, key: RunKey, resume: bool) -> bool:
    """Check that the run in a directory has this key, and return whether it is complete."""
    manifest = load_manifest(path)
    complete = isinstance(manifest, Manifest)
    if not resume:
        state = "a complete run" if complete else "an interrupted run"
        step = "Read it with tseval table" if complete else "To continue it, add --resume"
        raise RunError(f"{path} already has {state}.\n  {step}, or name another folder with --out.")
    differences = manifest.key.undated().differences(key.undated())
    if differences:
        raise RunError(
            f"{path} has a run with other settings, so --resume cannot continue it "
            f"({'; '.join(differences)}).\n"
            "  Use the same model, suite and options as before, or name another folder with --out."
        )
    if isinstance(manifest, Manifest):
        for name in manifest.files:
            read_intact(path, manifest.files, name)
    return complete


def _claim(path: Path) -> int:
    """Create a directory and lock it for this process.

    Another process that cleans up may hold the lock for a moment, and remove a new directory.
    """
    for _ in range(ATTEMPTS):
        path.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            _refuse_strangers(path)
            if (lock := take_lock(path / RUN_LOCK)) is not None:
                return lock
        time.sleep(0.002)
    raise RunError(
        f"{path} is locked, because another tseval command is writing this run.\n"
        "  Wait until that command ends, or name another folder with --out."
    )


def is_free(path: Path) -> bool:
    """Return whether no process is writing a run here and this process could."""
    with suppress(OSError):
        if (lock := take_lock(path / RUN_LOCK)) is not None:
            remove_lock(path / RUN_LOCK, lock)
            return True
    return False


@contextmanager
def _folder_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a RunError."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{path}: tseval cannot write into this folder ({error.strerror or error}).\n"
            "  Name another folder with --out."
        ) from None


class RunWriter:
    """Writes a run; holds the lock on its directory until the run is finished or the writer closed.

    Attributes:
        complete: Whether the directory already has the complete run, so that nothing is left to score.
    """

    def __init__(self, path: Path, key: RunKey, complete: bool, held: int | None) -> None:
        self.path, self.key, self.complete = path, key, complete
        self._held = held

    def __enter__(self) -> RunWriter:
        """Return the writer, which holds the lock already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.close()

    def close(self) -> None:
        """Release the lock; parts stay for a resumed run."""
        if self._held is not None:
            remove_lock(self.path / RUN_LOCK, self._held)
            self._held = None

    def save_part(self, i: int, part: Part) -> None:
        """Save one shard of the scored sentences."""
        content = part_bytes(part)
        for stale in self._saved(i):
            stale.unlink()
        # The name has the digest, so that damage can be detected.
        self._write(f"{PARTS}/{i:06d}-{digest(content)[:16]}.parquet", content)

    def load_part(self, i: int) -> Part | None:
        """Return a saved shard, or None if it is missing or damaged."""
        for path in self._saved(i):
            try:
                with open_regular(path) as file:
                    content = file.read()
                if path.stem.endswith(f"-{digest(content)[:16]}"):
                    return read_part(content)
            except (OSError, ContentError):
                continue
        return None

    def load_answers(self) -> dict[str, Answer]:
        """Return the answered questions with their answers."""
        return read_answer_log(self.path / PARTS / ANSWERS_FILE)

    def save_answer(self, question: str, answer: Answer) -> None:
        """Save an answer at once."""
        try:
            append_answer(self.path / PARTS / ANSWERS_FILE, question, answer)
        except OSError as error:
            raise self._cannot_write(f"{PARTS}/{ANSWERS_FILE}", error) from None

    def finish(
        self, manifest: Manifest, scored: pa.Table, verdicts: pa.Table, tables: Mapping[str, str]
    ) -> None:
        """Write the results and then the manifest, and remove the parts; `tables` are texts by file name."""
        contents = {"sentences.parquet": to_parquet(scored), "verdicts.parquet": to_parquet(verdicts)}
        contents |= {name: to_utf8(text) for name, text in tables.items()}
        for name, content in contents.items():
            self._write(name, content)
        files = {name: digest(content) for name, content in contents.items()}
        self._write(NAME, dump_manifest(manifest.sealed(files)))
        self.complete = True
        remove_parts(self.path)
        self.close()

    def _saved(self, i: int) -> list[Path]:
        return sorted((self.path / PARTS).glob(f"{i:06d}-*.parquet"))

    def _write(self, name: str, content: bytes) -> None:
        try:
            write_whole(self.path / name, content)
        except OSError as error:
            raise self._cannot_write(name, error) from None

    def _cannot_write(self, name: str, error: OSError) -> RunError:
        parts = len(list((self.path / PARTS).glob("*.parquet")))
        return RunError(
            f"{self.path / name}: tseval cannot write this file ({error.strerror or error}).\n"
            f"  Parts saved so far: {parts}. Free some disk space, then repeat the command with "
            f"--resume --out {self.path}"
        )
