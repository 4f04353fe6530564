"""Minimal pairs from treebanks: a request finds a word, and one of its features is changed.

The other form has the same lemma, part of speech and features but the one that is changed. The idea is that
of MultiBLiMP (Jumelet et al. 2025) and Grew-TSE.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tseval.errors import SuiteError, suggest
from tseval.formats import bare_name, read_lines
from tseval.suites.agreement.conllu import read_trees
from tseval.suites.agreement.examples import filled
from tseval.suites.agreement.forms import SeenForms, other_forms
from tseval.suites.agreement.output import write_as_named
from tseval.suites.agreement.phenomenon import Phenomenon, open_phenomenon, phenomena
from tseval.suites.agreement.requests import FORM, LEMMA, OWN, UPOS
from tseval.suites.agreement.summary import counts_and_reasons, reasons_listed
from tseval.suites.agreement.unimorph import read_unimorph
from tseval.suites.endings import TREES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.suites.agreement.conllu import Tree
    from tseval.suites.agreement.forms import OtherForm
    from tseval.suites.agreement.unimorph import ListedForms


JOINED = "written together with another word"
TYPO = "marked as a typo"
BOTH = "its governor also occurs with the other value"


@dataclass(frozen=True, slots=True)
class TreebankPairs:
    """The pairs of a phenomenon."""

    # A row a pair: both sentences as written (`good`, `bad`) and as tokens, the names of rows, features, and
    # what pairs share (`target.entry`, `controller.entry`, `sentence.entry`).
    table: pa.Table
    n_sentences: int  # of the treebanks
    left_out: Counter[str]  # reasons to how many words they left out


def make_pairs(files: Sequence[Path], phenomenon: Phenomenon, forms: Sequence[Path] = ()) -> TreebankPairs:
    """Find the pairs of a phenomenon in treebanks: each is read twice, for its forms and for its sentences.

    Args:
        files: Treebanks in CoNLL-U.
        phenomenon: What is looked for.
        forms: More treebanks (`.conllu`), or tables of UniMorph, for forms alone.
    """
    seen, names = _survey(files, [phenomenon])
    if missing := sorted(phenomenon.file.needs - names):
        raise SuiteError(
            f"{phenomenon.name}: the request needs the feature {missing[0]!r}, but no word of the treebanks "
            "has this feature.\n"
            f"  {suggest(missing[0], names, 'Features in the treebanks')}"
        )
    tables = {name: [seen_forms, *_more_forms(forms, seen_forms)] for name, seen_forms in seen.items()}
    (pairs,) = _find(files, [phenomenon], tables)
    if not pairs.table.num_rows:
        raise SuiteError(
            f"{', '.join(map(str, files))}: tseval could make no pair from the {pairs.n_sentences:,} "
            "sentences.\n"
            f"  Left out: {reasons_listed(pairs.left_out) or 'nothing; the request matches no word'}.\n"
            "  Change the request, or add treebanks."
        )
    return pairs


def list_phenomena(files: Sequence[Path]) -> list[tuple[Phenomenon, TreebankPairs | None]]:
    """Find the pairs of every phenomenon that comes with tseval; None where a feature it needs is lacking."""
    all_phenomena = [open_phenomenon(name) for name in phenomena()]
    seen, names = _survey(files, all_phenomena)
    possible = [phenomenon for phenomenon in all_phenomena if phenomenon.file.needs <= names]
    found_pairs = _find(files, possible, {name: [forms] for name, forms in seen.items()})
    pairs = {
        phenomenon.name: phenomenon_pairs
        for phenomenon, phenomenon_pairs in zip(possible, found_pairs, strict=True)
    }
    return [(phenomenon, pairs.get(phenomenon.name)) for phenomenon in all_phenomena]


def _survey(files: Sequence[Path], wanted: Sequence[Phenomenon]) -> tuple[dict[str, SeenForms], set[str]]:
    """Read treebanks for the forms of every feature that is changed, and for the names of all features."""
    seen = {phenomenon.feature: SeenForms("treebank", phenomenon.feature) for phenomenon in wanted}
    names = {*OWN}
    for path in files:
        empty = True
        for tree in read_trees(path):
            empty = False
            for word in tree.words:
                names.update(word.values)
                for table in seen.values():
                    table.add(word)
        if empty:
            raise SuiteError(
                f"{path}: the file has no sentences.\n  Give a treebank in CoNLL-U, with at least one "
                "sentence."
            )
    return seen, names


def _find(
    files: Sequence[Path],
    wanted: Sequence[Phenomenon],
    tables: Mapping[str, Sequence[SeenForms | ListedForms]],
) -> list[TreebankPairs]:
    """Read treebanks for the pairs of phenomena."""
    rows: list[list[dict[str, Any]]] = [[] for _ in wanted]
    left_out = [Counter[str]() for _ in wanted]
    n_sentences = 0
    for path in files:
        for tree in read_trees(path):
            n_sentences += 1
            for phenomenon, phenomenon_rows, reasons in zip(wanted, rows, left_out, strict=True):
                phenomenon_rows.extend(
                    _pairs_of(tree, path.name, phenomenon, tables[phenomenon.feature], reasons)
                )
    return [
        TreebankPairs(
            _as_table(_governed(phenomenon_rows, reasons) if phenomenon.governs else phenomenon_rows),
            n_sentences,
            reasons,
        )
        for phenomenon, phenomenon_rows, reasons in zip(wanted, rows, left_out, strict=True)
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


def _more_forms(paths: Iterable[Path], seen_forms: SeenForms) -> Iterator[SeenForms | ListedForms]:
    for path in paths:
        if bare_name(path).endswith(TREES):
            more = SeenForms(bare_name(path), seen_forms.feature)
            for word in (word for tree in read_trees(path) for word in tree.words):
                more.add(word)
            yield more
        else:
            yield read_unimorph(path, seen_forms.feature, seen_forms.lemmas())


def _pairs_of(
    tree: Tree,
    source: str,
    phenomenon: Phenomenon,
    tables: Sequence[SeenForms | ListedForms],
    left_out: Counter[str],
) -> Iterator[dict[str, Any]]:
    """Yield the pairs of a sentence, one for each word and other value."""
    targets: dict[int, Mapping[str, int]] = {}
    for request in phenomenon.file.requests:
        # Of several matches of a word the first is meant, by the positions of their nodes.
        matches = sorted(request.matches(tree.words), key=itemgetter(*request.pattern.nodes), reverse=True)
        targets = {match[phenomenon.node]: match for match in matches} | targets
    for target, match in sorted(targets.items()):
        word = tree.words[target]
        if word.values.get(phenomenon.feature) in {None, phenomenon.value}:
            continue
        others: Sequence[OtherForm] = ()
        if word.values.get("Typo") == "Yes":
            reason: str | None = TYPO
        elif not tree.stands_alone(target):
            reason = JOINED
        else:
            before = tree.words[target - 1].values.get(LEMMA, "") if target else ""
            others, reason = other_forms(word, before, phenomenon.feature, phenomenon.value, tables)
        if reason is not None:
            left_out[reason] += 1
        for other in others:
            yield _row(tree, source, phenomenon, target, match, other)


def _row(
    tree: Tree, source: str, phenomenon: Phenomenon, target: int, match: Mapping[str, int], other: OtherForm
) -> dict[str, Any]:
    word = tree.words[target]
    value = word.values[phenomenon.feature]
    row: dict[str, Any] = {
        "good": tree.text(), "bad": tree.text(target, other.form),
        "good_tokens": tree.tokens(), "bad_tokens": tree.tokens(target, other.form),
        "case": re.sub(r"\W+", "_", f"{phenomenon.name}_{value}_{other.value}").lower(),
        "construction": f"{value}, not {other.value.replace('|', ' or ')}",
        "phenomenon": phenomenon.title,
        "value": value, "other_value": other.value,
        "target": word.values[FORM], "other_form": other.form, "form_from": other.origin,
        "target.entry": word.values.get(LEMMA), "sentence.entry": f"{source}:{tree.name}",
        "source": source, "genre": tree.genre,
    }  # fmt: skip
    if phenomenon.controller is not None:
        row |= _agreement(tree, match[phenomenon.controller[0]], phenomenon.controller[1], target)
    return row


def _agreement(tree: Tree, controller: int, feature: str, target: int) -> dict[str, Any]:
    """Return the words between a word and the one that it agrees with."""
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
        "n_attractors": sum(
            feature in noun_values and noun_values[feature] != values.get(feature) for noun_values in between
        ),
    }


def _as_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return a table; columns without any value are left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    return filled(pa.table({name: [row.get(name) for row in rows] for name in names}))


def draw_per_cell(pairs: TreebankPairs, number: int) -> TreebankPairs:
    """Keep at most so many pairs of each value and number of attractors, drawn by a hash."""
    rows = pairs.table.to_pylist()
    cells: dict[tuple[Any, ...], list[tuple[str, int]]] = defaultdict(list)
    for index, row in enumerate(rows):
        lot = hashlib.sha256(f"{row['sentence.entry']}\t{row['bad']}".encode()).hexdigest()
        cells[row["value"], row["other_value"], row.get("n_attractors")].append((lot, index))
    drawn = sorted(index for cell in cells.values() for _, index in sorted(cell)[:number])
    return replace(pairs, table=pairs.table.take(drawn))


def count_forms(pairs: TreebankPairs, text: Path) -> TreebankPairs:
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


def summarise_pairs(pairs: TreebankPairs) -> str:
    """Count pairs by what is changed into what and by attractors, and what was left out, and why."""
    table = pairs.table
    rows = table.to_pylist()
    summary = f"{pairs.n_sentences:,} sentences, {len(rows):,} pairs"
    if "other_count" in table.column_names:
        rarer = sum(row["other_count"] < row["target_count"] for row in rows)
        summary += f"; the other form is the rarer one in {rarer:,}"
    changes = ((row["construction"], row.get("n_attractors")) for row in rows)
    return counts_and_reasons(summary, changes, pairs.left_out)


def write_pairs(table: pa.Table, path: Path) -> None:
    """Write pairs as a suite, in the format that the ending says (`PAIR_ENDINGS`)."""
    separator = "\t" if path.name.removesuffix(".gz").endswith(".tsv") else ","
    write_as_named(
        table,
        path,
        lambda rows: rows.to_pandas().to_csv(sep=separator, index=False, lineterminator="\n").encode(),
    )
