"""Surprisal of tokens and words, as data and as text output."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from math import fsum, log
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from tseval.errors import ModelError, plain
from tseval.questions.unknown import Unknown
from tseval.questions.word_scores import unfinished_words
from tseval.scoring.engine import shards
from tseval.scoring.precision import stated_precision
from tseval.scoring.protocol import (
    UNKNOWN,
    DistributionModel,
    current,
    model_errors,
    refuse_no_logprobs,
)
from tseval.scoring.scorer import check_lengths
from tseval.scoring.scorers import scorer_for
from tseval.scoring.trie import pieces_of
from tseval.writing import UNFINISHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch import Tensor

    from tseval.scoring.protocol import Encoded, Model
    from tseval.scoring.scorer import Scorer


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a sentence.

    Attributes:
        word: Position of its word, from 0.
        text: That word, as given.
        token: The token, as the model sees it; `<unk>` for an unknown word.
        surprisal: In nats; None for a first token without context, whose probability is unknown.
    """

    word: int
    text: str
    token: str
    surprisal: float | None


def surprisals(
    model: Model, sentences: Sequence[str], progress: Callable[[int, int], None] | None = None
) -> list[list[Token]]:
    """Compute the surprisal of every token of some sentences; equal sentences are scored once.

    For a masked language model, these are the terms of the pseudo-log-likelihood, which also uses the words
    after the token.

    Args:
        model: A model from `tseval.load_model`.
        sentences: Tokenised text, words separated by spaces; nothing is added to it.
        progress: Called with the number of finished distinct sentences and of all.

    Returns:
        The tokens of each sentence.

    Raises:
        LimitError: A sentence has too many characters.
        ModelError: A sentence has no words, or cannot be scored.
    """
    return _tokens_of(scorer_for(current(model)), _tokens, sentences, progress)


def word_surprisals(
    model: Model, sentences: Sequence[str], progress: Callable[[int, int], None] | None = None
) -> list[list[Token]]:
    """Compute the surprisal of every word, which is not always the sum over its tokens.

    If a model's tokenizer marks the beginnings of words, its tokens also begin longer words, and the sum is
    corrected (`tseval.pretrained.word_probabilities`). Arguments and errors are those of `surprisals`.

    Returns:
        The words of each sentence. If the surprisal of a part is unknown, so is that of the word.
    """
    return _tokens_of(scorer_for(current(model), words=True), _words, sentences, progress)


@dataclass(frozen=True, slots=True)
class NextToken:
    """A model's expectation at the position of a token.

    Attributes:
        entropy: Entropy of the distribution over all tokens, in nats.
        best: The most probable tokens, each with its probability.
    """

    entropy: float
    best: tuple[tuple[str, float], ...]


def next_tokens(model: Model, sentences: Sequence[str], top: int = 0) -> list[list[NextToken | None]]:
    """Return a model's expectation at each token of some sentences: entropy, and the `top` best tokens.

    The tokens are those of `surprisals`. The value for a first token without context is None.

    Raises:
        ModelError: The model gives only the probabilities of the actual tokens.
    """
    model = current(model)
    scorer = scorer_for(model)
    if not isinstance(model, DistributionModel) or "task" in model.card.protocol:
        raise ModelError(
            f"{scorer.card.name} does not give the probabilities of all possible next words, which "
            "--entropy and --top need.\n"
            "  Leave out --entropy and --top, or use a causal model of transformers or a word-level model."
        )
    expected: list[list[NextToken | None]] = []
    for sentence in sentences:
        texts = pa.array([sentence], pa.string())
        with stated_precision(), model_errors(scorer.card.name, texts):
            encoded = scorer.encoded(texts)
            steps = model.next_logprobs(encoded.tokens)
            following = [_expected(model, row, top) for rows in steps for row in rows]
        expected.append([*[None] * (len(encoded.tokens) - len(following)), *following])
    return expected


def _expected(model: DistributionModel, row: Tensor, top: int) -> NextToken:
    row = row.double()
    entropy = float(-(row.exp() * row).nan_to_num(0.0).sum())
    values, tokens = row.topk(min(top, len(row)))
    texts = model.token_texts(tokens.cpu().numpy())
    return NextToken(entropy, tuple(zip(texts, values.exp().tolist(), strict=True)))


def _tokens_of(
    scorer: Scorer,
    score: Callable[[Scorer, pa.StringArray], Iterator[list[Token]]],
    sentences: Sequence[str],
    progress: Callable[[int, int], None] | None,
) -> list[list[Token]]:
    """Score distinct sentences shard by shard, and return the tokens of each given sentence."""
    distinct = pa.array(sorted(set(sentences)), pa.string())
    if not scorer.reads_any_length:
        check_lengths(distinct)
    tokens_of: dict[str, list[Token]] = {}
    for shard in shards(distinct):
        with stated_precision(), model_errors(scorer.card.name, shard):
            tokens_of.update(zip(map(str, shard.to_pylist()), score(scorer, shard), strict=True))
        if progress:
            progress(len(tokens_of), len(distinct))
    return [tokens_of[sentence] for sentence in sentences]


def _tokens(scorer: Scorer, sentences: pa.StringArray) -> Iterator[list[Token]]:
    return _make_tokens(scorer, sentences, *scorer.score_tokens(sentences))


def _words(scorer: Scorer, sentences: pa.StringArray) -> Iterator[list[Token]]:
    encoded, logprobs, corrections = scorer.score_words(sentences)
    if corrections is None:
        corrections = np.zeros(int(encoded.lengths.sum()))
    starts = np.cumsum(encoded.lengths) - encoded.lengths
    unknown = Unknown.of(scorer.card.protocol)
    tokens = _make_tokens(scorer, sentences, encoded, logprobs)
    shares = _share_pieces(scorer, encoded, sentences)
    for row, (start, tokens_of_sentence) in enumerate(zip(starts.tolist(), tokens, strict=True)):
        words: dict[int, list[Token]] = {}
        for token in tokens_of_sentence:
            words.setdefault(token.word, []).append(token)
        for word in np.flatnonzero(shares[start : start + encoded.lengths[row]]).tolist():
            spelt = " ".join(token.token for token in words.get(word, ())) or UNFINISHED
            words[word] = [Token(word, str(sentences[row]).split()[word], spelt, None)]
        words = dict(sorted(words.items()))
        yield [_joined(parts, float(corrections[start + word]), unknown) for word, parts in words.items()]


def _share_pieces(scorer: Scorer, encoded: Encoded, sentences: pa.StringArray) -> np.ndarray:
    """Return which words share a piece with another word, so that their surprisal is unknown, (words,).

    If there are any, a warning is added to the model's warnings.
    """
    unfinished = unfinished_words(pa.table({"sentence": sentences, "seen": encoded.seen}))
    if unfinished.any() and SHARED_PIECES not in scorer.warnings:
        scorer.add_warning(SHARED_PIECES)
    shared: np.ndarray = unfinished | np.append(False, unfinished[:-1])
    return shared


SHARED_PIECES = (
    "some pieces span several words, so tseval cannot compute the surprisal of each of these words. To see "
    "the pieces, leave out --words"
)


def _make_tokens(
    scorer: Scorer, sentences: pa.StringArray, encoded: Encoded, logprobs: np.ndarray
) -> Iterator[list[Token]]:
    """Make the tokens of each sentence from log-probabilities."""
    refuse_no_logprobs(logprobs, encoded.token_counts, sentences, scorer.card.name)
    pieces, spelt = pieces_of(encoded), scorer.token_texts(encoded)
    unscored = scorer.card.protocol.get("first_token") == "unscored"
    word = token = 0
    for sentence in sentences.to_pylist():
        tokens: list[Token] = []
        for position, text in enumerate(str(sentence).split()):
            for _ in range(pieces[word]):
                is_unscored = unscored and not tokens
                value = None if is_unscored else 0.0 - float(logprobs[token])  # not -0.0
                tokens.append(Token(position, text, spelt[token], value))
                token += 1
            word += 1
        yield tokens


def _joined(parts: Sequence[Token], correction: float, unknown: Unknown) -> Token:
    """Combine the tokens of a word into one; a word with an unknown part becomes `<unk>`."""
    values = [part.surprisal for part in parts]
    total = None if None in values else float(np.sum(cast("list[float]", values))) - correction
    spelt = UNKNOWN if unknown_words(parts, unknown) else " ".join(part.token for part in parts)
    return Token(parts[0].word, parts[0].text, spelt, total)


def unknown_words(tokens: Sequence[Token], unknown: Unknown) -> Counter[str]:
    """Count the unknown words of a sentence."""
    words = {token.word: token.text for token in tokens if unknown.is_unknown(token.text, token.token)}
    return Counter(text.lower() if unknown.lowercase else text for text in words.values())


SURPRISAL_COLUMNS = ("sentence", "word", "text", "token", "surprisal_nats", "surprisal_bits")
BAR = 24  # characters of the longest bar
EIGHTHS = " ▏▎▍▌▋▊▉█"


def bits(nats: float) -> float:
    """Convert nats to bits."""
    return nats / log(2)


def as_rows(
    names: Sequence[str | int],
    sentences: Sequence[Sequence[Token]],
    form: str,
    expected: Sequence[Sequence[NextToken | None]] | None = None,
    shown: Sequence[str] = (),
) -> str:
    """Write one row per token, as `tsv` with a header or as `jsonl`; unknown surprisal is empty, or null.

    Args:
        names: Names of the sentences.
        sentences: Their tokens.
        form: `tsv` or `jsonl`.
        expected: Expectations at each token.
        shown: Expectations that get columns: `entropy`, `top`.
    """
    columns = list(SURPRISAL_COLUMNS)
    columns += [
        *(("entropy_nats", "entropy_bits") if "entropy" in shown else ()),
        *(["top"] * ("top" in shown)),
    ]
    rows = []
    for sentence_number, (name, tokens) in enumerate(zip(names, sentences, strict=True)):
        for index, token in enumerate(tokens):
            row: list[object] = [name, token.word, token.text, token.token, *_nats_and_bits(token.surprisal)]
            next_token = expected[sentence_number][index] if expected else None
            if "entropy" in shown:
                row += _nats_and_bits(None if next_token is None else next_token.entropy)
            if "top" in shown:
                row.append(_best(next_token, form))
            rows.append(row)
    return written_rows(columns, rows, form)


def _best(expected: NextToken | None, form: str) -> object:
    """Format the best tokens; for `jsonl`, as a list of texts with their probabilities."""
    best = () if expected is None else expected.best
    if form == "jsonl":
        return [{"token": text, "probability": probability} for text, probability in best]
    return " ".join(f"{text}:{probability:.4f}" for text, probability in best)


def _nats_and_bits(nats: float | None) -> tuple[float | None, float | None]:
    return nats, None if nats is None else bits(nats)


def written_rows(columns: Sequence[str], rows: Iterable[Sequence[object]], form: str) -> str:
    """Write rows as `jsonl`, or as `tsv` without control characters in texts."""
    if form == "jsonl":
        objects = (dict(zip(columns, row, strict=True)) for row in rows)
        return "".join(json.dumps(mapping, ensure_ascii=False) + "\n" for mapping in objects)
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
    writer.writerow(columns)
    for row in rows:
        writer.writerow(plain(value) if isinstance(value, str) else value for value in row)
    return buffer.getvalue()


TABLE_COLUMNS = ("row", "what", "word", "text", "surprisal_nats", "surprisal_bits")


def as_table(
    rows: Sequence[tuple[int, str, int, int]], sentences: Sequence[Sequence[Token]], form: str
) -> str:
    """Write one row for each row of a table, as `tsv` with a header or as `jsonl`.

    Args:
        rows: Number of the row, its label, the number of words before the region, and the region's length.
        sentences: Words of the sentence of each row.
        form: `tsv` or `jsonl`.
    """
    table_rows = []
    for (row, label, before, length), words in zip(rows, sentences, strict=True):
        region = words[before : before + length]
        values = [word.surprisal for word in region if word.surprisal is not None]
        nats = float(np.sum(values)) if len(values) == len(region) else None
        text = plain(" ".join(word.text for word in region))
        table_rows.append((row, plain(label), before + 1, text, *_nats_and_bits(nats)))
    return written_rows(TABLE_COLUMNS, table_rows, form)


def as_picture(
    sentences: Sequence[Sequence[Token]],
    expected: Sequence[Sequence[NextToken | None]] | None = None,
    shown: Sequence[str] = (),
) -> str:
    """Draw a bar for each token, all on one scale, and the sum below each sentence.

    After the bars come the expectations that `shown` names, as in `as_rows`.
    """
    every = [token for tokens in sentences for token in tokens]
    largest = max((token.surprisal or 0.0 for token in every), default=0.0)
    names = [_names(tokens) for tokens in sentences]
    width = max((len(name) for labels in names for name in labels), default=0)
    pictures = []
    for index, (labels, tokens) in enumerate(zip(names, sentences, strict=True)):
        notes = (
            [_note(next_token, shown) for next_token in expected[index]] if expected else [""] * len(tokens)
        )
        pictures.append(_drawn([f"{name:{width}}" for name in labels], tokens, largest, notes))
    return "\n".join(pictures)


def _note(expected: NextToken | None, shown: Sequence[str]) -> str:
    if expected is None:
        return ""
    entropy = f"entropy {bits(expected.entropy):.2f} bits" if "entropy" in shown else ""
    return "  ".join(filter(None, ("", entropy, str(_best(expected, "tsv")))))


def _names(tokens: Sequence[Token]) -> list[str]:
    """Name each token: its word, and its form in the model if that differs."""
    names = []
    before = None
    for token in tokens:
        text = "" if token.word == before else plain(token.text)  # a word of several tokens is named once
        before = token.word
        names.append(text if token.token == token.text else f"{text}  {plain(token.token)}")
    return names


def _drawn(names: Sequence[str], tokens: Sequence[Token], largest: float, notes: Sequence[str]) -> str:
    lines = []
    for name, token, note in zip(names, tokens, notes, strict=True):
        if token.surprisal is None:
            lines.append(f"{name}       –{note and '  '}{note}")
        else:
            share = token.surprisal / largest if largest else 0.0
            drawing = f"{bar(share):{BAR}}" if note else bar(share)
            lines.append(f"{name}  {_both(token.surprisal)}  {drawing}{note and '  '}{note}".rstrip())
    total = fsum(token.surprisal for token in tokens if token.surprisal is not None)
    # The first token may have no context.
    complete = all(token.surprisal is not None for token in tokens[1:])
    total_text = f"  {_both(total)}  in all" if complete else "       –  in all"
    return "\n".join([*lines, f"{'':{len(names[0])}}{total_text}", ""])


def _both(nats: float) -> str:
    return f"{nats:6.2f} nats  {bits(nats):6.2f} bits"


def bar(share: float) -> str:
    """Draw a bar for a share of the full length, with a resolution of an eighth of a character."""
    eighths = round(max(0.0, share) * BAR * 8)
    return EIGHTHS[-1] * (eighths // 8) + EIGHTHS[eighths % 8].strip()
