"""Find the model of an entry, to score some of its sentences again."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from tseval.boards.definition import read_definition
from tseval.boards.entry_folders import entry_folders, ranked_folders
from tseval.boards.maintainer import read_checks
from tseval.boards.sources import boards_below, lacks_evidence, not_shipped
from tseval.downloads import DownloadError, download
from tseval.errors import BoardError, EvidenceError, suggest
from tseval.evidence.download import check_address
from tseval.files import cache_folder, limits
from tseval.report.published import BUNDLED_BOARDS
from tseval.runs.entry import ENTRY_FILE
from tseval.runs.manifest import Manifest, load_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.boards.entry import Entry


LEAST_SHARE, LEAST_SENTENCES = 0.01, 20
LARGEST_WEIGHTS = 16 << 30  # bytes of one downloaded file
# Kinds of models that open without a program of the submitter.
WITHOUT_CODE = frozenset({"bundled", "hf", "mlm", "native", "ngram", "oracle", "seq2seq"})
_RUNS_CODE = re.compile(r"(^|,)trust_remote_code=(?!(false|0|no)(,|$))", re.IGNORECASE)
_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]+")


class NoWeightsError(Exception):
    """The model of an entry cannot be opened here, for the reason in the message."""


@dataclass(frozen=True, slots=True)
class Found:
    """The options that open the model of an entry on this machine."""

    model: str
    model_args: str = ""


def entries_to_rescore(board: Path, names: Sequence[str]) -> list[Path]:
    """List the folders of the entries that a user names: all with a rank if none is named.

    `board` is a leaderboard, a folder of leaderboards, the folder of an entry, or a leaderboard that comes
    with tseval.

    Raises:
        BoardError: The leaderboard has no entry with a name, or has only published accuracies.
    """
    if not board.exists() and (BUNDLED_BOARDS / board).exists():
        board = BUNDLED_BOARDS / board
    if (board / ENTRY_FILE).is_file():
        board, names = board.resolve().parents[1], [board.resolve().name, *names]
    boards = boards_below(board) or [board]
    folders: list[Path] = []
    existing: list[str] = []
    for path in boards:
        definition = read_definition(path)
        if definition.published:
            if len(boards) == 1:
                raise BoardError(
                    f"{path} has only published accuracies and no evidence, so tseval cannot compare its "
                    "entries with the scores of a model.\n"
                    "  Name a leaderboard whose entries have evidence."
                )
            continue
        if lacks_evidence(path):
            raise not_shipped(path)
        entries = entry_folders(path, definition.order)
        existing += [folder.name for folder in entries]
        wanted = ranked_folders(path, definition) if not names else entries
        folders += [folder for folder in wanted if not names or folder.name in map(_entry_name, names)]
    for name in map(_entry_name, names):
        if name not in existing:
            raise BoardError(
                f"the leaderboard {board} has no entry with the name {name!r}.\n"
                f"  {suggest(name, existing, 'Entries')}"
            )
        if any(
            folder.name == name and name in read_checks(folder.parents[1]).retracted for folder in folders
        ):
            raise BoardError(f"{name} was retracted, so it has no rank to confirm.\n  Name another entry.")
    return folders


def share_to_rescore(folder: Path) -> float:
    """Return the default share of sentences that are scored again; 1 means all."""
    manifest = load_manifest(folder)
    n_sentences = manifest.counts.sentences if isinstance(manifest, Manifest) else 0
    return min(1.0, max(LEAST_SHARE, LEAST_SENTENCES / max(n_sentences, 1)))


def _entry_name(text: str) -> str:
    """Read the name of an entry, or the path of its folder."""
    return Path(text).name


def find_model(entry: Entry, weights: Path | None) -> Found:
    """Return the options that open the model of an entry here.

    tseval searches the folder `weights` for the file or folder with the recorded name. If the entry states a
    web address, tseval downloads the file into the cache. `verify_entry` then checks the fingerprint.

    Raises:
        NoWeightsError: The weights are not available, or opening the model would run a program.
    """
    spec, arguments = entry.model, entry.model_args or ""
    if spec is None:
        raise NoWeightsError("entry.yaml does not record how the model was opened (keys model, model_args)")
    if _RUNS_CODE.search(arguments):
        raise NoWeightsError("opening it would run a program of the submitter (trust_remote_code)")
    if spec.startswith(("https://", "http://")):
        return Found(str(_downloaded(spec)), arguments)
    scheme, colon, address_part = spec.partition(":")
    if colon and scheme not in WITHOUT_CODE:
        raise NoWeightsError(f"opening it would run a program of the submitter (--model {spec})")
    if scheme in {"bundled", "oracle"} and colon:
        return Found(spec, arguments)
    name = address_part if colon else spec
    if weights is not None and (weights / name).exists() and "/" not in name:
        return Found(f"{scheme}:{weights / name}" if colon else str(weights / name), arguments)
    if colon and _ON_THE_HUB.fullmatch(name):
        return Found(spec, arguments)
    address = entry.about.weights or ""
    if address.startswith(("https://", "http://")) and _file_at(address) == name:
        path = _downloaded(address)
        return Found(f"{scheme}:{path}" if colon else str(path), arguments)
    if colon and scheme != "native" and Path(name).suffix == "":
        return Found(spec, arguments)  # a name on the hub, as in hf:gpt2
    fix = "" if weights is None else f", and {weights} has no file or folder of this name"
    raise NoWeightsError(
        f"the model is the file {name!r}, and the entry states no web address that ends in this name{fix}"
    )


def _file_at(address: str) -> str:
    """Return the name of the file at a web address."""
    with suppress(ValueError):
        return Path(unquote(urlsplit(address).path)).name
    return ""


def _downloaded(address: str) -> Path:
    """Download a file of weights, unless it is in the cache already."""
    name = re.sub(r"[^\w.-]", "_", _file_at(address))
    if not name.strip("._"):
        raise NoWeightsError(f"{address} is not the address of a file")
    path = cache_folder() / "weights" / sha256(address.encode()).hexdigest()[:16] / name
    if path.exists():
        return path
    partial = path.with_name(f"{name}.partial")
    try:
        check_address(address)
        partial.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            download(address, file, LARGEST_WEIGHTS + 1, limits().download_seconds, _check_redirection)
        if partial.stat().st_size > LARGEST_WEIGHTS:
            raise NoWeightsError(f"{address} has more than {LARGEST_WEIGHTS:,} bytes")
        partial.replace(path)
    except EvidenceError:
        raise NoWeightsError(f"{address} is not a valid https:// address") from None
    except (DownloadError, OSError) as error:
        raise NoWeightsError(f"tseval cannot download {address} ({error})") from None
    finally:
        partial.unlink(missing_ok=True)
    return path


def _check_redirection(url: str) -> None:
    try:
        check_address(url)
    except EvidenceError:
        raise ValueError(f"the server redirects to {url!r:.200}") from None
