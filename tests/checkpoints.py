"""Tiny transformers models with random weights, saved as users save them. Nothing is downloaded."""

import json
import pathlib
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

transformers.utils.logging.disable_progress_bar()

TEXT = [
    "the author laughs .", "the authors laugh .", "the author that the guard likes laughs .",
    "the authors near the guards laugh .", "no author that the guards like has ever laughed .",
    "the surgeons that admire the taxi drivers swim .", "the pilot injured himself .",
]  # fmt: skip
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
NEOX = {**SMALL, "intermediate_size": 48, "max_position_embeddings": 64}
LLAMA = {**NEOX, "num_key_value_heads": 2}
OPT = {**SMALL, "ffn_dim": 48, "word_embed_proj_dim": 16, "max_position_embeddings": 64}
# The first layer has global attention, the second a window of three tokens.
GPT_NEO: dict[str, Any] = {
    "hidden_size": 32,
    "num_layers": 2,
    "num_heads": 4,
    "window_size": 3,
    "max_position_embeddings": 64,
}
GPT_NEO |= {"attention_types": [[["global", "local"], 1]]}
# Sizes of one tiny model for each kind of attention, position encoding and head.
CONFIGS: dict[str, Any] = {
    "gpt2": (transformers.GPT2Config, {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}),
    "llama": (transformers.LlamaConfig, LLAMA),
    "gpt_neox": (transformers.GPTNeoXConfig, NEOX),
    "opt": (transformers.OPTConfig, OPT),
    "bloom": (transformers.BloomConfig, {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "mistral": (transformers.MistralConfig, {**LLAMA, "sliding_window": 4}),
    "gpt_neo": (transformers.GPTNeoConfig, GPT_NEO),
    "gemma2": (transformers.Gemma2Config, {**LLAMA, "head_dim": 8, "final_logit_softcapping": 2.0}),
    "cohere": (transformers.CohereConfig, {**LLAMA, "logit_scale": 0.3}),
    "mamba": (transformers.MambaConfig, {"hidden_size": 32, "num_hidden_layers": 1, "state_size": 8}),
}  # fmt: skip

T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 1, "num_heads": 4}
HIDDEN, LAYERS, HEADS, INNER = 64, 2, 4, 96
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip

BERT = {**SMALL, "intermediate_size": 48, "max_position_embeddings": 64}
DISTILBERT = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 64}
MODERNBERT = {
    **BERT,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "cls_token_id": 2,
    "eos_token_id": 3,
    "sep_token_id": 3,
}
MASKED: dict[str, Any] = {
    "bert": (transformers.BertConfig, BERT),
    "roberta": (transformers.RobertaConfig, {**BERT, "pad_token_id": 0}),
    "distilbert": (transformers.DistilBertConfig, DISTILBERT),
    "albert": (transformers.AlbertConfig, {**BERT, "embedding_size": 16}),
    "electra": (transformers.ElectraConfig, {**BERT, "embedding_size": 16}),
    "modernbert": (transformers.ModernBertConfig, MODERNBERT),
    "deberta": (transformers.DebertaV2Config, BERT),
}


def bpe_tokenizer(bos="<|endoftext|>", size=300, eos="<|endoftext|>", texts=TEXT):
    """Train a byte-level BPE tokenizer like GPT-2's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<|endoftext|>", "<pad>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=bos, eos_token=eos, pad_token="<pad>"
    )


def wordpiece_tokenizer(size=120, texts=None):
    """Train a lower-casing WordPiece tokenizer; for `texts`, it separates punctuation as BERT does."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    split = pre_tokenizers.BertPreTokenizer if texts else pre_tokenizers.WhitespaceSplit
    tokenizer.pre_tokenizer = split()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts or [text.replace("swim", "") for text in TEXT], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]",
        cls_token="[CLS]", sep_token="[SEP]",
    )  # fmt: skip


def metaspace_tokenizer(texts, size=400):
    """Train a unigram tokenizer like those of ALBERT and XLM-RoBERTa, which split words only at spaces."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
        cls_token="<s>", sep_token="</s>",
    )  # fmt: skip


def save_causal(path: pathlib.Path, kind="gpt2", tokenizer=None, dtype=torch.float32, **changes):
    """Save a tiny causal model. Its logits are spread so that scores differ."""
    make, sizes = CONFIGS[kind]
    tokenizer = tokenizer or bpe_tokenizer()
    torch.manual_seed(0)
    special = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 1}
    model = transformers.AutoModelForCausalLM.from_config(
        make(vocab_size=len(tokenizer), **{**special, **sizes, **changes})
    )
    return save_spread(path, model, tokenizer, dtype)


def save_masked(path: pathlib.Path, kind="bert", tokenizer=None, **changes):
    """Save a tiny masked model."""
    make, sizes = MASKED[kind]
    tokenizer = tokenizer or wordpiece_tokenizer()
    torch.manual_seed(0)
    model = transformers.AutoModelForMaskedLM.from_config(
        make(vocab_size=len(tokenizer), **{**sizes, **changes})
    )
    return save_spread(path, model, tokenizer)


def sentinels(tokenizer):
    """Return a tokenizer like T5's: sentinels and an end token, but no mask and no start token."""
    tokenizer.add_special_tokens({"additional_special_tokens": ["<extra_id_0>", "<extra_id_1>"]})
    tokenizer.mask_token = tokenizer.bos_token = tokenizer.cls_token = tokenizer.sep_token = None
    tokenizer.eos_token = "</s>"
    return tokenizer


def save_t5(path: pathlib.Path, texts=TEXT, size=60, **changes):
    """Save a tiny T5."""
    tokenizer = sentinels(metaspace_tokenizer(texts, size))
    special = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 3}
    config = transformers.T5Config(vocab_size=len(tokenizer), **special, **(T5 | changes))
    torch.manual_seed(0)
    return save_spread(path, transformers.T5ForConditionalGeneration(config), tokenizer)


def interleaved(weight):
    """Order rotary halves as llama.cpp does: the two values of a pair side by side."""
    rows, columns = weight.shape
    return weight.reshape(HEADS, 2, rows // HEADS // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def save_gguf(path: pathlib.Path):
    """Save a tiny Llama as GGUF with the package gguf; matrices are in Q8_0."""
    import gguf  # noqa: PLC0415 - of an extra of its own

    torch.manual_seed(0)
    tokenizer = bpe_tokenizer()
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=HIDDEN, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, intermediate_size=INNER, max_position_embeddings=64,
        )
    )  # fmt: skip
    spread(model)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokenizer))
    backend = tokenizer.backend_tokenizer
    pieces = sorted(backend.get_vocab(), key=backend.get_vocab().get)
    merges = json.loads(backend.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(pieces)
    writer.add_token_types(
        [3 if piece.startswith("<") and piece.endswith(">") and len(piece) > 2 else 1 for piece in pieces]
    )
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(value=False)
    tensors = {
        "token_embd": model.model.embed_tokens.weight,
        "output": model.lm_head.weight,
        "output_norm": model.model.norm.weight,
    }
    for number, layer in enumerate(model.model.layers):
        for theirs, name in NAMES.items():
            tensors[f"blk.{number}.{name}"] = layer.get_submodule(theirs).weight
    for name, weight in tensors.items():
        array = weight.detach().numpy()
        if name.endswith(("attn_q", "attn_k")):
            array = interleaved(array)
        if array.ndim == 1:
            writer.add_tensor(f"{name}.weight", array.astype(np.float32))
        else:
            packed = gguf.quants.quantize(array.astype(np.float32), gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{name}.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def save_spread(path, model, tokenizer, dtype=torch.float32):
    """Save a model with random weights and spread logits, together with its tokenizer."""
    spread(model)
    model.to(dtype).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def spread(model, by=0.3):
    """Draw weights with a large spread: with the usual one, a tiny model's predictions are nearly uniform."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "conv" not in name:
                parameter.normal_(0, by)
