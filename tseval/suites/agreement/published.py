"""Agreement examples that were published: the table of Linzen et al., and sentences with pairs of forms."""

from __future__ import annotations

import csv
import io
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, reason
from tseval.files import bounded_lines, open_limited
from tseval.formats import is_count
from tseval.suites.agreement.english import TAGS, number_of, opposite_form
from tseval.suites.agreement.examples import NO_NOUN, Example
from tseval.suites.agreement.extraction import DIFFERENT, NO_OPPOSITE
from tseval.suites.agreement.splitting import split_of
from tseval.suites.agreement.targets import read_targets
from tseval.suites.agreement.treebank import NOUN_TAGS, VERB_TAGS

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tseval.suites.agreement.splitting import Shares

# The columns that are read of `agr_50_mostcommon_10K.tsv`; it has more.
WHOLE_NUMBERS = ("subj_index", "verb_index", "n_intervening", "n_diff_intervening")
PUBLISHED_COLUMNS = ("sentence", "subj_pos", "verb_pos", "last_intervening", *WHOLE_NUMBERS)
SAME_FORM = "right and wrong form are the same, or not of one verb"
END = "<eos>"


def read_linzen_table(
    path: Path, source: str, shares: Shares, left_out: Counter[str]
) -> Iterator[Example | None]:
    """Read the table of Linzen et al. 2016, line by line: it may be large.

    Positions in it count from 1. In its column `sentence`, which is the one taken, tags stand in for rare
    words, verbs too: the opposite of `VBZ` is `VBP`. It is quoted as CSV.

    Yields:
        One example for each row, or None for a row that makes none.

    Raises:
        SuiteError: A row is malformed, with file and line.
    """
    with open_lines(path) as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        while (row := _next_row(path, rows)) is not None:
            yield _linzen_example(f"{path}:{rows.line_num}", row, (source, shares), left_out)


def _next_row(path: Path, rows: csv.DictReader[str]) -> Mapping[str, str] | None:
    try:
        row = next(rows, None)
    except csv.Error as error:
        raise SuiteError(f"{path}:{rows.line_num}: {error}") from None
    if row is not None and (None in row or None in row.values()):
        raise SuiteError(f"{path}:{rows.line_num}: another number of columns than the header")
    return row


def _linzen_example(
    place: str, row: Mapping[str, str], about: tuple[str, Shares], left_out: Counter[str]
) -> Example | None:
    for name in WHOLE_NUMBERS:
        if not is_count(row[name]):
            raise SuiteError(f"{place}: {name} is no whole number, but {row[name]!r}")
    subject, verb, n_intervening, n_attractors = (int(row[name]) for name in WHOLE_NUMBERS)
    words = row["sentence"].split()
    if not 1 <= subject < verb <= len(words) or n_attractors > n_intervening:
        raise SuiteError(
            f"{place}: subject {subject} and verb {verb} of {len(words)} words, {n_attractors} attractors "
            f"of {n_intervening} intervening nouns: that cannot be"
        )
    for name, tags in (("subj_pos", NOUN_TAGS), ("verb_pos", VERB_TAGS)):
        if row[name] not in tags:
            raise SuiteError(f"{place}: {name} is neither {' nor '.join(tags)}, but {row[name]!r}")
    form, number = words[verb - 1], VERB_TAGS[row["verb_pos"]]
    if NOUN_TAGS[row["subj_pos"]] != number:
        left_out[DIFFERENT] += 1
        return None
    opposite = (TAGS[form], "tag") if form in TAGS else opposite_form(form, number)
    if opposite is None:
        left_out[NO_OPPOSITE] += 1
        return None
    return Example(
        sentence=" ".join(words),
        subj_index=subject - 1,
        verb_index=verb - 1,
        subj_form=words[subject - 1],
        verb_form=form,
        number=number,
        opp_verb_form=opposite[0],
        n_intervening=n_intervening,
        n_attractors=n_attractors,
        n_non_attractors=n_intervening - n_attractors,
        distance=verb - subject,
        last_intervening=NOUN_TAGS.get(row["last_intervening"], NO_NOUN),
        source=about[0],
        # A sentence is its own document: no sentence is in two splits.
        split=split_of(" ".join(words), about[1]),
        opp_how=opposite[1],
    )


def read_target_pairs(
    path: Path, source: str, shares: Shares, left_out: Counter[str]
) -> Iterator[Example | None]:
    """Read `NAME.text` with `NAME.gold` beside it; the forms tell the number.

    Yields:
        One example for each sentence, or None for one whose two forms tell no number.

    Raises:
        SuiteError: The files do not fit together, or a line is malformed.
    """
    for target in read_targets(path):
        number = number_of(target.right, target.wrong)
        if number is None:
            left_out[SAME_FORM] += 1
            yield None
            continue
        ends = target.words[-1] == END
        sentence = " ".join(target.words[:-1] if ends else target.words)
        yield Example(
            sentence=sentence,
            verb_index=target.position,
            verb_form=target.right,
            number=number,
            opp_verb_form=target.wrong,
            n_attractors=target.attractors,
            source=source,
            split=split_of(sentence, shares),
            opp_how="published",
        )


@contextmanager
def open_lines(path: Path) -> Iterator[Iterator[str]]:
    """Open a text, plain or gzip-compressed, to read its lines.

    Raises:
        SuiteError: The file cannot be read, or is not UTF-8.
    """
    try:
        with open_limited(path) as file:
            yield bounded_lines(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), path)
    except (OSError, EOFError, zlib.error) as error:
        raise SuiteError(f"{path}: cannot be read ({reason(error)})") from None
    except UnicodeDecodeError as error:
        raise SuiteError(f"{path}: not UTF-8 text ({error.reason})") from None
