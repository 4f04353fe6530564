"""The token that stands before every sentence: without one, nothing says how probable a first token is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tseval.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def find_start(tokenizer: PreTrainedTokenizerBase, bos: str) -> int | None:
    """Find the token that stands before every sentence.

    Args:
        tokenizer: Of the model.
        bos: `auto`, the tokenizer's beginning of sequence if it has one, else its end of text if that stood
            between training texts; `tokenizer`, what it puts before a text by itself, if anything; `true`,
            its beginning of sequence, which it must have; `false`, none; or a token of its vocabulary.

    Raises:
        ModelError: If there is no such token.
    """
    own = cast("int | None", tokenizer.bos_token_id)
    if bos == "auto":
        return separator(tokenizer) if own is None else own
    if bos == "false":
        return None
    if bos == "tokenizer":
        before, _ = special_tokens(tokenizer, "bos=tokenizer")
        if len(before) > 1:
            raise ModelError(
                f"bos=tokenizer: the tokenizer puts {len(before)} tokens before a text.\n"
                "  Name the one that a sentence follows (bos=TOKEN)."
            )
        return before[0] if before else None
    if bos == "true":
        if own is None:
            raise ModelError(
                "bos=true: the tokenizer has no beginning of sequence.\n"
                "  Name a token of its vocabulary (bos=TOKEN), or leave the first token unscored (bos=false)."
            )
        return own
    vocabulary = tokenizer.get_vocab()
    if bos not in vocabulary:
        raise ModelError(
            f"bos={bos}: no such token in the vocabulary.\n  Use auto, tokenizer, true, false or a token, "
            f"such as {tokenizer.eos_token or next(iter(vocabulary))}."
        )
    return cast("int", vocabulary[bos])


def separator(tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Find the token that stood between training texts, and so before each of them: the end of text.

    The end of sequence of a model for chats is none: it ends a turn, and a reply came after it. A chat
    template spells such a token out, and not the end of text that the model was trained with before.
    """
    token = tokenizer.eos_token
    if token is None or str(token) in str(tokenizer.chat_template or ""):
        return None
    return cast("int | None", tokenizer.eos_token_id)


def start_kind(tokenizer: PreTrainedTokenizerBase, start: int | None) -> str:
    """Say what the token before every sentence is: `bos`, `eos`, `named` (another token), or `none`."""
    if start is None:
        return "none"
    if start == tokenizer.bos_token_id:
        return "bos"
    return "eos" if start == tokenizer.eos_token_id else "named"


def special_tokens(tokenizer: PreTrainedTokenizerBase, who: str) -> tuple[list[int], list[int]]:
    """Give the special tokens that a tokenizer puts before and after a text by itself.

    Raises:
        ModelError: It makes nothing but special tokens; the message begins with `who`.
    """
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids = cast("list[int]", encoded["input_ids"])
    special = cast("list[int]", encoded["special_tokens_mask"])
    if 0 not in special:
        raise ModelError(f"{who}: the tokenizer makes only special tokens of the letter a")
    first = special.index(0)
    last = len(special) - special[::-1].index(0)
    return ids[:first], ids[last:]
