"""Options of the commands that score suites: which items they read, and what they compare."""

from __future__ import annotations

from pathlib import Path

import click

from tseval.cli.names import CASE
from tseval.cli.options import COLUMNS_OPTION, COUNT, FILE, SCORE_NAMES, TEXT, UNKNOWN_OPTION, take_all

RUNS = Path("runs")
suite_options = take_all([
    click.option("--case", "cases", type=CASE, multiple=True,
                 help="Use only the case (part of the suite) with this name. Repeatable (default: all "
                      "cases)."),
    click.option("--limit", type=COUNT, metavar="N",
                 help="Use only the first N items of each case of the suite (default: all items)."),
    click.option("--sample", type=COUNT, metavar="N",
                 help="Use only N random items of each case of the suite (default: all items). The same "
                      "--seed draws the same items."),
    click.option("--seed", type=int, default=0, show_default=True,
                 help="Random seed for the items that --sample draws, and for the items that "
                      "SUITE:judgement draws."),
    click.option("--tokenise", is_flag=True,
                 help="Split punctuation and clitics off the words of data sets, as word-level models need "
                      "(\"can't help himself.\" becomes \"ca n't help himself .\")."),
    click.option("--cluster", "clusters", multiple=True, metavar="COLUMN",
                 help="Treat items with the same value in COLUMN as dependent when tseval computes "
                      "confidence intervals. Repeatable."),
    click.option("--lexicon", metavar="FILE or unimorph:FILE",
                 help="List of verbs for SUITE:inflection: a table with the columns sing and plur, or a list "
                      "of UniMorph (default: 1,686 English verbs)."),
    COLUMNS_OPTION,
    TEXT,
    click.option("--exclude", metavar="known-errors or FILE",
                 help="Items of a data set to leave out. known-errors: the errors that are known in this "
                      "data set. FILE: a table of items with the columns paradigm and pairID (default: "
                      "leave out none)."),
])  # fmt: skip
context_options = take_all([
    click.option("--context", metavar="SOURCE",
                 help="Score each sentence after other text (default: no context). same: sentences of the "
                      "same case, with other words. other: sentences of other cases. SUITE: sentences of "
                      "any suite. FILE: a text file, one sentence a line. Add #grammatical or "
                      "#ungrammatical to choose sentences, as in same#ungrammatical."),
    click.option("--context-words", metavar="N,...",
                 help="Length of the context in words: one or several numbers, such as 0,100,400. Each "
                      "makes a run of its own (default: 100, or the whole of a text file)."),
    click.option("--context-seed", type=int, default=0, show_default=True,
                 help="Random seed for the sentences that --context draws."),
    click.option("--contexts", "n_contexts", type=COUNT, default=1, show_default=True, metavar="K",
                 help="Number of contexts in which each item is scored. The accuracy is the mean over the "
                      "contexts. The interval takes the differences between contexts into account."),
])  # fmt: skip
comparison_options = take_all([
    click.option("--score", type=SCORE_NAMES,
                 help="Part of the sentences to compare: sentence (all words), critical (the first "
                      "different word), ending (the last words), regions, choices (single symbols) or "
                      "mean (all words, divided by their number). SUITE:inflection has the score inflection. "
                      "The default is the published method of "
                      "the suite."),
    click.option("--normalise", default="none", show_default=True, metavar="NAME",
                 help="Correction of log-probabilities for sentence length: none, words, tokens, "
                      "characters, bytes, slor, penlp or alpha=A. For continuations of a prefix: none, "
                      "characters (acc_norm of lm-eval) or bytes."),
    click.option("--unigrams", type=FILE, metavar="FILE",
                 help="File with token frequencies for --normalise slor: a table with the columns token "
                      "and count (default: none)."),
    click.option("--precision", type=click.Choice(["float32", "bfloat16"]), default="float32",
                 show_default=True, help="Number format of matrix products when the model is a tseval "
                                         "checkpoint: float32, or bfloat16 (faster, rounded). Sums are "
                                         "always float32."),
    UNKNOWN_OPTION,
    click.option("--too-long", type=click.Choice(["skip", "refuse"]), default="skip", show_default=True,
                 help="Treatment of sentences longer than the model's context. skip: count their pairs as "
                      "undecidable. refuse: stop with an error."),
])  # fmt: skip
