"""One scorer for each protocol that a model may offer; `scorer_for` finds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import ModelError, quoted_text
from tseval.files import beyond
from tseval.items import first_too_long
from tseval.scoring.inflected import (
    FormWords,
    distributions,
    extends_contexts,
    forms_table,
    of_those,
    read_distributions,
    score_as_sentences,
    separate_words,
)
from tseval.scoring.protocol import (
    UNKNOWN,
    BoundedModel,
    ContinuationModel,
    CorrectingModel,
    DistributionModel,
    Encoded,
    ParticularModel,
    RecurrentModel,
    ReportingModel,
    SentenceModel,
    TokenModel,
    as_array,
    as_numbers,
    check_list,
    refuse_misencoded,
    refuse_no_model,
    wrong_output,
)
from tseval.scoring.trie import (
    CONTEXTS_AT_ONCE,
    Memory,
    build_trie,
    logprobs_after,
    node_logprobs,
    refuse_empty,
    rows_of_sums,
    rows_of_words,
    sum_pieces,
    visit,
    with_unscored,
    words_and_lengths,
)
from tseval.writing import BOUNDARY, without_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor, Future

    from tseval.questions.choices import Asked, Asks
    from tseval.questions.inflection import AskedForms
    from tseval.scoring.protocol import Model, ModelCard, TotalModel
    from tseval.scoring.trie import Trie


def check_lengths(sentences: pa.StringArray) -> None:
    """Refuse sentences that are whole texts: to score one would take minutes."""
    if (row := first_too_long(sentences)) >= 0:
        text = str(sentences[row])
        problem = f"a sentence of {len(text):,} characters is too long"
        raise beyond("sentence_chars", f"{text[:40]!r}...", problem)


class Scorer(ABC):
    """Scores shards of sentences with one model; remembers how much fitted into memory.

    Attributes:
        gives_words: Whether the log-probabilities of single words are known.
        unreadable: What the sentences are that the model does not read.
        reads_any_length: Whether the model reads texts in windows.
        n_contexts: Prefixes computed so far; for an opaque model, words, or sentences if it has no words.
    """

    gives_words = True

    def __init__(self, model: Model, memory: Memory) -> None:
        self.card: ModelCard = model.card
        self.model = model
        self.n_contexts = 0
        self._memory = memory
        noted = getattr(model, "warnings", None)  # any model may have some; it may grow
        self._noted: list[str] = noted if isinstance(noted, list) else []
        self._particular = model if isinstance(model, ParticularModel) else None
        self._bounded = model if isinstance(model, BoundedModel) else None
        self.reads_any_length = getattr(model, "windows", None) is not None
        self._aside: bool = getattr(model, "encodes_aside", False)
        self._ahead: dict[int, Future[Encoded]] = {}  # by the identity of the sentences
        self.unreadable: str = getattr(model, "unreadable", f"longer than {self.card.name} reads")

    @property
    def warnings(self) -> list[str]:
        """What a reader of the results should know: what the model has to say, then the shortages."""
        return [*self._noted, *self._memory.shortages]

    def add_warning(self, warning: str) -> None:
        """Tell a reader of the results one thing more."""
        self._noted.append(warning)

    def check_sentences(self, sentences: pa.StringArray) -> None:
        """Refuse sentences that are too long, or that the model does not read, before anything is scored."""
        check_lengths(sentences)
        if self._particular is not None:
            self._particular.check_sentences(sentences)

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Tell which sentences are longer than the model reads, (sentences,) bool."""
        if self._bounded is None:
            return np.zeros(len(sentences), dtype=np.bool_)
        is_too_long = np.asarray(self._bounded.too_long(sentences))
        if is_too_long.shape != (len(sentences),) or is_too_long.dtype != np.bool_:
            raise wrong_output(
                f"the method `too_long` of {self.card.name} returned an array of type {is_too_long.dtype} "
                f"and shape {is_too_long.shape}, but must return {len(sentences)} truth values, one for "
                "each sentence"
            )
        return is_too_long

    def check_symbols(self, asks: Asks) -> None:
        """Refuse to ask a model that cannot be asked about symbols, or does not know them."""
        raise self._cannot_be_asked()

    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Score one shard of distinct, sorted sentences.

        Returns:
            One row per sentence, in order: `sentence`, `seen` (its words as the model sees them),
            `logprob` (nats, float64, the sum over its words), `words` (nats, float32, each word's),
            `n_unknown`; where words were corrected, `pieces` too (nats, float32, what they were before), and
            `logprob` is the sum over these; and `unscored`, its first token, if the model scores none of the
            first tokens.
        """
        encoded, logprobs, corrections = self.score_words(sentences)
        words = sum_pieces(encoded, logprobs)
        table = rows_of_words(sentences, encoded, words, self.card.name, corrections)
        unscored = self.card.protocol.get("first_token") == "unscored" and len(encoded.tokens)
        return with_unscored(table, encoded) if unscored else table

    def score_words(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray, np.ndarray | None]:
        """Score every token, as `score_tokens` does, and say what is missing to the words' log-probabilities.

        That is added to the sum over the tokens of each word, in nats, (words,); None where nothing is.
        """
        return *self.score_tokens(sentences), None

    @abstractmethod
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Score every token of distinct, sorted sentences.

        Returns:
            What the model sees, and the log-probability of each of its tokens (of each word, for a model
            without tokens of its own), (tokens,) float32, in nats.
        """

    def encode_ahead(self, sentences: pa.StringArray, thread: Executor) -> None:
        """Begin to encode sentences that will be scored next, if the model allows that while it scores."""
        if self._aside:
            self._ahead[id(sentences)] = thread.submit(self._encode, sentences)

    def encoded(self, sentences: pa.StringArray) -> Encoded:
        """Bring sentences to the model's vocabulary."""
        ahead = self._ahead.pop(id(sentences), None)
        return self._encode(sentences) if ahead is None else ahead.result()

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        raise ModelError(
            f"{self.card.name} gives only one log-probability for a whole sentence, so the number of its "
            "tokens is unknown.\n"
            "  Write --normalise words instead."
        )

    def token_texts(self, encoded: Encoded) -> list[str]:
        """Spell the tokens of encoded sentences for people to read, (tokens,): words as they are seen."""
        return [word for sentence in encoded.seen.to_pylist() for word in str(sentence).split(" ")]

    def token_keys(self, encoded: Encoded) -> list[str]:
        """Name the tokens of encoded sentences as unigrams do, (tokens,)."""
        return self.token_texts(encoded)

    def answer(self, sentences: pa.StringArray, asked: Asked) -> pa.Table:
        """Score one shard of distinct, sorted sentences, and ask what is asked inside them.

        Returns:
            What `score` gives, and for every word `right` and `wrong`, what `Asks.compare` gives for
            the ask before it (nats, float64, null where there is none).
        """
        raise self._cannot_be_asked()

    def inflect(self, contexts: pa.StringArray, asked: AskedForms) -> pa.Table:
        """Score one shard of distinct, sorted contexts, and words after each of them.

        Returns:
            What `score` gives, and for every context `forms`, the log-probability of each word after it
            (nats, float32), and `before`, the probability of all that is more probable; null for unknown
            words, and `before` also where the model does not give the probabilities of its whole vocabulary.
        """
        table = self.score(contexts)
        words = FormWords.of(self._encode, self.card, str(contexts[0]), asked.words)
        logprobs = np.full((len(contexts), len(asked.words)), np.nan)
        if not isinstance(self.model, (ContinuationModel, DistributionModel)):
            logprobs[:, words.known] = score_as_sentences(self.score, contexts, of_those(asked, words.known))
            return forms_table(table, logprobs, None, words.known)
        encoded = self._encode(contexts)
        first = next((word for word, known in zip(asked.words, words.known, strict=True) if known), None)
        if first is not None and not extends_contexts(self._encode, contexts, encoded, first):
            raise ModelError(
                f"{self.card.name} splits a context into other tokens if a word follows, so tseval cannot "
                f"compare the forms of verbs after {quoted_text(str(contexts[0]))}.\n"
                "  Use a tokenizer that begins a new token at a space."
            )
        begins: np.ndarray | None = getattr(self.model, "word_beginnings", None)
        single, known = words.single & words.known, words.single & words.known
        if begins is not None:
            separate = separate_words(asked, words)
            single, known = words.known & ~separate, words.known
            if separate.any():
                logprobs[:, separate] = score_as_sentences(self.score, contexts, of_those(asked, separate))
        self._note_forms(asked, words, known)
        tables = distributions(self.model, encoded, self._memory.at_once)
        before = read_distributions(tables, logprobs, single, words.ids, begins)
        self.n_contexts += len(contexts)
        return forms_table(table, logprobs, before, known)

    def _note_forms(self, asked: AskedForms, words: FormWords, known: np.ndarray) -> None:
        """Say how many words are not compared, or are slow to score, because they have several pieces."""
        several = int((words.known & ~words.single).sum())
        if not several:
            return
        note = f"{several:,} of {len(asked.words):,} forms have several sub-word pieces"
        note += (
            ". Each has forward passes of its own, which takes time (to compare only verbs of one piece: "
            "--model-args words=pieces)"
            if known[~words.single & words.known].any()
            else ", so their verbs are left out"
        )
        if note not in self._noted:
            self._noted.append(note)

    def _cannot_be_asked(self) -> ModelError:
        return ModelError(
            f"{self.card.name} cannot compare several words after the same prefix, but this suite needs "
            "that.\n"
            "  Use a recurrent model, such as a tseval checkpoint."
        )


# Log-probabilities of alternatives held at once.
ALTERNATIVES = 2**16


def ask(
    model: RecurrentModel, trie: Trie, asks: Asks, asked: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score every node of a trie, and find out what is asked after its contexts.

    Args:
        asked: For every node, what is asked after its context, -1 for nothing, (nodes,); never two different
            things after the same context.

    Returns:
        For every node its log-probability, float32; and, as `Asks.compare` gives them, the two numbers of
        what is asked after its context, not a number where nothing is. (nodes,) each.
    """
    symbols = model.encode(pa.array(asks.symbols, pa.string())).tokens
    logprobs = np.empty(len(asked), dtype=np.float32)
    right, wrong = np.full((2, len(asked)), np.nan)
    for here in visit(model, trie, max(1, min(CONTEXTS_AT_ONCE, ALTERNATIVES // len(symbols)))):
        logprobs[here.nodes] = logprobs_after(model, here.state, here.rows, here.tokens)
        firsts = np.unique(here.rows, return_index=True)[1]
        asks_of_rows = np.maximum.reduceat(asked[here.nodes], firsts)
        rows = np.flatnonzero(asks_of_rows >= 0)
        if len(rows):
            pairs = np.repeat(rows, len(symbols)), np.tile(symbols, len(rows))
            table = logprobs_after(model, here.state, *pairs).reshape(len(rows), len(symbols))
            both = np.full((2, len(asks_of_rows)), np.nan)
            both[:, rows] = asks.compare(asks_of_rows[rows], table)
            both = np.where(asked[here.nodes] >= 0, both[:, here.rows], np.nan)
            right[here.nodes], wrong[here.nodes] = both
    return logprobs, right, wrong


def refuse_infinite(sentences: pa.StringArray, asked: Sequence[np.ndarray], answers: np.ndarray) -> None:
    """Refuse answers, (words,), that are not finite: comparing them would decide nothing.

    `asked` holds for each sentence what is asked before each word, -1 for nothing, (words,).
    """
    wrong = np.flatnonzero((np.concatenate(asked) >= 0) & ~np.isfinite(answers))
    if len(wrong):
        ends = np.cumsum([len(asks) for asks in asked])
        sentence = sentences[int(np.searchsorted(ends, wrong[0], side="right"))].as_py()
        raise wrong_output(
            f"the model gives the log-probability {answers[wrong[0]]} to a symbol in "
            f"{sentence!r}, but the number must be finite"
        )


def _encoded_by(model: RecurrentModel | TokenModel, sentences: pa.StringArray) -> Encoded:
    encoded = model.encode(sentences)
    refuse_misencoded(encoded, sentences, model.card.name)
    return encoded


# Memory for the states of two neighbouring levels of a trie.
STATE_BYTES = 384 * 2**20


class RecurrentScorer(Scorer):
    """Scores with a model whose state after a prefix can be kept."""

    def __init__(self, model: RecurrentModel) -> None:
        super().__init__(model, Memory(max(1, STATE_BYTES // (2 * model.row_bytes)), "sentences"))
        self._model = model

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Advance the model to every distinct context."""
        refuse_empty(sentences)
        encoded = self.encoded(sentences)

        def words(trie: Trie, _: slice) -> np.ndarray:
            return node_logprobs(self._model, trie)

        return encoded, self._by_tries(encoded, words)

    def check_symbols(self, asks: Asks) -> None:
        """Refuse symbols that the model does not know."""
        encoded = self._model.encode(pa.array(asks.symbols, pa.string()))
        unknown = [symbol for symbol, n in zip(asks.symbols, encoded.n_unknown, strict=True) if n]
        if unknown:
            listed = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            raise ModelError(
                f"{self.card.name} has no word for the symbols {listed} in its vocabulary, so it cannot "
                "choose among them.\n"
                "  Use a model that was trained on strings of this formal language."
            )

    @torch.inference_mode()
    def answer(self, sentences: pa.StringArray, asked: Asked) -> pa.Table:
        """Ask after contexts while they are there."""
        self.check_symbols(asked.asks)
        encoded = self.encoded(sentences)
        before = np.concatenate(asked.before)
        starts = np.concatenate(([0], np.cumsum(encoded.lengths)))

        def words(trie: Trie, part: slice) -> np.ndarray:
            at_nodes = np.empty(int(trie.paths.max()) + 1, dtype=np.int64)
            at_nodes[trie.paths] = before[starts[part.start] : starts[part.stop]]
            return np.stack(ask(self._model, trie, asked.asks, at_nodes), axis=1)

        logprobs, right, wrong = self._by_tries(encoded, words).T
        table = rows_of_words(sentences, encoded, logprobs.astype(np.float32), self.card.name)
        offsets = pa.array(np.concatenate(([0], np.cumsum(encoded.lengths))), pa.int32())
        for name, column in (("right", right), ("wrong", wrong)):
            refuse_infinite(sentences, asked.before, column)
            values = pa.array(column, pa.float64(), from_pandas=True)
            table = table.append_column(name, pa.ListArray.from_arrays(offsets, values))
        return table

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        return _encoded_by(self._model, sentences)

    def _by_tries(
        self, encoded: Encoded, score: Callable[[Trie, slice], np.ndarray], roots: np.ndarray | None = None
    ) -> np.ndarray:
        """Score the nodes of a trie for each part that fits into memory; give what words get, (words, ...).

        `score` gives a number, or several, for each node of a trie, told which sentences it is made of.
        `roots` is the text that each sentence stands behind, (sentences,).
        """
        starts = np.concatenate(([0], np.cumsum(encoded.lengths)))

        def part(start: int, stop: int) -> np.ndarray:
            words = slice(starts[start], starts[stop])
            some = None if roots is None else np.unique(roots[start:stop], return_inverse=True)[1]
            trie = build_trie(encoded.tokens[words], encoded.lengths[start:stop], roots=some)
            self.n_contexts += trie.n_contexts
            of_words: np.ndarray = score(trie, slice(start, stop))[trie.paths]
            return of_words

        return self._memory.in_parts(len(encoded.lengths), part)


# Sentences that a model gets at a time.
BATCH = 64


class SentenceScorer(Scorer):
    """Scores with a model that gives the log-probabilities of the words of sentences, and no more."""

    def __init__(self, model: SentenceModel) -> None:
        super().__init__(model, Memory(BATCH, "sentences"))
        self._model = model

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Return the model sentences sorted by length; the tokens are words."""
        refuse_empty(sentences)
        encoded, texts = self._encode(sentences), _texts_of(sentences)
        lengths = encoded.lengths
        order = np.argsort(lengths, kind="stable")

        def part(start: int, stop: int) -> np.ndarray:
            return self._batch([texts[i] for i in order[start:stop]])

        by_length = self._memory.in_parts(len(texts), part)
        self.n_contexts += len(by_length)
        rows = np.split(by_length, np.cumsum(lengths[order])[:-1])
        return encoded, np.concatenate([rows[i] for i in np.argsort(order)])

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        texts = _texts_of(sentences)
        seen, n_unknown = self._seen(sentences, texts)
        lengths = np.array([len(text.split()) for text in texts], dtype=np.int64)
        return Encoded(seen, np.empty(0), lengths, n_unknown)

    def _batch(self, batch: list[str]) -> np.ndarray:
        who = self.card.name
        some = f"{len(batch)} sentences, the first {quoted_text(batch[0])}"
        rows = check_list(self._model.word_logprobs(batch), who, f"log-probabilities of the words of {some}")
        if len(rows) != len(batch):
            raise wrong_output(f"{who} returned {len(rows)} lists of log-probabilities, but received {some}")
        words = [
            as_numbers(row, who, f"log-probabilities of the words of {quoted_text(text)}")
            for text, row in zip(batch, rows, strict=True)
        ]
        for text, row in zip(batch, words, strict=True):
            if len(row) != len(text.split()):
                raise wrong_output(
                    f"{who} returned {len(row)} log-probabilities, but there are {len(text.split())} words "
                    f"in {quoted_text(text)}"
                )
        with np.errstate(over="ignore"):  # what float32 does not hold is infinite, and told with its sentence
            return np.concatenate(words).astype(np.float32)

    def _seen(self, sentences: pa.StringArray, texts: list[str]) -> tuple[pa.StringArray, np.ndarray]:
        """Return sentences as the model sees them, and the unknown words of each, if it can say."""
        if not isinstance(self._model, ReportingModel):
            return sentences, np.zeros(len(texts), dtype=np.int32)
        content = f"sentences as it sees them, for {len(texts)}, the first {quoted_text(texts[0])}"
        texts_seen = check_list(self._model.seen(texts), self.card.name, content)
        if len(texts_seen) != len(texts):
            raise wrong_output(
                f"the method `seen` of {self.card.name} returned {len(texts_seen)} sentences, "
                f"but received {len(texts)}"
            )
        for text, as_seen in zip(texts, texts_seen, strict=True):
            if not isinstance(as_seen, str):
                raise wrong_output(
                    f"the method `seen` of {self.card.name} returned {type(as_seen).__name__}, but must "
                    f"return text, for {quoted_text(text)}"
                )
        n_unknown = np.array([str(text).split().count(UNKNOWN) for text in texts_seen], dtype=np.int32)
        return pa.array(texts_seen, pa.string()), n_unknown


class TokenScorer(Scorer):
    """Scores with a model that splits words into pieces and reads batches of tokens.

    Where single `words` matter they are corrected, if the model says by how much.
    """

    def __init__(self, model: TokenModel, words: bool) -> None:
        super().__init__(model, Memory(model.batch_tokens, "tokens"))
        self._model = model
        self._correcting = model if words and isinstance(model, CorrectingModel) else None

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Let the model score a shard in batches small enough for memory."""
        encoded = self.encoded(sentences)
        result: object = self._memory.whole(lambda size: self._model.token_logprobs(encoded, size))
        match result:
            case (logprobs, int() | np.integer() as n_contexts):
                return encoded, self._checked(logprobs, encoded, int(n_contexts), sentences)
        raise self._gave_no("pair of an array of log-probabilities and a number of contexts", sentences)

    @torch.inference_mode()
    def score_words(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray, np.ndarray | None]:
        """Let the model score tokens and correct words, if it does and words matter."""
        model = self._correcting
        if model is None:
            return super().score_words(sentences)
        encoded = self.encoded(sentences)
        result: object = self._memory.whole(lambda size: model.corrected_logprobs(encoded, size))
        match result:
            case (logprobs, corrections, int() | np.integer() as n_contexts):
                tokens = self._checked(logprobs, encoded, int(n_contexts), sentences)
                if corrections is not None:
                    content = f"corrections of the words of {_named(sentences)}"
                    corrections = as_array(corrections, int(encoded.lengths.sum()), self.card.name, content)
                return encoded, tokens, corrections
        raise self._gave_no("triple of log-probabilities, corrections and a number of contexts", sentences)

    def _checked(
        self, logprobs: object, encoded: Encoded, n_contexts: int, sentences: pa.StringArray
    ) -> np.ndarray:
        self.n_contexts += n_contexts
        content = f"log-probabilities of the tokens of {_named(sentences)}"
        return as_array(logprobs, len(encoded.tokens), self.card.name, content)

    def _gave_no(self, content: str, sentences: pa.StringArray) -> ModelError:
        return wrong_output(
            f"{self.card.name} must return a {content}, but returned something else for {_named(sentences)}"
        )

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        refuse_empty(sentences)
        return _encoded_by(self._model, sentences)

    def token_keys(self, encoded: Encoded) -> list[str]:
        """Name the pieces by their numbers: what two pieces are spelt like may be the same."""
        return [str(token) for token in encoded.tokens.tolist()]

    def token_texts(self, encoded: Encoded) -> list[str]:
        """Spell the pieces."""
        return self._model.token_texts(encoded.tokens)


def _texts_of(sentences: pa.StringArray) -> list[str]:
    """Return sentences to a model that counts their words: a space parts also what is written without one."""
    return [str(text).replace(BOUNDARY, " ") for text in sentences.to_pylist()]


def _named(sentences: pa.StringArray) -> str:
    return f"the sentence {quoted_text(sentences[0].as_py())} and {len(sentences) - 1} others"


class TotalScorer(Scorer):
    """Scores with a model that says nothing of words; batches and memory are its own affair."""

    gives_words = False

    def __init__(self, model: TotalModel) -> None:
        super().__init__(model, Memory(1, "sentences"))
        self._model = model

    @torch.inference_mode()
    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Let the model score the whole shard; `words` are null."""
        refuse_empty(sentences)
        texts = [without_boundaries(str(text)) for text in sentences.to_pylist()]
        content = f"log-probabilities of {len(texts)} sentences, the first {quoted_text(texts[0])}"
        totals = as_numbers(self._model.sentence_logprobs(texts), self.card.name, content)
        if len(totals) != len(sentences):
            raise wrong_output(
                f"{self.card.name} returned {len(totals)} scores, but received {len(sentences)} sentences"
            )
        _, n_words = words_and_lengths(sentences)
        self.n_contexts += len(sentences)
        words = pa.nulls(int(n_words.sum()), pa.float32())
        none = np.zeros(len(sentences), dtype=np.int32)
        return rows_of_sums(
            sentences, Encoded(sentences, np.empty(0), n_words, none), words, totals, self.card.name
        )

    def inflect(self, contexts: pa.StringArray, asked: AskedForms) -> pa.Table:
        """Refuse: nothing is known of words after a context."""
        self.score_tokens(contexts)

    def score_tokens(self, sentences: pa.StringArray) -> NoReturn:
        """Refuse: nothing is known of tokens."""
        raise ModelError(
            f"{self.card.name} gives only one log-probability for a whole sentence, but tseval needs one "
            "for each word here.\n"
            "  Use a model that gives the log-probability of every word."
        )


def scorer_for(model: object, *, words: bool = False) -> Scorer:
    """Return the scorer of a model, the one of the richest protocol that it offers.

    Where single `words` matter and a model splits them into pieces, the numbers of words are probabilities,
    at the cost of a little more computing; else they are sums over pieces, which is all that whole sentences
    need.
    """
    if isinstance(model, RecurrentModel):
        return RecurrentScorer(model)
    if isinstance(model, TokenModel):
        return TokenScorer(model, words)
    if isinstance(model, SentenceModel):
        return SentenceScorer(model)
    refuse_no_model(model, "what should be scored")
    return TotalScorer(cast("TotalModel", model))
