"""Read a run directory, or an entry of a leaderboard, as a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import RunError
from tseval.formats import ContentError
from tseval.runs.directory import HALF_KNOWN, PARTS, VERDICTS, clear_complete, read_intact, read_sentences
from tseval.runs.entry import EVIDENCE, entry_run, suite_of_entry
from tseval.runs.manifest import NAME, Manifest, load_manifest, miscounted
from tseval.runs.run import Run
from tseval.tables import read_parquet

if TYPE_CHECKING:
    import pyarrow as pa


def read_run(path: str | Path) -> Run:
    """Read a complete run, or an entry of a board; its tables are read when they are used.

    Files that a killed process left in a complete run are removed if possible.

    Raises:
        RunError: The directory is not a run, or the run is incomplete, damaged, or from a newer tseval.
    """
    path = Path(path)
    manifest = load_manifest(path)
    if not isinstance(manifest, Manifest):
        parts = len(list((path / PARTS).glob("*.parquet")))
        raise RunError(
            f"{path} has an incomplete run (parts saved: {parts}).\n"
            f"  To continue, repeat the `tseval run` command of this run, and add: --resume --out {path}"
        )
    if EVIDENCE in manifest.files:
        return entry_run(path, suite_of_entry(path))
    clear_complete(path)
    load = partial(load_table, path, manifest)
    return Run(
        name=path.resolve().name,
        manifest=manifest,
        load_sentences=partial(load, "sentences.parquet"),
        load_verdicts=partial(load, "verdicts.parquet"),
        path=path,
    )


def load_table(path: Path, manifest: Manifest, name: str) -> pa.Table:
    """Read a table of a run, and check its digest, its columns and the counts in the manifest."""
    content = read_intact(path, manifest.files, name)
    try:
        sentences = name == "sentences.parquet"
        table = (
            read_sentences(content)
            if sentences
            else read_parquet(content, VERDICTS | HALF_KNOWN, needed=VERDICTS)
        )
    except ContentError as error:
        wrong = "is no Parquet file" if error.what.startswith("not a") else f"is not tseval's: {error}"
        raise RunError(f"{path / name} {wrong}.\n  Score the suite again, into a new folder.") from None
    if field := miscounted(manifest.counts, name, table):
        raise RunError(
            f"{path / NAME} was edited: the number in the key `{field}` is not the number in {name}.\n"
            "  Score the suite again, into a new folder."
        )
    return table
