"""Show how a model reads some items of a suite, token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.cli.model_options import open_chosen
from tseval.errors import GrammarError, ModelError, counted
from tseval.writing import without_boundaries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.items import Suite
    from tseval.questions.unknown import Unknown
    from tseval.scoring.surprisal import Token


ITEMS = 10


def readings(spec: str, model_args: str, paths: Sequence[Path]) -> Iterator[str]:
    """Yield lines that show how a model reads ten items of each suite.

    Spaces separate words, and `|` separates the pieces of a word. Unknown words are shown as `<unk: ...>`.
    The surprisal follows each sentence.
    """
    from tseval.evaluation import as_read, refuse_cut_words
    from tseval.questions.unknown import Unknown
    from tseval.scoring.surprisal import bits, surprisals
    from tseval.suites import load_suite

    model = open_chosen(spec, model_args, "cpu", quiet=True)
    unknown = Unknown.of(model.card.protocol)
    for path in paths:
        try:
            suite = load_suite(path, sample=ITEMS)
            refuse_cut_words(model, suite)
        except ModelError as error:
            yield f"{path}: {' '.join(str(error).split())}"
            continue
        except GrammarError:
            yield f"{path}: the model reads no items until you correct the errors above"
            continue
        texts = _some_items(suite)
        tokens = surprisals(as_read(model, suite, "auto"), [text for *_, text in texts])
        missing: dict[str, None] = {}
        yield f"{model.card.name} reads {counted(len({row[:2] for row in texts}), 'item')} of {suite.name}:"
        width = max(len(label) for *_, label, _ in texts)
        previous = None
        for (case, item, label, _), sentence in zip(texts, tokens, strict=True):
            if (case, item) != previous:
                yield f"{case}, item {item + 1:,}"
            previous = (case, item)
            values = [token.surprisal for token in sentence if token.surprisal is not None]
            yield f"  {label:{width}}  {_spelt(sentence, unknown, missing)}  ({bits(sum(values)):.1f} bits)"
        if missing:
            yield f"The model does not know: {', '.join(missing)}"


def _some_items(suite: Suite) -> list[tuple[str, int, str, str]]:
    """Return (case, item, label, sentence) for ten items, which are taken from the cases in turn."""
    items = [(case, position) for position in range(ITEMS) for case in suite.cases if position < case.n_items]
    order = {case.name: number for number, case in enumerate(suite.cases)}
    chosen = sorted(items[:ITEMS], key=lambda item: (order[item[0].name], item[1]))
    end = "" if suite.terminator is None else f" {suite.terminator}"
    return [
        (
            case.name,
            int(case.index[position].as_py()),
            label,
            f"{case.sentences[label][position].as_py()}{end}",
        )
        for case, position in chosen
        for label in case.labels
    ]


def _spelt(tokens: Sequence[Token], unknown: Unknown, missing: dict[str, None]) -> str:
    """Return the tokens as text, with `|` between the pieces of a word; add unknown words to `missing`."""
    words: dict[int, list[str]] = {}
    for token in tokens:
        word = without_boundaries(token.text)
        if unknown.is_unknown(token.text, token.token):
            missing[word] = None
            words[token.word] = [f"<unk: {word}>"]
        else:
            words.setdefault(token.word, []).append(token.token)
    return " ".join("|".join(pieces) for pieces in words.values())
