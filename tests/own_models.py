"""Small models for every adapter of tseval, and sentences that each model can read.

Models for a new adapter are in its own test file in `tests/adapters/`, as a dictionary `KINDS`.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from in_process import run_process
from stated import stated

from tseval.adapters import open_model
from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import TASKS, Classifier, LanguageModel, Sizes
from tseval.testing.sentences import default_sentences

TESTS = Path(__file__).parent
WORDS = Vocabulary(("<eos>", "<unk>", *sorted({w for s in default_sentences() for w in s.split()})), True)
CELLS = ("lstm", "drnn", "onlstm", "urn", "srn")
# Properties of the kit that do not apply to a kind of model; all others must hold.
NO_STATE = {"distribution"}
NO_WORDS = {"encoding", "sums", "prefixes", "unknown words", "distribution"}

# For models that are slow: few more than the 64 sentences that the kit needs.
FEW = sorted(default_sentences())[::4]


@dataclass(frozen=True)
class Own:
    """A model, sentences that it reads (None for any), and the properties that do not apply to its kind."""

    model: object
    sentences: list[str] | None = None
    not_applicable: frozenset[str] | set[str] = frozenset()


def open_own(name, folder, device="cpu"):
    """Make a small model in a folder and open it as users do; `name` is a kind, possibly with a variant."""
    kind, _, what = name.partition(" ")
    return KINDS[kind](what, folder, device)


def _native(cell, folder, device):
    torch.manual_seed(0)
    model = LanguageModel(Sizes(cell, len(WORDS), 8, 12, 2), initial_range=2.0).eval()
    save_checkpoint(folder / "own.pt", model, WORDS, training={}, validation_perplexity=None)
    return Own(open_model(folder / "own.pt", device=device))


def _classifier(task, folder, device):
    torch.manual_seed(0)
    model = Classifier(Sizes("drnn", len(WORDS), 8, 12, 2, task=task), initial_range=2.0).eval()
    save_checkpoint(folder / "own.pt", model, WORDS, training={}, validation_perplexity=None)
    labels = TASKS[task].labels
    sentences = [f"{text.removesuffix(' .')} {label}" for text in default_sentences() for label in labels]
    return Own(open_model(folder / "own.pt", device=device), sentences, {"prefixes", "distribution"})


def _bundled(what, folder, device):
    return Own(open_model("bundled:lstm", device=device))


def _oracle(what, folder, device):
    sentences = [
        " ".join([*(f"({i}" for i in stack), *(f"){i}" for i in reversed(stack))]) + tail
        for stack in ([1], [2], [1, 2], [2, 1], [3, 1, 2], [1, 1, 3], [4, 4, 1])
        for tail in ("", " (1 )1", " (2 )2")
    ]
    return Own(open_model("oracle:dyck-lstm", {"k": "4", "m": "3"}, device), sentences)


def _ngram(what, folder, device):
    pytest.importorskip("kenlm", reason="kenlm needs a C++ compiler to be installed")
    arguments = {"eos": "true"} if what else {}
    return Own(open_model(f"ngram:{TESTS / 'adapters' / 'trigram.arpa'}", arguments, device), None, NO_STATE)


def _published(what, folder, device):
    run_process(["python", TESTS / "models" / "published" / "write.py", folder], check=True)
    return Own(open_model(folder / "lstm-zip.pt", {"vocab": str(folder / "vocab.txt")}, device))


def _causal(kind, folder, device):
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    path = folder / kind
    if not path.exists():
        save_causal(path, kind)
    return Own(open_model(f"hf:{path}", device=device), None if kind == "gpt2" else FEW, NO_STATE)


def _masked(pll, folder, device):
    from checkpoints import save_masked  # noqa: PLC0415 - takes seconds

    path = folder / "bert"
    if not path.exists():  # training a tokenizer again may give another tokenizer
        save_masked(path)
    return Own(open_model(f"mlm:{path}", {"pll": pll}, device), FEW, NO_STATE | {"prefixes"})


def _lm_eval(what, folder, device):
    pytest.importorskip("lm_eval")
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    model = open_model("lm-eval:hf", {"pretrained": str(save_causal(folder / "gpt2"))}, device)
    return Own(model, FEW, NO_WORDS)


# Every kind of model by the scheme of its adapter, with the function that opens one. An adapter may have
# several kinds.
KINDS = {
    "native": _native, "classifier": _classifier, "published": _published, "bundled": _bundled,
    "oracle": _oracle, "ngram": _ngram, "hf": _causal, "mlm": _masked, "lm-eval": _lm_eval,
}  # fmt: skip
KINDS |= stated("adapters", "KINDS")
NATIVE = [f"native {cell}" for cell in CELLS]
CLASSIFIERS = [f"classifier {task}" for task in TASKS]
# These need transformers or lm-eval, which take seconds to import.
HEAVY = ["hf gpt2", "hf gemma2", "hf bloom", "hf mamba", "mlm within_word_l2r", "mlm original", "lm-eval",
         "seq2seq", "bundled", "published"]  # fmt: skip
# These give no log-probabilities.
ASKED = ["prompt"]
_LISTED = {name.partition(" ")[0] for name in [*NATIVE, *CLASSIFIERS, *HEAVY, *ASKED]}
OTHERS = [*(kind for kind in KINDS if kind not in _LISTED), "ngram eos"]
