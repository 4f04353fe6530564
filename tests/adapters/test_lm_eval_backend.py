"""lm-eval models as opaque scorers, against transformers' forward pass and a closed form."""

import json
import math
import shutil
import subprocess
import sys
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import torch
from in_process import call, refuse, run_process, succeed

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.scoring.scorers import scorer_for

tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")
pytest.importorskip("lm_eval")
pytestmark = pytest.mark.slow

SENTENCES = ["the author laughs .", "the authors near the guard laugh .", "the guard laughs ."]
UNKNOWN = {"unk_token": "<unk>"}


def test_without_lm_eval_what_to_install_is_named():
    program = "import sys; sys.modules['lm_eval'] = None; import tseval; tseval.load_model('lm-eval:hf')"
    done = run_process([sys.executable, "-c", program])
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tseval.errors.ModelError: lm-eval: models need the package lm-eval. ")
    assert 'pip install "tseval[lm-eval]"' in last


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """Save a word-level GPT-2 with random weights and a start token."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    words = ["<s>", "<unk>", *sorted({word for sentence in SENTENCES for word in sentence.split()})]
    level = tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, **UNKNOWN)
    tokenizer = tokenizers.Tokenizer(level)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **UNKNOWN, **{"bos_token": "<s>", "eos_token": "<s>"}
    ).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"vocab_size": len(words), "n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 2}
    config = transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, initializer_range=0.5)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def by_forward(folder, sentence):
    """Return the sum of log-probabilities after the start token, with transformers alone."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = transformers.AutoTokenizer.from_pretrained(folder)(sentence, add_special_tokens=False)["input_ids"]
    ids = torch.tensor([0, *ids])
    with torch.no_grad():
        table = model(ids[None]).logits[0, :-1].double().log_softmax(-1)
    return table.gather(1, ids[1:, None]).sum().item()


def test_sentences_score_as_by_transformers(gpt2):
    model: Any = open_model("lm-eval:hf", {"pretrained": str(gpt2), "batch_size": "2"}, "cpu")
    rows = scorer_for(model).score(pa.array(sorted(SENTENCES))).to_pylist()
    for row in rows:
        assert row["logprob"] == pytest.approx(by_forward(gpt2, row["sentence"]), abs=1e-4)
    assert model.card.name == "tiny"
    assert model.card.protocol["arguments"] == "softmax_dtype=float32"
    assert model.card.protocol["start"] == "0"
    assert model.card.details["device"] == "cpu"


def test_the_fingerprint_follows_the_files_and_not_their_place(gpt2, tmp_path):
    first = open_model("lm-eval:hf", {"pretrained": str(gpt2)}, "cpu").card
    other = tmp_path / "other"
    shutil.copytree(gpt2, other)
    same = open_model("lm-eval:hf", {"pretrained": str(other), "batch_size": "3"}, "cpu").card
    assert (first.fingerprint, first.protocol) == (same.fingerprint, same.protocol)
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {"attn_pdrop": 0.2}))
    assert open_model("lm-eval:hf", {"pretrained": str(other)}, "cpu").card.fingerprint != first.fingerprint


def test_a_suite_is_scored_from_the_command_line(gpt2, tmp_path):
    arguments = ["--model", "lm-eval:hf", "--model-args", f"pretrained={gpt2},batch_size=16"]
    some = "--case", "simple_agrmt", "--limit", "8", "--out", "run"
    succeed("run", *arguments, *some, cwd=tmp_path)
    scored = pd.read_parquet(tmp_path / "run" / "sentences.parquet").set_index("sentence")["logprob"]
    for sentence in scored.index[:3]:
        assert scored[sentence] == pytest.approx(by_forward(gpt2, sentence), abs=1e-4)
    more = "--score", "critical", "--case", "simple_agrmt", "--out", "other"
    assert (
        "gives only one log-probability for a whole sentence"
        in refuse("run", *arguments, *more, cwd=tmp_path).stderr
    )
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("spec", "arguments", "message"),
    [
        ("lm-eval:hff", {}, r"lm-eval has no backend 'hff'\. Did you mean 'hf'\?"),
        ("lm-eval:hf", {"pretrained": "/nowhere/at/all"}, r"lm-eval:hf: \w+: .*/nowhere/at/all"),
        ("lm-eval:hf", {"pretraned": "x"}, "--model-args pretraned: .*Did you mean 'pretrained'"),
        ("lm-eval:vllm", {"pretrained": "x"}, r"lm-eval:vllm: .*vllm"),
    ],
)
def test_what_lm_eval_cannot_make_is_said_in_one_line(gpt2, spec, arguments, message):
    with pytest.raises(ModelError, match=message) as error:
        open_model(spec, arguments, "cpu")
    assert "\n" not in str(error.value)


def test_a_sentence_that_is_too_long_is_named(gpt2):
    model: Any = open_model("lm-eval:hf", {"pretrained": str(gpt2)}, "cpu")
    fits = " ".join(["the guard laughs ."] * 8)  # exactly the 32 tokens that it reads, plus the start token
    assert model.sentence_logprobs([fits])[0] < 0
    with pytest.raises(ModelError) as error:
        model.sentence_logprobs(["the author laughs .", f"{fits} guard"])
    assert str(error.value) == (
        "tiny: a sentence has 33 tokens, but the model reads at most 32: "
        "'the guard laughs . the guard laughs . the guard laughs . the...'"
    )
    assert model.too_long(pa.array(["the author laughs .", fits, f"{fits} guard"])).tolist() == [0, 0, 1]


BYTES = """
import json, math, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
FORMS = sys.argv[1:]


def logprob(a, b):
    return math.log((1 + (7 * a + 13 * b) % 11) / sum(1 + (7 * a + 13 * c) % 11 for c in range(256)))


class Answer(BaseHTTPRequestHandler):
    def do_POST(self):
        prompts = json.loads(self.rfile.read(int(self.headers["content-length"])))["prompt"]
        prompts = [prompts] if isinstance(prompts, str) or isinstance(prompts[0], int) else prompts
        if "text" in FORMS and not isinstance(prompts[0], str):
            self.send_response(500), self.end_headers()
            return
        choices = []
        for index, prompt in enumerate(prompts):
            codes = [*prompt.encode()] if isinstance(prompt, str) else prompt
            codes = codes if "without" in FORMS else [*codes, 10]
            values = [None, *(logprob(a, b) for a, b in zip(codes, codes[1:]))]
            if "stripped" in FORMS and codes[0] == 2:
                codes, values = codes[1:], [None, *values[2:]]
            tokens = [chr(code) for code in codes]
            tops = [None, *({token: value} for token, value in zip(tokens[1:], values[1:]))]
            of = {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops,
                  "text_offset": [*range(len(tokens))]}
            choices.append({"index": index, "text": "".join(tokens), "logprobs": of})
        self.send_response(200), self.send_header("content-type", "application/json"), self.end_headers()
        self.wfile.write(json.dumps({"choices": choices}).encode())

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Answer)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Yield a starter of byte servers with a known distribution that answer like vLLM or llama-cpp-python."""
    started = []

    def start(*forms):
        command = [sys.executable, "-c", BYTES, *forms]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return f"http://127.0.0.1:{started[-1].stdout.readline().strip()}"

    yield start
    for one in started:
        one.kill()
        one.communicate()


@pytest.fixture(scope="module")
def bytes_tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bytes")
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [code for code in range(256) if code not in printable]
    names = {chr(code): code for code in printable} | {chr(256 + i): code for i, code in enumerate(others)}
    spelling = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=names, merges=[]))
    spelling.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    spelling.decoder = tokenizers.decoders.ByteLevel()
    start = next(name for name, code in names.items() if code == 2)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=spelling, bos_token=start, eos_token=start
    ).save_pretrained(folder)
    return folder


def by_hand(sentence):
    """Return the log-probability of a sentence's bytes after byte 2, by the server's formula."""

    codes = [2, *sentence.encode()]
    weights = [[1 + (7 * a + 13 * b) % 11 for b in range(256)] for a in codes]
    return sum(math.log(row[b] / sum(row)) for row, b in zip(weights, codes[1:], strict=False))


def through(url, tokenizer, tokenized="False"):
    where = {"base_url": f"{url}/v1/completions", "model": "bytes", "tokenizer": str(tokenizer)}
    return where | {"tokenized_requests": tokenized, "max_retries": "1"}


@pytest.mark.parametrize("tokenized", ["True", "False"])
def test_a_server_that_gives_every_token_a_value_is_scored(served, bytes_tokenizer, tokenized):
    model: Any = open_model("lm-eval:local-completions", through(served("with"), bytes_tokenizer, tokenized))
    found = model.sentence_logprobs(["the author laughs .", "the author laugh ."])
    assert found == pytest.approx([by_hand("the author laughs ."), by_hand("the author laugh .")], abs=1e-3)


@pytest.mark.parametrize(
    ("forms", "tokenized", "said"),
    [
        (["without"], "False", "the backend does not count the last token of a sentence"),
        (["without"], "True", "the backend does not count the last token of a sentence"),
        (["text", "stripped"], "False", "the backend does not count the first token of a sentence"),
        (["text"], "True", "tokenized_requests=False"),
    ],
)
def test_a_server_that_leaves_out_a_token_is_refused(served, bytes_tokenizer, forms, tokenized, said):
    with pytest.raises(ModelError, match=said) as error:
        open_model("lm-eval:local-completions", through(served(*forms), bytes_tokenizer, tokenized))
    assert len(str(error.value)) < 500


def test_gguf_needs_a_start_symbol_and_says_so(served):
    url = served("with")
    with pytest.raises(ModelError, match="--model-args bos=TEXT"):
        open_model("lm-eval:gguf", {"base_url": url})
    model: Any = open_model("lm-eval:gguf", {"base_url": url, "bos": chr(2)})
    text = "the author laugh ."
    assert model.sentence_logprobs([text]) == pytest.approx([by_hand(text)], abs=1e-3)
    assert model.card.protocol["start"] == chr(2)


def test_pair_compares_totals_of_a_server(served, bytes_tokenizer):
    given = ",".join(f"{k}={v}" for k, v in through(served("with"), bytes_tokenizer).items())
    ended = call(
        "pair", "--model", "lm-eval:local-completions", "--model-args", given, "the author laughs .",
        "the author laugh .",
    )  # fmt: skip
    assert ended.returncode == 0
    assert "bad is preferred, by 6.642 nats" in ended.stderr


def test_an_argument_that_no_server_takes_is_named(bytes_tokenizer):
    given = through("http://127.0.0.1:1", bytes_tokenizer) | {"tokenised_requests": "False"}
    with pytest.raises(ModelError, match="Did you mean 'tokenized_requests'"):
        open_model("lm-eval:local-completions", given)
    with pytest.raises(ModelError, match="--model-args leading_space: lm-eval:local-completions"):
        open_model("lm-eval:local-completions", through("x", bytes_tokenizer) | {"leading_space": "true"})


def test_keys_are_not_recorded_and_a_dead_server_is_one_message(served, bytes_tokenizer):
    secret = {"auth_token": "hunter2"}
    given = through(served("with"), bytes_tokenizer) | secret
    model: Any = open_model("lm-eval:local-completions", given)
    assert "hunter2" not in repr(model.card)
    assert "hunter2" not in json.dumps([dict(model.card.protocol), dict(model.card.details), model.card.name])
    with pytest.raises(ModelError, match="bytes: lm-eval cannot score the sentences: ") as error:
        open_model("lm-eval:local-completions", through("http://127.0.0.1:9", bytes_tokenizer) | secret)
    assert "hunter2" not in str(error.value)
