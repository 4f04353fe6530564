"""Single items of runs: sentences, scores, different words, unknown words, features."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_numeric_dtype

from tseval.analysis.features import select
from tseval.errors import RunError, plain
from tseval.items import CONTEXT, ENTRY, HALF_KNOWN, NOT_FEATURES, RATING, RATING_SE
from tseval.questions.forced_choice import BETTER_FIRST
from tseval.report.document import Document, Field, Grid
from tseval.report.layout import in_full
from tseval.report.numbers import format_difference
from tseval.report.writers.csv import cell
from tseval.suites.data.critical import differing
from tseval.writing import AS_WRITTEN, IN_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case, Suite
    from tseval.runs import Run
    from tseval.writing import Writing

ItemOrder = Literal["suite", "margin"]
# The columns of every row, in this order, before the features of the suite.
ITEM_COLUMNS = (
    "model", "case", "item", "dependency", "phenomenon", "construction", "contrast", "outcome", "margin",
    "better_score", "worse_score", "better", "worse", "better_differs", "worse_differs",
    "better_unknown", "worse_unknown", "better_read", "worse_read",
)  # fmt: skip
UNDECIDABLE, HALF_KNOWN_OUTCOME = "undecidable", "undecidable (half known)"
# Outcomes for prompts in both orders (`tseval.questions.forced_choice`).
BY_ORDER, NO_ANSWER = "undecided by order", "no answer"
MOST_EXCEL_ROWS = 2**20 - 1


def item_table(
    runs: Sequence[Run],
    suite: Suite,
    where: Sequence[tuple[str, str]] = (),
    *,
    wrong: bool = False,
    order: ItemOrder = "suite",
) -> pd.DataFrame:
    """Return the items of runs, one row for each contrast of each model.

    Args:
        runs: Runs on the suite.
        suite: The suite that the runs scored.
        where: Values of features, or of `case`, that the items must have.
        wrong: Only items that the model decides against the better sentence; ties count as wrong.
        order: The order of the suite, or by margin, the most wrong first.

    Returns:
        The columns of `ITEM_COLUMNS`, then the features (`feature.NAME` if NAME is one of these). Scores and
        margins are log-probabilities in nats. If several sentences are compared by regions, `better` has all
        of them with their labels. `better_differs` has the words that the other sentence lacks,
        `better_unknown` the words that the model does not know, `better_read` the text that the model reads,
        if it is different.

    Raises:
        RunError: The suite and a run have different items.
        SuiteError: No item has these values.
    """
    frames = [_items_of(run, suite, where) for run in runs]
    rows = pd.concat(frames, ignore_index=True)
    if wrong:
        rows = rows[rows["outcome"].isin(["wrong", "tie", BY_ORDER])]
    if order == "margin":
        rows = rows.sort_values("margin", kind="stable", na_position="last")
    return rows.reset_index(drop=True)


def rules_of(run: Run, suite: Suite) -> Writing:
    """Return the rules by which the sentences of the suite were written for the model of a run."""
    natural = run.manifest.key.protocol.get("text") == "natural"
    return suite.writing if natural and suite.writing else AS_WRITTEN


def labels_of(case: Case, contrast: str) -> list[str]:
    """Return the labels of a contrast, the better one first; for other contrasts, all labels."""
    pairs = ([pair.better, pair.worse] for pair in case.contrasts if str(pair) == contrast)
    return next(pairs, list(case.labels))


def _items_of(run: Run, suite: Suite, where: Sequence[tuple[str, str]]) -> pd.DataFrame:
    verdicts = select(run.verdicts, where)
    scored = run.load_sentences()
    rules = rules_of(run, suite)
    cases = {case.name: case for case in suite.cases}
    parts = []
    for (name, _), group in verdicts.groupby(["case", "contrast"], sort=False, dropna=False):
        case = cases.get(str(name))
        if case is None:
            raise _other_items(run, suite, f"the case {name!r}")
        parts.append(_with_sentences(run, suite, case, group, scored, rules))
    rows = pd.concat(parts).loc[verdicts.index]
    rows.insert(0, "model", plain(run.manifest.model.name))
    features = [name for name in verdicts if name not in NOT_FEATURES and not str(name).endswith(ENTRY)]
    ratings = [name for name in (RATING, RATING_SE) if name in verdicts]
    features_of_items = verdicts[[*dict.fromkeys([*ratings, *features])]]
    # A feature of data may have the name of a standard column.
    new_names = {name: f"feature.{name}" for name in features_of_items if name in ITEM_COLUMNS}
    return rows[[*ITEM_COLUMNS]].join(features_of_items.rename(columns=new_names))


def _other_items(run: Run, suite: Suite, what: str) -> RunError:
    return RunError(
        f"{run.name}: the suite {suite.name} does not have {what}, which the run scored.\n"
        "  Name the suite that the run scored: --suite SUITE"
    )


def _with_sentences(
    run: Run, suite: Suite, case: Case, verdicts: pd.DataFrame, scored: pa.Table, rules: Writing
) -> pd.DataFrame:
    """Add the sentences of one contrast of a case to its verdicts."""
    contrast = str(verdicts["contrast"].iloc[0])
    positions = pc.index_in(pa.array(verdicts["item"].to_numpy(), pa.int64()), value_set=case.index)
    if positions.null_count:
        missing = int(verdicts["item"].to_numpy()[positions.is_null().to_numpy(zero_copy_only=False)][0])
        raise _other_items(run, suite, f"the item {case.name}[{missing}]")
    labels = labels_of(case, contrast)
    end = "" if suite.terminator is None else f" {suite.terminator}"
    texts = {
        label: [f"{text}{end}" for text in case.sentences[label].take(positions).to_pylist()]
        for label in labels
    }
    prefixes = [""] * len(verdicts)
    if run.manifest.suite.context is not None:
        prefixes = [f"{number}{IN_CONTEXT}" for number in verdicts[f"{CONTEXT}{ENTRY}"]]
    is_prompt = run.manifest.key.score == "prompt"  # then the scored texts are prompts, not sentences
    every_sentence = pa.array(
        [f"{mark}{text}" for column in texts.values() for mark, text in zip(prefixes, column, strict=True)],
        pa.string(),
    )
    scored_rows = pc.index_in(every_sentence, value_set=scored["sentence"])
    undecidable = np.tile(verdicts["undecidable"].to_numpy(bool), len(labels))
    unscored = scored_rows.is_null().to_numpy(zero_copy_only=False) & ~undecidable
    if unscored.any() and not is_prompt:
        raise _other_items(
            run, suite, f"the sentence {every_sentence[int(np.flatnonzero(unscored)[0])].as_py()!r}"
        )
    texts_read = scored["seen"].take(scored_rows).to_pylist()
    read_as = {
        label: texts_read[number * len(verdicts) : (number + 1) * len(verdicts)]
        for number, label in enumerate(labels)
    }
    rows = verdicts[["case", "item", "dependency", "phenomenon", "construction", "contrast"]].copy()
    rows["outcome"] = _outcomes(verdicts)
    rows["better_score"], rows["worse_score"] = verdicts["better_score"], verdicts["worse_score"]
    rows["margin"] = (verdicts["better_score"] - verdicts["worse_score"]).where(~verdicts["undecidable"])
    if len(labels) > 1 and not any(str(candidate) == contrast for candidate in case.contrasts):
        labelled_texts = zip(
            *([f"{label}: {rules.write(text)[0]}" for text in texts[label]] for label in labels), strict=True
        )
        rows["better"] = [" | ".join(sentences) for sentences in labelled_texts]
        return rows.reindex(columns=list(ITEM_COLUMNS[1:]))
    for side, label in zip(("better", "worse"), labels, strict=False):
        other_label = next((name for name in labels if name != label), None)
        split = [text.split() for text in texts[label]]
        rows[side] = [rules.write(text)[0] for text in texts[label]]
        rows[f"{side}_read"] = [
            seen_text if seen_text is not None and seen_text.split() != words else None
            for seen_text, words in zip(read_as[label], split, strict=True)
        ]
        rows[f"{side}_unknown"] = [
            _unknown(words, seen_text) for words, seen_text in zip(split, read_as[label], strict=True)
        ]
        if other_label is not None:
            other_sentences = (text.split() for text in texts[other_label])
            rows[f"{side}_differs"] = [
                " ".join(
                    word
                    for word, differs in zip(tokens, differing([tokens, other_words])[0], strict=True)
                    if differs
                )
                for tokens, other_words in zip(split, other_sentences, strict=True)
            ]
    return rows.reindex(columns=list(ITEM_COLUMNS[1:]))


def _outcomes(verdicts: pd.DataFrame) -> pd.Series:
    """Return the outcome of each verdict."""
    outcome = pd.Series("rated", verdicts.index, dtype=object)
    decided = verdicts["correct"].notna().to_numpy(bool)
    outcome[decided] = np.where(verdicts["correct"][decided].to_numpy(bool), "right", "wrong")
    is_prompt = BETTER_FIRST in verdicts
    outcome[verdicts["tie"].fillna(value=False).to_numpy(bool)] = BY_ORDER if is_prompt else "tie"
    outcome[verdicts["undecidable"].to_numpy(bool)] = NO_ANSWER if is_prompt else UNDECIDABLE
    if HALF_KNOWN in verdicts:
        outcome[(verdicts[HALF_KNOWN] & verdicts["undecidable"]).to_numpy(bool)] = HALF_KNOWN_OUTCOME
    return outcome


def _unknown(words: Sequence[str], seen: str | None) -> str | None:
    """Return the words that the model reads as a mark for unknown words; None if there are none."""
    read = words if seen is None else seen.split()
    if len(read) != len(words):
        return None  # a model of pieces: every word is known
    unknown = [
        word
        for word, token in zip(words, read, strict=True)
        if token.casefold() != word.casefold() and re.fullmatch(r"<.*>|\[.*\]", token)
    ]
    return " ".join(unknown) or None


# ---- documents and files


_GRID = (
    Field("Item", ("name",), align="left"),
    Field("Construction", ("construction",), align="left"),
    Field("Outcome", ("outcome",), align="left"),
    Field("Margin", ("margin",), format_difference),
    Field("Better sentence", ("better",), align="left"),
    Field("Worse sentence", ("worse",), align="left"),
)


def items_document(rows: pd.DataFrame, limit: int | None) -> Document:
    """Return a document of the first items; `records` has all of them."""
    first = rows if limit is None else rows.head(limit)
    names = zip(first["case"], first["item"], strict=True)
    first = first.assign(name=[f"{case}[{item}]" for case, item in names])
    first = first.where(first.notna(), None)
    models = list(rows["model"].unique())
    fields = (Field("Model", ("model",), align="left"), *_GRID) if len(models) > 1 else _GRID
    notes = ["Margin: log-probability of the better sentence minus that of the worse one, in nats."]
    if BETTER_FIRST in rows:
        notes.append(
            "Margin of a prompt model: how often it chose the better sentence, minus how often it chose the "
            "worse one."
        )
    if len(first) < len(rows):
        notes.insert(
            0,
            f"The first {len(first):,} of {len(rows):,} items. To write all of them: -o items.csv, .tsv, "
            ".xlsx or .jsonl.",
        )
    records = in_full([rows])
    return Document([Grid.of(fields, first)], records, {"analysis": "items", "rows": records}, notes, [])


def _write_excel(rows: pd.DataFrame, path: Path) -> None:
    if len(rows) > MOST_EXCEL_ROWS:
        raise RunError(
            f"-o {path}: {len(rows):,} items do not fit a sheet, which has {MOST_EXCEL_ROWS:,} rows.\n"
            f"  Write -o {path.with_suffix('.csv')}, or fewer items with --case, --where or --wrong."
        )
    cleaned = rows.copy()
    for name in rows:
        if rows[name].dtype == object or str(rows[name].dtype) in {"str", "category"}:
            cleaned[name] = [plain(text) if isinstance(text, str) else text for text in rows[name]]
    with pd.ExcelWriter(path, engine="openpyxl") as writer:
        cleaned.to_excel(writer, sheet_name="items", index=False)
        for row in writer.sheets["items"].iter_rows():
            for cell in row:
                if cell.data_type == "f":  # a sentence that begins with = is not a formula
                    cell.data_type = "s"


def _without_formulas(rows: pd.DataFrame) -> pd.DataFrame:
    """Make text that begins with = + - or @ safe for spreadsheets, in cells and column names."""
    cleaned = rows.rename(columns=cell)
    texts = [place for place in range(rows.shape[1]) if not is_numeric_dtype(rows.dtypes.iloc[place])]
    for place in texts:
        cells = [cell(value) if isinstance(value, str) else value for value in rows.iloc[:, place]]
        cleaned.isetitem(place, np.array(cells, dtype=object))
    return cleaned


def save_items(rows: pd.DataFrame, path: Path) -> None:
    """Write all items into a file: `.csv`, `.tsv`, `.xlsx` or `.jsonl`.

    In `.csv` and `.tsv`, text that a spreadsheet would run as a formula gets an apostrophe in front, as in
    all tables of tseval. `.jsonl` has every text unchanged.

    Raises:
        RunError: The ending is another one, or a sheet has fewer rows than there are items.
    """
    writers: Mapping[str, Callable[[pd.DataFrame, Path], object]] = {
        ".csv": lambda frame, target: _without_formulas(frame).to_csv(target, index=False),
        ".tsv": lambda frame, target: _without_formulas(frame).to_csv(target, index=False, sep="\t"),
        ".jsonl": lambda frame, target: frame.to_json(
            target, orient="records", lines=True, force_ascii=False, double_precision=15
        ),
        ".xlsx": _write_excel,
    }
    if path.suffix not in writers:
        raise RunError(
            f"-o {path}: the ending {path.suffix or '(none)'} is not one of {', '.join(writers)}.\n"
            f"  Write -o {path.with_suffix('.csv')}"
        )
    writers[path.suffix](rows, path)
