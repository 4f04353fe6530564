"""Any table of pairs by its columns; published sets of pairs as they come; tables of agreement examples.

BLiMP (Warstadt et al. 2020, TACL): 67 paradigms of 1,000 pairs. `full` compares whole sentences (the paper's
simple LM method), `one_prefix` two endings of the same prefix, `two_prefix` the same ending of two prefixes;
not every paradigm allows these.

CLAMS (Mueller et al. 2020, ACL): agreement in English, French, German, Hebrew and Russian. A folder for each
language (`en_evalset`), a text file for each construction. Every line holds `True` or `False`, a tab, and a
sentence; a grammatical sentence is followed by its ungrammatical twins.

Agreement in running text (Linzen et al. 2016, Gulordava et al. 2018): is the right form of the verb the more
probable one? An item is the sentence up to the verb, ending in either form; what follows is not scored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, counted, quoted_text
from tseval.formats import (
    bare_name,
    is_count,
    parse_data,
    read_jsonl,
    read_lines,
    read_text,
    stem_of,
)
from tseval.items import ENTRY, Case, as_entries
from tseval.questions import Contrast
from tseval.questions.pairs import ENDING, Pairs
from tseval.questions.regions import Prediction
from tseval.suites.agreement.example_tables import read_examples
from tseval.suites.agreement.examples import SINGULAR
from tseval.suites.agreement.gold_files import read_targets
from tseval.suites.data.alternatives import ALTERNATIVES, alternatives_in, in_names
from tseval.suites.data.entries import (
    AGREEMENT,
    DataItem,
    are_marked,
    features_of,
    first_places,
    split_rows,
    table_row,
    without_mark,
)
from tseval.suites.data.joining import join_of
from tseval.suites.data.records import header_of, read_records
from tseval.suites.data.regions import continued
from tseval.suites.data.roles import (
    PAIR_LABELS,
    find_columns,
    parts_of,
    roles_given,
    running_text,
    text_in,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Feature
    from tseval.questions import Score
    from tseval.suites.data.entries import TableReading, TableRow
    from tseval.suites.data.roles import DataRecord, Header


# Pairs of treebanks as written, and as tokens, which a model of words reads (`--columns`).
IN_BOTH_FORMS = ("good", "bad", "good_tokens", "bad_tokens")
# Each label to the column of what stands before its text, if there is one, and to that of the text.
Parts = dict[str, tuple[str | None, str]]
_COMPS = {"good": ("prefix_acceptable", "property_phrase"), "bad": ("prefix_unacceptable", "property_phrase")}


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns of a table of pairs are."""

    parts: Parts  # the columns of both sentences
    rows: Mapping[str, str]  # each of `ROW_NAMES` that there is to its column
    entries: Mapping[str, str]  # what pairs share to its column: `item`, and columns that end in `.entry`
    features: Mapping[str, str]  # feature to column, in the order of the table
    answer: str | None = None  # the column that says which of two lettered sentences is the better one

    @property
    def texts(self) -> set[str]:
        """The columns that stay texts."""
        used = {*self.rows.values(), *(name for part in self.parts.values() for name in part if name)}
        return used | {*self.entries.values()}


def find_roles(columns: Header) -> Roles | None:
    """Say what the columns of a table of pairs are; None if it holds none."""
    if (parts := _parts(columns)) is None:
        return None
    entries = {name.removesuffix(ENTRY): name for name in columns.names if name.endswith(ENTRY)}
    if "item" in columns.given or "item" in columns.names:
        entries["item"] = columns.given.get("item", "item")
    texts = [name for part in parts.values() for name in part if name]
    if {*texts} & {*IN_BOTH_FORMS}:  # the other form is no feature
        texts += [name for name in IN_BOTH_FORMS if name in columns.names]
    answer = _answer_of(columns)
    used = [*entries.values(), *texts, *filter(None, [answer])]
    return Roles(parts, columns.rows(), entries, columns.features(used), answer)


def _parts(columns: Header) -> Parts | None:
    if {name for part in _COMPS.values() for name in part} <= {*columns.names} and not columns.says_pair:
        return dict(_COMPS)
    pair = columns.pair() or (_LETTERED if _answer_of(columns) else None)
    if pair is None:
        return None
    before = _prefix(columns, pair)
    words = any(len(text_in(columns.first.get(name)).split()) == 1 for name in pair)
    if before is None and columns.known is None and not columns.says_pair and words:
        return None  # single words, to be put into something
    return {label: (before, name) for label, name in zip(PAIR_LABELS, pair, strict=True)}


def _prefix(columns: Header, pair: tuple[str, str]) -> str | None:
    """Return the column of what stands before both of a pair, where they are continuations of it."""
    if given := [columns.given[role] for role in ("context", "prefix") if role in columns.given]:
        return "+".join(given)
    if columns.known is None or columns.says_pair or pair == PAIR_LABELS:
        name = columns.of("prefix") or (None if columns.known else columns.of("context"))
        if name is None or pair == PAIR_LABELS:
            return name
        # Sentences that begin with a prefix which stands beside them are no continuations of it.
        before, *both = (text_in(columns.first.get(one)) for one in (name, *pair))
        return None if all(text.startswith(before) for text in both) else name
    return None


def pair_entries(file: Path, stem: str, reading: TableReading) -> Iterator[DataItem]:
    """Read the pairs of a file: two sentences a row, or two continuations of a prefix.

    Columns `case`, `construction`, `phenomenon` and `dependency`, where there are any, say which row of the
    table a pair belongs to; the file's name stands in for them. A case of several phenomena, and no
    constructions, is cut into one for each. `item` is what pairs share; all other columns are features.
    """
    records = list(_with_roles(file, reading.how))
    if records:
        ignored = parts_of(roles_given(reading.how).get("ignore", ""), records[0][1])
        reading.unused[str(file)] = [*records[0][2].features.values(), *ignored]
    same: dict[TableRow, TableRow] = {}
    rows = [same.setdefault(row := table_row(record, stem, roles.rows), row) for _, record, roles in records]
    named = [bool(text_in(value_of(record, roles.rows.get("phenomenon")))) for _, record, roles in records]
    good, bad = (
        [_text(place, record, roles, label) for place, record, roles in records] for label in PAIR_LABELS
    )
    alternatives = alternatives_in(records, good, bad, reading.how)
    if are_marked(good, bad, [place for place, _, _ in records], reading):
        good, bad = (list(map(without_mark, texts)) for texts in (good, bad))
    split = split_rows(rows, named)
    several = [max((len(one[at]) for one in alternatives), default=1) for at in (0, 1)]
    if max(several) > 1:
        formula = ALTERNATIVES[reading.how["alternatives"]].formula(*several)
        reading.predictions = (Prediction("good > bad", formula),)
    alternatives.reverse()
    records.reverse()  # each is let go once it is an item: of a million both would take twice the memory
    for row, *both in zip(split, good, bad, strict=True):
        place, record, roles = records.pop()
        features = features_of(place, record, roles.features)
        entries = {one: text_in(value_of(record, column)) for one, column in roles.entries.items()}
        texts = dict(zip(PAIR_LABELS, both, strict=True))
        befores = {label: before for label, (before, _) in roles.parts.items() if before}
        if alternatives:
            own = dict(zip(PAIR_LABELS, zip(alternatives.pop(), several, strict=True), strict=True))
            texts = {name: text for label, one in own.items() for name, text in in_names(label, *one)}
            befores = {name: befores[name.partition("_")[0]] for name in texts}
        item = DataItem(place, row, texts, features, entries)
        continuations = {
            label: (running_text(record, before), item.sentences[label]) for label, before in befores.items()
        }
        yield continued(item, continuations, join_of(reading.how)) if continuations else item


# Two sentences, and a column that says which of them is the better one, A or B.
_LETTERED = ("sentence_A", "sentence_B")
_ANSWERS = ("gold_label", "gold", "label", "answer")


def _answer_of(columns: Header) -> str | None:
    """Return the column that says which of two lettered sentences is the better one."""
    if not {*_LETTERED} <= {*columns.names} or {*PAIR_LABELS} & {*columns.given}:
        return None
    name = columns.given.get("answer") or next((one for one in _ANSWERS if one in columns.names), None)
    if not name or not columns.first:
        return None
    if text_in(columns.first.get(name))[-1:].upper() not in {"A", "B"}:
        if columns.given:
            return None
        raise SuiteError(
            f"{columns.place}: {name} begins with {columns.first.get(name)!r}, neither A nor B.\n"
            "  Write A if sentence_A is the better one, B if sentence_B is. If the first is always the "
            "better one,\n  add --columns good=sentence_A,bad=sentence_B."
        )
    return name


def _text(place: str, record: DataRecord, roles: Roles, label: str) -> str:
    before, name = roles.parts[label]
    if name in _LETTERED and (answer := roles.answer) is not None:
        letter = text_in(record.get(answer))[-1:].upper()
        if letter not in {"A", "B"}:
            raise SuiteError(
                f"{place}: the column {answer!r} has {record.get(answer)!r}, but must have A or B.\n"
                "  Write A if the sentence in sentence_A is better. Write B if the sentence in sentence_B "
                "is better."
            )
        name = f"sentence_{letter if label == PAIR_LABELS[0] else 'BA'['AB'.index(letter)]}"
    text = record[name] if name in record else running_text(record, name)
    if not isinstance(text, str):
        subject = name if before else f"the {label} sentence"
        raise SuiteError(f"{place}: {subject} is {text!r}, but must be a text.\n  Write the text in quotes.")
    return text


def _with_roles(file: Path, how: Mapping[str, str]) -> Iterator[tuple[str, DataRecord, Roles]]:
    """Yield records with their roles; of JSON, each may have other names than the one before."""
    columns = header_of(file, how)
    roles = _checked(columns)
    before = any(prefix for prefix, _ in roles.parts.values())
    known = {tuple(columns.names): roles}
    for at, record in read_records(file, roles.texts, how):
        own = tuple(record)
        if own not in known:
            known[own] = _checked(find_columns(at, own, how, record), before)
        yield at, record, known[own]


def _checked(columns: Header, before: bool = False) -> Roles:
    roles = find_roles(columns)
    if before and (roles is None or not any(prefix for prefix, _ in roles.parts.values())):
        raise SuiteError(
            f"{columns.place}: no columns have a prefix and its two continuations. The columns are "
            f"{', '.join(map(repr, columns.names))}.\n  Name three columns prefix, good and bad."
        )
    if roles is None:
        raise columns.unknown()
    return roles


def read_arrays(file: Path, stem: str, reading: TableReading) -> Iterator[DataItem]:
    """Read JSON without names, `[[[prefix, prefix], [right, wrong]], ...]`: two endings of one beginning.

    Source: Kryvosheieva & Levy 2025, Controlled evaluation of syntactic knowledge in multilingual language
    models, whose suites are published so.
    """
    for number, one in enumerate(cast("list[Any]", parse_data(read_text(file), str(file))), 1):
        place = f"{file}:{number}"
        if not (isinstance(one, list) and len(one) == 2 and all(map(_is_pair, one))):
            content = quoted_text(json.dumps(one, ensure_ascii=False), 60)
            raise SuiteError(
                f"{place}: element {number} of the list is not a list of two pairs, but {content}."
                '\n  Write each element as [["prefix", "prefix"], ["right ending", "wrong ending"]].'
            )
        item = DataItem(place, (stem, stem, stem, None), {}, {}, {})
        parts = {label: (one[0][at], one[1][at]) for at, label in enumerate(PAIR_LABELS)}
        yield continued(item, parts, join_of(reading.how))


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value)


BLIMP_SOURCE = "Warstadt et al. 2020, BLiMP: The Benchmark of Linguistic Minimal Pairs for English, TACL 8"
# What each method compares: the sums of two sentences that share a prefix differ as their endings do.
BLIMP_METHODS: dict[str, Score] = {"full": "sentence", "one_prefix": "sentence", "two_prefix": "ending"}
_COMPARED = {  # the columns of the better and of the worse sentence
    "full": (["sentence_good"], ["sentence_bad"]),
    "one_prefix": [["one_prefix_prefix", f"one_prefix_word_{which}"] for which in PAIR_LABELS],
    "two_prefix": [[f"two_prefix_prefix_{which}", "two_prefix_word"] for which in PAIR_LABELS],
}

# As the paper prints them (Table 2). Two paradigms carry `s-selection` in the data and stand under argument
# structure in the paper and in the published results.
PHENOMENA = {
    "anaphor_agreement": "Anaphor agreement", "argument_structure": "Argument structure",
    "s-selection": "Argument structure", "binding": "Binding", "control_raising": "Control/raising",
    "determiner_noun_agreement": "Determiner-noun agreement", "ellipsis": "Ellipsis",
    "filler_gap_dependency": "Filler-gap dependency", "irregular_forms": "Irregular forms",
    "island_effects": "Island effects", "npi_licensing": "NPI licensing", "quantifiers": "Quantifiers",
    "subject_verb_agreement": AGREEMENT,
}  # fmt: skip
# One paradigm spells its field with a slash.
FIELDS = {
    "morphology": "Morphology", "syntax": "Syntax", "semantics": "Semantics",
    "syntax_semantics": "Syntax & semantics", "syntax/semantics": "Syntax & semantics",
}  # fmt: skip
BLIMP_FIELDS = ("UID", "pairID", "field", "linguistics_term", "sentence_good", "sentence_bad")


def read_blimp(paths: Sequence[Path], method: str) -> Iterator[DataItem]:
    """Read paradigms, in the order of their names and pair numbers, however the files are cut."""
    records = [found for path in paths for found in read_jsonl(path)]
    for place, record in records:
        if missing := [name for name in BLIMP_FIELDS if name not in record]:
            fix = f"Add the key {missing[0]!r} with its value."
            raise SuiteError(f"{place}: this line of BLiMP does not have the key {missing[0]!r}.\n  {fix}")
        if not is_count(str(record["pairID"])):
            raise SuiteError(
                f"{place}: the key 'pairID' has {record['pairID']!r}.\n  Write the number of the pair: 0, "
                "1, ..."
            )
    records.sort(key=lambda found: (str(found[1]["UID"]), int(cast("str", found[1]["pairID"]))))
    chosen = [found for found in records if method == "full" or found[1].get(f"{method}_method")]
    if not chosen:
        raise SuiteError(
            f"{paths[0]}: no paradigm of these files can be scored by the method {method!r}.\n"
            f"  Choose another method: {', '.join(BLIMP_METHODS)}."
        )
    return (_blimp_entry(place, record, method) for place, record in chosen)


def _blimp_entry(place: str, record: dict[str, Json], method: str) -> DataItem:
    texts = {name: value for name, value in record.items() if isinstance(value, str)}
    try:
        good, bad = (" ".join(texts[name] for name in names) for names in _COMPARED[method])
        row = texts["UID"], texts["UID"], PHENOMENA[texts["linguistics_term"]], FIELDS[texts["field"]]
    except KeyError as error:
        raise SuiteError(
            f"{place}: {error} is a key that is missing, or a field or phenomenon that BLiMP does not have.\n"
            "  Copy this line from the published BLiMP file."
        ) from None
    features: dict[str, Feature] = {"pair": int(cast("str", record["pairID"]))}
    if BLIMP_METHODS[method] == "ending":
        features[ENDING] = len(texts["two_prefix_word"].split())
    return DataItem(place, row, {"good": good, "bad": bad}, features)


CLAMS_SOURCE = "Mueller et al. 2020, Cross-Linguistic Syntactic Evaluation of Word Prediction Models, ACL"
REFLEXIVES = "Reflexive anaphora"
NPI = "Negative polarity items"
ANIMACY = {"anim": "animate", "inanim": "inanimate"}
# File name without its animacy: phenomenon and dependency, as in the table of Marvin & Linzen.
CONSTRUCTIONS = {
    "simple_agrmt": ("Simple", AGREEMENT, "short"),
    "sent_comp": ("Sentential complement", AGREEMENT, "short"),
    "vp_coord": ("Short VP coordination", AGREEMENT, "short"),
    "obj_rel_within": ("In an object RC", AGREEMENT, "short"),
    "obj_rel_no_comp_within": ("In an object RC (no that)", AGREEMENT, "short"),
    "long_vp_coord": ("Long VP coordination", AGREEMENT, "long"),
    "prep": ("Across a PP", AGREEMENT, "long"),
    "subj_rel": ("Across a subject RC", AGREEMENT, "long"),
    "obj_rel_across": ("Across an object RC", AGREEMENT, "long"),
    "obj_rel_no_comp_across": ("Across an object RC (no that)", AGREEMENT, "long"),
    "simple_reflexives": ("Simple", REFLEXIVES, "short"),
    "reflexive_sent_comp": ("Sentential complement", REFLEXIVES, "short"),
    "reflexives_across": ("Across a RC", REFLEXIVES, "long"),
    "simple_npi": ("Simple", NPI, "short"),
    "npi_across": ("Across a RC", NPI, "long"),
}
LANGUAGES = {"en": "English", "fr": "French", "de": "German", "he": "Hebrew", "ru": "Russian"}


def read_clams(files: Sequence[Path]) -> Iterator[DataItem]:
    """Read the constructions of one language."""
    for file in files:
        case = bare_name(file).removesuffix(".txt")
        stem, _, animacy = case.rpartition("_")
        known, features = CONSTRUCTIONS.get(case), {}
        if known is None and animacy in ANIMACY:
            known, features = CONSTRUCTIONS.get(stem), {"animacy": ANIMACY[animacy]}
        if known is None:
            raise SuiteError(
                f"{file}: tseval reads this .txt file as CLAMS, but CLAMS has no construction {case!r}.\n"
                "  For a table of pairs, rename the file to .tsv, .csv or .jsonl."
            )
        construction, phenomenon, dependency = known
        pairs = list(_pairs(file, (case, construction, phenomenon, dependency), features))
        # Items may share a sentence with several twins; which words they share the files do not say.
        shares = len({pair.entries["sentence"] for pair in pairs}) < len(pairs)
        yield from pairs if shares else (replace(pair, entries={}) for pair in pairs)


def _pairs(file: Path, row: TableRow, features: Mapping[str, str]) -> Iterator[DataItem]:
    """Pair every ungrammatical sentence with the grammatical one before it."""
    good, good_place = None, ""
    for place, line in read_lines(file):
        label, tab, sentence = line.partition("\t")
        if label not in {"True", "False"} or not tab:
            raise SuiteError(
                f"{place}: this line does not begin with True or False and a tab: {line[:60]!r}.\n"
                "  Write True or False, a tab, and a sentence."
            )
        if label == "True":
            good, good_place = sentence, f"{file.name}:{place.rpartition(':')[2]}"
        elif good is None:
            raise SuiteError(
                f"{place}: the file begins with an ungrammatical sentence.\n"
                "  Write the grammatical sentence of the pair on the line before."
            )
        else:
            forms = {"grammatical": good, "ungrammatical": sentence}
            yield DataItem(place, row, forms, features, {"sentence": good_place})


LINZEN = "Linzen, Dupoux & Goldberg 2016, TACL 4, as filtered by Gulordava et al. 2018"


def read_linzen(text: Path) -> Iterator[DataItem]:
    """Read `NAME.text` and `NAME.gold` into items that end at the verb."""
    targets = list(read_targets(text))
    sentences = first_places(" ".join(target.words) for target in targets)
    for target, sentence in zip(targets, sentences, strict=True):
        prefix, n = target.words[: target.position], target.attractors
        named = "Attractors unknown" if n is None else counted(n, "attractor") if n else "No attractors"
        row = (f"attractors_{'unknown' if n is None else n}", named, AGREEMENT, None)
        forms = {"correct": " ".join([*prefix, target.right]), "wrong": " ".join([*prefix, target.wrong])}
        features = {"n_attractors": n, "position": target.position}
        # The file does not say which form is the singular.
        singular = max((target.right, target.wrong), key=lambda form: (form.endswith("s"), len(form)))
        place = f"{text}:{target.place.rpartition(':')[2]}"  # both files have the same lines
        yield DataItem(place, row, forms, features, verb_entries(sentence, singular))


def verb_entries(sentence: str, singular: str) -> dict[str, str]:
    """Name what verbs in running text may share: the sentence, and the verb, by its singular."""
    return {"sentence": sentence, "verb": singular.lower()}


CONTRAST = Contrast("grammatical", "ungrammatical")
SPLIT_ORDER = ("train", "valid", "test")
# Feature to column.
FEATURES = {
    **{name: name for name in ("number", "n_intervening", "n_attractors", "n_non_attractors", "distance")},
    **{"last_intervening": "last_intervening", "position": "verb_index"},
    **{name: name for name in ("verb_form", "verb_role", "subj_deprel", "source")},
}


def read_agreement(reading: TableReading) -> tuple[Case, ...]:
    """Read tables of examples into cases: one for each split, or a single one where there are no splits.

    Of several tables, the columns that all have become features.
    """
    files = list(reading.files)
    tables = [read_examples(file) for file in files]
    reading.items.update({str(file): table.num_rows for file, table in zip(files, tables, strict=True)})
    shared = set.intersection(*(set(table.column_names) for table in tables))
    unsplit = [file for file, table in zip(files, tables, strict=True) if "split" not in table.column_names]
    if unsplit and len(unsplit) < len(files):
        raise SuiteError(
            f"{unsplit[0]}: this table has no column 'split', but other tables of the folder have one.\n"
            "  Add the column 'split' to this table, with train, valid or test in each row."
        )
    table = pa.concat_tables(part.select(sorted(shared)) for part in tables)
    entries = _entries(table)
    if unsplit:
        return (_case(stem_of(files[0]), table, entries),)
    splits: list[Any] = table["split"].unique().to_pylist()
    names = sorted(splits, key=lambda name: (*SPLIT_ORDER, name).index(name))  # others as they come
    parts = [(name, pc.equal(table["split"], pa.scalar(name))) for name in names]
    return tuple(_case(name, table.filter(part), entries.filter(part)) for name, part in parts)


def _entries(table: pa.Table) -> pa.Table:
    """Say of every example which sentence it is from, and which verb it is about."""
    columns = ("sentence", "number", "verb_form", "opp_verb_form")
    texts: list[list[Any]] = [table[name].to_pylist() for name in columns]
    sentences, *verbs = texts
    named = [
        verb_entries(sentence, form if number == SINGULAR else opposite)
        for sentence, number, form, opposite in zip(first_places(sentences), *verbs, strict=True)
    ]
    return pa.table({factor: as_entries([one[factor] for one in named]) for factor in named[0]})


def _case(name: str, table: pa.Table, entries: pa.Table) -> Case:
    """Make items of examples: each sentence with the verb as found, and in the other number."""
    found: list[str] = []
    changed: list[str] = []
    for row in table.select(["sentence", "verb_index", "opp_verb_form"]).to_batches():
        for sentence, index, form in zip(*(column.to_pylist() for column in row.columns), strict=True):
            words = sentence.split()
            found.append(" ".join(words))
            changed.append(" ".join([*words[:index], form, *words[index + 1 :]]))
    held = {feature: name for feature, name in FEATURES.items() if name in table.column_names}
    return Case(
        name=name,
        construction=name,
        phenomenon=AGREEMENT,
        dependency=None,
        question=Pairs((CONTRAST,)),
        index=pa.array(range(table.num_rows), pa.int64()),
        sentences=pa.table({CONTRAST.better: found, CONTRAST.worse: changed}),
        features=table.select(list(held.values())).rename_columns(list(held)),
        entries=entries,
    )
