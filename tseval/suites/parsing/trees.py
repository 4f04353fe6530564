"""Trees as a parser gives them, and how CoNLL-U writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Labels of ClearNLP, which spaCy's English parsers give, as Universal Dependencies call them.
RENAMED = {
    "ROOT": "root",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "relcl": "acl:relcl",
}


@dataclass(frozen=True, slots=True)
class ParsedWord:
    """A word of a tree; what the parser does not say is an empty text.

    Attributes:
        form: As it stands in the text.
        lemma: Its base form.
        pos: Part of speech.
        tag: In the treebank's own tag set; of spaCy's English parsers, Penn's.
        features: Such as `Number=Plur|Tense=Pres`.
        head: Position of its head in the sentence, from 0; a root is its own head.
        relation: To its head, as the parser calls it.
        glued: Whether no space follows it in running text.
    """

    form: str
    lemma: str
    pos: str
    tag: str
    features: str
    head: int
    relation: str
    glued: bool = False


def is_tree(heads: Sequence[int]) -> bool:
    """Whether words hang together under one root, which is its own head.

    >>> is_tree([1, 1, 1]), is_tree([0, 1]), is_tree([0, 2, 1]), is_tree([])
    (True, False, False, False)
    """
    roots = [word for word, head in enumerate(heads) if word == head]
    if len(roots) != 1 or not all(0 <= head < len(heads) for head in heads):
        return False
    hanging = set(roots)
    for word in range(len(heads)):
        path: set[int] = set()
        while word not in hanging:
            if word in path:
                return False
            path.add(word)
            word = heads[word]  # noqa: PLW2901 - from each word up to the root
        hanging |= path
    return True


def to_conllu(words: Sequence[ParsedWord], comments: Iterable[str]) -> str:
    """Write a sentence: its comments, a line for each word, a blank line."""
    lines = [f"# {comment}" for comment in comments]
    for position, word in enumerate(words):
        head = 0 if word.head == position else word.head + 1
        relation = RENAMED.get(word.relation, word.relation)
        told = (word.form, word.lemma, word.pos, word.tag, word.features)
        cells = [str(position + 1), *map(_cell, told), str(head), _cell(relation), "_"]
        lines.append("\t".join([*cells, "SpaceAfter=No" if word.glued else "_"]))
    return "\n".join(lines) + "\n\n"


def _cell(text: str) -> str:
    """Write a cell: what is not known is `_`, and nothing in it may look like the end of a cell."""
    return "_".join(text.split()) or "_"
