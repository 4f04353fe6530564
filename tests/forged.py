"""Kinds of forgeries of runs and boards, with the level of verification that detects each.

Each kind makes one random change, from a seed, in a copy of an honest run or board. Without more edits, a
digest is wrong. A forger who knows the format also rewrites digests, counts and seals. Then only the change
itself can be detected.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch
import yaml

from tseval.adapters import open_model
from tseval.boards import About, entry_runs, rows_of
from tseval.boards.definition import read_definition
from tseval.boards.entries import add_entries
from tseval.boards.folder import new_board
from tseval.boards.readme import write_pages
from tseval.errors import TsevalError
from tseval.evaluation import evaluate
from tseval.evidence import evidence_bytes, read_evidence
from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.report import build_table, render
from tseval.runs import Run, read_run
from tseval.runs.directory import digest, to_parquet
from tseval.runs.manifest import RunKey, count_sentences, count_verdicts, seal
from tseval.suites import load_suite
from tseval.suites.formal.languages import parse_language
from tseval.verdicts import judge, sentences_of

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = "nothing"


@dataclass(frozen=True)
class Kind:
    """A kind of forgery.

    Attributes:
        what: Its description in the table of docs/results/forgeries.md.
        forge: Changes a run's directory or a board's entry with a random generator; the last argument is the
            suite.
        naive: The level that detects it if nothing else is changed; None if that is impossible.
        sealed: The level that detects it after digests, counts and seals are rewritten; None if impossible.
        seeds: Numbers of draws: naive, and sealed. They are small for kinds whose check prints tables.
    """

    what: str
    forge: Callable[..., None]
    naive: str | None
    sealed: str | None
    seeds: tuple[int, int] = (40, 40)


NOUNS, VERBS = ("author", "guard", "chef"), (("laughs", "laugh"), ("smiles", "smile"), ("swims", "swim"))


def run_of_pairs(root, model, nouns=NOUNS, verbs=VERBS):
    """Make a suite that combines every noun with every verb, and a run on it."""
    pairs = [
        {"sentence_good": f"the {n} {a} .", "sentence_bad": f"the {n} {b} ."} for n in nouns for a, b in verbs
    ]
    (root / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    evaluate(model, load_suite(root / "pairs.jsonl"), out=root / "run")


def add_and_write(board, runs, about, **more):
    """Add runs to a board and write its pages, as the workflow on its main branch does."""
    folders = add_entries(board, runs, about, **more)
    write_pages(board, read_definition(board))
    return folders


def board_of_pairs(root, model, nouns=NOUNS, verbs=VERBS):
    """Make a suite, a run on it, and a board with that run; return the entry's folder."""
    run_of_pairs(root, model, nouns, verbs)
    new_board(root / "board", "../pairs.jsonl")
    return add_and_write(root / "board", [root / "run"], About(licence="MIT"))[0]


def model_of_symbols(path, language, arch, seed=1):
    """Save a small untrained model over the symbols of a formal language, and open it."""
    alphabet = parse_language(language).alphabet
    torch.manual_seed(seed)
    network = LanguageModel(Sizes(arch, len(alphabet) + 2, 8, 12, 1))
    words = Vocabulary(("<eos>", "<unk>", *alphabet), lowercase=False)
    save_checkpoint(path, network, words, training={}, validation_perplexity=None)
    return open_model(str(path))


def edit_json(path, edit):
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content, indent=2))


def edit_yaml(path, edit):
    content = yaml.safe_load(path.read_text())
    edit(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def put(table, name, cells):
    """Replace a column of a table, or append it if it does not exist."""
    if name not in table.column_names:
        return table.append_column(name, cells)
    cells = cells if isinstance(cells, pa.Array) else pa.array(cells, table[name].type)
    return table.set_column(table.column_names.index(name), name, cells)


def write_table(run, name, table):
    (run / f"{name}.parquet").write_bytes(to_parquet(table))


def flip_a_bit(draw, path):
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def seal_anew(folder):
    """Rewrite the digests of all files that the manifest lists, and its seal."""

    def edit(manifest):
        manifest["files"] = {name: digest((folder / name).read_bytes()) for name in manifest["files"]}
        manifest["seal"] = asdict(seal(manifest))

    edit_json(folder / "manifest.json", edit)


def count_anew(folder, verdicts=None, scored=None):
    def edit(manifest):
        if verdicts is not None:
            manifest["counts"] |= count_verdicts(verdicts)
            manifest["suite"]["n_contrasts"] = verdicts.num_rows
        if scored is not None:
            manifest["counts"] |= count_sentences(scored)

    edit_json(folder / "manifest.json", edit)


def print_anew(run):
    """Rewrite the tables of a run from its manifest, and seal the manifest."""
    opened = read_run(run)
    for form in ("md", "csv"):
        (run / f"table.{form}").write_text(render(build_table([opened]), form))
    seal_anew(run)


def letter_changed(draw, text, among):
    """Change one random letter of a text; both the old and the new letter are in `among`."""
    at = draw.choice([i for i, letter in enumerate(text) if letter in among])
    return text[:at] + draw.choice([letter for letter in among if letter != text[at]]) + text[at + 1 :]


# Forgeries of runs.
def a_byte(draw, run, suite):
    flip_a_bit(draw, run / draw.choice(["sentences.parquet", "verdicts.parquet", "table.md", "table.csv"]))


def a_verdict(draw, run, suite):
    table = read_run(run).load_verdicts()
    name = draw.choice(["correct", "better_score", "worse_score", "contrast", "item", "case", "construction"])
    cells = table[name].to_pylist()
    row = draw.randrange(len(cells))
    old = cells[row]
    cells[row] = (
        (not old) if isinstance(old, bool) else old + 1 if isinstance(old, int | float) else old + "x"
    )
    table = put(table, name, cells)
    write_table(run, "verdicts", table)
    count_anew(run, verdicts=table)


def rows_of_verdicts(draw, run, suite):
    table = read_run(run).load_verdicts()
    order = list(range(table.num_rows))
    one, two = draw.sample(order, 2)
    order[one], order[two] = order[two], order[one]
    write_table(run, "verdicts", table.take(order))


def a_number_of_sentences(draw, run, suite):
    table = read_run(run).load_sentences()
    name = draw.choice(["logprob", "words"])
    cells = table[name].to_pylist()
    row = draw.randrange(len(cells))
    if name == "logprob":
        cells[row] -= draw.uniform(1e-6, 2)
    else:
        cells[row][-1] -= draw.uniform(0.01, 2)
    write_table(run, "sentences", put(table, name, cells))


def a_column_more(draw, run, suite):
    name = draw.choice(["verdicts", "sentences"])
    table = getattr(read_run(run), f"load_{name}")()
    column = pa.array([draw.random() for _ in range(table.num_rows)])
    write_table(run, name, table.append_column("accuracy", column))


def words_forged(run, suite, edit):
    """Change the log-probabilities of words, and update sums, verdicts, counts and tables."""
    opened = read_run(run)
    scored = opened.load_sentences()
    words = scored["words"].to_pylist()
    edit(words)
    lengths = np.array([len(of) for of in words])
    flat = np.concatenate([np.array(of, "f4") for of in words]).astype(np.float64)
    sums = np.add.reduceat(flat, np.cumsum(lengths) - lengths)
    scored = put(put(scored, "logprob", sums), "words", words)
    rewrite_run(run, opened, scored, judge(suite, scored))


def rewrite_run(run, opened, scored, verdicts):
    counts = replace(opened.manifest.counts, **count_verdicts(verdicts), **count_sentences(scored))
    shown = Run(opened.name, replace(opened.manifest, counts=counts), lambda: scored, lambda: verdicts)
    write_table(run, "sentences", scored)
    write_table(run, "verdicts", verdicts)
    for form in ("md", "csv"):
        (run / f"table.{form}").write_text(render(build_table([shown]), form))
    count_anew(run, verdicts, scored)


def a_prefix_in_one_sentence(draw, run, suite):
    def edit(words):
        words[draw.randrange(len(words))][0] -= draw.uniform(0.01, 1)  # all have the same first word

    words_forged(run, suite, edit)


def made_up_numbers(draw, run, suite):
    def edit(words):
        for of in words:
            of[-1] = -draw.uniform(0.01, 3)  # no other word follows this prefix, and the number is new

    words_forged(run, suite, edit)


def unknown_words(draw, run, suite):
    table = read_run(run).load_sentences()
    cells = table["n_unknown"].to_pylist()
    cells[draw.randrange(len(cells))] += draw.randint(1, 3)
    write_table(run, "sentences", put(table, "n_unknown", cells))


def a_table(draw, run, suite):
    path = run / draw.choice(["table.md", "table.csv"])
    path.write_text(letter_changed(draw, path.read_text(), "0123456789"))


def a_table_left_out(draw, run, suite):
    name = draw.choice(["table.md", "table.csv"])
    (run / name).write_text((run / name).read_text().replace("0.", "1."))
    edit_json(run / "manifest.json", lambda manifest: manifest["files"].pop(name))


# Forgeries of manifests, of runs and of entries.
def counts_of_manifest(draw, folder, suite):
    name = draw.choice(["correct", "tied", "contrasts", "items", "too_long", "undecidable"])
    edit_json(folder / "manifest.json", lambda manifest: manifest["counts"].update(
        {name: manifest["counts"][name] + draw.choice([-1, 1])}))  # fmt: skip


def key_changed(**changes):
    """Change the key, and update the fields that repeat it."""

    def forge(draw, folder, suite):
        name = draw.choice(list(changes))
        with_key(folder, lambda key: key.update({name: changes[name](draw, key[name])}))

    return forge


def with_key(folder, edit):
    """Edit the key of a run or an entry, and update the fields that repeat it."""

    def edit_manifest(manifest):
        edit(manifest["key"])
        whole = RunKey(**manifest["key"])
        manifest["signature"] = whole.signature
        manifest["suite"] |= {
            "name": whole.suite, "digest": whole.suite_digest, "terminator": whole.terminator
        }  # fmt: skip
        manifest["model"] |= {"name": whole.model, "fingerprint": whole.fingerprint}
        manifest["model"]["protocol"] = dict(whole.protocol)

    edit_json(folder / "manifest.json", edit_manifest)
    if (folder / "entry.yaml").exists():
        key = json.loads((folder / "manifest.json").read_text())
        edit_yaml(folder / "entry.yaml", lambda entry: entry.update(
            signature=key["signature"], fingerprint=key["model"]["fingerprint"]))  # fmt: skip


def another_digest(draw, old):
    return letter_changed(draw, old, "0123456789abcdef")


def another_protocol(draw, old):
    return old | {draw.choice(sorted(old)): "other"}


def another_name(draw, old):
    return f"{old}-{draw.randint(2, 9)}"


def facts_of_model(draw, folder, suite):
    def edit(manifest):
        if draw.random() < 0.5:
            manifest["model"]["kind"] = draw.choice(["hf", "mlm", "lm-eval"])
        else:
            manifest["model"]["details"]["parameters"] = draw.randint(1, 10**9)

    edit_json(folder / "manifest.json", edit)


def facts_that_nothing_holds(draw, folder, suite):
    def edit(manifest):
        where = draw.choice(
            ["device", "title", "source", "timings", "versions", "warnings", "more", "contexts"]
        )
        if where in ("title", "source"):
            manifest["suite"][where] = f"forged {draw.random()}"
        elif where == "timings":
            manifest["timings"]["scoring_seconds"] += 1
        elif where == "versions":
            manifest["versions"]["torch"] = f"{draw.randint(1, 9)}.0"
        elif where == "contexts":
            manifest["counts"]["contexts"] += 1
        else:
            manifest[where] = ["forged"] if where == "warnings" else f"forged {draw.random()}"

    edit_json(folder / "manifest.json", edit)


# Forgeries of entries.
def counts_of_entry(draw, entry, suite):
    def edit(content):
        row = draw.choice(content["rows"])
        name = draw.choice(["n_items", "n_correct", "n_tied", "n_undecidable"])
        row[name] += draw.choice([-1, 1])

    edit_yaml(entry / "entry.yaml", edit)


def identity_of_entry(draw, entry, suite):
    name = draw.choice(["name", "signature", "fingerprint"])
    edit_yaml(entry / "entry.yaml", lambda content: content.update({name: another_name(draw, content[name])}))


def said_in_entry(draw, entry, suite):
    said = {draw.choice(["licence", "training_data", "contact"]): f"forged {draw.random()}"}
    edit_yaml(entry / "entry.yaml", lambda content: content["about"].update(said))


def claims_of_entry(draw, entry, suite):
    claim = draw.choice([{"by": f"forged {draw.random()}"}, {"level": draw.choice(["rescored", "rerun"])}])
    edit_yaml(entry / "entry.yaml", lambda content: content["checks"][0].update(claim))


def bytes_of_evidence(draw, entry, suite):
    flip_a_bit(draw, entry / "evidence.parquet")


def evidence_forged(entry, suite, edit, **head):
    """Change the evidence, and update counts and rows."""
    evidence = read_evidence(entry / "evidence.parquet")
    evidence = replace(evidence, table=edit(evidence.table), **head)
    (entry / "evidence.parquet").write_bytes(evidence_bytes(evidence))
    seal_anew(entry)
    run = entry_runs([entry])[0]
    try:
        verdicts = run.load_verdicts()
    except TsevalError:  # this evidence gives no counts
        return
    rows = [asdict(row) for row in rows_of(run.verdicts)]
    edit_yaml(entry / "entry.yaml", lambda content: content.update(rows=rows))
    count_anew(entry, verdicts=verdicts)


def numbers_of_evidence(draw, entry, suite):
    def less(table):
        return put(table, "logprob", [old - draw.uniform(0.001, 2) for old in table["logprob"].to_pylist()])

    evidence_forged(entry, suite, less)


def impossible_numbers(draw, entry, suite):
    def edit(table):
        values = table["logprob"].to_pylist()
        if draw.random() < 0.5:
            values[draw.randrange(len(values))] = draw.uniform(0.001, 5)
        else:
            values = [-0.01] * len(values)
        return put(table, "logprob", values)

    evidence_forged(entry, suite, edit)


def unknown_here_known_there(draw, entry, suite):
    sentences = [text.split() for text in sentences_of(suite).to_pylist()]
    prefixes = list(
        dict.fromkeys(tuple(words[: end + 1]) for words in sentences for end in range(len(words)))
    )
    ends = [prefix[-1] for prefix in prefixes]
    repeated = [i for i, word in enumerate(ends) if ends.count(word) > 1]

    def edit(table):
        seen = table["seen"].to_pylist()
        seen[draw.choice(repeated)] = "<unk>"
        return put(table, "seen", seen)

    evidence_forged(entry, suite, edit)


def rows_of_evidence(draw, entry, suite):
    evidence_forged(entry, suite, lambda table: table.slice(draw.randint(1, 3)))


def evidence_of_another_suite(draw, entry, suite):
    evidence_forged(entry, suite, lambda table: table, suite_digest=another_digest(draw, suite.digest))


# Forgeries of boards; the entry's folder is two levels below the board's.
def written_files(draw, entry, suite):
    path = entry.parents[1] / draw.choice(["board.json", "README.md"])
    path.write_text(letter_changed(draw, path.read_text(), "0123456789"))


def definition_of_board(draw, entry, suite):
    def edit(content):
        name = draw.choice(["title", "text", "source", "rules"])
        content[name] = ["forged"] if name == "rules" else f"forged {draw.random()}"

    edit_yaml(entry.parents[1] / "board.yaml", edit)


def demands_of_board(draw, entry, suite):
    protocol = {draw.choice(["dtype", "bos", "words"]): f"other {draw.randint(1, 9)}"}
    edit_yaml(entry.parents[1] / "board.yaml", lambda content: content.update(protocol=protocol))


def links_and_strangers(draw, entry, suite):
    if draw.random() < 0.5:
        (entry / draw.choice(["more.txt", "Entry.yaml", "evidence"])).write_text("forged")
    else:
        moved = entry.parents[2] / "elsewhere"
        path = draw.choice([entry / "evidence.parquet", entry / "entry.yaml", entry.parents[1] / "README.md"])
        path.rename(moved)
        path.symlink_to(moved)


OF_RUNS = (
    Kind("a bit of a data file", a_byte, "whole", None, (150, 0)),
    Kind("a cell of `verdicts.parquet`", a_verdict, "whole", "recomputed"),
    Kind("the order of `verdicts.parquet`", rows_of_verdicts, "whole", "recomputed", (20, 20)),
    Kind("one number in `sentences.parquet`", a_number_of_sentences, "whole", "recomputed"),
    Kind("an additional column in `verdicts.parquet` or `sentences.parquet`",
        a_column_more, "whole", "recomputed", (20, 20)),
    Kind("one number in `table.md` or `table.csv`", a_table, "whole", "recomputed", (40, 3)),
    Kind("a table that the manifest does not list", a_table_left_out, "whole", "whole"),
    Kind("the log-probability of a prefix in one sentence, and everything computed from it",
        a_prefix_in_one_sentence, None, "plausible", (0, 2)),
    Kind("plausible numbers in `sentences.parquet`, and everything computed from them",
        made_up_numbers, None, "rescored", (0, 2)),
    Kind("`n_unknown` of a sentence", unknown_words, "whole", "rescored", (20, 2)),
    Kind("a count in `manifest.json`", counts_of_manifest, "whole", "whole"),
    Kind("the suite's digest in the manifest, and all copies of it", key_changed(suite_digest=another_digest),
        "whole", "recomputed"),
)  # fmt: skip
OF_BOTH = (
    Kind("fingerprint or protocol in the manifest, and all copies of it",
        key_changed(fingerprint=another_digest, protocol=another_protocol), "whole", "rescored", (30, 2)),
    Kind("kind of model or number of parameters in the manifest",
        facts_of_model, "whole", "rescored", (30, 2)),
    Kind("names of model and suite, version of tseval in the manifest, and all copies of them",
        key_changed(model=another_name, suite=another_name, tseval=another_name), "whole", NOTHING, (30, 2)),
    Kind("in the manifest: title or source of the suite, device, times, library versions, warnings, "
        "number of contexts, or an additional field",
        facts_that_nothing_holds, "whole", NOTHING, (40, 2)),
)  # fmt: skip
OF_ENTRIES = (
    Kind("a count in `entry.yaml`", counts_of_entry, "recomputed", "recomputed", (8, 8)),
    Kind("name, signature or fingerprint in `entry.yaml`", identity_of_entry, "whole", "whole"),
    Kind("the field `about` of `entry.yaml`", said_in_entry, "check", NOTHING, (2, 2)),
    Kind("the field `checks` of `entry.yaml` (who verified the entry)",
        claims_of_entry, "check", "check", (2, 2)),
    Kind("a bit of `evidence.parquet`", bytes_of_evidence, "whole", None, (150, 0)),
    Kind("rows of evidence cut off", rows_of_evidence, None, "whole", (0, 5)),
    Kind("evidence of another suite", evidence_of_another_suite, None, "whole", (0, 5)),
    Kind("impossible numbers in the evidence, such as probabilities above 1",
        impossible_numbers, None, "plausible", (0, 6)),
    Kind("a word that the evidence marks as unknown in one sentence and known in another",
        unknown_here_known_there, None, "plausible", (0, 6)),
    Kind("log-probabilities of the evidence, changed to other possible values, and everything "
        "computed from them", numbers_of_evidence, None, "rescored",
        (0, 5)),
    Kind("one number in `board.json` or `README.md`", written_files, "check", None, (3, 0)),
    Kind("title, text, source or rules in `board.yaml`", definition_of_board, "check", NOTHING, (2, 2)),
    Kind("the protocol that `board.yaml` asks for", demands_of_board, "check", "check", (2, 2)),
    Kind("a link, or an additional file", links_and_strangers, "check", "check", (3, 2)),
)  # fmt: skip
