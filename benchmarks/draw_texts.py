"""Draw help texts and messages, or paragraphs of docs, for a reader who knows the field and not the project.

    python benchmarks/draw_texts.py --seed 1           # 42 texts: 14 of help, 28 messages
    python benchmarks/draw_texts.py --seed 1 --room boards --room runs
    python benchmarks/draw_texts.py --seed 1 --paragraphs 14   # of the documentation, without code and tables

The reader marks each text that needs a second reading; at most two of 42 may. Values are shown as {names}. If
a message has several pieces, only the piece that was drawn is shown. Equal messages count once. The module
`tests/program_texts.py` collects the texts, also for `tests/test_plain_english.py`.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from program_texts import ROOT, Text, page_texts, program_texts

FEWEST_WORDS = 12  # a paragraph with fewer words is a heading, or the line before code


def drawn(texts: list[Text], n: int, seed: int) -> list[Text]:
    """Draw texts, each different one with the same probability."""
    different = {text.text: text for text in texts}
    return random.Random(seed).sample(sorted(different.values(), key=lambda text: text.text), n)


def paragraphs() -> list[Text]:
    """Return the paragraphs and points of the README and of the documentation, each with its page."""
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [
        replace(text, place=page.relative_to(ROOT).as_posix())
        for page in pages
        for text in page_texts(page, code=True)
        if len(text.text.split()) >= FEWEST_WORDS and not text.text.startswith("#")
    ]


@click.command(help=__doc__)
@click.option("--seed", type=int, default=1, show_default=True, help="Random seed for the drawing.")
@click.option("--help-texts", "n_help", default=14, show_default=True, help="Number of help texts.")
@click.option("--messages", "n_messages", default=28, show_default=True, help="Number of messages.")
@click.option("--paragraphs", "n_paragraphs", type=int, help="Draw N paragraphs of the docs, nothing else.")
@click.option("--room", "rooms", multiple=True, help="Draw messages of this room. Repeatable (default: all).")
def main(seed: int, n_help: int, n_messages: int, n_paragraphs: int | None, rooms: tuple[str, ...]) -> None:
    """Print the texts with a number and a place each."""
    if n_paragraphs is not None:
        show(drawn(paragraphs(), n_paragraphs, seed))
        return
    texts = program_texts()
    of_help = [text for text in texts if text.kind == "help"]
    messages = [
        text
        for text in texts
        if text.kind == "message" and len(text.text.split()) >= 5 and (not rooms or text.room in rooms)
    ]
    show([*drawn(of_help, n_help, seed), *drawn(messages, n_messages, seed)])


def show(chosen: list[Text]) -> None:
    """Print texts, each with its number and its place."""
    for number, text in enumerate(chosen, 1):
        click.echo(f"{number}. {text.place}\n{text.text}\n")


if __name__ == "__main__":
    main()
