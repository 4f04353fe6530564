"""Models that others made: a published pickle in both formats of torch, and a folder of transformers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from pathlib import Path

from attacks.files import NOUNS, VERBS

WORDS = ["<eos>", "<unk>", "the", ".", *NOUNS, *VERBS, *(f"{verb}s" for verb in VERBS)]


class RNNModel(nn.Module):
    """A language model as PyTorch's example has it; pickled whole, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(len(WORDS), 6)
        self.rnn = nn.LSTM(6, 5, 1)
        self.decoder = nn.Linear(5, len(WORDS))


def write(here: Path) -> None:
    """Write them into a folder."""
    torch.manual_seed(0)
    model = RNNModel()
    with warnings.catch_warnings(action="ignore"):  # of source code that a class in this file has
        torch.save(model, here / "published.pt")
        torch.save(model, here / "legacy.pt", _use_new_zipfile_serialization=False)
    (here / "words.txt").write_text("\n".join(WORDS) + "\n")
    _write_gpt2(here / "gpt2")


def _write_gpt2(folder: Path) -> None:
    """Write a model of transformers that knows the same words."""
    import transformers  # noqa: PLC0415 - heavy
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415 - comes with it

    transformers.utils.logging.disable_progress_bar()
    ids = {word: i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"bos_token": "<eos>", "eos_token": "<eos>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    sizes = transformers.GPT2Config(
        vocab_size=len(WORDS), n_embd=8, n_layer=1, n_head=2, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    transformers.GPT2LMHeadModel(sizes).save_pretrained(folder)
