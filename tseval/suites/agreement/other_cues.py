"""Count further words of a sentence that show the right value: *sono stati liberate* keeps *stati*."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.agreement.requests import Word

_OF_A_NOUN = {"det", "amod", "acl"}
_OF_A_PREDICATE = {"aux", "cop"}


def count_cues(words: Sequence[Word], target: int, feature: str, controller: int, their_feature: str) -> int:
    """Count further words that agree with the controller of the changed word.

    These are determiners and adjectives of the controller, its predicate, and auxiliaries and the copula of
    the predicate.
    """
    value, head = words[controller].values.get(their_feature), words[controller].head
    return sum(
        at not in {target, controller}
        and value in {word.values.get(feature), word.values.get(their_feature)}
        and (
            (word.head == controller and word.role in _OF_A_NOUN)
            or (words[controller].role == "nsubj" and (at == head or _of_predicate(word, head)))
        )
        for at, word in enumerate(words)
    )


def _of_predicate(word: Word, head: int | None) -> bool:
    return word.head == head and word.role in _OF_A_PREDICATE
