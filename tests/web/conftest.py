"""A browser, if one is installed, and a board of fifty entries over twenty rows with its page."""

import json
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from in_process import call

from tseval.adapters import open_model
from tseval.boards import About, Checked, Entry, rows_of, write_entry
from tseval.boards.definition import read_definition, suite_of
from tseval.boards.entries import add_entries
from tseval.boards.folder import new_board
from tseval.evaluation import evaluate
from tseval.evidence import evidence_bytes, read_evidence
from tseval.runs import Manifest, SplitSuite, entry_run
from tseval.runs.directory import digest
from tseval.runs.manifest import count_verdicts, dump_manifest, load_manifest
from tseval.suites import load_suite

NOUNS = ["author", "pilot", "guard", "chef", "man", "woman", "doctor", "teacher"]
VERBS = [("laughs", "laugh"), ("smiles", "smile"), ("swims", "swim"), ("is", "are")]
CHECKS = [(), ("whole",), ("plausible",), ("rescored",), ("plausible", "rerun")]


@dataclass
class Seen:
    """A page in a browser, with its console messages and its requests."""

    page: object
    said: list
    asked: list

    def is_quiet(self):
        return (self.said, self.asked) == ([], [])


@pytest.fixture
def open_page(browser):
    """Yield a function that opens a page and records console messages, requests and dialogs."""
    contexts = []

    def open_one(path, scheme="light", width=1400, init=None, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **options
        )
        contexts.append(context)
        if init is not None:
            context.add_init_script(init)
        page = context.new_page()
        url = path if isinstance(path, str) else path.resolve().as_uri()
        seen = Seen(page, [], [])
        page.on("console", lambda message: seen.said.append(message.text))
        page.on("pageerror", lambda error: seen.said.append(str(error)))
        page.on("dialog", lambda dialog: (seen.said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: seen.asked.append(request.url))
        page.goto(url)
        assert seen.asked.pop(0) == url.partition("#")[0]
        return seen

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def fifty(tmp_path_factory):
    """Make a board of fifty models over twenty rows; all but the first are the first with noise."""
    root = tmp_path_factory.mktemp("fifty")
    rows = [("short", "Agreement"), ("short", "Reflexives"), ("long", "Agreement"), ("long", "Polarity")]
    pairs = [
        {"dependency": dependency, "phenomenon": phenomenon, "construction": f"Construction {number}",
         "case": f"case_{place}_{number}", "good": f"{'the ' * number}{noun} near {'trees ' * place}{good} .",
         "bad": f"{'the ' * number}{noun} near {'trees ' * place}{bad} .", "verb": good, "long": place > 1}
        for place, (dependency, phenomenon) in enumerate(rows)
        for number in range(5) for noun in NOUNS for good, bad in VERBS
    ]  # fmt: skip
    (root / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), "utf-8")
    evaluate(open_model("bundled:lstm"), load_suite(root / "pairs.jsonl"), out=root / "run")
    board = root / "board"
    new_board(board, "../pairs.jsonl", title="Fifty models")
    about = About(licence="MIT", training_data="8.8 M words", contact="a@example.org")
    add_entries(board, [root / "run"], about)
    suite = suite_of(read_definition(board), board)
    for number in range(1, 50):
        add_noisy(board, suite, f"model-{number}", number)
    return board


def add_noisy(board, suite, name, number):
    """Add an entry whose evidence is that of the first with noise, with a correct seal."""
    first, folder = board / "entries" / "lstm", board / "entries" / name
    folder.mkdir()
    evidence, noise = read_evidence(first / "evidence.parquet"), np.random.default_rng(number)
    logprob = evidence.table["logprob"].to_numpy()
    drawn = np.minimum(logprob + noise.normal(0, number / 20, len(logprob)).astype("f4"), -1e-4)
    table = evidence.table.set_column(0, "logprob", pa.array(drawn.astype("f4"), pa.float32()))
    content = evidence_bytes(replace(evidence, table=table))
    (folder / "evidence.parquet").write_bytes(content)
    manifest = load_manifest(first)
    assert isinstance(manifest, Manifest)
    key = replace(manifest.key, model=name, fingerprint=f"{number:064x}")
    model = replace(manifest.model, name=name, fingerprint=key.fingerprint)
    manifest = replace(manifest, key=key, signature=key.signature, model=model, seal=None)

    def seal(manifest):
        sealed = manifest.sealed({"evidence.parquet": digest(content)})
        (folder / "manifest.json").write_bytes(dump_manifest(sealed))

    seal(manifest)
    run = entry_run(folder, SplitSuite(suite))
    seal(replace(manifest, counts=replace(manifest.counts, **count_verdicts(run.load_verdicts()))))
    checks = tuple(Checked(level, "A. Reviewer", "2026-11-20") for level in CHECKS[number % 5])
    entry = Entry(1, name, key.signature, key.fingerprint, About(), rows_of(run.verdicts), checks)
    (folder / "entry.yaml").write_text(write_entry(entry), "utf-8")


@dataclass
class Built:
    """The page of a board, the board's path, and the build time in seconds."""

    board: Path
    site: Path
    seconds: float

    @property
    def index(self):
        return self.site / "index.html"


@pytest.fixture(scope="session")
def built(fifty, tmp_path_factory):
    return build(fifty, tmp_path_factory.mktemp("built") / "site")


@pytest.fixture(scope="session")
def three(fifty, tmp_path_factory):
    """Build a page of three of these models."""
    root = tmp_path_factory.mktemp("three")
    shutil.copy(fifty.parent / "pairs.jsonl", root)
    others = [f"model-{number}" for number in range(50) if number not in (9, 14)]
    shutil.copytree(fifty, root / "board", ignore=shutil.ignore_patterns(*others))
    return build(root / "board", root / "site")


def build(board, site):
    start = time.process_time()
    done = call("board", "build", board, "-o", site)
    assert (done.returncode, done.stderr) == (0, f"{site / 'index.html'}\n")
    return Built(board, site, time.process_time() - start)
