"""Score a suite with a model: the one path from sentences to a run.

plan → score → judge → write.
"""

from __future__ import annotations

import json
import sys
import time
from copy import copy
from dataclasses import dataclass, replace
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.adapters import open_model
from tseval.errors import ModelError, RunError, SuiteError, counted, plain, quoted_text, shortened, suggest
from tseval.items import HALF_KNOWN, Suite
from tseval.questions import COMPARES_WORDS, SCORES, Score
from tseval.questions.normalisation import LENGTHS, Normalised, split_measure
from tseval.questions.unknown import Unknown, UnknownRule, check_rule, rank_missing
from tseval.questions.word_scores import unfinished_words
from tseval.report import document_of, render
from tseval.runs import Manifest, Run, RunKey, RunWriter, read_run, start_run
from tseval.runs.manifest import Timings, count_run, describe_suite, software
from tseval.scoring.engine import lengths_of, lengths_of_texts, score_all
from tseval.scoring.protocol import Model, ModelCard, WritingModel
from tseval.scoring.scorers import Scorer, scorer_for
from tseval.suites import load_suite
from tseval.suites.data.alternatives import ALTERNATIVES
from tseval.suites.data.critical import shared_columns, with_critical
from tseval.suites.mistakes import first_mistake
from tseval.verdicts import (
    check_score,
    judge,
    missing_words,
    n_too_long,
    questions_in,
    sentences_of,
)
from tseval.writing import BOUNDARY, FORMS, LANGUAGES, Form, without_boundaries, without_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tseval.adapters import LiveModel
    from tseval.questions.choices import Asked
    from tseval.report.document import Document
    from tseval.report.table import Table

# A word with punctuation behind it, as in running text.
ATTACHED = r"(?:^|\s)(?P<word>[\pL\pM]+[.,;:?!])(?:\s|$)"
# Scripts in which no spaces stand between words.
RUN_ON = r"(?P<word>(?:\p{Han}|\p{Hiragana}|\p{Katakana}|\p{Thai}|\p{Lao}|\p{Khmer}|\p{Myanmar}){6})"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be scored, with what, and how it will be judged; nothing in it is found to be wrong later.

    Attributes:
        sentences: Distinct ones, sorted, as the model is given them.
        asked: What is asked inside them, if anything.
        too_long: Sentences that the model cannot read: what would compare them is undecidable.
        lengths: What scores are normalised by, one row for each sentence; None where they are not.
    """

    key: RunKey
    suite: Suite
    card: ModelCard
    scorer: Scorer
    sentences: pa.StringArray
    asked: Asked | None
    too_long: pa.StringArray
    lengths: pa.Table | None = None
    seconds: float = 0.0

    @property
    def unknown(self) -> Unknown:
        """How the model shows unknown words, and what happens to half-known pairs."""
        return Unknown.of(self.key.protocol, self.key.half_known or "undecidable")


def run_key(
    model: Model,
    suite: Suite,
    score: Score | Normalised | None = None,
    unknown: UnknownRule = "undecidable",
) -> RunKey:
    """Name everything that could change a number of a run; without a score, the suite's own."""
    return RunKey(
        suite=suite.name,
        suite_digest=suite.digest,
        model=model.card.name,
        fingerprint=model.card.fingerprint,
        score=str(score or suite.score),
        terminator=suite.terminator,
        items="all" if suite.complete else f"{suite.n_items} selected",
        tseval=version("tseval"),
        protocol=model.card.protocol,
        exclude=suite.exclude,
        half_known="score" if unknown == "score" else None,
    )


def evaluate(  # noqa: PLR0913 - all that a user may say of a run
    model: str | Path | LiveModel,
    suite: str | Path | Suite,
    *,
    score: Score | Normalised | None = None,
    text: Form = "auto",
    unknown: UnknownRule = "undecidable",
    out: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Score every sentence of a suite and decide what it asks.

    An item with a sentence longer than the model reads is undecidable; `refuse_too_long` refuses it before.

    Args:
        model: What `tseval.load_model` opens or takes: any object that satisfies a protocol of
            `tseval.scoring.protocol`, or a pair that holds a model of transformers or of torch.
        suite: As `tseval.load_suite` gives it, or its name.
        score: What sentences are compared by (`tseval.questions`), or a log-probability that is
            `Normalised`; None for what the suite was published with.
        text: Form in which the sentences of a grammar are read (`FORMS`).
        unknown: What happens to half-known pairs, of which the model knows one form only: they are
            `undecidable`, or `score` compares them like all others (`tseval.questions.unknown`).
        out: Directory to write the run to; None keeps it in memory.
        resume: Go on with an interrupted run in `out`: nothing that was saved is scored again.
        progress: Called with the numbers of sentences done and of all; where there is none, a notebook
            shows them.

    Raises:
        SuiteError: If `score` or `unknown` is none of these, or the suite does not allow the score.
        RunError: If `out` cannot be written, or holds something else.
        ModelError: If the model gives a score that is not finite, cannot give what `score` needs, or does
            not read such sentences, or none of this length.
    """
    suite = suite if isinstance(suite, Suite) else load_suite(suite)
    plan = make_plan(as_read(open_model(model), suite, text), suite, score, unknown)
    progress = progress or _in_notebook(f"{plan.card.name} on {suite.name}")
    return carry_out(plan, None if out is None else Path(out), resume=resume, progress=progress)


EVERY = 0.2  # seconds between two pictures of a bar


def _in_notebook(title: str) -> Callable[[int, int], None] | None:
    """Return what shows a bar below the cell of a notebook; nothing elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not shell.has_trait("kernel"):
        return None
    from IPython.display import HTML, display  # noqa: PLC0415 - there in a notebook alone

    shown = display(HTML(""), display_id=True)
    last = 0.0

    def show(done: int, of: int) -> None:
        nonlocal last
        if done == of or time.monotonic() - last > EVERY:
            last = time.monotonic()
            said = f"{escape(plain(title))}: {done:,} of {of:,} sentences"
            shown.update(HTML(f'<progress value="{done}" max="{of}"></progress> {said}'))

    return show


def as_read(model: Model, suite: Suite | None, text: Form) -> Model:
    """Return the model that reads a suite's sentences in a form (`FORMS`).

    `auto` is what the model was trained on. Sentences of data, which somebody wrote, stay as written. What
    is typed is of no suite, and written as English is.
    """
    if text not in FORMS:
        raise SuiteError(f"--text {text}: {suggest(text, FORMS, 'Forms')}")
    writing = LANGUAGES["english"] if suite is None else suite.writing
    if text == "auto":
        knows = isinstance(model, WritingModel) and model.reads == "natural"
        text = "natural" if knows and writing else "tokenised"
    if suite is not None and holds_boundaries(suite):
        model = without_spaces(model)
    if text != "natural":
        return model
    if suite is not None and writing is None:
        raise without_rules(suite.name)
    if not isinstance(model, WritingModel):
        raise ModelError(
            f"--text natural: {model.card.name} reads tokenised text, with spaces between words, so it "
            "cannot read natural text.\n"
            "  Write --text tokenised, or use a model with sub-word pieces (hf:MODEL or mlm:MODEL)."
        )
    assert writing is not None
    return model.writing(writing)


def holds_boundaries(suite: Suite) -> bool:
    """Return whether parts of some sentence were joined without a space."""
    columns = (case.sentences[label] for case in suite.cases for label in case.labels)
    return any(pc.any(pc.match_substring(one, BOUNDARY), min_count=0).as_py() for one in columns)


def refuse_cut_words(model: Model, suite: Suite) -> None:
    """Refuse regions that begin or end inside a word: a model of words gives the word one probability.

    Columns of data are words or more: a model of words reads them with a space between them.
    """
    for case in () if isinstance(model, WritingModel) or suite.files else suite.cases:
        for label in case.labels:
            cut = case.sentences[label].filter(pc.match_substring(case.sentences[label], BOUNDARY))
            if len(cut):
                text = str(cut[0])
                word = without_boundaries(next(word for word in text.split(" ") if BOUNDARY in word))
                raise ModelError(
                    f"case {case.name!r}: a region begins or ends inside the word {word!r} of "
                    f"{without_boundaries(text)!r}, but {model.card.name} reads whole words.\n"
                    "  Move the bracket of the region to a space, or use a model with sub-word pieces "
                    "(hf:MODEL or mlm:MODEL)."
                )


def without_spaces(model: Model) -> Model:
    """Return the same model, whose card says that parts of sentences were joined without a space."""
    joined = copy(model)
    joined.card = replace(model.card, protocol={**model.card.protocol, "join": "none"})
    return joined


def carry_out(
    plan: Plan,
    out: Path | None,
    *,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Score what is planned and write the run; all as `evaluate` has it."""
    if out is None:
        return _score_and_judge(plan, None, progress)
    with start_run(out, plan.key, resume) as writer:
        document = None if writer.complete else _write(plan, writer, progress)
        if document is not None:
            # Arrow keeps what the tables had: a process that makes many runs would take more than for one.
            pa.default_memory_pool().release_unused()
    return replace(read_run(out), document=document)


def _write(plan: Plan, writer: RunWriter, progress: Callable[[int, int], None] | None) -> Document | Table:
    run = _score_and_judge(plan, writer, progress)
    started = time.monotonic()
    table = document_of([run])
    tables = {f"table.{form}": render(table, form) for form in ("md", "csv")}
    timings = replace(run.manifest.timings, table_seconds=round(time.monotonic() - started, 3))
    manifest = replace(run.manifest, timings=timings)
    writer.finish(manifest, run.load_sentences(), run.load_verdicts(), tables)
    return table


def make_plan(
    model: Model,
    suite: Suite,
    score: Score | Normalised | None = None,
    unknown: UnknownRule = "undecidable",
) -> Plan:
    """Find out what must be scored, and refuse what cannot be, as `evaluate` does."""
    started = time.monotonic()
    check_rule(unknown)
    suite = with_critical(suite)
    normalised = score if isinstance(score, Normalised) else None
    key = run_key(model, suite, score, unknown)
    _check_card(model.card, key)
    score = score.of if isinstance(score, Normalised) else score or suite.score
    if score not in SCORES:
        raise SuiteError(f"unknown score {score!r}. {suggest(score, SCORES, 'Scores')}")
    check_score(suite, score)
    scorer = scorer_for(model, words=score in COMPARES_WORDS)
    if score in COMPARES_WORDS and not scorer.gives_words:
        raise ModelError(
            f"{model.card.name} gives only one log-probability for a whole sentence, but --score {score} "
            "compares single words.\n"
            "  Write --score sentence."
        )
    refuse_cut_words(model, suite)
    sentences, too_long = _readable(scorer, sentences_of(suite))
    scorer.check_sentences(sentences)
    asked = questions_in(suite, sentences)
    if asked:
        scorer.check_symbols(asked.asks)
    if len(too_long) and (asked or not len(sentences)):
        raise _too_long(
            scorer, too_long, "  Use a model that reads longer sentences, or make these sentences shorter."
        )
    lengths = None
    if normalised is not None and normalised.of == "sentence":
        if normalised.by in LENGTHS:
            lengths = lengths_of_texts(as_given(model, suite, sentences), normalised.by)
        else:
            lengths = lengths_of(scorer, sentences, normalised)
    seconds = round(time.monotonic() - started, 3)
    return Plan(key, suite, model.card, scorer, sentences, asked, too_long, lengths, seconds)


def as_given(model: Model, suite: Suite, sentences: pa.StringArray) -> list[str]:
    """Return sentences as the model is given them, in natural text or as they stand."""
    texts = [str(text) for text in sentences.to_pylist()]
    if model.card.protocol.get("text") == "natural" and suite.writing:
        return [suite.writing.write(text)[0] for text in texts]
    return [without_boundaries(text) for text in texts]


def refuse_too_long(model: Model, suite: Suite) -> None:
    """Refuse a suite of which something would be undecidable because the model does not read so far."""
    scorer = scorer_for(model)
    _, too_long = _readable(scorer, sentences_of(suite))
    if len(too_long):
        raise _too_long(
            scorer,
            too_long,
            "  To count the pairs with these sentences as undecidable, write --too-long skip",
        )


def refuse_other_clusters(run: Run, path: Path, suite: Suite) -> None:
    """Refuse a run that was complete before, and was judged with other columns of `--cluster`."""
    had = run.manifest.suite.clusters or ()
    if had == suite.clusters:
        return
    named = " ".join(f"--cluster {name}" for name in had or suite.clusters)
    how = f"with {named}, but the command leaves it out or changes it" if had else f"without {named}"
    raise RunError(
        f"{path} is a complete run, which was scored {how}, so --resume cannot continue it.\n"
        "  Score the suite again without --resume, into another folder: --out FOLDER"
    )


def _readable(scorer: Scorer, sentences: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    too_long = scorer.too_long(sentences)
    return sentences.filter(pa.array(~too_long)), sentences.filter(pa.array(too_long))


def _too_long(scorer: Scorer, sentences: pa.StringArray, fix: str) -> ModelError:
    return ModelError(f"{_said_too_long(scorer, sentences)}.\n{fix}")


def _said_too_long(scorer: Scorer, sentences: pa.StringArray) -> str:
    longer = "sentence is" if len(sentences) == 1 else "sentences are"
    first = quoted_text(str(sentences[0]), 40)
    return f"{len(sentences):,} {longer} {scorer.unreadable}, the first {first}"


def _unfinished(plan: Plan, scored: pa.Table) -> Iterator[str]:
    """Say so where single words are compared and some have no probability of their own."""
    if split_measure(plan.key.score)[0] not in COMPARES_WORDS:
        return
    unfinished = unfinished_words(scored)
    if unfinished.any():
        last = int(np.flatnonzero(unfinished[:-1] & ~unfinished[1:])[0]) + 1
        seen: Any = scored["seen"]
        piece = pc.split_pattern(seen.combine_chunks(), " ").flatten()[last].as_py()
        if not plan.suite.files and holds_boundaries(plan.suite):
            yield (
                f"some pieces span two regions or words, such as {quoted_text(piece, 40)}. An item that "
                "compares one of these is undecidable. Move the brackets, or use another model"
            )
            return
        yield (
            f"some pieces span several words, such as {quoted_text(piece, 40)}. A contrast that compares one "
            "of these words is undecidable. To compare whole sentences, use --score sentence"
        )


def _check_card(card: ModelCard, key: RunKey) -> None:
    """Refuse a card that no manifest can hold, or that names nothing, before anything is scored."""
    if not isinstance(card.fingerprint, str) or not card.fingerprint:
        raise ModelError(
            f"the attribute `card.fingerprint` of the model {card.name} is {card.fingerprint!r}, but it "
            "must identify the weights.\n"
            "  Set `card.fingerprint` to a text that differs for different weights, such as a SHA-256 "
            "digest of them."
        )
    if key.hidden:
        raise ModelError(
            f"the attribute `card.protocol` of the model {card.name} has the key {min(key.hidden)!r}, "
            "which tseval sets itself.\n"
            "  Rename this key in the code of the model."
        )
    for part, said in (("protocol", card.protocol), ("details", card.details)):
        for name, value in said.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError):
                raise ModelError(
                    f"the attribute `card.{part}[{name!r}]` of the model {card.name} has the Python type "
                    f"{type(value).__name__}, which JSON cannot store.\n"
                    "  Use text, numbers, true or false, or lists and mappings of these."
                ) from None


def _score_and_judge(
    plan: Plan, writer: RunWriter | None, progress: Callable[[int, int], None] | None
) -> Run:
    started = time.monotonic()
    scored = score_all(plan.scorer, plan.sentences, plan.asked, writer, progress)
    if plan.lengths is not None:
        for name in plan.lengths.column_names:
            scored = replace(scored, table=scored.table.append_column(name, plan.lengths[name]))
    scored_at = time.monotonic()
    verdicts = judge(plan.suite, scored.table, plan.key.score, plan.too_long, unknown=plan.unknown)
    judged_at = time.monotonic()
    left_out = n_too_long(plan.suite, scored.table, plan.too_long) if len(plan.too_long) else 0
    manifest = Manifest(
        signature=plan.key.signature,
        key=plan.key,
        suite=describe_suite(plan.suite),
        model=plan.card,
        device=str(plan.card.details.get("device", "unknown")),
        timings=Timings(round(scored_at - started, 3), round(judged_at - scored_at, 3), plan.seconds),
        counts=count_run(plan.suite, scored, verdicts, left_out),
        warnings=(*_warnings(plan, scored.table, verdicts, left_out), *plan.scorer.warnings),
        versions=software(),
        files={},
    )
    return Run.of(manifest, scored.table, verdicts)


def _warnings(plan: Plan, scored: pa.Table, verdicts: pa.Table, n_left_out: int) -> Iterator[str]:
    """Say in what form text was read, what was too long or may mislead, and that it looks untokenised."""
    if plan.card.protocol.get("text") == "natural" and plan.suite.writing:
        text, _ = plan.suite.writing.write(str(plan.sentences[0]))
        yield (
            f"tseval writes sentences as natural text: {quoted_text(text, 60)} (to switch it off: "
            "--text tokenised)"
        )
    if not plan.suite.files:  # those of data are told where they are read
        yield from plan.suite.notes
    if (chosen := (plan.suite.columns or {}).get("alternatives")) in ALTERNATIVES:
        yield f"alternatives={chosen}: {ALTERNATIVES[str(chosen)].meaning}"
    if len(plan.too_long):
        yield f"{_said_too_long(plan.scorer, plan.too_long)}: {counted(n_left_out, 'contrast')} undecidable"
    yield from _half_known(plan, scored, verdicts)
    if not plan.suite.clusters and plan.suite.has_accuracy and not _names_factors(plan.suite):
        columns = [f"{name}: {n:,} values in {plan.suite.n_items:,} items: --cluster {name}"
                   for name, n in shared_columns(plan.suite)]  # fmt: skip
        if columns:
            yield f"many items share a value in these columns: {'; '.join(columns[:PROPOSED])}"
    yield from _unfinished(plan, scored)
    yield from _mistakes(plan.suite)
    misleading = [(case.name, *one) for case in plan.suite.cases for one in case.question.warnings()]
    if misleading:
        name, counted_as, what = misleading[0]
        more = f" ({len(misleading) - 1:,} more: tseval lint)" if len(misleading) > 1 else ""
        yield f"case {name!r}, {counted_as!r}: {what}{more}"
    n_lost, lost = pc.sum(verdicts["undecidable"]).as_py() - n_left_out, "contrasts are undecidable"
    n_all = verdicts.num_rows
    single = not plan.suite.has_accuracy or 2 * n_lost <= n_all  # it is about sentences, not about contrasts
    if plan.suite.has_accuracy and single:
        n_all = scored.num_rows
    unknown = scored.filter(pc.greater(scored["n_unknown"], pa.scalar(0)))["sentence"]
    for pattern, what, fix in (
        (ATTACHED, "some words have punctuation, such as", "to split off punctuation, add --tokenise"),
        (RUN_ON, "there are no spaces in", "split the text into words, or use a model of sub-word tokens"),
    ):
        found = pc.drop_null(pc.struct_field(pc.extract_regex(unknown, pattern), "word"))
        if single:
            n_lost, lost = len(found), "sentences hold words that the model does not know"
        if len(found) and 2 * n_lost > n_all:
            yield f"{n_lost:,} of {n_all:,} {lost}; {what} {found[0].as_py()!r}: {fix}"
            return


def _mistakes(suite: Suite) -> Iterator[str]:
    """Name the first mistake in the sentences after which a number means something else."""
    found = [
        (case.name, message)
        for case in suite.cases
        if (message := first_mistake(case, None if suite.files else suite.terminator)) is not None
    ]
    if found:
        name, message = found[0]
        more = f" ({len(found) - 1:,} more case{'s' * (len(found) > 2)})" if len(found) > 1 else ""
        yield f"case {name!r}: {message.removesuffix('.')}{more}. To list all, run tseval lint"


MISSING_SHOWN = 5
PROPOSED = 4  # columns to cluster by


def _names_factors(suite: Suite) -> bool:
    return any(set(case.entries.column_names) - {suite.inferred} for case in suite.cases)


def _half_known(plan: Plan, scored: pa.Table, verdicts: pa.Table) -> Iterator[str]:
    """Say how many contrasts are half known, what became of them, and which words are missing most.

    Of rated sentences with unknown words a column says how many there are: they keep their scores.
    """
    single = all(len(case.labels) == 1 for case in plan.suite.cases)
    if HALF_KNOWN not in verdicts.column_names or single:
        return
    n_all, n_half_known = verdicts.num_rows, pc.sum(verdicts[HALF_KNOWN]).as_py()
    missing = rank_missing(missing_words(plan.suite, scored, verdicts, plan.unknown, plan.too_long))
    what = f"{n_half_known:,} of {n_all:,} contrasts are half known"
    if plan.unknown.rule == "score":
        what += ". They are compared: <unk> with a word that the model knows (--unknown score)"
    else:
        what += " and undecidable: the model knows one form and not the other"
        what += " (to compare them anyway: --unknown score)"
    shown = ", ".join(f"{shortened(word, 40)} ({counted(n, 'pair')})" for word, n in missing[:MISSING_SHOWN])
    more = len(missing) - MISSING_SHOWN
    rest = f", and {counted(more, 'word')} more (tseval lint --vocab MODEL --all)" if more > 0 else ""
    yield f"{what}. Most frequent missing words: {shown}{rest}"
