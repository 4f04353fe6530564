"""Local chat models of transformers, which get prompts in their own chat template."""

from __future__ import annotations

import hashlib
import inspect
import json
from typing import TYPE_CHECKING, Any

import torch

from tseval.errors import ModelError, first_line
from tseval.pretrained.logits import OWN_LOGITS
from tseval.pretrained.opening import open_pretrained
from tseval.pretrained.trials import rendered_chat
from tseval.prompting.answer_tokens import answer_of
from tseval.prompting.asked_model import (
    PROBABILITIES,
    TEXT,
    AskedModel,
    protocol_of,
    take_answer,
    take_whole,
)
from tseval.prompting.template import DEFAULT, open_template
from tseval.scoring.precision import stated_precision
from tseval.scoring.protocol import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.formats import Json
    from tseval.pretrained.opened import Pretrained
    from tseval.prompting.template import PromptTemplate
    from tseval.scoring.protocol import ModelCard


KEYS = ("answer", "max_tokens", "prompt")  # all other arguments go to transformers
MAX_TOKENS = 1
LONGEST_SPELLING = 8  # characters of a token that may be 1 or 2, including marks of spaces


class ChatModel(AskedModel):
    """A chat model on this machine."""

    def __init__(
        self, opened: Pretrained, template: PromptTemplate, card: ModelCard, max_tokens: int
    ) -> None:
        super().__init__(template, card)
        self.opened, self.max_tokens = opened, max_tokens
        self.warnings += opened.notes
        self._numbers = _spellings_of_numbers(opened)
        parameters = inspect.signature(opened.model.forward).parameters
        self._last_only: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}

    def answers(self, questions: Sequence[tuple[str, str]]) -> Iterator[tuple[int, Answer]]:
        """Answer prompts of equal length together, because padding must not separate prompt and answer."""
        ids = [self._ids(self.prompt(question)) for question in questions]
        by_length: dict[int, list[int]] = {}
        for place, tokens in enumerate(ids):
            by_length.setdefault(len(tokens), []).append(place)
        for length, places in sorted(by_length.items()):
            self._check_fits(length)
            at_once = self._at_once(length)
            for start in range(0, len(places), at_once):
                batch = places[start : start + at_once]
                rows = torch.tensor([ids[place] for place in batch], device=self.opened.model.device)
                with torch.inference_mode(), stated_precision():
                    batch_answers = self._written(rows) if self.max_tokens_apply else self._compared(rows)
                yield from zip(batch, batch_answers, strict=True)

    @property
    def max_tokens_apply(self) -> bool:
        """Whether the model generates its answer; otherwise, the probabilities of 1 and 2 are compared."""
        return self.card.protocol["answer"] == TEXT

    def _at_once(self, length: int) -> int:
        n_rows = 1 if self._last_only else length
        return max(1, min(self.opened.batch_tokens // length, OWN_LOGITS // (self.opened.n_tokens * n_rows)))

    def _compared(self, rows: torch.Tensor) -> list[Answer]:
        output = self.opened.model(**self.opened.inputs(rows), **self._last_only)
        logprobs = output.logits[:, -1].float().log_softmax(-1)
        texts, tokens = self._numbers
        of_numbers = logprobs[:, torch.tensor(tokens, device=logprobs.device)].double().cpu().numpy()
        answers = []
        for row in of_numbers.tolist():
            text, both_logprobs = answer_of(zip(texts, row, strict=True))
            answers.append(Answer(text, both_logprobs))
        return answers

    def _written(self, rows: torch.Tensor) -> list[Answer]:
        """Generate the most probable tokens, like a server at temperature 0."""
        model, tokenizer = self.opened.model, self.opened.tokenizer
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        output = model.generate(
            input_ids=rows, attention_mask=torch.ones_like(rows), max_new_tokens=self.max_tokens,
            do_sample=False, temperature=None, top_p=None, top_k=None, pad_token_id=pad,
        )  # fmt: skip
        texts = tokenizer.batch_decode(output[:, rows.shape[1] :], skip_special_tokens=True)
        return [Answer(text) for text in texts]

    def _ids(self, prompt: str) -> list[int]:
        text = chat_text(self.opened.tokenizer, prompt)
        ids: list[int] = self.opened.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _check_fits(self, length: int) -> None:
        longest = self.opened.longest
        if longest is not None and length + self.max_tokens > longest:
            raise ModelError(
                f"a prompt has {length} tokens, but {self.card.name} reads at most {longest}.\n"
                "  Write a shorter template (--prompt FILE), or leave out the longest items."
            )


def chat_text(tokenizer: Any, prompt: str) -> str:
    """Return the text for a chat model: one user message, and the beginning of the reply."""
    messages = [{"role": "user", "content": prompt}]
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return text


def _spellings_of_numbers(opened: Pretrained) -> tuple[list[str], list[int]]:
    """Find all tokens that are 1 or 2 except for spaces; return their texts and ids."""
    texts, ids = [], []
    for token, number in sorted(opened.tokenizer.get_vocab().items()):
        is_short = number < opened.n_tokens and len(token) <= LONGEST_SPELLING
        if is_short and ("1" in token or "2" in token):
            text = opened.tokenizer.decode([number]).strip()
            if text in {"1", "2"}:
                texts.append(text)
                ids.append(number)
    if len({*texts}) < 2:
        raise ModelError(
            f"prompt:hf:{opened.name}: the tokenizer has no tokens for 1 and 2, so tseval cannot compare "
            "their probabilities.\n  Use another model."
        )
    return texts, ids


def open_chat(rest: str, arguments: Mapping[str, str], device: str) -> ChatModel:
    """Open `prompt:hf:PATH_OR_ID`."""
    options = dict(arguments)
    template, answer = open_template(options.pop("prompt", DEFAULT)), take_answer(options, PROBABILITIES)
    max_tokens = take_whole(options, "max_tokens", MAX_TOKENS)
    opened = open_pretrained("prompt:hf", "AutoModelForCausalLM", rest, options, device, KEYS)
    chat = _check_chat_template(opened, template)
    length: dict[str, Json] = {"max_tokens": max_tokens} if answer == TEXT else {}
    protocol: dict[str, Json] = {
        **protocol_of(template, answer), **length, "chat_template": chat, "dtype": opened.dtype,
        **opened.options,
    }  # fmt: skip
    card = opened.card("prompt", {}, "single", template=template.text)
    card = type(card)(card.name, card.kind, card.fingerprint, protocol, card.details)
    return ChatModel(opened, template, card, max_tokens)


def _check_chat_template(opened: Pretrained, template: PromptTemplate) -> str:
    """Return the digest of a model's chat template, after a trial in a separate process."""
    where, tokenizer = f"prompt:hf:{opened.name}", opened.tokenizer
    prompt = template.render("The author laughs.", "The author laugh.")
    try:
        text = str(tokenizer.get_chat_template())
    except Exception:  # there is no template, or there are several
        raise ModelError(
            f"{where}: the tokenizer has no chat template, so tseval does not know how to ask the model.\n"
            "  Use a chat model (its name often ends in -Instruct or -chat), or add chat_template.jinja."
        ) from None
    tokens = json.dumps(tokenizer.special_tokens_map, default=str)
    rendered_chat(where, text, json.dumps([{"role": "user", "content": prompt}]), tokens)
    try:
        chat = chat_text(tokenizer, prompt)
    except Exception as error:  # a template may raise anything
        raise ModelError(
            f"{where}: the chat template refuses a question ({first_line(error)}).\n  Use another model."
        ) from None
    if not all(line in chat for line in prompt.split("\n")):
        raise ModelError(
            f"{where}: the chat template changes or leaves out the question.\n  Use another model."
        )
    return hashlib.sha256(text.encode()).hexdigest()[:16]
