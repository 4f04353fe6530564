"""The methods paragraph of a paper about some runs: complete sentences in LaTeX."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from tseval.analysis.design import FEWEST_LEVELS
from tseval.analysis.intervals import confidence_percent
from tseval.errors import counted, plain
from tseval.questions.normalisation import split_measure
from tseval.report.notes import uneven_note
from tseval.report.references import corrects_words
from tseval.report.writers.latex import breakable_latex, latex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from tseval.formats import Json
    from tseval.report.opened import RunSet
    from tseval.runs.manifest import Manifest

Described = TypeVar("Described", str, "tuple[str, ...]")
# The condition for a correct item, by score. Other scores compare sentences.
RIGHT = {
    "regions": "An item counted as correct if the prediction about its surprisals held; of two "
    "continuations of a prefix, the right one must be less surprising.",
    "choices": "An item counted as correct if each symbol that can follow its prefix was more probable "
    "than each symbol that cannot.",
    "inflection": "An item counted as correct if the right form of its own verb was more probable than the "
    "wrong one.",
    "prompt": "An item counted as correct if the model chose the better sentence in both orders; choices "
    "that changed with the order counted as wrong.",
}
RIGHT_SENTENCE = (
    "An item counted as correct if the sentence that should be more probable had the higher score."
)
SCORED = {
    "sentence": "The score of a sentence is the sum of the log-probabilities of all its tokens.",
    "critical": "The score of a sentence is the log-probability of the first word in which the two sentences "
    "differ, given the words before it.",
    "ending": "The score of a sentence is the log-probability of its last words, given the words before "
    "them.",
    "mean": "The score of a sentence is its log-probability divided by its number of words.",
    "regions": "The surprisal of a region is the negative log-probability of its words, given the words "
    "before them.",
    "choices": "The score of a symbol is its log-probability, given the prefix.",
    "inflection": "The score of a verb form is its log-probability, given the words before it.",
    "prompt": "A prompt showed both sentences of an item and asked which is better, once in each order.",
}
NORMALISED = {
    "tokens": "Log-probabilities are divided by the number of tokens.",
    "characters": "Log-probabilities are divided by the number of characters.",
    "bytes": "Log-probabilities are divided by the number of bytes in UTF-8.",
    "penlp": "Log-probabilities are divided by $((5+n)/6)^{0.8}$, where $n$ is the number of tokens (PenLP).",
    "slor": "From each log-probability we subtract that of a unigram model, and divide by the number of "
    "tokens (SLOR).",
}
TEXTS = {
    "natural": "The sentences were natural text, with capital letters and usual punctuation",
    "tokenised": "The sentences were tokenised, with a space between two tokens",
}
AS_WRITTEN = "The sentences were given as the suite writes them"
MASKINGS = {
    "original": "which masked one token at a time",
    "within_word_l2r": r"which masked a token together with the later tokens of its word \citep{%s}",
}
PRECISIONS = {"float32": "single precision (float32)", "float64": "double precision (float64)"}
# Parts of a protocol that the sentences below describe. `file` is a digest, which signatures have.
DESCRIBED = frozenset({
    "start", "bos", "first_token", "state", "unknown", "lowercase", "dtype", "precision", "text", "pll",
    "masked_word", "words", "leading_space", "eos", "end", "file",
    "context", "context_words", "context_seed", "contexts", "context_digest",
    "prompt", "prompt_digest", "orders", "answer", "chat_template", "served", "date",
})  # fmt: skip
DRAWN = re.compile(r"(\d+) of each case, seed (-?\d+)")


def methods_paragraph(
    opened: RunSet, rows: pd.DataFrame, keys: Mapping[str, str], groups: Mapping[str, Sequence[str]]
) -> str:
    """Return sentences about methods for a paper, with digests and signatures as comments.

    Args:
        opened: The runs, all on the same items.
        rows: The rows of their table, with the factors by which intervals are clustered.
        keys: BibTeX keys by cited topic (`tseval.report.references`).
        groups: The runs of each column of the table; several are seeds.
    """
    manifests = opened.manifests
    sentences = chain(
        _models(opened, groups, keys["suite"]),
        _items(opened),
        _scores(manifests),
        _all_verbs(manifests, keys),
        _undecided(manifests, keys),
        _contexts(manifests),
        _presentation(manifests, keys),
        _precision(manifests),
        _intervals(rows, keys, groups),
        _software(manifests, keys["tseval"]),
    )
    # `sloppypar` allows loose lines, so that a long model name does not stick out of the margin.
    paragraph = [r"\begin{sloppypar}", *sentences, r"\end{sloppypar}"]
    return "\n".join([*digest_comments(opened), *paragraph]) + "\n"


def digest_comments(opened: RunSet) -> list[str]:
    """Return the digest of the suite and the signatures of the runs, as LaTeX comments."""
    suite = next(iter(opened.manifests.values())).suite
    signatures = [f"% {plain(name)}: {plain(line)}" for name, line in opened.signatures.items()]
    return [f"% Suite: {plain(suite.name)}, SHA-256 {suite.digest}", "% Signatures:", *signatures]


def describe_items(opened: RunSet) -> str:
    """Describe in words the number of items and how they were selected: `all 20 items (2 cases)`."""
    suite = next(iter(opened.manifests.values())).suite
    n_items = counted(suite.n_items, "item")
    verdicts = next(iter(opened.verdicts.values()))
    sizes = verdicts.groupby("case", sort=False, observed=True)["item"].nunique()
    low, high = sizes.min(), sizes.max()
    # Some views make several items from one item of the suite; then cases count the original items.
    origin, noun = ("", "") if sizes.sum() == suite.n_items else ("made from ", " items")
    cases = "one case" if len(sizes) == 1 else f"each of {len(sizes):,} cases"
    if suite.complete:
        return f"all {n_items} ({counted(len(sizes), 'case')})"
    if drawn := DRAWN.fullmatch(suite.sample or ""):
        at_most = "" if low == int(drawn[1]) else "at most "
        drawn_from_each = f"{origin}{at_most}{int(drawn[1]):,}{noun} drawn without replacement from {cases}"
        return f"a random sample of {n_items} ({drawn_from_each}, random seed {drawn[2]})"
    size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{n_items} of the suite ({origin}{size}{noun} from {cases}, not drawn at random)"


def _models(opened: RunSet, groups: Mapping[str, Sequence[str]], key: str) -> Iterator[str]:
    title = next(iter(opened.manifests.values())).suite.title
    models = [
        name if len(seeds) == 1 else f"{name} ({len(seeds)} random seeds)" for name, seeds in groups.items()
    ]
    subject = f"language model{'s' if len(models) > 1 else ''} {breakable_latex(_enumerated(models))}"
    yield f"We evaluated the {subject} on ``{latex(title)}'' \\citep{{{key}}}."
    if len(models) < len(opened.manifests):
        yield "For several seeds, we report the mean accuracy and the standard deviation between seeds."


def _items(opened: RunSet) -> Iterator[str]:
    suite = next(iter(opened.manifests.values())).suite
    pairs = "" if suite.n_contrasts == suite.n_items else f", which make {suite.n_contrasts:,} comparisons"
    yield f"We used {describe_items(opened)}{pairs}."
    if suite.exclude:
        n_excluded = "items" if suite.excluded is None else counted(len(suite.excluded), "item")
        errors = suite.exclude == "known-errors"
        yield f"We left out {n_excluded} {'with known errors' if errors else 'by a list of our own'}."


def _scores(manifests: Mapping[str, Manifest]) -> Iterator[str]:
    groups = _grouped(manifests, lambda manifest: manifest.key.score)
    for measure, names in groups.items():
        score, by = split_measure(measure)
        yield _about(names, groups, SCORED[score])
        if by is not None:
            power = f"Log-probabilities are divided by $n^{{{by.removeprefix('alpha=')}}}$, where $n$ is the "
            yield NORMALISED.get(by, f"{power}number of tokens.")
        yield RIGHT.get(score, RIGHT_SENTENCE)


def _all_verbs(manifests: Mapping[str, Manifest], keys: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence on EW and MW, for runs that compare all verbs of a list."""
    lexicon = next(iter(manifests.values())).suite.lexicon
    if lexicon is not None:
        yield (
            f"We compared the forms of {len(lexicon):,} verbs after the same words "
            f"\\citep{{{keys['all verbs']}}}: EW is the share of the verbs whose right form is more "
            "probable; MW is the share of the probability of all their forms that right forms have. Verbs "
            "that a model does not know were left out."
        )


def _undecided(manifests: Mapping[str, Manifest], keys: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on ties, undecidable items, and pairs with one known form."""
    prompted = {name: run for name, run in manifests.items() if run.key.score == "prompt"}
    if prompted:
        by_order = _counts(prompted, lambda manifest: manifest.counts.tied)
        yield f"Items that were undecided by order counted as wrong{by_order}."
        if no_answer := _counts(prompted, lambda manifest: manifest.counts.undecidable):
            yield f"Items with an answer other than 1 and 2 were left out of accuracies{no_answer}."
    manifests = {name: run for name, run in manifests.items() if name not in prompted}
    if not manifests:
        return
    yield f"Ties counted as wrong{_counts(manifests, lambda manifest: manifest.counts.tied)}."
    if undecidable := _counts(manifests, lambda manifest: manifest.counts.undecidable):
        too_long = any(manifest.counts.too_long for manifest in manifests.values())
        reason = ", or because a sentence is longer than the model reads" if too_long else ""
        yield (
            f"Items that a model cannot decide were left out of its accuracies{undecidable}, because the "
            f"words in which the sentences differ are unknown to it or have no score{reason}."
        )
    compared = {name: run for name, run in manifests.items() if run.unknown.rule == "score"}
    left_out = {name: run for name, run in manifests.items() if name not in compared}
    if half_known := _counts(left_out, _n_half_known):
        yield (
            f"Items with only one form in the vocabulary counted as undecidable{half_known}; "
            f"\\citet{{{keys['forms']}}} and \\citet{{{keys['both forms']}}} use no such items."
        )
    if half_known := _counts(compared, _n_half_known):
        yield (
            "Items with only one form in the vocabulary were compared, with a symbol for unknown words "
            f"instead of the other form{half_known}."
        )


def _n_half_known(manifest: Manifest) -> int:
    return manifest.counts.n_half_known


def _contexts(manifests: Mapping[str, Manifest]) -> Iterator[str]:
    """Yield sentences on the contexts before the sentences, if there are any."""
    groups = _grouped(manifests, lambda manifest: tuple(_context(manifest)))
    for described, names in groups.items():
        if described:
            first, *rest = described
            yield _about(names, groups, first)
            yield from rest


def _context(manifest: Manifest) -> Iterator[str]:
    facts = manifest.suite.context
    if facts is None:
        return
    place, _, label = facts.source.partition("#")
    kind = f"{latex(label)} " if label else ""
    sources = {
        "same": f"{kind}sentences of other items of the same case, which shared no lexicon entry with it",
        "other": f"{kind}sentences of items of another case",
    }
    source = sources.get(place, f"{kind}text from {breakable_latex(place)}")
    contexts = (
        "a context" if facts.each == 1 else f"{facts.each:,} contexts, over which the accuracy is the mean"
    )
    yield (
        f"Each item was scored in {contexts}: both sentences followed the same {facts.words:,} words of "
        f"{source}."
    )
    yield (
        f"The contexts ({facts.n_texts:,} in all, random seed {facts.seed}) were read as running text, and "
        "only the log-probability of the sentence itself, given its context, counted."
    )


def _presentation(manifests: Mapping[str, Manifest], keys: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on the form of the text, and on other symbols that the models read."""

    def sentences(manifest: Manifest) -> tuple[str, ...]:
        return (*_text(manifest), *_reading(manifest, keys))

    groups = _grouped(manifests, sentences)
    for described, names in groups.items():
        first, *rest = described
        yield _about(names, groups, first)
        yield from rest


def _text(manifest: Manifest) -> Iterator[str]:
    protocol, terminator = manifest.key.protocol, manifest.key.terminator
    text = TEXTS.get(str(protocol.get("text")), AS_WRITTEN)
    text += ", in lower case" if protocol.get("lowercase") else ""
    mark = "period" if terminator == "." else f"``{latex(terminator or '')}''"
    yield f"{text}{f', and ended in a {mark}' if terminator else ''}."
    if (unknown := protocol.get("unknown")) is not None:
        yield f"Words outside the vocabulary were replaced by {latex(str(unknown))}."


def _prompt(protocol: Mapping[str, Json], keys: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on the prompt, on the server that answered, and on the date."""
    digest = latex(str(protocol.get("prompt_digest"))[:8])
    is_probable = protocol.get("answer") == "probabilities"
    read = "the more probable of 1 and 2" if is_probable else "read from the text"
    yield (
        f"The prompt was the template {latex(str(protocol.get('prompt')))} (SHA-256 begins with {digest}), "
        f"in the manner of \\citet{{{keys['prompts']}}}; the answer was {read}."
    )
    if "date" in protocol:
        served = latex(str(protocol.get("served", "a model without a name")))
        yield f"The server answered as {served} on {latex(str(protocol['date']))} (UTC)."


def _reading(manifest: Manifest, keys: Mapping[str, str]) -> Iterator[str]:
    protocol = manifest.key.protocol
    if "prompts" in keys and manifest.key.score == "prompt":
        yield from _prompt(protocol, keys)
    start = protocol.get("bos", protocol.get("start"))
    if manifest.suite.context is not None:
        if start is not None:
            yield f"The start symbol was {latex(str(start))}."
    elif start is not None:
        state = " from a fresh state," if protocol.get("state") == "fresh" else ""
        yield f"Each sentence was read on its own,{state} after the start symbol {latex(str(start))}."
    elif "bos" in protocol or "start" in protocol:
        yield "Each sentence was read on its own, without a start symbol."
    if protocol.get("first_token") == "unscored":
        yield "The first token of a sentence had no score."
    if protocol.get("leading_space"):
        yield "A space preceded the first word."
    if protocol.get("eos") or protocol.get("end") == "with the last word":
        yield "The score included the end of the sentence."
    if (pll := protocol.get("pll")) is not None:
        masking = MASKINGS.get(str(pll), "").replace("%s", keys.get("within_word_l2r", ""))
        yield f"Sentences were scored by pseudo-log-likelihood \\citep{{{keys['pll']}}}, {masking}."
    if corrects_words(manifest):
        yield (
            "Probabilities of words were corrected for longer words that begin with the same tokens "
            f"\\citep{{{keys['words']}}}."
        )
    if other_settings := {part: value for part, value in protocol.items() if part not in DESCRIBED}:
        settings = ", ".join(f"{part} {_value(value)}" for part, value in sorted(other_settings.items()))
        yield f"Other settings: {breakable_latex(settings)}."


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _precision(manifests: Mapping[str, Manifest]) -> Iterator[str]:
    def sentence(manifest: Manifest) -> str:
        protocol = manifest.key.protocol
        dtype, products = protocol.get("dtype"), protocol.get("precision")
        if dtype is None:
            return ""
        weights = PRECISIONS.get(str(dtype), latex(str(dtype)))
        if products is not None:
            return f"Weights were in {weights}, matrix products in {latex(str(products))}."
        return f"Weights and matrix products were in {weights}."

    groups = _grouped(manifests, sentence)
    yield from (_about(names, groups, text) for text, names in groups.items() if text)


def _intervals(
    rows: pd.DataFrame, keys: Mapping[str, str], groups: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield sentences on confidence intervals: clusters and corrections."""
    if rows["low"].isna().all():
        yield "No item is decidable, so there are no confidence intervals."
        return
    intervals = f"Confidence intervals ({latex(confidence_percent())})"
    has_seeds = any(len(seeds) > 1 for seeds in groups.values())
    clusters, fixed = (_factors(rows[name]) for name in ("clusters", "fixed"))
    if clusters:
        yield (
            f"{intervals} are clustered by the words that items share ({latex(_enumerated(clusters))}), so "
            "that they hold for other words of the same kind."
        )
        yield (
            "They use the CR2 correction and the degrees of freedom of Bell and McCaffrey "
            f"\\citep{{{keys['cr2']}}}; several factors are combined as by \\citet{{{keys['several']}}}."
        )
    elif has_seeds:
        yield f"{intervals} treat items as independent."
    else:
        yield f"{intervals} are Wilson intervals, which treat items as independent."
    if fixed:
        yield (
            f"They do not generalise beyond the words of factors with fewer than {FEWEST_LEVELS} entries in "
            f"a row ({latex(_enumerated(fixed))})."
        )
    yield from map(latex, uneven_note([rows]))
    if has_seeds:
        yield "Intervals of means over seeds also include the variation between seeds."
    yield "Means over rows of the table count each row once."


def _factors(column: pd.Series) -> list[str]:
    """Return each factor once, with underscores replaced by spaces."""
    return list(dict.fromkeys(str(name).replace("_", " ") for row in column.dropna() for name in row))


def _software(manifests: Mapping[str, Manifest], key: str) -> Iterator[str]:
    def sentence(manifest: Manifest) -> str:
        torch = manifest.versions.get("torch")
        addition = f" and PyTorch {latex(torch.partition('+')[0])}" if torch else ""
        return f"We used tseval {latex(manifest.key.tseval)} \\citep{{{key}}}{addition}."

    groups = _grouped(manifests, sentence)
    yield from (_about(names, groups, text) for text, names in groups.items())


def _grouped(
    manifests: Mapping[str, Manifest], describe: Callable[[Manifest], Described]
) -> dict[Described, list[str]]:
    """Group the names of runs by their description."""
    groups: dict[Described, list[str]] = {}
    for name, manifest in manifests.items():
        groups.setdefault(describe(manifest), []).append(name)
    return groups


def _about(names: Sequence[str], groups: Collection[object], sentence: str) -> str:
    """Return a sentence, with the names of its models if it is not about all."""
    if len(groups) == 1:
        return sentence
    return f"For {breakable_latex(_enumerated(names))}: {sentence}"


def _counts(manifests: Mapping[str, Manifest], count: Callable[[Manifest], int]) -> str:
    """Return ` (a 3, b 12)` for counts above 0, ` (3)` for a single model, else an empty string."""
    counts = {name: count(manifest) for name, manifest in manifests.items()}
    if len(counts) == 1:
        (n_items,) = counts.values()
        return f" ({n_items:,})" if n_items else ""
    texts = ", ".join(f"{name} {n:,}" for name, n in counts.items() if n)
    return f" ({breakable_latex(texts)})" if texts else ""


def _enumerated(names: Iterable[str]) -> str:
    """Return an English list of names: `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
