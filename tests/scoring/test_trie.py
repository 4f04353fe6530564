"""The trie against prefixes collected with a plain set."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tseval.scoring.trie import build_trie

SENTENCES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7), min_size=1, max_size=40)


def trie_of(sentences):
    return build_trie(
        np.array([word for sentence in sentences for word in sentence]),
        np.array([len(sentence) for sentence in sentences]),
    )


def spell(trie):
    """The prefix of every node, in node order."""
    prefixes, before = [], [()]
    for level in trie.levels:
        before = [(*before[p], int(t)) for p, t in zip(level.parents, level.tokens, strict=True)]
        prefixes.append(before)
    return prefixes


@given(SENTENCES)
def test_nodes_are_the_distinct_prefixes_each_once(sentences):
    expected = {tuple(sentence[:n]) for sentence in sentences for n in range(1, len(sentence) + 1)}
    nodes = [prefix for level in spell(trie_of(sentences)) for prefix in level]
    assert len(nodes) == len(set(nodes))
    assert set(nodes) == expected


@given(SENTENCES)
def test_contexts_are_the_distinct_proper_prefixes(sentences):
    proper = {tuple(sentence[:n]) for sentence in sentences for n in range(len(sentence))}
    trie = trie_of(sentences)
    assert trie.n_contexts == len(proper)
    for prefixes, level in zip(spell(trie), trie.levels, strict=True):
        assert {prefixes[i] for i in level.inner} == proper & set(prefixes)


@given(SENTENCES)
def test_a_sentences_path_spells_it(sentences):
    trie = trie_of(sentences)
    nodes = [prefix for level in spell(trie) for prefix in level]
    start = 0
    for sentence in sentences:
        path = trie.paths[start : start + len(sentence)]
        assert [nodes[i] for i in path] == [tuple(sentence[: n + 1]) for n in range(len(sentence))]
        start += len(sentence)


@given(SENTENCES)
def test_children_follow_the_order_of_their_parents(sentences):
    # The engine takes the children of a block of parents as one slice.
    for level in trie_of(sentences).levels:
        assert (np.diff(level.parents) >= 0).all()
        assert (np.diff(level.inner) > 0).all()
