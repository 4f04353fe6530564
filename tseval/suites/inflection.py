"""English singular and plural forms by rule, with lists of exceptions.

Grammars list a noun in the singular and a verb in the third person; treebanks have either form. A rule that
is applied to an irregular word makes an ungrammatical sentence that counts as grammatical. So irregular words
get no form by rule, and `tseval lint` warns of words that may be irregular.
"""

from __future__ import annotations

import re

# Verbs, singular to plural. The lemma of a clitic `'s` decides between `has` and `is`.
IRREGULAR = {"is": "are", "has": "have", "does": "do"}
AUXILIARIES = IRREGULAR | {"was": "were", "isn't": "aren't", "hasn't": "haven't", "doesn't": "don't"}
_THIRD_PERSONS = {"be": "is", "have": "has"}
# Adverbs in -s that may precede a verb.
_ADVERBS = {"always", "sometimes", "perhaps", "besides", "nowadays", "afterwards", "towards", "perforce"}

_SIBILANT = re.compile(r"(s|x|z|ch|sh)$")
_ES = re.compile(r"(ss|x|zz|ch|sh|o)es$")
# Singular verb forms for which the general rule would give a wrong base form.
_BASES = {
    **{f"{base}s": base for base in ("ache", "axe", "belie", "die", "hoe", "lie", "overlie", "shoe", "tie")},
    **{f"{base}s": base for base in ("tiptoe", "underlie", "untie", "vie")},
    **{f"{base}es": base for base in ("bias", "bus", "canvas", "focus", "gas", "refocus")},
    "quizzes": "quiz",
}

# Nouns with an irregular plural. Their compounds have it too: policeman, grandchild.
_PLURALS = {
    "man": "men", "woman": "women", "child": "children", "foot": "feet", "tooth": "teeth", "goose":
    "geese", "mouse": "mice", "louse": "lice", "wife": "wives", "life": "lives", "knife": "knives",
    "half": "halves", "calf": "calves", "wolf": "wolves", "shelf": "shelves", "self": "selves", "leaf":
    "leaves", "loaf": "loaves", "thief": "thieves", "sheaf": "sheaves", "elf": "elves", "hero": "heroes",
    "potato": "potatoes", "tomato": "tomatoes", "echo": "echoes", "torpedo": "torpedoes", "veto":
    "vetoes", "ox": "oxen", "die": "dice", "criterion": "criteria", "phenomenon": "phenomena",
    "bacterium": "bacteria", "datum": "data", "ovum": "ova", "stratum": "strata", "erratum": "errata",
    "addendum": "addenda", "larva": "larvae", "alga": "algae", "vertebra": "vertebrae", "alumna":
    "alumnae", "sheep": "sheep", "deer": "deer", "salmon": "salmon", "trout": "trout", "cod": "cod",
    "moose": "moose", "bison": "bison", "swine": "swine", "aircraft": "aircraft", "spacecraft":
    "spacecraft", "hovercraft": "hovercraft", "watercraft": "watercraft", "offspring": "offspring",
}  # fmt: skip
# Nouns whose compounds inflect like them. _NO_COMPOUNDS: words with these endings that are no compounds.
_HEADS = re.compile(
    r"(?:wo)?man$|child$|foot$|tooth$|goose$|mouse$|wife$|knife$|half$|calf$|wolf$|shelf$|leaf$|loaf$|thief$"
    r"|sheep$|deer$"
)
_NO_COMPOUNDS = {
    "human", "superhuman", "german", "roman", "norman", "ottoman", "shaman", "talisman", "caiman", "cayman",
    "brahman", "mongoose", "bigfoot",
}  # fmt: skip
_NO_SINGULAR = {"police", "cattle", "clergy", *_PLURALS.values()} - _PLURALS.keys()
_NO_PLURAL = {
    "furniture", "information", "luggage", "baggage", "equipment", "advice", "knowledge", "homework", "rice",
    "music", "weather", "traffic", "software", "hardware", "wildlife",
}  # fmt: skip
# No English noun with these endings takes a bare `s`: box, city, watch.
_NO_BARE_S = re.compile(r"(?:s|x|z|ch|sh|[bcdfghjklmnpqrstvwxz]y)$")
# Some nouns with these endings take a bare `s`, others do not. _REGULAR lists nouns that do.
_DOUBTFUL = re.compile(r"[^aeiouf]o$|[^f]fe?$|man$")
_REGULAR = {
    "roof", "chief", "belief", "proof", "chef", "reef", "brief", "gulf", "safe", "surf", "serf", "turf",
    "fief", "dwarf", "scarf", "handkerchief", "photo", "piano", "memo", "logo", "solo", "disco", "casino",
    "kilo", "auto", "euro", "halo", "zero", "mango", "motto", "cargo", "mosquito", "volcano", "tornado",
    "tuxedo", "kimono", "commando", "soprano", "virtuoso", "maestro", "gringo", "hippo", "rhino",
    "dynamo", "avocado", "burrito", "taco", "buffalo", "flamingo", "domino", "banjo", "ego", "jumbo",
    "limo", "metro", "micro", "nacho", "pesto", "silo", "tango", "tempo", "torso", "typo", "video",
    "weirdo", "wino", "yo-yo",
    *_NO_COMPOUNDS,
}  # fmt: skip
_NOT_LAST = re.compile(r" (?:of|with|in|at|from|for|to|on|by) |-(?:in|of|by|up|on)(?:-|$)")


def add_s(base: str) -> str:
    """Inflect a base form for the third person singular, by rule.

    >>> [add_s(base) for base in ("laugh", "push", "carry", "play", "go")]
    ['laughs', 'pushes', 'carries', 'plays', 'goes']
    """
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ies"
    if _SIBILANT.search(base) or re.search(r"[^aeiou]o$", base):
        return base + "es"
    return base + "s"


def remove_s(form: str) -> str | None:
    """Return the base form of a regular third person singular, by rule; None if it does not end in -s.

    >>> [remove_s(form) for form in ("laughs", "passes", "carries", "uses", "lies", "can")]
    ['laugh', 'pass', 'carry', 'use', 'lie', None]
    """
    if form in _BASES:
        return _BASES[form]
    if form.endswith("ies"):
        return form[:-3] + "y"
    if _ES.search(form):
        return form[:-2]
    return form[:-1] if re.search(r"[^s']s$", form) else None


def listed_plural(noun: str) -> str | None:
    """Return the plural of a noun in the lists of exceptions: '' if it has none, None if it is not listed.

    >>> [listed_plural(noun) for noun in ("policeman", "sheep", "police", "human")]
    ['policemen', 'sheep', '', None]
    """
    before, space, last = noun.rpartition(" ")
    word = last.lower()
    if word in _NO_SINGULAR | _NO_PLURAL:
        return ""
    head = _HEADS.search(word)
    listed_word = word if word in _PLURALS else head[0] if head and word not in _NO_COMPOUNDS else ""
    if listed_word not in _PLURALS:
        return None
    return before + space + last[: len(last) - len(listed_word)] + _PLURALS[listed_word]


def plural_by_rule(part: str, lemma: str) -> str | None:
    """Return the plural of a noun, or of a singular verb phrase, by rule; None if the rule does not apply.

    >>> [plural_by_rule("noun", noun) for noun in ("author", "box", "man")]
    ['authors', None, None]
    >>> [plural_by_rule("verb", verb) for verb in ("laughs loudly", "goes", "focuses", "always laughs")]
    ['laugh loudly', None, None, None]
    """
    if part == "noun":
        regular = not _NO_BARE_S.search(lemma.lower()) and listed_plural(lemma) is None
        return f"{lemma}s" if regular else None
    first, space, rest = lemma.partition(" ")
    regular = (
        len(first) > 3 and first.lower() not in _ADVERBS and remove_s(first.lower()) == first.lower()[:-1]
    )
    return first[:-1] + space + rest if regular else None


def right_plural(part: str, lemma: str) -> str | None:
    """Return the plural of a word that the rule cannot inflect; '' if it has none, None if it is unknown.

    >>> right_plural("noun", "box"), right_plural("verb", "goes home"), right_plural("noun", "gas station")
    ('boxes', 'go home', None)
    """
    first, space, rest = lemma.partition(" ")
    if part == "verb":
        base = AUXILIARIES.get(first) or (None if first in _ADVERBS else remove_s(first))
        return None if base is None else base + space + rest
    listed = listed_plural(lemma)
    return add_s(lemma) if listed is None and _NO_BARE_S.search(lemma.lower()) else listed


def doubted(part: str, lemma: str) -> str | None:
    """Return why the form by rule may be wrong; None if no list and no ending raises doubt.

    >>> doubted("noun", "gigolo"), doubted("noun", "roof")
    ('gigolos or gigoloes', None)
    >>> doubted("verb", "watchs closely")
    'the third person of watch is watches'
    """
    word = lemma.rpartition(" ")[2].lower()
    if part == "noun":
        if not lemma.isascii():
            return f"{lemma}s, if it is English"
        if _NOT_LAST.search(lemma):
            return f"{lemma}s, if its last word is its head"
        if not _DOUBTFUL.search(word) or word in _REGULAR:
            return None
        other = f"{lemma[:-2]}men" if word.endswith("man") else None
        other = other or (f"{lemma}es" if word.endswith("o") else f"{lemma.rstrip('e')[:-1]}ves")
        return f"{lemma}s or {other}"
    first = lemma.partition(" ")[0]
    base = remove_s(first.lower())
    if base is None or (right := _THIRD_PERSONS.get(base, add_s(base))) == first.lower():
        return None
    return f"the third person of {base} is {right}"
