"""The scorer of models that only answer prompts; each question becomes one row, like a scored sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa

from tseval.errors import ModelError, quoted_text
from tseval.questions.answers import ANSWER, ANSWER_COLUMNS, LOGPROB_1, LOGPROB_2, LONGEST_ANSWER, read_answer
from tseval.scoring.protocol import ABOVE_ZERO, Answer, Encoded, wrong_output
from tseval.scoring.scorer import Scorer
from tseval.scoring.trie import Memory, rows_of_sums, words_and_lengths
from tseval.writing import OR_SECOND, without_boundaries, without_context

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tseval.formats import Json
    from tseval.scoring.protocol import AnswerModel


# Parts of a protocol that only a server's answers reveal: its name for the model, and the days.
SERVED, DATE = "served", "date"


class AnswerScorer(Scorer):
    """A scorer of questions about two sentences; a question is both, with `OR_SECOND` between them."""

    gives_words = False
    only_answers = True

    def __init__(self, model: AnswerModel) -> None:
        super().__init__(model, Memory(1, "sentences"))
        self._model = model

    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Ask all questions, and return the answers as a table."""
        return self.lay_out(sentences, dict(self.ask(sentences, {})))

    def ask(self, questions: pa.StringArray, known: Mapping[str, Answer]) -> Iterator[tuple[str, Answer]]:
        """Yield each question without a known answer, with its answer, as the answers arrive."""
        texts = [str(text) for text in questions.to_pylist() if text not in known]
        unanswered = set(range(len(texts)))
        pairs = [both_sentences(text) for text in texts]
        for place, answer in self._model.answers(pairs) if texts else ():
            if place not in unanswered:
                raise wrong_output(
                    f"{self.card.name} returned an answer to question number {place}, but there is no such "
                    "question, or it already has an answer"
                )
            unanswered.discard(place)
            self.n_contexts += 1
            yield texts[place], self._checked(answer, texts[place])
        if unanswered:
            raise wrong_output(
                f"{self.card.name} did not answer {len(unanswered):,} of {len(texts):,} questions"
            )

    def _checked(self, answer: Answer, question: str) -> Answer:
        if not isinstance(answer, Answer) or not isinstance(answer.text, str):
            raise wrong_output(
                f"the method `answers` of {self.card.name} returned a value of type {type(answer).__name__}, "
                f"but must return an `Answer`, for {quoted_text(without_context(question), 40)}"
            )
        for number in answer.logprobs or ():
            if number is not None and not (np.isfinite(number) and number <= ABOVE_ZERO):
                raise wrong_output(
                    f"{self.card.name} returned the log-probability {number} of an answer, which must be "
                    "finite and at most 0"
                )
        # A server may send a lone surrogate, which cannot be written as UTF-8.
        text = answer.text.encode("utf-8", "replace").decode()[:LONGEST_ANSWER]
        return Answer(text, answer.logprobs, answer.model, answer.date)

    def lay_out(self, questions: pa.StringArray, answers: Mapping[str, Answer]) -> pa.Table:
        """Return one row for each question, in order.

        `ANSWER_COLUMNS` are added to the columns of all scored sentences. `logprob` is the log-probability of
        the answer, or 0 if the model gives no probabilities.
        """
        in_order = [answers[str(text)] for text in questions.to_pylist()]
        logprob_pairs = [answer.logprobs or (None, None) for answer in in_order]
        columns: dict[str, list[object]] = {
            ANSWER: [answer.text for answer in in_order],
            LOGPROB_1: [first for first, _ in logprob_pairs],
            LOGPROB_2: [second for _, second in logprob_pairs],
        }
        logprobs = np.array([_of_answer(answer) for answer in in_order])
        _, n_words = words_and_lengths(questions)
        zeros = np.zeros(len(questions), dtype=np.int32)
        encoded = Encoded(questions, np.empty(0), n_words, zeros)
        words = pa.nulls(int(n_words.sum()), pa.float32())
        table = rows_of_sums(questions, encoded, words, logprobs, self.card.name)
        for name, kind in ANSWER_COLUMNS.items():
            table = table.append_column(name, pa.array(columns[name], kind))
        return table

    def score_tokens(self, sentences: pa.StringArray) -> NoReturn:
        """Refuse: a model that only answers gives no scores of tokens."""
        raise no_logprobs(self.card.name)


def no_logprobs(name: str) -> ModelError:
    """Make the error for tasks that need log-probabilities."""
    return ModelError(
        f"{name} is a prompt model: it only answers questions about two sentences, but this needs "
        "log-probabilities.\n"
        "  Use a model that gives them, such as hf:FOLDER, or ask with tseval run or tseval pair."
    )


def served_by(answers: Mapping[str, Answer]) -> dict[str, Json]:
    """Return the parts of a protocol that a server's answers add: its name for the model, and the days."""
    names = {answer.model for answer in answers.values() if answer.model is not None}
    days = sorted({answer.date for answer in answers.values() if answer.date is not None})
    parts: dict[str, Json] = {SERVED: min(names)} if names else {}
    return parts | ({DATE: days[0] if len(days) == 1 else f"{days[0]}/{days[-1]}"} if days else {})


def refuse_another_model(before: str | None, answer: Answer, name: str) -> None:
    """Refuse an answer from another model than before."""
    if before is not None and answer.model is not None and answer.model != before:
        raise ModelError(
            f"{name}: the server answered as {quoted_text(answer.model)}, but earlier in this run as "
            f"{quoted_text(before)}.\n"
            "  Name one version of the model (--model-args model=NAME), and start a new run."
        )


def both_sentences(question: str) -> tuple[str, str]:
    """Return the first and the second sentence of a question."""
    first, _, second = question.partition(OR_SECOND)
    return without_boundaries(first), without_boundaries(second)


def _of_answer(answer: Answer) -> float:
    number = read_answer(answer.text)
    logprob = None if answer.logprobs is None or number == 0 else answer.logprobs[number - 1]
    return 0.0 if logprob is None else min(logprob, 0.0)
