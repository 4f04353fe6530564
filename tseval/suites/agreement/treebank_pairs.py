"""Minimal pairs from treebanks: a request matches a word, and one of its features is changed.

The other form has the same lemma, part of speech and features, apart from the changed feature. The idea comes
from MultiBLiMP (Jumelet et al. 2025) and Grew-TSE.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tseval.errors import SuiteError
from tseval.formats import bare_name, read_lines
from tseval.suites.agreement.conllu import read_trees
from tseval.suites.agreement.examples import filled
from tseval.suites.agreement.forms import UNWRITTEN, SeenForms, other_forms
from tseval.suites.agreement.other_cues import count_cues
from tseval.suites.agreement.output import write_as_named
from tseval.suites.agreement.phenomenon import Phenomenon, open_phenomenon, phenomena
from tseval.suites.agreement.readings import Readings
from tseval.suites.agreement.requests import FORM, LEMMA, UPOS
from tseval.suites.agreement.strict_forms import Place, strict_forms
from tseval.suites.agreement.summary import counts_and_reasons, reasons_listed
from tseval.suites.agreement.survey import read_survey
from tseval.suites.agreement.unimorph import read_unimorph
from tseval.suites.agreement.word_list import WordList
from tseval.suites.endings import TREES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.suites.agreement.conllu import Tree
    from tseval.suites.agreement.forms import OtherForm
    from tseval.suites.agreement.requests import Request
    from tseval.suites.agreement.survey import Survey
    from tseval.suites.agreement.unimorph import ListedForms


JOINED = "written together with another word"
TYPO = "marked as a typo"
BOTH = "its governor also occurs with the other value"
NO_MATCH = "the request matches no word"
RARE_GOVERNOR = "its governor is too rare to say which values it takes"
MAY_BE = "may be"  # temporary column of a row: other values that the new form may have


@dataclass(frozen=True, slots=True)
class TreebankPairs:
    """The pairs of a phenomenon."""

    # One row per pair: both sentences as written (`good`, `bad`) and as tokens, names of rows, features, and
    # what pairs share (`target.entry`, `controller.entry`, `sentence.entry`).
    table: pa.Table
    n_sentences: int  # sentences of the treebanks
    n_matches: int  # words that the request matches
    left_out: Counter[str]  # reason to the number of words without a pair
    # The reason for each word without a pair, by `sentence.entry` and position from 0; words left out because
    # of their governor are missing. Empty unless `explain` was given.
    reasons: Mapping[tuple[str, int], str]


@dataclass(slots=True)
class _Wanted:
    """A phenomenon, the sources of its forms, and its pairs so far."""

    phenomenon: Phenomenon
    tables: Sequence[SeenForms | ListedForms] = ()  # for --lenient
    readings: Readings | None = None  # for --strict
    rows: list[dict[str, Any]] = field(default_factory=list)
    n_matches: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    reasons: dict[tuple[str, int], str] | None = None
    # Governing lemmas with the values that they govern, and counts.
    governed: Counter[tuple[str | None, str]] = field(default_factory=Counter)


def make_pairs(
    files: Sequence[Path],
    phenomenon: Phenomenon,
    forms: Sequence[Path] = (),
    unimorph: Sequence[Path] = (),
    strict: bool = True,
    explain: bool = False,
) -> TreebankPairs:
    """Make the pairs of a phenomenon from treebanks. Each treebank is read twice: forms first, then pairs.

    Args:
        files: Treebanks in CoNLL-U.
        phenomenon: The phenomenon.
        forms: Further treebanks (`.conllu`) or UniMorph tables, used only for forms.
        unimorph: Further UniMorph tables, with any name.
        strict: Leave out words that the rules of the phenomenon exclude, and forms that may be right.
        explain: Keep the reason for each word without a pair.
    """
    if not strict and (len(phenomenon.changes) > 1 or phenomenon.feature == LEMMA):
        raise SuiteError(
            "--lenient changes one morphological feature, but --change names "
            f"{' and '.join(change.feature for change in phenomenon.changes)}.\n  Leave out --lenient."
        )
    parts, problems = list[TreebankPairs](), list[str]()
    for treebank in _treebanks(files, strict):
        survey = read_survey(treebank, [phenomenon], strict)
        if problem := survey.lacks(phenomenon):
            problems.append(f"in {', '.join(path.name for path in treebank)}, {problem}")
            continue
        wanted = _wanted(phenomenon, survey, forms, unimorph, strict)
        wanted.reasons = {} if explain else None
        parts += _find(treebank, [wanted])
    if not parts:
        raise SuiteError(f"{phenomenon.name}: {problems[0]}")
    pairs = _united(parts)
    for problem in problems:  # a treebank that cannot have these pairs has no words to count
        pairs.left_out[problem.partition("\n")[0]] += 0
    if not pairs.table.num_rows:
        raise SuiteError(
            f"{', '.join(map(str, files))}: tseval could make no pair from the {pairs.n_sentences:,} "
            "sentences.\n"
            f"  Left out: {reasons_listed(pairs.left_out) or f'nothing; {NO_MATCH}'}.\n"
            "  Change the request, or add treebanks."
        )
    return pairs


def _treebanks(files: Sequence[Path], strict: bool) -> list[list[Path]]:
    """Group files by treebank, by the names that Universal Dependencies give them.

    Treebanks of one language differ in annotation: English EWT has Number=Plur, LinES has no Number in the
    plural. So the counts for rules and the readings of forms are computed separately for each treebank.
    """
    by_name: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        name, separator, _ = path.name.partition("-ud-")
        by_name[name if separator and strict else ""].append(path)
    return [*by_name.values()]


def _united(parts: Sequence[TreebankPairs]) -> TreebankPairs:
    """Combine the pairs of several treebanks."""
    if len(parts) == 1:
        return parts[0]
    return TreebankPairs(
        joined_table(parts),
        sum(pairs.n_sentences for pairs in parts),
        sum(pairs.n_matches for pairs in parts),
        sum((pairs.left_out for pairs in parts), Counter[str]()),
        {place: reason for pairs in parts for place, reason in pairs.reasons.items()},
    )


def list_phenomena(
    files: Sequence[Path], strict: bool = True
) -> list[tuple[Phenomenon, TreebankPairs | None, str]]:
    """Make the pairs of every phenomenon that comes with tseval, with the reasons for words without pairs.

    The pairs are None if the treebanks lack a feature or a value that the phenomenon needs.
    """
    all_phenomena = [open_phenomenon(name) for name in phenomena()]
    parts: dict[str, list[TreebankPairs]] = defaultdict(list)
    problems: dict[str, str] = {}
    for treebank in _treebanks(files, strict):
        survey = read_survey(treebank, all_phenomena, strict)
        survey_problems = {phenomenon.name: survey.lacks(phenomenon) for phenomenon in all_phenomena}
        problems |= {name: problem for name, problem in survey_problems.items() if problem}
        possible = [phenomenon for phenomenon in all_phenomena if not survey_problems[phenomenon.name]]
        results = _find(treebank, [_wanted(phenomenon, survey, (), (), strict) for phenomenon in possible])
        for phenomenon, its_pairs in zip(possible, results, strict=True):
            parts[phenomenon.name].append(its_pairs)
    pairs = {name: _united(its_parts) for name, its_parts in parts.items()}
    return [
        (
            phenomenon,
            pairs.get(phenomenon.name),
            _why_not_more(pairs.get(phenomenon.name), problems.get(phenomenon.name)),
        )
        for phenomenon in all_phenomena
    ]


def _why_not_more(pairs: TreebankPairs | None, problem: str | None) -> str:
    if pairs is None:
        return str(problem).partition("\n")[0]
    return reasons_listed(Counter(dict(pairs.left_out.most_common(3)))) if pairs.n_matches else NO_MATCH


def _wanted(
    phenomenon: Phenomenon, survey: Survey, forms: Sequence[Path], unimorph: Sequence[Path], strict: bool
) -> _Wanted:
    """Collect the sources of forms for a phenomenon: the treebanks, and further sources."""
    treebanks = [path for path in forms if bare_name(path).endswith(TREES)]
    tables = [path for path in forms if path not in treebanks] + [*unimorph]
    feature = phenomenon.feature
    if survey.words is not None:
        lemmas = survey.words.lemmas(feature)
        listed = [read_unimorph(path, feature, lemmas) for path in tables]
        other_lists = []
        for path in treebanks:
            other_lists.append(WordList(bare_name(path)))
            for tree in read_trees(path):
                other_lists[-1].add(tree)
        return _Wanted(phenomenon, readings=Readings([survey.words, *other_lists], listed))
    seen_forms = survey.seen[feature]
    sources: list[SeenForms | ListedForms] = [seen_forms]
    for path in (*forms, *unimorph):
        if path in tables:
            sources.append(read_unimorph(path, feature, seen_forms.lemmas()))
            continue
        attested = SeenForms(bare_name(path), feature)
        for word in (word for tree in read_trees(path) for word in tree.words):
            attested.add(word)
        sources.append(attested)
    return _Wanted(phenomenon, sources)


def _find(files: Sequence[Path], all_wanted: Sequence[_Wanted]) -> list[TreebankPairs]:
    """Read treebanks and make the pairs of phenomena."""
    n_sentences = 0
    for path in files:
        for tree in read_trees(path):
            n_sentences += 1
            for wanted in all_wanted:
                wanted.rows.extend(_pairs_of(tree, path.name, wanted))
    return [
        TreebankPairs(
            _as_table(_governed(wanted) if wanted.phenomenon.governs else wanted.rows),
            n_sentences,
            wanted.n_matches,
            wanted.left_out,
            wanted.reasons or {},
        )
        for wanted in all_wanted
    ]


def _governed(wanted: _Wanted) -> list[dict[str, Any]]:
    """Leave out pairs that may be right: German *in* governs the dative and the accusative."""
    strict = wanted.readings is not None
    governed_values = (
        wanted.governed if strict else {(row["controller.entry"], row["value"]) for row in wanted.rows}
    )
    times = Counter[str | None]()
    for (lemma, _), n in wanted.governed.items():
        times[lemma] += n
    certain_rows = []
    for row in wanted.rows:
        lemma, values = row["controller.entry"], [*row["other_value"].split("|"), *row.pop(MAY_BE, ())]
        if any((lemma, value) in governed_values for value in values):
            wanted.left_out[BOTH] += 1
        elif strict and times[lemma] < wanted.phenomenon.least:
            wanted.left_out[RARE_GOVERNOR] += 1
        else:
            certain_rows.append(row)
    return certain_rows


def _pairs_of(tree: Tree, source: str, wanted: _Wanted) -> Iterator[dict[str, Any]]:
    """Yield the pairs of a sentence, one for each word and other value."""
    phenomenon = wanted.phenomenon
    targets: dict[int, tuple[Mapping[str, int], Request]] = {}
    for request in phenomenon.file.requests:
        # If a word has several matches, the first one by the positions of its nodes is used.
        matches = sorted(request.matches(tree.words), key=itemgetter(*request.pattern.nodes), reverse=True)
        targets = {match[phenomenon.node]: (match, request) for match in matches} | targets
    for target, (match, request) in sorted(targets.items()):
        word = tree.words[target]
        if word.values.get(phenomenon.feature) in {None, phenomenon.value}:
            continue
        wanted.n_matches += 1
        others, reason = _other_forms(tree, target, match, request, wanted)
        if reason is not None:
            wanted.left_out[reason] += 1
            if wanted.reasons is not None:
                wanted.reasons[f"{source}:{tree.name}", target] = reason
        for other in others:
            yield _row(tree, source, wanted, target, match, other)


def _other_forms(
    tree: Tree, target: int, match: Mapping[str, int], request: Request, wanted: _Wanted
) -> tuple[Sequence[OtherForm], str | None]:
    """Return the other forms of a word, or a reason for none."""
    phenomenon, words = wanted.phenomenon, tree.words
    node = phenomenon.controller[0] if phenomenon.controller else None
    controller = words[match[node]] if node else None
    excluded: dict[str, str] = {}  # new value to the rule that excludes it
    if wanted.readings is not None:
        if controller is not None and phenomenon.governs:
            governor = controller.values.get(LEMMA), words[target].values[phenomenon.feature]
            wanted.governed[governor] += 1
        for rule in phenomenon.file.rules:
            if rule.holds(words, match, request.effort):
                continue
            if rule.new is None:
                return (), rule.rule
            excluded |= dict.fromkeys(rule.new, str(rule.rule))
    if words[target].values.get("Typo") == "Yes":
        return (), TYPO
    if not tree.stands_alone(target):
        return (), JOINED
    if wanted.readings is not None:
        return strict_forms(Place(words, target, controller, excluded), phenomenon, wanted.readings)
    before = words[target - 1].values.get(LEMMA, "") if target else ""
    return other_forms(words[target], before, phenomenon.feature, phenomenon.value, wanted.tables)


def _row(
    tree: Tree, source: str, wanted: _Wanted, target: int, match: Mapping[str, int], other: OtherForm
) -> dict[str, Any]:
    phenomenon, word = wanted.phenomenon, tree.words[target]
    value = ", ".join(word.values.get(change.feature, "none") for change in phenomenon.changes)
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
        node, feature = phenomenon.controller
        row |= _agreement(tree, match[node], feature, target)
        if wanted.readings is not None and phenomenon.governs:
            row[MAY_BE] = other.may_be
        elif wanted.readings is not None:
            row["n_other_cues"] = count_cues(tree.words, target, phenomenon.feature, match[node], feature)
    return row


def _agreement(tree: Tree, controller: int, feature: str, target: int) -> dict[str, Any]:
    """Return columns about a word's controller, such as the distance and the nouns between them."""
    values = tree.words[controller].values
    first, last = sorted((controller, target))
    between = [
        word.values for word in tree.words[first + 1 : last] if word.values.get(UPOS) == values.get(UPOS)
    ]
    return {
        "controller": values[FORM] if values[FORM] != UNWRITTEN else None,
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
    """Return a table of rows; empty columns are left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    return filled(pa.table({name: [row.get(name) for row in rows] for name in names}))


def joined_table(all_pairs: Sequence[TreebankPairs]) -> pa.Table:
    """Return the pairs of several phenomena in one table."""
    return _as_table([row for pairs in all_pairs for row in pairs.table.to_pylist()])


def draw_per_cell(pairs: TreebankPairs, number: int) -> TreebankPairs:
    """Keep at most `number` pairs of each combination of values and attractors, chosen by a hash."""
    rows = pairs.table.to_pylist()
    cells: dict[tuple[Any, ...], list[tuple[str, int]]] = defaultdict(list)
    for index, row in enumerate(rows):
        lot = hashlib.sha256(f"{row['sentence.entry']}\t{row['bad']}".encode()).hexdigest()
        cells[row["value"], row["other_value"], row.get("n_attractors")].append((lot, index))
    drawn = sorted(index for cell in cells.values() for _, index in sorted(cell)[:number])
    return replace(pairs, table=pairs.table.take(drawn))


def count_forms(pairs: TreebankPairs, text: Path) -> TreebankPairs:
    """Add columns with the counts of both forms in a text: `target_count` and `other_count`."""
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
    """Return counts of pairs by construction and attractors, and the reasons for words without pairs."""
    table = pairs.table
    rows = table.to_pylist()
    summary = f"{pairs.n_sentences:,} sentences, {len(rows):,} pairs"
    if "other_count" in table.column_names:
        rarer = sum(row["other_count"] < row["target_count"] for row in rows)
        summary += f"; the other form is the rarer one in {rarer:,}"
    changes = ((row["construction"], row.get("n_attractors")) for row in rows)
    return counts_and_reasons(summary, changes, pairs.left_out)


def write_pairs(table: pa.Table, path: Path) -> None:
    """Write pairs as a suite in the format of the file's ending (`PAIR_ENDINGS`)."""
    separator = "\t" if path.name.removesuffix(".gz").endswith(".tsv") else ","
    write_as_named(
        table,
        path,
        lambda rows: rows.to_pandas().to_csv(sep=separator, index=False, lineterminator="\n").encode(),
    )
