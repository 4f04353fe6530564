"""Starter suites: a working example for each language, which authors change into their own suite.

Each folder of `starter_suites/` holds a suite: `grammar.jinja`, `lexicon.yaml` and `suite.yaml`.
"""

from __future__ import annotations

from pathlib import Path

from tseval.errors import SuiteError, suggest
from tseval.writing import language_of

_FOLDER = Path(__file__).parent / "starter_suites"
# Codes of ISO 639-2 and 639-3. The rules of writing know those of ISO 639-1.
_CODES = {
    "ara": "arabic", "arb": "arabic", "deu": "german", "eng": "english", "ger": "german", "hin": "hindi",
    "jpn": "japanese", "rus": "russian", "tur": "turkish",
}  # fmt: skip


def starter_languages() -> list[str]:
    """List the languages that have a starter suite."""
    return sorted(folder.name for folder in _FOLDER.iterdir() if folder.is_dir())


def starter_language(name: str) -> str:
    """Return the language of a name or ISO code (`German`, `de`, `deu`, `de-AT`)."""
    code = name.strip().casefold()
    main = code.replace("_", "-").partition("-")[0]
    language = _CODES.get(main) or language_of(code) or language_of(main) or code
    languages = starter_languages()
    if language not in languages:
        fix = "For another language, leave --language out, and write its name into suite.yaml."
        message = (
            f"tseval has no example for the language {name!r}.\n  {suggest(language, languages, 'Languages')}"
        )
        raise SuiteError(f"{message} {fix}")
    return language


def starter_files(language: str, case: str) -> dict[str, str]:
    """Return the files of a starter suite; the grammar file is named after the case."""
    texts = {
        name: (_FOLDER / language / name).read_text("utf-8")
        for name in ("grammar.jinja", "lexicon.yaml", "suite.yaml")
    }
    return {f"{case}.jinja": texts.pop("grammar.jinja"), **texts}
