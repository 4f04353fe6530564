"""Read the published table of examples of Linzen et al. 2016."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import whole_number
from tseval.suites.agreement.english_verbs import TAGS, opposite_form
from tseval.suites.agreement.examples import NO_NOUN, Example
from tseval.suites.agreement.splits import split_of
from tseval.suites.agreement.treebank import DIFFERENT, NO_OPPOSITE, NOUN_TAGS, VERB_TAGS
from tseval.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tseval.suites.agreement.splits import Shares
    from tseval.suites.agreement.summary import Tally


# The columns of `agr_50_mostcommon_10K.tsv` that tseval reads; the file has more.
WHOLE_NUMBERS = ("subj_index", "verb_index", "n_intervening", "n_diff_intervening")
PUBLISHED_COLUMNS = ("sentence", "subj_pos", "verb_pos", "last_intervening", *WHOLE_NUMBERS)


def read_linzen_table(path: Path, source: str, shares: Shares, tally: Tally) -> Iterator[Example]:
    """Read the table of Linzen et al. 2016, line by line.

    Its positions count from 1. In the column `sentence`, tags replace rare words, including verbs: the
    opposite of `VBZ` is `VBP`. The table is quoted as CSV.
    """
    for place, row in read_table(path, quotes=True):
        tally.n_sentences += 1
        numbers = (whole_number(place, name, row[name]) for name in WHOLE_NUMBERS)
        subject, verb, n_intervening, n_attractors = numbers
        words = row["sentence"].split()
        if not 1 <= subject < verb <= len(words) or n_attractors > n_intervening:
            raise SuiteError(
                f"{place}: the row has subj_index {subject}, verb_index {verb}, n_intervening "
                f"{n_intervening}, n_diff_intervening {n_attractors} and a sentence of {len(words)} "
                "words. These numbers contradict each other.\n"
                "  Correct the row."
            )
        for name, tags in (("subj_pos", NOUN_TAGS), ("verb_pos", VERB_TAGS)):
            if row[name] not in tags:
                raise SuiteError(f"{place}: {name} is {row[name]!r}.\n  Write {' or '.join(tags)}.")
        form, number = words[verb - 1], VERB_TAGS[row["verb_pos"]]
        opposite = (TAGS[form], "tag") if form in TAGS else opposite_form(form, number)
        if NOUN_TAGS[row["subj_pos"]] != number or opposite is None:
            tally.left_out[NO_OPPOSITE if NOUN_TAGS[row["subj_pos"]] == number else DIFFERENT] += 1
            continue
        yield Example(
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
            source=source,
            # A sentence is its own document: no sentence is in two splits.
            split=split_of(" ".join(words), shares),
            opp_how=opposite[1],
        )
