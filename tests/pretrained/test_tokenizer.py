"""The input of a model: pieces from its tokenizer's own file or code, and the tokens around a sentence."""

import json
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
import tokenizers
import torch
import transformers
from checkpoints import bpe_tokenizer, metaspace_tokenizer, save_causal, save_masked
from tokenizers import normalizers, pre_tokenizers, processors

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.scoring.scorers import scorer_for

SENTENCES = ["The Authors near the Guard laugh .", "the author laughs ."]


@cache
def opened(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


def plain(folder, ids, starts=(0,), end=()):
    """Sum log-probabilities of pieces by one plain forward pass, without those of the start."""
    model = opened(folder)
    whole = torch.tensor([*starts, *ids, *end])
    with torch.no_grad():
        table = model(whole[None, :-1]).logits[0].double().log_softmax(-1)
    return table.gather(1, whole[1:, None])[max(0, len(starts) - 1) :].sum().item()


def totals(model, words=False):
    rows = scorer_for(model, words=words).score(pa.array(sorted(SENTENCES))).to_pylist()
    return {row["sentence"]: row["logprob"] for row in rows}


def edit(path, **changes):
    """Change values in a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def ids_of_file(folder, sentence):
    file = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return file.encode(sentence, add_special_tokens=False).ids


def lower_cased(backend):
    backend.normalizer = normalizers.Lowercase()


def stripped_of_marks(backend):
    backend.normalizer = normalizers.Replace(".", "!")


def split_at_letters(backend):
    split = pre_tokenizers.Split(tokenizers.Regex("[aeiou]"), "isolated")
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False)])


def with_added_token(backend):
    backend.add_tokens([tokenizers.AddedToken("uthor", normalized=False)])


@pytest.mark.parametrize("change", [lower_cased, stripped_of_marks, split_at_letters, with_added_token])
@pytest.mark.parametrize("named", ["GPT2Tokenizer", "PreTrainedTokenizerFast"])
def test_pieces_are_those_of_the_file_whatever_the_class_makes_of_it(tmp_path, change, named):
    tokenizer = bpe_tokenizer()
    change(tokenizer.backend_tokenizer)
    save_causal(tmp_path, tokenizer=tokenizer)
    edit(tmp_path / "tokenizer_config.json", tokenizer_class=named)
    tokenizer.backend_tokenizer.model.save(str(tmp_path))  # vocab.json, merges.txt
    model: Any = open_model(f"hf:{tmp_path}")
    for sentence, total in totals(model).items():
        assert total == pytest.approx(plain(tmp_path, ids_of_file(tmp_path, sentence)), abs=1e-4)
    builds_anew = transformers.AutoTokenizer.from_pretrained(tmp_path)("The author").input_ids != ids_of_file(
        tmp_path, "The author"
    )
    assert not builds_anew or any("pieces are those of tokenizer.json" in one for one in model.warnings)


def test_a_file_with_other_special_tokens_than_its_class_is_refused(tmp_path):
    tokenizer = bpe_tokenizer()
    save_causal(tmp_path, tokenizer=tokenizer)
    tokenizer.backend_tokenizer.model.save(str(tmp_path))
    of_another = metaspace_tokenizer(SENTENCES, size=60)
    of_another.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    edit(tmp_path / "tokenizer_config.json", tokenizer_class="GPT2Tokenizer")
    with pytest.raises(ModelError, match="hf:"):
        open_model(f"hf:{tmp_path}")


def test_special_tokens_that_a_text_spells_are_split_where_the_configuration_says_so(tmp_path):
    save_causal(tmp_path)
    edit(tmp_path / "tokenizer_config.json", split_special_tokens=True)
    model: Any = open_model(f"hf:{tmp_path}")
    (row,) = scorer_for(model).score(pa.array(["the <|endoftext|> laughs ."])).to_pylist()
    file = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    file.encode_special_tokens = True
    ids = file.encode("the <|endoftext|> laughs .").ids
    assert 0 not in ids
    assert row["logprob"] == pytest.approx(plain(tmp_path, ids), abs=1e-4)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_file_that_git_lfs_has_not_fetched_is_named(tmp_path, name):
    save_causal(tmp_path)
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 538\n")
    with pytest.raises(ModelError, match=rf"{name} is only a pointer of Git LFS"):
        open_model(f"hf:{tmp_path}")


@pytest.mark.parametrize("save", [save_causal, save_masked])
def test_dropout_that_was_left_in_a_file_is_left_out_and_said(tmp_path, save):
    scheme, tokenizer = "hf" if save is save_causal else "mlm", bpe_tokenizer()
    if scheme == "mlm":
        tokenizer.add_special_tokens({"mask_token": "<mask>"})
    save(tmp_path, tokenizer=tokenizer)
    file = json.loads((tmp_path / "tokenizer.json").read_text())
    edit(tmp_path / "tokenizer.json", model=file["model"] | {"dropout": 0.5})
    models: Any = [open_model(f"{scheme}:{tmp_path}") for _ in range(2)]
    assert totals(models[0]) == totals(models[1])
    assert any("dropout" in warning for warning in models[0].warnings)
    if scheme == "hf":
        for sentence, total in totals(models[0]).items():
            assert total == pytest.approx(plain(tmp_path, tokenizer(sentence).input_ids), abs=1e-4)


LOWER = """
from transformers import PreTrainedTokenizerFast

class Own(PreTrainedTokenizerFast):
    def __call__(self, text, *args, **kwargs):
        lower = text.lower() if isinstance(text, str) else [one.lower() for one in text]
        return super().__call__(lower, *args, **kwargs)
"""
SLOW = """
import json
from pathlib import Path
from transformers import PreTrainedTokenizer

class Own(PreTrainedTokenizer):
    vocab_files_names = {"vocab_file": "letters.json"}

    def __init__(self, vocab_file, **kwargs):
        self.letters = json.loads(Path(vocab_file).read_text())
        super().__init__(**kwargs)

    @property
    def vocab_size(self):
        return len(self.letters)

    def get_vocab(self):
        return dict(self.letters)

    def _tokenize(self, text):
        return list(text.lower().replace(" ", "_"))

    def _convert_token_to_id(self, token):
        return self.letters.get(token, 1)

    def _convert_id_to_token(self, index):
        return list(self.letters)[index]
"""
CHANCE = """
import random
from transformers import PreTrainedTokenizerFast

class Own(PreTrainedTokenizerFast):
    def __call__(self, text, *args, **kwargs):
        texts = [text] if isinstance(text, str) else text
        changed = [random.choice((str.lower, str.upper))(one) for one in texts]
        return super().__call__(changed[0] if isinstance(text, str) else changed, *args, **kwargs)
"""


def save_with_code(folder, code):
    save_causal(folder)
    (folder / "own.py").write_text(code)
    files = ["own.Own", None] if "Fast" not in code else [None, "own.Own"]
    edit(folder / "tokenizer_config.json", tokenizer_class="Own", auto_map={"AutoTokenizer": files})
    if code == SLOW:
        (folder / "tokenizer.json").unlink()
        letters = ["<|endoftext|>", "?", *"_.abcdefghijklmnopqrstuvwxyz"]
        (folder / "letters.json").write_text(json.dumps({letter: i for i, letter in enumerate(letters)}))
    return folder


@pytest.mark.parametrize("code", [LOWER, SLOW])
def test_code_of_a_tokenizers_own_is_run_or_refused_and_never_passed_by(tmp_path, code):
    save_with_code(tmp_path, code)
    with pytest.raises(ModelError, match=r"tokenizer has code of its own.*\n.*trust_remote_code=true"):
        open_model(f"hf:{tmp_path}")
    model = open_model(f"hf:{tmp_path}", {"trust_remote_code": "true"})
    own = transformers.AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=True)
    for sentence, total in totals(model).items():
        ids = own(sentence, add_special_tokens=False)["input_ids"]
        assert total == pytest.approx(plain(tmp_path, ids), abs=1e-4)
    found = totals(model)
    assert len(set(found.values())) == 2
    if code == LOWER:
        assert ids_of_file(tmp_path, SENTENCES[0]) != own(SENTENCES[0])["input_ids"]


def test_a_tokenizer_that_leaves_pieces_to_chance_is_refused(tmp_path):
    save_with_code(tmp_path, CHANCE)
    with pytest.raises(ModelError, match="splits the same text differently each time"):
        open_model(f"hf:{tmp_path}", {"trust_remote_code": "true"})


@pytest.fixture(scope="module")
def glm(tmp_path_factory):
    """Save a model whose tokenizer puts two tokens before a text, like GLM's."""
    tokenizer = bpe_tokenizer(bos=None, size=300)
    tokenizer.add_special_tokens({"additional_special_tokens": ["[gMASK]", "<sop>"]})
    marks = [(token, tokenizer.convert_tokens_to_ids(token)) for token in ("[gMASK]", "<sop>")]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[gMASK] <sop> $A", special_tokens=marks
    )
    return save_causal(tmp_path_factory.mktemp("glm"), tokenizer=tokenizer), [number for _, number in marks]


@pytest.mark.slow
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("bos", ["auto", "tokenizer", "[gMASK] <sop>", "<sop> [gMASK]", "<sop>", "none"])
def test_what_stands_before_a_text_may_be_several_tokens(glm, bos, words):
    folder, (mask, sop) = glm
    starts = {"<sop> [gMASK]": [sop, mask], "<sop>": [sop], "none": []}.get(bos, [mask, sop])
    model: Any = open_model(f"hf:{folder}", {"bos": bos, "eos": "true" if words else "false"})
    for sentence, total in totals(model, words).items():
        ids = ids_of_file(folder, sentence)
        assert total == pytest.approx(plain(folder, ids, starts, [0] if words else []), abs=1e-4)
    named = {(): None, (sop,): "<sop>", (sop, mask): "<sop> [gMASK]", (mask, sop): "[gMASK] <sop>"}
    assert model.card.protocol["bos"] == named[tuple(starts)]
    said = "[gMASK] <sop> stands before every sentence, because the tokenizer adds it"
    assert any(said in one for one in model.warnings) == (bos == "auto")


@pytest.mark.parametrize("kind", ["gpt2", "bloom", "gemma2", "mamba"])
def test_the_end_of_a_sentence_is_scored_where_it_is_asked_for(tmp_path, kind):
    save_causal(tmp_path, kind)
    with_end, without = (open_model(f"hf:{tmp_path}", {"eos": eos}) for eos in ("true", "false"))
    assert (with_end.card.protocol.get("eos"), without.card.protocol.get("eos")) == (True, None)
    for sentence, total in totals(with_end).items():
        ids = ids_of_file(tmp_path, sentence)
        assert total == pytest.approx(plain(tmp_path, ids, end=(0,)), abs=2e-4)
        assert totals(without)[sentence] == pytest.approx(plain(tmp_path, ids), abs=2e-4)


def test_an_end_that_a_tokenizer_lacks_is_one_message(tmp_path):
    save_causal(tmp_path, tokenizer=bpe_tokenizer(eos=None))
    with pytest.raises(ModelError, match="eos=true: the tokenizer has no end-of-sequence"):
        open_model(f"hf:{tmp_path}", {"eos": "true"})
    with pytest.raises(ModelError, match=r"eos=yes: .*false, true"):
        open_model(f"hf:{tmp_path}", {"eos": "yes"})


TUPLE = """
from transformers import GPT2LMHeadModel

class Own(GPT2LMHeadModel):
    def forward(self, input_ids, attention_mask=None, position_ids=None, **others):
        found = super().forward(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids)
        return (found.logits, found.past_key_values)
"""
MASK = """
from transformers import GPT2LMHeadModel

class Own(GPT2LMHeadModel):
    def forward(self, input_ids, attention_mask, **others):
        return super().forward(input_ids=input_ids, attention_mask=attention_mask)
"""
MASK_INSIDE = """
from transformers import GPT2LMHeadModel

class Own(GPT2LMHeadModel):
    def forward(self, input_ids, attention_mask=None, **others):
        assert attention_mask.shape == input_ids.shape
        return super().forward(input_ids=input_ids, attention_mask=attention_mask).to_tuple()
"""


@pytest.mark.parametrize("code", [TUPLE, MASK, MASK_INSIDE])
def test_a_models_own_code_may_give_a_tuple_or_want_a_mask(tmp_path, code):
    save_causal(tmp_path)
    expected = {one: plain(tmp_path, ids_of_file(tmp_path, one)) for one in SENTENCES}
    (tmp_path / "own.py").write_text(code)
    edit(tmp_path / "config.json", auto_map={"AutoModelForCausalLM": "own.Own"})
    found = totals(open_model(f"hf:{tmp_path}", {"trust_remote_code": "true"}))
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_mask_that_the_matrix_has_no_row_for_is_named(tmp_path):
    tokenizer = transformers.BertTokenizer.from_pretrained(save_masked(tmp_path))
    tokenizer.add_special_tokens({"mask_token": "<hole>"})
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match=r"<hole> of the tokenizer has the id \d+, but the model has only \d+ tokens"
    ):
        open_model(f"mlm:{tmp_path}")
