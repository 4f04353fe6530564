"""Opening of tokenizers, with a check that they split text as their files say.

transformers rebuilds some tokenizers from vocabulary and merges, and ignores other parts of their files (a
normalizer, added tokens, the splitting of words). A file may also contain settings for training (dropout),
and a folder's custom class may change a text first. None of this raises an error. So every opened tokenizer
is compared with its file, and with a second run of itself, on made-up sentences.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tseval.errors import ModelError
from tseval.pretrained.trials import hold_trial, rendered_chat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

# Texts with features that tokenizers treat differently: they split, join, drop or change them.
TEXTS = (
    "The Authors near the Guard laugh .",
    "the authors can't laugh, and I'VE said so: it's 12,345.67 (or $5) per-cent!",
    " two  spaces, a\ttab and a\nbreak \n",
    "Élan naïve coöperate São ß ŒUVRE ﬁn ½ x² e\u0301",
    "Ελλάδα İstanbul Журнал 私は学生です。 नमस्ते 👩‍👩‍👧",
    "“quotes” ‘and’ — dashes … «others» \"plain\" 'ones' <s> </s>",
)
DRAWN, LENGTH = 12, 8  # additional texts of tokens from the whole vocabulary
MOST_ADDED = 50  # added tokens that are tested inside a text


def open_tokenizer(
    where: str, source: str, keywords: Mapping[str, Any]
) -> tuple[PreTrainedTokenizerBase, list[str]]:
    """Open a tokenizer that gives the pieces of its file, and the same pieces every time.

    Returns:
        The tokenizer, and notes for users.
    """
    import transformers  # noqa: PLC0415  optional, and heavy

    places = {name: value for name, value in keywords.items() if name != "trust_remote_code"}
    path = _find(source, "tokenizer.json", places)
    if path is not None:
        hold_trial(where, path)
    if not keywords.get("trust_remote_code"):
        _refuse_own_code(where, source, places)
    tokenizer = transformers.AutoTokenizer.from_pretrained(source, **keywords)
    notes = []
    if tokenizer.is_fast and _drops_merges(tokenizer.backend_tokenizer):
        notes.append("the tokenizer's dropout, which is for training, is left out")
    texts = [*TEXTS, *draw_texts(tokenizer, DRAWN, LENGTH)]
    if path is not None and splits_by_backend(tokenizer):
        notes += _follow_file(where, tokenizer, path, texts)
    if pieces_of(tokenizer, texts) != pieces_of(tokenizer, texts):
        raise ModelError(
            f"{where}: the tokenizer is random: it splits the same text differently each time.\n"
            "  Switch off the random step (it is for training), and save the tokenizer again."
        )
    return tokenizer, notes


def splits_by_backend(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the library `tokenizers` alone makes the pieces, and gives their positions.

    A class from outside transformers may change any step.
    """
    packages = ("transformers.models.", "transformers.tokenization")
    return bool(tokenizer.is_fast) and type(tokenizer).__module__.startswith(packages)


def form_read(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return the form of the training text: `tokenised` for a word-level vocabulary, else `natural`."""
    by_words = tokenizer.is_fast and type(tokenizer.backend_tokenizer.model).__name__ == "WordLevel"
    return "tokenised" if by_words else "natural"


def _find(source: str, name: str, places: Mapping[str, Any]) -> Path | None:
    """Find a file of a tokenizer, in its folder or the hub's cache."""
    from transformers.utils import cached_file  # noqa: PLC0415  optional, and heavy

    path_text = cached_file(source, name, _raise_exceptions_for_missing_entries=False, **places)
    return None if path_text is None else Path(path_text)


def _refuse_own_code(where: str, source: str, places: Mapping[str, Any]) -> None:
    """Refuse custom code without permission, because transformers would use a similar class instead."""
    path = _find(source, "tokenizer_config.json", places)
    config = json.loads(path.read_text("utf-8")) if path else {}
    if "AutoTokenizer" in (config.get("auto_map") or {}):
        raise ModelError(
            f"{where}: the tokenizer has code of its own. Without this code, it splits words differently.\n"
            "  Read the code. To run it, add --model-args trust_remote_code=true"
        )


def _drops_merges(backend: Tokenizer) -> bool:
    """Remove dropout from a tokenizer, and return whether it had any."""
    drops = bool(getattr(backend.model, "dropout", None))
    if drops:
        cast("Any", backend.model).dropout = None
    return drops


def draw_texts(tokenizer: PreTrainedTokenizerBase, n: int, length: int) -> list[str]:
    """Make up `n` texts of `length` tokens from the whole vocabulary."""
    draw = np.random.default_rng(0)
    ids = draw.choice(len(tokenizer), (n, length)).tolist()
    return [tokenizer.decode(row, clean_up_tokenization_spaces=False) for row in ids]


def pieces_of(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """Split texts with the tokenizer, without special tokens."""
    encoded = tokenizer(list(texts), add_special_tokens=False, verbose=False)
    return cast("list[list[int]]", encoded["input_ids"])


def _follow_file(where: str, tokenizer: PreTrainedTokenizerBase, path: Path, texts: list[str]) -> list[str]:
    """Make a tokenizer give the pieces of its file; return a note if it did not."""
    from tokenizers import Tokenizer  # noqa: PLC0415  optional, and heavy

    file = Tokenizer.from_file(str(path))
    file.no_truncation()
    file.no_padding()
    file.encode_special_tokens = tokenizer.backend_tokenizer.encode_special_tokens  # as the user has set it
    _drops_merges(file)
    added = list(map(str, file.get_added_tokens_decoder().values()))[:MOST_ADDED]
    texts = [*texts, *(f"a {token} b{token}" for token in added)]
    expected = [split.ids for split in file.encode_batch(texts, add_special_tokens=False)]
    pieces = pieces_of(tokenizer, texts)
    differ = [text for text, split, other in zip(texts, pieces, expected, strict=True) if split != other]
    if not differ:
        return []
    ids = tokenizer.all_special_ids
    cast("Any", tokenizer)._tokenizer = file
    if tokenizer.all_special_ids != ids or pieces_of(tokenizer, texts) != expected:
        raise ModelError(
            f"{where}: tokenizer.json and {type(tokenizer).__name__} of tokenizer_config.json give different "
            f"pieces (first text: {differ[0]!r}).\n"
            "  Save the tokenizer of the training in the folder of the model: save_pretrained(FOLDER)."
        )
    return [
        f"pieces are those of tokenizer.json; {type(tokenizer).__name__} of transformers gives other pieces"
    ]


def find_starts(tokenizer: PreTrainedTokenizerBase, bos: str) -> tuple[int, ...]:
    """Find the tokens before every sentence, nearly always one.

    Args:
        tokenizer: The tokenizer.
        bos: `auto`: the token before documents in training. That is the token that the tokenizer adds before
            a text; if it adds none, its beginning of sequence; if it has none, its end of text if that
            separated texts. For a chat model whose tokens mark turns, it is the one in the base model's
            vocabulary. `tokenizer`: the token that the tokenizer adds, if any. `true`: its beginning of
            sequence, which must exist. `false` or `none`: no token. Otherwise tokens of its vocabulary,
            separated by spaces.
    """
    bos_id = cast("int | None", tokenizer.bos_token_id)
    if bos == "auto":
        return _starts_of_documents(tokenizer)
    if bos in {"false", "none"}:
        return ()
    if bos == "tokenizer":
        return tuple(special_tokens(tokenizer, "bos=tokenizer")[0])
    if bos == "true":
        if bos_id is None:
            raise ModelError(
                "bos=true: the tokenizer has no beginning-of-sequence token.\n"
                "  Name a token of its vocabulary (bos=TOKEN), or leave the first token unscored (bos=false)."
            )
        return (bos_id,)
    vocabulary = tokenizer.get_vocab()
    names = [bos] if bos in vocabulary else bos.split()
    if missing := [name for name in names if name not in vocabulary]:
        raise ModelError(
            f"bos={bos}: the vocabulary has no token {missing[0]!r}.\n"
            f"  Use auto, tokenizer, true, false, none, or a token such as "
            f"{tokenizer.eos_token or next(iter(vocabulary))}. Separate several tokens by spaces."
        )
    return tuple(cast("int", vocabulary[name]) for name in names)


def find_end(tokenizer: PreTrainedTokenizerBase, eos: str) -> int | None:
    """Return the token that is scored after a sentence: with `eos=true`, the end of sequence."""
    if eos == "false":
        return None
    if tokenizer.eos_token_id is None:
        raise ModelError("eos=true: the tokenizer has no end-of-sequence token. Leave out eos=true.")
    return cast("int", tokenizer.eos_token_id)


def _starts_of_documents(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Find the token before documents in training; see `find_starts`."""
    starts = tuple(special_tokens(tokenizer)[0])
    if starts and not any(
        is_chat_mark(tokenizer, str(token)) for token in tokenizer.convert_ids_to_tokens(list(starts))
    ):
        return starts
    bos_id = cast("int | None", tokenizer.bos_token_id)
    start = separator(tokenizer) if bos_id is None or is_chat_mark(tokenizer, tokenizer.bos_token) else bos_id
    return () if start is None else (start,)


# Tokens that separated or began texts in vocabularies of base models.
SEPARATORS = ("<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<s>", "</s>")
CHAT = [{"role": role, "content": "a"} for role in ("user", "assistant", "user")]


def separator(tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Find the token that separated training texts, and so came before each of them: the end of text.

    In a chat model, the end of sequence ends a turn, and does not separate texts. Then the base model's
    separator is used, if the vocabulary still has it.
    """
    marks = [str(token) for token in (tokenizer.eos_token, tokenizer.bos_token) if token is not None]
    if not marks:
        return None
    if tokenizer.eos_token is not None and not is_chat_mark(tokenizer, marks[0]):
        return cast("int | None", tokenizer.eos_token_id)
    vocabulary = tokenizer.get_vocab()
    others = (token for token in SEPARATORS if token in vocabulary and not is_chat_mark(tokenizer, token))
    return next((cast("int", vocabulary[token]) for token in others), None)


def is_chat_mark(tokenizer: PreTrainedTokenizerBase, token: str | None) -> bool:
    """Return whether a chat template uses a token anywhere except only before the first turn."""
    if not token or str(token) not in str(tokenizer.chat_template or ""):
        return False
    try:
        template = str(tokenizer.get_chat_template())
        tokens = json.dumps(tokenizer.special_tokens_map, default=str)
    except Exception:  # there are several templates, and no default
        return True
    chat = rendered_chat(tokenizer.name_or_path, template, json.dumps(CHAT), tokens)
    return chat is None or chat.rfind(str(token)) != 0


def spell_starts(tokenizer: PreTrainedTokenizerBase, starts: Sequence[int]) -> str | None:
    """Return the text of the tokens before every sentence, separated by spaces; None if there are none."""
    return " ".join(map(str, tokenizer.convert_ids_to_tokens(list(starts)))) or None


def why_starts(tokenizer: PreTrainedTokenizerBase, starts: Sequence[int]) -> str | None:
    """Explain the choice of `auto`, if it is not the beginning of sequence; otherwise return None."""
    if [*starts] == [tokenizer.bos_token_id]:
        return None
    marks = (tokenizer.bos_token, tokenizer.eos_token)
    mark = next((str(token) for token in marks if is_chat_mark(tokenizer, token)), None)
    if starts and [*starts] == special_tokens(tokenizer)[0]:
        reason = "the tokenizer adds it"
    elif mark:
        reason = f"{mark} marks turns of a chat"
    else:
        reason = "the tokenizer has no beginning-of-sequence token"
    start_text = spell_starts(tokenizer, starts) or "no token"
    return (
        f"{start_text} stands before every sentence, because {reason} "
        "(to choose a token: --model-args bos=TOKEN)"
    )


def start_kind(tokenizer: PreTrainedTokenizerBase, starts: Sequence[int]) -> str:
    """Return the kind of tokens before every sentence: `bos`, `eos`, `named` (any others), or `none`."""
    kinds = {(tokenizer.eos_token_id,): "eos", (tokenizer.bos_token_id,): "bos", (): "none"}
    return kinds.get((*starts,), "named")


def special_tokens(tokenizer: PreTrainedTokenizerBase, who: str = "") -> tuple[list[int], list[int]]:
    """Return the special tokens that a tokenizer adds before and after a text.

    A tokenizer that turns a letter into special tokens only is refused. If `who` is empty, it returns no
    tokens instead.
    """
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids = cast("list[int]", encoded["input_ids"])
    special = cast("list[int]", encoded["special_tokens_mask"])
    if 0 not in special:
        if not who:
            return [], []
        raise ModelError(
            f"{who}: the tokenizer turns the letter a into special tokens only.\n"
            "  Save the tokenizer of the training in the folder of the model."
        )
    first = special.index(0)
    last = len(special) - special[::-1].index(0)
    return ids[:first], ids[last:]
