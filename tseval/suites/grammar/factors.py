"""Lexical factors: which places of a sentence hold a word that varies, so that items share it.

Items with the same verb are right or wrong together, as a draw of one verb would be. By default every slot
that is filled from the lexicon is a factor of its name; slots of listed values are conditions, and none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.suites.grammar.source import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.grammar.code import Code
    from tseval.suites.grammar.slots import Slot
    from tseval.suites.grammar.source import YamlDocument
    from tseval.suites.grammar.template import Sentences


def read_factors(
    document: YamlDocument, slots: Sequence[Slot], sentences: Sentences
) -> dict[str, Code | Slot]:
    """Read `factors` of a grammar's front matter, or take the slots of the lexicon where there are none.

    Raises:
        GrammarError: A factor is not text, its name is none, its slot holds no words, or its expression is
            malformed.
    """
    if "factors" not in document.data:
        return {slot.name: slot for slot in slots if slot.class_name is not None}
    by_name = {slot.name: slot for slot in slots}
    factors: dict[str, Code | Slot] = {}
    for name, source in document.mapping("factors").items():
        if not name.isidentifier() or name.startswith("_"):
            fix = "Use letters, digits and _."
            raise document.error(f"a factor cannot be called {name!r}.", "factors", name, fix=fix)
        if not isinstance(source, str):
            fix = "Name a slot, or write an expression that gives a word, such as 'nouns | last'."
            raise document.error(f"the factor {name!r} is {describe(source)}.", "factors", name, fix=fix)
        slot = by_name.get(source)
        if slot is not None and slot.is_numeric:
            message = f"the factor {name!r} is the slot {slot.name!r}, which holds no words."
            raise document.error(message, "factors", name, fix="Leave it out: it is a condition.")
        factors[name] = slot or sentences.expression(source, document.line("factors", name))
    return factors
