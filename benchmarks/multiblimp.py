"""Compare tseval's subject-verb pairs with MultiBLiMP's from the same treebanks, in both directions.

    python benchmarks/multiblimp.py multiblimp/nld/data.tsv nl_alpino-ud-dev.conllu nl_alpino-ud-test.conllu

Two pairs are the same if they change the same word of the same sentence into the same form. For each other
pair, the first reason that applies is counted. Source of MultiBLiMP's steps: github.com/jumelet/multiblimp,
filters/nsubj.py, pipeline.py, treebank.py and downsample.py. "They" are the authors of MultiBLiMP, "we" are
tseval.
"""

from __future__ import annotations

import ast
import csv
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from tabulate import tabulate

from tseval.errors import SuiteError
from tseval.formats import bare_name, numbered_lines
from tseval.suites.agreement.conllu import as_written, read_trees
from tseval.suites.agreement.forms import lowered
from tseval.suites.agreement.phenomenon import open_phenomenon
from tseval.suites.agreement.requests import FORM, UPOS
from tseval.suites.agreement.treebank_pairs import make_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.suites.agreement.conllu import Tree

Key = tuple[str, int, str]  # file and name of a sentence, position of the changed word, new form
PHENOMENA = {"number": ("SV-#", "Number"), "person": ("SV-P", "Person")}
VALUES = {"Sing": "SG", "Plur": "PL", "Dual": "DU"}
PER_CONDITION, LONGEST = 100, 64  # items that they draw at most; words in their longest sentence
REST = "rest"  # each of its pairs is printed
NOT_THEIRS = ("Correct", "Lang", "OrigLang")  # in column 10: they leave out the sentence


@dataclass(slots=True)
class Sentence:
    """A sentence of the treebanks."""

    tree: Tree
    marked: bool  # a word is a typo, is foreign, or has a marked style

    def children(self, head: int, *roles: str) -> list[int]:
        """Return the dependents of a word with some relations, without subtypes."""
        words = self.tree.words
        return [at for at, word in enumerate(words) if word.head == head and word.role in roles]


@dataclass(slots=True)
class Comparison:
    """The pairs of both sets, and the data that explain the differences."""

    sentences: dict[str, Sentence] = field(default_factory=dict)
    theirs: dict[Key, Mapping[str, str]] = field(default_factory=dict)
    ours: dict[Key, Mapping[str, Any]] = field(default_factory=dict)
    reasons: Mapping[tuple[str, int], str] = field(default_factory=dict)
    conditions: Counter[tuple[str, ...]] = field(default_factory=Counter)
    capitals: bool = False  # whether one of their verbs begins with a capital
    lists: dict[str, set[tuple[str, str]]] = field(
        default_factory=dict
    )  # UniMorph: forms, with lemma and tags


def read_sentences(files: Sequence[Path]) -> Iterator[tuple[str, Sentence]]:
    """Yield the sentences of treebanks, each with its name in tables of pairs."""
    for path in files:
        marked = [_is_marked(block) for block in _blocks(path)]
        for tree, mark in zip(read_trees(path), marked, strict=True):
            yield f"{path.name}:{tree.name}", Sentence(tree, mark)


def _blocks(path: Path) -> Iterator[list[str]]:
    block: list[str] = []
    for _, line in numbered_lines(path, rows=False):
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _is_marked(block: Sequence[str]) -> bool:
    """Return whether they leave out a sentence because of one of its words."""
    for cells in (line.split("\t") for line in block if line[0] != "#"):
        features = {feature.partition("=")[0] for feature in cells[5].split("|")}
        names = [entry.partition("=")[0] for entry in cells[9].split("|")]
        if cells[7] == "reparandum" or "Typo=Yes" in cells[5].split("|") or {"Style", "Foreign"} & features:
            return True
        if any("Correct" in name or name in NOT_THEIRS for name in names):
            return True
    return False


def compare(data: Path, files: Sequence[Path], what: str, tables: Sequence[Path]) -> Comparison:
    """Read MultiBLiMP's pairs and make ours."""
    found = Comparison(dict(read_sentences(files)))
    phenomenon, _ = PHENOMENA[what]
    names = {path.name: path.name for path in files} | {bare_name(path): path.name for path in files}
    with data.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened, delimiter="\t"):
            if row["phenomenon"] != phenomenon:
                continue
            found.conditions[_condition(row)] += 1
            found.capitals |= row["head"][:1].isupper()
            about = ast.literal_eval(row["metadata"])
            source = names.get(about["treebank"].rpartition("/")[2])
            if source:
                key = f"{source}:{about['sent_id']}", int(float(row["head_idx"])), lowered(row["swap_head"])
                found.theirs[key] = row
    try:
        pairs = make_pairs(files, open_phenomenon(f"subject-verb-{what}"), unimorph=tables, explain=True)
    except SuiteError as error:
        print(f"tseval makes no pair: {error}\n")
        return found
    found.reasons = pairs.reasons
    for row in pairs.table.to_pylist():
        tree = found.sentences[row["sentence.entry"]].tree
        found.ours[row["sentence.entry"], _position(tree, row), lowered(row["other_form"])] = row
    for path in tables:
        for _, line in numbered_lines(path, rows=False):
            if len(cells := line.split("\t")) > 2:
                found.lists.setdefault(lowered(cells[1]), set()).add((cells[0], cells[2]))
    return found


def _condition(row: Mapping[str, str]) -> tuple[str, ...]:
    return row["grammatical_feature"], row["ungrammatical_feature"], row["wo"], row["inflect_item"]


def _position(tree: Tree, row: Mapping[str, Any]) -> int:
    """Return the position of the changed word of one of our pairs."""
    good, bad = row["good_tokens"].split(" "), row["bad_tokens"].split(" ")
    token = next(at for at, (one, other) in enumerate(zip(good, bad, strict=True)) if one != other)
    _, places = as_written(tree.words, tree.contracted())
    return places.index(token)


def only_theirs(found: Comparison, key: Key, row: Mapping[str, str], what: str) -> Iterator[str]:
    """Yield the reasons why we do not have one of their pairs, in order."""
    entry, at, _ = key
    _, feature = PHENOMENA[what]
    if entry not in found.sentences:
        yield "the sentence is not in the treebank of today"
        return
    words = found.sentences[entry].tree.words
    if at >= len(words) or lowered(words[at].values[FORM]) != lowered(row["head"]):
        yield "the treebank of today has other words here"
        return
    if any(entry == ours and at == place for ours, place, _ in found.ours):
        yield "another form"
    if reason := found.reasons.get((entry, at)):
        yield f"left out: {reason}"
    if (row["child_upos"] == "PRON") != (what == "person"):
        yield "a pronoun is the subject" if what == "number" else "a noun is the subject"
    subject = words[int(row["child_idx"])]
    if feature not in words[at].values:
        yield f"the verb has no {feature} in the treebank"
    if feature not in subject.values:
        yield f"the subject has no {feature} in the treebank"
    if words[at].values.get(feature) != subject.values.get(feature):
        yield f"subject and verb differ in {feature} in the treebank"


def only_ours(found: Comparison, key: Key, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why they do not have one of our pairs, in order."""
    entry, at, form = key
    sentence = found.sentences[entry]
    words = sentence.tree.words
    subject = _subject(sentence, at, row["controller"])
    head = words[subject].head
    assert head is not None  # it is a subject
    if any(entry == theirs and at == place for theirs, place, _ in found.theirs):
        yield "another form"
    if sentence.marked:
        yield "the sentence has a typo, a foreign word or a style of its own"
    if len(words) > LONGEST:
        yield f"the sentence has more than {LONGEST} words"
    if words[subject].values.get(UPOS) == "PROPN":
        yield "the subject is a proper noun"
    if words[subject].relation != "nsubj":
        yield f"the relation of the subject is {words[subject].relation}"
    if words[head].values.get(UPOS) not in {"VERB", "AUX"}:
        yield "the predicate is no verb"
    if sentence.children(subject, "conj"):
        yield "the subject is coordinated"
    if any("expl" in word.relation for word in words if word.head == head):
        yield "the verb has an expletive"
    auxiliaries = sentence.children(head, "aux", "cop")
    if (auxiliaries or [head])[0] != at:
        yield "they look at the first auxiliary, which is another word"
    order = "SV" if subject < at else "VS"
    yield from _of_conditions(found, row, form, (order, "aux" if auxiliaries else "verb"))


def _of_conditions(
    found: Comparison, row: Mapping[str, Any], form: str, place: tuple[str, str]
) -> Iterator[str]:
    """Yield the reasons why they lack a pair that their search finds: sampling, or missing forms."""
    values = [VALUES.get(value, value) for value in (row["value"], *row["other_value"].split("|"))]
    conditions = [(values[0], other, *place) for other in values[1:]]
    if any(found.conditions[condition] >= PER_CONDITION for condition in conditions):
        yield f"they draw {PER_CONDITION} pairs of this condition"
    if found.lists and lowered(row["target"]) not in found.lists:
        yield "UniMorph has no such verb form"
    if found.lists and form not in found.lists:
        yield "UniMorph has no such new form"
    if row["target"][:1].isupper() and not found.capitals:
        yield "the verb begins with a capital, which no verb of theirs does"
    if not any(found.conditions[condition] for condition in conditions):
        yield "they have no pair of this condition: these values, this order, verb or auxiliary"


def _subject(sentence: Sentence, at: int, form: str | None) -> int:
    """Return the subject of a verb or of the predicate that it belongs to."""
    heads = [at, sentence.tree.words[at].head]
    subjects = [one for head in heads if head is not None for one in sentence.children(head, "nsubj")]
    return next(one for one in subjects if sentence.tree.words[one].values[FORM] == form)


@click.command(help=__doc__.partition("\n")[0])
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--what", default="number", type=click.Choice([*PHENOMENA]), help="The feature of the verbs.")
@click.option("--unimorph", "tables", multiple=True, type=click.Path(exists=True, path_type=Path))
@click.option("--show", default=0, help="Number of pairs of each kind to print.")
def main(data: Path, files: tuple[Path, ...], what: str, tables: tuple[Path, ...], show: int) -> None:
    """Print the counts."""
    found = compare(data, files, what, tables)
    theirs: dict[str, list[str]] = defaultdict(list)
    ours: dict[str, list[str]] = defaultdict(list)
    for key, row in found.theirs.items():
        if key not in found.ours:
            shown = f"{row['head']} → {row['swap_head']} ({row['child']}): {row['sen']}"
            theirs[next(only_theirs(found, key, row, what), REST)].append(shown)
    for key, our_row in found.ours.items():
        if key not in found.theirs:
            shown = (
                f"{our_row['target']} → {our_row['other_form']} ({our_row['controller']}): {our_row['good']}"
            )
            ours[next(only_ours(found, key, our_row), REST)].append(shown)
    same = len({*found.theirs} & {*found.ours})
    print(f"{len(found.theirs):,} theirs, {len(found.ours):,} ours, {same:,} the same")
    for side, its_kinds in (("only theirs", theirs), ("only ours", ours)):
        ordered = sorted(its_kinds.items(), key=lambda kind: (-len(kind[1]), kind[0]))
        print("\n" + tabulate([[len(pairs), kind] for kind, pairs in ordered], [side, "kind"], "pipe"))
        for kind, pairs in ordered:
            step = max(1, len(pairs) // show) if show else 1
            for pair in pairs[::step][: show or (10**9 if kind == REST else 0)]:
                print(f"{kind}: {pair}")


if __name__ == "__main__":
    main()
