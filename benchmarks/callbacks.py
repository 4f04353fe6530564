"""Measure the cost of evaluation during a training: a GPT-2 with transformers' Trainer and tseval's callback.

python benchmarks/callbacks.py --text TEXT [--layers 4] [--width 256] [--steps 40] [--sample 100]

The program prints the CPU seconds of a step and of an evaluation in the middle of the training. It also
prints the share of evaluations after every 100, 500 or 1,000 steps, and checks that they change no weights.
"""

from __future__ import annotations

import argparse
import gzip
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
)

from tseval.callbacks import TransformersCallback

END = "<|endoftext|>"
TOKENS = 64  # in a row


class Clock(transformers.TrainerCallback):
    """CPU seconds of each step, without evaluations."""

    def __init__(self) -> None:
        self.seconds, self._began = [], 0.0

    def on_step_begin(self, *_, **given):
        """Store the start time of the step."""
        self._began = time.process_time()

    def on_optimizer_step(self, *_, **given):
        """Add the CPU seconds of the step."""
        self.seconds.append(time.process_time() - self._began)


class Timed(TransformersCallback):
    """CPU seconds of each evaluation."""

    seconds: list[float]

    def _evaluate(self, *positional, **given):
        began = time.process_time()
        super()._evaluate(*positional, **given)
        self.seconds.append(time.process_time() - began)


def tokenizer_of(lines):
    """Train a byte-level BPE."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=5000, special_tokens=[END, "<pad>"], show_progress=False, initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(lines, trainer)
    special = {"bos_token": END, "eos_token": END, "pad_token": "<pad>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def train(given, lines, tokenizer, callbacks, out):
    """Train a new model, and return its weights."""
    torch.manual_seed(0)
    sizes = {"n_embd": given.width, "n_layer": given.layers, "n_head": 4, "n_positions": 128}
    config = GPT2Config(vocab_size=len(tokenizer), bos_token_id=0, eos_token_id=0, **sizes)
    model = GPT2LMHeadModel(config)
    arguments = TrainingArguments(
        str(out), max_steps=given.steps, per_device_train_batch_size=16, save_strategy="no", report_to=[],
        use_cpu=True, disable_tqdm=True, seed=1,
    )  # fmt: skip
    ids = [one for line in lines for one in tokenizer(f"{line}{END}")["input_ids"]]
    rows = [{"input_ids": ids[at : at + TOKENS]} for at in range(0, len(ids) - TOKENS, TOKENS)]
    collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    Trainer(
        model, arguments, train_dataset=rows, data_collator=collator, processing_class=tokenizer,
        callbacks=callbacks,
    ).train()  # fmt: skip
    print(f"{model.num_parameters() / 1e6:.1f} million parameters, 16 rows of {TOKENS} tokens a step")
    return model.state_dict()


def main() -> None:
    """Train with and without the callback, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="text with one sentence a line (may be .gz)")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--sample", type=int, default=100)
    given = parser.parse_args()
    read = gzip.open if given.text.suffix == ".gz" else open
    with read(given.text, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in islice(file, 4000)]
    tokenizer = tokenizer_of(lines)
    with TemporaryDirectory() as folder:
        timed, clock = Timed("marvin_linzen", f"{folder}/run", given.steps // 2, sample=given.sample), Clock()
        timed.seconds = []
        watched = train(given, lines, tokenizer, [timed, clock], folder)
        plain = train(given, lines, tokenizer, [], folder)
    assert all(torch.equal(watched[name], plain[name]) for name in plain), "the training noticed"
    step, evaluation = sorted(clock.seconds)[len(clock.seconds) // 2], sorted(timed.seconds)[1]
    print(f"a step {step:.2f} s, an evaluation of {timed.suite.n_items:,} items {evaluation:.2f} s of CPU")
    for every in (100, 500, 1000):
        print(f"every {every:,} steps: {evaluation / (every * step):.1%} of the training")


if __name__ == "__main__":
    main()
