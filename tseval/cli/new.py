"""`tseval new`: create a suite from a working example."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote

import click

from tseval.cli.groups import Command
from tseval.errors import SuiteError
from tseval.files import write_text

EXAMPLE_GRAMMAR = """\
---
construction: {title}
phenomenon: {title}
lexicon: lexicon.yaml
slots:
  subject:   noun.person      # either number: the plural adds -s, or is spelled out in the lexicon
  attractor: noun.thing
  verb:      verb.main
features:
  condition:     subject.number ~ "_" ~ attractor.number
  n_intervening: 1
  n_attractors:  0 if attractor.number == subject.number else 1
expect:
  items:         32
  grammatical:   the author near the box laughs
  ungrammatical: the author near the box laugh
---
grammatical:   the {{{{ subject }}}} near the {{{{ attractor }}}} {{{{ verb | agree(subject) }}}}
ungrammatical: the {{{{ subject }}}} near the {{{{ attractor }}}} {{{{ verb | disagree(subject) }}}}
"""
EXAMPLE_LEXICON = """\
noun:
  person: [author, guard]
  thing:  [{sing: box, plur: boxes}, table]
verb:
  main: [laughs, waits]
"""


@click.command("new", cls=Command)
@click.argument("name", metavar="PHENOMENON")
@click.option(
    "--language", metavar="LANGUAGE",
    help="Language of the example grammar, by name or ISO code: Arabic, English, German, Hindi, Japanese, "
         "Russian, Turkish (default: English).",
)  # fmt: skip
def new_command(name: str, language: str | None) -> None:
    """Create a suite: a folder with a working example grammar and lexicon.

    Then change the words, the sentences and the block `expect` (which states the expected items) in the
    new files. docs/grammars.md describes them.
    """
    from tseval.suites.starter import starter_files, starter_language

    folder = Path(name)
    case = folder.name.replace("-", "_")
    if not re.fullmatch(r"[A-Za-z]\w*", case, re.ASCII):
        raise SuiteError(
            f"{name!r} cannot be the name of a suite.\n"
            "  Choose a name of letters, digits and _ only, such as my_agreement."
        )
    title = case.replace("_", " ").capitalize()
    if language is None:
        files = {
            f"{case}.jinja": EXAMPLE_GRAMMAR.format(title=title),
            "lexicon.yaml": EXAMPLE_LEXICON,
            "suite.yaml": f"title: {title}\nsource: Your name and the year\nlanguage: english\n",
        }
    else:
        language = starter_language(language)
        files = starter_files(language, case)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise SuiteError(
            f"{folder}: a file or folder with this name exists already.\n"
            "  Choose another name, or remove the file or folder."
        ) from None
    for file, text in files.items():
        write_text(folder / file, text)
        click.echo(folder / file, err=True)
    path = quote(name if folder.is_absolute() else f"./{name}")
    model = "bundled:lstm" if language in (None, "english") else "hf:MODEL"
    click.echo(f"next: tseval lint {path}\nthen: tseval run --model {model} --suite {path}", err=True)
    if model == "hf:MODEL":
        click.echo(
            f"hf:MODEL: a model that knows {str(language).capitalize()}, from huggingface.co or a folder. "
            "The bundled models know English only.",
            err=True,
        )
