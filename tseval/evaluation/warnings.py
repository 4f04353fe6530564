"""Warnings of a run: facts that make its numbers misleading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import counted, quoted_text, shortened
from tseval.evaluation.plan import Plan, describe_too_long
from tseval.evaluation.reading import holds_boundaries
from tseval.items import HALF_KNOWN, Suite
from tseval.questions import COMPARES_WORDS
from tseval.questions.normalisation import split_measure
from tseval.questions.unknown import rank_missing
from tseval.questions.word_scores import unfinished_words
from tseval.suites.data.alternatives import ALTERNATIVES
from tseval.suites.data.critical import shared_columns
from tseval.suites.mistakes import first_mistake
from tseval.verdicts import missing_words
from tseval.writing import OR_SECOND, without_context

if TYPE_CHECKING:
    from collections.abc import Iterator


# A word followed by punctuation, as in running text.
ATTACHED = r"(?:^|\s)(?P<word>[\pL\pM]+[.,;:?!])(?:\s|$)"
# Scripts without spaces between words.
RUN_ON = r"(?P<word>(?:\p{Han}|\p{Hiragana}|\p{Katakana}|\p{Thai}|\p{Lao}|\p{Khmer}|\p{Myanmar}){6})"


def _unfinished(plan: Plan, scored: pa.Table) -> Iterator[str]:
    """Warn if single words are compared and some have no separate probability."""
    if split_measure(plan.key.score)[0] not in COMPARES_WORDS:
        return
    unfinished = unfinished_words(scored)
    if unfinished.any():
        last = int(np.flatnonzero(unfinished[:-1] & ~unfinished[1:])[0]) + 1
        seen: Any = scored["seen"]
        piece = pc.split_pattern(seen.combine_chunks(), " ").flatten()[last].as_py()
        if not plan.items.files and holds_boundaries(plan.items):
            yield (
                f"some pieces span two regions or words, such as {quoted_text(piece, 40)}. An item that "
                "compares one of these is undecidable. Move the brackets, or use another model"
            )
            return
        yield (
            f"some pieces span several words, such as {quoted_text(piece, 40)}. A contrast that compares one "
            "of these words is undecidable. To compare whole sentences, use --score sentence"
        )


def warnings_of_run(plan: Plan, scored: pa.Table, verdicts: pa.Table, n_left_out: int) -> Iterator[str]:
    """Yield warnings about the form and length of text, misleading questions and missing tokenisation."""
    if plan.card.protocol.get("text") == "natural" and plan.items.writing:
        text, _ = plan.items.writing.write(without_context(str(plan.sentences[0]).partition(OR_SECOND)[0]))
        yield (
            f"tseval writes sentences as natural text: {quoted_text(text, 60)} (to switch it off: "
            "--text tokenised)"
        )
    if not plan.items.files:  # notes about data are printed when the data are read
        yield from plan.items.notes
    if (alternatives := (plan.items.columns or {}).get("alternatives")) in ALTERNATIVES:
        yield f"alternatives={alternatives}: {ALTERNATIVES[str(alternatives)].meaning}"
    if len(plan.too_long):
        unreadable = describe_too_long(plan.scorer, plan.too_long)
        yield f"{unreadable}: {counted(n_left_out, 'contrast')} undecidable"
    yield from _half_known(plan, scored, verdicts)
    if not plan.items.clusters and plan.items.has_accuracy and not _names_factors(plan.items):
        columns = [f"{name}: {n:,} values in {plan.items.n_items:,} items: --cluster {name}"
                   for name, n in shared_columns(plan.items)]  # fmt: skip
        if columns:
            yield f"many items share a value in these columns: {'; '.join(columns[:PROPOSED])}"
    yield from _unfinished(plan, scored)
    yield from _mistakes(plan.items)
    misleading = [(case.name, *warning) for case in plan.items.cases for warning in case.question.warnings()]
    if misleading:
        name, counted_as, problem = misleading[0]
        remainder = f" ({len(misleading) - 1:,} more: tseval lint)" if len(misleading) > 1 else ""
        yield f"case {name!r}, {counted_as!r}: {problem}{remainder}"
    n_lost, lost = pc.sum(verdicts["undecidable"]).as_py() - n_left_out, "contrasts are undecidable"
    n_all = verdicts.num_rows
    single = not plan.items.has_accuracy or 2 * n_lost <= n_all  # warn about sentences, not about contrasts
    if plan.items.has_accuracy and single:
        n_all = scored.num_rows
    unknown = scored.filter(pc.greater(scored["n_unknown"], pa.scalar(0)))["sentence"]
    for pattern, problem, fix in (
        (ATTACHED, "some words have punctuation, such as", "to split off punctuation, add --tokenise"),
        (RUN_ON, "there are no spaces in", "split the text into words, or use a model of sub-word tokens"),
    ):
        words = pc.drop_null(pc.struct_field(pc.extract_regex(unknown, pattern), "word"))
        if single:
            n_lost, lost = len(words), "sentences hold words that the model does not know"
        if len(words) and 2 * n_lost > n_all:
            yield f"{n_lost:,} of {n_all:,} {lost}; {problem} {words[0].as_py()!r}: {fix}"
            return


def _mistakes(suite: Suite) -> Iterator[str]:
    """Describe the first mistake in the sentences that changes the meaning of a number."""
    mistakes = [
        (case.name, message)
        for case in suite.cases
        if (message := first_mistake(case, None if suite.files else suite.terminator)) is not None
    ]
    if mistakes:
        name, message = mistakes[0]
        remainder = (
            f" ({len(mistakes) - 1:,} more case{'s' * (len(mistakes) > 2)})" if len(mistakes) > 1 else ""
        )
        yield f"case {name!r}: {message.removesuffix('.')}{remainder}. To list all, run tseval lint"


MISSING_SHOWN = 5
PROPOSED = 4  # columns to cluster by


def _names_factors(suite: Suite) -> bool:
    return any(set(case.entries.column_names) - {suite.inferred} for case in suite.cases)


def _half_known(plan: Plan, scored: pa.Table, verdicts: pa.Table) -> Iterator[str]:
    """Describe how many contrasts are half known, how they are judged, and which words are missing most.

    Rated sentences with unknown words keep their scores; a column of the table counts them.
    """
    single = all(len(case.labels) == 1 for case in plan.items.cases)
    if HALF_KNOWN not in verdicts.column_names or single:
        return
    n_all, n_half_known = verdicts.num_rows, pc.sum(verdicts[HALF_KNOWN]).as_py()
    missing = rank_missing(missing_words(plan.items, scored, verdicts, plan.unknown, plan.too_long))
    message = f"{n_half_known:,} of {n_all:,} contrasts are half known"
    if plan.unknown.rule == "score":
        message += ". They are compared: <unk> with a word that the model knows (--unknown score)"
    else:
        message += " and undecidable: the model knows one form and not the other"
        message += " (to compare them anyway: --unknown score)"
    examples = ", ".join(
        f"{shortened(word, 40)} ({counted(n, 'pair')})" for word, n in missing[:MISSING_SHOWN]
    )
    n_more = len(missing) - MISSING_SHOWN
    rest = f", and {counted(n_more, 'word')} more (tseval lint --vocab MODEL --all)" if n_more > 0 else ""
    yield f"{message}. Most frequent missing words: {examples}{rest}"
