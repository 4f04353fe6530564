"""A folder's claims about its model are checked; its tokenizer and templates run within limits."""

import json
import shutil
import struct
import time

import pytest
import transformers
from checkpoints import save_causal, save_gguf

from tseval.adapters import open_model
from tseval.errors import LimitError, ModelError
from tseval.expressions import goes_back
from tseval.pretrained.lora_options import MOST_REPEATS, refuse_lora_options
from tseval.pretrained.tokenizer import CHAT
from tseval.pretrained.trials import rendered_chat


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("claims") / "model", "gpt2")


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "model")
    return tmp_path / "model"


def add(file, **fields):
    content = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(content | fields))


def refused(folder, said, scheme="hf", error=ModelError):
    began = time.monotonic()
    with pytest.raises(error, match=said):
        open_model(f"{scheme}:{folder}")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("number", [2_000, 10**9, 10**30, 1e300])
@pytest.mark.parametrize("name", ["n_layer", "num_hidden_layers", "num_layers", "n_layers", "num_experts"])
def test_more_layers_than_there_are_tensors_are_refused_before_anything_is_built(name, number, folder):
    add(folder / "config.json", **{name: number})
    refused(folder, f"config.json: {name} is [0-9,e+]+, but the weight files have weights for at most")


def test_counts_within_other_settings_are_found_too(folder):
    add(folder / "config.json", text_config={"num_hidden_layers": 10**9})
    refused(folder, "num_hidden_layers")


@pytest.mark.parametrize(
    ("name", "number"), [("vocab_size", 10**12), ("n_positions", 10**11), ("n_inner", 10**10)]
)
def test_sizes_that_the_files_could_never_fill_are_refused(name, number, folder):
    add(folder / "config.json", **{name: number})
    refused(folder, "describes [0-9,]+ weights, but the weight files have only [0-9,]+ bytes")


def test_labels_without_end_are_refused(folder):
    add(folder / "config.json", num_labels=10**9)
    refused(folder, "num_labels")


BOMBS = {
    "a long text": "{{ 'a' * 9999999999 }}",
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "doublings": "{% set ns = namespace(x='ab') %}{% for i in range(60) %}"
    "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "powers": "{{ 9 ** 9 ** 9 ** 9 }}",
    "a filter": "{{ 'x' | center(99999999999) }}",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOMBS)
def test_a_template_that_never_ends_is_refused_in_time(kind, folder, monkeypatch):
    monkeypatch.setenv("TSEVAL_LIMITS", "trial_seconds=3,trial_bytes=600M")
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    add(folder / "tokenizer_config.json", chat_template=f"{tokens.eos_token}{BOMBS[kind]}")
    began = time.monotonic()
    said = "the chat template takes"
    try:
        open_model(f"hf:{folder}")  # a template that raises another error marks a chat model
    except LimitError as error:
        said = str(error)
    assert "the chat template takes" in said
    assert time.monotonic() - began < 20


TEMPLATES = {
    "chatml": "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "macros": "{%- macro one(m) -%}[{{ m.content | trim }}]{%- endmacro -%}{{ bos_token }}"
    "{% for m in messages %}{{ one(m) }}{{ eos_token if loop.last else '' }}{% endfor %}",
    "system": "{% set ns = namespace(found=false) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set ns.found = true %}U:{{ m.content }}{% elif m.role == 'assistant' %}A:{{ m.content | tojson }}"
    "{{ eos_token }}"
    "{% endif %}{% endfor %}{{ ns.found }}",
    "loop controls": "{% for m in messages %}{% if loop.index > 2 %}{% break %}{% endif %}"
    "{{ m.content }}{% endfor %}",
    "generation": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "raises": "{{ raise_exception('roles must alternate') }}",
    "lines": "{% for m in messages %}\n    {{ m.role }}\n    {%- if m.content %}\n  x\n"
    "    {% endif %}\n{% endfor %}\n",
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_is_rendered_as_transformers_does(kind, folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = TEMPLATES[kind]
    try:
        expected = tokenizer.apply_chat_template(CHAT, tokenize=False)
    except Exception:
        expected = None
    known = json.dumps(tokenizer.special_tokens_map, default=str)
    assert rendered_chat("m", TEMPLATES[kind], json.dumps(CHAT), known) == expected


@pytest.mark.slow
@pytest.mark.parametrize("step", ["normalizer", "decoder"])
def test_a_tokenizer_that_makes_texts_without_end_is_refused(step, folder, monkeypatch):
    monkeypatch.setenv("TSEVAL_LIMITS", "trial_seconds=5,trial_bytes=700M")
    grows = {"type": "Replace", "pattern": {"Regex": "."}, "content": "a" * 200}
    steps = {"normalizer": {"type": "Sequence", "normalizers": [grows] * 8},
             "decoder": {"type": "Sequence", "decoders": [grows] * 8}}[step]  # fmt: skip
    add(folder / "tokenizer.json", **{step: steps})
    refused(folder, "its tokenizer takes (more memory|longer)", error=LimitError)


LORA = {"base_model_name_or_path": "x", "peft_type": "LORA", "r": 2, "target_modules": ["c_attn"]}
OPTIONS = [
    {"init_lora_weights": "pissa_niter_999999999"},
    {"init_lora_weights": "anything"},
    {"init_lora_weights": 7},
    {"r": 10**9},
    {"rank_pattern": {"x": 10**9}},
    {"loftq_config": {"loftq_iter": 10**9}},
    {"peft_type": "XLORA"},
    {"peft_type": 3},
    {"megatron_config": {"x": 1}},
    {"target_modules": "(a+)+"},
    {"target_modules": ["(x*)*"]},
    {"rank_pattern": {"(ab|b.)*": 1}},
    {"layers_pattern": "(a+)+"},
    {"exclude_modules": "["},
    {"layer_replication": [[0, 10**9]]},
    {"layer_replication": [[0, 900], [0, 900]]},
    {"layer_replication": [["a", 1]]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_settings_of_a_change_that_nobody_means_are_refused(options, tmp_path):
    with pytest.raises(ModelError, match=f"adapter_config.json: the setting {next(iter(options))} is"):
        refuse_lora_options("hf:x", LORA | options, tmp_path / "adapter_model.safetensors")


HONEST = [
    {},
    {"init_lora_weights": True},
    {"init_lora_weights": "gaussian"},
    {"init_lora_weights": "pissa_niter_16"},
    {"target_modules": r".*\.(q_proj|v_proj)$"},
    {"target_modules": r"^(?!.*visual).*(?:q_proj|k_proj)$"},
    {"rank_pattern": {"model.layers.1.self_attn.q_proj": 4}},
    {"layer_replication": [[0, 16], [8, 24]]},
    {"auto_mapping": {"base_model_class": "A", "parent_library": "b"}},
    {"peft_type": "IA3"},
]


@pytest.mark.parametrize("options", HONEST, ids=str)
def test_settings_that_are_meant_are_read(options, tmp_path):
    refuse_lora_options("hf:x", LORA | options, tmp_path / "adapter_model.bin")


@pytest.mark.parametrize(
    "pattern", ["(a+)+", "(a*)*b", "(?:(?:x?)+)+", ".*.*.*.*.*x", "(a|a)*", "((a{2,5})b){3,}", "["]
)
def test_an_expression_with_repetitions_in_repetitions_is_slow(pattern):
    assert goes_back(pattern, MOST_REPEATS)


def gguf(path, block_count=1, lists=(), tensors=()):
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 1 + len(lists))
    head += text("llama.block_count") + struct.pack("<IQ", 10, block_count)
    for name, length in lists:
        head += text(name) + struct.pack("<IIQ", 9, 0, length) + bytes(length)
    for name, size, offset in tensors:
        head += text(name) + struct.pack("<IQIQ", 1, size, 0, offset)
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(4_096))


def test_a_gguf_that_claims_too_much_is_refused_by_the_claim(tmp_path):
    pytest.importorskip("gguf")
    gguf(tmp_path / "a.gguf", 10**9)
    refused(tmp_path / "a.gguf", "llama.block_count is 1,000,000,000")
    gguf(tmp_path / "b.gguf", lists=[("x", 6_000_001)])
    refused(tmp_path / "b.gguf", "a list of 6,000,001 values")
    gguf(tmp_path / "c.gguf", tensors=[(f"t{i}", 1_000, 0) for i in range(50)])
    refused(tmp_path / "c.gguf", "the weights need 200,000 bytes, but the file has only")


def test_a_sound_gguf_is_still_opened(tmp_path):
    pytest.importorskip("gguf")
    save_gguf(tmp_path / "a.gguf")
    assert open_model(f"hf:{tmp_path / 'a.gguf'}").card.fingerprint
