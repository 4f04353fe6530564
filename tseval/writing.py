"""Natural text: writes the tokens of a grammar as people do, `The author laughs.` for `the author laughs .`.

Grammars produce tokens, the training format of word-level models. Subword models were trained on running
text, and have hardly seen a sentence in lower case, or a space before a full stop. The rules of a language
are data: which tokens attach to the token before or after them, and which change the case of letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from tseval.errors import SuiteError, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The form in which a model reads sentences: that of its training (auto), as people write, as tokens of a
# grammar, or unchanged.
Form = Literal["auto", "natural", "tokenised", "as-written"]
FORMS: tuple[Form, ...] = get_args(Form)


# Follows the visible part of a word whose end lies inside a piece, so that its probability is unknown.
UNFINISHED = "∅"
# A word boundary without a written character, as between the columns of a Chinese sentence.
BOUNDARY = "\x1f"
# White space that texts use on purpose: no-break and thin spaces (French `là !`), the ideographic space.
OTHER_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
# Separates the number of a context from the sentence that is scored in it. It is a noncharacter of Unicode,
# so no text contains it.
IN_CONTEXT = "\ufdd0"
# Separates the two sentences of a question; also a noncharacter.
OR_SECOND = "\ufdd1"
_WORDS = re.compile(r"(\s*)(\S+)")
_ORDINARY = re.compile(r"[ \t\n\r\f\v\x1c-\x1e\x85]+")


def single_spaced(text: str) -> str:
    """Replace each run of spaces, tabs and line breaks by one space; strip white space at both ends."""
    return _ORDINARY.sub(" ", text.strip())


def without_boundaries(text: str) -> str:
    """Return a text as a model reads it: without context number and without unwritten boundaries."""
    return without_context(text).replace(BOUNDARY, "")


def without_context(text: str) -> str:
    """Return a sentence without its context number; a bar separates the two sentences of a question."""
    return text.rpartition(IN_CONTEXT)[2].replace(OR_SECOND, " | ")


# Letters whose capital at the start of a sentence depends on the language. Source: ICU 78.3, toTitle.
# All other letters have Unicode's title case: `ß` becomes `Ss`, never `SS`; Georgian has none.
TITLE = {
    "turkish": {"i": "İ", "ı": "I"},
    "azerbaijani": {"i": "İ", "ı": "I"},
    "dutch": {"ij": "IJ"},
    "armenian": {"և": "Եվ"},
}
# Words that stay in lower case, so that the next word is capitalised: Dutch *'s Avonds*, Afrikaans *'n Man*.
PASS_ON = {"dutch": ("'s", "'t", "'n", "’s", "’t", "’n"), "afrikaans": ("'n", "’n")}


def capitalise(word: str, language: str) -> str:
    """Capitalise the first letter of a word by the rules of a language."""
    for letters, title in TITLE.get(language, {}).items():
        if word.startswith(letters):
            return title + word[len(letters) :]
    return word[:1].title() + word[1:]


# Marks that end a sentence or a part of it, and closing brackets, of all scripts. Source:
# Terminal_Punctuation of Unicode, without marks that also occur between numbers or inside words.
MARKS = (
    "...",
    *".,;:?!…‥%)]}‼⁇⁈⁉·\u037e",
    *"،؛؟۔।॥։՝՞՜׃።፣፤፥፧။၊។៕៖།༎᠂᠃܀߸߹꓾꓿",
    *"。、，．；：？！）」』】》〉",
)
OPENING = (*"([{¿¡", *"（「『【《〈")


@cache
def _set_of(tokens: tuple[str, ...]) -> frozenset[str]:
    """Return a set of tokens, because searching a tuple of a hundred is slow."""
    return frozenset(tokens)


@dataclass(frozen=True, slots=True)
class Writing:
    """The rules for writing a language."""

    # Tokens without a space before them: marks, and clitics (`n't`, `'s`).
    close_before: tuple[str, ...] = MARKS
    close_after: tuple[str, ...] = OPENING  # without a space after them: brackets, and elided words (`l'`)
    quotes: tuple[str, ...] = ('"',)  # open and close in turn, without a space on the inside
    spelling: tuple[tuple[str, str], ...] = ()  # tokens that are spelt differently (`i` is `I`)
    capital: bool = True  # whether a sentence begins with a capital letter
    spaces: bool = True  # whether there are spaces between words
    language: str = ""  # its rules for capitals are used; if empty, those of Unicode

    def write(self, sentence: str) -> tuple[str, list[int]]:
        """Write the tokens of a sentence as text; also return where each begins, with its space, (words,)."""
        spelt, text, starts = dict(self.spelling), "", []
        close_before, close_after = _set_of(self.close_before), _set_of(self.close_after)
        quotes, spaces = self.quotes, self.spaces
        open_quotes: set[str] = set()
        close, capital = True, self.capital
        for gap, token in _WORDS.findall(sentence):
            closes = token in open_quotes
            starts.append(len(text))
            if gap not in {"", " "} and (BOUNDARY in gap or OTHER_SPACES.search(gap)):
                text += without_boundaries(gap)
            elif spaces and not (close or closes or token in close_before):
                text += " "
            word = spelt.get(token, token)
            if capital and any(letter.isalnum() for letter in word):
                capital = word in PASS_ON.get(self.language, ())
                word = word if capital else capitalise(word, self.language)
            text += word
            close = token in close_after
            if token in quotes:
                open_quotes ^= {token}
                close = close or not closes
        return text, starts

    def are_close(self, tokens: Sequence[str]) -> tuple[list[bool], list[bool]] | None:
        """Return which tokens have no space before them, and which have none after them.

        None if this depends on more than the token: for quotes, and if the language has no spaces.
        """
        if not self.spaces or any(token in self.quotes for token in tokens):
            return None
        close_before, close_after = _set_of(self.close_before), _set_of(self.close_after)
        return [token in close_before for token in tokens], [token in close_after for token in tokens]

    def extended(self, given: Mapping[str, object], where: str) -> Writing:
        """Add the rules of a suite; refuse unknown rules and values of the wrong type."""
        changed: dict[str, object] = {}
        for name, value in given.items():
            current = getattr(self, name, None) if name in RULES else None
            if current is None:
                raise SuiteError(
                    f"{where}: the key `writing` has a rule {name!r}, which tseval does not know. "
                    f"{suggest(name, RULES, 'Rules')}"
                )
            if isinstance(current, bool) and isinstance(value, bool):
                changed[name] = value
            elif name == "spelling" and isinstance(value, dict):
                changed[name] = (*current, *((str(a), str(b)) for a, b in value.items()))
            elif name != "spelling" and not isinstance(current, bool) and isinstance(value, list):
                changed[name] = (*current, *map(str, value))
            else:
                kind = "true or false" if isinstance(current, bool) else "a list of tokens"
                kind = "a mapping of tokens to how they are written" if name == "spelling" else kind
                raise SuiteError(
                    f"{where}: in the key `writing`, the rule `{name}` has the wrong value "
                    f"{value!r}.\n"
                    f"  Write {kind}."
                )
        return replace(self, **changed)  # type: ignore[arg-type] # each of its own kind, as checked above


RULES = tuple(rule.name for rule in fields(Writing) if rule.name != "language")
CLITICS = (
    "n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "'",
    "n’t", "’s", "’re", "’ve", "’ll", "’d", "’m", "’",
)  # fmt: skip
_ELIDED = ("l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu")
ELIDED = (*_ELIDED, *map(str.capitalize, _ELIDED))
# Languages with spaces between words, whose marks attach to the word before them.
_PLAIN = (
    "german", "russian", "turkish", "azerbaijani", "lithuanian", "latvian", "estonian", "finnish",
    "hungarian", "greek", "dutch", "afrikaans", "danish", "swedish", "norwegian", "icelandic",
    "spanish", "portuguese", "catalan", "romanian", "basque", "albanian", "armenian", "georgian",
    "czech", "slovak", "polish", "croatian", "serbian", "slovenian", "bulgarian", "ukrainian",
    "macedonian", "indonesian", "vietnamese", "swahili", "hindi", "marathi", "nepali", "bengali",
    "tamil", "telugu", "urdu", "persian", "arabic", "korean", "amharic",
)  # fmt: skip
_APOSTROPHES = tuple(f"{word}{mark}" for word in ELIDED for mark in "'’")
LANGUAGES = {name: Writing(language=name) for name in _PLAIN} | {
    "english": Writing(
        close_before=(*MARKS, *CLITICS),
        spelling=(("i", "I"), *((f"i{clitic}", f"I{clitic}") for clitic in CLITICS)),
    ),
    # French has a space before high marks (Imprimerie nationale). Elided words attach to the next word.
    "french": Writing(close_before=(".", ",", ")", "]", "...", "…"), close_after=(*OPENING, *_APOSTROPHES)),
    "italian": Writing(close_after=(*OPENING, *_APOSTROPHES)),
    # Articles, conjunctions and prepositions of one letter attach to the next word.
    "hebrew": Writing(capital=False, close_after=(*OPENING, *"הושבלכמ")),
    **{
        name: Writing(spaces=False, capital=False) for name in ("chinese", "japanese", "thai", "khmer", "lao")
    },
}
_NAMES = {
    "en": "english", "fr": "french", "de": "german", "he": "hebrew", "ru": "russian", "nl": "dutch",
    "el": "greek", "lt": "lithuanian", "hi": "hindi", "es": "spanish", "it": "italian",
    "pt": "portuguese", "zh": "chinese", "ja": "japanese", "th": "thai", "ar": "arabic", "ur": "urdu",
    "fa": "persian", "pl": "polish", "cs": "czech", "fi": "finnish", "hu": "hungarian", "ko": "korean",
    "uk": "ukrainian", "ka": "georgian", "hy": "armenian", "tr": "turkish", "az": "azerbaijani",
    "azeri": "azerbaijani", "farsi": "persian",
}  # fmt: skip


def language_of(name: str) -> str | None:
    """Return the language, with rules in this module, of a name or an ISO 639-1 code; None if unknown."""
    name = name.strip().casefold()
    return name if name in LANGUAGES else _NAMES.get(name)


# Rules for texts as people wrote them: only unwritten word boundaries are removed.
AS_WRITTEN = Writing((), (), (), (), capital=False)


def without_rules(suite: str) -> SuiteError:
    """Make the error for a suite without writing rules."""
    return SuiteError(
        f"--text natural: the suite {suite!r} has no rules for writing its sentences as natural text.\n"
        "  Add a line with rules to suite.yaml, such as: writing: english"
    )


def read_writing(given: object, where: str) -> Writing | None:
    """Read the writing rules of a suite: a language, or a language with additional rules.

    Examples: `english`, `{language: english, close_before: [...]}`; null if there are only tokens.
    """
    if given is None:
        return None
    rules = dict(given) if isinstance(given, dict) else {"language": given}
    language_name = str(rules.pop("language", "english"))
    language = language_of(language_name)
    if language is None:
        raise SuiteError(
            f"{where}: the key `writing` names {language_name!r}, for which tseval has no rules. "
            f"{suggest(language_name, LANGUAGES, 'Languages')}\n"
            "  For another language, delete the line `writing:`, and add the line `language: NAME`."
        )
    return LANGUAGES[language].extended(rules, where)


def rules_for(language: str) -> tuple[Writing | None, tuple[str, ...]]:
    """Return the writing rules of a language, or None with a note for users."""
    language_name = language_of(language)
    if language_name is not None:
        return LANGUAGES[language_name], ()
    note = (
        f"tseval knows no rules of writing for {language}, and reads the tokens of sentences unchanged "
        "(docs/grammars.md: writing)"
    )
    return None, (note,)
