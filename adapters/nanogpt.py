"""Checkpoints of nanoGPT, `ckpt.pt`, opened as GPT-2: `--model ckpt.pt`.

nanoGPT saves `model` (the weights, sometimes of a compiled module) and `model_args` (the sizes). The model is
GPT-2 with the exact GELU and optional biases. Its matrices are stored as in torch's linear layers, that is,
transposed compared to GPT-2. Character models need the `meta.pkl` of nanoGPT's data folders, subword models
a tokenizer.

Source: karpathy/nanoGPT, model.py and train.py.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from tseval.adapters.hf import CausalModel
from tseval.errors import ModelError, quoted_text, suggest
from tseval.models.checkpoint import hash_weights
from tseval.models.network import no_init
from tseval.models.saved_words import read_words
from tseval.models.state_files import GPT, choose_state, naming, read_state_file
from tseval.pretrained.loading_errors import plain_errors
from tseval.pretrained.opened import Pretrained
from tseval.pretrained.options import take_option
from tseval.pretrained.trials import hold_trial
from tseval.scoring.devices import pick_device

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import GPT2LMHeadModel, PreTrainedTokenizerBase

    from tseval.scoring.protocol import Encoded


ARGUMENTS = ("vocab", "bos", "leading_space", "words", "state")
TRANSPOSED = re.compile(r".*\.(c_attn|c_proj|c_fc)\.weight")
MASK = re.compile(r".*\.attn\.bias")  # attention mask in files of older versions; not a weight


class NanoGPT(CausalModel):
    """A nanoGPT model. A character model cannot read sentences with unknown characters."""

    characters: frozenset[str] | None = None

    @property
    def unreadable(self) -> str:
        """Description of the sentences that `too_long` returns, for messages."""
        return f"longer than {self.card.name} reads" + (
            ", or with unknown characters" if self.characters else ""
        )

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Split sentences into pieces; refuse unknown characters."""
        unreadable = sentences.filter(pa.array(self._strange(sentences)))
        if len(unreadable):
            sentence = quoted_text(unreadable[0].as_py())
            raise ModelError(
                f"the sentence {sentence} has a character that the model {self.card.name} does not know.\n"
                "  Remove the sentence. Or add --too-long skip: pairs with unknown characters then count as "
                "undecidable."
            )
        return super().encode(sentences)

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences cannot be read; see `BoundedModel`."""
        is_strange = self._strange(sentences)
        is_strange[~is_strange] = super().too_long(sentences.filter(pa.array(~is_strange)))
        return is_strange

    def _strange(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences contain an unknown character, (sentences,) bool."""
        if self.characters is None:
            return np.zeros(len(sentences), dtype=np.bool_)
        texts = pc.utf8_trim_whitespace(sentences).to_pylist()
        return np.array([not self.characters.issuperset(str(text)) for text in texts], dtype=np.bool_)


def open_nanogpt(path: Path, name: str, arguments: Mapping[str, str], device: str) -> CausalModel:
    """Open `--model ckpt.pt`; `vocab=` names `meta.pkl`, a tokenizer's folder, or `tokenizer.json`."""
    remaining = dict(arguments)
    if unknown := [argument for argument in remaining if argument not in ARGUMENTS]:
        raise ModelError(
            f"--model-args {unknown[0]}: nanoGPT models have no argument with this name. "
            f"{suggest(unknown[0], ARGUMENTS, 'Arguments')}"
        )
    leading_space = take_option(remaining, "leading_space", ("false", "true")) == "true"
    words = take_option(remaining, "words", ("corrected", "pieces"))
    bos = remaining.pop("bos", "auto")
    with naming(path, arguments):
        model, weights = _read(path, remaining.get("state"))
        characters, tokenizer, digest = _tokenizer(path, remaining.get("vocab"), len(weights[GPT]))
    total = hashlib.sha256(digest.encode())
    hash_weights(total, weights)
    with plain_errors("native", str(path)):
        opened = Pretrained(name, model.to(pick_device(device)), tokenizer, total.hexdigest(), {})
        scorer = NanoGPT(opened, bos, leading_space, words)
    scorer.characters = characters
    return scorer


def _read(path: Path, which: str | None) -> tuple[GPT2LMHeadModel, dict[str, Tensor]]:
    """Load the weights of a checkpoint into a GPT-2 of its sizes; return the model and the weights."""
    try:
        from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415  optional, and heavy
    except ImportError:
        raise ModelError(
            "tseval needs the package transformers to read nanoGPT checkpoints.\n  Install the package: "
            'pip install "tseval[hf]"'
        ) from None
    file = read_state_file(path)
    state = choose_state(file.value, which)
    settings = file.value.get("model_args") if isinstance(file.value, Mapping) else None
    heads = settings.get("n_head") if isinstance(settings, Mapping) else None
    shapes = {
        part: tuple(state.tensors[part].shape)
        for part in (GPT, "transformer.wpe.weight")
        if part in state.tensors
    }
    if type(heads) is not int or heads < 1 or len(shapes) < 2 or shapes[GPT][1] % heads:
        raise ModelError(
            "the file has the tensors of GPT-2, but no model_args of nanoGPT with the number of heads.\n"
            "  For a model of the library transformers, name its folder: --model hf:FOLDER"
        )
    stored = {part: tensor for part, tensor in state.tensors.items() if not MASK.fullmatch(part)}
    file.check(list(stored.values()))
    weights = {part: file.read(tensor).float() for part, tensor in stored.items()}
    (rows, width), (positions, _) = shapes[GPT], shapes["transformer.wpe.weight"]
    tied = "lm_head.weight" not in weights or torch.equal(weights["lm_head.weight"], weights[GPT])
    config = GPT2Config(
        vocab_size=rows, n_positions=positions, n_embd=width, n_head=heads, tie_word_embeddings=tied,
        n_layer=len({part.split(".")[2] for part in weights if part.startswith("transformer.h.")}),
        activation_function="gelu", bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    with no_init():
        model = GPT2LMHeadModel(config).eval()
    expected = {part: tuple(tensor.shape) for part, tensor in model.state_dict().items()}
    filled = {part: tensor.T if TRANSPOSED.fullmatch(part) else tensor for part, tensor in weights.items()}
    if tied:
        filled["lm_head.weight"] = filled[GPT]
    for part, shape in expected.items():
        if part.endswith("bias") and part not in filled:
            filled[part] = torch.zeros(shape)
    if wrong := [
        part
        for part in sorted({*expected, *filled})
        if expected.get(part) != getattr(filled.get(part), "shape", None)
    ]:
        actual, needed = getattr(filled.get(wrong[0]), "shape", "missing"), expected.get(wrong[0], "none")
        raise ModelError(
            f"the shape of the tensor {wrong[0]} is {actual}, but a GPT-2 of {config.n_layer} layers needs "
            f"{needed}.\n"
            "  Save the checkpoint again with nanoGPT's train.py."
        )
    model.load_state_dict(filled)
    return model, weights


def _tokenizer(
    path: Path, vocab: str | None, rows: int
) -> tuple[frozenset[str] | None, PreTrainedTokenizerBase, str]:
    """Return the known characters (None for a subword model), the tokenizer, and its digest."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers  # noqa: PLC0415  optional, and heavy
    from transformers import AutoTokenizer, PreTrainedTokenizerFast  # noqa: PLC0415  heavy

    meta_file = path.parent / "meta.pkl"
    source = Path(vocab) if vocab is not None else meta_file
    if vocab is None and not meta_file.is_file():
        raise ModelError(
            "the checkpoint does not hold the vocabulary, so tseval cannot split text into tokens.\n"
            "  For a model of characters, add --model-args vocab=meta.pkl (from nanoGPT's data folder).\n"
            "  For a model of GPT-2 pieces, add --model-args vocab=FOLDER (with the tokenizer of GPT-2)."
        )
    if source.suffix == ".json" and source.is_file():
        hold_trial(str(source), source)
        tokenizer: PreTrainedTokenizerBase = PreTrainedTokenizerFast(tokenizer_file=str(source))
    elif source.is_file():
        letters = read_words(source, rows)
        if len(letters) > rows or any(len(letter) != 1 for letter in letters):
            raise ModelError(
                f"{source}: the vocabulary should hold at most {rows:,} single characters, but has "
                f"{len(letters):,} entries"
            )
        split = Tokenizer(models.WordLevel({letter: i for i, letter in enumerate(letters)}))
        split.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        return frozenset(letters), PreTrainedTokenizerFast(tokenizer_object=split), json.dumps(letters)
    else:
        hold_trial(str(source), source / "tokenizer.json")
        with plain_errors("vocab", str(source)):
            tokenizer = AutoTokenizer.from_pretrained(str(source))
    if len(tokenizer) > rows:
        raise ModelError(
            f"{source}: the tokenizer has {len(tokenizer):,} tokens, but the weights are for {rows:,}.\n"
            "  Name the tokenizer that the model was trained with: --model-args vocab=FOLDER"
        )
    return None, tokenizer, json.dumps(sorted(tokenizer.get_vocab().items()))
