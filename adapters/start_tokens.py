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
            between training texts; `true`, its beginning of sequence, which it must have; `false`, none; or a
            token of its vocabulary.

    Raises:
        ModelError: If there is no such token.
    """
    own = cast("int | None", tokenizer.bos_token_id)
    if bos == "auto":
        return separator(tokenizer) if own is None else own
    if bos == "false":
        return None
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
            f"bos={bos}: no such token in the vocabulary.\n  Use auto, true, false or a token, such as "
            f"{tokenizer.eos_token or next(iter(vocabulary))}."
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
