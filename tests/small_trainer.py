"""A training of a tiny GPT-2 on real sentences with transformers' Trainer; as a program, it can be killed."""

import gzip
import os
import signal
import sys
from pathlib import Path

import torch
import transformers
from checkpoints import bpe_tokenizer
from supplied import TEXT_SAMPLE
from transformers import (
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
)

from tseval.callbacks import TransformersCallback
from tseval.runs import RunWriter

STEPS = 20


def save_tokenizer(folder):
    """Train and save a tokenizer one time: training again may give another tokenizer."""
    with gzip.open(TEXT_SAMPLE, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line, _ in zip(file, range(300), strict=False)]
    bpe_tokenizer(texts=lines, size=600).save_pretrained(folder / "tokenizer")
    (folder / "text").write_text("\n".join(lines), "utf-8")


def make_trainer(folder, out, *callbacks, **changes):
    """Make a trainer that saves checkpoints after 6, 12, 18 and 20 steps and uses dropout."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer")
    torch.manual_seed(0)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=2, n_positions=64, pad_token_id=1,
            bos_token_id=0, eos_token_id=0,
        )
    )  # fmt: skip
    given = {"max_steps": STEPS, "save_steps": 6, "logging_steps": 10, "learning_rate": 1e-2, "report_to": []}
    arguments = TrainingArguments(
        str(out), per_device_train_batch_size=8, seed=1, use_cpu=True, disable_tqdm=True,
        lr_scheduler_type="constant", **given | changes,
    )  # fmt: skip
    lines = (folder / "text").read_text("utf-8").splitlines()
    return Trainer(
        model,
        arguments,
        train_dataset=[tokenizer(line, truncation=True, max_length=48) for line in lines],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        processing_class=tokenizer,
        callbacks=list(callbacks),
    )


def watch(folder, out):
    """Return the callback of these trainings."""
    return TransformersCallback(folder / "agree.jinja", out, every=4, sample=12)


def die_in(step):
    """End the process suddenly in the middle of an evaluation, when some parts are saved."""
    finish = RunWriter.finish

    def die(writer, *given):
        if writer.path.name == f"step-{step:06d}":
            os.kill(os.getpid(), signal.SIGKILL)
        finish(writer, *given)

    RunWriter.finish = die


if __name__ == "__main__":
    place, name = Path(sys.argv[1]), sys.argv[2]
    die_in(int(sys.argv[3]))
    make_trainer(place, place / name, watch(place, place / name / "gpt2")).train()
