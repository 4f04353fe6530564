"""Minimal pairs from treebanks: a request finds a word, and one of its features is changed.

The other form has the same lemma, part of speech and features but the one that is changed. The idea is that
of MultiBLiMP (Jumelet et al. 2025) and Grew-TSE.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tabulate import tabulate

from tseval.errors import SuiteError, suggest
from tseval.formats import bare_name, read_lines
from tseval.suites.agreement import reasons_listed, reasons_table, write_as_named
from tseval.suites.agreement.forms import EUPHONY, SeenForms, other_forms, read_unimorph, sound_alike
from tseval.suites.agreement.requests import FORM, LEMMA, OWN, UPOS, check_names, read_request
from tseval.suites.agreement.treebank import read_trees, word_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conllu import TokenList

    from tseval.suites.agreement.forms import ListedForms, OtherForm
    from tseval.suites.agreement.requests import RequestFile, Word

PHENOMENA = Path(__file__).parent / "phenomena"
PAIR_ENDINGS = (".parquet", ".tsv", ".tsv.gz", ".csv", ".csv.gz")

JOINED = "written together with another word"
TYPO = "marked as a typo"
BOTH = "what governs it is found with the other value too"


@dataclass(frozen=True, slots=True)
class Change:
    """The node whose word is changed, its feature, and the value that it gets; None for every other value."""

    node: str
    feature: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Phenomenon:
    """What is looked for, what is changed, and what governs it.

    Attributes:
        name: Of the cases (`determiner-noun-gender`).
        title: Of the rows of a table.
        file: The requests.
        change: What is changed.
        controller: The node that the changed word depends on, and its feature; None where there is none.
        governs: Whether that node decides on the value without having it, as an adposition decides on a case.
    """

    name: str
    title: str
    file: RequestFile
    change: Change
    controller: tuple[str, str] | None
    governs: bool


def phenomena() -> list[str]:
    """Name the phenomena that come with tseval."""
    return sorted(path.stem for path in PHENOMENA.glob("*.req"))


def open_phenomenon(name: str, change: str | None = None, controller: str | None = None) -> Phenomenon:
    """Open a phenomenon that comes with tseval; `change` and `controller` as for `read_phenomenon`.

    Raises:
        SuiteError: There is none of this name; the nearest is named.
    """
    if name not in phenomena():
        raise SuiteError(f"no phenomenon is called {name!r}.\n  {suggest(name, phenomena(), 'There are')}")
    return read_phenomenon((PHENOMENA / f"{name}.req").read_text("utf-8"), name, name, change, controller)


def read_phenomenon(
    text: str, name: str, place: str, change: str | None = None, controller: str | None = None
) -> Phenomenon:
    """Read requests and say what is changed.

    Args:
        text: The requests.
        name: Of the cases.
        place: Of the text, for messages.
        change: `NODE.Feature` or `NODE.Feature=Value`; by default what the text says in `% change:`.
        controller: A node; by default what `% controller:` says, or the node that shares the changed feature.

    Raises:
        SuiteError: The request cannot be read, or a node does not exist.
    """
    file = read_request(text, place)
    said = change or file.notes.get("change")
    if said is None:
        raise SuiteError(f"{place}: nothing says what is changed: --change NODE.Feature.")
    parsed = _read_change(said, file, place)
    shared = _sharing(file, parsed)
    node = controller or file.notes.get("controller")
    found = shared[0] if shared and node is None else None
    if node is not None:
        found = next((one for one in shared if one[0] == node), (node, parsed.feature))
    if found is not None:
        for request in file.requests:
            _check_node(found[0], request.pattern.nodes, place)
    return Phenomenon(
        name, file.notes.get("title", name), file, parsed, found, found is not None and not shared
    )


def _read_change(text: str, file: RequestFile, place: str) -> Change:
    found = re.fullmatch(r"""([^\W\d]\w*'?)\.["']?([^\W\d]\w*(?:\[\w+\])?)["']?(?:=(\S+))?""", text.strip())
    if found is None:
        raise SuiteError(f"--change {text}: not NODE.Feature or NODE.Feature=Value, such as D.Gender=Fem")
    if found[2] in OWN:
        raise SuiteError(f"--change {text}: {found[2]} is no feature; one of column 6 can be changed")
    for request in file.requests:
        _check_node(found[1], request.pattern.nodes, place)
    return Change(*found.groups())


def _check_node(node: str, nodes: Sequence[str], place: str) -> None:
    if node not in nodes:
        raise SuiteError(
            f"{place}: no node of the pattern is called {node!r}.\n  {suggest(node, nodes, 'Nodes')}"
        )


def _sharing(file: RequestFile, change: Change) -> list[tuple[str, str]]:
    """Name the nodes that share the changed feature, and what it is called there."""
    changed = (change.node, change.feature)
    pairs = [pair for request in file.requests for pair in request.pattern.shared if changed in pair]
    return [right if left == changed else left for left, right in pairs]


# Trees


@dataclass(frozen=True, slots=True)
class Tree:
    """A sentence of a treebank.

    Attributes:
        words: Its syntactic words.
        pieces: What is written: a text, whether a space follows, and the words it is of, from and up to.
        name: Of the sentence; its file and line where it has none.
        genre: Where the treebank says it.
    """

    words: Sequence[Word]
    pieces: Sequence[tuple[str, bool, int, int]]
    name: str
    genre: str | None

    def text(self, changed: int | None = None, form: str = "") -> str:
        """Write the sentence as it stands in the treebank, one of its words changed."""
        parts = [(form if changed == first else text) + " " * space for text, space, first, _ in self.pieces]
        return "".join(parts).strip()

    def tokens(self, changed: int | None = None, form: str = "") -> str:
        """Write the syntactic words with spaces between."""
        words = (form if changed == at else word.values[FORM] for at, word in enumerate(self.words))
        return " ".join("_".join(word.split()) for word in words)

    def stands_alone(self, position: int) -> bool:
        """Whether a word is written by itself: no part of *zum*, nor the *l'* of *l'eau*."""
        at = next((at for at, piece in enumerate(self.pieces) if piece[2:] == (position, position + 1)), None)
        if at is None:
            return False
        before = not self.pieces[at - 1][1] and self.pieces[at - 1][0][-1:].isalnum() if at else False
        after = self.pieces[at + 1][0] if at + 1 < len(self.pieces) and not self.pieces[at][1] else ""
        return not before and not after[:1].isalnum()


def read_pair_trees(path: Path) -> Iterator[Tree]:
    """Read a treebank in CoNLL-U, sentence by sentence.

    Raises:
        SuiteError: It is ill-formed; names the line.
    """
    genre = None
    for line, tokens in read_trees(path):
        about = tokens.metadata
        genre = about.get("genre") or about.get("newdoc genre") or (None if "newdoc id" in about else genre)
        words = [word_of(token) for token in tokens if isinstance(token["id"], int)]
        yield Tree(words, list(_pieces(tokens)), about.get("sent_id") or f"{path.name}:{line}", genre)


def _pieces(tokens: TokenList) -> Iterator[tuple[str, bool, int, int]]:
    """Give what is written: words, or the words that several syntactic words are written as."""
    end = 0
    for token in tokens:
        number = token["id"]
        space = (token["misc"] or {}).get("SpaceAfter") != "No"
        if isinstance(number, int):
            if number > end:
                yield token["form"], space, number - 1, number
        elif number[1] == "-":
            end = number[2]
            yield token["form"], space, number[0] - 1, number[2]


# Pairs


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a phenomenon.

    Attributes:
        table: A row a pair: both sentences as written (`good`, `bad`) and as tokens, the names of rows,
            features, and what pairs share (`target.entry`, `controller.entry`, `sentence.entry`).
        n_sentences: Of the treebanks.
        left_out: Reasons to how many words they left out.
    """

    table: pa.Table
    n_sentences: int
    left_out: Counter[str]


def make_pairs(files: Sequence[Path], phenomenon: Phenomenon, forms: Sequence[Path] = ()) -> Pairs:
    """Find the pairs of a phenomenon in treebanks: each is read twice, for its forms and for its sentences.

    Args:
        files: Treebanks in CoNLL-U.
        phenomenon: What is looked for.
        forms: More treebanks (`.conllu`), or tables of UniMorph, for forms alone.

    Raises:
        SuiteError: A file is ill-formed or empty, or no word has a feature that is asked for.
    """
    seen, names = _survey(files, [phenomenon])
    check_names(phenomenon.file, names, phenomenon.name)
    tables = {name: [own, *_more_forms(forms, own)] for name, own in seen.items()}
    (pairs,) = _find(files, [phenomenon], tables)
    if not pairs.table.num_rows:
        raise SuiteError(
            f"{', '.join(map(str, files))}: no pairs in {pairs.n_sentences:,} sentences.\n"
            f"  Left out: {reasons_listed(pairs.left_out) or 'nothing; the request matches no word'}."
        )
    return pairs


def list_phenomena(files: Sequence[Path]) -> list[tuple[Phenomenon, Pairs | None]]:
    """Find the pairs of every phenomenon that comes with tseval; None where a feature it needs is lacking."""
    all_of_them = [open_phenomenon(name) for name in phenomena()]
    seen, names = _survey(files, all_of_them)
    possible = [one for one in all_of_them if one.file.needs <= names]
    found = _find(files, possible, {name: [own] for name, own in seen.items()})
    pairs = {one.name: own for one, own in zip(possible, found, strict=True)}
    return [(one, pairs.get(one.name)) for one in all_of_them]


def _survey(files: Sequence[Path], wanted: Sequence[Phenomenon]) -> tuple[dict[str, SeenForms], set[str]]:
    """Read treebanks for the forms of every feature that is changed, and for the names of all features."""
    seen = {one.change.feature: SeenForms("treebank", one.change.feature) for one in wanted}
    names = {*OWN}
    for path in files:
        empty = True
        for tree in read_pair_trees(path):
            empty = False
            for word in tree.words:
                names.update(word.values)
                for table in seen.values():
                    table.add(word)
        if empty:
            raise SuiteError(f"{path}: holds no sentence")
    return seen, names


def _find(
    files: Sequence[Path],
    wanted: Sequence[Phenomenon],
    tables: Mapping[str, Sequence[SeenForms | ListedForms]],
) -> list[Pairs]:
    """Read treebanks for the pairs of phenomena."""
    rows: list[list[dict[str, Any]]] = [[] for _ in wanted]
    left_out = [Counter[str]() for _ in wanted]
    n_sentences = 0
    for path in files:
        for tree in read_pair_trees(path):
            n_sentences += 1
            for one, own, reasons in zip(wanted, rows, left_out, strict=True):
                own.extend(_pairs_of(tree, path.name, one, tables[one.change.feature], reasons))
    return [
        Pairs(_as_table(_governed(own_rows, reasons) if one.governs else own_rows), n_sentences, reasons)
        for one, own_rows, reasons in zip(wanted, rows, left_out, strict=True)
    ]


def _governed(rows: Sequence[dict[str, Any]], left_out: Counter[str]) -> list[dict[str, Any]]:
    """Leave out what may be right: in is found with the dative, and with the accusative."""
    seen = {(row["controller.entry"], row["value"]) for row in rows}
    sure = [
        row
        for row in rows
        if not any((row["controller.entry"], value) in seen for value in row["other_value"].split("|"))
    ]
    left_out.update({BOTH: len(rows) - len(sure)} if len(sure) < len(rows) else {})
    return sure


def _more_forms(paths: Iterable[Path], own: SeenForms) -> Iterator[SeenForms | ListedForms]:
    for path in paths:
        if bare_name(path).endswith(".conllu"):
            more = SeenForms(bare_name(path), own.feature)
            for word in (word for tree in read_pair_trees(path) for word in tree.words):
                more.add(word)
            yield more
        else:
            yield read_unimorph(path, own.feature, own.lemmas())


def _pairs_of(
    tree: Tree,
    source: str,
    one: Phenomenon,
    tables: Sequence[SeenForms | ListedForms],
    left_out: Counter[str],
) -> Iterator[dict[str, Any]]:
    """Give the pairs of a sentence, one for each word and other value."""
    change = one.change
    targets: dict[int, Mapping[str, int]] = {}
    for request in one.file.requests:
        own: dict[int, Mapping[str, int]] = {}
        for match in request.matches(tree.words):
            target, order = match[change.node], [match[node] for node in request.pattern.nodes]
            if target not in own or order < [own[target][node] for node in request.pattern.nodes]:
                own[target] = match
        targets = own | targets
    for target, match in sorted(targets.items()):
        word = tree.words[target]
        if change.feature not in word.values or word.values[change.feature] == change.value:
            continue
        reason = None
        if word.values.get("Typo") == "Yes":
            reason = TYPO
        elif not tree.stands_alone(target):
            reason = JOINED
        others: list[OtherForm] = []
        if reason is None:
            others, reason = other_forms(word, change.feature, change.value, tables)
        before = tree.words[target - 1].values.get(LEMMA, "") if target else ""
        if others and any(before in table.elided for table in tables if isinstance(table, SeenForms)):
            others = [other for other in others if sound_alike(word.values[FORM], other.form)]
            reason = None if others else EUPHONY
        if reason is not None:
            left_out[reason] += 1
        for other in others:
            yield _row(tree, source, one, target, match, other)


def _row(
    tree: Tree, source: str, one: Phenomenon, target: int, match: Mapping[str, int], other: OtherForm
) -> dict[str, Any]:
    word, feature = tree.words[target], one.change.feature
    value = word.values[feature]
    row: dict[str, Any] = {
        "good": tree.text(), "bad": tree.text(target, other.form),
        "good_tokens": tree.tokens(), "bad_tokens": tree.tokens(target, other.form),
        "case": re.sub(r"\W+", "_", f"{one.name}_{value}_{other.value}").lower(),
        "construction": f"{value}, not {other.value.replace('|', ' or ')}",
        "phenomenon": one.title,
        "value": value, "other_value": other.value,
        "target": word.values[FORM], "other_form": other.form, "form_from": other.origin,
        "target.entry": word.values.get(LEMMA), "sentence.entry": f"{source}:{tree.name}",
        "source": source, "genre": tree.genre,
    }  # fmt: skip
    if one.controller is not None:
        row |= _agreement(tree, match[one.controller[0]], one.controller[1], target)
    return row


def _agreement(tree: Tree, controller: int, feature: str, target: int) -> dict[str, Any]:
    """Say what stands between a word and the one that it agrees with."""
    values = tree.words[controller].values
    first, last = sorted((controller, target))
    between = [
        word.values for word in tree.words[first + 1 : last] if word.values.get(UPOS) == values.get(UPOS)
    ]
    return {
        "controller": values[FORM],
        "controller_value": values.get(feature),
        "controller.entry": values.get(LEMMA),
        "distance": abs(target - controller),
        "order": "controller first" if controller < target else "target first",
        "n_intervening": len(between),
        "n_attractors": sum(feature in one and one[feature] != values.get(feature) for one in between),
    }


def _as_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Make a table; columns without any value are left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pa.table({name: column for name, column in columns.items() if any(v is not None for v in column)})


def draw_per_cell(pairs: Pairs, number: int) -> Pairs:
    """Keep at most so many pairs of each value and number of attractors, drawn by a hash."""
    rows = pairs.table.to_pylist()
    cells: dict[tuple[Any, ...], list[tuple[str, int]]] = defaultdict(list)
    for at, row in enumerate(rows):
        lot = hashlib.sha256(f"{row['sentence.entry']}\t{row['bad']}".encode()).hexdigest()
        cells[row["value"], row["other_value"], row.get("n_attractors")].append((lot, at))
    drawn = sorted(at for cell in cells.values() for _, at in sorted(cell)[:number])
    return replace(pairs, table=pairs.table.take(drawn))


def count_forms(pairs: Pairs, text: Path) -> Pairs:
    """Add how often both forms occur in a text: `target_count` and `other_count`."""
    table = pairs.table
    forms = [[str(form).lower() for form in table[name].to_pylist()] for name in ("target", "other_form")]
    counts = dict.fromkeys((form for column in forms for form in column), 0)
    for _, line in read_lines(text):
        for word in re.findall(r"\w+(?:[-'’]\w+)*", line.lower()):
            if word in counts:
                counts[word] += 1
    for name, column in zip(("target_count", "other_count"), forms, strict=True):
        table = table.append_column(name, pa.array([counts[form] for form in column], pa.int64()))
    return replace(pairs, table=table)


def summarise_pairs(pairs: Pairs) -> str:
    """Count pairs by what is changed into what and by attractors, and what was left out, and why."""
    table = pairs.table
    rows = table.to_pylist()
    attractors = sorted({row["n_attractors"] for row in rows if "n_attractors" in row})
    counts = Counter((row["construction"], row.get("n_attractors")) for row in rows)
    lines = []
    for construction in sorted({row["construction"] for row in rows}):
        cells = [counts[construction, number] for number in attractors]
        total = sum(n for (name, _), n in counts.items() if name == construction)
        lines.append([construction, *(f"{n:,}" if n else "" for n in cells), f"{total:,}"])
    headers = ["", *(f"{n} attractor{'' if n == 1 else 's'}" for n in attractors), "all"]
    told = f"{pairs.n_sentences:,} sentences, {len(rows):,} pairs"
    if "other_count" in table.column_names:
        rarer = sum(row["other_count"] < row["target_count"] for row in rows)
        told += f"; the other form is the rarer one in {rarer:,}"
    align = ("left", *["right"] * (len(headers) - 1))
    parts = [told, tabulate(lines, headers, "pipe", disable_numparse=True, colalign=align)]
    if pairs.left_out:
        parts.append(reasons_table(pairs.left_out))
    return "\n\n".join(parts)


def write_pairs(table: pa.Table, path: Path) -> None:
    """Write pairs as a suite, in the format that the ending says (`PAIR_ENDINGS`)."""
    between = "\t" if path.name.removesuffix(".gz").endswith(".tsv") else ","
    write_as_named(
        table,
        path,
        lambda rows: rows.to_pandas().to_csv(sep=between, index=False, lineterminator="\n").encode(),
    )
